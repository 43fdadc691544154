//! The list "What is not reproduced" in README.md: every claim that a page marks with ✘.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use crate::PAPERS;

const BEGIN: &str = "<!-- written by `cargo xtask papers` from the pages: begin -->\n";
const END: &str = "<!-- end -->\n";

/// The list, from the pages in this folder as they are.
///
/// # Errors
/// What the system says; a page that is not there yet has no claims.
pub fn failures(folder: &Path) -> io::Result<String> {
    let mut list = String::new();
    for (name, _) in PAPERS {
        let page = match std::fs::read_to_string(folder.join(name).join("page.md")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            page => page?,
        };
        for row in page.lines().filter_map(|line| line.strip_prefix("| ✘ | ")) {
            let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
            if let [place, says, printed, ours] = cells.as_slice() {
                let _ = writeln!(
                    list,
                    "- [{name}]({name}/page.md), {place}: {says} ({printed} in print; here {ours})"
                );
            }
        }
    }
    Ok(list)
}

/// Puts the list into README.md, between its marks.
///
/// # Errors
/// What the system says.
pub fn write(folder: &Path) -> io::Result<()> {
    let path = folder.join("README.md");
    let readme = std::fs::read_to_string(&path)?;
    std::fs::write(&path, with_list(&readme, &failures(folder)?)?)
}

/// The text with another list between the marks.
///
/// # Errors
/// There are no marks.
pub fn with_list(readme: &str, list: &str) -> io::Result<String> {
    let parts = readme
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) =
        parts.ok_or_else(|| io::Error::other("README.md lacks the marks around its list"))?;
    Ok(format!("{before}{BEGIN}{list}{END}{after}"))
}
