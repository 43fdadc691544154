//! `dunlin run --archive`, `history` and `diff`: every version that a server delivered is in the
//! archive once, byte for byte, and other people's programs read it.

mod program;

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use program::{dunlin, read_by_others, refuses, text};
use serde_json::Value;

/// The bodies that were delivered, by path, in order.
type Delivered = Arc<Mutex<HashMap<String, Vec<String>>>>;

/// Serves pages: `/moved` leads to `/chunked`, `/steady` stays, others change with every third
/// request; bodies come in chunks, until the connection's end, or with a length.
fn serve() -> (u16, Delivered) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let delivered = Delivered::default();
    let shared = Arc::clone(&delivered);
    std::thread::spawn(move || {
        let mut asked: HashMap<String, usize> = HashMap::new();
        for stream in listener.incoming().flatten() {
            let _ = answer(&stream, &mut asked, &shared);
        }
    });
    (port, delivered)
}

fn answer(
    stream: &TcpStream,
    asked: &mut HashMap<String, usize>,
    delivered: &Delivered,
) -> Option<()> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let count = asked.entry(path.clone()).or_default();
    *count += 1;
    let version = if path == "/steady" { 0 } else { *count / 3 };
    let body = format!(
        "<title>{path}</title><p>Common line</p>\n<p>Version {version} &amp; \u{2713}</p>\
        <script>alert({version})</script>\n"
    );
    let response = match path.as_str() {
        "/robots.txt" => "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "/moved" => {
            "HTTP/1.1 301 Moved\r\nLocation: /chunked\r\nContent-Length: 0\r\n\r\n".to_owned()
        }
        _ => {
            let mut delivered = delivered.lock().ok()?;
            let versions = delivered.entry(path.clone()).or_default();
            if versions.last() != Some(&body) {
                versions.push(body.clone());
            }
            let kind = "Content-Type: text/html; charset=utf-8\r\nX-Odd:  \u{e9} a\tb \r\n";
            match path.as_str() {
                "/chunked" => {
                    let (one, two) = body.split_at(7);
                    let (one_length, two_length) = (one.len(), two.len());
                    format!(
                        "HTTP/1.1 200 OK\r\n{kind}Transfer-Encoding: chunked\r\n\r\n\
                        {one_length:x}\r\n{one}\r\n{two_length:X};a=b\r\n{two}\r\n0\r\n\r\n"
                    )
                }
                "/until-close" => format!("HTTP/1.0 200 OK\n{kind}\n{body}"),
                _ => format!(
                    "HTTP/1.1 200 OK\r\n{kind}Content-Length: {}\r\n\r\n{body}",
                    body.len()
                ),
            }
        }
    };
    let mut stream = stream;
    stream.write_all(response.as_bytes()).ok()
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("dunlin-kept-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

const PATHS: [&str; 5] = ["/chunked", "/until-close", "/plain", "/steady", "/moved"];

fn list(port: u16) -> String {
    let host = |place: usize| ["a", "b"][place % 2];
    let page =
        |(place, path): (usize, &&str)| format!("http://{}.test:{port}{path}\n", host(place));
    "url\n".to_owned() + &PATHS.iter().enumerate().map(page).collect::<String>()
}

fn arguments<'a>(seconds: &'a str, folder: &'a Path) -> Vec<&'a str> {
    let mut arguments: Vec<&str> = "run - --politeness 100ms --crawls-per-day max"
        .split(' ')
        .collect();
    arguments.extend([
        "--resolve",
        "*=127.0.0.1",
        "--seconds",
        seconds,
        "--archive",
    ]);
    arguments.push(folder.to_str().expect("UTF-8"));
    arguments
}

#[test]
fn every_version_is_kept_once_byte_for_byte_and_others_read_and_replay_it() {
    let (port, delivered) = serve();
    let folder = folder("whole");
    let mut all = arguments("6", &folder);
    all.push("--revisits");
    let output = dunlin(&all, list(port).as_bytes());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let delivered = delivered.lock().expect("a list").clone();
    // The end may come between an answer and its end.
    let same = |path: &str, kept: &[String]| {
        let delivered = &delivered[path];
        let rest = delivered.strip_prefix(kept);
        assert!(
            rest.is_some_and(|rest| rest.len() <= 1),
            "{path}: kept {kept:#?} of {delivered:#?}: {said}"
        );
    };
    let read = read_by_others(&folder, &["--replay"]);
    for path in ["/chunked", "/until-close", "/plain", "/steady"] {
        same(path, read.get(path).map_or(&[], Vec::as_slice));
    }
    assert!(read["/chunked"].len() >= 2, "{read:#?}");
    assert_eq!(read["/steady"].len(), 1, "{read:#?}");

    // The program's own view of it; where a page went is part of its history.
    let archive = folder.to_str().expect("UTF-8");
    let url = |host: &str, path: &str| format!("http://{host}.test:{port}{path}");
    let history = |url: &str| {
        let output = dunlin(
            &["history", url, "--archive", archive, "--format", "json"],
            b"",
        );
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
        rows
    };
    let own = |row: &&Value| row["media_type"] != "warc/revisit";
    let chunked = history(&url("a", "/chunked"));
    assert_eq!(chunked.iter().filter(own).count(), read["/chunked"].len());
    assert!(
        chunked.len() > read["/chunked"].len(),
        "revisits are wanted"
    );
    let moved = history(&url("a", "/moved"));
    assert_eq!(moved[0]["status"], 301, "{moved:#?}");
    assert!(
        moved
            .iter()
            .any(|row| row["url"] == url("a", "/chunked").as_str())
    );

    let diff = |more: &[&str]| {
        let fixed = ["diff", &url("a", "/chunked"), "--archive", archive];
        let output = dunlin(&[&fixed, more].concat(), b"");
        (output.status.code(), text(&output.stdout))
    };
    let (code, plain) = diff(&[]);
    let last = read["/chunked"].len() - 1;
    assert_eq!(code, Some(0), "{plain}");
    let lines: Vec<&str> = plain.lines().skip(2).collect();
    let old = format!("-Version {} & \u{2713}", last - 1);
    let new = format!("+Version {last} & \u{2713}");
    assert_eq!(
        lines,
        ["@@ -1,3 +1,3 @@", " /chunked", " Common line", &old, &new]
    );
    let (_, raw) = diff(&["--raw"]);
    assert!(
        raw.contains(&format!("<script>alert({last})</script>")),
        "{raw}"
    );
    assert_eq!(diff(&["--to", "2001-01-01"]), (Some(1), String::new()));
    let _ = std::fs::remove_dir_all(&folder);
}

/// The program is killed in the middle, again and again: nothing that it had written is lost, and
/// nothing is there by halves.
#[test]
fn an_archive_survives_kills() {
    let (port, _) = serve();
    let folder = folder("killed");
    let list_file = folder.with_extension("csv");
    std::fs::write(&list_file, list(port)).expect("a list");
    let mut before: HashMap<String, Vec<String>> = HashMap::new();
    for round in 0..5 {
        let mut all = arguments("60", &folder);
        all[1] = list_file.to_str().expect("UTF-8");
        let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .args(&all)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(std::time::Duration::from_millis(700 + 137 * round));
        let _ = (child.kill(), child.wait());
        let output = dunlin(
            &[&arguments("0", &folder)[..]].concat(),
            b"url\nhttp://z.test/\n",
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
        let after = read_by_others(&folder, &[]);
        for (path, bodies) in &before {
            assert!(after[path].starts_with(bodies), "{path} in round {round}");
        }
        before = after;
    }
    assert!(before["/plain"].len() >= 2, "{before:#?}");
    let _ = (
        std::fs::remove_dir_all(&folder),
        std::fs::remove_file(&list_file),
    );
}

#[test]
fn an_archive_that_cannot_be_written_is_said() {
    let page = b"url\nhttp://a.test/\n";
    refuses(
        &["run", "-", "--seconds", "1", "--archive", "/dev/null/x"],
        page,
        "cannot open /dev/null/x",
    );
    refuses(
        &["history", "http://a.test/", "--archive", "/no/such/folder"],
        b"",
        "cannot open /no/such/folder",
    );
    refuses(
        &[
            "diff",
            "http://a.test/",
            "--archive",
            "/tmp",
            "--from",
            "yesterday",
        ],
        b"",
        "expected a date",
    );
}

/// A disk without room: said, and the crawl goes on.
#[test]
fn a_full_disk_is_said_and_crawling_goes_on() {
    let (port, _) = serve();
    let folder = folder("full");
    std::fs::create_dir_all(&folder).expect("a folder");
    // No file of this process may be longer: a disk that is full after so many bytes.
    let program = env!("CARGO_BIN_EXE_dunlin");
    let all = arguments("3", &folder).join(" ").replace('*', "'*'");
    let list_file = folder.with_extension("csv");
    std::fs::write(&list_file, list(port)).expect("a list");
    let script = format!(
        "trap '' XFSZ; ulimit -f 2; exec '{program}' {all} < '{}'",
        list_file.display()
    );
    let output = Command::new("bash")
        .args(["-c", &script])
        .output()
        .expect("bash starts");
    let (said, news) = (text(&output.stderr), text(&output.stdout));
    assert!(said.contains("cannot write to the archive: "), "{said}");
    assert!(news.lines().count() > 12, "{news}{said}");
    assert_eq!(output.status.code(), Some(2), "{said}");
    // What was finished is readable.
    let again = dunlin(&arguments("0", &folder), b"url\nhttp://z.test/\n");
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(!read_by_others(&folder, &[]).is_empty());
    let _ = (
        std::fs::remove_dir_all(&folder),
        std::fs::remove_file(&list_file),
    );
}
