//! How real pages change: Cho's chapter 4 and Wolf's Figure 6 on another web, a quarter of a
//! century later.

use std::collections::BTreeMap;

use dunlin::learn::{Clock, Law, fit};
use dunlin::time::{Duration, Instant};
use dunlin_host::evolution::{Evolution, Group};
use dunlin_host::lists::history::History;

use crate::page::{Printed, Section, Verdict};
use crate::traces::Traces;

/// Kinds of documents with fewer pages are put together.
const FEWEST_PAGES: usize = 10;

/// Adds what `dunlin evolution` and `dunlin estimate` say of the traces.
pub fn changes(section: &mut Section, traces: &Traces) {
    section.part(
        "How pages change",
        "As `dunlin evolution` shows it, of pages looked at daily from their first recorded change on; by kind of document, for there are no \
         domains here. The thesis' figures beside them are of 720,000 pages of all kinds in 1999, so they are not expected to be the same.",
    );
    let histories = histories(traces);
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for kind in &traces.kinds {
        *sizes.entry(kind).or_default() += 1;
    }
    let evolution = Evolution::of(&histories, |url| {
        let kind = url.split_once(' ').map_or(url, |(_, kind)| kind);
        if sizes.get(kind).is_some_and(|size| *size >= FEWEST_PAGES) {
            kind.into()
        } else {
            "other documents".into()
        }
    });
    let row = |group: &Group| {
        let percent = |share: &f64| format!("{:.0} %", 100.0 * share);
        let half = group.half_changed_days;
        let mut row = vec![
            group.name.clone(),
            group.pages.to_string(),
            half.map_or_else(String::new, |days| format!("{days:.0}")),
        ];
        row.extend(group.intervals.iter().map(percent));
        row.extend(group.lifespans[1..].iter().map(percent));
        row
    };
    section.table(
        &[
            "documents",
            "pages",
            "half changed by day",
            "change ≤ 1 day",
            "≤ 1 week",
            "≤ 1 month",
            "≤ 4 months",
            "longer",
            "seen ≤ 1 month",
            "≤ 4 months",
            "longer",
        ],
        &evolution.groups.iter().map(row).collect::<Vec<_>>(),
    );
    section.plots(
        "real-evolution",
        "How real pages change",
        &evolution.plots(),
    );
    let all = &evolution.groups[0];
    let half = all.half_changed_days.unwrap_or(f64::INFINITY);
    section.figure(
        "Cho, Figure 4.2",
        "pages that change every day",
        Printed::percent(23.0),
        100.0 * all.intervals[0],
    );
    section.figure(
        "Cho, Figure 4.2",
        "pages that change between once a day and once a week",
        Printed::percent(15.0),
        100.0 * all.intervals[1],
    );
    section.figure(
        "Cho, Figure 4.5",
        "days until half of the pages have changed or vanished",
        Printed::new(50.0, 0),
        half,
    );
    section.say(
        "Cho's Figure 4.4 (more than 70 % of pages are there for more than a month) cannot be judged here: the archive does not say \
         when a document vanished, so that each is seen to the end.",
    );
    let shares: f64 = all.intervals.iter().sum();
    section.limit(
        format!(
            "half of the real pages change within a year (in {half:.0} days), and shares add up"
        ),
        half < 366.0 && (shares - 1.0).abs() < 1e-9,
    );
    laws(section, traces);
}

/// Daily visits at midnight, from the day of the first change on.
fn histories(traces: &Traces) -> Vec<History> {
    let days = traces.days as u32;
    let page = |(place, (_, changes)): (usize, &(usize, Vec<f64>))| {
        let first = changes.first().map_or(0.0, |first| first.ceil());
        let url = format!("{place} {}", traces.kinds[place]);
        let mut history = History::new(url, first * 86_400.0);
        let mut next = changes.iter().filter(|at| **at > first).peekable();
        for day in first as u32 + 1..=days {
            let mut changed = false;
            while next.next_if(|at| **at <= f64::from(day)).is_some() {
                changed = true;
            }
            history.visit(f64::from(day) * 86_400.0, changed, None);
        }
        history
    };
    traces.pages.iter().enumerate().map(page).collect()
}

/// By which laws pages change.
fn laws(section: &mut Section, traces: &Traces) {
    section.say(
        "The law that fits each page with eleven changes or more, as `dunlin estimate` finds it (Wolf §4, Figure 6: some pages have Weibull tails with α < 1, \
         some Pareto tails, some keep to the clock):",
    );
    let mut counts = [0_u32; 5];
    for (_, changes) in &traces.pages {
        let gaps: Vec<f64> = changes
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .filter(|gap| *gap > 0.0)
            .collect();
        if gaps.len() < 10 {
            continue;
        }
        let mut clock = Clock::new();
        for change in changes {
            clock.add(Instant::ZERO + Duration::from_days(*change));
        }
        counts[4] += u32::from(clock.is_pattern());
        match fit(&gaps) {
            Some(Law::Weibull { shape, .. }) if shape < 1.0 => counts[1] += 1,
            Some(Law::Weibull { .. }) => counts[2] += 1,
            Some(Law::Pareto { .. }) => counts[3] += 1,
            _ => counts[0] += 1,
        }
    }
    let all: u32 = counts[..4].iter().sum();
    let share = |count: u32| format!("{:.0} %", 100.0 * f64::from(count) / f64::from(all.max(1)));
    section.table(
        &[
            "pages",
            "Poisson",
            "Weibull, α < 1",
            "Weibull, α > 1",
            "Pareto",
            "of these, changes seen at certain hours",
        ],
        &[[vec![all.to_string()], counts.map(share).to_vec()].concat()],
    );
    section.say(
        "The hours are those of the archive's own daily visits: what it recorded is when it looked. A history with dates, or with visits every hour, is needed to tell a page's clock.",
    );
    let other = all - counts[0];
    section.claim(
        "Wolf, Figure 6",
        "times between updates can differ significantly from an exponential law",
        "\"some\" pages",
        format!("{} of pages", share(other)),
        Verdict::of(other > 0),
    );
    section.claim(
        "Wolf, Figure 6",
        "some have subexponential Weibull tails, some Pareto tails",
        "both occur",
        format!("{} and {}", share(counts[1]), share(counts[3])),
        Verdict::of(counts[1] > 0 && counts[3] > 0),
    );
}
