//! What is learnt from visits, in the precision of the device.

use dunlin::learn::hints::{Provider, Signals};
use dunlin::learn::{
    Classes, Estimate, Gaps, HostPrior, IntervalSummary, LastModified, LearningSettings, Prior,
    Visit, irregular, naive, regular,
};
use dunlin::time::Duration;

use crate::bench::Random;
use crate::{Case, cases};

pub const CASES: &[Case] = cases![learn:
    state_fits_its_budget, cho_examples_in_f32, bayesian_steps_in_f32, host_and_device_learn_the_same,
    a_jump_is_followed, hard_histories_stay_finite, a_liar_is_discounted, bursts_are_told_from_poisson,
];

fn close(found: f32, expected: f32, tolerance: f32) {
    assert!(
        (found - expected).abs() <= tolerance,
        "found {found}, expected {expected}"
    );
}

fn state_fits_its_budget() {
    assert_eq!(size_of::<Estimate>(), 12);
    assert_eq!(size_of::<HostPrior>(), 12);
    assert_eq!(size_of::<Provider>(), 16);
    assert_eq!(size_of::<Gaps<f32>>(), 16);
    assert_eq!(size_of::<LastModified<f32>>(), 12);
    assert_eq!(size_of::<IntervalSummary>(), 132);
}

fn cho_examples_in_f32() {
    close(naive(6, 10.0_f32).unwrap(), 0.6, 1e-6);
    close(regular(10, 6, 1.0_f32).unwrap(), 0.847, 5e-4);
    let visits = [(6, true), (4, false), (3, true), (7, false)];
    let visits = visits.map(|(hours, changed)| Visit::new(Duration::HOUR * hours, changed));
    close(
        irregular::<f32>(visits.iter().copied()).unwrap() * 20.0 / 24.0,
        2.666,
        5e-4,
    );
    let mut summary = IntervalSummary::new();
    visits.iter().for_each(|visit| summary.update(visit));
    close(summary.rate().unwrap() * 20.0 / 24.0, 2.666, 5e-4);
}

fn bayesian_steps_in_f32() {
    let rates = [1.0 / 7.0_f32, 1.0 / 30.0];
    let mut weights = [0.0; 2];
    let mut page = Classes::new(&rates, &mut weights).unwrap();
    for (weekly, monthly) in [(0.77, 0.23), (0.92, 0.08)] {
        page.update(&Visit::new(Duration::DAY * 5, true));
        close(page.probability(0), weekly, 5e-3);
        close(page.probability(1), monthly, 5e-3);
    }
}

/// A thousand visits of every kind end in the same bits on every machine.
fn host_and_device_learn_the_same() {
    let mut random = Random(1);
    let mut page = Estimate::new(&Prior::DEFAULT);
    let mut host = HostPrior::new();
    host.add_page();
    let mut provider = Provider::new();
    for _ in 0..1_000 {
        let interval = Duration::from_secs(u64::from(1 + random.below(200_000)));
        let visit = Visit::new(interval, random.below(3) == 0);
        let visit = if random.below(2) == 0 {
            visit.modified(interval / 3)
        } else {
            visit
        };
        let signals = u32::from(visit.changed && random.below(4) > 0) + random.below(4) / 3;
        match random.below(2) {
            0 => page.update(&visit, &LearningSettings::DEFAULT),
            _ => page.update_signalled(&visit, signals, &provider, &LearningSettings::DEFAULT),
        }
        provider.update(&visit, signals, page.rate());
        host.update(&page, interval.as_days());
    }
    let found = [
        page.rate(),
        page.shape(),
        host.prior(&HostPrior::of_gap(1.0)).rate(),
        provider.recall(),
        provider.precision(),
    ];
    assert_eq!(
        found,
        [
            0.366_798_85,
            78.497_81,
            1.399_711_1,
            0.667_946_76,
            0.558_224_1
        ]
    );
}

fn a_jump_is_followed() {
    let mut page = Estimate::new(&Prior::DEFAULT);
    for day in 0..300 {
        page.update(
            &Visit::new(Duration::DAY, day % 10 == 0),
            &LearningSettings::DEFAULT,
        );
    }
    close(page.rate(), 0.105, 0.02);
    // From every tenth day to two days in three: about 0.1 to 1.1 changes a day.
    let visits = (0..60).find(|day| {
        page.update(
            &Visit::new(Duration::DAY, day % 3 != 0),
            &LearningSettings::DEFAULT,
        );
        page.rate() > 0.55
    });
    assert!(visits.is_some_and(|visits| visits < 30), "{visits:?}");
}

fn hard_histories_stay_finite() {
    for interval in [
        Duration::ZERO,
        Duration::from_micros(1),
        Duration::DAY,
        Duration::MAX,
    ] {
        for changed in [false, true] {
            for ago in [
                None,
                Some(Duration::ZERO),
                Some(Duration::from_secs(10)),
                Some(Duration::MAX),
            ] {
                let mut page = Estimate::new(&Prior::DEFAULT);
                let visit = Visit {
                    interval,
                    changed,
                    modified_ago: ago,
                };
                for _ in 0..2_000 {
                    page.update(&visit, &LearningSettings::DEFAULT);
                }
                assert!(
                    page.rate() > 0.0 && page.rate().is_finite(),
                    "{visit:?}: {page:?}"
                );
                assert!(
                    page.standard_deviation() > 0.0 && page.standard_deviation().is_finite(),
                    "{visit:?}: {page:?}"
                );
            }
        }
    }
}

fn a_liar_is_discounted() {
    let mut honest = Provider::new();
    let mut liar = Provider::new();
    for visit in 0..200 {
        let changed = visit % 8 == 0;
        honest.update(
            &Visit::new(Duration::HOUR * 3, changed),
            u32::from(changed),
            1.0,
        );
        liar.update(&Visit::new(Duration::HOUR * 3, changed), 1, 1.0);
    }
    assert!(honest.precision() > 0.8 && liar.precision() < 0.2);
    // A signal moves the honest host's page much further.
    let moved = |host: &Provider| {
        let page: Signals<f32> = host.signals(1.0);
        page.equivalent_age(0.1, 1) - page.equivalent_age(0.1, 0)
    };
    assert!(moved(&honest) > 5.0 * moved(&liar));
}

fn bursts_are_told_from_poisson() {
    let mut random = Random(3);
    let mut poisson = Gaps::<f32>::new();
    let mut bursty = Gaps::<f32>::new();
    for _ in 0..200 {
        let gap = -dunlin::math::Real::ln(1.0 - random.unit());
        poisson.add(gap);
        bursty.add(gap * gap);
    }
    assert!(poisson.poisson_suffices() && !bursty.poisson_suffices());
    close(bursty.weibull().unwrap(), 0.5, 0.1);
}
