//! From the command line to a world, and what could be reached in it.

use std::collections::HashMap;

use dunlin::constraints::CrawlLimits;
use dunlin::model::Objective;
use dunlin::plan::{PlanPage, Spacing, optimal};
use dunlin::polite::Hours;
use dunlin::time::Duration;

use super::{Args, Crawlers};
use crate::error::Error;
use crate::lists::hosts::ProviderKind;
use crate::lists::listing::Listing;
use crate::lists::pages;
use crate::lists::{constraints, trace};
use crate::planning::{Assumed, explain, plan_hosts, plan_pages, quasi_costs};
use crate::simulate::change::Quasi;
use crate::simulate::trial::{self, Trial};
use crate::simulate::{Change, Options, PolicyName, SimHost, SimPage, Tells, World};

/// Pieces of the course of freshness in a report.
const PIECES: usize = 60;

/// Everything that is simulated, and against what.
#[derive(Debug)]
pub struct SimulationSetting {
    pub trial: Trial,
    /// Names of the world's hosts.
    pub hosts: Vec<String>,
    /// What was taken for rates that the list does not have, to be said once all went well.
    pub note: Option<String>,
}

impl SimulationSetting {
    pub fn new(args: &Args) -> Result<Self, Error> {
        trial::check(args.days, args.crawls_per_day, args.failures)
            .map_err(|error| Error::Usage(error.as_option()))?;
        let listing = args.listing.read(Duration::ZERO)?;
        if listing.list.pages.is_empty() {
            return Err(Error::Usage("found no pages, expected at least one".into()));
        }
        let warm_up = match args.warm_up {
            Some(time) => time.as_days(),
            // A trace has nothing to say about the time before it: who learns would learn that
            // nothing changes.
            None if args.trace.is_some() && args.learn => 0.0,
            None => trial::warm_up(listing.list.pages.len(), args.crawls_per_day),
        };
        let trace = args
            .trace
            .as_deref()
            .map(|path| trace::read(path, &listing.list))
            .transpose()?;
        let (assumed, made, modelled) = planned(args, &listing)?;
        let mut world = world(args, &listing, assumed)?;
        world.accesses = accesses(args, &listing, warm_up)?;
        let (bound, optimum) = match trace {
            // Whoever is told of changes can do better than any rates; how much better has no
            // formula.
            None if world.hosts.iter().any(|host| host.tells != Tells::Nothing) => {
                (1.0, modelled.1)
            }
            None => modelled,
            Some(trace) => {
                follow(&mut world, &listing, &trace, args.days, warm_up);
                (
                    clairvoyant(&world, args, warm_up),
                    world.optimum(args.crawls_per_day),
                )
            }
        };
        let (crawlers, fetch_time) = crawlers(args);
        let pieces = if args.svg.is_some() || args.html.is_some() {
            PIECES
        } else {
            0
        };
        let options = Options {
            days: warm_up + args.days,
            measured_from: warm_up,
            crawlers,
            fetch_time,
            seed: args.seed,
            pieces,
        };
        let trial = Trial {
            objective: args.objective.into(),
            world,
            options,
            crawls_per_day: args.crawls_per_day,
            learn: args.learn,
            seeds: args.seeds(),
            bound,
            optimum,
        };
        trial
            .check_changes(args.policies().len())
            .map_err(Error::Usage)?;
        let hosts = listing.gates.iter().map(|gate| gate.name.clone()).collect();
        // A trace knows better.
        let noted = made.filter(|_| args.trace.is_none());
        Ok(Self {
            note: noted.and_then(|made| args.assumption.note(made, &listing)),
            trial,
            hosts,
        })
    }
}

impl SimulationSetting {
    /// Do some pages change by a law by which a long silence says something of what comes? Then a
    /// schedule that heeds it can be above the bound, which is that of fixed rhythms.
    pub fn has_memory(&self) -> bool {
        let mut pages = self.trial.world.pages.iter();
        pages.any(|page| matches!(page.change, Change::Weibull { .. } | Change::Pareto { .. }))
    }
}

type Planned = (f64, Option<Assumed>, (f64, f64));

/// What the planner says: the rate that stands for those not known, for whom it does, and bound and
/// optimum if pages follow their models.
fn planned(args: &Args, listing: &Listing) -> Result<Planned, Error> {
    let objective = args.objective.into();
    let days: f64 = args.interval.as_days();
    let costs = quasi_costs(listing, args.interval, objective, Spacing::Steady)?;
    let plan: Vec<PlanPage<'_, f64>> = plan_pages(listing, args.interval, &costs, args.assumption);
    let unknown = listing
        .list
        .pages
        .iter()
        .position(|page| known_rate(page) == Some(None));
    let assumed = unknown
        .and_then(|page| plan[page].change.rate())
        .map_or(1.0, |rate| rate / days);
    let mut hosts = plan_hosts(&listing.gates, args.interval);
    let outcome = optimal::bound(&plan[..], &mut hosts, args.crawls_per_day * days, objective)
        .map_err(|error| explain(error, listing))?;
    let made = Assumed::of(listing, &plan, args.interval);
    let told = |cost: f64| match objective {
        Objective::Age => cost * args.interval.as_secs_f64(),
        _ => 1.0 - cost,
    };
    let reached = (told(outcome.bound), told(outcome.cost));
    Ok((assumed, made, reached))
}

/// The rate that the list states; `None` for a page that has none of its own.
fn known_rate(page: &pages::ListedPage) -> Option<Option<f64>> {
    match page.change {
        pages::ListedChange::Poisson { rate }
        | pages::ListedChange::Weibull { rate, .. }
        | pages::ListedChange::Pareto { rate, .. } => Some(rate),
        pages::ListedChange::Quasi { .. } => None,
    }
}

fn world(args: &Args, listing: &Listing, assumed: f64) -> Result<World, Error> {
    let hosts = (listing.gates.iter())
        .map(|gate| SimHost {
            gap: gate.politeness,
            hours: gate
                .hours
                .and_then(|hours| Hours::new(hours.from, hours.to))
                .unwrap_or(Hours::ALWAYS),
            tells: match gate.provider {
                ProviderKind::Normal => Tells::Nothing,
                ProviderKind::Smart => Tells::Changes,
                ProviderKind::Super => Tells::Plans,
            },
            fails: args.failures,
        })
        .collect();
    let pages = (listing.list.pages.iter().enumerate())
        .map(|(index, page)| {
            let rate = known_rate(page).flatten().unwrap_or(assumed);
            let (change, mean_rate) = match &page.change {
                _ if rate == 0.0 && !matches!(page.change, pages::ListedChange::Quasi { .. }) => {
                    (Change::Poisson(0.0), 0.0)
                }
                pages::ListedChange::Poisson { .. } => (Change::Poisson(rate), rate),
                pages::ListedChange::Weibull { shape, .. } => (Change::weibull(rate, *shape), rate),
                pages::ListedChange::Pareto { shape, .. } => (Change::pareto(rate, *shape), rate),
                pages::ListedChange::Quasi { updates } => {
                    let at = |update: &pages::ListedUpdate| {
                        (update.offset.as_days(), update.probability)
                    };
                    let updates: Vec<_> = updates.iter().map(at).collect();
                    let changes: f64 = updates.iter().map(|update| update.1).sum();
                    let period = args.interval.as_days();
                    (
                        Change::Quasi(Box::new(Quasi { period, updates })),
                        changes / period,
                    )
                }
            };
            SimPage {
                host: listing.gate_of_page(index),
                weight: page.weight,
                mean_rate,
                change,
            }
        })
        .collect();
    // What an update beyond the interval is refused for.
    listing
        .list
        .pages
        .iter()
        .try_for_each(|page| constraints::clock(page, args.interval).map(|_| ()))?;
    let limits: Vec<CrawlLimits> = listing
        .list
        .pages
        .iter()
        .map(|page| constraints::limits(page, args.interval))
        .collect();
    let limited = limits.iter().any(|limits| *limits != CrawlLimits::NONE);
    Ok(World {
        pages,
        hosts,
        limits: if limited { limits } else { Vec::new() },
        directories: directories(listing),
        clocks: Vec::new(),
        accesses: Vec::new(),
    })
}

/// When pages are asked for, in days.
fn accesses(args: &Args, listing: &Listing, warm_up: f64) -> Result<Vec<Vec<f64>>, Error> {
    let Some(path) = &args.accesses else {
        return Ok(Vec::new());
    };
    if !args.compare && args.policy != PolicyName::Hints {
        return Err(Error::Usage(format!(
            "found --accesses with --policy {}, expected --policy hints or --compare: no other counts them",
            args.policy.name()
        )));
    }
    let mut accesses = trace::read_accesses(path, &listing.list)?;
    let days = |time: &mut f64| *time = *time / 86_400.0 + warm_up;
    accesses.iter_mut().flatten().for_each(days);
    Ok(accesses)
}

/// The directory of each page: its URL up to the last slash of the path, on its host.
fn directories(listing: &Listing) -> Vec<u32> {
    let mut known = HashMap::new();
    (listing.list.pages.iter().enumerate())
        .map(|(index, page)| {
            let path = page.url.split(['?', '#']).next().unwrap_or_default();
            let directory = path
                .rsplit_once('/')
                .map_or(path, |(directory, _)| directory);
            let next = known.len() as u32;
            let key = (listing.gate_of_page(index), directory);
            *known.entry(key).or_insert(next)
        })
        .collect()
}

/// Lets pages change as the trace says. Their rates are those of the list, and the trace's own
/// where that has none.
fn follow(world: &mut World, listing: &Listing, trace: &[Vec<f64>], days: f64, warm_up: f64) {
    for ((page, listed), times) in world.pages.iter_mut().zip(&listing.list.pages).zip(trace) {
        let times: Vec<f64> = times.iter().map(|time| time / 86_400.0).collect();
        if known_rate(listed) == Some(None) {
            page.mean_rate = times.iter().filter(|time| **time < days).count() as f64 / days;
        }
        let times = times.into_iter().map(|time| time + warm_up).collect();
        let listed = std::mem::replace(&mut page.change, Change::Trace(times));
        world.clocks.push(match listed {
            Change::Quasi(clock) => Some(*clock),
            _ => None,
        });
    }
}

/// No schedule, even one that knows the trace, has more freshness than this: a fetch keeps a page
/// fresh until its next change at most, so take the longest such times, weighted, as many as there
/// are fetches. The time before a page's first change counts where the warming up had room for a
/// fetch.
fn clairvoyant(world: &World, args: &Args, warm_up: f64) -> f64 {
    let end = warm_up + args.days;
    let mut spans = Vec::new();
    let mut given = 0.0;
    let mut weight = 0.0;
    for page in &world.pages {
        weight += page.weight;
        let Change::Trace(times) = &page.change else {
            continue;
        };
        let mut from = warm_up;
        for time in times
            .iter()
            .copied()
            .filter(|time| *time < end)
            .chain([end])
        {
            let span = page.weight * (time - from);
            if from == warm_up && warm_up > 0.0 {
                given += span
            } else {
                spans.push(span)
            }
            from = time;
        }
    }
    spans.sort_unstable_by(|a, b| b.total_cmp(a));
    // What may start at once, besides.
    let fetches = (args.crawls_per_day * args.days).ceil() + 5.0;
    let gained: f64 = spans.iter().take(fetches as usize).sum();
    ((given + gained) / (weight * args.days)).min(1.0)
}

/// How many there are, and how long they take for a fetch.
fn crawlers(args: &Args) -> (usize, Duration) {
    match &args.crawlers {
        Some(Crawlers::Equal(count)) => (*count as usize, args.fetch_time),
        Some(Crawlers::Speeds(speeds)) => {
            let crawls: u64 = speeds.iter().map(|speed| u64::from(*speed)).sum();
            (speeds.len(), Duration::DAY * speeds.len() as u64 / crawls)
        }
        None => {
            let count = trial::crawlers(args.crawls_per_day, args.fetch_time);
            (count, args.fetch_time)
        }
    }
}
