//! A progress bar on stderr for work that takes longer than a second.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How long work may take before a bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows nothing for the first second, nor when stderr is not a terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    total: u64,
    label: &'static str,
    shown: bool,
}

impl Progress {
    /// Counts `total` steps of what `label` names, as in "planning".
    pub fn new(label: &'static str, total: u64) -> Self {
        Self {
            bar: ProgressBar::hidden(),
            total,
            label,
            shown: false,
        }
    }

    /// Shows that `done` steps of the total are done.
    pub fn at(&mut self, done: u64) {
        if !self.shown && self.bar.elapsed() > PATIENCE {
            self.shown = true;
            let style = ProgressStyle::with_template("{msg} {wide_bar} {percent}% {eta} left");
            self.bar = ProgressBar::new(self.total)
                .with_elapsed(self.bar.elapsed())
                .with_message(self.label);
            if let Ok(style) = style {
                self.bar.set_style(style);
            }
        }
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
