//! `dunlin plan` as a script meets it.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn plan(arguments: &[&str], pages: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args([&["plan", "-"], arguments].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let _ = child
        .stdin
        .take()
        .expect("stdin is piped")
        .write_all(pages.as_bytes());
    child.wait_with_output().expect("the program ends")
}

fn json(arguments: &[&str], pages: &str) -> serde_json::Value {
    let output = plan(&[arguments, &["--format", "json"]].concat(), pages);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn refuses(arguments: &[&str], pages: &str, expected: &str) {
    let output = plan(arguments, pages);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert!(
        output.stdout.is_empty(),
        "{arguments:?} wrote a partial result"
    );
    assert_eq!(
        error.lines().count(),
        1,
        "{arguments:?}: not one line: {error}"
    );
    assert!(
        error.contains(expected),
        "{arguments:?}: {error:?} does not say {expected:?}"
    );
}

/// The pages of Cho's Example 5.4.
const CHO: &str = "url,changes_per_day\nhttp://a.org/1,1\nhttp://a.org/2,2\nhttp://b.org/3,3\nhttp://b.org/4,4\nhttp://b.org/5,5\n";

#[test]
fn json_keeps_its_contract() {
    let plan = json(&["--interval", "24h", "--crawls", "5"], CHO);
    assert_eq!(
        (plan["method"].as_str(), plan["objective"].as_str()),
        (Some("optimal"), Some("freshness"))
    );
    assert_eq!(
        (plan["interval_s"].as_f64(), plan["crawls"].as_f64()),
        (Some(86_400.0), Some(5.0))
    );
    let near = |value: &serde_json::Value, expected: f64| {
        assert!(
            (value.as_f64().unwrap() - expected).abs() < 5e-5,
            "{value}, expected {expected}"
        );
    };
    near(&plan["value"], 0.37389);
    near(&plan["bound"], 0.37389);
    for (page, crawls) in plan["pages"]
        .as_array()
        .unwrap()
        .iter()
        .zip([1.1499, 1.3584, 1.3538, 1.1379, 0.0])
    {
        near(&page["crawls"], crawls);
        assert!(page["url"].is_string() && page["freshness"].is_number());
    }
    assert_eq!(plan["hosts"][0]["host"], "a.org");
    assert!(plan["hosts"][0]["cap"].is_null(), "no politeness, no cap");
    assert_eq!(
        plan["given_up"][0]["reason"],
        "changes 5 × a day: cannot be kept fresh at this budget"
    );
    let age = json(&["--crawls", "5", "--objective", "age"], CHO);
    near(&age["pages"][4]["crawls"], 1.0931);
    assert!(age["value"].as_f64() > Some(3_600.0), "in seconds");
}

#[test]
fn every_method_stays_within_budget_politeness_and_bound() {
    let methods = [
        "greedy",
        "select",
        "optimal",
        "azar",
        "uniform",
        "proportional",
        "weighted-uniform",
        "weighted-proportional",
    ];
    for method in methods {
        for objective in ["freshness", "age", "harmonic"] {
            let plan = json(
                &[
                    "--crawls",
                    "12",
                    "--politeness",
                    "6h",
                    "--method",
                    method,
                    "--objective",
                    objective,
                ],
                CHO,
            );
            let crawls: f64 = plan["pages"]
                .as_array()
                .unwrap()
                .iter()
                .map(|page| page["crawls"].as_f64().unwrap())
                .sum();
            assert!(crawls <= 12.0 + 1e-6, "{method}: {crawls}");
            for host in plan["hosts"].as_array().unwrap() {
                assert_eq!(host["cap"].as_f64(), Some(4.0));
                assert!(
                    host["crawls"].as_f64() <= Some(4.0 + 1e-6),
                    "{method}: {host}"
                );
            }
            // An age may be infinite, where a page is never visited: null.
            if let (Some(value), Some(bound)) = (plan["value"].as_f64(), plan["bound"].as_f64()) {
                let better = if objective == "age" {
                    value - bound
                } else {
                    bound - value
                };
                assert!(
                    better >= -1e-9,
                    "{method}, {objective}: value {value}, bound {bound}"
                );
            }
        }
    }
}

#[test]
fn what_cannot_be_met_is_named() {
    let pages = |rest: &str| {
        format!("url,changes_per_day,min,max\nhttp://a.org/x,1,0,\nhttp://a.org/y,1,{rest}\n")
    };
    refuses(&["--crawls", "5"], "url\n", "found no pages");
    refuses(
        &["--crawls", "0"],
        CHO,
        "found a budget of 0 crawls, expected a number above 0",
    );
    refuses(&["--crawls", "-3"], CHO, "found a budget of -3 crawls");
    refuses(&["--crawls", "NaN"], CHO, "found a budget of NaN crawls");
    refuses(
        &["--crawls", "2.5", "--method", "greedy"],
        CHO,
        "found a budget of 2.5 crawls, expected a whole number up to 4294967295",
    );
    refuses(
        &["--crawls", "1e12", "--method", "select"],
        CHO,
        "found a budget of 1000000000000 crawls, expected a whole number up to 4294967295",
    );
    // In as many digits as it takes.
    refuses(
        &["--crawls", "1e308", "--method", "select"],
        CHO,
        "found a budget of 1e308 crawls, expected a whole number",
    );
    refuses(
        &["--crawls=-1e-308"],
        CHO,
        "found a budget of -1e-308 crawls",
    );
    refuses(
        &["--crawls", "5"],
        &pages("9,"),
        "the pages need 9 crawls at least, but the budget is 5",
    );
    refuses(
        &["--crawls", "50", "--politeness", "6h"],
        &pages("9,"),
        "http://a.org/y: found a minimum of 9 crawls",
    );
    let both = "url,min\nhttp://a.org/x,3\nhttp://a.org/y,3\n";
    refuses(
        &["--crawls", "50", "--politeness", "6h"],
        both,
        "a.org: its pages need 6 crawls at least, but it allows 4",
    );
    refuses(
        &["--crawls", "5", "--interval", "0s"],
        CHO,
        "found an interval of 0",
    );
    let late = "url,model,updates\nhttp://a.org/,quasi,30h:1\n";
    refuses(
        &["--crawls", "5"],
        late,
        "http://a.org/: found an update at 108000 s",
    );
    refuses(
        &["--crawls", "5"],
        "url,model,shape\nhttp://a.org/,pareto,1\n",
        "column 3 (shape)",
    );
}

#[test]
fn the_table_tells_hosts_and_pages_apart() {
    let output = plan(&["--crawls", "4", "--politeness", "12h"], CHO);
    let text = String::from_utf8(output.stdout).unwrap();
    for words in [
        "host at its cap",
        "b.org",
        "page given up",
        "mean freshness in the long run; the best possible is",
    ] {
        assert!(text.contains(words), "no {words:?} in:\n{text}");
    }
    let csv = String::from_utf8(plan(&["--crawls", "6", "--format", "csv"], CHO).stdout).unwrap();
    assert_eq!(csv.lines().next(), Some("url,crawls,freshness,age_s"));
    assert_eq!(csv.lines().count(), 6);
}

#[test]
fn a_page_that_is_never_visited_has_no_age_for_machines() {
    let list = "url,changes_per_day\nhttp://a.org/,1\nhttp://b.org/,40\n";
    let document = json(&["--crawls", "1"], list);
    assert!(document["pages"][1]["age_s"].is_null(), "{document}");
    let csv = plan(&["--crawls", "1", "--format", "csv"], list);
    let csv = String::from_utf8(csv.stdout).expect("text");
    assert!(csv.ends_with("\nhttp://b.org/,0,0,\n"), "{csv}");
}

#[test]
fn rates_are_not_invented_silently() {
    let said = |options: &[&str], list: &str| {
        let output = plan(&[&["--crawls", "4"], options].concat(), list);
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    let none = "http://a.org/\nhttp://b.org/\n";
    let note = said(&[], none);
    assert!(note.contains("no page has a changes_per_day"), "{note}");
    assert!(note.contains("1 × a day, which is a guess") && note.contains("--assume RATE"));
    assert_eq!(note.lines().count(), 1, "said once");
    assert_eq!(said(&["--assume", "3"], none), "");
    let some = "url,changes_per_day\nhttp://a.org/,4\nhttp://b.org/,9\nhttp://c.org/,\n";
    let note = said(&[], some);
    assert!(
        note.contains("1 of 3 pages lacks a changes_per_day") && note.contains("change 6 × a day"),
        "{note}"
    );
    let known = |options: &[&str]| -> serde_json::Value {
        let options = [&["--crawls", "4", "--format", "json"], options].concat();
        serde_json::from_slice(&plan(&options, some).stdout).unwrap()
    };
    assert_eq!(known(&[])["assumed"]["pages"], 1);
    let told = known(&["--assume", "0.5"]);
    assert_eq!(told["assumed"]["changes_per_day"], 0.5);
    assert_ne!(told["value"], known(&[])["value"]);
    refuses(
        &["--crawls", "4", "--assume", "-1"],
        some,
        "changes a day, a number from 0",
    );
}

/// The same crawls are worth more in an interval that begins with fresh copies, and `greedy` says
/// both; in the long run it does not beat `optimal`.
#[test]
fn a_figure_says_what_it_is_of() {
    let number = |plan: &serde_json::Value, name: &str| plan[name].as_f64().unwrap();
    let made = |method: &str| -> serde_json::Value {
        let options = ["--crawls", "5", "--format", "json", "--method", method];
        serde_json::from_slice(&plan(&options, CHO).stdout).unwrap()
    };
    let optimal = made("optimal");
    assert_eq!(optimal["holds"], "long-run");
    assert_eq!(
        number(&optimal, "value"),
        number(&optimal, "long_run_value")
    );
    let greedy = made("greedy");
    assert_eq!(greedy["holds"], "one-interval");
    assert!(
        number(&greedy, "value") > number(&optimal, "bound"),
        "{greedy}"
    );
    assert!(
        number(&greedy, "long_run_value") <= number(&optimal, "bound"),
        "{greedy}"
    );
    let output = plan(&["--crawls", "5", "--method", "greedy"], CHO);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("in one interval that begins with fresh copies"),
        "{said}"
    );
    assert!(
        said.contains("in the long run, if every interval has these crawls"),
        "{said}"
    );
}
