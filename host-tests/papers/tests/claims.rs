//! The papers' experiments at reduced size: our own limits hold. The papers' claims may fail; their
//! pages say so.

use std::path::Path;
use std::process::Command;

use dunlin_papers::page::{Printed, Verdict};
use dunlin_papers::{self as papers, PAPERS, Settings, overview};

fn holds(paper: fn(&Settings) -> papers::page::Section) {
    let section = paper(&Settings::default());
    assert!(!section.limits.is_empty());
    let broken: Vec<_> = section
        .limits
        .iter()
        .filter(|(_, holds)| !holds)
        .map(|(limit, _)| limit)
        .collect();
    assert!(
        broken.is_empty(),
        "{}\nBroken: {broken:#?}",
        section.markdown()
    );
}

#[test]
fn a_printed_figure_is_met_to_its_digits_or_near_or_missed() {
    let printed = Printed::new(0.88, 2);
    assert_eq!(printed.verdict(0.8848), Verdict::Holds);
    assert_eq!(printed.verdict(0.8751), Verdict::Holds);
    assert_eq!(printed.verdict(0.8949), Verdict::Near);
    assert_eq!(printed.verdict(0.79), Verdict::Fails);
    assert_eq!(Printed::percent(193.0).verdict(155.0), Verdict::Fails);
    assert_eq!(Printed::percent(10.0).to_string(), "10 %");
}

/// Every ✘ of a page is on the list, and nothing else is.
#[test]
fn the_overview_lists_what_is_not_reproduced() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let list = overview::failures(folder).unwrap();
    assert_eq!(readme, overview::with_list(&readme, &list).unwrap());
    let failed = |name: &str| {
        let page = std::fs::read_to_string(folder.join(name).join("page.md")).unwrap();
        page.lines().filter(|line| line.starts_with("| ✘")).count()
    };
    let failed: usize = PAPERS.iter().map(|(name, _)| failed(name)).sum();
    assert_eq!(list.lines().count(), failed);
    assert!(failed > 0, "an honest page can say no");
}

#[test]
fn cho() {
    holds(papers::cho::run);
}

#[test]
fn crawling() {
    holds(papers::crawling::run);
}

#[test]
fn wolf() {
    holds(papers::wolf::run);
}

#[test]
fn azar() {
    holds(papers::azar::run);
}

#[test]
fn desouza() {
    holds(papers::desouza::run);
}

#[test]
fn fleet() {
    holds(papers::fleet::run);
}

#[test]
fn xu() {
    holds(papers::xu::run);
}

#[test]
fn real() {
    holds(papers::real::run);
}

/// Before anything runs, in one line.
#[test]
fn traces_that_are_none_are_refused() {
    let file = std::env::temp_dir().join(format!("dunlin-traces-{}.tsv", std::process::id()));
    let refused = |text: &str, said: &[&str]| {
        std::fs::write(&file, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_papers"))
            .args(["real", "--reduced", "--traces"])
            .arg(&file)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        for said in said {
            assert!(error.contains(said), "{error}");
        }
        assert!(output.stdout.is_empty(), "{error}");
    };
    refused("service\tpage\tunix_time\na\tb\n", &["line 2", "2 fields"]);
    refused("a\tb\tyesterday\n", &["line 1", "\"yesterday\""]);
    refused("a\tb\tNaN\n", &["\"NaN\""]);
    refused("", &["no change"]);
    std::fs::remove_file(&file).unwrap();
    let gone = Command::new(env!("CARGO_BIN_EXE_papers"))
        .arg("--traces")
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(gone.status.code(), Some(2));
}
