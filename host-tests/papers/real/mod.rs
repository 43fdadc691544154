//! All policies on real changes, learning as they go.

mod evolution;

use clap::ValueEnum;
use dunlin::time::Duration;
use dunlin_host::output::plot::{Line, logarithmic_lines};
use dunlin_host::simulate::repeat::parallel;
use dunlin_host::simulate::{
    Change, Options, PolicyName, SimHost, SimPage, World, run as simulate,
};

use super::Settings;
use super::page::{Section, digits};
use super::traces::Traces;

const SEED: u64 = 1;
/// The scheduler, in its forms.
const OURS: [PolicyName; 3] = [
    PolicyName::Index,
    PolicyName::Carousel,
    PolicyName::Siblings,
];
/// Visits a page, in a year.
const BUDGETS: [f64; 4] = [6.0, 12.0, 52.0, 180.0];

/// Runs the experiments, and makes the page.
pub fn run(settings: &Settings) -> Section {
    let traces = settings.traces();
    let mut section = Section::new(
        "real",
        "Real changes: all policies at four budgets",
        SEED,
        settings,
    );
    section.say(&format!("Pages are from {}.", traces.about));
    evolution::changes(&mut section, &traces);
    policies(&mut section, &traces);
    section
}

fn policies(section: &mut Section, traces: &Traces) {
    section.part(
        "Freshness",
        "No policy knows rates: those that need them learn them by the crate's own estimator from what \
         they see. Changes are recorded, not drawn, so that the seed matters to random and proportional visits only. The first \
         year counts for learning only. Columns: visits a page and year. One minute between two \
         fetches from a service.",
    );
    let pages = traces.pages.iter().map(|(service, changes)| SimPage {
        host: *service,
        weight: 1.0,
        mean_rate: changes.len() as f64 / traces.days,
        change: Change::Trace(changes.clone()),
    });
    let world = World {
        pages: pages.collect(),
        hosts: vec![SimHost::new(Duration::from_secs(60)); traces.services],
        ..World::default()
    };
    let policies = PolicyName::value_variants();
    let per_day = |budget: f64| budget / 365.0 * world.pages.len() as f64;
    let options = Options {
        measured_from: 365.0,
        ..Options::new(traces.days, SEED)
    };
    let reports = parallel(policies.len() * BUDGETS.len(), |job| {
        let budget = per_day(BUDGETS[job % BUDGETS.len()]);
        let mut policy = policies[job / BUDGETS.len()].build(&world, budget, true, SEED);
        simulate(&world, policy.as_mut(), &options)
    });
    let table = |of: &dyn Fn(&dunlin_host::simulate::Report) -> String| -> Vec<Vec<String>> {
        let rows = policies.iter().zip(reports.chunks(BUDGETS.len()));
        rows.map(|(policy, row)| {
            [policy.name()]
                .into_iter()
                .chain(row.iter().map(of))
                .collect()
        })
        .collect()
    };
    let columns = ["policy", "6", "12", "52", "180"];
    section.table(&columns, &table(&|report| digits(report.freshness)));
    section.say("Mean age of a copy in days:");
    section.table(
        &columns,
        &table(&|report| format!("{:.2}", report.age_s / 86_400.0)),
    );
    section.say(
        "Fetches made. Nutch's and StormCrawler's rules stretch the intervals of pages that rarely change up to a year and leave \
         budget unused; random picks never return to a page that their plan once gave up, so they never learn better.",
    );
    section.table(&columns, &table(&|report| report.fetches.to_string()));
    section.say("Fetches that found a change:");
    section.table(&columns, &table(&|report| report.changes_seen.to_string()));
    let curves: Vec<Line> = (policies.iter().zip(reports.chunks(BUDGETS.len())))
        .map(|(policy, row)| Line {
            name: policy.name(),
            points: BUDGETS
                .iter()
                .zip(row)
                .map(|(budget, report)| (*budget, 1.0 - report.freshness))
                .collect(),
        })
        .collect();
    section.plot(
        "real",
        "Staleness on real changes by budget",
        logarithmic_lines(
            "Staleness on real changes",
            "visits a page and year",
            "staleness",
            &curves,
        ),
    );
    let fresh = |policy: PolicyName, budget: usize| {
        let place = policies
            .iter()
            .position(|other| *other == policy)
            .unwrap_or(0);
        reports[place * BUDGETS.len() + budget].freshness
    };
    for (budget, visits) in BUDGETS.iter().enumerate() {
        let ours = fresh(PolicyName::Index, budget);
        let rivals = policies.iter().filter(|policy| !OURS.contains(policy));
        let best = rivals
            .copied()
            .max_by(|a, b| fresh(*a, budget).total_cmp(&fresh(*b, budget)))
            .unwrap_or_default();
        let theirs = fresh(best, budget);
        let verdict = if ours >= theirs {
            "above"
        } else {
            "**not** above"
        };
        section.say(&format!(
            "At {visits} visits a page and year ours (index, {ours:.4}) is {verdict} the best of the others ({}, {theirs:.4}).",
            best.name()
        ));
        section.limit(
            format!("ours is within 1 % of the best of the others, or above, at {visits} visits"),
            ours > 0.99 * theirs,
        );
    }
    for (budget, visits) in BUDGETS.iter().enumerate() {
        let alone = fresh(PolicyName::default(), budget);
        let told = fresh(PolicyName::Siblings, budget);
        section.say(&format!(
            "At {visits} visits a page and year, looking at the other documents of a service when one has changed \
             (Cho §8.1) brings {:+.4}.",
            told - alone
        ));
        section.limit(
            format!("siblings cost at most 0.002 of freshness at {visits} visits"),
            told > alone - 0.002,
        );
    }
    section.limit(
        "nobody is ever impolite",
        reports
            .iter()
            .all(|report| report.politeness_violations == 0),
    );
}
