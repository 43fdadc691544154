//! Link arguments: the memory map and the interrupt table come with the board's library.

fn main() {
    for argument in ["--nmagic", "-Tlink.x", "-Tdefmt.x", "-Tdunlin.x"] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}
