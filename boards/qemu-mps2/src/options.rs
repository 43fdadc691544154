//! What the person who started QEMU asked for: `-semihosting-config arg=seconds=10`. A run needs no
//! rebuild.

use core::ffi::CStr;
use core::mem::MaybeUninit;

/// The longest path of a state file, its end included.
const PATH: usize = 200;

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
    /// The state file, if anything is to be kept.
    state: heapless::Vec<u8, PATH>,
}

impl Options {
    /// The path of the state file.
    pub fn state(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(&self.state).ok()
    }
}

/// Reads QEMU's command line; unknown words are named in the log and otherwise ignored.
pub fn read() -> Options {
    let mut buffer = [MaybeUninit::uninit(); 512];
    let bytes = semihosting::sys::arm_compat::sys_get_cmdline_uninit(&mut buffer);
    let line = bytes
        .ok()
        .and_then(|bytes| core::str::from_utf8(bytes).ok())
        .unwrap_or_default();
    let mut options = Options::default();
    for word in line.split([' ', '\0']).filter(|word| !word.is_empty()) {
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
            Some(("state", path)) => {
                let path = path.bytes().chain([0]);
                options.state = path.take(PATH).collect();
                true
            }
            _ => false,
        };
        if !known {
            defmt::warn!(
                "option `{=str}` is not known; known: seconds=N skip=true panic=N epoch=SECONDS entropy=HEX state=PATH",
                word
            );
        }
    }
    options
}

/// Bytes of two hexadecimal digits each.
fn bytes_of(digits: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
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
