//! SHA-256 for the handshake; SHA-256, SHA-384 and SHA-512 for signatures.

use alloc::boxed::Box;

use hmac::{Hmac, KeyInit, Mac};
use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use rustls::crypto::hmac::{Hmac as HmacAlgorithm, Key, Tag};
use sha2::{Digest as _, Sha256, Sha384, Sha512};

/// SHA-256, as rustls hashes handshakes.
pub(super) struct Sha256Hash;
pub(super) static SHA256: Sha256Hash = Sha256Hash;

impl Hash for Sha256Hash {
    fn start(&self) -> Box<dyn Context> {
        Box::new(Running(Sha256::new()))
    }

    fn hash(&self, data: &[u8]) -> Output {
        Output::new(&Sha256::digest(data))
    }

    fn output_len(&self) -> usize {
        32
    }

    fn algorithm(&self) -> HashAlgorithm {
        HashAlgorithm::SHA256
    }
}

struct Running(Sha256);

impl Context for Running {
    fn fork_finish(&self) -> Output {
        Output::new(&self.0.clone().finalize())
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Running(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> Output {
        Output::new(&self.0.finalize())
    }

    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
}

/// HMAC with SHA-256, as rustls asks for it.
pub(super) struct Sha256Hmac;
pub(super) static HMAC_SHA256: Sha256Hmac = Sha256Hmac;

impl HmacAlgorithm for Sha256Hmac {
    fn with_key(&self, key: &[u8]) -> Box<dyn Key> {
        // A key of any length will do.
        match Hmac::<Sha256>::new_from_slice(key) {
            Ok(keyed) => Box::new(Keyed(keyed)),
            Err(_) => Box::new(Keyed(Hmac::new(&Default::default()))),
        }
    }

    fn hash_output_len(&self) -> usize {
        32
    }
}

struct Keyed(Hmac<Sha256>);

impl Key for Keyed {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let mut mac = self.0.clone();
        mac.update(first);
        middle.iter().for_each(|part| mac.update(part));
        mac.update(last);
        Tag::new(&mac.finalize().into_bytes())
    }

    fn tag_len(&self) -> usize {
        32
    }
}

/// The hash of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignatureHash {
    Sha256,
    Sha384,
    Sha512,
}

/// A hash of 64 bytes at most.
pub(super) type Hashed = heapless::Vec<u8, 64>;

impl SignatureHash {
    /// Bytes of a hash.
    pub(super) const fn length(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    /// Hashes these parts, one behind the other.
    pub(super) fn hash(self, parts: &[&[u8]]) -> Hashed {
        fn of<D: sha2::Digest>(parts: &[&[u8]]) -> Hashed {
            let mut digest = D::new();
            parts.iter().for_each(|part| digest.update(part));
            digest.finalize().iter().copied().collect()
        }
        match self {
            Self::Sha256 => of::<Sha256>(parts),
            Self::Sha384 => of::<Sha384>(parts),
            Self::Sha512 => of::<Sha512>(parts),
        }
    }
}
