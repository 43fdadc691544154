//! The firmware's clock over more than an hour, in seconds: QEMU skips what the firmware sleeps.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::qemu::{self, Line, Machine, Time};
use crate::{firmware, setup};

/// Beyond 2³² µs = 4,295 s, where the 32-bit counter starts again at 0.
const SECONDS: u32 = 4_400;
const DEADLINE: Duration = Duration::from_secs(120);
/// How late a beat may be: 1 ms is 15,625 instructions.
const LATE: f64 = 0.001;

/// Fails unless every beat of the heartbeat comes on time and two runs give the same log.
pub fn virtual_time(install: bool) -> Result<()> {
    setup::qemu(install)?;
    let elf = firmware::build(install, firmware::BOARD)?;
    let options = [format!("seconds={SECONDS}")];
    let machine = Machine { elf: &elf, options: &options, time: Time::Skipping, deadline: DEADLINE };
    let log = log(machine)?;
    let beats: Vec<f64> =
        log.iter().filter(|line| line.message.starts_with("alive")).filter_map(time).collect();
    ensure!(beats.len() == SECONDS as usize, "{} beats in {SECONDS} s of virtual time", beats.len());
    let start = log.first().and_then(time).context("the log is empty")?;
    for (beat, &at) in (1..).map(f64::from).zip(&beats) {
        let late = at - beat;
        ensure!((0.0..LATE + start).contains(&late), "beat {beat} came at {at} s");
    }
    ensure!(log == self::log(machine)?, "two runs in virtual time gave different logs");
    println!("{SECONDS} s of virtual time: every beat within {} ms, two runs byte-identical", LATE * 1e3);
    Ok(())
}

fn log(machine: Machine<'_>) -> Result<Vec<Line>> {
    let mut log = Vec::new();
    qemu::run(machine, |line| log.push(line.clone()))?.success("the firmware", DEADLINE)?;
    Ok(log)
}

fn time(line: &Line) -> Option<f64> {
    line.time.parse().ok()
}
