//! Table files (CSV) in bounded memory, with errors that name file, line and column.
//!
//! A record is a line: quotes may hold commas, not line ends. So a line number is always right, and
//! the memory is bounded by the longest line allowed, whatever the file's size.
//!
//! Tables are taken as people have them: commas, semicolons or tabs between the columns, by what
//! the header row has most of; column names in capitals; lines that begin with `#` are comments.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::error::{Error, InputError, quoted};

/// The longest line accepted, in bytes. The longest URL a browser takes is far below.
pub const MAX_LINE: usize = 64 * 1024;
/// The most columns a line may have.
const MAX_COLUMNS: usize = 64;

/// A column a file may have.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name of the column, as in the header row.
    pub name: &'static str,
    /// Whether the column must be there.
    pub required: bool,
}

/// A column that must be there.
pub const fn required(name: &'static str) -> Column {
    Column {
        name,
        required: true,
    }
}

/// A column that may be there.
pub const fn optional(name: &'static str) -> Column {
    Column {
        name,
        required: false,
    }
}

/// What may stand between columns.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];
/// What stands between columns where there is only one: no text has it, and no URL may.
const NO_DELIMITER: u8 = 0;

/// Whether a file begins with the names of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderRow {
    /// The file must begin with a header row.
    Needed,
    /// It has to, unless its first line is a URL: then it has one column, `url`.
    UnlessUrl,
}

/// A table file being read, row by row.
pub struct TableFile {
    name: String,
    input: Box<dyn BufRead>,
    line_number: u64,
    line: Vec<u8>,
    /// For each column of the header row, its place in `known`.
    header: Vec<usize>,
    known: &'static [Column],
    fields: Vec<u8>,
    ends: Vec<usize>,
    /// Kept, because building its tables takes longer than reading a line.
    reader: Box<Reader>,
    /// The file has no header row, only a URL a line.
    plain: bool,
    /// `line` is still to be read as a record.
    held: bool,
    comments: u64,
}

/// One row. Fields are asked for by the name of their column.
#[derive(Debug)]
pub struct Row<'a> {
    file: &'a str,
    line: u64,
    /// By place in the list of known columns; `None` where the file has no such column.
    cells: Vec<Option<(usize, &'a str)>>,
    known: &'static [Column],
}

/// One field that is there and not empty.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    file: &'a str,
    line: u64,
    column: (usize, &'static str),
    /// The text, without the white space around it.
    pub text: &'a str,
}

impl TableFile {
    /// Opens a file, or stdin for `-`, and reads its header row.
    ///
    /// # Errors
    /// The file cannot be opened, or its header row lacks a required column or has one not in
    /// `known`.
    pub fn open(path: &Path, known: &'static [Column]) -> Result<Self, Error> {
        let (name, input) = open(path)?;
        Self::new(name, input, known, HeaderRow::Needed)
    }

    /// Reads the header row from `input`; `name` is for error lines.
    ///
    /// # Errors
    /// See [`TableFile::open`].
    pub fn new(
        name: String,
        input: Box<dyn BufRead>,
        known: &'static [Column],
        header: HeaderRow,
    ) -> Result<Self, Error> {
        let mut file = Self {
            name,
            input,
            line_number: 0,
            line: Vec::new(),
            header: Vec::new(),
            known,
            fields: vec![0; MAX_LINE],
            ends: vec![0; MAX_COLUMNS],
            reader: Box::new(Reader::new()),
            plain: false,
            held: false,
            comments: 0,
        };
        file.read_header(header)?;
        Ok(file)
    }

    /// Is it a plain list, a URL a line without a header row?
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// How many comment lines there were so far.
    pub fn comments(&self) -> u64 {
        self.comments
    }

    /// Reads the next row; `None` at the end of the file.
    ///
    /// # Errors
    /// A line that is too long, not UTF-8, has an open quote, or another number of fields than the
    /// header row.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, Error> {
        let Some(count) = self.next_record()? else {
            return Ok(None);
        };
        if count != self.header.len() {
            let expected = format!(
                "{}, as in the header row",
                plural(self.header.len(), "field")
            );
            return Err(self.error_on_line(plural(count, "field"), &expected));
        }
        let mut cells = vec![None; self.known.len()];
        let mut start = 0;
        for (number, (&place, &end)) in self.header.iter().zip(&self.ends).enumerate() {
            let bytes = &self.fields[start..end];
            start = end;
            let text = std::str::from_utf8(bytes).map_err(|_| InputError {
                file: self.name.clone(),
                line: self.line_number,
                column: Some((number + 1, self.known[place].name.into())),
                found: quoted(&String::from_utf8_lossy(bytes)),
                expected: "UTF-8 text".into(),
            })?;
            cells[place] = Some((number + 1, text.trim()));
        }
        Ok(Some(Row {
            file: &self.name,
            line: self.line_number,
            cells,
            known: self.known,
        }))
    }

    fn read_header(&mut self, header: HeaderRow) -> Result<(), Error> {
        let names = self
            .known
            .iter()
            .map(|column| column.name)
            .collect::<Vec<_>>()
            .join(", ");
        if !self.next_line_with_text()? {
            self.line_number = 1;
            return Err(
                self.error_on_line("an empty file".into(), &format!("a header row: {names}"))
            );
        }
        self.held = true;
        let url = self.known.iter().position(|column| column.name == "url");
        if let Some(place) = url.filter(|_| header == HeaderRow::UnlessUrl && is_url(&self.line)) {
            self.plain = true;
            self.header.push(place);
            self.reader = reader(NO_DELIMITER);
            return Ok(());
        }
        self.reader = reader(delimiter(&self.line));
        let count = self.next_record()?.unwrap_or(0);
        let mut start = 0;
        let mut cells = Vec::with_capacity(count);
        for &end in &self.ends[..count] {
            cells.push(String::from_utf8_lossy(&self.fields[start..end]).into_owned());
            start = end;
        }
        let place = |cell: &str| {
            let name = column_name(cell);
            self.known.iter().position(|column| column.name == name)
        };
        let places: Vec<Option<usize>> = cells.iter().map(|cell| place(cell)).collect();
        let needed = self.known.iter().filter(|column| column.required);
        let needed: Vec<&str> = needed.map(|column| column.name).collect();
        let needed = needed.join(",");
        if places.iter().all(Option::is_none) {
            let first = String::from_utf8_lossy(self.line.trim_ascii()).into_owned();
            // `example.org/news` alone would be refused below a header line, too.
            let scheme = match header == HeaderRow::UnlessUrl && count == 1 && first.contains('.') {
                true => "a URL with http:// or https:// in front, or ",
                false => "",
            };
            let expected = format!(
                "{scheme}the names of columns: add a header line `{needed}` (known are {names})"
            );
            return Err(self.error_on_line(quoted(&first), &expected));
        }
        for (cell, place) in cells.iter().zip(places) {
            match place {
                Some(place) if !self.header.contains(&place) => self.header.push(place),
                Some(_) => {
                    return Err(self.error_on_line(
                        format!("column {} twice", quoted(cell.trim())),
                        "each column once",
                    ));
                }
                None => {
                    let found = format!("unknown column {}", quoted(cell.trim()));
                    return Err(self.error_on_line(
                        found,
                        &format!("columns among {names}: rename or remove it"),
                    ));
                }
            }
        }
        let missing =
            |(place, column): (usize, &Column)| column.required && !self.header.contains(&place);
        if let Some(column) = self.known.iter().enumerate().find(|&it| missing(it)) {
            let expected = format!("a column `{}` in the header row", column.1.name);
            return Err(self.error_on_line("none".into(), &expected));
        }
        Ok(())
    }

    /// Splits the next line that is not blank into `fields`/`ends` and returns how many there are.
    fn next_record(&mut self) -> Result<Option<usize>, Error> {
        if !std::mem::take(&mut self.held) && !self.next_line_with_text()? {
            return Ok(None);
        }
        if self.plain {
            self.check_plain()?;
        }
        self.reader.reset();
        let (result, _, _, count) =
            self.reader
                .read_record(&self.line, &mut self.fields, &mut self.ends);
        match result {
            ReadRecordResult::Record => Ok(Some(count)),
            ReadRecordResult::OutputEndsFull => {
                let found = format!("more than {}", plural(MAX_COLUMNS, "field"));
                Err(self.error_on_line(found, &format!("at most {MAX_COLUMNS}")))
            }
            _ => Err(self.error_on_line(
                "a quote that is not closed".into(),
                "it closed on the same line",
            )),
        }
    }

    /// A row of a table that lacks its header would be taken for a URL with a comma in it.
    fn check_plain(&self) -> Result<(), Error> {
        let line = self.line.trim_ascii();
        let behind = |at: usize| line[at + 1..].trim_ascii();
        let last = line.iter().rposition(|byte| DELIMITERS.contains(byte));
        let is_number = |text: &[u8]| {
            let text = std::str::from_utf8(text).unwrap_or_default();
            text.is_empty() || text.parse::<f64>().is_ok()
        };
        let another = last.filter(|at| line[*at] == b'\t' || is_number(behind(*at)));
        let Some(at) = another.filter(|_| !line.starts_with(b"\"")) else {
            return Ok(());
        };
        let found = quoted(&String::from_utf8_lossy(&line[at..]));
        Err(self.error_on_line(
            format!("{found} behind a URL"),
            "a URL alone: for more columns add a header line such as `url,weight`; \
             a URL that ends so stands in quotes",
        ))
    }

    /// Reads the next line that is neither blank nor a comment; false at the end of the file.
    fn next_line_with_text(&mut self) -> Result<bool, Error> {
        while self.next_line()? {
            match self.line.trim_ascii_start().first() {
                None => {}
                Some(b'#') => self.comments += 1,
                Some(_) => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Reads a line, ending in a newline, into `line`; false at the end of the file.
    fn next_line(&mut self) -> Result<bool, Error> {
        self.line.clear();
        self.line_number += 1;
        let reading = |source| Error::reading(Path::new(&self.name), source);
        let limit = MAX_LINE as u64 + 1;
        let read = self
            .input
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut self.line)
            .map_err(reading)?;
        if self.line.len() > MAX_LINE {
            let found = format!("a line of more than {MAX_LINE} bytes");
            return Err(self.error_on_line(found, &format!("lines of at most {MAX_LINE} bytes")));
        }
        // The parser below would take a carriage return for the end of the record, and what follows
        // it would be lost.
        let text = self.line.trim_ascii_end();
        if let Some(at) = text.iter().position(|byte| *byte == b'\r') {
            let found = format!("a carriage return at byte {}", at + 1);
            return Err(self.error_on_line(found, "one only before the line feed that ends a line"));
        }
        if read > 0 && !self.line.ends_with(b"\n") {
            self.line.push(b'\n');
        }
        Ok(read > 0)
    }

    fn error_on_line(&self, found: String, expected: &str) -> Error {
        let file = self.name.clone();
        let expected = expected.to_owned();
        InputError {
            file,
            line: self.line_number,
            column: None,
            found,
            expected,
        }
        .into()
    }
}

impl<'a> Row<'a> {
    /// The field of a known column, if the file has it and it is not empty.
    pub fn get(&self, name: &'static str) -> Option<Field<'a>> {
        let (number, text) = self.cell(name)?;
        let column = (number, name);
        (!text.is_empty()).then_some(Field {
            file: self.file,
            line: self.line,
            column,
            text,
        })
    }

    /// The field of a known column, which must not be empty.
    ///
    /// # Errors
    /// It is empty or the column is missing.
    pub fn need(&self, name: &'static str, expected: &str) -> Result<Field<'a>, InputError> {
        self.get(name).ok_or_else(|| InputError {
            file: self.file.to_owned(),
            line: self.line,
            column: self.cell(name).map(|(number, _)| (number, name.to_owned())),
            found: format!("no {name}"),
            expected: expected.to_owned(),
        })
    }

    fn cell(&self, name: &str) -> Option<(usize, &'a str)> {
        let place = self.known.iter().position(|column| column.name == name)?;
        *self.cells.get(place)?
    }

    /// Which line of the file this is, counted from 1.
    pub fn line(&self) -> u64 {
        self.line
    }
}

impl Field<'_> {
    /// The same place without its text, for what nobody should read.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.text = "…";
        self
    }

    /// Says what is wrong with this field.
    pub fn error(&self, expected: impl Into<String>) -> InputError {
        InputError {
            file: self.file.to_owned(),
            line: self.line,
            column: Some((self.column.0, self.column.1.to_owned())),
            found: quoted(self.text),
            expected: expected.into(),
        }
    }

    /// Reads a finite number for which `fits` holds.
    ///
    /// # Errors
    /// It is not one; `expected` says what would be.
    pub fn number(&self, expected: &str, fits: impl Fn(f64) -> bool) -> Result<f64, InputError> {
        let number = self
            .text
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite() && fits(*number));
        number.ok_or_else(|| self.error(expected))
    }

    /// Reads a whole number from 0.
    ///
    /// # Errors
    /// It is not one.
    pub fn count(&self) -> Result<u32, InputError> {
        self.text
            .parse()
            .map_err(|_| self.error("a whole number from 0 to 4294967295"))
    }
}

impl std::fmt::Debug for TableFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableFile")
            .field("name", &self.name)
            .field("line", &self.line_number)
            .finish()
    }
}

/// Opens a file, or stdin for `-`; also returns its name for error lines.
///
/// # Errors
/// It cannot be opened or read, or is compressed or not in UTF-8.
pub fn open(path: &Path) -> Result<(String, Box<dyn BufRead>), Error> {
    let (name, mut input): (String, Box<dyn BufRead>) = if path == Path::new("-") {
        ("stdin".into(), Box::new(std::io::stdin().lock()))
    } else {
        let file = File::open(path).map_err(|source| {
            if is_url(path.as_os_str().as_encoded_bytes()) {
                let url = path.display();
                return Error::Usage(format!(
                    "found the URL {url}, expected a file: download it first if it is a list, \
                     or for one page: echo {url} | dunlin run -"
                ));
            }
            Error::opening(path, source)
        })?;
        let input = BufReader::with_capacity(1 << 16, file);
        (path.display().to_string(), Box::new(input))
    };
    let begin = input.fill_buf();
    let begin = begin.map_err(|source| Error::reading(Path::new(&name), source))?;
    let refused = match begin {
        [0x1f, 0x8b, ..] => Some("a compressed file (gzip), expected text: unpack it first"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16, expected text in UTF-8"),
        [b'P', b'K', 3, 4, ..] => {
            Some("a spreadsheet or another zip file, expected text: save it as CSV (UTF-8)")
        }
        _ => None,
    };
    if let Some(found) = refused {
        return Err(Error::Usage(format!("{name}: found {found}")));
    }
    // Spreadsheets write it, and it would become part of the first column's name.
    if begin.starts_with(b"\xef\xbb\xbf") {
        input.consume(3);
    }
    Ok((name, input))
}

fn reader(delimiter: u8) -> Box<Reader> {
    Box::new(ReaderBuilder::new().delimiter(delimiter).build())
}

/// Which delimiter a header row has most of; commas unless others are more.
fn delimiter(line: &[u8]) -> u8 {
    let count = |delimiter: u8| line.iter().filter(|byte| **byte == delimiter).count();
    let most = DELIMITERS
        .into_iter()
        .rev()
        .max_by_key(|delimiter| count(*delimiter));
    most.unwrap_or(b',')
}

/// `URL` and `Changes per day` as the columns are called: `url`, `changes_per_day`.
fn column_name(cell: &str) -> String {
    cell.trim().to_ascii_lowercase().replace([' ', '-'], "_")
}

/// Does a line begin with a URL, in quotes or not?
fn is_url(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    let begins = |scheme: &[u8]| {
        let begin = line.get(..scheme.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    };
    begins(b"http://") || begins(b"https://")
}

/// "1 field", "2 fields"
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
