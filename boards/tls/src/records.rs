//! The buffer that records pass through: as long as the longest record, and shared.
//!
//! A connection takes it when bytes have come, and gives it back when none are left in it. So a
//! server that says nothing holds nothing, and one that sends a record byte by byte holds it for
//! [`PATIENCE`] at most.

use core::ops::{Deref, DerefMut};

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::mutex::{Mutex, MutexGuard};
use embassy_sync::semaphore::{FairSemaphore, Semaphore as _, SemaphoreReleaser};
use embassy_time::{Duration, Instant};

/// Bytes of the longest record: header, text, and what TLS 1.2 may add.
pub(crate) const LONGEST_RECORD: usize = 5 + 16_384 + 256;
/// What is sent while records wait: requests are cut to fit.
pub(crate) const OUTGOING: usize = 1024;
const BYTES: usize = LONGEST_RECORD + OUTGOING;

/// A record has to be complete within this time of its first byte.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// Connections that may wait at the same time: one a slot, and a few others. Whoever waits has its
/// turn within [`PATIENCE`] for each that is before it.
const WAITING: usize = 12;

/// The shared buffer: put it in a static of its own, where it begins as zeros, which cost no flash.
#[allow(missing_debug_implementations)] // Of no use.
pub struct RecordBuffer(Mutex<CriticalSectionRawMutex, [u8; BYTES]>);

impl RecordBuffer {
    /// A buffer that begins as zeros.
    pub const fn new() -> Self {
        Self(Mutex::new([0; BYTES]))
    }
}

impl Default for RecordBuffer {
    fn default() -> Self {
        Self::new()
    }
}

/// Who has the buffer.
#[allow(missing_debug_implementations)] // Of no use, and embassy's semaphore has none.
pub struct Records {
    free: FairSemaphore<CriticalSectionRawMutex, WAITING>,
    buffer: &'static RecordBuffer,
}

impl Records {
    /// Takes a buffer that nobody has.
    pub const fn new(buffer: &'static RecordBuffer) -> Self {
        Self {
            free: FairSemaphore::new(1),
            buffer,
        }
    }

    /// Waits for its turn, first come, first served. *Cancellation*: safe; the place in the queue
    /// is lost.
    pub(crate) async fn take(&self) -> Option<Taken<'_>> {
        let turn = self.free.acquire(1).await.ok()?;
        self.taken(turn)
    }

    /// Takes it if nobody has it.
    pub(crate) fn try_take(&self) -> Option<Taken<'_>> {
        let turn = self.free.try_acquire(1)?;
        self.taken(turn)
    }

    fn taken<'r>(&'r self, turn: Turn<'r>) -> Option<Taken<'r>> {
        // Whose turn it is finds it free.
        let buffer = self.buffer.0.try_lock().ok()?;
        let until = Instant::now() + PATIENCE;
        Some(Taken {
            buffer,
            until,
            _turn: turn,
        })
    }
}

type Turn<'r> = SemaphoreReleaser<'r, FairSemaphore<CriticalSectionRawMutex, WAITING>>;

/// The buffer, for as long as this is held. Freed before the turn is over: fields are dropped in
/// their order.
pub(crate) struct Taken<'r> {
    buffer: MutexGuard<'r, CriticalSectionRawMutex, [u8; BYTES]>,
    /// When a record that has begun must be complete.
    pub(crate) until: Instant,
    _turn: Turn<'r>,
}

impl Deref for Taken<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.buffer.as_slice()
    }
}

impl DerefMut for Taken<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.buffer.as_mut_slice()
    }
}
