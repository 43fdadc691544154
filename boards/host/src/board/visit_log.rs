//! Visits as they are made, as a HISTORY.csv: in a file of the user's, and in one beside a state.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::state_file::beside;
use crate::error::Error;
use crate::output;

/// What a HISTORY.csv begins with.
const HEADER: &str = "url,time_s,changed,last_modified_s\n";
/// The file beside a state file that its visits are in: its name ends so.
pub const VISITS: &str = ".visits";
/// Where the visits before those are.
const EARLIER: &str = ".visits.earlier";
/// Beside a state, so many bytes begin a new file, and what was the earlier one goes: half a year of
/// 300 pages at 24 visits a day.
const MOST: u64 = 64 << 20;

/// A HISTORY.csv that visits are appended to.
#[derive(Debug)]
pub struct VisitLog {
    path: PathBuf,
    file: File,
    length: u64,
    /// Where this file goes once it is long, if it does.
    earlier: Option<PathBuf>,
    most: u64,
}

impl VisitLog {
    /// Opens the file, or makes one with a header row.
    ///
    /// # Errors
    /// It cannot be opened, written, or is something else.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut log = Self::open_any(path.to_owned())?;
        log.end_line()?;
        Ok(log)
    }

    /// Opens the one beside a state file, where the last megabytes are kept.
    ///
    /// # Errors
    /// As above.
    pub fn of_state(state: &Path) -> Result<Self, Error> {
        let mut log = Self::open(&beside(state, VISITS))?;
        log.earlier = Some(beside(state, EARLIER));
        Ok(log)
    }

    fn open_any(path: PathBuf) -> Result<Self, Error> {
        let opened = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(&path);
        let mut file = opened.map_err(|source| Error::opening(&path, source))?;
        let reading = |source| Error::reading(&path, source);
        let mut length = file.metadata().map_err(reading)?.len();
        if length == 0 {
            let written = file.write_all(HEADER.as_bytes());
            written.map_err(|source| Error::writing(&path, source))?;
            length = HEADER.len() as u64;
        } else {
            let mut first = String::new();
            let start = BufReader::new(&file).take(1_000).read_line(&mut first);
            start.map_err(reading)?;
            if first != HEADER {
                let file = path.display();
                let header = HEADER.trim_end();
                return Err(Error::Usage(format!(
                    "{file}: found another file, expected one that begins with {header}, or none yet"
                )));
            }
        }
        Ok(Self {
            path,
            file,
            length,
            earlier: None,
            most: MOST,
        })
    }

    /// A row that a power cut has left unfinished is taken back.
    fn end_line(&mut self) -> Result<(), Error> {
        let mut end = self.length;
        let mut byte = [0];
        let found: io::Result<()> = loop {
            let read = self
                .file
                .seek(SeekFrom::Start(end - 1))
                .and_then(|_| self.file.read_exact(&mut byte));
            match read {
                Ok(()) if byte == *b"\n" => break Ok(()),
                // The header ends with a line's end.
                Ok(()) => end -= 1,
                Err(why) => break Err(why),
            }
        };
        found.map_err(|source| Error::reading(&self.path, source))?;
        if end < self.length {
            let cut = self.file.set_len(end);
            cut.map_err(|source| Error::writing(&self.path, source))?;
            self.length = end;
        }
        Ok(())
    }

    /// Appends a visit of now.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn visit(&mut self, url: &str, changed: bool) -> Result<(), Error> {
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let time = time.map_or(0.0, |time| time.as_secs_f64());
        let changed = u8::from(changed).to_string();
        let cells = [url.to_owned(), format!("{time:.3}"), changed, String::new()];
        let line = output::csv_line(&cells);
        if self.length + line.len() as u64 > self.most
            && let Some(earlier) = self.earlier.clone()
        {
            let moved = fs::rename(&self.path, &earlier);
            moved.map_err(|source| Error::writing(&earlier, source))?;
            *self = Self {
                earlier: Some(earlier),
                most: self.most,
                ..Self::open_any(self.path.clone())?
            };
        }
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|source| Error::writing(&self.path, source))?;
        self.length += line.len() as u64;
        Ok(())
    }
}

/// Writes the visits that are kept beside a state as one HISTORY.csv.
///
/// # Errors
/// There are none, or a file cannot be read or written.
pub fn export(state: &Path, to: &Path) -> Result<(), Error> {
    let last = beside(state, VISITS);
    if !last.exists() {
        let last = last.display();
        return Err(Error::Usage(format!(
            "found no file {last}, expected the visits there that a run with this --state has made"
        )));
    }
    let out = File::create(to).map_err(|source| Error::writing(to, source))?;
    let mut out = io::BufWriter::new(out);
    let writing = |source| Error::writing(to, source);
    out.write_all(HEADER.as_bytes()).map_err(writing)?;
    let earlier = Some(beside(state, EARLIER)).filter(|path| path.exists());
    for path in earlier.into_iter().chain([last]) {
        let reading = |source| Error::reading(&path, source);
        let file = File::open(&path).map_err(reading)?;
        let mut file = BufReader::new(file);
        let mut header = String::new();
        file.read_line(&mut header).map_err(reading)?;
        io::copy(&mut file, &mut out).map_err(writing)?;
    }
    out.flush().map_err(writing)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("dunlin-visits-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_last_visits_of_a_state_are_kept_and_the_first_go() {
        let folder = Folder::new("bounded");
        let (state, history) = (folder.0.join("state"), folder.0.join("history"));
        let missing = export(&state, &history).expect_err("no visits yet");
        assert!(missing.to_string().contains("state.visits"), "{missing}");
        let mut log = VisitLog::of_state(&state).expect("a log");
        log.most = 1_000;
        for number in 0..200 {
            let visited = log.visit(&format!("http://a.test/{number}"), number % 2 == 0);
            visited.expect("written");
        }
        drop(log);
        export(&state, &history).expect("a history");
        let text = fs::read_to_string(&history).expect("text");
        assert!(text.len() > 1_000 && text.len() <= 2_000, "{}", text.len());
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(HEADER.trim_end()));
        let numbers: Vec<u32> = lines
            .map(|line| {
                let url = line.split(',').next().expect("a URL");
                let number = url.rsplit('/').next().expect("a number");
                number.parse().expect("a number")
            })
            .collect();
        assert!(numbers.is_sorted_by_key(|number| *number));
        assert_eq!(numbers.last(), Some(&199));
        assert_eq!(
            numbers.len() as u32,
            200 - numbers[0],
            "none is missing between"
        );
    }

    #[test]
    fn a_row_that_a_power_cut_left_unfinished_is_taken_back() {
        let folder = Folder::new("cut");
        let path = folder.0.join("visits");
        let whole = format!("{HEADER}http://a.test/,1.000,0,\n");
        fs::write(&path, format!("{whole}http://a.test/,2.0")).expect("a file");
        let mut log = VisitLog::open(&path).expect("a log");
        log.visit("http://b.test/", true).expect("written");
        let text = fs::read_to_string(&path).expect("text");
        let row = text.strip_prefix(&whole).expect("what was whole");
        assert!(
            row.starts_with("http://b.test/,") && row.ends_with(",1,\n"),
            "{row}"
        );
    }
}
