//! Promises about the image that its ELF can prove: few panic sites, no allocator.
//!
//! A panic site is a direct branch to one of the standard library's panic functions, found by
//! decoding the Thumb code. Every panic ends in the panic handler, so a helper that this list does
//! not know still counts once, through its own branch to a function that the list does know.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::firmware;
use crate::firmware::boards::BOARDS;
use crate::firmware::budgets::{self, Rows};

/// Counts the panic sites of each board's firmware and fails above its budget.
pub fn panic_sites(install: bool, rows: Rows) -> Result<()> {
    // The suite is full of assertions: if none is seen there, the counter is blind.
    let seen = count(&firmware::build(install, firmware::SUITE)?)?;
    ensure!(
        seen > 0,
        "no panic site found in the on-target suite, which is full of them: the count is broken"
    );
    for image in budgets::images(rows)? {
        let callers = sites(&firmware::build_image(install, &image)?)?;
        let count: usize = callers.values().sum();
        let budget = image.budget.panic_sites;
        let name = image.name;
        println!("{name}: {count} panic sites of at most {budget} (the on-target suite: {seen})");
        if count > budget {
            callers
                .iter()
                .for_each(|(caller, count)| eprintln!("{count:5} in {caller}"));
            bail!("{name} has {count} panic sites, {budget} are allowed (host-tests/budgets.toml)");
        }
    }
    Ok(())
}

/// The panic sites of an image.
pub fn count(file: &Path) -> Result<usize> {
    Ok(sites(file)?.values().sum())
}

/// Fails if an allocator was linked into the firmware or the suite, but for images with https,
/// whose pool has to be seen: else the check would be blind. That they link at all proves
/// more: rustc refuses to link a crate that asks for an allocator where there is none.
pub fn no_allocator(install: bool, rows: Rows) -> Result<()> {
    let mut elves = Vec::new();
    for image in budgets::images(rows)? {
        let elf = firmware::build_image(install, &image)?;
        let has_pool = image.speaks_https();
        elves.push((image.name, elf, has_pool));
    }
    for board in BOARDS {
        let elf = firmware::build_board(install, board, &board.suite())?;
        elves.push((board.suite(), elf, false));
    }
    for (binary, elf, has_pool) in elves {
        let bytes = fs::read(&elf)?;
        let image = object::File::parse(&*bytes)?;
        let names = image
            .symbols()
            .filter_map(|symbol| symbol.name().ok().map(demangled));
        let allocators: BTreeSet<_> = names.filter(|name| is_allocator(name)).collect();
        ensure!(
            allocators.is_empty() != has_pool,
            "{binary} contains an allocator ({allocators:?}), expected {}",
            if has_pool { "one for TLS" } else { "none" }
        );
        if has_pool {
            println!("{binary}: allocates for TLS from its pool");
        } else {
            println!("{binary}: links without an allocator");
        }
    }
    Ok(())
}

fn is_allocator(name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    ["__rust_", "__rg_", "__rdl_"].iter().any(|prefix| {
        last.strip_prefix(prefix)
            .is_some_and(|rest| ["alloc", "alloc_zeroed", "realloc", "dealloc"].contains(&rest))
    })
}

/// How often each function of the image branches to a panic function.
fn sites(file: &Path) -> Result<BTreeMap<String, usize>> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let image = object::File::parse(&*bytes)
        .with_context(|| format!("{} is no ELF file", file.display()))?;
    let text = image
        .section_by_name(".text")
        .context("the image has no .text")?;
    let code = text.data()?;
    let base = text.address();
    let functions: BTreeMap<u64, (u64, String)> = image
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
        .filter_map(|symbol| {
            Some((
                symbol.address() & !1,
                (symbol.size(), demangled(symbol.name().ok()?)),
            ))
        })
        .collect();
    // Mapping symbols: `$t` begins Thumb code, `$d` data between it (literals, jump tables).
    let map: BTreeMap<u64, bool> = image
        .symbols()
        .filter_map(|symbol| match symbol.name().ok()?.get(..2)? {
            "$t" => Some((symbol.address(), true)),
            "$d" => Some((symbol.address(), false)),
            _ => None,
        })
        .collect();
    let is_code = |address| {
        map.range(..=address)
            .next_back()
            .is_none_or(|(_, code)| *code)
    };
    let is_panic = |address| {
        functions
            .get(&address)
            .is_some_and(|(_, name)| is_panic_function(name))
    };
    let mut callers = BTreeMap::new();
    for (&start, (size, name)) in functions
        .iter()
        .filter(|(_, (_, name))| !is_panic_function(name))
    {
        let from = start.saturating_sub(base) as usize;
        let body = code.get(from..from + *size as usize).unwrap_or_default();
        let count = branches(body, start, is_code)
            .into_iter()
            .filter(|target| is_panic(*target))
            .count();
        if count > 0 {
            *callers.entry(name.clone()).or_default() += count;
        }
    }
    Ok(callers)
}

fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

/// The standard library's ways to panic, by demangled name, and the handler in which all of them
/// end.
fn is_panic_function(name: &str) -> bool {
    let path = name.split("::<").next().unwrap_or(name);
    let last = path.rsplit("::").next().unwrap_or(path);
    let fails = last.starts_with("panic") || last.ends_with("_failed") || last.ends_with("_fail");
    last == "rust_begin_unwind"
        || (path.starts_with("core::") && (path.contains("::panicking::") || fails))
}

/// Targets of the unconditional and linking branches in `body`, which starts at `address`.
fn branches(body: &[u8], address: u64, is_code: impl Fn(u64) -> bool) -> Vec<u64> {
    let halfword = |at: usize| Some(u16::from_le_bytes(*body.get(at..)?.first_chunk()?));
    let mut targets = Vec::new();
    let mut at = 0;
    while let Some(first) = halfword(at) {
        let here = address + at as u64;
        if !is_code(here) {
            at += 2;
        } else if first >> 11 < 0b11101 {
            targets.extend(short_branch(first, here));
            at += 2;
        } else {
            targets.extend(halfword(at + 2).and_then(|second| long_branch(first, second, here)));
            at += 4;
        }
    }
    targets
}

/// `B`, encoding T2 of the ARMv7-M manual: eleven bits of offset.
fn short_branch(word: u16, address: u64) -> Option<u64> {
    let offset = (i64::from(word & 0x7ff) << 53) >> 52;
    (word >> 11 == 0b11100).then(|| address.wrapping_add_signed(4 + offset))
}

/// `BL` (T1) and `B.W` (T4): 24 bits of offset, two of them folded with the sign.
fn long_branch(first: u16, second: u16, address: u64) -> Option<u64> {
    let is_branch = first >> 11 == 0b11110 && matches!(second >> 12 & 0b1101, 0b1101 | 0b1001);
    let bit = |word: u16, position: u32| i64::from(word >> position & 1);
    let sign = bit(first, 10);
    let i1 = 1 ^ bit(second, 13) ^ sign;
    let i2 = 1 ^ bit(second, 11) ^ sign;
    let imm10 = i64::from(first & 0x3ff);
    let imm11 = i64::from(second & 0x7ff);
    let offset = -(sign << 24) + (i1 << 23) + (i2 << 22) + (imm10 << 12) + (imm11 << 1);
    is_branch.then(|| address.wrapping_add_signed(4 + offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_the_branches_an_assembler_writes() {
        // bl .  |  b.w . - 4  |  b . + 4  |  nop  |  bl . + 0x100
        let words: [u16; 8] = [
            0xf7ff, 0xfffe, 0xf7ff, 0xbffc, 0xe000, 0xbf00, 0xf000, 0xf87e,
        ];
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(
            branches(&body, 0x1000, |_| true),
            [0x1000, 0x1000, 0x100c, 0x100c + 0x100]
        );
        assert_eq!(
            branches(&body, 0x1000, |address| address >= 0x1008),
            [0x100c, 0x100c + 0x100]
        );
    }

    #[test]
    fn knows_panic_functions_by_name() {
        for name in [
            "core::panicking::panic_fmt",
            "core::panicking::assert_failed::<u32, u32>",
            "core::option::unwrap_failed",
            "core::slice::index::slice_index_fail",
            "__rustc::rust_begin_unwind",
        ] {
            assert!(is_panic_function(name), "{name}");
        }
        for name in [
            "core::fmt::write",
            "dunlin::heap::push",
            "probe::has_failed",
        ] {
            assert!(!is_panic_function(name), "{name}");
        }
    }
}
