//! Sums that do not lose small terms.

use super::Real;

/// A running sum that carries what rounding took away (Neumaier's variant of Kahan's).
///
/// Weights spread over 12 decades, summed plainly in `f32` over 100,000 pages, lose every light
/// page. The error here is about one rounding of the result, whatever the number of terms.
///
/// ```
/// use dunlin::math::Sum;
/// let mut sum = Sum::default();
/// sum.add(1e8_f32);
/// for _ in 0..1000 {
///     sum.add(1.0);
/// }
/// assert_eq!(sum.total(), 100_001_000.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum<F> {
    sum: F,
    lost: F,
}

impl<F: Real> Sum<F> {
    /// A sum to which nothing was added yet.
    pub const ZERO: Self = Self {
        sum: F::ZERO,
        lost: F::ZERO,
    };

    /// Adds one term.
    pub fn add(&mut self, term: F) {
        let next = self.sum + term;
        let (large, small) = if self.sum.abs() >= term.abs() {
            (self.sum, term)
        } else {
            (term, self.sum)
        };
        self.lost += (large - next) + small;
        self.sum = next;
    }

    /// The sum so far.
    pub fn total(self) -> F {
        // Infinite terms leave NaN in the correction: the plain sum is then the right answer.
        if self.sum.is_finite() {
            self.sum + self.lost
        } else {
            self.sum
        }
    }
}
