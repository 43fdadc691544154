//! Nothing that can be passed in makes a rate NaN, infinite or negative.

use dunlin::learn::hints::{Provider, Signals};
use dunlin::learn::{
    Classes, Clock, Estimate, Gaps, HostPrior, IntervalSummary, LastModified, LearningSettings,
    Prior, Visit, fit, irregular, naive, regular,
};
use dunlin::time::{Duration, Instant};
use proptest::prelude::*;

/// From nothing to forever, with the usual in between.
fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![
        1 => Just(Duration::ZERO),
        1 => Just(Duration::MAX),
        2 => (1_u64..1_000).prop_map(Duration::from_micros),
        2 => any::<u64>().prop_map(Duration::from_micros),
        8 => (1_u64..10_000_000).prop_map(Duration::from_secs),
    ]
}

fn visits() -> impl Strategy<Value = Visit> {
    (
        durations(),
        any::<bool>(),
        proptest::option::of(durations()),
    )
        .prop_map(|(interval, changed, modified_ago)| Visit {
            interval,
            changed,
            modified_ago,
        })
}

/// Histories that mix everything, and those in which all or no visits found a change.
fn histories() -> impl Strategy<Value = Vec<(Visit, u32)>> {
    let signals = prop_oneof![4 => 0_u32..4, 1 => any::<u32>()];
    let all = proptest::collection::vec((visits(), signals), 0..200);
    (all, proptest::option::of(any::<bool>())).prop_map(|(mut history, always)| {
        if let Some(always) = always {
            history
                .iter_mut()
                .for_each(|(visit, _)| visit.changed = always);
        }
        history
    })
}

fn settings() -> impl Strategy<Value = LearningSettings> {
    (durations(), any::<f32>(), any::<bool>()).prop_map(|(half_life, surprise, default)| {
        if default {
            LearningSettings::DEFAULT
        } else {
            LearningSettings::DEFAULT
                .with_half_life(half_life)
                .with_surprise(surprise)
        }
    })
}

fn sound(page: &Estimate) {
    assert!(page.rate().is_finite() && page.rate() > 0.0, "{page:?}");
    assert!(
        page.variance().is_finite() && page.variance() > 0.0,
        "{page:?}"
    );
    assert!(page.standard_deviation().is_finite(), "{page:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_sequence_of_visits_breaks_the_online_estimator(
        history in histories(), settings in settings(), rate in any::<f32>(), shape in any::<f32>(),
    ) {
        let mut page = Estimate::new(&Prior::new(rate, shape));
        sound(&page);
        let mut host = HostPrior::new();
        for (visit, _) in &history {
            page.update(visit, &settings);
            sound(&page);
            host.update(&page, visit.interval.as_days());
            sound(&Estimate::new(&host.prior(&HostPrior::of_gap(rate))));
            page.first_visit(visit.interval);
            sound(&page);
        }
    }

    #[test]
    fn no_sequence_of_signals_breaks_what_is_believed(history in histories(), settings in settings()) {
        let mut page = Estimate::new(&Prior::DEFAULT);
        let mut provider = Provider::new();
        for (visit, signals) in &history {
            page.update_signalled(visit, *signals, &provider, &settings);
            sound(&page);
            provider.update(visit, *signals, page.rate());
            prop_assert!((0.0..=1.0).contains(&provider.precision()), "{provider:?}");
            prop_assert!((0.0..=1.0).contains(&provider.recall()), "{provider:?}");
            let page_signals = provider.signals(page.rate());
            let days = visit.interval.as_days::<f32>();
            prop_assert!((0.0..=1.0).contains(&page_signals.fresh(days, *signals)));
            let value = page_signals.value(days, *signals);
            prop_assert!(value.is_finite() && value >= 0.0, "{page_signals:?}: {value}");
            prop_assert!(page_signals.equivalent_age(days, *signals).is_finite());
        }
    }

    #[test]
    fn no_history_breaks_the_other_estimators(history in histories()) {
        let mut dates = LastModified::<f64>::new();
        let mut summary = IntervalSummary::new();
        let mut gaps = Gaps::<f32>::new();
        let mut clock = Clock::new();
        let rates = [0.001, 0.1, 10.0];
        let mut weights = [0.0_f32; 3];
        let mut classes = Classes::new(&rates, &mut weights).unwrap();
        for (visit, _) in &history {
            dates.update(visit);
            summary.update(visit);
            gaps.add(visit.interval.as_days());
            clock.add(Instant::ZERO + visit.interval);
            classes.update(visit);
            let sum: f32 = (0..3).map(|class| classes.probability(class)).sum();
            prop_assert!((sum - 1.0).abs() < 1e-5 && classes.rate() > 0.0, "{classes:?}");
        }
        let visits = history.iter().map(|(visit, _)| *visit);
        for rate in [dates.rate(), irregular(visits.clone()), summary.rate().map(f64::from)].into_iter().flatten() {
            prop_assert!(rate.is_finite() && rate >= 0.0, "{rate}");
        }
        if let Some(rate) = irregular::<f32>(visits) {
            prop_assert!(rate.is_finite() && rate >= 0.0, "{rate}");
        }
        prop_assert!(gaps.deviation().is_finite() && clock.deviation().is_finite());
        prop_assert!(clock.updates(1.0).all(|(_, probability)| (0.0..=1.0).contains(&probability)));
    }

    #[test]
    fn counts_of_any_kind_are_answered(visits in any::<u32>(), changes in any::<u32>(), days in any::<f64>()) {
        for rate in [naive(changes, days), regular(visits, changes, days)].into_iter().flatten() {
            prop_assert!(!rate.is_nan() && rate >= 0.0, "{rate}");
        }
    }

    #[test]
    fn gaps_of_any_kind_are_fitted(gaps in proptest::collection::vec(any::<f32>(), 0..60)) {
        if let Some(law) = fit(&gaps) {
            prop_assert!(law.rate() >= 0.0 && !law.rate().is_nan(), "{law:?}");
        }
    }

    /// More time or more signals never make a page less worth a visit, and none is worth more than
    /// the time to its next change.
    #[test]
    fn value_grows_with_age_and_signals(
        rate in 0.01_f64..10.0, recall in 0.0_f64..1.0, precision in 0.0_f64..1.0, days in 0.0_f64..20.0, signals in 0_u32..5,
    ) {
        let page = Signals::new(rate, recall, precision);
        let value = page.value(days, signals);
        let slack = 1e-6 / rate;
        prop_assert!(value <= 1.0 / rate + slack, "{value}");
        prop_assert!(page.value(days * 1.1, signals) >= value - 1e-3 * value - slack);
        prop_assert!(page.value(days, signals + 1) >= value - 1e-3 * value - slack);
        let single = Signals::new(rate as f32, recall as f32, precision as f32).value(days as f32, signals);
        prop_assert!((f64::from(single) - value).abs() < 1e-3 / rate, "f32 {single}, f64 {value}");
    }

    #[test]
    fn equivalent_age_is_as_likely_stale(
        rate in 0.01_f64..10.0, recall in 0.0_f64..0.99, precision in 0.0_f64..0.99, days in 0.0_f64..20.0, signals in 0_u32..5,
    ) {
        let page = Signals::new(rate, recall, precision);
        let age = page.equivalent_age(days, signals);
        prop_assert!((page.fresh(days, signals) - (-rate * age).exp()).abs() < 1e-12);
        prop_assert!((page.days_until(age, signals) - days).abs() < 1e-6 * (1.0 + age) / (1.0 - recall));
    }
}
