//! nginx, Apache httpd and Python's http.server, each as a child process on a port of its own.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration as StdDuration, SystemTime};

use dunlin::fetch::robots::{Access, Judge, LIMITS, RobotsReader};
use dunlin::fetch::{
    AnswerKind, Ask, Body, Client, ClientError, ContentRange, Etag, FetchError, Head, Limits,
    Request, Url,
};
use dunlin_host::board::net::HostConnect;
use dunlin_host::board::verify::Trust;
use futures_lite::future::block_on;

use crate::client::{LOOPBACK, PATIENCE, agent, ask, fingerprint, get, loopback, request};

/// A server with a folder to serve; it ends with this value.
struct Server {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a program is; distributions keep servers where only root looks for them.
fn find(program: &str, package: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder| folder.join(program)).find(|file| file.is_file()).unwrap_or_else(|| {
        panic!("{program} is missing: run `cargo xtask test`, which installs it, or install the package {package}")
    })
}

impl Server {
    /// Starts a server on a free port; another program may take the port first, so it is tried
    /// again.
    fn start(command: impl Fn(&Path, u16) -> Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Servers that give up root must still be able to read it.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let site = folder.path().join("site");
        fs::create_dir_all(site.join("folder")).unwrap();
        fs::write(site.join("page.html"), "<p>first</p>").unwrap();
        fs::write(site.join("big.bin"), vec![b'x'; 3 << 20]).unwrap();
        // Not of this very second: Apache's tags are weak then.
        let earlier = SystemTime::now() - StdDuration::from_secs(3600);
        for name in ["page.html", "big.bin"] {
            fs::File::options()
                .append(true)
                .open(site.join(name))
                .unwrap()
                .set_modified(earlier)
                .unwrap();
        }
        fs::write(site.join("folder/a.txt"), "a").unwrap();
        fs::write(
            site.join("robots.txt"),
            "User-agent: *\nDisallow: /private\nCrawl-delay: 7\n",
        )
        .unwrap();
        for _ in 0..5 {
            let port = TcpListener::bind((LOOPBACK, 0))
                .unwrap()
                .local_addr()
                .unwrap()
                .port();
            let mut child = command(folder.path(), port)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            for _ in 0..500 {
                if TcpStream::connect((LOOPBACK, port)).is_ok() {
                    return Self {
                        child,
                        port,
                        folder,
                    };
                }
                if child.try_wait().unwrap().is_some() {
                    break;
                }
                std::thread::sleep(StdDuration::from_millis(20));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!("the server does not start: see its messages above");
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Replaces the page, which was an hour old.
    fn change(&self, text: &str) {
        fs::write(self.folder.path().join("site/page.html"), text).unwrap();
    }
}

fn nginx() -> Server {
    let program = find("nginx", "nginx-light");
    Server::start(|folder, port| {
        let at = folder.display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {at}/{name};"))
            .concat();
        let text = format!(
            "daemon off; master_process off; pid {at}/pid; error_log stderr error; events {{}}\n\
             http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port}; root {at}/site; autoindex on; }} }}"
        );
        fs::write(folder.join("nginx.conf"), text).unwrap();
        let mut command = Command::new(&program);
        command
            .arg("-p")
            .arg(folder)
            .arg("-c")
            .arg(folder.join("nginx.conf"))
            .args(["-e", "stderr"]);
        command
    })
}

fn apache() -> Server {
    let program = find("apache2", "apache2-bin");
    Server::start(|folder, port| {
        let at = folder.display();
        let modules: String = ["mpm_event", "authz_core", "dir", "autoindex", "mime"]
            .map(|name| {
                format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")
            })
            .concat();
        let text = format!(
            "{modules}ServerName localhost\nListen 127.0.0.1:{port}\nPidFile {at}/pid\nDefaultRuntimeDir {at}\n\
             User nobody\nGroup nogroup\nErrorLog /dev/stderr\nTypesConfig /dev/null\nDocumentRoot {at}/site\n\
             <Directory {at}/site>\nRequire all granted\nOptions Indexes\n</Directory>\n"
        );
        fs::write(folder.join("apache.conf"), text).unwrap();
        let mut command = Command::new(&program);
        command.arg("-X").arg("-f").arg(folder.join("apache.conf"));
        command
    })
}

fn python() -> Server {
    let program = find("python3", "python3");
    Server::start(|folder, port| {
        let mut command = Command::new(&program);
        command.args([
            "-m",
            "http.server",
            "--bind",
            "127.0.0.1",
            &port.to_string(),
        ]);
        command
            .arg("--directory")
            .arg(folder.join("site"))
            .stderr(Stdio::null());
        command
    })
}

/// What every server must be read like.
fn common(server: &Server) {
    let url = server.url("/page.html");
    let page = get(&url, Limits::DEFAULT, PATIENCE).unwrap();
    assert_eq!(
        (page.kind, page.fingerprint),
        (AnswerKind::Page, fingerprint(b"<p>first</p>"))
    );
    assert!(page.head.last_modified.is_some() && page.head.date.is_some() && !page.head.encoded);

    let mut conditional = Request::get(Url::parse(&url).unwrap(), agent());
    conditional.last_modified = page.head.last_modified;
    let same = request(&conditional, Limits::DEFAULT, PATIENCE).unwrap();
    assert_eq!(
        (same.kind, same.head.status, same.bytes),
        (AnswerKind::NotModified, 304, 0)
    );

    let gone = get(&server.url("/nowhere"), Limits::DEFAULT, PATIENCE).unwrap();
    assert_eq!(gone.kind, AnswerKind::Gone);
    let moved = get(&server.url("/folder?x"), Limits::DEFAULT, PATIENCE).unwrap();
    assert_eq!((moved.kind, moved.head.status), (AnswerKind::Redirect, 301));
    assert_eq!(moved.target.as_deref(), Some(&*server.url("/folder/?x")));
    let listing = get(&server.url("/folder/"), Limits::DEFAULT, PATIENCE).unwrap();
    assert!(listing.kind == AnswerKind::Page && listing.bytes > 0);

    let big = get(&server.url("/big.bin"), Limits::DEFAULT, PATIENCE).unwrap();
    assert_eq!((big.bytes, big.truncated), (1 << 20, true));
    assert_eq!(big.fingerprint, fingerprint(&vec![b'x'; 1 << 20]));
    let whole = get(
        &server.url("/big.bin"),
        Limits::DEFAULT.with_body_bytes(4 << 20),
        PATIENCE,
    )
    .unwrap();
    assert_eq!((whole.bytes, whole.truncated), (3 << 20, false));

    robots(server);
    server.change("<p>second</p>");
    let changed = request(&conditional, Limits::DEFAULT, PATIENCE).unwrap();
    assert_eq!(
        (changed.kind, changed.fingerprint),
        (AnswerKind::Page, fingerprint(b"<p>second</p>"))
    );
}

fn robots(server: &Server) {
    let file = server.url("/robots.txt");
    let private = server.url("/private/x");
    let mut reader = RobotsReader::new("dunlin", Judge::new(Url::parse(&private).unwrap()));
    block_on(async {
        let mut ask = Ask::new(Request::get(Url::parse(&file).unwrap(), agent()));
        ask.limits = LIMITS;
        let mut connector = HostConnect::new(Trust::default());
        let mut client = Client::new(&mut connector);
        let mut buffer = [0; 512];
        let fetched = client
            .request(&mut ask, &mut loopback(), &mut buffer, &mut reader)
            .await
            .unwrap();
        assert_eq!(
            Access::from_status(Some(fetched.head.status)),
            Access::Rules
        );
    });
    let (judge, delay) = reader.finish();
    assert!(!judge.ruling().allowed);
    assert_eq!(delay.map(|delay| delay.as_secs()), Some(7));
}

/// What servers with tags and lasting connections offer besides.
fn lasting(server: &Server) {
    let page = server.url("/page.html");
    let listing = server.url("/folder/");
    block_on(async {
        let mut request = Request::get(Url::parse(&page).unwrap(), agent());
        request.keep_alive = true;
        let mut connector = HostConnect::new(Trust::default());
        let mut client = Client::new(&mut connector);
        let first = ask(&mut client, &request, Limits::DEFAULT, PATIENCE)
            .await
            .unwrap();
        let etag = first.head.etag.expect("a tag");
        let mut by_tag = request;
        by_tag.etag = Some(&etag);
        let same = ask(&mut client, &by_tag, Limits::DEFAULT, PATIENCE)
            .await
            .unwrap();
        assert_eq!((same.kind, same.reusable), (AnswerKind::NotModified, true));
        // A listing is made up as it goes: it comes in chunks.
        let mut chunked = request;
        chunked.url = Url::parse(&listing).unwrap();
        let chunked = ask(&mut client, &chunked, Limits::DEFAULT, PATIENCE)
            .await
            .unwrap();
        assert!(chunked.kind == AnswerKind::Page && chunked.reusable && chunked.bytes > 0);
        // As a gateway is asked: the whole URL in the request line.
        let mut absolute = request;
        absolute.via_gateway = true;
        let absolute = ask(&mut client, &absolute, Limits::DEFAULT, PATIENCE)
            .await
            .unwrap();
        assert_eq!(
            (absolute.kind, absolute.fingerprint),
            (AnswerKind::Page, first.fingerprint)
        );
    });
}

/// What servers that know parts offer: the rest of a file, of the version that was begun.
fn parts(server: &Server) {
    const WHOLE: u32 = 3 << 20;
    const FROM: u32 = WHOLE - 1_000;
    let url = server.url("/big.bin");
    let limits = Limits::DEFAULT.with_body_bytes(WHOLE);
    let mut rest = Request::get(Url::parse(&url).unwrap(), agent()).starting_at(FROM);
    let part = request(&rest, limits, PATIENCE).unwrap();
    let the_rest = ContentRange {
        first: FROM,
        total: WHOLE.try_into().unwrap(),
    };
    assert_eq!((part.head.status, part.bytes), (206, 1_000));
    assert_eq!(
        (part.head.content_range, part.head.length()),
        (Some(the_rest), Some(1_000))
    );
    let etag = part.head.etag.expect("a tag");
    assert!(etag.is_strong());
    rest.etag = Some(&etag);
    let same = request(&rest, limits, PATIENCE).unwrap();
    assert_eq!((same.head.status, same.head.etag), (206, Some(etag)));
    // Of another version, all of it comes.
    let other = Etag::new(b"\"another\"").unwrap();
    rest.etag = Some(&other);
    let whole = request(&rest, limits, PATIENCE).unwrap();
    assert_eq!((whole.head.status, whole.bytes), (200, WHOLE));
    rest.etag = None;
    let beyond = request(&rest.starting_at(WHOLE), limits, PATIENCE).unwrap();
    assert_eq!(beyond.head.status, 416);
}

/// Takes a thousand bytes, and refuses the rest.
struct Thousand(usize);

impl Body for Thousand {
    fn take(&mut self, _: &Head, bytes: &mut &[u8]) -> bool {
        self.0 += bytes.len();
        true
    }

    fn is_over(&self) -> bool {
        self.0 >= 1_000
    }
}

fn refusing(server: &Server) {
    let url = server.url("/big.bin");
    let mut ask = Ask::new(Request::get(Url::parse(&url).unwrap(), agent()));
    let mut taken = Thousand(0);
    let mut buffer = [0; 700];
    let mut connector = HostConnect::new(Trust::default());
    let mut client = Client::new(&mut connector);
    let mut names = loopback();
    let answer = block_on(client.request(&mut ask, &mut names, &mut buffer, &mut taken));
    let why = answer.map(drop).expect_err("it was refused");
    assert!(
        matches!(why, ClientError::Exchange(FetchError::Unwanted)),
        "{why}"
    );
    assert!((1_000..1_700).contains(&taken.0), "{}", taken.0);
    assert!(!client.is_reusable());
}

#[test]
fn nginx_is_read() {
    let server = nginx();
    parts(&server);
    refusing(&server);
    lasting(&server);
    common(&server);
}

#[test]
fn apache_httpd_is_read() {
    let server = apache();
    parts(&server);
    lasting(&server);
    common(&server);
}

#[test]
fn pythons_http_server_is_read() {
    common(&python());
}
