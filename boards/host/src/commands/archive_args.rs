//! The options of whoever keeps an archive: where, and how it is written.

use std::path::PathBuf;

use crate::archive::{Archive, Settings};
use crate::error::Error;
use crate::output;

/// Where versions of pages are kept.
#[derive(Debug, clap::Args)]
pub struct ArchiveArgs {
    /// Keep every version of every page in this folder: WARC files, which web archives read, and
    /// an index
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
    /// Begin another file of the archive after so many megabytes
    #[arg(long, value_name = "MB", default_value_t = 1_000, requires = "archive", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    archive_size: u64,
    /// How hard the archive is compressed, from 0 (not at all) to 9
    #[arg(long, value_name = "LEVEL", default_value_t = 6, requires = "archive", value_parser = clap::value_parser!(u32).range(..=9))]
    archive_compression: u32,
    /// Write down visits that brought nothing new, too, some 440 bytes each
    #[arg(long, requires = "archive")]
    revisits: bool,
}

impl ArchiveArgs {
    /// Where it is, if there is to be one.
    pub fn folder(&self) -> Option<&PathBuf> {
        self.archive.as_ref()
    }

    /// Does it want to hear of visits that brought nothing new?
    pub fn wants_revisits(&self) -> bool {
        self.revisits
    }

    /// Opens the archive, if there is to be one, and mends what a crash has left.
    ///
    /// # Errors
    /// It cannot be written to.
    pub fn open(&self) -> Result<Option<Archive>, Error> {
        let settings = Settings {
            rotate: self.archive_size * 1_000_000,
            compression: self.archive_compression,
            revisits: self.revisits,
        };
        let Some(folder) = &self.archive else {
            return Ok(None);
        };
        let archive = Archive::open(folder, settings)?;
        for note in archive.repaired() {
            output::say(note);
        }
        Ok(Some(archive))
    }
}
