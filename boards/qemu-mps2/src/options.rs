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

/// Run-time options.
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
    /// It panics.
    Panic,
    /// It hangs.
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
        let known = match word.split_once('=') {
            Some(("seconds", number)) => number
                .parse()
                .map(|number| options.seconds = Some(number))
                .is_ok(),
            Some(("skip", word)) => word.parse().map(|skip| options.skip = skip).is_ok(),
            Some(("panic", number)) => number
                .parse()
                .map(|number| options.panic = Some(number))
                .is_ok(),
            Some(("epoch", number)) => number
                .parse()
                .map(|number| options.epoch = Some(number))
                .is_ok(),
            Some(("entropy", digits)) => {
                options.entropy = bytes_of(digits);
                options.entropy.is_some()
            }
            // A secret: not in the page image, which is no place for one.
            #[cfg(feature = "collect")]
            Some(("token", token)) => token.try_into().map(|token| options.token = token).is_ok(),
            #[cfg(feature = "headers")]
            Some(("headers", digits)) => {
                options.headers = text_of(digits);
                !options.headers.is_empty()
            }
            Some(("state", path)) => {
                options.state = Path::new(path);
                options.state.is_some()
            }
            #[cfg(feature = "update")]
            Some(named) => options.of_updates(named),
            _ => false,
        };
        if !known {
            defmt::warn!(
                "option `{=str}` is not known; known: seconds=N skip=true panic=N epoch=SECONDS entropy=HEX state=PATH, and with updates look=SECONDS trial=LEAST-MOST cut=N falls=BUILD:panic|hang|mute",
                word
            );
        }
    });
    options
}

#[cfg(feature = "update")]
impl Options {
    /// Takes an option that is about updates; false if it is none.
    fn of_updates(&mut self, (name, value): (&str, &str)) -> bool {
        match name {
            "look" => self.look = value.parse().ok(),
            "trial" => {
                let range = value.split_once('-');
                self.trial =
                    range.and_then(|(least, most)| Some((least.parse().ok()?, most.parse().ok()?)));
            }
            "falls" => {
                let parts = value.split_once(':');
                self.falls = parts.and_then(|(build, how)| {
                    let how = match how {
                        "panic" => Fall::Panic,
                        "hang" => Fall::Hang,
                        "mute" => Fall::Mute,
                        _ => return None,
                    };
                    Some((u64::from_be_bytes(bytes_of(build)?), how))
                });
            }
            // The boot loader heeds it, too, and counts from there on.
            "cut" => qemu_mps2_flash::nor::cut_at(value.parse().unwrap_or(0)),
            _ => return false,
        }
        true
    }
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
    let pairs = digits.as_bytes().chunks_exact(2);
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        let pair = core::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}
