//! Several crawlers at work on one web (Cho ch. 3): what they miss, do twice, and have to tell
//! each other.

use std::collections::{HashSet, VecDeque};

use serde::Serialize;

use super::graph::Graph;

/// Who is responsible for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Partition {
    /// By its site: most links stay with one crawler
    Site,
    /// By its URL: most links lead to another one
    Url,
}

/// What a crawler does with a link to another's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// It forgets it
    Firewall,
    /// It follows it when it has nothing else to do
    CrossOver,
    /// It tells the other one
    Exchange,
}

/// Crawlers that share a web.
#[derive(Clone, Copy, Debug)]
pub struct Crawlers {
    /// How many.
    pub count: usize,
    /// Who is responsible for what.
    pub partition: Partition,
    /// What they do with each other's links.
    pub mode: Mode,
    /// Links to the so many most popular pages are not told: everybody knows those.
    pub replicated: usize,
    /// Pages that each may crawl at most.
    pub limit: usize,
}

/// What they achieve, in the words of §3.3.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Achieved {
    /// Pages that were downloaded, over and over again, for each that was downloaded at all, less
    /// one: (N − I) / I.
    pub overlap: f64,
    /// The share of the web that was downloaded: I / U.
    pub coverage: f64,
    /// URLs that were told for each page that was downloaded.
    pub communication: f64,
}

/// The crawler that is responsible for a page.
fn owner(graph: &Graph, partition: Partition, page: usize, count: usize) -> usize {
    let number = match partition {
        Partition::Site => u64::from(graph.host(page)),
        Partition::Url => page as u64,
    };
    let mut state = number;
    (dunlin::math::split_mix(&mut state) % count as u64) as usize
}

/// Crawls in turns, breadth first, each crawler from those of the seeds that are its own.
pub fn simulate(graph: &Graph, crawlers: &Crawlers, seeds: &[usize]) -> Achieved {
    let owner = |page: usize| owner(graph, crawlers.partition, page, crawlers.count);
    let popular: HashSet<usize> = super::graph::best_first(&graph.backlinks())
        .into_iter()
        .take(crawlers.replicated)
        .collect();
    let mut crews: Vec<Crew> = (0..crawlers.count).map(|_| Crew::default()).collect();
    for seed in seeds {
        crews[owner(*seed)].hear(*seed, true);
    }
    // Everybody knows the popular pages from the start, and who is responsible for them.
    for page in &popular {
        crews[owner(*page)].hear(*page, true);
    }
    let mut told = 0_usize;
    let mut reached: HashSet<usize> = HashSet::new();
    let mut downloads = 0;
    loop {
        let mut idle = true;
        for number in 0..crews.len() {
            let crosses = crawlers.mode == Mode::CrossOver;
            let Some(page) = crews[number].next(crosses, crawlers.limit) else {
                continue;
            };
            idle = false;
            downloads += 1;
            reached.insert(page);
            for target in graph.targets(page).iter().map(|target| *target as usize) {
                let other = owner(target);
                match crawlers.mode {
                    _ if other == number => crews[number].hear(target, true),
                    Mode::Firewall => {}
                    Mode::CrossOver => crews[number].hear(target, false),
                    Mode::Exchange if popular.contains(&target) => {}
                    Mode::Exchange => {
                        // Once told, it is remembered for as long as the batch lasts.
                        if crews[number].told.insert(target) {
                            told += 1;
                            crews[other].hear(target, true);
                        }
                    }
                }
            }
        }
        if idle {
            break;
        }
    }
    let distinct = reached.len().max(1) as f64;
    Achieved {
        overlap: (downloads as f64 - distinct) / distinct,
        coverage: reached.len() as f64 / graph.len().max(1) as f64,
        communication: told as f64 / (downloads as f64).max(1.0),
    }
}

/// One crawler's memory.
#[derive(Debug, Default)]
struct Crew {
    known: HashSet<usize>,
    own: VecDeque<usize>,
    foreign: VecDeque<usize>,
    told: HashSet<usize>,
    crawled: usize,
}

impl Crew {
    fn hear(&mut self, page: usize, is_own: bool) {
        if self.known.insert(page) {
            let queue = if is_own {
                &mut self.own
            } else {
                &mut self.foreign
            };
            queue.push_back(page);
        }
    }

    fn next(&mut self, crosses: bool, limit: usize) -> Option<usize> {
        if self.crawled >= limit {
            return None;
        }
        let foreign = || {
            if crosses {
                self.foreign.pop_front()
            } else {
                None
            }
        };
        let page = self.own.pop_front().or_else(foreign)?;
        self.crawled += 1;
        Some(page)
    }
}
