//! Time for embassy: the FPGA's microsecond counter says what time it is, CMSDK timer 0 rings when
//! a task is due.
//!
//! Tickless: between two due tasks the core sleeps, and wakes by itself only every 100 seconds,
//! often enough to see each wrap of the 32-bit counter.

use core::cell::RefCell;
use core::task::Waker;

use cortex_m::peripheral::NVIC;
use critical_section::Mutex;
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;

use crate::interrupts::{self, Line};
use crate::register::Register;

/// Counts up, once every `PRESCALE + 1` cycles of 25 MHz.
// SAFETY: FPGAIO counter of mps2-an386 (AN386, table 3-8); counts, touches no memory.
pub(crate) const COUNTER: Register = unsafe { Register::at(0x4002_8018) };
// SAFETY: FPGAIO prescaler of mps2-an386; touches no memory.
pub(crate) const PRESCALE: Register = unsafe { Register::at(0x4002_801c) };
/// Cycles that are left until it counts.
// SAFETY: FPGAIO prescale counter of mps2-an386; touches no memory.
#[cfg(feature = "update")]
const PRESCALED: Register = unsafe { Register::at(0x4002_8020) };
// SAFETY: CMSDK timer 0, control; raises an interrupt, touches no memory.
const CONTROL: Register = unsafe { Register::at(0x4000_0000) };
// SAFETY: CMSDK timer 0, current value; counts down and rings at 0.
const VALUE: Register = unsafe { Register::at(0x4000_0004) };
// SAFETY: CMSDK timer 0, reload value; sets the current value, too.
const RELOAD: Register = unsafe { Register::at(0x4000_0008) };
// SAFETY: CMSDK timer 0, interrupt clear.
const CLEAR: Register = unsafe { Register::at(0x4000_000c) };

const CYCLES_PER_MICROSECOND: u32 = 25;
/// 100 s: below the 171 s that fit the alarm's 32 bits and the 71 minutes of the counter.
const LONGEST_SLEEP: u64 = 100_000_000;

/// Where the time comes from.
#[derive(Clone, Copy)]
enum Source {
    /// It has not started.
    None,
    Counter,
    /// From nowhere: it is so late, and will be later only by [`skip`].
    Skipped(u64),
}

struct State {
    queue: Queue,
    source: Source,
    last: u32,
    wraps: u32,
    /// What the alarm is set for, until it rings. A task that waits for two things asks for the
    /// same alarm whenever it is polled, and setting the timer anew costs more than all the rest.
    alarm: Option<u64>,
}

struct Clock(Mutex<RefCell<State>>);

embassy_time_driver::time_driver_impl!(static CLOCK: Clock = Clock(Mutex::new(RefCell::new(State {
    queue: Queue::new(),
    source: Source::None,
    last: 0,
    wraps: 0,
    alarm: None,
}))));

/// Starts time at 0 µs; behind a boot loader, it goes on from where that stopped it. Before this,
/// [`micros`] stays 0 and no alarm rings.
pub fn start() {
    critical_section::with(|token| {
        PRESCALE.write(CYCLES_PER_MICROSECOND - 1);
        #[cfg(not(feature = "update"))]
        COUNTER.write(0);
        #[cfg(feature = "update")]
        PRESCALED.write(0);
        let mut state = CLOCK.0.borrow_ref_mut(token);
        state.source = Source::Counter;
        state.ring_next();
    });
    // SAFETY: the handler is installed in `interrupts`, and no code relies on this line being
    // masked.
    unsafe { NVIC::unmask(Line(interrupts::TIMER0)) };
}

/// From now on, time is 0 and passes only by [`skip`]: what the firmware does is then the same each
/// time, to the microsecond.
pub fn start_skipping() {
    critical_section::with(|token| {
        CONTROL.write(0);
        CLOCK.0.borrow_ref_mut(token).source = Source::Skipped(0);
    });
}

/// Lets the time pass until the next alarm rings, at once. For an executor that has nothing else to
/// do.
pub fn skip() {
    critical_section::with(|token| {
        let mut state = CLOCK.0.borrow_ref_mut(token);
        let now = state.now();
        let next = state.queue.next_expiration(now);
        if let (Source::Skipped(_), true) = (state.source, next < u64::MAX) {
            state.source = Source::Skipped(next);
            state.ring_next();
        }
    });
}

/// Tells how many microseconds have passed since [`start`].
pub fn micros() -> u64 {
    CLOCK.now()
}

/// The alarm's interrupt handler.
pub(crate) extern "C" fn on_alarm() {
    critical_section::with(|token| {
        CONTROL.write(0);
        CLEAR.write(1);
        let mut state = CLOCK.0.borrow_ref_mut(token);
        state.alarm = None;
        state.ring_next();
    });
}

impl State {
    fn now(&mut self) -> u64 {
        match self.source {
            Source::None => return 0,
            Source::Skipped(now) => return now,
            Source::Counter => {}
        }
        let counter = COUNTER.read();
        self.wraps += u32::from(counter < self.last);
        self.last = counter;
        (u64::from(self.wraps) << 32) | u64::from(counter)
    }

    /// Wakes what is due and sets the alarm for what comes next.
    fn ring_next(&mut self) {
        let now = self.now();
        let next = self.queue.next_expiration(now);
        if matches!(self.source, Source::Skipped(_)) || self.alarm == Some(next) {
            return;
        }
        self.alarm = Some(next);
        // At least a microsecond: a timer set to 0 would never ring.
        let sleep = next.saturating_sub(now).clamp(1, LONGEST_SLEEP) as u32;
        CONTROL.write(0);
        // Once only: a timer that reloads lets QEMU's skipped time run on to the second ring before
        // the core has seen the first.
        RELOAD.write(0);
        VALUE.write(sleep * CYCLES_PER_MICROSECOND);
        CONTROL.write(0b1001); // enable, with interrupt
    }
}

impl Driver for Clock {
    fn now(&self) -> u64 {
        critical_section::with(|token| self.0.borrow_ref_mut(token).now())
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|token| {
            let mut state = self.0.borrow_ref_mut(token);
            if state.queue.schedule_wake(at, waker) && !matches!(state.source, Source::None) {
                state.ring_next();
            }
        });
    }
}
