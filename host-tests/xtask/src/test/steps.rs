//! What `cargo xtask test` does, step by step.

use std::process::Command;

use anyhow::Result;
use dunlin_bench as bench;
use dunlin_e2e::{self as e2e, day, monitor, suite};
use dunlin_tools::firmware::boards::{self, BOARDS};
use dunlin_tools::firmware::budgets::Rows;
use dunlin_tools::firmware::{self, panics, sizes};
use dunlin_tools::setup::{self, CORTEX_M0, CORTEX_M4F, CORTEX_M33};
use dunlin_tools::shell::{cargo, check, quiet, root};
use dunlin_tools::{fuzz, python_package, supply_chain, test_programs};

use super::Settings;

/// The crate's feature sets on a computer: without `defmt`, which devices have.
const HOST_FEATURES: &[&str] = &["", "std", "log", "fetch", "probe", DOCS_FEATURES];
/// The crate's feature sets on a device. Not every combination: each alone, and in images together.
const DEVICE_FEATURES: &[&str] = &[
    "",
    "defmt",
    "defmt,fetch",
    "defmt,probe",
    "defmt,additions",
    "defmt,collect",
    "defmt,filter",
    "defmt,headers",
    "defmt,update",
    "defmt,discover",
    "defmt,fleet",
    "defmt,hints",
    "defmt,push",
];
/// The same on a core without atomic exchange, where nothing but that is another code.
const SMALL_DEVICE_FEATURES: &[&str] = &["", "defmt,probe", "defmt,additions,fleet,push"];
/// What docs.rs documents: `defmt` and `log` exclude each other.
const DOCS_FEATURES: &str =
    "std,log,fetch,probe,additions,collect,filter,headers,update,discover,fleet,hints,push";

/// One step of `cargo xtask test`, and what it needs.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What a failure is called.
    pub name: &'static str,
    /// Fails if something is not as it must be.
    pub run: fn(Settings) -> Result<()>,
    /// Comes after the images of [`firmware::build_all`], and looks at nothing else of boards.
    pub needs_images: bool,
}

const fn step(name: &'static str, run: fn(Settings) -> Result<()>) -> Step {
    Step {
        name,
        run,
        needs_images: false,
    }
}

const fn on_images(name: &'static str, run: fn(Settings) -> Result<()>) -> Step {
    Step {
        name,
        run,
        needs_images: true,
    }
}

/// Before the lanes part: what is a matter of seconds must not fail in the tenth minute.
pub const FIRST: &[Step] = &[step("tools", tools), step("format", format)];

/// The lane of this computer.
pub const COMPUTER: &[Step] = &[
    step("clippy on this computer", clippy_host),
    step("unit, doc and host tests", |of| {
        test_programs::test(of.long)
    }),
    step("Python package", |of| {
        python_package::test(of.install, of.long)
    }),
    step("package", package),
];

/// The lane of boards, emulated and not. The monitor comes late: it needs a program that the other
/// lane compiles, too.
pub const FIRMWARE: &[Step] = &[
    step("firmware", |of| firmware::build_all(of.install, rows(of))),
    on_images("no allocator", |of| {
        panics::no_allocator(of.install, rows(of))
    }),
    on_images("panic sites", |of| {
        panics::panic_sites(of.install, rows(of))
    }),
    on_images("boards", |of| boards::check(of.install, rows(of))),
    on_images("flash and RAM", |of| {
        sizes::size(of.install, rows(of), &[], true)
    }),
    on_images("on-target suite in QEMU", on_target),
    on_images("end to end in QEMU", |settings| {
        let passed = e2e::run(settings.install, None, settings.long)?;
        println!("end to end: {passed} passed, judged by the servers' logs");
        Ok(())
    }),
    on_images("a day in virtual time in QEMU", |of| day::day(of.install)),
    on_images(
        "instruction counts and sizes beside the baseline",
        |settings| bench::guard(settings.install),
    ),
    on_images("monitor in browser and terminal", |settings| {
        monitor::monitor(settings.install, false)
    }),
    step("clippy for devices", clippy_devices),
    step("documentation", documentation),
];

/// In the long mode, when nothing else runs: a clock's word, so not on every machine every time,
/// and fuzzing, which finds next to nothing new in a minute (in every run, its corpus is a test of
/// its own).
pub const ALONE: &[Step] = &[
    step("throughput in QEMU", |of| bench::speed(of.install)),
    step("what keeping costs", |of| bench::collection(of.install)),
    step("what finding costs", |of| bench::finding(of.install)),
    step("supply chain", |settings| {
        supply_chain::supply_chain(settings.install)
    }),
    step("fuzzing", |settings| {
        fuzz::fuzz(settings.install, None, fuzz::SECONDS)
    }),
];

fn rows(settings: Settings) -> Rows {
    Rows::of_run(settings.long)
}

fn tools(settings: Settings) -> Result<()> {
    setup::components(settings.install)?;
    setup::targets(settings.install, &[CORTEX_M4F, CORTEX_M0, CORTEX_M33])?;
    setup::qemu(settings.install)?;
    setup::servers(settings.install)?;
    setup::signify(settings.install)?;
    setup::broker(settings.install)?;
    setup::python(settings.install)?;
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
    for (target, sets) in [
        (CORTEX_M4F, DEVICE_FEATURES),
        (CORTEX_M0, SMALL_DEVICE_FEATURES),
    ] {
        for features in sets {
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
    check(command.args(quiet()).args(["--", "--deny", "warnings"]))
}

fn documentation(_: Settings) -> Result<()> {
    let document = |mut cargo: Command, what: &str, flags: &str| {
        let doc = cargo.arg("doc").args(quiet()).arg("--no-deps");
        check(doc.args(what.split(' ')).env("RUSTDOCFLAGS", flags))
    };
    let strict = "--deny warnings";
    let crate_itself = format!("--package dunlin --features {DOCS_FEATURES}");
    document(cargo(), &crate_itself, strict)?;
    // Programs write their --help as doc comments, where a bare URL is an example and not a link.
    let bare_urls = "--deny warnings --allow rustdoc::bare_urls";
    document(cargo(), "--workspace --exclude dunlin", bare_urls)?;
    // Optimised, as firmware and clippy for devices are: nothing is compiled for this alone.
    let shared = "--release --lib --package dunlin-board --package dunlin-embassy-net";
    let shared = format!("{shared} --package {}", firmware::BOARD);
    document(board(firmware::BOARD), &shared, strict)
}

fn on_target(settings: Settings) -> Result<()> {
    let passed = suite::suite(settings.install)?;
    println!("on-target suite: {passed} passed on the emulated Cortex-M4F");
    Ok(())
}

/// Offline: everything the crate needs has been fetched by the steps before.
fn package(_: Settings) -> Result<()> {
    let options = ["--package", "dunlin", "--allow-dirty", "--offline"];
    check(cargo().arg("package").args(quiet()).args(options))
}

/// Cargo in a board's folder: it reads the board's configuration only from there.
fn board(name: &str) -> Command {
    let mut command = cargo();
    command.current_dir(root().join("boards").join(name));
    command
}
