//! Whose certificates this computer believes: its own authorities, the owner's, and pinned keys.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_rustls::rustls::client::WebPkiServerVerifier;
use futures_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use futures_rustls::rustls::crypto::CryptoProvider;
use futures_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use futures_rustls::rustls::{
    self, CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use crate::lists::trust::Pin;

/// What the owner says about hosts.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// Certificates of the owner's own authorities, in DER.
    pub authorities: Vec<Vec<u8>>,
    /// The hosts that these may vouch for: those of the list.
    pub own: HashSet<String>,
    /// Keys that hosts must have.
    pub pins: HashMap<String, Pin>,
}

/// Checks certificates.
#[derive(Debug)]
pub(super) struct Verifier {
    public: Arc<WebPkiServerVerifier>,
    own: Option<Arc<WebPkiServerVerifier>>,
    trust: Trust,
}

impl Verifier {
    /// Believes these roots, and what the owner says.
    pub(super) fn new(
        roots: RootCertStore,
        trust: Trust,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let verifier = |roots: RootCertStore| {
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .map_err(|why| why.to_string())
        };
        let mut own = RootCertStore::empty();
        own.add_parsable_certificates(trust.authorities.iter().cloned().map(CertificateDer::from));
        Ok(Self {
            public: verifier(roots)?,
            own: (!own.is_empty()).then(|| verifier(own)).transpose()?,
            trust,
        })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let host = name.to_str().to_ascii_lowercase();
        if let Some(pin) = self.trust.pins.get(&host) {
            return dunlin_tls::check_pinned(certificate, name, pin, now)
                .map(|()| ServerCertVerified::assertion());
        }
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let own = self
            .own
            .as_ref()
            .filter(|_| self.trust.own.contains(&host))
            .map(|own| own.verify_server_cert(certificate, intermediates, name, ocsp, now));
        match own {
            Some(decided) if !matches!(&decided, Err(why) if *why == unknown) => decided,
            _ => {
                let public = &self.public;
                public.verify_server_cert(certificate, intermediates, name, ocsp, now)
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.public
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.public
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.public.supported_verify_schemes()
    }
}
