//! The Python package: built as a user would, into `target/python`, and held against the program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::setup;
use crate::shell::{cargo, check, quiet, root};

/// Builds, installs and tests it; in the long mode also as README says to, with nothing prepared.
///
/// # Errors
/// It cannot be built or installed, or a test has failed.
pub fn test(install: bool, long: bool) -> Result<()> {
    setup::python(install)?;
    let environment = root().join("target/python");
    let package = root().join("boards/host/python");
    check(
        cargo()
            .current_dir(&package)
            .args(["fmt", "--all", "--check"]),
    )?;
    // The program it is compared with, as the tests build it.
    let program = ["--workspace", "--bin", "dunlin"];
    check(cargo().arg("build").args(quiet()).args(program))?;
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
            .env("CARGO_TARGET_DIR", built()),
    )?;
    // Without its cache, which would lie beside the sources.
    let test = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "tests"];
    check(
        python()
            .args(test)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("DUNLIN", root().join("target/debug/dunlin")),
    )?;
    if long { as_readme_says() } else { Ok(()) }
}

/// Where pip's cargo builds.
fn built() -> PathBuf {
    root().join("target/python-build")
}

/// A plain `pip install` in an environment of its own; there mypy holds the types against what was
/// compiled.
fn as_readme_says() -> Result<()> {
    let folder = root().join("target/python-plain");
    let mut make = Command::new("python3");
    check(make.args(["-m", "venv", "--clear"]).arg(&folder))?;
    let python = |arguments: &[&str]| {
        let mut python = Command::new(folder.join("bin/python"));
        python.current_dir(root()).env("CARGO_TARGET_DIR", built());
        python.env("MYPY_CACHE_DIR", folder.join("mypy"));
        check(python.arg("-m").args(arguments))
    };
    python(&["pip", "install", "./boards/host/python"])?;
    python(&["pip", "install", "--quiet", "mypy==1.19.0"])?;
    let names = "boards/host/python/tests/types-alone.txt";
    python(&["mypy.stubtest", "dunlin._dunlin", "--allowlist", names])
}
