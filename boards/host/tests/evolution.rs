//! `dunlin evolution` as a user meets it.

mod program;

use program::{dunlin, refuses, text};

const HEADER: &str = "url,time_s,changed,last_modified_s\n";
const DAY: u32 = 86_400;

/// Daily visits from one day to another; the page changes every so many days from its first visit
/// on, or never.
fn page(url: &str, days: std::ops::Range<u32>, every: Option<u32>) -> String {
    let from = days.start;
    days.map(|day| {
        let changed = every.is_some_and(|every| day > from && (day - from).is_multiple_of(every));
        format!("{url},{},{},\n", day * DAY, u8::from(changed))
    })
    .collect()
}

fn history() -> String {
    HEADER.to_owned()
        + &page("http://a.com/", 0..200, Some(1))
        + &page("http://b.com/", 0..200, Some(5))
        + &page("https://c.edu:8080/x?y", 0..200, None)
        + &page("http://d.edu/", 0..200, Some(100))
        // Came late and vanished early, without a change.
        + &page("http://e.org/", 50..71, None)
        + &page("http://f.net/", 0..200, Some(20))
}

#[test]
fn intervals_lifespans_and_halves_by_domain() {
    let output = dunlin(
        &["evolution", "-", "--format", "json"],
        history().as_bytes(),
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["days"], 199.0);
    let groups = found["groups"].as_array().unwrap();
    let names: Vec<_> = groups
        .iter()
        .map(|group| group["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["all", "com", "edu", "netorg"]);
    let row = |group: usize, what: &str| -> Vec<f64> {
        let shares = groups[group][what].as_array().unwrap().iter();
        shares
            .map(|share| (share.as_f64().unwrap() * 60.0).round())
            .collect()
    };
    // In sixtieths of the pages: every day, 5 days, 20 days, 199 days with one change, none twice.
    assert_eq!(row(0, "intervals"), [10.0, 10.0, 10.0, 0.0, 30.0]);
    assert_eq!(row(0, "lifespans"), [0.0, 10.0, 0.0, 50.0]);
    assert_eq!(row(3, "lifespans"), [0.0, 30.0, 0.0, 30.0]);
    // First changes after 1, 5, 20 and 100 days, and one page gone after 20.
    assert_eq!(groups[0]["half_changed_days"], 20.0);
    assert_eq!(groups[1]["half_changed_days"], 1.0);
    assert_eq!(groups[2]["half_changed_days"], 100.0);
    let tails = found["tails"].as_array().unwrap();
    assert_eq!(tails.len(), 2, "pages with ten gaps or more");
    assert_eq!(tails[0]["longer"], serde_json::json!([[1.0, 0.0]]));
}

#[test]
fn tables_and_pictures() {
    let file = std::env::temp_dir().join(format!("dunlin-evolution-{}.svg", std::process::id()));
    let path = file.to_str().unwrap();
    let output = dunlin(&["evolution", "-", "--svg", path], history().as_bytes());
    assert!(
        text(&output.stdout)
            .lines()
            .nth(2)
            .unwrap()
            .starts_with("all")
    );
    let picture = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("netorg") && picture.contains("Visible lifespan"));
    let csv = dunlin(&["evolution", "-", "--format", "csv"], history().as_bytes());
    assert!(text(&csv.stdout).starts_with("name,pages,half_changed_days,intervals_1d,"));
}

#[test]
fn refusals_are_one_line_and_write_nothing() {
    let file = std::env::temp_dir().join(format!("dunlin-evolution-{}-no.svg", std::process::id()));
    let path = file.to_str().unwrap();
    for (history, expected) in [
        (
            "url,time_s,changed\nhttp://a/,0,perhaps\n",
            "line 2, column 3 (changed)",
        ),
        ("url,time_s,changed\n", "found no visits"),
        ("", "found an empty file"),
        ("url,when\n", "unknown column"),
    ] {
        refuses(
            &["evolution", "-", "--svg", path],
            history.as_bytes(),
            expected,
        );
        assert!(!file.exists());
    }
    refuses(
        &["evolution", "/nowhere/history.csv"],
        b"",
        "/nowhere/history.csv",
    );
    refuses(
        &["evolution", "-", "--svg", "/nowhere/picture.svg"],
        history().as_bytes(),
        "/nowhere/picture.svg",
    );
}
