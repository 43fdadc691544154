//! Xu et al. (2007): content providers that help.

use dunlin::time::Duration;
use dunlin_host::plot::{Line, lines};
use dunlin_host::simulate::repeat::{Mean, parallel};
use dunlin_host::simulate::{
    Change, Options, PolicyName, SimHost, SimPage, Tells, World as SimWorld, run as simulate,
};
use dunlin_suite::bench::Random;

use super::page::{Section, interval};
use super::{Settings, traces};
use crate::learn::providers::{Help, IndexCrawler, Page, Value, World, XuCrawler};

const SEED: u64 = 1;
const SMART: Help = Help::Smart { recall: 1.0, precision: 1.0 };
const SUPER: Help = Help::Super { precision: 1.0 };

/// Real changes of two years, which are as many days in cycles of half a day.
struct Web {
    pages: Vec<(usize, Vec<f64>)>,
    /// The same pages, with the year before.
    longer: Vec<Vec<f64>>,
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
        Self { name: name.into(), help: Box::new(help), theta: 0.85, capacity: 1.0 }
    }
}

/// In days.
const YEAR: f64 = 365.0;
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
        let since = |changes: &[f64], from: f64| {
            changes.iter().filter(|at| **at >= from).map(|at| at - from).collect::<Vec<f64>>()
        };
        let (pages, longer): (Vec<_>, Vec<_>) = (traces.pages.iter())
            .map(|(host, changes)| ((*host, since(changes, from)), since(changes, from - YEAR)))
            .filter(|((_, recent), _)| !recent.is_empty())
            .take(most)
            .unzip();
        let changes: usize = pages.iter().map(|page| page.1.len()).sum();
        let about =
            format!("{} pages that changed {changes} times in two years, from {}", pages.len(), traces.about);
        (Self { hosts: traces.services, days, changes_a_day: changes as f64 / days, pages, longer }, about)
    }

    /// Accesses by Zipf's law with the case's θ, in an order by chance; hosts that help as the case says of each.
    fn world(&self, case: &Case, seed: u64) -> World {
        let hosts: Vec<Help> = (0..self.hosts).map(&case.help).collect();
        let weights = self.weights(case, seed);
        let pages = self.pages.iter().zip(weights).map(|((host, changes), weight)| Page {
            host: *host,
            weight,
            rate: changes.len() as f64 / self.days,
            changes: changes.clone(),
            signals: vec![],
            announced: vec![],
        });
        World::of(pages.collect(), &hosts, self.days, CYCLE, seed)
    }

    fn weights(&self, case: &Case, seed: u64) -> Vec<f64> {
        let mut random = Random(seed);
        let mut ranks: Vec<usize> = (1..=self.pages.len()).collect();
        for place in (1..ranks.len()).rev() {
            ranks.swap(place, random.below(place as u32 + 1) as usize);
        }
        ranks.into_iter().map(|rank| (rank as f64).powf(-case.theta)).collect()
    }

    /// Freshness by Xu's crawler and by the scheduler that ships, which learn for a year before it counts.
    fn after_a_year(&self, case: &Case, seed: u64) -> [f64; 2] {
        let tells = |host: usize| match (case.help)(host) {
            Help::Normal => Tells::Nothing,
            Help::Smart { .. } => Tells::Changes,
            Help::Super { .. } => Tells::Plans,
        };
        let host = |host: usize| SimHost { tells: tells(host), ..SimHost::new(Duration::from_secs(60)) };
        let pages = self.pages.iter().zip(&self.longer).zip(self.weights(case, seed));
        let pages = pages.map(|(((host, _), changes), weight)| SimPage {
            host: *host,
            weight,
            mean_rate: 0.0,
            change: Change::Trace(changes.clone()),
        });
        let world = SimWorld { pages: pages.collect(), hosts: (0..self.hosts).map(host).collect() };
        let options = Options { measured_from: YEAR, ..Options::new(YEAR + self.days, seed) };
        let per_day = self.changes_a_day * case.capacity;
        [PolicyName::Hints, PolicyName::Carousel].map(|policy| {
            simulate(&world, policy.build(&world, per_day, true, seed).as_mut(), &options).freshness
        })
    }

    /// Freshness by Xu's crawler and by ours, learning and knowing rates, with `capacity` crawls for each change.
    fn all(&self, world: &World, capacity: f64) -> [f64; 3] {
        let per_day = (self.changes_a_day * capacity).max(1.0 / CYCLE);
        [
            world.freshness(&mut XuCrawler::new(world, per_day), per_day),
            world.freshness(&mut IndexCrawler::new(world, Value::EquivalentAge), per_day),
            world.freshness(&mut IndexCrawler::informed(world, Value::EquivalentAge), per_day),
        ]
    }
}

/// Runs it.
pub fn run(settings: &Settings) -> Section {
    let mut section = Section::new("xu", "Xu et al.: content providers that help (2007)", SEED, settings);
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

/// One row for each case, one column for each figure; returns the means.
fn rows<const N: usize>(
    section: &mut Section,
    columns: &[&str],
    cases: &[Case],
    figures: impl Fn(&Case, u64) -> [f64; N] + Sync,
) -> Vec<[f64; N]> {
    let found = parallel(cases.len() * SEEDS as usize, |job| {
        figures(&cases[job / SEEDS as usize], SEED + job as u64 % SEEDS)
    });
    let means: Vec<[Mean; N]> = (found.chunks(SEEDS as usize))
        .map(|seeds| {
            std::array::from_fn(|place| Mean::of(&seeds.iter().map(|row| row[place]).collect::<Vec<_>>()))
        })
        .collect();
    let rows: Vec<Vec<String>> = (cases.iter().zip(&means))
        .map(|(case, means)| [case.name.clone()].into_iter().chain(means.iter().map(interval)).collect())
        .collect();
    section.table(columns, &rows);
    means.iter().map(|row| row.map(|mean| mean.value)).collect()
}

/// All crawlers that value pages one by one.
fn tabulate(section: &mut Section, web: &Web, head: &str, cases: &[Case]) -> Vec<[f64; 3]> {
    let columns = [head, "Xu", "ours, learning", "ours, rates known"];
    rows(section, &columns, cases, |case, seed| web.all(&web.world(case, seed), case.capacity))
}

/// The same in the simulator, with the scheduler that ships.
fn simulated(section: &mut Section, web: &Web, head: &str, cases: &[Case]) {
    section.say(
        "The same changes in the simulator, with the scheduler of the firmware, politely and without knowing any rate; the year before \
         counts for learning only:",
    );
    let columns = [head, "Xu", "ours (carousel)"];
    let found = rows(section, &columns, cases, |case, seed| web.after_a_year(case, seed));
    let ahead = found.iter().filter(|row| row[1] > row[0]).count();
    section.say(&format!("Ours is above Xu's crawler in {ahead} of {} rows.", found.len()));
}

fn figure_2(section: &mut Section, web: &Web) {
    section.part(
        "Figure 2: providers of one kind",
        "In print smart is about 10 % above normal, super about 15 % above smart.",
    );
    let kinds = [("normal", Help::Normal), ("smart", SMART), ("super", SUPER)];
    let cases = kinds.map(|(name, kind)| Case::new(name, move |_| kind));
    let found = tabulate(section, web, "providers", &cases);
    section.check(
        "Xu's crawler: normal < smart < super",
        found[0][0] < found[1][0] && found[1][0] < found[2][0],
    );
    section.say(&format!(
        "Here smart is {:.1} % above normal and super {:.1} % above smart.",
        100.0 * (found[1][0] / found[0][0] - 1.0),
        100.0 * (found[2][0] / found[1][0] - 1.0)
    ));
    compare(section, &found);
    simulated(section, web, "providers", &cases);
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
    let best = (0..shares.len()).max_by(|a, b| found[*a][0].total_cmp(&found[*b][0])).unwrap_or(0);
    section.say(&format!(
        "With Xu's crawler the best here is {:.0} %; scores of different kinds of providers are not on one scale, so which \
         mixture looks best depends on the trace.",
        100.0 * shares[best]
    ));
    compare(section, &found);
    simulated(section, web, "super providers", &cases);
    let curve = |name: &str, place: usize| Line {
        name: name.into(),
        points: shares.iter().zip(&found).map(|(share, row)| (*share, row[place])).collect(),
    };
    section.plot(
        "xu-3",
        "Figure 3: freshness by share of super providers",
        lines(
            "Figure 3: freshness by share of super providers",
            "share",
            "freshness",
            &[curve("Xu", 0), curve("ours, learning", 1), curve("ours, rates known", 2)],
        ),
    );
}

fn figure_4(section: &mut Section, web: &Web) {
    section.part(
        "Figure 4: skew of accesses and capacity",
        "In print skew changes little; twice the capacity does not halve staleness.",
    );
    let skews = [0.85, 0.6, 0.4].map(|theta| Case { theta, ..Case::new(format!("θ = {theta}"), |_| SMART) });
    let skewed = tabulate(section, web, "skew (smart providers)", &skews);
    let spread = skewed.iter().map(|row| row[0]).fold(0.0, f64::max)
        - skewed.iter().map(|row| row[0]).fold(1.0, f64::min);
    section.check(format!("skew changes freshness by less than 0.1 ({spread:.3})"), spread < 0.1);
    let sizes =
        [1.0, 2.0, 4.0].map(|capacity| Case { capacity, ..Case::new(format!("{capacity} ×"), |_| SMART) });
    let sized = tabulate(section, web, "capacity (smart providers)", &sizes);
    section.check("more capacity, more freshness", sized[0][0] < sized[1][0] && sized[1][0] < sized[2][0]);
}

fn figure_5(section: &mut Section, web: &Web) {
    section.part("Figure 5: precision of announcements", "In print worse predictions lower freshness.");
    let levels = [1.0, 0.75, 0.5, 0.25];
    let cases = levels.map(|precision| {
        Case::new(format!("{:.0} %", 100.0 * precision), move |_| Help::Super { precision })
    });
    let found = tabulate(section, web, "announcements that come true", &cases);
    section.check("a quarter of predictions true is worse than all", found[0][0] > found[3][0]);
}
