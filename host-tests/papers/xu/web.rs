//! The two webs of the page: simulated news, and real documents.

use dunlin_suite::bench::Random;
use host_tests::learn::providers::{Help, IndexCrawler, Measure, Page, Value, World, XuCrawler};
use host_tests::learn::scheduled::scheduled;

use crate::Settings;

/// A row of a table: what hosts tell, the skew of accesses, and crawls for each change.
pub struct Case {
    pub name: String,
    pub help: Box<dyn Fn(usize) -> Help + Sync>,
    pub theta: f64,
    pub capacity: f64,
    pub measure: Box<dyn Fn(f64, u64) -> Measure + Sync>,
}

impl Case {
    /// With the paper's skew, and as many crawls as changes.
    pub fn new(name: impl Into<String>, help: impl Fn(usize) -> Help + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            help: Box::new(help),
            theta: 0.85,
            capacity: 1.0,
            measure: Box::new(|_, _| Measure::Fresh),
        }
    }
}

/// Pages that change, made up or recorded.
pub enum Web {
    /// News: 150 pages on 15 hosts, rates from one change in 20 days to five a day, for so many
    /// days (61 in the paper). Crawled in cycles of 0.3 days.
    News { days: f64 },
    /// Two years of real changes, in cycles of two days.
    Real {
        pages: Vec<(usize, Vec<f64>)>,
        hosts: usize,
        changes_a_day: f64,
    },
}

const NEWS_HOSTS: usize = 15;
/// As many as there are changes.
const NEWS_PER_DAY: f64 = 160.0;
const REAL_DAYS: f64 = 730.0;

impl Web {
    /// Pages that changed at all in the last two years of the traces, and a sentence about them.
    pub fn real(settings: &Settings) -> (Self, String) {
        let traces = settings.traces();
        let from = traces.days - REAL_DAYS;
        let most = settings.size(60, 300);
        let recent = |changes: &[f64]| {
            changes
                .iter()
                .filter(|at| **at >= from)
                .map(|at| at - from)
                .collect::<Vec<f64>>()
        };
        let mut pages: Vec<(usize, Vec<f64>)> = traces
            .pages
            .iter()
            .map(|(host, changes)| (*host, recent(changes)))
            .filter(|page| !page.1.is_empty())
            .collect();
        pages.truncate(most);
        let changes: usize = pages.iter().map(|page| page.1.len()).sum();
        let about = format!(
            "{} pages that changed {changes} times in two years, from {}",
            pages.len(),
            traces.about
        );
        let web = Self::Real {
            hosts: traces.services,
            changes_a_day: changes as f64 / REAL_DAYS,
            pages,
        };
        (web, about)
    }

    fn days(&self) -> f64 {
        match self {
            Self::News { days } => *days,
            Self::Real { .. } => REAL_DAYS,
        }
    }

    /// As many fetches a day as there are changes.
    pub fn per_day(&self) -> f64 {
        match self {
            Self::News { .. } => NEWS_PER_DAY,
            Self::Real { changes_a_day, .. } => *changes_a_day,
        }
    }

    fn cycle(&self) -> f64 {
        match self {
            Self::News { .. } => 0.3,
            Self::Real { .. } => 2.0,
        }
    }

    /// Hosts that help as the case says of each; accesses by Zipf's law, in an order by chance.
    pub fn world(&self, case: &Case, seed: u64) -> World {
        let help = |hosts: usize| (0..hosts).map(&case.help).collect::<Vec<Help>>();
        match self {
            Self::News { days } => {
                World::new(&help(NEWS_HOSTS), *days, self.cycle(), seed).with_skew(case.theta, seed)
            }
            Self::Real { pages, hosts, .. } => {
                let mut random = Random(seed);
                let mut ranks: Vec<usize> = (1..=pages.len()).collect();
                for place in (1..ranks.len()).rev() {
                    ranks.swap(place, random.below(place as u32 + 1) as usize);
                }
                let pages = pages.iter().zip(ranks).map(|((host, changes), rank)| Page {
                    host: *host,
                    weight: (rank as f64).powf(-case.theta),
                    rate: changes.len() as f64 / REAL_DAYS,
                    changes: changes.clone(),
                    signals: vec![],
                    announced: vec![],
                });
                World::of(
                    pages.collect(),
                    &help(*hosts),
                    REAL_DAYS,
                    self.cycle(),
                    seed,
                )
            }
        }
    }

    /// Freshness by Xu's crawler, by the scheduler that ships, which learns, and by its index with
    /// rates that are known.
    pub fn all(&self, case: &Case, seed: u64) -> [f64; 3] {
        let world = self.world(case, seed);
        let per_day = self.crawls(case);
        let measure = (case.measure)(self.days(), seed);
        let [learning] = scheduled(&world, per_day, true, std::array::from_ref(&measure));
        let mut informed = IndexCrawler::informed(&world, Value::EquivalentAge);
        let mut xu = XuCrawler::counting(&world, per_day, &measure);
        [
            world.quality(&mut xu, per_day, &measure),
            learning,
            world.quality(&mut informed, per_day, &measure),
        ]
    }

    /// Freshness by Xu's crawler alone.
    pub fn xu(&self, case: &Case, seed: u64) -> f64 {
        let world = self.world(case, seed);
        let per_day = self.crawls(case);
        let measure = (case.measure)(self.days(), seed);
        let mut xu = XuCrawler::counting(&world, per_day, &measure);
        world.quality(&mut xu, per_day, &measure)
    }

    fn crawls(&self, case: &Case) -> f64 {
        (self.per_day() * case.capacity).max(1.0 / self.cycle())
    }
}
