//! Host benches: one module a room, one [`Row`] a figure. `cargo xtask bench` prints them as one table.
//!
//! Clocks on shared machines are noisy: prefer ratios against an alternative measured in the same run.

mod learn;
pub mod monitor;
pub mod pace;
pub mod plan;

use std::time::Instant;

/// One line of the bench table.
#[derive(Clone, Debug)]
pub struct Row {
    /// plan, pace, polite, fetch, learn, …
    pub room: &'static str,
    /// What was measured, with its size.
    pub what: String,
    /// Our figure.
    pub ours: f64,
    /// `s`, `ns/page`, `steps/s`, …
    pub unit: &'static str,
    /// What else one could use, and its figure in the same unit from the same run.
    pub other: Option<(&'static str, f64)>,
    /// What the figure is heading for, or the promise it has to keep.
    pub limit: String,
}

/// Every room's benches.
pub const ROOMS: &[fn(&mut Vec<Row>)] = &[plan::plan, learn::learn, pace::rows, monitor::monitor];

/// Seconds that the fastest of `runs` runs took on the processor. On Linux time in which other programs had the
/// processor does not count; elsewhere it does.
pub fn seconds<T>(runs: u32, mut work: impl FnMut() -> T) -> f64 {
    (0..runs)
        .map(|_| {
            let (wall, processor) = (Instant::now(), processor_time());
            std::hint::black_box(work());
            match (processor, processor_time()) {
                // The system books it every few milliseconds only.
                (Some(start), Some(end)) if end - start > 0.05 => end - start,
                _ => wall.elapsed().as_secs_f64(),
            }
        })
        .fold(f64::INFINITY, f64::min)
}

/// Seconds this thread has run so far, where the system tells.
fn processor_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<u64>().ok().map(|nanoseconds| nanoseconds as f64 * 1e-9)
}
