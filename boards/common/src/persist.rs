//! What the probe has learnt, kept in the store's part of flash.

use dunlin::boot::Boot;
use dunlin::probe::{Board, Probe};
use dunlin::store::{Partition, Store};
use embassy_futures::block_on;

/// Opens the store and takes over what is in it, unless the device resets again and again: then
/// that may be why. Then spawn a task that runs
/// [`Persistence::run`](dunlin::probe::Persistence::run).
///
/// Nothing of it waits for anything, so no task has to run meanwhile. Work: every sector twice.
// A frame of its own, which ends with it: in that of `main`, it would stay on the stack for ever.
#[inline(never)]
pub fn restore<B: Board, F: Partition>(probe: &Probe<'_, B>, store: &mut Store<F>, boot: &Boot) {
    if boot.is_loop() {
        defmt::warn!(
            "{=u8} resets within a minute each: starting with nothing restored",
            boot.fast_resets
        );
    }
    block_on(probe.persistence().restore(store, !boot.is_loop()));
}
