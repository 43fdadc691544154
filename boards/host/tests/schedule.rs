//! `dunlin schedule`: rows in order of time, polite, and a picture; refusals in one line.

use std::collections::HashMap;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const PAGES: &str = "url,weight,model,changes_per_day,updates\n\
    http://a.org/1,2,poisson,3,\nhttp://a.org/2,1,poisson,1,\nhttp://a.org/3,1,poisson,8,\n\
    http://b.org/1,1,poisson,2,\nhttp://b.org/2,1,quasi,,6h:0.9;18h:1\nhttp://c.org/,1,poisson,,\n";

fn schedule(pages: &str, arguments: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args(["schedule", "-"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A refusal may come before the pages are read.
    let _ = child.stdin.take().unwrap().write_all(pages.as_bytes());
    child.wait_with_output().unwrap()
}

fn rows(output: &Output) -> Vec<(f64, u32, String)> {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time_s,crawler,url"));
    let cells = lines.map(|line| line.split(',').collect::<Vec<_>>());
    cells
        .map(|cells| {
            (
                cells[0].parse().unwrap(),
                cells[1].parse().unwrap(),
                cells[2].to_owned(),
            )
        })
        .collect()
}

#[test]
fn every_method_is_sorted_polite_and_complete() {
    for method in ["carousel", "merge", "transport"] {
        for crawlers in ["1", "3", "30,20"] {
            let options = [
                "--crawls",
                "40",
                "--politeness",
                "10m",
                "--format",
                "csv",
                "--crawlers",
                crawlers,
            ];
            let rows = rows(&schedule(
                PAGES,
                &[&["--method", method][..], &options[..]].concat(),
            ));
            assert!(
                rows.len() > 35 && rows.len() <= 40,
                "{method}: {} rows",
                rows.len()
            );
            assert!(rows.is_sorted_by(|a, b| a.0 <= b.0), "{method}");
            let mut last: HashMap<&str, f64> = HashMap::new();
            for (time, _, url) in &rows {
                let host = url.split('/').nth(2).unwrap();
                if let Some(before) = last.insert(host, *time) {
                    assert!(
                        time - before >= 599.999,
                        "{method}: {host} at {before} and {time}"
                    );
                }
            }
        }
    }
}

/// Nights wrap around midnight, offices do not; crawlers that are too slow must not push a crawl
/// out of its hours.
#[test]
fn hours_are_kept() {
    let file = std::env::temp_dir().join(format!("dunlin-schedule-{}.csv", std::process::id()));
    std::fs::write(&file, "host,hours\na.org,22-06\nb.org,9-17\n").unwrap();
    let hosts = file.to_str().unwrap();
    for method in ["carousel", "merge", "transport"] {
        for crawlers in ["1", "3", "30,20"] {
            let options = [
                "--crawls",
                "40",
                "--politeness",
                "10m",
                "--format",
                "csv",
                "--hosts",
                hosts,
            ];
            let crawlers = ["--method", method, "--crawlers", crawlers];
            let rows = rows(&schedule(PAGES, &[&crawlers[..], &options[..]].concat()));
            assert!(rows.len() > 35, "{method}: {} rows", rows.len());
            for (time, _, url) in &rows {
                let hour = time / 3_600.0 % 24.0;
                let open = match url.split('/').nth(2) {
                    Some("a.org") => !(6.0..22.0).contains(&hour),
                    Some("b.org") => (9.0..17.0).contains(&hour),
                    _ => true,
                };
                assert!(open, "{method}: {url} at hour {hour}");
            }
        }
    }
    let refused = schedule(
        PAGES,
        &[
            "--method",
            "merge",
            "--crawls",
            "9",
            "--interval",
            "7h",
            "--hosts",
            hosts,
        ],
    );
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        String::from_utf8(refused.stderr)
            .unwrap()
            .contains("whole days")
    );
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn merge_without_crawlers_stays_in_the_interval() {
    let output = schedule(
        PAGES,
        &[
            "--method",
            "merge",
            "--crawls",
            "40",
            "--politeness",
            "10m",
            "--assume",
            "1",
            "--format",
            "csv",
        ],
    );
    assert!(rows(&output).iter().all(|row| row.0 < 86_400.0));
    assert!(output.stderr.is_empty());
}

#[test]
fn transport_keeps_expected_changes_and_proves_its_cost() {
    let output = schedule(
        PAGES,
        &[
            "--method",
            "transport",
            "--crawls",
            "14",
            "--crawlers",
            "10,8",
            "--format",
            "csv",
        ],
    );
    let quasi: Vec<f64> = rows(&output)
        .into_iter()
        .filter(|row| row.2 == "http://b.org/2")
        .map(|row| row.0)
        .collect();
    assert_eq!(quasi.len(), 2);
    assert!(quasi[0] >= 21_600.0 && quasi[1] >= 64_800.0, "{quasi:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("no assignment can do with less than"),
        "{told}"
    );
}

#[test]
fn draws_hosts_over_time() {
    let file = std::env::temp_dir().join(format!("dunlin-schedule-{}.svg", std::process::id()));
    let path = file.to_str().unwrap();
    let output = schedule(
        PAGES,
        &["--method", "merge", "--crawls", "40", "--svg", path],
    );
    assert!(output.status.success());
    let picture = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert_eq!(picture.matches("stroke=\"hsl(").count(), 40);
    assert!(
        ["a.org", "b.org", "c.org"]
            .iter()
            .all(|host| picture.contains(host))
    );
}

#[test]
fn refusals_are_one_line() {
    for (arguments, expected) in [
        (
            &["--method", "merge", "--crawls", "9", "--crawlers", "x"][..],
            "expected a count from 1",
        ),
        (
            &[
                "--method",
                "transport",
                "--crawls",
                "9",
                "--crawlers",
                "4,3",
            ],
            "crawlers that can do 7",
        ),
        (
            &["--method", "carousel", "--crawls", "0"],
            "expected a number above 0",
        ),
        (
            &["--method", "merge", "--crawls", "9", "--interval", "0s"],
            "interval of 0",
        ),
        (
            &["--method", "none", "--crawls", "9"],
            "carousel, merge, transport",
        ),
    ] {
        let output = schedule(PAGES, arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains(expected) && error.lines().count() == 1,
            "{error}"
        );
        assert!(output.stdout.is_empty());
    }
}
