//! Flash by crate and module: every instruction counts for the source line that it was written for.
//!
//! Functions do not tell: whatever is called once is inlined, and what was compiled for one type
//! only has no name of its own. The debugging information tells for each instruction which
//! functions were inlined into which. The innermost one that is not the standard library's is
//! taken: a scheduler that looks into an `Option` is a scheduler.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use addr2line::gimli::{Dwarf, EndianSlice, Error, LittleEndian, SectionId};
use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection};

use crate::firmware::sizes;

/// What no line of source stands for: strings, tables and numbers in `.rodata`, the vector table,
/// padding.
const CONSTANTS: &str = "constants";

/// Bytes of flash by module, the largest first; together they are what [`sizes::measure`] finds.
pub fn modules(file: &Path) -> Result<Vec<(String, u64)>> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let image = object::File::parse(&*bytes)
        .with_context(|| format!("{} is no ELF file", file.display()))?;
    let data = |id: SectionId| {
        let section = image
            .section_by_name(id.name())
            .and_then(|section| section.data().ok());
        Ok::<_, Error>(EndianSlice::new(section.unwrap_or_default(), LittleEndian))
    };
    let lines = addr2line::Context::from_dwarf(Dwarf::load(data)?)?;
    let mut modules: BTreeMap<String, u64> = BTreeMap::new();
    let code = image
        .section_by_name(".text")
        .context("the image has no .text")?;
    // The shortest instruction.
    const STEP: u64 = 2;
    for address in (code.address()..code.address() + code.size()).step_by(STEP as usize) {
        let mut frames = lines.find_frames(address).skip_all_loads()?;
        let mut found = None;
        while let Some(frame) = frames.next()? {
            let Some(module) = frame.location.and_then(|at| at.file).map(module_of) else {
                continue;
            };
            let of_library = LIBRARY
                .iter()
                .any(|name| module.split("::").next() == Some(name));
            found = Some(module);
            if !of_library {
                break;
            }
        }
        *modules
            .entry(found.unwrap_or_else(|| "outside Rust".into()))
            .or_default() += STEP;
    }
    let all = sizes::measure(file)?.flash;
    let named: u64 = modules.values().sum();
    ensure!(named <= all, "{named} bytes were found in {all}");
    *modules.entry(CONSTANTS.into()).or_default() += all - named;
    let mut modules: Vec<(String, u64)> = modules.into_iter().collect();
    modules.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Ok(modules)
}

/// Crates whose functions are parts of others'.
const LIBRARY: [&str; 3] = ["core", "alloc", "compiler_builtins"];

/// Crate and first module of a source file: `…/smoltcp-0.13.1/src/wire/tcp.rs` is `smoltcp::wire`.
fn module_of(path: &str) -> String {
    let parts: Vec<&str> = path.split(['/', '\\']).collect();
    let Some(source) = parts.iter().rposition(|part| *part == "src") else {
        return path.to_owned();
    };
    let folder = source
        .checked_sub(1)
        .and_then(|folder| parts.get(folder))
        .copied()
        .unwrap_or_default();
    let name = match folder {
        // The repository itself, whose files debuggers are told of relative to boards' workspace.
        "" | "." | ".." | "boards" => "dunlin",
        "common" => "dunlin_board",
        _ => match folder.rsplit_once('-') {
            Some((name, version)) if version.starts_with(|digit: char| digit.is_ascii_digit()) => {
                name
            }
            _ => folder,
        },
    };
    let name = name.replace('-', "_");
    match parts
        .get(source + 1)
        .map(|module| module.trim_end_matches(".rs"))
    {
        None | Some("lib" | "main" | "mod" | "macros") => name,
        Some(module) => format!("{name}::{module}"),
    }
}

#[cfg(test)]
mod tests {
    use super::module_of;

    #[test]
    fn files_belong_to_modules() {
        for (path, module) in [
            ("./src/fetch/url.rs", "dunlin::fetch"),
            ("./boards/../src/heap.rs", "dunlin::heap"),
            ("/boards/src/heap.rs", "dunlin::heap"),
            (
                "cargo/registry/src/index.crates.io-1949/smoltcp-0.13.1/src/wire/tcp.rs",
                "smoltcp::wire",
            ),
            (
                "cargo/registry/src/index.crates.io-1949/embassy-net-0.9.1/src/lib.rs",
                "embassy_net",
            ),
            ("/rustc/5980/library/core/src/num/f32.rs", "core::num"),
            ("./boards/qemu-mps2/src/main.rs", "qemu_mps2"),
            ("./boards/common/src/network.rs", "dunlin_board::network"),
            ("somewhere.s", "somewhere.s"),
        ] {
            assert_eq!(module_of(path), module, "{path}");
        }
    }
}
