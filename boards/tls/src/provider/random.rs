//! Random numbers: a stream that the board seeds once from its hardware.

use core::cell::RefCell;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use critical_section::Mutex;
use rustls::crypto::{GetRandomFailed, SecureRandom};

static STREAM: Mutex<RefCell<Option<ChaCha20Rng>>> = Mutex::new(RefCell::new(None));

/// Seeds the random numbers: 256 bits that nobody can guess. Until this is called, no connection
/// can be opened.
pub fn seed(seed: [u8; 32]) {
    critical_section::with(|token| {
        STREAM
            .borrow_ref_mut(token)
            .replace(ChaCha20Rng::from_seed(seed))
    });
}

/// Fills `bytes`.
///
/// # Errors
/// Nobody has called [`seed`].
pub(super) fn fill(bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
    critical_section::with(|token| {
        let mut stream = STREAM.borrow_ref_mut(token);
        let stream = stream.as_mut().ok_or(GetRandomFailed)?;
        stream.fill_bytes(bytes);
        Ok(())
    })
}

#[derive(Debug)]
pub(super) struct SeededRandom;

impl SecureRandom for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        fill(bytes)
    }
}
