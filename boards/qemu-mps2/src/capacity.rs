//! How much this firmware holds. xtask reads this file, too: a list that is too long is refused
//! before it is loaded.

#![allow(dead_code)] // xtask has no use for some of it.

/// Pages.
pub const PAGES: usize = 512;
/// Hosts.
pub const HOSTS: usize = 64;
/// Fetches at once.
pub const SLOTS: usize = 3;

/// Bytes of a sector of the state file's flash …
pub const SECTOR: usize = 4096;
/// … and how many the store has.
pub const SECTORS: usize = 128;
/// Where the last good page image is, and how much room it has.
pub const IMAGE: usize = SECTORS * SECTOR;
pub const IMAGE_ROOM: usize = 128 * 1024;
/// Where the black box is.
pub const BLACK_BOX: usize = IMAGE + IMAGE_ROOM;
/// Length of the state file.
pub const STATE: usize = BLACK_BOX + SECTOR;
