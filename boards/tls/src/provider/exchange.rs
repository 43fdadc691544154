//! Key exchange: X25519 and P-256.

use alloc::boxed::Box;

use p256::elliptic_curve::sec1::ToSec1Point as _;
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved};
use x25519_dalek::{PublicKey, StaticSecret};

use super::random;

#[derive(Debug)]
pub(super) struct X25519Group;
pub(super) static X25519: X25519Group = X25519Group;

impl SupportedKxGroup for X25519Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut bytes = [0; 32];
        random::fill(&mut bytes)?;
        let secret = StaticSecret::from(bytes);
        let public = PublicKey::from(&secret);
        Ok(Box::new(X25519Exchange { secret, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct X25519Exchange {
    secret: StaticSecret,
    public: PublicKey,
}

impl ActiveKeyExchange for X25519Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer: [u8; 32] = peer.try_into().map_err(|_| INVALID)?;
        let shared = self.secret.diffie_hellman(&PublicKey::from(peer));
        if !shared.was_contributory() {
            return Err(INVALID);
        }
        Ok(SharedSecret::from(shared.as_bytes().as_slice()))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_bytes()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

#[derive(Debug)]
pub(super) struct P256Group;
pub(super) static P256: P256Group = P256Group;

/// How often a random number is not a key is one in four thousand million: twice is enough.
const TRIES: usize = 4;

impl SupportedKxGroup for P256Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        for _ in 0..TRIES {
            let mut bytes = [0; 32];
            random::fill(&mut bytes)?;
            if let Ok(secret) = p256::SecretKey::from_slice(&bytes) {
                let public = secret.public_key().to_sec1_point(false);
                let public = public.as_bytes().try_into().map_err(|_| INVALID)?;
                return Ok(Box::new(P256Exchange { secret, public }));
            }
        }
        Err(Error::FailedToGetRandomBytes)
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp256r1
    }
}

struct P256Exchange {
    secret: p256::SecretKey,
    public: [u8; 65],
}

impl ActiveKeyExchange for P256Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = p256::PublicKey::from_sec1_bytes(peer).map_err(|_| INVALID)?;
        let shared = p256::ecdh::diffie_hellman(self.secret.to_nonzero_scalar(), peer.as_affine());
        Ok(SharedSecret::from(shared.raw_secret_bytes().as_slice()))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp256r1
    }
}

const INVALID: Error = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
