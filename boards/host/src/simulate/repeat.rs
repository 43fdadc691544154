//! Several runs at once, and what they say together.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does `work` for 0..jobs on all cores; the results are in order, whichever ended first.
pub fn parallel<T: Send>(jobs: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(jobs);
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    if job >= jobs {
                        break;
                    }
                    let result = work(job);
                    results
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((job, result));
                }
            });
        }
    });
    let mut results = results
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_unstable_by_key(|(job, _)| *job);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Mean and 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean of all values.
    pub value: f64,
    /// Half the width of the interval; `None` for a single value.
    pub plus_minus: Option<f64>,
}

/// Student's t for a two-sided 95 %, by degrees of freedom from 1.
const STUDENT: [f64; 9] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
];

impl Mean {
    /// The mean of independent values.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let value = values.iter().sum::<f64>() / count;
        let freedom = values.len().saturating_sub(1);
        let variance = values.iter().map(|x| (x - value).powi(2)).sum::<f64>() / freedom as f64;
        let quantile = STUDENT
            .get(freedom.wrapping_sub(1))
            .copied()
            .unwrap_or(1.96 + 2.6 / freedom as f64);
        Self {
            value,
            plus_minus: (freedom > 0).then(|| quantile * (variance / count).sqrt()),
        }
    }
}
