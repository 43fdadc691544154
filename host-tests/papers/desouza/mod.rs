//! de Souza et al. (2007): polite scheduling of a million pages.

use dunlin::time::Duration;
use dunlin_host::output::plot::{Line, Plot, lines};
use dunlin_host::simulate::repeat::{Mean, parallel};
use dunlin_host::simulate::{
    Change, Options, PolicyName, Random, Report, SimHost, SimPage, World, run as simulate,
};

use super::Settings;
use super::page::{Printed, Section, Verdict, digits, interval};
use host_tests::desouza::{Setup, Staleness, run as reproduce};

const SEED: u64 = 1;

/// Runs the experiments, and makes the page.
pub fn run(settings: &Settings) -> Section {
    let mut section = Section::new(
        "desouza",
        "de Souza et al.: a polite policy for revisiting pages (2007)",
        SEED,
        settings,
    );
    let paper = if let Some(pages) = settings.pages {
        // As many servers and crawls for each page as in the paper.
        let fetch = Setup::PAPER.fetch * 1_000_000 / pages.max(1) as u64;
        Setup {
            pages,
            servers: (pages / 500).max(1),
            fetch,
            ..Setup::PAPER
        }
    } else if settings.full {
        Setup::PAPER
    } else {
        Setup {
            pages: 30_000,
            servers: 60,
            crawlers: 3,
            fetch: Duration::from_secs(1),
            ..Setup::PAPER
        }
    };
    section.say(&format!(
        "{} pages on {} servers, {} crawlers that can do 8.64 crawls a page and day together, 15 s between two crawls of a server, one day from \
         fresh copies. Staleness, exactly as the schedules fall. Ours are `spread` (as MERGE, but crawls exchange their moments \
         where that pays) with unlimited crawlers and dispatched.",
        paper.pages, paper.servers, paper.crawlers
    ));
    let mut leads = figure_3(&mut section, paper, settings.full);
    leads.extend(figure_4(&mut section, paper, settings.full));
    leads.extend(figure_5(&mut section, paper, settings.full));
    leads.extend(weights(&mut section, paper, settings.full));
    let large = leads.iter().filter(|lead| **lead >= 10.0).count();
    section.claim(
        "§1",
        "M-Wolf is at least 10 % above PSP in most experiments",
        "most",
        format!("in {large} of {} rows of all tables", leads.len()),
        Verdict::of(2 * large > leads.len()),
    );
    long_run(&mut section, settings);
    section
}

const COLUMNS: [&str; 9] = [
    "",
    "NonPolite",
    "WP",
    "spread (ours)",
    "spread, dispatched (ours)",
    "InfCrawlers",
    "PSP",
    "MP2",
    "M-Wolf",
];

fn figures(found: &Staleness) -> [f64; 8] {
    [
        found.non_polite,
        found.bound,
        found.spread,
        found.spread_dispatched,
        found.merge,
        found.merge_dispatched,
        found.mp2,
        found.m_wolf,
    ]
}

/// Runs all setups and adds their table and plot.
fn tabulate(
    section: &mut Section,
    file: &str,
    title: &str,
    x: &str,
    setups: &[(f64, Setup)],
) -> Vec<Staleness> {
    let found: Vec<Staleness> = parallel(setups.len(), |job| reproduce(setups[job].1));
    let rows: Vec<Vec<String>> = (setups.iter().zip(&found))
        .map(|((value, _), found)| {
            [value.to_string()]
                .into_iter()
                .chain(figures(found).map(digits))
                .collect()
        })
        .collect();
    let mut columns = COLUMNS;
    columns[0] = x;
    section.table(&columns, &rows);
    section.plot(file, title, plot(title, x, setups, &found));
    found
}

fn plot(title: &str, x: &str, setups: &[(f64, Setup)], found: &[Staleness]) -> Plot {
    let curve = |place: usize| Line {
        name: COLUMNS[place + 1].into(),
        points: setups
            .iter()
            .zip(found)
            .map(|((value, _), found)| (*value, figures(found)[place]))
            .collect(),
    };
    lines(
        title,
        x,
        "staleness",
        &(0..8).map(curve).collect::<Vec<_>>(),
    )
}

/// How far M-Wolf is above PSP, in per cent.
fn lead(found: &Staleness) -> f64 {
    100.0 * (found.m_wolf / found.merge_dispatched - 1.0)
}

/// Adds the figure; returns [`lead`] for each row, as the next three do.
fn figure_3(section: &mut Section, paper: Setup, full: bool) -> Vec<f64> {
    section.part(
        "Figure 3: skew of pages over servers",
        "θ = 0 spreads pages evenly, θ = 1 is Zipf's law: many pages on few servers. The text prints no range of θ; claims are \
         checked from 0 to 1.",
    );
    let thetas: &[f64] = if full {
        &[0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5]
    } else {
        &[0.0, 0.5, 1.0]
    };
    let setups: Vec<_> = thetas
        .iter()
        .map(|&theta| (theta, Setup { theta, ..paper }))
        .collect();
    let found = tabulate(
        section,
        "desouza-3",
        "Figure 3: staleness by skew of pages over servers",
        "θ",
        &setups,
    );
    let (found, beyond) = found.split_at(thetas.iter().filter(|theta| **theta <= 1.0).count());
    let above = |of: fn(&Staleness) -> f64, base: fn(&Staleness) -> f64| -> Vec<f64> {
        found
            .iter()
            .map(|found| 100.0 * (of(found) / base(found) - 1.0))
            .collect()
    };
    let shown = |values: &[f64]| {
        values
            .iter()
            .map(|value| format!("{value:.1}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let psp = above(|found| found.merge_dispatched, |found| found.bound);
    let wolf: Vec<f64> = found.iter().map(lead).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    // With few servers the largest is larger.
    let most = if paper.pages >= 1_000_000 { 14.0 } else { 16.0 };
    let within = |values: &[f64], low: f64, high: f64| {
        values.iter().all(|value| (low..high).contains(value))
    };
    const PLACE: &str = "Figure 3";
    section.figure(
        PLACE,
        "PSP above WP, average over θ from 0 to 1",
        Printed::percent(3.0),
        mean(&psp),
    );
    section.figure(
        PLACE,
        "M-Wolf above PSP, average over θ from 0 to 1",
        Printed::new(9.5, 1).unit(" %"),
        mean(&wolf),
    );
    let order = found.iter().all(|found| found.merge_dispatched < found.mp2);
    section.claim(
        PLACE,
        "PSP is below MP2",
        "at every θ",
        if order {
            "at every θ"
        } else {
            "not at every θ"
        }
        .into(),
        Verdict::of(order),
    );
    let apart = found
        .iter()
        .map(|found| 100.0 * (found.merge_dispatched / found.merge - 1.0))
        .fold(0.0, f64::max);
    section.claim(
        PLACE,
        "PSP is extremely close to InfCrawlers",
        "\"extremely close\"; taken as 1 %",
        format!("{apart:.2} % above at most"),
        Verdict::of(apart < 1.0),
    );
    let price = |found: &Staleness| found.bound - found.non_polite;
    section.claim(
        PLACE,
        "the price of politeness (WP − NonPolite) grows with θ",
        "grows",
        format!(
            "from {:.3} to {:.3}",
            found.first().map_or(0.0, price),
            found.last().map_or(0.0, price)
        ),
        Verdict::of(found.is_sorted_by(|a, b| price(a) < price(b))),
    );
    section.limit(
        format!("PSP is 1.5 to 4.1 % above WP: {} %", shown(&psp)),
        within(&psp, 1.5, 4.1),
    );
    section.limit(
        format!("M-Wolf is 3 to {most} % above PSP: {} %", shown(&wolf)),
        within(&wolf, 3.0, most),
    );
    section.limit(
        "PSP is below MP2, and at most 1 % above InfCrawlers",
        order && apart < 1.0,
    );
    for ((theta, _), found) in setups.iter().skip(found.len()).zip(beyond) {
        section.say(&format!(
            "Beyond, at θ = {theta}, PSP is {:.1} % above WP and M-Wolf {:.1} % above PSP: where nearly all pages are on a few servers \
             there is little left to decide.",
            100.0 * (found.merge_dispatched / found.bound - 1.0),
            lead(found)
        ));
    }
    let ours = above(
        |found| found.spread_dispatched,
        |found| found.merge_dispatched,
    );
    section.limit(
        format!(
            "ours is below PSP with the same crawlers: {} %",
            shown(&ours)
        ),
        ours.iter().all(|value| *value < 0.0),
    );
    wolf
}

fn figure_4(section: &mut Section, paper: Setup, full: bool) -> Vec<f64> {
    section.part(
        "Figure 4: skew of change rates",
        "Rates fall with their rank by Zipf's law with exponent θ, at the same mean.",
    );
    let thetas: &[f64] = if full {
        &[0.25, 0.5, 0.75, 1.0]
    } else {
        &[0.5, 1.0]
    };
    let setups: Vec<_> = thetas
        .iter()
        .map(|&theta| {
            (
                theta,
                Setup {
                    rate_theta: Some(theta),
                    ..paper
                },
            )
        })
        .collect();
    let found = tabulate(
        section,
        "desouza-4",
        "Figure 4: staleness by skew of change rates",
        "θ",
        &setups,
    );
    similar(section, "Figure 4", &found);
    found.iter().map(lead).collect()
}

/// What the paper says of every experiment: PSP is the best of the polite ones, near WP and
/// extremely close to InfCrawlers.
fn similar(section: &mut Section, place: &str, found: &[Staleness]) {
    let order = found
        .iter()
        .all(|found| found.merge_dispatched < found.mp2 && found.merge_dispatched < found.m_wolf);
    section.claim(
        place,
        "PSP is below MP2 and M-Wolf",
        "always",
        format!(
            "in {} of {} rows",
            found
                .iter()
                .filter(|found| found.merge_dispatched < found.mp2.min(found.m_wolf))
                .count(),
            found.len()
        ),
        Verdict::of(order),
    );
    let above = |base: fn(&Staleness) -> f64| {
        let all = found
            .iter()
            .map(|found| 100.0 * (found.merge_dispatched / base(found) - 1.0));
        all.fold(0.0, f64::max)
    };
    let bound = above(|found| found.bound);
    section.claim(
        place,
        "PSP is close to WP",
        "\"close\"; taken as the 3 % of Figure 3, to a point",
        format!("{bound:.1} % above at most"),
        if bound < 3.5 {
            Verdict::Holds
        } else if bound < 6.0 {
            Verdict::Near
        } else {
            Verdict::Fails
        },
    );
    let infinite = above(|found| found.merge);
    section.claim(
        place,
        "PSP is extremely close to InfCrawlers",
        "\"extremely close\"; taken as 1 %",
        format!("{infinite:.2} % above at most"),
        Verdict::of(infinite < 1.0),
    );
    section.limit(
        format!("{place}: PSP is below MP2 and M-Wolf, ours is below PSP"),
        order
            && found
                .iter()
                .all(|found| found.spread_dispatched < found.merge_dispatched),
    );
}

/// Weights that differ, which the paper tried and left out.
fn weights(section: &mut Section, paper: Setup, full: bool) -> Vec<f64> {
    section.part(
        "Unequal weights",
        "Weights uniform between 0 and 1; the paper says that results are similar, and prints none. Staleness by weight.",
    );
    let weighted = Setup {
        weighted: true,
        ..paper
    };
    let thetas: &[f64] = if full { &[0.5, 1.0] } else { &[1.0] };
    let setups: Vec<_> = thetas
        .iter()
        .map(|&theta| (theta, Setup { theta, ..weighted }))
        .collect();
    let found = tabulate(
        section,
        "desouza-weights",
        "Unequal weights: staleness by skew of pages over servers",
        "θ",
        &setups,
    );
    similar(section, "§4, weights", &found);
    found.iter().map(lead).collect()
}

fn figure_5(section: &mut Section, paper: Setup, full: bool) -> Vec<f64> {
    section.part(
        "Figure 5: planning for another capacity",
        "R is what is planned for, as a multiple of what crawlers can do.",
    );
    let shares: &[f64] = if full {
        &[0.7, 0.85, 1.0, 1.15, 1.3]
    } else {
        &[0.7, 1.0, 1.3]
    };
    let setups: Vec<_> = shares
        .iter()
        .map(|&planned| (planned, Setup { planned, ..paper }))
        .collect();
    let found = tabulate(
        section,
        "desouza-5",
        "Figure 5: staleness by capacity planned for",
        "R / capacity",
        &setups,
    );
    let psp: Vec<f64> = found.iter().map(|found| found.merge_dispatched).collect();
    let (less, more) = psp.split_at(psp.len() / 2);
    let at = more[0];
    const PLACE: &str = "Figure 5";
    let costs_less = less.iter().all(|less| *less > at);
    let costs_more = more[1..].iter().all(|more| *more > at);
    for (what, value, holds) in [
        ("less", psp[0], costs_less),
        ("more", psp[psp.len() - 1], costs_more),
    ] {
        section.claim(
            PLACE,
            &format!("planning for {what} than the capacity makes staleness larger"),
            "always",
            format!("{value:.4} against {at:.4}"),
            Verdict::of(holds),
        );
    }
    section.limit(
        "planning for less or for more than the capacity costs staleness",
        costs_less && costs_more,
    );
    // The middle row is one of Figure 3.
    let others = setups.iter().zip(&found);
    let others = others.filter(|((planned, _), _)| *planned != 1.0);
    others.map(|(_, found)| lead(found)).collect()
}

/// Days of the last table: those after a cold start that are shown, and those that count as the
/// long run.
const EARLY: std::ops::Range<usize> = 2..4;
const LATE: std::ops::Range<usize> = 6..9;
const SEEDS: u64 = 3;

fn long_run(section: &mut Section, settings: &Settings) {
    section.part(
        "In the long run",
        &format!(
            "The same web, simulated for nine days from a cold start, with the scheduler of the firmware beside PSP, which plans anew every \
             day. Simulated changes; staleness as mean of {SEEDS} seeds from {SEED} on, with 95 % confidence intervals. The optimum is the \
             continuous one under politeness."
        ),
    );
    let pages = settings.size(10_000, 100_000);
    let servers = settings.size(20, 200);
    let per_day = 8.64 * pages as f64;
    let world = web(pages, servers);
    let policies = [
        PolicyName::Carousel,
        PolicyName::Index,
        PolicyName::Psp,
        PolicyName::Mp2,
        PolicyName::MWolf,
        PolicyName::Uniform,
    ];
    let jobs: Vec<(PolicyName, u64)> = policies
        .iter()
        .flat_map(|policy| (SEED..SEED + SEEDS).map(|seed| (*policy, seed)))
        .collect();
    let reports = parallel(jobs.len(), |job| {
        let (policy, seed) = jobs[job];
        let options = Options {
            crawlers: 1 + pages / 50_000,
            pieces: LATE.end,
            ..Options::new(LATE.end as f64, seed)
        };
        simulate(
            &world,
            policy.build(&world, per_day, false, seed).as_mut(),
            &options,
        )
    });
    let stale = |place: usize, days: std::ops::Range<usize>| {
        let seeds = &reports[place * SEEDS as usize..][..SEEDS as usize];
        let mean = |report: &Report| {
            1.0 - report.course[days.clone()].iter().sum::<f64>() / days.len() as f64
        };
        Mean::of(&seeds.iter().map(mean).collect::<Vec<_>>())
    };
    let optimum = 1.0 - world.optimum(per_day);
    let mut rows = vec![vec![
        "(optimum)".into(),
        digits(optimum),
        digits(optimum),
        String::new(),
    ]];
    for (place, policy) in policies.iter().enumerate() {
        let early = stale(place, EARLY);
        let late = stale(place, LATE);
        let above = format!("{:.2} %", 100.0 * (late.value / optimum - 1.0));
        rows.push(vec![
            policy.name(),
            interval(&early),
            interval(&late),
            above,
        ]);
    }
    section.say(&format!("{pages} pages on {servers} servers:"));
    section.table(
        &[
            "policy",
            "days 3 and 4",
            "days 7 to 9",
            "above the optimum then",
        ],
        &rows,
    );
    let late = |place: usize| stale(place, LATE).value;
    section.limit(
        "in the long run ours (the carousel, which the firmware uses) is below all others, PSP among them",
        (2..policies.len()).all(|other| late(0) < late(other)),
    );
    section.limit(
        format!(
            "the index engine is below them, too, or within 1 % of PSP ({:+.2} %)",
            100.0 * (late(1) / late(2) - 1.0)
        ),
        (3..policies.len()).all(|other| late(1) < late(other)) && late(1) < 1.01 * late(2),
    );
    let against_psp = |days: std::ops::Range<usize>| {
        100.0 * (stale(0, days.clone()).value / stale(2, days).value - 1.0)
    };
    section.say(&format!(
        "Ours (carousel) is {:+.2} % against PSP in the long run, and {:+.2} % on the third and fourth day. The scheduler fetches every page \
         once before it gives up any, and that takes as long as the largest server has pages for: here {:.1} days. PSP is told all rates, \
         plans a whole day ahead, and never fetches what it gives up.",
        against_psp(LATE),
        against_psp(EARLY),
        (world.pages.iter().filter(|page| page.host == 0).count() as f64) / world.hosts[0].cap()
    ));
    section.limit(
        "nobody is ever impolite",
        reports
            .iter()
            .all(|report| report.politeness_violations == 0),
    );
}

/// Pages on servers by Zipf's law, with rates as in the paper.
fn web(pages: usize, servers: usize) -> World {
    let mut random = Random(SEED);
    let sum: f64 = (1..=servers).map(|server| 1.0 / server as f64).sum();
    let ends: Vec<f64> = (1..=servers)
        .scan(0.0, |share, server| {
            *share += 1.0 / server as f64 / sum;
            Some(*share)
        })
        .collect();
    let page = |index: usize| {
        let rate = 24.0 * (0.01 + 0.99 * random.unit());
        let host = ends
            .partition_point(|end| *end * pages as f64 <= index as f64)
            .min(servers - 1);
        SimPage {
            host,
            weight: 1.0,
            mean_rate: rate,
            change: Change::Poisson(rate),
        }
    };
    let gap = SimHost::new(Duration::from_secs(15));
    World {
        pages: (0..pages).map(page).collect(),
        hosts: vec![gap; servers],
        ..World::default()
    }
}
