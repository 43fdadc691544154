//! Link arguments and memory maps: each board has its own partitions.

use linking::{BOOT_LOADER, copy, folder, link};

fn main() {
    for board in ["pico2-w", "w5500-evb-pico2"] {
        let folder = folder().join(board);
        std::fs::create_dir_all(&folder).expect("cargo's own folder can be written");
        let partitions = format!("../{board}/partitions.x");
        copy(&partitions, &folder.join("partitions.x"));
        println!(
            "cargo:rustc-link-arg-bin={board}-boot=-L{}",
            folder.display()
        );
    }
    let scripts = [("memory.x", "memory.x"), ("../common/rp2350.x", "rp2350.x")];
    link(&scripts, &BOOT_LOADER);
}
