//! The latest news as an Atom feed (RFC 4287), for feed readers.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::message::Message;
use crate::date;
use crate::error::Error;
use crate::output::plot::escape;

/// The media type that a feed is served as.
pub const CONTENT_TYPE: &str = "application/atom+xml; charset=utf-8";

/// How every feed of ours begins.
const START: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
    <feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>urn:dunlin:changes</id>\n";

/// The feed of these messages, latest first.
pub fn feed(messages: &[Message], now: u64) -> String {
    let updated = messages.first().map_or(now, |message| message.time);
    let mut feed = format!(
        "{START}<title>dunlin: what has changed</title>\n\
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

    /// Replaces the feed. Readers see the old one or the new one, never half of it: the new one is
    /// written beside it, as `.NAME.new`, where nothing of anybody else's is overwritten.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, messages: &[Message], now: u64) -> Result<(), Error> {
        let Self(path) = self;
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(".new");
        let beside = path.with_file_name(name);
        let mut file = create(&beside).map_err(|source| Error::writing(&beside, source))?;
        let written = file.write_all(feed(messages, now).as_bytes());
        let written = written.and_then(|()| fs::rename(&beside, path));
        written.map_err(|source| {
            let _ = fs::remove_file(&beside);
            Error::writing(path, source)
        })
    }
}

/// Makes a file that is not there, or only because a run was ended while it wrote it.
fn create(path: &Path) -> io::Result<File> {
    match File::create_new(path) {
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists && is_left_over(path) => {
            fs::remove_file(path)?;
            File::create_new(path)
        }
        made => made,
    }
}

/// Is it a feed of ours, or the beginning of one?
fn is_left_over(path: &Path) -> bool {
    let is_plain = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let mut found = Vec::new();
    let start = |file: File| file.take(START.len() as u64).read_to_end(&mut found);
    is_plain && File::open(path).and_then(start).is_ok() && START.as_bytes().starts_with(&found)
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

    #[test]
    fn nothing_beside_a_feed_is_overwritten_but_what_an_ended_run_left() {
        let folder = std::env::temp_dir().join(format!("dunlin-atom-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let path = folder.join("feed.atom");
        let beside = folder.join(".feed.atom.new");
        let others = folder.join("feed.atom.new");
        fs::write(&others, "somebody's own").expect("written");
        let made = FeedFile::new(&path, 0).expect("a feed");
        assert_eq!(fs::read_to_string(&others).expect("it"), "somebody's own");
        // Half of a feed, and a whole one.
        for left in [&START[..70], &feed(&[], 0)] {
            fs::write(&beside, left).expect("written");
            made.write(&[], 1).expect("written over it");
            assert!(!beside.exists());
        }
        fs::write(&beside, "<?xml?> of somebody else").expect("written");
        let refused = made.write(&[], 2).expect_err("not over that").to_string();
        assert!(refused.contains(".feed.atom.new"), "{refused}");
        let after = fs::read_to_string(&beside).expect("it");
        assert_eq!(after, "<?xml?> of somebody else");
        fs::remove_file(&beside).expect("removed");
        // A link would lead elsewhere.
        std::os::unix::fs::symlink(&path, &beside).expect("a link");
        assert!(made.write(&[], 3).is_err());
        let _ = fs::remove_dir_all(&folder);
    }
}
