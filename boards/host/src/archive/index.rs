//! The index of an archive: `index.cdxj`, sorted, of any size and never in memory, and what came
//! since it was last written, in memory and in `index.journal`.
//!
//! A look-up is a binary search in the file: some 20 reads for a million versions. New lines are
//! folded in when they are many, or when the file is so small that it costs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, Write as _};
use std::ops::Bound;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::cdxj::{self, Entry};
use crate::error::Error;

/// The file of the lines that are sorted.
pub const SORTED: &str = "index.cdxj";
/// What came since, in the order in which it came.
pub const JOURNAL: &str = "index.journal";
/// No line is longer; one that is ends a search instead of filling memory.
const LONGEST_LINE: usize = 256 * 1024;
/// Bytes of the sorted file that are looked at together.
const BLOCK: u64 = 4096;
/// A sorted file up to this size is written anew whenever there is time.
const SMALL: u64 = 8 << 20;
/// A larger one when what came since is this part of it.
const PART: u64 = 16;

/// A sorted file that is searched in place.
#[derive(Debug)]
struct Sorted {
    file: Option<File>,
    length: u64,
}

impl Sorted {
    fn open(path: &Path) -> io::Result<Self> {
        match File::open(path) {
            Ok(file) => Ok(Self {
                length: file.metadata()?.len(),
                file: Some(file),
            }),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Self {
                file: None,
                length: 0,
            }),
            Err(why) => Err(why),
        }
    }

    /// The line that begins at `offset`, without its end, and where the next one begins.
    fn line(&self, file: &File, offset: u64) -> io::Result<(String, u64)> {
        let mut bytes = Vec::new();
        loop {
            let mut block = [0; BLOCK as usize];
            let count = file.read_at(&mut block, offset + bytes.len() as u64)?;
            let block = &block[..count];
            if let Some(end) = block.iter().position(|byte| *byte == b'\n') {
                bytes.extend_from_slice(&block[..end]);
                break;
            }
            bytes.extend_from_slice(block);
            if count == 0 || bytes.len() > LONGEST_LINE {
                break;
            }
        }
        let next = offset + bytes.len() as u64 + 1;
        Ok((String::from_utf8_lossy(&bytes).into_owned(), next))
    }

    /// Where the first line begins that is not before `text`. Work: a logarithm of the size.
    fn find(&self, file: &File, text: &str) -> io::Result<u64> {
        // A line begins at `low`, and all lines before it are before `text`; those that begin at
        // `high` or later are not.
        let mut low = 0;
        let mut high = self.length;
        while high.saturating_sub(low) > BLOCK {
            let middle = low + (high - low) / 2;
            let (_, start) = self.line(file, middle)?;
            let (line, next) = self.line(file, start)?;
            if start < high && line.as_str() < text {
                low = next;
            } else {
                high = middle + 1;
            }
        }
        while low < self.length {
            let (line, next) = self.line(file, low)?;
            if line.as_str() >= text {
                break;
            }
            low = next;
        }
        Ok(low)
    }

    /// Hands over the lines that begin with `prefix`, in order, until `each` has enough.
    fn each(&self, prefix: &str, mut each: impl FnMut(&str) -> bool) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut offset = self.find(file, prefix)?;
        while offset < self.length {
            let (line, next) = self.line(file, offset)?;
            if !line.starts_with(prefix) || !each(&line) {
                break;
            }
            offset = next;
        }
        Ok(())
    }
}

/// An index to look things up in.
#[derive(Debug)]
pub struct Index {
    sorted: Sorted,
    /// Lines that are not in the sorted file yet, or again.
    recent: BTreeSet<String>,
    /// How many bytes the recent lines take together.
    recent_bytes: u64,
    /// The line that came last.
    last: Option<Entry>,
}

impl Index {
    /// Opens the index of an archive. Whoever writes it may go on doing so: the journal is read
    /// first, so that nothing is missed that moves from there to the sorted file.
    ///
    /// # Errors
    /// A file is there and cannot be read.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let journal = folder.join(JOURNAL);
        let lines = journal_lines(&journal).map_err(|why| Error::reading(&journal, why))?;
        let sorted = folder.join(SORTED);
        let sorted = Sorted::open(&sorted).map_err(|why| Error::reading(&sorted, why))?;
        let mut index = Self {
            sorted,
            recent: BTreeSet::new(),
            recent_bytes: 0,
            last: None,
        };
        for line in lines {
            if let Some(entry) = Entry::parse(&line) {
                index.put(line, entry);
            }
        }
        Ok(index)
    }

    fn put(&mut self, line: String, entry: Entry) {
        self.recent_bytes += line.len() as u64 + 1;
        self.recent.insert(line);
        self.last = Some(entry);
    }

    /// The version that was archived last.
    pub fn last(&self) -> Option<&Entry> {
        self.last.as_ref()
    }

    /// Hands over all versions of a URL, in the order of their times, until `each` has enough.
    /// Memory does not depend on how many there are in the sorted file.
    ///
    /// # Errors
    /// The sorted file cannot be read.
    pub fn each(&self, url: &str, mut each: impl FnMut(Entry) -> bool) -> io::Result<()> {
        let prefix = cdxj::key(url) + " ";
        // Different URLs may have one key.
        self.lines(&prefix, |line| match Entry::parse(line) {
            Some(entry) if entry.url == url => each(entry),
            _ => true,
        })
    }

    /// Hands over all lines that begin with `prefix`, in order, until `say` has enough.
    fn lines(&self, prefix: &str, mut say: impl FnMut(&str) -> bool) -> io::Result<()> {
        let is_newer = |line: &&String| line.starts_with(prefix);
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let mut recent = self.recent.range::<str, _>(from).take_while(is_newer);
        let mut waiting = recent.next();
        let mut more = true;
        self.sorted.each(prefix, |line| {
            while more && let Some(newer) = waiting.filter(|newer| newer.as_str() < line) {
                more = say(newer);
                waiting = recent.next();
            }
            if waiting.is_some_and(|newer| newer == line) {
                waiting = recent.next();
            }
            more = more && say(line);
            more
        })?;
        while more && let Some(newer) = waiting {
            more = say(newer);
            waiting = recent.next();
        }
        Ok(())
    }

    /// The last `most` versions of all URLs, but for those that are the first of theirs, oldest
    /// first. Work: the whole index, once. Memory: that of `most` versions.
    ///
    /// # Errors
    /// The sorted file cannot be read.
    pub fn changes(&self, most: usize) -> io::Result<Vec<Entry>> {
        let mut latest = BTreeMap::new();
        let mut key_before = String::new();
        self.lines("", |line| {
            let mut words = line.split(' ');
            let (Some(key), Some(time)) = (words.next(), words.next()) else {
                return true;
            };
            if key != key_before {
                key_before = key.to_owned();
                return true;
            }
            let is_late = |((least, ..), _): (&(String, String, u64), _)| time >= least.as_str();
            if (latest.len() < most || latest.first_key_value().is_some_and(is_late))
                && let Some(entry) = Entry::parse(line).filter(|entry| !entry.is_revisit())
            {
                let place = (time.to_owned(), entry.file.clone(), entry.offset);
                latest.insert(place, entry);
            }
            if latest.len() > most {
                latest.pop_first();
            }
            true
        })?;
        let mut changes = Vec::new();
        for entry in latest.into_values() {
            // Different URLs may have one key: it may be the first of its own.
            let mut first = None;
            self.each(&entry.url, |one| {
                first = Some(one);
                false
            })?;
            if first.as_ref() != Some(&entry) {
                changes.push(entry);
            }
        }
        Ok(changes)
    }

    /// All versions of a URL, oldest first: the last `most` of them.
    ///
    /// # Errors
    /// The sorted file cannot be read.
    pub fn versions(&self, url: &str, most: usize) -> io::Result<Vec<Entry>> {
        let mut versions = std::collections::VecDeque::new();
        self.each(url, |entry| {
            if versions.len() == most {
                versions.pop_front();
            }
            versions.push_back(entry);
            true
        })?;
        Ok(versions.into())
    }
}

/// The whole lines of a journal: one that a crash has cut is none.
fn journal_lines(path: &Path) -> io::Result<Vec<String>> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(why) if why.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(why) => return Err(why),
    };
    let whole = text.iter().rposition(|byte| *byte == b'\n');
    let text = String::from_utf8_lossy(&text[..whole.map_or(0, |end| end + 1)]);
    Ok(text.lines().map(str::to_owned).collect())
}

/// The index of the archive that this process writes.
#[derive(Debug)]
pub struct IndexWriter {
    folder: PathBuf,
    index: Index,
    journal: File,
    /// Lines that are not in the journal yet, as on a full disk: those that follow wait for them.
    unwritten: String,
    /// Has anything come since the last fold?
    behind: bool,
}

impl Drop for IndexWriter {
    fn drop(&mut self) {
        // A program that is just being started shares our files until it runs.
        let _ = self.journal.unlock();
    }
}

impl IndexWriter {
    /// Opens the index for writing; one process at a time can. A line that a crash has cut is
    /// removed.
    ///
    /// # Errors
    /// It cannot be opened, or somebody else has it open.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(JOURNAL);
        let journal = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(&path)
            .map_err(|why| Error::opening(&path, why))?;
        journal.try_lock().map_err(|_| {
            let folder = folder.display();
            Error::Usage(format!(
                "found {folder} in use by another dunlin, expected an archive of our own"
            ))
        })?;
        let index = Index::open(folder)?;
        let whole = journal_lines(&path).map_err(|why| Error::reading(&path, why))?;
        let whole: usize = whole.iter().map(|line| line.len() + 1).sum();
        journal
            .set_len(whole as u64)
            .map_err(|why| Error::writing(&path, why))?;
        Ok(Self {
            folder: folder.to_owned(),
            // One line alone says how far the index got, and is in the sorted file, if there is
            // one.
            behind: index.recent.len() > usize::from(index.sorted.file.is_some()),
            index,
            journal,
            unwritten: String::new(),
        })
    }

    /// The index, to look things up in.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Adds a version, and writes the sorted file anew once so much has come that memory would fill
    /// up.
    ///
    /// # Errors
    /// It cannot be written down; it can be looked up all the same, until the end.
    pub fn add(&mut self, entry: Entry) -> io::Result<()> {
        let line = entry.line();
        let written = self.write_down(&line);
        self.index.put(line, entry);
        self.behind = true;
        if self.index.recent_bytes >= SMALL.max(self.index.sorted.length / PART) {
            self.fold()?;
        }
        written
    }

    /// Writes a line into the journal, after those that could not be written before: the last line
    /// says how far the archive's files are indexed, so that none may be missing before it.
    fn write_down(&mut self, line: &str) -> io::Result<()> {
        self.unwritten.push_str(line);
        self.unwritten.push('\n');
        let end = self.journal.metadata()?.len();
        if let Err(why) = self.journal.write_all(self.unwritten.as_bytes()) {
            // Half a line would spoil the one that follows it.
            let _ = self.journal.set_len(end);
            return Err(why);
        }
        self.unwritten.clear();
        Ok(())
    }

    /// Forgets everything: it is about to be made anew from the archive's files.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn clear(&mut self) -> io::Result<()> {
        self.journal.set_len(0)?;
        self.unwritten.clear();
        match fs::remove_file(self.folder.join(SORTED)) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            _ => {}
        }
        self.index = Index {
            sorted: Sorted {
                file: None,
                length: 0,
            },
            recent: BTreeSet::new(),
            recent_bytes: 0,
            last: None,
        };
        Ok(())
    }

    /// Is it worth the time to write the sorted file anew?
    pub fn should_fold(&self) -> bool {
        let sorted = self.index.sorted.length;
        self.behind && (sorted <= SMALL || self.index.recent_bytes >= sorted / PART)
    }

    /// Writes the sorted file anew, with everything in it, and keeps the last line alone in the
    /// journal: it says how far the archive's files are indexed. Readers see the old file or the
    /// new one. Work: the size of the file; memory: a line.
    ///
    /// # Errors
    /// It cannot be written; nothing is lost then.
    pub fn fold(&mut self) -> io::Result<()> {
        let new = self.folder.join("index.cdxj.new");
        let sorted = self.folder.join(SORTED);
        let written = self.write_sorted(&new);
        if let Err(why) = written.and_then(|()| fs::rename(&new, &sorted)) {
            // On a full disk, it would take the room that others need.
            let _ = fs::remove_file(&new);
            return Err(why);
        }
        self.index.sorted = Sorted::open(&sorted)?;
        self.index.recent.clear();
        self.index.recent_bytes = 0;
        self.behind = false;
        // A crash before this leaves lines in both: they are told apart as one.
        self.journal.set_len(0)?;
        self.unwritten.clear();
        match self.index.last.as_ref().map(Entry::line) {
            Some(line) => self.write_down(&line),
            None => Ok(()),
        }
    }

    /// Writes all lines in order, and hands them to the disk.
    fn write_sorted(&self, new: &Path) -> io::Result<()> {
        let mut out = BufWriter::new(File::create(new)?);
        let mut recent = self.index.recent.iter().peekable();
        if let Some(mut file) = self.index.sorted.file.as_ref() {
            // One that failed half-way has read to somewhere else.
            file.rewind()?;
            for line in BufReader::new(file).lines() {
                let line = line?;
                while let Some(newer) = recent.next_if(|newer| **newer < line) {
                    writeln!(out, "{newer}")?;
                }
                recent.next_if(|newer| **newer == line);
                writeln!(out, "{line}")?;
            }
        }
        for newer in recent {
            writeln!(out, "{newer}")?;
        }
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64) -> Entry {
        Entry {
            time: 1_794_000_000 + number / 3,
            url: format!(
                "http://host{}.test/{}",
                number % 50,
                "x".repeat((number % 7) as usize * 900)
            ),
            media_type: "text/html".into(),
            status: Some(200),
            digest: format!("sha1:{number}"),
            file: "dunlin-1.warc.gz".into(),
            offset: number,
            length: 1,
        }
    }

    /// Every version is found, whatever part of the index it is in and however long the lines are.
    #[test]
    fn what_was_added_is_found_before_and_after_folds_and_restarts() {
        let folder = std::env::temp_dir().join(format!("dunlin-index-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let mut all: Vec<Entry> = Vec::new();
        let mut writer = IndexWriter::open(&folder).expect("an index");
        for number in 0..2_000 {
            writer.add(entry(number)).expect("written");
            all.push(entry(number));
            if number % 311 == 0 {
                writer.fold().expect("folded");
            }
            if number == 1_000 {
                drop(writer);
                writer = IndexWriter::open(&folder).expect("an index");
            }
        }
        let reader = Index::open(&folder).expect("an index");
        assert_eq!(reader.last(), Some(&entry(1_999)));
        for wanted in all.iter().take(350) {
            let expected: Vec<&Entry> =
                all.iter().filter(|entry| entry.url == wanted.url).collect();
            for index in [&reader, writer.index()] {
                let found = index.versions(&wanted.url, usize::MAX).expect("read");
                assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{}", wanted.url);
                let last = index.versions(&wanted.url, 2).expect("read");
                assert_eq!(last.last(), expected.last().copied());
                assert!(last.len() <= 2);
            }
        }
        assert_eq!(reader.versions("http://nobody.test/", 9).expect("read"), []);
        writer.fold().expect("folded");
        let sorted = fs::read_to_string(folder.join(SORTED)).expect("an index");
        assert!(sorted.lines().is_sorted() && sorted.lines().count() == all.len());
        assert!(IndexWriter::open(&folder).is_err(), "one writes at a time");
        let _ = fs::remove_dir_all(&folder);
    }

    /// A sorted file that could not be written, up to its last step, is written the next time, with
    /// everything in it.
    #[test]
    fn a_fold_that_failed_loses_nothing() {
        let folder = std::env::temp_dir().join(format!("dunlin-fold-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let mut writer = IndexWriter::open(&folder).expect("an index");
        assert!(!writer.should_fold(), "there is nothing yet");
        writer.add(entry(0)).expect("written");
        drop(writer);
        let mut writer = IndexWriter::open(&folder).expect("an index");
        assert!(writer.should_fold(), "others cannot see it yet");
        for number in 1..300 {
            writer.add(entry(number)).expect("written");
        }
        writer.fold().expect("folded");
        assert!(!writer.should_fold());
        writer.add(entry(300)).expect("written");
        // A folder in its place cannot be replaced by a file.
        let sorted = folder.join(SORTED);
        fs::remove_file(&sorted).expect("it is there");
        fs::create_dir(&sorted).expect("in its place");
        writer.fold().expect_err("no place");
        assert!(!folder.join("index.cdxj.new").exists(), "it takes no room");
        fs::remove_dir(&sorted).expect("it is there");
        writer.fold().expect("folded");
        let lines = fs::read_to_string(&sorted).expect("an index");
        assert_eq!(lines.lines().count(), 301);
        let _ = fs::remove_dir_all(&folder);
    }
}
