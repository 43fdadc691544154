//! Which class is it: daily, weekly, monthly? Bayesian inference over any number of rates (Cho
//! §6.6).

use core::fmt;

use super::Visit;
use crate::math::Real;

/// A class is never ruled out beyond e^{−10,000}: a page that changes its habits can come back to
/// it.
const LEAST_LOG_WEIGHT: f64 = -1e4;

/// Why classes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ClassesError {
    /// There are not as many weights as rates, or none at all.
    Length {
        /// How many rates were given.
        rates: usize,
        /// How many weights were given.
        weights: usize,
    },
    /// A rate is not a positive number.
    Rate {
        /// The class, by its index.
        class: usize,
    },
}

impl fmt::Display for ClassesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { rates, weights } => {
                write!(
                    f,
                    "found {rates} rates and {weights} weights, expected one weight for each of \
                     one rate or more"
                )
            }
            Self::Rate { class } => {
                write!(
                    f,
                    "the rate of class {class} is not a positive number of changes per day"
                )
            }
        }
    }
}

impl core::error::Error for ClassesError {}

/// How likely a page belongs to each of several classes of known change rate.
///
/// Weights are kept as logarithms in memory the caller brings, one number a class, so that a
/// thousand visits cannot underflow them. The class definitions are shared by all pages.
///
/// ```
/// use dunlin::learn::{Classes, Visit};
/// use dunlin::time::Duration;
///
/// // Cho §6.6: weekly or monthly? A change after five days, then another one.
/// let rates = [1.0 / 7.0, 1.0 / 30.0];
/// let mut weights = [0.0; 2];
/// let mut page = Classes::new(&rates, &mut weights)?;
/// let change = Visit::new(Duration::DAY * 5, true);
/// page.update(&change);
/// assert!((page.probability(0) - 0.77_f64).abs() < 5e-3);
/// page.update(&change);
/// assert!((page.probability(0) - 0.92).abs() < 5e-3);
/// assert_eq!(page.likeliest(), 0);
/// # Ok::<(), dunlin::learn::ClassesError>(())
/// ```
#[derive(Debug)]
pub struct Classes<'a, F> {
    rates: &'a [F],
    log_weights: &'a mut [F],
}

impl<'a, F: Real> Classes<'a, F> {
    /// Classes by their rates per day, with the logarithm of what each weighs: all 0 for a page
    /// nobody has visited, or what [`Self::update`] left there. O(classes).
    pub fn new(rates: &'a [F], log_weights: &'a mut [F]) -> Result<Self, ClassesError> {
        if rates.is_empty() || rates.len() != log_weights.len() {
            return Err(ClassesError::Length {
                rates: rates.len(),
                weights: log_weights.len(),
            });
        }
        match rates
            .iter()
            .position(|rate| !rate.is_finite() || *rate <= F::ZERO)
        {
            Some(class) => Err(ClassesError::Rate { class }),
            None => Ok(Self { rates, log_weights }),
        }
    }

    /// Weighs the classes by how likely each makes what the visit found. O(classes).
    pub fn update(&mut self, visit: &Visit) {
        let days: F = visit.interval.as_days();
        if visit.interval.is_zero() {
            return;
        }
        let dated = visit
            .modified_ago
            .filter(|ago| *ago < visit.interval)
            .map(|ago| ago.as_days::<F>());
        for (weight, rate) in self.log_weights.iter_mut().zip(self.rates) {
            *weight += match (visit.changed, dated) {
                (false, _) => -*rate * days,
                (true, Some(ago)) => rate.ln() - *rate * ago,
                (true, None) => (-(-*rate * days).exp_m1()).max(F::MIN_POSITIVE).ln(),
            };
        }
        let heaviest = self.log_weights.iter().copied().fold(-F::MAX, Real::max);
        let least = F::from_f64(LEAST_LOG_WEIGHT);
        self.log_weights
            .iter_mut()
            .for_each(|weight| *weight = (*weight - heaviest).max(least));
    }

    /// How likely the page belongs to a class; 0 for a class that does not exist. O(classes).
    pub fn probability(&self, class: usize) -> F {
        let Some(weight) = self.log_weights.get(class) else {
            return F::ZERO;
        };
        weight.exp() / self.log_weights.iter().map(|weight| weight.exp()).sum()
    }

    /// The likeliest class, the first of several. O(classes).
    pub fn likeliest(&self) -> usize {
        let weights = self.log_weights.iter().enumerate();
        weights
            .fold((0, -F::INFINITY), |best, (class, weight)| {
                if *weight > best.1 {
                    (class, *weight)
                } else {
                    best
                }
            })
            .0
    }

    /// The rate per day, averaged over the classes. O(classes).
    pub fn rate(&self) -> F {
        let weights = || self.log_weights.iter().map(|weight| weight.exp());
        weights()
            .zip(self.rates)
            .map(|(weight, rate)| weight * *rate)
            .sum::<F>()
            / weights().sum()
    }
}
