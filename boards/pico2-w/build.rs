//! Link arguments, memory map, and the network to join.
//!
//! Link arguments are here and not in `.cargo/config.toml` because `RUSTFLAGS` would replace those
//! silently: the build would succeed and the firmware crash at its first instruction.

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
    wifi();
}

/// Hands the network's name and password to the firmware: from the environment, or else from
/// `wifi.txt` (a line each), which git ignores. Without either the firmware builds, and says at
/// boot what is missing.
fn wifi() {
    println!("cargo:rerun-if-changed=wifi.txt");
    let file = fs::read_to_string("wifi.txt").unwrap_or_default();
    let mut lines = file.lines();
    for name in ["DUNLIN_WIFI_NETWORK", "DUNLIN_WIFI_PASSWORD"] {
        println!("cargo:rerun-if-env-changed={name}");
        let line = lines.next().unwrap_or_default().to_owned();
        println!("cargo:rustc-env={name}={}", env::var(name).unwrap_or(line));
    }
}
