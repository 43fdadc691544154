//! Faults that somebody thought of: each was in the code once, or could be, and a test was written
//! against it. They are listed in `host-tests/mutants.toml`, and all of them have to be caught.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Room;
use super::mutant::Mutant;

/// A fault by hand.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    /// What goes wrong with it, in words.
    name: String,
    /// Of the crate, from the repository's top folder.
    pub file: String,
    /// What stands there once, in a function …
    replace: String,
    /// … and what stands there instead.
    by: String,
    /// The test programs that should catch it, besides the crate's unit tests.
    tests: Vec<String>,
}

impl Fault {
    /// The fault as a mutant of the file with this text, in a room of its own.
    pub fn into_mutant(self, text: &str) -> Result<(Room, Mutant)> {
        let count = text.matches(&self.replace).count();
        let name = &self.name;
        let file = &self.file;
        ensure!(
            count == 1,
            "{name}: found {:?} {count} times in {file}, expected it once: mend the fault in \
            host-tests/mutants.toml",
            self.replace
        );
        let start = text.find(&self.replace).unwrap_or_default();
        let place = start..start + self.replace.len();
        let mutant = Mutant::by_hand(name, file, text, place, &self.by)
            .with_context(|| format!("{name}: what is replaced in {file} is in no function"))?;
        // As long as the program lasts.
        let name: &'static str = self.name.leak();
        let tests: Vec<&'static str> = self.tests.into_iter().map(|test| &*test.leak()).collect();
        let room = Room {
            name,
            files: &[],
            tests: tests.leak(),
        };
        Ok((room, mutant))
    }
}

#[cfg(test)]
mod tests {
    use crate::mutants::known;
    use crate::shell::root;

    /// Code that moves takes the faults along.
    #[test]
    fn every_fault_still_has_its_place() {
        let known = known().expect("host-tests/mutants.toml");
        assert!(known.faults.len() > 30, "{}", known.faults.len());
        for fault in known.faults {
            let text = std::fs::read_to_string(root().join(&fault.file)).expect("a file");
            let name = fault.name.clone();
            assert!(!fault.tests.is_empty(), "{name}");
            let (_, mutant) = fault.into_mutant(&text).expect("a place");
            assert!(
                mutant.alone(&text).is_some_and(|with| with != text),
                "{name}"
            );
        }
    }
}
