//! The firmware that `boards/EMBEDDING.md` shows, as somebody would write it who has no board of
//! ours.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dunlin_tools::firmware;
use dunlin_tools::qemu::{self, Attached, End, Machine, Time};
use dunlin_tools::web::{Answer, Web};

use crate::trace;

/// Where `boards/examples/pages.csv` looks for its pages.
const PORT: u16 = 8000;
/// A request for robots.txt, and one for a page after the list's 15 s.
const RUNS: Duration = Duration::from_secs(24);

/// It boots, finds its network and asks for its pages, politely; it never ends by itself.
pub fn crawls(_: &Path) -> Result<()> {
    let elf = firmware::build_example(false, "example-embassy-net")?;
    let web = Web::start_at(PORT, |hit| Answer::version(hit, 0)).with_context(|| {
        format!("cannot listen on port {PORT} of this computer, where the example looks for pages")
    })?;
    let machine = Machine {
        elf: &elf,
        options: &[],
        time: Time::Real,
        deadline: RUNS,
        attached: Attached {
            network: true,
            ..Attached::default()
        },
    };
    let end = qemu::run(machine, |line| trace(line))?;
    ensure!(end == End::Deadline, "it ended: {end:?}");
    let log = web.log();
    let paths: Vec<&str> = log.iter().map(|hit| hit.path.as_str()).collect();
    ensure!(paths.first() == Some(&"/robots.txt"), "{paths:?}");
    ensure!(paths.len() >= 2, "no page was asked for: {paths:?}");
    Ok(())
}
