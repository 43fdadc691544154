//! What no honest user asks for: numbers without measure, disks without room, files that would be
//! overwritten. Each is refused in one line, or bounded, or said.

mod program;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dunlin::fetch::Url;
use program::{dunlin, refuses, text};

const PAGES: &[u8] = b"url,changes_per_day\nhttp://a.test/,1\n";

/// A temporary folder of its own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("dunlin-limits-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    /// The path of a file with this content.
    fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.0.join(name);
        fs::write(&path, content).expect("written");
        path.to_str().expect("a UTF-8 path").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host-tests/data/monitor");
    let path = folder.join(name);
    path.to_str().expect("a UTF-8 path").to_owned()
}

/// Runs the program with its standard output on a full disk: its exit code, and what it said.
fn onto_a_full_disk(arguments: &[&str], input: &[u8]) -> (Option<i32>, String) {
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("Linux has a disk that is always full");
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let _ = child.stdin.take().expect("stdin is piped").write_all(input);
    let output = child.wait_with_output().expect("the program ends");
    (output.status.code(), text(&output.stderr))
}

/// Answers every request with a page that is new each time. Returns its port.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for (count, mut stream) in listener.incoming().flatten().enumerate() {
            let mut lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            let body = format!("{count:06}");
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    port
}

#[test]
fn a_run_of_more_than_a_century_is_refused() {
    for seconds in ["18446744073709551615", "9223372036854775807", "3153600001"] {
        refuses(
            &["run", "-", "--seconds", seconds],
            PAGES,
            "is not in 0..=3153600000",
        );
    }
    for rate in ["0", "1e-308", "1e300", "NaN", "inf"] {
        refuses(
            &["run", "-", "--seconds", "1", "--crawls-per-day", rate],
            PAGES,
            "expected a number from 0.000001 to 1000000000",
        );
    }
}

#[test]
fn a_run_that_cannot_visit_as_often_as_the_list_asks_for_is_refused() {
    refuses(
        &["run", "-", "--seconds", "1", "--crawls-per-day", "24"],
        b"url,min\nhttp://a.test/,48\n",
        "`min` of the pages needs 48 crawls a day at least, but --crawls-per-day is 24",
    );
    refuses(
        &["run", "-", "--seconds", "1", "--interval", "1h"],
        b"url,min\nhttp://a.test/,241\n",
        "http://a.test/: found a minimum of 241 crawls, expected at most the 240.0",
    );
}

#[test]
fn a_collector_or_planner_for_more_than_a_century_is_refused() {
    let commands: [&[&str]; 3] = [
        &["collect", "--archive", "/no/such/folder"],
        &[
            "fleet",
            "-",
            "--broker",
            "mqtt://a:b@127.0.0.1:1/roof",
            "--state",
            "/no/such/folder",
        ],
        &["fleet", "watch", "mqtt://a:b@127.0.0.1:1/roof"],
    ];
    for command in commands {
        for seconds in ["18446744073709551615", "3153600001"] {
            let arguments = [command, &["--seconds", seconds]].concat();
            refuses(&arguments, b"", "is not in 0..=3153600000");
        }
    }
}

#[test]
fn news_of_a_collector_that_finds_no_room_is_a_failure() {
    let folder = Folder::new("collect-full");
    let full = File::options().write(true).open("/dev/full").expect("it");
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args([
            "collect",
            "--listen",
            "127.0.0.1:0",
            "--seconds",
            "2",
            "--archive",
        ])
        .arg(folder.0.join("archive"))
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("stderr")).lines();
    let first = lines.next().expect("a line").expect("text");
    let address = first.strip_prefix("collecting at http://").expect("where");
    let news = r#"{"time":1,"event":"gone","url":"http://a.test/","reason":"status 404"}"#;
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address.trim_end_matches('/')).expect("it listens");
        let length = news.len();
        let head = "POST /v1/news HTTP/1.1\r\nHost: localhost\r\n";
        let sent = write!(stream, "{head}Content-Length: {length}\r\n\r\n{news}");
        sent.expect("sent");
        let _ = BufReader::new(stream).lines().count();
    }
    let said: Vec<String> = lines.map_while(Result::ok).collect();
    let said = said.join("\n");
    assert_eq!(child.wait().expect("it ends").code(), Some(2), "{said}");
    let no_room = "cannot write standard output: No space left on device";
    assert!(said.contains(no_room), "{said}");
    assert_eq!(
        said.matches("news is lost until that works again").count(),
        1,
        "{said}"
    );
}

#[test]
fn results_that_find_no_room_are_a_failure() {
    let history = b"url,time_s,changed\nhttp://a.test/,0,0\nhttp://a.test/,60,1\n";
    let robots = b"User-agent: *\nDisallow: /x\n";
    let elf = fixture("probe.elf");
    let log = fixture("probe.defmt");
    let folder = Folder::new("full");
    let html = folder.file("page.html", b"");
    let monitor = ["monitor", "--elf", &elf, "--log", &log];
    let cases: &[(&[&str], &[u8])] = &[
        (&["check", "-"], PAGES),
        (&["check", "-", "--format", "csv"], PAGES),
        (&["plan", "-", "--crawls", "10"], PAGES),
        (
            &["schedule", "-", "--crawls", "10", "--method", "merge"],
            PAGES,
        ),
        (
            &["simulate", "-", "--days", "1", "--crawls-per-day", "10"],
            PAGES,
        ),
        (&["estimate", "-"], history),
        (&["robots", "-", "http://a.test/"], robots),
        (&["robots", "-", "http://a.test/x"], robots),
        (&["completions", "bash"], b""),
        (&["--help"], b""),
        (&["report", &log, "--elf", &elf, "--html", &html], b""),
        (&[&monitor[..], &["--plain"]].concat(), b""),
        (&[&monitor[..], &["--summary"]].concat(), b""),
        (
            &["run", "-", "--seconds", "0", "--format", "json"],
            b"url\nhttp://a.test/\n",
        ),
    ];
    for (arguments, input) in cases {
        let (code, said) = onto_a_full_disk(arguments, input);
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(
            said.contains("cannot write standard output: No space left on device")
                || arguments == &["--help"],
            "{arguments:?}: {said}"
        );
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
}

#[test]
fn changes_and_records_that_find_no_room_are_a_failure() {
    let list = format!("url\nhttp://127.0.0.1:{}/\n", serve());
    let run = [
        "run",
        "-",
        "--seconds",
        "3",
        "--politeness",
        "200ms",
        "--crawls-per-day",
        "max",
    ];
    let output = dunlin(
        &[&run[..], &["--log", "/dev/full"]].concat(),
        list.as_bytes(),
    );
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot write /dev/full: No space"), "{said}");
    assert!(
        text(&output.stdout).lines().count() >= 2,
        "the other way out still works: {said}"
    );
    let (code, said) = onto_a_full_disk(&run, list.as_bytes());
    assert_eq!(code, Some(2), "{said}");
    let complaints = said.matches("news is lost until that works again");
    assert_eq!(complaints.count(), 1, "{said}");

    let elf = fixture("probe.elf");
    let log = fixture("probe.defmt");
    let monitor = ["monitor", "--elf", &elf, "--log", &log, "--summary"];
    let output = dunlin(&[&monitor[..], &["--record", "/dev/full"]].concat(), b"");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the record is not complete"), "{said}");
    assert!(!output.stdout.is_empty(), "what was seen is shown");
}

#[test]
fn a_full_disk_for_complaints_ends_nothing() {
    let full = || File::options().write(true).open("/dev/full").expect("it");
    let code = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(full())
            .status()
            .expect("the program runs")
            .code()
    };
    assert_eq!(code(&["check", "/no/such/file"]), Some(2));
    assert_eq!(code(&["chekc"]), Some(2));
    let folder = Folder::new("complaints");
    let pages = folder.file("pages.csv", PAGES);
    assert_eq!(code(&["check", &pages]), Some(0));
}

#[test]
fn text_behind_a_lone_carriage_return_is_not_dropped() {
    refuses(
        &["check", "-"],
        b"url,weight\nhttp://a/,1\rhttp://b/,2\n",
        "stdin: line 2: found a carriage return at byte 12",
    );
    refuses(
        &["check", "-"],
        b"url\rhttp://a/\rhttp://b/\r",
        "line 1: found a carriage return at byte 4",
    );
    refuses(
        &["check", "-"],
        b"url\n\"http://a/\rb\"\n",
        "line 2: found a carriage return",
    );
    let ends = dunlin(
        &["check", "-", "--format", "csv"],
        b"url\r\nhttp://a/\r\r\nhttp://b/\r",
    );
    assert_eq!(
        text(&ends.stdout).lines().count(),
        3,
        "{}",
        text(&ends.stderr)
    );
}

#[test]
fn no_file_that_is_read_is_written() {
    let folder = Folder::new("overwritten");
    let pages = folder.file("pages.csv", PAGES);
    let hosts = folder.file("hosts.csv", b"host\na.test\n");
    let trace = folder.file("trace.csv", b"url,time_s\nhttp://a.test/,5\n");
    let link = folder.0.join("link.csv");
    fs::hard_link(&pages, &link).expect("a link");
    let link = link.to_str().expect("a UTF-8 path");
    let elf = folder.file("probe.elf", &fs::read(fixture("probe.elf")).expect("it"));
    let log = folder.file(
        "probe.defmt",
        &fs::read(fixture("probe.defmt")).expect("it"),
    );
    let new = folder.0.join("new");
    let new = new.to_str().expect("a UTF-8 path");
    let same = format!("{}/./new", folder.0.display());
    let found = format!("{new}.found");
    // The log lies where a run would keep what it finds.
    let state = folder.0.join("found");
    let state = state.to_str().expect("a UTF-8 path");
    fs::hard_link(&log, format!("{state}.found")).expect("a link");
    let simulate = [
        "simulate",
        &pages,
        "--hosts",
        &hosts,
        "--trace",
        &trace,
        "--days",
        "1",
        "--crawls-per-day",
        "10",
    ];
    let schedule = ["schedule", &pages, "--crawls", "5", "--method", "merge"];
    let report = ["report", &log, "--elf", &elf, "--pages", &pages];
    let run = ["run", &pages, "--hosts", &hosts, "--seconds", "0"];
    let cases: &[(&[&str], &[&str])] = &[
        (&simulate, &["--html", &pages]),
        (&simulate, &["--svg", link]),
        (&simulate, &["--svg", &hosts]),
        (&simulate, &["--html", &trace]),
        (&simulate, &["--html", new, "--svg", &same]),
        (&schedule, &["--svg", &pages]),
        (&report, &["--html", &log]),
        (&report, &["--html", &elf]),
        (&report, &["--html", &pages]),
        (&run, &["--log", &pages]),
        (&run, &["--log", &hosts]),
        (&run, &["--state", &pages]),
        (&run, &["--log", new, "--state", &same]),
        (&run, &["--discover", "--state", new, "--log", &found]),
        (&run, &["--discover", "--state", state, "--export", &log]),
    ];
    let files = [&pages, &hosts, &trace, &elf, &log];
    let before = files.map(|file| fs::read(file).expect("a file"));
    for (command, more) in cases {
        refuses(&[*command, *more].concat(), b"", "expected two files");
    }
    let after = files.map(|file| fs::read(file).expect("a file"));
    assert_eq!(before, after);
    assert!(!Path::new(new).exists(), "nothing is written");
}

#[test]
fn a_long_host_list_takes_time_by_its_length_alone() {
    let folder = Folder::new("hosts");
    let rows = |from: usize| -> String {
        (from..from + 100_000)
            .map(|host| format!("h{host}.test\n"))
            .collect()
    };
    let hosts = folder.file("hosts.csv", format!("host\n{}", rows(0)).as_bytes());
    let start = Instant::now();
    let output = dunlin(&["check", "-", "--hosts", &hosts], PAGES);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // By the square of its length: more than a minute.
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    let again = format!("host\n{}h5.test\n", rows(0));
    let hosts = folder.file("hosts.csv", again.as_bytes());
    refuses(
        &["check", "-", "--hosts", &hosts],
        PAGES,
        "line 100002, column 1 (host): found \"h5.test\", expected each host once",
    );
}

/// What anybody can compute of a URL: nothing but redirect loops may rest on it.
fn digest(path: &str) -> u32 {
    let url = format!("http://a/{path}");
    Url::parse(&url).expect("a URL").digest()
}

#[test]
fn urls_that_are_chosen_to_collide_cost_no_more_than_others() {
    // Fifteen pairs of pieces, of which either leads to the same digest: 2¹⁵ paths with one digest.
    let mut pairs: Vec<[String; 2]> = Vec::new();
    let mut path = String::new();
    while pairs.len() < 15 {
        let mut known = std::collections::HashMap::new();
        let found = (0_u64..).find_map(|number| {
            let piece = format!("{number:06x}");
            let other = known.insert(digest(&format!("{path}{piece}")), piece.clone())?;
            Some([other, piece])
        });
        let pair = found.expect("by chance, among some ten thousand");
        path += &pair[0];
        pairs.push(pair);
    }
    let path = |number: usize| -> String {
        let choice = |(place, pair): (usize, &[String; 2])| pair[number >> place & 1].clone();
        pairs.iter().enumerate().map(choice).collect()
    };
    assert_eq!(digest(&path(0)), digest(&path(12_345)));
    assert_ne!(path(0), path(12_345));
    let list: String = (0..20_000)
        .map(|number| format!("http://a/{}\n", path(number)))
        .collect();
    let begin = Instant::now();
    let output = dunlin(&["check", "-"], format!("url\n{list}").as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn more_known_updates_than_can_be_planned_are_refused() {
    let updates = |count: usize| -> String {
        let each = (0..count).map(|second| format!("{second}s:0.5"));
        each.collect::<Vec<_>>().join(";")
    };
    let list = |rows: usize, count: usize| -> String {
        let row = |row: usize| format!("http://a/{row},quasi,{}\n", updates(count));
        format!(
            "url,model,updates\n{}",
            (0..rows).map(row).collect::<String>()
        )
    };
    let plan = ["plan", "-", "--crawls", "10"];
    refuses(
        &plan,
        list(1, 3_000).as_bytes(),
        "line 2, column 3 (updates): found \"0s:0.5;1s:0.5",
    );
    refuses(
        &plan,
        list(1, 481).as_bytes(),
        "expected at most 480 updates a page",
    );
    refuses(
        &plan,
        list(101, 480).as_bytes(),
        "line 102, column 3 (updates)",
    );
    let output = dunlin(&plan, list(20, 48).as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_simulation_without_end_is_refused() {
    let simulate = |list: &str, crawls: &str, expected: &str| {
        let arguments = ["simulate", "-", "--days", "1", "--crawls-per-day", crawls];
        refuses(&arguments, list.as_bytes(), expected);
    };
    let rates = |rate: &str| format!("url,changes_per_day\nhttp://a/,{rate}\n");
    let expected = "simulated 5 times, expected at most 10000000000 changes in all";
    simulate(&rates("1e26"), "10", expected);
    simulate(&rates("2.1e9"), "10", expected);
    for crawls in ["1e-308", "5e-324", "1e-7", "0", "-1", "NaN"] {
        simulate(&rates("1"), crawls, "expected a number above 0");
    }
    simulate(&rates("1"), "1e300", "at most 10000000000 fetches in all");
    // Said in a few digits, and not in hundreds of zeros.
    simulate(&rates("1"), "1e300", "found --crawls-per-day 1e300, ");
    simulate(&rates("1"), "1e-308", "found --crawls-per-day 1e-308, ");
    let least = [
        "simulate",
        "-",
        "--days",
        "1",
        "--crawls-per-day",
        "0.000001",
    ];
    let output = dunlin(&least, rates("1").as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_politeness_that_cannot_be_kept_is_refused() {
    let folder = Folder::new("polite");
    let hosts = folder.file("hosts.csv", b"host,politeness\na.test,60d\n");
    let run = ["run", "-", "--seconds", "0"];
    let said = "a.test: found a politeness of 60d, expected at most 49d";
    refuses(&[&run[..], &["--politeness", "60d"]].concat(), PAGES, said);
    refuses(&[&run[..], &["--hosts", &hosts]].concat(), PAGES, said);
    let most = dunlin(&[&run[..], &["--politeness", "49d"]].concat(), PAGES);
    assert_eq!(most.status.code(), Some(0), "{}", text(&most.stderr));
    // Nobody waits in a plan.
    let plan = dunlin(
        &["plan", "-", "--crawls", "1", "--politeness", "60d"],
        PAGES,
    );
    assert_eq!(plan.status.code(), Some(0), "{}", text(&plan.stderr));
}
