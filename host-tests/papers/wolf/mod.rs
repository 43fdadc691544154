//! Wolf et al. (2002): optimal crawls for mixed laws of change, weighted by embarrassment.

mod shapes;
mod slots;

use dunlin::model::{Change, Objective, Quasi, quasi};
use dunlin::plan::select::select;
use dunlin::plan::{PlanHost, PlanPage, Spacing, page_cost};
use dunlin::weight::{click_chances, embarrassment};
use dunlin_host::output::plot::{Line, lines};
use dunlin_host::simulate::Random;
use dunlin_host::simulate::repeat::parallel;

use super::Settings;
use super::page::{Section, Verdict, digits};
use shapes::figure_9;
use slots::figure_10;

pub(super) const SEED: u64 = 1;
/// Mean changes a page and day.
pub(super) const MEAN: f64 = 1.5;
const RATIOS: [f64; 8] = [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0];
/// The shape of Pareto pages; the paper does not print its own.
pub(super) const SHAPE: f64 = 1.5;

/// Shares of Poisson, Pareto and quasi-deterministic pages.
type Mixture = [f64; 3];
const MIXED: Mixture = [0.6, 0.3, 0.1];

/// Runs the experiments, and makes the page.
pub fn run(settings: &Settings) -> Section {
    let mut section = Section::new(
        "wolf",
        "Wolf et al.: optimal crawling strategies (2002)",
        SEED,
        settings,
    );
    let pages = settings.pages.unwrap_or(settings.size(6_000, 1_000_000));
    section.say(&format!(
        "{pages} pages that change {MEAN} times a day on average, by Zipf's law; R crawls a day, a day from fresh copies. Pareto \
         pages have the shape {SHAPE}, quasi-deterministic ones up to eight times a day at which they may change (neither is \
         printed). Staleness is computed, not simulated, as in the paper."
    ));
    figure_7(&mut section, pages);
    figure_8(&mut section, pages);
    figure_9(&mut section, settings);
    figure_10(&mut section, (pages as u32).max(1_000));
    section
}

/// Rates, laws and weights, drawn once; plans borrow them.
struct Web {
    rates: Vec<f64>,
    weights: Vec<f64>,
    kinds: Vec<usize>,
    costs: Vec<Vec<f64>>,
}

impl Web {
    /// `skew` is Wolf's θ: 0 for Zipf's law, 1 for equal rates.
    fn new(pages: usize, mixture: Mixture, skew: f64) -> Self {
        let mut random = Random(SEED);
        let mut rates: Vec<f64> = (1..=pages)
            .map(|rank| (rank as f64).powf(skew - 1.0))
            .collect();
        let scale = MEAN * pages as f64 / rates.iter().sum::<f64>();
        rates.iter_mut().for_each(|rate| *rate *= scale);
        let weights = (0..pages).map(|_| weight(&mut random)).collect();
        let kind = |random: &mut Random| {
            let place = random.unit();
            if place <= mixture[0] {
                0
            } else if place <= mixture[0] + mixture[1] {
                1
            } else {
                2
            }
        };
        let kinds: Vec<usize> = (0..pages).map(|_| kind(&mut random)).collect();
        let costs = rates.iter().zip(&kinds);
        let costs = costs.map(|(rate, kind)| {
            if *kind == 2 {
                quasi_costs(*rate, &mut random)
            } else {
                Vec::new()
            }
        });
        let costs = costs.collect();
        Self {
            rates,
            weights,
            kinds,
            costs,
        }
    }

    /// The heaviest pages are those that change most; rates fall with the rank.
    fn correlated(mut self) -> Self {
        self.weights.sort_unstable_by(|a, b| b.total_cmp(a));
        self
    }

    fn pages(&self, weighted: bool) -> Vec<PlanPage<'_, f64>> {
        let page = |index: usize| {
            let rate = self.rates[index];
            let change = match self.kinds[index] {
                0 => Change::Poisson(rate),
                1 => Change::Pareto { rate, shape: SHAPE },
                _ => Change::Quasi(Quasi::new(&self.costs[index])),
            };
            PlanPage::new(if weighted { self.weights[index] } else { 1.0 }, change)
        };
        (0..self.rates.len()).map(page).collect()
    }
}

/// What a page at random would embarrass by: shown about some position of fifty, clicked as in §5.
fn weight(random: &mut Random) -> f64 {
    let mut clicks = [0.0; 50];
    click_chances(10, 0.0, 0.8, &mut clicks);
    let centre = 50.0 * random.unit();
    let mut shown = [0.0; 50];
    for (place, chance) in shown.iter_mut().enumerate() {
        *chance = (-((place as f64 - centre) / 5.0).powi(2) / 2.0).exp();
    }
    let sum: f64 = shown.iter().sum();
    shown.iter_mut().for_each(|chance| *chance /= sum);
    embarrassment(random.unit(), &clicks, &shown)
}

/// Possible updates at random times, so many and so likely that the rate comes out, as far as eight
/// a day can.
fn quasi_costs(rate: f64, random: &mut Random) -> Vec<f64> {
    let count = (2.0 * rate).ceil().clamp(1.0, 8.0) as usize;
    let probability = (rate / count as f64).min(1.0);
    let mut updates: Vec<_> = (0..count)
        .map(|_| quasi::Update {
            offset: 1.0 - random.unit(),
            probability,
        })
        .collect();
    updates.sort_unstable_by(|a, b| a.offset.total_cmp(&b.offset));
    let mut costs = vec![0.0; count + 1];
    let mut scratch = vec![0.0; count];
    quasi::costs(&updates, Objective::Freshness, &mut costs, &mut scratch);
    costs
}

/// Mean staleness, by weight, of crawls that may be fractions.
fn staleness(pages: &[PlanPage<'_, f64>], crawls: impl Iterator<Item = f64>) -> f64 {
    let mut sum = 0.0;
    let mut weight = 0.0;
    for (page, crawls) in pages.iter().zip(crawls) {
        sum += page.weight * page_cost(page, Objective::Freshness, Spacing::Whole, crawls);
        weight += page.weight;
    }
    sum / weight
}

/// The optimal crawls for `plan`, judged by `judge`.
fn by_optimum(plan: &[PlanPage<'_, f64>], judge: &[PlanPage<'_, f64>], ratio: f64) -> f64 {
    let mut crawls = vec![0; plan.len()];
    let budget = (ratio * plan.len() as f64) as u32;
    select(
        plan,
        &mut [PlanHost::unlimited()],
        budget,
        Objective::Freshness,
        &mut crawls,
    )
    .expect("a sound plan");
    staleness(judge, crawls.iter().map(|count| f64::from(*count)))
}

/// Crawls in proportion to `share`, fractions and all.
fn by_share(pages: &[PlanPage<'_, f64>], share: impl Fn(usize) -> f64, ratio: f64) -> f64 {
    let all: f64 = (0..pages.len()).map(&share).sum();
    let each = ratio * pages.len() as f64 / all;
    staleness(pages, (0..pages.len()).map(|page| each * share(page)))
}

/// Is the middle of three never above the mean of the others? The grid is even.
fn convex(values: &[f64]) -> bool {
    values
        .windows(3)
        .all(|three| three[1] <= 0.5 * (three[0] + three[2]) + 1e-9)
}

fn table(section: &mut Section, head: &str, names: &[&str], keys: &[f64], columns: &[Vec<f64>]) {
    let heads: Vec<&str> = [head].into_iter().chain(names.iter().copied()).collect();
    let rows: Vec<Vec<String>> = (keys.iter().enumerate())
        .map(|(row, key)| {
            [key.to_string()]
                .into_iter()
                .chain(columns.iter().map(|column| digits(column[row])))
                .collect()
        })
        .collect();
    section.table(&heads, &rows);
}

fn curves(names: &[&str], keys: &[f64], columns: &[Vec<f64>]) -> Vec<Line> {
    let line = |(name, column): (&&str, &Vec<f64>)| Line {
        name: (*name).into(),
        points: keys.iter().copied().zip(column.iter().copied()).collect(),
    };
    names.iter().zip(columns).map(line).collect()
}

/// The schemes of Figure 7.
const SCHEMES: [&str; 6] = [
    "optimal",
    "optimal, unweighted",
    "uniform",
    "weighted uniform",
    "proportional",
    "weighted proportional",
];

impl Web {
    /// Weighted staleness by one of [`SCHEMES`].
    fn embarrassment(&self, scheme: usize, ratio: f64) -> f64 {
        let pages = self.pages(true);
        match scheme {
            0 => by_optimum(&pages, &pages, ratio),
            1 => by_optimum(&self.pages(false), &pages, ratio),
            2 => by_share(&pages, |_| 1.0, ratio),
            3 => by_share(&pages, |page| self.weights[page], ratio),
            4 => by_share(&pages, |page| self.rates[page], ratio),
            _ => by_share(&pages, |page| self.weights[page] * self.rates[page], ratio),
        }
    }
}

fn figure_7(section: &mut Section, pages: usize) {
    section.part(
        "Figure 7: embarrassment",
        "Weighted staleness of six schemes over R/N; 60 % Poisson, 30 % Pareto, 10 % quasi-deterministic pages.",
    );
    let web = Web::new(pages, MIXED, 0.0);
    let found = parallel(RATIOS.len() * SCHEMES.len(), |job| {
        web.embarrassment(job / RATIOS.len(), RATIOS[job % RATIOS.len()])
    });
    let columns: Vec<Vec<f64>> = found.chunks(RATIOS.len()).map(<[f64]>::to_vec).collect();
    table(section, "R/N", &SCHEMES, &RATIOS, &columns);
    section.plot(
        "wolf-7",
        "Figure 7: weighted staleness over R/N",
        lines(
            "Figure 7: weighted staleness of mixed pages",
            "R/N",
            "weighted staleness",
            &curves(&SCHEMES, &RATIOS, &columns),
        ),
    );
    let below = |a: usize, b: usize| columns[a].iter().zip(&columns[b]).all(|(a, b)| a < b);
    const PLACE: &str = "Figure 7";
    let least = (1..6).all(|other| below(0, other));
    section.claim(
        PLACE,
        "the weighted optimum is the least of six schemes",
        "at every R/N",
        if least { "at all eight" } else { "not at all" }.into(),
        Verdict::of(least),
    );
    section.claim(
        PLACE,
        "it is convex in R",
        "always",
        if convex(&columns[0]) {
            "on the grid"
        } else {
            "not on the grid"
        }
        .into(),
        Verdict::of(convex(&columns[0])),
    );
    section.claim(
        PLACE,
        "both uniform schemes do better than their proportional counterparts",
        "at every R/N",
        format!(
            "at 2.5: {:.4} < {:.4}, {:.4} < {:.4}",
            columns[2][2], columns[4][2], columns[3][2], columns[5][2]
        ),
        Verdict::of(below(2, 4) && below(3, 5)),
    );
    let orders = [("uniform", 2, 3), ("proportional", 4, 5)];
    for (name, plain, weighted) in orders {
        section.claim(
            PLACE,
            &format!("{name} does better than weighted {name}"),
            "at every R/N",
            format!(
                "at 2.5: {:.4} against {:.4}",
                columns[plain][2], columns[weighted][2]
            ),
            Verdict::of(below(plain, weighted)),
        );
    }
    section.claim(
        PLACE,
        "uniform is the best of the heuristics",
        "at every R/N",
        format!(
            "at 2.5: uniform {:.4}, weighted uniform {:.4}",
            columns[2][2], columns[3][2]
        ),
        Verdict::of([3, 4, 5].iter().all(|other| below(2, *other))),
    );
    section.limit(
        "Figure 7: the optimum is the least and convex, uniform below proportional",
        least && convex(&columns[0]) && below(1, 2) && below(2, 4) && below(3, 5),
    );
    correlated(section, pages.min(100_000));
    figure_7_right(section, pages);
}

/// The paper explains its order by "the correlation of the weights and the update frequencies", but
/// does not print how they were correlated.
fn correlated(section: &mut Section, pages: usize) {
    section.say(&format!(
        "The paper finds each unweighted heuristic below its weighted variant, and speaks of a correlation of weights and rates. Above they are \
         drawn independently, so that weighted variants crawl what counts. Below, the heaviest pages are those that change most in the second row, where \
         weighted proportional crawls go almost all to a few pages ({pages} pages, R/N = 2.5):"
    ));
    let webs = [
        Web::new(pages, MIXED, 0.0),
        Web::new(pages, MIXED, 0.0).correlated(),
    ];
    let rows: Vec<[f64; 6]> = webs
        .iter()
        .map(|web| [0, 1, 2, 3, 4, 5].map(|scheme| web.embarrassment(scheme, 2.5)))
        .collect();
    let columns: Vec<Vec<f64>> = (0..6)
        .map(|scheme| rows.iter().map(|row| row[scheme]).collect())
        .collect();
    table(
        section,
        "heaviest change most",
        &SCHEMES,
        &[0.0, 1.0],
        &columns,
    );
    let row = rows[1];
    for (name, plain, weighted) in [("uniform", 2, 3), ("proportional", 4, 5)] {
        section.claim(
            "Figure 7",
            &format!(
                "{name} does better than weighted {name}, where the heaviest pages change most"
            ),
            "at R/N = 2.5",
            format!("{:.4} against {:.4}", row[plain], row[weighted]),
            Verdict::of(row[plain] < row[weighted]),
        );
    }
}

fn figure_7_right(section: &mut Section, pages: usize) {
    const SKEWS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
    section
        .say("On the right-hand side R/N is 2.5, and rates go from Zipf's law (θ = 0) to all equal (θ = 1):");
    let rows = parallel(SKEWS.len(), |job| {
        let web = Web::new(pages, MIXED, SKEWS[job]);
        [0, 1, 2, 3, 4, 5].map(|scheme| web.embarrassment(scheme, 2.5))
    });
    let columns: Vec<Vec<f64>> = (0..SCHEMES.len())
        .map(|scheme| rows.iter().map(|row| row[scheme]).collect())
        .collect();
    table(section, "θ", &SCHEMES, &SKEWS, &columns);
    section.plot(
        "wolf-7-skew",
        "Figure 7, right: weighted staleness over θ",
        lines(
            "Figure 7, right: weighted staleness by skew of rates",
            "θ",
            "weighted staleness",
            &curves(&SCHEMES, &SKEWS, &columns),
        ),
    );
    const PLACE: &str = "Figure 7, right";
    let rises = columns.iter().all(|column| column.is_sorted());
    section.claim(
        PLACE,
        "the less skew, the more staleness",
        "\"generally\"",
        if rises {
            "for all six schemes"
        } else {
            "not for all six schemes"
        }
        .into(),
        Verdict::of(rises),
    );
    converge(section, PLACE, &rows[0], &rows[SKEWS.len() - 1]);
    let lead = |row: usize| 100.0 * (columns[2][row] / columns[1][row] - 1.0);
    section.limit(
        "less skew, more staleness, and the lead of the optimum over uniform crawls shrinks to a fifth",
        rises && lead(SKEWS.len() - 1) < 0.2 * lead(0),
    );
}

/// Do the curves of all schemes, of which these are the two ends, converge to each other? Schemes
/// that know the weights stay below those that do not, whatever the skew.
fn converge(section: &mut Section, place: &str, first: &[f64; 6], last: &[f64; 6]) {
    const ALL: [usize; 6] = [0, 1, 2, 3, 4, 5];
    const WEIGHTED: [usize; 3] = [0, 3, 5];
    const UNWEIGHTED: [usize; 3] = [1, 2, 4];
    /// What is as near as this converges, essentially.
    const NEAR: f64 = 1.1;
    let apart = |row: &[f64; 6], schemes: &[usize]| {
        let values = || schemes.iter().map(|scheme| row[*scheme]);
        values().fold(0.0, f64::max) / values().fold(f64::MAX, f64::min)
    };
    let [weighted, unweighted] = [WEIGHTED, UNWEIGHTED].map(|schemes| apart(last, &schemes));
    let all = apart(last, &ALL);
    section.claim(
        place,
        "the curves essentially converge to each other as θ grows",
        "all six; taken as within a tenth",
        format!(
            "largest over least {:.1} at θ = 0, {all:.1} at 1; there {weighted:.2} with weights and {unweighted:.2} without",
            apart(first, &ALL)
        ),
        match all < NEAR {
            true => Verdict::Holds,
            false if weighted.max(unweighted) < NEAR => Verdict::Near,
            false => Verdict::Fails,
        },
    );
}

fn figure_8(section: &mut Section, pages: usize) {
    section.part(
        "Figure 8: average staleness by law of change",
        "Unweighted, over R/N, for the mixture and for each law alone.",
    );
    const PLACE: &str = "Figure 8";
    let names = ["optimal", "uniform", "proportional"];
    // Uniform over proportional, by law and R/N.
    let mut relative: Vec<Vec<f64>> = Vec::new();
    for (title, mixture) in [
        ("mixed", MIXED),
        ("Poisson", [1.0, 0.0, 0.0]),
        ("Pareto", [0.0, 1.0, 0.0]),
        ("quasi-deterministic", [0.0, 0.0, 1.0]),
    ] {
        let web = Web::new(pages, mixture, 0.0);
        let list = web.pages(false);
        let found = parallel(RATIOS.len() * names.len(), |job| {
            let ratio = RATIOS[job % RATIOS.len()];
            match job / RATIOS.len() {
                0 => by_optimum(&list, &list, ratio),
                1 => by_share(&list, |_| 1.0, ratio),
                _ => by_share(&list, |page| web.rates[page], ratio),
            }
        });
        let columns: Vec<Vec<f64>> = found.chunks(RATIOS.len()).map(<[f64]>::to_vec).collect();
        section.say(&format!("**{title}**"));
        table(section, "R/N", &names, &RATIOS, &columns);
        let below = |a: usize, b: usize| {
            columns[a]
                .iter()
                .zip(&columns[b])
                .all(|(a, b)| *a < b + 1e-12)
        };
        let least = below(0, 1) && below(0, 2);
        let pairs = columns[1].iter().zip(&columns[2]);
        relative.push(pairs.map(|(uniform, other)| uniform / other).collect());
        section.claim(
            PLACE,
            &format!("{title}: the optimum is the least, and convex"),
            "always",
            if least && convex(&columns[0]) {
                "at all eight R/N"
            } else {
                "not at all"
            }
            .into(),
            Verdict::of(least && convex(&columns[0])),
        );
        section.claim(
            PLACE,
            &format!("{title}: uniform performs better than proportional"),
            "always",
            format!("at 2.5: {:.4} against {:.4}", columns[1][2], columns[2][2]),
            Verdict::of(below(1, 2)),
        );
        if title == "quasi-deterministic" {
            section.claim(
                PLACE,
                "quasi-deterministic: the optimum reaches 0 for large R",
                "0",
                format!("{:.1e} at R/N = 5", columns[0][7]),
                Verdict::of(columns[0][7] < 1e-9),
            );
        }
        section.limit(
            format!("{title}: the optimum is the least and convex, uniform below proportional"),
            least && convex(&columns[0]) && below(1, 2),
        );
        let file = format!("wolf-8-{}", title.to_lowercase());
        section.plot(
            &file,
            &format!("Figure 8, {title}: staleness over R/N"),
            lines(
                &format!("Figure 8: {title} pages"),
                "R/N",
                "staleness",
                &curves(&names, &RATIOS, &columns),
            ),
        );
    }
    let [mixed, poisson, pareto, quasi] = [0, 1, 2, 3].map(|law| &relative[law]);
    let others = mixed.iter().zip(pareto).zip(quasi);
    let worst = poisson.iter().zip(others);
    let worst = worst.filter(|(poisson, ((a, b), c))| *poisson > a && *poisson > b && *poisson > c);
    section.claim(
        PLACE,
        "uniform does relatively less well (beside proportional) for Poisson",
        "than for the others, at every R/N",
        format!(
            "at 2.5: {:.2} of its staleness; mixed {:.2}, Pareto {:.2}, quasi-deterministic {:.2}",
            poisson[2], mixed[2], pareto[2], quasi[2]
        ),
        Verdict::of(worst.count() == RATIOS.len()),
    );
}
