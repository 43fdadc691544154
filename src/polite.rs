//! May we fetch from this host now? One gate a host, or one for hosts that share a server.
//!
//! A gate never excludes a host and never delays another one: it only says when the next fetch may
//! start. The longest of these counts, but that a `Retry-After` replaces the back-off:
//!
//! | cause | wait | bound |
//! |---|---|---|
//! | politeness, robots Crawl-delay | the longer of the two, from the start of a fetch (or its end) | [`MAX_CRAWL_DELAY`] |
//! | `Retry-After` of a 429 or 5xx (of any answer of a host that is not in the list), if it is above 0 | what the server asks for | [`MAX_RETRY_AFTER`] |
//! | 429 or 503 without one, no name, no robots.txt; several pages that fail | doubles with each one in a row, ± 25 % at random | [`GateSettings::back_off_ceiling`] |
//! | allowed hours | until they begin | a day |
//!
//! 429 and Retry-After belong to the *host*: its other pages wait, too. A page that fails while its
//! host serves others belongs to nobody but itself: it backs off alone
//! ([`GateSettings::page_back_off`]), and the host only when [`SEVERAL`] pages in a row fail, none
//! of which had failed before. Failures are forgiven: each success halves their count, and so does
//! every [`FORGIVEN_AFTER`] without one.

pub use crate::time::Hours;
use crate::time::{Duration, Instant};

/// The longest robots Crawl-delay that is obeyed to the letter. Some files ask for weeks, by
/// mistake or to shut crawlers out; exclusion is what Disallow is for. An hour still means 24
/// fetches a day at most.
pub const MAX_CRAWL_DELAY: Duration = Duration::HOUR;
/// The longest `Retry-After` that is obeyed to the letter.
pub const MAX_RETRY_AFTER: Duration = Duration::DAY;
/// Without a failure for so long, half of them are forgiven.
pub const FORGIVEN_AFTER: Duration = Duration::from_micros((FORGIVEN_UNITS as u64) << COARSE);

/// So many pages that begin to fail one after the other, with no page served between them, are a
/// failure of their host.
pub const SEVERAL: u8 = 3;

/// Failures are dated in units of 2^29 µs, about nine minutes: exact enough to forgive by, and two
/// bytes.
const COARSE: u32 = 29;
/// Failures are forgiven after this many units, a little over an hour.
const FORGIVEN_UNITS: u16 = 8;
/// 2^15 times the first wait is beyond every ceiling.
const MOST_FAILURES: u8 = 15;

/// The gap a host gets: its politeness, or its robots Crawl-delay where that is longer.
///
/// ```
/// use dunlin::polite::{MAX_CRAWL_DELAY, gap};
/// use dunlin::time::Duration;
/// let politeness = Duration::from_secs(15);
/// assert_eq!(gap(politeness, Some(Duration::from_secs(5))), politeness);
/// assert_eq!(gap(politeness, Some(Duration::from_secs(60))), Duration::from_secs(60));
/// assert_eq!(gap(politeness, Some(Duration::from_secs(1_000_000))), MAX_CRAWL_DELAY);
/// ```
pub fn gap(politeness: Duration, crawl_delay: Option<Duration>) -> Duration {
    politeness.max(crawl_delay.unwrap_or(Duration::ZERO).min(MAX_CRAWL_DELAY))
}

/// What holds for every gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct GateSettings {
    /// How long a host is left alone after its first failure.
    pub back_off: Duration,
    /// How long a host is left alone at most, however many failures there were.
    pub back_off_ceiling: Duration,
    /// Counts the gap from the end of a fetch instead of from its start: for hosts that serve
    /// slowly.
    pub gap_from_end: bool,
}

impl GateSettings {
    /// Gaps from start to start; a minute after a failure, then two, four, … up to six hours.
    pub const DEFAULT: Self = Self {
        back_off: Duration::from_secs(60),
        back_off_ceiling: Duration::from_secs(6 * 3_600),
        gap_from_end: false,
    };

    /// How long a page is left alone that failed so many times in a row while its host served
    /// others: twice as long each time, up to the ceiling.
    ///
    /// ```
    /// use dunlin::polite::GateSettings;
    /// let settings = GateSettings::DEFAULT;
    /// assert_eq!(settings.page_back_off(1), settings.back_off);
    /// assert_eq!(settings.page_back_off(3), settings.back_off * 4);
    /// assert_eq!(settings.page_back_off(200), settings.back_off_ceiling);
    /// ```
    pub fn page_back_off(&self, times: u8) -> Duration {
        let doubled = self.back_off * (1 << times.saturating_sub(1).min(MOST_FAILURES));
        doubled.min(self.back_off_ceiling)
    }

    /// The same with another [`back_off`](Self::back_off).
    #[must_use]
    pub const fn with_back_off(mut self, back_off: Duration) -> Self {
        self.back_off = back_off;
        self
    }

    /// The same with another [`back_off_ceiling`](Self::back_off_ceiling).
    #[must_use]
    pub const fn with_back_off_ceiling(mut self, ceiling: Duration) -> Self {
        self.back_off_ceiling = ceiling;
        self
    }

    /// The same with gaps from end to start, or from start to start; see
    /// [`gap_from_end`](Self::gap_from_end).
    #[must_use]
    pub const fn with_gap_from_end(mut self, from_end: bool) -> Self {
        self.gap_from_end = from_end;
        self
    }
}

impl Default for GateSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a host made of a fetch, as far as its gate is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Answer {
    /// It served, whatever the status.
    Served,
    /// It was not asked after all, as when its robots rules forbid the page.
    NotAsked,
    /// It asked for patience, as by 429 or 5xx with `Retry-After`.
    Refused {
        /// How long, if it said so; without that, it backs off as after [`Failed`](Self::Failed).
        retry_after: Option<Duration>,
    },
    /// It could not be asked, or failed as a whole: its name, its robots.txt, or a 429 or 503
    /// without `Retry-After`.
    Failed,
    /// This page brought no usable answer (any other 5xx, time-out, nonsense, no connection).
    /// Others may.
    Broken {
        /// It did not the last time, either: this says nothing new about the host.
        again: bool,
    },
}

/// The state of one gate, besides the moment it opens: 10 bytes.
///
/// The moments go out as values: whoever owns the gates keeps them in order of opening.
///
/// ```
/// use dunlin::polite::{Answer, Gate, GateSettings};
/// use dunlin::time::{Duration, Instant};
///
/// let mut gate = Gate::new(Duration::from_secs(15));
/// let (start, end) = (Instant::ZERO, Instant::ZERO + Duration::from_secs(2));
/// let earliest = gate.earliest_after(start);
/// let opens = gate.opens(earliest, end, Answer::Served, &GateSettings::DEFAULT, 0);
/// assert_eq!(opens, start + Duration::from_secs(15));
/// let patience = Answer::Refused { retry_after: Some(Duration::from_secs(120)) };
/// let opens = gate.opens(earliest, end, patience, &GateSettings::DEFAULT, 0);
/// assert_eq!(opens, end + Duration::from_secs(120));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Gate {
    /// Milliseconds, up to 49 days; in halves, the lower one first, so that the gate packs to
    /// two-byte alignment.
    gap: [u16; 2],
    failed_at: u16,
    hours: Hours,
    /// Failures in the low four bits, above them how many pages in a row began to fail.
    counts: u8,
    phase: Phase,
}

/// What a gate is doing, besides waiting for its moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Phase {
    Ready,
    Fetching,
    /// Politeness would let a fetch start, the hour does not.
    OutsideHours,
}

impl Gate {
    /// A gate that lets a fetch start `gap` after the one before has started.
    pub const fn new(gap: Duration) -> Self {
        Self {
            gap: halves(gap),
            failed_at: 0,
            hours: Hours::ALWAYS,
            counts: 0,
            phase: Phase::Ready,
        }
    }

    /// Another gap; see [`gap`].
    pub fn set_gap(&mut self, gap: Duration) {
        self.gap = halves(gap);
    }

    /// A fetch starts: no other may until [`Self::opens`] was asked.
    pub fn begin(&mut self) {
        self.phase = Phase::Fetching;
    }

    /// Whether a fetch is under way.
    pub fn is_busy(&self) -> bool {
        self.phase == Phase::Fetching
    }

    /// Waits for nothing but its hours: when these or the clock change, it may be asked again at
    /// once.
    pub fn waits_for_hours(&self) -> bool {
        self.phase == Phase::OutsideHours
    }

    /// Notes whether it waits for its hours.
    pub fn set_waits_for_hours(&mut self, waits: bool) {
        self.phase = if waits {
            Phase::OutsideHours
        } else {
            Phase::Ready
        };
    }

    /// Restricts fetching to these hours.
    pub fn set_hours(&mut self, hours: Hours) {
        self.hours = hours;
    }

    /// When fetching is allowed.
    pub fn hours(&self) -> Hours {
        self.hours
    }

    /// The least time between two fetches.
    pub fn gap(&self) -> Duration {
        let millis = u32::from(self.gap[0]) | u32::from(self.gap[1]) << 16;
        // It fits: 32 bits times ten.
        Duration::from_micros(u64::from(millis) * 1_000)
    }

    /// Failures in a row that are not forgiven yet.
    pub fn failures(&self) -> u8 {
        self.counts & MOST_FAILURES
    }

    fn set_failures(&mut self, failures: u8) {
        self.counts = self.counts & !MOST_FAILURES | failures.min(MOST_FAILURES);
    }

    /// Remembers failures of an earlier run.
    pub fn restore_failures(&mut self, failures: u8, now: Instant) {
        self.set_failures(failures);
        self.failed_at = coarse(now);
    }

    /// The earliest that a fetch may follow one that starts now.
    pub fn earliest_after(&self, start: Instant) -> Instant {
        start + self.gap()
    }

    /// When the next fetch may start, after one that ends at `end` with this answer; `earliest` is
    /// what [`Self::earliest_after`] said of its start. `random` spreads the returns of hosts that
    /// failed together.
    #[must_use = "whoever owns the gate keeps it closed until then"]
    pub fn opens(
        &mut self,
        earliest: Instant,
        end: Instant,
        answer: Answer,
        settings: &GateSettings,
        random: u32,
    ) -> Instant {
        self.phase = Phase::Ready;
        let polite = earliest.max(if settings.gap_from_end {
            end + self.gap()
        } else {
            end
        });
        match answer {
            // No request, no gap: the one before has passed.
            Answer::NotAsked => end,
            Answer::Served => {
                self.forgive(end);
                // Halved, and no page in a row any more.
                self.counts = self.failures() / 2;
                polite
            }
            Answer::Broken { again } if !self.are_several(again) => polite,
            Answer::Refused {
                retry_after: Some(asked),
            } => {
                self.fail(end);
                polite.max(end + asked.min(MAX_RETRY_AFTER))
            }
            Answer::Refused { retry_after: None } | Answer::Failed | Answer::Broken { .. } => {
                self.fail(end);
                polite.max(end + self.back_off(settings, random))
            }
        }
    }

    /// Doubles with each failure in a row, to the ceiling; a quarter more or less at random.
    fn back_off(&self, settings: &GateSettings, random: u32) -> Duration {
        let wait = settings.page_back_off(self.failures());
        let spread = wait.as_micros() / 2;
        wait - wait / 4
            + Duration::from_micros((spread >> 16).saturating_mul(u64::from(random >> 16)))
    }

    #[inline(never)] // Once for all callers.
    fn fail(&mut self, now: Instant) {
        self.forgive(now);
        self.set_failures(self.failures() + 1);
        self.failed_at = coarse(now);
    }

    /// One more page has failed, or the same one again: are there several by now?
    fn are_several(&mut self, again: bool) -> bool {
        const ONE: u8 = MOST_FAILURES + 1;
        if !again && self.counts < SEVERAL * ONE {
            self.counts += ONE;
        }
        self.counts >= SEVERAL * ONE
    }

    /// Halves the failures for every [`FORGIVEN_AFTER`] since the last.
    fn forgive(&mut self, now: Instant) {
        let halvings = coarse(now).wrapping_sub(self.failed_at) / FORGIVEN_UNITS;
        let left = self.failures().checked_shr(halvings.into()).unwrap_or(0);
        self.set_failures(left);
        self.failed_at = self.failed_at.wrapping_add(halvings * FORGIVEN_UNITS);
    }
}

const fn halves(gap: Duration) -> [u16; 2] {
    // Rounded up: a gap must not come out shorter than it was asked for.
    let millis = gap.as_micros().div_ceil(1_000);
    let millis = if millis > u32::MAX as u64 {
        u32::MAX
    } else {
        millis as u32
    };
    [millis as u16, (millis >> 16) as u16]
}

fn coarse(instant: Instant) -> u16 {
    (instant.as_micros() >> COARSE) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Answer = Answer::Broken { again: false };

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    /// How long a gate stays closed after an answer that came at once.
    fn wait(gate: &mut Gate, answer: Answer, now: Instant) -> Duration {
        let earliest = gate.earliest_after(now);
        gate.opens(earliest, now, answer, &GateSettings::DEFAULT, 0) - now
    }

    #[test]
    fn three_pages_that_begin_to_fail_are_a_failure_of_their_host() {
        let gap = Duration::from_secs(15);
        let mut gate = Gate::new(gap);
        assert_eq!(wait(&mut gate, NEW, at(0)), gap, "one page");
        assert_eq!(wait(&mut gate, NEW, at(20)), gap, "two pages");
        let again = Answer::Broken { again: true };
        assert_eq!(wait(&mut gate, again, at(40)), gap, "the same one again");
        assert!(wait(&mut gate, NEW, at(60)) > gap, "three pages");
        assert!(wait(&mut gate, again, at(200)) > gap, "and still so");
        assert_eq!(wait(&mut gate, Answer::Served, at(600)), gap);
        assert_eq!(wait(&mut gate, NEW, at(620)), gap, "they begin anew");
    }

    #[test]
    fn failures_are_forgiven_by_time_and_by_success() {
        let failed = |times: u64| {
            let mut gate = Gate::new(Duration::ZERO);
            (0..times).for_each(|time| _ = wait(&mut gate, Answer::Failed, at(time)));
            assert_eq!(u64::from(gate.failures()), times);
            gate
        };
        let mut gate = failed(8);
        wait(&mut gate, Answer::Served, at(10));
        assert_eq!(gate.failures(), 4, "a success halves them");
        let hours = |count: u64| at(10) + FORGIVEN_AFTER * count;
        let mut gate = failed(8);
        wait(&mut gate, Answer::Failed, hours(1));
        assert_eq!(gate.failures(), 5, "half of eight, and one more");
        let mut gate = failed(8);
        wait(&mut gate, Answer::Failed, hours(3));
        assert_eq!(gate.failures(), 2, "an eighth of eight, and one more");
        let mut gate = failed(8);
        wait(&mut gate, Answer::Failed, hours(100));
        assert_eq!(gate.failures(), 1, "nothing is left");
    }
}
