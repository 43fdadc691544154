//! How far off may the rate be? The interval of rates that explain a history about as well as the
//! best one does.

use super::Visit;
use crate::math::Real;

/// Half the 95 % quantile of χ² with one degree of freedom: rates whose log-likelihood is below the
/// largest by more are outside of the interval.
const DROP: f64 = 1.920_7;
/// Between once in three million years and ten times a millisecond, on a logarithmic scale.
const LEAST_RATE: f64 = 1e-9;
const MOST_RATE: f64 = 1e9;
const BISECTIONS: u32 = 60;

/// Rates per day between which the true one lies with 95 % confidence, by the profile of the
/// likelihood: from 0 if no visit found a change, and without an upper end (`None`) if every visit
/// found one and none was dated, which any rate that is large enough explains.
///
/// `None` if no time passed. O(visits), some 200 times over.
///
/// ```
/// use dunlin::learn::{Visit, confidence};
/// use dunlin::time::Duration;
///
/// // Six changes in ten daily visits: 0.85 a day is likeliest, and 0.36 to 1.8 are possible.
/// let visits = (0..10).map(|day| Visit::new(Duration::DAY, day % 5 < 3));
/// let (low, high) = confidence::<f64>(visits).unwrap();
/// assert!((0.3..0.4).contains(&low) && (1.6..2.0).contains(&high.unwrap()));
/// ```
pub fn confidence<F: Real>(visits: impl Iterator<Item = Visit> + Clone) -> Option<(F, Option<F>)> {
    let visits = visits.filter(|visit| !visit.interval.is_zero());
    visits.clone().next()?;
    let low = F::from_f64(LEAST_RATE);
    let high = F::from_f64(MOST_RATE);
    let slope = |rate: F| visits.clone().map(|visit| slope(&visit, rate)).sum::<F>();
    let likelihood = |rate: F| {
        visits
            .clone()
            .map(|visit| likelihood(&visit, rate))
            .sum::<F>()
    };
    // The slope of the log-likelihood falls with the rate.
    let best = bisect(low, high, |rate| slope(rate) > F::ZERO);
    let least = likelihood(best) - F::from_f64(DROP);
    let lower = if likelihood(low) > least {
        F::ZERO
    } else {
        bisect(low, best, |rate| likelihood(rate) < least)
    };
    let upper =
        (likelihood(high) < least).then(|| bisect(best, high, |rate| likelihood(rate) > least));
    Some((lower, upper))
}

/// When the change was, if the visit found one and its date can be believed.
fn dated<F: Real>(visit: &Visit) -> Option<F> {
    visit
        .modified_ago
        .filter(|ago| visit.changed && *ago < visit.interval)
        .map(|ago| ago.as_days())
}

/// Logarithm of how likely a rate makes what the visit found.
fn likelihood<F: Real>(visit: &Visit, rate: F) -> F {
    let days: F = visit.interval.as_days();
    match (visit.changed, dated::<F>(visit)) {
        (false, _) => -rate * days,
        (true, Some(ago)) => rate.ln() - rate * ago,
        (true, None) => (-(-rate * days).exp_m1()).max(F::MIN_POSITIVE).ln(),
    }
}

/// The derivative of that.
fn slope<F: Real>(visit: &Visit, rate: F) -> F {
    let days: F = visit.interval.as_days();
    match (visit.changed, dated::<F>(visit)) {
        (false, _) => -days,
        (true, Some(ago)) => F::ONE / rate - ago,
        // e^{λt} overflows to infinity, and the quotient then is 0, as it should be.
        (true, None) => days / (rate * days).exp_m1(),
    }
}

/// The point between two, on a logarithmic scale, below which `is_below` holds.
fn bisect<F: Real>(mut low: F, mut high: F, is_below: impl Fn(F) -> bool) -> F {
    for _ in 0..BISECTIONS {
        let middle = (low * high).sqrt();
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}
