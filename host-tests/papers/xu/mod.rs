//! Xu et al. (2007): content providers that help.

use dunlin_host::output::plot::{Line, lines};
use dunlin_host::simulate::repeat::{Mean, parallel};
use dunlin_suite::bench::Random;

use super::page::{Section, interval};
use super::{Settings, traces};
use host_tests::learn::providers::{Help, IndexCrawler, Page, Value, World, XuCrawler};

const SEED: u64 = 1;
const SMART: Help = Help::Smart {
    recall: 1.0,
    precision: 1.0,
};
const SUPER: Help = Help::Super { precision: 1.0 };

/// Real changes of two years, which are as many days in cycles of half a day.
struct Web {
    pages: Vec<(usize, Vec<f64>)>,
    hosts: usize,
    days: f64,
    changes_a_day: f64,
}

/// A row of a table: what hosts tell, the skew of accesses, and crawls for each change.
struct Case {
    name: String,
    help: Box<dyn Fn(usize) -> Help + Sync>,
    theta: f64,
    capacity: f64,
}

impl Case {
    /// With the paper's skew, and as many crawls as changes.
    fn new(name: impl Into<String>, help: impl Fn(usize) -> Help + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            help: Box::new(help),
            theta: 0.85,
            capacity: 1.0,
        }
    }
}

/// Orders of accesses that are tried.
const SEEDS: u64 = 5;
/// Days in a cycle of crawling.
const CYCLE: f64 = 2.0;

impl Web {
    /// Pages that changed at all in the last two years of the traces.
    fn new(settings: &Settings) -> (Self, String) {
        let traces = traces::read(settings);
        let days = 730.0;
        let from = traces.days - days;
        let most = settings.size(60, 300);
        let recent = |changes: &[f64]| {
            changes
                .iter()
                .filter(|at| **at >= from)
                .map(|at| at - from)
                .collect::<Vec<f64>>()
        };
        let mut pages: Vec<(usize, Vec<f64>)> = traces
            .pages
            .iter()
            .map(|(host, changes)| (*host, recent(changes)))
            .filter(|page| !page.1.is_empty())
            .collect();
        pages.truncate(most);
        let changes: usize = pages.iter().map(|page| page.1.len()).sum();
        let about = format!(
            "{} pages that changed {changes} times in two years, from {}",
            pages.len(),
            traces.about
        );
        (
            Self {
                hosts: traces.services,
                days,
                changes_a_day: changes as f64 / days,
                pages,
            },
            about,
        )
    }

    /// Accesses by Zipf's law with the case's θ, in an order by chance; hosts that help as the case
    /// says of each.
    fn world(&self, case: &Case, seed: u64) -> World {
        let hosts: Vec<Help> = (0..self.hosts).map(&case.help).collect();
        let mut random = Random(seed);
        let mut ranks: Vec<usize> = (1..=self.pages.len()).collect();
        for place in (1..ranks.len()).rev() {
            ranks.swap(place, random.below(place as u32 + 1) as usize);
        }
        let pages = self
            .pages
            .iter()
            .zip(ranks)
            .map(|((host, changes), rank)| Page {
                host: *host,
                weight: (rank as f64).powf(-case.theta),
                rate: changes.len() as f64 / self.days,
                changes: changes.clone(),
                signals: vec![],
                announced: vec![],
            });
        World::of(pages.collect(), &hosts, self.days, CYCLE, seed)
    }

    /// Freshness by Xu's crawler and by ours, learning and knowing rates, with `capacity` crawls
    /// for each change.
    fn all(&self, world: &World, capacity: f64) -> [f64; 3] {
        let per_day = (self.changes_a_day * capacity).max(1.0 / CYCLE);
        [
            world.freshness(&mut XuCrawler::new(world, per_day), per_day),
            world.freshness(&mut IndexCrawler::new(world, Value::EquivalentAge), per_day),
            world.freshness(
                &mut IndexCrawler::informed(world, Value::EquivalentAge),
                per_day,
            ),
        ]
    }
}

/// Runs it.
pub fn run(settings: &Settings) -> Section {
    let mut section = Section::new(
        "xu",
        "Xu et al.: content providers that help (2007)",
        SEED,
        settings,
    );
    let (web, about) = Web::new(settings);
    section.say(&format!(
        "{about}. The paper's own traces (news feeds of 2006) are not published. Accesses by Zipf's law, in {SEEDS} orders by chance: means with \
         95 % confidence intervals. As many crawls as changes unless said otherwise. *Xu* is the published crawler with the repairs it needs; *ours* values a page by what it has \
         learnt about rates and about how far each host can be believed."
    ));
    figure_2(&mut section, &web);
    figure_3(&mut section, &web);
    figure_4(&mut section, &web);
    figure_5(&mut section, &web);
    section
}

/// One row for each case, all crawlers; returns their means.
fn tabulate(section: &mut Section, web: &Web, head: &str, cases: &[Case]) -> Vec<[f64; 3]> {
    let found = parallel(cases.len() * SEEDS as usize, |job| {
        let case = &cases[job / SEEDS as usize];
        web.all(&web.world(case, SEED + job as u64 % SEEDS), case.capacity)
    });
    let means: Vec<[Mean; 3]> = (found.chunks(SEEDS as usize))
        .map(|seeds| {
            [0, 1, 2].map(|place| Mean::of(&seeds.iter().map(|row| row[place]).collect::<Vec<_>>()))
        })
        .collect();
    let rows: Vec<Vec<String>> = (cases.iter().zip(&means))
        .map(|(case, means)| {
            [case.name.clone()]
                .into_iter()
                .chain(means.iter().map(interval))
                .collect()
        })
        .collect();
    section.table(&[head, "Xu", "ours, learning", "ours, rates known"], &rows);
    means.iter().map(|row| row.map(|mean| mean.value)).collect()
}

fn figure_2(section: &mut Section, web: &Web) {
    section.part(
        "Figure 2: providers of one kind",
        "In print smart is about 10 % above normal, super about 15 % above smart.",
    );
    let kinds = [("normal", Help::Normal), ("smart", SMART), ("super", SUPER)];
    let cases = kinds.map(|(name, kind)| Case::new(name, move |_| kind));
    let found = tabulate(section, web, "providers", &cases);
    section.limit(
        "Xu's crawler: normal < smart < super",
        found[0][0] < found[1][0] && found[1][0] < found[2][0],
    );
    section.say(&format!(
        "Here smart is {:.1} % above normal and super {:.1} % above smart.",
        100.0 * (found[1][0] / found[0][0] - 1.0),
        100.0 * (found[2][0] / found[1][0] - 1.0)
    ));
    compare(section, &found);
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

fn figure_3(section: &mut Section, web: &Web) {
    section.part(
        "Figure 3: mixed populations",
        "A share of super providers, the rest half normal and half smart. In print the best is near 30 % and 60 %.",
    );
    let shares = [0.1, 0.3, 0.5, 0.7, 0.9];
    let cases = shares.map(|share| {
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
    });
    let found = tabulate(section, web, "super providers", &cases);
    let best = (0..shares.len())
        .max_by(|a, b| found[*a][0].total_cmp(&found[*b][0]))
        .unwrap_or(0);
    section.say(&format!(
        "With Xu's crawler the best here is {:.0} %; scores of different kinds of providers are not on one scale, so which \
         mixture looks best depends on the trace.",
        100.0 * shares[best]
    ));
    compare(section, &found);
    let curve = |name: &str, place: usize| Line {
        name: name.into(),
        points: shares
            .iter()
            .zip(&found)
            .map(|(share, row)| (*share, row[place]))
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
                curve("Xu", 0),
                curve("ours, learning", 1),
                curve("ours, rates known", 2),
            ],
        ),
    );
}

fn figure_4(section: &mut Section, web: &Web) {
    section.part(
        "Figure 4: skew of accesses and capacity",
        "In print skew changes little; twice the capacity does not halve staleness.",
    );
    let skews = [0.85, 0.6, 0.4].map(|theta| Case {
        theta,
        ..Case::new(format!("θ = {theta}"), |_| SMART)
    });
    let skewed = tabulate(section, web, "skew (smart providers)", &skews);
    let spread = skewed.iter().map(|row| row[0]).fold(0.0, f64::max)
        - skewed.iter().map(|row| row[0]).fold(1.0, f64::min);
    section.limit(
        format!("skew changes freshness by less than 0.1 ({spread:.3})"),
        spread < 0.1,
    );
    let sizes = [1.0, 2.0, 4.0].map(|capacity| Case {
        capacity,
        ..Case::new(format!("{capacity} ×"), |_| SMART)
    });
    let sized = tabulate(section, web, "capacity (smart providers)", &sizes);
    section.limit(
        "more capacity, more freshness",
        sized[0][0] < sized[1][0] && sized[1][0] < sized[2][0],
    );
}

fn figure_5(section: &mut Section, web: &Web) {
    section.part(
        "Figure 5: precision of announcements",
        "In print worse predictions lower freshness.",
    );
    let levels = [1.0, 0.75, 0.5, 0.25];
    let cases = levels.map(|precision| {
        Case::new(format!("{:.0} %", 100.0 * precision), move |_| {
            Help::Super { precision }
        })
    });
    let found = tabulate(section, web, "announcements that come true", &cases);
    section.limit(
        "a quarter of predictions true is worse than all",
        found[0][0] > found[3][0],
    );
}
