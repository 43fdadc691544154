//! Whom `dunlin run` tells of changes and bad news: a command, a webhook, a feed. Judged by what
//! arrives.

mod program;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use program::site::{answer, serve};
use program::{dunlin, python, refuses, text};
use serde_json::Value;

/// A web of pages: `/changing` is new each time, `/gone` is not there, others are steady.
fn web() -> u16 {
    let count = AtomicUsize::new(0);
    serve(move |request| match request.path.as_str() {
        "/changing" => {
            let version = count.fetch_add(1, Ordering::Relaxed);
            answer("200 OK", &format!("version {version}"))
        }
        "/gone" | "/robots.txt" => answer("404 Not Found", ""),
        _ => answer("200 OK", "steady"),
    })
}

fn list(port: u16) -> String {
    format!(
        "url,name\nhttp://a.test:{port}/changing,\"News, \"\"today\"\"\"\n\
        http://a.test:{port}/gone,\nhttp://b.test:{port}/steady,\n"
    )
}

/// Runs the program for some seconds with these options; what it said on stderr.
fn run(port: u16, seconds: &str, options: &[&str]) -> String {
    let fixed = [
        "run",
        "-",
        "--seconds",
        seconds,
        "--politeness",
        "200ms",
        "--crawls-per-day",
        "max",
        "--resolve",
        "*=127.0.0.1",
    ];
    let output = dunlin(&[&fixed, options].concat(), list(port).as_bytes());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    said
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("dunlin-told-{}-{name}", std::process::id()))
}

/// The events of messages that are all as their schema says.
fn as_described(lines: &Path) -> Vec<String> {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/news.schema.json");
    let output = python("messages.py").arg(schema).arg(lines).output();
    let output = output.expect("Python starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// What goes wrong, and what is over: told by `run` as by the collector that it delivers to.
#[test]
fn bad_news_of_every_kind_is_told_by_a_run_and_by_its_collector() {
    let flaky = AtomicUsize::new(0);
    let web = serve(move |request| match request.path.as_str() {
        "/robots.txt" => answer("404 Not Found", ""),
        "/gone" => answer("410 Gone", ""),
        "/closed" => answer("403 Forbidden", ""),
        "/flaky" if flaky.fetch_add(1, Ordering::Relaxed) == 0 => {
            answer("503 Busy\r\nRetry-After: 1", "")
        }
        "/busy" => answer("503 Busy\r\nRetry-After: 1", ""),
        _ => answer("200 OK", "steady"),
    });
    let lines = [temporary("bad-run"), temporary("bad-collector")];
    lines
        .iter()
        .for_each(|file| drop(std::fs::remove_file(file)));
    let archive = temporary("bad-archive");
    let feed = temporary("bad.atom");
    let tee = |file: &Path| format!("tee -a '{}'", file.display());
    let mut collector = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args(["collect", "--listen", "127.0.0.1:0", "--archive"])
        .arg(&archive)
        .args(["--exec", &tee(&lines[1]), "--feed"])
        .arg(&feed)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(collector.stderr.take().expect("stderr")).lines();
    let address = said.by_ref().map_while(Result::ok).find_map(|line| {
        let rest = line.strip_prefix("collecting at ")?;
        Some(rest.to_owned())
    });
    std::thread::spawn(move || said.for_each(drop));
    let pages = format!(
        "url,name\nhttp://a.test:{web}/gone,Gone\nhttp://b.test:{web}/closed,\nhttp://c.test:{web}/flaky,\n\
        http://d.test:{web}/busy,\nhttps://e.test:{web}/,\nhttp://f.test:{web}/,\n"
    );
    let output = dunlin(
        &[
            "run",
            "-",
            "--seconds",
            "9",
            "--politeness",
            "100ms",
            "--crawls-per-day",
            "max",
            "--resolve",
            "*=127.0.0.1",
            "--exec",
            &tee(&lines[0]),
            "--collect",
            &address.expect("it says where"),
        ],
        pages.as_bytes(),
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    std::thread::sleep(std::time::Duration::from_secs(1));
    let _ = (collector.kill(), collector.wait());
    let kinds = ["failed", "gone", "host-backed-off", "recovered", "refused"];
    for file in &lines {
        assert_eq!(as_described(file), kinds, "{}", file.display());
        let told = std::fs::read_to_string(file).expect("messages");
        let of = |event: &str, about: &str| {
            let is_it = |line: &&str| line.contains(event) && line.contains(about);
            told.lines().filter(is_it).count()
        };
        assert_eq!(of("\"gone\"", "/gone"), 1, "{told}");
        assert_eq!(of("\"refused\"", "403"), 1, "{told}");
        assert_eq!(of("\"recovered\"", "/flaky"), 1, "{told}");
        assert!(of("\"failed\"", "https://e.test") == 1, "{told}");
        let _ = std::fs::remove_file(file);
    }
    let feed_text = std::fs::read_to_string(&feed).expect("a feed");
    assert!(
        feed_text.contains("<category term=\"refused\"/>"),
        "{feed_text}"
    );
    let _ = (
        std::fs::remove_dir_all(&archive),
        std::fs::remove_file(&feed),
    );
}

#[test]
fn a_command_and_a_webhook_get_changes_and_bad_news_and_a_feed_keeps_them() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let hook = serve(move |request| {
        let mut heard = heard.lock().expect("a list");
        heard.push((request.head.clone(), request.body.clone()));
        // The first one has to be brought again.
        answer(
            if heard.len() == 1 {
                "503 Busy"
            } else {
                "200 OK"
            },
            "",
        )
    });
    let lines = temporary("lines");
    let feed = temporary("feed.atom");
    let _ = std::fs::remove_file(&lines);
    let said = run(
        web(),
        "5",
        &[
            "--webhook",
            &format!("http://hook.test:{hook}/secret?key=1"),
            "--exec",
            &format!("tee -a '{}'", lines.display()),
            "--feed",
            feed.to_str().expect("UTF-8"),
        ],
    );
    let told = told.lock().expect("a list");
    let (head, first) = &told[0];
    assert!(
        head.starts_with("POST /secret?key=1 HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains("Content-Type: application/json\r\n"),
        "{head}"
    );
    assert_eq!(first, &told[1].1, "it is brought again");
    let posted: Vec<Value> = told[1..]
        .iter()
        .map(|(_, body)| serde_json::from_slice(body).expect("JSON"))
        .collect();
    let run: Vec<Value> = std::fs::read_to_string(&lines)
        .expect("the command ran")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    for messages in [&posted, &run] {
        let of = |event: &str| {
            messages
                .iter()
                .filter(|told| told["event"] == event)
                .count()
        };
        assert!(of("changed") >= 2, "{messages:#?}");
        assert_eq!(of("gone"), 1, "still gone is no news: {messages:#?}");
        assert!(messages.iter().all(|told| told["first"] != true));
        let change = messages.iter().find(|told| told["event"] == "changed");
        let change = change.expect("a change");
        assert_eq!(change["name"], "News, \"today\"");
        let sentence = change["text"].as_str().expect("a sentence");
        assert!(
            sentence.starts_with("News, \"today\" (http://a.test:"),
            "{sentence}"
        );
        assert!(sentence.ends_with("/changing) has changed"), "{sentence}");
    }
    assert_eq!(as_described(&lines), ["changed", "gone"]);
    let feed_text = std::fs::read_to_string(&feed).expect("a feed");
    assert!(
        feed_text.contains("<category term=\"gone\"/>"),
        "{feed_text}"
    );
    assert!(
        feed_text.contains("<category term=\"changed\"/>"),
        "{feed_text}"
    );
    assert!(!said.contains("not delivered"), "{said}");
    let _ = (std::fs::remove_file(&lines), std::fs::remove_file(&feed));
}

/// News of a board comes by its log: whoever watches it tells others as `run` does.
#[test]
fn a_monitor_tells_what_a_log_says() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let hook = serve(move |request| {
        heard.lock().expect("a list").push(request.body.clone());
        answer("204 No Content", "")
    });
    let lines = temporary("monitor-lines");
    let feed = temporary("monitor.atom");
    let list = temporary("monitor-pages.csv");
    let _ = std::fs::remove_file(&lines);
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host-tests/data/monitor");
    let file = |name: &str| data.join(name).to_str().expect("UTF-8").to_owned();
    // The list of the record, with a name.
    let pages = std::fs::read_to_string(file("pages.csv")).expect("a list");
    let named = |(row, url): (usize, &str)| match (row, url) {
        (0, _) => "url,name\n".to_owned(),
        (_, "http://news.test/headlines") => format!("{url},Headlines\n"),
        _ => format!("{url},\n"),
    };
    let pages: String = pages.lines().enumerate().map(named).collect();
    std::fs::write(&list, pages).expect("a file");
    let output = dunlin(
        &[
            "monitor",
            "--elf",
            &file("probe.elf"),
            "--log",
            &file("probe.defmt"),
            "--pages",
            list.to_str().expect("UTF-8"),
            "--plain",
            "--exec",
            &format!("tee -a '{}'", lines.display()),
            "--webhook",
            &format!("http://127.0.0.1:{hook}/"),
            "--webhook-body",
            r#"{"text":{text}}"#,
            "--feed",
            feed.to_str().expect("UTF-8"),
        ],
        b"",
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let kinds = ["changed", "failed", "host-backed-off", "refused"];
    assert_eq!(as_described(&lines), kinds);
    let run: Vec<Value> = std::fs::read_to_string(&lines)
        .expect("the command ran")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let of = |event: &str, about: &str| {
        let is_it = |told: &&Value| {
            told["event"] == event && (told["url"] == about || told["host"] == about)
        };
        run.iter().filter(is_it).count()
    };
    assert!(of("changed", "http://news.test/headlines") >= 3, "{run:#?}");
    assert_eq!(of("refused", "http://docs.test/private/draft"), 1, "once");
    assert_eq!(of("failed", "http://broken.test/"), 1, "once");
    assert_eq!(of("host-backed-off", "busy.test"), 1, "once an hour");
    // As many changes as the log has, but for the first version of each page.
    let log = text(&output.stdout);
    let ends = log.lines().filter(|line| line.contains(" changed=true"));
    let pages: Vec<&str> = ends
        .filter_map(|line| line.split("end page=").nth(1)?.split(' ').next())
        .collect();
    let firsts: std::collections::HashSet<&&str> = pages.iter().collect();
    let changes = pages.len() - firsts.len();
    let told_changes = run.iter().filter(|told| told["event"] == "changed");
    assert_eq!(told_changes.count(), changes);
    let posted = told.lock().expect("a list");
    assert_eq!(posted.len(), run.len());
    let named = r#"{"text":"Headlines (http://news.test/headlines) has changed"}"#;
    assert!(posted.iter().any(|body| body == named.as_bytes()));
    let feed_text = std::fs::read_to_string(&feed).expect("a feed");
    assert!(
        feed_text.contains("<category term=\"host-backed-off\"/>"),
        "{feed_text}"
    );
    for file in [&lines, &feed, &list] {
        let _ = std::fs::remove_file(file);
    }
}

#[test]
fn who_does_not_answer_holds_nobody_up_and_is_complained_of_without_its_secret() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let port = serve(move |request| {
        if request.path == "/robots.txt" {
            return answer("404 Not Found", "");
        }
        let version = count.fetch_add(1, Ordering::Relaxed);
        answer("200 OK", &format!("version {version}"))
    });
    let silent = serve(|_| {
        std::thread::sleep(std::time::Duration::from_secs(30));
        String::new()
    });
    let refusing = serve(|_| answer("403 Forbidden", ""));
    let said = run(
        port,
        "4",
        &[
            "--webhook",
            &format!("http://silent.test:{silent}/hush-hush"),
            "--webhook",
            &format!("http://refusing.test:{refusing}/hush-hush"),
            "--exec",
            "false",
        ],
    );
    let asked = asked.load(Ordering::Relaxed);
    assert!(asked >= 12, "asked {asked} times in 4 s: {said}");
    assert!(
        said.contains("--webhook at refusing.test: it answered 403"),
        "{said}"
    );
    assert!(
        said.contains("--exec false: it ended with exit status: 1"),
        "{said}"
    );
    assert!(said.contains("--webhook at silent.test: "), "{said}");
    assert!(said.contains("messages were not delivered"), "{said}");
    assert!(!said.contains("hush-hush"), "{said}");
}

#[test]
fn a_template_makes_what_a_service_wants() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let hook = serve(move |request| {
        heard.lock().expect("a list").push(request.body.clone());
        answer("204 No Content", "")
    });
    run(
        web(),
        "3",
        &[
            "--webhook",
            &format!("http://127.0.0.1:{hook}/"),
            "--webhook-body",
            r#"{"topic":"pages","message":{text},"click":{url}}"#,
        ],
    );
    let told = told.lock().expect("a list");
    let message: Value = serde_json::from_slice(told.first().expect("one")).expect("JSON");
    assert_eq!(message["topic"], "pages");
    assert!(
        message["message"]
            .as_str()
            .is_some_and(|text| text.contains("http://"))
    );
    assert!(
        message["click"]
            .as_str()
            .is_some_and(|url| url.starts_with("http://a.test:"))
    );
}

#[test]
fn what_cannot_be_told_is_refused_before_anything_is_fetched() {
    for (options, expected) in [
        (
            &["--exec", "no-such-program-anywhere"][..],
            "found no program",
        ),
        (&["--exec", "'half"], "expected it twice"),
        (&["--webhook", "ftp://a.test/"], "expected http://"),
        (&["--webhook-body", "{}"], "--webhook"),
        (
            &["--webhook", "http://a.test/", "--webhook-body", "{text"],
            "it is no JSON",
        ),
        (&["--feed", "/no/such/folder/feed"], "cannot write"),
    ] {
        let arguments = [&["run", "-", "--seconds", "1"], options].concat();
        refuses(&arguments, b"url\nhttp://a.test/\n", expected);
    }
}
