//! Link arguments and memory map.

use linking::{FIRMWARE, has, link};

fn main() {
    assert!(
        !(has("update") && has("tls")),
        "found features tls and update for qemu-mps2, expected one of them: there is no memory map \
        for both"
    );
    // With updates the boot loader comes first, and the firmware lies behind it.
    let map = match has("update") {
        true => "memory-update.x",
        false => "../../memory.x",
    };
    let scripts = [(map, "memory.x"), ("device.x", "device.x")];
    link(&scripts, &FIRMWARE);
    // Benches of thousands of pages keep them on the stack: it takes the whole of the machine's 4
    // MB of RAM, while the firmware has to live with what memory.x grants.
    for bin in ["qemu-mps2-suite", "qemu-mps2-bench"] {
        println!("cargo:rustc-link-arg-bin={bin}=--defsym=_stack_start=0x20400000");
    }
}
