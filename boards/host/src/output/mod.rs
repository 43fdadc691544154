//! Results on stdout as a table, JSON or CSV, written in one piece once they are complete.

pub mod file;
pub mod picture;
pub mod plot;
pub mod progress;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use crate::error::Error;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Columns of text for people.
    #[default]
    Table,
    /// One JSON document for programs.
    Json,
    /// Comma-separated values with a header row.
    Csv,
}

/// Rows under named columns, for people and for CSV.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Makes a table without rows.
    pub fn new(columns: &[&'static str]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, one cell a column.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Aligns the table for reading: numbers to the right, text to the left.
    pub fn to_text(&self) -> String {
        let width = |column: usize| {
            let cells = self
                .rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count());
            cells
                .chain([self.columns[column].chars().count()])
                .max()
                .unwrap_or(0)
        };
        let numeric = |column: usize| {
            let mut cells = self
                .rows
                .iter()
                .filter_map(|row| row.get(column))
                .filter(|cell| !cell.is_empty());
            cells.all(|cell| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
        };
        let layout: Vec<_> = (0..self.columns.len())
            .map(|column| (width(column), numeric(column)))
            .collect();
        let line = |cells: &[String]| {
            let mut text = String::new();
            for (cell, (width, right)) in cells.iter().zip(&layout) {
                let _ = if *right {
                    write!(text, "{cell:>width$}  ")
                } else {
                    write!(text, "{cell:<width$}  ")
                };
            }
            text.trim_end().to_owned() + "\n"
        };
        let header: Vec<String> = self.columns.iter().map(|&name| name.to_owned()).collect();
        let rule: Vec<String> = layout.iter().map(|(width, _)| "─".repeat(*width)).collect();
        let body = self.rows.iter().map(|row| line(row)).collect::<String>();
        line(&header) + &line(&rule) + &body
    }

    /// Writes the table as HTML, cells escaped; style sheets can tell numbers by their class.
    pub fn to_html(&self) -> String {
        let cell = |tag: &str, text: &str| {
            let number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            let class = if number { " class=\"number\"" } else { "" };
            format!(
                "<{tag}{class}>{}</{tag}>",
                crate::output::plot::escape(text)
            )
        };
        let head: String = self.columns.iter().map(|name| cell("th", name)).collect();
        let row = |cells: &Vec<String>| {
            let cells: String = cells.iter().map(|text| cell("td", text)).collect();
            format!("<tr>{cells}</tr>\n")
        };
        let body: String = self.rows.iter().map(row).collect();
        format!("<table>\n<tr>{head}</tr>\n{body}</table>\n")
    }

    /// Writes the table as comma-separated values, quoted where needed.
    pub fn to_csv(&self) -> String {
        let body = self.rows.iter().map(|row| csv_line(row));
        csv_line(&self.columns) + &body.collect::<String>()
    }
}

/// Writes one line of comma-separated values.
pub fn csv_line(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<_> = cells.iter().map(|cell| quote(cell.as_ref())).collect();
    cells.join(",") + "\n"
}

/// Quotes a CSV cell if it needs it.
fn quote(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Writes one JSON document and a line end.
pub fn json(value: &impl serde::Serialize) -> String {
    // Our own types hold nothing JSON cannot say, and keys are strings.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

/// Writes a complete result to stdout. A reader that went away (`| head`) is not an error.
///
/// # Errors
/// It could not be written, as on a full disk.
pub fn print(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    to_stdout(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// What a write to stdout came to: a reader that went away is not an error, everything else is.
///
/// # Errors
/// Names stdout and says what the system said.
pub fn to_stdout(written: io::Result<()>) -> Result<(), Error> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|source| Error::writing(Path::new("standard output"), source)),
    }
}

/// Writes a line for the person who watches. Where nobody can be told, nothing is to be done:
/// `eprintln!` would panic.
pub fn say(text: impl std::fmt::Display) {
    progress::beside_bar(|| {
        let _ = writeln!(std::io::stderr(), "{text}");
    });
}
