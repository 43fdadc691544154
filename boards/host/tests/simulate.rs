//! `dunlin simulate` as a user meets it.

mod program;

use program::{dunlin, refuses, text};
use serde_json::Value;

const PAGES: &str = "url,weight,changes_per_day\n\
    http://a/1,1,0.5\nhttp://a/2,2,2\nhttp://a/3,1,8\nhttp://b/1,4,0.1\nhttp://b/2,1,1\nhttp://c/1,1,\n";
const FIELDS: [&str; 10] = [
    "policy",
    "freshness",
    "staleness",
    "age_s",
    "fetches",
    "changes",
    "changes_seen",
    "politeness_violations",
    "bound",
    "optimum",
];

fn simulate(options: &[&str]) -> Value {
    simulate_list(PAGES, options)
}

fn simulate_list(pages: &str, options: &[&str]) -> Value {
    let arguments = [&["simulate", "-", "--format", "json"], options].concat();
    let output = dunlin(&arguments, pages.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn one_policy_is_one_object_with_the_fields_promised() {
    let options = [
        "--days",
        "30",
        "--crawls-per-day",
        "12",
        "--politeness",
        "15s",
    ];
    let row = simulate(&options);
    assert_eq!(row["policy"], "carousel");
    for field in FIELDS {
        assert!(!row[field].is_null(), "no {field}: {row}");
    }
    assert_eq!(number(&row["freshness"]) + number(&row["staleness"]), 1.0);
    assert_eq!(row["politeness_violations"], 0);
    assert!(
        number(&row["fetches"]) <= 12.0 * 30.0 + 4.0 && number(&row["fetches"]) > 11.0 * 30.0,
        "{row}"
    );
    assert!(
        number(&row["changes_seen"]) <= number(&row["changes"]),
        "{row}"
    );
    assert_eq!(
        row,
        simulate(&options),
        "the same seed gives the same result"
    );
    assert_ne!(row, simulate(&[&options[..], &["--seed", "2"]].concat()));
}

#[test]
fn all_policies_meet_the_same_changes() {
    let rows = simulate(&[
        "--days",
        "60",
        "--crawls-per-day",
        "12",
        "--politeness",
        "1m",
        "--compare",
    ]);
    let rows = rows.as_array().expect("a list");
    let names: Vec<_> = rows
        .iter()
        .filter_map(|row| row["policy"].as_str())
        .collect();
    let known = [
        "carousel",
        "index",
        "psp",
        "mp2",
        "m-wolf",
        "random",
        "uniform",
        "proportional",
        "nutch",
        "stormcrawler",
        "hints",
        "siblings",
    ];
    assert_eq!(names, known);
    for row in rows {
        assert_eq!(row["changes"], rows[0]["changes"], "{row}");
        assert_eq!(row["politeness_violations"], 0, "{row}");
        assert!(
            number(&row["freshness"]) > 0.1
                && number(&row["freshness"]) < number(&row["bound"]) + 0.05,
            "{row}"
        );
    }
    let table = text(
        &dunlin(
            &[
                "simulate",
                "-",
                "--days",
                "2",
                "--crawls-per-day",
                "9",
                "--compare",
            ],
            PAGES.as_bytes(),
        )
        .stdout,
    );
    assert!(
        table.contains("politeness_violations") && table.contains("stormcrawler"),
        "{table}"
    );
}

/// 500 equal pages, visited once a day in turn: freshness is (1 − e^−r)/r.
#[test]
fn the_confidence_interval_holds_the_analytic_value() {
    let pages: String = (0..500)
        .map(|page| format!("http://a/{page},1.5\n"))
        .collect();
    let pages = "url,changes_per_day\n".to_owned() + &pages;
    let options = [
        "--days",
        "10",
        "--crawls-per-day",
        "500",
        "--policy",
        "uniform",
        "--seeds",
        "12",
    ];
    let row = simulate_list(&pages, &options);
    let expected = (1.0 - (-1.5_f64).exp()) / 1.5;
    let found = number(&row["freshness"]);
    let width = number(&row["freshness_plus_minus"]);
    assert!(
        (found - expected).abs() <= width,
        "{found} ± {width}, expected {expected}"
    );
    assert!(width < 0.005, "± {width} says little");
}

#[test]
fn learning_from_a_trace() {
    let folder = std::env::temp_dir().join(format!("dunlin-simulate-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let at = |name: &str| folder.join(name).to_str().expect("a UTF-8 path").to_owned();
    let trace = at("trace.csv");
    let html = at("report.html");
    let svg = at("plots.svg");
    // In any order; a change every six hours of one page, one change of another.
    let rows: String = (1..40)
        .rev()
        .map(|change| format!("http://a/1,{}\n", change * 21_600))
        .collect();
    std::fs::write(&trace, "url,time_s\nhttp://b/1,100000\n".to_owned() + &rows).expect("written");
    let options = [
        "--days",
        "10",
        "--crawls-per-day",
        "24",
        "--trace",
        &trace,
        "--learn",
        "--html",
        &html,
        "--svg",
        &svg,
    ];
    let row = simulate(&options);
    assert_eq!(row["changes"], 40);
    let in_order: String = (1..40)
        .map(|change| format!("http://a/1,{}\n", change * 21_600))
        .collect();
    std::fs::write(
        &trace,
        "url,time_s\n".to_owned() + &in_order + "http://b/1,100000\n",
    )
    .expect("written");
    assert_eq!(row, simulate(&options), "rows may stand in any order");
    assert!(number(&row["freshness"]) < number(&row["bound"]), "{row}");
    let report = std::fs::read_to_string(&html).expect("a report");
    assert!(
        report.contains("Freshness over time")
            && report.contains("Fetches a day by host")
            && report.contains("</html>")
    );
    assert!(
        !report
            .replace("http://www.w3.org/2000/svg", "")
            .contains("http"),
        "the report needs a network"
    );
    assert!(
        std::fs::read_to_string(&svg)
            .expect("plots")
            .ends_with("</svg>\n")
    );
    let asked = [
        "simulate",
        "-",
        "--days",
        "1",
        "--crawls-per-day",
        "5",
        "--trace",
        &trace,
    ];
    for (rows, expected) in [
        (
            "http://nowhere/,5\n",
            "line 2, column 1 (url): found \"http://nowhere/\", expected a URL of the page list",
        ),
        (
            "http://a/1,-5\n",
            "line 2, column 2 (time_s): found \"-5\", expected seconds from the start",
        ),
        ("http://a/1,soon\n", "found \"soon\""),
        ("http://a/1,NaN\n", "found \"NaN\""),
        ("http://a/1,inf\n", "found \"inf\""),
        ("http://a/1,1e300\n", "found \"1e300\""),
        ("http://a/1,\n", "found no time_s"),
    ] {
        std::fs::write(&trace, "url,time_s\n".to_owned() + rows).expect("written");
        refuses(&asked, PAGES.as_bytes(), expected);
    }
    std::fs::write(&trace, "url,day\n").expect("written");
    refuses(&asked, PAGES.as_bytes(), "unknown column \"day\"");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn smart_and_super_hosts_help_those_who_listen() {
    let folder = std::env::temp_dir().join(format!("dunlin-simulate-hosts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let hosts = folder.join("hosts.csv");
    let path = hosts.to_str().expect("a UTF-8 path");
    let pages: String = (0..100)
        .map(|page| format!("http://h{}/{page},0.5\n", page % 10))
        .collect();
    let pages = "url,changes_per_day\n".to_owned() + &pages;
    let freshness = |provider: &str, policy: &str| {
        let rows: String = (0..10)
            .map(|host| format!("h{host},{provider}\n"))
            .collect();
        std::fs::write(&hosts, "host,provider\n".to_owned() + &rows).expect("written");
        let options = [
            "--days",
            "60",
            "--crawls-per-day",
            "50",
            "--hosts",
            path,
            "--policy",
            policy,
        ];
        number(&simulate_list(&pages, &options)["freshness"])
    };
    for policy in ["index", "hints"] {
        let normal = freshness("normal", policy);
        for provider in ["smart", "super"] {
            let helped = freshness(provider, policy);
            assert!(
                helped > normal + 0.05,
                "{policy}: {provider} {helped}, normal {normal}"
            );
        }
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// By Xu's scores, what people ask for is visited more often: good for freshness if that changes.
#[test]
fn accesses_decide_what_is_visited() {
    let row = |page| format!("http://a/busy{page},4\nhttp://a/still{page},0\n");
    let rows: String = (0..10).map(row).collect();
    let pages = &format!("url,changes_per_day\n{rows}");
    let name = format!("dunlin-simulate-accesses-{}", std::process::id());
    let file = std::env::temp_dir().join(name);
    let path = file.to_str().expect("a UTF-8 path");
    let usual = ["--days", "20", "--crawls-per-day", "80", "--accesses", path];
    let freshness = |asked_for: &str| {
        let row = |access| format!("http://a/{asked_for}{},{}\n", access % 10, access * 86);
        let rows: String = (0..20_000).map(row).collect();
        std::fs::write(&file, "url,time_s\n".to_owned() + &rows).expect("written");
        let options = [&usual[..], &["--policy", "hints"]].concat();
        number(&simulate_list(pages, &options)["freshness"])
    };
    let busy = freshness("busy");
    let still = freshness("still");
    assert!(busy > still + 0.05, "{busy} and {still}");

    let refuses = |text: &str, policy: &str, expected: &str| {
        std::fs::write(&file, text).expect("written");
        let asked = [&["simulate", "-"], &usual[..], &["--policy", policy]].concat();
        refuses(&asked, pages.as_bytes(), expected);
    };
    let row = |row: &str| format!("url,time_s\n{row}\n");
    refuses(&row("http://a/,1"), "hints", "line 2, column 1 (url)");
    refuses(&row("http://a/busy1,x"), "hints", "column 2 (time_s)");
    refuses(&row("http://a/busy1,1"), "index", "expected --policy hints");
    std::fs::remove_file(&file).expect("removed");
}

#[test]
fn bad_usage_is_one_line() {
    let wrong = |options: &[&str], expected: &str| {
        refuses(
            &[&["simulate", "-"], options].concat(),
            PAGES.as_bytes(),
            expected,
        );
    };
    wrong(
        &["--days", "0", "--crawls-per-day", "5"],
        "found --days 0, expected a number above 0, at most 36500",
    );
    wrong(
        &["--days", "-1", "--crawls-per-day", "5"],
        "found --days -1",
    );
    wrong(
        &["--days", "NaN", "--crawls-per-day", "5"],
        "found --days NaN",
    );
    wrong(
        &["--days", "1", "--crawls-per-day", "0"],
        "found --crawls-per-day 0",
    );
    wrong(
        &["--days", "30000", "--crawls-per-day", "1e9"],
        "at most 10000000000 fetches in all",
    );
    wrong(&["--days", "1"], "--crawls-per-day");
    wrong(
        &["--days", "1", "--crawls-per-day", "5", "--policy", "luck"],
        "possible values: carousel, index, psp",
    );
    wrong(
        &["--days", "1", "--crawls-per-day", "5", "--failures", "1"],
        "expected a share from 0 to below 1",
    );
    wrong(
        &["--days", "1", "--crawls-per-day", "5", "--crawlers", "0"],
        "expected a count from 1",
    );
    wrong(
        &[
            "--days",
            "1",
            "--crawls-per-day",
            "5",
            "--trace",
            "no-such.csv",
        ],
        "cannot open no-such.csv",
    );
    wrong(
        &[
            "--days",
            "1",
            "--crawls-per-day",
            "5",
            "--html",
            "no-such-folder/r.html",
        ],
        "cannot write no-such-folder/r.html",
    );
    refuses(
        &["simulate", "-", "--days", "1", "--crawls-per-day", "5"],
        b"url\n",
        "found no pages",
    );
}

/// Several seeds unless asked otherwise, their spread beside them, and a word on what is measured.
#[test]
fn chance_is_shown() {
    let options = ["--days", "5", "--crawls-per-day", "12"];
    let row = simulate(&options);
    assert_eq!(row["seeds"], 5);
    assert!(number(&row["freshness_plus_minus"]) > 0.0, "{row}");
    let said = |options: &[&str]| {
        let output = dunlin(&[&["simulate", "-"], options].concat(), PAGES.as_bytes());
        text(&output.stderr)
    };
    let shown = said(&options);
    assert!(
        shown.contains("measured over 5 days, after 2 of warming up"),
        "{shown}"
    );
    assert!(
        shown.contains("means of 5 simulations, ± 95 % confidence"),
        "{shown}"
    );
    let one = said(&["--days", "5", "--crawls-per-day", "12", "--seeds", "1"]);
    assert!(
        one.contains("--seeds 5 says how much chance is in it"),
        "{one}"
    );
    // A short while in which nothing happened.
    let lucky = "url,changes_per_day\nhttp://a/,0.01\n";
    let options = ["--days", "0.1", "--crawls-per-day", "1", "--seeds", "2"];
    let row = simulate_list(lucky, &options);
    assert!(number(&row["freshness"]) > number(&row["bound"]), "{row}");
    let output = dunlin(
        &[&["simulate", "-"], &options[..]].concat(),
        lucky.as_bytes(),
    );
    let said = text(&output.stderr);
    assert!(
        said.contains("carousel is above the bound: no schedule is so on average"),
        "{said}"
    );
    // That is not so where a silence says something of what comes.
    let bursts = "url,model,changes_per_day,shape\nhttp://a/,pareto,0.01,1.5\n";
    let page = std::env::temp_dir().join(format!("dunlin-rhythms-{}.html", std::process::id()));
    let html = ["--html", page.to_str().expect("a path")];
    let output = dunlin(
        &[&["simulate", "-"], &options[..], &html].concat(),
        bursts.as_bytes(),
    );
    let said = text(&output.stderr);
    assert!(
        said.contains("carousel is above the bound: it is that of fixed rhythms"),
        "{said}"
    );
    let report = std::fs::read_to_string(&page).expect("a report");
    assert!(report.contains("any fixed rhythms could reach"));
    std::fs::remove_file(&page).expect("removed");
}

/// 40 pages with one certain update a day each.
fn clockwork() -> String {
    let row = |page: u32| format!("http://a/{page},quasi,{}m:1\n", 36 * page);
    let rows: String = (0..40).map(row).collect();
    format!("url,model,updates\n{rows}")
}

#[test]
fn pages_that_change_by_the_clock_are_kept_fresh() {
    let options = ["--days", "30", "--crawls-per-day", "40"];
    for policy in ["carousel", "index"] {
        let options = [&options[..], &["--policy", policy]].concat();
        let row = simulate_list(&clockwork(), &options);
        assert!(number(&row["freshness"]) >= 0.99, "{row}");
    }
}

#[test]
fn max_is_never_exceeded() {
    let rows: String = (0..20)
        .map(|page| format!("http://a/{page},5,1\n"))
        .collect();
    let list = format!("url,changes_per_day,max\n{rows}");
    let options = ["--days", "30", "--crawls-per-day", "100", "--compare"];
    for failures in ["0", "0.2"] {
        let options = [&options[..], &["--failures", failures]].concat();
        for row in simulate_list(&list, &options).as_array().expect("rows") {
            assert_eq!(row["limit_violations"], 0, "{row}");
            assert!(number(&row["fetches"]) <= 20.0 * 31.0, "{row}");
        }
    }
}

/// Pages of every law, with this shape of Weibull's and this of Pareto's.
fn mix(weibull: f64, pareto: f64) -> String {
    let mut list = "url,weight,model,changes_per_day,shape,updates\n".to_owned();
    for page in 0..40 {
        let rate = 2.0 + f64::from(page % 20);
        list += &format!("http://a/p{page},1,poisson,{rate},,\n");
        list += &format!("http://a/w{page},1,weibull,{rate},{weibull},\n");
        list += &format!("http://a/h{page},1,pareto,{rate},{pareto},\n");
        list += &format!("http://a/q{page},1,quasi,,,{}m:1\n", 36 * page);
    }
    list
}

#[test]
fn a_mix_of_all_laws_is_as_fresh_as_the_plan_says() {
    let options = ["--days", "30", "--crawls-per-day", "3000"];
    // Nearly Poisson, and with bursts.
    for (weibull, pareto) in [(1.2, 3.0), (0.6, 3.0)] {
        let list = mix(weibull, pareto);
        let row = simulate_list(&list, &options);
        let promised = planned(&list, "3000");
        let off = (number(&row["freshness"]) - promised).abs();
        let printed = number(&row["freshness_plus_minus"]);
        assert!(
            off <= printed,
            "shapes {weibull} and {pareto}: off by {off}: {row}, {promised}"
        );
    }
    // Who learns from long silences does better than the best fixed rhythm, which a plan is.
    let list = mix(0.6, 1.3);
    let row = simulate_list(&list, &options);
    let promised = planned(&list, "3000");
    let least = promised - number(&row["freshness_plus_minus"]);
    assert!(number(&row["freshness"]) >= least, "{row}, {promised}");
}

/// What `plan` promises of so many crawls a day.
fn planned(list: &str, crawls: &str) -> f64 {
    let plan = dunlin(
        &["plan", "-", "--crawls", crawls, "--format", "json"],
        list.as_bytes(),
    );
    let plan: Value = serde_json::from_slice(&plan.stdout).expect("a plan");
    number(&plan["value"])
}

#[test]
fn the_plan_promises_no_more_of_clocks_than_the_long_run_keeps() {
    // At 18:00 the copy of 6:00 is stale again, whichever of the two is visited.
    for updates in ["6h:0.9;18h:0.5", "0h:0.9;12h:0.5"] {
        let list = format!("url,model,updates\nhttp://a/,quasi,{updates}\n");
        let promised = planned(&list, "1");
        assert!((promised - 0.75).abs() < 1e-9, "{updates}: {promised}");
        let options = ["--days", "60", "--crawls-per-day", "1"];
        let row = simulate_list(&list, &options);
        assert!((number(&row["freshness"]) - promised).abs() < 0.02, "{row}");
        assert!((number(&row["optimum"]) - promised).abs() < 1e-9, "{row}");
    }
    // Who is never visited is stale, not fresh until the first update.
    let list = "url,model,updates\nhttp://a/,quasi,12h:1\n";
    assert!(planned(list, "0.001") < 0.01);
}

#[test]
fn few_crawls_on_clocks_and_chance_come_near_the_plan() {
    let mut list = "url,model,changes_per_day,updates\n".to_owned();
    for page in 0..20 {
        list += &format!(
            "http://p{page}.test/,poisson,{},\n",
            0.3 + 0.2 * f64::from(page)
        );
        list += &format!("http://q{page}.test/,quasi,,{}m:1\n", 72 * page + 7);
    }
    for crawls in ["40", "80", "200"] {
        let options = ["--days", "60", "--crawls-per-day", crawls];
        let row = simulate_list(&list, &options);
        let off = planned(&list, crawls) - number(&row["freshness"]);
        let printed = number(&row["freshness_plus_minus"]);
        assert!(off.abs() <= printed, "{crawls}: off by {off}: {row}");
    }
}

#[test]
fn a_trace_takes_no_clock_and_no_limit_off_the_list() {
    let path = std::env::temp_dir().join(format!("dunlin-clock-{}.csv", std::process::id()));
    let path = path.to_str().expect("UTF-8");
    let times = |page: u32| (0..60).map(move |day| 86_400 * day + 60 * 36 * page);
    let rows: String = (0..40)
        .flat_map(|page| times(page).map(move |time| format!("http://a/{page},{time}\n")))
        .collect();
    std::fs::write(path, "url,time_s\n".to_owned() + &rows).expect("written");
    let options = ["--days", "50", "--crawls-per-day", "40", "--trace", path];
    let row = simulate_list(&clockwork(), &options);
    assert!(number(&row["freshness"]) >= 0.99, "{row}");
    let limited: String = (0..40).map(|page| format!("http://a/{page},1\n")).collect();
    let options = ["--days", "50", "--crawls-per-day", "200", "--trace", path];
    let free = simulate_list(
        &format!("url,max\n{}", limited.replace(",1", ",")),
        &options,
    );
    let row = simulate_list(&format!("url,max\n{limited}"), &options);
    assert!(
        number(&row["optimum"]) < number(&free["optimum"]) - 0.1,
        "{row}"
    );
    std::fs::remove_file(path).expect("removed");
}

#[test]
fn who_wants_young_copies_says_so() {
    let options = ["--days", "60", "--crawls-per-day", "8"];
    let fresh = simulate(&options);
    let young = simulate(&[&options[..], &["--objective", "age"]].concat());
    assert!(number(&young["age_s"]) < number(&fresh["age_s"]), "{young}");
    assert_eq!(young["objective"], "age");
    assert!(
        number(&young["age_s"]) >= 0.9 * number(&young["bound"]),
        "{young}"
    );
}

#[test]
fn constraints_that_make_no_sense_are_refused() {
    let run = ["simulate", "-", "--days", "1", "--crawls-per-day", "5"];
    let with = |options: &[&'static str]| [&run[..], options].concat();
    refuses(&with(&["--objective", "speed"]), PAGES.as_bytes(), "speed");
    refuses(
        &with(&["--interval", "0s"]),
        PAGES.as_bytes(),
        "from 1s to 49d",
    );
    refuses(
        &with(&["--interval", "12h"]),
        clockwork().as_bytes(),
        "within the interval",
    );
    let greedy = "url,min\nhttp://a/,9\n";
    refuses(&run, greedy.as_bytes(), "need 9 crawls at least");
}

/// Real changes (of the Open Terms Archive): service, document, and seconds from 2020 on; no time
/// for those before, and for when a document was first seen.
fn recorded(text: &str) -> impl Iterator<Item = (&str, &str, Option<u64>)> {
    const START: u64 = 1_577_836_800;
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|line| {
        let mut fields = line.split('\t');
        let mut field = || fields.next().unwrap_or_else(|| panic!("{line}"));
        let service = field();
        let document = field();
        let time: u64 = field().parse().expect("seconds");
        let is_change = fields.next().is_none_or(|kind| kind == "change");
        let time = time.checked_sub(START).filter(|_| is_change);
        (service, document, time)
    })
}

/// Where `key` stands among those `known`, and whether it was there before.
fn place<T: PartialEq>(known: &mut Vec<T>, key: T) -> (usize, bool) {
    let found = known.iter().position(|other| *other == key);
    let place = found.unwrap_or(known.len());
    if found.is_none() {
        known.push(key);
    }
    (place, found.is_some())
}

/// Real changes of documents that come in four languages, all changed at once: those of a document
/// beside each other, or each in a directory of its own. A list and its trace.
fn translated(beside: bool) -> (String, String) {
    let changes = include_str!("../../../host-tests/data/open-terms-archive-excerpt.tsv");
    let mut services: Vec<&str> = Vec::new();
    let mut list = "url\n".to_owned();
    let mut trace = "url,time_s\n".to_owned();
    for (service, _, time) in recorded(changes) {
        let (document, was_known) = place(&mut services, service);
        for language in ["da", "de", "en", "fr"] {
            let url = if beside {
                format!("http://{document}.test/terms/{language}")
            } else {
                format!("http://{document}.test/{language}/terms")
            };
            if !was_known {
                list += &format!("{url}\n");
            }
            if let Some(time) = time {
                trace += &format!("{url},{time}\n");
            }
        }
    }
    (list, trace)
}

/// All documents of some services, as they changed; those of a service are in one directory. A list
/// and its trace.
fn whole_services() -> (String, String) {
    let changes = include_str!("../../../host-tests/data/open-terms-archive-services.tsv");
    let mut services: Vec<&str> = Vec::new();
    let mut documents: Vec<(&str, &str)> = Vec::new();
    let mut list = "url\n".to_owned();
    let mut trace = "url,time_s\n".to_owned();
    for (service, document, time) in recorded(changes) {
        let (host, _) = place(&mut services, service);
        let (document, was_known) = place(&mut documents, (service, document));
        let url = format!("http://{host}.test/terms/{document}");
        if !was_known {
            list += &format!("{url}\n");
        }
        if let Some(time) = time {
            trace += &format!("{url},{time}\n");
        }
    }
    (list, trace)
}

#[test]
fn siblings_that_change_together_are_visited_together() {
    let name = format!("dunlin-simulate-siblings-{}.csv", std::process::id());
    let file = std::env::temp_dir().join(name);
    let path = file.to_str().expect("a UTF-8 path");
    let reached = |beside: bool, policy: &str| {
        let (list, trace) = translated(beside);
        std::fs::write(path, trace).expect("written");
        let budget = ["--days", "2190", "--crawls-per-day", "9", "--learn"];
        let options = [&budget[..], &["--trace", path, "--policy", policy]].concat();
        simulate_list(&list, &options)
    };
    let alone = reached(true, "carousel");
    let together = reached(true, "siblings");
    assert!(
        number(&together["staleness"]) < 0.85 * number(&alone["staleness"]),
        "{together} {alone}"
    );
    assert_eq!(together["politeness_violations"], 0, "{together}");
    // Who has no siblings is visited as ever.
    let strangers = reached(false, "siblings");
    let ever = reached(false, "carousel");
    assert_eq!(strangers["freshness"], ever["freshness"]);
    assert_eq!(strangers["fetches"], ever["fetches"]);
    std::fs::remove_file(path).expect("removed");
}

/// Six years of real documents as they are: most of a service's do not change together. Who looks
/// at them all the same loses nothing by it.
#[test]
fn siblings_cost_nothing_on_real_changes() {
    let name = format!("dunlin-simulate-services-{}.csv", std::process::id());
    let file = std::env::temp_dir().join(name);
    let path = file.to_str().expect("a UTF-8 path");
    let (list, trace) = whole_services();
    std::fs::write(path, trace).expect("written");
    for crawls in ["1.25", "2.5", "10.8"] {
        let budget = ["--days", "2190", "--crawls-per-day", crawls, "--learn"];
        let options = [&budget[..], &["--trace", path, "--compare"]].concat();
        let rows = simulate_list(&list, &options);
        let row = |name: &str| {
            let mut rows = rows.as_array().expect("a list").iter();
            rows.find(|row| row["policy"] == name).expect("compared")
        };
        let alone = row("carousel");
        let told = row("siblings");
        assert!(
            number(&told["freshness"]) >= number(&alone["freshness"]) - 0.002,
            "{crawls} a day: {told} {alone}"
        );
        // Some were told: without that, both do the same.
        assert_ne!(
            (&told["freshness"], &told["changes_seen"]),
            (&alone["freshness"], &alone["changes_seen"]),
            "{crawls} a day"
        );
    }
    std::fs::remove_file(path).expect("removed");
}
