//! Told: news that leaves the program, to a command of the owner's ([`exec`]), to a web service
//! ([`webhook`]) and to feed readers ([`atom`]).
//!
//! ```text
//! run ──► Message ──┬─► stdout
//!                   └─► Telling ──┬─► Outbox ──► command
//!                       (is it    ├─► Outbox ──► webhook
//!                        news?)   └─► Recent ──► feed
//! ```
//!
//! Whoever crawls never waits for whoever is told: an [`outbox`] holds so many messages, each has a
//! thread of its own, and what is lost is counted and said.

pub mod atom;
pub mod exec;
pub mod message;
pub mod outbox;
pub mod recent;
pub mod telling;
pub mod webhook;

use self::atom::FeedFile;
use self::message::Message;
use self::outbox::Outbox;
use self::recent::Recent;
use self::telling::Telling;
use crate::archive::Archive;
use crate::error::Error;
use crate::news::Kind;

/// Everybody who hears the news of this program, but for its standard output.
#[derive(Debug, Default)]
pub struct Told {
    recent: Recent,
    telling: Telling,
    feed: Option<FeedFile>,
}

impl Told {
    /// Tells recipients, and a feed in a file.
    pub fn new(telling: Telling, feed: Option<FeedFile>) -> Self {
        Self {
            recent: Recent::default(),
            telling,
            feed,
        }
    }

    /// Has one more recipient told, from now on.
    pub fn also(&mut self, outbox: Outbox) {
        self.telling.add(outbox);
    }

    /// Takes up the changes that an archive tells of, from before this program began, with the
    /// names of their pages. They were told then, and are not told again.
    ///
    /// # Errors
    /// The archive cannot be read, or the feed's file not be written.
    pub fn resume(
        &mut self,
        archive: &Archive,
        name: impl Fn(&str) -> Option<String>,
    ) -> Result<(), Error> {
        for entry in archive.changes(recent::ROOM)? {
            self.recent.put(&Message {
                time: entry.time,
                event: Kind::Changed,
                name: name(&entry.url),
                url: Some(entry.url),
                host: None,
                answer: None,
                reason: None,
            });
        }
        let latest = self.recent.latest();
        match (&self.feed, latest.first()) {
            (Some(feed), Some(last)) => feed.write(&latest, last.time),
            _ => Ok(()),
        }
    }

    /// The latest news, for who asks.
    pub fn recent(&self) -> Recent {
        self.recent.clone()
    }

    /// Was the last news of this page or host bad?
    pub fn knows(&self, about: &str) -> bool {
        self.telling.knows(about)
    }

    /// Passes news on, without waiting for anybody.
    ///
    /// # Errors
    /// The feed's file cannot be written; everybody else was told.
    pub fn hear(&mut self, message: &Message) -> Result<(), Error> {
        if !self.telling.tell(message) {
            return Ok(());
        }
        self.recent.put(message);
        match &self.feed {
            Some(feed) => feed.write(&self.recent.latest(), message.time),
            None => Ok(()),
        }
    }

    /// Gives recipients a last moment.
    pub fn finish(self) {
        self.telling.finish();
    }
}
