//! Learning: what a visit costs.

use core::hint::black_box;

use dunlin::learn::hints::{Provider, Signals};
use dunlin::learn::{
    Clock, Estimate, Gaps, HostPrior, IntervalSummary, LearningSettings, Prior, Visit, irregular,
};
use dunlin::time::{Duration, Instant};

use super::{Meter, Random};

const STEPS: u32 = 64;

/// Visits half a day apart on average.
fn visits(changed: impl Fn(u32) -> bool, dated: bool) -> [Visit; STEPS as usize] {
    let mut random = Random(6);
    core::array::from_fn(|step| {
        let interval = Duration::from_secs(u64::from(1 + random.below(86_400)));
        let visit = Visit::new(interval, changed(step as u32));
        if dated {
            visit.modified(Duration::from_micros(interval.as_micros() / 2))
        } else {
            visit
        }
    })
}

/// Every kind of visit, then the rest of what a probe does after one.
pub fn learn(meter: &mut dyn Meter) {
    let kinds = [
        ("estimate update, unchanged", visits(|_| false, false)),
        ("estimate update, changed", visits(|_| true, false)),
        ("estimate update, dated", visits(|_| true, true)),
        (
            "estimate update, mixed",
            visits(|step| step % 3 == 0, false),
        ),
    ];
    for (name, visits) in &kinds {
        let mut page = Estimate::new(&Prior::DEFAULT);
        meter.measure(name, 1, STEPS, &mut || {
            visits
                .iter()
                .for_each(|visit| page.update(black_box(visit), &LearningSettings::DEFAULT));
            black_box(&page);
        });
    }
    let mixed = visits(|step| step % 3 == 0, false);
    let mut page = Estimate::new(&Prior::DEFAULT);
    let mut host = HostPrior::new();
    let mut provider = Provider::new();
    meter.measure("estimate update, signalled", 1, STEPS, &mut || {
        for visit in &mixed {
            page.update_signalled(
                black_box(visit),
                u32::from(visit.changed),
                &provider,
                &LearningSettings::DEFAULT,
            );
        }
        black_box(&page);
    });
    meter.measure("provider update", 1, STEPS, &mut || {
        mixed
            .iter()
            .for_each(|visit| provider.update(black_box(visit), u32::from(visit.changed), 1.0));
        black_box(&provider);
    });
    meter.measure("host prior update", 1, STEPS, &mut || {
        mixed
            .iter()
            .for_each(|visit| host.update(black_box(&page), visit.interval.as_days()));
        black_box(&host);
    });
    let all = HostPrior::of_gap(1.0);
    meter.measure("host prior of a new page", 1, 1, &mut || {
        black_box(black_box(&host).prior(&all));
    });
    meter.measure("the rate from the whole history", 1, 1, &mut || {
        black_box(irregular::<f32>(black_box(&mixed).iter().copied()));
    });
    others(meter, &mixed);
}

fn others(meter: &mut dyn Meter, mixed: &[Visit; STEPS as usize]) {
    let signals = Signals::<f32>::new(1.0, 0.7, 0.6);
    meter.measure("equivalent age", 1, STEPS, &mut || {
        for step in 0..STEPS {
            black_box(black_box(&signals).equivalent_age(step as f32 * 0.1, step % 4));
        }
    });
    meter.measure("signal value", 1, STEPS, &mut || {
        for step in 0..STEPS {
            black_box(black_box(&signals).value(step as f32 * 0.1, step % 4));
        }
    });
    let mut summary = IntervalSummary::new();
    let mut gaps = Gaps::<f32>::new();
    let mut clock = Clock::new();
    meter.measure("interval summary update", 1, STEPS, &mut || {
        mixed.iter().for_each(|visit| summary.update(visit))
    });
    meter.measure("interval summary rate", 1, 1, &mut || {
        black_box(summary.rate());
    });
    meter.measure("gaps add", 1, STEPS, &mut || {
        mixed
            .iter()
            .for_each(|visit| gaps.add(visit.interval.as_days()))
    });
    meter.measure("clock add", 1, STEPS, &mut || {
        mixed
            .iter()
            .for_each(|visit| clock.add(Instant::ZERO + visit.interval))
    });
    black_box((&gaps, &clock));
}
