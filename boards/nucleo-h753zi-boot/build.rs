//! Link arguments and memory map. They are here and not in `.cargo/config.toml` because `RUSTFLAGS`
//! would replace those silently.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for from in ["memory.x", "../nucleo-h753zi/partitions.x"] {
        println!("cargo:rerun-if-changed={from}");
        let name = Path::new(from).file_name().expect("a file");
        fs::copy(from, out.join(name)).unwrap_or_else(|error| panic!("copying {from}: {error}"));
    }
    println!("cargo:rustc-link-search={}", out.display());
    for argument in ["--nmagic", "-Tlink.x"] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}
