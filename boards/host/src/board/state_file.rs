//! The state file of `dunlin run`: recognised before anything is written to it, and used by one
//! process at a time.
//!
//! ```text
//! header    4,096 bytes: two copies of what is in [`Header`], filled up with 0xff
//! sectors   as a flash, see `FileFlash` and `dunlin::store`
//! ```
//!
//! Files of before there was a header (version 0) begin with the sectors. They are recognised by a
//! root record that can be read, and are given a header: in a copy that takes the file's place when
//! it is complete.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use dunlin::store::{Record, Store};

use super::flash::{FileFlash, SECTOR, SECTORS};
use super::texts::{self, TextFlash};
use crate::error::Error;

/// How the file begins.
const MAGIC: [u8; 12] = *b"dunlin state";
/// The newest version, which is written. All before it are read.
const VERSION: u16 = 1;
/// Bytes before the first sector.
const HEADER: usize = 4_096;
/// Where the second copy of the header is.
const COPY: usize = HEADER / 2;
/// Bytes of one copy.
const FIELDS: usize = 44;
/// What a state file has to be.
const STATE: &str = "a state file of `dunlin run` that nobody else uses, or none yet";
/// What the file beside it has to be.
const TEXTS: &str =
    "URLs that `dunlin run --discover` has found, in a file that nobody else uses, or none yet";
/// How often a file is opened again because another process has put a new one in its place.
const TRIES: usize = 5;

/// A state file, locked as long as it is open.
#[derive(Debug)]
pub struct StateFile {
    /// Where records are kept.
    pub flash: FileFlash,
    /// The path of the file.
    path: PathBuf,
    /// The key that this file's records are known by; `None` in files that were made without one.
    pub key: Option<[u8; 16]>,
}

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    key: Option<[u8; 16]>,
}

/// What a file is, by what is in it.
enum Kind {
    /// There is nothing in it yet.
    Empty,
    /// It is a state file.
    State(Header),
    /// A state file of before there was a header.
    WithoutHeader,
}

impl StateFile {
    /// Opens the file, or makes one. A new one remembers `new_key`.
    ///
    /// # Errors
    /// It cannot be opened, another process uses it, or it is something else; nothing was written
    /// to it then.
    pub fn open(path: &Path, new_key: Option<[u8; 16]>) -> Result<Self, Error> {
        let (file, path) = open_locked(path, STATE)?;
        let header = match kind_of(&file, &path)? {
            Kind::State(header) => {
                return Ok(Self {
                    path: path.clone(),
                    flash: FileFlash::new(file, path, HEADER as u64),
                    key: header.key,
                });
            }
            Kind::Empty => Header { key: new_key },
            Kind::WithoutHeader => Header { key: None },
        };
        let file = replaced(&file, &path, header).map_err(|why| Error::writing(&path, why))?;
        Ok(Self {
            path: path.clone(),
            flash: FileFlash::new(file, path, HEADER as u64),
            key: header.key,
        })
    }
}

impl StateFile {
    /// Where URLs of found pages are kept: a file beside this one, see [`beside`]. It is recognised
    /// by the heads of its sectors.
    ///
    /// # Errors
    /// It cannot be opened, another process uses it, or it is something else; nothing was written
    /// to it then.
    pub fn texts(&self) -> Result<TextFlash, Error> {
        let (file, path) = open_locked(&beside(&self.path, FOUND), TEXTS)?;
        match texts::is_log(&file) {
            Ok(true) => Ok(TextFlash::in_file(FileFlash::new(file, path, 0))),
            Ok(false) => Err(refused(&path, "another file", TEXTS)),
            Err(source) => Err(Error::reading(&path, source)),
        }
    }
}

/// The file beside a state file that URLs of found pages are kept in: its name ends so.
pub const FOUND: &str = ".found";

/// A file beside a state file, whose name ends differently.
pub fn beside(state: &Path, ending: &str) -> PathBuf {
    // A link's own name says nothing: both files are where it leads to.
    let state = state.canonicalize().unwrap_or_else(|_| state.to_owned());
    let mut name = OsString::from(state.file_name().unwrap_or_default());
    name.push(ending);
    state.with_file_name(name)
}

impl Header {
    /// One copy: magic, version, whether there is a key, the key, sizes, checksum.
    fn encode(self) -> [u8; FIELDS] {
        let mut bytes = [0; FIELDS];
        let fields = MAGIC
            .into_iter()
            .chain(VERSION.to_le_bytes())
            .chain([u8::from(self.key.is_some()), 0])
            .chain(self.key.unwrap_or_default())
            .chain((SECTOR as u32).to_le_bytes())
            .chain((SECTORS as u32).to_le_bytes());
        bytes
            .iter_mut()
            .zip(fields)
            .for_each(|(to, from)| *to = from);
        let sum = checksum(&bytes[..FIELDS - 4]);
        bytes[FIELDS - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// `None` for what is no copy of a header, or a damaged one.
    fn decode(bytes: &[u8]) -> Option<Result<Self, u16>> {
        let bytes = bytes.get(..FIELDS)?;
        let (fields, sum) = bytes.split_at(FIELDS - 4);
        if !fields.starts_with(&MAGIC) || checksum(fields).to_le_bytes() != sum {
            return None;
        }
        let version = u16::from_le_bytes([fields[12], fields[13]]);
        if version > VERSION {
            return Some(Err(version));
        }
        let key: [u8; 16] = fields.get(16..32)?.try_into().ok()?;
        let key = (fields[14] & 1 == 1).then_some(key);
        Some(Ok(Self { key }))
    }
}

/// FNV-1a: tells damage, not malice.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| {
        (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// Opens a plain file, or makes an empty one, and locks it. Returns it with the path that links
/// lead to.
fn open_locked(path: &Path, expected: &str) -> Result<(File, PathBuf), Error> {
    let wrong = |source| Error::opening(path, source);
    for _ in 0..TRIES {
        // Before it is opened: opening is enough to make some devices act.
        match fs::metadata(path) {
            Ok(found) if !found.is_file() => return Err(refused(path, "no plain file", expected)),
            _ => {}
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(wrong)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(refused(path, "that another process uses it", expected));
            }
            Err(TryLockError::Error(why)) => return Err(wrong(why)),
        }
        // Whoever held the lock may have put another file in its place.
        let real = path.canonicalize().map_err(wrong)?;
        let there = fs::metadata(&real).map_err(wrong)?;
        let ours = file.metadata().map_err(wrong)?;
        if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) {
            return Ok((file, real));
        }
    }
    Err(refused(
        path,
        "another file each time it was opened",
        expected,
    ))
}

fn refused(path: &Path, found: &str, expected: &str) -> Error {
    Error::Usage(format!(
        "{}: found {found}, expected {expected}",
        path.display()
    ))
}

/// What this file is; reads only.
fn kind_of(file: &File, path: &Path) -> Result<Kind, Error> {
    let reading = |source| Error::reading(path, source);
    let length = file.metadata().map_err(reading)?.len();
    let mut start = Vec::new();
    let mut reader = file.take(HEADER as u64);
    reader.read_to_end(&mut start).map_err(reading)?;
    let copies = [0, COPY].map(|place| Header::decode(start.get(place..).unwrap_or_default()));
    match copies.into_iter().flatten().next() {
        Some(Ok(header)) => return Ok(Kind::State(header)),
        Some(Err(version)) => {
            let found = format!("a state file of version {version}, this program knows {VERSION}");
            return Err(refused(path, &found, STATE));
        }
        None if length == 0 => return Ok(Kind::Empty),
        None => {}
    }
    let file = file.try_clone().map_err(reading)?;
    let mut root = false;
    let mut store = Store::new(FileFlash::new(file, path.to_owned(), 0));
    let found = store.open(|record, _| root |= matches!(record, Record::Root(_)));
    match async_io::block_on(found) {
        Ok(_) if root => Ok(Kind::WithoutHeader),
        _ => Err(refused(path, "another file", STATE)),
    }
}

/// Puts a file with this header and the old one's sectors in the place of the old one, in one step:
/// whatever happens, there is one of them. The new file is locked, too.
fn replaced(old: &File, path: &Path, header: Header) -> io::Result<File> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".new");
    let beside = path.with_file_name(name);
    // Left over by a process that was ended: nobody but the owner of the lock makes one.
    match fs::remove_file(&beside) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        _ => {}
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&beside)?;
    let filled = fill(&file, old, header).and_then(|()| {
        file.try_lock()?;
        fs::rename(&beside, path)
    });
    if let Err(why) = filled {
        let _ = fs::remove_file(&beside);
        return Err(why);
    }
    Ok(file)
}

fn fill(new: &File, old: &File, header: Header) -> io::Result<()> {
    let copy = header.encode();
    let mut start = vec![0xff; HEADER];
    start[..FIELDS].copy_from_slice(&copy);
    start[COPY..COPY + FIELDS].copy_from_slice(&copy);
    new.write_all_at(&start, 0)?;
    let mut buffer = vec![0; SECTOR];
    let mut place = 0;
    loop {
        match old.read_at(&mut buffer, place) {
            Ok(0) => break,
            Ok(count) => {
                new.write_all_at(&buffer[..count], HEADER as u64 + place)?;
                place += count as u64;
            }
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    new.set_permissions(old.metadata()?.permissions())?;
    new.sync_all()
}

/// Sixteen bytes that nobody can guess.
///
/// # Errors
/// The system has none.
pub fn random_key() -> Result<[u8; 16], Error> {
    let path = Path::new("/dev/urandom");
    let mut key = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut key));
    read.map_err(|source| Error::reading(path, source))?;
    Ok(key)
}
