//! `dunlin run` against a server of ours on loopback, judged by the server's own log.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A request as the server saw it.
#[derive(Clone, Debug)]
struct Seen {
    at: Instant,
    host: String,
    path: String,
    conditional: bool,
    agent: String,
}

/// Serves every host from a thread of its own: `/changing` is new each time, `/steady` has a tag, `/private` is denied,
/// `/moved` leads to `/steady`, `/inside` leads to a private address that nobody named. Returns its port and its log.
fn serve() -> (u16, Arc<Mutex<Vec<Seen>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let log = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&log);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let log = Arc::clone(&shared);
            std::thread::spawn(move || answer(stream, &log));
        }
    });
    (port, log)
}

fn answer(stream: TcpStream, log: &Mutex<Vec<Seen>>) -> Option<()> {
    let at = Instant::now();
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: HashMap<String, String> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned())))
        .collect();
    let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
    let conditional = headers.contains_key("if-none-match");
    let seen =
        Seen { at, host: header("host"), path: path.clone(), conditional, agent: header("user-agent") };
    let count = {
        let mut log = log.lock().ok()?;
        log.push(seen);
        log.len()
    };
    let page = |body: &str, more: &str| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{more}Connection: close\r\n\r\n{body}", body.len())
    };
    let moved = |to: &str| {
        format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    };
    let response = match path.as_str() {
        "/robots.txt" => page("User-agent: *\nDisallow: /private\n", ""),
        "/steady" if conditional => "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_owned(),
        "/steady" => page("always the same", "ETag: \"one\"\r\n"),
        "/moved" => moved("/steady"),
        "/inside" => moved("http://10.255.255.1/"),
        _ => page(&format!("version {count}"), ""),
    };
    (&stream).write_all(response.as_bytes()).ok()
}

#[test]
fn changes_are_seen_politely_and_robots_obeyed() {
    let (port, log) = serve();
    let pages: String = ["a", "b"]
        .iter()
        .flat_map(|host| ["changing", "steady", "private", "moved", "inside"].map(|path| (host, path)))
        .map(|(host, path)| format!("http://{host}.test:{port}/{path},86400\n"))
        .collect();
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args(["run", "-", "--seconds", "6", "--politeness", "200ms", "--resolve", "*=127.0.0.1"])
        .args(["--agent", "dunlin-test/1", "--contact", "https://example.org/bot", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("stdin is piped");
    pipe.write_all(format!("url,changes_per_day\n{pages}").as_bytes()).expect("the list is read");
    drop(pipe);
    let output = child.wait_with_output().expect("the program ends");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complaints}");

    let seen = log.lock().expect("no thread panicked").clone();
    for host in ["a", "b"].map(|name| format!("{name}.test:{port}")) {
        let times: Vec<_> = seen.iter().filter(|request| request.host == host).collect();
        assert_eq!(times.first().map(|request| request.path.as_str()), Some("/robots.txt"), "robots first");
        for pair in times.windows(2) {
            // The server's threads add some jitter of their own to what they log.
            let gap = pair[1].at.saturating_duration_since(pair[0].at);
            assert!(gap >= Duration::from_millis(150), "{host}: {gap:?} between {pair:?}");
        }
        let asked = |path: &str| times.iter().filter(|request| request.path == path).count();
        assert_eq!(asked("/private"), 0, "robots.txt forbids it");
        assert!(asked("/changing") >= 2 && asked("/moved") >= 1 && asked("/inside") >= 1, "{times:?}");
        assert!(times.iter().any(|request| request.conditional), "no conditional request to {host}");
    }
    assert!(seen.iter().all(|request| request.agent.starts_with("dunlin-test/1")), "{seen:?}");
    assert!(seen.iter().all(|request| request.agent.contains("https://example.org/bot")), "{seen:?}");
    assert!(complaints.contains("denied by robots.txt"), "{complaints}");

    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let (summary, changes) = lines.split_last().expect("a summary");
    let later = changes.iter().filter(|change| change["first"] == false).collect::<Vec<_>>();
    assert!(!later.is_empty(), "no change seen: {text}");
    assert!(
        later.iter().all(|change| change["url"].as_str().is_some_and(|url| url.ends_with("/changing"))),
        "{text}"
    );
    assert!(summary["not_modified"].as_u64() > Some(0), "{summary}");
    assert!(summary["robots_denied"].as_u64() > Some(0), "{summary}");
    assert_eq!(summary["changed"].as_u64(), Some(changes.len() as u64), "{summary}");
}

#[test]
fn a_second_run_resumes_and_touches_no_other_file() {
    let (port, log) = serve();
    let folder = std::env::temp_dir();
    let [pages, state] =
        ["csv", "state"].map(|end| folder.join(format!("dunlin-run-{}.{end}", std::process::id())));
    std::fs::write(&pages, format!("url\nhttp://a.test:{port}/steady\nhttp://b.test:{port}/steady\n"))
        .expect("a list");
    let run = |state: &std::path::Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .arg("run")
            .arg(&pages)
            .args(["--seconds", "3", "--politeness", "200ms", "--resolve", "*=127.0.0.1", "--format", "json"])
            .arg("--state")
            .arg(state)
            .output()
            .expect("the program runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let first = run(&state);
    assert!(first.0 == Some(0) && first.1.contains("\"resumed_pages\":0"), "{first:?}");
    let second = run(&state);
    assert!(second.0 == Some(0) && second.1.contains("\"resumed_pages\":2"), "{second:?}");
    assert!(second.1.contains("\"changed\":0"), "{second:?}");
    let anew =
        log.lock().expect("a log").iter().filter(|seen| seen.path == "/steady" && !seen.conditional).count();
    assert_eq!(anew, 2, "each page is fetched whole once");
    // The list is no state file.
    let before = std::fs::read(&pages).expect("the list");
    assert_eq!(run(&pages).0, Some(2));
    assert_eq!(std::fs::read(&pages).expect("the list"), before);
    let _ = (std::fs::remove_file(&pages), std::fs::remove_file(&state));
}
