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
    /// −1/modulus, modulo 2³².
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

    /// `base` to the power of `exponent`, into as many bytes; `None` if it is not below the modulus.
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
