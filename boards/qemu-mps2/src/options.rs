//! What the person who started QEMU asked for: `-semihosting-config arg=seconds=10`. A run needs no
//! rebuild.

use core::ffi::CStr;

use qemu_mps2_flash::Path;

/// The longest token of a collector.
#[cfg(feature = "collect")]
const TOKEN: usize = 64;

/// The longest headers: half of what the command line holds.
#[cfg(feature = "headers")]
pub const HEADERS: usize = 192;

/// What QEMU's command line tells the firmware.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// End with a summary after this many seconds; without it, run on.
    pub seconds: Option<u32>,
    /// Let time pass only while nothing is to be done.
    pub skip: bool,
    /// Panic after this many seconds: to see what comes of it.
    pub panic: Option<u32>,
    /// The date at the start, in seconds since 1970: as if the machine had a clock.
    pub epoch: Option<u64>,
    /// What random numbers are made of, for lack of a generator: for tests only.
    pub entropy: Option<[u8; 32]>,
    /// Seconds between two looks for updates.
    #[cfg(feature = "update")]
    pub look: Option<u32>,
    /// The least and the most seconds of a trial.
    #[cfg(feature = "update")]
    pub trial: Option<(u32, u32)>,
    /// The build that falls, and how: for tests of what comes of it.
    #[cfg(feature = "update")]
    pub falls: Option<(u64, Fall)>,
    /// What the collector knows the probe by; empty for none.
    #[cfg(feature = "collect")]
    pub token: heapless::String<TOKEN>,
    /// Headers for single hosts; empty for none.
    #[cfg(feature = "headers")]
    pub headers: heapless::String<HEADERS>,
    /// The state file, if anything is to be kept.
    state: Option<Path>,
}

/// How a build falls that was told to.
#[cfg(feature = "update")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fall {
    /// The firmware panics where its work would begin.
    Panic,
    /// The firmware hangs there, until the watchdog bites.
    Hang,
    /// It never has a network.
    Mute,
}

impl Options {
    /// The path of the state file.
    pub fn state(&self) -> Option<&CStr> {
        self.state.as_ref()?.as_c_str()
    }
}

/// Reads QEMU's command line; unknown words are named in the log and otherwise ignored.
pub fn read() -> Options {
    let mut options = Options::default();
    qemu_mps2_flash::options(|word| {
        let named = parts(word, '=');
        if !named.is_some_and(|(name, value)| options.take(name, value)) {
            defmt::warn!(
                "option `{=str}` is not known; known: seconds=N skip=true panic=N epoch=SECONDS entropy=HEX state=PATH, and with updates look=SECONDS trial=LEAST-MOST cut=N falls=BUILD:panic|hang|mute",
                word
            );
        }
    });
    options
}

impl Options {
    /// Takes one option; false if there is none of this name, or its value makes no sense.
    fn take(&mut self, name: &str, value: &str) -> bool {
        let number = number(value);
        let small = number.and_then(|number| u32::try_from(number).ok());
        let mut is_known = small.is_some();
        match name {
            "seconds" => self.seconds = small,
            "skip" => {
                self.skip = value == "true";
                is_known = self.skip || value == "false";
            }
            "panic" => self.panic = small,
            "epoch" => {
                self.epoch = number;
                is_known = number.is_some();
            }
            "entropy" => {
                self.entropy = bytes_of(value);
                is_known = self.entropy.is_some();
            }
            // A secret: not in the page image, which is no place for one.
            #[cfg(feature = "collect")]
            "token" => is_known = value.try_into().map(|token| self.token = token).is_ok(),
            #[cfg(feature = "headers")]
            "headers" => {
                self.headers = text_of(value);
                is_known = !self.headers.is_empty();
            }
            "state" => {
                self.state = Path::new(value);
                is_known = self.state.is_some();
            }
            #[cfg(feature = "update")]
            "look" => self.look = small,
            // The boot loader heeds it, too, and counts from there on.
            #[cfg(feature = "update")]
            "cut" => qemu_mps2_flash::nor::cut_at(small.unwrap_or(0)),
            #[cfg(feature = "update")]
            "trial" => {
                self.trial = range(value);
                is_known = self.trial.is_some();
            }
            #[cfg(feature = "update")]
            "falls" => {
                self.falls = fall(value);
                is_known = self.falls.is_some();
            }
            _ => is_known = false,
        }
        is_known
    }
}

/// What is before a sign, and what is behind it.
#[inline(never)] // Once for all signs.
fn parts(text: &str, sign: char) -> Option<(&str, &str)> {
    text.split_once(sign)
}

#[inline(never)] // Once for all options.
fn number(digits: &str) -> Option<u64> {
    digits.parse().ok()
}

/// `3-40`: the least and the most.
#[cfg(feature = "update")]
fn range(value: &str) -> Option<(u32, u32)> {
    let (least, most) = parts(value, '-')?;
    Some((
        number(least)?.try_into().ok()?,
        number(most)?.try_into().ok()?,
    ))
}

/// `0011223344556677:hang`: which build falls, and how.
#[cfg(feature = "update")]
fn fall(value: &str) -> Option<(u64, Fall)> {
    let (build, how) = parts(value, ':')?;
    let how = match how {
        "panic" => Fall::Panic,
        "hang" => Fall::Hang,
        "mute" => Fall::Mute,
        _ => return None,
    };
    Some((u64::from_be_bytes(bytes_of(build)?), how))
}

/// Text whose bytes are two hexadecimal digits each: a word of the command line has no spaces.
/// Empty if it is none, or too long.
#[cfg(feature = "headers")]
fn text_of(digits: &str) -> heapless::String<HEADERS> {
    let mut bytes = heapless::Vec::<u8, HEADERS>::new();
    for pair in digits.as_bytes().chunks(2) {
        let pair = core::str::from_utf8(pair).unwrap_or_default();
        let byte = u8::from_str_radix(pair, 16).unwrap_or_default();
        if bytes.push(byte).is_err() {
            return heapless::String::new();
        }
    }
    heapless::String::from_utf8(bytes).unwrap_or_default()
}

/// Bytes of two hexadecimal digits each.
fn bytes_of<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    fill(digits, &mut bytes).then_some(bytes)
}

/// Fills `bytes`; false if these are not as many digits.
#[inline(never)] // Once for all lengths.
fn fill(digits: &str, bytes: &mut [u8]) -> bool {
    let mut left = digits.bytes();
    for byte in bytes {
        for _ in 0..2 {
            let digit = left.next().and_then(|digit| char::from(digit).to_digit(16));
            let Some(digit) = digit else { return false };
            *byte = *byte << 4 | digit as u8;
        }
    }
    left.next().is_none()
}
