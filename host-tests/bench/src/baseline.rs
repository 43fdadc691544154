//! Instruction counts and sizes do not depend on the computer: they are kept in
//! `host-tests/baseline.toml`, and tests fail when one has grown. `cargo xtask bench --device
//! --renew` writes them anew, deliberately.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use dunlin_tools::setup;
use dunlin_tools::shell::{capture, root, say};
use serde::Deserialize;

use super::device::{self, Count};
use super::memory::{self, Weighed};

/// What a figure may grow by before someone has to look.
const TOLERANCE: f64 = 0.02;
/// The same with another compiler than the baseline's, which may choose other instructions.
const OTHER_COMPILER: f64 = 0.15;
const RENEW: &str =
    "if this is meant, `cargo xtask bench --device --renew` writes host-tests/baseline.toml anew";

/// The file: a compiler, and figures by name under each heading.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Baseline {
    compiler: String,
    figures: BTreeMap<String, BTreeMap<String, f64>>,
}

/// Fails if a count is beyond its limit, or a figure worse than the committed one, new, or gone.
pub fn guard(install: bool) -> Result<()> {
    setup::qemu(install)?;
    let mut counts = Vec::new();
    for (target, core) in device::TARGETS {
        let counted = device::measure(install, target)?;
        let again = device::measure(install, target)?;
        // What changes by itself could be held against nothing.
        let changed: Vec<String> = counted
            .iter()
            .zip(&again)
            .filter(|(one, two)| one != two)
            .map(different)
            .collect();
        ensure!(
            changed.is_empty() && counted.len() == again.len(),
            "two runs of one image for {core} counted differently: {}",
            changed.join("; ")
        );
        super::within_limits(&device::rows(&counted, core))?;
        counts.push((core, counted));
    }
    let found = figures(&counts, &memory::images(install)?);
    let text = fs::read_to_string(file())
        .with_context(|| format!("cannot read {}; {RENEW}", file().display()))?;
    let baseline: Baseline = toml::from_str(&text)
        .with_context(|| format!("{} is malformed; {RENEW}", file().display()))?;
    let tolerance = if baseline.compiler == compiler()? {
        TOLERANCE
    } else {
        OTHER_COMPILER
    };
    let problems = compare(&baseline.figures, &found, tolerance);
    problems.iter().for_each(|problem| println!("{problem}"));
    ensure!(
        problems.is_empty(),
        "{} figures are not as in host-tests/baseline.toml; {RENEW}",
        problems.len()
    );
    let count: usize = found.values().map(BTreeMap::len).sum();
    println!(
        "{count} instruction counts and sizes within {} % of the baseline; counted twice, the same",
        100.0 * tolerance
    );
    Ok(())
}

fn different((one, two): (&Count, &Count)) -> String {
    format!(
        "{}, n = {}: {} and {}",
        one.name, one.size, one.each, two.each
    )
}

/// Writes what was measured as the new baseline.
pub fn renew(counts: &[(&str, Vec<Count>)], images: &[Weighed]) -> Result<()> {
    let mut text = format!(
        "# Instruction counts and sizes, the same on every computer; `cargo xtask test` fails when one grows by more than\n\
         # {} %. Written by `cargo xtask bench --device --renew`.\ncompiler = \"{}\"\n",
        100.0 * TOLERANCE,
        compiler()?
    );
    for (heading, figures) in figures(counts, images) {
        let _ = write!(text, "\n[figures.\"{heading}\"]\n");
        for (name, figure) in figures {
            let _ = writeln!(text, "\"{name}\" = {figure:.3}");
        }
    }
    fs::write(file(), text).with_context(|| format!("cannot write {}", file().display()))?;
    say(format_args!("wrote {}", file().display()));
    Ok(())
}

type Figures = BTreeMap<String, BTreeMap<String, f64>>;

fn figures(counts: &[(&str, Vec<Count>)], images: &[Weighed]) -> Figures {
    let mut figures = Figures::new();
    for (core, counts) in counts {
        let of_core = figures.entry(format!("instructions, {core}")).or_default();
        of_core.extend(
            counts
                .iter()
                .map(|count| (format!("{}, n = {}", count.name, count.size), count.each)),
        );
    }
    let bytes = figures.entry("bytes".into()).or_default();
    for Weighed { image, sizes } in images {
        bytes.insert(format!("{}, flash", image.name), sizes.flash as f64);
        bytes.insert(
            format!("{}, static RAM", image.name),
            sizes.static_ram as f64,
        );
    }
    bytes.extend(memory::scheduler().map(|(name, figure)| (name.to_owned(), figure)));
    figures
}

/// What is worse than before, new, or gone. What has become better is no problem.
fn compare(before: &Figures, now: &Figures, tolerance: f64) -> Vec<String> {
    let mut problems = Vec::new();
    let none = BTreeMap::new();
    for heading in before
        .keys()
        .chain(now.keys().filter(|heading| !before.contains_key(*heading)))
    {
        let before = before.get(heading).unwrap_or(&none);
        let now = now.get(heading).unwrap_or(&none);
        for (name, figure) in now {
            match before.get(name) {
                None => problems.push(format!("{heading}: {name} is new, {figure:.1}")),
                Some(was) if *figure > was * (1.0 + tolerance) => problems.push(format!(
                    "{heading}: {name} grew from {was:.1} to {figure:.1}, {:+.1} %",
                    100.0 * (figure / was - 1.0)
                )),
                Some(_) => {}
            }
        }
        let gone = before.keys().filter(|name| !now.contains_key(*name));
        problems.extend(gone.map(|name| format!("{heading}: {name} is no longer measured")));
    }
    problems
}

fn compiler() -> Result<String> {
    Ok(capture(Command::new("rustc").arg("--version"))?
        .trim()
        .to_owned())
}

fn file() -> PathBuf {
    root().join("host-tests/baseline.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, figure: f64) -> Figures {
        Figures::from([("h".into(), BTreeMap::from([(name.into(), figure)]))])
    }

    #[test]
    fn only_what_is_worse_is_a_problem() {
        assert!(compare(&one("a", 100.0), &one("a", 102.0), 0.02).is_empty());
        assert!(compare(&one("a", 100.0), &one("a", 50.0), 0.02).is_empty());
        assert_eq!(
            compare(&one("a", 100.0), &one("a", 103.0), 0.02),
            ["h: a grew from 100.0 to 103.0, +3.0 %"]
        );
    }

    #[test]
    fn new_and_missing_figures_are_told() {
        let problems = compare(&one("a", 1.0), &one("b", 1.0), 0.02);
        assert_eq!(problems, ["h: b is new, 1.0", "h: a is no longer measured"]);
    }
}
