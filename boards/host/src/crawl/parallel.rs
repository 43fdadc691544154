//! Several crawlers at work on one web (Cho ch. 3): what they miss, do twice, and have to tell
//! each other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use serde::Serialize;

use super::generate::Random;
use super::graph::{Graph, best_first};
use super::selection::hottest;

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
    /// It forgets such a link
    Firewall,
    /// It follows it when it has nothing else to do
    CrossOver,
    /// It tells the other one
    Exchange,
}

/// Crawlers that share a web.
#[derive(Clone, Copy, Debug)]
pub struct Crawlers {
    /// How many crawlers there are.
    pub count: usize,
    /// Who is responsible for what.
    pub partition: Partition,
    /// What they do with each other's links.
    pub mode: Mode,
    /// Pages that most links lead to come first, as far as a crawler knows (IB'); otherwise pages
    /// come in the order in which they were found.
    pub by_backlinks: bool,
    /// Pages that a crawler downloads before it tells the others what it has found for them: each
    /// URL once, with the number of links to it. Then it forgets that it has told them.
    pub batch: usize,
    /// Links to the so many most popular pages are not told: everybody knows those.
    pub replicated: usize,
    /// Pages that each may crawl at most.
    pub limit: usize,
}

impl Crawlers {
    /// So many, that tell each other every link at once.
    pub fn new(count: usize) -> Self {
        Self {
            count,
            partition: Partition::Site,
            mode: Mode::Exchange,
            by_backlinks: false,
            batch: 1,
            replicated: 0,
            limit: usize::MAX,
        }
    }

    /// The crawler that is responsible for a page.
    pub fn owner(&self, graph: &Graph, page: usize) -> usize {
        let mut state = match self.partition {
            Partition::Site => u64::from(graph.host(page)),
            Partition::Url => page as u64,
        };
        ((dunlin::math::split_mix(&mut state) >> 32) % self.count as u64) as usize
    }

    /// So many pages of each crawler's own, by chance: all of them if it has no more.
    pub fn seeds(&self, graph: &Graph, each: usize, seed: u64) -> Vec<usize> {
        self.seeds_by(graph, &|page| self.owner(graph, page), each, seed)
    }

    /// The same, where somebody else says who is responsible for a page.
    pub fn seeds_by(
        &self,
        graph: &Graph,
        owner: &dyn Fn(usize) -> usize,
        each: usize,
        seed: u64,
    ) -> Vec<usize> {
        let mut random = Random(seed);
        let mut own: Vec<Vec<usize>> = vec![Vec::new(); self.count];
        for page in 0..graph.len() {
            own[owner(page)].push(page);
        }
        let mut seeds = Vec::new();
        for pages in &mut own {
            for _ in 0..each.min(pages.len()) {
                seeds.push(pages.swap_remove(random.below(pages.len())));
            }
        }
        seeds
    }
}

/// What they achieve, in the words of §3.4.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Achieved {
    /// Pages that were downloaded, over and over again, for each that was downloaded at all, less
    /// one: (N − I) / I.
    pub overlap: f64,
    /// The share of the web that was downloaded: I / U.
    pub coverage: f64,
    /// The share of the I pages that most links lead to among the I that were downloaded.
    pub quality: f64,
    /// URLs that were told for each page that was downloaded.
    pub communication: f64,
}

/// Crawls in turns, each crawler from those of the seeds that are its own, and hands each download
/// to `downloaded`: the crawler, and the page.
pub fn simulate(
    graph: &Graph,
    crawlers: &Crawlers,
    seeds: &[usize],
    downloaded: &mut dyn FnMut(usize, usize),
) -> Achieved {
    let owner = |page: usize| crawlers.owner(graph, page);
    simulate_by(graph, crawlers, &owner, seeds, downloaded)
}

/// The same, where somebody else says who is responsible for a page.
pub fn simulate_by(
    graph: &Graph,
    crawlers: &Crawlers,
    owner: &dyn Fn(usize) -> usize,
    seeds: &[usize],
    downloaded: &mut dyn FnMut(usize, usize),
) -> Achieved {
    let backlinks = graph.backlinks();
    let popular: HashSet<usize> = best_first(&backlinks)
        .into_iter()
        .take(crawlers.replicated)
        .collect();
    let mut crews: Vec<Crew> = vec![Crew::default(); crawlers.count];
    // Everybody knows the popular pages from the start, and who is responsible for them.
    let known = best_first(&backlinks).into_iter();
    let known = seeds.iter().copied().chain(known.take(crawlers.replicated));
    for page in known {
        crews[owner(page)].hear(page, true, 0, crawlers.by_backlinks);
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
            downloaded(number, page);
            for target in graph.targets(page).iter().map(|target| *target as usize) {
                let other = owner(target);
                let crew = &mut crews[number];
                match crawlers.mode {
                    _ if other == number => crew.hear(target, true, 1, crawlers.by_backlinks),
                    Mode::Firewall => {}
                    Mode::CrossOver => crew.hear(target, false, 1, crawlers.by_backlinks),
                    Mode::Exchange if popular.contains(&target) => {}
                    Mode::Exchange => *crew.batch.entry(target).or_insert(0) += 1,
                }
            }
            if crews[number].crawled.is_multiple_of(crawlers.batch) {
                told += tell(&mut crews, number, crawlers, owner);
            }
        }
        // Who has nothing to do tells what it has: others may wait for that.
        if idle {
            let late: usize = (0..crews.len())
                .map(|number| tell(&mut crews, number, crawlers, owner))
                .sum();
            told += late;
            if late == 0 {
                break;
            }
        }
    }
    let distinct = reached.len().max(1);
    let hot = hottest(&backlinks, distinct);
    let good = reached.iter().filter(|page| hot[**page]).count();
    Achieved {
        overlap: (downloads - reached.len()) as f64 / distinct as f64,
        coverage: reached.len() as f64 / graph.len().max(1) as f64,
        quality: good as f64 / distinct as f64,
        communication: told as f64 / (downloads as f64).max(1.0),
    }
}

/// A crawler tells the others what it has found for them; how many URLs those are.
fn tell(
    crews: &mut [Crew],
    number: usize,
    crawlers: &Crawlers,
    owner: &dyn Fn(usize) -> usize,
) -> usize {
    let batch = std::mem::take(&mut crews[number].batch);
    for (page, links) in &batch {
        crews[owner(*page)].hear(*page, true, *links, crawlers.by_backlinks);
    }
    batch.len()
}

/// What one crawler remembers.
#[derive(Clone, Debug, Default)]
struct Crew {
    /// Links to each page that were seen or told.
    known: HashMap<usize, u32>,
    own: Queue,
    foreign: Queue,
    done: HashSet<usize>,
    /// What the others are to be told: pages, and links to them.
    batch: BTreeMap<usize, u32>,
    crawled: usize,
}

/// Pages with the most links first, and of equals those that were found first. A page stands in it
/// once for each number of links that it had.
type Queue = BinaryHeap<(u32, Reverse<usize>, usize)>;

impl Crew {
    fn hear(&mut self, page: usize, is_own: bool, links: u32, by_backlinks: bool) {
        let found = self.known.len();
        let is_new = !self.known.contains_key(&page);
        let count = self.known.entry(page).or_insert(0);
        *count += links;
        let rank = if by_backlinks { *count } else { 0 };
        if is_new || by_backlinks && links > 0 && !self.done.contains(&page) {
            let queue = if is_own {
                &mut self.own
            } else {
                &mut self.foreign
            };
            queue.push((rank, Reverse(found), page));
        }
    }

    fn next(&mut self, crosses: bool, limit: usize) -> Option<usize> {
        if self.crawled >= limit {
            return None;
        }
        loop {
            let foreign = || self.foreign.pop().filter(|_| crosses);
            let (_, _, page) = self.own.pop().or_else(foreign)?;
            if self.done.insert(page) {
                self.crawled += 1;
                return Some(page);
            }
        }
    }
}
