//! What a scheduler is told once, and what it is told of a page when it is added.

use crate::learn;
use crate::model::Objective;
use crate::polite::GateSettings;

/// How due times follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Engine {
    /// A page is due one gap after its last fetch was made.
    Index,
    /// A page is due one gap after its last fetch should have been made.
    #[default]
    Carousel,
}

/// What a scheduler is told once.
///
/// ```
/// use dunlin::scheduler::{Engine, Settings};
/// let settings = Settings::DEFAULT.with_engine(Engine::Index).with_burst(1);
/// assert_eq!(settings.seed, Settings::default().seed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Settings {
    /// How due times follow each other.
    pub engine: Engine,
    /// What is to be kept small: the share of time that copies are stale, or how long they have
    /// been so. Any other objective is taken for freshness.
    pub objective: Objective,
    /// Fetches that may start at once when the budget has not been used up: in any window of length
    /// W at most `W × budget + burst` requests are made, and one more for each page that was
    /// [`Outcome::Denied`](super::Outcome::Denied) in it, and two days' budget more where pages
    /// change by the clock: those are fetched just after they have changed, all at once if need be,
    /// and others wait until the budget has caught up. At least 1; as many as there are sockets
    /// is a good number.
    pub burst: u16,
    /// What holds for every gate.
    pub gate: GateSettings,
    /// How evidence about change rates is weighed: it fades with a half-life of 30 visits and,
    /// besides, of 180 days. The days are a limit that is felt where pages are visited less often
    /// than every few days, and they are there because sites change their habits by the calendar,
    /// however seldom anybody looks: on real changes, at a visit in 50 days, freshness is 0.857
    /// with them, 0.850 by visits alone and 0.856 at best with a half-life in mean gaps.
    /// [`with_half_life`](learn::LearningSettings::with_half_life) sets another, or none.
    pub learn: learn::LearningSettings,
    /// The largest share of the budget that the pages of one gate may take in the long run, above
    /// 0; 1, the default, for no such cap. An optimal plan may rightly give a host more than the
    /// weight of its pages; whoever does not trust a host sets this. It works by a higher price for
    /// that host, and needs a budget.
    pub host_share: f32,
    /// Fetch from hosts with allowed hours while the time of day is not known.
    pub fetch_without_clock: bool,
    /// For the little that is random: the spread of back-offs, and after which fetches what hosts
    /// have shown is looked at anew.
    pub seed: u32,
}

impl Settings {
    /// The carousel, four fetches at once.
    pub const DEFAULT: Self = Self {
        engine: Engine::Carousel,
        objective: Objective::Freshness,
        burst: 4,
        gate: GateSettings::DEFAULT,
        learn: learn::LearningSettings::DEFAULT.with_memory(30.0),
        host_share: 1.0,
        fetch_without_clock: false,
        seed: 1,
    };

    /// The same with another [`engine`](Self::engine).
    #[must_use]
    pub const fn with_engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// The same with another [`objective`](Self::objective).
    #[must_use]
    pub const fn with_objective(mut self, objective: Objective) -> Self {
        self.objective = objective;
        self
    }

    /// The same with another [`burst`](Self::burst).
    #[must_use]
    pub const fn with_burst(mut self, burst: u16) -> Self {
        self.burst = burst;
        self
    }

    /// The same with other settings of every [`gate`](Self::gate).
    #[must_use]
    pub const fn with_gate(mut self, gate: GateSettings) -> Self {
        self.gate = gate;
        self
    }

    /// The same with evidence weighed in another way; see [`learn`](Self::learn).
    #[must_use]
    pub const fn with_learn(mut self, learn: learn::LearningSettings) -> Self {
        self.learn = learn;
        self
    }

    /// The same with at most this share of the budget for one host; see
    /// [`host_share`](Self::host_share).
    #[must_use]
    pub const fn with_host_share(mut self, share: f32) -> Self {
        self.host_share = share;
        self
    }

    /// The same with or without fetches while the time of day is not known; see
    /// [`fetch_without_clock`](Self::fetch_without_clock).
    #[must_use]
    pub const fn with_fetch_without_clock(mut self, fetch: bool) -> Self {
        self.fetch_without_clock = fetch;
        self
    }

    /// The same with another [`seed`](Self::seed).
    #[must_use]
    pub const fn with_seed(mut self, seed: u32) -> Self {
        self.seed = seed;
        self
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What is known of a page when it is added.
///
/// ```
/// use dunlin::scheduler::PageSettings;
/// let news = PageSettings::DEFAULT.with_weight(10.0).with_rate(24.0);
/// assert_eq!(news.rate, Some(24.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct PageSettings {
    /// Importance, above 0. What is beyond 10⁻⁹ to 10⁹ is brought there.
    pub weight: f32,
    /// Changes a day; `None` to start from what its host's pages have shown.
    pub rate: Option<f32>,
    /// How firmly the rate is believed: as if so many changes had been seen. From
    /// [`Self::CERTAIN`] on it counts as known.
    pub confidence: f32,
    /// Are there limits or a clock for it among the scheduler's
    /// [`Constraints`](crate::constraints::Constraints), by the index that the page gets?
    pub has_constraints: bool,
}

impl PageSettings {
    /// From this confidence on a rate counts as known, and a page that changes too fast to be kept
    /// fresh may be given up.
    pub const CERTAIN: f32 = 500.0;

    /// A page of weight 1 of which nothing is known.
    pub const DEFAULT: Self = Self {
        weight: 1.0,
        rate: None,
        confidence: 4.0,
        has_constraints: false,
    };

    /// The same with another [`weight`](Self::weight).
    #[must_use]
    pub const fn with_weight(mut self, weight: f32) -> Self {
        self.weight = weight;
        self
    }

    /// The same with a change rate to start from, or without; see [`rate`](Self::rate).
    #[must_use]
    pub fn with_rate(mut self, rate: impl Into<Option<f32>>) -> Self {
        self.rate = rate.into();
        self
    }

    /// The same with another [`confidence`](Self::confidence) in the rate.
    #[must_use]
    pub const fn with_confidence(mut self, confidence: f32) -> Self {
        self.confidence = confidence;
        self
    }

    /// The same with constraints, or without; see [`has_constraints`](Self::has_constraints).
    #[must_use]
    pub const fn with_constraints(mut self, has_constraints: bool) -> Self {
        self.has_constraints = has_constraints;
        self
    }
}

impl Default for PageSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}
