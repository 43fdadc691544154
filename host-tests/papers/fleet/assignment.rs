//! Cho's measures (2001, §3.4) for our assignment, beside the modes of the thesis.

use dunlin::fleet::{Group, NOBODY, ProbeCapacity, assign};
use dunlin::math::split_mix;
use dunlin_host::crawl::graph::Graph;
use dunlin_host::crawl::parallel::{Achieved, Crawlers, Mode, simulate_by};
use dunlin_host::fleet::simulate::{Setting, Simulated, simulate};
use dunlin_host::simulate::repeat::parallel;

use super::SEED;
use crate::Settings;
use crate::crawling::crawlers::{SEEDS, web};
use crate::page::{Section, Verdict};

/// As in the thesis' comparison of modes.
const COUNT: usize = 16;
/// Pages of a probe, in means, for balance: as the planner of `dunlin fleet` has it.
const FAIR: f64 = 1.25;
/// Visits a probe and day with which the traffic is reckoned.
const VISITS: f64 = 1_250.0;

/// Who has which site.
struct Assignment {
    groups: Vec<Group>,
    keys: Vec<u64>,
    owners: Vec<u32>,
}

impl Assignment {
    fn new(graph: &Graph) -> Self {
        let mut random = SEED;
        let mut groups: Vec<Group> = (0..graph.hosts())
            .map(|_| Group {
                key: split_mix(&mut random),
                pages: 0,
                hosts: 1,
                demand: 0.0,
            })
            .collect();
        for page in 0..graph.len() {
            groups[usize::from(graph.host(page))].pages += 1;
        }
        let mut made = Self {
            owners: vec![NOBODY; groups.len()],
            groups,
            keys: (0..COUNT).map(|_| split_mix(&mut random)).collect(),
        };
        assert_eq!(made.assign(None), 0, "every site has a probe");
        made
    }

    /// Gives sites to probes, without the one that has left, and counts those that have none.
    fn assign(&mut self, gone: Option<usize>) -> usize {
        let pages: u32 = self.groups.iter().map(|group| group.pages).sum();
        let here = COUNT - usize::from(gone.is_some());
        let mut places: Vec<ProbeCapacity> = (self.keys.iter().enumerate())
            .map(|(number, key)| ProbeCapacity {
                key: *key,
                pages: if gone == Some(number) { 0 } else { pages },
                hosts: u32::MAX,
                link: f32::MAX,
                fair: (FAIR * f64::from(pages) / here as f64) as u32,
            })
            .collect();
        // Large sites first; sites are few enough to be sorted each time.
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        order.sort_by_key(|site| std::cmp::Reverse(self.groups[*site].pages));
        let groups: Vec<Group> = order.iter().map(|site| self.groups[*site]).collect();
        let mut owners: Vec<u32> = order.iter().map(|site| self.owners[*site]).collect();
        let left = assign(&groups, &mut places, &mut owners);
        for (site, owner) in order.into_iter().zip(owners) {
            self.owners[site] = owner;
        }
        left
    }

    /// The share of pages that another probe has after one has left, and that the one had.
    fn leaves(&mut self, gone: usize) -> (f64, f64) {
        let before = self.owners.clone();
        assert_eq!(self.assign(Some(gone)), 0, "every site has a probe");
        let mut moved = 0;
        let mut own = 0;
        let mut all = 0;
        for ((then, now), group) in before.iter().zip(&self.owners).zip(&self.groups) {
            all += group.pages;
            moved += if then == now { 0 } else { group.pages };
            own += if *then == gone as u32 { group.pages } else { 0 };
        }
        (
            f64::from(moved) / f64::from(all),
            f64::from(own) / f64::from(all),
        )
    }
}

/// Pages of the busiest crawler, in means.
fn largest(graph: &Graph, owner: &dyn Fn(usize) -> usize) -> f64 {
    let mut pages = [0_usize; COUNT];
    for page in 0..graph.len() {
        pages[owner(page)] += 1;
    }
    let most = pages.into_iter().max().unwrap_or(0);
    (most * COUNT) as f64 / graph.len() as f64
}

/// A way to share a web, and what came of it.
struct Row {
    name: &'static str,
    achieved: Achieved,
    largest: f64,
    moved: f64,
}

pub fn tabulate(section: &mut Section, settings: &Settings) {
    let graph = web(settings.size(2_500, 30_000), settings.size(250, 3_000));
    section.part(
        "Cho, chapter 3: measures of our assignment",
        &format!(
            "{} pages on {} sites, {COUNT} crawlers, {SEEDS} seeds each, as in Table 3.1 of the page [crawling](../crawling/page.md). The thesis gives a site to a crawler by its hash; \
             a fleet's planner by rendezvous within {FAIR} fair shares. The first four rows find pages by links. A fleet, as it is built, is given its pages: \
             a probe starts from all of its own and tells nobody.",
            graph.len(),
            graph.hosts()
        ),
    );
    let mut assigned = Assignment::new(&graph);
    let owners = assigned.owners.clone();
    let ours = |page: usize| owners[usize::from(graph.host(page))] as usize;
    let hash = |page: usize| Crawlers::new(COUNT).owner(&graph, page);
    let fewer = |page: usize| Crawlers::new(COUNT - 1).owner(&graph, page);
    let changed = (0..graph.len()).filter(|page| hash(*page) != fewer(*page));
    let by_hash = changed.count() as f64 / graph.len() as f64;
    let (moved, own) = assigned.leaves(COUNT - 1);
    let ways: [(&str, Mode, bool, usize); 5] = [
        ("firewall, by hash", Mode::Firewall, false, SEEDS),
        ("cross-over, by hash", Mode::CrossOver, false, SEEDS),
        ("exchange, by hash", Mode::Exchange, false, SEEDS),
        ("exchange, our assignment", Mode::Exchange, true, SEEDS),
        ("a fleet with its list", Mode::Firewall, true, usize::MAX),
    ];
    let rows = parallel(ways.len(), |at| {
        let (name, mode, is_ours, seeds) = ways[at];
        let owner: &dyn Fn(usize) -> usize = if is_ours { &ours } else { &hash };
        let crawlers = Crawlers {
            mode,
            ..Crawlers::new(COUNT)
        };
        let seeds = crawlers.seeds_by(&graph, owner, seeds, SEED);
        Row {
            name,
            achieved: simulate_by(&graph, &crawlers, owner, &seeds, &mut |_, _| {}),
            largest: largest(&graph, owner),
            moved: if is_ours { moved } else { by_hash },
        }
    });
    table(section, &rows);
    let [_, _, hashed, exchanged, fleet] = rows.as_slice() else {
        return;
    };
    claims(section, hashed, exchanged, fleet);
    section.limit(
        "a probe that leaves moves its own pages and no others",
        moved == own && moved > 0.0,
    );
    section.limit(
        format!(
            "the busiest probe has fewer pages than the busiest crawler by hash: {:.2} and {:.2} means",
            exchanged.largest, hashed.largest
        ),
        exchanged.largest < hashed.largest,
    );
    control(section, settings);
}

fn table(section: &mut Section, rows: &[Row]) {
    let rows: Vec<Vec<String>> = (rows.iter())
        .map(|row| {
            let one = row.achieved;
            vec![
                row.name.to_owned(),
                format!("{:.3}", one.coverage),
                format!("{:.3}", one.overlap),
                format!("{:.3}", one.communication),
                format!("{:.2}", row.largest),
                format!("{:.1} %", 100.0 * row.moved),
            ]
        })
        .collect();
    section.table(
        &[
            "mode",
            "coverage",
            "overlap",
            "communication, URLs a page",
            "pages of the busiest, in means",
            "pages that move when one leaves",
        ],
        &rows,
    );
}

fn claims(section: &mut Section, hashed: &Row, exchanged: &Row, fleet: &Row) {
    const PLACE: &str = "Cho, Table 3.1";
    let ours = |row: &Row, of: fn(&Achieved) -> f64| format!("{:.3}", of(&row.achieved));
    for row in [exchanged, fleet] {
        let name = row.name;
        let overlap = row.achieved.overlap == 0.0;
        section.claim(
            PLACE,
            &format!("overlap is good without cross-over: {name}"),
            "0",
            ours(row, |one| one.overlap),
            Verdict::of(overlap),
        );
        section.limit(format!("{name}: overlap is 0"), overlap);
        let covers = row.achieved.coverage >= hashed.achieved.coverage;
        section.claim(
            PLACE,
            &format!("coverage is good with exchange: {name}"),
            "no less than by hash",
            format!(
                "{}; by hash {}",
                ours(row, |one| one.coverage),
                ours(hashed, |one| one.coverage)
            ),
            Verdict::of(covers),
        );
    }
    let told = (
        exchanged.achieved.communication,
        hashed.achieved.communication,
    );
    section.figure(
        "Cho, Figure 3.7",
        "URLs told for each page, 16 crawlers by our assignment",
        crate::page::Printed::new(0.8, 1),
        told.0,
    );
    section.limit(
        format!(
            "our assignment takes as many words as the thesis' hash, to a tenth: {:.3}, {:.3}",
            told.0, told.1
        ),
        (told.0 - told.1).abs() <= 0.1 * told.1,
    );
    section.limit(
        "a fleet with its list covers all of it, and tells no URL",
        fleet.achieved.coverage == 1.0 && fleet.achieved.communication == 0.0,
    );
}

/// What a fleet says instead of URLs.
fn control(section: &mut Section, settings: &Settings) {
    let Simulated {
        probes,
        bytes_per_probe_day: bytes,
        ..
    } = simulate(
        Setting {
            probes: settings.size(20, 100),
            seed: SEED,
            loss: 0.0,
            liars: 0,
        },
        &mut |_| {},
    );
    let visit = bytes / VISITS;
    // A URL as the thesis tells it: 40 characters, a line, and nothing of the packets it goes in.
    let url = 0.8 * 40.0;
    section.say(&format!(
        "What a fleet says instead, whether or not pages were found by links: reports, grants, visits and pings, with their packets, are {bytes:.0} B a probe and day with \
         {VISITS} visits ({probes} probes in `dunlin fleet --simulate`): {visit:.0} B a page visited. A thesis' crawler that tells 0.8 URLs of 40 characters a page says {url} B, \
         before packets, and knows neither budgets nor who is there."
    ));
    section.limit(
        format!("control takes at most 80 B a page visited: {visit:.1} B"),
        visit <= 80.0,
    );
}
