//! This computer as a board for the probe: its clock, and a log that tells the news.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use super::net;
use super::tape::Tapes;
use crate::archive::keeper::{Counts, Keeper};
use crate::collect::client::Courier;
use crate::error::Error;
use crate::lists::listing::Listing;
use crate::lists::pages::ListedPage;
use crate::monitor::own::Watched;
use crate::news::{Kind, News, Subject};
use crate::output;
use crate::told::Told;
use crate::told::message::{Answer, Message};
use dunlin::probe::{Board, Event, LoggedEvent};
use dunlin::time::{Duration, Instant};

/// The board: this computer's clock, standard output for news, standard error for what else
/// happens.
#[derive(Debug)]
pub struct Computer<'l> {
    listing: &'l Listing,
    /// For each page of the image, its place in the list.
    order: Vec<usize>,
    start: std::time::Instant,
    log: RefCell<Option<EventLog>>,
    /// Who watches it at work, if anybody does.
    watched: Option<Watched>,
    /// Who else hears the news.
    told: RefCell<Told>,
    /// Who keeps versions of pages, if anybody does.
    keeping: RefCell<Option<Keeping>>,
    /// What could not be written first.
    lost: RefCell<Option<Error>>,
}

/// Where versions of pages are kept.
#[derive(Debug)]
pub enum Keep {
    /// In an archive of our own.
    Here(Keeper),
    /// By a collector.
    There(Courier),
}

/// Who keeps versions of pages, and where they come from.
#[derive(Debug)]
pub struct Keeping {
    /// Takes them.
    pub keep: Keep,
    /// Holds what went over the wire last.
    pub tapes: Rc<Tapes>,
    /// Visits that brought nothing new are wanted, too.
    pub revisits: bool,
}

/// The Unix time in seconds; 0 where the clock stands before 1970.
pub fn unix_time() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |time| time.as_secs())
}

/// A file that news is appended to.
#[derive(Debug)]
pub struct EventLog {
    path: PathBuf,
    file: File,
}

impl EventLog {
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

impl<'l> Computer<'l> {
    /// A board for the pages of `listing`; `order` says for each page of the image which of them it
    /// is. News is appended to `log`, too, and `told`; everything is shown to who is `watched` by, and versions of pages go to who is
    /// `keeping` them.
    pub fn new(
        listing: &'l Listing,
        order: Vec<usize>,
        log: Option<EventLog>,
        watched: Option<Watched>,
        told: Told,
        keeping: Option<Keeping>,
    ) -> Self {
        Self {
            listing,
            order,
            start: std::time::Instant::now(),
            log: RefCell::new(log),
            watched,
            told: RefCell::new(told),
            keeping: RefCell::new(keeping),
            lost: RefCell::new(None),
        }
    }

    /// Why something was not written down, if anything was not.
    pub fn lost(&self) -> Option<Error> {
        self.lost.take()
    }

    /// At the end: gives those who are told a last moment, and waits until the archive is written.
    pub fn finish(&self) {
        self.told.take().finish();
        let Some(keeping) = self.keeping.take() else {
            return;
        };
        let (Counts { versions, lost }, what, not) = match keeping.keep {
            Keep::Here(keeper) => (
                keeper.finish(),
                "archive: versions written",
                "versions could not be written to the archive",
            ),
            Keep::There(courier) => (
                courier.finish(),
                "collector: versions delivered",
                "versions were not collected",
            ),
        };
        self.say(&format!("{what}: {versions}"));
        if lost > 0 {
            let why = format!("{lost} {not}");
            self.lost.borrow_mut().get_or_insert(Error::Usage(why));
        }
    }

    /// Hands the answer that an event is about to the archive, if it belongs there: versions of
    /// pages, and where pages have moved.
    fn keep(&self, event: &Event) {
        let mut keeping = self.keeping.borrow_mut();
        let Some(keeping) = keeping.as_mut() else {
            return;
        };
        let belongs = match *event {
            Event::End {
                changed, status, ..
            } => changed || keeping.revisits && matches!(status, 200 | 304),
            Event::Moved { .. } => true,
            _ => false,
        };
        if belongs && let Some(exchange) = keeping.tapes.take() {
            match &mut keeping.keep {
                Keep::Here(keeper) => keeper.keep(exchange),
                Keep::There(courier) => courier.keep(exchange),
            }
        }
    }

    /// A page of the image in the user's list.
    fn page(&self, page: u16) -> Option<&'l ListedPage> {
        let index = self.order.get(usize::from(page))?;
        self.listing.list.pages.get(*index)
    }

    fn host(&self, host: u16) -> &'l str {
        let hosts = &self.listing.list.hosts;
        hosts.get(usize::from(host)).map_or("?", String::as_str)
    }

    /// Writes news to standard output and to the file, for a person who does not see the first, and
    /// for everybody else who is told.
    fn tell(&self, news: News, answer: Option<Answer>) {
        let (page, host) = match news.about {
            Subject::Page(page) => (self.page(page), None),
            Subject::Host(host) => (None, Some(self.host(host).to_owned())),
        };
        let message = Message {
            time: unix_time(),
            event: news.kind,
            url: page.map(|page| page.url.clone()),
            name: page.and_then(|page| page.name.clone()),
            host,
            answer,
            reason: news.reason,
        };
        let line = output::json(&message);
        self.written(output::print(&line));
        if let Some(EventLog { path, file }) = self.log.borrow_mut().as_mut() {
            let written = file.write_all(line.as_bytes());
            self.written(written.map_err(|source| Error::writing(path, source)));
        }
        self.written(self.told.borrow_mut().hear(&message));
        if message.event != Kind::Changed && !std::io::stdout().is_terminal() {
            let about = message.about();
            let why = message.reason.as_deref();
            let why = why.map_or_else(String::new, |reason| format!(": {reason}"));
            self.say(&format!("{} {about}{why}", message.event.name()));
        }
    }

    /// Says once that something could not be written, and remembers it for the end.
    fn written(&self, result: Result<(), Error>) {
        let Err(error) = result else { return };
        if self.lost.borrow().is_none() {
            self.say(&format!("{error}; news is lost until that works again"));
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
        Some(unix_time()).filter(|time| *time > 0)
    }

    fn speaks_https(&self) -> bool {
        true
    }

    fn log(&self, event: &Event) {
        if let Some(watched) = &self.watched {
            watched.hear(event, self.now());
        }
        self.keep(event);
        let answer = match *event {
            Event::End {
                status,
                bytes,
                millis,
                flags,
                ..
            } => Some(Answer {
                status,
                bytes,
                milliseconds: millis,
                first: flags.first,
                encoded: flags.encoded,
                cut: flags.cut,
            }),
            _ => None,
        };
        let line = event.to_string();
        if let Some(news) = LoggedEvent::read(&line).and_then(|event| News::of(&event)) {
            return self.tell(news, answer);
        }
        match *event {
            Event::Costly { host } => {
                let name = self.host(host);
                self.say(&format!(
                    "robots.txt of {name} takes too much work: what it may forbid is forbidden"
                ));
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
            _ => {}
        }
    }
}
