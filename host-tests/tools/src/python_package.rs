//! The Python package: built as a user would, into `target/python`, and held against the program.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::setup;
use crate::shell::{cargo, check, root};

/// Builds, installs and tests it.
pub fn test(install: bool) -> Result<()> {
    setup::python(install)?;
    let environment = root().join("target/python");
    let package = root().join("boards/host/python");
    check(
        cargo()
            .current_dir(&package)
            .args(["fmt", "--all", "--check"]),
    )?;
    // The program it is compared with, as the tests build it.
    check(cargo().args(["build", "--quiet", "--workspace", "--bin", "dunlin"]))?;
    let python = || {
        let mut python = Command::new(environment.join("bin/python"));
        python.current_dir(&package);
        python
    };
    // maturin is a program of the environment; pip calls it by name.
    let mut paths = OsString::from(environment.join("bin"));
    paths.push(":");
    paths.push(std::env::var_os("PATH").context("PATH is not set")?);
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "--force-reinstall",
        ".",
    ];
    check(
        python()
            .args(install)
            .env("PATH", paths)
            .env("CARGO_TARGET_DIR", root().join("target/python-build")),
    )?;
    // Without its cache, which would lie beside the sources.
    let test = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "tests"];
    check(
        python()
            .args(test)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("DUNLIN", root().join("target/debug/dunlin")),
    )
}
