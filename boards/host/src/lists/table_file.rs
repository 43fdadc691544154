//! Table files (CSV) in bounded memory, with errors that name file, line and column.
//!
//! A record is a line: quotes may hold commas, not line ends. So a line number is always right, and
//! the memory is bounded by the longest line allowed, whatever the file's size.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use csv_core::{ReadRecordResult, Reader};

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
        if path == Path::new("-") {
            return Self::new("stdin".into(), std::io::stdin().lock(), known);
        }
        let file = File::open(path).map_err(|source| Error::opening(path, source))?;
        Self::new(
            path.display().to_string(),
            BufReader::with_capacity(1 << 16, file),
            known,
        )
    }

    /// Reads the header row from `input`; `name` is for error lines.
    ///
    /// # Errors
    /// See [`TableFile::open`].
    pub fn new(
        name: String,
        mut input: impl BufRead + 'static,
        known: &'static [Column],
    ) -> Result<Self, Error> {
        skip_byte_order_mark(&mut input)
            .map_err(|source| Error::reading(Path::new(&name), source))?;
        let mut file = Self {
            name,
            input: Box::new(input),
            line_number: 0,
            line: Vec::new(),
            header: Vec::new(),
            known,
            fields: vec![0; MAX_LINE],
            ends: vec![0; MAX_COLUMNS],
            reader: Box::new(Reader::new()),
        };
        file.read_header()?;
        Ok(file)
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

    fn read_header(&mut self) -> Result<(), Error> {
        let names = self
            .known
            .iter()
            .map(|column| column.name)
            .collect::<Vec<_>>()
            .join(", ");
        let Some(count) = self.next_record()? else {
            self.line_number = 1;
            return Err(
                self.error_on_line("an empty file".into(), &format!("a header row: {names}"))
            );
        };
        let mut start = 0;
        for &end in &self.ends[..count] {
            let text = String::from_utf8_lossy(&self.fields[start..end]);
            start = end;
            let name = text.trim();
            let place = self.known.iter().position(|column| column.name == name);
            match place {
                Some(place) if !self.header.contains(&place) => self.header.push(place),
                Some(_) => {
                    return Err(self.error_on_line(
                        format!("column {} twice", quoted(name)),
                        "each column once",
                    ));
                }
                None => {
                    let expected = format!("columns among {names}");
                    return Err(
                        self.error_on_line(format!("unknown column {}", quoted(name)), &expected)
                    );
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
        loop {
            if !self.next_line()? {
                return Ok(None);
            }
            if self.line.iter().any(|byte| !byte.is_ascii_whitespace()) {
                break;
            }
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

/// Spreadsheets write a byte order mark, which would become part of the first column's name.
fn skip_byte_order_mark(input: &mut impl BufRead) -> std::io::Result<()> {
    if input.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        input.consume(3);
    }
    Ok(())
}

/// "1 field", "2 fields"
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
