//! `dunlin estimate` as a user meets it.

mod program;

use program::{dunlin, refuses, text};

const HEADER: &str = "url,time_s,changed,last_modified_s\n";

fn estimates(history: &str) -> serde_json::Value {
    let output = dunlin(&["estimate", "-", "--format", "json"], history.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

/// Rows of one page from intervals in seconds.
fn rows(url: &str, visits: &[(u32, bool, Option<u32>)]) -> String {
    let mut time = 0;
    let mut rows = format!("{url},0,0,\n");
    for (interval, changed, ago) in visits {
        time += interval;
        let modified = ago.map_or(String::new(), |ago| (time - ago).to_string());
        rows += &format!("{url},{time},{},{modified}\n", u8::from(*changed));
    }
    rows
}

fn near(value: &serde_json::Value, expected: f64, tolerance: f64) {
    let found = value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is not a number"));
    assert!(
        (found - expected).abs() <= tolerance,
        "found {found}, expected {expected}"
    );
}

#[test]
fn cho_examples_from_a_file() {
    let days: Vec<_> = (0..10).map(|day| (86_400, day % 5 < 3, None)).collect();
    let hours = [(6, true), (4, false), (3, true), (7, false)];
    let hours: Vec<_> = hours
        .iter()
        .map(|(hours, changed)| (hours * 3_600, *changed, None))
        .collect();
    let pages =
        estimates(&(HEADER.to_owned() + &rows("http://a/", &days) + &rows("http://b/", &hours)));
    let daily = &pages[0];
    let irregular = &pages[1];
    assert_eq!(
        (&daily["url"], &daily["visits"], &daily["changes"]),
        (&"http://a/".into(), &11.into(), &6.into())
    );
    near(&daily["naive"], 0.6, 1e-9);
    near(&daily["regular"], 0.847, 5e-4);
    near(&daily["online"], 0.9, 0.1);
    assert!(daily["last_modified"].is_null());
    near(&irregular["irregular"], 2.666 * 24.0 / 20.0, 1e-3);
}

#[test]
fn dates_are_used_where_every_change_has_one() {
    let visits: Vec<_> = (0..10)
        .map(|day| (86_400, day % 2 == 1, (day % 2 == 1).then_some(43_200)))
        .collect();
    let dated = HEADER.to_owned() + &rows("http://a/", &visits);
    near(&estimates(&dated)[0]["last_modified"], 0.629, 1e-3);
    let one_missing = dated.replacen("1,129600\n", "1,\n", 1);
    assert_ne!(dated, one_missing);
    assert!(estimates(&one_missing)[0]["last_modified"].is_null());
}

#[test]
fn what_the_data_cannot_tell_is_null() {
    let once = estimates(&(HEADER.to_owned() + "http://a/,5,1,\n"));
    for estimator in ["naive", "regular", "irregular", "last_modified", "online"] {
        assert!(once[0][estimator].is_null(), "{estimator} after one visit");
    }
    let always = estimates(&(HEADER.to_owned() + &rows("http://a/", &[(86_400, true, None); 5])));
    assert!(always[0]["irregular"].is_null());
    near(&always[0]["naive"], 1.0, 1e-9);
    let never = estimates(&(HEADER.to_owned() + &rows("http://a/", &[(86_400, false, None); 5])));
    near(&never[0]["irregular"], 0.0, 0.0);
    let no_time = estimates(&(HEADER.to_owned() + &rows("http://a/", &[(0, true, None); 5])));
    assert!(no_time[0]["naive"].is_null() && no_time[0]["online"].is_null());
    assert_eq!(estimates(HEADER), serde_json::json!([]));
}

#[test]
fn tables_and_csv_have_the_same_columns() {
    let history = HEADER.to_owned() + &rows("http://a/", &[(86_400, true, None); 5]);
    let csv = dunlin(&["estimate", "-", "--format", "csv"], history.as_bytes());
    let mut lines = text(&csv.stdout)
        .lines()
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter();
    assert_eq!(
        lines.next().unwrap(),
        "url,visits,changes,naive,regular,irregular,last_modified,online"
    );
    assert!(lines.next().unwrap().starts_with("http://a/,6,5,1,"));
    assert!(text(&dunlin(&["estimate", "-"], history.as_bytes()).stdout).contains("last_modified"));
}

#[test]
fn bad_histories_are_named_with_line_and_column() {
    let wrong = |rows: &str, expected: &str| {
        refuses(
            &["estimate", "-"],
            (HEADER.to_owned() + rows).as_bytes(),
            expected,
        )
    };
    wrong(
        "http://a/,0,maybe,\n",
        "stdin: line 2, column 3 (changed): found \"maybe\", expected 1 if",
    );
    wrong(
        "http://a/,0,,\n",
        "line 2, column 3 (changed): found no changed",
    );
    wrong(
        "http://a/,later,0,\n",
        "line 2, column 2 (time_s): found \"later\", expected the time of a visit",
    );
    wrong("http://a/,NaN,0,\n", "column 2 (time_s): found \"NaN\"");
    wrong(
        "http://a/,0,0,old\n",
        "column 4 (last_modified_s): found \"old\"",
    );
    wrong(",0,0,\n", "column 1 (url): found no url");
    wrong(
        "http://a/,60,0,\nhttp://a/,59,0,\n",
        "line 3, column 2 (time_s): found \"59\", expected a time not before the page's last visit, at 60",
    );
    refuses(
        &["estimate", "-"],
        b"url,time_s\n",
        "expected a column `changed` in the header row",
    );
}
