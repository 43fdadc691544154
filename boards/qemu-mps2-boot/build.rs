//! Link arguments and memory map.

use linking::{BOOT_LOADER, link};

fn main() {
    link(&[("memory.x", "memory.x")], &BOOT_LOADER);
}
