//! Counts instructions. Under `-icount shift=7` each instruction takes 128 ns of virtual time, and
//! a counter of 25 MHz ticks every 40 ns: instructions = ticks × 40 / 128, the same on every
//! computer and in every run. An emulator has no pipeline: these are instructions, not cycles.
//!
//! Where in a tick a measurement starts is chance, so that a count of ticks is right to less than
//! one of them, in either direction. That must be less than half an instruction, or rounding cannot
//! tell n from n + 1: at 64 ns an instruction (shift=6) it is not, and one count in ten came out
//! one higher or lower from run to run.

use dunlin_suite::Meter;

use crate::clock::{COUNTER, PRESCALE};

const NANOSECONDS_PER_TICK: u64 = 40;
const NANOSECONDS_PER_INSTRUCTION: u64 = 128;
const _: () = assert!(NANOSECONDS_PER_TICK < NANOSECONDS_PER_INSTRUCTION / 2);

/// Logs each measurement as one `bench` line, which `cargo xtask bench` reads.
#[derive(Debug)]
pub struct InstructionMeter {
    empty: u32,
}

impl InstructionMeter {
    /// Takes the counter from the clock (do not start both), learns what measuring itself costs,
    /// and proves itself on a thousand instructions. `None` if it counts something else: QEMU runs
    /// without `-icount shift=7`.
    pub fn calibrated() -> Option<Self> {
        // Undivided: 32 bits then reach 1.3 thousand million instructions (SysTick's 24 bits: 5.2
        // million).
        PRESCALE.write(0);
        let meter = Self {
            empty: instructions(&mut || ()),
        };
        (meter.count(&mut thousand_instructions) == 1_000).then_some(meter)
    }

    /// What a piece of work costs.
    pub fn count(&self, work: &mut dyn FnMut()) -> u32 {
        instructions(work).saturating_sub(self.empty)
    }
}

/// Instructions since the work that is being counted began; only there.
pub fn so_far() -> u32 {
    in_instructions(COUNTER.read())
}

fn thousand_instructions() {
    // SAFETY: does nothing, a thousand times.
    unsafe {
        core::arch::asm!(
            ".rept 1000",
            "nop",
            ".endr",
            options(nomem, nostack, preserves_flags)
        )
    };
}

impl Meter for InstructionMeter {
    fn measure(&mut self, name: &'static str, n: u32, per: u32, work: &mut dyn FnMut()) {
        let total = self.count(work);
        defmt::info!("bench {=str}|{=u32}|{=u32}|{=u32}", name, n, per, total);
    }
}

#[inline(never)]
fn instructions(work: &mut dyn FnMut()) -> u32 {
    let ticks = cortex_m::interrupt::free(|_| {
        COUNTER.write(0);
        let start = COUNTER.read();
        work();
        COUNTER.read().wrapping_sub(start)
    });
    in_instructions(ticks)
}

/// Rounded: the counter shows whole ticks only.
fn in_instructions(ticks: u32) -> u32 {
    ((u64::from(ticks) * NANOSECONDS_PER_TICK + NANOSECONDS_PER_INSTRUCTION / 2)
        / NANOSECONDS_PER_INSTRUCTION) as u32
}
