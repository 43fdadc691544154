//! Is a signature good? Ed25519 (RFC 8032 §5.1.7) over salty's arithmetic on the curve.
//!
//! Everything here is public, so nothing has to take the same time for all keys.

use salty::{CompressedY, EdwardsPoint, Scalar};

use super::sha512::Sha512;

/// How many multiples the base point has, the least byte first.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// Has who holds the secret half of `key` signed this message?
///
/// Work: the message's length, and some 4 million instructions on a Cortex-M4.
pub(super) fn is_good(key: &[u8; 32], [r, s]: &[[u8; 32]; 2], message: &[u8]) -> bool {
    // The same signature with another `s` would be good, too, if it could be beyond the order.
    if take_order(&mut s.clone()) {
        return false;
    }
    let Ok(point) = CompressedY(*key).decompressed() else {
        return false;
    };
    let mut hash = Sha512::new();
    hash.update(r);
    hash.update(key);
    hash.update(message);
    let challenge = Scalar(remainder(&hash.finish()));
    let sum = &(&Scalar(*s) * &EdwardsPoint::basepoint()) + &(&challenge * &-&point);
    sum.compressed().0 == *r
}

/// Takes the order from a number, unless that is smaller; true if it was taken.
#[inline(never)] // Once for both callers.
fn take_order(number: &mut [u8; 32]) -> bool {
    let mut less = [0; 32];
    let mut borrow = false;
    for ((to, from), order) in less.iter_mut().zip(&*number).zip(&ORDER) {
        (*to, borrow) = from.borrowing_sub(*order, borrow);
    }
    if !borrow {
        *number = less;
    }
    !borrow
}

/// The remainder of a number divided by the order: as on paper, bit by bit. Work: some 150,000
/// instructions on a Cortex-M4.
fn remainder(number: &[u8; 64]) -> [u8; 32] {
    let mut rest = [0; 32];
    // The upper 31 bytes are below the order, whatever they are.
    let (low, high) = number.split_at(33);
    rest.iter_mut().zip(high).for_each(|(to, from)| *to = *from);
    for byte in low.iter().rev() {
        for bit in (0..8).rev() {
            // Below twice the order and one, which is below 2²⁵⁵.
            let mut carry = byte >> bit & 1;
            for digit in &mut rest {
                let next = *digit >> 7;
                *digit = *digit << 1 | carry;
                carry = next;
            }
            take_order(&mut rest);
        }
    }
    rest
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    /// Bytes that look random, and are the same each time.
    fn bytes<const N: usize>(seed: u32) -> [u8; N] {
        let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
        core::array::from_fn(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        })
    }

    #[test]
    fn remainders_are_those_of_another_implementation() {
        let check = |number: [u8; 64]| {
            let expected = Scalar::from_u512_le(&number).to_bytes();
            assert_eq!(remainder(&number), expected, "{number:?}");
        };
        (0..500).for_each(|seed| check(bytes(seed)));
        [[0; 64], [0xff; 64]].into_iter().for_each(check);
        // Around multiples of the order, at every place.
        for shift in 0..=32 {
            for change in [-1, 0, 1_i16] {
                let mut number = [0; 64];
                number[shift..shift + 32].copy_from_slice(&ORDER);
                // The order ends with a byte that takes one more and one less.
                number[shift] = (i16::from(number[shift]) + change) as u8;
                check(number);
            }
        }
    }

    #[test]
    fn the_order_is_the_first_number_that_is_too_large() {
        assert_eq!(ORDER, Scalar::ell());
        let mut below = ORDER;
        below[0] -= 1;
        let mut number = below;
        assert!(!take_order(&mut number) && number == below);
        let mut number = ORDER;
        assert!(take_order(&mut number) && number == [0; 32]);
        for seed in 0..200 {
            let mut number: [u8; 32] = bytes(seed);
            let is_below = Scalar(number).is_canonical();
            assert_eq!(!take_order(&mut number), is_below, "{number:?}");
        }
    }

    #[test]
    fn only_what_was_signed_is_good() {
        for seed in [0, 3, 11] {
            let pair = salty::Keypair::from(&bytes::<32>(seed));
            let message = &bytes::<200>(seed)[..17 * seed as usize];
            let signed = pair.sign(message);
            let key = pair.public.to_bytes();
            let signature = [signed.r.0, signed.s.0];
            assert!(is_good(&key, &signature, message), "{seed}");
            let other = [message, &[1]].concat();
            assert!(!is_good(&key, &signature, &other), "{seed}");
            // Each bit of key and signature counts.
            for bit in (0..256).step_by(23) {
                let flip = |bytes: [u8; 32]| {
                    let mut bytes = bytes;
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    bytes
                };
                let [r, s] = signature;
                assert!(!is_good(&flip(key), &signature, message), "{bit} of key");
                assert!(!is_good(&key, &[flip(r), s], message), "{bit} of r");
                assert!(!is_good(&key, &[r, flip(s)], message), "{bit} of s");
            }
            // The same point by another number.
            let mut beyond = signature;
            let mut carry = false;
            for (digit, order) in beyond[1].iter_mut().zip(ORDER) {
                (*digit, carry) = digit.carrying_add(order, carry);
            }
            assert!(!carry && !is_good(&key, &beyond, message), "{seed}");
        }
    }

    /// RFC 8032 §7.1, test 2.
    #[test]
    fn the_example_of_the_standard() {
        let hex = |digits: &str| -> [u8; 32] {
            core::array::from_fn(|at| {
                u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("digits")
            })
        };
        let key = hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
        let signature = [
            hex("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"),
            hex("085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
        ];
        assert!(is_good(&key, &signature, &[0x72]));
        assert!(!is_good(&key, &signature, &[0x73]));
    }
}
