//! A crawl of a graph, page by page, in the order that a frontier gives.

use std::collections::HashMap;

use dunlin::discover::{
    Candidate, Frontier, FrontierMemory, FrontierSettings, Placement, Target, UrlLimits,
    directory_digest,
};
use dunlin::fetch::Url;
use dunlin::fetch::robots::Verdict;
use dunlin::rank::{Account, Measure, Topic, location};

use super::generate::Random;
use super::graph::{DAMPING, Graph};

/// In what order pages are crawled (Cho §2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VisitOrder {
    /// Any page that is known
    Random,
    /// Pages in the order in which they were found
    Breadth,
    /// Pages that most pages link to, as far as was seen
    Backlink,
    /// Pages of the highest PageRank, computed anew from all links that were seen
    Pagerank,
    /// The same as a probe estimates it, which stores no links
    Cash,
    /// Pages whose URLs look important
    Location,
    /// Pages whose URLs hold topic words, those that many link to first
    Topic,
}

impl VisitOrder {
    /// What a collection is ranked by in this order; `None` if it is the order of a crawl that
    /// visits each page once. PageRank is what a probe makes of it, which stores no links.
    pub fn measure(self) -> Option<Measure> {
        const NONE: Measure = Measure {
            backlinks: false,
            page_rank: false,
            location: false,
            topic: false,
        };
        match self {
            Self::Random | Self::Breadth => None,
            Self::Pagerank | Self::Cash => Some(Measure::DEFAULT),
            Self::Backlink => Some(Measure {
                backlinks: true,
                ..NONE
            }),
            Self::Location => Some(Measure {
                location: true,
                ..NONE
            }),
            Self::Topic => Some(Measure {
                page_rank: true,
                topic: true,
                ..NONE
            }),
        }
    }
}

/// A page's digest in a simulation: no two are alike.
pub fn digest(page: usize) -> u32 {
    (page as u32 + 1).wrapping_mul(0x9e37_79b1)
}

/// Memory of a frontier of any size.
#[derive(Debug)]
pub struct FrontierRoom {
    accounts: Vec<Account>,
    order: Vec<u16>,
    candidates: Vec<Candidate>,
    doorkeeper: Vec<u8>,
    directories: Vec<u8>,
}

impl FrontierRoom {
    /// Makes room for so many pages and candidates.
    pub fn new(places: usize, candidates: usize) -> Self {
        Self {
            accounts: vec![Account::FREE; places],
            order: vec![0; places],
            candidates: vec![Candidate::default(); candidates.next_multiple_of(8)],
            doorkeeper: vec![0; 4096],
            directories: vec![0; 4096],
        }
    }

    /// Lent to a frontier.
    pub fn frontier(&mut self, settings: FrontierSettings, seed: u64) -> Frontier<'_> {
        let memory = FrontierMemory {
            accounts: &mut self.accounts,
            order: &mut self.order,
            candidates: &mut self.candidates,
            doorkeeper: &mut self.doorkeeper,
            directories: &mut self.directories,
        };
        Frontier::new(memory, settings, seed)
    }
}

/// What a simulated crawler knows of the graph: it reads links of a page when it visits it.
#[derive(Debug)]
pub struct GraphReader<'g> {
    graph: &'g Graph,
    topic: Topic,
    key: [u8; 16],
    /// Pages in the order in which they were found: what a log of texts is on a device.
    found: Vec<u32>,
    places: HashMap<u32, u32>,
}

impl<'g> GraphReader<'g> {
    /// A reader of this graph.
    pub fn new(graph: &'g Graph, topic: Topic) -> Self {
        Self {
            graph,
            topic,
            key: [7; 16],
            found: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// The page of a digest that was found.
    pub fn page(&self, digest: u32) -> Option<usize> {
        self.places.get(&digest).map(|page| *page as usize)
    }

    /// Remembers where the text of a page is.
    pub fn text(&mut self, page: usize) -> u32 {
        self.places.insert(digest(page), page as u32);
        self.found.push(page as u32);
        self.found.len() as u32
    }

    /// Reads the links of a page that is kept at a place: what is new is offered, and its cash goes
    /// to all of them.
    pub fn visit(&mut self, frontier: &mut Frontier<'_>, page: usize, place: u16) {
        let targets = self.graph.targets(page);
        let digests: Vec<u32> = targets.iter().map(|page| digest(*page as usize)).collect();
        for target in targets {
            self.meet(frontier, *target as usize);
        }
        frontier.visited(place, &digests);
    }

    /// What the URL of a page makes of it, 1 at most.
    pub fn worth(&self, page: usize) -> f32 {
        let text = self.graph.url(page);
        Url::parse(text).map_or(1.0, |url| {
            location(&url) * self.topic.worth(self.topic.in_text(text.as_bytes()))
        })
    }

    /// Meets a link: what is new is offered to the frontier.
    fn meet(&mut self, frontier: &mut Frontier<'_>, page: usize) {
        let url = Url::parse(self.graph.url(page)).ok();
        let host = self.graph.host(page);
        let directory = url.map_or(1, |url| directory_digest(&url, host, &self.key));
        if url.is_some_and(|url| UrlLimits::DEFAULT.check(&url).is_err()) {
            return;
        }
        if frontier.seen(digest(page), directory, host) == Target::New {
            let mut newcomer = Candidate::new(digest(page), host, self.text(page));
            newcomer.set_verdict(Verdict::Allowed);
            newcomer.set_worth(self.worth(page));
            let _: Placement = frontier.offer(newcomer, directory);
        }
    }
}

/// Settings under which nothing is refused: a simulation has room for all.
pub fn open_settings() -> FrontierSettings {
    FrontierSettings {
        sightings: 0,
        directory: None,
        ..FrontierSettings::DEFAULT
    }
}

/// Crawls a graph from its seeds, at most so many pages, and hands each page to `crawled`, with the
/// frontier as it is then.
pub fn crawl(
    graph: &Graph,
    order: VisitOrder,
    topic: &Topic,
    seeds: &[usize],
    pages: usize,
    seed: u64,
    crawled: &mut dyn FnMut(usize),
) {
    let mut room = FrontierRoom::new(graph.len(), 8 * graph.len().max(8));
    let mut frontier = room.frontier(open_settings(), seed);
    let mut reader = GraphReader::new(graph, topic.clone());
    let mut random = Random(seed);
    let mut queue: Vec<usize> = seeds.iter().rev().copied().collect();
    let mut kept: Vec<usize> = Vec::new();
    let mut ranks = SeenRank::new(graph);
    // Cash goes round once for each hundredth that is crawled, as the thesis recomputes PageRank.
    let interval = (graph.len() / 100).max(1);
    while kept.len() < pages {
        let next = queue.pop().or_else(|| {
            if order == VisitOrder::Pagerank {
                return best_by_rank(&frontier, &reader, &ranks);
            }
            let best = choose(&frontier, order, &mut random)?;
            reader.page(best)
        });
        let Some(page) = next else { break };
        let place = kept.len() as u16;
        if !frontier.keep(place, digest(page)) {
            continue;
        }
        kept.push(page);
        crawled(page);
        reader.visit(&mut frontier, page, place);
        ranks.crawled(page);
        if order == VisitOrder::Pagerank && kept.len().is_multiple_of(interval) {
            ranks.renew();
        }
        if order == VisitOrder::Cash && kept.len().is_multiple_of(interval) {
            for (place, page) in kept.iter().enumerate() {
                reader.visit(&mut frontier, *page, place as u16);
            }
        }
    }
}

/// The candidate of the highest PageRank, of equals the one that was found first.
fn best_by_rank(
    frontier: &Frontier<'_>,
    reader: &GraphReader<'_>,
    ranks: &SeenRank<'_>,
) -> Option<usize> {
    let candidates = frontier.candidates().iter();
    let pages =
        candidates.filter_map(|candidate| Some((reader.page(candidate.digest())?, candidate)));
    let best = pages.max_by(|(one, a), (other, b)| {
        let by_rank = ranks.of(*one).total_cmp(&ranks.of(*other));
        by_rank.then(b.text().cmp(&a.text()))
    });
    best.map(|(page, _)| page)
}

/// PageRank of what was seen so far (IR'), by all links of the pages that were crawled.
#[derive(Debug)]
pub struct SeenRank<'g> {
    graph: &'g Graph,
    crawled: Vec<u32>,
    is_known: Vec<bool>,
    known: usize,
    rank: Vec<f64>,
}

impl<'g> SeenRank<'g> {
    /// Rounds of one computation; it begins with what the last one has found.
    const ROUNDS: usize = 12;

    /// Nothing was crawled yet.
    pub fn new(graph: &'g Graph) -> Self {
        Self {
            graph,
            crawled: Vec::new(),
            is_known: vec![false; graph.len()],
            known: 0,
            rank: vec![0.0; graph.len()],
        }
    }

    /// A page was crawled: its links are known, and what they lead to counts as much as any page
    /// until ranks are computed anew.
    pub fn crawled(&mut self, page: usize) {
        self.crawled.push(page as u32);
        let targets = self.graph.targets(page).iter().map(|page| *page as usize);
        for page in targets.chain([page]) {
            if !std::mem::replace(&mut self.is_known[page], true) {
                self.known += 1;
                self.rank[page] = 1.0 - DAMPING;
            }
        }
    }

    /// Computes all ranks anew. Pages whose links are not known lead everywhere.
    pub fn renew(&mut self) {
        for _ in 0..Self::ROUNDS {
            let mut next = vec![0.0; self.graph.len()];
            let mut handed = 0.0;
            for page in &self.crawled {
                let targets = self.graph.targets(*page as usize);
                let own = self.rank[*page as usize];
                for target in targets {
                    next[*target as usize] += DAMPING * own / targets.len() as f64;
                }
                if !targets.is_empty() {
                    handed += own;
                }
            }
            let all: f64 = self.rank.iter().sum();
            let known = self.known as f64;
            let everywhere = 1.0 - DAMPING + DAMPING * (all - handed) / known;
            for (next, is_known) in next.iter_mut().zip(&self.is_known) {
                *next += if *is_known { everywhere } else { 0.0 };
            }
            self.rank = next;
        }
    }

    /// The rank of a page; 0 if nothing that was crawled leads to it.
    pub fn of(&self, page: usize) -> f64 {
        self.rank[page]
    }
}

/// The candidate that comes next.
fn choose(frontier: &Frontier<'_>, order: VisitOrder, random: &mut Random) -> Option<u32> {
    let candidates = frontier.candidates();
    let importance = |candidate: &Candidate| match order {
        VisitOrder::Random | VisitOrder::Breadth | VisitOrder::Pagerank => 0.0,
        VisitOrder::Backlink => f32::from(candidate.backlinks()),
        VisitOrder::Cash => candidate.income(),
        VisitOrder::Location => candidate.worth(),
        VisitOrder::Topic => {
            // On topic first, and of those the ones that many link to.
            candidate.worth() + f32::from(candidate.backlinks()) * 1e-4
        }
    };
    if order == VisitOrder::Random {
        let at = random.below(candidates.len());
        return candidates.iter().nth(at).map(Candidate::digest);
    }
    let best = candidates.best(&|candidate| Some(importance(candidate)));
    best.map(Candidate::digest)
}
