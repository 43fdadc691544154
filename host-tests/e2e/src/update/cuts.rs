//! Power that goes at any moment of an update.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use dunlin_host::simulate::Random;
use dunlin_tools::qemu::End;

use super::desk::{Desk, said, started};
use super::{DEADLINE, FAST, PAGES, unchanged};

/// The exit code of a power cut: see `boards/qemu-mps2-flash/src/nor.rs`.
const CUT: i32 = 75;
/// Operations of an update are fewer.
const MOST: usize = 10_000;
/// What is known after each cut: a build that is whole says who it is and where updates stand.
const WORD: &str = "updates slot=active state=";

/// Cuts the power at some operations, spread over an update.
pub fn cut_in_steps(elf: &Path) -> Result<()> {
    let cuts = cut(elf, 331, true)?;
    println!("{cuts} cuts, each of them survived");
    ensure!(
        cuts >= 5,
        "only {cuts} cuts came before the update was over"
    );
    Ok(())
}

/// Cuts the power at every operation of an update.
pub fn cut_everywhere(elf: &Path) -> Result<()> {
    let cuts = cut(elf, 1, false)?;
    println!("{cuts} cuts, each of them survived");
    ensure!(
        cuts >= 1_000,
        "only {cuts} cuts came before the update was over"
    );
    Ok(())
}

/// Starts an update on the same flash again and again, lets power go at every `step`th operation,
/// and looks whether a whole build is there afterwards; `to_the_end` waits until it is confirmed.
fn cut(elf: &Path, step: usize, to_the_end: bool) -> Result<usize> {
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    let known = desk
        .builds
        .each_ref()
        .map(|build| format!("{:016x}", build.id));
    // A device that was started once, before there was an update.
    let first = |line: &dunlin_tools::qemu::Line| line.message.starts_with("end page=");
    desk.run(&image, &FAST, DEADLINE, first)?;
    let before = fs::read(&desk.state)?;
    desk.release_second(1, &unchanged);
    let mut cuts = 0;
    for operation in (1..MOST).step_by(step) {
        fs::write(&desk.state, &before)?;
        let option = format!("cut={operation}");
        let options = [FAST[0], FAST[1], &option];
        let (end, log) = desk.run(&image, &options, DEADLINE, |line| {
            line.message.contains("update confirmed")
        })?;
        if end != End::Exit(CUT) {
            ensure!(said(&log, "update confirmed"), "{operation}: {end:?}");
            return Ok(cuts);
        }
        cuts += 1;
        let (end, log) = desk.run(&image, &FAST, DEADLINE, |line| {
            let enough = if to_the_end { "update confirmed" } else { WORD };
            line.message.contains(enough)
        })?;
        end.success("the firmware after a cut", DEADLINE)?;
        let builds = started(&log);
        let whole = builds.iter().all(|build| known.contains(build));
        ensure!(
            whole && !builds.is_empty() && said(&log, WORD),
            "after a cut at operation {operation}, {builds:?} were started"
        );
        ensure!(
            !to_the_end || said(&log, "update confirmed sequence=1"),
            "after a cut at operation {operation}, the update did not go on"
        );
    }
    Ok(cuts)
}

/// QEMU is killed at random moments of an update, so often.
pub fn killed(elf: &Path, times: usize) -> Result<()> {
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    let known = desk
        .builds
        .each_ref()
        .map(|build| format!("{:016x}", build.id));
    let mut random = Random(20_261_117);
    let mut confirmed = 0;
    let mut sequence = 0;
    for kill in 0..times {
        // Each build takes the other one's place, again and again.
        sequence += 1;
        let payload = &desk.builds[(kill + 1) % 2];
        desk.release(
            &desk.firmware_key,
            dunlin::update::PayloadKind::Firmware,
            (payload.id, &payload.bytes),
            sequence,
            &unchanged,
        );
        let moment = Duration::from_millis(500 + (random.unit() * 9_000.0) as u64);
        let (end, log) = desk.run(&image, &FAST, moment, |_| false)?;
        ensure!(
            end == End::Deadline,
            "kill {kill}: it ended by itself: {end:?}"
        );
        confirmed += usize::from(said(&log, "update confirmed"));
        let builds = started(&log);
        ensure!(
            builds.iter().all(|build| known.contains(build)),
            "kill {kill}: {builds:?} were started"
        );
    }
    let (end, log) = desk.run(&image, &FAST, DEADLINE, |line| line.message.contains(WORD))?;
    end.success("the firmware after all kills", DEADLINE)?;
    println!(
        "{times} kills, {confirmed} updates confirmed before them, {:?} runs",
        started(&log)
    );
    ensure!(said(&log, WORD), "nothing runs any more");
    Ok(())
}
