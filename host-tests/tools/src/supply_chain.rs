//! Where the code of others comes from, and on which terms: every lock file held against
//! `.cargo/deny.toml` by cargo-deny.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::setup;
use crate::shell::{cargo, check, output, root, say};

/// Every workspace that has a lock file.
pub const WORKSPACES: [&str; 5] = [
    ".",
    "boards",
    "boards/host/python",
    "host-tests/fuzz",
    "host-tests/rtt",
];

/// Licences, sources and duplicates of every workspace; advisories where their database can be had.
///
/// # Errors
/// Something is used that must not be, or cargo-deny is not there.
pub fn supply_chain(install: bool) -> Result<()> {
    setup::cargo_deny(install)?;
    let mut checks = vec!["licenses", "bans", "sources"];
    if output(deny(".").args(["fetch", "db"])).is_some() {
        checks.push("advisories");
    } else {
        say("the database of advisories cannot be had here: nobody was asked about them");
    }
    for workspace in WORKSPACES {
        check(
            deny(workspace)
                .args(["check", "--hide-inclusion-graph"])
                .args(&checks),
        )?;
    }
    let count = WORKSPACES.len();
    println!(
        "supply chain: {} of {count} lock files, nothing refused",
        checks.join(", ")
    );
    Ok(())
}

fn deny(workspace: &str) -> Command {
    let mut command = cargo();
    command
        .args(["deny", "--workspace", "--locked", "--config"])
        .arg(root().join(".cargo/deny.toml"))
        .arg("--manifest-path")
        .arg(root().join(workspace).join("Cargo.toml"));
    command
}

/// Lock files that git knows are the ones that are looked at.
///
/// # Errors
/// There is one more, or one less.
pub fn all_lock_files() -> Result<()> {
    let mut git = Command::new("git");
    git.current_dir(root()).args(["ls-files", "*Cargo.lock"]);
    let Some(files) = output(&mut git) else {
        // Not a checkout: nobody can have added one.
        return Ok(());
    };
    let known = |file: &str| {
        let folder = file.strip_suffix("Cargo.lock").unwrap_or(file);
        let folder = folder.trim_end_matches('/');
        WORKSPACES.contains(&if folder.is_empty() { "." } else { folder })
    };
    let mut count = 0;
    for file in files.lines() {
        ensure!(known(file), "{file} is not held against .cargo/deny.toml");
        count += 1;
    }
    ensure!(count == WORKSPACES.len(), "a lock file is missing");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_lock_file_is_forgotten() {
        super::all_lock_files().expect("every lock file is looked at");
    }
}
