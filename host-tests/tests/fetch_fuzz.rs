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
fn pushed_datagrams() {
    fuzz("push");
}

#[test]
fn messages_of_a_fleet() {
    fuzz("fleet");
}

/// What reads these is a part of the program, which libFuzzer would have to compile with all that
/// it rests on: this one is mutated here alone.
#[cfg(feature = "program")]
#[test]
fn frames_for_a_collector() {
    run("frames", frames, FRAMES, 1, INPUTS);
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

#[cfg(feature = "program")]
const FRAMES: &[&str] = &[
    "m\u{0}\u{18}{\"url\":\"http://a.test/\"}",
    "m\u{0}",
    "q\u{0}\u{4}GET ",
    "r\u{0}\u{0}",
    "r\u{0}\u{4}HTTP",
    "v\u{0}\u{7}changed",
    "v\u{0}\u{4}same",
    "v\u{0}\u{15}same 0123456789abcdef",
    "{\"time\":1,\"event\":\"gone\",\"url\":\"http://a.test/\"}",
    "\"host\":\"a.test\"",
    "\"address\":\"127.0.0.1\"",
    "\"time\":18446744073709551615",
    "\"reason\":\"",
];

/// What is posted to a collector, frames and bad news: the same in any pieces, and what makes an
/// exchange is written and read again.
#[cfg(feature = "program")]
fn frames(data: &[u8]) {
    use dunlin_host::collect::frames::{Reader, Verdict, write};
    use dunlin_host::collect::news;

    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut reader = Reader::default();
        let mut taken = 0;
        for piece in pieces {
            reader.take(piece).ok()?;
            taken += piece.len();
            // Three buffers, each of which is doubled when it is full, from eight bytes on.
            let most = 2 * taken + 24;
            assert!(reader.held() <= most, "more than twice what came");
        }
        reader.finish()
    };
    let whole = read(&mut [data].into_iter());
    assert_eq!(read(&mut data.chunks(1)), whole);
    assert_eq!(read(&mut data.chunks(7)), whole);
    if let Some((exchange, _)) = whole {
        let again = write(&exchange);
        let expected = Some((exchange, Verdict::Changed));
        assert_eq!(read(&mut [&again[..]].into_iter()), expected);
    }
    if let Some(message) = news::read(data) {
        assert!(!message.about().is_empty());
        let texts = [message.name, message.reason];
        let short = |text: &String| text.chars().count() <= 512;
        assert!(texts.iter().flatten().all(short), "more than is kept");
    }
}
