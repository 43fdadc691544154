//! How much this firmware holds. xtask reads this file, too: a list that is too long is refused before it is loaded.

/// Pages.
pub const PAGES: usize = 512;
/// Hosts.
pub const HOSTS: usize = 64;
/// Fetches at once.
#[allow(dead_code)] // xtask has no use for it.
pub const SLOTS: usize = 3;
