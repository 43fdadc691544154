//! `cargo xtask test`: everything that must pass, in order, until the first failure.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::boards::{self, BOARDS};
use crate::setup::{self, CORTEX_M0, CORTEX_M4F, CORTEX_M33};
use crate::shell::{cargo, check, root, say};
use crate::{bench, e2e, firmware, fuzz, monitor, panics, sizes, suite, throughput, virtual_time};

/// The crate's feature sets on a computer. Not every combination: each alone, and all that go
/// together.
const HOST_FEATURES: &[&str] = &["", "std", "log", "fetch", "probe", DOCS_FEATURES];
/// … and on a device.
const DEVICE_FEATURES: &[&str] = &["", "defmt", "defmt,fetch", "defmt,probe"];
/// What docs.rs documents: `defmt` and `log` exclude each other.
const DOCS_FEATURES: &str = "std,log,fetch,probe";

/// How all steps are run.
#[derive(Clone, Copy)]
struct Settings {
    install: bool,
    long: bool,
}

type Step = (&'static str, fn(Settings) -> Result<()>);

const STEPS: &[Step] = &[
    ("tools", tools),
    ("format", format),
    ("clippy on this computer", clippy_host),
    ("clippy for devices", clippy_devices),
    ("documentation", documentation),
    ("unit, doc and host tests", tests),
    ("no allocator", |settings| {
        panics::no_allocator(settings.install)
    }),
    ("panic sites", |settings| {
        panics::panic_sites(settings.install)
    }),
    ("on-target suite in QEMU", on_target),
    ("end to end in QEMU", |settings| {
        let passed = e2e::e2e(settings.install, None, settings.long)?;
        println!("end to end: {passed} passed, judged by the servers' logs");
        // A clock's word, so not on every machine every time.
        if settings.long {
            throughput::throughput(settings.install)
        } else {
            Ok(())
        }
    }),
    ("monitor in browser and terminal", |settings| {
        monitor::monitor(settings.install, false)
    }),
    ("a day in virtual time in QEMU", |settings| {
        virtual_time::virtual_time(settings.install)
    }),
    ("boards", |settings| boards::check(settings.install)),
    ("flash and RAM", |settings| {
        sizes::size(settings.install, true)
    }),
    (
        "instruction counts and sizes beside the baseline",
        |settings| bench::guard(settings.install),
    ),
    ("package", package),
];

/// Runs every step; the first failure ends the run and is named.
pub fn test(install: bool, long: bool) -> Result<()> {
    let settings = Settings { install, long };
    for (passed, (name, step)) in STEPS.iter().enumerate() {
        say(format_args!(
            "step {} of {}: {name}",
            passed + 1,
            STEPS.len()
        ));
        let start = Instant::now();
        if let Err(error) = step(settings) {
            println!("{passed} passed, 1 failed");
            bail!("step `{name}` failed: {error:#}");
        }
        say(format_args!(
            "step `{name}` passed in {:.0} s",
            start.elapsed().as_secs_f64()
        ));
    }
    println!("{} passed, 0 failed", STEPS.len());
    Ok(())
}

/// First, so that a missing tool is a matter of seconds and not of the tenth minute.
fn tools(settings: Settings) -> Result<()> {
    setup::components(settings.install)?;
    setup::targets(settings.install, &[CORTEX_M4F, CORTEX_M0, CORTEX_M33])?;
    setup::qemu(settings.install)?;
    setup::servers(settings.install)?;
    if settings.long {
        setup::compiler(settings.install)?;
    }
    setup::monitor(settings.install)
}

fn format(_: Settings) -> Result<()> {
    check(cargo().args(["fmt", "--all", "--check"]))?;
    check(board(firmware::BOARD).args(["fmt", "--all", "--check"]))
}

fn clippy_host(_: Settings) -> Result<()> {
    clippy(cargo().args(["clippy", "--workspace", "--all-targets"]))?;
    HOST_FEATURES
        .iter()
        .try_for_each(|features| clippy(&mut clippy_crate(features)))
}

fn clippy_devices(_: Settings) -> Result<()> {
    for target in [CORTEX_M4F, CORTEX_M0] {
        for features in DEVICE_FEATURES {
            clippy(clippy_crate(features).args(["--target", target]))?;
        }
        clippy(board(firmware::BOARD).args(["clippy", "--release", "--target", target]))?;
    }
    // One after the other: together, their chips' features would exclude each other.
    let others = BOARDS.iter().filter(|other| other.name != firmware::BOARD);
    others
        .into_iter()
        .try_for_each(|other| clippy(board(other.name).args(["clippy", "--release"])))
}

fn clippy_crate(features: &str) -> Command {
    let mut command = cargo();
    command.args(["clippy", "--package", "dunlin"]);
    if !features.is_empty() {
        command.args(["--features", features]);
    }
    command
}

/// Warnings are denied behind `--` and not by RUSTFLAGS, which would rebuild every dependency.
fn clippy(command: &mut Command) -> Result<()> {
    check(command.args(["--quiet", "--", "--deny", "warnings"]))
}

fn documentation(_: Settings) -> Result<()> {
    let crate_itself = [
        "doc",
        "--quiet",
        "--no-deps",
        "--package",
        "dunlin",
        "--features",
        DOCS_FEATURES,
    ];
    check(
        cargo()
            .args(crate_itself)
            .env("RUSTDOCFLAGS", "--deny warnings"),
    )?;
    // Programs write their --help as doc comments, where a bare URL is an example and not a link.
    let others = [
        "doc",
        "--quiet",
        "--no-deps",
        "--workspace",
        "--exclude",
        "dunlin",
    ];
    check(
        cargo()
            .args(others)
            .env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::bare_urls"),
    )?;
    let shared = [
        "doc",
        "--quiet",
        "--no-deps",
        "--lib",
        "--package",
        firmware::BOARD,
        "--package",
        "dunlin-board",
    ];
    check(
        board(firmware::BOARD)
            .args(shared)
            .env("RUSTDOCFLAGS", "--deny warnings"),
    )
}

fn tests(settings: Settings) -> Result<()> {
    let mut test = cargo();
    test.args(["test", "--workspace"]).env("INSTA_UPDATE", "no");
    if settings.long {
        test.env("DUNLIN_LONG", "1");
    }
    check(&mut test)?;
    // What takes a minute each finds next to nothing new, so not in every run: there, the corpus is
    // a test of its own.
    if settings.long {
        fuzz::fuzz(settings.install, None, fuzz::SECONDS)
    } else {
        Ok(())
    }
}

fn on_target(settings: Settings) -> Result<()> {
    let passed = suite::suite(settings.install)?;
    println!("on-target suite: {passed} passed on the emulated Cortex-M4F");
    Ok(())
}

/// Offline: everything the crate needs has been fetched by the steps before.
fn package(_: Settings) -> Result<()> {
    check(cargo().args([
        "package",
        "--quiet",
        "--package",
        "dunlin",
        "--allow-dirty",
        "--offline",
    ]))
}

/// Cargo in a board's folder: it reads the board's configuration only from there.
fn board(name: &str) -> Command {
    let mut command = cargo();
    command.current_dir(root().join("boards").join(name));
    command
}
