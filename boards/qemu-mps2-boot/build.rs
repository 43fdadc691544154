//! Link arguments and memory map. They are here and not in `.cargo/config.toml` because `RUSTFLAGS`
//! would replace those silently.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo:rerun-if-changed=memory.x");
    fs::copy("memory.x", out.join("memory.x")).expect("the memory map is beside this file");
    println!("cargo:rustc-link-search={}", out.display());
    for argument in ["--nmagic", "-Tlink.x"] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}
