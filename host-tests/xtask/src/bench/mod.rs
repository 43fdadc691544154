//! One table: what the algorithms cost on the device, in instructions, and on this computer.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::setup::{self, CORTEX_M0, CORTEX_M4F};
use crate::shell::{cargo, check, say};
use crate::{firmware, qemu};

const DEADLINE: Duration = Duration::from_secs(900);

/// Runs the device benches, then the host's.
pub fn bench(install: bool, device_only: bool) -> Result<()> {
    setup::qemu(install)?;
    println!("| room | what | ours | unit | alternative | ratio | limit |\n|---|---|---|---|---|---|---|");
    for (target, unit) in [(CORTEX_M4F, "instructions"), (CORTEX_M0, "instructions, thumbv6m code")] {
        device(install, target, unit)?;
    }
    if !device_only {
        say("host figures: clocks are noisy, compare ratios");
        check(cargo().args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "host-tests",
            "--bin",
            "bench",
            "--",
            "--rows",
        ]))?;
    }
    Ok(())
}

fn device(install: bool, target: &str, unit: &str) -> Result<()> {
    let elf = firmware::build_for(install, firmware::BENCH, target)?;
    let machine = qemu::Machine {
        elf: &elf,
        options: &[],
        time: qemu::Time::Counted,
        deadline: DEADLINE,
        beside: qemu::Beside::default(),
    };
    let end = qemu::run(machine, |line| match line.message.strip_prefix("bench ").and_then(Row::parse) {
        Some(row) => {
            let each = f64::from(row.instructions) / f64::from(row.per.max(1));
            println!("| device | {}, n = {} | {each:.1} | {unit} | – | – | |", row.name, row.n);
        }
        None => eprintln!("{line}"),
    });
    end?.success("the instruction bench", DEADLINE).with_context(|| format!("device bench for {target}"))
}

/// One measurement, as the firmware's meter logs it.
struct Row<'a> {
    name: &'a str,
    n: u32,
    per: u32,
    instructions: u32,
}

impl<'a> Row<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut fields = text.split('|');
        let row = Self {
            name: fields.next()?,
            n: fields.next()?.parse().ok()?,
            per: fields.next()?.parse().ok()?,
            instructions: fields.next()?.parse().ok()?,
        };
        fields.next().is_none().then_some(row)
    }
}
