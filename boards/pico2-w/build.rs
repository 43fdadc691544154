//! Link arguments and memory map.

use linking::{FIRMWARE, has, link};

fn main() {
    // With https the firmware is larger, and what lies behind it begins later; with updates there
    // is room for two of them.
    let map = match (has("update"), has("tls")) {
        (true, _) => "memory-update.x",
        (false, true) => "memory-tls.x",
        (false, false) => "memory.x",
    };
    let scripts = [(map, "memory.x"), ("partitions.x", "partitions.x")];
    link(&scripts, &FIRMWARE);
}
