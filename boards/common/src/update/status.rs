//! Where updates stand, for the log.

use core::cell::Cell;

use dunlin::probe::BoardEvent;
use dunlin::update::{Last, Released};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;

/// What is said each minute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Status {
    /// How often the firmware was tried, as long as it is on trial.
    pub trial: Option<u8>,
    /// The firmware that runs.
    pub firmware: Released,
    /// The sequence of the list in use.
    pub list: u32,
    /// Which half of flash it is in.
    pub half: u8,
    pub last: Last,
}

static STATUS: Mutex<CriticalSectionRawMutex, Cell<Option<Status>>> = Mutex::new(Cell::new(None));

impl Status {
    /// Says so, now and each minute.
    pub(super) fn set(self) {
        STATUS.lock(|status| status.set(Some(self)));
        report();
    }
}

/// Says where updates stand.
pub fn report() {
    let Some(status) = STATUS.lock(Cell::get) else {
        return;
    };
    let said = BoardEvent::Updates {
        state: match status.trial {
            Some(_) => "trial",
            None => "confirmed",
        },
        attempt: status.trial.unwrap_or(0),
        sequence: status.firmware.sequence,
        counter: status.firmware.counter,
        list: status.list,
        half: status.half,
        refused: status.last.sequence,
        why: status.last.name(),
    };
    said.emit();
}
