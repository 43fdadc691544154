//! What the person who started QEMU asked for: `-semihosting-config arg=seconds=10`. A run needs no rebuild.

use core::mem::MaybeUninit;

/// Run-time options.
#[derive(Clone, Copy, Debug, Default, defmt::Format)]
pub struct Options {
    /// End with a summary after this many seconds; without it, run on.
    pub seconds: Option<u32>,
}

/// Reads QEMU's command line; unknown words are named in the log and otherwise ignored.
pub fn read() -> Options {
    let mut buffer = [MaybeUninit::uninit(); 256];
    let bytes = semihosting::sys::arm_compat::sys_get_cmdline_uninit(&mut buffer);
    let line = bytes.ok().and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default();
    let mut options = Options::default();
    for word in line.split([' ', '\0']).filter(|word| !word.is_empty()) {
        match word.strip_prefix("seconds=").map(str::parse) {
            Some(Ok(seconds)) => options.seconds = Some(seconds),
            _ => defmt::warn!("option `{=str}` is not known; known: seconds=N", word),
        }
    }
    options
}
