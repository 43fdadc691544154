//! Counts instructions. Under `-icount shift=6` each instruction takes 64 ns of virtual time, and a counter of
//! 25 MHz ticks every 40 ns: instructions = ticks × 40 / 64, the same on every computer and in every run.
//! An emulator has no pipeline: these are instructions, not cycles.

use dunlin_suite::Meter;

use crate::clock::{COUNTER, PRESCALE};

const NANOSECONDS_PER_TICK: u64 = 40;
const NANOSECONDS_PER_INSTRUCTION: u64 = 64;

/// Logs each measurement as one `bench` line, which `cargo xtask bench` reads.
#[derive(Debug)]
pub struct InstructionMeter {
    empty: u32,
}

impl InstructionMeter {
    /// Takes the counter from the clock (do not start both), learns what measuring itself costs, and proves
    /// itself on a thousand instructions. `None` if it counts something else: QEMU runs without `-icount shift=6`.
    pub fn calibrated() -> Option<Self> {
        // Undivided: 32 bits then reach 2.7 thousand million instructions (SysTick's 24 bits: 10.4 million).
        PRESCALE.write(0);
        let meter = Self { empty: instructions(&mut || ()) };
        (meter.count(&mut thousand_instructions) == 1_000).then_some(meter)
    }

    fn count(&self, work: &mut dyn FnMut()) -> u32 {
        instructions(work).saturating_sub(self.empty)
    }
}

fn thousand_instructions() {
    // SAFETY: does nothing, a thousand times.
    unsafe { core::arch::asm!(".rept 1000", "nop", ".endr", options(nomem, nostack, preserves_flags)) };
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
    // Rounded: the counter shows whole ticks only.
    ((u64::from(ticks) * NANOSECONDS_PER_TICK + NANOSECONDS_PER_INSTRUCTION / 2)
        / NANOSECONDS_PER_INSTRUCTION) as u32
}
