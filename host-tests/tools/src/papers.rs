//! `cargo xtask papers`: the papers' experiments, and the pages about them.

use std::path::PathBuf;

use crate::shell::{cargo, quiet, run};
use anyhow::{Result, bail};
use dunlin_host::error::Error;

/// Which experiments there are; the program that runs them has the same list.
pub const NAMES: [&str; 8] = [
    "cho", "crawling", "wolf", "azar", "desouza", "fleet", "xu", "real",
];

/// Runs one experiment or all.
///
/// # Errors
/// One has failed, or the traces are not there.
pub fn papers(
    name: Option<&str>,
    reduced: bool,
    pages: Option<u32>,
    traces: Option<PathBuf>,
) -> Result<()> {
    let mut command = cargo();
    command.arg("run").args(quiet());
    command.args(["--release", "--package", "dunlin-papers", "--"]);
    command.args(name);
    if reduced {
        command.arg("--reduced");
    }
    if let Some(pages) = pages {
        command.arg("--pages").arg(pages.to_string());
    }
    if let Some(path) = traces {
        // Cargo runs in the top folder, wherever we were called.
        let path = path.canonicalize().map_err(|source| Error::File {
            path,
            doing: "cannot open",
            source,
        })?;
        command.arg("--traces").arg(path);
    }
    match run(&mut command)?.code() {
        Some(0) => Ok(()),
        // It has said in its own line what is wrong with an option.
        Some(2) => std::process::exit(2),
        _ => bail!("the papers' experiments failed"),
    }
}
