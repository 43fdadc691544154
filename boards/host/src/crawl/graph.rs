//! Pages and the links between them.

use std::collections::HashMap;

use dunlin::fetch::Url;

/// The chance that a reader follows a link, as in Cho §2.2.
pub(crate) const DAMPING: f64 = 0.9;
/// A web with more pages has places that the device's numbers do not reach.
pub const MOST_PAGES: usize = 60_000;

/// A web: pages by number, with their links.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    urls: Vec<String>,
    /// Where the links of each page begin in `targets`.
    starts: Vec<usize>,
    targets: Vec<u32>,
    /// The number of each page's host.
    hosts: Vec<u16>,
    host_count: usize,
}

impl Graph {
    /// From pages and links between them, each counted once; links of a page to itself are left
    /// out.
    pub fn new(urls: Vec<String>, mut links: Vec<(u32, u32)>) -> Self {
        links.retain(|(from, to)| from != to);
        links.sort_unstable();
        links.dedup();
        let mut starts = vec![0; urls.len() + 1];
        for (from, _) in &links {
            starts[*from as usize + 1] += 1;
        }
        for page in 0..urls.len() {
            starts[page + 1] += starts[page];
        }
        let mut known = HashMap::new();
        let hosts = urls.iter().map(|url| {
            let parsed = Url::parse(url).map(|url| (url.host_text().to_owned(), url.port()));
            let host = parsed.unwrap_or_else(|_| (url.clone(), 0));
            let next = known.len() as u16;
            *known.entry(host).or_insert(next)
        });
        let hosts = hosts.collect();
        Self {
            urls,
            starts,
            targets: links.into_iter().map(|(_, to)| to).collect(),
            hosts,
            host_count: known.len(),
        }
    }

    /// How many pages there are.
    pub fn len(&self) -> usize {
        self.urls.len()
    }

    /// Has it no pages?
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty()
    }

    /// How many links there are.
    pub fn links(&self) -> usize {
        self.targets.len()
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.host_count
    }

    /// The URL of a page, or what it is called.
    pub fn url(&self, page: usize) -> &str {
        &self.urls[page]
    }

    /// The number of a page's host.
    pub fn host(&self, page: usize) -> u16 {
        self.hosts[page]
    }

    /// The pages that a page links to.
    pub fn targets(&self, page: usize) -> &[u32] {
        &self.targets[self.starts[page]..self.starts[page + 1]]
    }

    /// How many pages link to each (IB).
    pub fn backlinks(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.len()];
        for target in &self.targets {
            counts[*target as usize] += 1.0;
        }
        counts
    }

    /// The exact PageRank of each page (IR), 1 on average. A page without links leads everywhere.
    pub fn page_rank(&self) -> Vec<f64> {
        let pages = self.len() as f64;
        let mut rank = vec![1.0; self.len()];
        for _ in 0..200 {
            let mut next = vec![0.0; self.len()];
            let mut lost = 0.0;
            for (page, own) in rank.iter().enumerate() {
                let targets = self.targets(page);
                if targets.is_empty() {
                    lost += own;
                }
                for target in targets {
                    next[*target as usize] += DAMPING * own / targets.len() as f64;
                }
            }
            let everywhere = 1.0 - DAMPING + DAMPING * lost / pages;
            next.iter_mut().for_each(|rank| *rank += everywhere);
            let change: f64 = rank
                .iter()
                .zip(&next)
                .map(|(old, new)| (old - new).abs())
                .sum();
            rank = next;
            if change < 1e-9 * pages {
                break;
            }
        }
        rank
    }
}

/// The pages of a measure in falling order, equals by number.
pub fn best_first(measure: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..measure.len()).collect();
    order.sort_by(|one, other| {
        measure[*other]
            .total_cmp(&measure[*one])
            .then(one.cmp(other))
    });
    order
}

/// Spearman's correlation of two measures: of ranks, equals sharing theirs.
pub fn rank_correlation(one: &[f64], other: &[f64]) -> f64 {
    let ranks = |measure: &[f64]| {
        let order = best_first(measure);
        let mut ranks = vec![0.0; measure.len()];
        let mut start = 0;
        while start < order.len() {
            // Figures that differ by rounding only are equal.
            let first = measure[order[start]];
            let equal = |page: &&usize| (measure[**page] - first).abs() <= 1e-6 * first.abs();
            let count = order[start..].iter().take_while(equal).count().max(1);
            let shared = start as f64 + (count - 1) as f64 / 2.0;
            for page in &order[start..start + count] {
                ranks[*page] = shared;
            }
            start += count;
        }
        ranks
    };
    let one = ranks(one);
    let other = ranks(other);
    let mean = (one.len() as f64 - 1.0) / 2.0;
    let product = |one: &[f64], other: &[f64]| -> f64 {
        let pairs = one.iter().zip(other);
        pairs
            .map(|(one, other)| (one - mean) * (other - mean))
            .sum()
    };
    product(&one, &other) / (product(&one, &one) * product(&other, &other)).sqrt()
}
