//! The collection itself: every version of every page, as WARC files with an index, which other
//! programs read as well.
//!
//! ```text
//! Exchange ──► Answer ──► Archive ──┬─► dunlin-….warc.gz   [`warc`]
//! (the wire)  [`exchange`]          └─► index.cdxj         [`cdxj`], [`index`]
//! ```
//!
//! One process writes an archive ([`Archive`], behind the thread of a [`keeper`]), any number read
//! it ([`reader`]). A crash at any byte leaves every finished record readable; the next start cuts
//! off what was not finished and indexes what was (`repair`).

pub mod cdxj;
pub mod compare;
pub mod exchange;
pub mod index;
pub mod keeper;
pub mod reader;
mod repair;
pub mod text;
pub mod warc;

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;

use self::cdxj::{Entry, REVISIT};
use self::exchange::{Answer, Exchange};
use self::index::IndexWriter;
use self::warc::{Head, RecordId, RecordKind};
use crate::board::state_file::random_key;
use crate::date;
use crate::error::Error;
use crate::filter::Filters;

/// How our files begin and end.
const PREFIX: &str = "dunlin-";
const SUFFIX: &str = ".warc.gz";
/// Bytes of a body that are kept: as many as the crawler reads of one.
pub const LONGEST_BODY: u32 = 1 << 20;
/// URLs whose latest version is remembered; of more, it is looked up.
const REMEMBERED: usize = 65_536;

/// How an archive is written.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// A file that is longer is followed by another.
    pub rotate: u64,
    /// 0 (not at all) to 9.
    pub compression: u32,
    /// Write down visits that brought nothing new, too.
    pub revisits: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rotate: 1_000_000_000,
            compression: 6,
            revisits: false,
        }
    }
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is the first version of its URL.
    First,
    /// It is another version than the last.
    Version,
    /// It is the version that was there last.
    Same,
    /// It is no answer that could be kept.
    Nothing,
}

/// An archive that this process writes.
#[derive(Debug)]
pub struct Archive {
    folder: PathBuf,
    settings: Settings,
    index: IndexWriter,
    current: Option<Current>,
    /// Records may not be on the disk yet.
    unsynced: bool,
    /// Number of the next file.
    serial: u32,
    ids: Ids,
    latest: HashMap<String, Entry>,
    repaired: Vec<String>,
    filters: Arc<Filters>,
}

/// The file that is being written.
#[derive(Debug)]
struct Current {
    name: String,
    file: File,
    end: u64,
}

/// Makes identities of records: random, and a number.
#[derive(Debug)]
struct Ids {
    random: [u8; 16],
    count: u64,
}

impl Ids {
    fn next(&mut self) -> RecordId {
        self.count += 1;
        let mut id = self.random;
        for (byte, count) in id[10..].iter_mut().zip(&self.count.to_be_bytes()[2..]) {
            *byte ^= count;
        }
        RecordId(id)
    }
}

impl Archive {
    /// Opens an archive, or begins one, and mends what a crash has left.
    ///
    /// # Errors
    /// The folder cannot be written to, or somebody else writes there.
    pub fn open(folder: &Path, settings: Settings) -> Result<Self, Error> {
        if folder.exists() && !folder.is_dir() {
            let folder = folder.display();
            return Err(Error::Usage(format!(
                "{folder}: found a file, expected a folder to keep pages in, or none yet"
            )));
        }
        fs::create_dir_all(folder).map_err(|why| Error::opening(folder, why))?;
        let mut index = IndexWriter::open(folder)?;
        let files = files(folder).map_err(|why| Error::reading(folder, why))?;
        let repaired = repair::repair(folder, &files, &mut index)?;
        let writing = |why| Error::writing(folder, why);
        let mut archive = Self {
            folder: folder.to_owned(),
            settings,
            index,
            current: None,
            unsynced: false,
            serial: files.last().map_or(1, |name| number(name) + 1),
            ids: Ids {
                random: random_key()?,
                count: 0,
            },
            latest: HashMap::new(),
            repaired: repaired.notes,
            filters: Arc::default(),
        };
        archive.tidy().map_err(writing)?;
        if let Some(name) = files.last().filter(|_| repaired.goes_on) {
            archive.go_on(name).map_err(writing)?;
        }
        Ok(archive)
    }

    /// Keeps no version of a page that differs from the one before in nothing that counts.
    #[must_use]
    pub fn with_filters(mut self, filters: Arc<Filters>) -> Self {
        self.filters = filters;
        self
    }

    /// The last `most` changes of all pages, oldest first; first versions are none.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn changes(&self, most: usize) -> Result<Vec<Entry>, Error> {
        let changes = self.index.index().changes(most);
        changes.map_err(|why| Error::reading(&self.folder, why))
    }

    /// What was found damaged when it was opened, and what was done about it.
    pub fn repaired(&self) -> &[String] {
        &self.repaired
    }

    /// Goes on with a file that has room.
    fn go_on(&mut self, name: &str) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .open(self.folder.join(name))?;
        let end = file.seek(SeekFrom::End(0))?;
        if end < self.settings.rotate {
            self.current = Some(Current {
                name: name.to_owned(),
                file,
                end,
            });
        }
        Ok(())
    }

    /// Keeps an answer, unless it is the same as the last one of its URL. What is kept when this
    /// returns survives the end of this process, however sudden.
    ///
    /// # Errors
    /// It cannot be written, as on a full disk. The archive is as it was before.
    pub fn keep(&mut self, exchange: &Exchange) -> io::Result<Kept> {
        let Ok(answer) = Answer::read(&exchange.response, LONGEST_BODY) else {
            return Ok(Kept::Nothing);
        };
        let before = self.latest(&exchange.url)?;
        let digest = warc::digest(&answer.body);
        match before {
            Some(before) if self.is_same(&before, &exchange.url, &answer, &digest) => {
                self.same(exchange, &answer, &before)?;
                Ok(Kept::Same)
            }
            None if answer.status == 304 => Ok(Kept::Nothing),
            before => {
                self.version(exchange, &answer, digest)?;
                Ok(match before {
                    Some(_) => Kept::Version,
                    None => Kept::First,
                })
            }
        }
    }

    /// Writes down that an answer is the last version of its URL, if it is and that is wanted; true
    /// if it was written. It never becomes a version.
    ///
    /// # Errors
    /// As for [`Self::keep`].
    pub fn revisit(&mut self, exchange: &Exchange) -> io::Result<bool> {
        if !self.settings.revisits {
            return Ok(false);
        }
        let Ok(answer) = Answer::read(&exchange.response, LONGEST_BODY) else {
            return Ok(false);
        };
        let digest = warc::digest(&answer.body);
        match self.latest(&exchange.url)? {
            Some(before) if self.is_same(&before, &exchange.url, &answer, &digest) => {
                self.same(exchange, &answer, &before)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Is an answer the version of before?
    fn is_same(&self, before: &Entry, url: &str, answer: &Answer, digest: &str) -> bool {
        answer.status == 304
            || before.digest == digest && before.status == Some(answer.status)
            || self.counts_the_same(before, url, answer)
    }

    /// Is an answer the version of before in all that counts of its page? One that cannot be read
    /// is another.
    fn counts_the_same(&self, before: &Entry, url: &str, answer: &Answer) -> bool {
        let Some(filter) = self.filters.get(url) else {
            return false;
        };
        let most = u64::from(LONGEST_BODY) * 2;
        let Ok(record) = reader::record(&self.folder, before, most) else {
            return false;
        };
        let (_, body) = exchange::split(&record.block);
        before.status == Some(answer.status) && filter.counted(body) == filter.counted(&answer.body)
    }

    /// The last version of a URL that has a body of its own.
    fn latest(&self, url: &str) -> io::Result<Option<Entry>> {
        if let Some(entry) = self.latest.get(url) {
            return Ok(Some(entry.clone()));
        }
        let mut latest = None;
        self.index.index().each(url, |entry| {
            let newer = |latest: &Entry| entry.order() > latest.order();
            if !entry.is_revisit() && latest.as_ref().is_none_or(newer) {
                latest = Some(entry);
            }
            true
        })?;
        Ok(latest)
    }

    fn version(&mut self, exchange: &Exchange, answer: &Answer, digest: String) -> io::Result<()> {
        let date = date::iso(exchange.time);
        let id = self.ids.next();
        let mut head = Head::new(RecordKind::Response, id, &date)
            .with("WARC-Target-URI", &exchange.url)
            .with("WARC-Payload-Digest", &digest)
            .with("Content-Type", "application/http; msgtype=response");
        if let Some(address) = exchange.address {
            head = head.with("WARC-IP-Address", address);
        }
        if answer.cut {
            head = head.with("WARC-Truncated", "length");
        }
        let level = Compression::new(self.settings.compression);
        let mut bytes = Vec::new();
        head.write(&mut bytes, level, &[&answer.head, &answer.body])?;
        let length = bytes.len() as u64;
        Head::new(RecordKind::Request, self.ids.next(), &date)
            .with("WARC-Target-URI", &exchange.url)
            .with("WARC-Concurrent-To", id)
            .with("Content-Type", "application/http; msgtype=request")
            .write(&mut bytes, level, &[&exchange.request])?;
        let (file, offset) = self.append(&bytes)?;
        let entry = Entry {
            time: exchange.time,
            url: exchange.url.clone(),
            media_type: answer.media_type.clone(),
            status: Some(answer.status),
            digest,
            file,
            offset,
            length,
        };
        if self.latest.len() >= REMEMBERED {
            self.latest.clear();
        }
        self.latest.insert(entry.url.clone(), entry.clone());
        // The record is there and will be found at the next start, whatever becomes of this line.
        self.index.add(entry)
    }

    /// Writes down that the version of before was found again, if that is wanted.
    fn same(&mut self, exchange: &Exchange, answer: &Answer, before: &Entry) -> io::Result<()> {
        if !self.settings.revisits {
            return Ok(());
        }
        let date = date::iso(exchange.time);
        let id = self.ids.next();
        let original = reader::record(&self.folder, before, 0)?;
        let original = original.field("WARC-Record-ID").unwrap_or_default();
        // With the head of a 304 inside, a 304 would be replayed.
        let (profile, block) = match answer.status {
            304 => ("server-not-modified", &[][..]),
            _ => ("identical-payload-digest", &answer.head[..]),
        };
        let profile = format!("http://netpreserve.org/warc/1.1/revisit/{profile}");
        let mut bytes = Vec::new();
        Head::new(RecordKind::Revisit, id, &date)
            .with("WARC-Target-URI", &exchange.url)
            .with("WARC-Profile", profile)
            .with("WARC-Refers-To", original)
            .with("WARC-Refers-To-Target-URI", &before.url)
            .with("WARC-Refers-To-Date", date::iso(before.time))
            .with("WARC-Payload-Digest", &before.digest)
            .with("Content-Type", "application/http; msgtype=response")
            .write(
                &mut bytes,
                Compression::new(self.settings.compression),
                &[block],
            )?;
        let length = bytes.len() as u64;
        let (file, offset) = self.append(&bytes)?;
        self.index.add(Entry {
            time: exchange.time,
            url: exchange.url.clone(),
            media_type: REVISIT.into(),
            status: before.status,
            digest: before.digest.clone(),
            file,
            offset,
            length,
        })
    }

    /// Appends whole records to the current file; where they are.
    fn append(&mut self, bytes: &[u8]) -> io::Result<(String, u64)> {
        if self
            .current
            .as_ref()
            .is_none_or(|current| current.end >= self.settings.rotate)
        {
            self.begin()?;
        }
        let current = self.current.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let offset = current.end;
        if let Err(why) = current.file.write_all(bytes) {
            // Half a record is none. If not even that works, the next start cuts it off.
            let _ = current.file.set_len(offset);
            let _ = current.file.seek(SeekFrom::Start(offset));
            return Err(why);
        }
        current.end += bytes.len() as u64;
        self.unsynced = true;
        Ok((current.name.clone(), offset))
    }

    /// Begins the next file.
    fn begin(&mut self) -> io::Result<()> {
        if let Some(full) = self.current.take() {
            full.file.sync_data()?;
        }
        let now = crate::board::computer::unix_time();
        let name = format!("{PREFIX}{:05}-{}{SUFFIX}", self.serial, date::digits(now));
        let mut info = Vec::new();
        let software = concat!("software: dunlin/", env!("CARGO_PKG_VERSION"), "\r\n");
        Head::new(RecordKind::Info, self.ids.next(), &date::iso(now))
            .with("WARC-Filename", &name)
            .with("Content-Type", "application/warc-fields")
            .write(
                &mut info,
                Compression::new(self.settings.compression),
                &[software.as_bytes(), b"format: WARC File Format 1.1\r\n"],
            )?;
        let path = self.folder.join(&name);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        if let Err(why) = file.write_all(&info) {
            let _ = fs::remove_file(&path);
            return Err(why);
        }
        self.serial += 1;
        self.current = Some(Current {
            name,
            file,
            end: info.len() as u64,
        });
        Ok(())
    }

    /// What there is time for now and then: hands records to the disk, and brings the sorted index
    /// up to date if that is worth it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn tidy(&mut self) -> io::Result<()> {
        self.sync()?;
        match self.index.should_fold() {
            true => self.index.fold(),
            false => Ok(()),
        }
    }

    /// Brings the sorted index up to date, whatever that takes.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn fold(&mut self) -> io::Result<()> {
        self.sync()?;
        self.index.fold()
    }

    /// Hands records to the disk.
    fn sync(&mut self) -> io::Result<()> {
        if let Some(current) = self.current.as_ref().filter(|_| self.unsynced) {
            current.file.sync_data()?;
            self.unsynced = false;
        }
        Ok(())
    }
}

/// Our files in a folder, in the order in which they were written.
fn files(folder: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for file in fs::read_dir(folder)? {
        let name = file?.file_name().to_string_lossy().into_owned();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
            files.push(name);
        }
    }
    files.sort_by_key(|name| (number(name), name.clone()));
    Ok(files)
}

/// The number of a file, in its name.
fn number(name: &str) -> u32 {
    let rest = name.strip_prefix(PREFIX).unwrap_or_default();
    let digits = rest.split('-').next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests;
