//! Mutated inputs against everything that reads what strangers send: the same ones in every run.
//! `cargo xtask fuzz` finds new ones.

use host_tests::fuzz::{TARGETS, run};

const INPUTS: u64 = 20_000;

fn fuzz(name: &str) {
    let (_, target, words) = TARGETS
        .iter()
        .find(|(known, ..)| *known == name)
        .expect("a target of this name");
    run(name, *target, words, 1, INPUTS);
}

#[test]
fn responses() {
    fuzz("response");
}

#[test]
fn robots_files() {
    fuzz("robots");
}

#[test]
fn robots_patterns() {
    fuzz("pattern");
}

#[test]
fn urls() {
    fuzz("url");
}

#[test]
fn dates() {
    fuzz("date");
}

#[test]
fn page_images() {
    fuzz("image");
}

#[test]
fn states() {
    fuzz("state");
}
