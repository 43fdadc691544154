#![no_std]
#![forbid(unsafe_code)]
//! What has been logged and not been sent yet: frames that end in a zero byte (defmt's framing), in
//! a ring of fixed size.
//!
//! The firmware never waits for whoever reads. When there is no room, the oldest frames go: who
//! attaches late finds the newest. A reader that was in the middle of one of them sees the rest of
//! a later frame behind its beginning, which its decoder counts as a lost frame, and then is in
//! step again.

/// A ring of `N` bytes.
#[derive(Debug)]
pub struct Ring<const N: usize> {
    bytes: [u8; N],
    start: usize,
    length: usize,
}

impl<const N: usize> Ring<N> {
    /// A ring that holds no frame yet.
    pub const NEW: Self = Self {
        bytes: [0; N],
        start: 0,
        length: 0,
    };

    /// Is there nothing to read?
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds bytes, in the place of the oldest frames if there is no room. Work: each byte is added
    /// once, and dropped at most once.
    pub fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.length == N {
                self.drop_frame();
            }
            if let Some(place) = self.bytes.get_mut((self.start + self.length) % N.max(1)) {
                *place = byte;
                self.length += 1;
            }
        }
    }

    /// Moves bytes out, oldest first; returns how many.
    pub fn pop(&mut self, out: &mut [u8]) -> usize {
        let count = self.length.min(out.len());
        for place in &mut out[..count] {
            *place = self.take();
        }
        count
    }

    /// Drops the oldest bytes, up to and with the end of their frame. A frame longer than the ring
    /// loses its beginning.
    fn drop_frame(&mut self) {
        while self.length > 0 && self.take() != 0 {}
    }

    /// The oldest byte. Only called while there is one.
    fn take(&mut self) -> u8 {
        let byte = self.bytes.get(self.start).copied().unwrap_or_default();
        self.start = (self.start + 1) % N.max(1);
        self.length = self.length.saturating_sub(1);
        byte
    }
}
