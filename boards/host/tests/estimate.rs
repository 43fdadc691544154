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
        "url,visits,changes,naive,regular,irregular,last_modified,online,low,high,class,class_probability,\
         law,shape,updates,fit"
    );
    assert!(lines.next().unwrap().starts_with("http://a/,6,5,1,"));
    assert!(text(&dunlin(&["estimate", "-"], history.as_bytes()).stdout).contains("last_modified"));
}

#[test]
fn a_history_without_visits_is_refused() {
    refuses(
        &["estimate", "-"],
        HEADER.as_bytes(),
        "-: found no visits, expected one row or more below the header",
    );
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

/// Cho's example of §6.6, and an interval that no change at all leaves open below, only changes
/// above.
#[test]
fn classes_and_intervals_of_confidence() {
    let two_changes = rows("http://a/", &[(432_000, true, None); 2]);
    let history = HEADER.to_owned() + &two_changes;
    let output = dunlin(
        &["estimate", "-", "--classes", "7d,30d", "--format", "json"],
        history.as_bytes(),
    );
    let page: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(page[0]["class"], "7d");
    near(&page[0]["class_probability"], 0.92, 5e-3);
    assert!(page[0]["high"].is_null(), "any rate that is large enough");
    let never = estimates(&(HEADER.to_owned() + &rows("http://a/", &[(86_400, false, None); 10])));
    near(&never[0]["low"], 0.0, 0.0);
    near(&never[0]["high"], 0.192, 1e-3);
    assert_eq!(never[0]["class"], "365d");
    let sixty = (0..100).map(|day| (86_400, day % 5 < 3, None));
    let page = &estimates(&(HEADER.to_owned() + &rows("http://a/", &sixty.collect::<Vec<_>>())))[0];
    near(&page["low"], 0.70, 0.02);
    near(&page["high"], 1.16, 0.03);
}

/// Visits every hour for 60 days to a page that changes as `at` says of each hour.
fn hourly(changed: impl Fn(u32) -> bool) -> serde_json::Value {
    let visits: Vec<_> = (1..1_440)
        .map(|hour| (3_600, changed(hour), None))
        .collect();
    estimates(&(HEADER.to_owned() + &rows("http://a/", &visits)))[0]["law"].clone()
}

#[test]
fn the_law_is_told_and_judged() {
    // Six o'clock every day: the middle between the visits at six and seven.
    let clockwork = hourly(|hour| hour % 24 == 7);
    assert_eq!(clockwork["model"], "quasi");
    assert_eq!(clockwork["updates"], "390m:1.00");
    assert_eq!(clockwork["fit"], "good");
    // Ten changes in as many hours, then four days of none.
    let bursts = hourly(|hour| hour % 107 < 10);
    assert!(bursts["deviation"].as_f64().unwrap() > 3.0, "{bursts}");
    assert_ne!(bursts["model"], "poisson");
    // Exponential gaps of a mean of 20 hours, by their quantiles in an order by chance.
    let mut hours = vec![0_u32];
    for index in 0..60_u32 {
        let share = f64::from(index * 37 % 60) / 60.0 + 1.0 / 120.0;
        hours.push(hours.last().unwrap() + 1 + (-20.0 * (1.0 - share).ln()) as u32);
    }
    let poisson = hourly(|hour| hours.contains(&hour));
    assert_eq!(
        (&poisson["model"], &poisson["fit"]),
        (&"poisson".into(), &"good".into())
    );
    let few = hourly(|hour| hour % 300 == 0);
    assert_eq!(few["fit"], "few");
    // Visits every two hours meet every second hour only: that is no time of day.
    let coarse: Vec<_> = (1..720)
        .map(|visit| {
            (
                7_200,
                hours.contains(&(2 * visit)) || hours.contains(&(2 * visit + 1)),
                None,
            )
        })
        .collect();
    let coarse = &estimates(&(HEADER.to_owned() + &rows("http://a/", &coarse)))[0]["law"];
    assert_eq!(coarse["model"], "poisson", "{coarse}");
    // Visits that mostly find a change cannot tell when it was.
    assert!(hourly(|hour| hour % 3 < 2).is_null());
}

/// The law of a page with 60 gaps between changes, in hours, by their quantiles in an order by
/// chance. It is looked at every hour, and dates its changes.
fn by_gaps(quantile: impl Fn(f64) -> f64) -> serde_json::Value {
    let mut visits = Vec::new();
    let mut change = 0.0;
    for index in 0..60_u32 {
        let share = f64::from(index * 37 % 60) / 60.0 + 1.0 / 120.0;
        change += quantile(share);
        let hour = f64::ceil(change);
        visits.resize(hour as usize, (3_600, false, None));
        // Of several changes in an hour the last one is seen.
        let ago = (3_600.0 * (hour - change)) as u32;
        visits[hour as usize - 1] = (3_600, true, Some(ago));
    }
    estimates(&(HEADER.to_owned() + &rows("http://a/", &visits)))[0]["law"].clone()
}

#[test]
fn heavy_tails_are_told_by_name_and_a_law_may_fit_badly() {
    let told = |law: &serde_json::Value| (law["model"].clone(), law["fit"].clone());
    let tail = |share: f64| -(1.0 - share).ln();
    let weibull = by_gaps(|share| 100.0 * tail(share).powf(1.6));
    assert_eq!(
        told(&weibull),
        ("weibull".into(), "good".into()),
        "{weibull}"
    );
    let pareto = by_gaps(|share| 60.0 * ((1.0 - share).powf(-1.0 / 1.5) - 1.0));
    assert_eq!(told(&pareto), ("pareto".into(), "good".into()), "{pareto}");
    // Hours or days, and nothing between them.
    let either = by_gaps(|share| if share < 0.5 { 13.3 } else { 233.9 });
    assert_eq!(either["fit"], "poor", "{either}");
    // Every second change at six, the others at any time.
    let half = hourly(|hour| hour % 24 == 7 || hour % 25 == 3);
    assert_eq!(told(&half), ("quasi".into(), "poor".into()), "{half}");
}

#[test]
fn a_list_of_urls_is_no_history_and_says_which_columns_one_has() {
    let expected = "add a header line `url,time_s,changed` (known are url, time_s, changed,";
    refuses(&["estimate", "-"], b"http://a.test/\n", expected);
}

#[test]
fn bad_classes_are_refused() {
    for (classes, expected) in [
        ("7d,often", "expected a duration such as"),
        ("0s", "expected a time above 0"),
        ("", "expected a duration such as"),
    ] {
        refuses(
            &["estimate", "-", "--classes", classes],
            HEADER.as_bytes(),
            expected,
        );
    }
}
