//! Installs what is missing, and only that: Rust targets and components through rustup, Debian
//! packages through apt when run as root. Otherwise, and with `--no-install`, one line says what to
//! install.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, check, find, output, root, say};

/// Code for the emulated Cortex-M4F.
pub const CORTEX_M4F: &str = "thumbv7em-none-eabihf";
/// Code for the RP2350 (Cortex-M33).
pub const CORTEX_M33: &str = "thumbv8m.main-none-eabihf";
/// Code for the smallest cores (M0, M0+).
pub const CORTEX_M0: &str = "thumbv6m-none-eabi";

/// Makes sure that Rust can compile for `targets`.
pub fn targets(install: bool, targets: &[&str]) -> Result<()> {
    for target in targets {
        let mut rustc = Command::new("rustc");
        let folder = output(rustc.args(["--print", "target-libdir", "--target", target]));
        if folder.is_some_and(|folder| Path::new(folder.trim()).is_dir()) {
            continue;
        }
        let mut add = Command::new("rustup");
        add.args(["target", "add", target]);
        rustup(install, &format!("Rust target {target}"), &mut add)?;
    }
    Ok(())
}

/// Makes sure that `cargo fmt` and `cargo clippy` exist.
pub fn components(install: bool) -> Result<()> {
    for (component, program) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if output(cargo().args([program, "--version"])).is_none() {
            let mut add = Command::new("rustup");
            add.args(["component", "add", component]);
            rustup(install, &format!("Rust component {component}"), &mut add)?;
        }
    }
    Ok(())
}

fn rustup(install: bool, what: &str, add: &mut Command) -> Result<()> {
    let arguments: Vec<_> = add
        .get_args()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let by_hand = format!(
        "{what} is missing; install it with `rustup {}`",
        arguments.join(" ")
    );
    if !install || find("rustup").is_none() {
        bail!(by_hand);
    }
    say(format_args!("{what} is missing, installing it"));
    check(add).context(by_hand)
}

/// Makes sure that QEMU for Arm is on PATH.
pub fn qemu(install: bool) -> Result<()> {
    package(install, "qemu-system-arm", "qemu-system-arm")
}

/// Makes sure that the web servers that the fetcher is tested against are there.
pub fn servers(install: bool) -> Result<()> {
    [
        ("nginx", "nginx-light"),
        ("apache2", "apache2-bin"),
        ("python3", "python3"),
    ]
    .into_iter()
    .try_for_each(|(program, name)| package(install, program, name))
}

/// Makes sure that the programs that https is tested against are there.
pub fn tls_peers(install: bool) -> Result<()> {
    package(install, "openssl", "openssl")?;
    package(install, "nginx", "nginx-light")
}

/// Makes sure that the program is there that others verify signed updates with.
pub fn signify(install: bool) -> Result<()> {
    package(install, "signify-openbsd", "signify-openbsd")
}

/// Makes sure that the broker is there that fleets are tested on.
pub fn broker(install: bool) -> Result<()> {
    package(install, "mosquitto", "mosquitto")
}

/// Makes sure that C++ can be compiled: libFuzzer is built from source.
pub fn compiler(install: bool) -> Result<()> {
    package(install, "c++", "g++")
}

/// Makes sure that `cargo deny` is there: a few minutes of compiling.
pub fn cargo_deny(install: bool) -> Result<()> {
    cargo_program(install, "deny", "0.20.2")
}

/// Makes sure that `cargo mutants` is there: a few minutes of compiling.
pub fn cargo_mutants(install: bool) -> Result<()> {
    cargo_program(install, "mutants", "27.1.0")
}

/// Makes sure that `cargo NAME` is there; the package is called `cargo-NAME`, and any version that
/// is there already will do.
fn cargo_program(install: bool, name: &str, version: &str) -> Result<()> {
    if output(cargo().args([name, "--version"])).is_some() {
        return Ok(());
    }
    let by_hand =
        format!("cargo-{name} is missing; install it with `cargo install --locked cargo-{name}`");
    if !install {
        bail!(by_hand);
    }
    say(format_args!("cargo-{name} is missing, compiling it"));
    let package = format!("cargo-{name}@{version}");
    check(cargo().args(["install", "--locked", &package])).context(by_hand)
}

/// The distribution's own Python, which sees the distribution's packages.
pub const SYSTEM_PYTHON: &str = "/usr/bin/python3";

/// Makes sure that results can be read in Python and our package be built: a virtual environment
/// with what others read them with, in `target/python`.
pub fn python(install: bool) -> Result<()> {
    const PACKAGES: [&str; 7] = [
        "pandas==3.1.1",
        "jsonschema==4.26.0",
        "numpy==2.4.6",
        "maturin==1.16.0",
        "pytest==9.2.0",
        "warcio==1.8.1",
        "pywb==2.10.0",
    ];
    let folder = root().join("target/python");
    let python = folder.join("bin/python");
    let complete = || {
        let mut python = Command::new(&python);
        let import = "import pandas, jsonschema, numpy, maturin, pytest, warcio, pywb";
        output(python.args(["-c", import])).is_some()
    };
    if complete() {
        return Ok(());
    }
    let by_hand = format!(
        "target/python is missing or lacks a package; make it with `python3 -m venv target/python && \
        target/python/bin/python -m pip install {}`",
        PACKAGES.join(" ")
    );
    if !install {
        bail!(by_hand);
    }
    package(install, "python3", "python3")?;
    let has_venv = || output(Command::new("python3").args(["-c", "import ensurepip"])).is_some();
    package_if(install, has_venv, "Python's venv", "python3-venv")?;
    say("pandas or one of its neighbours is missing, installing them into target/python");
    let mut make = Command::new("python3");
    check(make.args(["-m", "venv"]).arg(&folder)).context(by_hand.clone())?;
    // Not bin/pip, which knows where it was installed and not where it is.
    let mut pip = Command::new(&python);
    let arguments = ["-m", "pip", "install", "--quiet"];
    check(pip.args(arguments).args(PACKAGES)).context(by_hand)
}

/// Makes sure that the monitor can be looked at: a browser, a terminal, and a reader of metrics.
pub fn monitor(install: bool) -> Result<()> {
    package(install, "chromium", "chromium")?;
    package(install, "chromedriver", "chromium-driver")?;
    package(install, "tmux", "tmux")?;
    let readable = || {
        output(Command::new(SYSTEM_PYTHON).args(["-c", "import prometheus_client.parser"]))
            .is_some()
    };
    package_if(
        install,
        readable,
        "a parser of Prometheus' format",
        "python3-prometheus-client",
    )
}

/// Makes sure that `program` is on PATH; the Debian package `package` brings it.
fn package(install: bool, program: &str, package: &str) -> Result<()> {
    package_if(install, || find(program).is_some(), program, package)
}

/// The same for what is not a program: `there` knows.
fn package_if(install: bool, there: impl Fn() -> bool, program: &str, package: &str) -> Result<()> {
    if there() {
        return Ok(());
    }
    let by_hand = format!(
        "{program} is missing; install it (Debian and Ubuntu: `sudo apt-get install {package}`)"
    );
    if !install || find("apt-get").is_none() || !is_root() {
        bail!(by_hand);
    }
    say(format_args!(
        "{program} is missing, installing the package {package}"
    ));
    let install_package = || {
        check(apt().args(["install", "--yes", "--no-install-recommends", package]))
            .context(by_hand.clone())
    };
    // A fresh image knows no packages, or old ones: update its lists and try again.
    if install_package().is_err() {
        check(apt().arg("update")).context(by_hand.clone())?;
        install_package()?;
    }
    if there() { Ok(()) } else { bail!(by_hand) }
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_some_and(|user| user.trim() == "0")
}
