//! `cargo xtask flash`: firmware and page image onto a board, and a look at what it does.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use boot_chain::NOTHING_TO_DO;
use clap::Args;
use dunlin_host::board::own::OwnFields;
use dunlin_host::error::Error;
use dunlin_host::lists::page_image;
use dunlin_tools::firmware::boards::{Board, Holdings, symbol};
use dunlin_tools::firmware::stamp::{Keys, stamp};
use dunlin_tools::firmware::told::Told;
use dunlin_tools::firmware::{self, budgets, uf2};
use dunlin_tools::qemu::page_image::features as features_of;
use dunlin_tools::shell::{cargo, check, find, output, say, words};

use crate::list_arguments::ListArguments;
use crate::release::default_keys;

/// Put the probe and your page list onto a board, and watch it
///
/// Builds the firmware and the page image, writes both with probe-rs through a debug probe, and
/// attaches the monitor. The image lies beside the firmware: a new list needs no new build. Without
/// probe-rs or a probe, it names the files that it built and where they belong. With --update-url, a
/// boot loader comes before the firmware, which takes signed updates from then on.
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
    /// What this device alone is told, in lines of `KEY = VALUE`: wifi-network, wifi-password,
    /// update-url, collector-token, broker, broker-user, broker-password, header (an origin, a space, headers).
    /// Neither firmware nor page list
    /// holds it
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// With --update-url: the public keys that the firmware trusts [default: boards/keys]
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// Write, but do not attach the monitor
    #[arg(long)]
    no_monitor: bool,
}

/// What was built, and where it belongs.
struct Built {
    elf: PathBuf,
    image: PathBuf,
    address: u64,
    /// What comes before a firmware with updates.
    boot: Option<Boot>,
    /// What the device is told, and where that belongs.
    settings: Option<(PathBuf, u64)>,
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
    let mut told = Told::read(board, arguments.settings.as_deref())?;
    if let Some(place) = arguments.list.join.place()? {
        told = told.with_fleet(place)?;
    }
    let built = build(install, board, &features, arguments, told)?;
    if arguments.uf2 {
        return hand_over(board, &built, ways, &arguments.list.monitor_options());
    }
    let mut files = format!(
        "built the firmware {} and the page image {} (for address {:#x})",
        built.elf.display(),
        built.image.display(),
        built.address
    );
    if let Some(boot) = &built.boot {
        files += &format!(", and the boot loader {}", boot.elf.display());
    }
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

fn build(
    install: bool,
    board: &Board,
    features: &[String],
    arguments: &Arguments,
    mut told: Told,
) -> Result<Built> {
    let list = &arguments.list;
    let (listing, mut options) = list.read()?;
    // A list that comes as an update may not say where the next one is: the device knows.
    options.update_url = told
        .update_url(options.update_url.as_deref())
        .map(str::to_owned);
    let keys = updatable(arguments, options.update_url.is_some())?;
    let headers = OwnFields::of_list(&listing, |name| std::env::var(name).ok())?.lines();
    let told = told.with_headers(&headers);
    let mut features = features.to_vec();
    features.extend(features_of(&listing, &options));
    features.extend(told.has_headers().then(|| budgets::HEADERS.to_owned()));
    let joins = list.join.fleet.is_some();
    features.extend(joins.then(|| budgets::FLEET.to_owned()));
    features.sort();
    features.dedup();
    let told = told.bytes()?;
    // A board without a budget for it has never been seen to hold it.
    budgets::check_combination(board, &features)?;
    say(format_args!(
        "building the firmware; the first time takes some minutes"
    ));
    let mut elf = firmware::build_with(install, board, &features)?;
    let boot = match keys {
        Some(keys) => Some(Boot::build(install, board, &mut elf, &keys)?),
        None => None,
    };
    let holds = Holdings::read(board, &elf)?;
    let (bytes, _) = page_image::build(&listing, &options, holds.capacity())?;
    let address = place(&elf, bytes.len())?;
    let image = elf.with_file_name(format!("{}-pages.bin", board.name));
    fs::write(&image, bytes).with_context(|| format!("cannot write {}", image.display()))?;
    let settings = match told {
        Some(told) => Some(settings(board, &elf, &told)?),
        None => None,
    };
    Ok(Built {
        elf,
        image,
        address,
        boot,
        settings,
        manners: list.budget().describe(&listing),
    })
}

/// The keys that a firmware with updates trusts.
fn updatable(arguments: &Arguments, asked: bool) -> Result<Option<Keys>> {
    if !asked && arguments.keys.is_some() {
        let found = "found --keys without --update-url, expected it, too";
        return Err(Error::Usage(found.into()).into());
    }
    let folder = arguments.keys.clone().unwrap_or_else(default_keys);
    Ok(match asked {
        true => Some(Keys::read(&folder)?),
        false => None,
    })
}

/// What comes before a firmware with updates.
struct Boot {
    elf: PathBuf,
    /// What tells the boot loader that there is nothing to be done, and the firmware that the list
    /// which is written now counts, whatever came as an update before: where it belongs, and what it
    /// is.
    marks: [(u64, PathBuf); 2],
}

/// A word of every flash, with error correction or without: what is written is one whole.
const MARK: usize = 32;

impl Boot {
    /// Builds the boot loader, and puts the keys into the firmware, which is another file from then
    /// on.
    fn build(install: bool, board: &Board, elf: &mut PathBuf, keys: &Keys) -> Result<Self> {
        let mut bytes = fs::read(&*elf)?;
        stamp(&mut bytes, keys, "")?;
        *elf = elf.with_file_name(format!("{}-trusting.elf", board.name));
        fs::write(&*elf, &bytes).with_context(|| format!("cannot write {}", elf.display()))?;
        let image = object::File::parse(&*bytes)?;
        let mark = |name: &str, place: &str, byte: u8| -> Result<(u64, PathBuf)> {
            let file = elf.with_file_name(format!("{}-{name}.bin", board.name));
            fs::write(&file, [byte; MARK])
                .with_context(|| format!("cannot write {}", file.display()))?;
            Ok((symbol(&image, place)?, file))
        };
        Ok(Self {
            elf: firmware::build_boot_loader_of(install, board)?,
            marks: [
                mark("boot-state", "_boot_state_start", NOTHING_TO_DO)?,
                mark("no-list", "_spare_image_start", 0)?,
            ],
        })
    }
}

/// Writes what the device is told to a file that only its owner can read; says where it belongs.
fn settings(board: &Board, elf: &Path, told: &[u8]) -> Result<(PathBuf, u64)> {
    let bytes = fs::read(elf)?;
    let address = symbol(&object::File::parse(&*bytes)?, "_settings_start")?;
    let file = elf.with_file_name(format!("{}-settings.bin", board.name));
    let cannot = || format!("cannot write {}", file.display());
    // Made anew, so that the mode is ours.
    let _ = fs::remove_file(&file);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&file)
        .and_then(|mut open| open.write_all(told))
        .with_context(cannot)?;
    Ok((file, address))
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
fn hand_over(board: &Board, built: &Built, ways: &[String], list: &[String]) -> Result<()> {
    let elf = fs::read(&built.elf)?;
    let image = fs::read(&built.image)?;
    let mut parts = uf2::parts(&elf)?;
    parts.push(uf2::Part {
        address: built.address,
        bytes: &image,
    });
    let boot_loader;
    let mut marks = Vec::new();
    if let Some(boot) = &built.boot {
        boot_loader = fs::read(&boot.elf)?;
        for (address, file) in &boot.marks {
            marks.push((*address, fs::read(file)?));
        }
        parts.extend(uf2::parts(&boot_loader)?);
    }
    parts.extend(marks.iter().map(|(address, bytes)| uf2::Part {
        address: *address,
        bytes,
    }));
    let settings = match &built.settings {
        Some((file, address)) => Some((fs::read(file)?, *address)),
        None => None,
    };
    parts.extend(settings.iter().map(|(bytes, address)| uf2::Part {
        address: *address,
        bytes,
    }));
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
            "watch it: cargo dunlin monitor --elf {} --log {} {}",
            built.elf.display(),
            line.source,
            words(list)
        ));
    }
    Ok(())
}

/// The image first: the firmware starts as soon as it is written. What the device is told comes
/// last, and leaves what else is in its sector.
fn write(chip: &str, built: &Built) -> Result<()> {
    download(chip, &built.image, built.address, &[])?;
    if let Some(boot) = &built.boot {
        // The device's own key may lie in the same sector.
        check(
            Command::new("probe-rs")
                .args(["download", "--chip", chip, "--restore-unwritten"])
                .arg(&boot.elf),
        )?;
        for (address, file) in &boot.marks {
            download(chip, file, *address, &[])?;
        }
    }
    check(
        Command::new("probe-rs")
            .args(["download", "--chip", chip])
            .arg(&built.elf),
    )?;
    if let Some((file, address)) = &built.settings {
        download(chip, file, *address, &["--restore-unwritten"])?;
    }
    check(Command::new("probe-rs").args(["reset", "--chip", chip]))
}

fn download(chip: &str, file: &Path, address: u64, more: &[&str]) -> Result<()> {
    let address = format!("{address:#x}");
    let mut command = Command::new("probe-rs");
    command.args(["download", "--chip", chip, "--binary-format", "bin"]);
    command.args(["--base-address", &address]).args(more);
    check(command.arg(file))
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
