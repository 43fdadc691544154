//! Two versions of a page, line by line: for a terminal, for a browser, for machines.

use std::time::Duration;

use similar::{ChangeTag, DiffOp, TextDiff};

use super::cdxj::Entry;
use super::reader::{Reader, is_redirect};
use super::text;
use crate::date;
use crate::error::Error;
use crate::filter::Filter;

/// Two versions of adversarial length are compared as well as they can be in this time.
const PATIENCE: Duration = Duration::from_secs(5);
/// Lines around a change that stay.
const CONTEXT: usize = 3;

/// What two versions have in common, and what not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Lines that only the newer one has.
    pub added: usize,
    /// Lines that only the older one has.
    pub removed: usize,
    /// The whole as `diff -u` writes it.
    pub unified: String,
    /// The same by stretches of lines that stand together.
    pub hunks: Vec<Vec<Pair>>,
}

/// A line of the older version beside one of the newer; of a line that stayed, both are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Number and text, without an end.
    pub old: Option<(usize, String)>,
    /// Number and text, without an end.
    pub new: Option<(usize, String)>,
    /// Both sides have the same line.
    pub same: bool,
}

/// The versions of a page that can be compared. Where a page went is no version of it, and what was
/// found again is the version of before.
///
/// # Errors
/// The archive cannot be read.
pub fn versions(reader: &Reader, url: &str) -> Result<Vec<Entry>, Error> {
    let mut versions = reader.history(url)?;
    versions.retain(|entry| !is_redirect(entry) && !entry.is_revisit());
    Ok(versions)
}

/// The two versions that were current at these moments; by default the last two.
pub fn pair(versions: &[Entry], from: Option<u64>, to: Option<u64>) -> Option<(&Entry, &Entry)> {
    let current = |moment: u64| versions.iter().rposition(|entry| entry.time <= moment);
    let new = match to {
        Some(to) => current(to)?,
        None => versions.len().checked_sub(1)?,
    };
    let old = match from {
        // Before the first version there was none: it is compared with the first.
        Some(from) => current(from).unwrap_or(0),
        None => new.checked_sub(1)?,
    };
    if old == new {
        return None;
    }
    Some((versions.get(old)?, versions.get(new)?))
}

/// Compares two versions: what people read of them, or with `raw` what was sent; with a filter,
/// what counts of that.
///
/// # Errors
/// The archive cannot be read.
pub fn compare(
    reader: &Reader,
    old: &Entry,
    new: &Entry,
    raw: bool,
    filter: Option<&Filter>,
) -> Result<Comparison, Error> {
    let before = text_of(reader, old, raw, filter)?;
    let after = text_of(reader, new, raw, filter)?;
    let name = |entry: &Entry| format!("{} {}", entry.url, date::iso(entry.time));
    Ok(lines(&before, &after, &name(old), &name(new)))
}

fn text_of(
    reader: &Reader,
    entry: &Entry,
    raw: bool,
    filter: Option<&Filter>,
) -> Result<String, Error> {
    let body = reader.version(entry)?.body;
    let body = match filter {
        Some(filter) => filter.counted(&body).into_owned(),
        None => body,
    };
    let text = match raw {
        true => None,
        false => text::of(&body, &entry.media_type),
    };
    Ok(text.unwrap_or_else(|| String::from_utf8_lossy(&body).into_owned()))
}

fn lines(before: &str, after: &str, old: &str, new: &str) -> Comparison {
    let diff = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(before, after);
    let count = |tag| {
        let changes = diff.iter_all_changes();
        changes.filter(|change| change.tag() == tag).count()
    };
    let unified = diff
        .unified_diff()
        .context_radius(CONTEXT)
        .header(old, new)
        .to_string();
    let old = diff.old_slices();
    let new = diff.new_slices();
    let hunks = diff.grouped_ops(CONTEXT);
    let hunks = hunks.iter().map(|hunk| {
        let pairs = hunk.iter().flat_map(|op| pairs(op, old, new));
        pairs.collect()
    });
    Comparison {
        added: count(ChangeTag::Insert),
        removed: count(ChangeTag::Delete),
        hunks: hunks.collect(),
        unified,
    }
}

/// The lines of one operation, side by side.
fn pairs(op: &DiffOp, old: &[&str], new: &[&str]) -> Vec<Pair> {
    let line = |lines: &[&str], place: usize| {
        let text = lines.get(place)?.trim_end_matches(['\r', '\n']);
        Some((place + 1, text.to_owned()))
    };
    let left = op.old_range();
    let right = op.new_range();
    let same = matches!(op, DiffOp::Equal { .. });
    let rows = left.len().max(right.len());
    let at = |range: &std::ops::Range<usize>, row| range.clone().nth(row);
    (0..rows)
        .map(|row| Pair {
            old: at(&left, row).and_then(|place| line(old, place)),
            new: at(&right, row).and_then(|place| line(new, place)),
            same,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(time: u64) -> Entry {
        Entry {
            time,
            url: "http://a.test/".into(),
            media_type: "text/html".into(),
            status: Some(200),
            digest: String::new(),
            file: String::new(),
            offset: 0,
            length: 0,
        }
    }

    #[test]
    fn a_moment_means_the_version_that_was_current() {
        let versions = [10, 20, 30].map(version);
        let times = |from, to| pair(&versions, from, to).map(|(old, new)| (old.time, new.time));
        assert_eq!(times(None, None), Some((20, 30)));
        assert_eq!(times(Some(15), None), Some((10, 30)));
        assert_eq!(times(Some(5), Some(25)), Some((10, 20)));
        assert_eq!(times(None, Some(25)), Some((10, 20)));
        assert_eq!(times(None, Some(15)), None, "there is nothing before");
        assert_eq!(times(None, Some(5)), None);
        assert_eq!(times(Some(30), None), None, "one version");
        assert!(pair(&[], None, None).is_none());
    }

    #[test]
    fn lines_stand_beside_what_they_became() {
        let found = lines("a\nb\nc\n", "a\nB\nC\nc\n", "old", "new");
        assert_eq!((found.added, found.removed), (2, 1));
        let unified = "--- old\n+++ new\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+C\n c\n";
        assert_eq!(found.unified, unified);
        let text = |line: &Option<(usize, String)>| {
            line.as_ref()
                .map_or_else(String::new, |(number, text)| format!("{number}{text}"))
        };
        let rows: Vec<_> = found.hunks[0]
            .iter()
            .map(|pair| (text(&pair.old), text(&pair.new), pair.same))
            .collect();
        let row = |old: &str, new: &str, same| (old.to_owned(), new.to_owned(), same);
        let expected = [
            row("1a", "1a", true),
            row("2b", "2B", false),
            row("", "3C", false),
            row("3c", "4c", true),
        ];
        assert_eq!(rows, expected);
        assert_eq!(lines("a\n", "a\n", "", "").hunks, Vec::<Vec<Pair>>::new());
    }
}
