#![no_std]
//! A file of the computer as the flash of QEMU's mps2-an386, through semihosting: what is in it
//! outlives QEMU. The boot loader and the firmware share it.
//!
//! - [`file`] is the file itself, which takes any byte at any time.
//! - [`nor`] is the file as a NOR flash, whose words are written once between two erases, and whose
//!   power can be cut at any operation.
//! - [`kept`] is RAM that a reset leaves alone.

pub mod file;
pub mod kept;
pub mod nor;

use core::ffi::CStr;

/// The longest path of a state file, its end included.
pub const LONGEST_PATH: usize = 200;

/// A path with its end, for the computer.
#[derive(Clone, Debug)]
pub struct Path([u8; LONGEST_PATH]);

impl Path {
    /// Of text; `None` if that is too long.
    pub fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; LONGEST_PATH];
        let (room, _) = bytes.split_at_mut_checked(text.len())?;
        room.copy_from_slice(text.as_bytes());
        let path = Self(bytes);
        path.as_c_str().is_some().then_some(path)
    }

    /// As the computer wants it.
    pub fn as_c_str(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(&self.0).ok()
    }
}

/// Hands each word of QEMU's command line to `take`: `name=value`.
pub fn options(mut take: impl FnMut(&str)) {
    let mut buffer = [core::mem::MaybeUninit::uninit(); 512];
    let bytes = semihosting::sys::arm_compat::sys_get_cmdline_uninit(&mut buffer);
    let line = bytes
        .ok()
        .and_then(|bytes| core::str::from_utf8(bytes).ok())
        .unwrap_or_default();
    for word in line.split([' ', '\0']).filter(|word| !word.is_empty()) {
        take(word);
    }
}
