//! What each board may occupy: `host-tests/budgets.toml`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::shell::root;

/// The limits of one board's firmware.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Bytes of code, constants and initial values.
    pub flash: u64,
    /// Bytes of variables with a place of their own.
    pub static_ram: u64,
    /// Calls of panic functions in the image.
    pub panic_sites: usize,
}

/// The budget of `board`.
pub fn of(board: &str) -> Result<Budget> {
    let file = root().join("host-tests/budgets.toml");
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let budgets: BTreeMap<String, Budget> =
        toml::from_str(&text).with_context(|| format!("{} is malformed", file.display()))?;
    match budgets.get(board) {
        Some(budget) => Ok(*budget),
        None => bail!(
            "{} has no budget for board {board}; add a table [{board}]",
            file.display()
        ),
    }
}
