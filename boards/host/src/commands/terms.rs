//! `dunlin help terms`: what the words mean.

use std::sync::LazyLock;

use crate::error::Error;
use crate::output;

/// The page, without what only a browser needs.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let page = include_str!("terms.md").replace("**", "");
    page.trim_start_matches("# ").to_owned()
});

/// What bound, optimum, price, harmonic, late, gate and belief mean
#[derive(Debug, clap::Args)]
#[command(long_about = TEXT.as_str(), help_template = "{about}")]
pub struct Args {}

/// Runs the command: `dunlin terms` is as good as `dunlin help terms`.
///
/// # Errors
/// The text could not be written.
pub fn run() -> Result<(), Error> {
    output::print(&TEXT)
}
