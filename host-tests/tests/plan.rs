//! The papers' tables and the properties every allocator has to keep.

use dunlin::heap::Entry;
use dunlin::model::{Change, Quasi};
use dunlin::plan::azar::{azar, azar_slots};
use dunlin::plan::baseline::{Share, baseline};
use dunlin::plan::greedy::greedy;
use dunlin::plan::optimal::optimal;
use dunlin::plan::select::select;
use dunlin::plan::{Allocation, Objective, PlanError, PlanHost, PlanPage, Spacing, page_cost};
use dunlin_suite::bench::Random;

const OBJECTIVES: [Objective; 3] = [Objective::Freshness, Objective::Age, Objective::Harmonic];

fn poisson(weight: f64, rate: f64) -> PlanPage<'static, f64> {
    PlanPage::new(weight, Change::Poisson(rate))
}

fn run_optimal(
    pages: &[PlanPage<'_, f64>],
    hosts: &mut [PlanHost<f64>],
    budget: f64,
    objective: Objective,
) -> (Vec<f64>, Allocation<f64>) {
    let mut rates = vec![0.0; pages.len()];
    let allocation = optimal(pages, hosts, budget, objective, &mut rates).unwrap();
    (rates, allocation)
}

fn run_greedy(
    pages: &[PlanPage<'_, f64>],
    hosts: &mut [PlanHost<f64>],
    budget: u32,
    objective: Objective,
) -> (Vec<u32>, Allocation<f64>) {
    let n = pages.len();
    let mut entries = vec![Entry::<_, u32>::UNUSED; n];
    let mut crawls = vec![0; n];
    let allocation = greedy(pages, hosts, budget, objective, &mut entries, &mut crawls).unwrap();
    (crawls, allocation)
}

fn run_select(
    pages: &[PlanPage<'_, f64>],
    hosts: &mut [PlanHost<f64>],
    budget: u32,
    objective: Objective,
) -> (Vec<u32>, Allocation<f64>) {
    let mut crawls = vec![0; pages.len()];
    let allocation = select(pages, hosts, budget, objective, &mut crawls).unwrap();
    (crawls, allocation)
}

fn close(found: f64, expected: f64, digits: f64) {
    assert!(
        (found - expected).abs() < digits,
        "found {found}, expected {expected}"
    );
}

/// Uniform in 0..1, and log-uniform in a range.
fn unit(random: &mut Random) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}
fn spread(random: &mut Random, from: f64, to: f64) -> f64 {
    from * (to / from).powf(unit(random))
}

const COSTS: [f64; 4] = [0.7, 0.3, 0.1, 0.02];

/// Pages of every law, with limits, on `hosts` hosts.
fn mixed(random: &mut Random, pages: usize, hosts: u32) -> Vec<PlanPage<'static, f64>> {
    (0..pages)
        .map(|_| {
            let rate = spread(random, 0.01, 100.0);
            let change = match random.below(12) {
                0 => Change::Weibull {
                    rate,
                    shape: spread(random, 0.4, 4.0),
                },
                1 => Change::Pareto {
                    rate,
                    shape: 1.0 + spread(random, 0.2, 5.0),
                },
                2 => Change::Quasi(Quasi::new(&COSTS)),
                3 => Change::Unknown,
                4 => Change::Poisson(0.0),
                _ => Change::Poisson(rate),
            };
            let min = if random.below(5) == 0 {
                random.below(3)
            } else {
                0
            };
            let max = if random.below(5) == 0 {
                min + 1 + random.below(4)
            } else {
                u32::MAX
            };
            PlanPage::new(spread(random, 1e-3, 1e3), change)
                .on_host(random.below(hosts))
                .between(min, max)
        })
        .collect()
}

#[test]
fn cho_table_5_5_freshness_and_age() {
    let pages = [1.0, 2.0, 3.0, 4.0, 5.0].map(|rate| poisson(1.0, rate));
    let (rates, allocation) = run_optimal(
        &pages,
        &mut [PlanHost::unlimited()],
        5.0,
        Objective::Freshness,
    );
    for (found, expected) in rates.iter().zip([1.1499, 1.3584, 1.3538, 1.1379, 0.0]) {
        close(*found, expected, 5e-5);
    }
    close(allocation.price, 0.21643, 5e-6);
    close(1.0 - allocation.cost, 0.37389, 5e-6);
    let (rates, _) = run_optimal(&pages, &mut [PlanHost::unlimited()], 5.0, Objective::Age);
    for (found, expected) in rates.iter().zip([0.8349, 0.9679, 1.0335, 1.0706, 1.0931]) {
        close(*found, expected, 5e-5);
    }
    for (share, freshness) in [(Share::Uniform, 0.36505), (Share::Proportional, 0.31674)] {
        let mut hosts = [PlanHost::unlimited()];
        let mut rates = [0.0; 5];
        let allocation = baseline(
            &pages[..],
            &mut hosts,
            5.0,
            share,
            Objective::Freshness,
            &mut rates,
        )
        .unwrap();
        close(1.0 - allocation.cost, freshness, 5e-6);
        close(1.0 - allocation.bound, 0.37389, 5e-6);
    }
}

/// Example 5.5: at one price, weight k makes the curve of rates over change rates k times larger
/// for freshness, √k times for age.
#[test]
fn cho_example_5_5_weights_scale_the_curve() {
    for (objective, scale) in [
        (Objective::Freshness, 2.0),
        (Objective::Age, 2.0_f64.sqrt()),
    ] {
        for rate in [0.1, 0.5, 1.0, 2.0] {
            let pages = [
                poisson(1.0, rate),
                poisson(2.0, scale * rate),
                poisson(1.0, 1.0),
            ];
            let (rates, _) = run_optimal(&pages, &mut [PlanHost::unlimited()], 4.0, objective);
            assert!(rates[0] > 0.0);
            close(rates[1], scale * rates[0], 1e-6);
        }
    }
    // Table 5.6: rates 1, 2, 3 with weights 1 and 2, six visits a day.
    let pages = [1.0, 2.0].map(|weight| [1.0, 2.0, 3.0].map(|rate| poisson(weight, rate)));
    for (objective, row) in [
        (Objective::Freshness, [0.78, 0.76, 0.00, 1.28, 1.56, 1.62]),
        (Objective::Age, [0.76, 0.88, 0.94, 0.99, 1.17, 1.26]),
    ] {
        let (rates, _) = run_optimal(
            pages.as_flattened(),
            &mut [PlanHost::unlimited()],
            6.0,
            objective,
        );
        for (found, expected) in rates.iter().zip(row) {
            close(*found, expected, 6e-3);
        }
    }
}

#[test]
fn uniform_beats_proportional_and_the_optimum_beats_both() {
    let mut random = Random(11);
    for _ in 0..200 {
        let pages: Vec<_> = (0..2 + random.below(40))
            .map(|_| poisson(1.0, spread(&mut random, 1e-3, 1e3)))
            .collect();
        let budget = spread(&mut random, 0.1, 1e4);
        for objective in OBJECTIVES {
            let cost = |share| {
                let mut rates = vec![0.0; pages.len()];
                baseline(
                    &pages[..],
                    &mut [PlanHost::unlimited()],
                    budget,
                    share,
                    objective,
                    &mut rates,
                )
                .unwrap()
                .cost
            };
            let uniform = cost(Share::Uniform);
            let proportional = cost(Share::Proportional);
            let best = run_optimal(&pages, &mut [PlanHost::unlimited()], budget, objective)
                .1
                .cost;
            let slack = 1.0 + 1e-9;
            assert!(
                best <= uniform * slack,
                "{objective:?}: optimum {best}, uniform {uniform}"
            );
            assert!(
                best <= proportional * slack,
                "{objective:?}: optimum {best}, proportional {proportional}"
            );
            if objective != Objective::Harmonic {
                assert!(
                    uniform <= proportional * slack,
                    "{objective:?}: {uniform} {proportional}"
                );
            }
        }
    }
}

/// The least cost over every allocation there is.
fn brute_force(
    pages: &[PlanPage<'_, f64>],
    caps: &[f64],
    budget: u32,
    objective: Objective,
) -> f64 {
    fn walk(
        pages: &[PlanPage<'_, f64>],
        caps: &mut [f64],
        budget: u32,
        objective: Objective,
    ) -> f64 {
        let Some((page, rest)) = pages.split_first() else {
            return 0.0;
        };
        let mut least = f64::INFINITY;
        for crawls in page.min..=page.max.min(budget) {
            let cap = &mut caps[page.host as usize];
            if f64::from(crawls) > *cap {
                break;
            }
            *cap -= f64::from(crawls);
            let cost = page.weight * page_cost(page, objective, Spacing::Whole, f64::from(crawls));
            least = least.min(cost + walk(rest, caps, budget - crawls, objective));
            caps[page.host as usize] += f64::from(crawls);
        }
        least
    }
    walk(pages, &mut caps.to_vec(), budget, objective)
        / pages.iter().map(|page| page.weight).sum::<f64>()
}

#[test]
fn greedy_and_select_meet_brute_force() {
    let mut random = Random(12);
    let mut tried = 0;
    while tried < 300 {
        let pages: Vec<_> = mixed(&mut random, 1 + tried % 5, 2)
            .into_iter()
            .filter(|page| page.change != Change::Unknown)
            .collect();
        let caps = [f64::from(random.below(6)) + 0.5, f64::from(random.below(9))];
        let budget = 1 + random.below(8);
        let need = |host| {
            pages
                .iter()
                .filter(|page| page.host == host)
                .map(|page| page.min)
                .sum::<u32>()
        };
        let fits = f64::from(need(0)) <= caps[0].floor() && f64::from(need(1)) <= caps[1];
        if pages.is_empty() || !fits || need(0) + need(1) > budget {
            continue;
        }
        tried += 1;
        for objective in OBJECTIVES {
            let best = brute_force(&pages, &caps.map(f64::floor), budget, objective);
            let ceiling = brute_force(&pages, &caps.map(f64::ceil), budget, objective);
            for (crawls, allocation) in [
                run_greedy(&pages, &mut caps.map(PlanHost::new), budget, objective),
                run_select(&pages, &mut caps.map(PlanHost::new), budget, objective),
            ] {
                assert!(
                    (allocation.cost - best).abs() <= 1e-9 * best,
                    "{objective:?}: {allocation:?}, best {best}\n{pages:?} {caps:?} {budget} {crawls:?}"
                );
                assert!(
                    allocation.bound <= ceiling * (1.0 + 1e-9),
                    "{allocation:?}, ceiling {ceiling}"
                );
                assert!(crawls.iter().sum::<u32>() <= budget);
            }
        }
    }
}

#[test]
fn select_meets_greedy_on_large_instances() {
    let mut random = Random(13);
    for (pages, hosts, budget) in [
        (3_000, 20, 9_000),
        (2_000, 1, 300),
        (1_000, 7, 30_000),
        (20_000, 50, 50_000),
    ] {
        let mut list = mixed(&mut random, pages, hosts);
        if budget < pages as u32 {
            list.iter_mut().for_each(|page| page.min = 0);
        }
        let caps: Vec<_> = (0..hosts)
            .map(|_| {
                PlanHost::new(f64::from(budget) / f64::from(hosts) * (0.6 + unit(&mut random)))
            })
            .collect();
        let objectives = if pages > 10_000 {
            &OBJECTIVES[..1]
        } else {
            &OBJECTIVES[..]
        };
        for objective in objectives {
            let (by_gain, first) = run_greedy(&list, &mut caps.clone(), budget, *objective);
            let mut hosts = caps.clone();
            let (by_price, second) = run_select(&list, &mut hosts, budget, *objective);
            assert!(
                (first.cost - second.cost).abs() <= 1e-9 * first.cost,
                "{objective:?}: {first:?} {second:?}"
            );
            assert_eq!(by_gain.iter().sum::<u32>(), by_price.iter().sum::<u32>());
            assert!(hosts.iter().all(|host| host.crawls <= host.cap));
            assert!(first.bound <= first.cost && second.bound <= second.cost);
            // The bound is met but for the fractions of a crawl a cap holds.
            assert!(
                second.cost - second.bound <= 5e-3 * second.cost,
                "{second:?}"
            );
        }
    }
}

/// Every page is worth its host's price at its gap, or at a limit; hosts share the price unless
/// they are full.
fn assert_optimal(
    pages: &[PlanPage<'_, f64>],
    hosts: &[PlanHost<f64>],
    budget: f64,
    objective: Objective,
    rates: &[f64],
    allocation: &Allocation<f64>,
) {
    assert!(allocation.crawls <= budget * (1.0 + 1e-9));
    assert!(
        allocation.crawls >= budget * (1.0 - 1e-6)
            || allocation.price == 0.0
            || hosts.iter().all(PlanHost::is_full)
    );
    for host in hosts {
        assert!(host.crawls <= host.cap * (1.0 + 1e-9));
        assert!(host.price >= allocation.price * (1.0 - 1e-9));
        assert!(
            host.price <= allocation.price * (1.0 + 1e-6) || host.is_full(),
            "{host:?}"
        );
    }
    for (page, rate) in pages.iter().zip(rates) {
        let least = f64::from(page.min);
        let most = if page.max == u32::MAX {
            f64::INFINITY
        } else {
            f64::from(page.max)
        };
        assert!(*rate >= least && *rate <= most);
        let price = hosts[page.host as usize].price;
        // What a little more or less would save, by the cost function alone.
        let slope = |from: f64, to: f64| {
            let cost = |rate| page_cost(page, objective, Spacing::Steady, rate);
            page.weight * (cost(from) - cost(to)) / (to - from)
        };
        let step = rate.max(1e-3) * 1e-4;
        if matches!(page.change, Change::Quasi(_) | Change::Unknown) {
            continue;
        }
        if *rate + step < most {
            assert!(
                slope(*rate, rate + step) <= price * (1.0 + 1e-6) + 1e-12,
                "{page:?} {rate} {price}"
            );
        }
        if *rate - step > least {
            assert!(
                slope(rate - step, *rate) >= price * (1.0 - 1e-6) - 1e-12,
                "{page:?} {rate} {price}"
            );
        }
    }
}

#[test]
fn optimal_satisfies_its_conditions() {
    let mut random = Random(14);
    for round in 0..120 {
        let hosts = 1 + random.below(6);
        let size = 1 + random.below(60) as usize;
        let budget = spread(&mut random, 10.0, 3_000.0);
        let pages = mixed(&mut random, size, hosts);
        let mut list: Vec<_> = (0..hosts)
            .map(|_| PlanHost::new(budget * (0.2 + unit(&mut random))))
            .collect();
        let objective = OBJECTIVES[round % 3];
        let mut rates = vec![0.0; pages.len()];
        match optimal(&pages[..], &mut list, budget, objective, &mut rates) {
            Ok(allocation) => {
                assert_optimal(&pages, &list, budget, objective, &rates, &allocation);
                assert!(
                    allocation.cost - allocation.bound <= 1e-6 * allocation.cost,
                    "{allocation:?}"
                );
            }
            Err(error) => assert!(
                matches!(
                    error,
                    PlanError::AboveBudget { .. } | PlanError::HostAboveCap { .. }
                ),
                "{error}"
            ),
        }
    }
}

/// Azar's Algorithm 2 as printed: sort, drop from the end, closed form.
fn algorithm_2(pages: &[PlanPage<'_, f64>], budget: f64) -> Vec<f64> {
    let mut order: Vec<_> = pages
        .iter()
        .map(|page| (page.weight, page.change.rate().unwrap()))
        .enumerate()
        .collect();
    order.sort_by(|(_, (w, l)), (_, (v, m))| (w / l).total_cmp(&(v / m)));
    let mut roots = 0.0;
    let mut rates = budget;
    for (_, (weight, rate)) in &order {
        roots += (weight * rate).sqrt();
        rates += rate;
    }
    let mut result = vec![0.0; pages.len()];
    let mut first = 0;
    while order[first].1.0 / order[first].1.1 <= (roots / rates).powi(2) {
        let (weight, rate) = order[first].1;
        roots -= (weight * rate).sqrt();
        rates -= rate;
        first += 1;
    }
    for (index, (weight, rate)) in &order[first..] {
        result[*index] = (weight * rate).sqrt() * rates / roots - rate;
    }
    result
}

#[test]
fn azar_meets_the_sorted_listing() {
    let mut random = Random(15);
    for _ in 0..100 {
        let pages: Vec<_> = (0..1 + random.below(300))
            .map(|_| {
                poisson(
                    spread(&mut random, 1e-3, 1e3),
                    spread(&mut random, 1e-3, 1e3),
                )
            })
            .collect();
        let budget = spread(&mut random, 1.0, 1e5);
        let expected = algorithm_2(&pages, budget);
        let mut rates = vec![0.0; pages.len()];
        azar(
            &pages[..],
            &mut [PlanHost::unlimited()],
            budget,
            Objective::Freshness,
            &mut rates,
        )
        .unwrap();
        for (found, expected) in rates.iter().zip(&expected) {
            assert!(
                (found - expected).abs() <= 1e-7 * budget,
                "{found} {expected}"
            );
        }
    }
}

#[test]
fn azar_slots_meets_its_conditions() {
    let mut random = Random(16);
    for _ in 0..50 {
        let pages: Vec<_> = (0..40)
            .map(|_| poisson(spread(&mut random, 0.01, 10.0), 0.95 * unit(&mut random)))
            .collect();
        let mut chances = vec![0.0; pages.len()];
        let allocation =
            azar_slots(&pages[..], &mut [PlanHost::unlimited()], &mut chances).unwrap();
        close(chances.iter().sum::<f64>(), 1.0, 1e-6);
        for (page, p) in pages.iter().zip(&chances) {
            let change = page.change.rate().unwrap();
            // d/dp of w p/(p + Δ − pΔ)
            let slope = page.weight * change / (p + change - p * change).powi(2);
            assert!(slope <= allocation.price * (1.0 + 1e-6));
            assert!(*p == 0.0 || slope >= allocation.price * (1.0 - 1e-6));
        }
    }
    let too_fast = [poisson(1.0, 1.0)];
    let error = azar_slots(&too_fast[..], &mut [PlanHost::unlimited()], &mut [0.0]).unwrap_err();
    assert_eq!(
        error,
        PlanError::Slot {
            page: 0,
            found: 1.0
        }
    );
}

/// Azar's Fig. 1: evenly spread, the random-visit rates reach 99 % of the optimum where budgets are
/// not tiny.
#[test]
fn azar_reaches_98_percent_of_the_optimum() {
    let mut random = Random(17);
    for (pages, budget, floor) in [
        (1_000, 0.2, 0.98),
        (1_000, 1.0, 0.98),
        (5_000, 5.0, 0.98),
        (100, 0.2, 0.90),
        (1_000, 0.02, 0.90),
    ] {
        let mut worst = 1.0_f64;
        for _ in 0..10 {
            let list: Vec<_> = (0..pages)
                .map(|_| poisson(unit(&mut random), spread(&mut random, 0.01, 10.0)))
                .collect();
            let budget = budget
                * list
                    .iter()
                    .filter_map(|page| page.change.rate())
                    .sum::<f64>();
            let mut rates = vec![0.0; pages];
            let allocation = azar(
                &list[..],
                &mut [PlanHost::unlimited()],
                budget,
                Objective::Freshness,
                &mut rates,
            )
            .unwrap();
            worst = worst.min((1.0 - allocation.cost) / (1.0 - allocation.bound));
        }
        println!("azar, {pages} pages, R = {budget} Σλ: {worst:.4} of the optimum at worst");
        assert!(
            worst >= floor && worst < 1.0,
            "{pages} pages, {budget}: {worst}"
        );
    }
}

#[test]
fn single_precision_agrees_with_double() {
    let long = std::env::var_os("DUNLIN_LONG").is_some();
    let mut random = Random(18);
    let sizes: &[usize] = if long {
        &[1, 2, 10, 1_000, 30_000, 100_000]
    } else {
        &[1, 2, 10, 1_000, 100_000]
    };
    for &size in sizes {
        for (slow, fast) in [(1e-6, 1e6), (1e-6, 1e-3), (1e3, 1e6), (0.1, 10.0)] {
            let numbers: Vec<_> = (0..size)
                .map(|_| {
                    (
                        spread(&mut random, 1e-6, 1e6) as f32,
                        spread(&mut random, slow, fast) as f32,
                    )
                })
                .collect();
            let hosts = 1 + size / 100;
            let single: Vec<_> = numbers
                .iter()
                .enumerate()
                .map(|(i, (w, l))| {
                    PlanPage::new(*w, Change::Poisson(*l)).on_host((i % hosts) as u32)
                })
                .collect();
            let double: Vec<_> = numbers
                .iter()
                .enumerate()
                .map(|(i, (w, l))| {
                    poisson(f64::from(*w), f64::from(*l)).on_host((i % hosts) as u32)
                })
                .collect();
            for each in [0.3, 3.0, 100.0] {
                let budget = (each * size as f64).ceil();
                let cap = 1.3 * budget / hosts as f64 + 1.0;
                let mut rates = vec![0.0; size];
                let mut gates = vec![PlanHost::new(cap as f32); hosts];
                let ours = optimal(
                    &single[..],
                    &mut gates,
                    budget as f32,
                    Objective::Freshness,
                    &mut rates,
                )
                .unwrap();
                let (_, exact) = run_optimal(
                    &double,
                    &mut vec![PlanHost::new(cap); hosts],
                    budget,
                    Objective::Freshness,
                );
                let off = (f64::from(ours.cost) / exact.cost - 1.0).abs();
                assert!(
                    off < 1e-4,
                    "optimal, {size} pages, λ {slow}…{fast}, {each} a page: {ours:?} {exact:?}"
                );
                assert!(rates.iter().all(|rate| *rate >= 0.0));
                assert!(
                    f64::from(gates.iter().map(|host| host.crawls).sum::<f32>())
                        <= budget * 1.000_01
                );

                let mut crawls = vec![0; size];
                let mut gates = vec![PlanHost::new(cap as f32); hosts];
                let ours = select(
                    &single[..],
                    &mut gates,
                    budget as u32,
                    Objective::Freshness,
                    &mut crawls,
                )
                .unwrap();
                let (_, exact) = run_select(
                    &double,
                    &mut vec![PlanHost::new(cap); hosts],
                    budget as u32,
                    Objective::Freshness,
                );
                let off = (f64::from(ours.cost) / exact.cost - 1.0).abs();
                assert!(
                    off < 1e-4,
                    "select, {size} pages, λ {slow}…{fast}, {each} a page: {ours:?} {exact:?}"
                );
                assert!(
                    crawls.iter().map(|crawls| u64::from(*crawls)).sum::<u64>() <= budget as u64
                );
            }
        }
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    type Broken = fn(&mut PlanPage<'static, f64>);
    let refused = |broken: Broken| {
        let mut pages = [poisson(1.0, 1.0); 3];
        broken(&mut pages[1]);
        let mut hosts = [PlanHost::new(5.0), PlanHost::unlimited()];
        let mut rates = [0.0; 3];
        let by_rate = optimal(
            &pages[..],
            &mut hosts,
            4.0,
            Objective::Freshness,
            &mut rates,
        )
        .unwrap_err();
        let by_price =
            select(&pages[..], &mut hosts, 4, Objective::Freshness, &mut [0; 3]).unwrap_err();
        assert_eq!(by_rate.to_string(), by_price.to_string());
        assert_eq!(rates, [0.0; 3], "nothing is written");
        by_rate
    };
    assert_eq!(
        refused(|page| page.weight = -1.0),
        PlanError::Weight {
            page: 1,
            found: -1.0
        }
    );
    assert!(matches!(
        refused(|page| page.weight = f64::NAN),
        PlanError::Weight { page: 1, .. }
    ));
    assert_eq!(
        refused(|page| page.change = Change::Poisson(-2.0)),
        PlanError::Rate {
            page: 1,
            found: -2.0
        }
    );
    assert!(matches!(
        refused(|page| page.change = Change::Poisson(f64::NAN)),
        PlanError::Rate { page: 1, .. }
    ));
    assert!(matches!(
        refused(|page| page.change = Change::Poisson(f64::INFINITY)),
        PlanError::Rate { page: 1, .. }
    ));
    let pareto = PlanError::Shape {
        page: 1,
        found: 1.0,
        above: 1.0,
    };
    assert_eq!(
        refused(|page| page.change = Change::Pareto {
            rate: 1.0,
            shape: 1.0
        }),
        pareto
    );
    let weibull = PlanError::Shape {
        page: 1,
        found: 0.0,
        above: 0.0,
    };
    assert_eq!(
        refused(|page| page.change = Change::Weibull {
            rate: 1.0,
            shape: 0.0
        }),
        weibull
    );
    assert_eq!(
        refused(|page| (page.min, page.max) = (3, 2)),
        PlanError::Limits {
            page: 1,
            min: 3,
            max: 2
        }
    );
    assert_eq!(
        refused(|page| page.host = 2),
        PlanError::UnknownHost {
            page: 1,
            host: 2,
            hosts: 2
        }
    );
    assert_eq!(
        refused(|page| page.min = 6),
        PlanError::PageAboveCap {
            page: 1,
            min: 6,
            cap: 5.0
        }
    );
    assert_eq!(
        refused(|page| page.min = 5),
        PlanError::AboveBudget {
            needed: 5.0,
            budget: 4.0
        }
    );

    let pages = [poisson(1.0, 1.0).between(3, 9); 2];
    let objective = Objective::Freshness;
    let mut rates = [0.0; 2];
    let error = optimal(
        &pages[..],
        &mut [PlanHost::new(5.0)],
        9.0,
        objective,
        &mut rates,
    )
    .unwrap_err();
    assert_eq!(
        error,
        PlanError::HostAboveCap {
            host: 0,
            needed: 6.0,
            cap: 5.0
        }
    );
    let error = optimal(
        &pages[..],
        &mut [PlanHost::new(-1.0)],
        9.0,
        objective,
        &mut rates,
    )
    .unwrap_err();
    assert_eq!(
        error,
        PlanError::Cap {
            host: 0,
            found: -1.0
        }
    );
    for budget in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = optimal(
            &pages[..],
            &mut [PlanHost::unlimited()],
            budget,
            objective,
            &mut rates,
        )
        .unwrap_err();
        assert!(matches!(error, PlanError::Budget { .. }), "{budget}");
    }
    let error = optimal(
        &pages[..0],
        &mut [PlanHost::unlimited()],
        1.0,
        objective,
        &mut rates,
    )
    .unwrap_err();
    assert_eq!(error, PlanError::NoPages);
    let error = optimal(
        &pages[..],
        &mut [PlanHost::unlimited()],
        9.0,
        objective,
        &mut rates[..1],
    )
    .unwrap_err();
    assert_eq!(
        error,
        PlanError::TooShort {
            needed: 2,
            found: 1
        }
    );
}

#[test]
fn pages_that_never_change_and_pages_not_known() {
    let pages = [
        poisson(9.0, 0.0).between(1, 5),
        poisson(1.0, 0.5),
        poisson(1.0, 8.0),
        PlanPage::new(1.0, Change::Unknown),
    ];
    for objective in OBJECTIVES {
        let (rates, allocation) =
            run_optimal(&pages, &mut [PlanHost::unlimited()], 10.0, objective);
        assert_eq!(rates[0], 1.0, "its minimum and no more");
        assert_eq!(page_cost(&pages[0], objective, Spacing::Steady, 1.0), 0.0);
        // The geometric mean of 0.5 and 8.
        let known = [pages[0], pages[1], pages[2], poisson(1.0, 2.0)];
        let (same, _) = run_optimal(&known, &mut [PlanHost::unlimited()], 10.0, objective);
        close(rates[3], same[3], 1e-12);
        assert!(allocation.cost > 0.0);
    }
    // Nothing to spend a budget on: no price, nothing stale.
    let still = [poisson(1.0, 0.0); 3];
    let (rates, allocation) = run_optimal(
        &still,
        &mut [PlanHost::unlimited()],
        10.0,
        Objective::Freshness,
    );
    assert_eq!(
        (rates, allocation.cost, allocation.price, allocation.crawls),
        (vec![0.0; 3], 0.0, 0.0, 0.0)
    );
    let (crawls, allocation) = run_greedy(
        &still,
        &mut [PlanHost::unlimited()],
        10,
        Objective::Freshness,
    );
    assert_eq!(
        (crawls, allocation.cost, allocation.price),
        (vec![0; 3], 0.0, 0.0)
    );
}

#[test]
fn a_page_that_changes_too_fast_is_given_up() {
    let pages = [poisson(1.0, 0.5), poisson(1.0, 1.0), poisson(1.0, 40.0)];
    let (rates, allocation) = run_optimal(
        &pages,
        &mut [PlanHost::unlimited()],
        3.0,
        Objective::Freshness,
    );
    assert_eq!(rates[2], 0.0);
    assert!(pages[2].weight / 40.0 <= allocation.price);
    let (rates, _) = run_optimal(
        &pages,
        &mut [PlanHost::unlimited()],
        3.0,
        Objective::Harmonic,
    );
    assert!(rates[2] > 0.0);
}
