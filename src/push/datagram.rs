//! What is in a datagram, and who signed it.

use core::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher24};

/// Bytes of a key.
pub const KEY: usize = 16;
/// Bytes of the longest URL.
pub const LONGEST_URL: usize = 256;
/// Bytes of the longest datagram.
pub const LONGEST: usize = HEADER + LONGEST_URL + DIGEST;

const MAGIC: [u8; 4] = *b"dpsh";
const VERSION: u8 = 1;
const HEADER: usize = 14;
const DIGEST: usize = 16;

/// A page has changed, by the word of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'d> {
    /// Which of the device's keys it was signed with.
    pub sender: u8,
    /// When it was sent, in milliseconds since 1970.
    pub sent_ms: u64,
    /// The URL of the page that has changed.
    pub url: &'d str,
}

impl<'d> Datagram<'d> {
    /// Reads a datagram without a look at its digest; `None` if it is none of this version.
    pub fn parse(bytes: &'d [u8]) -> Option<Self> {
        let (signed, _) = split(bytes)?;
        let (header, url) = signed.split_first_chunk::<HEADER>()?;
        let [m0, m1, m2, m3, VERSION, sender, sent @ ..] = *header else {
            return None;
        };
        let url = core::str::from_utf8(url).ok()?;
        let is_one = [m0, m1, m2, m3] == MAGIC && (1..=LONGEST_URL).contains(&url.len());
        is_one.then_some(Self {
            sender,
            sent_ms: u64::from_le_bytes(sent),
            url,
        })
    }

    /// Writes it, signed with this key, to the beginning of `out`; how many bytes that are, or
    /// `None` if the URL is empty or too long, or there is no room.
    ///
    /// ```
    /// use dunlin::push::{Datagram, LONGEST};
    ///
    /// let datagram = Datagram { sender: 0, sent_ms: 1_800_000_000_000, url: "http://a.test/" };
    /// let mut out = [0; LONGEST];
    /// let length = datagram.sign(&[7; 16], &mut out).unwrap();
    /// assert_eq!(Datagram::parse(&out[..length]), Some(datagram));
    /// assert!(Datagram::is_signed(&[7; 16], &out[..length]));
    /// assert!(!Datagram::is_signed(&[8; 16], &out[..length]));
    /// ```
    pub fn sign(&self, key: &[u8; KEY], out: &mut [u8]) -> Option<usize> {
        let url = self.url.as_bytes();
        if !(1..=LONGEST_URL).contains(&url.len()) {
            return None;
        }
        let length = HEADER + url.len();
        let whole = out.get_mut(..length + DIGEST)?;
        let (signed, digest) = whole.split_at_mut_checked(length)?;
        let header = MAGIC.into_iter().chain([VERSION, self.sender]);
        let header = header.chain(self.sent_ms.to_le_bytes());
        let bytes = header.chain(url.iter().copied());
        signed
            .iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to = from);
        let made = digest_of(key, signed);
        digest
            .iter_mut()
            .zip(made)
            .for_each(|(to, from)| *to = from);
        Some(length + DIGEST)
    }

    /// Has who knows this key signed these bytes? Takes as long for one that is almost right as for
    /// any other.
    pub fn is_signed(key: &[u8; KEY], bytes: &[u8]) -> bool {
        split(bytes).is_some_and(|(signed, digest)| {
            let pairs = digest_of(key, signed).into_iter().zip(digest);
            pairs.fold(0, |differs, (made, found)| differs | (made ^ found)) == 0
        })
    }
}

/// A key by its 32 hexadecimal digits; `None` if that is none.
///
/// ```
/// use dunlin::push::key;
///
/// let digits = "000102030405060708090A0B0C0D0E0F";
/// assert_eq!(key(digits), Some(core::array::from_fn(|index| index as u8)));
/// assert_eq!(key("0001"), None);
/// ```
pub fn key(text: &str) -> Option<[u8; KEY]> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let mut key = [0; KEY];
    if pairs.len() != KEY || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in key.iter_mut().zip(pairs) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = (digit(*high)? * 16 + digit(*low)?) as u8;
    }
    Some(key)
}

/// What is signed, and the digest.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8; DIGEST])> {
    bytes.split_last_chunk()
}

fn digest_of(key: &[u8; KEY], bytes: &[u8]) -> [u8; DIGEST] {
    let mut hasher = SipHasher24::new_with_key(key);
    hasher.write(bytes);
    hasher.finish128().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATAGRAM: Datagram<'_> = Datagram {
        sender: 2,
        sent_ms: 1_800_000_000_123,
        url: "http://a.test/news?a=1",
    };

    fn signed(datagram: &Datagram<'_>) -> ([u8; LONGEST], usize) {
        let mut out = [0; LONGEST];
        let length = datagram.sign(&[3; KEY], &mut out).expect("it fits");
        (out, length)
    }

    /// Vectors of the reference implementation: the key is 0, 1, 2 …, and so is the text.
    #[test]
    fn the_digest_is_siphash_2_4_of_128_bits() {
        let key = core::array::from_fn(|index| index as u8);
        let none = [
            0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55,
            0x02, 0x93,
        ];
        assert_eq!(digest_of(&key, &[]), none);
        let one = [
            0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22,
            0xfc, 0x45,
        ];
        assert_eq!(digest_of(&key, &[0]), one);
    }

    #[test]
    fn no_byte_can_be_changed_or_left_out() {
        let (out, length) = signed(&DATAGRAM);
        let whole = &out[..length];
        assert_eq!(Datagram::parse(whole), Some(DATAGRAM));
        assert!(Datagram::is_signed(&[3; KEY], whole));
        for bit in 0..8 * length {
            let mut flipped = out;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!Datagram::is_signed(&[3; KEY], &flipped[..length]), "{bit}");
        }
        for end in 0..length {
            assert!(!Datagram::is_signed(&[3; KEY], &whole[..end]), "{end}");
        }
    }

    #[test]
    fn urls_have_a_length() {
        let long = [b'x'; LONGEST_URL + 1];
        let long = core::str::from_utf8(&long).expect("ASCII");
        let of = |url| Datagram { url, ..DATAGRAM };
        let mut out = [0; LONGEST];
        let length = of(&long[1..]).sign(&[3; KEY], &mut out);
        assert_eq!(length, Some(LONGEST));
        for (url, room) in [(long, LONGEST), ("", LONGEST), (&long[1..], LONGEST - 1)] {
            assert_eq!(of(url).sign(&[3; KEY], &mut out[..room]), None);
        }
    }

    #[test]
    fn what_is_no_datagram_is_none() {
        let (out, length) = signed(&DATAGRAM);
        assert_eq!(Datagram::parse(&out[..HEADER + DIGEST]), None, "no URL");
        assert_eq!(Datagram::parse(&[]), None);
        for (place, byte) in [(0, b'D'), (4, 2), (HEADER, 0xff)] {
            let mut other = out;
            other[place] = byte;
            assert_eq!(Datagram::parse(&other[..length]), None, "{place}");
        }
    }
}
