//! RSA signatures, checked without an allocator: keys of 2,048 to 4,096 bits, PKCS #1 v1.5 and PSS
//! (RFC 8017). Everything here is public – key, message, signature –, so nothing has to take the
//! same time whatever it is.

use super::digest::SignatureHash;

/// How a hash is made as long as the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    Pkcs1,
    Pss,
}

/// Words of the longest key.
const WORDS: usize = 4096 / 32;
/// Bytes of the longest key.
const BYTES: usize = 4 * WORDS;
/// Bytes of the shortest key.
const LEAST: usize = 2048 / 8;

/// Is this the signature of what was hashed by the key, a DER `RSAPublicKey`?
///
/// Work: 35 products of numbers as long as the key, for the exponents that are in use.
#[inline(never)] // Its numbers leave the stack with it.
pub(super) fn verify(
    key: &[u8],
    padding: Padding,
    hash: SignatureHash,
    hashed: &[u8],
    signature: &[u8],
) -> Option<()> {
    let (modulus, exponent) = read_key(key)?;
    if signature.len() != modulus.len() {
        return None;
    }
    let mut encoded = [0; BYTES];
    let encoded = encoded.get_mut(..modulus.len())?;
    Modulus::new(modulus)?.power(signature, exponent, encoded)?;
    match padding {
        Padding::Pkcs1 => is_pkcs1(encoded, hash, hashed).then_some(()),
        Padding::Pss => is_pss(encoded, modulus, hash, hashed),
    }
}

/// Modulus and exponent of a DER `RSAPublicKey`, without leading zeros.
fn read_key(der: &[u8]) -> Option<(&[u8], u32)> {
    let (fields, rest) = element(der, 0x30)?;
    let (modulus, fields) = element(fields, 0x02)?;
    let (exponent, fields) = element(fields, 0x02)?;
    // A number whose top bit is set has a zero before it, and no other has.
    let modulus = match modulus {
        [0, number @ ..] if number.first()? & 0x80 != 0 => number,
        _ => return None,
    };
    let exponent = match exponent {
        [0, number @ ..] if number.first()? & 0x80 != 0 => number,
        [first, ..] if first & 0x80 == 0 && *first != 0 => exponent,
        _ => return None,
    };
    let sizes = (LEAST..=BYTES).contains(&modulus.len()) && exponent.len() <= 4;
    if !rest.is_empty() || !fields.is_empty() || !sizes {
        return None;
    }
    let exponent = exponent
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte));
    let odd = modulus.last()? & 1 == 1 && exponent & 1 == 1 && exponent >= 3;
    odd.then_some((modulus, exponent))
}

/// The contents of a DER element with this tag, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (length, rest) = match *der {
        [found, length, ref rest @ ..] if found == tag && length < 0x80 => {
            (usize::from(length), rest)
        }
        [found, 0x81, length, ref rest @ ..] if found == tag && length >= 0x80 => {
            (usize::from(length), rest)
        }
        [found, 0x82, high, low, ref rest @ ..] if found == tag && high > 0 => {
            (usize::from(u16::from_be_bytes([high, low])), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// A number, its lowest word first.
type Number = [u32; WORDS];

/// A modulus with what Montgomery's multiplication needs.
struct Modulus {
    number: Number,
    words: usize,
    bits: usize,
    /// The inverse of the modulus, negated, modulo 2³².
    inverse: u32,
}

impl Modulus {
    fn new(bytes: &[u8]) -> Option<Self> {
        // Keys have whole words; others are not in use.
        if !bytes.len().is_multiple_of(4) {
            return None;
        }
        let number = from_bytes(bytes);
        let lowest = *number.first()?;
        // Newton: each round doubles the bits that are right, and three are right for odd numbers.
        let mut inverse = lowest;
        for _ in 0..4 {
            inverse = inverse.wrapping_mul(2_u32.wrapping_sub(lowest.wrapping_mul(inverse)));
        }
        Some(Self {
            number,
            words: bytes.len() / 4,
            bits: 8 * bytes.len() - bytes.first()?.leading_zeros() as usize,
            inverse: inverse.wrapping_neg(),
        })
    }

    /// `base` to the power of `exponent`, into as many bytes; `None` if it is not below the
    /// modulus.
    fn power(&self, base: &[u8], exponent: u32, into: &mut [u8]) -> Option<()> {
        let base = from_bytes(base);
        if !self.is_less(&base) {
            return None;
        }
        let base = self.product(&base, &self.square_of_radix());
        let mut power = base;
        for bit in (0..exponent.ilog2()).rev() {
            power = self.product(&power, &power);
            if exponent >> bit & 1 == 1 {
                power = self.product(&power, &base);
            }
        }
        let mut one = [0; WORDS];
        *one.first_mut()? = 1;
        let power = self.product(&power, &one);
        for (to, from) in into.rchunks_mut(4).zip(&power) {
            to.copy_from_slice(&from.to_be_bytes());
        }
        Some(())
    }

    /// R², modulo the modulus; R is 2 to the power of all bits of its words.
    fn square_of_radix(&self) -> Number {
        let all = 32 * self.words;
        // 2^(bits − 1) is below the modulus. Doubled up to R, it is 1 in Montgomery's form; once
        // more, and it is 2.
        let mut number = [0; WORDS];
        if let Some(word) = number.get_mut((self.bits - 1) / 32) {
            *word = 1 << ((self.bits - 1) % 32);
        }
        for _ in self.bits - 1..all + 1 {
            self.double(&mut number);
        }
        // 2 to the power of `all`, in Montgomery's form: that is R·R.
        for bit in (0..all.ilog2()).rev() {
            number = self.product(&number, &number);
            if all >> bit & 1 == 1 {
                self.double(&mut number);
            }
        }
        number
    }

    fn is_less(&self, number: &Number) -> bool {
        let words = number.iter().zip(&self.number).rev();
        words
            .map(|(one, other)| one.cmp(other))
            .find(|order| order.is_ne())
            == Some(core::cmp::Ordering::Less)
    }

    fn double(&self, number: &mut Number) {
        let mut carry = 0;
        for word in number.iter_mut().take(self.words) {
            let top = *word >> 31;
            *word = *word << 1 | carry;
            carry = top;
        }
        if carry == 1 || !self.is_less(number) {
            self.subtract(number);
        }
    }

    fn subtract(&self, number: &mut Number) {
        let mut borrow = false;
        for (word, other) in number.iter_mut().zip(&self.number).take(self.words) {
            let (less, first) = word.overflowing_sub(*other);
            let (less, second) = less.overflowing_sub(borrow.into());
            *word = less;
            borrow = first || second;
        }
    }

    /// one · other / R, modulo the modulus.
    fn product(&self, one: &Number, other: &Number) -> Number {
        let mut sum = [0_u32; WORDS];
        let (Some(one), Some(other)) = (one.get(..self.words), other.get(..self.words)) else {
            return sum;
        };
        let modulus = self.number.get(..self.words).unwrap_or_default();
        // The word above the sum.
        let mut top = 0_u64;
        for &word in one {
            let sum = sum.get_mut(..self.words).unwrap_or_default();
            let mut carry = 0_u64;
            for (place, &other) in sum.iter_mut().zip(other) {
                carry += u64::from(*place) + u64::from(word) * u64::from(other);
                *place = carry as u32;
                carry >>= 32;
            }
            top += carry;
            let lowest = sum.first().copied().unwrap_or_default();
            let factor = lowest.wrapping_mul(self.inverse);
            let first = modulus.first().copied().unwrap_or_default();
            let mut carry = (u64::from(lowest) + u64::from(factor) * u64::from(first)) >> 32;
            for index in 1..modulus.len() {
                // Both are as long as the modulus.
                let (Some(&word), Some(&place)) = (modulus.get(index), sum.get(index)) else {
                    break;
                };
                carry += u64::from(place) + u64::from(factor) * u64::from(word);
                if let Some(place) = sum.get_mut(index - 1) {
                    *place = carry as u32;
                }
                carry >>= 32;
            }
            top += carry;
            if let Some(last) = sum.last_mut() {
                *last = top as u32;
            }
            top >>= 32;
        }
        if top > 0 || !self.is_less(&sum) {
            self.subtract(&mut sum);
        }
        sum
    }
}

fn from_bytes(bytes: &[u8]) -> Number {
    let mut number = [0; WORDS];
    for (word, bytes) in number.iter_mut().zip(bytes.rchunks(4)) {
        *word = bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    number
}

/// EMSA-PKCS1-v1_5: compared with the only encoding there is.
fn is_pkcs1(encoded: &[u8], hash: SignatureHash, hashed: &[u8]) -> bool {
    // DER of the hash's name, up to the hash itself.
    const fn prefix(kind: u8, length: u8) -> [u8; 19] {
        [
            0x30,
            0x11 + length,
            0x30,
            0x0d,
            0x06,
            0x09,
            0x60,
            0x86,
            0x48,
            0x01,
            0x65,
            0x03,
            0x04,
            0x02,
            kind,
            0x05,
            0x00,
            0x04,
            length,
        ]
    }
    let prefix = match hash {
        SignatureHash::Sha256 => prefix(1, 32),
        SignatureHash::Sha384 => prefix(2, 48),
        SignatureHash::Sha512 => prefix(3, 64),
    };
    let Some(filled) = encoded.len().checked_sub(3 + prefix.len() + hashed.len()) else {
        return false;
    };
    let expected = [0, 1]
        .into_iter()
        .chain(core::iter::repeat_n(0xff, filled))
        .chain([0])
        .chain(prefix)
        .chain(hashed.iter().copied());
    filled >= 8 && expected.eq(encoded.iter().copied())
}

/// EMSA-PSS with MGF1 of the same hash, and a salt as long as the hash.
fn is_pss(encoded: &mut [u8], modulus: &[u8], hash: SignatureHash, hashed: &[u8]) -> Option<()> {
    // One bit less than the modulus has.
    let bits = 8 * modulus.len() - modulus.first()?.leading_zeros() as usize - 1;
    let encoded = match bits % 8 {
        // A whole byte less.
        0 => match encoded {
            [0, rest @ ..] => rest,
            _ => return None,
        },
        _ => encoded,
    };
    let unused = 8 * encoded.len() - bits;
    let length = hash.length();
    let (masked, rest) = encoded.split_at_mut_checked(encoded.len().checked_sub(length + 1)?)?;
    let (seed, trailer) = rest.split_at_checked(length)?;
    let top = masked.first().copied()?;
    if trailer != [0xbc] || top.leading_zeros() < unused as u32 {
        return None;
    }
    for (counter, chunk) in (0_u32..).zip(masked.chunks_mut(length)) {
        let mask = hash.hash(&[seed, &counter.to_be_bytes()]);
        chunk
            .iter_mut()
            .zip(&mask)
            .for_each(|(byte, mask)| *byte ^= mask);
    }
    if let Some(first) = masked.first_mut() {
        *first &= 0xff >> unused;
    }
    let (zeros, salt) = masked.split_at_checked(masked.len().checked_sub(length)?)?;
    let (one, zeros) = zeros.split_last()?;
    let is_padded = *one == 1 && zeros.iter().all(|zero| *zero == 0);
    let expected = hash.hash(&[&[0; 8], hashed, salt]);
    (is_padded && expected.as_slice() == seed).then_some(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::string::String;
    use std::vec::Vec;

    use rcgen::{KeyPair, PKCS_RSA_SHA256, PublicKeyData as _};
    use rustls::SignatureScheme as Scheme;
    use rustls::crypto::ring::sign::any_supported_type;
    use rustls::pki_types::PrivateKeyDer;

    use super::*;

    /// A key of so many bits, by which others sign.
    struct Signer(KeyPair);

    impl Signer {
        fn new(bits: &str) -> Self {
            let made = Command::new("openssl").args(["genrsa", bits]).output();
            let pem = String::from_utf8(made.expect("openssl is installed").stdout);
            let pem = pem.expect("PEM is ASCII");
            let key = KeyPair::from_pem_and_sign_algo(&pem, &PKCS_RSA_SHA256);
            Self(key.expect("an RSA key"))
        }

        /// As it stands in certificates.
        fn public(&self) -> &[u8] {
            self.0.der_bytes()
        }

        fn sign(&self, scheme: Scheme, message: &[u8]) -> Vec<u8> {
            let key = PrivateKeyDer::try_from(self.0.serialize_der()).expect("a key");
            let key = any_supported_type(&key).expect("a key that ring knows");
            let signer = key
                .choose_scheme(&[scheme])
                .expect("a scheme that ring knows");
            signer.sign(message).expect("a signature")
        }

        /// What a signature is the padded form of.
        fn opened(&self, signature: &[u8]) -> Vec<u8> {
            let (modulus, exponent) = read_key(self.public()).expect("a key");
            let mut encoded = std::vec![0; modulus.len()];
            let modulus = Modulus::new(modulus).expect("whole words");
            let power = modulus.power(signature, exponent, &mut encoded);
            power.expect("below the modulus");
            encoded
        }
    }

    use Padding::{Pkcs1, Pss};
    use SignatureHash::{Sha256, Sha384, Sha512};

    const ALL: [(Scheme, Padding, SignatureHash); 6] = [
        (Scheme::RSA_PKCS1_SHA256, Pkcs1, Sha256),
        (Scheme::RSA_PKCS1_SHA384, Pkcs1, Sha384),
        (Scheme::RSA_PKCS1_SHA512, Pkcs1, Sha512),
        (Scheme::RSA_PSS_SHA256, Pss, Sha256),
        (Scheme::RSA_PSS_SHA384, Pss, Sha384),
        (Scheme::RSA_PSS_SHA512, Pss, Sha512),
    ];
    const MESSAGE: &[u8] = b"what was signed";

    #[test]
    fn a_signature_holds_for_its_key_message_hash_and_padding_alone() {
        let signer = Signer::new("2048");
        let other = Signer::new("2048");
        for (scheme, padding, hash) in ALL {
            let signature = signer.sign(scheme, MESSAGE);
            let is_valid =
                |key: &Signer, padding, hash: SignatureHash, message: &[u8], signature: &[u8]| {
                    let hashed = hash.hash(&[message]);
                    verify(key.public(), padding, hash, &hashed, signature).is_some()
                };
            assert!(
                is_valid(&signer, padding, hash, MESSAGE, &signature),
                "{scheme:?}"
            );
            assert!(!is_valid(&other, padding, hash, MESSAGE, &signature));
            assert!(!is_valid(
                &signer,
                padding,
                hash,
                b"what was not",
                &signature
            ));
            for (_, wrong_padding, wrong) in ALL {
                let is_other = (wrong_padding, wrong) != (padding, hash);
                let is_valid = is_valid(&signer, wrong_padding, wrong, MESSAGE, &signature);
                assert_ne!(
                    is_valid, is_other,
                    "{scheme:?} as {wrong_padding:?}, {wrong:?}"
                );
            }
            for place in [0, 1, 100, 254, 255] {
                let mut changed = signature.clone();
                changed[place] ^= 1;
                assert!(
                    !is_valid(&signer, padding, hash, MESSAGE, &changed),
                    "byte {place}"
                );
            }
            let shorter = &signature[..255];
            assert!(!is_valid(&signer, padding, hash, MESSAGE, shorter));
            let longer = [&[0], signature.as_slice()].concat();
            assert!(!is_valid(&signer, padding, hash, MESSAGE, &longer));
        }
    }

    #[test]
    fn a_number_that_is_not_below_the_modulus_is_no_signature() {
        let signer = Signer::new("2048");
        let hashed = Sha256.hash(&[MESSAGE]);
        let (modulus, _) = read_key(signer.public()).expect("a key");
        // The same remainder, as soon as the sum of both has no more bytes.
        let (signature, above) = (0..1_000)
            .find_map(|_| {
                let signature = signer.sign(Scheme::RSA_PSS_SHA256, MESSAGE);
                let mut above = std::vec![0; modulus.len()];
                let mut carry = 0;
                for place in (0..modulus.len()).rev() {
                    let sum = u16::from(signature[place]) + u16::from(modulus[place]) + carry;
                    above[place] = sum as u8;
                    carry = sum >> 8;
                }
                (carry == 0).then_some((signature, above))
            })
            .expect("one in two, at worst one in a few hundred");
        let is_valid =
            |signature: &[u8]| verify(signer.public(), Pss, Sha256, &hashed, signature).is_some();
        assert!(is_valid(&signature));
        assert!(!is_valid(&above));
        assert!(!is_valid(modulus));
    }

    #[test]
    fn padding_is_what_it_has_to_be_to_the_last_byte() {
        let signer = Signer::new("2048");
        let hashed = Sha256.hash(&[MESSAGE]);
        let right = signer.opened(&signer.sign(Scheme::RSA_PKCS1_SHA256, MESSAGE));
        assert!(is_pkcs1(&right, Sha256, &hashed));
        for place in 0..right.len() {
            let mut changed = right.clone();
            changed[place] ^= 1;
            assert!(!is_pkcs1(&changed, Sha256, &hashed), "byte {place}");
        }
        // Less padding, and room for what nobody has signed behind the hash.
        let mut forged = right.clone();
        forged.drain(2..102);
        forged.extend([0x5a; 100]);
        assert!(!is_pkcs1(&forged, Sha256, &hashed));

        let (modulus, _) = read_key(signer.public()).expect("a key");
        let right = signer.opened(&signer.sign(Scheme::RSA_PSS_SHA256, MESSAGE));
        let is_right =
            |mut encoded: Vec<u8>| is_pss(&mut encoded, modulus, Sha256, &hashed).is_some();
        assert!(is_right(right.clone()));
        for place in 0..right.len() {
            let mut changed = right.clone();
            changed[place] ^= 1;
            assert!(!is_right(changed), "byte {place}");
        }
        let mut changed = right.clone();
        changed[0] |= 0x80;
        assert!(!is_right(changed), "a bit more than the modulus allows");
    }

    /// A DER element of this tag, with a length of one to three bytes.
    fn element_of(tag: u8, contents: &[u8]) -> Vec<u8> {
        let length = contents.len();
        let head = match length {
            0..0x80 => std::vec![tag, length as u8],
            0x80..0x100 => std::vec![tag, 0x81, length as u8],
            _ => std::vec![tag, 0x82, (length >> 8) as u8, length as u8],
        };
        [head.as_slice(), contents].concat()
    }

    fn key_of(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
        let numbers = [element_of(2, modulus), element_of(2, exponent)].concat();
        element_of(0x30, &numbers)
    }

    /// An odd number of so many bits, as DER has it.
    fn modulus_of(bits: usize) -> Vec<u8> {
        let mut number = std::vec![0xa5; bits / 8];
        number.insert(0, 0);
        number
    }

    #[test]
    fn keys_are_read_if_they_are_in_use_and_spelt_the_only_way() {
        const USUAL: &[u8] = &[1, 0, 1];
        let modulus = modulus_of(2048);
        let key = key_of(&modulus, USUAL);
        assert_eq!(read_key(&key), Some((&modulus[1..], 65_537)));
        for (bits, is_read) in [
            (1_024, false),
            (2_040, false),
            (4_096, true),
            (4_128, false),
        ] {
            let key = key_of(&modulus_of(bits), USUAL);
            assert_eq!(read_key(&key).is_some(), is_read, "{bits} bits");
        }
        for (exponent, is_read) in [
            (&[3][..], true),
            (&[0, 0x80, 0, 0, 1], true),
            (&[1], false),
            (&[0], false),
            (&[4], false),
            (&[], false),
            // Negative, with a zero too many, with a byte too many.
            (&[0x81], false),
            (&[0, 1, 0, 1], false),
            (&[1, 0, 0, 0, 1], false),
        ] {
            let key = key_of(&modulus, exponent);
            assert_eq!(read_key(&key).is_some(), is_read, "{exponent:?}");
        }
        let mut even = modulus.clone();
        *even.last_mut().expect("not empty") ^= 1;
        let mut padded = modulus.clone();
        padded.insert(0, 0);
        let mut behind = key.clone();
        behind.push(0);
        let three = [
            element_of(2, &modulus),
            element_of(2, USUAL),
            element_of(2, USUAL),
        ];
        for (what, wrong) in [
            ("even", key_of(&even, USUAL)),
            ("negative", key_of(&modulus[1..], USUAL)),
            ("two zeros", key_of(&padded, USUAL)),
            ("a byte behind it", behind),
            ("three numbers", element_of(0x30, &three.concat())),
            ("no list", element_of(0x31, &key[4..])),
        ] {
            assert_eq!(read_key(&wrong), None, "{what}");
        }
        // A length is spelt in as few bytes as it takes.
        assert_eq!(element(&[2, 0x81, 1, 7], 2), None);
        assert_eq!(element(&[2, 0x82, 0, 1, 7], 2), None);
        assert_eq!(element(&[2, 1, 7], 2), Some((&[7][..], &[][..])));
        for length in 0..key.len() {
            assert_eq!(read_key(&key[..length]), None, "{length} bytes of it");
        }
        // Between two words: nobody has such a key.
        let odd = key_of(&modulus_of(2_056), USUAL);
        assert!(read_key(&odd).is_some());
        let signature = [7; 257];
        assert_eq!(verify(&odd, Pkcs1, Sha256, &[0; 32], &signature), None);
    }
}
