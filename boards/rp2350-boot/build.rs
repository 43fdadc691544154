//! Link arguments and memory maps: each board has its own partitions. They are here and not in
//! `.cargo/config.toml` because `RUSTFLAGS` would replace those silently.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    copy("memory.x", &out);
    copy("../common/rp2350.x", &out);
    println!("cargo:rustc-link-search={}", out.display());
    for board in ["pico2-w", "w5500-evb-pico2"] {
        let folder = out.join(board);
        fs::create_dir_all(&folder).expect("cargo's own folder can be written");
        copy(&format!("../{board}/partitions.x"), &folder);
        println!(
            "cargo:rustc-link-arg-bin={board}-boot=-L{}",
            folder.display()
        );
    }
    for argument in ["--nmagic", "-Tlink.x"] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}

fn copy(from: &str, to: &Path) {
    println!("cargo:rerun-if-changed={from}");
    let name = Path::new(from).file_name().expect("a file");
    fs::copy(from, to.join(name)).unwrap_or_else(|error| panic!("copying {from}: {error}"));
}
