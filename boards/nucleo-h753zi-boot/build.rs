//! Link arguments and memory map.

use linking::{BOOT_LOADER, link};

fn main() {
    let partitions = "../nucleo-h753zi/partitions.x";
    let scripts = [("memory.x", "memory.x"), (partitions, "partitions.x")];
    link(&scripts, &BOOT_LOADER);
}
