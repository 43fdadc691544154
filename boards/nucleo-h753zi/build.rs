//! Link arguments and memory map.

use linking::{FIRMWARE, has, link};

fn main() {
    // With https the firmware is larger, and what lies behind it begins later; with updates there
    // is room for two, but not for two with https.
    let map = match (has("update"), has("tls"), has("fleet")) {
        (true, true, _) => panic!(
            "found features tls and update for nucleo-h753zi, expected one of them: \
            two images with https do not fit its flash"
        ),
        (true, false, true) => panic!(
            "found features fleet and update for nucleo-h753zi, expected one of them: \
            memory-update.x has no place for a planner's lists"
        ),
        (true, false, false) => "memory-update.x",
        (false, true, true) => "memory-fleet-tls.x",
        (false, true, false) => "memory-tls.x",
        (false, false, true) => "memory-fleet.x",
        (false, false, false) => "memory.x",
    };
    let scripts = [(map, "memory.x"), ("partitions.x", "partitions.x")];
    link(&scripts, &FIRMWARE);
}
