//! What a probe has learnt survives a power cut: two runs over the same flash.
//!
//! `cargo run --example store --features std,probe`

mod memory;

use dunlin::image::{Image, ImageError};
use dunlin::probe::{OwnedMemory, Probe, Resumed, Slot};
use dunlin::scheduler::Settings;
use dunlin::store::Store;
use memory::{FastClock, Flash, Network, page_image, run};

/// Ten minutes of a probe, and what it found in the store when it started.
fn ten_minutes(image: &[u8], store: &mut Store<Flash>) -> Result<Resumed, ImageError> {
    let mut memory = OwnedMemory::<16, 4, 1024>::NEW;
    let memory = memory.view(Settings::DEFAULT);
    let probe = Probe::new(Image::parse(image)?, memory, 1, FastClock::default())?;
    let resumed = run(probe.persistence().restore(store, true));
    probe.set_online(true);
    let mut slot = Slot {
        connect: Network,
        resolve: Network,
        buffer: &mut [0; 512],
    };
    run(probe.run_slot(0, &mut slot));
    run(probe.persistence().save(store));
    Ok(resumed.unwrap_or(Resumed::NOTHING))
}

fn main() -> Result<(), ImageError> {
    let image = page_image()?;
    let mut store = Store::new(Flash::blank());
    let first = ten_minutes(&image, &mut store)?;
    let second = ten_minutes(&image, &mut store)?;
    println!(
        "pages known at the start: {} and then {}",
        first.pages, second.pages
    );
    assert_eq!(first.pages, 0);
    assert_eq!(second.pages, 2);
    Ok(())
}
