//! `dunlin monitor --web`: who is answered, how many at a time, and what is read meanwhile.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::program::{refuses, text};
use super::{decode, good, path, record};

/// The program while it serves. Ends when dropped.
pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .arg("monitor")
            .args(arguments)
            .args(["--web", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut errors = child.stderr.take().expect("stderr is piped");
        let mut said = Vec::new();
        while !said.ends_with(b"\n") {
            let mut byte = [0];
            errors
                .read_exact(&mut byte)
                .expect("it says where it listens");
            said.push(byte[0]);
        }
        // Kept open, or the program could not complain.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        let said = text(&said);
        let address = said
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next())
            .expect("an address");
        Self {
            child,
            address: address.to_owned(),
        }
    }

    pub fn fixture() -> Self {
        let elf = path("probe.elf");
        let log = path("probe.defmt");
        let pages = path("pages.csv");
        Self::start(&["--elf", &elf, "--log", &log, "--pages", &pages])
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a timeout");
        stream
    }

    /// A connection from another address of this computer: all of 127.0.0.0/8 is.
    #[cfg(target_os = "linux")]
    fn connect_from(&self, last: u8) -> TcpStream {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let address: std::net::SocketAddr = self.address.parse().expect("an address");
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        let own = std::net::SocketAddr::from(([127, 0, 0, last], 0));
        bind(&socket, &own).expect("an address of this computer");
        connect(&socket, &address).expect("it listens");
        let stream = TcpStream::from(socket);
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a timeout");
        stream
    }

    /// So many connections from each of these addresses.
    #[cfg(target_os = "linux")]
    fn connections(&self, addresses: std::ops::Range<u8>, each: usize) -> Vec<TcpStream> {
        addresses
            .flat_map(|last| (0..each).map(move |_| last))
            .map(|last| self.connect_from(last))
            .collect()
    }

    /// Asks for events on each of them; those that are answered.
    fn read_events(&self, streams: Vec<TcpStream>) -> Vec<TcpStream> {
        let heard = |mut stream: TcpStream| {
            let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
            stream.write_all(request.as_bytes()).ok()?;
            let mut head = [0; 15];
            stream.read_exact(&mut head).ok()?;
            (&head == b"HTTP/1.1 200 OK").then_some(stream)
        };
        streams.into_iter().filter_map(heard).collect()
    }

    fn say(&self, request: &str) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Until it has no place for one more.
    fn wait_until_busy(&self) {
        let mut answer = String::new();
        for _ in 0..100 {
            answer = self.ask("GET", "/metrics");
            // It says no without listening first, so that its answer may be lost.
            if answer.starts_with("HTTP/1.1 503 ") || answer.is_empty() {
                return;
            }
        }
        panic!("one more was answered {answer}");
    }

    /// The first event that is `wanted`.
    pub fn event(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut stream = self.connect();
        write!(
            stream,
            "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.address
        )
        .expect("sent");
        let events = BufReader::new(stream)
            .lines()
            .map(|line| line.expect("events come"));
        events
            .filter_map(|line| {
                Some(serde_json::from_str(line.strip_prefix("data: ")?).expect("JSON"))
            })
            .find(wanted)
            .expect("events do not end")
    }

    pub fn ask(&self, method: &str, path: &str) -> String {
        self.say(&format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.address
        ))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_server_answers_three_paths_and_nothing_else() {
    let server = Server::fixture();
    let page = server.ask("GET", "/");
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\n")
            && page.contains("Content-Security-Policy: default-src 'none'")
    );
    assert!(
        !page.contains("http://") || page.contains("http://www.w3.org/2000/svg"),
        "it names another machine"
    );
    let metrics = server.ask("GET", "/metrics");
    assert!(
        metrics.contains(
            "# TYPE dunlin_fetches_total counter\ndunlin_fetches_total{probe=\"probe\"} "
        ),
        "{metrics}"
    );
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/etc/passwd",
        "/page.html",
        "/favicon.ico",
        "//etc/passwd",
    ] {
        assert!(
            server.ask("GET", path).starts_with("HTTP/1.1 404 "),
            "{path}"
        );
    }
    for method in ["POST", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        let answer = server.ask(method, "/");
        assert!(
            answer.starts_with("HTTP/1.1 405 ") && answer.contains("Allow: GET\r\n"),
            "{method}: {answer}"
        );
    }
    assert!(
        server
            .say("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            .starts_with("HTTP/1.1 403 ")
    );
    assert!(server.say("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert!(
        server
            .say("GET / HTTP/1.1\r\nHost: localhost\r\nX: \u{1}\r\n\r\n")
            .starts_with("HTTP/1.1 400 ")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn connections_are_bounded_and_slow_clients_dropped() {
    let server = Server::fixture();
    // Half a request each, and never the rest.
    let mut idle = server.connections(1..5, 8);
    idle.iter_mut()
        .for_each(|stream| stream.write_all(b"GET / HTTP/1.1\r\n").expect("sent"));
    // One is busy all the time, and gets nowhere.
    let mut trickle = idle[0].try_clone().expect("a second handle");
    std::thread::spawn(move || {
        while trickle.write_all(b"X").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    server.wait_until_busy();
    let mut other = server.connect_from(9);
    let _ = write!(
        other,
        "GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n",
        server.address
    );
    let mut answer = Vec::new();
    let _ = other.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(
        answer.starts_with("HTTP/1.1 503 ") || answer.is_empty(),
        "there are 32 places: {answer}"
    );
    // All of them are told, and let go: the server serves again.
    for stream in &mut idle {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
    assert!(server.ask("GET", "/metrics").starts_with("HTTP/1.1 200 "));
}

#[cfg(target_os = "linux")]
#[test]
fn clients_that_stop_reading_are_dropped() {
    let server = Server::fixture();
    let deaf = server.connections(1..8, 4);
    for stream in &deaf {
        // The less this side keeps, the sooner the other one notices.
        rustix::net::sockopt::set_socket_recv_buffer_size(stream, 4096).expect("a small buffer");
    }
    let deaf = server.read_events(deaf);
    assert_eq!(deaf.len(), 28, "all but four places are for events");
    let refused = server.read_events(server.connections(9..10, 1));
    assert!(refused.is_empty(), "one more reader of events");
    // Every place is free again, although none of them has hung up.
    let start = std::time::Instant::now();
    while server.read_events(server.connections(9..10, 1)).is_empty() {
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "clients that do not read keep others out"
        );
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn readers_of_events_do_not_lock_out_who_asks_for_figures() {
    let server = Server::fixture();
    // One browser with many pages, on the computer that Prometheus runs on.
    let mine = server.read_events(server.connections(1..2, 8));
    assert_eq!(mine.len(), 4, "half the places of an address");
    // And everybody else's.
    let others = server.read_events(server.connections(2..12, 4));
    assert_eq!(mine.len() + others.len(), 28, "all but four");
    for _ in 0..10 {
        let metrics = server.ask("GET", "/metrics");
        assert!(metrics.starts_with("HTTP/1.1 200 "), "{metrics}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_address_has_eight_connections_and_leaves_others_theirs() {
    let server = Server::fixture();
    let greedy = server.connections(2..3, 40);
    let metrics = server.ask("GET", "/metrics");
    assert!(metrics.starts_with("HTTP/1.1 200 "), "{metrics}");
    let mut refused = 0;
    for stream in &greedy {
        stream.set_nonblocking(true).expect("set");
        let mut byte = [0];
        let read = (&*stream).read(&mut byte);
        refused +=
            usize::from(!matches!(&read, Err(why) if why.kind() == std::io::ErrorKind::WouldBlock));
    }
    assert_eq!(refused, 32, "eight are listened to");
}

#[test]
fn a_token_keeps_strangers_out_and_other_networks_need_one() {
    let elf = path("probe.elf");
    let log = path("probe.defmt");
    let server = Server::start(&["--elf", &elf, "--log", &log, "--token", "correct-horse"]);
    for path in ["/", "/metrics", "/events", "/metrics?token=wrong-horse"] {
        let answer = server.ask("GET", path);
        assert!(answer.starts_with("HTTP/1.1 401 "), "{path}: {answer}");
        assert!(answer.contains("WWW-Authenticate: Bearer\r\n"), "{answer}");
        assert!(!answer.contains("dunlin_"), "{path}: {answer}");
    }
    let page = server.ask("GET", "/?token=correct-horse");
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(!page.contains("correct-horse"), "the page need not say it");
    let metrics = server.say(&format!(
        "GET /metrics HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer correct-horse\r\n\r\n",
        server.address
    ));
    assert!(metrics.starts_with("HTTP/1.1 200 "), "{metrics}");

    let monitor = |more: &[&'static str], expected: &str| {
        let fixed = ["monitor", "--elf", &elf, "--log", &log, "--summary"];
        refuses(&[&fixed[..], more].concat(), b"", expected);
    };
    let needed = "expected --token TOKEN with it, or --web-open";
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:8080"] {
        monitor(&["--web", address], needed);
    }
    monitor(&["--token", "12345678"], "--web");
    monitor(&["--web", "8080", "--token", "short"], "expected 8 to 256");
    monitor(
        &["--web", "8080", "--token", "with space"],
        "expected 8 to 256",
    );
}

#[test]
fn a_tcp_port_is_read_from_the_middle_and_again_after_a_break() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let source = format!("tcp:{}", listener.local_addr().expect("an address"));
    let server = Server::start(&["--elf", &path("probe.elf"), "--log", &source]);
    let record = record();
    for part in [&record[1_000..2_000], &record[2_500..]] {
        let (mut stream, _) = listener.accept().expect("it connects");
        stream.write_all(part).expect("sent");
    }
    let (first, _) = decode(&record[1_000..2_000]);
    let (second, _) = decode(&record[2_500..]);
    let expected = format!(
        "dunlin_log_frames_total{{probe=\"probe\"}} {}\n",
        good(&first).len() + good(&second).len()
    );
    for _ in 0..300 {
        if server.ask("GET", "/metrics").contains(&expected) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!(
        "expected {expected}, found {}",
        server.ask("GET", "/metrics")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_serial_line_is_read_byte_for_byte() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let wire = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&wire).expect("ours");
    unlockpt(&wire).expect("open");
    let line = ptsname(&wire, Vec::new())
        .expect("its other end")
        .into_string()
        .expect("a UTF-8 path");
    let server = Server::start(&["--elf", &path("probe.elf"), "--log", &line]);
    let frames = |server: &Server| {
        let metrics = server.ask("GET", "/metrics");
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix("dunlin_log_frames_total{probe=\"probe\"} "));
        count.and_then(|count| count.parse::<usize>().ok())
    };
    assert_eq!(frames(&server), Some(0));
    let mut wire = fs::File::from(wire);
    for piece in record().chunks(256) {
        wire.write_all(piece).expect("written");
    }
    let all = decode(&record()).0.len();
    for _ in 0..300 {
        if frames(&server) == Some(all) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{:?} of {all} frames came through", frames(&server));
}
