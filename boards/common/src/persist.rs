//! What the probe has learnt, kept in the store's part of flash.

use dunlin::boot::Boot;
use dunlin::probe::{Board, BoardEvent, Probe};
use dunlin::store::{Partition, Store};
use embassy_futures::block_on;
use embassy_futures::select::select;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, with_timeout};

/// Opens the store and takes over what is in it, unless the device resets again and again: then
/// that may be why. Then spawn a task that runs
/// [`Persistence::run`](dunlin::probe::Persistence::run), or [`keep`].
///
/// Nothing of it waits for anything, so no task has to run meanwhile. Work: every sector twice.
// A frame of its own, which ends with it: in that of `main`, it would stay on the stack for ever.
#[inline(never)]
pub fn restore<B: Board, F: Partition>(probe: &Probe<'_, B>, store: &mut Store<F>, boot: &Boot) {
    if boot.is_loop() {
        let fast_resets = boot.fast_resets;
        BoardEvent::ResetLoop { fast_resets }.emit();
    }
    block_on(probe.persistence().restore(store, !boot.is_loop()));
}

/// It is time to store what is not stored yet …
static END: Signal<CriticalSectionRawMutex, ()> = Signal::new();
/// … and it has been stored.
static STORED: Signal<CriticalSectionRawMutex, ()> = Signal::new();
/// How long that may take.
const LAST_STORE: Duration = Duration::from_secs(2);

/// Stores what is learnt, until [`end`] is called.
///
/// *Cancellation*: as for [`Persistence::run`](dunlin::probe::Persistence::run).
pub async fn keep<B: Board, F: Partition>(probe: &Probe<'_, B>, store: &mut Store<F>) {
    let persistence = probe.persistence();
    select(persistence.run(store), END.wait()).await;
    persistence.flush(store).await;
    STORED.signal(());
}

/// Lets [`keep`] store what is not stored yet, before the device is switched off or started again.
///
/// *Cancellation*: safe; it is stored all the same.
pub async fn end() {
    END.signal(());
    let _ = with_timeout(LAST_STORE, STORED.wait()).await;
}
