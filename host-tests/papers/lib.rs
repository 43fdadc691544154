//! The papers' experiments: each prints its table beside the printed figures and checks what was
//! claimed.
//!
//! `cargo xtask papers` runs them at full size and writes `host-tests/papers`; the tests run them
//! reduced.

pub mod azar;
pub mod cho;
pub mod crawling;
pub mod desouza;
pub mod fleet;
pub mod overview;
pub mod page;
pub mod real;
pub mod traces;
pub mod wolf;
pub mod xu;

use page::Section;
use traces::Traces;

/// How large, and on which traces.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// As large as the papers' own; otherwise as large as a test can afford.
    pub full: bool,
    /// Pages of the large experiments (Wolf, de Souza), instead of the papers' million.
    pub pages: Option<usize>,
    /// Real changes; the excerpt that comes with the project if none are given.
    pub traces: Option<Traces>,
}

impl Settings {
    /// One of two sizes.
    pub fn size(&self, reduced: usize, full: usize) -> usize {
        if self.full { full } else { reduced }
    }

    /// The real changes that were asked for, or else the excerpt that is in the repository.
    pub fn traces(&self) -> Traces {
        self.traces.clone().unwrap_or_else(Traces::excerpt)
    }

    /// The options that made a page differ, as typed.
    pub fn options(&self, name: &str) -> String {
        match (name, self.pages) {
            ("wolf" | "desouza", Some(pages)) => format!(" --pages {pages}"),
            ("cho" | "xu" | "real", _) if self.traces.is_some() => " --traces FILE".into(),
            _ => String::new(),
        }
    }
}

/// A reproduction: its name, and what makes its page.
pub type Paper = (&'static str, fn(&Settings) -> Section);

/// All of them, by name.
pub const PAPERS: &[Paper] = &[
    ("cho", cho::run),
    ("crawling", crawling::run),
    ("wolf", wolf::run),
    ("azar", azar::run),
    ("desouza", desouza::run),
    ("fleet", fleet::run),
    ("xu", xu::run),
    ("real", real::run),
];
