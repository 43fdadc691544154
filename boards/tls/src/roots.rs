//! Whom everybody trusts: on a board packed in flash, on a computer in a list.
//!
//! A packed root is three lengths of two bytes, then its subject, its public key, and the names
//! that it is limited to, if there are any. As webpki's own type, with addresses and lengths in
//! words, each would take 30 bytes more.

use alloc::vec::Vec;

use rustls::pki_types::{CertificateDer, Der, TrustAnchor};
use webpki::EndEntityCert;

/// All of Mozilla's roots, packed.
pub const PUBLIC_ROOTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/roots.bin"));

/// Roots that one chain can lead to.
const MOST_ABOVE: usize = 8;

/// The authorities that everybody trusts.
#[derive(Clone, Debug)]
pub enum Roots {
    /// They are packed, like [`PUBLIC_ROOTS`].
    Packed(&'static [u8]),
    /// They are in a list.
    Listed(Vec<TrustAnchor<'static>>),
}

impl Roots {
    /// Those whose names some certificate of this chain has as its issuer: nobody else can vouch
    /// for it. Work: the roots for each certificate.
    pub(crate) fn above<'r, 'c>(
        &'r self,
        chain: impl Iterator<Item = &'c CertificateDer<'c>>,
    ) -> heapless::Vec<TrustAnchor<'r>, MOST_ABOVE> {
        let mut above = heapless::Vec::new();
        for certificate in chain {
            let Ok(certificate) = EndEntityCert::try_from(certificate) else {
                continue;
            };
            let mut take = |root: TrustAnchor<'r>| {
                if *root.subject == *certificate.issuer() && !above.contains(&root) {
                    // Without room, it is not trusted.
                    let _ = above.push(root);
                }
            };
            match self {
                Self::Packed(bytes) => unpack(bytes).for_each(take),
                Self::Listed(roots) => roots.iter().map(borrowed).for_each(&mut take),
            }
        }
        above
    }
}

/// The roots of a pack.
fn unpack(mut rest: &[u8]) -> impl Iterator<Item = TrustAnchor<'_>> {
    core::iter::from_fn(move || {
        let (&[a, b, c, d, e, f], parts) = rest.split_first_chunk()?;
        let [subject, key, constraints] =
            [[a, b], [c, d], [e, f]].map(|length| usize::from(u16::from_le_bytes(length)));
        let (subject, parts) = parts.split_at_checked(subject)?;
        let (key, parts) = parts.split_at_checked(key)?;
        let (constraints, parts) = parts.split_at_checked(constraints)?;
        rest = parts;
        Some(TrustAnchor {
            subject: Der::from_slice(subject),
            subject_public_key_info: Der::from_slice(key),
            name_constraints: (!constraints.is_empty()).then(|| Der::from_slice(constraints)),
        })
    })
}

fn borrowed<'r>(root: &'r TrustAnchor<'static>) -> TrustAnchor<'r> {
    TrustAnchor {
        subject: Der::from_slice(&root.subject),
        subject_public_key_info: Der::from_slice(&root.subject_public_key_info),
        name_constraints: root.name_constraints.as_deref().map(Der::from_slice),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pack_is_mozillas_list() {
        let unpacked: Vec<TrustAnchor<'_>> = unpack(PUBLIC_ROOTS).collect();
        assert_eq!(unpacked, webpki_roots::TLS_SERVER_ROOTS);
    }

    #[test]
    fn half_a_root_is_none() {
        let whole = unpack(PUBLIC_ROOTS).count();
        let cut = PUBLIC_ROOTS.len() - 1;
        assert_eq!(unpack(&PUBLIC_ROOTS[..cut]).count(), whole - 1);
        assert_eq!(unpack(&[]).count(), 0);
    }
}
