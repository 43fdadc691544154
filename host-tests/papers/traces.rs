//! Real changes: when documents of the Open Terms Archive changed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Settings;

/// Pages by service, each with its changes in days from the start of the time looked at.
#[derive(Debug)]
pub struct Traces {
    /// Service of each page, counted from 0, and its changes.
    pub pages: Vec<(usize, Vec<f64>)>,
    /// What kind of document each page is.
    pub kinds: Vec<String>,
    /// How many services there are.
    pub services: usize,
    /// How long.
    pub days: f64,
    /// What they are, in a sentence.
    pub about: String,
}

/// 2020-01-01: from here on the archive looked at its pages daily.
const START: f64 = 1_577_836_800.0;
/// 2026-01-01.
const END: f64 = 1_767_225_600.0;

/// Reads the traces given, or the excerpt that comes with the project.
pub fn read(settings: &Settings) -> Traces {
    let excerpt = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../data/open-terms-archive-excerpt.tsv"
    ));
    let given = settings.traces.is_some();
    let path = settings.traces.clone().unwrap_or(excerpt);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let mut pages: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for line in text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with("service\t"))
    {
        let fields: Vec<&str> = line.split('\t').collect();
        let [service, page, time, kind @ ..] = fields.as_slice() else {
            panic!("{}: found {line:?}", path.display())
        };
        let changes = pages.entry((service, page)).or_default();
        let seconds: f64 = time
            .parse()
            .unwrap_or_else(|_| panic!("{}: found time {time:?}", path.display()));
        let change = kind.first().is_none_or(|kind| *kind == "change");
        if change && (START..END).contains(&seconds) {
            changes.push((seconds - START) / 86_400.0);
        }
    }
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
    let which = if given { "" } else { "an excerpt of " };
    let about = format!(
        "{which}the Open Terms Archive (© Open Terms Archive contributors, ODC-BY 1.0): {count} documents of {} services, \
         {changes} changes from 2020 to 2025",
        services.len(),
    );
    Traces {
        pages: list,
        kinds,
        services: services.len(),
        days: (END - START) / 86_400.0,
        about,
    }
}
