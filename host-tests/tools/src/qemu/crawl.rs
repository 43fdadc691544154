//! Runs the probe in QEMU on a page list and sums up what its log says.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dunlin::probe::{LoggedBoardEvent, LoggedEvent};
use dunlin_host::lists::listing::Listing;
use serde::Serialize;

use crate::qemu::log_port::LogPort;
use crate::qemu::page_image::{self, ImageFile, Options};
use crate::qemu::state::StateFile;
use crate::qemu::{self, Attached, Level, Line, Machine, Time};

/// What the firmware gets beyond its own time for booting and saying good-bye.
const GRACE: Duration = Duration::from_secs(30);

/// One run of the probe on a page list.
#[derive(Clone, Copy, Debug)]
pub struct Crawl<'a> {
    pub elf: &'a Path,
    pub listing: &'a Listing,
    pub options: &'a Options,
    pub seconds: u32,
    pub state: Option<&'a Path>,
    pub monitor: Option<&'a Path>,
    pub stop: Option<&'a AtomicBool>,
    pub log_port: Option<&'a LogPort>,
    /// The date that the firmware's clock begins with.
    pub epoch: Option<u64>,
    /// A port of this computer's loopback, and the port of the device that it leads to.
    pub forward: Option<(u16, u16)>,
}

/// What the firmware's random numbers are made of: the emulated board has no generator.
fn entropy() -> Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The summary for machines (`--json`).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    pub fetches: u64,
    pub not_modified: u64,
    pub changed: u64,
    pub errors: u64,
    pub robots_denied: u64,
    pub bytes: u64,
    /// Weighted mean freshness, as the scheduler believes it to be.
    pub freshness_estimate: Option<f64>,
    /// The best there is for this budget, as far as the scheduler knows rates.
    pub optimum_estimate: Option<f64>,
    pub resumed_pages: u64,
}

/// What the log of a run said.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub summary: Summary,
    /// The longest line about a fetch's end, in bytes on the wire.
    pub longest_end: usize,
    /// Bytes of stack, by the firmware's own word.
    pub stack: Option<u64>,
    /// Time it did not sleep, by the firmware's own word.
    pub awake: Option<Duration>,
    /// Lines that could not be decoded.
    pub lost: usize,
}

impl Crawl<'_> {
    /// Boots the firmware and hands each line of its log to `show`.
    pub fn run(&self, mut show: impl FnMut(&Line)) -> Result<Report> {
        let https = page_image::wants_https(self.listing, self.options);
        let (image, _) = page_image::build(self.listing, self.options)?;
        let image = ImageFile::write(&image, self.elf)?;
        let deadline = Duration::from_secs(self.seconds.into()) + GRACE;
        let state = self.state.map(StateFile::open).transpose()?;
        let mut options = vec![format!("seconds={}", self.seconds)];
        options.extend(state.iter().map(StateFile::option));
        options.extend(self.epoch.map(|epoch| format!("epoch={epoch}")));
        if https {
            options.push(format!("entropy={}", entropy()?));
        }
        let attached = Attached {
            image: Some((&image.path, image.address)),
            network: true,
            monitor: self.monitor,
            stop: self.stop,
            log_port: self.log_port,
            forward: self.forward,
            ..Attached::default()
        };
        let machine = Machine {
            elf: self.elf,
            options: &options,
            time: Time::Real,
            deadline,
            attached,
        };
        let mut report = Report::default();
        let end = qemu::run(machine, |line| {
            report.read(line);
            show(line);
        })?;
        end.success("the firmware", deadline)?;
        ensure!(
            report.lost == 0,
            "{} log frames could not be decoded",
            report.lost
        );
        Ok(report)
    }
}

impl Report {
    pub fn read(&mut self, line: &Line) {
        self.lost += usize::from(line.level == Level::Lost);
        let summary = &mut self.summary;
        match LoggedEvent::read(&line.message) {
            Some(LoggedEvent::End { .. }) => self.longest_end = self.longest_end.max(line.bytes),
            Some(LoggedEvent::Totals(totals)) => {
                summary.fetches = totals.fetches.into();
                summary.not_modified = totals.not_modified.into();
                summary.changed = totals.changed.into();
                summary.errors = totals.errors.into();
                summary.robots_denied = totals.denied.into();
                summary.bytes = totals.bytes;
            }
            Some(LoggedEvent::Resumed(resumed)) => summary.resumed_pages = resumed.pages.into(),
            Some(LoggedEvent::Plan {
                freshness, optimum, ..
            }) => {
                summary.freshness_estimate = freshness;
                summary.optimum_estimate = optimum;
            }
            _ => {}
        }
        match LoggedBoardEvent::read(&line.message) {
            Some(LoggedBoardEvent::Awake { micros }) => {
                self.awake = Some(Duration::from_micros(micros));
            }
            Some(LoggedBoardEvent::Done { stack, .. }) => self.stack = Some(stack.into()),
            _ => {}
        }
    }
}
