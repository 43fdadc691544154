//! This computer as a board for the probe: its clock, and a log that tells the news.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use super::net;
use super::tape::Tapes;
use super::visit_log::VisitLog;
use crate::archive::LONGEST_BODY;
use crate::archive::exchange::Answer as Answered;
use crate::archive::keeper::{Counts, Keeper};
use crate::collect::client::{Courier, Label};
use crate::error::Error;
use crate::filter::Filters;
use crate::lists::listing::Listing;
use crate::lists::pages::ListedPage;
use crate::monitor::own::Watched;
use crate::news::{Kind, News, Subject};
use crate::output;
use crate::push::Pushes;
use crate::told::Told;
use crate::told::message::{Answer, Message};
use dunlin::probe::{Board, Event, FoundEvent, LoggedEvent};
use dunlin::time::{Duration, Instant};
use serde::Serialize;

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
    /// Where visits are written down.
    visits: RefCell<Vec<VisitLog>>,
    /// URLs of pages that were found, by their numbers; `None` where a page of the list was.
    found: RefCell<HashMap<u16, Option<String>>>,
    /// What of pages counts as a change where a CSS selector says so.
    judge: Option<Judge>,
    /// Who said that pages have changed, if anybody may.
    pushes: Option<Arc<Pushes>>,
    /// First versions of pages so far.
    first_versions: Cell<u32>,
    /// What could not be written first.
    lost: RefCell<Option<Error>>,
    /// Pages whose last version the collector took at the end.
    settled: RefCell<Vec<u16>>,
}

/// Judges versions of pages by CSS selectors, for which all of a page has to be there.
#[derive(Debug)]
pub struct Judge {
    /// Holds what went over the wire last.
    pub tapes: Rc<Tapes>,
    /// The key of fingerprints.
    pub key: [u8; 16],
    /// What of pages counts.
    pub filters: Arc<Filters>,
}

/// Where versions of pages are kept.
#[derive(Debug)]
pub enum Keep {
    /// An archive of our own keeps them.
    Here(Keeper),
    /// A collector keeps them.
    There(Courier),
}

/// Who keeps versions of pages, and where they come from.
#[derive(Debug)]
pub struct Keeping {
    /// Where the versions go.
    pub keep: Keep,
    /// Holds what went over the wire last.
    pub tapes: Rc<Tapes>,
    /// Visits that brought nothing new are wanted, too.
    pub revisits: bool,
}

/// When this process looked at its clock first: a crawl that begins anew with another list goes by
/// the same time.
static START: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);

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
    /// Has versions of pages judged by what counts of them.
    #[must_use]
    pub fn with_judge(mut self, judge: Option<Judge>) -> Self {
        self.judge = judge;
        self
    }

    /// The fingerprint of what a CSS selector selects of the answer that has just come; `None` if
    /// there is no such selector.
    fn judged(&self, page: u16) -> Option<u64> {
        let judge = self.judge.as_ref()?;
        let page = self.page(page)?;
        page.filter.as_ref()?.css()?;
        let filter = judge.filters.get(&page.url)?;
        let answer = judge
            .tapes
            .look(|bytes| Answered::read(bytes, LONGEST_BODY));
        let answer = answer?.ok()?;
        if let Err(why) = filter.apply(&answer.body) {
            self.say(&format!("{}: all of it is compared, for {why}", page.url));
        }
        Some(filter.fingerprint(&judge.key, &answer.body))
    }

    /// Appends each visit that brought an answer to these files, too.
    #[must_use]
    pub fn with_visits(self, visits: Vec<VisitLog>) -> Self {
        *self.visits.borrow_mut() = visits;
        self
    }

    /// Lets those who push know whether they were right.
    #[must_use]
    pub fn with_pushes(mut self, pushes: Option<Arc<Pushes>>) -> Self {
        self.pushes = pushes;
        self
    }

    /// Writes down that a page was visited.
    fn visited(&self, page: u16, changed: bool) {
        let mut visits = self.visits.borrow_mut();
        let found = self.found.borrow().get(&page).cloned();
        let url = match found {
            Some(found) => found,
            None => self.page(page).map(|page| page.url.clone()),
        };
        let Some(url) = url else { return };
        for log in visits.iter_mut() {
            self.written(log.visit(&url, changed));
        }
    }

    /// A board for the pages of `listing`; `order` says for each page of the image which of them it
    /// is. News is appended to `log`, too, and `told`; everything is shown to who is `watched` by,
    /// and versions of pages go to who is `keeping` them.
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
            start: *START,
            log: RefCell::new(log),
            watched,
            told: RefCell::new(told),
            keeping: RefCell::new(keeping),
            visits: RefCell::default(),
            found: RefCell::default(),
            judge: None,
            pushes: None,
            first_versions: Cell::new(0),
            lost: RefCell::new(None),
            settled: RefCell::default(),
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
            Keep::There(courier) => {
                let (counts, settled) = courier.finish();
                *self.settled.borrow_mut() = settled;
                (
                    counts,
                    "collector: versions delivered",
                    "versions were not collected",
                )
            }
        };
        self.say(&format!("{what}: {versions}"));
        if lost > 0 {
            let why = format!("{lost} {not}");
            self.lost.borrow_mut().get_or_insert(Error::Usage(why));
        }
    }

    /// Hands the answer that an event is about to the archive or the collector, if it belongs
    /// there: versions of pages, and where pages have moved.
    fn keep(&self, event: &Event) {
        let mut keeping = self.keeping.borrow_mut();
        let Some(Keeping {
            keep,
            tapes,
            revisits,
        }) = keeping.as_mut()
        else {
            return;
        };
        match keep {
            Keep::Here(keeper) => {
                let belongs = match *event {
                    Event::End {
                        changed, status, ..
                    } => changed || *revisits && matches!(status, 200 | 304),
                    Event::Moved { .. } => true,
                    _ => false,
                };
                if belongs && let Some(exchange) = tapes.take() {
                    keeper.keep(exchange);
                }
            }
            Keep::There(courier) => {
                let label = match *event {
                    Event::End {
                        page,
                        changed,
                        status,
                        ..
                    } if changed || status == 200 => courier.wants(page, changed),
                    Event::Moved { .. } => Some(Label::Move),
                    _ => None,
                };
                if let Some(label) = label
                    && let Some(exchange) = tapes.take()
                {
                    courier.deliver(label, exchange);
                }
            }
        }
    }

    /// Another page is at this place from now on, or none. The visit that it was admitted by has
    /// brought its first version.
    fn keep_found(&self, page: u16, url: &str, is_admitted: bool) {
        let mut keeping = self.keeping.borrow_mut();
        let Some(Keeping { keep, tapes, .. }) = keeping.as_mut() else {
            return;
        };
        if let Keep::There(courier) = keep {
            courier.forget(page);
        }
        let exchange = is_admitted.then(|| tapes.take()).flatten();
        let Some(exchange) = exchange.filter(|exchange| exchange.url == url) else {
            return;
        };
        match keep {
            Keep::Here(keeper) => keeper.keep(exchange),
            Keep::There(courier) => {
                if let Some(label) = courier.wants(page, true) {
                    courier.deliver(label, exchange);
                }
            }
        }
    }

    /// Does somebody else collect what has changed?
    pub fn is_collected(&self) -> bool {
        let keeping = self.keeping.borrow();
        let keeping = keeping.as_ref();
        keeping.is_some_and(|keeping| matches!(keeping.keep, Keep::There(_)))
    }

    /// Pages whose last version is with the collector since this was asked before, or will never be
    /// taken: for the probe, which owes it the others.
    pub fn settled(&self) -> Vec<u16> {
        let mut settled = self.settled.take();
        if let Some(keeping) = self.keeping.borrow_mut().as_mut()
            && let Keep::There(courier) = &mut keeping.keep
        {
            settled.extend(courier.settled());
        }
        settled
    }

    /// A page of the image in the user's list.
    fn page(&self, page: u16) -> Option<&'l ListedPage> {
        let index = self.order.get(usize::from(page))?;
        self.listing.list.pages.get(*index)
    }

    /// Is it about a page that is neither listed nor found? A teller is listened to, and is no news;
    /// of a candidate the news is whether it is kept.
    fn is_about_teller(&self, event: &Event) -> bool {
        let page = match *event {
            Event::End { page, .. }
            | Event::Failed { page, .. }
            | Event::Recovered { page }
            | Event::Denied { page }
            | Event::Moved { page, .. }
            | Event::Astray { page, .. } => page,
            _ => return false,
        };
        match self.found.borrow().get(&page) {
            Some(found) => found.is_none(),
            None => self.page(page).is_none(),
        }
    }

    /// How many first versions of pages there were so far: the probe counts them as changes, too.
    pub fn first_versions(&self) -> u32 {
        self.first_versions.get()
    }

    /// A host of the user's list; `None` for one that only links lead to.
    fn host(&self, host: u16) -> Option<&'l str> {
        let hosts = &self.listing.list.hosts;
        hosts.get(usize::from(host)).map(String::as_str)
    }

    /// Writes news to standard output and to the file, for a person who does not see the first, and
    /// for everybody else who is told.
    fn tell(&self, news: News, answer: Option<Answer>) {
        let (page, host) = match news.about {
            Subject::Page(page) => (self.page(page), None),
            Subject::Host(host) => match self.host(host) {
                Some(name) => (None, Some(name.to_owned())),
                // The owner has not listed it: its pages are news, and not what it is like.
                None => return,
            },
        };
        let found = match news.about {
            Subject::Page(number) => match self.found.borrow().get(&number).cloned() {
                // A candidate that is looked at: its news is whether it is kept.
                Some(None) => return,
                None if page.is_none() => return,
                found => found.flatten(),
            },
            Subject::Host(_) => None,
        };
        let page = page.filter(|_| found.is_none());
        let message = Message {
            time: unix_time(),
            event: news.kind,
            url: found.or_else(|| page.map(|page| page.url.clone())),
            name: page.and_then(|page| page.name.clone()),
            host,
            answer,
            reason: news.reason,
        };
        self.write_line(&output::json(&message));
        self.written(self.told.borrow_mut().hear(&message));
        if message.event != Kind::Changed && !std::io::stdout().is_terminal() {
            let about = message.about();
            let why = message.reason.as_deref();
            let why = why.map_or_else(String::new, |reason| format!(": {reason}"));
            self.say(&format!("{} {about}{why}", message.event.name()));
        }
    }

    /// Writes a line to standard output and to the file.
    fn write_line(&self, line: &str) {
        self.written(output::print(line));
        if let Some(EventLog { path, file }) = self.log.borrow_mut().as_mut() {
            let written = file.write_all(line.as_bytes());
            self.written(written.map_err(|source| Error::writing(path, source)));
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

/// What became of a page beyond the list, as a line.
#[derive(Serialize)]
struct FoundLine<'u> {
    time: u64,
    event: &'static str,
    url: &'u str,
    #[serde(skip_serializing_if = "Option::is_none")]
    importance: Option<f32>,
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

    fn found(&self, event: &FoundEvent<'_>) {
        if let Some(watched) = &self.watched {
            watched.hear_found(event, self.now());
        }
        let (name, page, importance, url) = match *event {
            FoundEvent::Found { url } => ("found", None, None, url),
            FoundEvent::Kept { page, url } => {
                self.found.borrow_mut().insert(page, Some(url.to_owned()));
                return;
            }
            FoundEvent::Admitted {
                page,
                importance,
                url,
            } => ("admitted", Some(page), Some(importance), url),
            FoundEvent::Replaced {
                page,
                importance,
                url,
            } => ("replaced", Some(page), Some(importance), url),
            _ => return,
        };
        if let Some(page) = page {
            self.keep_found(page, url, name == "admitted");
        }
        let mut found = self.found.borrow_mut();
        match (name, page) {
            ("admitted", Some(page)) => _ = found.insert(page, Some(url.to_owned())),
            (_, Some(page)) => _ = found.insert(page, None),
            _ => {}
        }
        drop(found);
        self.write_line(&output::json(&FoundLine {
            time: unix_time(),
            event: name,
            url,
            importance,
        }));
    }

    fn fingerprint(&self, page: u16, found: u64) -> u64 {
        self.judged(page).unwrap_or(found)
    }

    fn log(&self, event: &Event) {
        if let Some(watched) = &self.watched {
            watched.hear(event, self.now());
        }
        // There is no earlier version that the first could differ from.
        let is_first = matches!(*event, Event::End { changed: true, flags, .. } if flags.first);
        let count = self.first_versions.get() + u32::from(is_first);
        self.first_versions.set(count);
        if self.is_about_teller(event) {
            return;
        }
        self.keep(event);
        if let Event::End { page, changed, .. } = *event {
            self.visited(page, changed && !is_first);
            if let Some(pushes) = &self.pushes {
                pushes.visited(page, changed);
            }
        }
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
                let name = self.host(host).unwrap_or("a host that was found");
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
