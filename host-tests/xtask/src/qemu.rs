//! `cargo xtask qemu`: the probe in QEMU, on the user's own list.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use clap::Args;
use dunlin::catalog::LogLevel;
use dunlin::time::Duration;
use dunlin_host::board::computer::unix_time;
use dunlin_host::board::own::OwnFields;
use dunlin_host::board::state_file::random_key;
use dunlin_host::duration;
use dunlin_host::error::Error;
use dunlin_host::lists::page_image::Options;
use dunlin_host::output::csv_line;
use dunlin_tools::firmware::boards::Board;
use dunlin_tools::firmware::stamp::{Keys, stamp};
use dunlin_tools::firmware::told::Told;
use dunlin_tools::firmware::{budgets, keys};
use dunlin_tools::qemu::crawl::{Crawl, Updates};
use dunlin_tools::qemu::list::LOOPBACK;
use dunlin_tools::qemu::log_port::LogPort;
use dunlin_tools::qemu::page_image;
use dunlin_tools::qemu::state::StateFile;
use dunlin_tools::shell::{say, words};
use dunlin_tools::{firmware, setup};

use crate::list_arguments::ListArguments;

static STOP: AtomicBool = AtomicBool::new(false);

/// Boot the probe in QEMU on your own page list
///
/// The emulated device reaches the network through this computer and sees this computer's loopback
/// as 10.0.2.2. It obeys robots.txt and leaves 15 s between two requests to a host. The log goes to
/// stderr, the summary to stdout. Ctrl-C ends the run with its summary.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    list: ListArguments,
    /// How long the probe runs
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=604_800))]
    seconds: u32,
    /// The device's flash: kept between runs, so that a second one resumes; visits are in FILE.visits.
    /// Without --seed, what is stored is known by a key that is drawn at random for a new file
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// With --update-url: the public keys that the firmware trusts [default: boards/keys]
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// With --update-url: how often the probe looks there
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "10s")]
    look: Duration,
    /// With --update-url: the ELF file of a release, by which its log is decoded once it runs
    /// (repeatable)
    #[arg(long, value_name = "FILE")]
    elf: Vec<PathBuf>,
    /// Serve the undecoded log on this port of loopback, for `cargo dunlin monitor --log
    /// tcp:127.0.0.1:PORT`
    #[arg(long, value_name = "PORT")]
    log_port: Option<u16>,
    /// What the device's clock says at the start, in seconds since 1970: as if it had one that runs
    /// while it is off. With --fleet mqtts:// and no --sntp it says what this computer's does
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=u64::from(u32::MAX)))]
    epoch: Option<u64>,
    /// The collector's token, from this environment variable
    #[arg(long, value_name = "NAME", requires = "collect")]
    collect_token: Option<String>,
    /// Write the collection to this file at the end, as a page list
    #[arg(long, value_name = "FILE", requires = "discover")]
    export: Option<PathBuf>,
    /// One JSON object on stdout at the end
    #[arg(long)]
    json: bool,
}

/// Builds the list and the firmware, and runs them in QEMU for a while.
pub fn qemu(install: bool, arguments: &Arguments) -> Result<()> {
    let (listing, mut options) = arguments.list.read()?;
    // The summary is read from the log, so the probe logs what that takes; what is shown of it is
    // another matter.
    let shown = options.log;
    options.log = options.log.max(LogLevel::Info);
    let token = arguments.collect_token.as_deref().map(token).transpose()?;
    let headers = OwnFields::of_list(&listing, |name| std::env::var(name).ok())?.lines();
    // The device's own loopback is nowhere: the computer's is meant.
    let here = |url: String| {
        url.replace("//127.0.0.1", "//10.0.2.2")
            .replace("//localhost", "//10.0.2.2")
    };
    options.collector = options.collector.map(here);
    let place = arguments.list.join.place()?;
    let told = match place {
        Some(place) => {
            // The broker and the planner, too, are where this computer is.
            let loopback = ["127.0.0.1", "localhost"].map(|name| (name.to_owned(), LOOPBACK));
            options.resolve.extend(loopback);
            Told::default().with_fleet(place)?.bytes()?
        }
        None => None,
    };
    // Before anything is installed or built.
    let mut features = page_image::features(&listing, &options);
    features.extend(arguments.list.fleet_features());
    features.sort();
    features.dedup();
    budgets::check_combination(Board::named(firmware::BOARD)?, &features)?;
    page_image::build(&listing, &options)?;
    // What is stored stays known by the key that it was stored with.
    let state = arguments.state.as_deref().map(StateFile::open);
    let stored = state.transpose()?.and_then(|state| state.key());
    if arguments.list.probe.seed.is_none() {
        options.key = Some(stored.map_or_else(random_key, Ok)?);
    }
    let mut updates = Updatable::new(arguments, &options)?;
    let seconds = arguments.seconds;
    let how = arguments.list.manners(&listing)?;
    say(format_args!(
        "an emulated Cortex-M4F crawls for {seconds} s: {how}"
    ));
    setup::qemu(install)?;
    let elf = match &mut updates {
        Some(updates) => updates.build(install, &features)?,
        None => firmware::build_firmware(install, &features)?,
    };
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))
        .context("cannot listen for Ctrl-C")?;
    let log_port = arguments.log_port.map(LogPort::listen).transpose()?;
    if let Some(port) = &log_port {
        say(format_args!(
            "watch it: cargo dunlin monitor --elf {} --log tcp:{} {}",
            words(&[elf.display().to_string()]),
            port.address(),
            words(&arguments.list.monitor_options())
        ));
    }
    let log_port = log_port.as_ref();
    // Nobody is asked without a lease, so no host says what the date is before the broker's
    // certificate has to be checked: without a time server it is this computer's.
    let needs_date = place.is_some_and(|place| place.broker.tls) && options.sntp.is_none();
    let crawl = Crawl {
        state: arguments.state.as_deref(),
        stop: Some(&STOP),
        log_port,
        epoch: arguments.epoch.or_else(|| needs_date.then(unix_time)),
        updates: updates.as_ref().map(|updates| Updates {
            boot_loader: &updates.boot_loader,
            other_builds: &arguments.elf,
            options: &updates.options,
        }),
        token: token.as_deref(),
        settings: told.as_deref(),
        headers: Some(headers.as_str()).filter(|lines| !lines.is_empty()),
        ..Crawl::new(&elf, &listing, &options, seconds)
    };
    let report = crawl.run(|line| {
        if line.level.is_shown(shown) {
            eprintln!("{line}");
        }
    })?;
    if let Some(path) = &arguments.export {
        let urls = crawl.collection(&report)?;
        let rows = urls.iter().map(|url| csv_line(std::slice::from_ref(url)));
        let text: String = ["url\n".to_owned()].into_iter().chain(rows).collect();
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if arguments.json {
        println!("{}", serde_json::to_string(&report.summary)?);
    } else {
        println!("{}", report.summary);
    }
    Ok(())
}

/// The collector's token: the shell's history does not show it.
fn token(name: &str) -> Result<String> {
    std::env::var(name).map_err(|_| {
        let found =
            format!("found no environment variable {name}, expected the collector's token in it");
        Error::Usage(found).into()
    })
}

/// A run of a firmware with updates.
struct Updatable {
    keys: Keys,
    boot_loader: PathBuf,
    options: Vec<String>,
}

impl Updatable {
    /// If an update URL was given: then what goes with it has to be there, too.
    fn new(arguments: &Arguments, options: &Options) -> Result<Option<Self>> {
        let asked = options.update_url.is_some();
        if !asked && (arguments.keys.is_some() || !arguments.elf.is_empty()) {
            let found = "found --keys or --elf without --update-url, expected it, too";
            return Err(Error::Usage(found.into()).into());
        }
        if !asked {
            return Ok(None);
        }
        if arguments.state.is_none() {
            let found = "found --update-url without --state, expected a file that holds the slots";
            return Err(Error::Usage(found.into()).into());
        }
        let keys = arguments.keys.clone().unwrap_or_else(keys::folder);
        Ok(Some(Self {
            keys: Keys::read(&keys)?,
            boot_loader: PathBuf::new(),
            options: vec![format!("look={}", arguments.look.as_secs().max(1))],
        }))
    }

    /// Builds boot loader and firmware, which trusts the keys.
    fn build(&mut self, install: bool, features: &[String]) -> Result<PathBuf> {
        self.boot_loader = firmware::build_boot_loader(install)?;
        let built = firmware::build_firmware(install, features)?;
        let mut elf = fs::read(&built)?;
        stamp(&mut elf, &self.keys, "")?;
        let trusting = built.with_extension("trusting.elf");
        fs::write(&trusting, elf)
            .with_context(|| format!("cannot write {}", trusting.display()))?;
        Ok(trusting)
    }
}
