//! Xu's crawler: fetch the page of the highest score, by what its provider tells (Xu et al. 2007,
//! §4).
//!
//! Scores grow at different speeds, so all are computed anew, for each fetch where pages are few
//! and for each batch of a 64th of the pages where they are many.

use dunlin::learn::hints::Hint;
use dunlin::learn::hints::scores::{Future, Kind, ScoredPage};
use dunlin::scheduler::Outcome;
use dunlin::time::{Duration, Instant};

use super::gated::{Fetched, Gated, Rule};
use super::{Tells, World};

/// Scores and what is under way.
#[derive(Debug)]
pub struct Scored {
    pages: Vec<Page>,
    /// Fetches a host can take while a batch is worked off.
    room: Vec<u32>,
    batch: usize,
    pending: usize,
    accesses_per_day: f64,
    /// The time of one fetch, by the budget.
    spacing: Duration,
    /// When to choose again.
    now: Instant,
}

#[derive(Debug)]
struct Page {
    score: ScoredPage<f64>,
    host: u32,
    kind: Kind,
    announced: Option<Instant>,
    pending: bool,
}

/// See [`Scored`].
pub fn scored(world: &World, per_day: f64) -> Gated<Scored> {
    let kind = |host: usize| match world.hosts[host].tells {
        Tells::Nothing => Kind::Normal,
        Tells::Changes => Kind::Smart,
        Tells::Plans => Kind::Super,
    };
    let pages: Vec<Page> = (world.pages.iter())
        .map(|page| Page {
            score: ScoredPage::new(page.weight),
            host: page.host as u32,
            kind: kind(page.host),
            announced: None,
            // Every page is fetched once to begin with: what has no copy has no score either.
            pending: true,
        })
        .collect();
    let batch = (pages.len() / 64).max(1);
    let span = batch as f64 / per_day;
    let rule = Scored {
        room: world
            .hosts
            .iter()
            .map(|host| (span * host.cap()).min(1e9) as u32 + 1)
            .collect(),
        batch,
        pending: pages.len(),
        accesses_per_day: world.pages.iter().map(|page| page.weight).sum(),
        pages,
        spacing: Duration::from_days(1.0 / per_day),
        now: Instant::ZERO,
    };
    Gated::new(world, per_day, rule)
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
            page.score.crawl(now.since(Instant::ZERO).as_days());
            page.announced = page.announced.filter(|at| *at > now);
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
        let day: f64 = now.since(Instant::ZERO).as_days();
        let all = self.accesses_per_day * day;
        let mut best: Vec<(f64, u32)> = (self.pages.iter().enumerate())
            .filter(|(_, page)| !page.pending)
            .map(|(index, page)| (page.value(day, all, now), index as u32))
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
        let page = &mut self.pages[page];
        match hint {
            Hint::Changed(at) => page.score.change(at.since(Instant::ZERO).as_days()),
            Hint::Expected(at) => page.announced = Some(at),
        }
    }
}

impl Page {
    fn value(&self, day: f64, all: f64, now: Instant) -> f64 {
        // An announced change counts from its time on: before, a fetch would come too early.
        let due = self.kind == Kind::Super && self.announced.is_some_and(|at| at <= now);
        let last_cycle = self.score.accesses(1.0);
        let earlier_cycles = self.score.accesses(4.0);
        let future = Future {
            probability: 1.0,
            last_cycle,
            earlier_cycles,
        };
        self.score
            .score(self.kind, day, all, if due { future.score() } else { 0.0 })
    }
}
