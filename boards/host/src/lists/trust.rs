//! Whom the owner trusts beyond the public certificate authorities: `--ca FILE` and `pin` of
//! HOSTS.csv.

use std::fs;
use std::path::Path;

use futures_rustls::rustls::RootCertStore;
use futures_rustls::rustls::pki_types::CertificateDer;
use futures_rustls::rustls::pki_types::pem::PemObject as _;

use super::listing::Listing;
use super::pages::ListedPage;
use crate::error::Error;

/// SHA-256 of a public key (SubjectPublicKeyInfo).
pub type Pin = [u8; 32];

/// Authorities that a probe looks at.
const MOST: usize = dunlin_tls::MOST_AUTHORITIES;

/// Reads the certificates of authorities from a PEM file; what comes back is DER.
///
/// # Errors
/// It cannot be read, holds no certificate or too many, or one that is none.
pub fn authorities(path: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let bytes = fs::read(path).map_err(|source| Error::opening(path, source))?;
    let wrong = |found: String| {
        let expected = format!("1 to {MOST} certificates in PEM format");
        Error::Usage(format!(
            "{}: found {found}, expected {expected}",
            path.display()
        ))
    };
    let mut found = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let certificate = certificate.map_err(|why| wrong(why.to_string()))?;
        let number = found.len() + 1;
        RootCertStore::empty()
            .add(certificate.clone())
            .map_err(|why| wrong(format!("certificate {number}, which is none ({why})")))?;
        found.push(certificate.to_vec());
    }
    match found.len() {
        1..=MOST => Ok(found),
        count => Err(wrong(format!("{count} certificates"))),
    }
}

/// What to say of a list of https pages alone: no https without the date, and `Date` headers come
/// by http pages. (A gateway is asked for https pages by http.)
pub fn needs_time_server(listing: &Listing) -> Option<&'static str> {
    let pages = &listing.list.pages;
    let is_secure = |page: &ListedPage| page.url.starts_with("https:");
    let needs = !pages.is_empty() && pages.iter().all(is_secure);
    needs.then_some(
        "note: all pages are https: a board without a gateway fetches nothing until it knows the \
        date, and only a time server tells it (--sntp HOST): Date headers come by http pages alone",
    )
}

/// Reads a pin such as `sha256/` and 44 characters of base64.
pub fn pin(text: &str) -> Option<Pin> {
    let digits = text.strip_prefix("sha256/")?;
    let digits = digits.strip_suffix('=')?;
    // Some write `sha256//`; but one hash in 64 begins with a slash of its own.
    let digits = match digits.len() {
        43 => digits,
        44 => digits.strip_prefix('/')?,
        _ => return None,
    };
    let mut bits: u32 = 0;
    let mut count = 0;
    let mut bytes = Vec::new();
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    // Two bits are left over.
    (bits & 3 == 0).then_some(bytes)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_read_as_openssl_prints_it() {
        // SHA-256 of nothing.
        let text = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        let pin = pin(text).unwrap();
        assert_eq!(pin[..4], [0xe3, 0xb0, 0xc4, 0x42]);
        assert_eq!(pin[31], 0x55);
        assert_eq!(super::pin(&text.replace("sha256/", "sha256//")), Some(pin));
        let slash = "sha256//Ijx1eSBAFpSOJTFihldmAOLhDVGDl6GyIz+z5MlVDw=";
        let begin = super::pin(slash).map(|pin| pin[..2].to_vec());
        assert_eq!(begin, Some(vec![0xfc, 0x88]));
        assert!(super::pin(&slash.replace("sha256/", "sha256//")).is_some());
        for wrong in [
            "",
            "sha256/",
            "sha1/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=",
            "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
            "sha256/47DEQpj8HBSa-/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        ] {
            assert_eq!(super::pin(wrong), None, "{wrong}");
        }
    }
}
