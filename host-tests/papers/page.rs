//! A page of the documentation: sentences, tables, plots, the paper's claims with their verdicts,
//! and the limits of our own that tests hold.
//!
//! The two are kept apart. A claim is judged by what the paper states, and may fail. A limit is set
//! by us, from what we once found, so that a change for the worse is noticed.

use std::fmt::Write as _;
use std::path::Path;

use dunlin_host::output::plot::{Plot, svg};
use dunlin_host::simulate::repeat::Mean;

use super::Settings;

/// Does a claim of a paper hold here?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// ✔: as the paper states it.
    Holds,
    /// ≈: not quite, or only in part.
    Near,
    /// ✘: not as the paper states it.
    Fails,
}

impl Verdict {
    /// Of a statement that is true or not.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// The sign that stands for it in a table.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Holds => "✔",
            Self::Near => "≈",
            Self::Fails => "✘",
        }
    }
}

/// A claim of a paper, and what came of it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Table, figure or section.
    pub place: String,
    /// What the paper says, in our words.
    pub says: String,
    /// The printed figure, or what else it takes to hold.
    pub limit: String,
    /// The figure that we found.
    pub ours: String,
    /// How far that bears the claim out.
    pub verdict: Verdict,
}

/// A figure as it stands in print.
#[derive(Clone, Copy, Debug)]
pub struct Printed {
    value: f64,
    decimals: usize,
    unit: &'static str,
}

impl Printed {
    /// With so many digits after the point.
    pub const fn new(value: f64, decimals: usize) -> Self {
        Self {
            value,
            decimals,
            unit: "",
        }
    }

    /// In whole per cent.
    pub const fn percent(value: f64) -> Self {
        Self::new(value, 0).unit(" %")
    }

    /// In a unit, with the space before it.
    pub const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// A figure that rounds to the printed one holds; within a tenth of it, it is near.
    pub fn verdict(&self, ours: f64) -> Verdict {
        let apart = (ours - self.value).abs();
        let rounding = 0.5 * 10_f64.powi(-(self.decimals as i32));
        if apart <= rounding * (1.0 + 1e-9) {
            Verdict::Holds
        } else if apart <= 0.1 * self.value.abs() {
            Verdict::Near
        } else {
            Verdict::Fails
        }
    }
}

impl std::fmt::Display for Printed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            value,
            decimals,
            unit,
        } = self;
        write!(f, "{value:.decimals$}{unit}")
    }
}

/// What a reproduction found.
#[derive(Debug)]
pub struct Section {
    name: &'static str,
    head: String,
    body: String,
    plots: Vec<(String, String)>,
    /// What the paper says.
    pub claims: Vec<Claim>,
    /// Our own limits, and whether they hold.
    pub limits: Vec<(String, bool)>,
}

impl Section {
    /// Begins a page with its title and the command that makes it.
    pub fn new(name: &'static str, title: &str, seed: u64, settings: &Settings) -> Self {
        let head = format!(
            "# {title}\n\nMade by `cargo xtask papers {name}{}`; seed {seed}.\n",
            settings.options(name)
        );
        Self {
            name,
            head,
            body: String::new(),
            plots: Vec::new(),
            claims: Vec::new(),
            limits: Vec::new(),
        }
    }

    /// Begins a part of the page.
    pub fn part(&mut self, title: &str, sentence: &str) {
        let _ = write!(self.body, "\n## {title}\n\n{sentence}\n");
    }

    /// Adds a sentence as a paragraph of its own.
    pub fn say(&mut self, sentence: &str) {
        let _ = write!(self.body, "\n{sentence}\n");
    }

    /// Adds a table below these columns.
    pub fn table(&mut self, columns: &[&str], rows: &[Vec<String>]) {
        let _ = write!(
            self.body,
            "\n| {} |\n|{}\n",
            columns.join(" | "),
            "---|".repeat(columns.len())
        );
        for row in rows {
            let _ = writeln!(self.body, "| {} |", row.join(" | "));
        }
    }

    /// Adds a plot; `file` without folder and ending.
    pub fn plot(&mut self, file: &str, caption: &str, plot: Plot) {
        self.plots(file, caption, &[plot]);
    }

    /// Adds several in one picture.
    pub fn plots(&mut self, file: &str, caption: &str, plots: &[Plot]) {
        let _ = write!(self.body, "\n![{caption}]({file}.svg)\n");
        self.plots.push((format!("{file}.svg"), svg(plots)));
    }

    /// Adds what the paper says in words: `limit` is what it takes to hold, as the paper has it.
    pub fn claim(&mut self, place: &str, says: &str, limit: &str, ours: String, verdict: Verdict) {
        self.claims.push(Claim {
            place: place.into(),
            says: says.into(),
            limit: limit.into(),
            ours,
            verdict,
        });
    }

    /// Adds a figure that the paper prints, beside ours.
    pub fn figure(&mut self, place: &str, says: &str, printed: Printed, ours: f64) {
        let shown = printed.decimals + 1;
        let unit = printed.unit;
        self.claim(
            place,
            says,
            &printed.to_string(),
            format!("{ours:.shown$}{unit}"),
            printed.verdict(ours),
        );
    }

    /// Adds a limit of our own, which the tests hold.
    pub fn limit(&mut self, limit: impl Into<String>, holds: bool) {
        self.limits.push((limit.into(), holds));
    }

    /// The page as text: claims first, our own limits last.
    pub fn markdown(&self) -> String {
        let mut text = self.head.clone();
        if !self.claims.is_empty() {
            text += "\n## What the paper says\n\n\
                     ✔ holds here as printed, ≈ comes near (a figure: within a tenth), ✘ does not.\n\n\
                     | | where | the paper says | printed | here |\n|---|---|---|---|---|\n";
        }
        for claim in &self.claims {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} |",
                claim.verdict.mark(),
                claim.place,
                claim.says,
                claim.limit,
                claim.ours
            );
        }
        text += &self.body;
        text += "\n## Our own limits\n\nSet by us, not by the paper; the tests hold them.\n\n";
        for (limit, holds) in &self.limits {
            let _ = writeln!(
                text,
                "- {}{limit}",
                if *holds { "" } else { "**broken:** " }
            );
        }
        text
    }

    /// Writes page and plots to the paper's own folder in this one.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        let folder = folder.join(self.name);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("page.md"), self.markdown())?;
        self.plots
            .iter()
            .try_for_each(|(file, text)| std::fs::write(folder.join(file), text))
    }
}

/// A figure with four digits behind the point.
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
