//! Chapter 3: crawlers that share a web.

use std::collections::HashSet;

use dunlin_host::crawl::generate::{Web, generate};
use dunlin_host::crawl::graph::Graph;
use dunlin_host::crawl::parallel::{Achieved, Crawlers, Mode, simulate};
use dunlin_host::output::plot::{Line, lines, logarithmic_lines};
use dunlin_host::simulate::repeat::parallel;

use super::{SEED, exchange};
use crate::Settings;
use crate::page::{Printed, Section, Verdict};

/// Seeds of a crawler, by chance among its own pages (§3.6).
pub const SEEDS: usize = 5;

/// The same web, with its sites.
pub struct Shared {
    pub graph: Graph,
    pub counts: &'static [usize],
    runs: usize,
}

pub fn web(pages: usize, sites: usize) -> Graph {
    let shape = Web {
        // §3.8: an average page has 10 links, 9 of them within its site.
        links: 10.0,
        ..Web::new(pages, sites)
    };
    generate(&shape, SEED)
}

impl Shared {
    /// The mean of some runs, each from other seeds.
    pub fn mean(&self, crawlers: &Crawlers, each: usize) -> Achieved {
        mean(&self.graph, crawlers, each, self.runs)
    }
}

fn mean(graph: &Graph, crawlers: &Crawlers, each: usize, runs: usize) -> Achieved {
    let found = parallel(runs, |run| {
        let seeds = crawlers.seeds(graph, each, SEED + run as u64);
        simulate(graph, crawlers, &seeds, &mut |_, _| {})
    });
    let mean = |of: fn(&Achieved) -> f64| found.iter().map(of).sum::<f64>() / runs as f64;
    Achieved {
        overlap: mean(|one| one.overlap),
        coverage: mean(|one| one.coverage),
        quality: mean(|one| one.quality),
        communication: mean(|one| one.communication),
    }
}

pub fn tabulate(section: &mut Section, settings: &Settings) {
    let shared = Shared {
        graph: web(settings.size(2_500, 30_000), settings.size(250, 3_000)),
        counts: &[1, 2, 4, 8, 16, 32, 64],
        runs: settings.size(2, 3),
    };
    figure_3_2(section);
    let alone = firewall(section, &shared, settings);
    let crossing = cross_over(section, &shared);
    let told = exchange::told(section, &shared);
    let quality = exchange::quality(section, &shared);
    table_3_1(section, [alone, crossing, told], quality);
}

/// Nine pages on two sites, as the thesis describes them.
fn figure_3_2(section: &mut Section) {
    section.part(
        "Figure 3.2: two sites, exactly",
        "Site S1 has the pages a to e and is crawled by C1 from a, S2 has f to i and is crawled by C2 from f; the links between them are a → g, c → g and h → d.",
    );
    let links = ["ab", "ac", "ag", "cg", "de", "fg", "fi", "gh", "hd"];
    let number = |page: u8| u32::from(page - b'a');
    let links = links.map(|link| (number(link.as_bytes()[0]), number(link.as_bytes()[1])));
    let url = |page: char| format!("http://s{}.test/{page}", 1 + u8::from(page > 'e'));
    let graph = Graph::new(('a'..='i').map(url).collect(), links.to_vec());
    let mut rows = Vec::new();
    let mut run = |name: &str, crawlers: Crawlers| {
        let first = crawlers.owner(&graph, 0);
        let mut own = String::new();
        let mut all = Vec::new();
        let found = simulate(&graph, &crawlers, &[0, 5], &mut |crawler, page| {
            all.push(page);
            if crawler == first {
                own.push(char::from(b'a' + page as u8));
            }
        });
        let told = (found.communication * all.len() as f64).round();
        let distinct: HashSet<usize> = all.iter().copied().collect();
        rows.push(vec![
            name.to_owned(),
            own.clone(),
            format!("{} of 9", distinct.len()),
            (all.len() - distinct.len()).to_string(),
            told.to_string(),
        ]);
        (own, distinct.len(), told)
    };
    let crawlers = Crawlers::new(2);
    let firewall = run(
        "firewall",
        Crawlers {
            mode: Mode::Firewall,
            ..crawlers
        },
    );
    let crossing = run(
        "cross-over",
        Crawlers {
            mode: Mode::CrossOver,
            ..crawlers
        },
    );
    let told = run("exchange", crawlers);
    let batch = run(
        "exchange, in batches of 3 pages",
        Crawlers {
            batch: 3,
            ..crawlers
        },
    );
    section.table(
        &[
            "mode",
            "C1 downloads",
            "coverage",
            "downloaded again",
            "URLs told",
        ],
        &rows,
    );
    let claims = [
        (
            "firewall: C1 downloads a, b and c, and 7 pages of 9 are covered",
            "abc, 7 of 9",
            format!("{}, {} of 9", firewall.0, firewall.1),
        ),
        (
            "cross-over: C1 downloads a, b, c, then g and h, then d and e",
            "abcghde",
            crossing.0,
        ),
        (
            "exchange: g is told after a and after c, d after h",
            "abcde, 3 URLs",
            format!("{}, {} URLs", told.0, told.2),
        ),
        (
            "exchange in a batch: g is told once",
            "abcde, 2 URLs",
            format!("{}, {} URLs", batch.0, batch.2),
        ),
    ];
    for (says, printed, ours) in claims {
        let holds = ours == printed;
        section.claim("Figure 3.2", says, printed, ours, Verdict::of(holds));
        section.limit(format!("Figure 3.2 exactly: {says}"), holds);
    }
}

fn line(name: String, points: Vec<(f64, f64)>) -> Line {
    Line { name, points }
}

pub fn cells(name: &str, values: impl Iterator<Item = f64>) -> Vec<String> {
    let values = values.map(|value| format!("{value:.3}"));
    [name.to_owned()].into_iter().chain(values).collect()
}

pub fn head(first: &str, counts: &[usize]) -> Vec<String> {
    let counts = counts.iter().map(|count| format!("n = {count}"));
    [first.to_owned()].into_iter().chain(counts).collect()
}

pub fn table(section: &mut Section, head: &[String], rows: &[Vec<String>]) {
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    section.table(&head, rows);
}

/// Figures 3.4 and 3.5; the coverage by each number of crawlers.
fn firewall(section: &mut Section, shared: &Shared, settings: &Settings) -> Achieved {
    let pages = shared.graph.len();
    section.part(
        "Figures 3.4 and 3.5: coverage of a firewall-mode crawler",
        &format!(
            "{pages} pages on {} sites (40 million in print); each crawler starts from {SEEDS} pages by chance. The second row has half of the pages and sites.",
            shared.graph.hosts()
        ),
    );
    let half = web(pages / 2, shared.graph.hosts() / 2);
    let of = |graph: &Graph, count: usize, seeds: usize| {
        let crawlers = Crawlers {
            mode: Mode::Firewall,
            ..Crawlers::new(count)
        };
        mean(graph, &crawlers, seeds, shared.runs)
    };
    let counts = shared.counts;
    let found: Vec<Achieved> = counts
        .iter()
        .map(|count| of(&shared.graph, *count, SEEDS))
        .collect();
    let smaller: Vec<f64> = counts
        .iter()
        .map(|count| of(&half, *count, SEEDS).coverage)
        .collect();
    let coverage: Vec<f64> = found.iter().map(|one| one.coverage).collect();
    let printed = ["0.9", "", "≥ 0.8", "", "≈ 0.5", "", "< 0.1"].map(str::to_owned);
    let rows = [
        cells("coverage", coverage.iter().copied()),
        cells("half of the web", smaller.iter().copied()),
        ["in print".to_owned()].into_iter().chain(printed).collect(),
    ];
    table(section, &head("crawlers", counts), &rows);
    let of_counts = |values: &[f64]| {
        counts
            .iter()
            .map(|count| *count as f64)
            .zip(values.iter().copied())
            .collect()
    };
    let plot = logarithmic_lines(
        "Figure 3.4: coverage by crawlers",
        "crawlers",
        "coverage",
        &[
            line("all".into(), of_counts(&coverage)),
            line("half of the web".into(), of_counts(&smaller)),
        ],
    );
    section.plot("crawling-3.4", "Figure 3.4: coverage by crawlers", plot);
    let falls = coverage.windows(2).all(|pair| pair[1] <= pair[0] + 0.005);
    section.claim(
        "Figure 3.4",
        "coverage falls with the number of crawlers",
        "at every n",
        format!("{:.2} to {:.2}", coverage[0], coverage[6]),
        Verdict::of(falls),
    );
    section.claim(
        "Figure 3.4",
        "coverage with 4 crawlers",
        "≥ 0.8",
        format!("{:.2}", coverage[2]),
        Verdict::of(coverage[2] >= 0.8),
    );
    section.figure(
        "Figure 3.4",
        "coverage with 16 crawlers",
        Printed::new(0.5, 1),
        coverage[4],
    );
    section.claim(
        "Figure 3.4",
        "coverage with 64 crawlers",
        "< 0.1",
        format!("{:.2}", coverage[6]),
        Verdict::of(coverage[6] < 0.1),
    );
    let doubles = (1..counts.len()).all(|at| (coverage[at] - smaller[at - 1]).abs() < 0.1);
    section.claim(
        "Figure 3.4",
        "twice the web and twice the crawlers: about the same coverage",
        "about",
        (1..counts.len())
            .map(|at| format!("{:+.2}", coverage[at] - smaller[at - 1]))
            .collect::<Vec<_>>()
            .join(", "),
        Verdict::of(doubles),
    );
    section.limit(
        "coverage of a firewall falls up to 4 crawlers",
        coverage[0] > coverage[1] && coverage[1] > coverage[2],
    );
    figure_3_5(section, shared, settings, &of);
    found[4]
}

fn figure_3_5(
    section: &mut Section,
    shared: &Shared,
    settings: &Settings,
    of: &dyn Fn(&Graph, usize, usize) -> Achieved,
) {
    let totals: &[usize] = match settings.full {
        true => &[64, 128, 256, 512, 1_024, 4_096],
        false => &[64, 256],
    };
    let counts = [2, 8, 32, 64];
    let rows: Vec<Vec<f64>> = counts
        .iter()
        .map(|count| {
            let each = totals.iter().map(|total| total / count);
            each.map(|each| of(&shared.graph, *count, each).coverage)
                .collect()
        })
        .collect();
    let head: Vec<String> = ["crawlers".to_owned()]
        .into_iter()
        .chain(totals.iter().map(|total| format!("{total} seeds")))
        .collect();
    let shown: Vec<Vec<String>> = counts
        .iter()
        .zip(&rows)
        .map(|(count, row)| cells(&format!("n = {count}"), row.iter().copied()))
        .collect();
    table(section, &head, &shown);
    let gain = |row: &[f64]| row[row.len().min(5) - 1] / row[0];
    section.claim(
        "Figure 3.5",
        "64 crawlers: 64 → 1,024 seeds bring many times the coverage",
        "0.4 → 10 %",
        format!(
            "{:.1} → {:.1} %",
            100.0 * rows[3][0],
            100.0 * rows[3][rows[3].len().min(5) - 1]
        ),
        match gain(&rows[3]) {
            gain if gain >= 10.0 => Verdict::Holds,
            gain if gain >= 2.0 => Verdict::Near,
            _ => Verdict::Fails,
        },
    );
    section.claim(
        "Figure 3.5",
        "2 crawlers: the number of seeds hardly matters",
        "marginal",
        format!(
            "{:.2} → {:.2}",
            rows[0][0],
            rows[0][rows[0].len().min(5) - 1]
        ),
        Verdict::of(gain(&rows[0]) < 1.1),
    );
    section.limit(
        "seeds matter more to 64 crawlers than to 2",
        gain(&rows[3]) > gain(&rows[0]),
    );
}

/// Reproduces Figure 3.6, and says what was achieved on the way.
fn cross_over(section: &mut Section, shared: &Shared) -> Achieved {
    section.part(
        "Figure 3.6: overlap of a cross-over-mode crawler",
        "Overlap, (N − I) / I, when the coverage has come so far; the last column is the end.",
    );
    const SHOWN: [f64; 6] = [0.3, 0.5, 0.7, 0.8, 0.9, 0.98];
    let counts = &shared.counts[1..];
    let curves = parallel(counts.len(), |at| {
        let crawlers = Crawlers {
            mode: Mode::CrossOver,
            ..Crawlers::new(counts[at])
        };
        let seeds = crawlers.seeds(&shared.graph, SEEDS, SEED);
        let mut seen = HashSet::new();
        let mut downloads = 0;
        let mut points = Vec::new();
        let step = (shared.graph.len() / 200).max(1);
        let found = simulate(&shared.graph, &crawlers, &seeds, &mut |_, page| {
            downloads += 1;
            if seen.insert(page) && seen.len() % step == 0 {
                let coverage = seen.len() as f64 / shared.graph.len() as f64;
                let overlap = (downloads - seen.len()) as f64 / seen.len() as f64;
                points.push((coverage, overlap));
            }
        });
        (points, found)
    });
    let at = |points: &[(f64, f64)], coverage: f64| {
        points
            .iter()
            .find(|point| point.0 >= coverage)
            .map(|point| point.1)
    };
    let rows: Vec<Vec<String>> = counts
        .iter()
        .zip(&curves)
        .map(|(count, (points, found))| {
            let cells = SHOWN.map(|coverage| {
                at(points, coverage).map_or("–".into(), |overlap| format!("{overlap:.2}"))
            });
            let end = format!("{:.2} at {:.3}", found.overlap, found.coverage);
            [format!("n = {count}")]
                .into_iter()
                .chain(cells)
                .chain([end])
                .collect()
        })
        .collect();
    let head: Vec<String> = ["crawlers".to_owned()]
        .into_iter()
        .chain(SHOWN.map(|coverage| format!("coverage {coverage}")))
        .chain(["end".to_owned()])
        .collect();
    table(section, &head, &rows);
    let drawn: Vec<Line> = counts
        .iter()
        .zip(&curves)
        .map(|(count, (points, _))| line(format!("n = {count}"), points.clone()))
        .collect();
    let plot = lines(
        "Figure 3.6: overlap by coverage",
        "coverage",
        "overlap",
        &drawn,
    );
    section.plot("crawling-3.6", "Figure 3.6: overlap by coverage", plot);
    let sixteen = at(&curves[3].0, 0.5).unwrap_or(0.0);
    section.claim(
        "Figure 3.6",
        "16 crawlers: no overlap until the coverage is 0.5",
        "0",
        format!("{sixteen:.3}"),
        match sixteen {
            overlap if overlap < 0.005 => Verdict::Holds,
            overlap if overlap < 0.1 => Verdict::Near,
            _ => Verdict::Fails,
        },
    );
    let four = at(&curves[1].0, 0.98).unwrap_or(curves[1].1.overlap);
    section.figure(
        "Figure 3.6",
        "4 crawlers: overlap at a coverage close to 1",
        Printed::new(2.5, 1),
        four,
    );
    let grows = curves
        .windows(2)
        .all(|pair| pair[1].1.overlap > pair[0].1.overlap);
    section.limit(
        "the more crawlers cross over, the more they do again",
        grows,
    );
    curves[3].1
}

fn table_3_1(section: &mut Section, found: [Achieved; 3], quality: [f64; 3]) {
    section.part(
        "Table 3.1: modes compared",
        "16 crawlers; quality with a twentieth downloaded by IB', the rest at the end of a crawl.",
    );
    let modes = ["firewall", "cross-over", "exchange"];
    let printed = [
        "bad, good, bad, good",
        "good, bad, bad, good",
        "good, good, good, bad",
    ];
    let rows: Vec<Vec<String>> = (0..3)
        .map(|at| {
            let one = found[at];
            let cells = [one.coverage, one.overlap, quality[at], one.communication];
            let cells = cells.map(|value| format!("{value:.3}"));
            [modes[at].to_owned()]
                .into_iter()
                .chain(cells)
                .chain([printed[at].to_owned()])
                .collect()
        })
        .collect();
    section.table(
        &[
            "mode",
            "coverage",
            "overlap",
            "quality",
            "communication",
            "in print",
        ],
        &rows,
    );
    let [alone, crossing, told] = found;
    let checks = [
        (
            "coverage is bad with a firewall only",
            alone.coverage < crossing.coverage.min(told.coverage),
            [alone.coverage, crossing.coverage, told.coverage],
        ),
        (
            "overlap is bad with cross-over only",
            crossing.overlap > 0.0 && alone.overlap == 0.0 && told.overlap == 0.0,
            [alone.overlap, crossing.overlap, told.overlap],
        ),
        (
            "quality is good with exchange only",
            quality[2] > quality[0].max(quality[1]),
            quality,
        ),
        (
            "communication is bad with exchange only",
            told.communication > 0.0 && alone.communication == 0.0 && crossing.communication == 0.0,
            [
                alone.communication,
                crossing.communication,
                told.communication,
            ],
        ),
    ];
    for (says, holds, values) in checks {
        let ours = format!("{:.3}, {:.3}, {:.3}", values[0], values[1], values[2]);
        section.claim(
            "Table 3.1",
            says,
            "firewall, cross-over, exchange",
            ours,
            Verdict::of(holds),
        );
        section.limit(format!("Table 3.1: {says}"), holds);
    }
}
