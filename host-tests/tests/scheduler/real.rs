//! Real changes: the scheduler, which has to learn, against round robin and the adaptive rules of
//! other crawlers.
//!
//! An excerpt is always replayed; its notice is in its file. `DUNLIN_TRACES=FILE` replays another
//! one, tab-separated with columns `service`, `page`, `unix_time` and, optionally, `kind`, of which
//! only `change` counts.

use std::collections::BTreeMap;
use std::fmt::Write;

use dunlin::time::Duration;
use dunlin_host::simulate::repeat::{Mean, parallel};
use dunlin_host::simulate::{Change, Options, PolicyName, Random, SimHost, SimPage, World, run};

const EXCERPT: &str = include_str!("../../data/open-terms-archive-excerpt.tsv");
/// A page more or less at one moment moves everything that follows, and single runs differ by
/// 0.003. So a figure is the mean over so many budgets, from 5 % below the one that is named to 5 %
/// above.
const BUDGETS: u32 = 25;
/// What the index engine and the carousel reached by the same measure before they learnt across
/// pages and hosts, in the order of the table.
const BEFORE: [[f64; 2]; 4] = [
    [0.8570, 0.8564],
    [0.9604, 0.9596],
    [0.8786, 0.8778],
    [0.9657, 0.9653],
];
/// 2020, in Unix time: from then on the archive is dense.
const START: f64 = 1_577_836_800.0;

/// The pages, and how many days their changes span.
fn world(text: &str, zipf: bool) -> (World, f64) {
    let mut changes: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let mut fields = line.split('\t');
        let (Some(service), Some(page), Some(time)) = (fields.next(), fields.next(), fields.next())
        else {
            panic!("expected three columns: {line}")
        };
        let day = (time.parse::<f64>().expect("seconds") - START) / 86_400.0;
        let changes = changes.entry((service, page)).or_default();
        if day > 0.0 && fields.next().is_none_or(|kind| kind == "change") {
            changes.push(day);
        }
    }
    let days = changes.values().flatten().copied().fold(0.0, f64::max);
    let mut services: Vec<&str> = changes.keys().map(|(service, _)| *service).collect();
    services.dedup();
    // Which page is how important has nothing to do with its name.
    let mut ranks: Vec<usize> = (1..=changes.len()).collect();
    let mut random = Random(3);
    (1..ranks.len())
        .for_each(|last| ranks.swap(last, (random.next_u64() % (last as u64 + 1)) as usize));
    let page = |(((service, _), mut times), rank): (((&str, &str), Vec<f64>), usize)| {
        times.sort_by(f64::total_cmp);
        SimPage {
            host: services
                .iter()
                .position(|known| *known == service)
                .expect("listed above"),
            weight: if zipf { 1.0 / rank as f64 } else { 1.0 },
            mean_rate: times.len() as f64 / days,
            change: Change::Trace(times),
        }
    };
    let pages = changes.into_iter().zip(ranks).map(page).collect();
    let hosts = vec![SimHost::new(Duration::from_secs(15)); services.len()];
    (
        World {
            pages,
            hosts,
            ..World::default()
        },
        days,
    )
}

/// The weightings and visits a page and day, in the order of the table.
const ROWS: [(bool, f64); 4] = [(false, 0.02), (false, 0.1), (true, 0.02), (true, 0.1)];

/// A row for each weighting and budget, what went wrong, and what our engines reached.
fn replay(text: &str) -> (String, String, Vec<[Mean; 2]>) {
    let rules = [
        PolicyName::Uniform,
        PolicyName::Nutch,
        PolicyName::Stormcrawler,
    ];
    let engines = [PolicyName::Index, PolicyName::Carousel];
    let mut table = String::new();
    let mut missed = String::new();
    let mut reached = Vec::new();
    for (zipf, rate) in ROWS {
        let weights = if zipf { "Zipf" } else { "equal" };
        let (world, days) = world(text, zipf);
        let freshness = |policy: PolicyName| {
            let runs = parallel(BUDGETS as usize, |index| {
                let share = 0.95 + 0.1 * index as f64 / f64::from(BUDGETS - 1);
                let per_day = share * rate * world.pages.len() as f64;
                let mut policy = policy.build(&world, per_day, true, 1);
                let report = run(&world, &mut *policy, &Options::new(days, 1));
                assert_eq!(report.politeness_violations, 0, "{weights}, {per_day}");
                report.freshness
            });
            Mean::of(&runs)
        };
        let ours = engines.map(freshness);
        let others = rules.map(freshness);
        write!(
            table,
            "{:>4} pages, {weights:>5} weights, {rate:>4} a day:",
            world.pages.len()
        )
        .unwrap();
        for (policy, mean) in engines.iter().chain(&rules).zip(ours.iter().chain(&others)) {
            write!(table, "  {} {:.4}", policy.name(), mean.value).unwrap();
        }
        writeln!(table).unwrap();
        let worst = ours[0].value.min(ours[1].value);
        let best = others
            .map(|mean| mean.value)
            .into_iter()
            .fold(0.0, f64::max);
        if worst <= best {
            writeln!(
                missed,
                "{weights} weights, {rate} a day: {worst:.4} against {best:.4}"
            )
            .unwrap();
        }
        reached.push(ours);
    }
    (table, missed, reached)
}

#[test]
fn beats_round_robin_nutch_and_stormcrawler() {
    let (table, missed, reached) = replay(EXCERPT);
    println!("{table}");
    assert!(missed.is_empty(), "{missed}{table}");
    for (ours, before) in reached.iter().flatten().zip(BEFORE.iter().flatten()) {
        let chance = ours.plus_minus.unwrap_or(0.0);
        assert!(ours.value >= before - chance, "{ours:?}, once {before}");
    }
    insta::assert_snapshot!(table);
}

#[test]
fn on_a_trace_of_your_own() {
    let Some(file) = std::env::var_os("DUNLIN_TRACES") else {
        // Past the harness, which shows nothing of a test that passes.
        let said = "skipped: DUNLIN_TRACES names no trace of your own";
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{said}\n"));
        return;
    };
    let text = std::fs::read_to_string(file).expect("DUNLIN_TRACES is a file");
    let (table, missed, _) = replay(&text);
    println!("{table}");
    assert!(missed.is_empty(), "{missed}{table}");
}
