//! `cargo xtask flash`: firmware and page image onto a board, and a look at what it does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use dunlin_host::lists::page_image;
use dunlin_tools::firmware::boards::{Board, Holdings, symbol};
use dunlin_tools::firmware::{self, budgets};
use dunlin_tools::qemu::page_image::wants_https;
use dunlin_tools::shell::{cargo, check, find, output, say};

use crate::list_arguments::ListArguments;

/// Put the probe and your page list onto a board, and watch it
///
/// Builds the firmware and the page image, writes both with probe-rs through a debug probe, and
/// attaches the monitor. The image lies beside the firmware: a new list needs no new build. Without
/// probe-rs or a probe, it names the files that it built and where they belong.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Which board: `cargo xtask boards` lists them
    #[arg(long, value_name = "NAME")]
    board: String,
    #[command(flatten)]
    list: ListArguments,
    /// Write, but do not attach the monitor
    #[arg(long)]
    no_monitor: bool,
}

/// What was built, and where it belongs.
struct Built {
    elf: PathBuf,
    image: PathBuf,
    address: u64,
}

/// Runs the command.
pub fn flash(install: bool, arguments: &Arguments) -> Result<()> {
    let board = Board::named(&arguments.board)?;
    let Some(chip) = board.probe_chip else {
        bail!(
            "found board {}, which is emulated: use `cargo xtask qemu`",
            board.name
        );
    };
    let built = build(install, board, &arguments.list)?;
    let files = format!(
        "built the firmware {} and the page image {} (for address {:#x})",
        built.elf.display(),
        built.image.display(),
        built.address
    );
    say(&files);
    if find("probe-rs").is_none() {
        bail!(
            "nothing was written: probe-rs is not installed (`cargo install probe-rs-tools --locked`); {files}"
        );
    }
    // Its list is for people: a line for each probe, or a sentence that says there is none.
    let probes = output(Command::new("probe-rs").arg("list")).unwrap_or_default();
    if !probes.contains("[0]") {
        bail!("nothing was written: no debug probe is attached (`probe-rs list`); {files}");
    }
    write(chip, &built)?;
    if arguments.no_monitor {
        Ok(())
    } else {
        watch(chip, &built, &arguments.list.pages)
    }
}

fn build(install: bool, board: &Board, list: &ListArguments) -> Result<Built> {
    let (listing, options) = list.read()?;
    let elf = if wants_https(&listing, &options) {
        // A combination without a budget has never been seen to fit.
        let image = budgets::image(&format!("{}+tls", board.name))?;
        firmware::build_image(install, &image)?
    } else {
        board.build(install)?
    };
    let holds = Holdings::read(board, &elf)?;
    let (bytes, _) = page_image::build(&listing, &options, holds.capacity())?;
    let address = place(&elf, bytes.len())?;
    let image = elf.with_file_name(format!("{}-pages.bin", board.name));
    fs::write(&image, bytes).with_context(|| format!("cannot write {}", image.display()))?;
    Ok(Built {
        elf,
        image,
        address,
    })
}

/// Where the image belongs, if it fits.
fn place(elf: &Path, bytes: usize) -> Result<u64> {
    let elf = fs::read(elf)?;
    let file = object::File::parse(&*elf)?;
    let start = symbol(&file, "_image_start")?;
    let end = symbol(&file, "_image_end")?;
    if bytes as u64 > end - start {
        bail!(
            "the page image takes {bytes} bytes, the board has room for {}",
            end - start
        );
    }
    Ok(start)
}

/// The image first: the firmware starts as soon as it is written.
fn write(chip: &str, built: &Built) -> Result<()> {
    let address = format!("{:#x}", built.address);
    let mut image = Command::new("probe-rs");
    image.args([
        "download",
        "--chip",
        chip,
        "--binary-format",
        "bin",
        "--base-address",
        &address,
    ]);
    check(image.arg(&built.image))?;
    check(
        Command::new("probe-rs")
            .args(["download", "--chip", chip])
            .arg(&built.elf),
    )?;
    check(Command::new("probe-rs").args(["reset", "--chip", chip]))
}

/// The monitor, on the log's bytes as the probe reads them.
fn watch(chip: &str, built: &Built, pages: &Path) -> Result<()> {
    let bytes = fs::read(&built.elf)?;
    let log = symbol(&object::File::parse(&*bytes)?, "_SEGGER_RTT")?;
    let mut reader = cargo();
    reader.args([
        "run",
        "--quiet",
        "--release",
        "--manifest-path",
        "host-tests/rtt/Cargo.toml",
        "--",
    ]);
    reader
        .arg(chip)
        .arg(format!("{log:#x}"))
        .stdout(Stdio::piped());
    let mut reader = reader
        .spawn()
        .context("cannot start the reader of the log")?;
    let log = reader
        .stdout
        .take()
        .context("the reader's output is not piped")?;
    let mut monitor = cargo();
    monitor.args([
        "run",
        "--quiet",
        "--package",
        "dunlin-host",
        "--",
        "monitor",
        "--log",
        "-",
        "--elf",
    ]);
    monitor.arg(&built.elf).arg("--pages").arg(pages).stdin(log);
    let status = monitor.status().context("cannot start the monitor");
    // Whoever ends the monitor has seen enough.
    let _ = reader.kill();
    let _ = reader.wait();
    if status?.success() {
        Ok(())
    } else {
        bail!("the monitor failed")
    }
}
