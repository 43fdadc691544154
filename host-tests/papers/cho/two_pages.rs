//! Section 5.5.3: two pages, one of which changes nine times as often as the other.

use dunlin::model::Change as Law;
use dunlin::plan::{Objective, PlanPage};
use dunlin::time::{Duration, Instant};
use dunlin_host::output::plot::{Line, lines};
use dunlin_host::simulate::repeat::parallel;
use dunlin_host::simulate::{
    Change, Fetched, Gated, Options, Random, Rule, SimHost, SimPage, World, run as simulate,
};

use super::SEED;
use super::frequencies::best;
use crate::Settings;
use crate::page::{Printed, Section, Verdict, digits};

const FAST: f64 = 9.0;
const SLOW: f64 = 1.0;

/// Rows of Table 5.4: visits to the fast page and to the slow one, and the printed benefit in days.
const BENEFITS: [(u32, u32, f64); 10] = [
    (1, 0, 1.0 / 36.0),
    (0, 1, 9.0 / 36.0),
    (2, 0, 2.0 / 36.0),
    (1, 1, 10.0 / 36.0),
    (0, 2, 12.0 / 36.0),
    (3, 2, 30.0 / 72.0),
    (2, 3, 31.0 / 72.0),
    (9, 1, 36.0 / 72.0),
    (7, 3, 41.0 / 72.0),
    (5, 5, 40.0 / 72.0),
];

/// Table 5.4: each page changes once and only once in its interval, a ninth of a day and a day.
pub fn benefits(section: &mut Section, settings: &Settings) {
    section.part(
        "Table 5.4: what visits to two pages bring",
        "One page changes once, at a moment by chance, in each ninth of a day, the other once a day. Visits to the fast one are in the middle \
         of its ninths, those to the slow one evenly in the day. The time that copies are up to date again, in days, simulated.",
    );
    let days = settings.size(100_000, 1_000_000);
    let mut random = Random(SEED);
    let mut rows = Vec::new();
    let mut apart = 0.0_f64;
    for (fast, slow, printed) in BENEFITS {
        let found = benefit(fast, slow, days, &mut random);
        apart = apart.max((found - printed).abs());
        rows.push(vec![
            fast.to_string(),
            slow.to_string(),
            digits(printed),
            digits(found),
        ]);
    }
    section.table(&["f1 (fast)", "f2 (slow)", "printed", "simulated"], &rows);
    section.claim(
        "Table 5.4",
        "the benefit of ten choices",
        "as printed, in 36ths of a day",
        format!("worst difference {apart:.4} days"),
        Verdict::of(apart < 0.5 / 72.0),
    );
    let best = [(1, 1), (2, 2), (5, 3), (10, 3)].map(|(visits, printed)| {
        let value = |slow: u32| benefit((visits - slow).min(9), slow, days, &mut Random(SEED));
        let slow = (visits.saturating_sub(9)..=visits)
            .max_by(|a, b| value(*a).total_cmp(&value(*b)))
            .unwrap_or(0);
        (visits, printed, slow)
    });
    let shown = best.map(|(visits, _, slow)| format!("{slow} of {visits}"));
    section.claim(
        "Table 5.4",
        "the best number of visits to the slow page",
        "1 of 1, 2 of 2, 3 of 5, 3 of 10",
        shown.join(", "),
        Verdict::of(best.iter().all(|(_, printed, slow)| printed == slow)),
    );
    section.limit(
        format!("simulated benefits are within 0.003 days of Table 5.4 (worst: {apart:.4})"),
        apart < 0.003,
    );
}

fn benefit(fast: u32, slow: u32, days: usize, random: &mut Random) -> f64 {
    let mut sum = 0.0;
    let ninth = 1.0 / FAST;
    for _ in 0..days {
        for _ in 0..fast {
            let change = ninth * random.unit();
            if change < 0.5 * ninth {
                sum += 0.5 * ninth;
            }
        }
        let change = random.unit();
        let visit = |rank: u32| f64::from(rank) / f64::from(slow + 1);
        sum += (1..=slow)
            .map(visit)
            .find(|visit| *visit >= change)
            .map_or(0.0, |visit| 1.0 - visit);
    }
    sum / days as f64
}

/// Visits at a fixed interval for each page, from a moment by chance on; never where it is none.
struct Fixed {
    intervals: Vec<Option<Duration>>,
    random: Random,
}

impl Rule for Fixed {
    fn eager(&self) -> bool {
        false
    }
    fn first(&mut self, page: usize) -> Instant {
        let share = self.random.unit();
        self.intervals[page].map_or(Instant::MAX, |interval| {
            Instant::ZERO + Duration::from_days(share * interval.as_days::<f64>())
        })
    }
    fn again(&mut self, fetched: &Fetched) -> Option<Instant> {
        self.intervals[fetched.page].map(|interval| fetched.due + interval)
    }
}

/// Mean freshness of `copies` such pairs, with a share of `visits` a day and pair for the slow
/// page.
fn simulated(copies: usize, visits: f64, share: f64) -> f64 {
    let page = |index: usize| {
        let rate = if index.is_multiple_of(2) { FAST } else { SLOW };
        SimPage {
            host: index,
            weight: 1.0,
            mean_rate: rate,
            change: Change::Poisson(rate),
        }
    };
    let world = World {
        pages: (0..2 * copies).map(page).collect(),
        hosts: vec![SimHost::new(Duration::ZERO); 2 * copies],
        ..World::default()
    };
    let interval = |share: f64| (share > 1e-9).then(|| Duration::from_days(1.0 / (share * visits)));
    let pair = [interval(1.0 - share), interval(share)];
    let rule = Fixed {
        intervals: (0..2 * copies).map(|index| pair[index % 2]).collect(),
        random: Random(SEED),
    };
    // So large a budget that visits are never late.
    let budget = 1_000.0 * visits * copies as f64;
    let warm_up = 2.0 / visits + 1.0;
    let options = Options {
        measured_from: warm_up,
        crawlers: 64,
        fetch_time: Duration::from_millis(1),
        ..Options::new(warm_up + (400.0 / visits).clamp(10.0, 40.0), SEED)
    };
    simulate(&world, &mut Gated::new(&world, budget, rule), &options).freshness
}

fn formula(visits: f64, share: f64) -> f64 {
    let page = |rate: f64, visits: f64| {
        if visits > 1e-9 {
            visits / rate * (1.0 - (-rate / visits).exp())
        } else {
            0.0
        }
    };
    0.5 * (page(FAST, (1.0 - share) * visits) + page(SLOW, share * visits))
}

/// Figure 5.13: freshness by the share of visits that the slow page gets.
pub fn shares(section: &mut Section, settings: &Settings) {
    section.part(
        "Figure 5.13: how to share visits among two pages",
        "Poisson pages that change nine times and once a day. Simulated freshness by the share x of f visits a day that the slow page gets, as a \
         multiple of freshness at x = 0.5, and the best share: by our optimum and by simulation.",
    );
    const VISITS: [f64; 6] = [1.0, 2.0, 3.0, 5.0, 10.0, 100.0];
    let steps = settings.size(10, 20);
    let copies = settings.size(200, 2_000);
    let grid: Vec<f64> = (1..=steps).map(|step| step as f64 / steps as f64).collect();
    let found = parallel(VISITS.len() * steps, |job| {
        simulated(copies, VISITS[job / steps], grid[job % steps])
    });
    let pages = [FAST, SLOW].map(|rate| PlanPage::new(1.0, Law::Poisson(rate)));
    let mut rows = Vec::new();
    let mut curves = Vec::new();
    let mut apart = 0.0_f64;
    let mut uniform_wins = true;
    let mut optimum = Vec::new();
    for (visits, found) in VISITS.iter().zip(found.chunks(steps)) {
        let at = |share: f64| found[(share * steps as f64).round() as usize - 1];
        let (rates, _) = best(&pages, *visits, Objective::Freshness);
        optimum.push(rates[1] / visits);
        let place = (0..steps)
            .max_by(|a, b| found[*a].total_cmp(&found[*b]))
            .unwrap_or(0);
        uniform_wins &= at(0.5) > at(0.1);
        for (share, found) in grid.iter().zip(found) {
            apart = apart.max((found - formula(*visits, *share)).abs());
        }
        rows.push(vec![
            visits.to_string(),
            digits(at(0.1) / at(0.5)),
            digits(at(1.0) / at(0.5)),
            digits(rates[1] / visits),
            format!("{}", grid[place]),
        ]);
        let scaled = found.iter().map(|found| found / at(0.5));
        curves.push(Line {
            name: format!("f = {visits}"),
            points: grid.iter().copied().zip(scaled).collect(),
        });
    }
    section.table(
        &[
            "f",
            "proportional (x = 0.1)",
            "slow page only (x = 1)",
            "best x, optimum",
            "best x, simulated",
        ],
        &rows,
    );
    section.plot(
        "cho-two-pages",
        "Figure 5.13: freshness by the share of the slow page, simulated",
        lines(
            "Figure 5.13: freshness, x = 0.5 is 1",
            "share of the slow page",
            "freshness",
            &curves,
        ),
    );
    const PLACE: &str = "Figure 5.13";
    section.claim(
        PLACE,
        "equal visits are fresher than proportional ones in all six graphs",
        "always",
        if uniform_wins {
            "in all six"
        } else {
            "not in all"
        }
        .into(),
        Verdict::of(uniform_wins),
    );
    section.figure(
        PLACE,
        "best share x at f = 1 (graph a)",
        Printed::new(1.0, 1),
        optimum[0],
    );
    section.figure(
        PLACE,
        "best share x at f = 2 (graph b)",
        Printed::new(1.0, 1),
        optimum[1],
    );
    section.figure(
        PLACE,
        "best share x at f = 10 (graph e)",
        Printed::new(0.3, 1),
        optimum[4],
    );
    let between = optimum[4..].iter().all(|share| (0.1..0.5).contains(share));
    section.claim(
        PLACE,
        "at f = 10 and 100 the best is between proportional and equal visits",
        "0.1 < x < 0.5",
        format!("{:.2} and {:.2}", optimum[4], optimum[5]),
        Verdict::of(between),
    );
    const EXPECTED: [f64; 6] = [1.0, 0.88, 0.59, 0.40, 0.31, 0.26];
    let known = optimum.iter().zip(EXPECTED);
    section.limit(
        format!("the optimum gives the slow page {EXPECTED:?} of the visits, to 0.006 (found {optimum:.4?})"),
        known.into_iter().all(|(found, known)| (found - known).abs() < 0.006),
    );
    section.limit(
        format!(
            "simulated freshness of two pages is within 0.015 of its formula (worst: {apart:.4})"
        ),
        apart < 0.015,
    );
}
