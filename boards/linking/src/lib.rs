//! What the build scripts of boards share: linker scripts go to where the linker looks for them, and
//! the linker is told to use them.
//!
//! Link arguments are in build scripts and not in `.cargo/config.toml` because `RUSTFLAGS` would
//! replace those silently: the build would succeed and the firmware crash at its first instruction.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// What the linker is told of firmware.
pub const FIRMWARE: [&str; 5] = [
    "--nmagic",
    "-Tlink.x",
    "-Tdefmt.x",
    "-Tdunlin.x",
    "--build-id=sha1",
];

/// What the linker is told of a boot loader, which has no log and no list.
pub const BOOT_LOADER: [&str; 2] = ["--nmagic", "-Tlink.x"];

/// Is this feature of the package on?
pub fn has(feature: &str) -> bool {
    let name = feature.to_uppercase().replace('-', "_");
    env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
}

/// The folder that cargo has for this package.
pub fn folder() -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"))
}

/// Copies a linker script to where it is looked for. Paths of scripts are as seen from the package.
///
/// # Panics
/// It is not there: the build ends, and says which one is missing.
pub fn copy(from: &str, to: &Path) {
    println!("cargo:rerun-if-changed={from}");
    fs::copy(from, to).unwrap_or_else(|error| panic!("copying {from}: {error}"));
}

/// Links all programs of the package with these scripts, by the names that they have here, and with
/// these arguments.
///
/// # Panics
/// A script is not there.
pub fn link(scripts: &[(&str, &str)], arguments: &[&str]) {
    let folder = folder();
    for (from, name) in scripts {
        copy(from, &folder.join(name));
    }
    println!("cargo:rustc-link-search={}", folder.display());
    for argument in arguments {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}
