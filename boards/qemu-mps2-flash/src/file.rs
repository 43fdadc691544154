//! The open file. There is one, and it stays open.

use core::ffi::CStr;
use core::sync::atomic::{AtomicI32, Ordering};

use semihosting::fd::BorrowedFd;
use semihosting::sys::arm_compat::{
    OpenMode, sys_flen, sys_open, sys_read_orig, sys_seek, sys_write_orig,
};

static FILE: AtomicI32 = AtomicI32::new(NONE);
/// Standard input, which is no file of ours; zero, so that the variable costs no flash.
const NONE: i32 = 0;

/// The computer did not do as it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileError;

/// Opens the file that QEMU was started with. Call once.
///
/// # Errors
/// It is not there, or shorter than this.
pub fn open(path: &CStr, length: usize) -> Result<(), FileError> {
    let file = sys_open(path, OpenMode::RDWR_BINARY).map_err(|_| FileError)?;
    FILE.store(file.into_raw_fd(), Ordering::Relaxed);
    let long_enough = self::length()? >= length;
    if long_enough { Ok(()) } else { Err(FileError) }
}

/// Bytes of the file.
///
/// # Errors
/// [`FileError`]
pub fn length() -> Result<usize, FileError> {
    with(|file| sys_flen(file).map_err(|_| FileError))
}

fn with<T>(work: impl FnOnce(BorrowedFd<'_>) -> Result<T, FileError>) -> Result<T, FileError> {
    let file = FILE.load(Ordering::Relaxed);
    if file == NONE {
        return Err(FileError);
    }
    // SAFETY: `open` put it there, and nobody closes it.
    work(unsafe { BorrowedFd::borrow_raw(file) })
}

fn seek(file: BorrowedFd<'_>, offset: usize) -> Result<(), FileError> {
    // SAFETY: within the file, whose length was checked when it was opened, or at its end: all
    // callers stay below that, but for notes, which follow one another.
    unsafe { sys_seek(file, offset) }.map_err(|_| FileError)
}

/// Reads from this byte of the file on.
///
/// # Errors
/// [`FileError`]
pub fn read(offset: usize, bytes: &mut [u8]) -> Result<(), FileError> {
    with(|file| {
        seek(file, offset)?;
        // What is left to read: nothing.
        if matches!(sys_read_orig(file, bytes), Ok(0)) {
            Ok(())
        } else {
            Err(FileError)
        }
    })
}

/// Writes from this byte of the file on.
///
/// # Errors
/// [`FileError`]
pub fn write(offset: usize, bytes: &[u8]) -> Result<(), FileError> {
    with(|file| {
        seek(file, offset)?;
        if matches!(sys_write_orig(file, bytes), Ok(0)) {
            Ok(())
        } else {
            Err(FileError)
        }
    })
}
