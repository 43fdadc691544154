//! `dunlin run --archive`, `history` and `diff`: every version that a server delivered is in the
//! archive once, byte for byte, and other people's programs read it.

mod program;

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dunlin_host::archive::cdxj::Entry;
use dunlin_host::archive::index::IndexWriter;
use program::{dunlin, read_by_others, refuses, set_read_only, text, unprivileged};
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
    // Longer than a file of the archive may be with `--archive-size 1`.
    let more = if path == "/large" { 1_010_000 } else { 0 };
    let body = body + &" ".repeat(more);
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
                    let one_length = one.len();
                    let two_length = two.len();
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
        let after = read_by_others(&folder, &["--killed"]);
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
    let said = text(&output.stderr);
    let news = text(&output.stdout);
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

/// A disk that becomes read-only: said, and the crawl goes on.
#[test]
fn a_read_only_disk_is_said_and_crawling_goes_on() {
    let (port, delivered) = serve();
    let folder = folder("read-only");
    let mut child = unprivileged()
        .args(arguments("6", &folder))
        .args(["--archive-compression", "0", "--archive-size", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut list = child.stdin.take().expect("stdin is piped");
    write!(list, "url\nhttp://a.test:{port}/large\n").expect("it reads");
    drop(list);
    let versions = || {
        delivered
            .lock()
            .expect("nobody panics")
            .get("/large")
            .map_or(0, Vec::len)
    };
    let end = Instant::now() + Duration::from_secs(5);
    while versions() < 2 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    set_read_only(&folder, true);
    let before = versions();
    let output = child.wait_with_output().expect("the program ends");
    set_read_only(&folder, false);
    let said = text(&output.stderr);
    let words = "cannot write to the archive: Permission denied";
    assert!(said.contains(words), "{said}");
    assert!(versions() > before + 3, "{before} then {}", versions());
    assert_eq!(output.status.code(), Some(2), "{said}");
    // What was finished is readable.
    let again = dunlin(&arguments("0", &folder), b"url\nhttp://z.test/\n");
    assert!(again.status.success(), "{}", text(&again.stderr));
    let read = read_by_others(&folder, &[]);
    assert!(!read["/large"].is_empty() && read["/large"].len() < versions());
    let _ = std::fs::remove_dir_all(&folder);
}

/// Serves a body without end at `/endless`, ten gigabytes of it at most, a small bomb at `/bomb`
/// and markup at `/hostile`; counts the bytes that were taken of the first.
fn serve_hostile() -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let taken = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&taken);
    let version = Arc::new(AtomicU64::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counted = Arc::clone(&counted);
            let version = Arc::clone(&version);
            std::thread::spawn(move || hostile(&stream, &counted, &version));
        }
    });
    (port, taken)
}

fn hostile(mut stream: &TcpStream, taken: &AtomicU64, version: &AtomicU64) -> Option<()> {
    const TEN_GIGABYTES: u64 = 10_000_000_000;
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let version = version.fetch_add(1, Ordering::Relaxed);
    if path == "/endless" {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {TEN_GIGABYTES}\r\n\r\n<p>{version}</p>"
        );
        stream.write_all(head.as_bytes()).ok()?;
        let line = format!("<div>{version}\u{1b}]0;x\u{7}</div>\n").repeat(1_000);
        let mut sent = 0;
        while sent < TEN_GIGABYTES {
            stream.write_all(line.as_bytes()).ok()?;
            sent += line.len() as u64;
            taken.fetch_add(line.len() as u64, Ordering::Relaxed);
        }
        return Some(());
    }
    let (head, body) = match path.as_str() {
        "/robots.txt" => ("404 No", Vec::new()),
        "/bomb" => {
            // Ten megabytes of zeros, packed as often as it takes to be small.
            let mut packed = vec![version as u8; 10 << 20];
            for _ in 0..2 {
                let level = flate2::Compression::best();
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                encoder.write_all(&packed).ok()?;
                packed = encoder.finish().ok()?;
            }
            ("200 OK\r\nContent-Encoding: gzip", packed)
        }
        _ => {
            let page = format!(
                "<script>alert({version})</script><a \"{}",
                "<b>".repeat(100_000)
            );
            (
                "200 OK\r\nX-A: <script>\r\nX-B: \u{1b}]0;",
                page.into_bytes(),
            )
        }
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {head}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()
}

/// Ten gigabytes, bombs and markup go through crawl, archive, diff and web page in bounded memory.
#[test]
fn bodies_without_end_and_bombs_are_bounded_and_shown_as_text() {
    let (port, taken) = serve_hostile();
    let folder = folder("endless");
    let list =
        ["endless", "bomb", "hostile"].map(|page| format!("http://{page}.test:{port}/{page},\n"));
    let list = format!("url,select\n{}", list.concat());
    let list = list.replace("/hostile,", "/hostile,a > b");
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args(arguments("120", &folder))
        .args(["--web", "127.0.0.1:0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("stdin");
    input.write_all(list.as_bytes()).expect("a list");
    drop(input);
    let mut said = BufReader::new(child.stderr.take().expect("stderr")).lines();
    let web = said.by_ref().map_while(Result::ok).find_map(|line| {
        let rest = line.strip_prefix("monitor: http://")?;
        Some(rest.split('/').next()?.to_owned())
    });
    let web = web.expect("it says where");
    std::thread::spawn(move || said.for_each(drop));
    std::thread::sleep(std::time::Duration::from_secs(5));
    let shown = |path: &str| {
        let mut stream = TcpStream::connect(&web).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {web}\r\n\r\n").expect("asked");
        let mut page = String::new();
        BufReader::new(stream)
            .read_to_string(&mut page)
            .expect("a page");
        page
    };
    for page in ["endless", "bomb", "hostile"] {
        let url = format!("http://{page}.test:{port}/{page}");
        let encoded = url.replace(':', "%3A").replace('/', "%2F");
        let diff = shown(&format!("/diff?url={encoded}&raw=1"));
        assert!(diff.starts_with("HTTP/1.1 200 OK"), "{page}: {diff:.200}");
        assert!(diff.len() < 8 << 20, "{page}: {} bytes", diff.len());
        assert!(
            !diff.contains("<script") && !diff.contains('\u{1b}'),
            "{page}"
        );
        let told = dunlin(
            &["diff", &url, "--archive", folder.to_str().expect("UTF-8")],
            b"",
        );
        assert!(!text(&told.stdout).contains('\u{1b}'), "{page}");
        assert_ne!(
            told.status.code(),
            Some(2),
            "{page}: {}",
            text(&told.stderr)
        );
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
    let _ = (child.kill(), child.wait());
    let peak = status.ok().and_then(|status| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
    });
    assert!(
        peak.is_none_or(|peak| peak < 200_000),
        "{peak:?} KiB at the peak"
    );
    let taken = taken.load(Ordering::Relaxed);
    assert!(
        taken < 2_000_000_000,
        "{taken} bytes of bodies without end were taken"
    );
    let _ = std::fs::remove_dir_all(&folder);
}

/// One page of a million records (a hundred thousand in a hurry) is found by a program that gets
/// little memory for it.
#[test]
fn a_page_of_a_million_records_is_found_in_little_memory() {
    let records: u64 = match std::env::var_os("DUNLIN_LONG") {
        Some(_) => 1_000_000,
        None => 100_000,
    };
    let folder = folder("million");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut index = IndexWriter::open(&folder).expect("an index");
    for place in 0..records {
        let entry = Entry {
            time: 1_794_000_000 + place % 4,
            url: format!("http://host{}.test/page{}", place / 4 % 997, place / 4),
            media_type: "text/html".into(),
            status: Some(200),
            digest: "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ".into(),
            file: "dunlin-00001-20261117045008.warc.gz".into(),
            offset: place * 5_000,
            length: 4_321,
        };
        index.add(entry).expect("added");
        if place % 65_536 == 65_535 && index.should_fold() {
            index.fold().expect("folded");
        }
    }
    index.fold().expect("folded");
    drop(index);
    // All of its memory, programs and stacks included.
    let script = "ulimit -v 200000; exec \"$0\" \"$@\"";
    for page in [0, 1, records / 8, records / 4 - 1] {
        let url = format!("http://host{}.test/page{page}", page % 997);
        let output = Command::new("bash")
            .args(["-c", script, env!("CARGO_BIN_EXE_dunlin")])
            .args(["history", &url, "--format", "json", "--archive"])
            .arg(&folder)
            .output()
            .expect("bash starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let found = text(found.to_string().as_bytes());
        assert_eq!(found.matches("text/html").count(), 4, "{found}");
    }
    let _ = std::fs::remove_dir_all(&folder);
}
