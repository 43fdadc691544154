//! Signatures in the format of OpenBSD's signify: a comment, a line of base64, then the message.
//!
//! Debian's package is `signify-openbsd`; `signify-openbsd -V -e -p KEY.pub -m /dev/null -x FILE`
//! verifies what a probe would.

#[cfg(feature = "std")]
use super::digest::digest_of;
use super::ed25519::is_good;
use super::refusal::Refusal;

/// How every file of signify's begins.
const COMMENT: &[u8] = b"untrusted comment: ";
/// Ed25519, the only algorithm that signify knows.
const ALGORITHM: [u8; 2] = *b"Ed";
/// Bytes of a public key: algorithm, number, key.
pub const KEY_BYTES: usize = 42;
/// Bytes of a signature: algorithm, number of the key, signature.
const SIGNATURE_BYTES: usize = 74;
/// Bytes of an unlocked secret key.
#[cfg(feature = "std")]
const SECRET_BYTES: usize = 104;

/// A key that signatures are verified with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey {
    number: [u8; 8],
    key: [u8; 32],
}

impl PublicKey {
    /// Of the bytes that a key file holds in base64; `None` if they are of another algorithm.
    pub fn from_bytes(bytes: &[u8; KEY_BYTES]) -> Option<Self> {
        let (algorithm, rest) = bytes.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let key = rest.first_chunk()?;
        (*algorithm == ALGORITHM).then_some(Self {
            number: *number,
            key: *key,
        })
    }

    /// Reads a key file, such as `signify -G` writes.
    pub fn parse(file: &[u8]) -> Option<Self> {
        let (bytes, rest): ([u8; KEY_BYTES], _) = envelope(file)?;
        Self::from_bytes(&bytes).filter(|_| rest.is_empty())
    }

    /// The key's bytes, as a key file holds them in base64.
    pub fn to_bytes(&self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        let parts = ALGORITHM.iter().chain(&self.number).chain(&self.key);
        bytes
            .iter_mut()
            .zip(parts)
            .for_each(|(to, from)| *to = *from);
        bytes
    }

    /// The message of a signed file, if one of these keys has signed it.
    ///
    /// Work: the file's length, and one verification (some 4 million instructions on a Cortex-M4).
    ///
    /// # Errors
    /// [`Refusal::NotSigned`], [`Refusal::UnknownKey`], [`Refusal::Signature`].
    pub fn open<'f>(keys: &[Self], file: &'f [u8]) -> Result<&'f [u8], Refusal> {
        let (signature, message): ([u8; SIGNATURE_BYTES], _) =
            envelope(file).ok_or(Refusal::NotSigned)?;
        let (number, halves) = split_signature(&signature).ok_or(Refusal::NotSigned)?;
        let key = keys
            .iter()
            .find(|key| key.number == number)
            .ok_or(Refusal::UnknownKey)?;
        if is_good(&key.key, &halves, message) {
            Ok(message)
        } else {
            Err(Refusal::Signature)
        }
    }
}

/// The number of the key, and the two halves of a signature.
fn split_signature(bytes: &[u8; SIGNATURE_BYTES]) -> Option<([u8; 8], [[u8; 32]; 2])> {
    let (algorithm, rest) = bytes.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (r, rest) = rest.split_first_chunk()?;
    let s = rest.first_chunk()?;
    (*algorithm == ALGORITHM).then_some((*number, [*r, *s]))
}

/// What stands in base64 below the comment, and whatever follows.
fn envelope<const N: usize>(file: &[u8]) -> Option<([u8; N], &[u8])> {
    let rest = file.strip_prefix(COMMENT)?;
    let (_, rest) = line(rest)?;
    let (text, rest) = line(rest)?;
    Some((base64(text)?, rest))
}

fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// The six bits that a letter of base64 stands for.
fn value_of(letter: u8) -> Option<u8> {
    match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// The letters of base64, in the order of their values.
#[cfg(feature = "std")]
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Exactly `N` bytes of base64, padded.
fn base64<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    if text.len() != N.div_ceil(3) * 4 {
        return None;
    }
    let mut bytes = [0; N];
    for (to, group) in bytes.chunks_mut(3).zip(text.chunks(4)) {
        let mut bits = 0_u32;
        for (index, letter) in group.iter().enumerate() {
            let value = if *letter == b'=' && index > to.len() {
                0
            } else {
                u32::from(value_of(*letter)?)
            };
            bits = bits << 6 | value;
        }
        let [_, decoded @ ..] = bits.to_be_bytes();
        to.iter_mut().zip(decoded).for_each(|(to, from)| *to = from);
    }
    Some(bytes)
}

/// A key that manifests are signed with, on the owner's computer.
#[cfg(feature = "std")]
pub struct SecretKey {
    number: [u8; 8],
    pair: salty::Keypair,
}

/// Why a key file cannot be used to sign.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretKeyError {
    /// It is no secret key of signify's.
    Format,
    /// It is locked by a passphrase.
    Locked,
    /// Its checksum is wrong.
    Damaged,
}

#[cfg(feature = "std")]
impl core::fmt::Display for SecretKeyError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Format => "no secret key in signify's format",
            Self::Locked => {
                "a key that is locked by a passphrase; expected one made by `cargo xtask keygen` \
                 or `signify -G -n`"
            }
            Self::Damaged => "a secret key whose checksum is wrong",
        })
    }
}

#[cfg(feature = "std")]
impl core::error::Error for SecretKeyError {}

#[cfg(feature = "std")]
impl core::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SecretKey").finish_non_exhaustive()
    }
}

#[cfg(feature = "std")]
impl SecretKey {
    /// Of random bytes: the seed of the key, and the number that files name it by.
    pub fn new(seed: &[u8; 32], number: [u8; 8]) -> Self {
        let pair = salty::Keypair::from(seed);
        Self { number, pair }
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// [`SecretKeyError`]
    pub fn parse(file: &[u8]) -> Result<Self, SecretKeyError> {
        let (bytes, rest): ([u8; SECRET_BYTES], _) =
            envelope(file).ok_or(SecretKeyError::Format)?;
        // Algorithm, key derivation, its rounds and salt, checksum, number, key.
        let part = |from: usize, length: usize| bytes.get(from..from + length).unwrap_or_default();
        if part(0, 2) != ALGORITHM || part(2, 2) != b"BK" || !rest.is_empty() {
            return Err(SecretKeyError::Format);
        }
        if part(4, 4) != [0; 4] {
            return Err(SecretKeyError::Locked);
        }
        let digest = digest_of(part(40, 64));
        if Some(part(24, 8)) != digest.get(..8) {
            return Err(SecretKeyError::Damaged);
        }
        let number = part(32, 8).first_chunk().ok_or(SecretKeyError::Format)?;
        let seed = part(40, 32).first_chunk().ok_or(SecretKeyError::Format)?;
        Ok(Self::new(seed, *number))
    }

    /// Its key file, unlocked: whoever can read it can sign.
    pub fn file(&self, seed: &[u8; 32], comment: &str) -> std::string::String {
        let mut key = seed.to_vec();
        key.extend(self.pair.public.to_bytes());
        let digest = digest_of(&key);
        let mut bytes = std::vec::Vec::with_capacity(SECRET_BYTES);
        bytes.extend(ALGORITHM);
        bytes.extend(b"BK");
        bytes.extend([0; 4 + 16]);
        bytes.extend(digest.iter().take(8));
        bytes.extend(self.number);
        bytes.extend(key);
        wrapped(comment, &bytes)
    }

    /// The key that its signatures are verified with.
    pub fn public(&self) -> PublicKey {
        PublicKey {
            number: self.number,
            key: self.pair.public.to_bytes(),
        }
    }

    /// The signed file: what `signify -S -e` writes.
    pub fn sign(&self, message: &str, comment: &str) -> std::string::String {
        let mut bytes = std::vec::Vec::with_capacity(SIGNATURE_BYTES);
        bytes.extend(ALGORITHM);
        bytes.extend(self.number);
        bytes.extend(self.pair.sign(message.as_bytes()).to_bytes());
        wrapped(comment, &bytes) + message
    }
}

#[cfg(feature = "std")]
impl PublicKey {
    /// The text of its key file.
    pub fn file(&self, comment: &str) -> std::string::String {
        wrapped(comment, &self.to_bytes())
    }
}

/// A comment and a line of base64.
#[cfg(feature = "std")]
fn wrapped(comment: &str, bytes: &[u8]) -> std::string::String {
    let mut text = std::format!("untrusted comment: {comment}\n");
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .chain(&[0; 2])
            .take(3)
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        for index in 0..4 {
            let value = (bits >> (18 - 6 * index)) as usize & 63;
            let letter = LETTERS.get(value).copied().unwrap_or(b'A');
            text.push(if index > group.len() {
                '='
            } else {
                char::from(letter)
            });
        }
    }
    text.push('\n');
    text
}
