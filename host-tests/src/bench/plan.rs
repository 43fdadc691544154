//! Plans for up to ten million pages, on one core.

use dunlin::heap::Entry;
use dunlin::math::h;
use dunlin::model::Change;
use dunlin::plan::azar::azar;
use dunlin::plan::baseline::{Share, baseline};
use dunlin::plan::greedy::greedy;
use dunlin::plan::optimal::{bound, optimal};
use dunlin::plan::select::select;
use dunlin::plan::{Host, Objective, Page, Pages};
use dunlin_suite::bench::Random;

use super::{Row, seconds};

/// Pages as columns: 12 bytes each, as a crawler's database would keep them.
#[derive(Debug)]
pub struct Columns {
    weights: Vec<f32>,
    rates: Vec<f32>,
    hosts: Vec<u32>,
}

impl Columns {
    /// Zipf weights, rates uniform in 0.01…1 an hour over a day, on hosts of unequal size (de Souza §3).
    pub fn random(pages: usize, hosts: usize) -> Self {
        let mut random = Random(7);
        let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut columns = Self { weights: Vec::new(), rates: Vec::new(), hosts: Vec::new() };
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
    fn page(&self, index: usize) -> Page<'_, f64> {
        let change = Change::Poisson(f64::from(self.rates[index]));
        Page::new(f64::from(self.weights[index]), change).on_host(self.hosts[index])
    }
}

/// The size every figure is promised for.
const PAGES: usize = 1_000_000;
/// 15 s between fetches over a day.
const CAP: f64 = 5_760.0;

/// Runs every method at a tenth, at the full size, and `optimal` at ten times it.
pub fn plan(rows: &mut Vec<Row>) {
    let (small, full) = (Columns::random(PAGES / 10, 200), Columns::random(PAGES, 2_000));
    let naive = 100.0 * seconds(1, || naive_optimal(&Columns::random(PAGES / 100, 20)));
    let (best, walked) = (seconds(2, || run_optimal(&full, 2_000)), seconds(1, || run_greedy(&full, 2_000)));
    type Method = (&'static str, fn(&Columns, usize), f64, (&'static str, f64), &'static str);
    let methods: [Method; 5] = [
        (
            "optimal",
            run_optimal,
            best,
            ("bisection in bisection, no caps (100 × a hundredth)", naive),
            "0.5 s",
        ),
        ("azar", run_azar, seconds(2, || run_azar(&full, 2_000)), ("optimal", best), "0.5 s"),
        ("select", run_select, seconds(1, || run_select(&full, 2_000)), ("greedy", walked), "3 s"),
        ("greedy", run_greedy, walked, ("optimal", best), "15 s"),
        ("uniform", run_uniform, seconds(1, || run_uniform(&full, 2_000)), ("optimal", best), "as azar"),
    ];
    for (name, run, ours, other, limit) in methods {
        let tenth = seconds(2, || run(&small, 200));
        rows.push(Row {
            room: "plan",
            what: format!("{name}, 1,000,000 pages on 2,000 hosts, R = 8.64 million"),
            ours,
            unit: "s",
            other: Some(other),
            limit: limit.to_owned(),
        });
        rows.push(Row {
            room: "plan",
            what: format!("{name}, growth from 100,000 to 1,000,000 pages"),
            ours: ours / tenth,
            unit: "×",
            other: None,
            limit: "15 ×".to_owned(),
        });
    }
    let huge = Columns::random(10 * PAGES, 20_000);
    rows.push(Row {
        room: "plan",
        what: "optimal, 10,000,000 pages on 20,000 hosts, R = 86.4 million (20 bytes a page)".to_owned(),
        ours: seconds(1, || run_optimal(&huge, 20_000)),
        unit: "s",
        other: None,
        limit: "5 s".to_owned(),
    });
}

fn budget(pages: &Columns) -> f64 {
    8.64 * pages.len() as f64
}

fn run_optimal(pages: &Columns, hosts: usize) {
    let (mut hosts, mut rates) = (vec![Host::new(CAP); hosts], vec![0.0; pages.len()]);
    optimal(pages, &mut hosts, budget(pages), Objective::Freshness, &mut rates).expect("feasible");
    std::hint::black_box(&rates);
}

fn run_azar(pages: &Columns, hosts: usize) {
    let (mut hosts, mut rates) = (vec![Host::new(CAP); hosts], vec![0.0; pages.len()]);
    azar(pages, &mut hosts, budget(pages), Objective::Freshness, &mut rates).expect("feasible");
    std::hint::black_box(&rates);
}

fn run_uniform(pages: &Columns, hosts: usize) {
    let (mut hosts, mut rates) = (vec![Host::new(CAP); hosts], vec![0.0; pages.len()]);
    let share = Share::Uniform;
    baseline(pages, &mut hosts, budget(pages), share, Objective::Freshness, &mut rates).expect("feasible");
    std::hint::black_box(&rates);
}

fn run_select(pages: &Columns, hosts: usize) {
    let (mut hosts, mut crawls) = (vec![Host::new(CAP); hosts], vec![0; pages.len()]);
    select(pages, &mut hosts, budget(pages) as u32, Objective::Freshness, &mut crawls).expect("feasible");
    std::hint::black_box(&crawls);
}

fn run_greedy(pages: &Columns, hosts: usize) {
    let (mut hosts, mut crawls) = (vec![Host::new(CAP); hosts], vec![0; pages.len()]);
    let mut entries = vec![Entry::<_, u32>::UNUSED; pages.len()];
    let (objective, budget) = (Objective::Freshness, budget(pages) as u32);
    greedy(pages, &mut hosts, budget, objective, &mut entries, &mut crawls).expect("feasible");
    std::hint::black_box(&crawls);
}

/// Cho's numerical solution as one would first write it: bisect the rate of every page inside a bisection of the
/// price, without host caps.
fn naive_optimal(pages: &Columns) -> f64 {
    let (mut low, mut high) = (1e-12_f64, 1e3_f64);
    for _ in 0..60 {
        let price = (low * high).sqrt();
        let mut total = 0.0;
        for index in 0..pages.len() {
            let (weight, rate) = (f64::from(pages.weights[index]), f64::from(pages.rates[index]));
            let (mut least, mut most) = (1e-9_f64, 1e9_f64);
            for _ in 0..60 {
                let crawls = (least * most).sqrt();
                if weight * h(rate / crawls) / rate > price { least = crawls } else { most = crawls }
            }
            total += if least > 1e-8 { least } else { 0.0 };
        }
        if total > budget(pages) { low = price } else { high = price }
    }
    let mut hosts = vec![Host::unlimited(); 20];
    let exact = bound(pages, &mut hosts, budget(pages), Objective::Freshness).expect("feasible");
    assert!((high / exact.price - 1.0).abs() < 1e-6, "naive {high}, ours {}", exact.price);
    high
}
