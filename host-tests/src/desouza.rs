//! de Souza's experiment (2007, §4): many pages on few servers, ten crawlers, a gap of 15 seconds.

use dunlin::heap::{Entry, SliceHeap};
use dunlin::math::g;
use dunlin::model::Change;
use dunlin::pace::dispatch::{Dispatch, Queue};
use dunlin::pace::merge::{Moments, PlannedCrawl, SpreadScratch, merge, spread};
use dunlin::plan::select::select;
use dunlin::plan::{Allocation, Objective, PlanHost, PlanPage};
use dunlin::time::{Duration, Instant};
use dunlin_suite::bench::Random;

/// What an experiment varies.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How many pages there are.
    pub pages: usize,
    /// How many servers they are on.
    pub servers: usize,
    /// How many crawlers share the work.
    pub crawlers: usize,
    /// How long one of them takes for a crawl; they are never idle if all goes well.
    pub fetch: Duration,
    /// Skew of pages over servers: 0 uniform, 1 Zipf.
    pub theta: f64,
    /// Skew of change rates by Zipf's law, with the same mean, instead of uniform ones (Figure 4).
    pub rate_theta: Option<f64>,
    /// Crawls planned for each that crawlers can do (Figure 5).
    pub planned: f64,
    /// Weights uniform between 0 and 1, instead of equal ones.
    pub weighted: bool,
}

impl Setup {
    /// As in the paper, with θ = 1 unless varied.
    pub const PAPER: Self = Self {
        pages: 1_000_000,
        servers: 2_000,
        crawlers: 10,
        fetch: Duration::from_millis(100),
        theta: 1.0,
        rate_theta: None,
        planned: 1.0,
        weighted: false,
    };

    /// Crawls an interval that its crawlers can make.
    pub fn capacity(&self) -> f64 {
        (self.crawlers as u64 * (INTERVAL.as_micros() / self.fetch.as_micros())) as f64
    }
}

/// Mean staleness by each policy.
#[derive(Clone, Copy, Debug)]
pub struct Staleness {
    /// The weak politeness bound: no polite schedule does better.
    pub bound: f64,
    /// MERGE with as many crawlers as it takes (the paper's InfCrawlers).
    pub merge: f64,
    /// MERGE and dispatch to the crawlers there are (the paper's PSP).
    pub merge_dispatched: f64,
    /// Our spread, unlimited crawlers.
    pub spread: f64,
    /// The result of our spread, once it is dispatched.
    pub spread_dispatched: f64,
    /// Equally spaced times without regard to politeness, dispatched (the paper's MP2).
    pub mp2: f64,
    /// Crawls planned without regard to politeness as well, dispatched (the paper's M-Wolf).
    pub m_wolf: f64,
    /// What those would reach if nobody had to be polite (the paper's NonPolite).
    pub non_polite: f64,
}

const INTERVAL: Duration = Duration::DAY;
/// Between two crawls of a server.
pub const GAP: Duration = Duration::from_secs(15);

/// Pages server by server, their rates in changes an interval, their weights, and where each
/// server's pages begin.
#[derive(Clone, Debug)]
pub struct Web {
    rates: Vec<f64>,
    weights: Vec<f64>,
    starts: Vec<usize>,
}

/// The web of a set-up.
pub fn web(setup: Setup) -> Web {
    let mut random = Random(1);
    let sum: f64 = (1..=setup.servers)
        .map(|server| (server as f64).powf(-setup.theta))
        .sum();
    let mut starts = vec![0];
    let mut share = 0.0;
    for server in 1..=setup.servers {
        share += (server as f64).powf(-setup.theta) / sum;
        starts.push((share * setup.pages as f64).round() as usize);
    }
    // λ is uniform in [0.01, 1] an hour.
    let rates: Vec<f64> = match setup.rate_theta {
        None => (0..setup.pages)
            .map(|_| 24.0 * (0.01 + 0.99 * f64::from(random.unit())))
            .collect(),
        Some(theta) => zipf_rates(setup.pages, theta, &mut random),
    };
    let weights = (0..setup.pages)
        .map(|_| {
            if setup.weighted {
                1.0 - f64::from(random.unit())
            } else {
                1.0
            }
        })
        .collect();
    Web {
        rates,
        weights,
        starts,
    }
}

/// Rates that fall with their rank, with the mean of the uniform ones, on pages at random.
fn zipf_rates(pages: usize, theta: f64, random: &mut Random) -> Vec<f64> {
    let mut rates: Vec<f64> = (1..=pages).map(|rank| (rank as f64).powf(-theta)).collect();
    let scale = 24.0 * 0.505 * pages as f64 / rates.iter().sum::<f64>();
    rates.iter_mut().for_each(|rate| *rate *= scale);
    for place in (1..pages).rev() {
        rates.swap(place, random.below(place as u32 + 1) as usize);
    }
    rates
}

/// Runs all policies on one web.
pub fn run(setup: Setup) -> Staleness {
    let web = web(setup);
    let budget = (setup.capacity() * setup.planned) as u32;
    let (crawls, Allocation { bound, .. }) = web.plan(budget, Some(GAP));
    let (wolf, impolite) = web.plan(budget, None);
    let schedule = |improved| web.schedule(&crawls, improved);
    let (updates, queues) = schedule(None);
    let merge = web.staleness(&updates);
    let merge_dispatched = web.staleness(&dispatch(&updates, queues, setup));
    drop(updates);
    let spread = web.staleness(&schedule(Some(Moments::Ideal)).0);
    let (updates, queues) = schedule(Some(Moments::Even));
    let spread_dispatched = web.staleness(&dispatch(&updates, queues, setup));
    drop(updates);
    let (ideal, queues) = schedule_ideal(&web, &crawls);
    let mp2 = web.staleness(&dispatch(&ideal, queues, setup));
    let (ideal, queues) = schedule_ideal(&web, &wolf);
    let m_wolf = web.staleness(&dispatch(&ideal, queues, setup));
    Staleness {
        bound,
        merge,
        merge_dispatched,
        spread,
        spread_dispatched,
        mp2,
        m_wolf,
        non_polite: impolite.cost,
    }
}

/// Every page at its own even times; hosts see whatever comes of it.
fn schedule_ideal(web: &Web, crawls: &[u32]) -> (Vec<PlannedCrawl>, Vec<Queue>) {
    let mut all = Vec::new();
    let mut queues = Vec::new();
    for own in web.starts.windows(2) {
        let first = all.len();
        for (page, count) in crawls.iter().enumerate().take(own[1]).skip(own[0]) {
            let count = u64::from(*count);
            let times = (1..=count).map(|crawl| Instant::ZERO + INTERVAL * crawl / (count + 1));
            all.extend(times.map(|at| PlannedCrawl {
                at,
                page: page as u32,
            }));
        }
        all[first..].sort_unstable();
        queues.push(Queue {
            next: first as u32,
            end: all.len() as u32,
            gap: GAP,
            ..Queue::default()
        });
    }
    (all, queues)
}

/// Expected time a copy of a page is stale within a gap, in intervals.
fn stale_time(rate: f64, gap: Duration) -> f64 {
    let gap = gap.as_days::<f64>();
    gap * g(rate * gap)
}

/// What crawlers achieve on a web that is all their own.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// The weak politeness bound.
    pub bound: f64,
    /// MERGE, dispatched to the crawlers (PSP).
    pub psp: f64,
    /// The result of our spread, once it is dispatched.
    pub spread: f64,
}

/// Plans so many crawls of a web, and lets the crawlers of a set-up make them.
pub fn pool(web: &Web, budget: u32, setup: Setup) -> Pool {
    let (crawls, Allocation { bound, .. }) = web.plan(budget, Some(GAP));
    let made = |improved| {
        let (updates, queues) = web.schedule(&crawls, improved);
        web.staleness(&dispatch(&updates, queues, setup))
    };
    Pool {
        bound,
        psp: made(None),
        spread: made(Some(Moments::Even)),
    }
}

impl Web {
    /// The rates of each server's pages, in changes a day.
    pub fn servers(&self) -> impl Iterator<Item = &[f64]> {
        let rates = |own: &[usize]| &self.rates[own[0]..own[1]];
        self.starts.windows(2).map(rates)
    }

    /// The web of these servers alone.
    pub fn only(&self, servers: &[usize]) -> Self {
        let mut part = Self {
            rates: Vec::new(),
            weights: Vec::new(),
            starts: vec![0],
        };
        for server in servers {
            let own = self.starts[*server]..self.starts[server + 1];
            part.rates.extend(&self.rates[own.clone()]);
            part.weights.extend(&self.weights[own]);
            part.starts.push(part.rates.len());
        }
        part
    }

    /// The best crawls of each page with a gap between two crawls of a server, or none, and what
    /// staleness to expect of them.
    pub fn plan(&self, budget: u32, gap: Option<Duration>) -> (Vec<u32>, Allocation<f64>) {
        let pages: Vec<PlanPage<'_, f64>> = (self.starts.windows(2).enumerate())
            .flat_map(|(server, own)| (own[0]..own[1]).map(move |page| (server, page)))
            .map(|(server, page)| {
                PlanPage::new(self.weights[page], Change::Poisson(self.rates[page]))
                    .on_host(server as u32)
            })
            .collect();
        let host = gap.map_or(PlanHost::unlimited(), |gap| {
            PlanHost::new((INTERVAL.as_micros() / gap.as_micros()) as f64)
        });
        let mut hosts = vec![host; self.starts.len() - 1];
        let mut crawls = vec![0; pages.len()];
        let plan = select(
            &pages[..],
            &mut hosts,
            budget,
            Objective::Freshness,
            &mut crawls,
        )
        .expect("a sound plan");
        (crawls, plan)
    }

    /// When those crawls are to be made, by MERGE or by our own spread, and the queues of servers.
    fn schedule(
        &self,
        crawls: &[u32],
        improved: Option<Moments>,
    ) -> (Vec<PlannedCrawl>, Vec<Queue>) {
        let total = crawls.iter().map(|count| *count as usize).sum();
        let mut all = vec![PlannedCrawl::default(); total];
        let mut links = Vec::new();
        let mut queues = Vec::with_capacity(self.starts.len());
        let mut next = 0;
        for own in self.starts.windows(2).map(|own| own[0]..own[1]) {
            let rates = &self.rates[own.clone()];
            let weights = &self.weights[own.clone()];
            let crawls = &crawls[own.clone()];
            let count: usize = crawls.iter().map(|count| *count as usize).sum();
            let room = &mut all[next..next + count];
            if let Some(moments) = improved {
                links.resize(count.max(links.len()), SpreadScratch::default());
                let cost = |page: u32, gap: Duration| {
                    weights[page as usize] * stale_time(rates[page as usize], gap)
                };
                spread(moments, crawls, INTERVAL, GAP, room, &mut links, cost)
                    .expect("caps are kept");
            } else {
                merge(crawls, INTERVAL, GAP, room).expect("caps are kept");
            }
            room.iter_mut()
                .for_each(|update| update.page += own.start as u32);
            queues.push(Queue {
                next: next as u32,
                end: (next + count) as u32,
                gap: GAP,
                ..Queue::default()
            });
            next += count;
        }
        (all, queues)
    }

    /// Mean staleness by weight over the interval, from fresh copies at its start; crawls in order
    /// of time, page by page.
    fn staleness(&self, updates: &[PlannedCrawl]) -> f64 {
        let mut last = vec![Instant::ZERO; self.rates.len()];
        let mut stale = 0.0;
        let end = Instant::ZERO + INTERVAL;
        for update in updates.iter().filter(|update| update.at < end) {
            let page = update.page as usize;
            stale += self.weights[page] * stale_time(self.rates[page], update.at - last[page]);
            last[page] = update.at;
        }
        let rest: f64 = self
            .rates
            .iter()
            .zip(&self.weights)
            .zip(&last)
            .map(|((rate, weight), last)| weight * stale_time(*rate, end - *last))
            .sum();
        (stale + rest) / self.weights.iter().sum::<f64>()
    }
}

/// What crawlers make of a schedule: when each crawl really starts, in order.
///
/// # Panics
/// If two crawls of a host come closer than the gap.
fn dispatch(updates: &[PlannedCrawl], mut queues: Vec<Queue>, setup: Setup) -> Vec<PlannedCrawl> {
    let hosts = queues.len();
    let mut waiting = vec![Entry::UNUSED; hosts];
    let mut places = vec![0_u32; hosts];
    let mut free = vec![Entry::UNUSED; hosts];
    let mut more = vec![0_u32; hosts];
    let waiting = SliceHeap::with_storage(&mut waiting[..], &mut places[..]);
    let free = SliceHeap::with_storage(&mut free[..], &mut more[..]);
    let mut dispatch =
        Dispatch::new(updates, &mut queues, waiting, free).expect("room for all hosts");
    let mut idle = vec![Instant::ZERO; setup.crawlers];
    let mut last = vec![None::<Instant>; hosts];
    let mut started = Vec::with_capacity(updates.len());
    let mut now = Instant::ZERO;
    while let Some(wake) = dispatch.wake() {
        let crawler = (0..setup.crawlers)
            .min_by_key(|crawler| idle[*crawler])
            .unwrap_or(0);
        now = now.max(idle[crawler]).max(wake);
        if let Some(start) = dispatch.next(now) {
            let before = last[start.host as usize].replace(now);
            assert!(
                before.is_none_or(|before| now - before >= GAP),
                "host {} is fetched too soon",
                start.host
            );
            started.push(PlannedCrawl {
                at: now,
                page: start.update.page,
            });
            idle[crawler] = now + setup.fetch;
        }
    }
    started
}
