//! The cryptography that rustls is given: RustCrypto's, and RSA signatures of our own.
//!
//! ChaCha20-Poly1305 is offered first: a core without AES instructions takes a fifth of the time
//! for it. X25519 is offered before P-256 for the same reason.

mod aead;
mod digest;
mod exchange;
mod random;
mod rsa;
mod signature;

pub use random::seed;
pub(crate) use signature::{ALGORITHMS, restart_count};

use alloc::sync::Arc;
use alloc::vec;

use rustls::crypto::tls12::PrfUsingHmac;
use rustls::crypto::tls13::HkdfUsingHmac;
use rustls::crypto::{CipherSuiteCommon, CryptoProvider, KeyExchangeAlgorithm, KeyProvider};
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::SigningKey;
use rustls::{
    CipherSuite, Error, SignatureScheme, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite,
};

use aead::{AES_128_GCM, CHACHA20_POLY1305};
use digest::{HMAC_SHA256, SHA256};

/// The provider. Work: none but the lists.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![
            SupportedCipherSuite::Tls13(&TLS13_CHACHA20),
            SupportedCipherSuite::Tls13(&TLS13_AES_128),
            SupportedCipherSuite::Tls12(&TLS12_ECDSA_CHACHA20),
            SupportedCipherSuite::Tls12(&TLS12_RSA_CHACHA20),
            SupportedCipherSuite::Tls12(&TLS12_ECDSA_AES_128),
            SupportedCipherSuite::Tls12(&TLS12_RSA_AES_128),
        ],
        kx_groups: vec![&exchange::X25519, &exchange::P256],
        signature_verification_algorithms: ALGORITHMS,
        secure_random: &random::SeededRandom,
        key_provider: &NoKeys,
    })
}

/// Bytes that one key may encrypt with AES-GCM, in records (as rustls's own providers have it).
const AES_RECORDS: u64 = 1 << 24;

static TLS13_CHACHA20: Tls13CipherSuite = Tls13CipherSuite {
    common: CipherSuiteCommon {
        suite: CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        hash_provider: &SHA256,
        confidentiality_limit: u64::MAX,
    },
    hkdf_provider: &HkdfUsingHmac(&HMAC_SHA256),
    aead_alg: &CHACHA20_POLY1305,
    quic: None,
};

static TLS13_AES_128: Tls13CipherSuite = Tls13CipherSuite {
    common: CipherSuiteCommon {
        suite: CipherSuite::TLS13_AES_128_GCM_SHA256,
        hash_provider: &SHA256,
        confidentiality_limit: AES_RECORDS,
    },
    hkdf_provider: &HkdfUsingHmac(&HMAC_SHA256),
    aead_alg: &AES_128_GCM,
    quic: None,
};

macro_rules! tls12 {
    ($name:ident, $suite:ident, $schemes:ident, $aead:ident, $limit:expr) => {
        static $name: Tls12CipherSuite = Tls12CipherSuite {
            common: CipherSuiteCommon {
                suite: CipherSuite::$suite,
                hash_provider: &SHA256,
                confidentiality_limit: $limit,
            },
            kx: KeyExchangeAlgorithm::ECDHE,
            sign: $schemes,
            aead_alg: &$aead,
            prf_provider: &PrfUsingHmac(&HMAC_SHA256),
        };
    };
}

tls12!(
    TLS12_ECDSA_CHACHA20,
    TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    ECDSA_SCHEMES,
    CHACHA20_POLY1305,
    u64::MAX
);
tls12!(
    TLS12_RSA_CHACHA20,
    TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    RSA_SCHEMES,
    CHACHA20_POLY1305,
    u64::MAX
);
tls12!(
    TLS12_ECDSA_AES_128,
    TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    ECDSA_SCHEMES,
    AES_128_GCM,
    AES_RECORDS
);
tls12!(
    TLS12_RSA_AES_128,
    TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    RSA_SCHEMES,
    AES_128_GCM,
    AES_RECORDS
);

static ECDSA_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::ECDSA_NISTP256_SHA256,
    SignatureScheme::ECDSA_NISTP384_SHA384,
];

static RSA_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
];

/// A probe has no certificate of its own.
#[derive(Debug)]
struct NoKeys;

impl KeyProvider for NoKeys {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        Err(Error::General("no client certificates".into()))
    }
}
