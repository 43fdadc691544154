//! Link arguments and memory map. They are here and not in `.cargo/config.toml` because `RUSTFLAGS`
//! would replace those silently: the build would succeed and the firmware crash at its first
//! instruction.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // With https the firmware is larger, and what lies behind it begins later; with updates there
    // is room for two, but not for two with https.
    let has = |feature: &str| env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let map = match (has("UPDATE"), has("TLS"), has("FLEET")) {
        (true, true, _) => panic!(
            "found features tls and update for nucleo-h753zi, expected one of them: \
            two images with https do not fit its flash"
        ),
        (true, _, true) | (_, true, true) => panic!(
            "found feature fleet with tls or update for nucleo-h753zi, expected it without them: \
            only memory-fleet.x has a place for a planner's lists"
        ),
        (true, false, false) => "memory-update.x",
        (false, true, false) => "memory-tls.x",
        (false, false, true) => "memory-fleet.x",
        (false, false, false) => "memory.x",
    };
    for (from, to) in [(map, "memory.x"), ("partitions.x", "partitions.x")] {
        println!("cargo:rerun-if-changed={from}");
        fs::copy(from, out.join(to)).expect("memory maps are beside this file");
    }
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
