//! What a planner has to know when it starts again, in a folder: whatever happens to the power, the
//! folder holds what was last saved, or what was saved before that.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read as _, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use dunlin::image::Learnt;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The format that is written, and the newest that is read.
pub const VERSION: u8 = 1;
/// What the file of what was learnt begins with; its last byte is the version.
const LEARNT_MAGIC: [u8; 8] = *b"dnlnlrn\x01";
/// Bytes of a page in it.
const LEARNT_RECORD: usize = 20;
const PLANNER: &str = "planner.json";
const BUDGETS: &str = "budgets.json";
const LEARNT: &str = "learnt.bin";
/// The page image of each probe's list, by the probe's number.
const LISTS: &str = "lists";

/// What may be granted, and who has what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Saved<G = Vec<SavedGroup>> {
    /// The format of the file: [`VERSION`].
    pub version: u8,
    /// Counts the planner's starts.
    pub epoch: u32,
    /// What tells this planner from others on the same broker.
    pub planner: u64,
    /// How long a grant may hold.
    pub lease_ms: u64,
    /// Fetches a day over all probes, where a command has said so.
    pub budget: Option<f32>,
    /// Every probe that has had a list; most of the time, every one that was ever heard of.
    pub probes: Vec<SavedProbe>,
    /// Every group of hosts that somebody has, or has had until lately.
    pub groups: G,
    /// Pages that commands have added, …
    pub added: Vec<SavedPage>,
    /// … and those that commands have removed.
    pub removed: Vec<String>,
}

/// What is saved of a probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedProbe {
    /// The name that it reports under.
    pub name: String,
    /// The version of its list.
    pub list: u32,
    /// A hash of the pages in that.
    pub pages: u64,
    /// It fetches nothing until told otherwise.
    pub paused: bool,
}

/// Hosts that share a gate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedGroup<N = String> {
    /// What it is called: `host NAME` or `group NAME`.
    pub name: N,
    /// The probe that has it, by its place in the list of probes.
    pub probe: u32,
    /// It is no longer on that one's list, and may still be asked by it.
    pub leaving: bool,
}

/// Records that are written one by one as they come, and never are in memory together.
pub(super) struct OneByOne<F>(pub(super) F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for OneByOne<F> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq((self.0)())
    }
}

/// A page that a command has added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedPage {
    /// The URL as the command gave it.
    pub url: String,
    /// How important it is.
    pub weight: f64,
}

/// The folder of one planner, which no other can use at the same time.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Locked as long as it is open.
    lock: File,
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A program that is just being started shares our files until it runs.
        let _ = self.lock.unlock();
    }
}

impl Folder {
    /// Opens a folder, and makes it if it is not there.
    ///
    /// # Errors
    /// It cannot be used, or another planner uses it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder
            .create(path)
            .map_err(|why| Error::writing(path, why))?;
        let lock = path.join("lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&lock)
            .map_err(|why| Error::opening(&lock, why))?;
        match file.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                lock: file,
            }),
            Err(fs::TryLockError::WouldBlock) => Err(Error::Usage(format!(
                "found {} in use by another planner, expected a folder of its own: two planners would give one host to two probes",
                path.display()
            ))),
            Err(fs::TryLockError::Error(why)) => Err(Error::opening(&lock, why)),
        }
    }

    /// Where the folder is on this computer.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was saved last; `None` for a new folder.
    ///
    /// # Errors
    /// It cannot be read, or is of a newer version. Nothing is guessed then: leases may be out.
    pub fn load(&self) -> Result<Option<Saved>, Error> {
        let path = self.path.join(PLANNER);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(Error::reading(&path, why)),
        };
        #[derive(Deserialize)]
        struct Version {
            version: u8,
        }
        let wrong = |found: String| {
            let expected = format!("expected a planner's state of version {VERSION} or before");
            let advice = "restore it, or begin with a new folder once every lease is over";
            Error::Usage(format!(
                "{}: found {found}, {expected}: {advice}",
                path.display()
            ))
        };
        let version: Version =
            serde_json::from_slice(&text).map_err(|why| wrong(why.to_string()))?;
        if version.version > VERSION {
            return Err(wrong(format!("version {}", version.version)));
        }
        let saved = serde_json::from_slice(&text).map_err(|why| wrong(why.to_string()))?;
        Ok(Some(saved))
    }

    /// Saves, for good: it is on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written; the one before is still there.
    pub fn save<G: Serialize>(&self, saved: &Saved<G>) -> io::Result<()> {
        // A part at a time: of many hosts the whole text would be fifty megabytes.
        self.replace_with(PLANNER, |file| {
            serde_json::to_writer(file, saved).map_err(io::Error::other)
        })
    }

    /// Saves what each probe was granted at most, in the order of [`Saved::probes`]: often, so in a
    /// file of its own.
    ///
    /// # Errors
    /// It cannot be written; the one before is still there.
    pub fn save_budgets(&self, budgets: &[f32]) -> io::Result<()> {
        let text = serde_json::to_vec(budgets).map_err(io::Error::other)?;
        self.replace(BUDGETS, &text)
    }

    /// What each probe was granted at most; `None` if nobody knows.
    pub fn load_budgets(&self) -> Option<Vec<f32>> {
        let text = fs::read(self.path.join(BUDGETS)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Saves what was learnt, by the hashes of pages' URLs.
    ///
    /// # Errors
    /// It cannot be written; the one before is still there.
    pub fn save_learnt(&self, learnt: impl Iterator<Item = (u64, Learnt)>) -> io::Result<()> {
        // One page at a time: a planner's memory has no room for a second copy of all.
        self.replace_with(LEARNT, |file| {
            let mut file = flate2::CrcWriter::new(file);
            file.write_all(&LEARNT_MAGIC)?;
            for (url, learnt) in learnt {
                file.write_all(&record(url, learnt))?;
            }
            let sum = file.crc().sum().to_le_bytes();
            file.into_inner().write_all(&sum)
        })
    }

    /// What was learnt, page by page; nothing, if the file is damaged: then it is learnt anew.
    pub fn load_learnt(&self, mut each: impl FnMut(u64, Learnt)) {
        // The sum at the end is looked at before anything is believed.
        let whole = self.read_learnt(|_, _| {});
        if whole.is_ok_and(|whole| whole) {
            let _ = self.read_learnt(&mut each);
        }
    }

    /// Reads what was learnt; is it as it was written?
    fn read_learnt(&self, mut each: impl FnMut(u64, Learnt)) -> io::Result<bool> {
        let file = File::open(self.path.join(LEARNT))?;
        let frame = LEARNT_MAGIC.len() as u64 + 4;
        let Some(records) = file.metadata()?.len().checked_sub(frame) else {
            return Ok(false);
        };
        let mut file = flate2::CrcReader::new(BufReader::new(file));
        let mut magic = [0; LEARNT_MAGIC.len()];
        file.read_exact(&mut magic)?;
        for _ in 0..records / LEARNT_RECORD as u64 {
            let mut record = [0; LEARNT_RECORD];
            file.read_exact(&mut record)?;
            if let Some((url, learnt)) = read_record(&record) {
                each(url, learnt);
            }
        }
        let found = file.crc().sum();
        let mut sum = [0; 4];
        file.read_exact(&mut sum)?;
        let is_whole = records % LEARNT_RECORD as u64 == 0;
        Ok(is_whole && magic == LEARNT_MAGIC && found == u32::from_le_bytes(sum))
    }

    /// Keeps the page image of a probe's list for who asks for it. It is made again at every start.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save_list(&self, probe: usize, image: &[u8]) -> io::Result<()> {
        let lists = self.path.join(LISTS);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&lists)?;
        fs::write(lists.join(probe.to_string()), image)
    }

    /// The page image of a probe's list.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn load_list(&self, probe: usize) -> io::Result<Vec<u8>> {
        fs::read(self.path.join(LISTS).join(probe.to_string()))
    }

    /// Replaces a file: beside it, onto the disk, then in its place.
    ///
    /// # Errors
    /// It cannot be written; the one before is still there.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.replace_with(name, |file| file.write_all(bytes))
    }

    fn replace_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> io::Result<()> {
        let new = self.path.join(format!("{name}.new"));
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&new)?;
        let mut file = BufWriter::new(file);
        write(&mut file)?;
        file.into_inner()?.sync_all()?;
        fs::rename(&new, self.path.join(name))?;
        File::open(&self.path)?.sync_all()
    }
}

/// What was learnt about the page of a URL, as it is written.
fn record(url: u64, learnt: Learnt) -> [u8; LEARNT_RECORD] {
    let [risen, fallen] = learnt.watch;
    let mut record = [0; LEARNT_RECORD];
    let parts = [
        &url.to_le_bytes()[..],
        &learnt.shape.to_le_bytes(),
        &learnt.time.to_le_bytes(),
        &risen.to_le_bytes(),
        &fallen.to_le_bytes(),
    ];
    let bytes = parts.into_iter().flatten();
    record
        .iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    record
}

fn read_record(record: &[u8; LEARNT_RECORD]) -> Option<(u64, Learnt)> {
    let (url, rest) = record.split_first_chunk::<8>()?;
    let (shape, rest) = rest.split_first_chunk::<4>()?;
    let (time, rest) = rest.split_first_chunk::<4>()?;
    let (risen, rest) = rest.split_first_chunk::<2>()?;
    let fallen = rest.first_chunk::<2>()?;
    let learnt = Learnt {
        shape: f32::from_le_bytes(*shape),
        time: f32::from_le_bytes(*time),
        watch: [u16::from_le_bytes(*risen), u16::from_le_bytes(*fallen)],
    };
    Some((u64::from_le_bytes(*url), learnt))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("dunlin-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    fn saved() -> Saved {
        Saved {
            version: VERSION,
            epoch: 3,
            planner: 0x1234_5678_9abc_def0,
            lease_ms: 3_600_000,
            budget: Some(1_000.5),
            probes: vec![SavedProbe {
                name: "p1".into(),
                list: 7,
                pages: 9,
                paused: true,
            }],
            groups: vec![SavedGroup {
                name: "host a.test".into(),
                probe: 0,
                leaving: true,
            }],
            added: vec![SavedPage {
                url: "http://a.test/".into(),
                weight: 2.0,
            }],
            removed: vec!["http://b.test/".into()],
        }
    }

    /// The format of version 1, as it was first written.
    const GOLDEN: &str = r#"{"version":1,"epoch":3,"planner":1311768467463790320,"lease_ms":3600000,"budget":1000.5,"probes":[{"name":"p1","list":7,"pages":9,"paused":true}],"groups":[{"name":"host a.test","probe":0,"leaving":true}],"added":[{"url":"http://a.test/","weight":2.0}],"removed":["http://b.test/"]}"#;

    #[test]
    fn a_state_is_written_and_read_as_ever() {
        let text = serde_json::to_string(&saved()).expect("JSON");
        assert_eq!(text, GOLDEN);
        assert_eq!(serde_json::from_str::<Saved>(GOLDEN).ok(), Some(saved()));
    }

    #[test]
    fn what_is_saved_is_there_and_a_second_planner_is_refused() {
        let path = folder("planner-state");
        let first = Folder::open(&path).expect("a folder");
        assert_eq!(first.load().expect("nothing yet"), None);
        first.save(&saved()).expect("saved");
        assert_eq!(first.load_budgets(), None);
        first.save_budgets(&[0.1, 2.5]).expect("saved");
        assert_eq!(first.load_budgets(), Some(vec![0.1, 2.5]));
        let second = Folder::open(&path).expect_err("it is in use");
        assert!(second.to_string().contains("another planner"), "{second}");
        drop(first);
        let again = Folder::open(&path).expect("it is free again");
        assert_eq!(again.load().expect("readable"), Some(saved()));
        fs::write(path.join(PLANNER), r#"{"version":2}"#).expect("written");
        let newer = again.load().expect_err("another version");
        assert!(newer.to_string().contains("version 2"), "{newer}");
        fs::remove_dir_all(&path).expect("removed");
    }

    #[test]
    fn what_was_learnt_is_kept_bit_by_bit_and_damage_is_noticed() {
        let path = folder("planner-learnt");
        let folder = Folder::open(&path).expect("a folder");
        let learnt = Learnt {
            shape: 1.1,
            time: 0.3,
            watch: [7, 65_535],
        };
        let all = [(5, learnt), (u64::MAX, learnt)];
        folder.save_learnt(all.into_iter()).expect("saved");
        let read = || {
            let mut found = Vec::new();
            folder.load_learnt(|url, learnt| found.push((url, learnt)));
            found
        };
        assert_eq!(read(), all);
        let file = path.join(LEARNT);
        let bytes = fs::read(&file).expect("a file");
        for place in [0, 7, 8, 20, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            fs::write(&file, damaged).expect("written");
            assert_eq!(read(), [], "byte {place}");
        }
        fs::write(&file, &bytes[..bytes.len() - 1]).expect("written");
        assert_eq!(read(), [], "cut short");
        fs::remove_dir_all(&path).expect("removed");
    }
}
