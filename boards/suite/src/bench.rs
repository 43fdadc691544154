//! Work to be counted in instructions on a device. Deterministic: fixed seeds, no clocks.

mod learn;
pub mod pace;
mod scheduler;

use core::hint::black_box;

use dunlin::heap::ArrayHeap;
use dunlin::math::split_mix;
use heapless::binary_heap::Min;

/// Counts what a piece of work costs. A board counts instructions; a host only runs it, so that
/// benches are compiled and exercised by every test run.
pub trait Meter {
    /// Runs `work` once and books its cost under `name` at size `n`, divided by `per` (operations
    /// in `work`).
    fn measure(&mut self, name: &'static str, n: u32, per: u32, work: &mut dyn FnMut());
}

/// Every bench of every room.
pub const BENCHES: &[fn(&mut dyn Meter)] = &[
    heap,
    crate::plan::bench,
    learn::learn,
    pace::carousel,
    scheduler::scheduler,
    crate::fetch::bench,
];

/// A small, fast, seeded generator (SplitMix64), so that every machine sees the same numbers.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Below `limit`, which must not be 0.
    pub fn below(&mut self, limit: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(limit)) >> 32) as u32
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f32 {
        (self.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0)
    }
}

/// A pop and a push, the step every scheduler takes.
fn heap(meter: &mut dyn Meter) {
    fn at<const N: usize>(meter: &mut dyn Meter) {
        const STEPS: u32 = 64;
        let mut random = Random(1);
        let mut heap: ArrayHeap<u32, u16, N> = ArrayHeap::new();
        for id in 0..N as u16 {
            let _ = heap.push(id, random.next_u32());
        }
        meter.measure("heap pop+push", N as u32, STEPS, &mut || {
            for _ in 0..STEPS {
                if let Some(entry) = heap.pop() {
                    let _ = heap.push(entry.id, random.next_u32());
                }
            }
            black_box(&heap);
        });
        let mut random = Random(1);
        let mut plain: heapless::BinaryHeap<(u32, u16), Min, N> = heapless::BinaryHeap::new();
        for id in 0..N as u16 {
            let _ = plain.push((random.next_u32(), id));
        }
        meter.measure(
            "heapless::BinaryHeap pop+push",
            N as u32,
            STEPS,
            &mut || {
                for _ in 0..STEPS {
                    if let Some((_, id)) = plain.pop() {
                        let _ = plain.push((random.next_u32(), id));
                    }
                }
                black_box(&plain);
            },
        );
    }
    at::<64>(meter);
    at::<256>(meter);
    at::<1024>(meter);
    at::<4096>(meter);
}
