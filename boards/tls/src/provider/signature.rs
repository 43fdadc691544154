//! Signatures of certificates and handshakes.

use core::sync::atomic::{AtomicU32, Ordering};

use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use rustls::SignatureScheme;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id,
};

use super::digest::SignatureHash;
use super::rsa::{self, Padding};

/// Signatures that are checked for one certificate path. The longest path has five; webpki would
/// try a hundred, which takes minutes.
const MOST_CHECKS: u32 = 8;
static CHECKS: Checks = Checks(AtomicU32::new(0));

/// How many were checked since it began to count.
struct Checks(AtomicU32);

impl Checks {
    /// Begins to count anew.
    fn restart(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// One more: may it be checked?
    fn count(&self) -> Result<(), InvalidSignature> {
        // No read-modify-write: there is one core, and nothing interrupts a check to make another.
        let checks = self.0.load(Ordering::Relaxed);
        self.0.store(checks.saturating_add(1), Ordering::Relaxed);
        if checks < MOST_CHECKS {
            Ok(())
        } else {
            Err(InvalidSignature)
        }
    }
}

/// Begins to count anew, for the next path.
pub(crate) fn restart_count() {
    CHECKS.restart();
}

/// A kind of signature.
#[derive(Debug)]
struct Algorithm {
    key: Key,
    hash: SignatureHash,
    key_id: AlgorithmIdentifier,
    id: AlgorithmIdentifier,
}

#[derive(Clone, Copy, Debug)]
enum Key {
    P256,
    P384,
    Rsa(Padding),
}

impl SignatureVerificationAlgorithm for Algorithm {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        CHECKS.count()?;
        let hashed = self.hash.hash(&[message]);
        let is_valid = match self.key {
            Key::P256 => is_by_p256(public_key, &hashed, signature),
            Key::P384 => is_by_p384(public_key, &hashed, signature),
            Key::Rsa(padding) => rsa::verify(public_key, padding, self.hash, &hashed, signature),
        };
        if is_valid.is_some() {
            Ok(())
        } else {
            Err(InvalidSignature)
        }
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key_id
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.id
    }
}

// A frame of its own for each: in one, the tables of all three would be on the stack together.
#[inline(never)]
fn is_by_p256(key: &[u8], hashed: &[u8], signature: &[u8]) -> Option<()> {
    let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
    let signature = p256::ecdsa::Signature::from_der(signature).ok()?;
    key.verify_prehash(hashed, &signature).ok()
}

#[inline(never)]
fn is_by_p384(key: &[u8], hashed: &[u8], signature: &[u8]) -> Option<()> {
    let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(key).ok()?;
    let signature = p384::ecdsa::Signature::from_der(signature).ok()?;
    key.verify_prehash(hashed, &signature).ok()
}

macro_rules! algorithms {
    ($($name:ident = $key:expr, $hash:ident, $key_id:ident, $id:ident;)+) => {
        $(static $name: Algorithm = Algorithm {
            key: $key,
            hash: SignatureHash::$hash,
            key_id: alg_id::$key_id,
            id: alg_id::$id,
        };)+
        static ALL: &[&dyn SignatureVerificationAlgorithm] = &[$(&$name),+];
    };
}

algorithms! {
    P256_SHA256 = Key::P256, Sha256, ECDSA_P256, ECDSA_SHA256;
    P256_SHA384 = Key::P256, Sha384, ECDSA_P256, ECDSA_SHA384;
    P384_SHA256 = Key::P384, Sha256, ECDSA_P384, ECDSA_SHA256;
    P384_SHA384 = Key::P384, Sha384, ECDSA_P384, ECDSA_SHA384;
    RSA_SHA256 = Key::Rsa(Padding::Pkcs1), Sha256, RSA_ENCRYPTION, RSA_PKCS1_SHA256;
    RSA_SHA384 = Key::Rsa(Padding::Pkcs1), Sha384, RSA_ENCRYPTION, RSA_PKCS1_SHA384;
    RSA_SHA512 = Key::Rsa(Padding::Pkcs1), Sha512, RSA_ENCRYPTION, RSA_PKCS1_SHA512;
    RSA_PSS_SHA256 = Key::Rsa(Padding::Pss), Sha256, RSA_ENCRYPTION, RSA_PSS_SHA256;
    RSA_PSS_SHA384 = Key::Rsa(Padding::Pss), Sha384, RSA_ENCRYPTION, RSA_PSS_SHA384;
    RSA_PSS_SHA512 = Key::Rsa(Padding::Pss), Sha512, RSA_ENCRYPTION, RSA_PSS_SHA512;
}

/// What is checked, and what servers are told of it.
pub(crate) const ALGORITHMS: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: ALL,
    mapping: &[
        // The curve is part of the scheme in TLS 1.3 only.
        (
            SignatureScheme::ECDSA_NISTP256_SHA256,
            &[&P256_SHA256, &P384_SHA256],
        ),
        (
            SignatureScheme::ECDSA_NISTP384_SHA384,
            &[&P384_SHA384, &P256_SHA384],
        ),
        (SignatureScheme::RSA_PSS_SHA256, &[&RSA_PSS_SHA256]),
        (SignatureScheme::RSA_PSS_SHA384, &[&RSA_PSS_SHA384]),
        (SignatureScheme::RSA_PSS_SHA512, &[&RSA_PSS_SHA512]),
        (SignatureScheme::RSA_PKCS1_SHA256, &[&RSA_SHA256]),
        (SignatureScheme::RSA_PKCS1_SHA384, &[&RSA_SHA384]),
        (SignatureScheme::RSA_PKCS1_SHA512, &[&RSA_SHA512]),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_signatures_are_checked_for_a_path_and_no_more() {
        let checks = Checks(AtomicU32::new(0));
        for path in 0..2 {
            for check in 0..8 {
                assert!(checks.count().is_ok(), "check {check} of path {path}");
            }
            for _ in 0..200 {
                assert!(checks.count().is_err());
            }
            checks.restart();
        }
    }
}
