//! EDGES.csv: which page links to which.

use std::collections::HashMap;
use std::path::Path;

use crate::crawl::graph::{Graph, MOST_PAGES};
use crate::error::Error;
use crate::lists::table_file::{Column, TableFile, required};

const COLUMNS: &[Column] = &[required("from"), required("to")];
/// Rows that are read: fifty links for each page.
const MOST_LINKS: usize = 50 * MOST_PAGES;

/// Reads a link graph. Pages are called as they are in the file, by URLs as a rule, and numbered in
/// the order in which they come.
///
/// # Errors
/// The first thing wrong with it, with its place; too many pages or links.
pub fn read(path: &Path) -> Result<Graph, Error> {
    const EXPECTED: &str = "what a page is called, such as its URL";
    let mut table = TableFile::open(path, COLUMNS)?;
    let mut names = Vec::new();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut links = Vec::new();
    while let Some(row) = table.next_row()? {
        let mut ends = [0; 2];
        for (end, column) in ends.iter_mut().zip(["from", "to"]) {
            let name = row.need(column, EXPECTED)?.text;
            *end = match numbers.get(name) {
                Some(number) => *number,
                None => {
                    let number = names.len() as u32;
                    names.push(name.to_owned());
                    numbers.insert(name.to_owned(), number);
                    number
                }
            };
        }
        links.push((ends[0], ends[1]));
        if names.len() > MOST_PAGES || links.len() > MOST_LINKS {
            return Err(Error::Usage(format!(
                "{}: found more than {MOST_PAGES} pages or {MOST_LINKS} links, expected fewer: \
                 the frontier is a device's, and numbers its places with 16 bits",
                path.display()
            )));
        }
    }
    if links.is_empty() {
        return Err(Error::Usage(format!(
            "{}: found no links, expected one row or more below the header",
            path.display()
        )));
    }
    Ok(Graph::new(names, links))
}
