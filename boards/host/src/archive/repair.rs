//! What a start does after a crash: cuts off what was not finished, and indexes what was.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Seek as _, SeekFrom};
use std::path::Path;

use super::cdxj::{Entry, REVISIT};
use super::exchange;
use super::index::IndexWriter;
use super::warc::{Record, RecordKind};
use crate::date;
use crate::error::Error;

/// A crash leaves no more than one answer unfinished: where more would have to be cut off,
/// something else has happened.
const MOST_CUT: u64 = 16 << 20;
/// Bytes that are read of a record: as many as can hold an answer's head.
const HEADS: u64 = 64 * 1024;

/// What was found, for a person, and whether the last file can be gone on with.
pub(super) struct Repaired {
    pub(super) notes: Vec<String>,
    pub(super) goes_on: bool,
}

/// Brings index and files together. The index says how far it got; what comes after that is read.
/// An index that knows nothing, or more than the files hold, is made anew.
///
/// Work: what was written since the index's last line, as a rule nothing.
pub(super) fn repair(
    folder: &Path,
    files: &[String],
    index: &mut IndexWriter,
) -> Result<Repaired, Error> {
    let mut notes = Vec::new();
    let mut goes_on = true;
    let known = index.index().last().cloned();
    let known = known.filter(|last| {
        let length = std::fs::metadata(folder.join(&last.file)).map(|file| file.len());
        length.is_ok_and(|length| length >= last.offset + last.length)
    });
    if known.is_none() {
        index.clear().map_err(|why| Error::writing(folder, why))?;
    }
    let known_file = known.as_ref().map(|last| last.file.as_str());
    let first = known_file.and_then(|known| files.iter().position(|file| file == known));
    for (place, name) in files.iter().enumerate().skip(first.unwrap_or(0)) {
        let from = match &known {
            Some(last) if last.file == *name => last.offset + last.length,
            _ => 0,
        };
        let path = folder.join(name);
        let end = read_on(&path, name, from, index).map_err(|why| Error::reading(&path, why))?;
        let length = std::fs::metadata(&path).map_or(end, |file| file.len());
        if end >= length {
            continue;
        }
        let is_last = place + 1 == files.len();
        if !is_last || length - end > MOST_CUT {
            // Whatever this is, no crash of ours has made it: nothing is cut off.
            goes_on &= !is_last;
            notes.push(format!(
                "warning: {}: no record at byte {end}, what follows is not indexed",
                path.display()
            ));
            continue;
        }
        notes.push(format!(
            "{}: a record was not finished, {} bytes are cut off",
            path.display(),
            length - end
        ));
        let file = OpenOptions::new().write(true).open(&path);
        file.and_then(|file| file.set_len(end))
            .map_err(|why| Error::writing(&path, why))?;
    }
    Ok(Repaired { notes, goes_on })
}

/// Indexes the whole records of a file from `from` on; where the last of them ends.
fn read_on(path: &Path, name: &str, from: u64, index: &mut IndexWriter) -> io::Result<u64> {
    let mut file = BufReader::new(File::open(path)?);
    let mut end = file.seek(SeekFrom::Start(from))?;
    while let Ok(record) = Record::read(&mut file, HEADS) {
        let next = file.stream_position()?;
        if let Some(entry) = entry(&record, name, end, next - end) {
            index.add(entry)?;
        }
        end = next;
    }
    Ok(end)
}

/// The line of a record, if it has one.
fn entry(record: &Record, file: &str, offset: u64, length: u64) -> Option<Entry> {
    let (status, media_type) = exchange::described(&record.block);
    let media_type = match record.kind {
        RecordKind::Response => media_type,
        RecordKind::Revisit => REVISIT.into(),
        _ => return None,
    };
    Some(Entry {
        time: date::parse(record.field("WARC-Date")?)?,
        url: record.field("WARC-Target-URI")?.to_owned(),
        media_type,
        status,
        digest: record.field("WARC-Payload-Digest")?.to_owned(),
        file: file.to_owned(),
        offset,
        length,
    })
}
