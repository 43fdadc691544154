//! Xu et al. (2007): content providers that help.

mod tellers;
mod web;

use dunlin_host::output::plot::{Line, lines};
use dunlin_host::simulate::repeat::{Mean, parallel};
use host_tests::learn::providers::{Help, Measure};

use super::Settings;
use super::page::{Printed, Section, Verdict, interval};
use web::{Case, Web};

const SEED: u64 = 1;
const SMART: Help = Help::Smart {
    recall: 1.0,
    precision: 1.0,
};
const SUPER: Help = Help::Super { precision: 1.0 };
/// The two measures, as claims name them.
const FRESHNESS: &str = "freshness";
const QUALITY: &str = "quality (Equations 1–3, in hours)";
const KINDS: [(&str, Help); 3] = [("normal", Help::Normal), ("smart", SMART), ("super", SUPER)];

/// What is crawled, and how many webs, or orders of accesses, are tried.
struct Webs {
    news: Web,
    real: Web,
    seeds: usize,
}

/// Runs the experiments, and makes the page.
pub fn run(settings: &Settings) -> Section {
    let mut section = Section::new(
        "xu",
        "Xu et al.: content providers that help (2007)",
        SEED,
        settings,
    );
    let (real, about) = Web::real(settings);
    let days = settings.size(20, 61);
    let webs = Webs {
        news: Web::News { days: days as f64 },
        real,
        seeds: settings.size(3, 8),
    };
    let seeds = webs.seeds;
    section.say(&format!(
        "The paper's traces (news feeds of November and December 2006) are not published, nor is the length of a crawling cycle. So there are \
         two webs here. *News* is simulated: 150 pages on 15 hosts, from one change in 20 days to five a day, {days} days, cycles of 0.3 days, as \
         many crawls as changes; the paper's figures are held against it. The other is {about}, in cycles of two days. Accesses by Zipf's law: means \
         over {seeds} seeds with 95 % confidence intervals. *Xu* is the published crawler with the repairs it needs; *ours, learning* is the scheduler that ships, which \
         has to learn the rates and how far each host can be believed; *ours, rates known* is its index alone, told both."
    ));
    figure_2(&mut section, &webs);
    figure_3(&mut section, &webs);
    figure_4(&mut section, &webs);
    figure_5(&mut section, &webs);
    let both = [("news", &webs.news), ("real changes", &webs.real)];
    tellers::tabulate(&mut section, both, settings.size(3, 10));
    section
}

impl Webs {
    /// One row for each case, all crawlers; returns their means.
    fn tabulate(
        &self,
        section: &mut Section,
        web: &Web,
        head: &str,
        cases: &[Case],
    ) -> Vec<[f64; 3]> {
        let found = parallel(cases.len() * self.seeds, |job| {
            web.all(&cases[job / self.seeds], SEED + (job % self.seeds) as u64)
        });
        let mean = |runs: &[[f64; 3]], place: usize| {
            Mean::of(&runs.iter().map(|row| row[place]).collect::<Vec<_>>())
        };
        let means: Vec<[Mean; 3]> = (found.chunks(self.seeds))
            .map(|runs| [0, 1, 2].map(|place| mean(runs, place)))
            .collect();
        let row = |(case, means): (&Case, &[Mean; 3])| {
            let cells = means.iter().map(interval);
            [case.name.clone()].into_iter().chain(cells).collect()
        };
        let rows: Vec<Vec<String>> = cases.iter().zip(&means).map(row).collect();
        section.table(&[head, "Xu", "ours, learning", "ours, rates known"], &rows);
        means.iter().map(|row| row.map(|mean| mean.value)).collect()
    }

    /// The same on news by Xu's crawler alone.
    fn tabulate_xu(&self, section: &mut Section, head: &str, cases: &[Case]) -> Vec<f64> {
        let found = parallel(cases.len() * self.seeds, |job| {
            let seed = SEED + (job % self.seeds) as u64;
            self.news.xu(&cases[job / self.seeds], seed)
        });
        let means: Vec<Mean> = found.chunks(self.seeds).map(Mean::of).collect();
        let row = |(case, mean): (&Case, &Mean)| vec![case.name.clone(), interval(mean)];
        let rows: Vec<Vec<String>> = cases.iter().zip(&means).map(row).collect();
        section.table(&[head, "Xu"], &rows);
        means.iter().map(|mean| mean.value).collect()
    }
}

/// The same row by Equations 1 to 3, with hours as the unit.
fn by_quality(case: Case) -> Case {
    Case {
        measure: Box::new(|_, _| Measure::Degrading(24.0)),
        ..case
    }
}

/// So many per cent more.
fn above(more: f64, less: f64) -> f64 {
    100.0 * (more / less - 1.0)
}

fn figure_2(section: &mut Section, webs: &Webs) {
    section.part(
        "Figure 2: providers of one kind",
        "In print smart is about 10 % above normal, super about 15 % above smart, and smart near 86 % (§5.3).",
    );
    let cases = || KINDS.map(|(name, kind)| Case::new(name, move |_| kind));
    let found = webs.tabulate(section, &webs.news, "providers (news)", &cases());
    const PLACE: &str = "Figure 2";
    section.figure(
        PLACE,
        "smart providers bring so much more freshness than normal ones",
        Printed::percent(10.0),
        above(found[1][0], found[0][0]),
    );
    section.figure(
        PLACE,
        "super providers bring so much more than smart ones",
        Printed::percent(15.0),
        above(found[2][0], found[1][0]),
    );
    section.figure(
        "§5.3",
        "freshness with smart providers",
        Printed::percent(86.0),
        100.0 * found[1][0],
    );
    section.limit(
        "Xu's crawler on news: normal < smart < super",
        found[0][0] < found[1][0] && found[1][0] < found[2][0],
    );
    let smart = above(found[1][0], found[0][0]);
    let super_ = above(found[2][0], found[1][0]);
    section.limit(
        format!("on news smart is 8 to 12 % above normal and super 10 to 16 % above smart ({smart:.1}, {super_:.1})"),
        (8.0..12.0).contains(&smart) && (10.0..16.0).contains(&super_),
    );
    degrading(section, webs);
    let found = webs.tabulate(section, &webs.real, "providers (real changes)", &cases());
    section.say(&format!(
        "On real changes smart is {:.1} % above normal and super {:.1} % above smart: cycles are short against the time between two changes, so that there \
         is little left to foresee.",
        above(found[1][0], found[0][0]),
        above(found[2][0], found[1][0])
    ));
    compare(section, &found);
}

/// Equations 1 to 3: a stale copy is the worse the more it missed and the longer ago.
fn degrading(section: &mut Section, webs: &Webs) {
    section.say(
        "The paper's own quality (Equations 1–3) is one over the sum of each missed update's number times the time since; it depends on the \
         unit of time, which is not printed. On news, by Xu's crawler, with hours and with days as the unit:",
    );
    const UNITS: [(&str, f64); 2] = [("hours", 24.0), ("days", 1.0)];
    let mut found = Vec::new();
    for (name, units) in UNITS {
        let cases = KINDS.map(|(kind, help)| Case {
            measure: Box::new(move |_, _| Measure::Degrading(units)),
            ..Case::new(kind, move |_| help)
        });
        found.push(webs.tabulate_xu(section, &format!("quality, {name}"), &cases));
    }
    for ((name, _), found) in UNITS.iter().zip(&found) {
        let quality = [0, 1, 2].map(|kind| found[kind]);
        for (what, printed, ours) in [
            ("smart over normal", 10.0, above(quality[1], quality[0])),
            ("super over smart", 15.0, above(quality[2], quality[1])),
        ] {
            section.figure(
                "Figure 2",
                &format!("quality by Equations 1–3, in {name}: {what}"),
                Printed::percent(printed),
                ours,
            );
        }
    }
    section.limit(
        "by Equations 1–3, too, normal < smart < super",
        found
            .iter()
            .all(|rows| rows[0] < rows[1] && rows[1] < rows[2]),
    );
}

/// Says who is ahead, in how many rows.
fn compare(section: &mut Section, found: &[[f64; 3]]) {
    let ahead = |place: usize| found.iter().filter(|row| row[place] > row[0]).count();
    section.say(&format!(
        "Ours is above Xu's crawler in {} of {} rows when it has to learn, and in {} when it knows the mean rates. Real changes come \
         in bursts, of which mean rates say little, and here a page is crawled so rarely that there is little to learn from: where \
         providers tell of every change, hearing is enough.",
        ahead(1),
        found.len(),
        ahead(2)
    ));
}

/// The share of super providers, the rest half normal and half smart.
fn mixtures() -> Vec<Case> {
    let mixture = |share: f64| {
        let help = move |host: usize| {
            // A fixed scatter of hosts over [0, 1).
            let place = (host as f64 * 0.618_033_988_75).fract();
            if place < share {
                SUPER
            } else if place < share + (1.0 - share) / 2.0 {
                SMART
            } else {
                Help::Normal
            }
        };
        Case::new(format!("{:.0} %", 100.0 * share), help)
    };
    (1..=10)
        .map(|tenth| mixture(f64::from(tenth) / 10.0))
        .collect()
}

fn figure_3(section: &mut Section, webs: &Webs) {
    section.part(
        "Figure 3: mixed populations",
        "A share of super providers, the rest half normal and half smart. In print freshness rises up to 30 %, hardly changes up to 60 % and falls from there on; \
         all super providers are better than any mixture from 60 % on.",
    );
    let cases = mixtures();
    let news = webs.tabulate(section, &webs.news, "super providers (news)", &cases);
    let real = webs.tabulate(
        section,
        &webs.real,
        "super providers (real changes)",
        &cases,
    );
    let curve = |name: &str, found: &[[f64; 3]], place: usize| Line {
        name: name.into(),
        points: (1..)
            .zip(found)
            .map(|(tenth, row)| (f64::from(tenth) / 10.0, row[place]))
            .collect(),
    };
    section.plot(
        "xu-3",
        "Figure 3: freshness by share of super providers",
        lines(
            "Figure 3: freshness by share of super providers",
            "share",
            "freshness",
            &[
                curve("Xu, news", &news, 0),
                curve("Xu, real changes", &real, 0),
                curve("ours learning, news", &news, 1),
                curve("ours knowing rates, news", &news, 2),
            ],
        ),
    );
    let fresh: Vec<f64> = news.iter().map(|row| row[0]).collect();
    mixture_claims(section, FRESHNESS, &fresh);
    let by_quality: Vec<Case> = cases.into_iter().map(by_quality).collect();
    let quality = webs.tabulate_xu(section, "super providers, quality in hours", &by_quality);
    mixture_claims(section, QUALITY, &quality);
    section.limit(
        "more super providers than 10 % are no worse on news, to 0.02",
        fresh.iter().all(|value| *value > fresh[0] - 0.02),
    );
    compare(section, &real);
}

/// Figure 3 by one measure, at 10 to 100 % of super providers.
fn mixture_claims(section: &mut Section, what: &str, fresh: &[f64]) {
    const PLACE: &str = "Figure 3";
    section.claim(
        PLACE,
        &format!("{what} rises up to 30 % of super providers"),
        "monotonically",
        format!("{:.3}, {:.3}, {:.3}", fresh[0], fresh[1], fresh[2]),
        Verdict::of(fresh[..3].is_sorted()),
    );
    let spread = |range: &[f64]| {
        range.iter().copied().fold(0.0, f64::max) - range.iter().copied().fold(1.0, f64::min)
    };
    section.claim(
        PLACE,
        &format!("{what} changes less from 30 to 60 % than elsewhere"),
        "\"varies a bit, but not as large as the others\"",
        format!(
            "{:.3}; up to 30 % {:.3}, from 60 % {:.3}",
            spread(&fresh[2..6]),
            spread(&fresh[..3]),
            spread(&fresh[5..9])
        ),
        Verdict::of(
            spread(&fresh[2..6]) < spread(&fresh[..3])
                && spread(&fresh[2..6]) < spread(&fresh[5..9]),
        ),
    );
    section.claim(
        PLACE,
        &format!("{what} falls from 60 to 90 %"),
        "monotonically",
        format!(
            "{:.3}, {:.3}, {:.3}, {:.3}",
            fresh[5], fresh[6], fresh[7], fresh[8]
        ),
        Verdict::of(fresh[5..9].is_sorted_by(|a, b| a >= b)),
    );
    let best = (0..9)
        .max_by(|a, b| fresh[*a].total_cmp(&fresh[*b]))
        .unwrap_or(0);
    section.claim(
        PLACE,
        &format!("near 30 % of super providers achieve the best {what}"),
        "30 % (and 60 %)",
        format!("{} %", 10 * (best + 1)),
        match best {
            2 | 5 => Verdict::Holds,
            1 | 3 | 4 | 6 => Verdict::Near,
            _ => Verdict::Fails,
        },
    );
    section.claim(
        PLACE,
        &format!("all super providers are better than 60 to 90 % of them ({what})"),
        "higher",
        format!(
            "{:.3} against {:.3} at most",
            fresh[9],
            fresh[5..9].iter().copied().fold(0.0, f64::max)
        ),
        Verdict::of(fresh[5..9].iter().all(|mixed| fresh[9] > *mixed)),
    );
}

fn figure_4(section: &mut Section, webs: &Webs) {
    section.part(
        "Figure 4: skew of accesses over time, and capacity",
        "News. Accesses come by Zipf's law with θ over half hours in an order by chance, and Xu's crawler counts them; in print freshness hardly changes. \
         Then twice and four times the crawls, for each kind of provider.",
    );
    const SKEWS: [f64; 3] = [0.85, 0.6, 0.4];
    let skews = SKEWS.map(|theta| Case {
        measure: Box::new(move |days, seed| Measure::skewed(theta, days, 1.0 / 48.0, seed)),
        ..Case::new(format!("θ = {theta}"), |_| SMART)
    });
    let skewed = webs.tabulate_xu(section, "skew over time (smart providers)", &skews);
    let over_pages = SKEWS.map(|theta| Case {
        theta,
        ..Case::new(format!("θ = {theta}"), |_| SMART)
    });
    webs.tabulate_xu(section, "skew over pages (smart providers)", &over_pages);
    let spread = |rows: &[f64]| {
        rows.iter().copied().fold(0.0, f64::max) - rows.iter().copied().fold(1.0, f64::min)
    };
    section.claim(
        "Figure 4a",
        "freshness is almost unchanged by the skew of accesses over time",
        "\"almost unchanged\"; taken as 0.01",
        format!("changes by {:.4}", spread(&skewed)),
        Verdict::of(spread(&skewed) < 0.01),
    );
    section.limit(
        format!(
            "skew over time changes freshness by less than 0.05 ({:.4})",
            spread(&skewed)
        ),
        spread(&skewed) < 0.05,
    );
    capacity(section, webs);
}

fn capacity(section: &mut Section, webs: &Webs) {
    const CAPACITIES: [f64; 3] = [1.0, 2.0, 4.0];
    let cases = || -> Vec<Case> {
        let of = |(name, kind): &(&str, Help)| {
            let kind = *kind;
            CAPACITIES.map(|capacity| Case {
                capacity,
                ..Case::new(format!("{name}, {capacity} ×"), move |_| kind)
            })
        };
        KINDS.iter().flat_map(of).collect()
    };
    let fresh = webs.tabulate_xu(section, "capacity", &cases());
    capacity_claims(section, FRESHNESS, &fresh);
    let by_quality: Vec<Case> = cases().into_iter().map(by_quality).collect();
    let quality = webs.tabulate_xu(section, "capacity, quality in hours", &by_quality);
    capacity_claims(section, QUALITY, &quality);
    section.limit(
        "more capacity is no worse for smart providers",
        fresh[3] <= fresh[5],
    );
}

/// Figure 4b by one measure: three capacities for each kind of provider.
fn capacity_claims(section: &mut Section, what: &str, found: &[f64]) {
    let fresh = |kind: usize, size: usize| found[3 * kind + size];
    const PLACE: &str = "Figure 4b";
    let rises =
        (0..3).all(|kind| fresh(kind, 0) < fresh(kind, 1) && fresh(kind, 1) < fresh(kind, 2));
    section.claim(
        PLACE,
        &format!("more capacity, more {what}, for every kind of provider"),
        "always",
        if rises {
            "for all three"
        } else {
            "not for all"
        }
        .into(),
        Verdict::of(rises),
    );
    let lead = |size: usize| above(fresh(2, size), fresh(1, size).max(fresh(0, size)));
    section.claim(
        PLACE,
        &format!("the larger the capacity, the larger the lead of super providers ({what})"),
        "grows",
        format!("{:.1}, {:.1}, {:.1} %", lead(0), lead(1), lead(2)),
        Verdict::of(lead(0) < lead(1) && lead(1) < lead(2)),
    );
    let lost = |size: usize| 1.0 - fresh(1, size);
    section.claim(
        PLACE,
        &format!("twice and four times the capacity do not raise {what} in proportion (smart)"),
        "what is lost falls by less than ½ and ¾",
        format!(
            "by {:.2} and {:.2}",
            1.0 - lost(1) / lost(0),
            1.0 - lost(2) / lost(0)
        ),
        Verdict::of(lost(1) > 0.5 * lost(0) && lost(2) > 0.25 * lost(0)),
    );
}

fn figure_5(section: &mut Section, webs: &Webs) {
    section.part(
        "Figure 5: precision of announcements",
        "In print worse predictions lower freshness, most of all from 100 to 75 %.",
    );
    let cases = || {
        [1.0, 0.75, 0.5, 0.25].map(|precision| {
            Case::new(format!("{:.0} %", 100.0 * precision), move |_| {
                Help::Super { precision }
            })
        })
    };
    let found = webs.tabulate(
        section,
        &webs.news,
        "announcements that come true (news)",
        &cases(),
    );
    let on_real = webs.tabulate(
        section,
        &webs.real,
        "announcements that come true (real changes)",
        &cases(),
    );
    let fresh: Vec<f64> = found.iter().map(|row| row[0]).collect();
    precision_claims(section, FRESHNESS, &fresh);
    let quality = webs.tabulate_xu(
        section,
        "announcements that come true (news), quality in hours",
        &cases().map(by_quality),
    );
    precision_claims(section, QUALITY, &quality);
    section.limit(
        "a quarter of predictions true is worse than all, on both webs",
        found[0][0] > found[3][0] && on_real[0][0] > on_real[3][0],
    );
}

/// Figure 5 by one measure, from 100 down to 25 %.
fn precision_claims(section: &mut Section, what: &str, found: &[f64]) {
    let drops = [0, 1, 2].map(|place| found[place] - found[place + 1]);
    section.claim(
        "Figure 5",
        &format!("worse predictions lower {what}"),
        "at every step",
        format!("drops of {:.3}, {:.3}, {:.3}", drops[0], drops[1], drops[2]),
        Verdict::of(drops.iter().all(|drop| *drop > 0.0)),
    );
    section.claim(
        "Figure 5",
        &format!("the first drop of {what}, from 100 to 75 %, is the largest"),
        "larger than each of the others",
        format!(
            "{:.3} against {:.3} and {:.3}",
            drops[0], drops[1], drops[2]
        ),
        Verdict::of(drops[0] > drops[1] && drops[0] > drops[2]),
    );
}
