//! One table: what everything costs on the device, on this computer, in memory and on the wire,
//! each figure beside what else there is and what it has to keep.

mod baseline;
mod collecting;
mod computer;
mod device;
mod discovery;
pub mod host;
mod memory;
mod page;
pub mod peers;
mod row;
pub mod throughput;
mod tls;
mod wire;

pub use baseline::guard;

use anyhow::{Result, ensure};

use dunlin_host::output::progress::beside_bar;
use dunlin_tools::setup;
use dunlin_tools::shell::{capture, cargo, say, steps};
use row::{Growth, HEAD, Row, growth};

/// What to measure, and what to do with it.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Only what is the same on every computer.
    pub device_only: bool,
    /// Write the baseline that tests hold figures against.
    pub renew: bool,
    /// Write the performance page.
    pub page: bool,
}

/// Measures, prints one table, and fails if anything grows faster than documented or is beyond its
/// limit. (What finding pages costs is held to its limits by [`discovery`] and [`finding`].)
pub fn bench(install: bool, wanted: Wanted) -> Result<()> {
    setup::qemu(install)?;
    // For keys by openssl.
    setup::tls_peers(install)?;
    let mut rows = Vec::new();
    let mut counts = Vec::new();
    let mut names = vec!["bench device", "bench memory", "bench https"];
    if !wanted.device_only {
        names.extend(["bench wire", "bench host"]);
    }
    let progress = steps("bench", &names);
    progress.begin("bench device");
    for (target, core) in device::TARGETS {
        let counted = device::measure(install, target)?;
        rows.extend(device::rows(&counted, core));
        counts.push((core, counted));
    }
    progress.begin("bench memory");
    let sizes = memory::images(install)?;
    rows.extend(memory::rows(install, &sizes)?);
    progress.begin("bench https");
    rows.extend(tls::rows(install, !wanted.device_only)?);
    if wanted.renew {
        baseline::renew(&counts, &sizes)?;
    }
    let mut finding = Vec::new();
    if !wanted.device_only {
        progress.begin("bench wire");
        rows.extend(wire::rows(install)?);
        rows.extend(collecting::rows(install)?);
        finding = discovery::rows(install)?;
        progress.begin("bench host");
        say("host figures: processor time of one thread; clocks are noisy, compare ratios");
        rows.extend(computer::rows(&[])?);
    }
    progress.end();
    let kept = within_limits(&rows);
    rows.extend(finding);
    let growth = growth(&rows);
    print!("{}", table(&rows, &growth));
    if wanted.page {
        page::write(&rows, &growth)?;
    }
    let missed: Vec<&Growth> = growth.iter().filter(|growth| !growth.is_met()).collect();
    ensure!(
        missed.is_empty(),
        "grows faster than documented: {}",
        list(&missed)
    );
    kept
}

/// Measures and prints what https costs.
///
/// # Errors
/// It cannot be measured, or costs more than it may.
pub fn https(install: bool) -> Result<()> {
    setup::qemu(install)?;
    setup::tls_peers(install)?;
    let progress = steps("bench", &["bench https"]);
    progress.begin("bench https");
    let rows = tls::rows(install, true)?;
    progress.end();
    print!("{}", table(&rows, &[]));
    within_limits(&rows)
}

/// Measures and prints how fast the probe fetches, and what no other step holds to its limit: how a
/// plan's time grows, and what an unchanged page takes on the wire.
///
/// # Errors
/// It cannot be measured, or exceeds a limit.
pub fn speed(install: bool) -> Result<()> {
    throughput::throughput(install)?;
    let mut rows = computer::rows(&["greedy"])?;
    rows.extend(wire::unchanged_pages(install)?);
    print!("{}", table(&rows, &[]));
    within_limits(&rows)
}

/// Does every figure keep what it has to?
fn within_limits(rows: &[Row]) -> Result<()> {
    let is_missed = |row: &&Row| row.limit.is_met(row.ours) == Some(false);
    let missed: Vec<String> = rows
        .iter()
        .filter(is_missed)
        .map(|row| format!("{}: {} {}, {}", row.what, row.ours, row.unit, row.limit))
        .collect();
    ensure!(
        missed.is_empty(),
        "beyond their limits: {}",
        missed.join("; ")
    );
    Ok(())
}

/// Measures and prints what keeping a collection costs.
///
/// # Errors
/// It cannot be measured, or exceeds a limit.
pub fn collection(install: bool) -> Result<()> {
    let progress = steps("bench", &["bench collector", "bench archive"]);
    progress.begin("bench collector");
    // One after the other: each is of use without the other one.
    let mut rows = collecting::rows(install)?;
    beside_bar(|| print!("{}", table(&rows, &[])));
    progress.begin("bench archive");
    let kept = computer::rows(&["archive"])?;
    progress.end();
    print!("{}", table(&kept, &[]));
    rows.extend(kept);
    within_limits(&rows)
}

/// Measures and prints what finding pages costs.
///
/// # Errors
/// It cannot be measured, or exceeds a limit.
pub fn discovery(install: bool) -> Result<()> {
    setup::qemu(install)?;
    let progress = steps("bench", &["bench discovery"]);
    progress.begin("bench discovery");
    let rows = discovery::rows(install)?;
    progress.end();
    print!("{}", table(&rows, &[]));
    within_limits(&rows)
}

/// Measures what a user would pick instead, prints it and writes its section of the performance
/// page.
pub fn beside_peers() -> Result<()> {
    say("ten runs of each on each list, then what a decision takes: some minutes");
    let progress = steps("bench", &["bench peers"]);
    progress.begin("bench peers");
    let text = capture(cargo().args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "dunlin-bench",
        "--bin",
        "peers",
    ]))?;
    progress.end();
    print!("{text}");
    page::write_peers(&text)
}

/// Measures what finding pages takes in instructions and in memory, prints it, and holds each figure
/// to its limit.
///
/// # Errors
/// It cannot be measured, or exceeds what it has to keep.
pub fn finding(install: bool) -> Result<()> {
    setup::qemu(install)?;
    let mut rows = discovery::instructions(install)?;
    rows.extend(discovery::memory());
    beside_bar(|| print!("{}", table(&rows, &[])));
    within_limits(&rows)
}

fn table(rows: &[Row], growth: &[Growth]) -> String {
    let lines = |lines: Vec<String>| lines.join("\n");
    format!(
        "{HEAD}\n{}\n\n{}\n{}\n",
        lines(rows.iter().map(Row::to_string).collect()),
        row::GROWTH_HEAD,
        lines(growth.iter().map(Growth::to_string).collect())
    )
}

fn list(missed: &[&Growth]) -> String {
    let one = |growth: &&Growth| {
        format!(
            "{} with exponent {:.3}, documented {}",
            growth.series, growth.exponent, growth.complexity
        )
    };
    missed.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::row::Limit;
    use super::*;

    #[test]
    fn figures_beyond_their_limits_are_named() {
        let row = |what: &str, ours, limit| Row {
            room: "M4F · https".into(),
            what: what.into(),
            ours,
            unit: "bytes".into(),
            other: None,
            limit,
            place: None,
        };
        let kept = [
            row("roots", 57_000.0, Limit::Most(58_000.0)),
            row("resumed", 0.95, Limit::Least(0.9)),
            row("wire", 451.0, Limit::None),
        ];
        assert!(within_limits(&kept).is_ok());
        let missed = [
            row("roots", 58_001.0, Limit::Most(58_000.0)),
            row("resumed", 0.95, Limit::Least(0.9)),
            row("stack", 30_000.0, Limit::Most(28_000.0)),
        ];
        let why = within_limits(&missed)
            .expect_err("two are missed")
            .to_string();
        assert!(why.contains("roots") && why.contains("stack"), "{why}");
        assert!(!why.contains("resumed"), "{why}");
    }
}
