//! A firmware with updates where there was one without: what it takes over, and how much longer a
//! normal start takes.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use dunlin::update::PayloadKind;
use dunlin_tools::qemu::page_image::ImageFile;
use dunlin_tools::qemu::state::StateFile;
use dunlin_tools::qemu::{self, Attached, Line, Machine, Time, temporary};
use qemu_mps2_capacity::{STATE, STATE_WITH_SLOTS};

use super::desk::{Desk, said};
use super::{DEADLINE, FAST, PAGES, crawled_on, ended, unchanged};
use crate::trace;

/// The board's clock, in Hz. An instruction takes a cycle of it, or a little more.
const CLOCK: f64 = 25e6;
/// Milliseconds that a normal start may take longer.
const MOST: f64 = 50.0;
/// The first and the last words of a start: then the network comes up.
const WORDS: [&str; 2] = ["dunlin on qemu-mps2 ", "resumed pages="];
/// Pages of a long list.
const LISTED: usize = 500;

/// A device without updates gets a firmware that has them: its state file grows, and what was
/// learnt is kept.
pub fn taken_over(elf: &Path) -> Result<()> {
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    let length = || Ok::<_, anyhow::Error>(fs::metadata(&desk.state)?.len() as usize);
    let mut fetched = 0;
    let mut enough = |line: &Line| {
        fetched += usize::from(line.message.starts_with("end page="));
        fetched >= 8
    };
    let state = StateFile::open(&desk.state)?;
    let attached = Attached {
        network: true,
        ..Attached::default()
    };
    let log = run(elf, &image, &state, (Time::Real, attached), &mut enough)?;
    drop(state);
    ensure!(!said(&log, "updates slot="), "that firmware has updates");
    ensure!(length()? == STATE, "{} bytes", length()?);
    let mut fetched = 0;
    let log = ended(desk.run(&image, &FAST, DEADLINE, |line| {
        fetched += usize::from(line.message.starts_with("end page="));
        fetched >= 8
    })?)?;
    for words in [
        "resumed pages=4 hosts=3 strange=0 refused=0 foreign=false other_list=false",
        "updates slot=active state=confirmed attempt=0 sequence=0 ",
    ] {
        ensure!(said(&log, words), "it did not say {words:?}");
    }
    ensure!(length()? == STATE_WITH_SLOTS, "{} bytes", length()?);
    crawled_on(&desk)
}

/// Starts a device that has taken a firmware and a long list as updates, beside the long list of its
/// cable, and one without updates on the same list and store, and counts instructions up to the
/// same words.
pub fn starts_as_soon(elf: &Path) -> Result<()> {
    let desk = Desk::new(elf)?;
    let paths: Vec<String> = (0..LISTED)
        .map(|page| format!("/a/page/with/a/usual/name-{page}"))
        .collect();
    let hosts = ["good.test", "third.test", "busy.test"].into_iter().cycle();
    let pages: Vec<(&str, &str)> = hosts.zip(paths.iter().map(String::as_str)).collect();
    let image = desk.image(&pages)?;
    let list = desk.image(&pages[1..])?;
    desk.release_second(1, &unchanged);
    ended(desk.run(&image, &FAST, DEADLINE, |line| {
        if line.message.contains("update confirmed") {
            desk.release(&desk.list_key, PayloadKind::List, (8, &list), 1, &unchanged);
        }
        line.message.contains(" list=1 half=")
    })?)?;
    let [first, second] = &desk.builds;
    let plain = temporary("flash");
    let flash = fs::read(&desk.state)?;
    fs::write(&plain, flash.get(..STATE).context("a short state file")?)?;

    let state = StateFile::open(&plain)?;
    let [banner, resumed] = instructions(elf, &list, &state, Attached::default())?;
    let state = desk.open(&desk.state)?;
    let others = [second.elf.clone()];
    let attached = Attached {
        boot_loader: Some(&desk.boot_loader),
        other_builds: &others,
        ..Attached::default()
    };
    let [loaded, started] = instructions(&first.elf, &image, &state, attached)?;
    fs::remove_file(&plain)?;

    let milliseconds = |instructions: f64| 1e3 * instructions / CLOCK;
    let more = milliseconds(started - resumed);
    println!(
        "boot loader: {:.0} instructions, {:.2} ms; the whole start with a list of {} bytes: {more:.2} ms longer ({started:.0} instructions, {resumed:.0} without updates)",
        loaded - banner,
        milliseconds(loaded - banner),
        list.len()
    );
    ensure!(
        more <= MOST,
        "a normal start takes {more:.1} ms longer with updates, {MOST} ms are allowed"
    );
    Ok(())
}

/// Instructions from power on to each of the [`WORDS`].
fn instructions(
    elf: &Path,
    image: &[u8],
    state: &StateFile,
    attached: Attached<'_>,
) -> Result<[f64; 2]> {
    let mut found = [None; 2];
    run(elf, image, state, (Time::Counted, attached), &mut |line| {
        for (found, words) in found.iter_mut().zip(WORDS) {
            if line.message.starts_with(words) {
                *found = found.or(line.micros);
            }
        }
        found.iter().all(Option::is_some)
    })?;
    let [Some(first), Some(last)] = found else {
        bail!("it did not say {WORDS:?}, with the time");
    };
    Ok([first, last].map(|micros| Time::Counted.instructions(1e3 * micros as f64)))
}

/// Runs a firmware on this flash until `enough` says so.
fn run(
    elf: &Path,
    image: &[u8],
    state: &StateFile,
    (time, attached): (Time, Attached<'_>),
    enough: &mut dyn FnMut(&Line) -> bool,
) -> Result<Vec<Line>> {
    let image = ImageFile::write(image, elf)?;
    let options = [state.option()];
    let stop = AtomicBool::new(false);
    let machine = Machine {
        elf,
        options: &options,
        time,
        deadline: DEADLINE,
        attached: Attached {
            image: Some((&image.path, image.address)),
            stop: Some(&stop),
            ..attached
        },
    };
    let mut log = Vec::new();
    let end = qemu::run(machine, |line| {
        trace(line);
        log.push(line.clone());
        stop.fetch_or(enough(line), Ordering::Relaxed);
    })?;
    ended((end, log))
}
