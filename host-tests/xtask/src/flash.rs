//! `cargo xtask flash`: firmware and page image onto a board, and a look at what it does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use dunlin_host::error::Error;
use dunlin_host::lists::page_image;
use dunlin_tools::firmware::boards::{Board, Holdings, symbol};
use dunlin_tools::firmware::{self, budgets, uf2};
use dunlin_tools::qemu::page_image::wants_https;
use dunlin_tools::shell::{cargo, check, find, output, say};

use crate::list_arguments::ListArguments;

/// Put the probe and your page list onto a board, and watch it
///
/// Builds the firmware and the page image, writes both with probe-rs through a debug probe, and
/// attaches the monitor. The image lies beside the firmware: a new list needs no new build. Without
/// probe-rs or a probe, it names the files that it built and where they belong.
///
/// No debug probe is needed for boards with an RP2350: hold BOOTSEL down while you plug the USB
/// cable in, and let --uf2 copy one file that has both. The log then comes over USB:
///
///   cargo xtask flash --board w5500-evb-pico2 --pages PAGES.csv --uf2
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Which board: `cargo xtask boards` lists them
    #[arg(long, value_name = "NAME")]
    board: String,
    #[command(flatten)]
    list: ListArguments,
    /// Let the log out another way, too: usb, serial or tcp (port 19021, for everybody in the
    /// network), as far as the board has it (repeatable). Default: usb with --uf2, else none
    #[arg(long, value_name = "WAY")]
    log_over: Vec<String>,
    /// Make a UF2 file of firmware and page list, and copy it onto the board's drive if there is
    /// one
    #[arg(long)]
    uf2: bool,
    /// Write, but do not attach the monitor
    #[arg(long)]
    no_monitor: bool,
}

/// What was built, and where it belongs.
struct Built {
    elf: PathBuf,
    image: PathBuf,
    address: u64,
    /// How often the list is visited, in a line.
    manners: String,
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
    if arguments.uf2 && !board.image_definition {
        let chip = board.chip;
        return Err(Error::Usage(format!(
            "found --uf2 for {}, whose {chip} takes none, expected a board with an RP2350",
            board.name
        ))
        .into());
    }
    let ways = match &arguments.log_over[..] {
        [] if arguments.uf2 => &["usb".to_owned()][..],
        ways => ways,
    };
    let features = board.log_features(ways)?;
    // Before minutes of building.
    board.check_wifi()?;
    let built = build(install, board, &features, &arguments.list)?;
    if arguments.uf2 {
        return hand_over(board, &built, ways, &arguments.list.pages);
    }
    let files = format!(
        "built the firmware {} and the page image {} (for address {:#x})",
        built.elf.display(),
        built.image.display(),
        built.address
    );
    say(&files);
    say(&built.manners);
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
        watch(chip, &built, &arguments.list.monitor_options())
    }
}

fn build(install: bool, board: &Board, features: &[String], list: &ListArguments) -> Result<Built> {
    let (listing, options) = list.read()?;
    let mut features = features.to_vec();
    if wants_https(&listing, &options) {
        features.push(budgets::HTTPS.into());
        features.sort();
    }
    // A board without a budget for it has never been seen to hold it.
    budgets::check_combination(board, &features)?;
    say(format_args!(
        "building the firmware; the first time takes some minutes"
    ));
    let elf = firmware::build_with(install, board, &features)?;
    let holds = Holdings::read(board, &elf)?;
    let (bytes, _) = page_image::build(&listing, &options, holds.capacity())?;
    let address = place(&elf, bytes.len())?;
    let image = elf.with_file_name(format!("{}-pages.bin", board.name));
    fs::write(&image, bytes).with_context(|| format!("cannot write {}", image.display()))?;
    Ok(Built {
        elf,
        image,
        address,
        manners: list.budget().describe(&listing),
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

/// Writes the UF2 file, onto the board's drive if this computer shows it.
fn hand_over(board: &Board, built: &Built, ways: &[String], pages: &Path) -> Result<()> {
    let elf = fs::read(&built.elf)?;
    let image = fs::read(&built.image)?;
    let mut parts = uf2::parts(&elf)?;
    parts.push(uf2::Part {
        address: built.address,
        bytes: &image,
    });
    let bytes = uf2::file(&parts)?;
    let name = format!("{}.uf2", board.name);
    let file = built.elf.with_file_name(&name);
    fs::write(&file, &bytes).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{}", file.display());
    match uf2::drive() {
        Some(drive) => {
            fs::write(drive.join(&name), &bytes)
                .with_context(|| format!("cannot copy {name} to {}", drive.display()))?;
            say(format_args!(
                "copied to {}: the board starts by itself",
                drive.display()
            ));
        }
        None => say(
            "no drive of an RP2350 is there: hold BOOTSEL down, plug the USB cable in, and copy this file onto it",
        ),
    }
    for line in board
        .lines
        .iter()
        .filter(|line| ways.iter().any(|way| way == line.name))
    {
        say(format_args!(
            "watch it: cargo dunlin monitor --elf {} --log {} --pages {}",
            built.elf.display(),
            line.source,
            pages.display()
        ));
    }
    Ok(())
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
fn watch(chip: &str, built: &Built, options: &[String]) -> Result<()> {
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
    monitor.arg(&built.elf).args(options).stdin(log);
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
