//! `cargo xtask flash`: firmware and page image onto a board, and a look at what it does.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use dunlin_host::board::own::OwnFields;
use dunlin_host::error::Error;
use dunlin_host::lists::{page_image, trust};
use dunlin_tools::firmware::boards::{Board, Holdings};
use dunlin_tools::firmware::flash::{Boot, Built, build_watchers, place, settings};
use dunlin_tools::firmware::stamp::Keys;
use dunlin_tools::firmware::told::Told;
use dunlin_tools::firmware::{self, budgets, keys};
use dunlin_tools::qemu::page_image::features as features_of;
use dunlin_tools::shell::{find, output, say};

use crate::list_arguments::ListArguments;

/// Put the probe and your page list onto a board, and watch it
///
/// Builds the firmware and the page image, writes both with probe-rs through a debug probe, and
/// attaches the monitor. The image lies beside the firmware: a new list needs no new build. Without
/// probe-rs or a probe, it names the files that it built and where they belong. With --update-url,
/// a boot loader comes before the firmware, which takes signed updates from then on.
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
    /// update-url, collector-token, broker, broker-user, broker-password, header (an origin, a
    /// space, headers). Neither firmware nor page list holds it
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// With --update-url: the public keys that the firmware trusts [default: boards/keys]
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// Write, but do not attach the monitor
    #[arg(long)]
    no_monitor: bool,
}

/// Builds a board's firmware, and writes it to the board.
pub fn flash(install: bool, arguments: &Arguments) -> Result<()> {
    let board = Board::named(&arguments.board)?;
    let Some(chip) = board.probe_chip else {
        return Err(Error::Usage(format!(
            "found board {}, which is emulated, expected one that can be written to: `cargo xtask qemu` boots it",
            board.name
        ))
        .into());
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
        let address = arguments.list.probe.own_address();
        return built.hand_over(board, ways, address, &arguments.list.monitor_options());
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
    if arguments.no_monitor {
        return built.write(chip);
    }
    build_watchers()?;
    built.write(chip)?;
    built.watch(chip, &arguments.list.monitor_options())
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
    if told.has_push_keys() {
        features.extend([budgets::HINTS, budgets::PUSH].map(str::to_owned));
    }
    features.extend(list.fleet_features());
    features.sort();
    features.dedup();
    let told = told.bytes()?;
    // A board without a budget for it has never been seen to hold it.
    budgets::check_combination(board, &features)?;
    list.join.check_date(options.sntp.is_some())?;
    let is_told = options.gateway.is_some() || options.sntp.is_some();
    if let Some(note) = trust::needs_time_server(&listing).filter(|_| !is_told) {
        say(note);
    }
    say(format_args!(
        "the board crawls: {}",
        list.manners(&listing)?
    ));
    say("building the firmware; the first time takes some minutes");
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
    })
}

/// The keys that a firmware with updates trusts.
fn updatable(arguments: &Arguments, asked: bool) -> Result<Option<Keys>> {
    if !asked && arguments.keys.is_some() {
        let found = "found --keys without --update-url, expected it, too";
        return Err(Error::Usage(found.into()).into());
    }
    let folder = arguments.keys.clone().unwrap_or_else(keys::folder);
    Ok(match asked {
        true => Some(Keys::read(&folder)?),
        false => None,
    })
}
