//! How much each probe may fetch: one price for all, by what the probes report.

use crate::math::Real;

/// Elasticities are brought into this range: a slope measured at one point has poles, and one probe
/// with a slope of 300 keeps a thousand from agreeing.
pub const ELASTICITY: (f32, f32) = (0.05, 3.0);
/// The common price is searched between these, as powers of e around the present mean.
const SPREAD: f64 = 30.0;
/// Halvings of that: to 1e-9 of the price.
const STEPS: usize = 36;

/// What one probe asks for: at a price p it would make `budget` × (price / p)^elasticity fetches a
/// day, up to `most`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Fetches a day at present.
    pub budget: f32,
    /// What a fetch is worth to it at that budget; 0 if nobody knows.
    pub price: f32,
    /// ln[D(p e^−½) / D(p e^½)]: a secant, for the slope itself has poles.
    pub elasticity: f32,
    /// What its link and slots can make, or the cap of a probe's share.
    pub most: f32,
}

impl Demand {
    /// The demand of a probe that is not there.
    pub const NOTHING: Self = Self {
        budget: 0.0,
        price: 0.0,
        elasticity: 0.0,
        most: 0.0,
    };

    /// What it would make of a price that is e^`log`.
    fn at(&self, log: f64) -> f64 {
        let (least, most) = ELASTICITY;
        // A probe may send anything.
        let elasticity = if self.elasticity > least {
            self.elasticity.min(most)
        } else {
            least
        };
        let own = Real::ln(f64::from(self.price));
        let wish = f64::from(self.budget) * Real::exp(f64::from(elasticity) * (own - log));
        wish.min(f64::from(self.most))
    }

    fn is_known(&self) -> bool {
        self.price > 0.0 && self.price.is_finite() && self.budget > 0.0 && self.budget.is_finite()
    }
}

/// Divides `total` fetches a day among probes, so that a fetch is worth the same everywhere; writes
/// each one's share into `shares`. Probes of which no price is known get an equal share. The sum of
/// all shares is never above the total.
///
/// Work: 36 passes over the probes.
///
/// ```
/// use dunlin::fleet::{Demand, share};
/// let rich = Demand { budget: 100.0, price: 0.1, elasticity: 1.0, most: 1e9 };
/// let poor = Demand { price: 0.3, ..rich };
/// let mut shares = [0.0; 2];
/// share(200.0, &[rich, poor], &mut shares);
/// assert!((shares[0] - 50.0).abs() < 0.1 && (shares[1] - 150.0).abs() < 0.1);
/// ```
pub fn share(total: f32, demands: &[Demand], shares: &mut [f32]) {
    let count = demands.len().max(1) as f64;
    let even = f64::from(total) / count;
    let known = || demands.iter().filter(|demand| demand.is_known());
    let unknown = demands.iter().filter(|demand| !demand.is_known());
    let aside: f64 = unknown.map(|one| even.min(f64::from(one.most))).sum();
    let rest = f64::from(total) - aside;
    let logs: f64 = known().map(|one| Real::ln(f64::from(one.price))).sum();
    let mean = logs / (known().count().max(1) as f64);
    let mut low = mean - SPREAD;
    let mut high = mean + SPREAD;
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        let wanted: f64 = known().map(|one| one.at(middle)).sum();
        if wanted > rest {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (demand, share) in demands.iter().zip(shares) {
        let wish = if demand.is_known() {
            demand.at(high)
        } else {
            even.min(f64::from(demand.most))
        };
        // Rounded down, so that f32 does not add what f64 has not.
        *share = (wish * (1.0 - 1e-6)).max(0.0) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Demand = Demand {
        budget: 10.0,
        price: 1.0,
        elasticity: 1.0,
        most: 1e9,
    };

    #[test]
    fn the_sum_is_the_total_and_never_more() {
        let demands = [
            ONE,
            Demand { price: 3.0, ..ONE },
            Demand {
                elasticity: f32::NAN,
                ..ONE
            },
            Demand { price: 0.0, ..ONE },
            Demand {
                most: 4.0,
                price: 50.0,
                ..ONE
            },
        ];
        let mut shares = [0.0; 5];
        share(100.0, &demands, &mut shares);
        let sum: f32 = shares.iter().sum();
        assert!(sum <= 100.0 && sum > 99.9, "{shares:?}");
        assert!(shares[4] <= 4.0 && (shares[3] - 20.0).abs() < 0.01);
    }

    #[test]
    fn a_surplus_is_not_forced_on_anybody() {
        let capped = Demand { most: 5.0, ..ONE };
        let mut shares = [0.0; 2];
        share(100.0, &[capped, capped], &mut shares);
        assert!(shares.iter().all(|share| *share <= 5.0), "{shares:?}");
    }
}
