//! Plans for up to ten million pages, on one core.

use dunlin::heap::Entry;
use dunlin::math::h;
use dunlin::model::Change;
use dunlin::plan::azar::azar;
use dunlin::plan::baseline::{Share, baseline};
use dunlin::plan::greedy::greedy;
use dunlin::plan::optimal::{bound, optimal};
use dunlin::plan::select::select;
use dunlin::plan::{Objective, Pages, PlanHost, PlanPage};
use dunlin_suite::bench::Random;

use super::{Row, grouped, peak_bytes, seconds};

/// Pages as columns: 12 bytes each, as a crawler's database would keep them.
#[derive(Debug)]
pub struct Columns {
    weights: Vec<f32>,
    rates: Vec<f32>,
    hosts: Vec<u32>,
}

impl Columns {
    /// Zipf weights, rates uniform in 0.01…1 an hour over a day, on hosts of unequal size (de Souza
    /// §3).
    pub fn random(pages: usize, hosts: usize) -> Self {
        let mut random = Random(7);
        let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut columns = Self {
            weights: Vec::new(),
            rates: Vec::new(),
            hosts: Vec::new(),
        };
        for rank in 0..pages {
            columns.weights.push(1.0 / (rank + 1) as f32);
            columns.rates.push((24.0 * (0.01 + 0.99 * unit())) as f32);
            columns.hosts.push((unit() * unit() * hosts as f64) as u32);
        }
        columns
    }
}

impl Pages<f64> for Columns {
    fn len(&self) -> usize {
        self.weights.len()
    }
    fn page(&self, index: usize) -> PlanPage<'_, f64> {
        let change = Change::Poisson(f64::from(self.rates[index]));
        PlanPage::new(f64::from(self.weights[index]), change).on_host(self.hosts[index])
    }
}

const LARGEST: usize = 10_000_000;
/// So many pages share a host.
const PER_HOST: usize = 500;
/// 15 s between fetches over a day.
const CAP: f64 = 5_760.0;

/// What ten times the pages may cost, for those methods that are promised to.
const TEN_TIMES: &str = "<= 15";

/// A method, how it is run, the size its promise is for and what it may take there, and how it
/// grows.
type Method = (
    &'static str,
    fn(&Columns, usize),
    &'static [(usize, f64)],
    &'static str,
);

const METHODS: [Method; 5] = [
    (
        "optimal",
        run_optimal,
        &[(1_000_000, 0.5), (10_000_000, 5.0)],
        "O(n)",
    ),
    ("azar", run_azar, &[(1_000_000, 0.5)], "O(n)"),
    ("select", run_select, &[(1_000_000, 3.0)], "O(n)"),
    ("greedy", run_greedy, &[(1_000_000, 15.0)], "O(n log n)"),
    ("uniform", run_uniform, &[], "O(n)"),
];

/// Runs every method from a thousand pages to ten million, beside one pass over the same memory.
pub fn plan(rows: &mut Vec<Row>) {
    for pages in [1_000, 10_000, 100_000, 1_000_000, LARGEST] {
        let hosts = (pages / PER_HOST).max(1);
        let columns = Columns::random(pages, hosts);
        // Small ones often enough for the clock to see them.
        let runs = if pages > 1_000_000 { 1 } else { 2 };
        let repeats = (1_000_000 / pages).max(1);
        let time =
            |work: &dyn Fn()| seconds(runs, || (0..repeats).for_each(|_| work())) / repeats as f64;
        let memory = time(&|| one_pass(&columns));
        for (method, run, promises, grows) in METHODS {
            let promise = promises.iter().find(|(size, _)| *size == pages);
            rows.push(Row {
                room: "plan",
                what: format!(
                    "{method}, {} pages on {} hosts",
                    grouped(pages),
                    grouped(hosts)
                ),
                ours: time(&|| run(&columns, hosts)),
                unit: "s",
                other: Some(("one pass over memory", memory)),
                limit: promise.map_or_else(String::new, |(_, most)| format!("<= {most}")),
                grows: Some((pages as f64, grows)),
            });
        }
        if pages == LARGEST {
            working_memory(rows, &columns, hosts);
        }
    }
    ten_times(rows);
    let small = Columns::random(1_000, 2);
    rows.push(Row {
        room: "plan",
        what: "optimal against the naive way, 1,000 pages".to_owned(),
        ours: seconds(2, || (0..1_000).for_each(|_| run_optimal(&small, 2))) / 1e3,
        unit: "s",
        other: Some((
            "bisection in bisection, no caps",
            seconds(1, || naive_optimal(&small)),
        )),
        limit: String::new(),
        grows: None,
    });
}

/// What a million pages cost beside a hundred thousand.
fn ten_times(rows: &mut Vec<Row>) {
    for (method, _, promises, _) in METHODS {
        let time = |pages: usize| {
            let what = format!(
                "{method}, {} pages on {} hosts",
                grouped(pages),
                grouped(pages / PER_HOST)
            );
            rows.iter().find(|row| row.what == what).map(|row| row.ours)
        };
        // `greedy`, whose queue meets the caches, has a row of its own.
        let times = time(100_000).zip(time(1_000_000));
        let Some((few, many)) = times.filter(|_| method != "greedy") else {
            continue;
        };
        let is_promised = !promises.is_empty();
        rows.push(times_row(method, "", many / few, is_promised));
    }
}

fn times_row(method: &str, runs: &str, times: f64, is_promised: bool) -> Row {
    Row {
        room: "plan",
        what: format!("{method}: a million pages beside a hundred thousand{runs}"),
        ours: times,
        unit: "times",
        other: Some(("as many pages", 10.0)),
        limit: if is_promised { TEN_TIMES } else { "" }.into(),
        grows: None,
    }
}

/// The same for `greedy`: the worst of five runs, in each of which the two take turns.
pub fn greedy_growth(rows: &mut Vec<Row>) {
    let few = Columns::random(100_000, 100_000 / PER_HOST);
    let many = Columns::random(1_000_000, 1_000_000 / PER_HOST);
    let run = |columns: &Columns, pages: usize, repeats: u32| {
        let work = || (0..repeats).for_each(|_| run_greedy(columns, pages / PER_HOST));
        seconds(2, work) / f64::from(repeats)
    };
    let worst = (0..5)
        .map(|_| run(&many, 1_000_000, 1) / run(&few, 100_000, 10))
        .fold(0.0, f64::max);
    rows.push(times_row("greedy", ", the worst of five runs", worst, true));
}

/// What a plan of ten million pages takes besides the pages, the result included.
fn working_memory(rows: &mut Vec<Row>, columns: &Columns, hosts: usize) {
    let Some(bytes) = peak_bytes(|| run_optimal(columns, hosts)) else {
        return;
    };
    rows.push(Row {
        room: "plan",
        what: format!(
            "optimal, working memory a page, {} pages",
            grouped(columns.len())
        ),
        ours: bytes / columns.len() as f64,
        unit: "bytes",
        other: Some(("the result alone", size_of::<f64>() as f64)),
        limit: "<= 32".to_owned(),
        grows: None,
    });
}

/// What no method can do without: every page read once, and a number written for it.
fn one_pass(pages: &Columns) {
    let mut rates = vec![0.0; pages.len()];
    for (index, rate) in rates.iter_mut().enumerate() {
        let page = pages.page(index);
        *rate = page.weight + page.change.rate().unwrap_or(0.0) + f64::from(page.host);
    }
    std::hint::black_box(&rates);
}

fn budget(pages: &Columns) -> f64 {
    8.64 * pages.len() as f64
}

fn run_optimal(pages: &Columns, hosts: usize) {
    let mut hosts = vec![PlanHost::new(CAP); hosts];
    let mut rates = vec![0.0; pages.len()];
    optimal(
        pages,
        &mut hosts,
        budget(pages),
        Objective::Freshness,
        &mut rates,
    )
    .expect("feasible");
    std::hint::black_box(&rates);
}

fn run_azar(pages: &Columns, hosts: usize) {
    let mut hosts = vec![PlanHost::new(CAP); hosts];
    let mut rates = vec![0.0; pages.len()];
    azar(
        pages,
        &mut hosts,
        budget(pages),
        Objective::Freshness,
        &mut rates,
    )
    .expect("feasible");
    std::hint::black_box(&rates);
}

fn run_uniform(pages: &Columns, hosts: usize) {
    let mut hosts = vec![PlanHost::new(CAP); hosts];
    let mut rates = vec![0.0; pages.len()];
    let share = Share::Uniform;
    baseline(
        pages,
        &mut hosts,
        budget(pages),
        share,
        Objective::Freshness,
        &mut rates,
    )
    .expect("feasible");
    std::hint::black_box(&rates);
}

fn run_select(pages: &Columns, hosts: usize) {
    let mut hosts = vec![PlanHost::new(CAP); hosts];
    let mut crawls = vec![0; pages.len()];
    select(
        pages,
        &mut hosts,
        budget(pages) as u32,
        Objective::Freshness,
        &mut crawls,
    )
    .expect("feasible");
    std::hint::black_box(&crawls);
}

fn run_greedy(pages: &Columns, hosts: usize) {
    let mut hosts = vec![PlanHost::new(CAP); hosts];
    let mut crawls = vec![0; pages.len()];
    let mut entries = vec![Entry::<_, u32>::UNUSED; pages.len()];
    let objective = Objective::Freshness;
    let budget = budget(pages) as u32;
    greedy(
        pages,
        &mut hosts,
        budget,
        objective,
        &mut entries,
        &mut crawls,
    )
    .expect("feasible");
    std::hint::black_box(&crawls);
}

/// Cho's numerical solution as one would first write it: bisect the rate of every page inside a
/// bisection of the price, without host caps.
fn naive_optimal(pages: &Columns) -> f64 {
    let mut low = 1e-12_f64;
    let mut high = 1e3_f64;
    for _ in 0..60 {
        let price = (low * high).sqrt();
        let mut total = 0.0;
        for index in 0..pages.len() {
            let weight = f64::from(pages.weights[index]);
            let rate = f64::from(pages.rates[index]);
            let mut least = 1e-9_f64;
            let mut most = 1e9_f64;
            for _ in 0..60 {
                let crawls = (least * most).sqrt();
                if weight * h(rate / crawls) / rate > price {
                    least = crawls
                } else {
                    most = crawls
                }
            }
            total += if least > 1e-8 { least } else { 0.0 };
        }
        if total > budget(pages) {
            low = price
        } else {
            high = price
        }
    }
    let mut hosts = vec![PlanHost::unlimited(); 2];
    let exact = bound(pages, &mut hosts, budget(pages), Objective::Freshness).expect("feasible");
    assert!(
        (high / exact.price - 1.0).abs() < 1e-6,
        "naive {high}, ours {}",
        exact.price
    );
    high
}
