//! Pages that change by a known law, and visits to them: the ground truth of the learning tests.

pub mod providers;
pub mod scheduled;

use dunlin::learn::Visit;
use dunlin::math::Real;
use dunlin::time::Duration;
use dunlin_suite::bench::Random;

/// Uniform in (0, 1], so that its logarithm is finite.
pub fn unit(random: &mut Random) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// Exponentially distributed with mean 1.
pub fn exponential(random: &mut Random) -> f64 {
    // The crate's own logarithm: the standard library's differs in the last bit from machine to
    // machine.
    -Real::ln(unit(random))
}

/// How far apart the visits of a history are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// All intervals are the same.
    Even,
    /// Intervals are exponentially distributed.
    Random,
}

impl Spacing {
    /// Days to the next visit when they are `mean` apart on average.
    pub fn interval(self, mean: f64, random: &mut Random) -> f64 {
        match self {
            Self::Even => mean,
            Self::Random => mean * exponential(random),
        }
    }
}

/// A page that changes as a Poisson process, and what a visitor sees of it.
#[derive(Clone, Debug)]
pub struct PoissonPage {
    /// How often it changes in a day.
    pub rate: f64,
    /// Where its changes come from.
    pub random: Random,
}

impl PoissonPage {
    /// Visits the page again after `days`: what was found, with the date of the last change if
    /// there was one.
    pub fn visit(&mut self, days: f64) -> Visit {
        // Looking back from the visit, the time to the last change is exponential too.
        let ago = exponential(&mut self.random) / self.rate;
        let visit = Visit::new(Duration::from_days(days), ago < days);
        if visit.changed {
            visit.modified(Duration::from_days(ago))
        } else {
            visit
        }
    }
}

/// Gamma-distributed with this shape and scale 1 (Marsaglia & Tsang 2000).
pub fn gamma(shape: f64, random: &mut Random) -> f64 {
    if shape < 1.0 {
        return gamma(shape + 1.0, random) * Real::powf(unit(random), 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    loop {
        // A normal variate by Box and Muller.
        let x = (2.0 * exponential(random)).sqrt() * (std::f64::consts::TAU * unit(random)).cos();
        let v = 1.0 + x / (9.0 * d).sqrt();
        let v = v * v * v;
        if v > 0.0 && Real::ln(unit(random)) < 0.5 * x * x + d - d * v + d * Real::ln(v) {
            return d * v;
        }
    }
}
