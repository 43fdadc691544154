//! Does an image lie where its chip looks? Every section inside the chip's memory, vectors first,
//! the store, the page image and what updates need apart from the code and on whole sectors.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use boot_chain::state_sectors;
use dunlin::update::SecretKey;
use object::{Object, ObjectSection, ObjectSegment, SectionKind};

use crate::firmware::boards::{Board, Memory, symbol};
use crate::firmware::sizes::is_loaded;
use crate::firmware::stamp::{Keys, flat, stamp};
use qemu_mps2_capacity::ACTIVE_ROOM;

/// The start of an RP2350's block, which its boot ROM searches for (RP2350 datasheet, section 5.9).
const BLOCK_MARKER: [u8; 4] = 0xffff_ded3_u32.to_le_bytes();
/// How many bytes of flash the boot ROM searches for it.
const SEARCHED: u64 = 4096;
/// Bytes at the beginning of flash that a boot loader may take.
const BOOT_LOADER: u64 = 16 * 1024;

/// Fails with the first thing that lies where it should not.
pub fn check(board: &Board, elf: &Path) -> Result<()> {
    let bytes = fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
    let image =
        object::File::parse(&*bytes).with_context(|| format!("{} is no ELF", elf.display()))?;
    checked(board, &image).with_context(|| format!("{} for {}", elf.display(), board.chip))
}

/// The same for a board's boot loader, which has no partitions of its own.
pub fn check_boot_loader(board: &Board, elf: &Path) -> Result<()> {
    let bytes = fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
    let image =
        object::File::parse(&*bytes).with_context(|| format!("{} is no ELF", elf.display()))?;
    let checked = || -> Result<()> {
        sections(board, &image)?;
        vectors(board, &image, board.flash.start)?;
        if board.image_definition {
            image_definition(board, &image)?;
        }
        Ok(())
    };
    checked().with_context(|| format!("{} for {}", elf.display(), board.chip))
}

/// What `cargo xtask release` signs of a firmware with updates begins where its slot does, and fits.
pub fn check_release(board: &Board, elf: &Path) -> Result<()> {
    let mut bytes = fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
    let keys = [1, 2, 3, 4].map(|seed| SecretKey::new(&[seed; 32], [seed; 8]).public());
    stamp(&mut bytes, &Keys::of(keys), "")?;
    let released = flat(&bytes)?;
    let image = object::File::parse(&*bytes)?;
    let start = symbol(&image, "_active_start")?;
    let room = match board.probe_chip {
        Some(_) => symbol(&image, "_active_end")? - start,
        // Its slots are in the state file.
        None => ACTIVE_ROOM as u64,
    };
    let length = released.bytes.len() as u64;
    ensure!(
        released.address == start && length <= room,
        "{} as a release: found {length} bytes for {:#x}, expected {room} at most for {start:#x}",
        elf.display(),
        released.address
    );
    Ok(())
}

fn checked(board: &Board, image: &object::File<'_>) -> Result<()> {
    sections(board, image)?;
    vectors(board, image, base(board, image).max(board.flash.start))?;
    // What a boot loader starts is not the boot ROM's to find.
    if board.image_definition && base(board, image) == board.flash.start {
        image_definition(board, image)?;
    }
    partitions(board, image)
}

/// Where the image begins: with the flash, or in its slot behind a boot loader.
pub fn base(board: &Board, image: &object::File<'_>) -> u64 {
    symbol(image, "_active_start").unwrap_or(board.flash.start)
}

/// Everything that occupies memory at run time is inside flash or RAM; what has a first value, has
/// it in flash.
fn sections(board: &Board, image: &object::File<'_>) -> Result<()> {
    for section in image
        .sections()
        .filter(|section| is_loaded(section) && section.size() > 0)
    {
        let name = section.name().unwrap_or_default();
        let place = span(section.address(), section.size());
        let in_ram = board.ram.iter().any(|ram| inside(place, *ram));
        ensure!(
            in_ram || inside(place, board.flash),
            "section {name} at {:#x} to {:#x} is in no memory of the chip",
            place.start,
            place.start + place.bytes
        );
        let writable = matches!(
            section.kind(),
            SectionKind::Data | SectionKind::UninitializedData
        );
        ensure!(
            !writable || in_ram,
            "variables of section {name} are in flash"
        );
    }
    for segment in image
        .segments()
        .filter(|segment| segment.file_range().1 > 0)
    {
        let load = span(load_address(image, &segment)?, segment.file_range().1);
        ensure!(
            inside(load, board.flash),
            "what is loaded at {:#x} is not in flash",
            load.start
        );
    }
    Ok(())
}

/// Where the programmer puts a segment: its physical address, which `object` does not hand out.
fn load_address(image: &object::File<'_>, segment: &object::Segment<'_, '_>) -> Result<u64> {
    let object::File::Elf32(file) = image else {
        anyhow::bail!("expected a 32-bit ELF")
    };
    let headers = file.elf_program_headers().iter();
    let found = headers.map(|header| {
        (
            u64::from(header.p_vaddr.get(file.endian())),
            u64::from(header.p_paddr.get(file.endian())),
        )
    });
    found
        .filter(|(place, _)| *place == segment.address())
        .map(|(_, load)| load)
        .next()
        .context("a segment without a program header")
}

/// The vector table is the first thing in flash; it points to a stack in RAM and to code in flash.
fn vectors(board: &Board, image: &object::File<'_>, start: u64) -> Result<()> {
    let table = image
        .section_by_name(".vector_table")
        .context("no vector table")?;
    ensure!(
        table.address() == start,
        "the vector table is at {:#x}, the chip looks at {start:#x}",
        table.address(),
    );
    let word = |index: usize| {
        let bytes = table.data().ok()?.get(4 * index..)?.first_chunk()?;
        Some(u64::from(u32::from_le_bytes(*bytes)))
    };
    let (stack, reset) = word(0)
        .zip(word(1))
        .context("the vector table is too short")?;
    // It is painted from its end up to where it begins, so both are in one piece of RAM.
    let end = symbol(image, "_stack_end")?;
    let within = |ram: &Memory| {
        stack > ram.start && stack <= ram.start + ram.bytes && (ram.start..stack).contains(&end)
    };
    ensure!(
        board.ram.iter().any(within),
        "the stack goes from {stack:#x} down to {end:#x}, which is not in one RAM"
    );
    ensure!(
        reset & 1 == 1,
        "the reset vector {reset:#x} is not Thumb code"
    );
    let text = image.section_by_name(".text").context("no code")?;
    ensure!(
        inside(span(reset & !1, 2), span(text.address(), text.size())),
        "the reset vector {reset:#x} does not point to code"
    );
    Ok(())
}

fn image_definition(board: &Board, image: &object::File<'_>) -> Result<()> {
    let found = image
        .sections()
        .filter(|section| inside(span(section.address(), section.size()), board.flash))
        .find_map(|section| {
            let data = section.data().ok()?;
            let at = data
                .windows(4)
                .step_by(4)
                .position(|word| word == BLOCK_MARKER)?;
            Some(section.address() + 4 * at as u64 - board.flash.start)
        });
    let offset = found.context("no image definition, without which the boot ROM starts nothing")?;
    ensure!(
        offset < SEARCHED,
        "the image definition is {offset} bytes into flash, the boot ROM searches {SEARCHED}"
    );
    Ok(())
}

/// The code, the page image, the store and what updates need are in flash, and apart.
fn partitions(board: &Board, image: &object::File<'_>) -> Result<()> {
    let part = |name: &str| -> Result<Memory> {
        let from = symbol(image, &format!("_{name}_start"))?;
        let to = symbol(image, &format!("_{name}_end"))?;
        ensure!(from < to, "an empty partition at {from:#x}");
        Ok(span(from, to - from))
    };
    let mut end = 0;
    for segment in image
        .segments()
        .filter(|segment| segment.file_range().1 > 0)
    {
        end = end.max(load_address(image, &segment)? + segment.file_range().1);
    }
    let start = base(board, image);
    let code = span(start, end - start);
    let mut parts = vec![("the page image", part("image")?)];
    if board.probe_chip.is_none() {
        // The rest of it is in the state file.
        parts.push(("the firmware", code));
    } else if start == board.flash.start {
        parts.extend([("the firmware", code), ("the store", part("store")?)]);
    } else {
        let slot = part("active")?;
        ensure!(
            inside(code, slot),
            "the firmware ends at {end:#x}, its slot at {:#x}",
            slot.start + slot.bytes
        );
        parts.extend(parts_of_updates(board, part)?);
    }
    apart(board, &parts)
}

/// What a firmware with updates has in flash besides the page image, by the names of its memory map.
fn parts_of_updates(
    board: &Board,
    part: impl Fn(&str) -> Result<Memory>,
) -> Result<Vec<(&'static str, Memory)>> {
    let sector = board.sector;
    let whole = [
        ("the boot loader's state", "boot_state"),
        ("the journal", "journal"),
        ("the slot", "active"),
        ("the slot for a new firmware", "dfu"),
        ("the second half of the page lists", "spare_image"),
        ("the store", "store"),
    ];
    let mut parts = Vec::new();
    for (name, symbols) in whole {
        let found = part(symbols)?;
        let offset = found.start.wrapping_sub(board.flash.start);
        ensure!(
            offset.is_multiple_of(sector) && found.bytes.is_multiple_of(sector),
            "{name} at {:#x}, of {} bytes, is not whole sectors of {sector}",
            found.start,
            found.bytes
        );
        parts.push((name, found));
    }
    let bytes = |symbols: &str| part(symbols).map(|part| part.bytes);
    let slot = bytes("active")?;
    let dfu = bytes("dfu")?;
    ensure!(
        dfu == slot + sector,
        "the slot for a new firmware has {dfu} bytes, expected those of the slot and a sector: {}",
        slot + sector
    );
    let state = bytes("boot_state")?;
    let sectors = state_sectors((slot / sector) as usize, board.boot_word, sector as usize);
    ensure!(
        state >= sectors as u64 * sector,
        "the boot loader's state has {state} bytes, expected {sectors} sectors of {sector}"
    );
    let journal = bytes("journal")?;
    ensure!(
        journal >= 2 * sector,
        "the journal has {journal} bytes, expected two sectors of {sector}"
    );
    let first = bytes("image")?;
    let second = bytes("spare_image")?;
    ensure!(
        first == second,
        "the halves of the page lists have {first} and {second} bytes, expected as many"
    );
    parts.push(("the settings", part("settings")?));
    parts.push(("the boot loader", span(board.flash.start, BOOT_LOADER)));
    Ok(parts)
}

/// All of these are in flash, and none has bytes of another.
fn apart(board: &Board, parts: &[(&str, Memory)]) -> Result<()> {
    for (index, (name, part)) in parts.iter().enumerate() {
        ensure!(
            inside(*part, board.flash),
            "{name} at {:#x} is not in flash",
            part.start
        );
        for (other_name, other) in &parts[..index] {
            let apart =
                part.start >= other.start + other.bytes || other.start >= part.start + part.bytes;
            ensure!(
                apart,
                "{name} and {other_name} overlap at {:#x}",
                part.start.max(other.start)
            );
        }
    }
    Ok(())
}

fn span(start: u64, bytes: u64) -> Memory {
    Memory { start, bytes }
}

fn inside(part: Memory, whole: Memory) -> bool {
    part.start >= whole.start && part.start + part.bytes <= whole.start + whole.bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_means_whole() {
        let flash = span(0x1000, 0x100);
        assert!(inside(span(0x1000, 0x100), flash) && inside(span(0x10ff, 1), flash));
        assert!(!inside(span(0xfff, 1), flash) && !inside(span(0x1000, 0x101), flash));
    }

    /// The parts of a W5500-EVB-Pico2 with updates, of which one is another one.
    fn with_updates(other: &str, is: Memory) -> Result<()> {
        let board = Board::named("w5500-evb-pico2")?;
        let map = [
            ("boot_state", span(0x1000_8000, 0x1000)),
            ("journal", span(0x1000_b000, 0x2000)),
            ("active", span(0x1001_0000, 0x5_e000)),
            ("dfu", span(0x1006_e000, 0x5_f000)),
            ("spare_image", span(0x100c_d000, 0x4_0000)),
            ("settings", span(0x1010_f000, 0x1000)),
            ("image", span(0x1011_0000, 0x4_0000)),
            ("store", span(0x1015_0000, 0xb_0000)),
        ];
        let part = |name: &str| {
            let found = map.iter().find(|(known, _)| *known == name);
            let (_, found) = found.context("no such part")?;
            Ok(if name == other { is } else { *found })
        };
        let mut parts = parts_of_updates(board, part)?;
        parts.push(("the page image", part("image")?));
        apart(board, &parts)
    }

    #[test]
    fn parts_for_updates_are_long_enough_whole_and_apart() {
        with_updates("", span(0, 0)).expect("they are as in its memory map");
        for (name, is, why) in [
            (
                "dfu",
                span(0x1006_e000, 0x5_e000),
                "expected those of the slot and a sector",
            ),
            (
                "active",
                span(0x1001_0000, 0x5_e100),
                "is not whole sectors",
            ),
            ("journal", span(0x1000_b000, 0x1000), "expected two sectors"),
            (
                "spare_image",
                span(0x100c_d000, 0x3_f000),
                "expected as many",
            ),
            (
                "spare_image",
                span(0x100c_c000, 0x4_0000),
                "overlap at 0x100cc000",
            ),
            ("settings", span(0x1011_0000, 0x1000), "overlap"),
            ("boot_state", span(0x1000_3000, 0x1000), "overlap"),
            ("store", span(0x1015_0000, 0xb_1000), "is not in flash"),
        ] {
            let said = with_updates(name, is).expect_err(name).to_string();
            assert!(said.contains(why), "{name}: {said}");
        }
        // A slot of twice as many sectors has no room for what is to be known of them.
        let board = Board::named("pico2-w").expect("a board");
        let part = |name: &str| {
            Ok(match name {
                "active" => span(0x1001_0000, 0x10_0000),
                "dfu" => span(0x1011_0000, 0x10_1000),
                "journal" => span(0x1000_b000, 0x2000),
                _ => span(0x1000_8000, 0x1000),
            })
        };
        let said = parts_of_updates(board, part)
            .expect_err("too small")
            .to_string();
        assert!(said.contains("expected 3 sectors of 4096"), "{said}");
    }

    #[test]
    fn knows_every_board_by_its_folder() {
        for board in crate::firmware::boards::BOARDS {
            let folder = crate::shell::root().join("boards").join(board.name);
            let config = fs::read_to_string(folder.join(".cargo/config.toml")).unwrap();
            assert!(
                config.contains(board.target),
                "{} builds for another target",
                board.name
            );
            assert!(
                board.probe_chip.is_none_or(|chip| config.contains(chip)),
                "{}: another chip",
                board.name
            );
            assert!(board.probe_chip.is_none() || folder.join("README.md").is_file());
        }
    }
}
