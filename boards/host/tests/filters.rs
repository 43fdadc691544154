//! What of a page counts, what requests carry, and whom they are asked through: judged by the
//! servers that were asked, and by what others are told.

mod program;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use program::{dunlin, refuses, text};
use serde_json::Value;

/// Heads of requests, as they came.
type Heads = Arc<Mutex<Vec<String>>>;

fn head_of(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

/// Answers each request with the page that `site` makes of its target, or by a redirect if that is a
/// URL, and keeps its head.
fn serve(site: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> (u16, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let heads = Heads::default();
    let kept = Arc::clone(&heads);
    let site = Arc::new(site);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let kept = Arc::clone(&kept);
            let site = Arc::clone(&site);
            std::thread::spawn(move || {
                let head = head_of(&stream)?;
                let target = head.split(' ').nth(1)?.to_owned();
                kept.lock().ok()?.push(head);
                let (status, page) = match site(&target) {
                    Some(url) if url.starts_with("http:") => {
                        (format!("302 Found\r\nLocation: {url}"), String::new())
                    }
                    Some(page) => ("200 OK".to_owned(), page),
                    None => ("404 Not Found".to_owned(), String::new()),
                };
                let length = page.len();
                write!(
                    &stream,
                    "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\
                    Connection: close\r\n\r\n{page}"
                )
                .ok()
            });
        }
    });
    (port, heads)
}

/// A page with a clock, a counter and an advertisement around news that change at every fifth look.
fn busy_page(count: usize) -> String {
    format!(
        "<html><body><p id=clock>{count}</p><main><h1>News</h1><ul id=news><li>story {}</li></ul>\
        <i>seen {count} times</i></main><div class=ad>ad {count}</div></body></html>",
        count / 5
    )
}

fn busy_web() -> (u16, Heads) {
    let count = AtomicUsize::new(0);
    serve(move |target| {
        let page = || busy_page(count.fetch_add(1, Ordering::Relaxed));
        (!target.ends_with("/robots.txt")).then(page)
    })
}

fn temporary(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dunlin-filters-{}-{name}", std::process::id()));
    let _ = (std::fs::remove_dir_all(&path), std::fs::remove_file(&path));
    path
}

const MANNERS: [&str; 6] = [
    "--politeness",
    "100ms",
    "--crawls-per-day",
    "max",
    "--resolve",
    "*=127.0.0.1",
];

/// Runs a list for some seconds; news of changes that are no first versions, and what was said.
fn run(list: &str, seconds: &str, options: &[&str]) -> (Vec<Value>, String) {
    let fixed = ["run", "-", "--seconds", seconds];
    let output = dunlin(&[&fixed, &MANNERS[..], options].concat(), list.as_bytes());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let news = text(&output.stdout);
    let news = news
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let changed = |news: &Value| news["event"] == "changed" && news["first"] != true;
    (news.filter(changed).collect(), said)
}

/// Looks at a page, by the heads of requests.
fn looks(heads: &Heads) -> usize {
    let heads = heads.lock().expect("a list");
    let pages = heads.iter().filter(|head| !head.contains("/robots.txt"));
    pages.count()
}

#[test]
fn only_what_counts_is_a_change_by_selector_and_by_markers() {
    for columns in [
        "#news li,",
        "main,seen … times",
        "<ul id=news>…</ul>,",
        ",<p id=clock>…</p>|seen … times|<div class=ad>...</div>",
    ] {
        let (port, heads) = busy_web();
        let archive = temporary("archive");
        let folder = archive.to_str().expect("UTF-8");
        let list = format!("url,select,ignore\nhttp://a.test:{port}/,{columns}\n");
        let (changes, said) = run(&list, "4", &["--archive", folder]);
        let looks = looks(&heads);
        assert!(looks >= 11, "{looks} looks");
        // A story every five looks; the last look may have come and not been concluded.
        let stories = [(looks - 1) / 5, (looks.max(2) - 2) / 5];
        assert!(
            stories.contains(&changes.len()),
            "{columns}: {} changes in {looks} looks: {said}",
            changes.len()
        );
        let page = format!("http://a.test:{port}/");
        let file = temporary("list.csv");
        std::fs::write(&file, &list).expect("a list");
        let diff = dunlin(
            &[
                "diff",
                &page,
                "--archive",
                folder,
                "--pages",
                file.to_str().expect("UTF-8"),
            ],
            b"",
        );
        let diff = text(&diff.stdout);
        assert!(diff.contains("+story "), "{diff}");
        assert!(!diff.contains("ad "), "{diff}");
        let _ = std::fs::remove_dir_all(&archive);
        let _ = std::fs::remove_file(&file);
    }
}

#[test]
fn a_filter_is_tried_on_a_file_an_archive_and_the_network() {
    let (port, _) = busy_web();
    let url = format!("http://a.test:{port}/");
    let select = ["--select", "#news li", "--ignore", "story ", "<"];
    let from_network = ["test-filter", &url, "--resolve", "*=127.0.0.1"];
    let output = dunlin(&[&from_network, &select[..]].concat(), b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "story\n");
    let said = text(&output.stderr);
    assert!(
        said.contains("1 part selected, 1 stretch ignored:"),
        "{said}"
    );
    assert!(said.contains("a probe compares all of the page"), "{said}");
    let page = busy_page(3);
    let from_file = ["test-filter", &url, "--file", "-", "--format", "json"];
    let output = dunlin(
        &[&from_file[..], &["--select", "<main>…</main>"]].concat(),
        page.as_bytes(),
    );
    let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(shown["selected"], 1);
    assert_eq!(shown["on_a_probe"], true);
    assert_eq!(shown["text"], "News\nstory 0\nseen 3 times\n");
    assert_eq!(shown["bytes"], page.len());
    let nothing = dunlin(
        &["test-filter", &url, "--file", "-", "--select", "article"],
        page.as_bytes(),
    );
    assert_eq!(nothing.status.code(), Some(1));
    let archive = temporary("tried");
    let folder = archive.to_str().expect("UTF-8");
    run(&format!("url\n{url}\n"), "2", &["--archive", folder]);
    let kept = ["test-filter", &url, "--archive", folder, "--select", "h1"];
    assert_eq!(text(&dunlin(&kept, b"").stdout), "News\n");
    let _ = std::fs::remove_dir_all(&archive);
}

#[test]
fn a_page_to_look_at_leads_nobody_into_a_private_network() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let heads = Heads::default();
    let kept = Arc::clone(&heads);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let head = head_of(&stream).unwrap_or_default();
            let moved = head.starts_with("GET / ");
            kept.lock().expect("no panic").push(head);
            let _ = match moved {
                true => write!(
                    stream,
                    "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{port}/secret\r\nContent-Length: 0\r\n\r\n"
                ),
                false => write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret"),
            };
        }
    });
    let url = format!("http://a.test:{port}/");
    let output = dunlin(&["test-filter", &url, "--resolve", "a.test=127.0.0.1"], b"");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("an address that is not public"), "{said}");
    assert_eq!(heads.lock().expect("no panic").len(), 1, "it was asked");
    // Whoever writes the address means it.
    let direct = format!("http://127.0.0.1:{port}/secret");
    assert_eq!(
        text(&dunlin(&["test-filter", &direct], b"").stdout),
        "secret\n"
    );
}

#[test]
fn filters_and_headers_that_are_none_are_refused_by_their_place() {
    let list = |column: &str, value: &str| format!("url,{column}\nhttp://a.test/,{value}\n");
    for (column, value) in [
        ("select", "p >"),
        ("select", "…b"),
        ("ignore", "no markers"),
        ("ignore", "a…b|"),
    ] {
        let list = list(column, value);
        refuses(
            &["check", "-"],
            list.as_bytes(),
            &format!("column 2 ({column})"),
        );
    }
    refuses(
        &["check", "-"],
        b"url\nhttp://user:secret@a.test/\n",
        "Authorization: Basic $USER:$PASSWORD",
    );
    let said = dunlin(&["check", "-"], list("select", "main").as_bytes());
    let said = text(&said.stderr);
    assert!(said.contains("1 pages with a CSS selector"), "{said}");
    let hosts = temporary("hosts.csv");
    let path = hosts.to_str().expect("UTF-8").to_owned();
    let image = temporary("image");
    let out = image.to_str().expect("UTF-8").to_owned();
    let write = |header: &str| {
        std::fs::write(&hosts, format!("host,header\na.test,{header}\n")).expect("a file");
    };
    let page = b"url\nhttp://a.test/\n";
    write("Host: evil");
    let wrong = dunlin(&["check", "-", "--hosts", &path], page);
    assert!(!text(&wrong.stderr).contains("evil"), "it may be a secret");
    assert_eq!(wrong.status.code(), Some(2));
    write("Authorization: Bearer abcdef");
    let made = ["image", "-", "--hosts", &path, "--out", &out];
    refuses(&made, page, "expected the name of an environment variable");
    assert!(!image.exists(), "nothing is written");
    write("Authorization: Bearer $DUNLIN_TEST_NO_SUCH");
    assert!(dunlin(&made, page).status.success());
    let bytes = std::fs::read(&image).expect("an image");
    let holds = |word: &[u8]| bytes.windows(word.len()).any(|found| found == word);
    assert!(!holds(b"Authorization") && holds(b"a.test"));
    refuses(
        &["run", "-", "--hosts", &path, "--seconds", "1"],
        page,
        "found no environment variable DUNLIN_TEST_NO_SUCH",
    );
    let _ = (std::fs::remove_file(&hosts), std::fs::remove_file(&image));
}

/// Headers go to their own host and to no other, and no archive has them.
#[test]
fn headers_are_for_their_host_and_are_kept_by_nobody() {
    let (port, heads) = busy_web();
    let archive = temporary("secrets");
    let hosts = temporary("secret-hosts.csv");
    let own =
        "X-Token: $DUNLIN_TEST_TOKEN|Authorization: Basic ${DUNLIN_TEST_USER}:$DUNLIN_TEST_TOKEN";
    let row = format!("host,header\na.test:{port},{own}\n");
    std::fs::write(&hosts, row).expect("a file");
    let list = format!("url\nhttp://a.test:{port}/\nhttp://b.test:{port}/\n");
    let output = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args(["run", "/dev/stdin", "--seconds", "3"])
        .args(MANNERS)
        .args(["--archive", archive.to_str().expect("UTF-8")])
        .args(["--hosts", hosts.to_str().expect("UTF-8")])
        .env("DUNLIN_TEST_TOKEN", "s3cret-token")
        .env("DUNLIN_TEST_USER", "Aladdin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|mut child| {
            child
                .stdin
                .take()
                .map(|mut input| input.write_all(list.as_bytes()));
            child.wait_with_output()
        })
        .expect("it ran");
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("a.test go over http"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
    let heads = heads.lock().expect("a list");
    let of = |host: &str| {
        let host = format!("\r\nHost: {host}:{port}\r\n");
        heads.iter().filter(move |head| head.contains(&host))
    };
    assert!(of("a.test").count() >= 4 && of("b.test").count() >= 4);
    for head in of("a.test") {
        assert!(head.contains("\r\nX-Token: s3cret-token\r\n"), "{head}");
        let basic = "\r\nAuthorization: Basic QWxhZGRpbjpzM2NyZXQtdG9rZW4=\r\n";
        assert!(head.contains(basic), "{head}");
    }
    for head in of("b.test") {
        assert!(!head.contains("X-Token") && !head.contains("Authorization"));
    }
    for file in std::fs::read_dir(&archive).expect("an archive").flatten() {
        let bytes = std::fs::read(file.path()).expect("a file");
        let mut plain = Vec::new();
        let _ = flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain);
        for bytes in [bytes, plain] {
            let found = bytes.windows(6).any(|word| word == b"s3cret");
            assert!(!found, "{} holds a secret", file.path().display());
        }
    }
    let _ = (
        std::fs::remove_dir_all(&archive),
        std::fs::remove_file(&hosts),
    );
}

/// A proxy is asked for everything, by whole URLs, and knows who asks.
#[test]
fn a_proxy_is_asked_instead_of_the_hosts() {
    let (port, heads) = busy_web();
    let proxy = format!("http://Aladdin:open%20sesame@127.0.0.1:{port}");
    let list = "url\nhttp://nowhere.invalid/page\nhttps://secure.invalid/\n";
    // This computer may take two seconds to find out that it does not know these names.
    let fixed = ["run", "-", "--seconds", "6", "--politeness", "100ms"];
    let more = ["--crawls-per-day", "max", "--proxy", &proxy];
    let output = dunlin(&[&fixed[..], &more].concat(), list.as_bytes());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(text(&output.stdout).contains("\"changed\""), "{said}");
    let heads = heads.lock().expect("a list");
    let lines: Vec<&str> = heads
        .iter()
        .filter_map(|head| head.lines().next())
        .collect();
    assert!(
        lines.contains(&"GET http://nowhere.invalid/robots.txt HTTP/1.1"),
        "{lines:?}"
    );
    assert!(
        lines.contains(&"GET http://nowhere.invalid/page HTTP/1.1"),
        "{lines:?}"
    );
    assert!(
        lines.contains(&"CONNECT secure.invalid:443 HTTP/1.1"),
        "{lines:?}"
    );
    for head in heads.iter() {
        assert!(
            head.contains("\r\nProxy-Authorization: Basic QWxhZGRpbj"),
            "{head}"
        );
    }
    refuses(
        &["run", "-", "--proxy", "socks5://127.0.0.1:1"],
        list.as_bytes(),
        "expected http://HOST:PORT",
    );
}

/// Where redirects lead is looked up by this computer before a proxy is asked for it.
#[test]
fn a_proxy_is_asked_for_nothing_private_after_a_redirect() {
    let (port, heads) = serve(|target| {
        let to = |host: &str| Some(format!("http://{host}/admin"));
        match target.trim_start_matches("http://") {
            "a.invalid/1" => to("10.0.0.1"),
            "a.invalid/2" => to("localhost"),
            "a.invalid/3" => to("router.invalid"),
            "a.invalid/4" => to("b.invalid"),
            "a.invalid/5" => to("named.invalid"),
            target if target.ends_with("/robots.txt") => None,
            _ => Some("here".to_owned()),
        }
    });
    let proxy = format!("http://127.0.0.1:{port}");
    let pages = (1..=5).map(|page| format!("http://a.invalid/{page}\n"));
    // The owner listed this host, too, but not that page of it.
    let list = format!("url\n{}http://b.invalid/own\n", pages.collect::<String>());
    let fixed = ["run", "-", "--seconds", "8", "--politeness", "50ms"];
    let more = ["--crawls-per-day", "max", "--proxy", &proxy];
    let named = ["--resolve", "named.invalid=10.0.0.2"];
    let output = dunlin(&[&fixed[..], &more, &named].concat(), list.as_bytes());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let heads = heads.lock().expect("a list");
    let asked = |host: &str, path: &str| {
        let line = format!("GET http://{host}{path} HTTP/1.1\r\n");
        heads.iter().filter(|head| head.starts_with(&line)).count()
    };
    for host in ["10.0.0.1", "localhost", "router.invalid", "b.invalid"] {
        assert_eq!(asked(host, "/admin"), 0, "{host}: {said}");
    }
    for page in 1..=5 {
        assert!(
            asked("a.invalid", &format!("/{page}")) > 0,
            "{page}: {said}"
        );
    }
    assert!(
        asked("b.invalid", "/own") > 1,
        "the owner listed it: {said}"
    );
    assert!(asked("named.invalid", "/admin") > 0, "and named it: {said}");
}
