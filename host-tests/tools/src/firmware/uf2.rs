//! UF2: firmware and page image as one file, which is copied onto the drive that an RP2350 shows
//! when it is started with BOOTSEL held down (https://github.com/microsoft/uf2).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use object::read::elf::ProgramHeader as _;

/// Who is meant: an RP2350 that runs Arm code in its secure state.
const FAMILY: u32 = 0xe48b_ff59;
const MAGIC: [u32; 2] = [0x0a32_4655, 0x9e5d_5157];
const MAGIC_AT_END: u32 = 0x0ab1_6f30;
/// The field behind the block's number of blocks names the family.
const HAS_FAMILY: u32 = 0x2000;
/// Bytes that a block carries: a page of the flash, which the boot ROM writes at once.
const PAYLOAD: usize = 256;
/// Bytes of a block.
const BLOCK: usize = 512;
/// What a flash holds where nothing was written.
const ERASED: u8 = 0xff;

/// A piece of what is written, and where.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Of its first byte, as the processor sees it.
    pub address: u64,
    pub bytes: &'a [u8],
}

/// What a programmer writes of an ELF file: the segments that have bytes, at their load addresses.
///
/// # Errors
/// It is no 32-bit ELF file.
pub fn parts(elf: &[u8]) -> Result<Vec<Part<'_>>> {
    let file = object::read::elf::ElfFile32::<object::Endianness>::parse(elf)?;
    let endian = file.endian();
    let mut parts = Vec::new();
    for header in file.elf_program_headers() {
        let bytes = header
            .data(endian, elf)
            .map_err(|()| anyhow::anyhow!("found a segment beyond the end of the ELF file"))?;
        let loaded = header.p_type(endian) == object::elf::PT_LOAD;
        if loaded && !bytes.is_empty() {
            let address = u64::from(header.p_paddr(endian));
            parts.push(Part { address, bytes });
        }
    }
    Ok(parts)
}

/// Writes parts as one UF2 file. Pages that nothing is written to are left out.
///
/// # Errors
/// Two parts overlap, or one lies beyond the processor's addresses.
pub fn file(parts: &[Part<'_>]) -> Result<Vec<u8>> {
    let mut pages: BTreeMap<u32, [u8; PAYLOAD]> = BTreeMap::new();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for part in parts {
        let end = part.address + part.bytes.len() as u64;
        ensure!(
            end <= 1 << 32,
            "found bytes up to {end:#x}, expected addresses of 32 bits"
        );
        let apart = |(from, to): &(u64, u64)| end <= *from || part.address >= *to;
        ensure!(
            spans.iter().all(apart),
            "found two things for address {:#x}",
            part.address
        );
        spans.push((part.address, end));
        for (offset, byte) in (part.address..).zip(part.bytes) {
            let within = offset as usize % PAYLOAD;
            let page = offset as u32 - within as u32;
            pages.entry(page).or_insert([ERASED; PAYLOAD])[within] = *byte;
        }
    }
    let count = pages.len() as u32;
    let blocks = (0..).zip(pages);
    Ok(blocks
        .flat_map(|(number, (address, bytes))| block(number, count, address, &bytes))
        .collect())
}

fn block(number: u32, count: u32, address: u32, bytes: &[u8; PAYLOAD]) -> [u8; BLOCK] {
    let head = [
        MAGIC[0],
        MAGIC[1],
        HAS_FAMILY,
        address,
        PAYLOAD as u32,
        number,
        count,
        FAMILY,
    ];
    let mut block = [0; BLOCK];
    for (place, word) in block.chunks_exact_mut(4).zip(head) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    block[32..][..PAYLOAD].copy_from_slice(bytes);
    block[BLOCK - 4..].copy_from_slice(&MAGIC_AT_END.to_le_bytes());
    block
}

/// Where desktops put drives.
const DRIVES: [&str; 4] = ["/media", "/run/media", "/mnt", "/Volumes"];

/// The drive of an RP2350 that waits for a file, if this computer shows one.
pub fn drive() -> Option<PathBuf> {
    DRIVES
        .iter()
        .find_map(|folder| drive_below(Path::new(folder)))
}

/// Looks in a folder, and in the folders in it: some desktops have one a user.
fn drive_below(folder: &Path) -> Option<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let first = inside(folder);
    let second: Vec<PathBuf> = first.iter().flat_map(|folder| inside(folder)).collect();
    first
        .into_iter()
        .chain(second)
        .find(|folder| is_drive(folder))
}

/// The boot ROM says on the drive itself whose it is.
fn is_drive(folder: &Path) -> bool {
    let file = std::fs::read_to_string(folder.join("INFO_UF2.TXT"));
    file.is_ok_and(|text| text.contains("RP2350"))
}

/// Fails unless another reader finds every byte of `parts` in the file, for this family alone.
///
/// # Errors
/// What differs.
pub fn check(file: &[u8], parts: &[Part<'_>]) -> Result<()> {
    let (bytes, families) = uf2_decode::convert_from_uf2(file)
        .map_err(|error| anyhow::anyhow!("another reader refuses the UF2 file: {error:?}"))?;
    ensure!(
        families.keys().eq([&FAMILY]),
        "the UF2 file is for {families:x?}, expected {FAMILY:#x}"
    );
    let first = parts.iter().map(|part| part.address).min().unwrap_or(0);
    let first = first - first % PAYLOAD as u64;
    for part in parts {
        let place = (part.address - first) as usize;
        ensure!(
            bytes.get(place..place + part.bytes.len()) == Some(part.bytes),
            "the UF2 file holds something else at {:#x}",
            part.address
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(address: u64, bytes: &[u8]) -> Part<'_> {
        Part { address, bytes }
    }

    #[test]
    fn another_reader_finds_what_was_written() {
        let code: Vec<u8> = (0..1000_u32).map(|byte| byte as u8).collect();
        let parts = [
            part(0x1000_0000, &code),
            // In the code's last page, too.
            part(0x1000_0000 + 1000, &[1, 2, 3]),
            part(0x1030_0010, b"pages"),
        ];
        let file = file(&parts).expect("a file");
        assert_eq!(file.len(), 5 * BLOCK);
        check(&file, &parts).expect("as it should be");
        let mut damaged = file.clone();
        damaged[32] ^= 1;
        assert!(check(&damaged, &parts).is_err());
        let mut other = file.clone();
        other[28] ^= 1;
        assert!(check(&other, &parts).is_err(), "another family");
        // What stands beside a part is as erased.
        assert_eq!(file[4 * BLOCK + 32..][..0x10], [0xff; 0x10]);
    }

    #[test]
    fn blocks_count_themselves() {
        let bytes = [7; 600];
        let file = file(&[part(0x1000_0000, &bytes)]).expect("a file");
        let word = |block: usize, place: usize| {
            let place = block * BLOCK + 4 * place;
            u32::from_le_bytes(file[place..][..4].try_into().expect("four bytes"))
        };
        for block in 0..3 {
            assert_eq!(word(block, 2), 0x2000);
            assert_eq!(word(block, 3), 0x1000_0000 + 256 * block as u32);
            assert_eq!((word(block, 5), word(block, 6)), (block as u32, 3));
            assert_eq!(word(block, 7), 0xe48b_ff59);
            assert_eq!(word(block, 127), 0x0ab1_6f30);
        }
    }

    #[test]
    fn two_things_for_one_place_are_refused() {
        let why = file(&[part(0x100, &[0; 20]), part(0x110, &[0; 20])]);
        assert!(why.is_err_and(|why| why.to_string().contains("0x110")));
        assert!(file(&[part(u64::from(u32::MAX), &[0; 2])]).is_err());
    }

    #[test]
    fn a_drive_is_known_by_its_own_word() {
        let media = crate::qemu::temporary("media");
        let drive = media.join("me/RP2350");
        std::fs::create_dir_all(&drive).expect("made");
        std::fs::create_dir_all(media.join("me/STICK")).expect("made");
        assert_eq!(drive_below(&media), None);
        let info = "UF2 Bootloader v1.0\r\nModel: Raspberry Pi RP2350\r\nBoard-ID: RP2350\r\n";
        std::fs::write(drive.join("INFO_UF2.TXT"), info).expect("written");
        assert_eq!(drive_below(&media), Some(drive));
        std::fs::remove_dir_all(&media).expect("removed");
    }
}
