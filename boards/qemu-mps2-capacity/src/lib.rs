#![no_std]
#![forbid(unsafe_code)]
//! How much the QEMU board's firmware holds. The commands that load it depend on this crate, too:
//! a list that is too long is refused before anything is built or loaded.

/// The board has room for so many pages.
pub const PAGES: usize = 512;
/// The board has room for so many hosts.
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
/// Bytes of the state file of a firmware without updates.
pub const STATE: usize = BLACK_BOX + SECTOR;

/// With updates the file goes on: the boot loader's state, in words of so many bytes.
pub const BOOT_STATE: usize = STATE;
/// Bytes of one of its words.
pub const BOOT_WORD: usize = 8;
/// Bytes of its state: two words, and four for each sector of a slot.
pub const BOOT_STATE_ROOM: usize = 2 * SECTOR;
/// What is known of updates.
pub const JOURNAL: usize = BOOT_STATE + BOOT_STATE_ROOM;
/// The journal takes so many bytes.
pub const JOURNAL_ROOM: usize = 2 * SECTOR;
/// What the device was told by a cable alone.
pub const SETTINGS: usize = JOURNAL + JOURNAL_ROOM;
/// Two halves for page lists that came as updates.
pub const LISTS: usize = SETTINGS + SECTOR;
/// Bytes of a half: an image, and a sector for its header.
pub const LIST_ROOM: usize = IMAGE_ROOM + SECTOR;
/// The slot that the firmware is started from.
pub const ACTIVE: usize = LISTS + 2 * LIST_ROOM;
/// The slot has so many bytes.
pub const ACTIVE_ROOM: usize = 768 * 1024;
/// The slot that a new firmware is put into.
pub const DFU: usize = ACTIVE + ACTIVE_ROOM;
/// Bytes of it: a sector more, so that the two can be swapped.
pub const DFU_ROOM: usize = ACTIVE_ROOM + SECTOR;
/// Bytes of the state file of a firmware with updates.
pub const STATE_WITH_SLOTS: usize = DFU + DFU_ROOM;

/// Where a firmware with updates is linked, and where the boot loader copies it to.
pub const LINKED_AT: usize = 0x1_0000;
