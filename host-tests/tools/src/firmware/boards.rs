//! The boards: what each chip offers, what its firmware takes of it, and how many pages that leaves
//! room for – read from the ELF, where the linker and the firmware wrote it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use dunlin_host::error::Error;
use dunlin_host::lists::page_image::Capacity;
use object::{Object, ObjectSection, ObjectSymbol};

use crate::firmware::budgets::{self, Budget, Image, Rows, UPDATE};
use crate::firmware::sizes::{self, Sizes};
use crate::firmware::{self, layout, uf2};
use crate::setup::{CORTEX_M4F, CORTEX_M33};
use crate::shell::{self, root, say};

/// A piece of a chip's address space.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub start: u64,
    pub bytes: u64,
}

const KIB: u64 = 1024;

const fn memory(start: u64, kib: u64) -> Memory {
    Memory {
        start,
        bytes: kib * KIB,
    }
}

/// What has to be known of a board, from its data sheet.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    /// Its folder, its firmware, and with `-suite` its on-target suite.
    pub name: &'static str,
    /// The chip's name, for people.
    pub chip: &'static str,
    /// As probe-rs spells it; `None` for a board that no probe can be attached to.
    pub probe_chip: Option<&'static str>,
    pub target: &'static str,
    pub flash: Memory,
    /// Bytes of flash that are erased at once.
    pub sector: u64,
    /// Bytes of a word of the boot loader's state.
    pub boot_word: usize,
    /// Where variables may be; the first one holds the tables.
    pub ram: &'static [Memory],
    /// The boot ROM wants an image definition among the first 4 KiB, and takes UF2 files.
    pub image_definition: bool,
    /// How the log can leave it besides RTT: the feature of that name and `-log`, and what a
    /// monitor reads then.
    pub lines: &'static [Line],
    /// It has to be told which network to join.
    pub wifi: bool,
    /// The folder of the boot loader that starts a firmware with updates; its binary has the
    /// board's name and `-boot`.
    pub boot_loader: &'static str,
}

/// A way out for the log.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub name: &'static str,
    /// As `dunlin monitor --log` takes it.
    pub source: &'static str,
}

const USB: Line = Line {
    name: "usb",
    source: "/dev/ttyACM0",
};
const SERIAL: Line = Line {
    name: "serial",
    source: "/dev/ttyACM0",
};
const TCP: Line = Line {
    name: "tcp",
    source: "tcp:ADDRESS:19021",
};

/// Every board of a microcontroller.
pub const BOARDS: &[Board] = &[
    Board {
        name: firmware::BOARD,
        chip: "Cortex-M4F (emulated)",
        probe_chip: None,
        target: CORTEX_M4F,
        flash: memory(0, 4096),
        sector: 4 * KIB,
        boot_word: 8,
        // The machine has more; the firmware has to live with this.
        ram: &[memory(0x2000_0000, 512)],
        image_definition: false,
        lines: &[TCP],
        wifi: false,
        boot_loader: "qemu-mps2-boot",
    },
    Board {
        name: "nucleo-h753zi",
        chip: "STM32H753",
        probe_chip: Some("STM32H753ZITx"),
        target: CORTEX_M4F,
        flash: memory(0x0800_0000, 2048),
        sector: 128 * KIB,
        boot_word: 32,
        ram: &[memory(0x2400_0000, 512), memory(0x2000_0000, 128)],
        image_definition: false,
        lines: &[SERIAL, TCP],
        wifi: false,
        boot_loader: "nucleo-h753zi-boot",
    },
    Board {
        name: "pico2-w",
        chip: "RP2350",
        probe_chip: Some("RP235x"),
        target: CORTEX_M33,
        flash: memory(0x1000_0000, 4096),
        sector: 4 * KIB,
        boot_word: 8,
        ram: &[memory(0x2000_0000, 520)],
        image_definition: true,
        lines: &[USB, TCP],
        wifi: true,
        boot_loader: "rp2350-boot",
    },
    Board {
        name: "w5500-evb-pico2",
        chip: "RP2350",
        probe_chip: Some("RP235x"),
        target: CORTEX_M33,
        flash: memory(0x1000_0000, 2048),
        sector: 4 * KIB,
        boot_word: 8,
        ram: &[memory(0x2000_0000, 520)],
        image_definition: true,
        lines: &[USB, TCP],
        wifi: false,
        boot_loader: "rp2350-boot",
    },
];

impl Board {
    /// The board of that name.
    ///
    /// # Errors
    /// [`Error::Usage`], with the names there are.
    pub fn named(name: &str) -> Result<&'static Self, Error> {
        BOARDS
            .iter()
            .find(|board| board.name == name)
            .ok_or_else(|| {
                let known: Vec<_> = BOARDS.iter().map(|board| board.name).collect();
                Error::Usage(format!(
                    "found board {name:?}, expected one of {}",
                    known.join(", ")
                ))
            })
    }

    /// Returns the name of its on-target suite.
    pub fn suite(&self) -> String {
        format!("{}-suite", self.name)
    }

    /// The binary that starts its firmware with updates.
    pub fn boot_binary(&self) -> String {
        format!("{}-boot", self.name)
    }

    /// The features that let the log out this way.
    ///
    /// # Errors
    /// [`Error::Usage`], with the ways there are.
    pub fn log_features(&self, ways: &[String]) -> Result<Vec<String>, Error> {
        let known: Vec<_> = self.lines.iter().map(|line| line.name).collect();
        let mut features = Vec::new();
        for way in ways {
            if !known.contains(&way.as_str()) {
                return Err(Error::Usage(format!(
                    "found a log over {way:?}, expected {}: that is what {} has",
                    known.join(" or "),
                    self.name
                )));
            }
            features.push(format!("{way}-log"));
        }
        features.sort_unstable();
        features.dedup();
        Ok(features)
    }

    /// Builds its firmware, and returns the ELF file.
    pub fn build(&self, install: bool) -> Result<PathBuf> {
        firmware::build_board(install, self, self.name)
    }
}

/// What an ELF says about itself.
#[derive(Clone, Copy, Debug)]
pub struct Holdings {
    pub sizes: Sizes,
    pub pages: u32,
    pub hosts: u32,
    pub bytes_a_page: u32,
    /// Bytes between the last variable and the end of the RAM it is in.
    pub free_ram: u64,
    /// Is the stack in that room, too?
    pub shares_stack: bool,
    /// Bytes that are left for the stack.
    pub stack: u64,
    /// Does it speak https itself?
    pub https: bool,
}

impl Holdings {
    /// Reads the firmware of `board`.
    pub fn read(board: &Board, elf: &Path) -> Result<Self> {
        let bytes = fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
        let image =
            object::File::parse(&*bytes).with_context(|| format!("{} is no ELF", elf.display()))?;
        let symbol = |name| symbol(&image, name);
        let section = image
            .section_by_name(".dunlin")
            .context("the firmware does not say what it holds")?;
        let words: Vec<u32> = section
            .data()?
            .chunks_exact(4)
            .filter_map(|word| Some(u32::from_le_bytes(word.try_into().ok()?)))
            .collect();
        let &[pages, hosts, bytes_a_page, bytes_a_host] = &words[..] else {
            bail!(
                "{}: found {} words about what it holds, expected 4",
                elf.display(),
                words.len()
            );
        };
        let sizes = sizes::measure(elf)?;
        let taken =
            u64::from(pages) * u64::from(bytes_a_page) + u64::from(hosts) * u64::from(bytes_a_host);
        // Else the variables are not those that the firmware speaks of.
        ensure!(
            taken > 0 && taken < sizes.static_ram,
            "{pages} pages and {hosts} hosts take {taken} bytes, the firmware has {} of variables",
            sizes.static_ram
        );
        let tables = board.ram[0];
        let end = tables.start + tables.bytes;
        let stack_start = symbol("_stack_start")?;
        let free_ram = end.saturating_sub(symbol("__euninit")?);
        Ok(Self {
            sizes,
            pages,
            hosts,
            bytes_a_page,
            free_ram,
            https: image
                .symbols()
                .any(|symbol| symbol.name().is_ok_and(|name| name.contains("dunlin_tls"))),
            shares_stack: (tables.start..=end).contains(&stack_start),
            stack: stack_start.saturating_sub(symbol("_stack_end")?),
        })
    }

    /// Pages that would fit into what is left, beside so many bytes of stack.
    pub fn more_pages(&self, stack: u64) -> u64 {
        let stack = if self.shares_stack { stack } else { 0 };
        self.free_ram.saturating_sub(stack) / u64::from(self.bytes_a_page.max(1))
    }

    /// Fails if it holds fewer pages than its budget says, or leaves less for the stack.
    pub fn check(&self, image: &Image) -> Result<()> {
        let name = &image.name;
        let Budget { pages, stack, .. } = image.budget;
        ensure!(
            self.pages >= pages.unwrap_or_default(),
            "{name} holds {} pages, host-tests/budgets.toml promises {pages:?}",
            self.pages
        );
        ensure!(
            self.stack >= stack.unwrap_or_default(),
            "{name} leaves {} bytes for the stack, host-tests/budgets.toml promises {stack:?}",
            self.stack
        );
        Ok(())
    }

    /// What a page list may ask of it.
    pub fn capacity(&self) -> Capacity {
        Capacity {
            pages: self.pages as usize,
            hosts: self.hosts as usize,
            https: self.https,
            ipv6: false,
        }
    }
}

/// The address of a symbol.
pub fn symbol(image: &object::File<'_>, name: &str) -> Result<u64> {
    let found = image
        .symbols()
        .find(|symbol| symbol.name() == Ok(name))
        .map(|symbol| symbol.address());
    found.with_context(|| format!("the firmware has no symbol {name}"))
}

/// Bytes of the variable whose demangled name ends so.
pub fn symbol_size(image: &object::File<'_>, ending: &str) -> Result<u64> {
    let is_meant = |symbol: &object::Symbol<'_, '_>| {
        let name = symbol.name().unwrap_or_default();
        format!("{:#}", rustc_demangle::demangle(name)).ends_with(ending)
    };
    let found = image.symbols().find(is_meant).map(|symbol| symbol.size());
    found.with_context(|| format!("the firmware has no variable {ending}"))
}

/// Builds the firmware of these rows and checks its ELF against the chip, and that each
/// board's suite links.
pub fn check(install: bool, rows: Rows) -> Result<()> {
    let images: Vec<Image> = budgets::images(rows)?
        .into_iter()
        .filter(Image::is_firmware)
        .collect();
    let steps: Vec<String> = images
        .iter()
        .map(|image| format!("board {}", image.name))
        .collect();
    let progress = shell::steps("boards", &steps);
    for (image, step) in images.iter().zip(&steps) {
        progress.begin(step);
        let board = image.board;
        let elf = firmware::build_image(install, image)?;
        layout::check(board, &elf)?;
        Holdings::read(board, &elf)?.check(image)?;
        // A chip whose flash begins a sector later could not run it: if that goes unnoticed, the
        // check is blind.
        let bytes = fs::read(&elf)?;
        let base = layout::base(board, &object::File::parse(&*bytes)?);
        let later = Memory {
            start: base + 4 * KIB,
            ..board.flash
        };
        let other = Board {
            flash: later,
            ..*board
        };
        ensure!(
            layout::check(&other, &elf).is_err(),
            "{}: the check of images is blind",
            image.name
        );
        if board.image_definition {
            check_uf2(board, &elf)?;
        }
        if image.features.iter().any(|feature| feature == UPDATE) {
            layout::check_release(board, &elf)?;
        }
        println!("{}: lies where the {} looks", image.name, board.chip);
    }
    for image in budgets::images(rows)?
        .iter()
        .filter(|image| image.is_boot_loader())
    {
        let elf = firmware::build_image(install, image)?;
        // The emulated board's borrows the machine's other RAM.
        if image.board.probe_chip.is_some() {
            layout::check_boot_loader(image.board, &elf)?;
        }
        println!("{}: lies where the {} looks", image.name, image.board.chip);
    }
    for board in BOARDS {
        let suite = firmware::build_board(install, board, &board.suite())?;
        println!("{}: its suite links", board.name);
        // The emulated board's suite borrows the machine's other RAM for its benches.
        if board.probe_chip.is_some() {
            layout::check(board, &suite)?;
        }
    }
    progress.end();
    let table = table(install, rows)?;
    let readme = fs::read_to_string(readme_path()).context("cannot read README.md")?;
    ensure!(
        agrees(between(&readme)?, &table, rows),
        "the table of boards in README.md is not what the firmware says: run `cargo xtask boards --readme`"
    );
    Ok(())
}

/// README's table is made of all rows; one of fewer rows has to be a part of it.
fn agrees(readme: &str, table: &str, rows: Rows) -> bool {
    match rows {
        Rows::All => readme == table,
        Rows::Ordinary => {
            let mut stored = readme.lines();
            table.lines().all(|line| stored.any(|other| other == line))
        }
    }
}

/// As UF2, another reader finds the firmware and a page image as they are.
fn check_uf2(board: &Board, elf: &Path) -> Result<()> {
    let bytes = fs::read(elf)?;
    let mut parts = uf2::parts(&bytes)?;
    let address = symbol(&object::File::parse(&*bytes)?, "_image_start")?;
    let image = [0x5a; 1000];
    parts.push(uf2::Part {
        address,
        bytes: &image,
    });
    let file = uf2::file(&parts)?;
    uf2::check(&file, &parts).with_context(|| format!("{} as UF2", board.name))?;
    println!(
        "{}: {} blocks of UF2, as another reader finds them",
        board.name,
        file.len() / 512
    );
    Ok(())
}

/// Prints the table that was written last; `readme` makes a new one of the firmware.
pub fn boards(install: bool, readme: bool) -> Result<()> {
    let path = readme_path();
    let text = fs::read_to_string(&path).context("cannot read README.md")?;
    if !readme {
        print!("{}", between(&text)?);
        say(
            "as written into README.md; `cargo xtask boards --check` builds every board and compares",
        );
        return Ok(());
    }
    let table = table(install, Rows::All)?;
    print!("{table}");
    let old = between(&text)?;
    let new = text.replacen(
        &format!("{BEGIN}{old}{END}"),
        &format!("{BEGIN}{table}{END}"),
        1,
    );
    fs::write(&path, new).context("cannot write README.md")
}

fn table(install: bool, rows: Rows) -> Result<String> {
    let mut table = String::from(
        "| firmware | chip | flash | RAM | pages | hosts | room for |\n|---|---|---|---|---|---|---|\n",
    );
    // Firmware as it is built for lists of http pages, and of https pages; logs take little.
    let plain = |image: &Image| {
        let others = image
            .features
            .iter()
            .filter(|feature| *feature != budgets::HTTPS);
        image.is_firmware() && others.count() == 0
    };
    let images: Vec<Image> = budgets::images(rows)?.into_iter().filter(plain).collect();
    let steps: Vec<String> = images
        .iter()
        .map(|image| format!("table {}", image.name))
        .collect();
    let progress = shell::steps("boards", &steps);
    for (image, step) in images.iter().zip(&steps) {
        progress.begin(step);
        let board = image.board;
        let holds = Holdings::read(board, &firmware::build_image(install, image)?)?;
        let ram: u64 = board.ram.iter().map(|ram| ram.bytes).sum();
        let stack = image.budget.stack.unwrap_or_default();
        // In whole KiB, so that a fix of a few bytes is no new table.
        table += &format!(
            "| `{}` | {} | {} of {} KiB | {} of {} KiB | {} | {} | {} more pages |\n",
            image.name,
            board.chip,
            holds.sizes.flash.div_ceil(8 * KIB) * 8,
            board.flash.bytes / KIB,
            holds.sizes.static_ram.div_ceil(8 * KIB) * 8,
            ram / KIB,
            holds.pages,
            holds.hosts,
            holds.more_pages(stack) / 100 * 100,
        );
    }
    progress.end();
    Ok(table)
}

const BEGIN: &str = "<!-- boards: written by `cargo xtask boards --readme` -->\n";
const END: &str = "<!-- boards end -->";

fn readme_path() -> PathBuf {
    root().join("README.md")
}

/// What stands between the marks.
fn between(readme: &str) -> Result<&str> {
    let (_, rest) = readme
        .split_once(BEGIN)
        .with_context(|| format!("README.md lacks the mark {BEGIN}"))?;
    let (table, _) = rest
        .split_once(END)
        .with_context(|| format!("README.md lacks the mark {END}"))?;
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_fewer_rows_is_a_part_of_the_whole_one() {
        let whole = "| a |\n| b |\n| c |\n";
        assert!(agrees(whole, whole, Rows::All));
        assert!(!agrees(whole, "| a |\n| c |\n", Rows::All));
        assert!(agrees(whole, "| a |\n| c |\n", Rows::Ordinary));
        for other in ["| a |\n| d |\n", "| c |\n| a |\n", "| a |\n| a |\n"] {
            assert!(!agrees(whole, other, Rows::Ordinary), "{other}");
        }
    }
}
