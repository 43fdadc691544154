//! A small world of pages whose hosts help to different degrees, and crawlers that listen: Xu's
//! scores and the noisy-signal index on the same traces, with the same number of fetches.

use dunlin::learn::hints::scores::{self, ProviderKind};
use dunlin::learn::hints::{Provider, Signals};
use dunlin::learn::{Estimate, HostPrior, LearningSettings, Visit};
use dunlin::math::Real;
use dunlin::time::Duration;
use dunlin_suite::bench::Random;

use super::{exponential, unit};

/// What a host tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Help {
    /// It tells nothing at all.
    Normal,
    /// That a page changed: this share of changes, and this share of what it says is true.
    Smart { recall: f64, precision: f64 },
    /// Every change when it happens, and this share of them at the beginning of the cycle, with its
    /// time; the others are announced for a wrong time in that cycle.
    Super { precision: f64 },
}

/// One page's trace, in days.
#[derive(Clone, Debug)]
pub struct Page {
    /// Which host it is on.
    pub host: usize,
    /// Its share of all accesses.
    pub weight: f64,
    /// How often it changes in a day.
    pub rate: f64,
    /// When it changes, in days and in order.
    pub changes: Vec<f64>,
    /// When its host says that it changed.
    pub signals: Vec<f64>,
    /// When its host says in advance that it will.
    pub announced: Vec<f64>,
}

/// Pages, hosts, and time.
#[derive(Clone, Debug)]
pub struct World {
    /// All pages of the world.
    pub pages: Vec<Page>,
    /// What each host tells.
    pub hosts: Vec<Help>,
    /// How long it lasts.
    pub days: f64,
    /// Days in a crawling cycle.
    pub cycle: f64,
}

impl World {
    /// Ten pages a host, rates spread evenly over the logarithm from 1/20 to 5 a day, accesses by
    /// Zipf with 0.85 as in Xu's Table 2. The same seed changes the same pages at the same times
    /// whatever their hosts tell.
    pub fn new(hosts: &[Help], days: f64, cycle: f64, seed: u64) -> Self {
        let count = hosts.len() * 10;
        let mut random = Random(seed);
        let mut ranks: Vec<usize> = (1..=count).collect();
        for place in (1..count).rev() {
            ranks.swap(place, random.below(place as u32 + 1) as usize);
        }
        let pages: Vec<Page> = ranks
            .iter()
            .enumerate()
            .map(|(index, rank)| {
                let rate = 0.05 * Real::powf(100.0, unit(&mut random));
                let weight = Real::powf(*rank as f64, -0.85);
                let changes = poisson(rate, days, &mut random);
                Page {
                    host: index / 10,
                    weight,
                    rate,
                    changes,
                    signals: vec![],
                    announced: vec![],
                }
            })
            .collect();
        Self::of(pages, hosts, days, cycle, seed)
    }

    /// Pages with changes of their own; weights are scaled to shares.
    pub fn of(mut pages: Vec<Page>, hosts: &[Help], days: f64, cycle: f64, seed: u64) -> Self {
        let total: f64 = pages.iter().map(|page| page.weight).sum();
        for (index, page) in pages.iter_mut().enumerate() {
            page.weight /= total;
            tell(
                page,
                hosts[page.host],
                days,
                cycle,
                &mut Random(seed ^ (index as u64 + 1) << 32),
            );
        }
        Self {
            pages,
            hosts: hosts.to_vec(),
            days,
            cycle,
        }
    }

    /// The same pages with accesses by Zipf with another exponent.
    #[must_use]
    pub fn with_skew(self, theta: f64, seed: u64) -> Self {
        let reweighted = self.pages.into_iter().map(|page| Page {
            weight: Real::powf(page.weight, theta / 0.85),
            signals: vec![],
            announced: vec![],
            ..page
        });
        Self::of(
            reweighted.collect(),
            &self.hosts,
            self.days,
            self.cycle,
            seed,
        )
    }

    /// The access-weighted share of time for which copies are fresh, when `crawler` fetches
    /// `per_day` pages a day.
    pub fn freshness(&self, crawler: &mut dyn Crawler, per_day: f64) -> f64 {
        self.quality(crawler, per_day, &Measure::Fresh)
    }

    /// The same by another measure.
    pub fn quality(&self, crawler: &mut dyn Crawler, per_day: f64, measure: &Measure) -> f64 {
        let mut cursors = vec![Cursor::default(); self.pages.len()];
        let mut stale = 0.0;
        for slot in 0..(self.days * per_day) as u32 {
            let now = f64::from(slot) / per_day;
            for (page, (cursor, trace)) in cursors.iter_mut().zip(&self.pages).enumerate() {
                let arrived = trace.signals[cursor.signal..]
                    .iter()
                    .take_while(|at| **at <= now)
                    .count();
                trace.signals[cursor.signal..][..arrived]
                    .iter()
                    .for_each(|at| crawler.signal(page, *at));
                cursor.signal += arrived;
            }
            let Some(page) = crawler.choose(now) else {
                continue;
            };
            let cursor = &mut cursors[page];
            let trace = &self.pages[page];
            let missed = &trace.changes[cursor.change..];
            let missed = &missed[..missed.iter().take_while(|at| **at <= now).count()];
            stale += trace.weight * measure.loss(missed, now);
            crawler.fetched(page, now, !missed.is_empty());
            cursor.change += missed.len();
        }
        for (cursor, trace) in cursors.iter().zip(&self.pages) {
            stale += trace.weight * measure.loss(&trace.changes[cursor.change..], self.days);
        }
        1.0 - stale / self.days
    }
}

/// How bad a stale copy is.
#[derive(Clone, Debug)]
pub enum Measure {
    /// As bad as any other: it is fresh or not.
    Fresh,
    /// The same, but accesses come by Zipf over pieces of time, in an order by chance: accesses in
    /// all before each piece, and how long a piece is; a day has as many as its length on average.
    Skewed(Vec<f64>, f64),
    /// Xu's Equation 3, clipped at 1: one over the sum over missed changes m of m times the time
    /// since, in so many units a day.
    Degrading(f64),
}

impl Measure {
    /// Accesses over `days`, in pieces, with this exponent of Zipf's law over time.
    pub fn skewed(theta: f64, days: f64, piece: f64, seed: u64) -> Self {
        let count = (days / piece).ceil() as usize;
        let mut loads: Vec<f64> = (1..=count)
            .map(|rank| Real::powf(rank as f64, -theta))
            .collect();
        let scale = days / loads.iter().sum::<f64>();
        let mut random = Random(seed);
        for place in (1..count).rev() {
            loads.swap(place, random.below(place as u32 + 1) as usize);
        }
        let mut sum = 0.0;
        let mut before = vec![0.0];
        before.extend(loads.iter().map(|load| {
            sum += load * scale;
            sum
        }));
        Self::Skewed(before, piece)
    }

    /// Accesses in the last `days` before `until`, as a multiple of those of a day on average.
    /// Nothing is known of the time before day 0: it is like the average.
    pub fn accesses(&self, until: f64, days: f64) -> f64 {
        let Self::Skewed(before, piece) = self else {
            return days;
        };
        let at = |time: f64| {
            if time < 0.0 {
                return time;
            }
            let place = ((time / piece) as usize).min(before.len() - 2);
            let share = time / piece - place as f64;
            before[place] + share * (before[place + 1] - before[place])
        };
        at(until) - at(until - days)
    }

    /// What is lost, in days, from the first of the missed changes to `until`.
    pub fn loss(&self, missed: &[f64], until: f64) -> f64 {
        let Some(first) = missed.first() else {
            return 0.0;
        };
        match self {
            Self::Fresh | Self::Skewed(..) => self.accesses(until, until - first),
            Self::Degrading(units) => {
                // Between two changes the sum grows evenly: slope × time + sum.
                let mut slope = 0.0;
                let mut sum = 0.0;
                let mut lost = 0.0;
                let ends = missed[1..].iter().chain([&until]);
                for (number, (from, to)) in (1_u32..).zip(missed.iter().zip(ends)) {
                    slope += f64::from(number) * units;
                    lost += degraded(sum, slope, to - from);
                    sum += slope * (to - from);
                }
                lost
            }
        }
    }
}

/// ∫ max(0, 1 − 1/(sum + slope t)) dt over `days`.
fn degraded(sum: f64, slope: f64, days: f64) -> f64 {
    let end = sum + slope * days;
    if end <= 1.0 {
        return 0.0;
    }
    let start = sum.max(1.0);
    ((end - start) - Real::ln(end / start)) / slope
}

#[derive(Clone, Copy, Default)]
struct Cursor {
    change: usize,
    signal: usize,
}

fn poisson(rate: f64, days: f64, random: &mut Random) -> Vec<f64> {
    let mut at = 0.0;
    std::iter::from_fn(|| {
        at += exponential(random) / rate;
        (at < days).then_some(at)
    })
    .collect()
}

fn tell(page: &mut Page, help: Help, days: f64, cycle: f64, random: &mut Random) {
    match help {
        Help::Normal => {}
        Help::Smart { recall, precision } => {
            page.signals = page
                .changes
                .iter()
                .copied()
                .filter(|_| unit(random) <= recall)
                .collect();
            if precision < 1.0 {
                let wrong = recall * page.rate * (1.0 - precision) / precision;
                page.signals.extend(poisson(wrong, days, random));
            }
        }
        Help::Super { precision } => {
            let guess =
                |at: &f64, random: &mut Random| (at / cycle).floor() * cycle + unit(random) * cycle;
            for at in &page.changes {
                page.announced.push(if unit(random) <= precision {
                    *at
                } else {
                    guess(at, random)
                });
            }
            // An announcement counts as a signal when its time comes; one that is right is not
            // counted twice.
            page.signals = page.changes.clone();
            page.signals.extend(
                page.announced
                    .iter()
                    .filter(|at| !page.changes.contains(at)),
            );
        }
    }
    page.signals.sort_by(f64::total_cmp);
    page.announced.sort_by(f64::total_cmp);
}

/// Who decides what to fetch next.
pub trait Crawler {
    /// The host of a page says that it changed.
    fn signal(&mut self, page: usize, now: f64);
    /// There is time for one fetch.
    fn choose(&mut self, now: f64) -> Option<usize>;
    /// The page was fetched, and had changed or not.
    fn fetched(&mut self, page: usize, now: f64, changed: bool);
}

/// The page of the largest score.
fn best(scores: impl Iterator<Item = f64>) -> Option<usize> {
    scores
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(page, _)| page)
}

/// Xu §4: at the beginning of a cycle all known updates, past and announced, get a score; the best
/// are assigned to the cycle's slots, announced ones to the first free slot after their time.
#[derive(Debug)]
pub struct XuCrawler<'a> {
    world: &'a World,
    accesses: &'a Measure,
    slots: usize,
    slot: usize,
    plan: Vec<Option<usize>>,
    pages: Vec<Scored>,
}

/// What is kept of a page: as [`scores::ScoredPage`], for accesses that are not steady.
#[derive(Clone, Copy, Debug, Default)]
struct Scored {
    crawled: f64,
    first_missed: f64,
    missed: scores::Missed<f64>,
}

/// Days between visits that a policy may expect.
const USUAL_DAYS: f32 = 5.0;
/// All accesses to all pages in a day; Xu's traces have some hundreds.
const ACCESSES: f64 = 1_000.0;

impl<'a> XuCrawler<'a> {
    /// Fetches `per_day` pages a day, and counts steady accesses.
    pub fn new(world: &'a World, per_day: f64) -> Self {
        Self::counting(world, per_day, &Measure::Fresh)
    }

    /// Counts the accesses that there are.
    pub fn counting(world: &'a World, per_day: f64, accesses: &'a Measure) -> Self {
        Self {
            world,
            accesses,
            slots: (per_day * world.cycle).round() as usize,
            slot: 0,
            plan: vec![],
            pages: vec![Scored::default(); world.pages.len()],
        }
    }

    /// Accesses to a page in the last `days` before `until`.
    fn accesses(&self, page: usize, until: f64, days: f64) -> f64 {
        self.world.pages[page].weight * ACCESSES * self.accesses.accesses(until, days)
    }

    /// Equations 4 to 7, out of `all` accesses to all pages.
    fn score(&self, index: usize, kind: ProviderKind, now: f64, all: f64, future: f64) -> f64 {
        let page = &self.pages[index];
        let accesses = |from: f64| self.accesses(index, now, (now - from).max(0.0));
        let missed = || page.missed.score(now, accesses(page.first_missed));
        match kind {
            ProviderKind::Normal => {
                scores::normal(now - page.crawled, accesses(page.crawled), 1.0) / all.max(1.0)
            }
            ProviderKind::Smart => missed() / all.max(1.0),
            ProviderKind::Super => scores::unified(missed(), all, future),
        }
    }

    fn make_plan(&mut self, now: f64) {
        let cycle = self.world.cycle;
        let per_slot = self.world.cycle / self.slots as f64;
        let mut updates: Vec<(f64, usize, usize)> = Vec::new();
        let all = ACCESSES * self.accesses.accesses(now, now).max(cycle);
        for (index, page) in self.world.pages.iter().enumerate() {
            let (kind, probability) = match self.world.hosts[page.host] {
                Help::Normal => (ProviderKind::Normal, 0.0),
                Help::Smart { .. } => (ProviderKind::Smart, 0.0),
                Help::Super { precision } => (ProviderKind::Super, precision),
            };
            let past = self.score(index, kind, now, all, 0.0);
            if past > 0.0 {
                updates.push((past, 0, index));
            }
            let future = scores::Future {
                probability,
                last_cycle: self.accesses(index, now, cycle),
                earlier_cycles: self.accesses(index, now - cycle, 4.0 * cycle),
            }
            .score();
            let score = self.score(index, kind, now, all, future);
            let ahead = page
                .announced
                .iter()
                .filter(|at| **at > now && **at <= now + cycle);
            updates.extend(ahead.map(|at| (score, ((at - now) / per_slot).ceil() as usize, index)));
        }
        updates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
        self.plan = vec![None; self.slots];
        for (_, earliest, page) in updates {
            if let Some(free) = self
                .plan
                .iter_mut()
                .skip(earliest)
                .find(|slot| slot.is_none())
            {
                *free = Some(page);
            }
        }
    }
}

impl Crawler for XuCrawler<'_> {
    fn signal(&mut self, page: usize, now: f64) {
        let first = match self.pages[page].missed.changes() {
            0 => now,
            _ => self.pages[page].first_missed,
        };
        let stale = self.accesses(page, now, (now - first).max(0.0));
        self.pages[page].first_missed = first;
        self.pages[page].missed.change(now, stale);
    }

    fn choose(&mut self, now: f64) -> Option<usize> {
        if self.slot.is_multiple_of(self.slots) {
            self.make_plan(now);
        }
        self.slot += 1;
        self.plan[(self.slot - 1) % self.slots]
    }

    fn fetched(&mut self, page: usize, now: f64, _: bool) {
        self.pages[page] = Scored {
            crawled: now,
            missed: scores::Missed::crawled(now),
            ..self.pages[page]
        };
    }
}

/// How the index crawler values a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// As if nobody had told anything.
    Deaf,
    /// By the age at which a page without signals would be as likely stale: what a scheduler on a
    /// device computes.
    EquivalentAge,
    /// By the whole sum.
    Exact,
}

/// Fetches what is worth most now, from rates, recall and precision that it learns on the way.
#[derive(Debug)]
pub struct IndexCrawler<'a> {
    world: &'a World,
    value: Value,
    pages: Vec<(Estimate, f64, u32)>,
    hosts: Vec<(HostPrior, Provider)>,
    settings: LearningSettings,
    informed: bool,
}

fn page_rate(world: &World, page: usize) -> f32 {
    world.pages[page].rate as f32
}

fn true_signals(world: &World, page: usize) -> Signals<f32> {
    let (recall, precision) = match world.hosts[world.pages[page].host] {
        Help::Normal => (0.0, 0.0),
        Help::Smart { recall, precision } => (recall, precision),
        // Every change sends a signal, and every wrong announcement sends one more.
        Help::Super { precision } => (1.0, 1.0 / (2.0 - precision)),
    };
    Signals::new(page_rate(world, page), recall as f32, precision as f32)
}

impl<'a> IndexCrawler<'a> {
    /// Knows the rates, and how far each host is to be believed.
    pub fn informed(world: &'a World, value: Value) -> Self {
        Self {
            informed: true,
            ..Self::new(world, value)
        }
    }

    /// Knows nothing but the weights.
    pub fn new(world: &'a World, value: Value) -> Self {
        let host = (HostPrior::new(), Provider::new());
        let start = host.0.prior(&HostPrior::of_gap(USUAL_DAYS));
        Self {
            world,
            value,
            pages: vec![(Estimate::new(&start), 0.0, 0); world.pages.len()],
            hosts: vec![host; world.hosts.len()],
            settings: LearningSettings::DEFAULT,
            informed: false,
        }
    }

    /// What is believed of each page's rate, and of each host.
    pub fn learnt(&self) -> (impl Iterator<Item = f64>, impl Iterator<Item = Provider>) {
        (
            self.pages.iter().map(|page| f64::from(page.0.rate())),
            self.hosts.iter().map(|host| host.1),
        )
    }

    fn worth(&self, page: usize, now: f64) -> f64 {
        let (estimate, fetched, signals) = &self.pages[page];
        let provider = &self.hosts[self.world.pages[page].host].1;
        let (rate, signals_of_page) = match self.informed {
            true => (page_rate(self.world, page), true_signals(self.world, page)),
            false => (estimate.rate(), provider.signals(estimate.rate())),
        };
        let days = (now - fetched) as f32;
        let plain = |age| Signals::new(rate, 0.0, 0.0).value(age, 0);
        let value = match self.value {
            Value::Deaf => plain(days),
            Value::EquivalentAge => plain(signals_of_page.equivalent_age(days, *signals)),
            Value::Exact => signals_of_page.value(days, *signals),
        };
        self.world.pages[page].weight * f64::from(value)
    }
}

impl Crawler for IndexCrawler<'_> {
    fn signal(&mut self, page: usize, _: f64) {
        self.pages[page].2 += 1;
    }

    fn choose(&mut self, now: f64) -> Option<usize> {
        best((0..self.pages.len()).map(|page| self.worth(page, now)))
    }

    fn fetched(&mut self, page: usize, now: f64, changed: bool) {
        let (estimate, fetched, signals) = &mut self.pages[page];
        let (prior, provider) = &mut self.hosts[self.world.pages[page].host];
        let visit = Visit::new(Duration::from_days(now - *fetched), changed);
        if self.value == Value::Deaf {
            estimate.update(&visit, &self.settings);
        } else {
            estimate.update_signalled(&visit, *signals, provider, &self.settings);
            provider.update(&visit, *signals, estimate.rate());
        }
        prior.update(estimate, visit.interval.as_days::<f32>() / USUAL_DAYS);
        *fetched = now;
        *signals = 0;
    }
}
