//! Why did it start again? The last panic and the reset's cause, kept where a reset leaves them,
//! and what to do about a device that resets again and again.
//!
//! A board puts a [`BlackBox`] into RAM that is not initialised at reset (or into flash), lets
//! [`BlackBox::boot`] look at it first thing, has its panic handler write into it, and calls
//! [`BlackBox::alive`] whenever it feeds its watchdog.
//!
//! ```
//! use dunlin::boot::{BlackBox, Reset};
//! use dunlin::time::Duration;
//!
//! let mut black_box = BlackBox::EMPTY;
//! black_box.boot(Reset::PowerOn);
//! for _ in 0..3 {
//!     black_box.alive(Duration::from_secs(2));
//!     black_box.panic(&"index out of range");
//!     let boot = black_box.boot(Reset::Software);
//!     assert_eq!(boot.message.as_str(), "index out of range");
//! }
//! assert!(black_box.boot(Reset::Watchdog).is_loop(), "the fourth start in a few seconds");
//! ```

use core::fmt::{self, Write as _};

use crate::math::crc32;
use crate::time::Duration;

/// Bytes of a black box.
pub const SIZE: usize = 128;
/// A device that has run for so long is not in a loop.
pub const STABLE: Duration = Duration::from_secs(60);
/// After so many resets, each of them sooner than [`STABLE`], what was restored is suspected.
pub const FAST_RESETS: u8 = 3;

/// The longest message that is kept.
const MESSAGE: usize = SIZE - BODY;
/// Checksum, uptime, resets, length of the message.
const BODY: usize = 10;

/// What made the device start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Reset {
    /// The device was switched on, or its power came back.
    PowerOn,
    /// Somebody pressed a button or pulled a pin.
    Pin,
    /// The watchdog was not fed.
    Watchdog,
    /// The firmware itself: a panic, a fault, an update.
    Software,
    /// The supply voltage was too low for a moment.
    BrownOut,
    /// The chip does not say.
    Unknown,
}

/// How the device started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// Why the device started.
    pub reset: Reset,
    /// How long it had run, if that is known.
    pub uptime: Option<Duration>,
    /// What it panicked with, or nothing.
    pub message: heapless::String<MESSAGE>,
    /// Resets in a row, this one included, that came sooner than [`STABLE`].
    pub fast_resets: u8,
}

impl Boot {
    /// Power has come, and nothing happened before.
    pub const FIRST: Self = Self {
        reset: Reset::PowerOn,
        uptime: None,
        message: heapless::String::new(),
        fast_resets: 0,
    };

    /// Is it in a loop? Then it starts with nothing restored: what it knew may be what makes it
    /// fall.
    pub fn is_loop(&self) -> bool {
        self.fast_resets >= FAST_RESETS
    }
}

/// What survives a reset. Any bytes may be read as one: those that were not written by this type
/// count as none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(4))]
pub struct BlackBox([u8; SIZE]);

struct Content {
    uptime_s: u32,
    fast_resets: u8,
    message: heapless::String<MESSAGE>,
}

impl BlackBox {
    /// A black box in which nothing is written.
    pub const EMPTY: Self = Self([0; SIZE]);

    /// Takes over the bytes of a black box that was kept in flash or in a file.
    pub const fn from_bytes(bytes: [u8; SIZE]) -> Self {
        Self(bytes)
    }

    /// The bytes of the black box, to be kept in flash or in a file.
    pub const fn as_bytes(&self) -> &[u8; SIZE] {
        &self.0
    }

    /// Was it written by this type, and not by chance?
    pub fn is_written(&self) -> bool {
        self.read().is_some()
    }

    /// What came before, and a fresh start: call once, first thing.
    pub fn boot(&mut self, reset: Reset) -> Boot {
        let before = self.read();
        let Some(Content {
            uptime_s,
            fast_resets,
            message,
        }) = before
        else {
            self.write(0, 0, "");
            return Boot {
                reset,
                ..Boot::FIRST
            };
        };
        let uptime = Duration::from_secs(uptime_s.into());
        // Who switches a device off and on means no harm.
        let fast = uptime < STABLE && !matches!(reset, Reset::PowerOn | Reset::Pin);
        let fast_resets = if fast {
            fast_resets.saturating_add(1)
        } else {
            0
        };
        self.write(0, fast_resets, "");
        Boot {
            reset,
            uptime: Some(uptime),
            message,
            fast_resets,
        }
    }

    /// The device has run for so long and makes progress.
    pub fn alive(&mut self, uptime: Duration) {
        if let Some(Content {
            fast_resets,
            message,
            ..
        }) = self.read()
        {
            self.write(seconds(uptime), fast_resets, &message);
        }
    }

    /// Keeps what a panic says, as much of it as there is room for.
    pub fn panic(&mut self, message: &dyn fmt::Display) {
        let mut text = Cut(heapless::String::new());
        // Never fails: what is too long is cut off.
        let _ = write!(text, "{message}");
        let (uptime, resets) = self
            .read()
            .map_or((0, 0), |before| (before.uptime_s, before.fast_resets));
        self.write(uptime, resets, &text.0);
    }

    // Not once for every caller: it is a checksum and two copies.
    #[inline(never)]
    fn read(&self) -> Option<Content> {
        let (body, text) = self.0.split_at_checked(BODY)?;
        let [c0, c1, c2, c3, u0, u1, u2, u3, fast_resets, length] = *body.first_chunk()?;
        let expected = u32::from_le_bytes([c0, c1, c2, c3]);
        // All zeros have a checksum, too: not this one.
        if crc32(&[SEAL, self.0.get(4..)?]) != expected {
            return None;
        }
        let text = core::str::from_utf8(text.get(..usize::from(length))?).ok()?;
        let message = heapless::String::try_from(text).ok()?;
        Some(Content {
            uptime_s: u32::from_le_bytes([u0, u1, u2, u3]),
            fast_resets,
            message,
        })
    }

    #[inline(never)]
    fn write(&mut self, uptime_s: u32, fast_resets: u8, message: &str) {
        let mut bytes = [0; SIZE];
        let [u0, u1, u2, u3] = uptime_s.to_le_bytes();
        let head = [0, 0, 0, 0, u0, u1, u2, u3, fast_resets, message.len() as u8];
        bytes
            .iter_mut()
            .zip(head.iter().chain(message.as_bytes()))
            .for_each(|(to, from)| *to = *from);
        let sum = crc32(&[SEAL, bytes.get(4..).unwrap_or_default()]);
        bytes
            .iter_mut()
            .zip(sum.to_le_bytes())
            .for_each(|(to, from)| *to = from);
        self.0 = bytes;
    }
}

/// Goes before what the checksum covers.
const SEAL: &[u8] = b"dunlin black box 1";

fn seconds(duration: Duration) -> u32 {
    duration.as_secs().min(u32::MAX.into()) as u32
}

/// Text that is cut off where there is no more room.
struct Cut(heapless::String<MESSAGE>);

impl fmt::Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            if self.0.push(character).is_err() {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn garbage_is_nothing() {
        for byte in [0, 1, 0x55, 0xff] {
            let mut garbage = BlackBox([byte; SIZE]);
            assert_eq!(
                garbage.boot(Reset::Watchdog),
                Boot {
                    reset: Reset::Watchdog,
                    ..Boot::FIRST
                }
            );
        }
    }

    #[test]
    fn a_long_run_ends_the_loop() {
        let mut black_box = BlackBox::EMPTY;
        black_box.boot(Reset::PowerOn);
        for count in 1..=4 {
            let boot = black_box.boot(Reset::Watchdog);
            assert_eq!((boot.fast_resets, boot.is_loop()), (count, count >= 3));
        }
        black_box.alive(STABLE);
        assert_eq!(black_box.boot(Reset::Watchdog).fast_resets, 0);
    }

    #[test]
    fn power_cuts_are_no_loop() {
        let mut black_box = BlackBox::EMPTY;
        for _ in 0..10 {
            black_box.alive(SECOND);
            assert!(!black_box.boot(Reset::PowerOn).is_loop());
        }
    }

    #[test]
    fn a_message_is_told_once_and_cut_where_it_is_too_long() {
        let mut black_box = BlackBox::EMPTY;
        black_box.boot(Reset::PowerOn);
        black_box.alive(SECOND * 5);
        black_box.panic(&format_args!("{:ä<100}", ""));
        let boot = black_box.boot(Reset::Software);
        assert_eq!(boot.message.chars().count(), MESSAGE / 2);
        assert_eq!(boot.uptime, Some(SECOND * 5));
        assert!(black_box.boot(Reset::Software).message.is_empty());
    }
}
