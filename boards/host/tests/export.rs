//! `dunlin export` and `run --visits`: what a run has learnt is a list for the next, and its visits
//! are a history for `estimate`.

mod program;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;

use program::{dunlin, refuses, text};
use serde_json::Value;

/// Serves `/busy`, which is another page each time, and `/still`, which never is.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for (count, stream) in listener.incoming().flatten().enumerate() {
            let _ = answer(&stream, count);
        }
    });
    port
}

fn answer(mut stream: &TcpStream, count: usize) -> Option<()> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let (status, body) = match path.as_str() {
        "/busy" => (200, format!("{count:09}")),
        "/still" => (200, "the same".to_owned()),
        _ => (404, String::new()),
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} Said\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes()).ok()
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("dunlin-export-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_a_run_has_learnt_is_a_list_for_the_next() {
    let folder = Folder::new("learnt");
    let port = serve();
    let [pages, state, visits] = ["pages.csv", "state", "visits.csv"].map(|name| folder.path(name));
    let list = format!(
        "url,weight,every,name,pinned,select,ignore\nhttp://a.test:{port}/busy,2,,busy,,,\n\
        http://a.test:{port}/still,1,2s,\"a, b\",yes,<p>...</p>,<i>…</i>|seen …times\n\
        http://gone.invalid/never,1,,,,#news li,\n"
    );
    fs::write(&pages, list).expect("a list");
    let run = || {
        let output = dunlin(
            &[
                "run",
                &pages,
                "--state",
                &state,
                "--visits",
                &visits,
                "--seconds",
                "6",
                "--politeness",
                "200ms",
                "--crawls-per-day",
                "max",
                "--resolve",
                "a.test=127.0.0.1",
            ],
            b"",
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    run();
    let exported = dunlin(&["export", &state, &pages, "--format", "csv"], b"");
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    let learnt = folder.path("learnt.csv");
    fs::write(&learnt, &exported.stdout).expect("a file");
    let checked = dunlin(&["check", &learnt, "--format", "json"], b"");
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    let said = text(&exported.stdout);
    // Nothing that the first list says is lost on the way.
    assert!(
        said.contains(",2000ms,\"a, b\",yes,<p>…</p>,<i>…</i>|seen …times\n"),
        "{said}"
    );
    assert!(said.contains(",,#news li,\n"), "{said}");
    let rates = dunlin(&["export", &state, &pages, "--format", "json"], b"");
    let rates: Value = serde_json::from_slice(&rates.stdout).expect("JSON");
    let rate = |place: usize| rates[place]["changes_per_day"].as_f64();
    assert!(rate(0) > rate(1).map(|still| still * 3.0), "{rates}");
    assert_eq!(rates[2]["visited"], false);
    assert_eq!(rate(2), None, "nobody has visited it");

    // A second run appends, and what there is is a history.
    let before = fs::read_to_string(&visits).expect("visits");
    run();
    let after = fs::read_to_string(&visits).expect("visits");
    assert!(after.starts_with(&before) && after.len() > before.len());
    let estimated = dunlin(&["estimate", &visits, "--format", "json"], b"");
    assert!(estimated.status.success(), "{}", text(&estimated.stderr));
    let estimated: Value = serde_json::from_slice(&estimated.stdout).expect("JSON");
    let of = |path: &str| {
        let rows = estimated.as_array().expect("rows").iter();
        let mut found =
            rows.filter(|row| row["url"].as_str().is_some_and(|url| url.ends_with(path)));
        found.next().cloned().expect("a page")
    };
    // A state's own visits are the same ones, without anybody asking for them.
    let history = folder.path("history.csv");
    let exported = dunlin(&["export", &state, &pages, "--visits", &history], b"");
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    let rows = |path: &str| {
        let text = fs::read_to_string(path).expect("visits");
        let rows = text.lines().map(|row| {
            // Two looks at one clock may be a millisecond apart.
            let cells: Vec<&str> = row.split(',').collect();
            (cells[0].to_owned(), cells[2].to_owned())
        });
        rows.collect::<Vec<_>>()
    };
    assert_eq!(rows(&history), rows(&visits));
    let estimated_again = dunlin(&["estimate", &history, "--format", "json"], b"");
    assert!(estimated_again.status.success());
    refuses(
        &["export", &state, &pages, "--visits", &pages],
        b"",
        "as --visits and as PAGES.csv",
    );
    let busy = of("/busy");
    assert!(busy["visits"].as_u64() > Some(5), "{busy}");
    assert!(
        busy["changes"].as_u64() >= busy["visits"].as_u64().map(|visits| visits - 2),
        "{busy}"
    );
    assert_eq!(of("/still")["changes"], 0);
}

#[test]
fn what_is_no_state_or_of_another_list_is_refused() {
    let folder = Folder::new("refused");
    let [pages, state] = ["pages.csv", "state"].map(|name| folder.path(name));
    fs::write(&pages, "url\nhttp://a.test/\n").expect("a list");
    refuses(&["export", &state, &pages], b"", "found no file");
    fs::write(&state, "something else").expect("a file");
    let kept = format!("{state}.visits");
    refuses(
        &["run", &pages, "--state", &state, "--visits", &kept],
        b"",
        "expected two files",
    );
    refuses(&["export", &state, &pages], b"", "expected a state file");
    let visits = folder.path("visits.csv");
    fs::write(&visits, "something else\n").expect("a file");
    refuses(
        &["run", &pages, "--visits", &visits, "--seconds", "0"],
        b"",
        "begins with url,time_s",
    );
}
