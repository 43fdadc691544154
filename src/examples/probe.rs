//! A whole probe on a network and a clock in memory: two pages, ten minutes in a moment.
//!
//! `cargo run --example probe --features std,probe`

mod memory;

use dunlin::image::{Image, ImageError};
use dunlin::probe::{OwnedMemory, Probe, Slot};
use dunlin::scheduler::Settings;
use memory::{FastClock, Network, page_image, run};

fn main() -> Result<(), ImageError> {
    let image = page_image()?;
    let mut memory = OwnedMemory::<16, 4, 1024>::NEW;
    let memory = memory.view(Settings::DEFAULT);
    let probe = Probe::new(Image::parse(&image)?, memory, 1, FastClock::default())?;
    probe.set_online(true);
    let mut slot = Slot {
        connect: Network,
        resolve: Network,
        buffer: &mut [0; 512],
    };
    run(probe.run_slot(0, &mut slot));
    probe.report();
    let totals = probe.totals();
    assert!(totals.fetches > 2 && totals.errors == 0);
    Ok(())
}
