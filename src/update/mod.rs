//! update: signed firmware and page lists, fetched from the owner's server, resumed, tried, rolled
//! back.
//!
//! A probe asks one URL for a small signed [`Manifest`], in the embedded format of OpenBSD's
//! signify. What it says is held against what the device is ([`Device::accept`]); then the payload
//! is streamed into a spare part of flash ([`Download`]), read back and compared with the digest
//! that was signed, and only then marked. A new firmware runs on [trial](Terms) until it has shown
//! that it can fetch and can still be updated; the [`Journal`] remembers what was tried, so that a
//! build that fails is not tried for ever. A page list has two [halves] of flash, of which the
//! newest good one counts.
//!
//! These are *signed updates*, not secure boot: the application verifies, the boot loader starts
//! whatever lies in its slot. Who can write to the flash by a cable needs no signature.
//!
//! ```text
//!   signify ──► manifest ──► accept ──► download ──► digest ──► journal: trying X, attempt n
//!   who says    what it      does it    the bytes    are they           │
//!   so?         says         fit here?  themselves   whole?       mark, restart, trial
//! ```
//!
//! From the owner's desk to the device's decision:
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use dunlin::update::{Device, Manifest, Offer, PayloadKind, PublicKey, SecretKey, digest_of};
//!
//! // On the desk: `SecretKey::parse` reads a key file of signify's.
//! let key = SecretKey::new(&[7; 32], *b"a number");
//! let payload = b"the new firmware";
//! let manifest = Manifest {
//!     kind: PayloadKind::Firmware,
//!     board: "qemu-mps2",
//!     build: 2,
//!     sequence: 2,
//!     counter: 0,
//!     length: payload.len() as u32,
//!     digest: digest_of(payload),
//!     store: 1,
//!     image: 1,
//!     url: "firmware.bin",
//! };
//! let file = key.sign(&manifest.text(), "verify with firmware.pub");
//!
//! // On the device, which knows the public key:
//! let message = PublicKey::open(&[key.public()], file.as_bytes())?;
//! let device = Device {
//!     kind: PayloadKind::Firmware,
//!     board: "qemu-mps2",
//!     build: 1,
//!     sequence: 1,
//!     counter: 0,
//!     room: 320 * 1024,
//!     store: 3,
//!     image: 3,
//!     tried: None,
//!     on_trial: false,
//! };
//! assert_eq!(device.accept(&Manifest::parse(message)?), Ok(Offer::New));
//! # }
//! # Ok::<(), dunlin::update::Refusal>(())
//! ```
//!
//! Everything here but [`Puller`] is a plain state machine; flash is a blocking driver, because the
//! flash of chips is.

mod accept;
mod digest;
mod download;
mod ed25519;
mod fields;
pub mod halves;
mod journal;
mod manifest;
mod pull;
mod refusal;
mod sha512;
mod signify;
mod transport;
mod trial;

pub use accept::{Device, MOST_ATTEMPTS, Offer};
pub use digest::digest_of;
pub use download::{Download, Receiver};
pub use journal::{Attempt, Begun, Fall, Journal, JournalRecord, Last, Released, Standing};
pub use manifest::{Manifest, PayloadKind};
pub use pull::{Pulled, Puller, Server, SpareSlot};
pub use refusal::Refusal;
pub use signify::{KEY_BYTES, PublicKey};
#[cfg(feature = "std")]
pub use signify::{SecretKey, SecretKeyError};
pub use transport::{Network, Transport};
pub use trial::{Shown, Terms, TrialStatus};

/// What the file name of a manifest ends with, behind the board's name: below one URL lie the
/// manifests of several boards, and of both kinds.
pub const fn manifest_ending(kind: PayloadKind) -> &'static str {
    match kind {
        PayloadKind::Firmware => ".sig",
        PayloadKind::List => "-list.sig",
    }
}

/// Bytes of the longest signed manifest that is read: it says some 450 besides its URL, which,
/// joined with the manifest's own, has to find room behind it.
pub const LONGEST_MANIFEST: usize = 768;

#[cfg(all(test, feature = "std"))]
mod tests;
