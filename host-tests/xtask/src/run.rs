//! `cargo xtask qemu`: the firmware in QEMU, for as long as the user says.

use std::time::Duration;

use anyhow::Result;

use crate::shell::say;
use crate::{firmware, qemu, setup};

/// What the firmware gets beyond its own time for booting and saying good-bye.
const GRACE: Duration = Duration::from_secs(30);

/// Boots the firmware for `seconds` and shows its log on stderr.
pub fn run(install: bool, seconds: u32) -> Result<()> {
    boot(install, seconds).map(drop)
}

/// The same, and returns the log.
pub fn boot(install: bool, seconds: u32) -> Result<Vec<qemu::Line>> {
    setup::qemu(install)?;
    let elf = firmware::build(install, firmware::BOARD)?;
    say(format_args!("booting {} on an emulated Cortex-M4F for {seconds} s", firmware::BOARD));
    let deadline = Duration::from_secs(seconds.into()) + GRACE;
    let options = [format!("seconds={seconds}")];
    let mut log = Vec::new();
    let end = qemu::run(
        qemu::Machine { elf: &elf, options: &options, time: qemu::Time::Real, deadline },
        |line| {
            eprintln!("{line}");
            log.push(line.clone());
        },
    )?;
    end.success("the firmware", deadline)?;
    Ok(log)
}
