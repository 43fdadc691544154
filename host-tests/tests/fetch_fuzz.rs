//! Mutated inputs against everything that reads what strangers send: a fixed number of them, or, in the long mode,
//! a minute's worth each.

use std::time::Duration;

use host_tests::fuzz::{TARGETS, run};

fn fuzz(name: &str) {
    let (_, target, words) =
        TARGETS.iter().find(|(known, ..)| *known == name).expect("a target of this name");
    let runs = if std::env::var_os("DUNLIN_LONG").is_some() {
        let seed = std::process::id().into();
        println!("{name}: seed {seed}");
        run(name, *target, words, seed, |_, elapsed| elapsed >= Duration::from_secs(60))
    } else {
        run(name, *target, words, 1, |runs, _| runs >= 20_000)
    };
    println!("{name}: {runs} inputs");
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
fn urls() {
    fuzz("url");
}

#[test]
fn dates() {
    fuzz("date");
}
