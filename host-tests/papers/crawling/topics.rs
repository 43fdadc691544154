//! Figures 2.12, 2.14 and 2.15: pages about a topic.

use dunlin_host::crawl::generate::{Web, generate};
use dunlin_host::crawl::graph::Graph;
use dunlin_host::crawl::order::SeenRank;
use dunlin_host::simulate::repeat::parallel;

use super::{SEED, percent, reachable};
use crate::Settings;
use crate::page::{Section, Verdict};

/// How URLs of one queue are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Breadth,
    Backlink,
    Pagerank,
}

const ORDERS: [(&str, Order); 3] = [
    ("breadth first", Order::Breadth),
    ("IB'", Order::Backlink),
    ("IR'", Order::Pagerank),
];

/// What is known of a topic.
struct Topic {
    name: &'static str,
    /// The pages that are about it.
    hot: Vec<bool>,
    /// Pages whose URLs, or the links to them, hold the word.
    named: Vec<bool>,
}

impl Topic {
    /// Pages are about it by chance, and if the page is that leads to them: "if a page has a high
    /// IS value, then its children are likely to have one" (§2.6.3).
    fn new(graph: &Graph, name: &'static str, chance: f64, seed: u64) -> Self {
        let mut state = seed;
        let mut unit =
            move || (dunlin::math::split_mix(&mut state) >> 11) as f64 / (1_u64 << 53) as f64;
        let mut hot = vec![false; graph.len()];
        let mut met = vec![false; graph.len()];
        // Pages are numbered in the order in which a walk from the first one meets them.
        for page in 0..graph.len() {
            for target in graph.targets(page).iter().map(|target| *target as usize) {
                if !std::mem::replace(&mut met[target], true) {
                    let likely = if hot[page] { 0.6 } else { chance };
                    hot[target] = unit() < likely;
                }
            }
        }
        let named = hot.iter().map(|hot| unit() < if *hot { 0.3 } else { 0.01 });
        let named = named.collect();
        Self { name, hot, named }
    }
}

/// Links from a page about the topic within which a URL counts as hot.
const NEAR: u32 = 3;

/// Crawls everything, URLs of the hot queue first (Figures 2.11 and 2.13); the share of hot pages
/// that was crawled with each twentieth of the web.
fn crawl(graph: &Graph, topic: &Topic, order: Order, by_distance: bool) -> Vec<f64> {
    let all = topic.hot.iter().filter(|hot| **hot).count().max(1) as f64;
    let interval = (graph.len() / 100).max(1);
    let mut ranks = SeenRank::new(graph);
    let mut links = vec![0_u32; graph.len()];
    let mut far = vec![u32::MAX; graph.len()];
    let mut place = vec![None; graph.len()];
    let mut queue = vec![0_usize];
    place[0] = Some(0);
    let mut known = 1;
    let mut crawled = 0;
    let mut found = 0;
    let mut shares = vec![0.0];
    while !queue.is_empty() {
        let rank = |page: usize| {
            let is_hot = topic.named[page] || by_distance && far[page] < NEAR;
            let worth = match order {
                Order::Breadth => 0.0,
                Order::Backlink => f64::from(links[page]),
                Order::Pagerank => ranks.of(page),
            };
            (is_hot, worth, std::cmp::Reverse(place[page]))
        };
        let best = (0..queue.len()).max_by(|one, other| {
            let one = rank(queue[*one]);
            let other = rank(queue[*other]);
            let by_queue = one.0.cmp(&other.0).then(one.1.total_cmp(&other.1));
            by_queue.then(one.2.cmp(&other.2))
        });
        let page = queue.swap_remove(best.unwrap_or(0));
        crawled += 1;
        found += usize::from(topic.hot[page]);
        let own = if topic.hot[page] { 0 } else { far[page] };
        for target in graph.targets(page).iter().map(|target| *target as usize) {
            links[target] += 1;
            far[target] = far[target].min(own.saturating_add(1));
            if place[target].is_none() {
                place[target] = Some(known);
                known += 1;
                queue.push(target);
            }
        }
        ranks.crawled(page);
        if order == Order::Pagerank && crawled % interval == 0 {
            ranks.renew();
        }
        if crawled * 20 / graph.len() >= shares.len() {
            shares.push(found as f64 / all);
        }
    }
    shares
}

/// How much earlier than by chance, on average over the crawl.
fn ahead(shares: &[f64]) -> f64 {
    let steps = shares.len() as f64 - 1.0;
    let chance = |step: usize| step as f64 / steps;
    let ahead = shares
        .iter()
        .enumerate()
        .map(|(step, share)| share - chance(step));
    ahead.sum::<f64>() / (steps + 1.0)
}

pub fn tabulate(section: &mut Section, settings: &Settings) {
    let pages = settings.size(1_500, 10_000);
    let graph = reachable(&generate(&Web::new(pages, settings.size(30, 200)), SEED));
    let topics = [
        Topic::new(&graph, "computer", 0.03, SEED),
        Topic::new(&graph, "admission", 0.006, SEED + 1),
    ];
    let shares = topics.each_ref().map(|topic| {
        let hot = topic.hot.iter().filter(|hot| **hot).count();
        percent(hot as f64 / graph.len() as f64)
    });
    section.part(
        "Figures 2.12, 2.14 and 2.15: a topic",
        &format!(
            "A page is about the topic by chance, or likely if the page is that leads to it first ({} of the pages for *{}*, {} for *{}*); three of ten such pages have the word \
             in their URLs or in links to them, one of a hundred others does. *Basic* crawls those first (Figure 2.11), *modified* also what is fewer than {NEAR} links \
             from a page about the topic (Figure 2.13).",
            shares[0], topics[0].name, shares[1], topics[1].name
        ),
    );
    let cases: Vec<(usize, bool, usize)> = [(0, false), (0, true), (1, true)]
        .into_iter()
        .flat_map(|(topic, modified)| (0..ORDERS.len()).map(move |order| (topic, modified, order)))
        .collect();
    let found = parallel(cases.len(), |at| {
        let (topic, modified, order) = cases[at];
        crawl(&graph, &topics[topic], ORDERS[order].1, modified)
    });
    let rows: Vec<Vec<String>> = cases
        .iter()
        .zip(&found)
        .map(|((topic, modified, order), shares)| {
            let kind = if *modified { "modified" } else { "basic" };
            let name = format!("{}, {kind}, {}", topics[*topic].name, ORDERS[*order].0);
            let at = |step: usize| format!("{:.2}", shares.get(step).copied().unwrap_or(1.0));
            vec![
                name,
                at(2),
                at(4),
                at(10),
                at(16),
                format!("{:.3}", ahead(shares)),
            ]
        })
        .collect();
    section.table(
        &["crawl", "10 %", "20 %", "50 %", "80 %", "ahead of chance"],
        &rows,
    );
    let ahead: Vec<f64> = found.iter().map(|shares| ahead(shares)).collect();
    let basic = &ahead[..3];
    let modified = &ahead[3..6];
    let other = &ahead[6..];
    let words = |of: &[f64]| {
        format!(
            "{:.3}, {:.3} and {:.3} ahead of chance (breadth first, IB', IR')",
            of[0], of[1], of[2]
        )
    };
    section.claim(
        "Figure 2.12",
        "IB' and IR' are no better than chance if only words in URLs and links count",
        "neither",
        words(basic),
        Verdict::of(basic[1] <= 0.02 && basic[2] <= 0.02),
    );
    section.claim(
        "Figure 2.12",
        "breadth first is the best",
        "best of the three",
        words(basic),
        Verdict::of(basic[0] >= basic[1] && basic[0] >= basic[2]),
    );
    for (figure, of) in [("Figure 2.14", modified), ("Figure 2.15", other)] {
        section.claim(
            figure,
            "with the distance from pages about the topic, every crawl is well ahead of chance",
            "all three",
            words(of),
            Verdict::of(of.iter().all(|ahead| *ahead > 0.1)),
        );
    }
    let gains: Vec<f64> = modified
        .iter()
        .zip(basic)
        .map(|(more, less)| more - less)
        .collect();
    section.claim(
        "Figure 2.14",
        "every crawl gains by the distance",
        "all three",
        format!("{:+.3}, {:+.3}, {:+.3}", gains[0], gains[1], gains[2]),
        Verdict::of(gains.iter().all(|gain| *gain > 0.0)),
    );
    let spread = |of: &[f64]| {
        let most = of.iter().copied().fold(f64::MIN, f64::max);
        most - of.iter().copied().fold(f64::MAX, f64::min)
    };
    section.claim(
        "Figure 2.14",
        "breadth first and the others come nearer to each other",
        "nearer",
        format!(
            "{:.3} apart, {:.3} without the distance",
            spread(modified),
            spread(basic)
        ),
        Verdict::of(spread(modified) < spread(basic)),
    );
    section.limit(
        "topic crawls with words and distance are ahead of chance by 0.04 on average over the crawl",
        modified.iter().chain(other).all(|ahead| *ahead > 0.04),
    );
}
