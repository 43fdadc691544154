//! A crawl of a graph, page by page, in the order that a frontier gives.

use std::collections::HashMap;

use dunlin::discover::{
    Candidate, Frontier, FrontierSettings, Memory, Offer, Target, UrlLimits, Verdict,
    directory_digest,
};
use dunlin::fetch::Url;
use dunlin::rank::{Account, Topic, location};

use super::generate::Random;
use super::graph::Graph;

/// In what order pages are crawled (Cho §2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Any page that is known
    Random,
    /// Pages in the order in which they were found
    Breadth,
    /// Pages that most pages link to, as far as was seen
    Backlink,
    /// Pages of the highest PageRank, as far as was seen
    Pagerank,
    /// Pages whose URLs look important
    Location,
    /// Pages whose URLs hold topic words, those that many link to first
    Topic,
}

/// A page's digest in a simulation: no two are alike.
pub fn digest(page: usize) -> u32 {
    (page as u32 + 1).wrapping_mul(0x9e37_79b1)
}

/// Memory of a frontier of any size.
#[derive(Debug)]
pub struct Room {
    accounts: Vec<Account>,
    order: Vec<u16>,
    candidates: Vec<Candidate>,
    doorkeeper: Vec<u8>,
    directories: Vec<u8>,
}

impl Room {
    /// For so many pages and candidates.
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
        let memory = Memory {
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
pub struct Reader<'g> {
    graph: &'g Graph,
    topic: Topic,
    key: [u8; 16],
    /// Pages in the order in which they were found: what a log of texts is on a device.
    found: Vec<u32>,
    places: HashMap<u32, u32>,
}

impl<'g> Reader<'g> {
    /// Of this graph.
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

    /// Meets a link: what is new is offered to the frontier.
    fn meet(&mut self, frontier: &mut Frontier<'_>, page: usize) {
        let url = Url::parse(self.graph.url(page)).ok();
        let directory = url.map_or(1, |url| directory_digest(&url, &self.key));
        let host = self.graph.host(page);
        if url.is_some_and(|url| UrlLimits::DEFAULT.check(&url).is_err()) {
            return;
        }
        if frontier.seen(digest(page), directory, host) == Target::New {
            let mut newcomer = Candidate::new(digest(page), host, self.text(page));
            newcomer.set_verdict(Verdict::Allowed);
            let by_url = url.map_or(1.0, |url| {
                location(&url)
                    * self
                        .topic
                        .worth(self.topic.in_text(self.graph.url(page).as_bytes()))
            });
            newcomer.set_worth(by_url);
            let _: Offer = frontier.offer(newcomer, directory);
        }
    }
}

/// Settings under which nothing is refused: a simulation has room for all.
pub fn open_settings() -> FrontierSettings {
    FrontierSettings {
        sightings: 0,
        directory: u8::MAX,
        ..FrontierSettings::DEFAULT
    }
}

/// Crawls a graph from its seeds, at most so many pages, and hands each page to `crawled`, with the
/// frontier as it is then.
pub fn crawl(
    graph: &Graph,
    order: Order,
    topic: &Topic,
    seeds: &[usize],
    pages: usize,
    seed: u64,
    crawled: &mut dyn FnMut(usize),
) {
    let mut room = Room::new(graph.len(), 8 * graph.len().max(8));
    let mut frontier = room.frontier(open_settings(), seed);
    let mut reader = Reader::new(graph, topic.clone());
    let mut random = Random(seed);
    let mut queue: Vec<usize> = seeds.iter().rev().copied().collect();
    let mut kept: Vec<usize> = Vec::new();
    // Cash goes round once for each hundredth that is crawled, as the thesis recomputes PageRank.
    let interval = (graph.len() / 100).max(1);
    while kept.len() < pages {
        let next = queue.pop().or_else(|| {
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
        if order == Order::Pagerank && kept.len().is_multiple_of(interval) {
            for (place, page) in kept.iter().enumerate() {
                reader.visit(&mut frontier, *page, place as u16);
            }
        }
    }
}

/// The candidate that comes next.
fn choose(frontier: &Frontier<'_>, order: Order, random: &mut Random) -> Option<u32> {
    let candidates = frontier.candidates();
    let importance = |candidate: &Candidate| match order {
        Order::Random | Order::Breadth => 0.0,
        Order::Backlink => f32::from(candidate.backlinks()),
        Order::Pagerank => candidate.income(),
        Order::Location => candidate.worth(),
        Order::Topic => {
            // On topic first, and of those the ones that many link to.
            candidate.worth() + f32::from(candidate.backlinks()) * 1e-4
        }
    };
    if order == Order::Random {
        let at = random.below(candidates.len());
        return candidates.iter().nth(at).map(Candidate::digest);
    }
    candidates.best(&importance).map(Candidate::digest)
}
