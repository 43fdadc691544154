//! How much a sender may say, and how far it is believed.

use crate::math::{greater, lesser};
use crate::time::Instant;

/// Pages that a sender may push at once.
pub const BURST: f32 = 60.0;
/// Pages that a sender may push a second after that.
pub const PER_SECOND: f32 = 1.0;
/// What a sender is believed to have said before it has said anything: two things, both true.
const FIRST: f32 = 2.0;
/// A sender of whose pushes less than this share was true …
const LEAST_TRUE: f32 = 0.2;
/// … is heard once in so many times, so that it can mend its ways.
const HEARD_ONCE_IN: u32 = 8;
/// Pushes that are remembered.
const MEMORY: f32 = 64.0;

/// What becomes of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// The push is heeded.
    Heard,
    /// Its sender was wrong too often.
    Doubted,
    /// Its sender pushes too much.
    TooMany,
}

/// One who pushes.
///
/// ```
/// use dunlin::push::{Reception, Sender};
/// use dunlin::time::{Duration, Instant};
///
/// let mut liar = Sender::new();
/// let mut now = Instant::ZERO;
/// for _ in 0..20 {
///     if liar.push(now) == Reception::Heard {
///         liar.visited(false);
///     }
///     now += Duration::from_secs(60);
/// }
/// assert!(liar.precision() < 0.2);
/// assert_eq!(liar.push(now), Reception::Doubted);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// What is left of what it may push, at that moment.
    room: f32,
    at: Instant,
    sent: f32,
    right: f32,
    doubted: u32,
}

impl Default for Sender {
    fn default() -> Self {
        Self::new()
    }
}

impl Sender {
    /// Has said nothing yet.
    pub const fn new() -> Self {
        Self {
            room: BURST,
            at: Instant::ZERO,
            sent: FIRST,
            right: FIRST,
            doubted: 0,
        }
    }

    /// It says that a page has changed.
    pub fn push(&mut self, now: Instant) -> Reception {
        let earned = now.since(self.at).as_millis() as f32 / 1_000.0 * PER_SECOND;
        self.room = lesser(self.room + earned, BURST);
        self.at = now;
        if self.room < 1.0 {
            return Reception::TooMany;
        }
        self.room -= 1.0;
        if self.right < LEAST_TRUE * self.sent {
            self.doubted = self.doubted.wrapping_add(1);
            if !self.doubted.is_multiple_of(HEARD_ONCE_IN) {
                return Reception::Doubted;
            }
        }
        Reception::Heard
    }

    /// A page that it pushed was visited, and has changed or not.
    pub fn visited(&mut self, changed: bool) {
        let kept = MEMORY / greater(self.sent, MEMORY);
        self.sent = self.sent * kept + 1.0;
        self.right = self.right * kept + f32::from(u8::from(changed));
    }

    /// The share of its pushes that were true.
    pub fn precision(&self) -> f32 {
        self.right / self.sent
    }
}
