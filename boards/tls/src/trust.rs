//! Whom to believe: the public roots, the owner's own certificate authorities, and keys that the
//! owner has pinned. Boards and computers decide alike; what differs are roots and cryptography.

use core::{fmt, net};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{self, CertificateDer, ServerName, TrustAnchor, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use sha2::{Digest as _, Sha256};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use crate::provider::restart_count;
use crate::roots::Roots;
use crate::validity;

/// The owner's authorities that are looked at.
pub const MOST_AUTHORITIES: usize = 4;

/// What the owner says about hosts.
pub trait Owner: Send + Sync + fmt::Debug {
    /// May the owner's certificate authorities vouch for this host? Its name, or its address.
    fn is_own(&self, _host: &str) -> bool {
        false
    }

    /// Certificates of the owner's certificate authorities, in DER.
    fn authority(&self, _index: usize) -> Option<&[u8]> {
        None
    }

    /// SHA-256 of the public key (SubjectPublicKeyInfo) that this host must have, if the owner says
    /// so. No authority has to vouch for it then; its name and dates are checked all the same.
    fn pin(&self, _host: &str) -> Option<[u8; 32]> {
        None
    }
}

/// An owner who says nothing: the public roots decide.
#[derive(Clone, Copy, Debug)]
pub struct NoOwner;

impl Owner for NoOwner {}

impl<O: Owner + ?Sized> Owner for &O {
    fn is_own(&self, host: &str) -> bool {
        (**self).is_own(host)
    }

    fn authority(&self, index: usize) -> Option<&[u8]> {
        (**self).authority(index)
    }

    fn pin(&self, host: &str) -> Option<[u8; 32]> {
        (**self).pin(host)
    }
}

/// Checks certificates: a key that the owner pinned decides alone; the owner's authorities decide
/// for the owner's hosts, unless none of them is meant; for all others, the roots do.
#[derive(Debug)]
pub struct Verifier<O> {
    /// Who says whom else to trust.
    pub owner: O,
    /// The authorities that everybody trusts.
    pub roots: Roots,
    /// How signatures are checked.
    pub algorithms: WebPkiSupportedAlgorithms,
}

impl<O: Owner> ServerCertVerifier for Verifier<O> {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        restart_count();
        let end = EndEntityCert::try_from(certificate).map_err(reason)?;
        end.verify_is_valid_for_subject_name(name).map_err(reason)?;
        let host = host_text(name);
        if let Some(pin) = self.owner.pin(&host) {
            return check_pinned(certificate, name, &pin, now)
                .map(|()| ServerCertVerified::assertion());
        }
        let path = |anchors: &[TrustAnchor<'_>]| {
            end.verify_for_usage(
                self.algorithms.all,
                anchors,
                intermediates,
                now,
                KeyUsage::server_auth(),
                None,
                None,
            )
            .map(|_| ServerCertVerified::assertion())
            .map_err(|why| match why {
                // Made in one command, as an authority of its own: sound, but nobody vouches for
                // it.
                webpki::Error::CaUsedAsEndEntity if end.issuer() == end.subject() => {
                    webpki::Error::UnknownIssuer
                }
                why => why,
            })
        };
        let own = if self.owner.is_own(&host) {
            let certificates = (0..MOST_AUTHORITIES).map_while(|index| self.owner.authority(index));
            let certificates: heapless::Vec<CertificateDer<'_>, MOST_AUTHORITIES> =
                certificates.map(CertificateDer::from).collect();
            let anchors: heapless::Vec<TrustAnchor<'_>, MOST_AUTHORITIES> = certificates
                .iter()
                .filter_map(|certificate| anchor_from_trusted_cert(certificate).ok())
                .collect();
            match path(&anchors) {
                // None of them is meant: the public ones may be.
                Err(webpki::Error::UnknownIssuer) => None,
                decided => Some(decided),
            }
        } else {
            None
        };
        let public = || {
            let chain = core::iter::once(certificate).chain(intermediates);
            let anchors = self.roots.above(chain);
            path(&anchors)
        };
        own.unwrap_or_else(public).map_err(reason)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        restart_count();
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        restart_count();
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> alloc::vec::Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Has this certificate the key that was pinned, is it for this host, and valid now?
///
/// # Errors
/// Why not.
fn check_pinned(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
    pin: &[u8; 32],
    now: UnixTime,
) -> Result<(), Error> {
    let end = EndEntityCert::try_from(certificate).map_err(reason)?;
    let key = end.subject_public_key_info();
    if Sha256::digest(&key).as_slice() != pin {
        return Err(CertificateError::ApplicationVerificationFailure.into());
    }
    end.verify_is_valid_for_subject_name(name).map_err(reason)?;
    validity::check(certificate, now)
}

/// As rustls says it; what has no reason of its own here counts as a certificate that is no good.
fn reason(error: webpki::Error) -> Error {
    use webpki::Error as Why;
    let reason = match error {
        Why::CertExpired { .. } => CertificateError::Expired,
        Why::CertNotValidYet { .. } => CertificateError::NotValidYet,
        Why::CertNotValidForName(_) => CertificateError::NotValidForName,
        Why::UnknownIssuer => CertificateError::UnknownIssuer,
        Why::InvalidSignatureForPublicKey => CertificateError::BadSignature,
        Why::RequiredEkuNotFoundContext(_) => CertificateError::InvalidPurpose,
        _ => CertificateError::BadEncoding,
    };
    reason.into()
}

/// A host's name, or its address.
pub(crate) fn host_text(name: &ServerName<'_>) -> heapless::String<256> {
    let mut text = heapless::String::new();
    // A name has 253 characters at most.
    let _ = match name {
        ServerName::DnsName(name) => text.push_str(name.as_ref()).map_err(|_| fmt::Error),
        ServerName::IpAddress(address) => {
            let address = match address {
                pki_types::IpAddr::V4(address) => net::IpAddr::from(*address.as_ref()),
                pki_types::IpAddr::V6(address) => net::IpAddr::from(*address.as_ref()),
            };
            fmt::write(&mut text, format_args!("{address}"))
        }
        _ => Ok(()),
    };
    text
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;
    use std::vec::Vec;

    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair,
        KeyUsagePurpose,
    };

    use super::*;
    use crate::{PUBLIC_ROOTS, provider};

    /// Has an authority of its own, for one host.
    #[derive(Debug)]
    struct OfOneHost(Vec<u8>);

    impl Owner for OfOneHost {
        fn is_own(&self, host: &str) -> bool {
            host == "own.test"
        }

        fn authority(&self, index: usize) -> Option<&[u8]> {
            (index == 0).then_some(&self.0)
        }
    }

    /// As `openssl req -x509` makes them.
    #[test]
    fn nobody_vouches_for_an_authority_that_serves_pages_itself() {
        let mut params = CertificateParams::new(std::vec!["own.test".into()]).expect("a name");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("signed");
        let another = CertificateParams::default().self_signed(&key);
        let verifier = Verifier {
            owner: OfOneHost(another.expect("signed").der().to_vec()),
            roots: Roots::Packed(PUBLIC_ROOTS),
            algorithms: provider::ALGORITHMS,
        };
        let name = ServerName::try_from("own.test").expect("a name");
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970");
        let now = UnixTime::since_unix_epoch(now);
        let verified = verifier.verify_server_cert(certificate.der(), &[], &name, &[], now);
        let expected = Error::from(CertificateError::UnknownIssuer);
        assert_eq!(verified.err(), Some(expected));
    }

    #[test]
    fn the_owners_authority_vouches_for_listed_hosts_alone() {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "ours");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = Vec::from([KeyUsagePurpose::KeyCertSign]);
        let authority = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(params, authority).expect("an authority");
        let verifier = Verifier {
            owner: OfOneHost(authority.der().to_vec()),
            roots: Roots::Packed(PUBLIC_ROOTS),
            algorithms: provider::ALGORITHMS,
        };
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970");
        for (host, expected) in [
            ("own.test", None),
            ("other.test", Some(CertificateError::UnknownIssuer)),
        ] {
            let params = CertificateParams::new(std::vec![host.into()]).expect("a name");
            let key = KeyPair::generate().expect("a key");
            let certificate = params.signed_by(&key, &authority).expect("signed");
            let name = ServerName::try_from(host).expect("a name");
            let now = UnixTime::since_unix_epoch(now);
            let verified = verifier.verify_server_cert(certificate.der(), &[], &name, &[], now);
            let refused = verified.err();
            assert_eq!(refused, expected.map(Error::from), "{host}");
        }
    }
}
