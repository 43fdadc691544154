//! Link arguments and memory map. They are here and not in `.cargo/config.toml` because `RUSTFLAGS`
//! would replace those silently: the build would succeed and the firmware crash at its first
//! instruction.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let has = |feature: &str| env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    assert!(
        !(has("UPDATE") && has("TLS")),
        "found features tls and update for qemu-mps2, expected one of them: there is no memory map \
        for both"
    );
    // With updates the boot loader comes first, and the firmware lies behind it.
    let map = match has("UPDATE") {
        true => "memory-update.x",
        false => "../../memory.x",
    };
    copy(map, &out.join("memory.x"));
    copy("device.x", &out.join("device.x"));
    println!("cargo:rustc-link-search={}", out.display());
    for argument in [
        "--nmagic",
        "-Tlink.x",
        "-Tdefmt.x",
        "-Tdunlin.x",
        "--build-id=sha1",
    ] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
    // Benches of thousands of pages keep them on the stack: it takes the whole of the machine's 4
    // MB of RAM, while the firmware has to live with what memory.x grants.
    for bin in ["qemu-mps2-suite", "qemu-mps2-bench"] {
        println!("cargo:rustc-link-arg-bin={bin}=--defsym=_stack_start=0x20400000");
    }
}

fn copy(from: &str, to: &Path) {
    println!("cargo:rerun-if-changed={from}");
    fs::copy(from, to).unwrap_or_else(|error| panic!("copying {from}: {error}"));
}
