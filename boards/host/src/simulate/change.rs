//! When simulated pages change.

/// A small seeded generator (SplitMix64): every machine sees the same numbers, and a stream a page costs 8 bytes.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }
}

/// How a simulated page changes. Times are days from the start.
#[derive(Clone, Debug)]
pub enum Change {
    /// At this rate a day.
    Poisson(f64),
    /// At these moments, in order.
    Trace(Vec<f64>),
}

impl Change {
    /// The first change after `time`; infinity for never.
    pub fn after(&self, time: f64, random: &mut Random) -> f64 {
        match self {
            Self::Poisson(rate) if *rate > 0.0 => time + random.exponential() / rate,
            Self::Poisson(_) => f64::INFINITY,
            Self::Trace(times) => {
                times.get(times.partition_point(|change| *change <= time)).copied().unwrap_or(f64::INFINITY)
            }
        }
    }
}
