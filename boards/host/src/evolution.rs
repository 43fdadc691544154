//! How a collection of pages changes and vanishes over time: histograms of change intervals and of
//! lifespans, and the day by which half of the pages have changed (Cho ch. 4), and how long pages
//! go between two changes (Wolf, Figure 6).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::lists::history::History;
use crate::output::plot::{Line, Plot, lines, logarithmic_lines};

const DAY_S: f64 = 86_400.0;
/// Upper ends in days of the classes of intervals and lifespans; the last class has none.
pub const ENDS: [f64; 4] = [1.0, 7.0, 30.0, 120.0];
/// Names of the classes of change intervals.
pub const INTERVALS: [&str; 5] = [
    "<= 1 day",
    "<= 1 week",
    "<= 1 month",
    "<= 4 months",
    "longer",
];
/// Names of the classes of lifespans; Cho has no first one.
pub const LIFESPANS: [&str; 4] = ["<= 1 week", "<= 1 month", "<= 4 months", "longer"];
/// The most pages whose gaps are drawn.
const MOST_TAILS: usize = 12;
/// Pages with fewer gaps say little about their tail.
const FEWEST_GAPS: usize = 10;

/// What became of a group of pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// What they have in common.
    pub name: String,
    /// How many there are.
    pub pages: usize,
    /// Share of pages by mean interval between two changes ([`INTERVALS`]); pages that never
    /// changed are in the last class.
    pub intervals: [f64; 5],
    /// Share of pages by lifespan ([`LIFESPANS`]), as long as they were seen (Cho's method 1).
    pub lifespans: [f64; 4],
    /// The same with twice the time for pages that were there at the beginning or at the end
    /// (method 2).
    pub lifespans_doubled: [f64; 4],
    /// The day by which half of the pages had changed or vanished; `None` if fewer did.
    pub half_changed_days: Option<f64>,
    /// Share of pages that had neither changed nor vanished by each day.
    pub unchanged: Vec<(f64, f64)>,
}

/// A page's gaps between changes: the share of them that are longer than so many days.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tail {
    /// The URL of the page.
    pub url: String,
    /// How many gaps there are.
    pub gaps: usize,
    /// Days, and the share of gaps that are longer.
    pub longer: Vec<(f64, f64)>,
}

/// How all pages of a history change and vanish.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evolution {
    /// Days from the first visit to the last.
    pub days: f64,
    /// All pages, and then each group.
    pub groups: Vec<Group>,
    /// The pages with the most changes.
    pub tails: Vec<Tail>,
}

/// Cho's groups: `com`, `netorg`, `edu`, `gov` (with `mil`), and other top-level domains as they
/// are.
pub fn domain(url: &str) -> String {
    let host = url.split("://").nth(1).unwrap_or(url);
    let host = host.split(['/', '?', '#']).next().unwrap_or(host);
    let host = host.rsplit('@').next().unwrap_or(host);
    let host = host.split(':').next().unwrap_or(host).trim_end_matches('.');
    let last = host.rsplit('.').next().unwrap_or(host).to_lowercase();
    match last.as_str() {
        "net" | "org" => "netorg".into(),
        "gov" | "mil" => "gov".into(),
        // An address, not a name.
        _ if !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()) => "address".into(),
        _ => last,
    }
}

impl Evolution {
    /// How pages have changed, which `group` puts together.
    pub fn of(histories: &[History], group: impl Fn(&str) -> String) -> Self {
        let start = histories.iter().map(History::first_s);
        let start = start.fold(f64::INFINITY, f64::min);
        let end = histories.iter().map(History::last_s);
        let end = end.fold(f64::NEG_INFINITY, f64::max);
        let lives: Vec<Life> = histories
            .iter()
            .map(|history| Life::of(history, start, end))
            .collect();
        let mut groups: BTreeMap<String, Vec<&Life>> = BTreeMap::new();
        for (history, life) in histories.iter().zip(&lives) {
            groups.entry(group(&history.url)).or_default().push(life);
        }
        let all = Group::of("all".into(), &lives.iter().collect::<Vec<_>>());
        let each = groups
            .into_iter()
            .map(|(name, lives)| Group::of(name, &lives));
        Self {
            days: ((end - start) / DAY_S).max(0.0),
            groups: [all].into_iter().chain(each).collect(),
            tails: tails(histories),
        }
    }

    /// Unchanged pages over time, and the tails of gaps.
    pub fn plots(&self) -> Vec<Plot> {
        let unchanged: Vec<Line> = self
            .groups
            .iter()
            .map(|group| Line {
                name: group.name.clone(),
                points: group.unchanged.clone(),
            })
            .collect();
        let tails: Vec<Line> = self
            .tails
            .iter()
            .map(|tail| Line {
                name: crate::output::plot::shortened(&tail.url),
                points: tail.longer.clone(),
            })
            .collect();
        let histogram = |title: &str, names: &[&str], of: &dyn Fn(&Group) -> Vec<f64>| {
            let curve = |group: &Group| Line {
                name: group.name.clone(),
                points: (1..)
                    .zip(of(group))
                    .map(|(class, share)| (f64::from(class), share))
                    .collect(),
            };
            let label = (1..)
                .zip(names)
                .map(|(class, name)| format!("{class}: {name}"))
                .collect::<Vec<_>>()
                .join(", ");
            let curves: Vec<Line> = self.groups.iter().map(curve).collect();
            lines(title, &label, "share of pages", &curves)
        };
        vec![
            histogram("Mean interval between changes", &INTERVALS, &|group| {
                group.intervals.to_vec()
            }),
            histogram("Visible lifespan", &LIFESPANS, &|group| {
                group.lifespans.to_vec()
            }),
            lines(
                "Pages that have neither changed nor vanished",
                "days since the first visit",
                "share of pages",
                &unchanged,
            ),
            logarithmic_lines(
                "Gaps between changes, pages with the most changes",
                "days",
                "share of gaps that are longer",
                &tails,
            ),
        ]
    }
}

/// What counts of one page.
struct Life {
    /// The days in which it was seen.
    days: f64,
    changes: u32,
    /// At the beginning, or still there at the end: it may have lived longer.
    cut: bool,
    /// Days to the first change, or to when it vanished, and whether either happened.
    steady: (f64, bool),
}

impl Life {
    fn of(history: &History, start: f64, end: f64) -> Self {
        let first = history.first_s();
        let last = history.last_s();
        let days = (last - first) / DAY_S;
        // A page that is visited every week is still there if it was seen in the last week.
        let usual = (last - first) / history.visits.len().max(1) as f64;
        let there_at_end = end - last <= 1.5 * usual;
        let cut = there_at_end || first - start <= 1.5 * usual;
        let changed = history.timed().find(|(_, visit)| visit.changed);
        let steady = match changed {
            Some((at, _)) => ((at - first) / DAY_S, true),
            None => (days, !there_at_end),
        };
        Self {
            days,
            changes: history.visits.iter().filter(|visit| visit.changed).count() as u32,
            cut,
            steady,
        }
    }

    fn interval(&self) -> f64 {
        if self.changes == 0 {
            f64::INFINITY
        } else {
            self.days / f64::from(self.changes)
        }
    }
}

impl Group {
    fn of(name: String, lives: &[&Life]) -> Self {
        let intervals = shares(lives.iter().map(|life| life.interval()), &ENDS);
        let lifespans = shares(lives.iter().map(|life| life.days), &ENDS[1..]);
        let doubled = lives
            .iter()
            .map(|life| life.days * if life.cut { 2.0 } else { 1.0 });
        let lifespans_doubled = shares(doubled, &ENDS[1..]);
        let unchanged = unchanged(lives);
        let half = unchanged.iter().find(|(_, share)| *share <= 0.5);
        Self {
            name,
            pages: lives.len(),
            intervals,
            lifespans,
            lifespans_doubled,
            half_changed_days: half.map(|(day, _)| *day),
            unchanged,
        }
    }
}

/// The share of values in each class, by their upper ends.
fn shares<const N: usize>(values: impl ExactSizeIterator<Item = f64>, ends: &[f64]) -> [f64; N] {
    let each = 1.0 / values.len().max(1) as f64;
    let mut shares = [0.0; N];
    for value in values {
        // Seconds are rounded to microseconds on the way.
        let class = ends.iter().position(|end| value <= end + 1e-6);
        if let Some(share) = shares.get_mut(class.unwrap_or(ends.len())) {
            *share += each;
        }
    }
    shares
}

/// Kaplan and Meier's estimate, which minds that pages were watched for different times.
fn unchanged(lives: &[&Life]) -> Vec<(f64, f64)> {
    let mut ends: Vec<(f64, bool)> = lives.iter().map(|life| life.steady).collect();
    // Of one day, changes come before pages that are merely not watched any longer.
    ends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut left = ends.len() as f64;
    let mut share = 1.0;
    let mut course = vec![(0.0, 1.0)];
    for (day, happened) in ends {
        if happened {
            share *= 1.0 - 1.0 / left;
            match course.last_mut() {
                Some(last) if last.0 == day => last.1 = share,
                _ => course.push((day, share)),
            }
        }
        left -= 1.0;
    }
    course
}

/// Gaps between changes found of the pages with the most.
fn tails(histories: &[History]) -> Vec<Tail> {
    let gaps = |history: &History| -> Vec<f64> {
        let changes: Vec<f64> = history
            .timed()
            .filter(|(_, visit)| visit.changed)
            .map(|(at, _)| at)
            .collect();
        let mut gaps: Vec<f64> = changes
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) / DAY_S)
            .collect();
        gaps.sort_unstable_by(f64::total_cmp);
        gaps
    };
    let mut all: Vec<(&str, Vec<f64>)> = histories
        .iter()
        .map(|history| (history.url.as_str(), gaps(history)))
        .filter(|(_, gaps)| gaps.len() >= FEWEST_GAPS)
        .collect();
    all.sort_by_key(|(_, gaps)| std::cmp::Reverse(gaps.len()));
    all.truncate(MOST_TAILS);
    let tail = |(url, gaps): (&str, Vec<f64>)| {
        let count = gaps.len();
        let mut longer: Vec<(f64, f64)> = Vec::new();
        for (rank, gap) in gaps.into_iter().enumerate() {
            let share = (count - 1 - rank) as f64 / count as f64;
            match longer.last_mut() {
                Some(last) if last.0 == gap => last.1 = share,
                _ => longer.push((gap, share)),
            }
        }
        Tail {
            url: url.to_owned(),
            gaps: count,
            longer,
        }
    };
    all.into_iter().map(tail).collect()
}
