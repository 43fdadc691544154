//! The ELF file a log is decoded with: its log strings, and by what its firmware is known.

use std::path::{Path, PathBuf};

use defmt_decoder::{Encoding, Table};
use object::Object;

use super::frame_layout::FrameLayouts;
use crate::error::Error;

/// A firmware's log strings and identity.
#[derive(Debug)]
pub struct Firmware {
    /// Where it was read from.
    pub path: PathBuf,
    pub(super) table: Table,
    pub(super) layouts: FrameLayouts,
    /// The first eight bytes of the linker's hash, as in the firmware's boot banner; `None` without
    /// one.
    pub build: Option<u64>,
}

impl Firmware {
    /// Reads an ELF file.
    ///
    /// # Errors
    /// A file that cannot be read, is no ELF, or holds no log strings that a stream could be
    /// decoded with.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(|source| Error::reading(path, source))?;
        Self::parse(path, &bytes)
    }

    /// The same from memory; `path` is for messages.
    ///
    /// # Errors
    /// As above.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let wrong = |found: &str| {
            let file = path.display();
            Error::Usage(format!(
                "{file}: found {found}, expected the ELF file of a firmware that logs with defmt"
            ))
        };
        let elf =
            object::File::parse(bytes).map_err(|why| wrong(&format!("no object file ({why})")))?;
        let table = Table::parse(bytes).map_err(|why| wrong(&one_line(&format!("{why:#}"))))?;
        let table = table.ok_or_else(|| wrong("no log strings (section .defmt)"))?;
        if table.encoding() != Encoding::Rzcobs {
            return Err(wrong(
                "defmt's encoding `raw`, in which a cut frame ruins all that follows",
            ));
        }
        let id = elf.build_id().ok().flatten();
        let build = id
            .and_then(|id| id.first_chunk())
            .map(|bytes| u64::from_be_bytes(*bytes));
        Ok(Self {
            path: path.to_owned(),
            table,
            layouts: FrameLayouts::read(&elf),
            build,
        })
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
