//! From a page list to what the planner takes: pages and hosts counted in intervals.

use std::cell::{Cell, RefCell};

use dunlin::model::{Change, Objective, Quasi, quasi};
use dunlin::plan::{Pages, PlanError, PlanHost, PlanPage, Spacing, assumed_rate};
use dunlin::polite;
use dunlin::time::{Duration, Instant};
use serde::Serialize;

use crate::error::Error;
use crate::lists::hosts::ListedHours;
use crate::lists::listing::{Gate, Listing};
use crate::lists::pages::{ListedChange, ListedPage, ListedUpdate};
use crate::output;
use crate::output::progress::Progress;

/// What each quasi-deterministic page costs after 0, 1, 2, … crawls; empty for the other pages.
/// Rates are judged by what holds in the long run, whole crawls by one interval that begins with
/// fresh copies, as everywhere.
///
/// # Errors
/// An update that lies beyond the interval, by the page's URL.
pub fn quasi_costs(
    listing: &Listing,
    interval: Duration,
    objective: Objective,
    spacing: Spacing,
) -> Result<Vec<Vec<f64>>, Error> {
    let costs = |page: &ListedPage| match &page.change {
        ListedChange::Quasi { updates } => {
            let updates = in_intervals(&page.url, updates, interval)?;
            let mut costs = vec![0.0; updates.len() + 1];
            let mut scratch = vec![0.0; 2 * updates.len() + 1];
            match spacing {
                Spacing::Whole => quasi::costs(&updates, objective, &mut costs, &mut scratch),
                Spacing::Steady => {
                    let mut rotated = updates.clone();
                    quasi::long_run_costs(
                        &updates,
                        objective,
                        &mut costs,
                        &mut rotated,
                        &mut scratch,
                    )
                }
            };
            Ok(costs)
        }
        _ => Ok(Vec::new()),
    };
    listing.list.pages.iter().map(costs).collect()
}

/// Update times as fractions of the interval.
///
/// # Errors
/// An update that lies beyond the interval.
pub fn in_intervals(
    url: &str,
    updates: &[ListedUpdate],
    interval: Duration,
) -> Result<Vec<quasi::Update<f64>>, Error> {
    let length = interval.as_secs_f64();
    updates
        .iter()
        .map(|update| {
            let offset = update.offset.as_secs_f64() / length;
            if offset < 1.0 {
                return Ok(quasi::Update {
                    offset,
                    probability: update.probability,
                });
            }
            let at = update.offset.as_secs_f64();
            Err(Error::Usage(format!(
                "{url}: found an update at {at} s, expected one within the interval of {length} s"
            )))
        })
        .collect()
}

/// What is assumed of pages whose rate is not known.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Assumption {
    /// Changes a day of pages whose rate is not known. Default: the geometric mean of the others';
    /// if there are none, one change an interval
    #[arg(long, value_name = "RATE", value_parser = rate, allow_negative_numbers = true)]
    assume: Option<f64>,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok();
    rate.filter(|rate: &f64| *rate >= 0.0 && *rate <= 1e9)
        .ok_or_else(|| "expected changes a day, a number from 0, at most 1e9".into())
}

/// What a plan took for rates that the list does not have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Assumed {
    /// So many pages …
    pub pages: usize,
    /// … are taken to change so many times a day.
    pub changes_per_day: f64,
}

impl Assumed {
    /// `None` if the list has all rates.
    pub fn of(listing: &Listing, pages: &[PlanPage<'_, f64>], interval: Duration) -> Option<Self> {
        let days: f64 = interval.as_days();
        let unknown = |(listed, _): &(&ListedPage, _)| !listed.change.is_known();
        let mut unknown = listing.list.pages.iter().zip(pages).filter(unknown);
        let (_, first) = unknown.next()?;
        Some(Self {
            pages: 1 + unknown.count(),
            changes_per_day: first.change.rate().unwrap_or(0.0) / days,
        })
    }
}

impl Assumption {
    /// What to tell the user, unless she has said it herself.
    pub fn note(self, made: Assumed, listing: &Listing) -> Option<String> {
        let all = listing.list.pages.len();
        let (which, why) = if made.pages == all {
            ("no page has".to_owned(), "which is a guess")
        } else {
            let which = format!("{} of {all} pages", made.pages);
            let lack = if made.pages == 1 { "lacks" } else { "lack" };
            (format!("{which} {lack}"), "as the others do on average")
        };
        self.assume.is_none().then(|| {
            format!(
                "note: {which} a changes_per_day, so each is taken to change {} × a day, {why}; \
                if you know better, say --assume RATE",
                significant(made.changes_per_day)
            )
        })
    }

    /// Tells the user, if there is something to tell.
    pub fn say(self, made: Option<Assumed>, listing: &Listing) {
        if let Some(note) = made.and_then(|made| self.note(made, listing)) {
            output::say(note);
        }
    }
}

/// Three significant digits, without trailing zeros.
pub fn significant(number: f64) -> String {
    let digits = (2 - number.abs().max(1e-12).log10().floor() as i32).max(0) as usize;
    let text = format!("{number:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The pages of a listing, in its order; hosts are its gates.
pub fn plan_pages<'a>(
    listing: &Listing,
    interval: Duration,
    costs: &'a [Vec<f64>],
    assumption: Assumption,
) -> Vec<PlanPage<'a, f64>> {
    let days: f64 = interval.as_days();
    let change = |page: &ListedPage, costs: &'a [f64]| match page.change {
        ListedChange::Poisson { rate: Some(rate) } => Change::Poisson(rate * days),
        ListedChange::Weibull {
            rate: Some(rate),
            shape,
        } => Change::Weibull {
            rate: rate * days,
            shape,
        },
        ListedChange::Pareto {
            rate: Some(rate),
            shape,
        } => Change::Pareto {
            rate: rate * days,
            shape,
        },
        ListedChange::Quasi { .. } => Change::Quasi(Quasi::new(costs)),
        _ => Change::Unknown,
    };
    let mut pages: Vec<_> = listing
        .list
        .pages
        .iter()
        .zip(costs)
        .map(|(page, costs)| {
            PlanPage::new(page.weight, change(page, costs))
                .on_host(listing.gate_of_host[page.host] as u32)
                .between(page.min, page.max.unwrap_or(u32::MAX))
        })
        .collect();
    let assumed = match assumption.assume {
        Some(rate) => rate * days,
        None => assumed_rate(&pages[..]),
    };
    for page in pages
        .iter_mut()
        .filter(|page| page.change == Change::Unknown)
    {
        page.change = Change::Poisson(assumed);
    }
    pages
}

/// One host a gate, capped at what politeness and hours allow in the interval.
pub fn plan_hosts(gates: &[Gate], interval: Duration) -> Vec<PlanHost<f64>> {
    gates
        .iter()
        .map(|gate| {
            let share = gate
                .hours
                .map_or(1.0, |hours| f64::from(open_hours(hours)) / 24.0);
            let gap = gate.politeness.as_secs_f64();
            if gap > 0.0 {
                PlanHost::new(share * interval.as_secs_f64() / gap)
            } else {
                PlanHost::unlimited()
            }
        })
        .collect()
}

/// Hours a day in which fetching is allowed.
fn open_hours(hours: ListedHours) -> u8 {
    if hours.from < hours.to {
        hours.to - hours.from
    } else {
        24 - hours.from + hours.to
    }
}

/// The hours as the crate counts them.
pub fn gate_hours(gate: &Gate) -> polite::Hours {
    gate.hours
        .and_then(|hours| polite::Hours::new(hours.from, hours.to))
        .unwrap_or_default()
}

/// How much of so many whole days a gate is open.
pub fn open_time(gate: &Gate, days: Duration) -> Duration {
    gate.hours
        .map_or(days, |hours| days * u64::from(open_hours(hours)) / 24)
}

/// The moment at which a gate has been open for so long, from midnight of the first day on.
pub fn after_open_time(gate: &Gate, open: Duration) -> Instant {
    let Some(hours) = gate.hours else {
        return Instant::ZERO + open;
    };
    let daily = Duration::HOUR * u64::from(open_hours(hours));
    let days = open.as_micros() / daily.as_micros();
    let today = open.as_micros() % daily.as_micros();
    let today = Duration::from_micros(today);
    // Hours that wrap around midnight come in two pieces: until `to`, and from `from` on.
    let wraps = hours.from >= hours.to;
    let early = if wraps {
        Duration::HOUR * u64::from(hours.to)
    } else {
        Duration::ZERO
    };
    let in_day = if today < early {
        today
    } else {
        Duration::HOUR * u64::from(hours.from) + (today - early)
    };
    Instant::ZERO + Duration::DAY * days + in_day
}

/// A plan's refusal in the user's terms: the URL or the host instead of an index.
pub fn explain(error: PlanError, listing: &Listing) -> Error {
    let text = error.to_string();
    let rest = text
        .split_once(": ")
        .map_or(text.as_str(), |(_, rest)| rest);
    let page = error
        .page()
        .and_then(|page| listing.list.pages.get(page))
        .map(|page| &page.url);
    let host = error
        .host()
        .and_then(|host| listing.gates.get(host))
        .map(|gate| &gate.name);
    Error::Usage(match page.or(host) {
        Some(name) => format!("{name}: {rest}"),
        None => text,
    })
}

/// Pages that show progress as they are read.
#[derive(Debug)]
pub struct ProgressPages<'a> {
    pages: &'a [PlanPage<'a, f64>],
    reads: Cell<u64>,
    expected: u64,
    /// From the first read on: there may be other work before.
    progress: RefCell<Option<Progress>>,
}

impl<'a> ProgressPages<'a> {
    /// A planner is expected to read pages `reads` times in all.
    pub fn new(pages: &'a [PlanPage<'a, f64>], reads: u64) -> Self {
        Self {
            pages,
            reads: Cell::new(0),
            expected: reads,
            progress: RefCell::new(None),
        }
    }
}

impl Pages<f64> for ProgressPages<'_> {
    fn len(&self) -> usize {
        self.pages.len()
    }
    fn page(&self, index: usize) -> PlanPage<'_, f64> {
        let reads = self.reads.get() + 1;
        self.reads.set(reads);
        if reads == 1 || reads.is_multiple_of(1 << 16) {
            let mut progress = self.progress.borrow_mut();
            let begun = progress.get_or_insert_with(|| Progress::new("planning", self.expected));
            begun.at(reads);
        }
        self.pages.page(index)
    }
}
