//! `cargo xtask demo`: the main job on a fresh machine.

use anyhow::Result;

use crate::run;

/// Long enough to see tasks run, short enough to wait for.
const SECONDS: u32 = 5;

/// Boots the firmware, shows its log and sums up.
pub fn demo(install: bool) -> Result<()> {
    let log = run::boot(install, SECONDS)?;
    let problems = log.iter().filter(|line| ["WARN", "ERROR", "LOST"].contains(&line.level.as_str())).count();
    for line in log.iter().take(2) {
        println!("{}", line.message);
    }
    println!("{} log lines decoded in {SECONDS} s, {problems} of them warnings or errors", log.len());
    Ok(())
}
