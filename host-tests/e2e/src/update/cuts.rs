//! Power that goes at any moment of an update.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use dunlin_host::simulate::Random;
use dunlin_tools::qemu::{End, Line, temporary};
use qemu_mps2_capacity::{ACTIVE, BOOT_STATE, BOOT_WORD};

use super::desk::{Build, Desk, said, started};
use super::{DEADLINE, FAST, PAGES, side_by_side, unchanged};
use crate::show;

/// The exit code of a power cut: see `boards/qemu-mps2-flash/src/nor.rs`.
const CUT: i32 = 75;
/// Operations of an update are fewer.
const MOST: usize = 10_000;
/// What is known after each cut: a build that is whole says who it is and where updates stand.
const WORD: &str = "updates slot=active state=";

/// Cuts the power at some operations, spread over an update, of two devices at a time.
pub fn cut_in_steps(elf: &Path) -> Result<()> {
    let starts = [1, 1 + REAL];
    let cuts: usize = side_by_side(starts.map(|first| move || cut(elf, first, 2 * REAL)))?
        .iter()
        .sum();
    println!("{cuts} cuts, each of them survived");
    ensure!(
        cuts >= 5,
        "only {cuts} cuts came before the update was over"
    );
    Ok(())
}

/// Starts an update on the same flash again and again, lets power go at operation `first` and every
/// `step`th from there on, and looks whether a whole build is there afterwards, and the update goes
/// on to its end.
fn cut(elf: &Path, first: usize, step: usize) -> Result<usize> {
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    let before = before(&desk, &image)?;
    desk.release_second(1, &unchanged);
    let mut cuts = 0;
    for operation in (first..MOST).step_by(step) {
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
            line.message.contains("update confirmed")
        })?;
        end.success("the firmware after a cut", DEADLINE)?;
        survived(&desk, &at(operation), &log, &fs::read(&desk.state)?)?;
        ensure!(
            said(&log, "update confirmed sequence=1"),
            "after a cut at operation {operation}, the update did not go on"
        );
    }
    Ok(cuts)
}

fn at(operation: usize) -> String {
    format!("a cut at operation {operation}")
}

/// The flash of a device that was started once, before there was an update.
fn before(desk: &Desk, image: &[u8]) -> Result<Vec<u8>> {
    let first = |line: &Line| line.message.starts_with("end page=");
    desk.run(image, &FAST, DEADLINE, first)?;
    Ok(fs::read(&desk.state)?)
}

/// The names of all builds, as a device says them.
fn known(desk: &Desk) -> Vec<String> {
    let name = |build: &Build| format!("{:016x}", build.id);
    desk.all_builds().map(name).collect()
}

/// After what has happened, builds that are known were started and nothing else, and the slot holds
/// one of them from its first byte to its last.
fn survived(desk: &Desk, what: &str, log: &[Line], flash: &[u8]) -> Result<()> {
    let known = known(desk);
    let builds = started(log);
    ensure!(
        builds.iter().all(|build| known.contains(build)) && !builds.is_empty() && said(log, WORD),
        "after {what}, {builds:?} were started"
    );
    let active = flash.get(ACTIVE..).unwrap_or_default();
    let last = builds.last();
    let is_whole = |build: &&Build| {
        last == Some(&format!("{:016x}", build.id)) && active.starts_with(&build.bytes)
    };
    ensure!(
        desk.all_builds().any(|build| is_whole(&build)),
        "after {what}, the slot does not hold {last:?}"
    );
    Ok(())
}

/// Cuts the power at every operation of an update.
///
/// Running up to each of them would take hours. So one update notes what each of its operations
/// has written; what a cut leaves in flash is made of these notes, and the device started on it,
/// which has lost its RAM anyway. At some operations QEMU is cut for real, and has to leave the
/// same.
pub fn cut_everywhere(elf: &Path) -> Result<()> {
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    let before = before(&desk, &image)?;
    desk.release_second(1, &unchanged);
    let update = Update::noted(&desk, &image, before, "update confirmed")?;
    let total = update.operations.len();
    show(format_args!("an update has {total} operations"));
    ensure!(total >= 1_000, "only {total} operations make an update");
    for operation in (1..=total).step_by(REAL) {
        fs::write(&desk.state, &update.before)?;
        let option = format!("cut={operation}");
        let options = [FAST[0], FAST[1], &option];
        let (end, _) = desk.run(&image, &options, DEADLINE, |_| false)?;
        ensure!(end == End::Exit(CUT), "{operation}: {end:?}");
        let left = fs::read(&desk.state)?;
        let made = update.cut_at(operation, &mut Flash::of(&update));
        // Before the slots lie store and page list, whose writes are nobody's operations.
        ensure!(
            left.get(BOOT_STATE..) == made.get(BOOT_STATE..),
            "a cut at operation {operation} leaves something else in QEMU"
        );
    }
    let next = AtomicUsize::new(1);
    let start = Instant::now();
    let cutter = || -> Result<()> {
        let state = temporary("flash");
        let mut flash = Flash::of(&update);
        loop {
            let operation = next.fetch_add(1, Ordering::Relaxed);
            if operation > total {
                break;
            }
            fs::write(&state, update.cut_at(operation, &mut flash))?;
            let opened = desk.open(&state)?;
            let enough = |line: &Line| line.message.contains(WORD);
            let (end, log) = desk.run_on(&opened, &image, &FAST, DEADLINE, enough)?;
            end.success("the firmware after a cut", DEADLINE)?;
            survived(&desk, &at(operation), &log, &fs::read(&state)?)?;
            if operation.is_multiple_of(100) {
                let seconds = start.elapsed().as_secs();
                show(format_args!(
                    "{operation} of {total} cuts survived in {seconds} s"
                ));
            }
        }
        fs::remove_file(&state)?;
        Ok(())
    };
    side_by_side([&cutter; AT_ONCE])?;
    println!("{total} cuts, each of them survived");
    Ok(())
}

/// The flash of a device that has the second build, marked to be started, and was not started since.
pub fn marked(desk: &Desk, image: &[u8]) -> Result<Vec<u8>> {
    const MARK: [u8; BOOT_WORD] = [0xf0; BOOT_WORD];
    let before = before(desk, image)?;
    desk.release_second(1, &unchanged);
    let update = Update::noted(desk, image, before, "state=trial")?;
    let is_mark = |(place, bytes): &(usize, Vec<u8>)| *place == BOOT_STATE && *bytes == MARK;
    let mark = update.operations.iter().position(is_mark);
    let mut flash = Flash::of(&update);
    update.done(1 + mark.context("it was not marked")?, &mut flash);
    Ok(flash.bytes)
}

/// Devices that are started at the same time.
const AT_ONCE: usize = 2;
/// One operation in so many is cut in QEMU, too.
const REAL: usize = 331;

/// All that an update does to flash.
struct Update {
    before: Vec<u8>,
    /// Where each operation has written, and what.
    operations: Vec<(usize, Vec<u8>)>,
}

/// A flash on which the first operations were done.
struct Flash {
    bytes: Vec<u8>,
    done: usize,
}

impl Flash {
    /// The flash before the first of the operations.
    fn of(update: &Update) -> Self {
        Self {
            bytes: update.before.clone(),
            done: 0,
        }
    }
}

impl Update {
    /// Lets a device update itself until it says these words, and reads what it notes behind the end
    /// of its flash: the number of the operation, place and length in four bytes each, then what was
    /// written.
    fn noted(desk: &Desk, image: &[u8], before: Vec<u8>, words: &str) -> Result<Self> {
        fs::write(&desk.state, &before)?;
        let opened = desk.open(&desk.state)?;
        let mut file = OpenOptions::new().append(true).open(&desk.state)?;
        file.write_all(&[0])?;
        let enough = |line: &Line| line.message.contains(words);
        let (end, log) = desk.run_on(&opened, image, &FAST, DEADLINE, enough)?;
        drop(opened);
        end.success("the firmware", DEADLINE)?;
        ensure!(said(&log, words), "it did not say {words:?}");
        let flash = fs::read(&desk.state)?;
        let mut notes = flash.get(before.len() + 1..).unwrap_or_default();
        let mut operations: Vec<(usize, Vec<u8>)> = Vec::new();
        while let Some((words, rest)) = notes.split_first_chunk::<12>() {
            let [number, place, length] = [0, 4, 8].map(|at| {
                words[at..][..4]
                    .iter()
                    .rev()
                    .fold(0, |sum, byte| sum << 8 | usize::from(*byte))
            });
            let (bytes, rest) = rest.split_at_checked(length).context("half a note")?;
            notes = rest;
            if number == operations.len() + 1 {
                operations.push((place, bytes.to_vec()));
                continue;
            }
            // A sector is erased in pieces.
            let last = operations.last_mut().context("no operation")?;
            let (start, written) = last;
            ensure!(*start + written.len() == place, "operations do not follow");
            written.extend(bytes);
        }
        // The notes tell all that has happened.
        let update = Self { before, operations };
        let mut last = Flash::of(&update);
        update.done(update.operations.len(), &mut last);
        ensure!(
            flash.get(BOOT_STATE..update.before.len()) == last.bytes.get(BOOT_STATE..),
            "not all that was written is noted"
        );
        Ok(update)
    }

    /// Does what is missing of the first `count` operations.
    fn done(&self, count: usize, flash: &mut Flash) {
        for (place, bytes) in &self.operations[flash.done..count] {
            flash.bytes[*place..][..bytes.len()].copy_from_slice(bytes);
        }
        flash.done = count;
    }

    /// What a cut at this operation leaves: half of it. Operations are asked for in turn.
    fn cut_at(&self, operation: usize, flash: &mut Flash) -> Vec<u8> {
        self.done(operation - 1, flash);
        let mut left = flash.bytes.clone();
        let (place, bytes) = &self.operations[operation - 1];
        let half = &bytes[..bytes.len() / 2];
        left[*place..][..half.len()].copy_from_slice(half);
        left
    }
}

/// QEMU is killed at random moments of an update, so often.
pub fn killed(elf: &Path, times: usize) -> Result<()> {
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    let known = known(&desk);
    let mut random = Random(20_261_117);
    let mut confirmed = 0;
    let mut sequence = 0;
    for kill in 0..times {
        // Each build takes the other one's place, again and again.
        sequence += 1;
        desk.release_build(&desk.builds[(kill + 1) % 2], sequence, &unchanged);
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
    // Left alone, it takes what is released now as if nothing had happened. The others may have been
    // killed so often on trial that they are not tried again.
    sequence += 1;
    desk.release_build(&desk.third, sequence, &unchanged);
    let last = format!("update confirmed sequence={sequence}");
    let mut is_settled = false;
    let (end, log) = desk.run(&image, &FAST, DEADLINE, |line| {
        is_settled |= line.message.contains(&last);
        is_settled
    })?;
    end.success("the firmware after all kills", DEADLINE)?;
    println!(
        "{times} kills, {confirmed} updates confirmed before them, {:?} started after them",
        started(&log)
    );
    survived(&desk, "all kills", &log, &fs::read(&desk.state)?)?;
    ensure!(
        said(&log, &last),
        "after {times} kills, no update is confirmed any more: {:?} were started",
        started(&log)
    );
    Ok(())
}
