//! Rates unknown, and tellers of every kind: the scheduler that ships, with and without hints,
//! beside the published scores.

use dunlin_host::simulate::repeat::{Mean, parallel};
use dunlin_suite::bench::Random;
use host_tests::learn::providers::{Help, Measure, Page, World, XuCrawler};
use host_tests::learn::scheduled::scheduled;
use host_tests::learn::{exponential, unit};

use super::web::{Case, Web};
use super::{SEED, SUPER};
use crate::page::{Section, digits, interval};

/// What a host says of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Teller {
    /// Every change, at once.
    Perfect,
    /// Every change, after a fifth of the mean time between two.
    Late,
    /// Four of five changes, and as many that did not happen.
    Noisy,
    /// Five times as many changes as there are, none of them true but by chance.
    Wolf,
    /// Every change at once, and at the beginning of its cycle.
    Super,
}

const TELLERS: [(Teller, &str); 5] = [
    (Teller::Perfect, "perfect"),
    (Teller::Late, "late"),
    (Teller::Noisy, "noisy"),
    (Teller::Wolf, "crying wolf"),
    (Teller::Super, "super"),
];
/// Of all hosts, in per cent; 0 is one row for all kinds.
const SHARES: [u32; 4] = [25, 50, 75, 100];
/// What a liar may cost.
const LIE: f64 = 0.005;
/// The smaller of the two webs' units of time for Equations 1–3: hours on news, days on the others.
fn units(web: &Web) -> f64 {
    match web {
        Web::News { .. } => 24.0,
        Web::Real { .. } => 1.0,
    }
}

impl Teller {
    /// What the scores are told of such a host.
    fn help(self) -> Help {
        match self {
            Self::Super => SUPER,
            Self::Perfect | Self::Late | Self::Noisy | Self::Wolf => Help::Smart {
                recall: 1.0,
                precision: 1.0,
            },
        }
    }

    /// Lets a page's host say what such a teller says.
    fn tell(self, page: &mut Page, days: f64, random: &mut Random) {
        let mut at_random = |rate: f64| {
            let mut times = Vec::new();
            let mut at = if rate > 0.0 { 0.0 } else { days };
            while at < days {
                at += exponential(random) / rate;
                times.push(at);
            }
            // The last one came too late.
            times.pop();
            times
        };
        match self {
            Self::Perfect | Self::Super => return,
            Self::Late => {
                let delay = 0.2 / page.rate;
                page.signals = page.changes.iter().map(|at| at + delay).collect();
            }
            Self::Noisy => {
                page.signals = at_random(0.8 * page.rate);
                let heard = page.changes.iter().copied().filter(|_| unit(random) <= 0.8);
                page.signals.extend(heard);
            }
            Self::Wolf => page.signals = at_random(5.0 * page.rate),
        }
        page.signals.retain(|at| *at < days);
        page.signals.sort_by(f64::total_cmp);
    }
}

/// A row: which tellers, and on how many hosts.
#[derive(Clone, Copy)]
struct Row {
    teller: Teller,
    name: &'static str,
    share: u32,
}

impl Row {
    fn all() -> Vec<Self> {
        let silent = Self {
            teller: Teller::Perfect,
            name: "none",
            share: 0,
        };
        let kinds = TELLERS.iter().flat_map(|(teller, name)| {
            SHARES.map(|share| Self {
                teller: *teller,
                name,
                share,
            })
        });
        std::iter::once(silent).chain(kinds).collect()
    }

    fn tells(&self, host: usize) -> bool {
        // A fixed scatter of hosts over [0, 1).
        (host as f64 * 0.618_033_988_75).fract() < f64::from(self.share) / 100.0
    }

    /// The web with these tellers.
    fn world(&self, web: &Web, seed: u64) -> World {
        let row = *self;
        let case = Case::new("", move |host| match row.tells(host) {
            true => row.teller.help(),
            false => Help::Normal,
        });
        let mut world = web.world(&case, seed);
        let days = world.days;
        for (index, page) in world.pages.iter_mut().enumerate() {
            if self.tells(page.host) {
                let mut random = Random(seed ^ (index as u64 + 1) << 24);
                self.teller.tell(page, days, &mut random);
            }
        }
        world
    }

    /// Xu's scores, ours without hints, ours with hints: by freshness, and by Equations 1–3.
    fn run(&self, web: &Web, seed: u64) -> [[f64; 3]; 2] {
        let world = self.world(web, seed);
        let per_day = web.per_day();
        let measures = [Measure::Fresh, Measure::Degrading(units(web))];
        let scores = measures.each_ref().map(|measure| {
            let mut scores = XuCrawler::new(&world, per_day);
            world.quality(&mut scores, per_day, measure)
        });
        let deaf = scheduled(&world, per_day, false, &measures);
        let told = scheduled(&world, per_day, true, &measures);
        [0, 1].map(|measure| [scores[measure], deaf[measure], told[measure]])
    }
}

/// What came of a row by one measure.
struct Found {
    means: [Mean; 3],
    /// Ours with hints, less the scores, and less ours without, seed by seed.
    over_scores: Mean,
    over_deaf: Mean,
    is_lie: bool,
}

impl Found {
    fn of(row: &Row, runs: &[[f64; 3]]) -> Self {
        let column = |place: usize| runs.iter().map(|run| run[place]).collect::<Vec<f64>>();
        let over = |place: usize| {
            Mean::of(
                &runs
                    .iter()
                    .map(|run| run[2] - run[place])
                    .collect::<Vec<f64>>(),
            )
        };
        Self {
            means: [0, 1, 2].map(|place| Mean::of(&column(place))),
            over_scores: over(0),
            over_deaf: over(1),
            is_lie: row.teller == Teller::Wolf,
        }
    }

    /// Not below the scores by more than the interval.
    fn holds_scores(&self) -> bool {
        self.over_scores.value + self.over_scores.plus_minus.unwrap_or(0.0) >= 0.0
    }

    /// Nor below ours without hints; of a liar, by no more than it may cost, whatever the interval.
    fn holds_deaf(&self) -> bool {
        let Mean { value, plus_minus } = self.over_deaf;
        match self.is_lie {
            true => value >= -LIE * self.means[1].value,
            false => value + plus_minus.unwrap_or(0.0) >= 0.0,
        }
    }
}

/// The table, on both webs and by both measures.
pub fn tabulate(section: &mut Section, webs: [(&str, &Web); 2], seeds: usize) {
    section.part(
        "Rates unknown, tellers of every kind",
        &format!(
            "Here *ours* is the scheduler that ships: it has to learn the rates and how far each host can be believed, with the budget that \
             Xu's scores have. A share of hosts tells: *perfect* ones every change at once; *late* ones after a fifth of the mean time between \
             two; *noisy* ones four of five, and as many that did not happen; those *crying wolf* five times as many changes as there are, none of \
             them true; *super* ones announce changes besides. Means over {seeds} seeds; differences are paired, ± 95 %. ✔: ours with \
             hints is not below the scores, and not below itself without hints, by more than that interval (crying wolf: by more than 0.5 %, whatever the interval)."
        ),
    );
    let rows = Row::all();
    let mut gains = [Vec::new(), Vec::new()];
    let mut broken = 0;
    let mut lies = Vec::new();
    for (name, web) in webs {
        let jobs = parallel(rows.len() * seeds, |job| {
            rows[job / seeds].run(web, SEED + (job % seeds) as u64)
        });
        for (place, measure) in ["freshness", "quality by Equations 1–3"].iter().enumerate() {
            let mut cells = Vec::new();
            for (row, runs) in rows.iter().zip(jobs.chunks(seeds)) {
                let runs: Vec<[f64; 3]> = runs.iter().map(|run| run[place]).collect();
                let found = Found::of(row, &runs);
                let holds = [found.holds_scores(), found.holds_deaf()];
                broken += holds.iter().filter(|holds| !**holds).count();
                if found.is_lie {
                    lies.push(-found.over_deaf.value / found.means[1].value);
                }
                gains[0].push(found.over_scores.value);
                gains[1].push(found.over_deaf.value);
                let mark = |holds: bool| if holds { "✔" } else { "✘" };
                let mut line = vec![format!("{}, {} %", row.name, row.share)];
                line.extend(found.means.iter().map(|mean| digits(mean.value)));
                line.push(format!(
                    "{} {}",
                    interval(&found.over_scores),
                    mark(holds[0])
                ));
                line.push(format!("{} {}", interval(&found.over_deaf), mark(holds[1])));
                cells.push(line);
            }
            section.table(
                &[
                    &format!("{name}, {measure}"),
                    "Xu's scores",
                    "ours, deaf",
                    "ours, hints",
                    "over the scores",
                    "over deaf",
                ],
                &cells,
            );
        }
    }
    let mean = |gains: &[f64]| gains.iter().sum::<f64>() / gains.len() as f64;
    let [over_scores, over_deaf] = gains.each_ref().map(|gains| mean(gains));
    let judged = 2 * gains[0].len();
    section.say(&format!(
        "{} of {judged} comparisons hold. On average over all rows ours with hints is {over_scores:+.4} above the published scores and {over_deaf:+.4} \
         above itself without hints. Where all hosts tell everything, the scores know so from the beginning and need no rates; ours finds it out \
         from a few visits a page.",
        judged - broken
    ));
    section.limit(
        "learning, with hints: ahead of the published scores and of itself without hints, on average over all rows",
        over_scores > 0.0 && over_deaf > 0.0,
    );
    let dearest = lies.into_iter().fold(f64::MIN, f64::max);
    // To find them out takes as many visits in a third of the time.
    let most = if seeds < 10 { 2.0 * LIE } else { LIE };
    section.limit(
        format!(
            "hosts that always lie cost {} % at most, however many do ({:.2} %)",
            100.0 * most,
            100.0 * dearest
        ),
        dearest <= most,
    );
}
