//! `cargo xtask keygen` and `release`: signed firmware.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use dunlin::update::PayloadKind;
use dunlin_host::release::{Payload, ReleaseArgs};
use dunlin_tools::firmware;
use dunlin_tools::firmware::boards::Board;
use dunlin_tools::firmware::budgets::{self, HINTS, HTTPS, PUSH, UPDATE};
use dunlin_tools::firmware::keys;
use dunlin_tools::firmware::stamp::{self, Keys};
use dunlin_tools::shell::say;

/// Make the keys that updates are signed with
///
/// Two for firmware and two for lists: one of each in use, and one to go on with should the first
/// be lost. The public keys (.pub) go into every firmware that is built for updates; who has a
/// secret key (.sec) can put firmware or lists onto your probes, so keep them where only you can
/// read them, and the second ones somewhere else. The files are signify's: `signify-openbsd -G -n`
/// makes others.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct KeygenArguments {
    /// Write them into this folder [default: boards/keys]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Draws the keys, and prints where they are.
pub fn keygen(arguments: &KeygenArguments) -> Result<()> {
    let out = arguments.out.clone().unwrap_or_else(keys::folder);
    for file in keys::draw(&out)? {
        println!("{}", file.display());
    }
    Ok(())
}

/// Build a firmware and release it as a signed update for probes that are out there
///
/// Writes the firmware, its ELF file for monitors, and a signed manifest into a folder, which any
/// web server can hand out:
///
///   cargo xtask release --board qemu-mps2 --key boards/keys/firmware.sec --out updates
///
/// These are signed updates, not secure boot: the running firmware verifies, and the boot loader
/// starts what lies in its slot.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Which board: `cargo xtask boards` lists them
    #[arg(long, value_name = "NAME")]
    board: String,
    #[command(flatten)]
    release: ReleaseArgs,
    /// The public keys that the firmware trusts [default: the folder of --key]
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// A firmware that speaks https itself
    #[arg(long)]
    https: bool,
    /// A firmware that listens to hosts, for lists with `hints`
    #[arg(long)]
    hints: bool,
    /// The same, and to who has one of the device's `push-keys`
    #[arg(long)]
    push: bool,
    /// Let its log out another way, too, as `cargo xtask flash` does: usb, serial or tcp
    /// (repeatable)
    #[arg(long, value_name = "WAY")]
    log_over: Vec<String>,
}

/// The oldest records and page images that a firmware of today can read: all there ever were.
const OLDEST_STORE: u8 = 1;
const OLDEST_IMAGE: u16 = 1;

/// Builds a firmware, and signs it as a release.
pub fn release(install: bool, arguments: &Arguments) -> Result<()> {
    let board = Board::named(&arguments.board)?;
    let key = arguments.release.secret_key()?;
    let beside = arguments.release.key.parent().unwrap_or(Path::new("."));
    let keys = Keys::read(arguments.keys.as_deref().unwrap_or(beside))?;
    let mut features = board.log_features(&arguments.log_over)?;
    features.push(UPDATE.to_owned());
    features.extend(arguments.https.then(|| HTTPS.to_owned()));
    features.extend((arguments.hints || arguments.push).then(|| HINTS.to_owned()));
    features.extend(arguments.push.then(|| PUSH.to_owned()));
    features.sort_unstable();
    // A board without room for two images says so.
    budgets::check_combination(board, &features)?;
    say("building the firmware; the first time takes some minutes");
    let built = firmware::build_with(install, board, &features)?;
    let mut elf = fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
    let build = stamp::stamp(&mut elf, &keys, "")?;
    let firmware = stamp::flat(&elf)?;
    let payload = Payload {
        kind: PayloadKind::Firmware,
        board: board.name,
        build: Some(build),
        bytes: &firmware.bytes,
        store: OLDEST_STORE,
        image: OLDEST_IMAGE,
    };
    let written = arguments.release.write(&key, &payload)?;
    let for_monitors = written.payload.with_extension("elf");
    fs::write(&for_monitors, &elf)
        .with_context(|| format!("cannot write {}", for_monitors.display()))?;
    println!("manifest  {}", written.manifest.display());
    println!("firmware  {}", written.payload.display());
    println!("ELF file  {}", for_monitors.display());
    println!("build     {}", written.build);
    println!("sequence  {}", written.sequence);
    println!("counter   {}", written.counter);
    println!("bytes     {}", written.bytes);
    Ok(())
}
