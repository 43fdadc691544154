//! Puts `dunlin.x` where the linker of every board looks for it; a board's own build.rs asks for it by `-Tdunlin.x`.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo:rerun-if-changed=dunlin.x");
    fs::copy("dunlin.x", out.join("dunlin.x")).expect("dunlin.x is beside this file");
    println!("cargo:rustc-link-search={}", out.display());
}
