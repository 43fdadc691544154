//! An archive as others read it: versions of a page, and what each of them is. Whoever writes it
//! may go on doing so.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use dunlin::fetch::Url;

use super::cdxj::Entry;
use super::exchange;
use super::index::Index;
use super::warc::Record;
use crate::error::Error;

/// Redirects that are followed from one URL to the next.
const HOPS: usize = 8;
/// Versions of a page that are looked at, the last ones.
pub const MOST_VERSIONS: usize = 10_000;
/// The longest URL that a redirect may lead to.
const LONGEST_URL: usize = 8 * 1024;

/// An archive that is read.
#[derive(Debug)]
pub struct Reader {
    folder: PathBuf,
    index: Index,
}

/// A version as it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Status line and fields.
    pub head: Vec<u8>,
    /// The body, without chunks around it.
    pub body: Vec<u8>,
}

impl Reader {
    /// Opens an archive.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        // Says it if there is no such folder.
        std::fs::read_dir(folder).map_err(|why| Error::opening(folder, why))?;
        Ok(Self {
            folder: folder.to_owned(),
            index: Index::open(folder)?,
        })
    }

    /// All versions of a page, oldest first: those of its URL, and of the URLs that redirects lead
    /// to from there.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub fn history(&self, url: &str) -> Result<Vec<Entry>, Error> {
        let reading = |why| Error::reading(&self.folder, why);
        let mut asked = vec![url.to_owned()];
        let mut history = Vec::new();
        while let Some(url) = asked.last().cloned() {
            let versions = self.index.versions(&url, MOST_VERSIONS).map_err(reading)?;
            let moved = versions.iter().rfind(|entry| is_redirect(entry));
            let next = moved.and_then(|entry| self.target(entry));
            history.extend(versions);
            match next {
                Some(next) if asked.len() < HOPS && !asked.contains(&next) => asked.push(next),
                _ => break,
            }
        }
        history.sort_by(|one, other| one.order().cmp(&other.order()));
        Ok(history)
    }

    /// Where a redirect leads.
    fn target(&self, entry: &Entry) -> Option<String> {
        let version = self.version(entry).ok()?;
        let location = exchange::header(&version.head, "location")?;
        let mut room = vec![0; LONGEST_URL];
        let from = Url::parse(&entry.url).ok()?;
        let to = from.join(location.as_bytes(), &mut room).ok()?;
        Some(to.to_string())
    }

    /// A version as it was answered; of a revisit, the one that it refers to.
    ///
    /// # Errors
    /// The archive cannot be read, or does not hold what its index says.
    pub fn version(&self, entry: &Entry) -> Result<Version, Error> {
        let reading = |why| Error::reading(&self.folder.join(&entry.file), why);
        let mut original = None;
        if entry.is_revisit() {
            let same = |earlier: &Entry| !earlier.is_revisit() && earlier.digest == entry.digest;
            self.index
                .each(&entry.url, |earlier| {
                    if same(&earlier) {
                        original = Some(earlier);
                    }
                    original.is_none()
                })
                .map_err(reading)?;
        }
        let entry = original.as_ref().unwrap_or(entry);
        let most = u64::from(super::LONGEST_BODY) * 2;
        let record = record(&self.folder, entry, most).map_err(reading)?;
        let (head, body) = exchange::split(&record.block);
        Ok(Version {
            head: head.to_vec(),
            body: body.to_vec(),
        })
    }
}

/// Does it lead somewhere else?
pub fn is_redirect(entry: &Entry) -> bool {
    matches!(entry.status, Some(301 | 302 | 303 | 307 | 308))
}

/// Reads the record of an entry, with up to `most` bytes of its block.
pub(super) fn record(folder: &Path, entry: &Entry, most: u64) -> io::Result<Record> {
    // An index that somebody else wrote leads nowhere but into its folder.
    if entry.file.contains('/') || entry.file.starts_with('.') {
        let why = format!(
            "found {:?} in the index, expected a file's name",
            entry.file
        );
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let mut file = File::open(folder.join(&entry.file))?;
    file.seek(SeekFrom::Start(entry.offset))?;
    Record::read(&mut BufReader::new(file.take(entry.length)), most)
}
