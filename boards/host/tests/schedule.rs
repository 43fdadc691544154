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
fn every_method_crawls_just_after_updates() {
    const UPDATES: usize = 20;
    let update = |page: usize| 60.0 * (10 + 70 * page) as f64;
    let mut list = "url,model,changes_per_day,updates\n".to_owned();
    for page in 0..UPDATES {
        list += &format!("http://q{page}.org/,quasi,,{}m:1\n", 10 + 70 * page);
        list += &format!("http://p{page}.org/,poisson,1,\n");
    }
    for method in ["carousel", "merge", "transport"] {
        let options = ["--crawls", "40", "--format", "csv"];
        let output = schedule(&list, &[&["--method", method][..], &options[..]].concat());
        let rows = rows(&output);
        // All but MERGE have slots, of which there are as many as crawls.
        let late = match method {
            "merge" => 1.0,
            _ => 2.0 * 86_400.0 / 40.0,
        };
        for page in 0..UPDATES {
            let url = format!("http://q{page}.org/");
            let own = rows.iter().filter(|row| row.2 == url);
            let times: Vec<f64> = own.map(|row| row.0).collect();
            let update = update(page);
            assert!(
                matches!(times[..], [at] if (update..update + late).contains(&at)),
                "{method}: {url} changes at {update}, crawled at {times:?}"
            );
        }
        assert!(rows.len() >= 39, "{method}: {} rows", rows.len());
    }
}

#[test]
fn no_page_is_crawled_more_often_than_its_max_allows() {
    for (max, least) in [(1, 86_400.0), (2, 43_200.0)] {
        let rows_of = |page: usize| format!("http://h{}.org/{page},5,{max}\n", page % 7);
        let list: String = (0..20).map(rows_of).collect();
        let list = format!("url,changes_per_day,max\n{list}http://free.org/,5,\n");
        for method in ["carousel", "merge", "transport"] {
            let options = ["--crawls", "100", "--politeness", "1m", "--format", "csv"];
            let output = schedule(&list, &[&["--method", method][..], &options[..]].concat());
            let rows = rows(&output);
            let mut last: HashMap<&str, f64> = HashMap::new();
            let mut crawls: HashMap<&str, u32> = HashMap::new();
            for (time, _, url) in rows.iter().filter(|row| row.2 != "http://free.org/") {
                *crawls.entry(url).or_default() += 1;
                if let Some(before) = last.insert(url, *time) {
                    assert!(
                        time - before >= least - 0.001,
                        "{method}: {url} at {before} and {time}, max {max}"
                    );
                }
            }
            assert_eq!(crawls.len(), 20, "{method}: every page has its crawl");
            assert!(crawls.values().all(|crawls| *crawls <= max), "{method}");
            let free = rows.iter().filter(|row| row.2 == "http://free.org/");
            assert!(free.count() > 2, "{method}: who has no limit has more");
        }
    }
}

#[test]
fn every_page_is_crawled_as_often_as_its_min_wants() {
    // Nothing but its minimum speaks for the first page.
    let list = "url,weight,changes_per_day,min\nhttp://a.org/1,0.001,0.001,4\nhttp://a.org/2,1,9,\n\
        http://b.org/1,1,9,\n";
    for method in ["carousel", "merge", "transport"] {
        let output = schedule(
            list,
            &["--method", method, "--crawls", "24", "--format", "csv"],
        );
        let rows = rows(&output);
        let wanted = rows.iter().filter(|row| row.2 == "http://a.org/1").count();
        assert!(wanted >= 4, "{method}: {wanted} crawls, at least 4 wanted");
    }
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

/// Seconds that crawls are from their ideal times in total, as stderr says.
fn deviation(output: &Output) -> f64 {
    let told = String::from_utf8(output.stderr.clone()).unwrap();
    let told = told
        .strip_prefix("crawls are ")
        .unwrap_or_else(|| panic!("{told}"));
    told.split(' ').next().unwrap().parse().unwrap()
}

fn hundred() -> String {
    (0..100).fold("url,changes_per_day\n".to_owned(), |list, page| {
        list + &format!("http://a.org/{page},1\n")
    })
}

/// A hundred equal pages are not all wanted at noon: nobody is farther from its ideal time than a
/// few slots.
#[test]
fn ideal_times_are_spread_over_the_interval() {
    let options = [
        "--method",
        "transport",
        "--crawls",
        "100",
        "--format",
        "csv",
    ];
    let output = schedule(&hundred(), &options);
    assert_eq!(rows(&output).len(), 100);
    // All at noon would be 100 × a quarter of a day.
    assert!(
        deviation(&output) < 100.0 * 2.0 * 864.0,
        "{}",
        deviation(&output)
    );
}

/// What was printed for one day is the start of the next: each page a day after its last crawl.
#[test]
fn timetables_know_yesterday() {
    let options = [
        "--method",
        "transport",
        "--crawls",
        "100",
        "--format",
        "csv",
    ];
    let monday = schedule(&hundred(), &options);
    let file = std::env::temp_dir().join(format!("dunlin-last-{}.csv", std::process::id()));
    std::fs::write(&file, &monday.stdout).unwrap();
    let last = ["--last", file.to_str().unwrap()];
    let tuesday = schedule(&hundred(), &[&options[..], &last[..]].concat());
    assert_eq!(deviation(&tuesday), 0.0);
    assert_eq!(rows(&monday), rows(&tuesday));
    // Overdue pages come first, one that was just crawled last.
    std::fs::write(
        &file,
        "url,time_s\nhttp://a.org/7,86399\nhttp://a.org/8,-500000\n",
    )
    .unwrap();
    let rows = rows(&schedule(&hundred(), &[&options[..], &last[..]].concat()));
    let place = |url: &str| rows.iter().position(|row| row.2 == url).unwrap();
    assert!(place("http://a.org/7") > 95 && place("http://a.org/8") < 4);
    std::fs::remove_file(&file).unwrap();
}

/// Closed times are kept by every method; transport assigns around them at least cost.
#[test]
fn nothing_starts_in_closed_times() {
    for method in ["carousel", "merge", "transport"] {
        for politeness in ["0s", "5m"] {
            let options = [
                "--method",
                method,
                "--crawls",
                "80",
                "--crawlers",
                "120,120",
            ];
            let closed = [
                "--closed", "2h-3h", "--closed", "170m-4h", "--format", "csv",
            ];
            let polite = ["--politeness", politeness];
            let output = schedule(
                &hundred(),
                &[&options[..], &closed[..], &polite[..]].concat(),
            );
            let rows = rows(&output);
            assert_eq!(rows.len(), 80, "{method}");
            let open = |row: &(f64, u32, String)| !(7_200.0..14_400.0).contains(&row.0);
            assert!(rows.iter().all(open), "{method} {politeness}");
        }
    }
}

/// Bad last times and closed times: exit 2, one line, and no picture.
#[test]
fn bad_times_are_refused() {
    let file = std::env::temp_dir().join(format!("dunlin-bad-last-{}.csv", std::process::id()));
    let picture = file.with_extension("svg");
    let transport = ["--method", "transport", "--crawls", "9"];
    let drawn = ["--svg", picture.to_str().unwrap()];
    let refused = |options: &[&str], expected: &str| {
        let output = schedule(PAGES, &[&transport[..], &drawn[..], options].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains(expected) && error.lines().count() == 1,
            "{error}"
        );
        assert!(output.stdout.is_empty() && !picture.exists());
    };
    for (times, expected) in [
        (
            "url,time_s\nhttp://z.org/,5\n",
            "line 2, column 1 (url): found \"http://z.org/\", expected a URL of the page list",
        ),
        (
            "url,time_s\nhttp://c.org/,noon\n",
            "line 2, column 2 (time_s): found \"noon\"",
        ),
        ("url,time_s\nhttp://c.org/,1e99\n", "column 2 (time_s)"),
        ("url\nhttp://c.org/\n", "expected a column `time_s`"),
        ("", "found an empty file"),
    ] {
        std::fs::write(&file, times).unwrap();
        refused(&["--last", file.to_str().unwrap()], expected);
    }
    refused(&["--last", "/nowhere.csv"], "/nowhere.csv");
    refused(&["--closed", "3h-2h"], "the shorter first");
    refused(&["--closed", "noon"], "expected two durations");
    for late in ["25h-26h", "23h-25h"] {
        let found = format!("found --closed {late}, expected a part of the interval of 24h");
        refused(&["--closed", late], &found);
    }
    let merge = ["--method", "merge", "--crawls", "9", "--last", "-"];
    let output = schedule(PAGES, &merge);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("only --method transport")
    );
    std::fs::remove_file(&file).unwrap();
}
