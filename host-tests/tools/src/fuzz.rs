//! `cargo xtask fuzz`: libFuzzer on everything that reads what strangers send.
//!
//! The targets are those of cargo-fuzz, and so are the compiler's flags but for the sanitizers,
//! which need a nightly toolchain: there is no `unsafe` in the crate for them to watch. Coverage
//! counters are stable.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use dunlin_host::output::progress::beside_bar;

use crate::setup;
use crate::shell::{capture, cargo, check, quiet, root, say, steps};

/// Every target, by the name of its program and of its corpus.
pub const TARGETS: [&str; 13] = [
    "response", "robots", "pattern", "url", "date", "image", "state", "names", "links", "sitemap",
    "feed", "push", "fleet",
];
/// How long each runs in the long mode of `cargo xtask test`.
pub const SECONDS: u32 = 120;

/// What cargo-fuzz passes, without a sanitizer.
const FLAGS: [&str; 8] = [
    "--cfg=fuzzing",
    "-Ccodegen-units=1",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
];

/// Runs one target, or all of them, for so long each; prints how many inputs were tried.
pub fn fuzz(install: bool, name: Option<&str>, seconds: u32) -> Result<()> {
    setup::compiler(install)?;
    let folder = root().join("host-tests/fuzz");
    let host = host()?;
    let mut build = cargo();
    build
        .current_dir(&folder)
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
    // With a target, build scripts and macros are compiled without the flags.
    build.arg("build").args(quiet());
    check(build.args(["--release", "--bins", "--target", &host]))?;
    let programs = folder.join("target").join(&host).join("release");
    let wanted = TARGETS
        .into_iter()
        .filter(|target| name.is_none_or(|name| name == *target));
    let step = |target: &str| format!("fuzz {target} for {seconds} s");
    let names: Vec<String> = wanted.clone().map(step).collect();
    let progress = steps("fuzz", &names);
    for target in wanted {
        progress.begin(&step(target));
        let inputs = run(&folder, &programs.join(target), target, seconds)?;
        beside_bar(|| println!("fuzz {target}: {inputs} inputs in {seconds} s, nothing found"));
    }
    progress.end();
    Ok(())
}

/// The triple that this computer's programs are compiled for.
fn host() -> Result<String> {
    let version = capture(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}

/// Runs a target from the corpus on; how many inputs it took.
fn run(folder: &Path, program: &Path, target: &str, seconds: u32) -> Result<u64> {
    // What is found on the way stays here; the repository's corpus is only read.
    let found = folder.join("target/found").join(target);
    let artifacts = folder.join("artifacts").join(target);
    for folder in [&found, &artifacts] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let log = folder.join("target").join(format!("{target}.log"));
    let file = fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut fuzzer = Command::new(program);
    fuzzer
        .args([
            format!("-max_total_time={seconds}"),
            format!("-artifact_prefix={}/", artifacts.display()),
        ])
        // An input that takes so many seconds is a finding, too: all work is bounded.
        .args(["-max_len=8192", "-timeout=10", "-print_final_stats=1"])
        .args([found, folder.join("corpus").join(target)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file);
    say(format_args!(
        "fuzz {target} for {seconds} s, log in {}",
        log.display()
    ));
    let status = fuzzer
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let said = fs::read_to_string(&log).unwrap_or_default();
    if !status.success() {
        let end: Vec<&str> = said.lines().rev().take(30).collect();
        let end: Vec<&str> = end.into_iter().rev().collect();
        bail!(
            "fuzz {target} found an input that fails ({status}), kept in {}:\n{}",
            artifacts.display(),
            end.join("\n")
        );
    }
    let inputs = said
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let inputs: u64 = inputs
        .and_then(|count| count.trim().parse().ok())
        .context("libFuzzer printed no count")?;
    ensure!(
        inputs > 1_000,
        "fuzz {target} tried {inputs} inputs only in {seconds} s"
    );
    Ok(inputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every target has a program and a corpus.
    #[test]
    fn all_targets_are_there() {
        let folder = root().join("host-tests/fuzz");
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("the manifest");
        for target in TARGETS {
            assert!(
                manifest.contains(&format!("fuzz_targets/{target}.rs")),
                "{target}"
            );
            assert!(
                fs::read_dir(folder.join("corpus").join(target))
                    .expect("a corpus")
                    .count()
                    > 10,
                "{target}"
            );
        }
        assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    }
}
