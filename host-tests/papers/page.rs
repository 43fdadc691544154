//! A page of the documentation: sentences, tables, plots, and claims with their verdicts.

use std::fmt::Write as _;
use std::path::Path;

use dunlin_host::output::plot::{Plot, svg};
use dunlin_host::simulate::repeat::Mean;

use super::Settings;

/// What a reproduction found.
#[derive(Debug)]
pub struct Section {
    name: &'static str,
    markdown: String,
    plots: Vec<(String, String)>,
    /// Claims, and whether they hold.
    pub checks: Vec<(String, bool)>,
}

impl Section {
    /// Begins a page.
    pub fn new(name: &'static str, title: &str, seed: u64, settings: &Settings) -> Self {
        let markdown = format!(
            "# {title}\n\nMade by `cargo xtask papers {name}{}`; seed {seed}.\n",
            settings.options(name)
        );
        Self {
            name,
            markdown,
            plots: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// Begins a part of the page.
    pub fn part(&mut self, title: &str, sentence: &str) {
        let _ = write!(self.markdown, "\n## {title}\n\n{sentence}\n");
    }

    /// Says something.
    pub fn say(&mut self, sentence: &str) {
        let _ = write!(self.markdown, "\n{sentence}\n");
    }

    /// Adds a table.
    pub fn table(&mut self, columns: &[&str], rows: &[Vec<String>]) {
        let _ = write!(
            self.markdown,
            "\n| {} |\n|{}\n",
            columns.join(" | "),
            "---|".repeat(columns.len())
        );
        for row in rows {
            let _ = writeln!(self.markdown, "| {} |", row.join(" | "));
        }
    }

    /// Adds a plot; `file` without folder and ending.
    pub fn plot(&mut self, file: &str, caption: &str, plot: Plot) {
        let _ = write!(self.markdown, "\n![{caption}]({file}.svg)\n");
        self.plots.push((format!("{file}.svg"), svg(&[plot])));
    }

    /// Adds a claim and whether it holds here.
    pub fn check(&mut self, claim: impl Into<String>, holds: bool) {
        let claim = claim.into();
        let _ = write!(
            self.markdown,
            "\n- {} {claim}\n",
            if holds { "✔" } else { "✘" }
        );
        self.checks.push((claim, holds));
    }

    /// The page as text.
    pub fn markdown(&self) -> &str {
        &self.markdown
    }

    /// Writes page and plots to the paper's own folder in this one.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        let folder = folder.join(self.name);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("page.md"), &self.markdown)?;
        self.plots
            .iter()
            .try_for_each(|(file, text)| std::fs::write(folder.join(file), text))
    }
}

/// Four digits.
pub fn digits(value: f64) -> String {
    format!("{value:.4}")
}

/// A mean and its 95 % confidence interval.
pub fn interval(mean: &Mean) -> String {
    mean.plus_minus.map_or_else(
        || digits(mean.value),
        |error| format!("{:.4} ± {error:.4}", mean.value),
    )
}
