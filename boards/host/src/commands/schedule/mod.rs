//! `dunlin schedule`: what to fetch when, and by which crawler?

mod transport;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use clap::ValueEnum;
use dunlin::heap::{Entry, SliceHeap};
use dunlin::model::quasi;
use dunlin::pace::carousel::{Carousel, Seat};
use dunlin::pace::dispatch::{Dispatch, Queue};
use dunlin::pace::merge::{Moments, PlannedCrawl, SpreadScratch, spread};
use dunlin::plan::optimal::optimal;
use dunlin::plan::select::select;
use dunlin::plan::{Objective, PlanPage, Spacing, page_cost};
use dunlin::time::{Duration, Instant};
use serde::Serialize;

use crate::allotment;
use crate::duration;
use crate::error::Error;
use crate::lists::constraints;
use crate::lists::listing::{Listing, ListingArgs};
use crate::lists::pages::{ListedChange, ListedPage};
use crate::output::progress::Progress;
use crate::output::{self, Format, Table, file, picture};
use crate::planning::{
    Assumed, Assumption, ProgressPages, after_open_time, explain, gate_hours, in_intervals,
    open_time, plan_hosts, plan_pages, quasi_costs,
};

use transport::Assigned;

/// Schedule the crawls of an interval
///
/// Plans how often to visit each page and prints one row a crawl, `time_s,crawler,url`, in order of
/// time:
///
///   dunlin schedule PAGES.csv --interval 24h --crawls 5000 --politeness 15s --method merge
///
/// carousel    optimal rates, one page a slot, due pages first
/// merge       whole crawls, spread evenly on each host and handed to crawlers as they fall idle
/// transport   whole crawls at their ideal times, moved to the crawlers' slots by as little as
///             possible in total; pages with known update times (quasi) are never early. The proof
///             goes to stderr. Ideal times are even from a page's last crawl on (--last); without
///             it, pages take turns all over the interval
///
/// Pages with known update times (quasi) are crawled just after those that matter most, whatever
/// the method, and no page is crawled twice within an interval/max.
///
/// A crawler that can do S crawls in the interval takes an S-th of it for each. Politeness is kept
/// whatever the method; crawls that find no polite moment in time start after the interval, and
/// stderr says how many.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    listing: ListingArgs,
    /// The time to schedule, such as 24h
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "24h")]
    interval: Duration,
    /// How many crawls there are in the interval
    #[arg(long, value_name = "N")]
    crawls: u32,
    /// How many crawlers of equal speed, or a list of how many crawls each can do: 40,30. Default:
    /// one that can do them all, for merge one that is never busy
    #[arg(long, value_name = "C", value_parser = Crawlers::parse)]
    crawlers: Option<Crawlers>,
    /// How to find the moments
    #[arg(long, value_enum)]
    method: Method,
    /// For transport: when pages were last crawled, as url,time_s in seconds from the start of the
    /// interval before; the CSV that this command printed for it will do
    #[arg(long, value_name = "TIMES.csv")]
    last: Option<PathBuf>,
    /// No crawl starts in this part of the interval, such as 90m-2h; may be repeated
    #[arg(long, value_name = "FROM-TO", value_parser = Closed::parse)]
    closed: Vec<Closed>,
    /// Also draw hosts over time as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    assumption: Assumption,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    Carousel,
    Merge,
    Transport,
}

/// A part of the interval in which nothing starts.
#[derive(Clone, Copy, Debug)]
struct Closed {
    from: Instant,
    to: Instant,
}

fn hours(duration: Duration) -> f64 {
    duration.as_secs_f64() / 3_600.0
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = [self.from, self.to].map(|at| hours(at - Instant::ZERO));
        write!(f, "{from}h-{to}h")
    }
}

impl Closed {
    fn parse(text: &str) -> Result<Self, String> {
        let ends = text.split_once('-').and_then(|(from, to)| {
            let from = duration::parse(from.trim()).ok()?;
            let to = duration::parse(to.trim()).ok()?;
            (from < to).then_some(Self {
                from: Instant::ZERO + from,
                to: Instant::ZERO + to,
            })
        });
        ends.ok_or_else(|| {
            "expected two durations from the start of the interval, the shorter first, such as 90m-2h"
                .into()
        })
    }

    fn holds(&self, at: Instant) -> bool {
        (self.from..self.to).contains(&at)
    }

    /// The first moment from `at` on that is in none of them.
    fn after(all: &[Self], mut at: Instant) -> Instant {
        while let Some(closed) = all.iter().find(|closed| closed.holds(at)) {
            at = closed.to;
        }
        at
    }
}

/// Crawlers, by what they can do.
#[derive(Clone, Debug)]
pub(super) enum Crawlers {
    /// So many, which share the crawls.
    Equal(u32),
    /// Crawls in the interval, for each.
    Speeds(Vec<u32>),
}

impl Crawlers {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u32>, _> = text
            .split(',')
            .map(|part| part.trim().parse::<u32>())
            .collect();
        match numbers.as_deref() {
            Ok([count @ 1..=100_000]) => Ok(Self::Equal(*count)),
            Ok(speeds @ [_, _, ..]) if speeds.iter().all(|speed| *speed > 0) => {
                Ok(Self::Speeds(speeds.to_vec()))
            }
            _ => {
                Err("expected a count from 1, or crawls in the interval for each crawler, such as 40,30"
                    .into())
            }
        }
    }

    /// Crawls in the interval for each crawler; equal ones share `crawls`, rounded up.
    fn speeds(&self, crawls: u32) -> Vec<u32> {
        match self {
            Self::Equal(count) => vec![crawls.div_ceil(*count).max(1); *count as usize],
            Self::Speeds(speeds) => speeds.clone(),
        }
    }
}

/// One crawl of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Visit {
    at: Instant,
    crawler: u32,
    page: u32,
}

#[derive(Serialize)]
struct Row<'a> {
    time_s: f64,
    crawler: u32,
    url: &'a str,
}

/// Runs the command.
///
/// # Errors
/// The first thing wrong with a file, what makes the demand infeasible, or a picture that cannot be
/// written.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    let outputs = args.svg.iter().map(|path| ("--svg", path.as_path()));
    let mut inputs = args.listing.files();
    inputs.extend(args.last.iter().map(|path| ("--last", path.as_path())));
    file::keep_apart(&outputs.collect::<Vec<_>>(), &inputs)?;
    let listing = args.listing.read(Duration::ZERO)?;
    if args.interval.is_zero() {
        return Err(Error::Usage(
            "found an interval of 0, expected a time such as 24h".into(),
        ));
    }
    let end = Instant::ZERO + args.interval;
    if let Some(late) = args.closed.iter().find(|closed| closed.to > end) {
        return Err(Error::Usage(format!(
            "found --closed {late}, expected a part of the interval of {}h",
            hours(args.interval)
        )));
    }
    let mut visits = make(args, &listing)?;
    visits.sort_unstable();
    if let Some(path) = &args.svg {
        let marks: Vec<_> = visits
            .iter()
            .map(|visit| {
                (
                    visit.at - Instant::ZERO,
                    visit.crawler,
                    listing.gate_of_page(visit.page as usize),
                )
            })
            .collect();
        let names: Vec<&str> = listing
            .gates
            .iter()
            .map(|gate| gate.name.as_str())
            .collect();
        file::write(
            path,
            &picture::hosts_over_time(&names, args.interval, &marks),
        )?;
    }
    let late = visits
        .iter()
        .filter(|visit| visit.at - Instant::ZERO >= args.interval)
        .count();
    if late > 0 {
        output::say(format_args!(
            "{late} of {} crawls start after the interval: crawlers or hosts were busy",
            visits.len()
        ));
    }
    let rows: Vec<Row<'_>> = visits
        .iter()
        .map(|visit| Row {
            time_s: visit.at.as_micros() as f64 / 1e6,
            crawler: visit.crawler,
            url: &listing.list.pages[visit.page as usize].url,
        })
        .collect();
    output::print(&match format {
        Format::Json => output::json(&rows),
        Format::Csv => table(&rows).to_csv(),
        Format::Table => table(&rows).to_text(),
    })
}

fn table(rows: &[Row<'_>]) -> Table {
    let mut table = Table::new(&["time_s", "crawler", "url"]);
    for row in rows {
        table.row(vec![
            format!("{:.3}", row.time_s),
            row.crawler.to_string(),
            row.url.to_owned(),
        ]);
    }
    table
}

fn make(args: &Args, listing: &Listing) -> Result<Vec<Visit>, Error> {
    let speeds = match &args.crawlers {
        Some(crawlers) => crawlers.speeds(args.crawls),
        // So fast that a crawl takes no time.
        None if args.method == Method::Merge => vec![u32::MAX],
        None => Crawlers::Equal(1).speeds(args.crawls),
    };
    let room: u64 = speeds.iter().map(|speed| u64::from(*speed)).sum();
    if room < u64::from(args.crawls) {
        return Err(Error::Usage(format!(
            "found {} crawls for crawlers that can do {room}, expected no more",
            args.crawls
        )));
    }
    if let Some(gate) = listing.gates.iter().find(|gate| gate.hours.is_some())
        && !args
            .interval
            .as_micros()
            .is_multiple_of(Duration::DAY.as_micros())
    {
        return Err(Error::Usage(format!(
            "{}: found hours, which need an interval of whole days, expected one such as 24h",
            gate.name
        )));
    }
    if args.last.is_some() && args.method != Method::Transport {
        return Err(Error::Usage(
            "found --last, which only --method transport uses, expected that method".into(),
        ));
    }
    let costs = quasi_costs(
        listing,
        args.interval,
        Objective::Freshness,
        Spacing::Steady,
    )?;
    let pages = plan_pages(listing, args.interval, &costs, args.assumption);
    let planned = match args.method {
        Method::Carousel => turn(args, listing, &pages)?,
        Method::Merge => spread_hosts(args, listing, &pages)?,
        Method::Transport => {
            let Assigned { visits, open } = transport::assign(args, listing, &pages, &speeds)?;
            let limited = listing.list.pages.iter().any(|page| page.max.is_some());
            let polite = listing.gates.iter().all(|gate| gate.politeness.is_zero());
            if open && polite && !limited {
                say_assumed(args, listing, &pages);
                return Ok(visits);
            }
            visits
                .iter()
                .map(|visit| PlannedCrawl {
                    at: visit.at,
                    page: visit.page,
                })
                .collect()
        }
    };
    say_assumed(args, listing, &pages);
    let planned = keep_apart(args, listing, planned);
    Ok(dispatch(args, listing, planned, &speeds))
}

/// The least time between two crawls of a page.
fn shortest_gap(args: &Args, listing: &Listing, page: u32) -> Duration {
    constraints::limits(&listing.list.pages[page as usize], args.interval).shortest_gap()
}

/// Moves crawls of pages that may be crawled so often only later, where they are too close. What
/// is too late for the interval then is left out: in the next one it would be too soon.
fn keep_apart(args: &Args, listing: &Listing, mut planned: Vec<PlannedCrawl>) -> Vec<PlannedCrawl> {
    planned.sort_unstable();
    let mut first = vec![None; listing.list.pages.len()];
    let mut last = first.clone();
    planned.retain_mut(|update| {
        let page = update.page as usize;
        let gap = shortest_gap(args, listing, update.page);
        if let Some(before) = last[page] {
            update.at = update.at.max(before + gap);
        }
        let first = *first[page].get_or_insert(update.at);
        let end: Instant = first + args.interval;
        let fits = update.at == first || update.at + gap <= end;
        if fits {
            last[page] = Some(update.at);
        }
        fits
    });
    planned
}

/// The best moments for crawls of a page that changes by the clock: just at some of its updates.
pub(super) fn at_updates(
    args: &Args,
    page: &ListedPage,
    crawls: u32,
) -> Result<Option<Vec<Instant>>, Error> {
    let ListedChange::Quasi { updates } = &page.change else {
        return Ok(None);
    };
    let offsets = in_intervals(&page.url, updates, args.interval)?;
    let mut times = vec![0; crawls as usize];
    let mut scratch = vec![0.0; (offsets.len() + 1) * crawls as usize];
    let mut rotated = offsets.clone();
    let chosen = quasi::choose_for_long_run(
        &offsets,
        Objective::Freshness,
        &mut times,
        &mut rotated,
        &mut scratch,
    );
    let chosen = times.iter().take(chosen);
    let moments = chosen.map(|time| Instant::ZERO + updates[usize::from(*time)].offset);
    Ok(Some(moments.collect()))
}

/// Says what was taken for rates that the list does not have.
fn say_assumed(args: &Args, listing: &Listing, pages: &[PlanPage<'_, f64>]) {
    let made = Assumed::of(listing, pages, args.interval);
    args.assumption.say(made, listing);
}

/// The carousel's slots, evenly over the interval.
fn turn(
    args: &Args,
    listing: &Listing,
    pages: &[PlanPage<'_, f64>],
) -> Result<Vec<PlannedCrawl>, Error> {
    let mut hosts = plan_hosts(&listing.gates, args.interval);
    let mut rates = vec![0.0; pages.len()];
    let budget = f64::from(args.crawls);
    let reads = allotment::Method::Optimal.reads(pages.len(), budget);
    let watched = ProgressPages::new(pages, reads);
    optimal(
        &watched,
        &mut hosts,
        budget,
        Objective::Freshness,
        &mut rates,
    )
    .map_err(|error| explain(error, listing))?;
    drop(watched);
    let count = pages.len();
    let mut carousel: Carousel<u64, u32, _, _, _> = Carousel::with_storage(
        vec![Seat::UNUSED; count],
        vec![Entry::UNUSED; count],
        vec![0; count],
    );
    // Pages that change by the clock have moments of their own; the others share what is left.
    let mut by_clock = Vec::new();
    for (page, rate) in (0_u32..).zip(&mut rates) {
        let listed = &listing.list.pages[page as usize];
        if let Some(moments) = at_updates(args, listed, rate.round() as u32)? {
            by_clock.extend(moments.into_iter().map(|at| PlannedCrawl { at, page }));
            *rate = 0.0;
        }
    }
    by_clock.truncate(args.crawls as usize);
    let left = args.crawls - by_clock.len() as u32;
    let budget = if by_clock.is_empty() {
        budget
    } else {
        rates.iter().sum::<f64>().max(f64::from(left))
    };
    for (page, rate) in (0..).zip(&rates).filter(|(_, rate)| **rate > 0.0) {
        carousel
            .add(page, (rate / budget).min(1.0))
            .map_err(|error| Error::Usage(error.to_string()))?;
    }
    let slot = |number: u64| {
        Instant::from_micros(
            (u128::from(args.interval.as_micros()) * u128::from(number) / u128::from(left.max(1)))
                as u64,
        )
    };
    let slots = (0..u64::from(left)).zip(carousel.slots());
    let update = |(number, page): (u64, Option<u32>)| {
        let gate = &listing.gates[listing.gate_of_page(page? as usize)];
        // As far into its open hours as into the interval.
        let share = open_time(gate, slot(number) - Instant::ZERO);
        Some(PlannedCrawl {
            at: after_open_time(gate, share),
            page: page?,
        })
    };
    Ok(slots.filter_map(update).chain(by_clock).collect())
}

/// Whole crawls of each page.
fn whole_crawls(
    args: &Args,
    listing: &Listing,
    pages: &[PlanPage<'_, f64>],
) -> Result<Vec<u32>, Error> {
    let mut hosts = plan_hosts(&listing.gates, args.interval);
    let mut crawls = vec![0; pages.len()];
    let reads = allotment::Method::Select.reads(pages.len(), f64::from(args.crawls));
    select(
        &ProgressPages::new(pages, reads),
        &mut hosts,
        args.crawls,
        Objective::Freshness,
        &mut crawls,
    )
    .map_err(|error| explain(error, listing))?;
    Ok(crawls)
}

/// Whole crawls, spread on each gate.
fn spread_hosts(
    args: &Args,
    listing: &Listing,
    pages: &[PlanPage<'_, f64>],
) -> Result<Vec<PlannedCrawl>, Error> {
    let crawls = whole_crawls(args, listing, pages)?;
    let mut behind: Vec<Vec<usize>> = vec![Vec::new(); listing.gates.len()];
    (0..pages.len()).for_each(|page| behind[listing.gate_of_page(page)].push(page));
    let mut all = Vec::new();
    for (page, &count) in crawls.iter().enumerate() {
        let moments = at_updates(args, &listing.list.pages[page], count)?;
        all.extend(moments.into_iter().flatten().map(|at| PlannedCrawl {
            at,
            page: page as u32,
        }));
    }
    for (gate, behind) in listing.gates.iter().zip(&behind) {
        let by_clock =
            |page: &usize| matches!(listing.list.pages[*page].change, ListedChange::Quasi { .. });
        let count = |page: &usize| if by_clock(page) { 0 } else { crawls[*page] };
        let counts: Vec<u32> = behind.iter().map(count).collect();
        let total = counts.iter().map(|count| *count as usize).sum();
        let mut updates = vec![PlannedCrawl::default(); total];
        let mut links = vec![SpreadScratch::default(); total];
        let cost = |page: u32, gap: Duration| {
            let page = &pages[behind[page as usize]];
            let gap = gap.as_secs_f64() / args.interval.as_secs_f64();
            if gap > 0.0 {
                page.weight
                    * gap
                    * page_cost(page, Objective::Freshness, Spacing::Steady, 1.0 / gap)
            } else {
                0.0
            }
        };
        // Moments that suit every host best would find busy crawlers idle at first and late later
        // on.
        let moments = if args.crawlers.is_some() {
            Moments::Even
        } else {
            Moments::Ideal
        };
        let open = open_time(gate, args.interval);
        spread(
            moments,
            &counts,
            open,
            gate.politeness,
            &mut updates,
            &mut links,
            cost,
        )
        .map_err(|error| Error::Usage(format!("{}: {error}", gate.name)))?;
        all.extend(updates.iter().map(|update| PlannedCrawl {
            at: after_open_time(gate, update.at - Instant::ZERO),
            page: behind[update.page as usize] as u32,
        }));
    }
    Ok(all)
}

/// Hands planned crawls to crawlers as they fall idle, the most delayed first, politely.
fn dispatch(
    args: &Args,
    listing: &Listing,
    planned: Vec<PlannedCrawl>,
    speeds: &[u32],
) -> Vec<Visit> {
    let mut updates = planned;
    updates.sort_unstable_by_key(|update| (listing.gate_of_page(update.page as usize), *update));
    let mut queues: Vec<Queue> = listing
        .gates
        .iter()
        .map(|gate| Queue {
            gap: gate.politeness,
            hours: gate_hours(gate),
            ..Queue::default()
        })
        .collect();
    for (index, update) in (0..).zip(&updates) {
        let queue = &mut queues[listing.gate_of_page(update.page as usize)];
        if queue.end == 0 {
            queue.next = index;
        }
        queue.end = index + 1;
    }
    let hosts = queues.len();
    let mut waiting = vec![Entry::UNUSED; hosts];
    let mut places = vec![0_u32; hosts];
    let mut free = vec![Entry::UNUSED; hosts];
    let mut more = vec![0_u32; hosts];
    let waiting = SliceHeap::with_storage(&mut waiting[..], &mut places[..]);
    let free = SliceHeap::with_storage(&mut free[..], &mut more[..]);
    let Ok(mut dispatch) = Dispatch::new(&updates, &mut queues, waiting, free) else {
        return Vec::new();
    };
    let mut idle: std::collections::BinaryHeap<std::cmp::Reverse<(Instant, usize)>> = (0..speeds
        .len())
        .map(|crawler| std::cmp::Reverse((Instant::ZERO, crawler)))
        .collect();
    let mut now = Instant::ZERO;
    let mut last: HashMap<u32, Instant> = HashMap::new();
    let mut left_out = 0;
    let mut visits = Vec::with_capacity(updates.len());
    let mut progress = Progress::new("scheduling", updates.len() as u64);
    while let (Some(wake), Some(std::cmp::Reverse((from, crawler)))) = (dispatch.wake(), idle.pop())
    {
        now = Closed::after(&args.closed, now.max(from).max(wake));
        if let Some(start) = dispatch.next(now) {
            progress.at(visits.len() as u64);
            let page = start.update.page;
            let gap = shortest_gap(args, listing, page);
            if !gap.is_zero() {
                // A crawl that had to wait is not to be followed by the next one too soon.
                if last.get(&page).is_some_and(|last| now - *last < gap) {
                    left_out += 1;
                    idle.push(std::cmp::Reverse((from, crawler)));
                    continue;
                }
                last.insert(page, now);
            }
            visits.push(Visit {
                at: now,
                crawler: crawler as u32,
                page: start.update.page,
            });
            let busy = if speeds[crawler] == u32::MAX {
                Duration::ZERO
            } else {
                args.interval / u64::from(speeds[crawler])
            };
            idle.push(std::cmp::Reverse((now + busy, crawler)));
        } else {
            idle.push(std::cmp::Reverse((from, crawler)));
        }
    }
    if left_out > 0 {
        output::say(format_args!(
            "{left_out} crawls are left out: they would come too soon after another of the same page, by its max"
        ));
    }
    visits
}
