//! `cargo xtask demo`: the main job on a fresh machine.

use std::io::{IsTerminal as _, Write as _};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::changing_web::{DAY, Rates, World, host};
use crate::crawl::{Crawl, Report};
use crate::page_image::Options;
use crate::qemu::Line;
use crate::shell::say;
use crate::web::{Hit, shortest_gap};
use crate::{firmware, setup};

/// How this computer's loopback looks from inside QEMU.
pub const LOOPBACK: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

const PAGES: usize = 60;
const HOSTS: usize = 8;
const SECONDS: u32 = 60;
/// Fetches a second: about three pages for each change the budget could catch.
const BUDGET: f64 = 6.0;
const POLITENESS: Duration = Duration::from_millis(500);
/// The copies of the first fetches, before which nothing can be fresh, are not measured.
const WARM_UP: Duration = Duration::from_secs(15);
const SEED: u64 = 20_261_116;

/// What a run came to, by the server's log.
#[derive(Debug)]
pub struct Measured {
    pub freshness: f64,
    pub optimum: f64,
    pub shortest_gap: Duration,
    pub requests: usize,
    pub not_modified: usize,
    pub report: Report,
}

/// Lets the probe crawl a changing web for `seconds`.
pub fn crawl(elf: &Path, rates: Rates, seconds: u32, seed: u64, show: impl FnMut(&Line)) -> Result<Measured> {
    let world = Arc::new(World::new(PAGES, HOSTS, f64::from(seconds) + 60.0, seed));
    let web = world.serve()?;
    let listing = world.listing(web.port(), rates, POLITENESS);
    let options =
        Options { per_day: Some(BUDGET * DAY), resolve: vec![("*".into(), LOOPBACK)], ..Options::default() };
    let crawl = Crawl {
        elf,
        listing: &listing,
        options: &options,
        seconds,
        state: None,
        monitor: None,
        stop: None,
        log_port: None,
    };
    let report = crawl.run(show)?;
    let log = web.log();
    let last = log.iter().map(|hit| hit.at).max().context("the probe never asked the web for anything")?;
    let first = log.iter().map(|hit| hit.at).min().unwrap_or_default();
    let gaps = (0..HOSTS).filter_map(|index| shortest_gap(&log, &host(index)));
    let count = |wanted: fn(&&Hit) -> bool| log.iter().filter(wanted).count();
    Ok(Measured {
        freshness: world.freshness(&log, first + WARM_UP, last),
        optimum: world.optimum(BUDGET, POLITENESS)?,
        shortest_gap: gaps.min().unwrap_or_default(),
        requests: log.len(),
        not_modified: count(|hit| hit.status == 304),
        report,
    })
}

/// Boots the probe on a small changing web, shows it at work and sums up.
pub fn demo(install: bool) -> Result<()> {
    setup::qemu(install)?;
    let elf = firmware::build(install, firmware::BOARD)?;
    say(format_args!(
        "a web of {PAGES} pages on {HOSTS} hosts, on loopback; a probe that knows none of their change rates; {SECONDS} s"
    ));
    let live = std::io::stderr().is_terminal();
    let (mut ends, mut changes) = (0, 0);
    let measured = crawl(&elf, Rates::Learnt, SECONDS, SEED, |line| {
        let end = line.message.starts_with("end ");
        ends += usize::from(end);
        changes += usize::from(end && line.message.ends_with("changed=true"));
        if live && end {
            // One line that is written over and over.
            eprint!("\r\x1b[K{:>9.9} s  {ends} fetches, {changes} changes  {}", line.time(), line.message);
            let _ = std::io::stderr().flush();
        } else if !live || !end {
            eprintln!("{}{line}", if live { "\r\x1b[K" } else { "" });
        }
    })?;
    if live {
        eprintln!();
    }
    print(&measured);
    ensure!(measured.report.summary.fetches > 0, "the probe fetched nothing");
    Ok(())
}

fn print(measured: &Measured) {
    let Measured { freshness, optimum, shortest_gap, requests, not_modified, report } = measured;
    let summary = &report.summary;
    println!("measured at the server, after the first {} s:", WARM_UP.as_secs());
    println!(
        "  freshness       {freshness:.3} of at most {optimum:.3} for this budget ({:.0} %), learning as it went",
        100.0 * freshness / optimum
    );
    println!(
        "  shortest gap    {} ms between two requests to one host ({} ms were asked for)",
        shortest_gap.as_millis(),
        POLITENESS.as_millis()
    );
    println!(
        "  requests        {requests}, of which {:.0} % answered 304",
        100.0 * *not_modified as f64 / (*requests).max(1) as f64
    );
    println!("the probe's own count:");
    println!(
        "  fetches         {}, {} changes found, {} errors",
        summary.fetches, summary.changed, summary.errors
    );
    println!("  bytes           {} of pages", summary.bytes);
    println!("  stack           {} B at most", report.stack.unwrap_or(0));
}
