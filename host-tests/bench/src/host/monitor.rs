//! The monitor on a computer: how fast a probe's log is decoded, and what a long one takes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dunlin_host::monitor::decode::Decoder;
use dunlin_host::monitor::firmware::Firmware;
use dunlin_host::monitor::names::Names;
use dunlin_host::monitor::state::MonitoredProbe;

use super::{Row, seconds};

/// How often the record of half a minute is read.
const TIMES: usize = 1_000;

/// A file of the monitor's fixture.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join("data/monitor")
        .join(name)
}

/// Frames a second on one core, alone and with all that the views need.
pub fn rows(rows: &mut Vec<Row>) {
    let (Ok(firmware), Ok(log)) = (
        Firmware::read(&fixture("probe.elf")),
        std::fs::read(fixture("probe.defmt")),
    ) else {
        return;
    };
    let firmware = Arc::new(firmware);
    let mut frames = 0;
    let decoding = seconds(3, || {
        let mut decoder = Decoder::new(Arc::clone(&firmware));
        let mut bytes = 0;
        for _ in 0..TIMES {
            decoder.feed(&log, &mut |line| bytes += line.to_string().len());
        }
        frames = decoder.frames;
        bytes
    });
    let hearing = seconds(3, || hear(&firmware, &log));
    let mut row = |what: &str, time: f64, limit: &str| {
        rows.push(Row {
            room: "monitor",
            what: format!("{what}, {frames} frames"),
            ours: frames as f64 / time,
            unit: "frames/s",
            other: None,
            limit: limit.into(),
            grows: None,
        });
    };
    row("decode and format", decoding, ">= 150000");
    row("decode and keep what views need", hearing, "");
}

/// All that a view without a screen does.
fn hear(firmware: &Arc<Firmware>, log: &[u8]) -> MonitoredProbe {
    let mut decoder = Decoder::new(Arc::clone(firmware));
    let mut probe = MonitoredProbe::new("probe".into(), Arc::new(Names::default()));
    for _ in 0..TIMES {
        decoder.feed(log, &mut |line| probe.hear(line));
    }
    probe
}
