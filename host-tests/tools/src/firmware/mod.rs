//! Boards' images: built here, weighed and checked in the modules. The working folder matters:
//! cargo reads a board's `.cargo/config.toml` (target, log level) only from there.

pub mod boards;
pub mod budgets;
pub mod flash;
pub mod keys;
pub mod layout;
pub mod modules;
pub mod panics;
pub mod sizes;
pub mod stamp;
pub mod told;
pub mod uf2;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::firmware::boards::{BOARDS, Board};
use crate::firmware::budgets::{DISCOVER, HINTS, HTTPS, Image, Rows};
use crate::setup::{self, CORTEX_M0, CORTEX_M4F};
use crate::shell::{cargo, check, output, quiet, root};

/// The emulated board, and its firmware.
pub const BOARD: &str = "qemu-mps2";
/// The binary that runs the on-target suite.
pub const SUITE: &str = "qemu-mps2-suite";
/// The binary that runs the probe on a simulated network.
pub const DAY: &str = "qemu-mps2-day";
/// The binary in which the probe and a bare loop take turns.
pub const THROUGHPUT: &str = "qemu-mps2-throughput";
/// The binary that counts instructions.
pub const BENCH: &str = "qemu-mps2-bench";

/// The crate of the QEMU board's boot loader, and its binary.
pub const BOOT_LOADER: &str = "qemu-mps2-boot";

/// The binary that counts what TLS costs.
const TLS_BENCH: &str = "qemu-mps2-tls-bench";

/// The binary that counts what finding pages costs.
const DISCOVER_BENCH: &str = "qemu-mps2-discover-bench";

/// Sequences of instructions that come up again and again are made functions: that takes 2 kB off
/// the firmware whose budget is tight, for four instructions in a hundred more. LLVM does it on its
/// own only for "z", which is larger.
const OUTLINE: &str = "-Cllvm-args=--enable-machine-outliner=always";

/// SHA-512 in a loop instead of unrolled: 32 kB less of a firmware that speaks https. The one place
/// where this is said: flags of a `.cargo/config.toml` would be replaced by these.
const COMPACT: [&str; 2] = [
    "--cfg=sha2_backend=\"soft\"",
    "--cfg=sha2_backend_soft=\"compact\"",
];

/// Set when every image of [`build_all`] has just been built: then cargo is not asked again, which
/// would wait for whoever else compiles for boards.
pub const IS_BUILT: &str = "XTASK_FIRMWARE_IS_BUILT";

/// Builds one binary of the QEMU board for its own core.
pub fn build(install: bool, binary: &str) -> Result<PathBuf> {
    build_for(install, binary, CORTEX_M4F)
}

/// Builds one binary of the QEMU board for `target`; returns the ELF file.
pub fn build_for(install: bool, binary: &str, target: &str) -> Result<PathBuf> {
    build_in(install, BOARD, binary, target, &[])
}

/// Builds the QEMU board's firmware with some of its features.
pub fn build_firmware(install: bool, features: &[String]) -> Result<PathBuf> {
    build_in(install, BOARD, BOARD, CORTEX_M4F, features)
}

/// Builds the QEMU board's firmware with https.
pub fn build_https_firmware(install: bool) -> Result<PathBuf> {
    build_firmware(install, &[HTTPS.to_owned()])
}

/// Builds the QEMU board's boot loader.
pub fn build_boot_loader(install: bool) -> Result<PathBuf> {
    build_in(install, BOOT_LOADER, BOOT_LOADER, CORTEX_M4F, &[])
}

/// Builds the boot loader of any board.
pub fn build_boot_loader_of(install: bool, board: &Board) -> Result<PathBuf> {
    let binary = board.boot_binary();
    build_in(install, board.boot_loader, &binary, board.target, &[])
}

/// Builds the binary that counts what TLS costs.
pub fn build_tls_bench(install: bool) -> Result<PathBuf> {
    build_in(install, BOARD, TLS_BENCH, CORTEX_M4F, &[HTTPS.to_owned()])
}

/// Builds the binary that counts what finding pages and listening to hosts costs.
pub fn build_discover_bench(install: bool) -> Result<PathBuf> {
    let features = [DISCOVER, HINTS].map(str::to_owned);
    build_in(install, BOARD, DISCOVER_BENCH, CORTEX_M4F, &features)
}

/// Builds one binary of any board for its own core.
pub fn build_board(install: bool, board: &Board, binary: &str) -> Result<PathBuf> {
    build_in(install, board.name, binary, board.target, &[])
}

/// Builds the firmware of any board with some of the board's features, to be let out: it believes
/// no date before its commit. Others know a fixed one, so that not every commit builds them anew.
pub fn build_with(install: bool, board: &Board, features: &[String]) -> Result<PathBuf> {
    let date = commit_time(&root());
    let date = date.as_deref();
    build_dated(
        install,
        board.name,
        board.name,
        board.target,
        features,
        date,
    )
}

/// When the commit that is checked out in a folder was made, in seconds since 1970; `None` without
/// git.
fn commit_time(folder: &Path) -> Option<String> {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["log", "-1", "--format=%ct"]);
    let seconds = output(&mut git)?.trim().to_owned();
    seconds.parse::<u64>().is_ok().then_some(seconds)
}

/// Builds an image that has a budget.
pub fn build_image(install: bool, image: &Image) -> Result<PathBuf> {
    let board = image.board;
    // Boot loaders are crates of their own.
    let folder = match image.is_boot_loader() {
        true => board.boot_loader,
        false => board.name,
    };
    build_in(
        install,
        folder,
        &image.binary,
        board.target,
        &image.features,
    )
}

/// Builds all that tests look at: the images of these rows, suites, and the QEMU board's other
/// binaries. What has no flags of its own is compiled side by side.
pub fn build_all(install: bool, rows: Rows) -> Result<()> {
    let images = budgets::images(rows)?;
    // Those with features first: cargo puts them where the plain ones belong.
    for image in images.iter().filter(|image| !image.features.is_empty()) {
        build_image(install, image)?;
    }
    for board in BOARDS {
        setup::targets(install, &[board.target])?;
        let of_board = |image: &&Image| image.board.name == board.name && image.features.is_empty();
        let mut binaries: Vec<String> = images
            .iter()
            .filter(of_board)
            .map(|image| image.binary.clone())
            .collect();
        binaries.retain(|binary| *binary != board.boot_binary());
        binaries.push(board.suite());
        if board.name == BOARD {
            binaries.extend([DAY, BENCH].map(str::to_owned));
            binaries.retain(|binary| binary != BOARD);
        }
        let mut build = cargo_in(board.name);
        build.arg("build").args(quiet());
        build.args(["--release", "--target", board.target]);
        for binary in binaries {
            build.args(["--bin", &binary]);
        }
        check(&mut build)?;
    }
    for board in BOARDS {
        build_boot_loader_of(install, board)?;
    }
    build_examples(install)?;
    build(install, BOARD)?;
    build_for(install, BENCH, CORTEX_M0)?;
    Ok(())
}

/// The firmware of `boards/examples`, which shows others how to write theirs.
fn build_examples(install: bool) -> Result<()> {
    setup::targets(install, &[CORTEX_M4F])?;
    let mut build = cargo_in("examples");
    build.arg("build").args(quiet());
    build.args(["--release", "--target", CORTEX_M4F]);
    for example in ["example-embassy-net", "example-reqwless"] {
        build.args(["--package", example]);
    }
    check(&mut build)
}

/// Builds one of them.
pub fn build_example(install: bool, name: &str) -> Result<PathBuf> {
    let elf = built_in("examples", CORTEX_M4F).join(name);
    if std::env::var_os(IS_BUILT).is_none() || !elf.is_file() {
        build_examples(install)?;
    }
    Ok(elf)
}

/// Where cargo puts what it builds in a board's folder.
fn built_in(board: &str, target: &str) -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "../target".into());
    let folder = root().join("boards").join(board).join(folder);
    folder.join(target).join("release")
}

/// Cargo in a board's folder, with the flags of all its images.
fn cargo_in(board: &str) -> Command {
    let mut command = cargo();
    command
        .current_dir(root().join("boards").join(board))
        .env("CARGO_ENCODED_RUSTFLAGS", flags());
    command
}

fn build_in(
    install: bool,
    board: &str,
    binary: &str,
    target: &str,
    features: &[String],
) -> Result<PathBuf> {
    build_dated(install, board, binary, target, features, None)
}

fn build_dated(
    install: bool,
    board: &str,
    binary: &str,
    target: &str,
    features: &[String],
    date: Option<&str>,
) -> Result<PathBuf> {
    let folder = built_in(board, target);
    let mut name = vec![binary];
    name.extend(features.iter().map(String::as_str));
    let elf = folder.join(name.join("+"));
    if std::env::var_os(IS_BUILT).is_none() || !elf.is_file() {
        setup::targets(install, &[target])?;
        let mut build = cargo_in(board);
        build.arg("rustc").args(quiet());
        build.envs(date.map(|date| ("SOURCE_DATE_EPOCH", date)));
        build.args(["--release", "--target", target]);
        build.args(["--bin", binary]);
        if !features.is_empty() {
            build.arg("--features").arg(features.join(","));
        }
        // With https there is room enough, and cryptography has to be fast.
        if binary == BOARD && !features.iter().any(|feature| feature == HTTPS) {
            build.args(["--", OUTLINE]);
        }
        check(&mut build)?;
        // Cargo has one place for a binary, whatever its features.
        if !features.is_empty() {
            fs::copy(folder.join(binary), &elf)
                .with_context(|| format!("cannot write {}", elf.display()))?;
        }
    }
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
    flags.extend(COMPACT.map(str::to_owned));
    flags.extend(registries.map(remapped));
    // Cargo builds everything anew when a flag has moved.
    flags.sort_unstable();
    // The separator that cargo asks for: paths may contain spaces.
    flags.join("\u{1f}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_has_a_time_and_a_folder_without_git_has_none() {
        let seconds = commit_time(&root()).and_then(|seconds| seconds.parse().ok());
        if root().join(".git").exists() {
            assert!(seconds > Some(1_767_225_600_u64), "{seconds:?}");
        }
        assert_eq!(commit_time(Path::new("/")), None);
    }
}
