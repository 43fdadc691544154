//! `dunlin crawl-order` as a user meets it.

mod program;

use program::{dunlin, refuses, text};

const EDGES: &str = "from,to\n\
    http://a.test/,http://a.test/b\n\
    http://a.test/,http://a.test/c\n\
    http://a.test/b,http://a.test/hub\n\
    http://a.test/c,http://a.test/hub\n\
    http://a.test/c,http://a.test/d\n\
    http://a.test/hub,http://a.test/\n";

fn json(arguments: &[&str], input: &str) -> serde_json::Value {
    let mut all = vec!["crawl-order"];
    all.extend(arguments);
    all.extend(["--format", "json"]);
    let output = dunlin(&all, input.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn an_edge_list_is_crawled_in_each_order_and_model() {
    for order in [
        "random", "breadth", "backlink", "pagerank", "cash", "location", "topic",
    ] {
        for model in ["stop", "threshold", "buffer", "incremental"] {
            let options = [
                "-", "--order", order, "--model", model, "--pages", "3", "--topic", "hub",
            ];
            if model == "incremental" && ["random", "breadth"].contains(&order) {
                let all = [&["crawl-order"], &options[..]].concat();
                let said = format!("found {order} with --model incremental, expected pagerank,");
                refuses(&all, EDGES.as_bytes(), &said);
                continue;
            }
            let found = json(&options, EDGES);
            assert_eq!(found["web_pages"], 5, "{order} {model}");
            let share = found["share"].as_f64().expect("a share");
            assert!(
                (0.0..=1.0 + 1e-9).contains(&share),
                "{order} {model}: {share}"
            );
        }
    }
}

/// What a collection holds depends on what its pages are ranked by.
#[test]
fn a_collection_follows_the_order_that_it_is_given() {
    let held = |order: &str| {
        let options = [
            "--web",
            "1000",
            "--model",
            "incremental",
            "--pages",
            "100",
            "--order",
            order,
            "--topic",
            "s3",
        ];
        let found = json(&options, "");
        assert_eq!(found["order"], order);
        let share = |visits: &serde_json::Value| visits["share"].as_f64().expect("a share");
        let shares = found["visits"].as_array().expect("visits");
        shares.iter().map(share).collect::<Vec<f64>>()
    };
    let by_rank = held("pagerank");
    assert_eq!(by_rank, held("cash"), "a probe stores no links");
    for order in ["backlink", "location", "topic"] {
        assert_ne!(by_rank, held(order), "{order} is PageRank by another name");
    }
}

/// The thesis' finding in kind: by backlinks and PageRank, hot pages are found before others. Cash,
/// which a probe hands on without storing links, is no more than ahead of chance while every page
/// was seen once.
#[test]
fn better_orders_find_hot_pages_earlier() {
    let share = |order: &str| {
        let options = [
            "--web", "3000", "--sites", "100", "--order", order, "--pages", "600",
        ];
        json(&options, "")["share"].as_f64().expect("a share")
    };
    let random = share("random");
    assert!(share("cash") > random + 0.03);
    assert!(share("pagerank") > random + 0.05);
    assert!(share("backlink") > random + 0.1);
}

#[test]
fn a_collection_gets_better_with_visits() {
    let mut early = 0.0;
    let mut late = 0.0;
    for seed in ["1", "2", "3"] {
        let options = [
            "--web",
            "1000",
            "--model",
            "incremental",
            "--pages",
            "100",
            "--visits",
            "20",
            "--seed",
            seed,
        ];
        let found = json(&options, "");
        let visits = found["visits"].as_array().expect("a list");
        assert_eq!(visits.len(), 20);
        let sum = |visits: &[serde_json::Value]| -> f64 {
            let shares = visits.iter().map(|visit| visit["share"].as_f64());
            shares.map(|share| share.expect("a share")).sum()
        };
        early += sum(&visits[..5]);
        late += sum(&visits[15..]);
    }
    // Of 15 visits each, as shares of the best pages' importance.
    assert!(late > early + 15.0 * 0.03, "{early} {late}");
}

#[test]
fn several_crawlers_share_a_web() {
    let of = |mode: &str| {
        json(
            &[
                "--web",
                "2000",
                "--sites",
                "40",
                "--crawlers",
                "4",
                "--mode",
                mode,
            ],
            "",
        )
    };
    assert_eq!(of("exchange")["overlap"], 0.0);
    assert_eq!(of("exchange")["coverage"], 1.0);
    assert_eq!(of("firewall")["communication"], 0.0);
    assert!(of("cross-over")["overlap"].as_f64() > Some(0.0));
}

#[test]
fn batches_and_replication_save_words_and_exchanges_bring_quality() {
    let of = |more: &[&str]| {
        let web = ["--web", "2000", "--sites", "40", "--crawlers", "8"];
        json(&[&web, more].concat(), "")
    };
    let told = |more: &[&str]| of(more)["communication"].as_f64().expect("a figure");
    let at_once = told(&[]);
    assert!(told(&["--batch", "50"]) < 0.9 * at_once);
    assert!(told(&["--replicate", "100"]) < 0.9 * at_once);
    let seeds = of(&["--mode", "firewall", "--seeds", "1"]);
    assert!(seeds["coverage"].as_f64() < Some(1.0), "{seeds}");
    // An eighth of a twentieth of the web each.
    let few = ["--order", "backlink", "--pages", "12", "--seeds", "1"];
    let quality = |mode| of(&[&few[..], &["--mode", mode]].concat())["quality"].as_f64();
    let alone = quality("firewall");
    let together = quality("exchange");
    assert!(together > alone, "{together:?} {alone:?}");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let all = |options: &[&'static str]| [&["crawl-order"], options].concat();
    for (options, input, said) in [
        (all(&["-", "--pages", "6"]), EDGES, "expected 1 to 5"),
        (
            all(&["-", "--start", "http://b.test/"]),
            EDGES,
            "expected a page of the graph",
        ),
        (all(&["-"]), "from,to\n", "found no links"),
        (
            all(&["-"]),
            "from,to\na,\n",
            "expected what a page is called",
        ),
        (
            all(&["-"]),
            "from,to\na,b\n ,b\n",
            "found no from, expected what a page is called",
        ),
        (all(&["-"]), "from,to\na\n", "line 2"),
        (all(&["-"]), "from,target\na,b\n", "target"),
        (all(&["--web", "0"]), "", "expected 1 to"),
        (
            all(&["--web", "9", "--crawlers", "0"]),
            "",
            "expected 1 to 1024",
        ),
        (
            all(&["--web", "9", "--crawlers", "2", "--batch", "0"]),
            "",
            "expected 1 page",
        ),
        (
            all(&["--web", "9", "--crawlers", "2", "--order", "topic"]),
            "",
            "expected breadth or backlink",
        ),
        (all(&["--web", "9", "--seeds", "2"]), "", "--crawlers"),
        (all(&["-", "--topic", "a b"]), EDGES, "topic word 1"),
        (all(&["-", "--explore", "2"]), EDGES, "expected a share"),
        (all(&[]), "", "EDGES.csv"),
    ] {
        refuses(&options, input.as_bytes(), said);
    }
}
