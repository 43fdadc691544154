//! What is shown of a probe: one set of figures for terminal, web page, metrics and summary, so
//! that they agree.

use std::collections::BTreeMap;

use dunlin::probe::LoggedEvent;
use serde::Serialize;

use super::collection::{Branch, ProbeCollection};
use super::decode::Line;
use super::host_stats::{GateState, TellerFigures};
use super::self_report::ReportedTotals;
use super::state::{MonitoredProbe, Stream};
use super::time_series::SeriesPoint;
use crate::news::{Kind, News, Subject};

/// The part of the time series, from its end, over which the trend is taken.
const TREND: usize = 4;

/// All figures of one probe at one moment. Times are seconds on the log's timeline.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // The names say it; where not, there is a comment.
pub struct View {
    pub probe: String,
    /// Name and version of the firmware, as in its boot banner.
    pub firmware: Option<String>,
    pub build: Option<String>,
    /// Where its updates stand: slot, release, trial or confirmed, what was refused last and why;
    /// `None` for firmware without updates.
    pub updates: Option<String>,
    /// Why nothing, or little, is decoded.
    pub complaint: Option<String>,
    /// `open`, `ended`, or what is wrong with it.
    pub stream: String,
    pub live: bool,
    pub now_s: f64,
    pub last_line_s: f64,
    pub online: Option<bool>,
    pub address: Option<String>,
    /// Why the page image is refused.
    pub refused: Option<String>,
    pub boots: u64,
    /// Probability that a copy is good, weighted: the monitor's estimate from the log.
    pub freshness: Option<f64>,
    /// The same as the probe last reported it.
    pub freshness_reported: Option<f64>,
    /// The best there is for the probe's budget, as it last reported.
    pub optimum: Option<f64>,
    /// Answers a page has given on average, by the log; `None` before there is a page.
    pub visits_a_page: Option<f64>,
    /// How much the freshness has risen over the last quarter of the time series.
    pub trend: Option<f64>,
    pub price: Option<f64>,
    pub fetches_per_minute: u64,
    pub fetches: u64,
    pub not_modified: u64,
    pub not_modified_share: Option<f64>,
    /// Versions found that differ from the one before.
    pub changed: u64,
    /// First versions of pages: there is no earlier one to differ from.
    pub first_versions: u64,
    pub errors: u64,
    pub errors_by_kind: BTreeMap<String, u64>,
    pub robots_denied: u64,
    /// Versions that a collector has, and those that it did not get.
    pub collected: u64,
    pub uncollected: u64,
    /// What is kept beyond the list, if that is looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<ProbeCollection>,
    /// The same by host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collection_tree: Vec<Branch>,
    pub bytes: u64,
    pub mean_fetch_s: Option<f64>,
    /// The probe's own count since its last boot.
    pub reported: Option<ReportedTotals>,
    pub frames: u64,
    pub lost_frames: u64,
    pub lost_bytes: u64,
    #[serde(rename = "course")]
    pub series: Vec<SeriesPoint>,
    pub hosts: Vec<HostRow>,
    pub pages: Vec<PageRow>,
    /// The last news, latest first.
    pub news: Vec<NewsRow>,
    pub lines: Vec<LogRow>,
}

/// What is shown of a host.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct HostRow {
    pub host: usize,
    pub name: String,
    pub state: GateState,
    /// When its gate opens.
    pub opens_s: Option<f64>,
    pub gap_s: Option<f64>,
    pub robots: Option<u16>,
    pub fetches: u64,
    pub errors: u64,
    /// What it says about its pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tells: Option<TellerFigures>,
}

/// What is shown of a page.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct PageRow {
    pub page: usize,
    pub url: String,
    pub host: Option<u16>,
    /// The last answer's status, or what stood in its way: `failed`, `denied` (by robots.txt),
    /// `https` (a redirect there, which the probe cannot follow), `astray` (another redirect that
    /// is not followed), or nothing yet.
    pub status: Option<String>,
    pub visits: u64,
    pub changes: u64,
    pub errors: u64,
    pub denied: u64,
    /// Changes a day, by the visits the log tells of.
    pub rate: Option<f64>,
    pub last_visit_s: Option<f64>,
    pub last_change_s: Option<f64>,
    pub due_s: Option<f64>,
}

/// One piece of news.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct NewsRow {
    pub time_s: f64,
    pub event: Kind,
    /// A page's URL or a host's name.
    pub about: String,
    pub reason: Option<String>,
}

/// One line of the log, with names in place of numbers.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct LogRow {
    pub time: String,
    pub level: &'static str,
    pub message: String,
}

impl LogRow {
    fn new(probe: &MonitoredProbe, line: &Line) -> Self {
        Self {
            time: line.time(),
            level: line.level.name(),
            message: with_names(probe, &line.message),
        }
    }
}

/// A line of the log with the names of its page and its host instead of their numbers, where the
/// page list has them.
fn with_names(probe: &MonitoredProbe, message: &str) -> String {
    if LoggedEvent::read(message).is_none() {
        return message.to_owned();
    }
    let name = |word: &str| {
        let (key, number) = word.split_once('=')?;
        let number: usize = number.parse().ok()?;
        match key {
            "page" => Some(probe.page_name(number)?.url.clone()),
            "host" => Some(probe.host_name(number)?.name.clone()),
            _ => None,
        }
    };
    let words = message.split(' ');
    let words: Vec<String> = words
        .map(|word| name(word).unwrap_or_else(|| word.to_owned()))
        .collect();
    words.join(" ")
}

/// The news, latest first.
fn news(probe: &MonitoredProbe) -> Vec<NewsRow> {
    let row = |(time, news): &(f64, News)| NewsRow {
        time_s: *time,
        event: news.kind,
        about: match news.about {
            Subject::Page(page) => page_text(probe, page.into()),
            Subject::Host(host) => host_text(probe, host.into()),
        },
        reason: news.reason.clone(),
    };
    probe.news.iter().rev().map(row).collect()
}

/// A page's URL, or its number.
fn page_text(probe: &MonitoredProbe, page: usize) -> String {
    let name = probe.page_name(page);
    name.map_or_else(|| format!("page {page}"), |name| name.url.clone())
}

/// A host's name, or its number.
fn host_text(probe: &MonitoredProbe, host: usize) -> String {
    let name = probe.host_name(host);
    name.map_or_else(|| format!("host {host}"), |name| name.name.clone())
}

impl View {
    /// Takes all figures, and the last `lines` lines of the log.
    pub fn new(probe: &MonitoredProbe, lines: usize) -> Self {
        Self::since(probe, lines, 0)
    }

    /// The same with those pages and hosts only that something has happened to since `revision` (0
    /// for all).
    pub fn since(probe: &MonitoredProbe, lines: usize, revision: u64) -> Self {
        let now = probe.now();
        let counts = &probe.counts;
        let live = probe.stream == Stream::Open;
        let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
        let answered: u64 = counts.durations.iter().sum();
        Self {
            probe: probe.name.clone(),
            firmware: probe
                .identity
                .as_ref()
                .map(|who| format!("{} {}", who.name, who.version)),
            build: probe
                .identity
                .as_ref()
                .map(|who| who.build.clone())
                .filter(|build| !build.is_empty()),
            updates: probe.updates.as_ref().map(ToString::to_string),
            complaint: probe.complaint.clone(),
            stream: match &probe.stream {
                Stream::Open => "open".into(),
                Stream::Ended => "ended".into(),
                Stream::Broken(why) => why.clone(),
            },
            live,
            now_s: now,
            last_line_s: probe.last_line(),
            online: probe.online,
            address: probe.address.clone(),
            refused: probe.refused.clone(),
            boots: probe.boots,
            freshness: probe.freshness(now),
            freshness_reported: probe.reported[0],
            optimum: probe.reported[1],
            visits_a_page: probe.visits_a_page(),
            trend: trend(probe.series.points()),
            price: probe.price,
            fetches_per_minute: probe.fetches_in_last_minute(now),
            fetches: counts.fetches,
            not_modified: counts.not_modified,
            not_modified_share: share(counts.not_modified, counts.fetches),
            changed: counts.changed,
            first_versions: counts.first,
            errors: counts.all_errors(),
            errors_by_kind: counts.errors.clone(),
            robots_denied: counts.denied,
            collected: counts.collected,
            uncollected: counts.uncollected.values().sum(),
            collection: probe.collection.clone(),
            collection_tree: probe.collection_tree(),
            bytes: counts.bytes,
            mean_fetch_s: (answered > 0).then(|| counts.seconds / answered as f64),
            reported: probe.totals,
            frames: probe.frames,
            lost_frames: probe.lost.frames,
            lost_bytes: probe.lost.bytes,
            series: probe.series.points().to_vec(),
            hosts: hosts(probe, now, revision),
            pages: pages(probe, revision),
            news: news(probe),
            lines: probe
                .lines
                .iter()
                .skip(probe.lines.len().saturating_sub(lines))
                .map(|line| LogRow::new(probe, line))
                .collect(),
        }
    }
}

/// Mean of the last quarter less the mean of the quarter before.
fn trend(points: &[SeriesPoint]) -> Option<f64> {
    let fresh: Vec<f64> = points.iter().filter_map(|point| point.freshness).collect();
    let length = fresh.len() / TREND;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (before, last) = fresh.split_at(fresh.len() - length);
    let before = before.get(before.len().saturating_sub(length)..)?;
    (length > 0).then(|| mean(last) - mean(before))
}

fn hosts(probe: &MonitoredProbe, now: f64, revision: u64) -> Vec<HostRow> {
    let row = |(index, host): (usize, &super::host_stats::HostStats)| {
        let gate = probe
            .hosts
            .get(usize::from(probe.gate(index as u16)))
            .unwrap_or(host);
        // Gates open by themselves: hosts that wait are always shown again.
        let state = gate.state(now);
        let name = probe.host_name(index);
        let list = name.map(|name| name.gap.as_secs_f64());
        (host.revision.max(gate.revision) >= revision).then(|| HostRow {
            host: index,
            name: host_text(probe, index),
            state,
            opens_s: gate.opens,
            gap_s: host.gap.or(list),
            robots: host.robots,
            fetches: host.fetches,
            errors: host.errors,
            tells: host.tells,
        })
    };
    probe.hosts.iter().enumerate().filter_map(row).collect()
}

fn status(page: &super::page_stats::PageStats) -> Option<String> {
    match page.status {
        Some(_) if page.astray.is_some() => page.astray.map(Into::into),
        Some(status) => Some(status.to_string()),
        None if page.errors > 0 => Some("failed".into()),
        None if page.denied > 0 => Some("denied".into()),
        None => None,
    }
}

fn pages(probe: &MonitoredProbe, revision: u64) -> Vec<PageRow> {
    let row = |(index, page): (usize, &super::page_stats::PageStats)| {
        let name = probe.page_name(index);
        let opens =
            name.and_then(|name| probe.hosts.get(usize::from(probe.gate(name.host)))?.opens);
        (page.revision >= revision).then(|| PageRow {
            page: index,
            url: page_text(probe, index),
            host: name.map(|name| name.host),
            status: status(page),
            visits: page.visits,
            changes: page.changes,
            errors: page.errors,
            denied: page.denied,
            rate: page.rate(),
            last_visit_s: page.last_visit,
            last_change_s: page.last_change,
            // Whatever is usual, its host has to be asked politely.
            due_s: page
                .due()
                .map(|due| opens.map_or(due, |opens| due.max(opens))),
        })
    };
    probe.pages.iter().enumerate().filter_map(row).collect()
}
