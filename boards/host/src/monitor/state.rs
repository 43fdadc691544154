//! One probe as its log tells it. Memory is bounded by the vocabulary: 2¹⁶ pages and hosts, a few
//! kinds of error, a time series of fixed length and the last lines.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use dunlin::probe::{LoggedBoardEvent, LoggedEvent, Totals};

use super::decode::{Level, Line, Lost, Trust};
use super::host_stats::HostStats;
use super::names::{HostName, Names, PageName};
use super::page_stats::PageStats;
use super::time_series::TimeSeries;
use crate::news::{self, Kind, News};

/// The last lines of the log that are kept.
const LINES: usize = 200;
/// The last news that is kept.
const NEWS: usize = 100;
/// Seconds over which fetches a minute are counted.
const MINUTE: usize = 60;
/// Kinds of error that are told apart; the vocabulary has nine.
const KINDS: usize = 32;
/// Upper ends of the histogram of fetch durations, in seconds.
pub const DURATIONS: [f64; 8] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

/// Where a stream stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stream {
    /// Bytes may come at any time.
    #[default]
    Open,
    /// It has ended; nothing more will come.
    Ended,
    /// It broke, and is tried again.
    Broken(String),
}

/// What happened, counted from the lines of the log over all boots.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Pages that were answered, redirects included.
    pub fetches: u64,
    /// Answers with status 304.
    pub not_modified: u64,
    /// Answers with another version than before.
    pub changed: u64,
    /// Answers with the first version of a page.
    pub first: u64,
    /// News by its kind, in the order of [`Kind::ALL`].
    pub news: [u64; Kind::ALL.len()],
    /// Requests that were not answered, by kind.
    pub errors: BTreeMap<String, u64>,
    /// Turns that robots rules forbade.
    pub denied: u64,
    /// Redirects that were not followed, by reason.
    pub astray: BTreeMap<String, u64>,
    /// Answers that were compressed unasked.
    pub encoded: u64,
    /// Answers that were longer than what is read of them.
    pub cut: u64,
    /// Bytes of bodies.
    pub bytes: u64,
    /// Answers that took no longer than each of [`DURATIONS`], and all others.
    pub durations: [u64; DURATIONS.len() + 1],
    /// Seconds all answers took.
    pub seconds: f64,
}

/// One more of a kind. A log that makes kinds up does not fill the memory.
fn count(kinds: &mut BTreeMap<String, u64>, kind: &str) {
    let known = kinds.contains_key(kind) || kinds.len() < KINDS;
    *kinds
        .entry(if known { kind } else { "other" }.to_owned())
        .or_default() += 1;
}

impl Counts {
    /// Counts errors of all kinds.
    pub fn all_errors(&self) -> u64 {
        self.errors.values().sum()
    }
}

/// The firmware that speaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its name, as in the banner.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its build identity, in sixteen hexadecimal digits.
    pub build: String,
}

impl Identity {
    /// Reads the banner of firmware of ours, and whether it has just booted.
    fn read(line: &str) -> Option<(Self, bool)> {
        let (name, version, build, boots) = match LoggedBoardEvent::read(line)? {
            LoggedBoardEvent::Banner {
                name,
                version,
                build,
            } => (name, version, build, true),
            LoggedBoardEvent::Here {
                name,
                version,
                build,
            } => (name, version, build, false),
            _ => return None,
        };
        let identity = Self {
            name: name.to_owned(),
            version: version.to_owned(),
            build: build.to_owned(),
        };
        (name.split(' ').next() == Some("dunlin")).then_some((identity, boots))
    }
}

/// The probe's own count since its boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[allow(missing_docs)] // As in `dunlin::probe::Totals`.
pub struct ReportedTotals {
    pub fetches: u32,
    pub not_modified: u32,
    pub changed: u32,
    pub errors: u32,
    pub robots_denied: u32,
    pub bytes: u64,
    pub late_seconds: u64,
}

impl From<Totals> for ReportedTotals {
    fn from(totals: Totals) -> Self {
        Self {
            fetches: totals.fetches,
            not_modified: totals.not_modified,
            changed: totals.changed,
            errors: totals.errors,
            robots_denied: totals.denied,
            bytes: totals.bytes,
            late_seconds: totals.late_seconds,
        }
    }
}

/// What a probe that speaks https has said of its handshakes since its boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshakes {
    /// With certificates.
    pub full: u32,
    /// Of sessions that were resumed.
    pub resumed: u32,
    /// Sessions that are kept.
    pub sessions: u32,
    /// The most bytes of the pool that were ever in use.
    pub pool: u32,
}

impl Handshakes {
    fn read(line: &str) -> Option<Self> {
        match LoggedBoardEvent::read(line)? {
            LoggedBoardEvent::Tls {
                full,
                resumed,
                sessions,
                pool,
                ..
            } => Some(Self {
                full,
                resumed,
                sessions,
                pool,
            }),
            _ => None,
        }
    }
}

/// One probe, as far as its log has told.
#[derive(Debug)]
pub struct MonitoredProbe {
    /// The name by which the user knows it.
    pub name: String,
    names: Arc<Names>,
    /// The firmware that speaks, by its banner.
    pub identity: Option<Identity>,
    /// Whether the ELF file is the probe's own.
    pub trust: Trust,
    /// What is wrong with the ELF file, as a sentence.
    pub complaint: Option<String>,
    /// Why the record of its log is not complete; `None` if it is, or if there is none.
    pub unrecorded: Option<String>,
    /// Where its stream stands.
    pub stream: Stream,
    /// What its page image is refused for.
    pub refused: Option<String>,
    /// Whether its network is up; `None` before it said so.
    pub online: Option<bool>,
    /// Its own address.
    pub address: Option<String>,
    /// Pages and hosts, as it counts them.
    pub loaded: Option<(u16, u16)>,
    /// How often it booted, as far as was seen.
    pub boots: u64,
    /// What happened, counted from the lines.
    pub counts: Counts,
    /// Its own count since its last boot, as last reported.
    pub totals: Option<ReportedTotals>,
    /// Its own count of handshakes, if it speaks https.
    pub handshakes: Option<Handshakes>,
    /// What a fetch is worth to it.
    pub price: Option<f64>,
    /// Weighted mean freshness and the best for its budget, as it last reported.
    pub reported: [Option<f64>; 2],
    /// The pages, by their numbers.
    pub pages: Vec<PageStats>,
    /// The hosts, by their numbers.
    pub hosts: Vec<HostStats>,
    /// How the figures changed over time.
    pub series: TimeSeries,
    /// The last lines of the log.
    pub lines: VecDeque<Line>,
    /// The last news, and when it came on the log's timeline.
    pub news: VecDeque<(f64, News)>,
    /// It says when it sees a page for the first time: older firmware does not.
    pub tells_first: bool,
    /// The page whose first version the next line tells of.
    first: Option<u16>,
    /// Frames that became lines.
    pub frames: u64,
    /// Frames that did not become lines.
    pub lost: Lost,
    /// A count that goes up with every line.
    pub revision: u64,
    /// Added to the device's clock, so that time goes on over a reboot.
    offset: f64,
    time: f64,
    heard: Instant,
    /// How many fetches ended in each of the last seconds, and the second of the last entry.
    minute: VecDeque<u64>,
    second: u64,
}

impl MonitoredProbe {
    /// A probe that has not logged anything yet.
    pub fn new(name: String, names: Arc<Names>) -> Self {
        let pages = vec![PageStats::default(); names.pages.len()];
        let hosts = vec![HostStats::default(); names.hosts.len()];
        Self {
            name,
            names,
            identity: None,
            trust: Trust::Unknown,
            complaint: None,
            unrecorded: None,
            stream: Stream::Open,
            refused: None,
            online: None,
            address: None,
            loaded: None,
            boots: 0,
            counts: Counts::default(),
            totals: None,
            handshakes: None,
            price: None,
            reported: [None; 2],
            pages,
            hosts,
            series: TimeSeries::default(),
            lines: VecDeque::with_capacity(LINES),
            news: VecDeque::new(),
            tells_first: false,
            first: None,
            frames: 0,
            lost: Lost::default(),
            revision: 0,
            offset: 0.0,
            time: 0.0,
            heard: Instant::now(),
            minute: VecDeque::with_capacity(MINUTE),
            second: 0,
        }
    }

    /// What the page list says about a page.
    pub fn page_name(&self, page: usize) -> Option<&PageName> {
        self.names.pages.get(page)
    }

    /// What the page list says about a host.
    pub fn host_name(&self, host: usize) -> Option<&HostName> {
        self.names.hosts.get(host)
    }

    /// Seconds on the log's timeline: those of the last line and, while the stream is open, those
    /// since.
    pub fn now(&self) -> f64 {
        match self.stream {
            Stream::Open if self.frames > 0 => self.time + self.heard.elapsed().as_secs_f64(),
            _ => self.time,
        }
    }

    /// Seconds of the last line, on the same timeline.
    pub fn last_line(&self) -> f64 {
        self.time
    }

    /// Fetches that ended within the minute before `now`.
    pub fn fetches_in_last_minute(&self, now: f64) -> u64 {
        let oldest = (now as u64).saturating_sub(MINUTE as u64 - 1);
        let first = (self.second + 1).saturating_sub(self.minute.len() as u64);
        let counts = self.minute.iter().zip(first..);
        counts
            .filter(|(_, second)| *second >= oldest)
            .map(|(count, _)| *count)
            .sum()
    }

    /// Weighted mean probability that the copies are still good, from what the log tells; `None`
    /// before it tells of a page. Linear in the pages.
    pub fn freshness(&self, now: f64) -> Option<f64> {
        let weight = |index: usize| {
            self.page_name(index)
                .map_or(1.0, |name| f64::from(name.weight))
        };
        let pages = || self.pages.iter().enumerate();
        let all: f64 = pages().map(|(index, _)| weight(index)).sum();
        let fresh: f64 = pages()
            .map(|(index, page)| weight(index) * page.fresh(now))
            .sum();
        (all > 0.0 && self.counts.fetches > 0).then(|| fresh / all)
    }

    /// Answers that a page has given on average, by the log. Linear in the pages.
    pub fn visits_a_page(&self) -> Option<f64> {
        let known = self.loaded.map_or(0, |(pages, _)| usize::from(pages));
        let pages = known.max(self.pages.len());
        let visits: u64 = self.pages.iter().map(|page| page.visits).sum();
        (pages > 0).then(|| visits as f64 / pages as f64)
    }

    /// Takes in the next line.
    pub fn hear(&mut self, line: Line) {
        self.revision += 1;
        if line.level == Level::Lost {
            self.lost.frames += 1;
            self.lost.bytes += line.bytes as u64;
        } else {
            self.frames += 1;
            match LoggedEvent::read(&line.message) {
                Some(event) => {
                    self.advance(line.micros, false);
                    self.take_in(event);
                    // Whatever is heard of pages came over a network.
                    if event.page().is_some() && self.online.is_none() {
                        self.online = Some(true);
                    }
                }
                None => {
                    let banner = Identity::read(&line.message);
                    let boots = matches!(banner, Some((_, true)));
                    self.advance(line.micros, boots);
                    match banner {
                        Some((identity, true)) => self.booted(identity),
                        Some((identity, false)) => {
                            self.identity = Some(identity);
                            self.tells_first = true;
                        }
                        None => {
                            let said = Handshakes::read(&line.message);
                            self.handshakes = said.or(self.handshakes);
                        }
                    }
                }
            }
        }
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// Moves the timeline on to a line's time; a boot banner starts the device's clock anew.
    fn advance(&mut self, micros: Option<u64>, is_banner: bool) {
        self.heard = Instant::now();
        let Some(micros) = micros else { return };
        let seconds = micros as f64 * 1e-6;
        let boot = is_banner && self.frames > 1;
        // A time far in the past that decoding believed: a reboot whose banner was lost.
        if boot || self.offset + seconds + 1.0 < self.time {
            self.offset = self.time;
        } else if self.frames == 1 && !is_banner {
            // We came in the middle: our timeline starts now.
            self.offset = -seconds;
        }
        self.time = self.time.max(self.offset + seconds);
        if self.series.is_due(self.time) {
            let [reported, optimum] = self.reported;
            let shares = [self.freshness(self.time), reported, optimum];
            self.series.add(self.time, self.counts.fetches, shares);
        }
    }

    /// The device has started.
    fn booted(&mut self, identity: Identity) {
        self.boots += 1;
        self.identity = Some(identity);
        self.online = None;
        self.totals = None;
        self.handshakes = None;
        self.refused = None;
    }

    /// Takes in what a line tells. Lines of other firmware, or of a newer vocabulary, are shown and
    /// not counted.
    fn take_in(&mut self, event: LoggedEvent<'_>) {
        let changes = self.counts.changed;
        self.count(event);
        // A page's first version is none.
        let is_news = |news: &News| news.kind != Kind::Changed || self.counts.changed > changes;
        if let Some(news) = News::of(&event).filter(is_news) {
            self.counts.news[news.kind as usize] += 1;
            if self.news.len() == NEWS {
                self.news.pop_front();
            }
            self.news.push_back((self.time, news));
        }
    }

    fn count(&mut self, event: LoggedEvent<'_>) {
        match event {
            LoggedEvent::Loaded { pages, hosts } => self.loaded = Some((pages, hosts)),
            LoggedEvent::Refused { why } => self.refused = Some(why.to_owned()),
            LoggedEvent::Up { address } => {
                self.online = Some(true);
                self.address = Some(address.to_owned());
            }
            LoggedEvent::Down => self.online = Some(false),
            LoggedEvent::End {
                page,
                status,
                bytes,
                millis,
                changed,
            } => {
                let known = self.pages.get(usize::from(page));
                let is_new = known.is_none_or(|page| page.visits == 0);
                let first = self.first.take() == Some(page) || is_new && !self.tells_first;
                let first = first && changed;
                let changed = changed && !first;
                self.fetched(page);
                self.counts.not_modified += u64::from(status == 304);
                self.counts.changed += u64::from(changed);
                self.counts.first += u64::from(first);
                self.counts.bytes += u64::from(bytes);
                self.count_duration(f64::from(millis) * 1e-3);
                let name = self.names.pages.get(usize::from(page));
                let entry = slot(&mut self.pages, page, self.revision);
                entry.visited(name, self.time, status, (!first).then_some(changed));
            }
            LoggedEvent::First { page } => {
                self.first = Some(page);
                self.tells_first = true;
            }
            LoggedEvent::Moved { page, status } => {
                self.fetched(page);
                let entry = slot(&mut self.pages, page, self.revision);
                entry.status = Some(status);
                entry.astray = None;
            }
            LoggedEvent::Astray { page, status, why } => {
                self.fetched(page);
                let why = news::redirect(why);
                count(&mut self.counts.astray, why);
                let entry = slot(&mut self.pages, page, self.revision);
                entry.astray = Some(if why == "NeedsTls" { "https" } else { "astray" });
                entry.status = Some(status);
            }
            LoggedEvent::Flagged { encoded, cut, .. } => {
                self.counts.encoded += u64::from(encoded);
                self.counts.cut += u64::from(cut);
            }
            LoggedEvent::Failed { page, why, .. } => self.failed(page, why),
            LoggedEvent::Denied { page } => {
                self.counts.denied += 1;
                slot(&mut self.pages, page, self.revision).denied += 1;
            }
            LoggedEvent::Robots { host, status, .. } => {
                slot(&mut self.hosts, host, self.revision).robots = Some(status);
                self.asked(host);
            }
            LoggedEvent::Gap { host, millis } => {
                slot(&mut self.hosts, host, self.revision).gap = Some(f64::from(millis) * 1e-3);
                self.asked(host);
            }
            LoggedEvent::BackOff { host, seconds, .. } => {
                let gate = self.gate(host);
                slot(&mut self.hosts, gate, self.revision).backs_off(self.time, seconds.into());
            }
            LoggedEvent::Plan {
                price,
                freshness,
                optimum,
            } => {
                self.price = Some(price);
                self.reported = [freshness, optimum];
            }
            LoggedEvent::Totals(totals) => self.totals = Some(totals.into()),
            _ => {}
        }
    }

    /// Counts that a page was answered.
    fn fetched(&mut self, page: u16) {
        self.counts.fetches += 1;
        self.count_in_minute();
        if let Some(host) = self.host_of(page) {
            slot(&mut self.hosts, host, self.revision).fetches += 1;
            self.asked(host);
        }
    }

    /// Counts that a page was not answered.
    fn failed(&mut self, page: u16, why: &str) {
        count(&mut self.counts.errors, why);
        let entry = slot(&mut self.pages, page, self.revision);
        entry.errors += 1;
        entry.status = None;
        if let Some(host) = self.host_of(page) {
            slot(&mut self.hosts, host, self.revision).errors += 1;
            self.asked(host);
        }
    }

    /// Closes the gate of a host that was asked.
    fn asked(&mut self, host: u16) {
        let gate = self.gate(host);
        let name = self.names.hosts.get(usize::from(gate));
        slot(&mut self.hosts, gate, self.revision).asked(name, self.time);
    }

    fn host_of(&self, page: u16) -> Option<u16> {
        self.page_name(page.into()).map(|page| page.host)
    }

    /// The host that keeps the gate of `host`.
    pub fn gate(&self, host: u16) -> u16 {
        self.host_name(host.into()).map_or(host, |name| name.gate)
    }

    fn count_in_minute(&mut self) {
        let second = self.time as u64;
        while self.second < second || self.minute.is_empty() {
            // Hours of silence must not take hours.
            self.second = (self.second + 1)
                .max(second.saturating_sub(MINUTE as u64))
                .min(second);
            self.minute.push_back(0);
            if self.minute.len() > MINUTE {
                self.minute.pop_front();
            }
        }
        if let Some(last) = self.minute.back_mut() {
            *last += 1;
        }
    }

    fn count_duration(&mut self, seconds: f64) {
        self.counts.seconds += seconds;
        let place = DURATIONS
            .iter()
            .position(|end| seconds <= *end)
            .unwrap_or(DURATIONS.len());
        self.counts.durations[place] += 1;
    }
}

/// The entry of a number, made if it is new, and marked as changed. There are 2¹⁶ numbers.
fn slot<T: Default + Revised>(entries: &mut Vec<T>, number: u16, revision: u64) -> &mut T {
    let index = usize::from(number);
    if index >= entries.len() {
        entries.resize_with(index + 1, T::default);
    }
    let entry = &mut entries[index];
    entry.revise(revision);
    entry
}

trait Revised {
    fn revise(&mut self, revision: u64);
}

impl Revised for PageStats {
    fn revise(&mut self, revision: u64) {
        self.revision = revision;
    }
}

impl Revised for HostStats {
    fn revise(&mut self, revision: u64) {
        self.revision = revision;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::decode::Level;
    use crate::monitor::view::View;

    fn line(seconds: u64, message: &str) -> Line {
        Line {
            micros: Some(1_000_000 * seconds),
            level: Level::Info,
            message: message.to_owned(),
            bytes: 20,
        }
    }

    #[test]
    fn who_comes_late_learns_who_speaks_within_a_minute_and_no_boot_is_counted() {
        let mut probe = MonitoredProbe::new("probe".into(), Arc::new(Names::default()));
        let end = "end page=3 status=200 bytes=9 ms=1 changed=true";
        probe.hear(line(
            5_000,
            "totals fetches=9 same=1 changed=1 errors=0 denied=0 bytes=9 late_s=0",
        ));
        probe.hear(line(
            5_000,
            "here dunlin on paper 0.1.0, build 0123456789abcdef",
        ));
        probe.hear(line(5_010, end));
        probe.hear(line(
            5_060,
            "here dunlin on paper 0.1.0, build 0123456789abcdef",
        ));
        let view = View::new(&probe, 1);
        assert_eq!(view.firmware.as_deref(), Some("dunlin on paper 0.1.0"));
        assert_eq!(view.build.as_deref(), Some("0123456789abcdef"));
        assert_eq!((view.boots, view.online), (0, Some(true)));
        assert_eq!(probe.last_line(), 60.0, "its clock goes on");
        assert_eq!(
            (view.changed, view.first_versions),
            (1, 0),
            "it would have said that it is new"
        );
    }

    #[test]
    fn first_visits_are_no_changes() {
        let mut probe = MonitoredProbe::new("probe".into(), Arc::new(Names::default()));
        let end = |page: u16| format!("end page={page} status=200 bytes=9 ms=1 changed=true");
        probe.hear(line(0, "dunlin on paper 0.1.0, build 0123456789abcdef"));
        for page in [1, 2] {
            probe.hear(line(1, &format!("first page={page}")));
            probe.hear(line(1, &end(page)));
        }
        probe.hear(line(60, &end(2)));
        // A restart that has forgotten everything.
        probe.hear(line(0, "dunlin on paper 0.1.0, build 0123456789abcdef"));
        probe.hear(line(1, "first page=2"));
        probe.hear(line(1, &end(2)));
        let view = View::new(&probe, 0);
        assert_eq!((view.changed, view.first_versions), (1, 3));
        let changes: Vec<u64> = view.pages.iter().map(|page| page.changes).collect();
        assert_eq!(changes, [0, 0, 1]);
        assert_eq!(view.news.len(), 1, "{:?}", view.news);
    }

    #[test]
    fn news_is_kept_counted_and_called_by_name() {
        let names = Names {
            pages: vec![PageName {
                url: "http://a.test/x".into(),
                host: 0,
                weight: 1.0,
                prior: None,
            }],
            hosts: vec![HostName {
                name: "a.test".into(),
                gap: dunlin::time::Duration::from_secs(15),
                gate: 0,
            }],
        };
        let mut probe = MonitoredProbe::new("probe".into(), Arc::new(names));
        probe.hear(line(1, "end page=0 status=404 bytes=0 ms=1 changed=false"));
        probe.hear(line(2, "failed page=0 ms=4 why=Tls(Expired)"));
        probe.hear(line(3, "backoff host=0 s=60 why=Server"));
        probe.hear(line(4, "recovered page=0"));
        let view = View::new(&probe, 10);
        let news: Vec<_> = view
            .news
            .iter()
            .map(|news| {
                (
                    news.event.name(),
                    news.about.as_str(),
                    news.reason.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            news,
            [
                ("recovered", "http://a.test/x", None),
                (
                    "host-backed-off",
                    "a.test",
                    Some("left alone for 60 s: the server answered with 5xx")
                ),
                (
                    "failed",
                    "http://a.test/x",
                    Some("its certificate has expired")
                ),
                ("gone", "http://a.test/x", Some("status 404 (not found)")),
            ]
        );
        let lines: Vec<&str> = view.lines.iter().map(|line| &*line.message).collect();
        assert_eq!(lines[1], "failed http://a.test/x ms=4 why=Tls(Expired)");
        assert_eq!(lines[2], "backoff a.test s=60 why=Server");
        (0..1_000).for_each(|second| probe.hear(line(10 + second, "denied page=0")));
        assert_eq!(View::new(&probe, 0).news.len(), 100, "the last hundred");
        assert_eq!(probe.counts.news[Kind::Refused as usize], 1_000);
    }

    #[test]
    fn a_redirect_to_https_is_told_apart_from_others_and_from_pages() {
        let mut probe = MonitoredProbe::new("probe".into(), Arc::new(Names::default()));
        let hear = |probe: &mut MonitoredProbe, message: &str| {
            let message = message.to_owned();
            probe.hear(Line {
                micros: Some(1_000_000),
                level: Level::Info,
                message,
                bytes: 20,
            });
            View::new(probe, 1)
                .pages
                .into_iter()
                .map(|page| page.status.unwrap_or_default())
                .collect::<Vec<_>>()
        };
        hear(
            &mut probe,
            "end page=0 status=200 bytes=9 ms=1 changed=true",
        );
        hear(&mut probe, "flagged page=0 encoded=true cut=false");
        hear(&mut probe, "astray page=1 status=301 why=Some(NeedsTls)");
        hear(&mut probe, "astray page=2 status=302 why=Some(Loop)");
        assert_eq!(
            hear(&mut probe, "astray page=2 status=302 why=None"),
            ["200", "https", "astray"]
        );
        let counted: Vec<_> = probe
            .counts
            .astray
            .iter()
            .map(|(why, count)| (why.as_str(), *count))
            .collect();
        assert_eq!(counted, [("Loop", 1), ("NeedsTls", 1), ("Target", 1)]);
        assert_eq!((probe.counts.encoded, probe.counts.cut), (1, 0));
        assert_eq!((probe.counts.fetches, probe.counts.all_errors()), (4, 0));
        hear(
            &mut probe,
            "end page=1 status=200 bytes=9 ms=1 changed=true",
        );
        assert_eq!(
            hear(&mut probe, "failed page=2 ms=1 why=Name"),
            ["200", "200", "failed"]
        );
    }
}
