//! Packs the public roots for flash: `src/roots.rs` reads what is written here.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut packed = Vec::new();
    for root in webpki_roots::TLS_SERVER_ROOTS {
        let constraints = root.name_constraints.as_deref().unwrap_or_default();
        let parts = [&*root.subject, &*root.subject_public_key_info, constraints];
        for part in parts {
            let length = u16::try_from(part.len()).expect("a root's parts are short");
            packed.extend(length.to_le_bytes());
        }
        packed.extend(parts.concat());
    }
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where"));
    fs::write(folder.join("roots.bin"), packed).expect("cargo's folder can be written");
}
