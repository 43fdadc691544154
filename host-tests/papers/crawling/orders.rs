//! Figures 2.3 to 2.10: orders and what they find, by links and by PageRank.

use dunlin::rank::Topic;
use dunlin_host::crawl::generate::{Web, generate};
use dunlin_host::crawl::graph::{Graph, best_first};
use dunlin_host::crawl::order::{VisitOrder, crawl};
use dunlin_host::crawl::selection::{above, hottest};
use dunlin_host::output::plot::{Line, lines};
use dunlin_host::simulate::repeat::parallel;

use super::{SEED, percent, reachable};
use crate::Settings;
use crate::page::{Printed, Section, Verdict};

const ORDERS: [(&str, VisitOrder); 5] = [
    ("IR'", VisitOrder::Pagerank),
    ("IB'", VisitOrder::Backlink),
    ("breadth first", VisitOrder::Breadth),
    ("random", VisitOrder::Random),
    ("cash", VisitOrder::Cash),
];
const PAGERANK: usize = 0;
const BACKLINK: usize = 1;
const BREADTH: usize = 2;
const RANDOM: usize = 3;
const CASH: usize = 4;

/// Points of a curve.
const STEPS: usize = 20;

/// A web, and the order in which each crawl has found its pages.
struct Crawled {
    graph: Graph,
    backlinks: Vec<f64>,
    page_rank: Vec<f64>,
    orders: Vec<Vec<usize>>,
}

/// Shares of hot pages that were crawled, by twentieths of the web.
type Curve = [f64; STEPS + 1];

impl Crawled {
    fn new(pages: usize, sites: usize) -> Self {
        let graph = reachable(&generate(&Web::new(pages, sites), SEED));
        let orders = parallel(ORDERS.len(), |at| {
            let mut found = Vec::with_capacity(graph.len());
            let topic = Topic::default();
            let count = graph.len();
            crawl(
                &graph,
                ORDERS[at].1,
                &topic,
                &[0],
                count,
                SEED,
                &mut |page| {
                    found.push(page);
                },
            );
            found
        });
        Self {
            backlinks: graph.backlinks(),
            page_rank: graph.page_rank(),
            graph,
            orders,
        }
    }

    /// Crawl & Stop with threshold: pages of `hot` among those that were crawled.
    fn threshold(&self, order: usize, hot: &[bool]) -> Curve {
        let all = hot.iter().filter(|hot| **hot).count().max(1) as f64;
        self.curve(|crawled| {
            let pages = self.orders[order].iter().take(crawled);
            pages.filter(|page| hot[**page]).count() as f64 / all
        })
    }

    /// Crawl & Stop: of as many best pages as were crawled.
    fn stop(&self, order: usize, measure: &[f64]) -> Curve {
        self.curve(|crawled| {
            let hot = hottest(measure, crawled);
            let pages = self.orders[order].iter().take(crawled);
            pages.filter(|page| hot[**page]).count() as f64 / crawled.max(1) as f64
        })
    }

    fn curve(&self, share: impl Fn(usize) -> f64) -> Curve {
        std::array::from_fn(|step| match step {
            0 => 0.0,
            step => share(step * self.graph.len() / STEPS),
        })
    }
}

/// The mean of a curve: how early hot pages come.
fn area(curve: &Curve) -> f64 {
    curve.iter().sum::<f64>() / curve.len() as f64
}

/// A table at some twentieths, and a plot.
fn show(section: &mut Section, file: &str, title: &str, curves: &[(String, Curve)]) {
    const SHOWN: [usize; 5] = [2, 4, 8, 12, 16];
    let head = SHOWN.map(|step| format!("{} %", 100 * step / STEPS));
    let columns: Vec<&str> = ["crawled"]
        .into_iter()
        .chain(head.iter().map(String::as_str))
        .collect();
    let row = |(name, curve): &(String, Curve)| {
        let cells = SHOWN.map(|step| format!("{:.2}", curve[step]));
        [name.clone()].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = curves.iter().map(row).collect();
    section.table(&columns, &rows);
    let drawn: Vec<Line> = curves
        .iter()
        .map(|(name, curve)| Line {
            name: name.clone(),
            points: curve
                .iter()
                .enumerate()
                .map(|(step, share)| (step as f64 / STEPS as f64, *share))
                .collect(),
        })
        .collect();
    let plot = lines(
        title,
        "share of the web crawled",
        "share of hot pages",
        &drawn,
    );
    section.plot(file, title, plot);
}

fn all_orders(curve: impl Fn(usize) -> Curve) -> Vec<(String, Curve)> {
    let orders = ORDERS.iter().enumerate();
    orders
        .map(|(at, (name, _))| ((*name).to_owned(), curve(at)))
        .collect()
}

/// The areas below the curves, in words.
fn areas(curves: &[(String, Curve)]) -> String {
    let parts = curves
        .iter()
        .map(|(name, curve)| format!("{name} {:.3}", area(curve)));
    parts.collect::<Vec<_>>().join(", ")
}

/// Is one order the best of those of the thesis, by the mean of its curve?
fn is_best(curves: &[(String, Curve)], best: usize) -> Verdict {
    let of = |order: usize| area(&curves[order].1);
    let others = [PAGERANK, BACKLINK, BREADTH, RANDOM];
    let behind = others.iter().filter(|order| of(**order) > of(best)).count();
    match behind {
        0 => Verdict::Holds,
        _ if others.iter().all(|order| of(*order) <= of(best) + 0.01) => Verdict::Near,
        _ => Verdict::Fails,
    }
}

pub fn tabulate(section: &mut Section, settings: &Settings) {
    let large = Crawled::new(settings.size(1_500, 10_000), settings.size(30, 200));
    figure_2_3(section, &large);
    figures_2_4_to_2_7(section, &large);
    prototype(section, &large);
    small(section, &Crawled::new(settings.size(1_100, 1_100), 1));
}

fn figure_2_3(section: &mut Section, web: &Crawled) {
    let pages = web.graph.len();
    section.part(
        "Figure 2.3: hot pages by links, crawled by IB'",
        &format!(
            "Crawl & Stop with threshold on a web of {pages} pages with {:.1} links each; a page is hot with G links to it or more.",
            web.graph.links() as f64 / pages as f64
        ),
    );
    let mut curves = Vec::new();
    for (threshold, printed) in [
        (3.0, Printed::percent(47.0)),
        (10.0, Printed::percent(10.0)),
        (100.0, Printed::new(0.8, 1).unit(" %")),
    ] {
        let hot = above(&web.backlinks, threshold);
        let share = hot.iter().filter(|hot| **hot).count() as f64 / pages as f64;
        section.figure(
            "§2.6.1",
            &format!("pages of at least {threshold} links"),
            printed,
            100.0 * share,
        );
        curves.push((format!("G = {threshold}"), web.threshold(BACKLINK, &hot)));
    }
    show(
        section,
        "crawling-2.3",
        "Figure 2.3: hot pages by links, crawled by IB'",
        &curves,
    );
    let early = |at: usize| curves[at].1[STEPS / 5];
    section.figure(
        "Figure 2.3",
        "hot pages (G = 100) that are crawled with a fifth of the web",
        Printed::new(0.5, 1),
        early(2),
    );
    let grows = early(2) > early(1) && early(1) > early(0);
    section.claim(
        "Figure 2.3",
        "the larger G, the faster hot pages are found",
        "at every G",
        format!(
            "{:.2}, {:.2}, {:.2} after a fifth",
            early(0),
            early(1),
            early(2)
        ),
        Verdict::of(grows),
    );
    section.limit("IB' finds pages with more links earlier", grows);
}

fn figures_2_4_to_2_7(section: &mut Section, web: &Crawled) {
    section.part(
        "Figures 2.4, 2.6 and 2.7: orders compared",
        "I = IB with G = 100, Crawl & Stop with threshold; I = IB, Crawl & Stop; I = IR, the best hundredth (G = 13 in print), with threshold. In print IR' \
         is the best of the three orders each time.",
    );
    let hot = above(&web.backlinks, 100.0);
    let by_links = all_orders(|order| web.threshold(order, &hot));
    show(
        section,
        "crawling-2.4",
        "Figure 2.4: pages of 100 links or more",
        &by_links,
    );
    let stop = all_orders(|order| web.stop(order, &web.backlinks));
    show(
        section,
        "crawling-2.6",
        "Figure 2.6: Crawl & Stop by links",
        &stop,
    );
    let best = hottest(&web.page_rank, web.graph.len() / 100);
    let by_rank = all_orders(|order| web.threshold(order, &best));
    show(
        section,
        "crawling-2.7",
        "Figure 2.7: the best hundredth by PageRank",
        &by_rank,
    );
    for (figure, curves) in [
        ("Figure 2.4", &by_links),
        ("Figure 2.6", &stop),
        ("Figure 2.7", &by_rank),
    ] {
        section.claim(
            figure,
            "IR' finds hot pages earlier than IB' and breadth first",
            "best of the three",
            format!("means of the curves: {}", areas(curves)),
            is_best(curves, PAGERANK),
        );
    }
    let apart = (area(&by_rank[BACKLINK].1) - area(&by_rank[BREADTH].1)).abs();
    section.claim(
        "Figure 2.7",
        "IB' and breadth first show similar performance",
        "similar",
        format!("{apart:.3} apart on average"),
        Verdict::of(apart < 0.05),
    );
    let ahead =
        |curves: &[(String, Curve)], order: usize| area(&curves[order].1) - area(&curves[RANDOM].1);
    let gain = ahead(&by_rank, PAGERANK);
    section.limit(
        format!("IR' is ahead of chance by 0.1 on average for the best hundredth ({gain:.3})"),
        gain > 0.1,
    );
    let gain = ahead(&by_rank, CASH);
    section.limit(
        format!("so is a probe's cash, by 0.03 ({gain:.3})"),
        gain > 0.03,
    );
}

/// The orders beside those of a prototype, on a real site.
fn prototype(section: &mut Section, web: &Crawled) {
    section.part(
        "Beside a real site",
        "The share of the best tenth by PageRank with 20 / 50 / 80 % crawled. A prototype, before anything was built, had this on a real site of 6,011 pages.",
    );
    let best = hottest(&web.page_rank, web.graph.len() / 10);
    let tried = [
        "0.44 / 0.68 / 0.97",
        "0.40 / 0.53 / 0.77",
        "0.35 / 0.46 / 0.78",
        "0.30 / 0.55 / 0.83",
        "",
    ];
    let rows: Vec<Vec<String>> = all_orders(|order| web.threshold(order, &best))
        .into_iter()
        .zip(tried)
        .map(|((name, curve), tried)| {
            let own = format!("{:.2} / {:.2} / {:.2}", curve[4], curve[10], curve[16]);
            vec![name, own, tried.to_owned()]
        })
        .collect();
    section.table(&["order", "here", "real site"], &rows);
}

fn small(section: &mut Section, web: &Crawled) {
    section.part(
        "Figures 2.8 to 2.10: a small web",
        &format!(
            "One site of {} pages. In print orders are at times worse than chance there, for a small site's links depend on its authors' style.",
            web.graph.len()
        ),
    );
    let hot = above(&web.backlinks, 5.0);
    let by_links = all_orders(|order| web.threshold(order, &hot));
    show(
        section,
        "crawling-2.8",
        "Figure 2.8: pages of 5 links or more",
        &by_links,
    );
    let count = hot.iter().filter(|hot| **hot).count();
    let best = hottest(&web.page_rank, count);
    let by_rank = all_orders(|order| web.threshold(order, &best));
    show(
        section,
        "crawling-2.10",
        "Figure 2.10: as many pages by PageRank",
        &by_rank,
    );
    let worse = |curves: &[(String, Curve)]| {
        [PAGERANK, BACKLINK, BREADTH].map(|order| {
            let steps =
                (1..STEPS).filter(|step| curves[order].1[*step] < *step as f64 / STEPS as f64);
            steps.count()
        })
    };
    let below = worse(&by_links);
    section.claim(
        "Figure 2.8",
        "every order is worse than chance at times",
        "all three",
        format!(
            "at {}, {} and {} of 19 points (IR', IB', breadth first)",
            below[0], below[1], below[2]
        ),
        Verdict::of(below.iter().all(|count| *count > 0)),
    );
    let few = web.backlinks.iter().filter(|count| **count < 5.0).count();
    let few = few as f64 / web.backlinks.len() as f64;
    section.claim(
        "Figure 2.9",
        "most pages have fewer than 5 links to them",
        "more than half",
        percent(few),
        Verdict::of(few > 0.5),
    );
    let better = [PAGERANK, BACKLINK, BREADTH]
        .iter()
        .filter(|order| area(&by_rank[**order].1) > area(&by_links[**order].1))
        .count();
    section.claim(
        "Figure 2.10",
        "all orders do better by PageRank than by links",
        "all three",
        format!("{better} of 3"),
        Verdict::of(better == 3),
    );
    section.claim(
        "Figure 2.10",
        "IR' is the best order",
        "best of the three",
        format!("means of the curves: {}", areas(&by_rank)),
        is_best(&by_rank, PAGERANK),
    );
    let first = best_first(&web.page_rank)[0];
    let place = web.orders[PAGERANK].iter().position(|page| *page == first);
    section.limit(
        "IR' crawls the most important page of a small site within its first twentieth",
        place.is_some_and(|place| place < web.graph.len() / 20),
    );
}
