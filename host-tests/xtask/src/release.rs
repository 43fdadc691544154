//! `cargo xtask keygen` and `release`: signed firmware.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use dunlin::update::{Kind, SecretKey};
use dunlin_host::board::state_file::random_key;
use dunlin_host::error::Error;
use dunlin_host::release::{Payload, ReleaseArgs};
use dunlin_tools::firmware;
use dunlin_tools::firmware::boards::Board;
use dunlin_tools::firmware::budgets::{self, HTTPS, UPDATE};
use dunlin_tools::firmware::stamp::{self, Keys};
use dunlin_tools::shell::{root, say};

/// Where keys are looked for unless the user says otherwise; git ignores it.
pub fn default_keys() -> PathBuf {
    root().join("boards/keys")
}

/// Make the keys that updates are signed with
///
/// Two for firmware and two for lists: one of each in use, and one to go on with should the first be
/// lost. The public keys (.pub) go into every firmware that is built for updates; who has a secret
/// key (.sec) can put firmware or lists onto your probes, so keep them where only you can read them,
/// and the second ones somewhere else. The files are signify's: `signify-openbsd -G -n` makes others.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct KeygenArguments {
    /// Write them into this folder [default: boards/keys]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command.
pub fn keygen(arguments: &KeygenArguments) -> Result<()> {
    let out = arguments.out.clone().unwrap_or_else(default_keys);
    let files = |name: &str| ["sec", "pub"].map(|ending| out.join(format!("{name}.{ending}")));
    for file in stamp::NAMES.iter().flat_map(|name| files(name)) {
        if file.exists() {
            return Err(Error::Usage(format!(
                "found {}, expected a folder without keys: what is signed with lost keys is trusted no more",
                file.display()
            ))
            .into());
        }
    }
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    for name in stamp::NAMES {
        let [secret_file, public_file] = files(name);
        let mut seed = [0; 32];
        let (low, high) = seed.split_at_mut(16);
        low.copy_from_slice(&random_key()?);
        high.copy_from_slice(&random_key()?);
        let mut number = [0; 8];
        number.copy_from_slice(&random_key()?[..8]);
        let key = SecretKey::new(&seed, number);
        let comment = format!("dunlin {name} secret key");
        private(&secret_file, &key.file(&seed, &comment))?;
        let comment = format!("dunlin {name} public key");
        fs::write(&public_file, key.public().file(&comment))
            .with_context(|| format!("cannot write {}", public_file.display()))?;
        println!("{}", secret_file.display());
        println!("{}", public_file.display());
    }
    Ok(())
}

/// Writes a file that only its owner can read.
fn private(path: &Path, text: &str) -> Result<()> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Build a firmware and release it as a signed update for probes that are out there
///
/// Writes the firmware, its ELF file for monitors, and a signed manifest into a folder, which any web
/// server can hand out:
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
    /// Let its log out another way, too, as `cargo xtask flash` does: usb, serial or tcp (repeatable)
    #[arg(long, value_name = "WAY")]
    log_over: Vec<String>,
}

/// The oldest records and page images that a firmware of today can read: all there ever were.
const OLDEST_STORE: u8 = 1;
const OLDEST_IMAGE: u16 = 1;

/// Runs the command.
pub fn release(install: bool, arguments: &Arguments) -> Result<()> {
    let board = Board::named(&arguments.board)?;
    let key = arguments.release.secret_key()?;
    let beside = arguments.release.key.parent().unwrap_or(Path::new("."));
    let keys = Keys::read(arguments.keys.as_deref().unwrap_or(beside))?;
    let mut features = board.log_features(&arguments.log_over)?;
    features.push(UPDATE.to_owned());
    features.extend(arguments.https.then(|| HTTPS.to_owned()));
    features.sort_unstable();
    // A board without room for two images says so.
    budgets::check_combination(board, &features)?;
    say("building the firmware; the first time takes some minutes");
    let built = firmware::build_with(install, board, &features)?;
    let mut elf = fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
    let build = stamp::stamp(&mut elf, &keys, "")?;
    let firmware = stamp::flat(&elf)?;
    let payload = Payload {
        kind: Kind::Firmware,
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
