//! `dunlin run` against a server of ours on loopback, judged by the server's own log.

mod program;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use program::{dunlin, refuses, text};

/// A request as the server saw it.
#[derive(Clone, Debug)]
struct Seen {
    at: Instant,
    host: String,
    path: String,
    conditional: bool,
    agent: String,
}

/// Serves every host from a thread of its own: `/changing` is new each time, `/steady` has a tag,
/// `/private` is denied, `/moved` leads to `/steady`, `/inside` leads to a private address that
/// nobody named, `/to?URL` leads there for good. Returns its port and its log.
fn serve() -> (u16, Arc<Mutex<Vec<Seen>>>) {
    serve_on(TcpListener::bind("127.0.0.1:0").expect("a free port"))
}

fn serve_on(listener: TcpListener) -> (u16, Arc<Mutex<Vec<Seen>>>) {
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
    let mut lines = BufReader::new(stream.try_clone().ok()?)
        .lines()
        .map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: HashMap<String, String> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            line.split_once(": ")
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        })
        .collect();
    let header = |name: &str| headers.get(name).cloned().unwrap_or_default();
    let conditional = headers.contains_key("if-none-match");
    let seen = Seen {
        at,
        host: header("host"),
        path: path.clone(),
        conditional,
        agent: header("user-agent"),
    };
    let count = {
        let mut log = log.lock().ok()?;
        log.push(seen);
        log.len()
    };
    let page = |body: &str, more: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{more}Connection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let moved = |status: u16, to: &str| {
        format!(
            "HTTP/1.1 {status} Moved\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    };
    let said = |status: u16| {
        format!("HTTP/1.1 {status} Said\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    };
    let response = match path.as_str() {
        "/robots.txt" if header("host").starts_with("slow.") => {
            let rule = format!("Disallow: /*{}b\n", "a".repeat(90));
            let rules = rule.repeat(500 * 1024 / rule.len());
            page(&format!("User-agent: *\n{rules}"), "")
        }
        "/robots.txt" => page("User-agent: *\nDisallow: /private\n", ""),
        "/steady" if conditional => {
            "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_owned()
        }
        "/steady" => page("always the same", "ETag: \"one\"\r\n"),
        "/moved" => moved(302, "/steady"),
        "/blog" => page(
            "<link rel=alternate type=application/rss+xml href=news.rss>",
            "",
        ),
        "/news.rss" => page("<rss><channel></channel></rss>", ""),
        "/gone" | "/sitemap.xml" => said(404),
        "/login" => said(401),
        "/broken" => said(500),
        "/busy" => said(503),
        "/inside" => moved(302, "http://10.255.255.1/"),
        "/packed" => page("not really gzip", "Content-Encoding: gzip\r\n"),
        "/endless" => page(&"x".repeat(1 << 20 | 1), ""),
        "/nonce" => page(&format!("<p nonce=\"{count}\">always the same</p>"), ""),
        path if path.starts_with("/to?") => moved(301, &path[4..]),
        path if path.starts_with("/links?") => {
            let links = path[7..]
                .split(';')
                .map(|url| format!("<a href={url}>on</a>\n"));
            page(&format!("{count}{}", links.collect::<String>()), "")
        }
        _ => page(&format!("version {count}"), ""),
    };
    (&stream).write_all(response.as_bytes()).ok()
}

#[test]
fn changes_are_seen_politely_and_robots_obeyed() {
    let (port, log) = serve();
    let pages: String = ["a", "b"]
        .iter()
        .flat_map(|host| {
            ["changing", "steady", "private", "moved", "inside"].map(|path| (host, path))
        })
        .map(|(host, path)| format!("http://{host}.test:{port}/{path},86400\n"))
        .collect();
    let agent = [
        "--resolve",
        "*=127.0.0.1",
        "--agent",
        "dunlin-test/1",
        "--contact",
        "https://example.org/bot",
    ];
    let (lines, complaints) = run(&format!("url,changes_per_day\n{pages}"), 6, "200ms", &agent);

    let seen = log.lock().expect("no thread panicked").clone();
    for host in ["a", "b"].map(|name| format!("{name}.test:{port}")) {
        let times: Vec<_> = seen.iter().filter(|request| request.host == host).collect();
        assert_eq!(
            times.first().map(|request| request.path.as_str()),
            Some("/robots.txt"),
            "robots first"
        );
        for pair in times.windows(2) {
            // The server's threads add some jitter of their own to what they log.
            let gap = pair[1].at.saturating_duration_since(pair[0].at);
            assert!(
                gap >= Duration::from_millis(150),
                "{host}: {gap:?} between {pair:?}"
            );
        }
        let asked = |path: &str| times.iter().filter(|request| request.path == path).count();
        assert_eq!(asked("/private"), 0, "robots.txt forbids it");
        assert!(
            asked("/changing") >= 2 && asked("/moved") >= 1 && asked("/inside") >= 1,
            "{times:?}"
        );
        assert!(
            times.iter().any(|request| request.conditional),
            "no conditional request to {host}"
        );
    }
    assert!(
        seen.iter()
            .all(|request| request.agent.starts_with("dunlin-test/1")),
        "{seen:?}"
    );
    assert!(
        seen.iter()
            .all(|request| request.agent.contains("https://example.org/bot")),
        "{seen:?}"
    );
    assert!(complaints.contains("robots.txt forbids it"), "{complaints}");
    let inside = "/inside: a redirect led to an address that is not public";
    assert!(complaints.contains(inside), "{complaints}");

    let (summary, news) = lines.split_last().expect("a summary");
    let changes: Vec<_> = news
        .iter()
        .filter(|line| line["event"] == "changed")
        .collect();
    let later = changes
        .iter()
        .filter(|change| change["first"] == false)
        .collect::<Vec<_>>();
    assert!(!later.is_empty(), "no change seen: {lines:?}");
    assert!(
        later.iter().all(|change| change["url"]
            .as_str()
            .is_some_and(|url| url.ends_with("/changing"))),
        "{lines:?}"
    );
    assert!(summary["not_modified"].as_u64() > Some(0), "{summary}");
    assert!(summary["robots_denied"].as_u64() > Some(0), "{summary}");
    // The first version of a page differs from nothing.
    assert_eq!(
        summary["changed"].as_u64(),
        Some(later.len() as u64),
        "{summary}"
    );
    assert_eq!(
        summary["first_versions"].as_u64(),
        Some((changes.len() - later.len()) as u64),
        "{summary}"
    );
}

/// Runs the program on a list for some seconds; what it said on stdout, line by line, and on
/// stderr.
fn run(
    list: &str,
    seconds: u32,
    politeness: &str,
    more: &[&str],
) -> (Vec<serde_json::Value>, String) {
    let seconds = seconds.to_string();
    let fixed = [
        "run",
        "-",
        "--seconds",
        &seconds,
        "--politeness",
        politeness,
        "--crawls-per-day",
        "max",
        "--format",
        "json",
    ];
    let output = dunlin(&[&fixed, more].concat(), list.as_bytes());
    let complaints = text(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    let lines = text(&output.stdout);
    (
        lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect(),
        complaints,
    )
}

fn asked(log: &Mutex<Vec<Seen>>, host: &str, path: &str) -> usize {
    let log = log.lock().expect("a log");
    log.iter()
        .filter(|seen| seen.host == host && seen.path == path)
        .count()
}

#[test]
fn bad_news_is_an_event_with_a_reason() {
    let (port, _) = serve();
    let paths = ["gone", "login", "private", "broken", "steady"];
    let list: String = paths
        .map(|path| format!("http://a.test:{port}/{path}\n"))
        .concat();
    let list = format!("url\n{list}http://b.test:{port}/busy\nhttp://closed.test:1/\n");
    let (lines, complaints) = run(&list, 4, "100ms", &["--resolve", "*=127.0.0.1"]);
    let said = |event: &str, key: &str, about: &str| {
        let line = lines.iter().find(|line| {
            let is_about = |text: &str| text.ends_with(about);
            line["event"] == event && line[key].as_str().is_some_and(is_about)
        });
        let line = line.unwrap_or_else(|| panic!("no {event} of {about}: {lines:#?}"));
        line["reason"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(said("gone", "url", "/gone"), "status 404 (not found)");
    let password = "status 401 (it wants a user name and password)";
    assert_eq!(said("refused", "url", "/login"), password);
    assert_eq!(said("refused", "url", "/private"), "robots.txt forbids it");
    let broken = "the server answered with 5xx";
    assert_eq!(said("failed", "url", "/broken"), broken);
    let busy = format!("b.test:{port}");
    let patience = said("host-backed-off", "host", &busy);
    assert!(patience.contains("wants to be left alone"), "{patience}");
    let closed = "no connection could be opened";
    assert_eq!(said("failed", "url", "closed.test:1/"), closed);
    assert_eq!(said("changed", "url", "/steady"), "");
    let host = format!("a.test:{port}");
    let alone = |line: &&serde_json::Value| line["host"] == host.as_str();
    assert_eq!(lines.iter().find(alone), None, "one broken page, no more");
    assert!(complaints.contains(&format!("gone http://a.test:{port}/gone: status 404")));
    assert!(complaints.contains("at most"), "{complaints}");
}

#[test]
fn without_a_budget_pages_are_visited_with_manners() {
    let (port, log) = serve();
    let list: String = (0..3)
        .map(|page| format!("http://a.test:{port}/{page}\n"))
        .collect();
    let arguments = ["run", "-", "--seconds", "4", "--politeness", "100ms"];
    let resolve = ["--resolve", "*=127.0.0.1"];
    let output = dunlin(
        &[&arguments[..], &resolve[..]].concat(),
        format!("url\n{list}").as_bytes(),
    );
    let said = text(&output.stderr);
    assert!(
        said.starts_with("3 pages on 1 host, at most 72 requests a day besides robots.txt, first round takes 0.3 s"),
        "{said}"
    );
    let asked = log.lock().expect("a log").len();
    assert_eq!(asked, 4, "robots.txt and each page once: {said}");
}

#[test]
fn a_page_is_asked_no_more_often_than_its_max_allows() {
    let (port, log) = serve();
    let list = format!(
        "url,changes_per_day,max\n\
         http://a.test:{port}/changing,86400,1\nhttp://a.test:{port}/moved,86400,1\n\
         http://a.test:{port}/free,86400,\n"
    );
    let more = ["--resolve", "*=127.0.0.1", "--interval", "2s"];
    run(&list, 9, "100ms", &more);
    let seen = log.lock().expect("no thread panicked").clone();
    let times = |path: &str| -> Vec<Instant> {
        let asked = seen.iter().filter(|seen| seen.path == path);
        asked.map(|seen| seen.at).collect()
    };
    // One that answers, and one that sends elsewhere each time.
    for path in ["/changing", "/moved"] {
        let limited = times(path);
        assert!((2..=5).contains(&limited.len()), "{path}: {limited:?}");
        let gaps = limited.windows(2).map(|pair| pair[1] - pair[0]);
        let shortest = gaps.min().unwrap_or_default();
        // What threads of the server may be late by.
        let least = Duration::from_millis(1_900);
        assert!(shortest >= least, "{path} again after {shortest:?}");
    }
    let free = times("/free").len();
    assert!(free > 15, "without a limit, it was asked {free} times");
}

/// Pages that are stale again at once are given up for freshness, and visited for age.
#[test]
fn a_run_keeps_small_what_it_is_told_to() {
    let (port, log) = serve();
    let visits = |host: &str, objective: &str| {
        let host = format!("{host}.test:{port}");
        let fast = ["/a", "/b", "/c"];
        let list: String = fast
            .iter()
            .map(|path| format!("http://{host}{path},1000000000\n"))
            .chain([format!("http://{host}/changing,20000\n")])
            .collect();
        let list = format!("url,changes_per_day\n{list}");
        let more = ["--resolve", "*=127.0.0.1", "--objective", objective];
        run(&list, 7, "100ms", &more);
        let fast = fast.iter().map(|path| asked(&log, &host, path));
        (fast.sum::<usize>(), asked(&log, &host, "/changing"))
    };
    let (fresh, young) = std::thread::scope(|threads| {
        let fresh = threads.spawn(|| visits("fresh", "freshness"));
        let young = visits("young", "age");
        (fresh.join().expect("no panic"), young)
    });
    assert!(fresh.0 < fresh.1, "{fresh:?}, {young:?}");
    assert!(young.0 > 2 * young.1, "{fresh:?}, {young:?}");
}

/// The page that `run --web` serves, and its figures, while it runs.
#[test]
fn a_run_shows_itself_to_a_browser() {
    let (port, _) = serve();
    let list = format!("url\nhttp://a.test:{port}/changing\nhttp://a.test:{port}/gone\n");
    let path = std::env::temp_dir().join(format!("dunlin-web-{}.csv", std::process::id()));
    std::fs::write(&path, list).expect("a list");
    let mut program = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .arg("run")
        .arg(&path)
        .args(["--seconds", "6", "--politeness", "100ms"])
        .args(["--crawls-per-day", "max", "--resolve", "*=127.0.0.1"])
        .args(["--web", "127.0.0.1:0", "--token", "a-long-token"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(program.stderr.take().expect("stderr")).lines();
    let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let rest = line.strip_prefix("monitor: http://")?;
        Some(rest.split_once('/')?.0.to_owned())
    });
    let address = address.expect("it says where");
    let get = |target: &str| {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("asked");
        let mut answer = String::new();
        let _ = std::io::Read::read_to_string(&mut stream, &mut answer);
        answer
    };
    assert!(get("/metrics").starts_with("HTTP/1.1 401"), "no token");
    assert!(get("/?token=a-long-token").contains("<title>dunlin monitor"));
    let mut metrics = String::new();
    for _ in 0..50 {
        metrics = get("/metrics?token=a-long-token");
        let seen = |line: &str| metrics.contains(line);
        if seen("dunlin_news_total{probe=\"run\",event=\"gone\"} 1")
            && !seen("dunlin_changes_total{probe=\"run\"} 0")
        {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(metrics.contains("event=\"gone\"} 1"), "{metrics}");
    let firsts = "dunlin_first_versions_total{probe=\"run\"} 1";
    assert!(metrics.contains(firsts), "{metrics}");
    assert!(!metrics.contains("dunlin_changes_total{probe=\"run\"} 0"));
    assert!(metrics.contains("firmware=\"dunlin run") || metrics.contains("dunlin_pages"));
    let _ = program.wait();
    let _ = std::fs::remove_file(&path);
}

#[test]
fn a_web_page_that_others_can_reach_needs_a_token() {
    refuses(
        &["run", "-", "--seconds", "1", "--web", "0.0.0.0:0"],
        b"url\nhttp://a.test/\n",
        "expected --token TOKEN with it, or --web-open",
    );
}

/// 500 KiB of rules that are made to be compared for as long as possible, for 32 pages.
#[test]
fn a_robots_txt_that_is_made_to_be_slow_stalls_nobody() {
    let (port, log) = serve();
    let slow: String = (0..32)
        .map(|page| format!("http://slow.test:{port}/{page}{}\n", "a".repeat(190)))
        .collect();
    let list = format!("url\n{slow}http://a.test:{port}/steady\n");
    // A hundred million steps take a busy computer more than eight seconds.
    let (_, complaints) = run(&list, 16, "200ms", &["--resolve", "*=127.0.0.1"]);
    let honest = asked(&log, &format!("a.test:{port}"), "/steady");
    assert!(
        honest >= 20,
        "the other host was asked {honest} times in 16 s"
    );
    let host = format!("slow.test:{port}");
    let log = log.lock().expect("a log");
    let pages = log
        .iter()
        .filter(|seen| seen.host == host && seen.path != "/robots.txt");
    assert_eq!(
        pages.count(),
        0,
        "nobody has compared them with their rules"
    );
    assert!(complaints.contains("takes too much work"), "{complaints}");
}

#[test]
fn ipv6_literals_and_names_are_fetched_and_private_ones_not_reached_by_redirects() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        // Past the harness, which shows nothing of a test that passes.
        let _ = writeln!(std::io::stderr(), "skipped: this computer has no IPv6");
        return;
    };
    let (port, log) = serve_on(listener);
    let (inside, hidden) = serve();
    let elsewhere =
        ["[fe80::1]", "[fd00::1]", "[::1]"].map(|host| format!("http://{host}:{inside}/secret"));
    let redirects = [
        format!("http://[::ffff:127.0.0.1]:{inside}/secret"),
        format!("http://localhost:{inside}/secret"),
    ]
    .into_iter()
    .chain(elsewhere)
    .map(|to| format!("http://six.test:{port}/to?{to}\n"))
    .collect::<String>();
    let list = format!(
        "url\nhttp://[::1]:{port}/steady\nhttp://six.test:{port}/steady\nhttp://six.test:{port}/to?http://friend.test:{port}/steady\n{redirects}"
    );
    let named = [
        "--resolve",
        "six.test=[::1]",
        "--resolve",
        "friend.test=::1",
    ];
    let (lines, complaints) = run(&list, 6, "100ms", &named);
    assert!(
        asked(&log, &format!("[::1]:{port}"), "/steady") > 0,
        "{complaints}"
    );
    assert!(
        asked(&log, &format!("six.test:{port}"), "/steady") > 0,
        "{complaints}"
    );
    assert!(
        asked(&log, &format!("friend.test:{port}"), "/steady") > 0,
        "the owner named it: {complaints}"
    );
    assert!(
        hidden.lock().expect("a log").is_empty(),
        "a redirect led into our own network"
    );
    let refused = complaints
        .lines()
        .filter(|line| line.ends_with("an address that is not public"))
        .count();
    assert!(refused >= 5, "{complaints}");
    assert_eq!(
        lines.iter().filter(|line| line["first"] == true).count(),
        3,
        "{lines:?}"
    );
}

#[test]
fn pages_that_cannot_be_told_apart_for_certain_are_flagged_and_what_is_ignored_is_no_change() {
    let (port, log) = serve();
    let list: String = ["packed", "endless", "nonce"]
        .map(|path| format!("http://{path}.test:{port}/{path},86400\n"))
        .concat();
    let list = format!("url,changes_per_day\n{list}");
    let ignore = ["--resolve", "*=127.0.0.1", "--ignore", "nonce=\"", "\""];
    let (lines, complaints) = run(&list, 4, "100ms", &ignore);
    let of = |path: &str| {
        let line = lines
            .iter()
            .find(|line| line["url"].as_str().is_some_and(|url| url.ends_with(path)));
        line.unwrap_or_else(|| panic!("no line of {path}: {complaints}"))
    };
    assert_eq!(
        (&of("/packed")["encoded"], &of("/packed")["cut"]),
        (&true.into(), &false.into())
    );
    assert_eq!(
        (&of("/endless")["encoded"], &of("/endless")["cut"]),
        (&false.into(), &true.into())
    );
    assert_eq!(of("/endless")["bytes"], 1 << 20);
    assert!(asked(&log, &format!("nonce.test:{port}"), "/nonce") > 2);
    let changes = lines.iter().filter(|line| {
        line["url"]
            .as_str()
            .is_some_and(|url| url.ends_with("/nonce"))
    });
    assert_eq!(changes.count(), 1, "only the first version: {lines:?}");
}

#[test]
fn a_second_run_knows_where_pages_have_moved_and_what_is_not_the_first_version() {
    let (port, log) = serve();
    let state = std::env::temp_dir().join(format!("dunlin-moves-{}.state", std::process::id()));
    let list = format!(
        "url\nhttp://a.test:{port}/to?http://b.test:{port}/steady\nhttp://c.test:{port}/changing\n"
    );
    let kept = [
        "--resolve",
        "*=127.0.0.1",
        "--state",
        state.to_str().expect("a name in UTF-8"),
    ];
    let old = format!("/to?http://b.test:{port}/steady");
    let (first, complaints) = run(&list, 3, "100ms", &kept);
    let before = asked(&log, &format!("b.test:{port}"), "/steady");
    assert!(
        before > 0 && asked(&log, &format!("a.test:{port}"), &old) == 1,
        "{complaints}"
    );
    let changes = |lines: &[serde_json::Value], which: bool| {
        lines
            .iter()
            .filter(|line| {
                line["url"]
                    .as_str()
                    .is_some_and(|url| url.ends_with("/changing"))
                    && line["first"] == which
            })
            .count()
    };
    assert_eq!(changes(&first, true), 1);
    let (second, complaints) = run(&list, 3, "100ms", &kept);
    let more = asked(&log, &format!("b.test:{port}"), "/steady") - before;
    assert!(more > 0, "{complaints}");
    // How many visits ago its old place was looked at, a restarted run does not know.
    let looks = asked(&log, &format!("a.test:{port}"), &old) - 1;
    assert!(
        looks <= 1 + more / 32,
        "{looks} looks at its old place in {more} visits"
    );
    assert!(
        changes(&second, true) == 0 && changes(&second, false) > 0,
        "{second:?}"
    );
    let _ = std::fs::remove_file(&state);
}

#[test]
fn what_cannot_be_ignored_or_resolved_is_refused() {
    for (option, values, expected) in [
        ("--resolve", &["a.test=[10.0.2.2]"][..], "expected HOST=IP"),
        ("--resolve", &["a.test=::1]"][..], "expected HOST=IP"),
        ("--ignore", &["", "x"][..], "expected two markers"),
        ("--ignore", &["one"][..], "2 values"),
    ] {
        refuses(
            &[&["run", "-", "--seconds", "1", option], values].concat(),
            b"url\nhttp://a.test/\n",
            expected,
        );
    }
}

#[test]
fn a_second_run_resumes_and_touches_no_other_file() {
    let (port, log) = serve();
    let folder = std::env::temp_dir();
    let [pages, state] =
        ["csv", "state"].map(|end| folder.join(format!("dunlin-run-{}.{end}", std::process::id())));
    std::fs::write(
        &pages,
        format!("url\nhttp://a.test:{port}/steady\nhttp://b.test:{port}/steady\n"),
    )
    .expect("a list");
    let run = |state: &std::path::Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .arg("run")
            .arg(&pages)
            .args([
                "--seconds",
                "3",
                "--politeness",
                "200ms",
                "--resolve",
                "*=127.0.0.1",
                "--crawls-per-day",
                "max",
                "--format",
                "json",
            ])
            .arg("--state")
            .arg(state)
            .output()
            .expect("the program runs");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    let first = run(&state);
    assert!(
        first.0 == Some(0) && first.1.contains("\"resumed_pages\":0"),
        "{first:?}"
    );
    let second = run(&state);
    assert!(
        second.0 == Some(0) && second.1.contains("\"resumed_pages\":2"),
        "{second:?}"
    );
    assert!(second.1.contains("\"changed\":0"), "{second:?}");
    let anew = log
        .lock()
        .expect("a log")
        .iter()
        .filter(|seen| seen.path == "/steady" && !seen.conditional)
        .count();
    assert_eq!(anew, 2, "each page is fetched whole once");
    // The list is no state file.
    let before = std::fs::read(&pages).expect("the list");
    assert_eq!(run(&pages).0, Some(2));
    assert_eq!(std::fs::read(&pages).expect("the list"), before);
    let _ = (std::fs::remove_file(&pages), std::fs::remove_file(&state));
}

/// Links lead to no address of this computer that its owner has not named, and a host that is not
/// in the list is no news of its own.
#[test]
fn links_lead_into_no_private_network() {
    let (port, log) = serve();
    let trap = TcpListener::bind("127.0.0.2:0").expect("another address of loopback");
    let inside = trap.local_addr().expect("an address").port();
    let (_, trapped) = serve_on(trap);
    let links = [
        format!("http://127.0.0.2:{inside}/"),
        format!("http://localhost:{port}/x"),
        format!("http://found.test:{port}/steady"),
        format!("http://busy.test:{port}/busy"),
    ];
    let links = links.join(";");
    let list =
        format!("url\nhttp://a.test:{port}/links?{links}\nhttp://a.test:{port}/links?{links};/y\n");
    let arguments = [
        "run",
        "-",
        "--seconds",
        "8",
        "--politeness",
        "200ms",
        "--crawls-per-day",
        "max",
        "--discover",
        "--scope",
        "any",
    ];
    let named = ["a", "found", "busy"].map(|host| format!("--resolve={host}.test=127.0.0.1"));
    let named = named.iter().map(String::as_str);
    let arguments: Vec<&str> = arguments.into_iter().chain(named).collect();
    let output = dunlin(&arguments, list.as_bytes());
    let news = text(&output.stdout);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let asked = |host: &str| {
        let log = log.lock().expect("nobody panics");
        log.iter()
            .filter(|seen| seen.host.starts_with(host))
            .count()
    };
    assert!(asked("found.test") > 1, "what the owner has named: {said}");
    assert!(asked("busy.test") > 1, "{said}");
    assert_eq!(asked("localhost"), 0);
    assert_eq!(trapped.lock().expect("nobody panics").len(), 0);
    assert!(!news.contains("\"?\""), "{news}");
}

/// Where the list leaves it to the host, a page's own markup says where its feed is, if that is read
/// at all.
#[test]
fn a_link_element_says_where_the_feed_is() {
    let (port, log) = serve();
    let hosts = std::env::temp_dir().join(format!("dunlin-run-hosts-{}.csv", std::process::id()));
    let feeds = |host: &str, more: &[&str]| {
        let host = format!("{host}.test:{port}");
        std::fs::write(&hosts, format!("host,hints\n{host},auto\n")).expect("written");
        let named = ["--hosts", hosts.to_str().expect("UTF-8")];
        let options = [&named[..], &["--resolve", "*=127.0.0.1"], more].concat();
        run(&format!("url\nhttp://{host}/blog\n"), 8, "200ms", &options);
        asked(&log, &host, "/news.rss")
    };
    assert!(feeds("a", &["--discover"]) > 0);
    assert_eq!(feeds("b", &[]), 0, "without it nobody reads markup");
    let _ = std::fs::remove_file(&hosts);
}
