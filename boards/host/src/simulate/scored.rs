//! Xu's crawler: fetch the page of the highest score, by what its provider tells (Xu et al. 2007,
//! §4).
//!
//! Scores grow at different speeds, so all are computed anew, for each fetch where pages are few
//! and for each batch of a 64th of the pages where they are many.
//!
//! Accesses are those of a trace ([`World::accesses`]), counted. Where there is none, each page has
//! as many a day as its weight; then C in Equation 6 is the same in all cycles, and cancels out. A
//! cycle is the time in which the budget suffices for each page once. P_update is what a page's
//! updates have in the list; a change that a host announces without one is certain.

use dunlin::learn::hints::Hint;
use dunlin::learn::hints::scores::{Future, Missed, ProviderKind, normal, unified};
use dunlin::scheduler::Outcome;
use dunlin::time::{Duration, Instant};

use super::change::Quasi;
use super::gated::{Fetched, Gated, Rule};
use super::{Change, Tells, World};

/// c in Equation 5: a page that nobody asks for is crawled some day, too.
const LEAST_ACCESSES: f64 = 1.0;
/// Cycles before the last one that count in Equation 6: s = 5 with it.
const EARLIER_CYCLES: f64 = 4.0;

/// Scores and what is under way.
#[derive(Debug)]
pub struct Scored {
    pages: Vec<Page>,
    /// Fetches a host can take while a batch is worked off.
    room: Vec<u32>,
    batch: usize,
    pending: usize,
    accesses: Accesses,
    /// The days of a cycle.
    cycle: f64,
    /// The time of one fetch, by the budget.
    spacing: Duration,
    /// When to choose again.
    now: Instant,
}

/// How often pages are asked for.
#[derive(Debug)]
enum Accesses {
    /// So many accesses a day, for each page.
    Steady(Vec<f64>),
    /// Then, in days and in order, each page; and all of them in one.
    Trace(Vec<Vec<f64>>, Vec<f64>),
}

impl Accesses {
    fn of(world: &World) -> Self {
        if world.accesses.is_empty() {
            return Self::Steady(world.pages.iter().map(|page| page.weight).collect());
        }
        let mut all: Vec<f64> = world.accesses.iter().flatten().copied().collect();
        all.sort_unstable_by(f64::total_cmp);
        Self::Trace(world.accesses.clone(), all)
    }

    /// Accesses to a page, after one moment and up to another.
    fn between(&self, page: usize, from: f64, to: f64) -> f64 {
        match self {
            Self::Steady(per_day) => per_day[page] * (to - from).max(0.0),
            Self::Trace(times, _) => {
                let until = |day: f64| times[page].partition_point(|time| *time <= day);
                until(to).saturating_sub(until(from)) as f64
            }
        }
    }

    /// Accesses to all pages so far.
    fn all(&self, day: f64) -> f64 {
        match self {
            Self::Steady(per_day) => per_day.iter().sum::<f64>() * day,
            Self::Trace(_, all) => all.partition_point(|time| *time <= day) as f64,
        }
    }
}

#[derive(Debug)]
struct Page {
    host: u32,
    kind: ProviderKind,
    /// When it was crawled, and when the first change after that was told of, in days.
    crawled: f64,
    first_missed: f64,
    missed: Missed<f64>,
    /// When it will change, by its host's word.
    announced: Option<f64>,
    /// When it may change, and how likely, by its host's plan.
    plan: Option<Quasi>,
    pending: bool,
}

/// The rule [`Scored`] behind the hosts' gates.
pub fn scored(world: &World, per_day: f64) -> Gated<Scored> {
    Gated::new(world, per_day, rule(world, per_day))
}

fn rule(world: &World, per_day: f64) -> Scored {
    let kind = |host: usize| match world.hosts[host].tells {
        Tells::Nothing => ProviderKind::Normal,
        Tells::Changes => ProviderKind::Smart,
        Tells::Plans => ProviderKind::Super,
    };
    let pages: Vec<Page> = (world.pages.iter())
        .map(|page| Page {
            host: page.host as u32,
            kind: kind(page.host),
            crawled: 0.0,
            first_missed: 0.0,
            missed: Missed::crawled(0.0),
            announced: None,
            plan: match &page.change {
                Change::Quasi(plan) => Some((**plan).clone()),
                _ => None,
            },
            // Every page is fetched once to begin with: what has no copy has no score either.
            pending: true,
        })
        .collect();
    let batch = (pages.len() / 64).max(1);
    let span = batch as f64 / per_day;
    Scored {
        room: world
            .hosts
            .iter()
            .map(|host| (span * host.cap()).min(1e9) as u32 + 1)
            .collect(),
        batch,
        pending: pages.len(),
        accesses: Accesses::of(world),
        cycle: pages.len() as f64 / per_day,
        pages,
        spacing: Duration::from_days(1.0 / per_day),
        now: Instant::ZERO,
    }
}

impl Rule for Scored {
    fn again(&mut self, fetched: &Fetched) -> Option<Instant> {
        let now = fetched.now;
        self.now = now;
        self.pending -= 1;
        let page = &mut self.pages[fetched.page];
        page.pending = false;
        if matches!(
            fetched.outcome,
            Outcome::Changed { .. } | Outcome::Unchanged
        ) {
            page.crawled = day_of(now);
            page.missed = Missed::crawled(page.crawled);
            page.announced = page.announced.filter(|at| *at > page.crawled);
        }
        None
    }
    fn refills_at(&self) -> Option<Instant> {
        // Half a batch may wait at gates while the next is chosen.
        (self.pending <= self.batch / 2).then_some(self.now)
    }
    fn refill(&mut self, now: Instant) -> Vec<(Instant, u32)> {
        // If nothing has a score now, ask again after a while, or when a host tells something.
        self.now = now + self.spacing;
        let day = day_of(now);
        let all = self.accesses.all(day);
        let mut best: Vec<(f64, u32)> = (self.pages.iter().enumerate())
            .filter(|(_, page)| !page.pending)
            .map(|(index, page)| (self.score(index, page, day, all), index as u32))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        best.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut taken = vec![0; self.room.len()];
        let mut batch = Vec::with_capacity(self.batch);
        for (rank, (_, index)) in best.into_iter().enumerate() {
            let page = &mut self.pages[index as usize];
            let host = page.host as usize;
            if batch.len() < self.batch && taken[host] < self.room[host] {
                taken[host] += 1;
                page.pending = true;
                batch.push((now + Duration::from_micros(rank as u64), index));
            }
        }
        self.pending += batch.len();
        batch
    }
    fn hint(&mut self, page: usize, hint: Hint) {
        self.now = Instant::ZERO;
        let told = &mut self.pages[page];
        match hint {
            Hint::Changed(at) => {
                let day = day_of(at);
                if told.missed.changes() == 0 {
                    told.first_missed = day;
                }
                let stale = self.accesses.between(page, told.first_missed, day);
                told.missed.change(day, stale);
            }
            Hint::Expected(at) => told.announced = Some(day_of(at)),
        }
    }
}

impl Scored {
    /// Equations 4 to 7, by what the page's host tells, out of so many accesses to all pages.
    fn score(&self, index: usize, page: &Page, day: f64, all: f64) -> f64 {
        let accesses = |from: f64| self.accesses.between(index, from, day);
        let missed = || page.missed.score(day, accesses(page.first_missed));
        match page.kind {
            ProviderKind::Normal => {
                let days = (day - page.crawled).max(0.0);
                normal(days, accesses(page.crawled), LEAST_ACCESSES) / all.max(1.0)
            }
            ProviderKind::Smart => missed() / all.max(1.0),
            ProviderKind::Super => {
                let last_cycle = accesses(day - self.cycle);
                let all_cycles = accesses(day - (1.0 + EARLIER_CYCLES) * self.cycle);
                let future = Future {
                    probability: page.update_probability(day),
                    last_cycle,
                    earlier_cycles: all_cycles - last_cycle,
                };
                unified(missed(), all, future.score())
            }
        }
    }
}

impl Page {
    /// P_update: how likely an update was that its host has announced for the time since the crawl,
    /// the likeliest of them. One that is still to come counts for nothing: a fetch would come too
    /// early.
    fn update_probability(&self, day: f64) -> f64 {
        match &self.plan {
            Some(Quasi { period, updates }) => {
                let is_due = |offset: f64| {
                    let last = ((day - offset) / period).floor() * period + offset;
                    last > self.crawled
                };
                let due = updates.iter().filter(|(offset, _)| is_due(*offset));
                due.fold(0.0, |most, (_, chance)| chance.max(most))
            }
            None => f64::from(u8::from(self.announced.is_some_and(|at| at <= day))),
        }
    }
}

fn day_of(instant: Instant) -> f64 {
    instant.since(Instant::ZERO).as_days()
}

#[cfg(test)]
mod tests {
    use super::super::{SimHost, SimPage};
    use super::*;

    /// Two pages of one host that announces two updates a day, with these chances in the morning,
    /// and these accesses; both were crawled at midnight.
    fn rule(tells: Tells, chances: [f64; 2], accesses: [&[f64]; 2]) -> Scored {
        let page = |chance: f64| SimPage {
            host: 0,
            weight: 1.0,
            mean_rate: 1.0,
            change: Change::Quasi(Box::new(Quasi {
                period: 1.0,
                updates: vec![(0.25, chance), (0.75, 0.01)],
            })),
        };
        let host = SimHost {
            tells,
            ..SimHost::new(Duration::ZERO)
        };
        let world = World {
            pages: chances.map(page).into(),
            hosts: vec![host],
            accesses: accesses.map(<[f64]>::to_vec).into(),
            ..World::default()
        };
        let mut rule = super::rule(&world, 20.0);
        rule.pages.iter_mut().for_each(|page| page.pending = false);
        rule.pending = 0;
        rule
    }

    fn scores(rule: &Scored, day: f64) -> [f64; 2] {
        let all = rule.accesses.all(day);
        [0, 1].map(|page| rule.score(page, &rule.pages[page], day, all))
    }

    /// What is fetched next.
    fn first(rule: &mut Scored, day: f64) -> Option<u32> {
        let batch = rule.refill(Instant::ZERO + Duration::from_days(day));
        batch.first().map(|(_, page)| *page)
    }

    /// A cycle is a tenth of a day here.
    #[test]
    fn the_likelier_update_comes_first() {
        let alike: &[f64] = &[0.05, 0.28];
        for (chances, expected) in [([0.9, 0.3], 0), ([0.3, 0.9], 1)] {
            let mut rule = rule(Tells::Plans, chances, [alike; 2]);
            assert_eq!(scores(&rule, 0.2), [0.0; 2], "nothing is due yet");
            // One access was in the last cycle, the other in one of the four before it.
            let scores = scores(&rule, 0.3);
            for (score, chance) in scores.into_iter().zip(chances) {
                let share = (0.8 * 1.0 + 0.2 * 1.0) / 2.0;
                assert!((score - 0.2 * chance * share).abs() < 1e-12, "{score}");
            }
            assert_eq!(first(&mut rule, 0.3), Some(expected));
        }
    }

    #[test]
    fn what_was_asked_for_lately_comes_first() {
        let lately: &[f64] = &[0.05, 0.25, 0.28];
        let earlier: &[f64] = &[0.05, 0.1, 0.28];
        for (accesses, expected) in [([lately, earlier], 0), ([earlier, lately], 1)] {
            let mut rule = rule(Tells::Plans, [0.5; 2], accesses);
            let found = scores(&rule, 0.3)[expected];
            let share = (0.8 * 2.0 + 0.2 * 1.0) / 3.0;
            assert!((found - 0.2 * 0.5 * share).abs() < 1e-12, "{found}");
            assert_eq!(first(&mut rule, 0.3), Some(expected as u32));
        }
    }

    #[test]
    fn stale_accesses_count_where_changes_are_told_and_all_where_they_are_not() {
        let before: &[f64] = &[0.1, 0.2, 0.3];
        let after: &[f64] = &[0.1, 0.35, 0.4];
        for (accesses, expected) in [([before, after], 1), ([after, before], 0)] {
            let mut rule = rule(Tells::Changes, [1.0; 2], accesses);
            assert_eq!(first(&mut rule, 0.3), None, "nothing has changed");
            let told = Instant::ZERO + Duration::from_days(0.32);
            for page in 0..2 {
                rule.hint(page, Hint::Changed(told));
            }
            // Two of six accesses hit the stale copy, which is 0.18 days old.
            let found = scores(&rule, 0.5);
            assert!((found[expected] - 0.18 * 2.0 / 6.0).abs() < 1e-6);
            assert_eq!(found[1 - expected], 0.0);
            assert_eq!(first(&mut rule, 0.5), Some(expected as u32));
        }
        let rule = rule(Tells::Nothing, [1.0; 2], [&[0.1], &[]]);
        let expected = [0.5 * 0.5 * 2.0, 0.5 * 0.5 * 1.0];
        assert_eq!(scores(&rule, 0.5), expected, "over one access in all");
    }
}
