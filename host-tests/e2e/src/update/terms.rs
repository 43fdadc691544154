//! The terms of a trial as devices have them: two minutes at least, and ten at most. Other cases
//! shorten them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dunlin_tools::qemu::{Line, Time};

use super::cuts::marked;
use super::desk::{Desk, said, started};
use super::{DEADLINE, PAGES, crawled_on, ended, unchanged};

/// Seconds of the device's time within which the old build is back.
const BACK: u64 = 660;
/// Seconds that a build has at most, and that it has to be up at least.
const MOST: u64 = 600;
const LEAST: u64 = 120;

/// When this was said, by the clock of the build that said it.
fn seconds(log: &[Line], words: &str) -> Result<u64> {
    let line = log.iter().find(|line| line.message.contains(words));
    let micros = line.and_then(|line| line.micros);
    Ok(micros.with_context(|| format!("it did not say {words:?}"))? / 1_000_000)
}

/// A build without a network gives itself up after ten minutes, and the old one is there within
/// eleven: in time that QEMU skips.
pub fn back_in_time(elf: &Path) -> Result<()> {
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    let [first, second] = desk.names();
    fs::write(&desk.state, marked(&desk, &image)?)?;
    let state = desk.open(&desk.state)?;
    let falls = format!("falls={second}:mute");
    // The run has one end, however often the device is started again.
    let options = [format!("seconds={BACK}"), falls];
    let options = options.each_ref().map(String::as_str);
    let log = ended(
        desk.run_in(Time::Skipping, &state, &image, &options, DEADLINE, |_| {
            false
        })?,
    )?;
    ensure!(
        started(&log) == [second, first],
        "{:?} were started within {BACK} s",
        started(&log)
    );
    let given_up = seconds(&log, "trial: no pages")?;
    ensure!(
        (MOST..BACK).contains(&given_up),
        "it gave itself up after {given_up} s"
    );
    let words = "update rolled back sequence=1 attempt=1 why=no-pages";
    ensure!(said(&log, words), "it did not say {words:?}");
    Ok(())
}

/// A good build is confirmed once it has been up for two minutes, and not before.
pub fn two_minutes_up(elf: &Path) -> Result<()> {
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    desk.release_second(1, &unchanged);
    let deadline = Duration::from_secs(MOST);
    let log = ended(desk.run(&image, &["look=1"], deadline, |line| {
        line.message.contains("update confirmed") || line.message.contains("rolled back")
    })?)?;
    let confirmed = seconds(&log, "update confirmed sequence=1")?;
    ensure!(
        confirmed >= LEAST,
        "it was confirmed after {confirmed} s, {LEAST} are the least"
    );
    crawled_on(&desk)
}
