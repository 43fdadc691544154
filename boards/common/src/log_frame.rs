//! One frame of the log at a time, for loggers of our own: `defmt` calls them in parts, inside a
//! critical section that begins with the frame and ends with it.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

use critical_section::RestoreState;

/// The frame that is being written.
pub struct LogFrame {
    taken: AtomicBool,
    encoder: UnsafeCell<defmt::Encoder>,
    restore: UnsafeCell<RestoreState>,
}

impl core::fmt::Debug for LogFrame {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LogFrame").finish_non_exhaustive()
    }
}

// SAFETY: the cells are touched only between `begin` and `end`, inside one critical section.
unsafe impl Sync for LogFrame {}

impl LogFrame {
    /// No frame has begun.
    #[allow(clippy::new_without_default)] // It is for a static.
    pub const fn new() -> Self {
        Self {
            taken: AtomicBool::new(false),
            encoder: UnsafeCell::new(defmt::Encoder::new()),
            restore: UnsafeCell::new(RestoreState::invalid()),
        }
    }

    /// Begins a frame, for `Logger::acquire`.
    ///
    /// # Panics
    /// A `Format` implementation logged while it was being logged.
    #[inline]
    pub fn begin(&self, send: fn(&[u8])) {
        // SAFETY: paired with the one in `end`; defmt never nests them.
        let restore = unsafe { critical_section::acquire() };
        if self.taken.load(Ordering::Relaxed) {
            panic!("log statement inside a log statement");
        }
        self.taken.store(true, Ordering::Relaxed);
        // SAFETY: inside the critical section, and `taken` keeps others out.
        unsafe {
            self.restore.get().write(restore);
            (*self.encoder.get()).start_frame(send);
        }
    }

    /// Writes a part of the frame, for `Logger::write`.
    ///
    /// # Safety
    /// Between [`begin`](Self::begin) and [`end`](Self::end).
    #[inline]
    pub unsafe fn write(&self, bytes: &[u8], send: fn(&[u8])) {
        // SAFETY: nobody else has the frame, by the caller's word.
        unsafe { (*self.encoder.get()).write(bytes, send) }
    }

    /// Ends the frame, for `Logger::release`; `sent` is called when its last byte was.
    ///
    /// # Safety
    /// Once for each [`begin`](Self::begin).
    #[inline]
    pub unsafe fn end(&self, send: fn(&[u8]), sent: fn()) {
        // SAFETY: the critical section of `begin` ends here, by the caller's word.
        unsafe {
            (*self.encoder.get()).end_frame(send);
            sent();
            self.taken.store(false, Ordering::Relaxed);
            critical_section::release(self.restore.get().read());
        }
    }

    /// Frees the frame if a panic or fault came in the middle of it; the cut frame is ended, so
    /// that the decoder finds the start of the next one. Only for handlers that do not return.
    pub fn end_after_panic(&self, send: fn(&[u8])) {
        if self.taken.load(Ordering::Relaxed) {
            send(&[0]);
            self.taken.store(false, Ordering::Relaxed);
        }
    }
}
