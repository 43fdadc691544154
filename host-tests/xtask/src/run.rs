//! `cargo xtask qemu`: the probe in QEMU, on the user's own list.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use clap::Args;
use dunlin::time::Duration;
use dunlin_host::duration;
use dunlin_host::error::Error;
use dunlin_host::listing::ListingArgs;

use crate::crawl::{Crawl, Report};
use crate::log_port::LogPort;
use crate::page_image::Options;
use crate::shell::say;
use crate::{firmware, page_image, setup};

/// What a host gets between two fetches unless the user says otherwise.
const POLITE: Duration = Duration::from_secs(15);

static STOP: AtomicBool = AtomicBool::new(false);

/// Boot the probe in QEMU on your own page list
///
/// The emulated device reaches the network through this computer and sees this computer's loopback as 10.0.2.2.
/// It obeys robots.txt and leaves 15 s between two requests to a host. The log goes to stderr, the summary to
/// stdout. Ctrl-C ends the run with its summary.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The page list: a header row, then one page a line
    #[arg(long, value_name = "PAGES.csv")]
    pages: PathBuf,
    /// What is special about some hosts: politeness, group, hours
    #[arg(long, value_name = "HOSTS.csv")]
    hosts: Option<PathBuf>,
    /// How long the probe runs
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=604_800))]
    seconds: u32,
    /// Fetches a day, over all hosts; without it, what politeness allows
    #[arg(long, value_name = "X", value_parser = positive)]
    crawls_per_day: Option<f64>,
    /// Least time between two requests to a host
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "15s")]
    politeness: Duration,
    /// Where a host is (repeatable); `*=IP` for all that have no entry of their own
    #[arg(long, value_name = "HOST=IP", value_parser = resolve)]
    resolve: Vec<(String, Ipv4Addr)>,
    /// A forward gateway that fetches https pages for the probe
    #[arg(long, value_name = "HOST:PORT", value_parser = gateway)]
    gateway: Option<(String, u16)>,
    /// The name the probe gives itself, in requests and before robots.txt
    #[arg(long, value_name = "NAME", default_value_t = Options::default().agent)]
    agent: String,
    /// Where the owner of the probe can be reached: a URL, sent with every request
    #[arg(long, value_name = "URL")]
    contact: Option<String>,
    /// Local time is universal time and so many minutes, for the hours of HOSTS.csv
    #[arg(long, value_name = "MINUTES", default_value_t = 0, allow_negative_numbers = true)]
    utc_offset: i16,
    /// For the little that is random
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u32,
    /// Serve the undecoded log on this port of loopback, for `cargo dunlin monitor --log tcp:127.0.0.1:PORT`
    #[arg(long, value_name = "PORT")]
    log_port: Option<u16>,
    /// One JSON object on stdout at the end
    #[arg(long)]
    json: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && *number <= 1e9);
    number.ok_or_else(|| "expected a number above 0, at most 1e9".into())
}

fn resolve(text: &str) -> Result<(String, Ipv4Addr), String> {
    let parts =
        text.split_once('=').and_then(|(host, ip)| Some((host.to_ascii_lowercase(), ip.parse().ok()?)));
    parts
        .filter(|(host, _)| !host.is_empty())
        .ok_or_else(|| "expected HOST=IP such as example.org=10.0.2.2 or *=10.0.2.2".into())
}

fn gateway(text: &str) -> Result<(String, u16), String> {
    let parts = text.rsplit_once(':').and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
    parts
        .filter(|(host, port)| !host.is_empty() && *port > 0)
        .ok_or_else(|| "expected HOST:PORT such as 10.0.2.2:3128".into())
}

/// Runs the command.
pub fn run(install: bool, arguments: &Arguments) -> Result<()> {
    let Arguments { pages, hosts, politeness, .. } = arguments;
    let files = ListingArgs { pages: pages.clone(), hosts: hosts.clone(), politeness: Some(*politeness) };
    let listing = files.read(POLITE)?;
    let options = Options {
        agent: arguments.agent.clone(),
        contact: arguments.contact.clone(),
        per_day: arguments.crawls_per_day,
        seed: arguments.seed,
        resolve: arguments.resolve.clone(),
        gateway: arguments.gateway.clone(),
        utc_offset_minutes: arguments.utc_offset,
        ..Options::default()
    };
    // Before anything is installed or built.
    page_image::build(&listing, &options)?;
    if listing.list.pages.is_empty() {
        return Err(
            Error::Usage(format!("found no page in {}, expected at least one", pages.display())).into()
        );
    }
    setup::qemu(install)?;
    let elf = firmware::build(install, firmware::BOARD)?;
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed)).context("cannot listen for Ctrl-C")?;
    let (count, seconds) = (listing.list.pages.len(), arguments.seconds);
    say(format_args!("crawling {count} pages with an emulated Cortex-M4F for {seconds} s"));
    let log_port = arguments.log_port.map(LogPort::listen).transpose()?;
    if let Some(port) = &log_port {
        say(format_args!(
            "watch it: cargo dunlin monitor --elf {} --log tcp:{} --pages {}",
            elf.display(),
            port.address(),
            pages.display()
        ));
    }
    let log_port = log_port.as_ref();
    let crawl = Crawl {
        elf: &elf,
        listing: &listing,
        options: &options,
        seconds,
        monitor: None,
        stop: Some(&STOP),
        log_port,
    };
    let report = crawl.run(|line| eprintln!("{line}"))?;
    if arguments.json {
        println!("{}", serde_json::to_string(&report.summary)?);
    } else {
        print(&report);
    }
    Ok(())
}

fn print(report: &Report) {
    let summary = &report.summary;
    let share =
        |share: Option<f64>| share.map_or_else(|| "not known yet".into(), |share| format!("{share:.3}"));
    println!("fetches        {} ({} not modified)", summary.fetches, summary.not_modified);
    println!("changes found  {}", summary.changed);
    println!("errors         {}", summary.errors);
    println!("robots denied  {}", summary.robots_denied);
    println!("bytes          {}", summary.bytes);
    println!("freshness      {} (the probe's estimate)", share(summary.freshness_estimate));
    println!(
        "optimum        {} (for this budget, as far as rates are known)",
        share(summary.optimum_estimate)
    );
}
