#![no_std]
#![forbid(unsafe_code)]
//! How much the QEMU board's firmware holds. The commands that load it depend on this crate, too:
//! a list that is too long is refused before anything is built or loaded.

/// Pages it knows.
pub const PAGES: usize = 512;
/// Hosts it knows.
pub const HOSTS: usize = 64;
/// Fetches that run at the same time.
pub const SLOTS: usize = 3;

/// Bytes of a sector of the flash that the state file stands for.
pub const SECTOR: usize = 4096;
/// Sectors of the store.
pub const SECTORS: usize = 128;
/// Where the last good page image begins.
pub const IMAGE: usize = SECTORS * SECTOR;
/// Bytes set apart for that image.
pub const IMAGE_ROOM: usize = 128 * 1024;
/// Where the black box begins.
pub const BLACK_BOX: usize = IMAGE + IMAGE_ROOM;
/// Bytes of the state file.
pub const STATE: usize = BLACK_BOX + SECTOR;
