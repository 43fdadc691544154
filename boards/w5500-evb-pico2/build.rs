//! Link arguments and memory map.

use linking::{FIRMWARE, has, link};

fn main() {
    // With https the firmware is larger, and what lies behind it begins later; with updates there
    // is room for two of them. Two with https would need slots of 572 KiB, and so a map and a boot
    // loader of their own.
    if has("fleet") && has("update") {
        panic!(
            "found features fleet and update for w5500-evb-pico2, expected one of them: \
            memory-update.x has no place for a planner's lists"
        );
    }
    if has("discover") && (has("update") || has("tls") || has("fleet")) {
        panic!(
            "found feature discover with tls, update or fleet for w5500-evb-pico2, expected it \
            without them: only memory.x has a place for URLs that are found, and a fleet's lists \
            have it otherwise"
        );
    }
    let map = match (has("update"), has("tls")) {
        (true, true) => panic!(
            "found features tls and update for w5500-evb-pico2, expected one of them: \
            its slots have 376 KiB, and an image with https takes more"
        ),
        (true, false) => "memory-update.x",
        (false, true) => "memory-tls.x",
        (false, false) => "memory.x",
    };
    let scripts = [(map, "memory.x"), ("partitions.x", "partitions.x")];
    link(&scripts, &FIRMWARE);
}
