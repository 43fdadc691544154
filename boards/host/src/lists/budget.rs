//! How many fetches a day a list gets: what its owner says, or what is good manners.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use dunlin::fetch::Url;
use dunlin::time::Duration;

use super::listing::{Gate, Listing};
use super::pages::ListedPage;

/// Visits a page and day, where nobody says otherwise.
pub const VISITS: f64 = 24.0;
/// Fetches a day that can be asked for: 12,000 a second is more than there are sockets for.
const PER_DAY: std::ops::RangeInclusive<f64> = 1e-6..=1e9;
const DAY_S: f64 = 86_400.0;

/// Fetches a day, over all hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Budget {
    /// [`VISITS`] of each page, or as many as its `every` asks for; at no host more than politeness
    /// allows.
    #[default]
    Manners,
    /// As many as politeness allows.
    Most,
    /// So many.
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
    /// What a page image is told: fetches a day, or `None` for what politeness allows.
    pub fn per_day(self, listing: &Listing) -> Option<f64> {
        match self {
            Self::Manners => Some(gates(listing).map(|gate| gate.wanted.min(gate.cap)).sum()),
            Self::Most => None,
            Self::PerDay(number) => Some(number),
        }
    }

    /// What politeness allows, in requests a day; infinite without any.
    pub fn allowed(self, listing: &Listing) -> f64 {
        gates(listing).map(|gate| gate.cap).sum()
    }

    /// What this comes to, in a line for whoever starts a probe.
    pub fn describe(self, listing: &Listing) -> String {
        let pages = listing.list.pages.len();
        let hosts = listing.list.hosts.len();
        let cap: f64 = gates(listing).map(|gate| gate.cap).sum();
        let most = self.per_day(listing).unwrap_or(cap).min(cap);
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
        let first = readable(first_round(listing, most));
        let change = match self {
            Self::Manners => "change it with --crawls-per-day N, or max for what politeness allows",
            Self::Most => "--crawls-per-day N asks for less",
            Self::PerDay(_) => "by --crawls-per-day",
        };
        let timed: f64 = (listing.list.pages.iter())
            .filter(|page| page.every.is_some())
            .map(visits)
            .sum();
        // Pages with a rhythm share the budget with all others: where it is tight, they wait, too.
        let tight = if timed > most / 2.0 {
            format!(
                "; `every` asks for {} of these, and has to wait for the others now and then: \
                a larger --crawls-per-day keeps it on time",
                Rounded(timed)
            )
        } else {
            String::new()
        };
        format!(
            "{pages} {} on {hosts} {}, {requests}, first round takes {first} ({change}){tight}",
            plural(pages, "page"),
            plural(hosts, "host"),
        )
    }
}

/// What the pages behind one gate come to.
struct Demand {
    /// Visits a day that they want.
    wanted: f64,
    /// Requests a day that politeness and allowed hours let through.
    cap: f64,
    /// The time from the first request to the last, when each is visited once.
    round_s: f64,
}

fn gates(listing: &Listing) -> impl Iterator<Item = Demand> {
    let mut wanted = vec![0.0; listing.gates.len()];
    let mut requests = vec![0_usize; listing.gates.len()];
    let mut servers = HashSet::new();
    for (index, page) in listing.list.pages.iter().enumerate() {
        let gate = listing.gate_of_page(index);
        wanted[gate] += visits(page);
        requests[gate] += 1;
        // Each server is asked for its robots.txt first.
        let scheme = Url::parse(&page.url).map(|url| url.scheme()).ok();
        requests[gate] += usize::from(servers.insert((page.host, scheme)));
    }
    let demand = |((gate, wanted), requests): ((&Gate, f64), usize)| {
        let polite_s = gate.politeness.as_secs_f64();
        let open = gate.hours.map_or(1.0, |hours| {
            let (from, to) = (u32::from(hours.from), u32::from(hours.to));
            f64::from((to + 24 - from - 1) % 24 + 1) / 24.0
        });
        Demand {
            wanted,
            cap: open * DAY_S / polite_s,
            round_s: polite_s * requests.saturating_sub(1) as f64 / open,
        }
    };
    listing
        .gates
        .iter()
        .zip(wanted)
        .zip(requests)
        .map(demand)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Visits a day that a page wants.
fn visits(page: &ListedPage) -> f64 {
    page.every
        .map_or(VISITS, |every| DAY_S / every.as_secs_f64())
}

/// How long the first round takes: politeness' pace, for no more pages than a day's budget.
fn first_round(listing: &Listing, per_day: f64) -> f64 {
    let polite = gates(listing).map(|gate| gate.round_s).fold(0.0, f64::max);
    let late = listing.list.pages.len() as f64 - per_day.floor();
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
        assert_eq!(Budget::Manners.per_day(&listing), Some(720.0));
        let line = Budget::Manners.describe(&listing);
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
        assert_eq!(Budget::Manners.per_day(&listing), Some(5_760.0 + 48.0));
        listing.gates[0].hours = Some(ListedHours { from: 22, to: 4 });
        assert_eq!(Budget::Manners.per_day(&listing), Some(1_440.0 + 48.0));
        assert_eq!(Budget::Most.per_day(&listing), None);
        let line = Budget::Most.describe(&listing);
        assert!(line.contains("at most 7200 requests a day"), "{line}");
    }

    #[test]
    fn a_page_that_is_wanted_more_often_has_the_budget_for_it() {
        let mut listing = listing(&[1, 1]);
        listing.list.pages[0].every = Some(Duration::from_secs(600));
        assert_eq!(Budget::Manners.per_day(&listing), Some(144.0 + 24.0));
        let line = Budget::Manners.describe(&listing);
        assert!(line.contains("`every` asks for 144 of these"), "{line}");
        let line = Budget::PerDay(300.0).describe(&listing);
        assert!(!line.contains("every"), "{line}");
    }

    #[test]
    fn a_budget_below_a_visit_a_day_has_a_long_first_round() {
        let line = Budget::PerDay(10.0).describe(&listing(&[30]));
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
