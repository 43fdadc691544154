//! Puts linker scripts where the linker of every board looks for them: a board's own build.rs asks
//! for `-Tdunlin.x`, and its memory.x may include its chip's.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for script in ["dunlin.x", "kept.x", "rp2350.x"] {
        println!("cargo:rerun-if-changed={script}");
        fs::copy(script, out.join(script)).expect("linker scripts are beside this file");
    }
    println!("cargo:rustc-link-search={}", out.display());
}
