//! The last step of a build for updates: the owner's public keys go into the image, which then has
//! a build identity of its own.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use dunlin::update::{KEY_BYTES, PublicKey, digest_of};
use dunlin_host::error::Error;
use object::{Object, ObjectSection, ObjectSymbol};

use crate::firmware::uf2;

/// Where the firmware looks for them: see `boards/common/src/update/keys.rs`.
const SYMBOL: &str = "DUNLIN_UPDATE_KEYS";
/// The keys' files, in the order in which the firmware has them.
pub const NAMES: [&str; 4] = ["firmware", "firmware-2", "list", "list-2"];
/// Name size, descriptor size, type, and the name `GNU\0`: what precedes the hash in an ELF note.
const NOTE_HEADER: u64 = 16;

/// The public keys that a firmware trusts.
#[derive(Clone, Debug)]
pub struct Keys([[u8; KEY_BYTES]; NAMES.len()]);

impl Keys {
    /// Of these: two for firmware, two for lists.
    pub fn of(keys: [PublicKey; NAMES.len()]) -> Self {
        Self(keys.map(|key| key.to_bytes()))
    }

    /// Those in a folder, as `cargo xtask keygen` writes them. The second of a kind may be missing.
    ///
    /// # Errors
    /// [`Error::Usage`], if the first of a kind is missing, or one is no key.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let mut keys = [[0; KEY_BYTES]; NAMES.len()];
        for (name, key) in NAMES.into_iter().zip(&mut keys) {
            let file = folder.join(name).with_extension("pub");
            let bytes = match fs::read(&file) {
                Ok(bytes) => bytes,
                Err(_) if name.ends_with("-2") => continue,
                Err(why) => {
                    let file = file.display();
                    return Err(Error::Usage(format!(
                        "{file}: found none ({why}), expected a public key: `cargo xtask keygen` makes them"
                    )));
                }
            };
            let parsed = PublicKey::parse(&bytes).ok_or_else(|| {
                let file = file.display();
                Error::Usage(format!("{file}: found no public key in signify's format"))
            })?;
            *key = parsed.to_bytes();
        }
        Ok(Self(keys))
    }
}

/// Puts the keys into an ELF file, and a build identity that depends on them and on `variant`; the
/// identity comes back.
///
/// # Errors
/// The firmware takes no updates.
pub fn stamp(elf: &mut [u8], keys: &Keys, variant: &str) -> Result<u64> {
    let (keys_at, id_at) = places(elf)?;
    let keys = keys.0.concat();
    let place = elf
        .get_mut(keys_at..)
        .and_then(|rest| rest.get_mut(..keys.len()));
    place
        .context("the keys' place is beyond the file")?
        .copy_from_slice(&keys);
    let id = elf.get_mut(id_at..).and_then(|rest| rest.get_mut(..8));
    let id = id.context("the build identity is beyond the file")?;
    let digest = digest_of(&[&*id, &keys, variant.as_bytes()].concat());
    id.copy_from_slice(&digest[..8]);
    Ok(u64::from_be_bytes(digest[..8].try_into()?))
}

/// Where in the file the keys and the build identity are.
fn places(elf: &[u8]) -> Result<(usize, usize)> {
    let file = object::File::parse(elf)?;
    let symbol = file
        .symbols()
        .find(|symbol| symbol.name() == Ok(SYMBOL))
        .context("the firmware takes no updates: it has no place for keys")?;
    let section = symbol.section_index().context("keys without a section")?;
    let section = file.section_by_index(section)?;
    let (start, _) = section.file_range().context("keys without bytes")?;
    let keys = start + (symbol.address() - section.address());
    let note = file
        .section_by_name(".note.gnu.build-id")
        .context("the firmware has no build identity")?;
    let (start, length) = note.file_range().context("a note without bytes")?;
    ensure!(length >= NOTE_HEADER + 8, "the build identity is too short");
    Ok((keys as usize, (start + NOTE_HEADER) as usize))
}

/// A firmware as its slot holds it.
#[derive(Clone, Debug)]
pub struct Flat {
    /// Where its first byte belongs.
    pub address: u64,
    pub bytes: Vec<u8>,
}

/// What a programmer would write of an ELF file, in one piece.
///
/// # Errors
/// It is no ELF file, or has nothing to write.
pub fn flat(elf: &[u8]) -> Result<Flat> {
    let parts = uf2::parts(elf)?;
    let first = parts.iter().map(|part| part.address).min();
    let address = first.context("the firmware is empty")?;
    let mut bytes = Vec::new();
    for part in parts {
        let from = (part.address - address) as usize;
        let end = from + part.bytes.len();
        ensure!(
            end < 1 << 24,
            "a part of the firmware is far from the others"
        );
        if bytes.len() < end {
            bytes.resize(end, 0xff);
        }
        bytes[from..end].copy_from_slice(part.bytes);
    }
    Ok(Flat { address, bytes })
}

/// The build identity of a firmware as its slot holds it, in words: `build` and its number, or that
/// there is none.
pub fn build_in(slot: &[u8]) -> String {
    /// The name's length, the type and the name of the linker's note, behind which the hash begins.
    const NAMED: [u8; 8] = *b"\x03\0\0\0GNU\0";
    let note = slot.windows(NAMED.len()).position(|bytes| bytes == NAMED);
    let hash = note.and_then(|place| slot.get(place + NAMED.len()..)?.first_chunk());
    hash.map_or_else(
        || "a build without an identity".into(),
        |bytes| format!("build {:016x}", u64::from_be_bytes(*bytes)),
    )
}
