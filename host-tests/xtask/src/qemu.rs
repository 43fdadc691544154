//! `cargo xtask qemu`: the probe in QEMU, on the user's own list.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use clap::Args;
use dunlin::catalog::LogLevel;
use dunlin_host::board::state_file::random_key;
use dunlin_tools::qemu::Level;
use dunlin_tools::qemu::crawl::{Crawl, Report};
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
    /// The device's flash: kept between runs, so that a second one resumes. Without --seed, what is
    /// stored is known by a key that is drawn at random for a new file
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Serve the undecoded log on this port of loopback, for `cargo dunlin monitor --log
    /// tcp:127.0.0.1:PORT`
    #[arg(long, value_name = "PORT")]
    log_port: Option<u16>,
    /// What the device's clock says at the start, in seconds since 1970: as if it had one that runs
    /// while it is off
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=u64::from(u32::MAX)))]
    epoch: Option<u64>,
    /// One JSON object on stdout at the end
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn qemu(install: bool, arguments: &Arguments) -> Result<()> {
    let (listing, mut options) = arguments.list.read()?;
    // The summary is read from the log, so the probe logs what that takes; what is shown of it is
    // another matter.
    let shown = options.log;
    options.log = options.log.max(LogLevel::Info);
    // Before anything is installed or built.
    let https = page_image::wants_https(&listing, &options);
    page_image::build(&listing, &options)?;
    // What is stored stays known by the key that it was stored with.
    let state = arguments.state.as_deref().map(StateFile::open);
    let stored = state.transpose()?.and_then(|state| state.key());
    if arguments.list.probe.seed.is_none() {
        options.key = Some(stored.map_or_else(random_key, Ok)?);
    }
    setup::qemu(install)?;
    let elf = firmware::build_firmware(install, https)?;
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))
        .context("cannot listen for Ctrl-C")?;
    let seconds = arguments.seconds;
    say(format_args!(
        "an emulated Cortex-M4F crawls for {seconds} s: {}",
        arguments.list.budget().describe(&listing)
    ));
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
    let crawl = Crawl {
        elf: &elf,
        listing: &listing,
        options: &options,
        seconds,
        state: arguments.state.as_deref(),
        monitor: None,
        stop: Some(&STOP),
        log_port,
        epoch: arguments.epoch,
        forward: None,
    };
    let report = crawl.run(|line| {
        if is_shown(line.level, shown) {
            eprintln!("{line}");
        }
    })?;
    if arguments.json {
        println!("{}", serde_json::to_string(&report.summary)?);
    } else {
        print(&report);
    }
    Ok(())
}

/// Is a line of this level among those that were asked for? What is lost always is.
fn is_shown(level: Level, asked: LogLevel) -> bool {
    match level {
        Level::Error | Level::Print | Level::Lost => true,
        Level::Warn => asked >= LogLevel::Warn,
        Level::Info => asked >= LogLevel::Info,
        Level::Debug | Level::Trace => asked >= LogLevel::Debug,
    }
}

fn print(report: &Report) {
    let summary = &report.summary;
    let share = |share: Option<f64>| {
        share.map_or_else(|| "not known yet".into(), |share| format!("{share:.3}"))
    };
    println!(
        "fetches        {} ({} not modified)",
        summary.fetches, summary.not_modified
    );
    println!("changes found  {}", summary.changed);
    println!("resumed        {} pages", summary.resumed_pages);
    println!("errors         {}", summary.errors);
    println!("robots denied  {}", summary.robots_denied);
    println!("bytes          {}", summary.bytes);
    println!(
        "freshness      {} (the probe's estimate)",
        share(summary.freshness_estimate)
    );
    println!(
        "optimum        {} (for this budget, as far as rates are known)",
        share(summary.optimum_estimate)
    );
}
