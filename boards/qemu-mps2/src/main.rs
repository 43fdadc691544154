#![no_std]
#![no_main]
//! The firmware.

use embassy_executor::Spawner;
use embassy_time::{Duration, Ticker};
use qemu_mps2::{clock, executor, exit, memory, options};

#[cortex_m_rt::entry]
fn main() -> ! {
    qemu_mps2::boot("dunlin on qemu-mps2");
    let options = options::read();
    executor::run(|spawner| spawn(spawner, options))
}

fn spawn(spawner: Spawner, options: options::Options) {
    match heartbeat(options.seconds) {
        Ok(task) => spawner.spawn(task),
        Err(_) => defmt::error!("no room for the heartbeat task"),
    }
}

/// Says once a second that tasks run and time passes, until the run's time is over.
#[embassy_executor::task]
async fn heartbeat(seconds: Option<u32>) {
    let mut ticker = Ticker::every(Duration::from_secs(1));
    let mut beats = 0;
    while seconds != Some(beats) {
        ticker.next().await;
        beats += 1;
        defmt::info!("alive for {=u32} s", beats);
    }
    defmt::info!(
        "done after {=u64} ms, stack high-water mark {=u32} B",
        clock::micros() / 1_000,
        memory::stack_high_water()
    );
    exit::success()
}
