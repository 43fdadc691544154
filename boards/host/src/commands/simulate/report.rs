//! The report: plots, and a page that needs no network.

use super::setting::SimulationSetting;
use super::{Args, Summary, table};
use crate::output::plot::{self, Bar, Line, Plot, escape};

/// A plot shows so many hosts at the most.
const HOSTS: usize = 20;

/// All plots as one SVG document.
pub fn svg(args: &Args, setting: &SimulationSetting, rows: &[Summary]) -> String {
    plot::svg(&plots(args, setting, rows))
}

fn plots(args: &Args, setting: &SimulationSetting, rows: &[Summary]) -> Vec<Plot> {
    let bars: Vec<Bar> = rows
        .iter()
        .map(|row| Bar {
            name: row.policy.name(),
            value: row.freshness,
            plus_minus: row.freshness_plus_minus,
        })
        .collect();
    let step = |row: &Summary| args.days / row.course.len().max(1) as f64;
    let courses: Vec<Line> = rows
        .iter()
        .map(|row| {
            let points = row.course.iter().enumerate();
            let points = points
                .map(|(piece, value)| ((piece as f64 + 0.5) * step(row), *value))
                .collect();
            Line {
                name: row.policy.name(),
                points,
            }
        })
        .collect();
    let mut plots = vec![
        plot::bars(
            "Freshness by policy",
            &bars,
            Some(("bound", setting.trial.bound)),
        ),
        plot::lines(
            "Freshness over time",
            "day",
            "share of pages fresh, by weight",
            &courses,
        ),
    ];
    if let Some(first) = rows.first() {
        let mut hosts: Vec<(f64, &str)> = first
            .host_fetches
            .iter()
            .copied()
            .zip(setting.hosts.iter().map(String::as_str))
            .collect();
        hosts.sort_by(|a, b| b.0.total_cmp(&a.0));
        let a_day = |fetches: f64| fetches / args.days;
        let loads: Vec<Bar> = hosts
            .iter()
            .take(HOSTS)
            .map(|(fetches, name)| Bar {
                name: plot::shortened(name),
                value: a_day(*fetches),
                plus_minus: None,
            })
            .collect();
        let title = match hosts.len() {
            0..=HOSTS => format!("Fetches a day by host ({})", first.policy.name()),
            all => format!(
                "Fetches a day by host ({}; the {HOSTS} busiest of {all})",
                first.policy.name()
            ),
        };
        plots.push(plot::bars(&title, &loads, None));
    }
    plots
}

/// A page with what was asked, the table and the plots.
pub fn html(args: &Args, setting: &SimulationSetting, rows: &[Summary]) -> String {
    let seeds = match args.seeds() {
        1 => format!("seed {}", args.seed),
        seeds => {
            format!(
                "means of the seeds {} to {}",
                args.seed,
                args.seed.wrapping_add(u64::from(seeds) - 1)
            )
        }
    };
    let facts = format!(
        "{} pages on {} hosts, {} fetches a day, {} days measured after {:.2} of warming up, {seeds}{}{}.",
        setting.trial.world.pages.len(),
        setting.trial.world.hosts.len(),
        args.crawls_per_day,
        args.days,
        setting.trial.options.measured_from,
        if args.learn {
            ", change rates learnt on the way"
        } else {
            ""
        },
        if args.trace.is_some() {
            ", changes from a trace"
        } else {
            ""
        },
    );
    let table = table(rows, |number| format!("{number:.4}")).to_html();
    let bound = if setting.has_memory() {
        "the best freshness any fixed rhythms could reach on average; who learns from a silence can do better where pages change by Weibull's or \
         Pareto's law"
    } else {
        "the best freshness any schedule could reach on average; with a trace, even one that knows the future"
    };
    let plots = plot::svg(&plots(args, setting, rows));
    let body = format!(
        "<p>{}</p>
<div class=\"wide\">{table}</div>
<p><b>bound</b>: {bound}.
<b>optimum</b>: the best freshness in the long run for pages of these rates.</p>
{plots}",
        escape(&facts)
    );
    plot::document("dunlin simulate", "What each policy would achieve", &body)
}
