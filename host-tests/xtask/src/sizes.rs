//! Flash and static RAM per board, read from the ELF's sections.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use dunlin::scheduler::Scheduler;
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, elf};

use crate::{budgets, firmware};

/// Bytes in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Code, constants and initial values.
    pub flash: u64,
    /// Variables with a place of their own.
    pub static_ram: u64,
}

/// Prints what each board's firmware occupies, and fails if one exceeds its budget.
pub fn size(install: bool, by_module: bool) -> Result<()> {
    let mut rows = Vec::new();
    for (name, board) in firmware::images() {
        let sizes = measure(&firmware::build_board(install, board, name)?)?;
        let budget = budgets::of(name)?;
        rows.push((name, "flash", sizes.flash, budget.flash));
        rows.push((name, "static RAM", sizes.static_ram, budget.static_ram));
    }
    println!("| board | memory | bytes | budget | used |\n|---|---|---|---|---|");
    for (board, memory, bytes, limit) in &rows {
        println!(
            "| {board} | {memory} | {bytes} | {limit} | {:.0} % |",
            100.0 * *bytes as f64 / *limit as f64
        );
    }
    println!("\n| scheduler | bytes of static memory |\n|---|---|");
    for (pages, bytes) in [
        (256, Scheduler::<256, 32>::SIZE),
        (1_024, Scheduler::<1024, 32>::SIZE),
        (4_096, Scheduler::<4096, 32>::SIZE),
    ] {
        // As this computer lays it out; the few words that are not per page or host are half as long on a device.
        println!("| {pages} pages, 32 hosts | {bytes} |");
    }
    if by_module {
        println!("\n| module of {} | bytes of flash |\n|---|---|", firmware::BOARD);
        for (module, bytes) in modules(&firmware::build(install, firmware::BOARD)?)? {
            println!("| {module} | {bytes} |");
        }
    }
    for (board, memory, bytes, limit) in rows {
        let excess = bytes.saturating_sub(limit);
        ensure!(excess == 0, "{board} exceeds its {memory} in host-tests/budgets.toml by {excess} bytes");
    }
    Ok(())
}

/// Reads them from an ELF.
pub fn measure(file: &Path) -> Result<Sizes> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let image = object::File::parse(&*bytes).with_context(|| format!("{} is no ELF file", file.display()))?;
    let mut sizes = Sizes { flash: 0, static_ram: 0 };
    for section in image.sections().filter(is_loaded) {
        let name = section.name().unwrap_or_default();
        let in_ram = [".data", ".bss", ".uninit"].contains(&name);
        // Variables that start with a value occupy both: RAM, and flash to copy the value from.
        sizes.static_ram += if in_ram { section.size() } else { 0 };
        sizes.flash += if [".bss", ".uninit"].contains(&name) { 0 } else { section.size() };
    }
    Ok(sizes)
}

/// Does the section occupy memory at run time?
pub fn is_loaded(section: &object::Section<'_, '_>) -> bool {
    matches!(section.flags(), SectionFlags::Elf { sh_flags } if sh_flags & u64::from(elf::SHF_ALLOC) != 0)
}

/// Bytes of flash by crate and module, the largest first, by the names of symbols. What was inlined counts where it ended
/// up; what has no symbol (strings, padding) is `unnamed`.
pub fn modules(file: &Path) -> Result<Vec<(String, u64)>> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let image = object::File::parse(&*bytes).with_context(|| format!("{} is no ELF file", file.display()))?;
    let mut modules: BTreeMap<String, u64> = BTreeMap::new();
    let mut places = std::collections::BTreeSet::new();
    for symbol in image.symbols().filter(|symbol| symbol.size() > 0 && in_flash(&image, symbol)) {
        // Functions that came out alike share one place.
        if places.insert(symbol.address()) {
            let name = format!("{:#}", rustc_demangle::demangle(symbol.name().unwrap_or_default()));
            *modules.entry(module_of(&name)).or_default() += symbol.size();
        }
    }
    let named: u64 = modules.values().sum();
    modules.insert("unnamed".into(), measure(file)?.flash.saturating_sub(named));
    let mut modules: Vec<(String, u64)> = modules.into_iter().collect();
    modules.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Ok(modules)
}

fn in_flash(image: &object::File<'_>, symbol: &object::Symbol<'_, '_>) -> bool {
    let section = symbol.section_index().and_then(|index| image.section_by_index(index).ok());
    section.is_some_and(|section| {
        is_loaded(&section) && ![".bss", ".uninit"].contains(&section.name().unwrap_or_default())
    })
}

/// Crate and first module of a demangled name: of the type, for a method of a trait.
fn module_of(name: &str) -> String {
    let path = name.trim_start_matches(['<', '&', '(']).trim_start_matches("mut ").trim_start_matches("dyn ");
    let end = path.find(['<', ' ', '>', '(', '{']).unwrap_or(path.len());
    let parts: Vec<&str> =
        path.get(..end).unwrap_or_default().split("::").filter(|part| !part.is_empty()).collect();
    match parts[..] {
        [krate, module, _, ..] => format!("{krate}::{module}"),
        [krate, _] => krate.to_owned(),
        _ => "outside Rust".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::module_of;

    #[test]
    fn names_belong_to_modules() {
        for (name, module) in [
            ("dunlin::fetch::url::Url::parse", "dunlin::fetch"),
            ("<dunlin::fetch::url::Url as core::fmt::Debug>::fmt", "dunlin::fetch"),
            ("<&mut smoltcp::iface::Interface as A>::f", "smoltcp::iface"),
            ("libm::exp", "libm"),
            ("memcpy", "outside Rust"),
        ] {
            assert_eq!(module_of(name), module, "{name}");
        }
    }
}
