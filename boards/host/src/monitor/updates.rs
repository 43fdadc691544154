//! Where a probe's updates stand, by its own word.

use std::fmt;

use dunlin::probe::LoggedBoardEvent;

/// What a probe that is updated has said of it since its boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updates {
    /// How the firmware stands: `confirmed` or `trial`.
    pub state: String,
    /// How often the firmware was tried, on trial.
    pub attempt: u8,
    /// The sequence of the firmware.
    pub sequence: u32,
    /// The page list's sequence.
    pub list: u32,
    /// The half of flash that the list is in.
    pub half: u8,
    /// The sequence of what was refused or rolled back last.
    pub refused: u32,
    /// Why; `none` if nothing was.
    pub why: String,
}

impl Updates {
    /// Reads the line that says so.
    pub fn read(line: &str) -> Option<Self> {
        match LoggedBoardEvent::read(line)? {
            LoggedBoardEvent::Updates {
                state,
                attempt,
                sequence,
                list,
                half,
                refused,
                why,
                ..
            } => Some(Self {
                state: state.to_owned(),
                attempt,
                sequence,
                list,
                half,
                refused,
                why: why.to_owned(),
            }),
            _ => None,
        }
    }

    /// Is the firmware on trial?
    pub fn is_on_trial(&self) -> bool {
        self.state == "trial"
    }

    /// Why something was refused or rolled back; `None` if nothing was.
    pub fn refusal(&self) -> Option<&str> {
        Some(self.why.as_str()).filter(|why| *why != "none")
    }
}

impl fmt::Display for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot active, release {}, ", self.sequence)?;
        match self.is_on_trial() {
            true => write!(f, "on trial (attempt {})", self.attempt)?,
            false => f.write_str(&self.state)?,
        }
        write!(f, ", list {} in half {}", self.list, self.half)?;
        match self.refusal() {
            Some(why) => write!(f, ", last refusal: release {} ({why})", self.refused),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_becomes_a_sentence() {
        let read = |line: &str| Updates::read(line).expect("a line").to_string();
        assert_eq!(
            read(
                "updates slot=active state=trial attempt=2 sequence=7 counter=1 list=9 half=1 refused=0 why=none"
            ),
            "slot active, release 7, on trial (attempt 2), list 9 in half 1"
        );
        assert_eq!(
            read(
                "updates slot=active state=confirmed attempt=0 sequence=7 counter=1 list=0 half=0 refused=8 why=digest"
            ),
            "slot active, release 7, confirmed, list 0 in half 0, last refusal: release 8 (digest)"
        );
    }
}
