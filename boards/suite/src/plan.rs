//! Plans come out the same on every machine: the papers' tables, and golden plans in `f32`.

use core::hint::black_box;

use dunlin::heap::Entry;
use dunlin::math::Real;
use dunlin::model::quasi::{Update, costs};
use dunlin::model::{Change, Quasi};
use dunlin::plan::azar::azar;
use dunlin::plan::baseline::{Share, baseline};
use dunlin::plan::greedy::greedy;
use dunlin::plan::optimal::optimal;
use dunlin::plan::select::select;
use dunlin::plan::{Objective, Pages, PlanError, PlanHost, PlanPage};

use crate::bench::{Meter, Random};
use crate::{Case, cases};

pub const CASES: &[Case] = cases![plan:
    cho_table_5_5, full_hosts_have_their_own_price, greedy_and_select_agree, quasi_pages_take_whole_crawls,
    azar_stays_below_the_optimum, golden_plan, bad_input_is_refused, scratch_is_small,
];

fn poisson(rate: f32) -> PlanPage<'static, f32> {
    PlanPage::new(1.0, Change::Poisson(rate))
}

fn close(found: f32, expected: f32, limit: f32) {
    assert!(
        (found - expected).abs() <= limit,
        "found {found}, expected {expected}"
    );
}

fn cho_table_5_5() {
    let pages = [1.0, 2.0, 3.0, 4.0, 5.0].map(poisson);
    let mut hosts = [PlanHost::unlimited()];
    let mut rates = [0.0; 5];
    for (objective, row) in [
        (Objective::Freshness, [1.1499, 1.3584, 1.3538, 1.1379, 0.0]),
        (Objective::Age, [0.8349, 0.9679, 1.0335, 1.0706, 1.0931]),
    ] {
        optimal(&pages[..], &mut hosts, 5.0, objective, &mut rates).unwrap();
        rates
            .iter()
            .zip(row)
            .for_each(|(found, expected)| close(*found, expected, 1e-4));
    }
    for (share, freshness) in [(Share::Uniform, 0.36505), (Share::Proportional, 0.31674)] {
        let plan = baseline(
            &pages[..],
            &mut hosts,
            5.0,
            share,
            Objective::Freshness,
            &mut rates,
        )
        .unwrap();
        close(1.0 - plan.cost, freshness, 1e-5);
        close(1.0 - plan.bound, 0.37389, 1e-5);
    }
}

fn full_hosts_have_their_own_price() {
    let pages = [1.0, 2.0, 3.0].map(poisson).map(|page| page.on_host(0));
    let others = [1.0, 2.0, 3.0].map(poisson).map(|page| page.on_host(1));
    let pages = [pages, others];
    let mut hosts = [PlanHost::new(1.0), PlanHost::new(50.0)];
    let mut rates = [0.0; 6];
    let plan = optimal(
        pages.as_flattened(),
        &mut hosts,
        6.0,
        Objective::Freshness,
        &mut rates,
    )
    .unwrap();
    close(hosts[0].crawls, 1.0, 1e-5);
    close(hosts[1].crawls, 5.0, 1e-4);
    assert!(hosts[0].price > 2.0 * hosts[1].price && hosts[1].price == plan.price);
    assert!(hosts[0].is_full() && !hosts[1].is_full());
    // More budget than the caps allow: all is handed out that may be, at no common price.
    hosts[1].cap = 3.0;
    let plan = optimal(
        pages.as_flattened(),
        &mut hosts,
        6.0,
        Objective::Freshness,
        &mut rates,
    )
    .unwrap();
    assert_eq!(plan.price, 0.0);
    close(plan.crawls, 4.0, 1e-4);
}

/// 64 pages on 4 hosts.
fn some_pages() -> [PlanPage<'static, f32>; 64] {
    let mut random = Random(5);
    core::array::from_fn(|index| {
        let rate = 0.05 + 20.0 * random.unit() * random.unit();
        PlanPage::new(0.1 + random.unit(), Change::Poisson(rate)).on_host(index as u32 % 4)
    })
}

fn greedy_and_select_agree() {
    let pages = some_pages();
    let mut hosts = [20.0, 100.0, 40.5, 1e9].map(PlanHost::new);
    let mut entries = [Entry::<_, u16>::UNUSED; 64];
    let mut by_gain = [0; 64];
    let mut by_price = [0; 64];
    for objective in [Objective::Freshness, Objective::Age, Objective::Harmonic] {
        let first = greedy(
            &pages[..],
            &mut hosts,
            150,
            objective,
            &mut entries,
            &mut by_gain,
        );
        let second = select(&pages[..], &mut hosts, 150, objective, &mut by_price);
        assert_eq!(by_gain, by_price);
        assert_eq!(
            (first.unwrap().cost, hosts[0].crawls),
            (second.unwrap().cost, 20.0)
        );
        assert!(first.unwrap().bound <= first.unwrap().cost);
    }
}

fn quasi_pages_take_whole_crawls() {
    let updates = [
        Update {
            offset: 0.25,
            probability: 0.9,
        },
        Update {
            offset: 0.75,
            probability: 1.0,
        },
    ];
    let mut curve = [0.0; 3];
    let mut scratch = [0.0; 2];
    assert_eq!(
        costs(&updates, Objective::Freshness, &mut curve, &mut scratch),
        3
    );
    let pages = [
        PlanPage::new(1.0, Change::Quasi(Quasi::new(&curve))),
        poisson(2.0),
    ];
    let mut hosts = [PlanHost::unlimited()];
    let mut rates = [0.0_f32; 2];
    let plan = optimal(
        &pages[..],
        &mut hosts,
        10.0,
        Objective::Freshness,
        &mut rates,
    )
    .unwrap();
    assert_eq!(rates[0], 2.0);
    close(rates[1], 8.0, 1e-4);
    close(plan.crawls, 10.0, 1e-4);
}

fn azar_stays_below_the_optimum() {
    let pages = some_pages();
    let mut hosts = [PlanHost::new(60.0); 4];
    let mut rates = [0.0; 64];
    let plan = azar(
        &pages[..],
        &mut hosts,
        150.0,
        Objective::Freshness,
        &mut rates,
    )
    .unwrap();
    let part = (1.0 - plan.cost) / (1.0 - plan.bound);
    assert!(part < 1.0 && part > 0.97, "{part}");
    assert!(rates.iter().all(|rate| *rate >= 0.0));
    close(plan.crawls, 150.0, 1e-3);
}

/// The same bits on host and device: only `libm` and arithmetic are used.
fn golden_plan() {
    let pages = some_pages();
    let mut hosts = [20.0, 100.0, 40.5, 1e9].map(PlanHost::new);
    let mut rates = [0.0; 64];
    let plan = optimal(
        &pages[..],
        &mut hosts,
        150.0,
        Objective::Freshness,
        &mut rates,
    )
    .unwrap();
    let mixed = rates
        .iter()
        .fold(0_u32, |mixed, rate| mixed.rotate_left(5) ^ rate.to_bits());
    assert_eq!(
        (plan.cost.to_bits(), mixed),
        (GOLDEN_COST, GOLDEN_RATES),
        "cost {}",
        plan.cost
    );
}

const GOLDEN_COST: u32 = 1_054_255_903;
const GOLDEN_RATES: u32 = 169_682_833;

fn bad_input_is_refused() {
    let mut hosts = [PlanHost::new(2.0)];
    let mut rates = [0.0; 2];
    let mut plan = |pages: [PlanPage<'_, f32>; 2]| {
        optimal(
            &pages[..],
            &mut hosts,
            3.0,
            Objective::Freshness,
            &mut rates,
        )
        .map(|plan| plan.crawls)
    };
    let sound = poisson(1.0);
    assert!(plan([sound; 2]).is_ok());
    assert!(matches!(
        plan([sound, poisson(f32::NAN)]),
        Err(PlanError::Rate { page: 1, .. })
    ));
    assert_eq!(
        plan([sound, poisson(-1.0)]),
        Err(PlanError::Rate {
            page: 1,
            found: -1.0
        })
    );
    let heavy_tail = PlanPage::new(
        1.0,
        Change::Pareto {
            rate: 1.0,
            shape: 0.9_f32,
        },
    );
    assert!(matches!(
        plan([heavy_tail, sound]),
        Err(PlanError::Shape { page: 0, .. })
    ));
    assert_eq!(
        plan([sound.between(3, 9), sound]),
        Err(PlanError::PageAboveCap {
            page: 0,
            min: 3,
            cap: 2.0
        })
    );
    let crowded = PlanError::HostAboveCap {
        host: 0,
        needed: 4.0,
        cap: 2.0,
    };
    assert_eq!(
        plan([sound.between(2, 9), sound.between(2, 9)]),
        Err(crowded)
    );
}

/// 1,024 pages on 32 hosts: result and working memory together stay below 8 bytes a page.
fn scratch_is_small() {
    let bytes = 1_024 * size_of::<f32>() + 32 * size_of::<PlanHost<f32>>();
    assert!(bytes <= 8 * 1_024, "{bytes} bytes");
}

/// Pages as a device keeps them: 12 bytes each, host included.
struct Table<'a>(&'a [(f32, f32, u16)]);

impl Pages<f32> for Table<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn page(&self, index: usize) -> PlanPage<'_, f32> {
        let (weight, rate, host) = self.0.get(index).copied().unwrap_or_default();
        PlanPage::new(weight, Change::Poisson(rate)).on_host(u32::from(host))
    }
}

/// Every page planned anew, on 32 hosts of which some are full; and one inverse, which a scheduler
/// takes for each record.
pub fn bench(meter: &mut dyn Meter) {
    fn at<const N: usize>(meter: &mut dyn Meter) {
        let mut random = Random(6);
        let mut pages = [(0.0, 0.0, 0); N];
        for (index, page) in pages.iter_mut().enumerate() {
            let skewed = random.below(32).min(random.below(32)) as u16;
            *page = (
                1.0 / (index + 1) as f32,
                0.01 + 24.0 * random.unit(),
                skewed,
            );
        }
        let cap = 12.0 * N as f32 / 32.0;
        let mut hosts = [PlanHost::new(cap); 32];
        let mut rates = [0.0; N];
        meter.measure("plan optimal", N as u32, 1, &mut || {
            let budget = 8.0 * N as f32;
            let plan = optimal(
                &Table(&pages),
                &mut hosts,
                budget,
                Objective::Freshness,
                &mut rates,
            );
            let _ = black_box((plan, &rates));
        });
    }
    at::<64>(meter);
    at::<256>(meter);
    at::<1024>(meter);
    at::<4096>(meter);
    let mut random = Random(6);
    let pages: [(f32, f32); 64] =
        core::array::from_fn(|index| (1.0 / (index + 1) as f32, 0.01 + 24.0 * random.unit()));
    meter.measure("plan by bisection in bisection", 64, 1, &mut || {
        black_box(bisect(black_box(&pages), 8.0 * 64.0));
    });
    let mut random = Random(8);
    let prices: [f32; 64] = core::array::from_fn(|_| random.unit());
    meter.measure("h_inverse", 1, 64, &mut || {
        black_box(
            prices
                .iter()
                .map(|q| dunlin::math::h_inverse(black_box(*q)))
                .sum::<f32>(),
        );
    });
}

/// The price by Cho's conditions as one would first write it down: bisect the rate of every page
/// inside a bisection of the price, without host caps. As many steps as an `f32` has bits.
fn bisect(pages: &[(f32, f32)], budget: f32) -> f32 {
    let mut low = 1e-9_f32;
    let mut high = 1e3_f32;
    for _ in 0..24 {
        let price = Real::sqrt(low * high);
        let rates = pages.iter().map(|(weight, rate)| {
            let mut least = 1e-6_f32;
            let mut most = 1e6_f32;
            for _ in 0..24 {
                let crawls = Real::sqrt(least * most);
                if weight * dunlin::math::h(rate / crawls) / rate > price {
                    least = crawls
                } else {
                    most = crawls
                }
            }
            least
        });
        if rates.sum::<f32>() > budget {
            low = price
        } else {
            high = price
        }
    }
    high
}
