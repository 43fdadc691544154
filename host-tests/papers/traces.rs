//! Real changes: when documents of the Open Terms Archive changed.

use std::collections::BTreeMap;
use std::path::Path;

use dunlin_host::error::{Error, InputError, quoted};

/// All documents of some services; its notice is in its file.
const EXCERPT: &str = include_str!("../data/open-terms-archive-services.tsv");

/// Pages by service, each with its changes in days from the start of the time looked at.
#[derive(Clone, Debug)]
pub struct Traces {
    /// Service of each page, counted from 0, and its changes.
    pub pages: Vec<(usize, Vec<f64>)>,
    /// What kind of document each page is.
    pub kinds: Vec<String>,
    /// How many services there are.
    pub services: usize,
    /// How many days they span.
    pub days: f64,
    /// What they are, in a sentence.
    pub about: String,
}

/// 2020-01-01: from here on the archive looked at its pages daily.
const START: f64 = 1_577_836_800.0;
/// 2026-01-01: what came later does not count.
const END: f64 = 1_767_225_600.0;

impl Traces {
    /// Reads a file: tab-separated service, page, time in Unix seconds and, where there is one, the
    /// kind of row, of which `change` counts.
    ///
    /// # Errors
    /// It cannot be read, or holds something else.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::File {
            path: path.into(),
            doing: "cannot read",
            source,
        })?;
        Self::parse(&text, &path.display().to_string(), "")
    }

    /// The excerpt that comes with the project.
    ///
    /// # Panics
    /// Never: a test reads it.
    pub fn excerpt() -> Self {
        Self::parse(EXCERPT, "the excerpt", "an excerpt of ").expect("traces")
    }

    fn parse(text: &str, file: &str, which: &str) -> Result<Self, Error> {
        let mut pages: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
        for (line, row) in (1..).zip(text.lines()) {
            if row.starts_with('#') || row.starts_with("service\t") {
                continue;
            }
            let wrong = |column, found: String, expected: &str| {
                Error::Input(InputError {
                    file: file.into(),
                    line,
                    column,
                    found,
                    expected: expected.into(),
                })
            };
            let fields: Vec<&str> = row.split('\t').collect();
            let [service, page, time, kind @ ..] = fields.as_slice() else {
                let found = format!("{} fields", fields.len());
                let expected = "service, page, unix_time and perhaps kind, with tabs between them";
                return Err(wrong(None, found, expected));
            };
            let Some(seconds) = time.parse().ok().filter(|time: &f64| time.is_finite()) else {
                let column = Some((3, "unix_time".into()));
                return Err(wrong(column, quoted(time), "seconds since 1970"));
            };
            let changes = pages.entry((service, page)).or_default();
            let change = kind.first().is_none_or(|kind| *kind == "change");
            if change && (START..END).contains(&seconds) {
                changes.push((seconds - START) / 86_400.0);
            }
        }
        if pages.values().all(Vec::is_empty) {
            return Err(Error::Usage(format!(
                "found no change from 2020 to 2025 in {file}, expected at least one"
            )));
        }
        Ok(Self::of(pages, which))
    }

    fn of(pages: BTreeMap<(&str, &str), Vec<f64>>, which: &str) -> Self {
        let mut services: BTreeMap<&str, usize> = BTreeMap::new();
        let mut list = Vec::new();
        let mut kinds = Vec::new();
        for ((service, page), mut changes) in pages {
            let kind = page.rsplit('/').next().unwrap_or(page);
            kinds.push(kind.trim_end_matches(".md").to_lowercase());
            let next = services.len();
            let service = *services.entry(service).or_insert(next);
            changes.sort_unstable_by(f64::total_cmp);
            list.push((service, changes));
        }
        let count = list.len();
        let changes = list.iter().map(|(_, changes)| changes.len()).sum::<usize>();
        let about = format!(
            "{which}the Open Terms Archive (© Open Terms Archive contributors, ODC-BY 1.0): {count} documents of {} services, \
             {changes} changes from 2020 to 2025",
            services.len(),
        );
        Self {
            pages: list,
            kinds,
            services: services.len(),
            days: (END - START) / 86_400.0,
            about,
        }
    }
}
