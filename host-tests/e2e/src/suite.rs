//! The on-target suite in QEMU.

use std::time::Duration;

use anyhow::{Context, Result};
use dunlin_tools::{firmware, qemu, setup};

const DEADLINE: Duration = Duration::from_secs(600);

/// Runs every case on the emulated core; an error names the case that failed.
pub fn suite(install: bool) -> Result<u32> {
    setup::qemu(install)?;
    let elf = firmware::build(install, firmware::SUITE)?;
    let machine = qemu::Machine {
        elf: &elf,
        options: &[],
        time: qemu::Time::Real,
        deadline: DEADLINE,
        attached: qemu::Attached::default(),
    };
    let mut running = String::from("before the first case");
    let mut passed = None;
    let end = qemu::run(machine, |line| {
        eprintln!("{line}");
        if let Some(name) = line.message.strip_prefix("case ") {
            running = format!("in test {name}");
        } else if let Some(count) = line.message.strip_prefix("suite: ") {
            passed = count.split(' ').next().and_then(|count| count.parse().ok());
        }
    })?;
    end.success("the on-target suite", DEADLINE)
        .with_context(|| format!("FAILED on the emulated device {running}"))?;
    passed.context("the on-target suite ended without its closing line")
}
