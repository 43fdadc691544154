//! Flash and static RAM of each image, read from the ELF's sections.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use dunlin::scheduler::Scheduler;
use object::{Object, ObjectSection, SectionFlags, elf};

use crate::firmware;
use crate::firmware::boards::Holdings;
use crate::firmware::budgets::{self, Budget, Rows};
use crate::firmware::modules::modules;
use crate::shell;

/// How many bytes an image occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Code, constants and initial values.
    pub flash: u64,
    /// Variables with a place of their own.
    pub static_ram: u64,
}

/// Prints what the images of these rows occupy, or only those of these names, and fails if
/// one exceeds its budget, holds fewer pages than it says there, or leaves less for the stack.
pub fn size(install: bool, rows: Rows, only: &[String], by_module: bool) -> Result<()> {
    // All names before the first build.
    let images = if only.is_empty() {
        budgets::images(rows)?
    } else {
        only.iter()
            .map(|name| budgets::image(name))
            .collect::<Result<_>>()?
    };
    let mut rows = Vec::new();
    let mut held = Vec::new();
    let mut measured = BTreeMap::new();
    let mut elves = Vec::new();
    let steps: Vec<String> = images
        .iter()
        .map(|image| format!("size {}", image.name))
        .collect();
    let progress = shell::steps("size", &steps);
    for (image, step) in images.iter().zip(&steps) {
        progress.begin(step);
        let elf = firmware::build_image(install, image)?;
        let sizes = measure(&elf)?;
        let Budget {
            flash, static_ram, ..
        } = image.budget;
        rows.push((image.name.clone(), "flash", sizes.flash, flash));
        rows.push((
            image.name.clone(),
            "static RAM",
            sizes.static_ram,
            static_ram,
        ));
        measured.insert(image.name.as_str(), sizes);
        // All of them would be a book: those that were asked for, or else the emulated board's.
        if image.is_firmware() && (!only.is_empty() || image.name == firmware::BOARD) {
            elves.push((image.name.as_str(), elf.clone()));
        }
        if image.is_firmware() {
            held.push((Holdings::read(image.board, &elf)?, image));
        }
    }
    progress.end();
    let all = budgets::images(Rows::All)?;
    for image in &images {
        let base = image.base(&all).map(|base| base.name.as_str());
        let base = base.and_then(|name| Some((name, measured.get(name)?)));
        if let (Some(more), Some((name, less))) = (image.budget.more, base) {
            let sizes = measured[image.name.as_str()];
            let name = format!("{} beyond {name}", image.name);
            let flash = sizes.flash.saturating_sub(less.flash);
            let static_ram = sizes.static_ram.saturating_sub(less.static_ram);
            rows.push((name.clone(), "flash", flash, more.flash));
            rows.push((name, "static RAM", static_ram, more.static_ram));
        }
    }
    println!("| board | memory | bytes | budget | used |\n|---|---|---|---|---|");
    for (board, memory, bytes, limit) in &rows {
        println!(
            "| {board} | {memory} | {bytes} | {limit} | {:.0} % |",
            100.0 * *bytes as f64 / *limit as f64
        );
    }
    println!(
        "\n| firmware | pages | at least | left for the stack | at least |\n|---|---|---|---|---|"
    );
    for (holds, image) in &held {
        let Budget { pages, stack, .. } = image.budget;
        println!(
            "| {} | {} | {} | {} | {} |",
            image.name,
            holds.pages,
            pages.unwrap_or_default(),
            holds.stack,
            stack.unwrap_or_default()
        );
    }
    println!("\n| scheduler | bytes of static memory |\n|---|---|");
    for (pages, bytes) in [
        (256, Scheduler::<256, 32>::SIZE),
        (1_024, Scheduler::<1024, 32>::SIZE),
        (4_096, Scheduler::<4096, 32>::SIZE),
    ] {
        // As this computer lays it out; the few words that are not per page or host are half as
        // long on a device.
        println!("| {pages} pages, 32 hosts | {bytes} |");
    }
    if by_module {
        for (name, elf) in &elves {
            print_modules(name, elf)?;
        }
    }
    for (board, memory, bytes, limit) in rows {
        let excess = bytes.saturating_sub(limit);
        ensure!(
            excess == 0,
            "{board} exceeds its {memory} in host-tests/budgets.toml by {excess} bytes"
        );
    }
    held.iter()
        .try_for_each(|(holds, image)| holds.check(image))
}

/// Modules with less flash than this are summed up.
const SHOWN: u64 = 256;

/// Prints the flash of an image by module, and by crate.
fn print_modules(name: &str, elf: &Path) -> Result<()> {
    let modules = modules(elf)?;
    let all: u64 = modules.iter().map(|(_, bytes)| bytes).sum();
    let table = |of: &str, rows: &[(String, u64)]| {
        println!("\n| {of} of {name} | bytes of flash | share |\n|---|---|---|");
        for (name, bytes) in rows {
            println!(
                "| {name} | {bytes} | {:.1} % |",
                100.0 * *bytes as f64 / all as f64
            );
        }
    };
    let (shown, small): (Vec<_>, Vec<_>) = modules
        .iter()
        .cloned()
        .partition(|(_, bytes)| *bytes >= SHOWN);
    let rest = small.iter().map(|(_, bytes)| bytes).sum();
    table(
        "module",
        &[
            &shown[..],
            &[(format!("{} smaller ones", small.len()), rest)],
        ]
        .concat(),
    );
    let mut crates: BTreeMap<&str, u64> = BTreeMap::new();
    for (module, bytes) in &modules {
        *crates
            .entry(module.split("::").next().unwrap_or(module))
            .or_default() += bytes;
    }
    let mut crates: Vec<(String, u64)> = crates
        .into_iter()
        .map(|(name, bytes)| (name.into(), bytes))
        .collect();
    crates.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    table("crate", &crates);
    // Without debugging information, nothing has a name.
    let ours = crates
        .iter()
        .find(|(name, _)| name == "dunlin")
        .map_or(0, |(_, bytes)| *bytes);
    ensure!(
        10 * ours > all,
        "{ours} of {all} bytes are said to be dunlin's: the count by modules is broken"
    );
    Ok(())
}

/// Reads the sizes from an ELF file.
pub fn measure(file: &Path) -> Result<Sizes> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let image = object::File::parse(&*bytes)
        .with_context(|| format!("{} is no ELF file", file.display()))?;
    let mut sizes = Sizes {
        flash: 0,
        static_ram: 0,
    };
    for section in image.sections().filter(is_loaded) {
        let name = section.name().unwrap_or_default();
        let in_ram = [".data", ".bss", ".uninit", ".kept"].contains(&name);
        // Variables that start with a value occupy both: RAM, and flash to copy the value from.
        sizes.static_ram += if in_ram { section.size() } else { 0 };
        sizes.flash += if [".bss", ".uninit", ".kept"].contains(&name) {
            0
        } else {
            section.size()
        };
    }
    Ok(sizes)
}

/// Does the section occupy memory at run time?
pub fn is_loaded(section: &object::Section<'_, '_>) -> bool {
    matches!(section.flags(), SectionFlags::Elf { sh_flags } if sh_flags & u64::from(elf::SHF_ALLOC) != 0)
}
