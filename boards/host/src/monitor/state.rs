//! One probe as its log tells it. Memory is bounded by the vocabulary: 2¹⁶ pages and hosts, a few
//! kinds of error, a time series of fixed length and the last lines.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use dunlin::learn::Regularity;
use dunlin::probe::LoggedEvent;

use super::collection::{Branch, ProbeCollection};
use super::counts::{EventCounts, count};
use super::decode::{ElfMatch, Level, Line, Lost};
use super::host_stats::{HostStats, TellerFigures};
use super::names::{HostName, Names, PageName};
use super::page_stats::PageStats;
use super::self_report::{Handshakes, Identity, ReportedTotals};
use super::time_series::TimeSeries;
use super::updates::Updates;
use crate::news::{self, Kind, News};

/// The last lines of the log that are kept.
const LINES: usize = 200;
/// The last news that is kept.
const NEWS: usize = 100;
/// Seconds over which fetches a minute are counted.
const MINUTE: usize = 60;

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

/// One probe, as far as its log has told.
#[derive(Debug)]
pub struct MonitoredProbe {
    /// The name by which the user knows it.
    pub name: String,
    names: Arc<Names>,
    /// The firmware that speaks, by its banner.
    pub identity: Option<Identity>,
    /// Whether the ELF file is the probe's own.
    pub trust: ElfMatch,
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
    /// The address that the probe has.
    pub address: Option<String>,
    /// Pages and hosts, as it counts them.
    pub loaded: Option<(u16, u16)>,
    /// How often it booted, as far as was seen.
    pub boots: u64,
    /// What happened, counted from the lines.
    pub counts: EventCounts,
    /// Its own count since its last boot, as last reported.
    pub totals: Option<ReportedTotals>,
    /// Its own count of handshakes, if it speaks https.
    pub handshakes: Option<Handshakes>,
    /// Where its updates stand, if it is updated.
    pub updates: Option<Updates>,
    /// What it keeps and knows beyond its list, if it looks for that.
    pub collection: Option<ProbeCollection>,
    /// What a fetch is worth to it.
    pub price: Option<f64>,
    /// Weighted mean freshness and the best for its budget, as it last reported.
    pub reported: [Option<f64>; 2],
    /// The pages, by their numbers.
    pub pages: Vec<PageStats>,
    /// How regularly they change, by what was found at visits.
    regularity: Regularity,
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
    /// The revision at which the last news came.
    news_revision: u64,
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
            trust: ElfMatch::Unknown,
            complaint: None,
            unrecorded: None,
            stream: Stream::Open,
            refused: None,
            online: None,
            address: None,
            loaded: None,
            boots: 0,
            counts: EventCounts::default(),
            totals: None,
            handshakes: None,
            updates: None,
            collection: None,
            price: None,
            reported: [None; 2],
            pages,
            regularity: Regularity::NONE,
            hosts,
            series: TimeSeries::default(),
            lines: VecDeque::with_capacity(LINES),
            news: VecDeque::new(),
            tells_first: false,
            first: None,
            news_revision: 0,
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

    /// What it keeps beyond its list, by host; nothing if it does not look for that.
    pub fn collection_tree(&self) -> Vec<Branch> {
        let collection = self.collection.as_ref();
        collection.map_or_else(Vec::new, |it| it.tree(&self.names))
    }

    /// What the page list says about a page.
    pub fn page_name(&self, page: usize) -> Option<&PageName> {
        let found = self.collection.as_ref().and_then(|it| it.names.get(&page));
        match found {
            Some(found) => found.as_ref(),
            None => self.names.pages.get(page),
        }
    }

    /// What the page list says about a host.
    pub fn host_name(&self, host: usize) -> Option<&HostName> {
        self.names.hosts.get(host)
    }

    /// The news that the last line brought, if it brought any.
    pub fn last_news(&self) -> Option<&News> {
        let last = self.news.back().map(|(_, news)| news);
        last.filter(|_| self.revision > 0 && self.news_revision == self.revision)
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
            .map(|(index, page)| weight(index) * page.fresh(&self.regularity, now))
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
                            let mut collection = self.collection.take().unwrap_or_default();
                            if collection.hear(&line.message, &self.names) || collection.places > 0
                            {
                                self.collection = Some(collection);
                            }
                            let said = Handshakes::read(&line.message);
                            self.handshakes = said.or(self.handshakes);
                            if let Some(said) = Updates::read(&line.message) {
                                self.updates = Some(said);
                            }
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
        self.updates = None;
        self.collection = None;
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
            self.news_revision = self.revision;
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
                self.counts.took(f64::from(millis) * 1e-3);
                let name = self.names.pages.get(usize::from(page));
                let entry = slot(&mut self.pages, page, self.revision);
                let changed = (!first).then_some(changed);
                entry.visited(&mut self.regularity, name, self.time, status, changed);
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
            LoggedEvent::Collected { .. } => self.counts.collected += 1,
            LoggedEvent::Uncollected { why, .. } => count(&mut self.counts.uncollected, why),
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
            LoggedEvent::Collection { .. } => {
                let collection = self.collection.get_or_insert_default();
                collection.count(&event);
            }
            LoggedEvent::Totals(totals) => self.totals = Some(totals.into()),
            LoggedEvent::Told {
                page,
                news,
                seconds,
                precision,
                recall,
                saves,
                ..
            } => {
                if let Some(host) = self.host_of(page) {
                    let entry = slot(&mut self.hosts, host, self.revision);
                    let before = entry
                        .tells
                        .map_or((0, 0), |tells| (tells.heard, tells.news));
                    entry.tells = Some(TellerFigures {
                        kind: "teller",
                        heard: before.0 + 1,
                        news: before.1 + u64::from(news),
                        precision,
                        recall,
                        delay_s: seconds.into(),
                        saves_per_day: saves,
                    });
                }
            }
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
mod tests;
