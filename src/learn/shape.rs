//! Is Poisson good enough? The law behind the gaps between changes (Wolf §4).
//!
//! Wolf found pages whose gaps have long Weibull tails and heavy Pareto tails. Gaps come from the
//! dates of successive changes, so from `Last-Modified`, a feed or a trace; a page visited more
//! seldom than it changes hides some of them, and its gaps are sums.
//!
//! [`Gaps`] needs sixteen bytes and suits a device; [`fit`] reads all gaps again and again, and
//! suits a host. Patterns by the clock are in [`clock`](super::clock).

use crate::math::Real;

/// Below this many gaps no shape is told from another: answers are Poisson.
const FEWEST_GAPS: u32 = 10;
/// π²/6, the variance of the logarithm of an exponential gap.
const EXPONENTIAL_LOG_VARIANCE: f64 = 1.644_934_066_848_226_4;
/// χ² with one degree of freedom exceeds this once in a hundred: how much better a second parameter
/// must fit.
const ONE_IN_A_HUNDRED: f64 = 6.635;

/// A law that gaps follow, with its mean rate per day.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Law<F> {
    /// The simple model is good enough.
    Poisson {
        /// How many changes there are in a day.
        rate: F,
    },
    /// Tail `e^{−c t^α}`: long gaps and bursts for α < 1, clockwork for α > 1.
    Weibull {
        /// How many changes there are in a day.
        rate: F,
        /// The law's shape, α.
        shape: F,
    },
    /// Tail `(β/(β+t))^α`, α > 1: a few gaps are longer than all others together.
    Pareto {
        /// How many changes there are in a day.
        rate: F,
        /// The law's shape, α.
        shape: F,
    },
}

impl<F: Real> Law<F> {
    /// How many changes there are in a day.
    pub fn rate(&self) -> F {
        match *self {
            Self::Poisson { rate } | Self::Weibull { rate, .. } | Self::Pareto { rate, .. } => rate,
        }
    }
}

/// Gaps between changes, folded into their count, mean, and the mean and variance of their
/// logarithm.
///
/// ```
/// use dunlin::learn::Gaps;
///
/// let mut gaps = Gaps::<f32>::new();
/// for day in 0..100 {
///     gaps.add(if day % 10 == 0 { 10.0 } else { 0.1 });
/// }
/// assert!(!gaps.poisson_suffices(), "nine changes in a day, then a week and a half of none");
/// assert!(gaps.weibull().unwrap() < 1.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Gaps<F> {
    count: u32,
    mean: F,
    log_mean: F,
    /// Sum of squared deviations of the logarithm.
    log_squares: F,
}

impl<F: Real> Gaps<F> {
    /// A summary of no gaps.
    pub const fn new() -> Self {
        Self {
            count: 0,
            mean: F::ZERO,
            log_mean: F::ZERO,
            log_squares: F::ZERO,
        }
    }

    /// Adds the days between two successive changes; what is not a positive number is left out.
    /// Constant time.
    pub fn add(&mut self, days: F) {
        if !days.is_finite() || days < F::MIN_POSITIVE {
            return;
        }
        self.count = self.count.saturating_add(1);
        let share = F::ONE / F::from_u32(self.count);
        self.mean += (days - self.mean) * share;
        let difference = days.ln() - self.log_mean;
        self.log_mean += difference * share;
        self.log_squares += difference * (days.ln() - self.log_mean);
    }

    /// How many gaps were counted.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Changes per day; `None` without gaps.
    pub fn rate(&self) -> Option<F> {
        (self.count > 0).then(|| F::ONE / self.mean)
    }

    /// How far the gaps are from exponential, in standard deviations: positive for burstier,
    /// negative for steadier.
    ///
    /// Moran's test, the most powerful against Gamma-distributed gaps: `2n (ln mean − mean ln)`,
    /// with Bartlett's correction, is χ² with n − 1 degrees of freedom if the changes are Poisson.
    /// Zero for fewer than two gaps.
    pub fn deviation(&self) -> F {
        if self.count < 2 {
            return F::ZERO;
        }
        let n = F::from_u32(self.count);
        let freedom = n - F::ONE;
        let correction = F::ONE + (n + F::ONE) / (F::from_u32(6) * n);
        let chi_squared = F::TWO * n * (self.mean.ln() - self.log_mean).max(F::ZERO) / correction;
        deviation_of_chi_squared(chi_squared, freedom)
    }

    /// Is Poisson good enough? Yes for fewer than ten gaps, and unless the gaps deviate by more
    /// than 2.58 standard deviations, as one Poisson page in a hundred does.
    pub fn poisson_suffices(&self) -> bool {
        self.count < FEWEST_GAPS || self.deviation().abs() < F::from_f64(2.576)
    }

    /// Weibull shape α from the variance of the logarithm, which is π²/(6α²). `None` for fewer than
    /// two gaps, or if all are alike.
    pub fn weibull(&self) -> Option<F> {
        let variance = self.log_variance()?;
        (variance > F::ZERO).then(|| (F::from_f64(EXPONENTIAL_LOG_VARIANCE) / variance).sqrt())
    }

    /// Pareto shape α from the variance of the logarithm, which is π²/6 + ψ′(α). `None` if the tail
    /// is no heavier than exponential, or so heavy that it has no mean (α ≤ 1) and no crawl
    /// schedule can be drawn from it.
    pub fn pareto(&self) -> Option<F> {
        let excess = self.log_variance()? - F::from_f64(EXPONENTIAL_LOG_VARIANCE);
        (excess > F::ZERO)
            .then(|| inverse_trigamma(excess))
            .filter(|shape| *shape > F::ONE && shape.is_finite())
    }

    fn log_variance(&self) -> Option<F> {
        (self.count >= 2).then(|| self.log_squares / F::from_u32(self.count - 1))
    }
}

/// Wilson and Hilferty: the cube root of χ²/k is all but normal.
pub(super) fn deviation_of_chi_squared<F: Real>(chi_squared: F, freedom: F) -> F {
    let variance = F::TWO / (F::from_u32(9) * freedom);
    ((chi_squared / freedom).powf(F::from_f64(1.0 / 3.0)) - (F::ONE - variance)) / variance.sqrt()
}

/// Solves ψ′(x) = y by Newton on ln x, where ψ′ is close to a straight line. Within 1e-6.
fn inverse_trigamma<F: Real>(y: F) -> F {
    // ψ′(x) ≈ 1/x + 1/(2x²): its solution is within 10 % for x ≥ ½.
    let mut x = (F::ONE + (F::ONE + F::TWO * y).sqrt()) / (F::TWO * y);
    for _ in 0..4 {
        // d ln ψ′ / d ln x ≈ −1 for large x and −2 for small: the step from the same approximation.
        let slope = -(x + F::ONE) / (x + F::HALF);
        x *= ((y / trigamma(x)).ln() / slope).exp();
    }
    x
}

/// ψ′(x): eight steps up by recurrence, then the asymptotic series. Within 1e-7 of its value.
fn trigamma<F: Real>(x: F) -> F {
    let mut sum = F::ZERO;
    let mut x = x;
    for _ in 0..8 {
        sum += F::ONE / (x * x);
        x += F::ONE;
    }
    let inverse = F::ONE / x;
    let square = inverse * inverse;
    let tail = F::from_f64(1.0 / 6.0)
        - square * (F::from_f64(1.0 / 30.0) - square * F::from_f64(1.0 / 42.0));
    sum + inverse * (F::ONE + inverse * (F::HALF + inverse * tail))
}

/// The law that explains the gaps (in days) best: Poisson unless another is so much likelier that a
/// Poisson page would look like that once in a hundred times. Gaps that are not positive numbers
/// are left out.
///
/// O(gaps), some hundred times over. `None` without gaps.
///
/// ```
/// use dunlin::learn::{Law, fit};
///
/// let clockwork: [f64; 20] = core::array::from_fn(|day| 1.0 + 0.1 * (day % 3) as f64);
/// assert!(matches!(fit(&clockwork), Some(Law::Weibull { shape, .. }) if shape > 5.0));
/// ```
pub fn fit<F: Real>(gaps: &[F]) -> Option<Law<F>> {
    let usable = || {
        gaps.iter()
            .copied()
            .filter(|gap| gap.is_finite() && *gap >= F::MIN_POSITIVE)
    };
    let mut all = Gaps::new();
    usable().for_each(|gap| all.add(gap));
    let rate = all.rate()?;
    let poisson = Law::Poisson { rate };
    if all.count < FEWEST_GAPS {
        return Some(poisson);
    }
    let n = F::from_u32(all.count);
    // Log-likelihoods in units where the mean gap is 1: ln of an exponential density sums to −n
    // there.
    let scaled = || usable().map(|gap| gap * rate);
    let log_sum = n * (all.log_mean + rate.ln());
    let (weibull, weibull_shape) = weibull_likelihood(scaled(), n, log_sum);
    let (pareto, pareto_shape) = pareto_likelihood(scaled(), n);
    let needed = -n + F::from_f64(ONE_IN_A_HUNDRED / 2.0);
    Some(
        if pareto > needed && pareto > weibull && pareto_shape > F::ONE {
            Law::Pareto {
                rate,
                shape: pareto_shape,
            }
        } else if weibull > needed {
            Law::Weibull {
                rate,
                shape: weibull_shape,
            }
        } else {
            poisson
        },
    )
}

/// The largest log-likelihood of a Weibull law, and its α: the root of `Σ t^α ln t / Σ t^α − 1/α −
/// mean ln t`, which grows with α.
fn weibull_likelihood<F: Real>(gaps: impl Iterator<Item = F> + Clone, n: F, log_sum: F) -> (F, F) {
    // t^α relative to the longest gap, so that no power overflows.
    let longest = gaps.clone().fold(F::MIN_POSITIVE, Real::max).ln();
    let sums = |shape: F| {
        gaps.clone()
            .fold((F::ZERO, F::ZERO), |(powers, logs), gap| {
                let power = (shape * (gap.ln() - longest)).exp();
                (powers + power, logs + power * gap.ln())
            })
    };
    let shape = bisect(F::from_f64(0.02), F::from_f64(200.0), |shape| {
        let (powers, logs) = sums(shape);
        logs / powers - F::ONE / shape < log_sum / n
    });
    // With c = n/Σ t^α the last term of the log-likelihood sums to n.
    let log_powers = sums(shape).0.ln() + shape * longest;
    (
        n * (shape.ln() + n.ln() - log_powers) + (shape - F::ONE) * log_sum - n,
        shape,
    )
}

/// The largest log-likelihood of a Pareto law (Lomax), and its α: for each β the best α is `n/Σ
/// ln(1 + t/β)`.
fn pareto_likelihood<F: Real>(gaps: impl Iterator<Item = F> + Clone, n: F) -> (F, F) {
    let logs = |scale: F| gaps.clone().map(|gap| (gap / scale).ln_1p()).sum::<F>();
    // The derivative of the profile likelihood in β is positive below its maximum.
    let scale = bisect(F::from_f64(1e-4), F::from_f64(1e4), |scale| {
        let shape = n / logs(scale);
        let shares = gaps.clone().map(|gap| gap / (scale + gap)).sum::<F>();
        (shape + F::ONE) * shares > n
    });
    let total = logs(scale);
    let shape = n / total;
    (
        n * (shape.ln() - scale.ln()) - (shape + F::ONE) * total,
        shape,
    )
}

/// The point between `low` and `high`, on a logarithmic scale, below which `is_below` holds.
fn bisect<F: Real>(mut low: F, mut high: F, is_below: impl Fn(F) -> bool) -> F {
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}
