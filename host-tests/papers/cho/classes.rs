//! Section 6.6: weekly or monthly? How often Bayes' rule is right.

use dunlin::learn::{Classes, Visit};
use dunlin::time::Duration;
use dunlin_host::output::plot::{Line, lines};

use super::estimators::seen;
use crate::page::{Section, Verdict, digits};

const WEEKLY: f64 = 1.0 / 7.0;
const MONTHLY: f64 = 1.0 / 30.0;

/// The chance that a page of this rate counts as monthly after `visits` visits, `days` apart: over
/// all outcomes, each judged by [`Classes`].
fn monthly(rate: f64, visits: u32, days: f64) -> f64 {
    let judged = |changes: u32| {
        let rates = [WEEKLY, MONTHLY];
        let mut weights = [0.0; 2];
        let Ok(mut page) = Classes::new(&rates, &mut weights) else {
            return false;
        };
        for visit in 0..visits {
            page.update(&Visit::new(Duration::from_days(days), visit < changes));
        }
        page.likeliest() == 1
    };
    (0..)
        .zip(seen(visits, rate * days))
        .filter(|(changes, _)| judged(*changes))
        .map(|(_, chance)| chance)
        .sum()
}

/// Figures 6.16 and 6.17.
pub fn accuracy(section: &mut Section) {
    section.part(
        "Figures 6.16 and 6.17: weekly or monthly?",
        "The chance that Bayes' rule puts a page into the monthly class, by its true rate: after n visits every ten days, and after ten visits \
         at other intervals (how many the thesis takes for Figure 6.17 is not printed).",
    );
    let rates = [1.0 / 120.0, MONTHLY, 1.0 / 15.0, WEEKLY, 1.0 / 3.0];
    let row = |name: String, visits: u32, days: f64| {
        let cells = rates.map(|rate| digits(monthly(rate, visits, days)));
        [name].into_iter().chain(cells).collect::<Vec<_>>()
    };
    section.table(
        &[
            "",
            "once in 120 days",
            "monthly",
            "once in 15 days",
            "weekly",
            "once in 3 days",
        ],
        &[
            row("n = 1, every 10 days".into(), 1, 10.0),
            row("n = 3, every 10 days".into(), 3, 10.0),
            row("n = 10, every 10 days".into(), 10, 10.0),
            row("n = 10, every day".into(), 10, 1.0),
            row("n = 10, every 2 months".into(), 10, 60.0),
        ],
    );
    let curve = |name: &str, visits: u32, days: f64| Line {
        name: name.into(),
        points: (1..=60)
            .map(|step| f64::from(step) / 200.0)
            .map(|rate| (rate, monthly(rate, visits, days)))
            .collect(),
    };
    section.plot(
        "cho-classes",
        "Figures 6.16 and 6.17: the chance of the monthly class by rate",
        lines(
            "Figures 6.16, 6.17: put into the monthly class",
            "changes a day",
            "chance",
            &[
                curve("n = 1, 10 days", 1, 10.0),
                curve("n = 3, 10 days", 3, 10.0),
                curve("n = 10, 10 days", 10, 10.0),
                curve("n = 10, 1 day", 10, 1.0),
                curve("n = 10, 60 days", 10, 60.0),
            ],
        ),
    );
    claims(section);
}

fn claims(section: &mut Section) {
    // The larger the rate, the less likely the monthly class: the ends of the ranges are the worst.
    let right = |visits: u32, days: f64| {
        (
            monthly(MONTHLY, visits, days),
            1.0 - monthly(WEEKLY, visits, days),
        )
    };
    let shown = |(monthly, weekly): (f64, f64)| format!("{monthly:.3} and {weekly:.3}");
    let three = right(3, 10.0);
    section.claim(
        "Figure 6.16",
        "three visits place pages up to monthly, and from weekly on, rightly",
        "> 0.8 each",
        shown(three),
        Verdict::of(three.0 > 0.8 && three.1 > 0.8),
    );
    let ten = right(10, 10.0);
    section.claim(
        "Figure 6.16",
        "so do ten visits",
        "> 0.95 each",
        shown(ten),
        Verdict::of(ten.0 > 0.95 && ten.1 > 0.95),
    );
    let daily = right(10, 1.0);
    let rare = right(10, 60.0);
    let least = |(monthly, weekly): (f64, f64)| monthly.min(weekly);
    section.claim(
        "Figure 6.17",
        "visits every ten days tell the classes apart better than daily or two-monthly ones",
        "more accurate",
        format!(
            "the worse class is right in {:.3}, {:.3} and {:.3} of cases",
            least(ten),
            least(daily),
            least(rare)
        ),
        Verdict::of(least(ten) > least(daily) && least(ten) > least(rare)),
    );
    let early = monthly(1.5 * WEEKLY, 3, 1.0);
    section.claim(
        "Figure 6.17",
        "the first daily visits place even pages faster than weekly into the monthly class",
        "\"with high probability\"; taken as 0.8",
        format!("{early:.2} after three visits, at three changes in two weeks"),
        Verdict::of(early > 0.8),
    );
    section.limit(
        format!(
            "after ten visits every ten days the classes are right in 0.95 and in 0.93 of cases ({})",
            shown(ten)
        ),
        ten.0 > 0.95 && ten.1 > 0.93,
    );
}
