//! When simulated pages change.

use dunlin::math::split_mix;

/// A small seeded generator (SplitMix64): every machine sees the same numbers, and a stream a page
/// costs 8 bytes.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    /// A stream of its own for page `index`.
    pub fn stream(seed: u64, index: usize) -> Self {
        // Hashed once more, so that streams of neighbouring seeds and pages start nowhere near each
        // other.
        Self(Self(seed ^ (index as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)).next_u64())
    }

    /// Uniform in (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Exponential with mean 1. The crate's own logarithm: the standard library's differs in the
    /// last bit from machine to machine.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// Gamma-distributed with this shape, at least 1, and scale 1 (Marsaglia & Tsang 2000).
    fn gamma(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        loop {
            // A normal variate by Box and Muller.
            let x =
                (2.0 * self.exponential()).sqrt() * libm::cos(std::f64::consts::TAU * self.unit());
            let v = (1.0 + x / (9.0 * d).sqrt()).powi(3);
            if v > 0.0 && libm::log(self.unit()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                return d * v;
            }
        }
    }
}

/// How a simulated page changes. Times are days from the start.
#[derive(Clone, Debug)]
pub enum Change {
    /// It changes at this rate a day.
    Poisson(f64),
    /// It changes after gaps of a Weibull law; see [`Change::weibull`].
    Weibull {
        /// Days by which gaps are measured.
        scale: f64,
        /// The law's shape, α.
        shape: f64,
    },
    /// It changes after gaps of a Pareto law; see [`Change::pareto`].
    Pareto {
        /// The law's scale, β, in days.
        scale: f64,
        /// The law's shape, α > 1.
        shape: f64,
    },
    /// It changes at known times of every period, each with a probability.
    Quasi(Box<Quasi>),
    /// It changes at these moments, in order.
    Trace(Vec<f64>),
}

/// Known times of every period, in order.
#[derive(Clone, Debug)]
pub struct Quasi {
    /// The length of the period, in days.
    pub period: f64,
    /// Days from the start of the period, below it, and the chance of a real change then.
    pub updates: Vec<(f64, f64)>,
}

impl Change {
    /// Gaps of a Weibull law, with so many changes a day on average.
    pub fn weibull(rate: f64, shape: f64) -> Self {
        Self::Weibull {
            scale: 1.0 / (rate * libm::tgamma(1.0 + 1.0 / shape)),
            shape,
        }
    }

    /// Gaps of a Pareto law with `shape > 1`, with so many changes a day on average.
    pub fn pareto(rate: f64, shape: f64) -> Self {
        Self::Pareto {
            scale: (shape - 1.0) / rate,
            shape,
        }
    }

    /// The first change of a page that has been changing since long before time 0.
    pub fn first(&self, random: &mut Random) -> f64 {
        match self {
            // The gap that covers time 0 is a long one (its length counts), and 0 lies anywhere in
            // it.
            Self::Weibull { scale, shape } => {
                let gap = scale * libm::pow(random.gamma(1.0 + 1.0 / shape), 1.0 / shape);
                finite(gap * random.unit())
            }
            Self::Pareto { scale, shape } => finite(lomax(*scale, shape - 1.0, random)),
            Self::Quasi(quasi) => quasi.after(0.0, true, random),
            Self::Poisson(_) | Self::Trace(_) => self.after(0.0, random),
        }
    }

    /// The first change after the one at `time`; infinity for never.
    pub fn after(&self, time: f64, random: &mut Random) -> f64 {
        match self {
            Self::Poisson(rate) if *rate > 0.0 => time + random.exponential() / rate,
            Self::Poisson(_) => f64::INFINITY,
            Self::Weibull { scale, shape } => {
                finite(time + scale * libm::pow(random.exponential(), 1.0 / shape))
            }
            Self::Pareto { scale, shape } => finite(time + lomax(*scale, *shape, random)),
            Self::Quasi(quasi) => quasi.after(time, false, random),
            Self::Trace(times) => times
                .get(times.partition_point(|change| *change <= time))
                .copied()
                .unwrap_or(f64::INFINITY),
        }
    }
}

/// Never, for a page whose rate is 0.
fn finite(time: f64) -> f64 {
    if time.is_finite() {
        time
    } else {
        f64::INFINITY
    }
}

/// `β (U^{−1/α} − 1)`
fn lomax(scale: f64, shape: f64, random: &mut Random) -> f64 {
    scale * (libm::pow(random.unit(), -1.0 / shape) - 1.0)
}

impl Quasi {
    /// The first real change after `time`, or at it too.
    fn after(&self, time: f64, at_it_too: bool, random: &mut Random) -> f64 {
        let start = (time / self.period).floor() * self.period;
        for &(offset, probability) in &self.updates {
            let later = start + offset > time || (at_it_too && start + offset == time);
            if later && random.unit() <= probability {
                return start + offset;
            }
        }
        // None in the rest of this period: how many periods without any follow, and which update is
        // then the first?
        let none = self
            .updates
            .iter()
            .fold(1.0, |none, (_, probability)| none * (1.0 - probability));
        if none >= 1.0 {
            return f64::INFINITY;
        }
        let empty = if none > 0.0 {
            (libm::log(random.unit()) / libm::log(none)).floor()
        } else {
            0.0
        };
        let start = start + (1.0 + empty) * self.period;
        let mut left = random.unit() * (1.0 - none);
        let mut reached = 1.0;
        for &(offset, probability) in &self.updates {
            left -= reached * probability;
            if left <= 0.0 {
                return start + offset;
            }
            reached *= 1.0 - probability;
        }
        start + self.updates.last().map_or(0.0, |(offset, _)| *offset)
    }
}
