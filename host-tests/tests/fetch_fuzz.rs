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

#[test]
fn links_of_pages() {
    fuzz("links");
}

#[test]
fn sitemaps() {
    fuzz("sitemap");
}

#[test]
fn feeds() {
    fuzz("feed");
}

#[test]
fn replies_of_name_servers() {
    fuzz("names");
}

/// What the fuzz target looks at is there: a reply that is honest is believed.
#[test]
fn an_honest_name_server_is_understood() {
    let reply = b"..\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00\x01a\x04test\x00\x00\x01\x00\x01\
        \xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x09\x00\x04\xc0\x00\x02\x07";
    let found = host_tests::names::look_up("a.test", reply);
    assert_eq!(found, Some(vec![[192, 0, 2, 7].into()]));
}
