//! Link arguments and memory map. They are here and not in `.cargo/config.toml` because `RUSTFLAGS`
//! would replace those silently: the build would succeed and the firmware crash at its first
//! instruction.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // With https the firmware is larger, and what lies behind it begins later.
    let map = match env::var_os("CARGO_FEATURE_TLS") {
        Some(_) => "memory-tls.x",
        None => "memory.x",
    };
    println!("cargo:rerun-if-changed={map}");
    fs::copy(map, out.join("memory.x")).expect("memory maps are beside this file");
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
}
