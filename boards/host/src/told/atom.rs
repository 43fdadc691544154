//! The latest news as an Atom feed (RFC 4287), for feed readers.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::message::Message;
use crate::date;
use crate::error::Error;
use crate::output::plot::escape;

/// Its media type.
pub const CONTENT_TYPE: &str = "application/atom+xml; charset=utf-8";

/// The feed of these messages, latest first.
pub fn feed(messages: &[Message], now: u64) -> String {
    let updated = messages.first().map_or(now, |message| message.time);
    let mut feed = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
        <feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
        <id>urn:dunlin:changes</id>\n<title>dunlin: what has changed</title>\n\
        <updated>{}</updated>\n<author><name>dunlin</name></author>\n",
        date::iso(updated)
    );
    for message in messages {
        entry(&mut feed, message);
    }
    feed + "</feed>\n"
}

fn entry(feed: &mut String, message: &Message) {
    let event = message.event.name();
    let about = plain(message.about());
    let title = plain(&message.text());
    let time = date::iso(message.time);
    // An identifier is a URI: what is no part of one is encoded by `plain` and the list alike.
    let _ = write!(
        feed,
        "<entry>\n<id>urn:dunlin:{event}:{}:{about}</id>\n<title>{title}</title>\n\
        <updated>{time}</updated>\n<category term=\"{event}\"/>\n",
        message.time
    );
    if let Some(url) = &message.url {
        let _ = writeln!(feed, "<link href=\"{}\"/>", plain(url));
    }
    let _ = write!(feed, "<content type=\"text\">{title}</content>\n</entry>\n");
}

/// Text that XML can hold: escaped, and without the characters that it forbids.
fn plain(text: &str) -> String {
    let allowed =
        |letter: &char| !letter.is_control() && *letter != '\u{fffe}' && *letter != '\u{ffff}';
    escape(&text.chars().filter(allowed).collect::<String>())
}

/// A feed that is kept in a file, for a web server to serve or a reader to open.
#[derive(Debug)]
pub struct FeedFile(PathBuf);

impl FeedFile {
    /// Writes a feed without entries, so that a reader finds one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(path: &Path, now: u64) -> Result<Self, Error> {
        let feed = Self(path.to_owned());
        feed.write(&[], now)?;
        Ok(feed)
    }

    /// Replaces the feed. Readers see the old one or the new one, never half of it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, messages: &[Message], now: u64) -> Result<(), Error> {
        let Self(path) = self;
        let mut beside = path.clone().into_os_string();
        beside.push(".new");
        fs::write(&beside, feed(messages, now))
            .and_then(|()| fs::rename(&beside, path))
            .map_err(|source| Error::writing(path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::news::Kind;
    use crate::told::message::message;

    #[test]
    fn a_feed_names_changes_and_bad_news_and_nothing_in_it_is_markup() {
        let mut hostile = message(Kind::Gone, "http://a.test/?a=1&b=<script>");
        hostile.name = Some("</title>\u{0}\u{1b}]\"&amp;".into());
        hostile.reason = Some("status 404 (not found)".into());
        let feed = feed(&[hostile], 0);
        assert!(!feed.contains("<script"));
        assert!(!feed.contains(['\u{0}', '\u{1b}']));
        assert!(feed.contains("&lt;/title&gt;]&quot;&amp;amp;"), "{feed}");
        assert!(feed.contains("<link href=\"http://a.test/?a=1&amp;b=&lt;script&gt;\"/>"));
        assert!(feed.contains("<updated>2026-11-06T21:20:00Z</updated>"));
        assert_eq!(feed.matches("<entry>").count(), 1);
    }
}
