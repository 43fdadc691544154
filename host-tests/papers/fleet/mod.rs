//! A fleet in the papers' set-ups: de Souza's crawlers (2007) as ten probes that share budgets
//! instead of work, and Cho's measures of parallel crawlers (2001, chapter 3) for our assignment.

mod assignment;
mod budgets;
mod probes;

use super::Settings;
use super::page::Section;

const SEED: u64 = 1;
/// Of de Souza's fleet: as many as he has crawlers.
const PROBES: usize = 10;

/// Runs the experiments, and makes the page.
pub fn run(settings: &Settings) -> Section {
    let mut section = Section::new(
        "fleet",
        "A fleet of probes beside de Souza's pool and Cho's crawlers",
        SEED,
        settings,
    );
    section.say(
        "Neither paper has a fleet that grants budgets. The claims are the papers' own, with a fleet in the place of de Souza's pool and with our \
         assignment in the place of the thesis' hash. Assignment, re-homing, reports, ledgers and grants are the crate's (`src/fleet`), in the planner of \
         `dunlin fleet`.",
    );
    budgets::tabulate(&mut section, settings);
    assignment::tabulate(&mut section, settings);
    section
}
