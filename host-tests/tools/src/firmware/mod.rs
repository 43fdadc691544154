//! Builds the board's binaries. The working folder matters: cargo reads a board's
//! `.cargo/config.toml` (target, log level) only from there.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::boards::{BOARDS, Board};
use crate::setup::{self, CORTEX_M4F};
use crate::shell::{cargo, check, root};

/// What has a budget: every microcontroller's firmware, which has its board's name, and the fetcher
/// alone.
pub fn images() -> impl Iterator<Item = (&'static str, &'static Board)> {
    let fetcher = BOARDS
        .iter()
        .filter(|board| board.name == BOARD)
        .map(|board| (FETCH, board));
    BOARDS
        .iter()
        .map(|board| (board.name, board))
        .chain(fetcher)
}

/// The emulated board.
pub const BOARD: &str = "qemu-mps2";
/// Runs the on-target suite.
pub const SUITE: &str = "qemu-mps2-suite";
/// The fetcher alone, to be weighed.
pub const FETCH: &str = "qemu-mps2-fetch";
/// The probe on a simulated network.
pub const DAY: &str = "qemu-mps2-day";
/// The probe beside a bare loop.
pub const THROUGHPUT: &str = "qemu-mps2-throughput";
/// Counts instructions.
pub const BENCH: &str = "qemu-mps2-bench";

/// Sequences of instructions that come up again and again are made functions: that takes 2 kB off
/// the firmware whose budget is tight, for four instructions in a hundred more. LLVM does it on its
/// own only for "z", which is larger.
const OUTLINE: &str = "-Cllvm-args=--enable-machine-outliner=always";

/// Builds one binary of the QEMU board for its own core.
pub fn build(install: bool, binary: &str) -> Result<PathBuf> {
    build_for(install, binary, CORTEX_M4F)
}

/// Builds one binary of the QEMU board for `target`; returns the ELF file.
pub fn build_for(install: bool, binary: &str, target: &str) -> Result<PathBuf> {
    build_in(install, BOARD, binary, target)
}

/// Builds one binary of any board for its own core.
pub fn build_board(install: bool, board: &Board, binary: &str) -> Result<PathBuf> {
    build_in(install, board.name, binary, board.target)
}

fn build_in(install: bool, board: &str, binary: &str, target: &str) -> Result<PathBuf> {
    setup::targets(install, &[target])?;
    let board = root().join("boards").join(board);
    let mut build = cargo();
    build
        .current_dir(&board)
        .env("CARGO_ENCODED_RUSTFLAGS", flags());
    build.args([
        "rustc",
        "--quiet",
        "--release",
        "--target",
        target,
        "--bin",
        binary,
    ]);
    if binary == BOARD {
        build.args(["--", OUTLINE]);
    }
    check(&mut build)?;
    let folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "../target".into());
    let folder = board.join(folder);
    let elf = folder.join(target).join("release").join(binary);
    ensure!(
        elf.is_file(),
        "cargo built {binary}, but {} is not there",
        elf.display()
    );
    Ok(elf)
}

/// Warnings are errors. Panic messages contain source paths: where the repository and cargo's home
/// are must not change what is flashed, nor how large it is, and a path that begins with the
/// crate's name says enough: the rest of it would take two kilobytes. (The build identity still
/// differs: it covers symbol names, too.)
fn flags() -> String {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let registries = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok());
    let registries = registries
        .into_iter()
        .flatten()
        .flatten()
        .map(|folder| folder.path());
    let remapped = |from: PathBuf| format!("--remap-path-prefix={}=", from.display());
    let mut flags = vec!["--deny=warnings".to_owned(), remapped(root())];
    flags.extend(registries.map(remapped));
    // Cargo builds everything anew when a flag has moved.
    flags.sort_unstable();
    // The separator that cargo asks for: paths may contain spaces.
    flags.join("\u{1f}")
}
