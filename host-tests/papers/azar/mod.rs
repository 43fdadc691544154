//! Azar et al. (2018), Figure 1: a deterministic schedule from the rates that are best at random.

use dunlin_host::output::plot::{Line, lines};
use dunlin_host::simulate::repeat::{Mean, parallel};

use super::Settings;
use super::page::{Section, Verdict, interval};
use host_tests::freshness::{Reached, run as reached};

const SEED: u64 = 1;

/// Runs the experiments, and makes the page.
pub fn run(settings: &Settings) -> Section {
    let mut section = Section::new(
        "azar",
        "Azar et al.: tractable near-optimal policies (2018)",
        SEED,
        settings,
    );
    section.part(
        "Figure 1: how near to the optimum",
        "Pages whose change rates spread over a decade, weights at random, from a hundredth to four times as many visits as changes. \
         Freshness of the earliest-deadline carousel, as a share of the continuous optimum (Cho's Problem 5.1, which we solve \
         exactly): on Azar's rates, and on the optimal rates; means over several webs with 95 % confidence intervals.",
    );
    let pages = settings.size(100, 1_000);
    let seeds = settings.size(2, 8);
    let budgets = [0.01, 0.03, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0];
    let runs = parallel(budgets.len() * seeds, |job| {
        reached(
            pages,
            budgets[job / seeds],
            settings.size(30, 60),
            SEED + (job % seeds) as u64,
        )
    });
    let mut rows = Vec::new();
    let mut curves = [
        ("on the optimal rates", vec![]),
        ("on Azar's rates", vec![]),
    ];
    let mut least_azar = 1.0_f64;
    let mut least_ours = 1.0_f64;
    let mut above = true;
    let mut all = Vec::new();
    for (budget, runs) in budgets.iter().zip(runs.chunks(seeds)) {
        let mean = |of: fn(&Reached) -> f64| Mean::of(&runs.iter().map(of).collect::<Vec<_>>());
        let of_ours = mean(|run| run.optimal);
        let of_azar = mean(|run| run.azar);
        let ours = of_ours.value;
        let azar = of_azar.value;
        least_azar = least_azar.min(azar);
        least_ours = least_ours.min(ours);
        above &= ours > azar;
        all.push((*budget, azar));
        rows.push(vec![
            budget.to_string(),
            interval(&of_azar),
            interval(&of_ours),
        ]);
        curves[0].1.push((*budget, ours));
        curves[1].1.push((*budget, azar));
    }
    section.table(
        &[
            "visits for each change",
            "Azar's rates",
            "optimal rates (ours)",
        ],
        &rows,
    );
    let curves = curves.map(|(name, points)| Line {
        name: name.into(),
        points,
    });
    section.plot(
        "azar",
        "Share of the optimum that a carousel reaches, by budget",
        lines(
            "Share of the continuous optimum",
            "visits for each change",
            "freshness / optimum",
            &curves,
        ),
    );
    let mean = all.iter().map(|(_, azar)| azar).sum::<f64>() / all.len() as f64;
    section.claim(
        "Abstract, Figure 1",
        "the deterministic schedule attains 99 % of the optimum, on average over budgets",
        "99 %",
        format!("{:.2} %", 100.0 * mean),
        Verdict::of(mean >= 0.99),
    );
    for (budget, azar) in all {
        section.claim(
            "Abstract, Figure 1",
            &format!("so it does with {budget} visits for each change"),
            "99 %",
            format!("{:.2} %", 100.0 * azar),
            if azar >= 0.99 {
                Verdict::Holds
            } else if azar >= 0.985 {
                Verdict::Near
            } else {
                Verdict::Fails
            },
        );
    }
    section.limit(
        format!(
            "Azar's rates reach 96 % of the optimum at every budget (least: {:.2} %)",
            100.0 * least_azar
        ),
        least_azar > 0.96,
    );
    section.limit(
        format!(
            "the optimal rates reach more at every budget (least: {:.2} %)",
            100.0 * least_ours
        ),
        above,
    );
    section
}
