//! What else there is: the links of a page as it streams by, and which of them may be asked for.
//!
//! `cargo run --example discover --features std,discover`

use dunlin::discover::{Link, LinkReader, LinkSink, Scope, UrlLimits};
use dunlin::fetch::{Url, UrlError};

const PAGE: &[u8] = b"<h1>News</h1> <a href=today>Today &amp; tomorrow</a>
    <!-- <a href=commented>out</a> --> <a href=http://elsewhere.test/>Elsewhere</a>
    <a href='/archive?PHPSESSID=1'>Archive</a> <a href=mailto:me@example.org>Write</a>";

/// Links of one page, as they are found.
struct Found<'a> {
    page: Url<'a>,
    kept: Vec<String>,
}

impl LinkSink for Found<'_> {
    fn link(&mut self, link: &Link<'_>) {
        let written = String::from_utf8_lossy(link.href);
        let mut room = [0; 256];
        match link.resolve(&self.page, &mut room) {
            Err(why) => println!("{written}: {why}"),
            Ok(url) if !Scope::Hosts.lets_in(&self.page, &url) => println!("{written}: elsewhere"),
            Ok(url) => match UrlLimits::DEFAULT.check(&url) {
                Err(why) => println!("{written}: refused by its looks ({why:?})"),
                Ok(()) => self.kept.push(url.path_and_query().into()),
            },
        }
    }
}

fn main() -> Result<(), UrlError> {
    let mut found = Found {
        page: Url::parse("http://example.org/news/")?,
        kept: Vec::new(),
    };
    let mut reader = LinkReader::new("dunlin");
    // In pieces, as a network hands them out; the links are the same however they are cut.
    for piece in PAGE.chunks(7) {
        reader.update(piece, &mut found);
    }
    reader.finish(&mut found);
    println!("worth a visit: {}", found.kept.join(", "));
    assert_eq!(found.kept, ["/news/today"]);
    Ok(())
}
