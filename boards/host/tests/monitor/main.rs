//! `dunlin monitor` and `dunlin report` on a real record: half a minute of a probe in QEMU.

mod commands;
mod decoding;
mod pages;
#[path = "../program/mod.rs"]
mod program;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dunlin_host::monitor::decode::{Decoder, Level, Line};
use dunlin_host::monitor::firmware::Firmware;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../host-tests/data/monitor")
        .join(name)
}

fn path(name: &str) -> String {
    fixture(name).to_str().expect("a UTF-8 path").to_owned()
}

fn record() -> Vec<u8> {
    fs::read(fixture("probe.defmt")).expect("the record")
}

fn firmware() -> Arc<Firmware> {
    Arc::new(Firmware::read(&fixture("probe.elf")).expect("the log strings"))
}

fn decode(bytes: &[u8]) -> (Vec<Line>, Decoder) {
    let mut lines = Vec::new();
    let mut decoder = Decoder::new(firmware());
    // Cut anywhere, as streams are.
    for chunk in bytes.chunks(37) {
        decoder.feed(chunk, &mut |line| lines.push(line));
    }
    decoder.finish(&mut |line| lines.push(line));
    (lines, decoder)
}

fn good(lines: &[Line]) -> Vec<Line> {
    lines
        .iter()
        .filter(|line| line.level != Level::Lost)
        .cloned()
        .collect()
}

/// A folder of our own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("dunlin-monitor-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        Self(folder)
    }

    fn name(&self) -> &str {
        self.0
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a UTF-8 name")
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a UTF-8 path").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
