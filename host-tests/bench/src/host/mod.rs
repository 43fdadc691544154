//! Host benches: one module a room, one [`Row`] a figure. `cargo xtask bench` prints them in its
//! table.
//!
//! Clocks on shared machines are noisy: prefer ratios against an alternative measured in the same
//! run.

pub mod archive;
mod fetch;
mod learn;
pub mod monitor;
pub mod pace;
pub mod plan;
mod scheduler;

use std::fmt::{self, Display};
use std::time::Instant;

/// One line of the bench table.
#[derive(Clone, Debug)]
pub struct Row {
    /// plan, pace, polite, fetch, learn, …
    pub room: &'static str,
    /// What was measured, and after a comma its size.
    pub what: String,
    /// The figure that was measured.
    pub ours: f64,
    /// `s`, `ns/page`, `steps/s`, …
    pub unit: &'static str,
    /// What else one could use, and its figure in the same unit from the same run.
    pub other: Option<(&'static str, f64)>,
    /// What the figure is heading for, or the promise it has to keep: `<= 3`, `>= 3`, `1 to 3`, or
    /// words.
    pub limit: String,
    /// The size, and how the documentation says the figure grows with it: `O(n)`, `O(n log n)`.
    pub grows: Option<(f64, &'static str)>,
}

/// For `cargo xtask bench`: nine fields between tabs, empty where there is nothing to say.
impl Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            room,
            what,
            ours,
            unit,
            limit,
            ..
        } = self;
        let (other, figure) = self.other.map_or_else(Default::default, |(other, figure)| {
            (other, figure.to_string())
        });
        let (size, grows) = self
            .grows
            .map_or_else(Default::default, |(size, grows)| (size.to_string(), grows));
        write!(
            f,
            "{room}\t{what}\t{ours}\t{unit}\t{other}\t{figure}\t{limit}\t{size}\t{grows}"
        )
    }
}

/// A room's name and its benches.
type Room = (&'static str, fn(&mut Vec<Row>));

/// The benches of every room, by its name.
pub const ROOMS: &[Room] = &[
    ("plan", plan::plan),
    ("greedy", plan::greedy_growth),
    ("learn", learn::learn),
    ("pace", pace::rows),
    ("scheduler", scheduler::decisions),
    ("simulate", scheduler::simulation),
    ("fetch", fetch::rows),
    ("monitor", monitor::rows),
    ("archive", archive::rows),
];

/// Seconds that the fastest of `runs` runs took on the processor. On Linux time in which other
/// programs had the processor does not count; elsewhere it does.
pub fn seconds<T>(runs: u32, mut work: impl FnMut() -> T) -> f64 {
    (0..runs)
        .map(|_| {
            let wall = Instant::now();
            let processor = processor_time();
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
    text.split_whitespace()
        .next()?
        .parse::<u64>()
        .ok()
        .map(|nanoseconds| nanoseconds as f64 * 1e-9)
}

/// Bytes that `work` adds to the memory in use, at its peak; `None` where the system does not tell.
pub fn peak_bytes<T>(work: impl FnOnce() -> T) -> Option<f64> {
    let status = |name: &str| {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB"));
        kib?.trim().parse::<f64>().ok().map(|kib| 1024.0 * kib)
    };
    // From now on, the highest is counted anew.
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    let before = status("VmRSS:")?;
    std::hint::black_box(work());
    Some((status("VmHWM:")? - before).max(0.0))
}

/// Writes 1000000 as 1,000,000.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let part = |(index, digit): (usize, char)| {
        let comma = index > 0 && (digits.len() - index).is_multiple_of(3);
        [comma.then_some(','), Some(digit)].into_iter().flatten()
    };
    digits.chars().enumerate().flat_map(part).collect()
}
