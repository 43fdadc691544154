//! Many mutants in one build, each behind a switch; those that do not compile are found and left
//! out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::{Result, bail};

use super::Room;
use super::mutant::{Mutant, SWITCH, switched};
use super::workplace::Workplace;

/// What the compiler sees only when it makes code, and would refuse: these are faults to be caught
/// like others.
const ALLOWED: &str = "#![allow(arithmetic_overflow, unconditional_panic)]\n";

/// Mutants that are compiled into the copy at once.
#[derive(Debug, Default)]
pub(super) struct Switches {
    /// These do not compile.
    pub unviable: BTreeSet<usize>,
    /// These have no place for a switch.
    pub left: BTreeSet<usize>,
}

impl Switches {
    /// Puts all `mutants` into the copy that compile.
    pub fn new(workplace: &Workplace, mutants: &[(Room, Mutant)]) -> Result<Self> {
        let mut switches = Self::default();
        let lib = [ALLOWED, workplace.original("src/lib.rs")?, SWITCH].concat();
        workplace.write("src/lib.rs", lib.as_bytes())?;
        loop {
            let places = switches.write(workplace, mutants)?;
            let complaints = workplace.complaints()?;
            if complaints.is_empty() {
                return Ok(switches);
            }
            let before = switches.unviable.len();
            for complaint in &complaints {
                let guilty = |(file, line): &(String, usize)| {
                    let of_file = places.get(file)?;
                    let (number, _) = of_file.iter().find(|(_, lines)| lines.contains(line))?;
                    Some(*number)
                };
                switches
                    .unviable
                    .extend(complaint.places.iter().find_map(guilty));
            }
            if switches.unviable.len() == before {
                let first = complaints.first().map(|complaint| complaint.text.as_str());
                bail!("no mutant is guilty of this: {}", first.unwrap_or_default());
            }
        }
    }

    /// Writes the files that have mutants, without those that do not compile, and says on which
    /// lines of which file each is.
    fn write(&mut self, workplace: &Workplace, mutants: &[(Room, Mutant)]) -> Result<Places> {
        let mut files: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
        for (number, (_, mutant)) in mutants.iter().enumerate() {
            let of_file = files.entry(&mutant.file).or_default();
            if !self.unviable.contains(&number) {
                of_file.push((number, mutant));
            }
        }
        let mut places = Places::new();
        for (name, mutants) in files {
            let file = switched(workplace.original(name)?, &mutants);
            workplace.write(name, file.text.as_bytes())?;
            self.left.extend(file.left);
            places.insert(name.to_owned(), file.lines);
        }
        Ok(places)
    }
}

/// By file: mutants and the lines they are on.
type Places = BTreeMap<String, Vec<(usize, Range<usize>)>>;
