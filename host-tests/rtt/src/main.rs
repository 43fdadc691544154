//! Reads a board's log through a debug probe and writes its bytes to stdout, undecoded, as `dunlin
//! monitor --log -` wants them: `dunlin-rtt CHIP ADDRESS`, where ADDRESS is that of the symbol
//! `_SEGGER_RTT`, in hexadecimal.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use probe_rs::Permissions;
use probe_rs::probe::list::Lister;
use probe_rs::rtt::{Rtt, ScanRegion};

/// Between two looks when there was nothing to read: the board's buffer holds a kilobyte, some
/// forty lines.
const PAUSE: Duration = Duration::from_millis(20);

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [chip, address] = &arguments[..] else { bail!("expected CHIP ADDRESS") };
    let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).context("ADDRESS is not hexadecimal")?;
    let probes = Lister::new().list_all();
    let probe = probes.first().context("no debug probe is attached")?.open()?;
    let mut session = probe.attach(chip.as_str(), Permissions::default())?;
    let mut core = session.core(0)?;
    let mut rtt = Rtt::attach_region(&mut core, &ScanRegion::Exact(address))?;
    let channel = rtt.up_channel(0).context("the firmware has no log channel")?;
    let mut buffer = [0; 4096];
    let mut stdout = std::io::stdout();
    loop {
        match channel.read(&mut core, &mut buffer)? {
            0 => std::thread::sleep(PAUSE),
            count => {
                stdout.write_all(&buffer[..count])?;
                stdout.flush()?;
            }
        }
    }
}
