//! How many fetches a day a list gets: what its owner says, or what is good manners.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use dunlin::fetch::Url;
use dunlin::plan::PlanError;
use dunlin::time::Duration;

use super::listing::{Gate, Listing};
use super::pages::ListedPage;
use crate::error::Error;
use crate::planning;

/// Visits a page and day, where nobody says otherwise.
pub const VISITS: f64 = 24.0;
/// Fetches a day that can be asked for: 12,000 a second is more than there are sockets for.
const PER_DAY: std::ops::RangeInclusive<f64> = 1e-6..=1e9;
const DAY_S: f64 = 86_400.0;

/// Fetches a day, over all hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Budget {
    /// [`VISITS`] of each page within its `min` and `max`, or as many as its `every` asks for; at
    /// no host more than politeness allows.
    #[default]
    Manners,
    /// As many as politeness allows.
    Most,
    /// So many fetches a day.
    PerDay(f64),
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Most);
        }
        let number = text.parse().ok().filter(|number| PER_DAY.contains(number));
        number
            .map(Self::PerDay)
            .ok_or_else(|| "expected a number from 0.000001 to 1000000000, or max".into())
    }
}

impl Budget {
    /// What a page image is told: fetches a day, or `None` for what politeness allows. `min` and
    /// `max` of the list are counted in the interval.
    pub fn per_day(self, listing: &Listing, interval: Duration) -> Option<f64> {
        match self {
            Self::Manners => {
                let gates = gates(listing, interval);
                let sum: f64 = gates.map(|gate| gate.wanted.min(gate.cap)).sum();
                Some(sum.max(*PER_DAY.start()))
            }
            Self::Most => None,
            Self::PerDay(number) => Some(number),
        }
    }

    /// What politeness allows, in requests a day; infinite without any.
    pub fn allowed(self, listing: &Listing) -> f64 {
        let gates = listing.gates.iter();
        gates
            .map(|gate| open_share(gate) * DAY_S / gap_s(gate))
            .sum()
    }

    /// Can every page be visited as often as its `min` says?
    ///
    /// # Errors
    /// A page or a host that politeness does not let be visited so often, or a smaller budget: the
    /// same words as a plan has for it.
    pub fn check(self, listing: &Listing, interval: Duration) -> Result<(), Error> {
        let days = days(interval);
        let wrong = |error| Err(planning::explain(error, listing));
        let demands: Vec<Demand> = gates(listing, interval).collect();
        for (index, page) in listing.list.pages.iter().enumerate() {
            let cap = demands[listing.gate_of_page(index)].cap * days;
            if is_above(page.min.into(), cap) {
                let min = page.min;
                return wrong(PlanError::PageAboveCap {
                    page: index,
                    min,
                    cap,
                });
            }
        }
        for (host, demand) in demands.iter().enumerate() {
            if is_above(demand.least, demand.cap) {
                return wrong(PlanError::HostAboveCap {
                    host,
                    needed: (demand.least * days).round(),
                    cap: demand.cap * days,
                });
            }
        }
        let needed: f64 = demands.iter().map(|demand| demand.least).sum();
        match self {
            Self::PerDay(budget) if is_above(needed, budget) => Err(Error::Usage(format!(
                "`min` of the pages needs {} crawls a day at least, but --crawls-per-day is {budget}",
                Rounded(needed)
            ))),
            _ => Ok(()),
        }
    }

    /// What this comes to, in a line for whoever starts a probe.
    pub fn describe(self, listing: &Listing, interval: Duration) -> String {
        let pages = listing.list.pages.len();
        let hosts = listing.list.hosts.len();
        let cap = self.allowed(listing);
        let most = self.per_day(listing, interval).unwrap_or(cap).min(cap);
        let requests = if most < cap {
            // What politeness allows includes these; a budget is one of visits.
            format!(
                "at most {} requests a day besides robots.txt",
                Rounded(most)
            )
        } else if most.is_finite() {
            format!("at most {} requests a day", Rounded(most))
        } else {
            "as many requests as the hosts answer".into()
        };
        let first = readable(first_round(listing, interval, most));
        let change = match self {
            Self::Manners => "change it with --crawls-per-day N, or max for what politeness allows",
            Self::Most => "--crawls-per-day N asks for less",
            Self::PerDay(_) => "by --crawls-per-day",
        };
        let tight = tight(listing, interval, most, cap);
        format!(
            "{pages} {} on {hosts} {}, {requests}, first round takes {first} ({change}){tight}",
            plural(pages, "page"),
            plural(hosts, "host"),
        )
    }
}

/// What is to be said of pages with a rhythm of their own where they will not be on time:
/// politeness forbids it, or the budget, which they share with all others, has too little room.
fn tight(listing: &Listing, interval: Duration, most: f64, cap: f64) -> String {
    let mut timed = 0.0;
    let mut through = 0.0;
    for gate in gates(listing, interval) {
        timed += gate.timed;
        through += gate.timed.min(gate.cap);
    }
    let asked = Rounded(timed);
    let polite = Rounded(through);
    if is_above(timed, through) {
        let more = match is_above(through, most) {
            true => "; a larger --crawls-per-day comes nearer to that",
            false => "",
        };
        return format!(
            "; `every` asks for {asked} a day, but politeness lets {polite} through{more}"
        );
    }
    if timed > most / 2.0 && most < cap {
        return format!(
            "; `every` asks for {asked} of these, and has to wait for the others now and then: \
            a larger --crawls-per-day keeps it on time"
        );
    }
    String::new()
}

/// Whether a sum of demands is above what it may be, by more than its rounding.
fn is_above(demand: f64, most: f64) -> bool {
    demand > most * (1.0 + 1e-9)
}

/// What the pages behind one gate come to.
struct Demand {
    /// Visits a day that they want.
    wanted: f64,
    /// Those of pages with an `every`.
    timed: f64,
    /// Visits a day that their `min` asks for.
    least: f64,
    /// Requests a day that politeness and allowed hours let through.
    cap: f64,
    /// The time from the first request to the last, when each is visited once.
    round_s: f64,
}

fn gates(listing: &Listing, interval: Duration) -> impl Iterator<Item = Demand> {
    let demand = |gate: &Gate| Demand {
        wanted: 0.0,
        timed: 0.0,
        least: 0.0,
        cap: open_share(gate) * DAY_S / gap_s(gate),
        round_s: 0.0,
    };
    let mut demands: Vec<Demand> = listing.gates.iter().map(demand).collect();
    let mut requests = vec![0_usize; demands.len()];
    let mut servers = HashSet::new();
    for (index, page) in listing.list.pages.iter().enumerate() {
        let gate = listing.gate_of_page(index);
        let visits = visits(page, interval);
        demands[gate].wanted += visits;
        if page.every.is_some() {
            demands[gate].timed += visits;
        }
        demands[gate].least += f64::from(page.min) / days(interval);
        requests[gate] += 1;
        // Each server is asked for its robots.txt first.
        let scheme = Url::parse(&page.url).map(|url| url.scheme()).ok();
        requests[gate] += usize::from(servers.insert((page.host, scheme)));
    }
    for ((demand, requests), gate) in demands.iter_mut().zip(requests).zip(&listing.gates) {
        demand.round_s = gap_s(gate) * requests.saturating_sub(1) as f64 / open_share(gate);
    }
    demands.into_iter()
}

fn gap_s(gate: &Gate) -> f64 {
    gate.politeness.as_secs_f64()
}

/// The share of a day in which a gate is open.
fn open_share(gate: &Gate) -> f64 {
    gate.hours.map_or(1.0, |hours| {
        let from = u32::from(hours.from);
        let to = u32::from(hours.to);
        f64::from((to + 24 - from - 1) % 24 + 1) / 24.0
    })
}

fn days(interval: Duration) -> f64 {
    interval.as_secs_f64() / DAY_S
}

/// Visits a day that a page wants.
fn visits(page: &ListedPage, interval: Duration) -> f64 {
    if let Some(every) = page.every {
        return DAY_S / every.as_secs_f64();
    }
    let a_day = |crawls: u32| f64::from(crawls) / days(interval);
    let least = a_day(page.min);
    let most = page.max.map_or(f64::INFINITY, a_day);
    VISITS.max(least).min(most)
}

/// How long the first round takes: politeness' pace, for no more pages than a day's budget.
fn first_round(listing: &Listing, interval: Duration, per_day: f64) -> f64 {
    let gates = gates(listing, interval);
    let polite = gates.map(|gate| gate.round_s).fold(0.0, f64::max);
    let visited = |page: &&ListedPage| page.max != Some(0);
    let visited = listing.list.pages.iter().filter(visited).count();
    let late = visited as f64 - per_day.floor();
    polite.max(late / per_day * DAY_S)
}

/// A number of requests, to the whole one or with the decimals that a small one needs.
struct Rounded(f64);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            number if number >= 10.0 => write!(f, "{number:.0}"),
            number => write!(f, "{number}"),
        }
    }
}

fn plural(count: usize, noun: &str) -> String {
    format!("{noun}{}", if count == 1 { "" } else { "s" })
}

/// A length of time as one says it: `45 s`, `7.5 min`, `3 h`, `2.5 days`.
fn readable(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s < 100.0 => (s, "s"),
        s if s < 6_000.0 => (s / 60.0, "min"),
        s if s < 172_800.0 => (s / 3_600.0, "h"),
        s => (s / DAY_S, "days"),
    };
    let digits = format!("{number:.1}");
    format!("{} {unit}", digits.trim_end_matches(".0"))
}

/// The longest time between two visits that an image can state.
pub const LONGEST_EVERY: Duration = Duration::from_secs(49 * 86_400);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::hosts::{ListedHours, ProviderKind};
    use crate::lists::pages::{ListedChange, PageList};

    const DAY: Duration = Duration::DAY;

    /// Hosts of so many pages each, all 15 s apart.
    fn listing(hosts: &[usize]) -> Listing {
        let mut list = PageList::default();
        for (host, pages) in hosts.iter().enumerate() {
            list.hosts.push(format!("h{host}.test"));
            for page in 0..*pages {
                list.pages.push(ListedPage {
                    url: format!("http://h{host}.test/{page}"),
                    name: None,
                    host,
                    weight: 1.0,
                    change: ListedChange::Poisson { rate: None },
                    min: 0,
                    max: None,
                    every: None,
                    filter: None,
                });
            }
        }
        let gate = |name: &String| Gate {
            name: name.clone(),
            politeness: Duration::from_secs(15),
            hours: None,
            provider: ProviderKind::Normal,
        };
        Listing {
            gates: list.hosts.iter().map(gate).collect(),
            gate_of_host: (0..list.hosts.len()).collect(),
            list,
            pins: Vec::new(),
            headers: Vec::new(),
            tellers: Vec::new(),
        }
    }

    #[test]
    fn thirty_pages_of_a_host_are_asked_for_720_times_a_day() {
        let listing = listing(&[30]);
        assert_eq!(Budget::Manners.per_day(&listing, DAY), Some(720.0));
        let line = Budget::Manners.describe(&listing, DAY);
        let expected = "30 pages on 1 host, at most 720 requests a day besides robots.txt, \
            first round takes 7.5 min";
        assert!(line.starts_with(expected), "{line}");
        assert!(line.contains("--crawls-per-day N, or max"), "{line}");
    }

    #[test]
    fn manners_never_ask_for_more_than_politeness_allows() {
        // 300 pages of one host want 7,200 visits; 15 s apart, 5,760 fit into a day. What the one
        // cannot take is not spent on the other.
        let mut listing = listing(&[300, 2]);
        assert_eq!(Budget::Manners.per_day(&listing, DAY), Some(5_760.0 + 48.0));
        listing.gates[0].hours = Some(ListedHours { from: 22, to: 4 });
        assert_eq!(Budget::Manners.per_day(&listing, DAY), Some(1_440.0 + 48.0));
        assert_eq!(Budget::Most.per_day(&listing, DAY), None);
        let line = Budget::Most.describe(&listing, DAY);
        assert!(line.contains("at most 7200 requests a day"), "{line}");
    }

    #[test]
    fn a_page_that_is_wanted_more_often_has_the_budget_for_it() {
        let mut listing = listing(&[1, 1]);
        listing.list.pages[0].every = Some(Duration::from_secs(600));
        assert_eq!(Budget::Manners.per_day(&listing, DAY), Some(144.0 + 24.0));
        let line = Budget::Manners.describe(&listing, DAY);
        assert!(line.contains("`every` asks for 144 of these"), "{line}");
        let line = Budget::PerDay(300.0).describe(&listing, DAY);
        assert!(!line.contains("every"), "{line}");
    }

    #[test]
    fn manners_keep_to_what_a_page_asks_for_at_least_and_at_most() {
        let mut listing = listing(&[2]);
        listing.list.pages[0].max = Some(1);
        assert_eq!(Budget::Manners.per_day(&listing, DAY), Some(25.0));
        assert_eq!(Budget::Manners.per_day(&listing, DAY * 2), Some(24.5));
        listing.list.pages[0].max = None;
        listing.list.pages[0].min = 48;
        assert_eq!(Budget::Manners.per_day(&listing, DAY), Some(72.0));
        let line = Budget::Manners.describe(&listing, DAY);
        assert!(line.contains("at most 72 requests a day"), "{line}");
        let hourly = Budget::Manners.per_day(&listing, DAY / 24);
        let expected = 48.0 * 24.0 + 24.0;
        assert!(hourly.is_some_and(|found| (found - expected).abs() < 1e-6));
    }

    #[test]
    fn a_demand_that_cannot_be_met_is_refused_as_a_plan_refuses_it() {
        let mut listing = listing(&[2]);
        let refused = |budget: Budget, listing: &Listing| {
            let wrong = budget.check(listing, DAY).err();
            wrong.map_or_else(String::new, |wrong| wrong.to_string())
        };
        for page in &mut listing.list.pages {
            page.min = 48;
        }
        assert_eq!(refused(Budget::Manners, &listing), "");
        assert_eq!(refused(Budget::PerDay(96.0), &listing), "");
        let said = refused(Budget::PerDay(95.0), &listing);
        let expected = "needs 96 crawls a day at least, but --crawls-per-day is 95";
        assert!(said.contains(expected), "{said}");
        // 15 s apart, a day has room for 5,760.
        for page in &mut listing.list.pages {
            page.min = 3_000;
        }
        let said = refused(Budget::Most, &listing);
        let expected = "h0.test: its pages need 6000 crawls at least, but it allows 5760.0";
        assert_eq!(said, expected);
        listing.list.pages[1].min = 6_000;
        let said = refused(Budget::Manners, &listing);
        let expected = "http://h0.test/1: found a minimum of 6000 crawls";
        assert!(said.starts_with(expected), "{said}");
    }

    #[test]
    fn a_rhythm_that_politeness_forbids_is_not_a_question_of_the_budget() {
        let mut listing = listing(&[1, 1]);
        listing.list.pages[0].every = Some(Duration::from_secs(1));
        for budget in [Budget::Manners, Budget::Most, Budget::PerDay(10_000.0)] {
            let line = budget.describe(&listing, DAY);
            let expected = "; `every` asks for 86400 a day, but politeness lets 5760 through";
            assert!(line.ends_with(expected), "{line}");
        }
        let line = Budget::PerDay(100.0).describe(&listing, DAY);
        let expected = "5760 through; a larger --crawls-per-day comes nearer to that";
        assert!(line.ends_with(expected), "{line}");
        // Politeness allows this one, and nothing more can be had than what it allows.
        listing.list.pages[0].every = Some(Duration::from_secs(16));
        let line = Budget::Most.describe(&listing, DAY);
        assert!(!line.contains("every"), "{line}");
    }

    #[test]
    fn a_budget_below_a_visit_a_day_has_a_long_first_round() {
        let line = Budget::PerDay(10.0).describe(&listing(&[30]), DAY);
        let expected = "at most 10 requests a day besides robots.txt, first round takes 2 days";
        assert!(line.contains(expected), "{line}");
    }

    #[test]
    fn a_budget_is_a_number_or_max() {
        assert_eq!("max".parse(), Ok(Budget::Most));
        assert_eq!("2.5".parse(), Ok(Budget::PerDay(2.5)));
        for wrong in ["", "0", "-1", "NaN", "inf", "1e10", "maximum"] {
            assert!(wrong.parse::<Budget>().is_err(), "{wrong}");
        }
    }
}
