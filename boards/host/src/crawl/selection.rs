//! Selection models (Cho §2.3): how good is what was crawled when the crawl stops?

use dunlin::rank::Topic;
use serde::Serialize;

use super::graph::{Graph, best_first};
use super::order::{VisitOrder, crawl};
use crate::output::progress::Progress;

/// What a crawl is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Importance {
    /// Links to a page (IB)
    Backlink,
    /// PageRank of a page (IR)
    Pagerank,
}

impl Importance {
    /// The importance of every page of a graph.
    pub fn of(self, graph: &Graph) -> Vec<f64> {
        match self {
            Self::Backlink => graph.backlinks(),
            Self::Pagerank => graph.page_rank(),
        }
    }
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Point {
    /// Pages that were crawled.
    pub crawled: usize,
    /// The share of hot pages among them, or of those that are held.
    pub share: f64,
}

/// Crawls at most `pages` pages. The curve says, for each hundredth of the web, which share of the
/// pages that are `hot` was crawled by then: P_ST if hot pages are those above a threshold. The
/// second figure is the share of hot pages among as many that were crawled, P_CS.
pub fn curve(
    graph: &Graph,
    order: VisitOrder,
    topic: &Topic,
    seeds: &[usize],
    pages: usize,
    hot: &[bool],
    seed: u64,
) -> Vec<Point> {
    let total = hot.iter().filter(|is_hot| **is_hot).count().max(1) as f64;
    let interval = (graph.len() / 100).max(1);
    let mut points = Vec::new();
    let mut crawled = 0;
    let mut found = 0;
    let mut progress = Progress::new("crawling", pages as u64);
    crawl(graph, order, topic, seeds, pages, seed, &mut |page| {
        crawled += 1;
        progress.at(crawled as u64);
        found += usize::from(hot[page]);
        if crawled % interval == 0 || crawled == pages {
            let share = found as f64 / total;
            points.push(Point { crawled, share });
        }
    });
    points
}

/// The `count` best pages of a measure.
pub fn hottest(measure: &[f64], count: usize) -> Vec<bool> {
    let mut hot = vec![false; measure.len()];
    for page in best_first(measure).into_iter().take(count) {
        hot[page] = true;
    }
    hot
}

/// Pages of at least this importance.
pub fn above(measure: &[f64], threshold: f64) -> Vec<bool> {
    measure.iter().map(|value| *value >= threshold).collect()
}

/// A crawl of everything with room for `room` pages only: when it is full, the least important page
/// goes, by what the crawler has seen of it. The curve says which share of the `room` best pages is
/// held (P_BC).
pub fn limited_buffer(
    graph: &Graph,
    order: VisitOrder,
    topic: &Topic,
    seeds: &[usize],
    room: usize,
    measure: &[f64],
    seed: u64,
) -> Vec<Point> {
    let hot = hottest(measure, room);
    let interval = (graph.len() / 100).max(1);
    let mut held: Vec<usize> = Vec::new();
    // Links to each page that were seen so far: what random and breadth-first crawls have, too.
    let mut seen = vec![0_u32; graph.len()];
    let mut points = Vec::new();
    let mut crawled = 0;
    let mut progress = Progress::new("crawling", graph.len() as u64);
    crawl(graph, order, topic, seeds, graph.len(), seed, &mut |page| {
        for target in graph.targets(page) {
            seen[*target as usize] += 1;
        }
        held.push(page);
        if held.len() > room {
            let least = (0..held.len()).min_by_key(|at| (seen[held[*at]], held[*at]));
            held.swap_remove(least.unwrap_or(0));
        }
        crawled += 1;
        progress.at(crawled as u64);
        if crawled % interval == 0 || crawled == graph.len() {
            let good = held.iter().filter(|page| hot[**page]).count();
            let share = good as f64 / room as f64;
            points.push(Point { crawled, share });
        }
    });
    points
}
