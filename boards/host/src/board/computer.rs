//! This computer as a board for the probe: its clock, and a log that tells of changes.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dunlin::probe::{Board, Event, Failure, Flags};
use dunlin::time::{Duration, Instant};
use serde::Serialize;

use super::net;
use crate::error::Error;
use crate::lists::listing::Listing;
use crate::{duration, output};

/// The board: this computer's clock, standard output for changes, standard error for what else
/// happens.
#[derive(Debug)]
pub struct Computer<'l> {
    listing: &'l Listing,
    /// For each page of the image, its place in the list.
    order: Vec<usize>,
    start: std::time::Instant,
    log: RefCell<Option<ChangeLog>>,
    /// What could not be written first.
    lost: RefCell<Option<Error>>,
}

/// A file that changes are appended to.
#[derive(Debug)]
pub struct ChangeLog {
    path: PathBuf,
    file: File,
}

impl ChangeLog {
    /// Opens the file, or makes an empty one.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let file = opened.map_err(|source| Error::opening(path, source))?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }
}

/// One line of the log of changes.
#[derive(Serialize)]
struct ChangeLine<'a> {
    /// The Unix time in seconds.
    time: u64,
    url: &'a str,
    status: u16,
    bytes: u32,
    milliseconds: u32,
    /// The first version seen: there is no earlier one to compare with.
    first: bool,
    /// Compressed although we asked for plain bytes: a change may be one of the compression only.
    encoded: bool,
    /// Longer than what is read: what comes after that is not compared.
    cut: bool,
}

impl<'l> Computer<'l> {
    /// A board for the pages of `listing`; `order` says for each page of the image which of them it
    /// is. Changes are appended to `log`, too.
    pub fn new(listing: &'l Listing, order: Vec<usize>, log: Option<ChangeLog>) -> Self {
        Self {
            listing,
            order,
            start: std::time::Instant::now(),
            log: RefCell::new(log),
            lost: RefCell::new(None),
        }
    }

    /// Why something was not written down, if anything was not.
    pub fn lost(&self) -> Option<Error> {
        self.lost.take()
    }

    fn url(&self, page: u16) -> &'l str {
        let index = self
            .order
            .get(usize::from(page))
            .copied()
            .unwrap_or_default();
        self.listing
            .list
            .pages
            .get(index)
            .map_or("?", |page| &page.url)
    }

    /// Writes a change to standard output and to the file.
    fn changed(&self, change: &ChangeLine<'_>) {
        let line = output::json(change);
        self.written(output::print(&line));
        if let Some(ChangeLog { path, file }) = self.log.borrow_mut().as_mut() {
            let written = file.write_all(line.as_bytes());
            self.written(written.map_err(|source| Error::writing(path, source)));
        }
    }

    /// Says once that something could not be written, and remembers it for the end.
    fn written(&self, result: Result<(), Error>) {
        let Err(error) = result else { return };
        if self.lost.borrow().is_none() {
            self.say(&format!("{error}; changes are lost until that works again"));
            *self.lost.borrow_mut() = Some(error);
        }
    }

    /// Writes a line for the person who watches, above the status.
    fn say(&self, text: &str) {
        let clear = if std::io::stderr().is_terminal() {
            "\r\x1b[K"
        } else {
            ""
        };
        output::say(format_args!("{clear}{text}"));
    }
}

impl Board for Computer<'_> {
    fn now(&self) -> Instant {
        Instant::ZERO + Duration::from(self.start.elapsed())
    }

    async fn sleep_until(&self, then: Instant) {
        if then == Instant::MAX {
            return std::future::pending().await;
        }
        net::after(then - self.now()).await;
    }

    fn unix_time(&self) -> Option<u64> {
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .ok()
            .map(|time| time.as_secs())
    }

    fn speaks_https(&self) -> bool {
        true
    }

    fn log(&self, event: &Event) {
        match *event {
            Event::End {
                page,
                status,
                bytes,
                millis,
                changed: true,
                flags,
            } => {
                let Flags {
                    first,
                    encoded,
                    cut,
                } = flags;
                self.changed(&ChangeLine {
                    time: self.unix_time().unwrap_or(0),
                    url: self.url(page),
                    status,
                    bytes,
                    milliseconds: millis,
                    first,
                    encoded,
                    cut,
                });
            }
            Event::Failed { page, millis, why } => {
                let after = duration::format(Duration::from_millis(millis.into()));
                let why = match why {
                    Failure::Tls(why) => why.to_string(),
                    why => format!("{why:?}"),
                };
                self.say(&format!("failed after {after}: {} ({why})", self.url(page)));
            }
            Event::Costly { host } => {
                let hosts = &self.listing.list.hosts;
                let name = hosts.get(usize::from(host)).map_or("?", String::as_str);
                self.say(&format!(
                    "robots.txt of {name} takes too much work: what it may forbid is forbidden"
                ));
            }
            Event::Denied { page } => {
                self.say(&format!("denied by robots.txt: {}", self.url(page)))
            }
            Event::Astray { page, why, .. } => {
                let why = why.map_or_else(
                    || "its target is no URL we can keep".into(),
                    |why| why.to_string(),
                );
                self.say(&format!("redirect not followed: {}: {why}", self.url(page)));
            }
            Event::Resumed(resumed) => {
                if resumed.foreign {
                    self.say(
                        "the state file was written with another seed or key: nothing of it is believed",
                    );
                }
                if resumed.refused > 0 {
                    self.say(&format!(
                        "the state file is damaged: {} records cannot be read, what they said is learnt anew",
                        resumed.refused
                    ));
                }
            }
            Event::BackOff { host, seconds, .. } => {
                let name = self
                    .listing
                    .list
                    .hosts
                    .get(usize::from(host))
                    .map_or("?", String::as_str);
                self.say(&format!("leaving {name} alone for {seconds} s"));
            }
            _ => {}
        }
    }
}
