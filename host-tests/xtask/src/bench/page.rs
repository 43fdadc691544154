//! The performance page: `host-tests/PERFORMANCE.md`, written by `cargo xtask bench --page`.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::row::{Growth, Row};
use crate::shell::{output, root, say};

const METHOD: &str = "\
1. Device figures are instructions, counted by QEMU (`-icount shift=6`), not cycles: an emulator has no pipeline. They are
   the same on every computer and in every run of the same build. M0+ rows are thumbv6m code on the same core.
2. Host figures are processor time of one thread, the fastest of a few runs; time in which others had the core does not
   count, but their use of caches and memory does: compare ratios.
3. What stands beside a figure was measured in the same run: what else one could use, or the bare work without which it
   cannot be done.
4. Exponents are least squares over the logarithms; the command fails when one exceeds what the documentation promises.
5. `cargo xtask test` holds instruction counts and sizes against `host-tests/baseline.toml`;
   `cargo xtask bench --device --renew` writes that file anew.
";

const LOSSES: &str = "\
- Our heap pays for what it can do: `heapless::BinaryHeap` keeps no positions, so it can neither change nor remove an entry
  by its id. Where only the top is ever touched, it is the better choice, and `greedy` uses neither.
- Parsing and fingerprinting cost little beyond the hash, but a stretch to skip (a nonce, a date) costs four times the
  hash: every byte is then compared with the marker.
- A robots decision costs some 1,900 instructions a rule where comparing plain bytes costs 8: escapes have several
  spellings, and each octet of both sides is decoded on the way.
- A scheduler that scans all pages is cheaper for `next` below some hundred pages. It learns nothing and knows no hosts.
- Without a floating-point unit (M0+) everything that plans or learns costs ten to twenty times as much; the carousel and
  the heap, which count in integers, half as much again.
- An unchanged page costs several times the bytes of its request and answer: a connection is opened and closed around
  them, and short frames are mostly headers.
- The probe does not reach a bare loop's requests a second: it looks up names, keeps rules, learns and logs in between.
- State is 36 bytes a page where 17 would hold what must be known: whole `f32`s instead of 16-bit logarithms, three links
  instead of two, bytes instead of bits. What each field buys, and what the stretch of 32 would cost, is told where they
  are declared (`src/scheduler/page.rs`).
";

/// Writes the page.
pub fn write(rows: &[Row], growth: &[Growth]) -> Result<()> {
    let file = root().join("host-tests/PERFORMANCE.md");
    let machine = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = machine.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = name.map_or("an unnamed processor", |(_, name)| name);
    let compiler = output(Command::new("rustc").arg("--version")).unwrap_or_default();
    let text = format!(
        "# How fast, how small, how far from the limit\n\n\
         Written by `cargo xtask bench --page`, on one core of {name}, with {}. `ratio` is the other figure by ours; `kept` says \
         whether what was promised holds.\n\n## Method\n\n{METHOD}\n## Figures\n\n{}\n## Honest losses\n\n{LOSSES}",
        compiler.trim(),
        super::table(rows, growth),
    );
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    say(format_args!("wrote {}", file.display()));
    Ok(())
}
