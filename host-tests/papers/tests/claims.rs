//! The papers' experiments at reduced size: every claim on their pages holds.

use dunlin_papers::{self as papers, Settings};

fn holds(paper: fn(&Settings) -> papers::page::Section) {
    let section = paper(&Settings::default());
    assert!(!section.checks.is_empty());
    let wrong: Vec<_> = section
        .checks
        .iter()
        .filter(|(_, holds)| !holds)
        .map(|(claim, _)| claim)
        .collect();
    assert!(
        wrong.is_empty(),
        "{}\nDoes not hold: {wrong:#?}",
        section.markdown()
    );
}

#[test]
fn cho() {
    holds(papers::cho::run);
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
fn xu() {
    holds(papers::xu::run);
}

#[test]
fn real() {
    holds(papers::real::run);
}
