//! Runs the probe in QEMU on a page list and sums up what its log says.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dunlin::probe::{LoggedBoardEvent, LoggedEvent, LoggedFoundEvent};
use dunlin_host::board::visit_log::VisitLog;
use dunlin_host::lists::listing::Listing;
use dunlin_host::monitor::readable;
use serde::Serialize;

use crate::qemu::log_port::LogPort;
use crate::qemu::page_image::{self, ImageFile, Options};
use crate::qemu::state::StateFile;
use crate::qemu::{self, Attached, Level, Line, Machine, Time};
use crate::shell::say;

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
    /// The same for datagrams.
    pub datagrams: Option<(u16, u16)>,
    /// What the collector knows the probe by.
    pub token: Option<&'a str>,
    /// What the device was told by a cable alone.
    pub settings: Option<&'a [u8]>,
    /// Lines of an origin and its headers, as the board's `headers` takes them.
    pub headers: Option<&'a str>,
    /// For a firmware with updates, which starts from a slot of the state file.
    pub updates: Option<Updates<'a>>,
}

/// What a firmware with updates needs besides.
#[derive(Clone, Copy, Debug)]
pub struct Updates<'a> {
    /// The boot loader's ELF file.
    pub boot_loader: &'a Path,
    /// ELF files of other builds that may run.
    pub other_builds: &'a [PathBuf],
    /// Options of the firmware, such as `look=10`.
    pub options: &'a [String],
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
    /// Versions that differ from the one before.
    pub changed: u64,
    /// First versions of pages: there is no earlier one to differ from.
    pub first_versions: u64,
    pub errors: u64,
    pub robots_denied: u64,
    pub bytes: u64,
    /// Weighted mean freshness, as the scheduler believes it to be.
    pub freshness_estimate: Option<f64>,
    /// The best there is for this budget, as far as the scheduler knows rates.
    pub optimum_estimate: Option<f64>,
    pub resumed_pages: u64,
    /// URLs beyond the list that became candidates, pages that were kept, and pages that gave way.
    pub found: u64,
    pub admitted: u64,
    pub replaced: u64,
    /// Answers that a page has given on average.
    #[serde(skip)]
    pub visits_a_page: Option<f64>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An estimate of freshness is not shown before it is one.
        let learning = readable::learning(self.visits_a_page);
        let share = |share: Option<f64>| match (&learning, share) {
            (_, None) => "not known yet".into(),
            (Some(learning), _) => learning.clone(),
            (None, Some(share)) => format!("{share:.3}"),
        };
        let freshness = share(self.freshness_estimate);
        let optimum = share(self.optimum_estimate);
        let not_modified = self.not_modified;
        writeln!(
            f,
            "fetches        {} ({not_modified} not modified)",
            self.fetches
        )?;
        let first = self.first_versions;
        writeln!(
            f,
            "changes found  {} (besides {first} first versions)",
            self.changed
        )?;
        writeln!(f, "resumed        {} pages", self.resumed_pages)?;
        writeln!(f, "errors         {}", self.errors)?;
        writeln!(f, "robots denied  {}", self.robots_denied)?;
        writeln!(f, "bytes          {}", self.bytes)?;
        writeln!(f, "freshness      {freshness} (the probe's estimate)")?;
        write!(
            f,
            "optimum        {optimum} (for this budget, as far as rates are known)"
        )
    }
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
    /// The collection beyond the list, by the numbers of its pages.
    pub collection: BTreeMap<u16, Option<String>>,
    /// Pages of the list.
    pub pages: u16,
    /// The page whose end follows as that of its first version.
    pub first: Option<u16>,
    /// The page that was visited last, and whether it had changed since the visit before.
    pub visit: Option<(u16, bool)>,
    /// First versions since the device started.
    pub firsts: u32,
    /// Versions that the collector has acknowledged.
    pub collected: usize,
    /// Deliveries of versions that came to nothing, as far as the device knows.
    pub uncollected: usize,
}

impl<'a> Crawl<'a> {
    /// A run of so many seconds with nothing attached to it.
    pub fn new(elf: &'a Path, listing: &'a Listing, options: &'a Options, seconds: u32) -> Self {
        Self {
            elf,
            listing,
            options,
            seconds,
            state: None,
            monitor: None,
            stop: None,
            log_port: None,
            epoch: None,
            forward: None,
            datagrams: None,
            updates: None,
            token: None,
            settings: None,
            headers: None,
        }
    }

    /// The pages that were kept at the end of a run, those of the list included.
    ///
    /// # Errors
    /// The list cannot be run.
    pub fn collection(&self, report: &Report) -> Result<Vec<String>> {
        let (_, order) = page_image::build(self.listing, self.options)?;
        let pages = &self.listing.list.pages;
        let listed = order.iter().zip(0..).filter_map(|(index, number)| {
            let gone = report.collection.contains_key(&number);
            (!gone).then(|| pages[*index].url.clone())
        });
        let found = report.collection.values().flatten().cloned();
        Ok(listed.chain(found).collect())
    }

    /// Visits are kept beside a state, where it is known what the pages' numbers mean: not with
    /// lists that come from a planner or as an update.
    fn visit_log(&self) -> Result<Option<VisitLog>> {
        let state = self.state.filter(|_| self.settings.is_none());
        let state = state.filter(|_| self.updates.is_none());
        Ok(state.map(VisitLog::of_state).transpose()?)
    }

    /// The URL of a page: one that was found, or one of the list, which lies in the image in this
    /// order.
    fn url<'u>(&'u self, page: u16, order: &[usize], report: &'u Report) -> Option<&'u str> {
        match report.collection.get(&page) {
            Some(found) => found.as_deref(),
            None => {
                let place = order.get(usize::from(page))?;
                let listed = self.listing.list.pages.get(*place)?;
                Some(&listed.url)
            }
        }
    }

    /// Boots the firmware and hands each line of its log to `show`.
    pub fn run(&self, mut show: impl FnMut(&Line)) -> Result<Report> {
        let https = page_image::wants_https(self.listing, self.options);
        let (image, order) = page_image::build(self.listing, self.options)?;
        let image = ImageFile::write(&image, self.elf)?;
        let settings = self.settings;
        let settings = settings.map(|told| ImageFile::write_settings(told, self.elf));
        let settings = settings.transpose()?;
        let deadline = Duration::from_secs(self.seconds.into()) + GRACE;
        // Without a file, URLs that are found would have no flash.
        let scratch = (self.state.is_none() && self.options.discovery.is_some())
            .then(|| Scratch(qemu::temporary("found")));
        let state = self.state.or(scratch.as_ref().map(|file| file.0.as_path()));
        let state = match (state, self.updates) {
            (Some(state), Some(_)) => Some(StateFile::open_with_slots(state, self.elf)?),
            (state, _) => state.map(StateFile::open).transpose()?,
        };
        if let Some((file, build)) = self
            .state
            .zip(state.as_ref().and_then(StateFile::other_build))
        {
            say(format_args!(
                "{} holds {build}, and that runs: what was built now comes as an update, or onto a new --state",
                file.display()
            ));
        }
        let mut options = vec![format!("seconds={}", self.seconds)];
        options.extend(state.iter().map(StateFile::option));
        options.extend(self.epoch.map(|epoch| format!("epoch={epoch}")));
        options.extend(self.token.map(|token| format!("token={token}")));
        options.extend(self.headers.map(|lines| {
            let digits: String = lines.bytes().map(|byte| format!("{byte:02x}")).collect();
            format!("headers={digits}")
        }));
        if https || settings.is_some() {
            options.push(format!("entropy={}", entropy()?));
        }
        let updates = self.updates;
        options.extend(updates.iter().flat_map(|updates| updates.options.to_vec()));
        let attached = Attached {
            boot_loader: updates.map(|updates| updates.boot_loader),
            other_builds: updates.map_or(&[], |updates| updates.other_builds),
            image: Some((&image.path, image.address)),
            settings: settings.as_ref().map(|file| (&*file.path, file.address)),
            network: true,
            monitor: self.monitor,
            stop: self.stop,
            log_port: self.log_port,
            forward: self.forward,
            datagrams: self.datagrams,
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
        let mut visits = self.visit_log()?;
        let mut unwritten = None;
        let end = qemu::run(machine, |line| {
            report.read(line);
            if let (Some(log), Some((page, changed))) = (&mut visits, report.visit.take())
                && let Some(url) = self.url(page, &order, &report)
                && let Err(why) = log.visit(url, changed)
            {
                unwritten.get_or_insert(why);
            }
            show(line);
        })?;
        if let Some(why) = unwritten {
            say(format_args!("{why}: visits are missing there"));
        }
        end.success("the firmware", deadline)?;
        ensure!(
            report.lost == 0,
            "{} log frames could not be decoded",
            report.lost
        );
        Ok(report)
    }
}

/// A file that is removed when dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Report {
    pub fn read(&mut self, line: &Line) {
        self.lost += usize::from(line.level == Level::Lost);
        let summary = &mut self.summary;
        match LoggedEvent::read(&line.message) {
            Some(LoggedEvent::Loaded { pages, .. }) => {
                // The firmware counts from here on.
                self.pages = pages;
                self.firsts = 0;
            }
            Some(LoggedEvent::First { page }) => self.first = Some(page),
            Some(LoggedEvent::End { page, changed, .. }) => {
                self.longest_end = self.longest_end.max(line.bytes);
                let first = self.first.take() == Some(page);
                self.firsts += u32::from(changed && first);
                self.visit = Some((page, changed && !first));
            }
            Some(LoggedEvent::Totals(totals)) => {
                summary.fetches = totals.fetches.into();
                summary.not_modified = totals.not_modified.into();
                summary.changed = totals.changed.saturating_sub(self.firsts).into();
                summary.first_versions = self.firsts.into();
                let pages = f64::from(self.pages);
                let visits = f64::from(totals.fetches) / pages;
                summary.visits_a_page = (pages > 0.0).then_some(visits);
                summary.errors = totals.errors.into();
                summary.robots_denied = totals.denied.into();
                summary.bytes = totals.bytes;
            }
            Some(LoggedEvent::Collected { .. }) => self.collected += 1,
            Some(LoggedEvent::Uncollected { .. }) => self.uncollected += 1,
            Some(LoggedEvent::Resumed(resumed)) => summary.resumed_pages = resumed.pages.into(),
            Some(LoggedEvent::Collection {
                found,
                admitted,
                replaced,
                ..
            }) => {
                summary.found = found.into();
                summary.admitted = admitted.into();
                summary.replaced = replaced.into();
            }
            Some(LoggedEvent::Plan {
                freshness, optimum, ..
            }) => {
                summary.freshness_estimate = freshness;
                summary.optimum_estimate = optimum;
            }
            _ => {}
        }
        match LoggedFoundEvent::read(&line.message) {
            Some(
                LoggedFoundEvent::Admitted { page, url, .. } | LoggedFoundEvent::Kept { page, url },
            ) => _ = self.collection.insert(page, Some(url.to_owned())),
            Some(LoggedFoundEvent::Replaced { page, .. }) => {
                self.collection.insert(page, None);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    fn report(lines: &[&str]) -> Report {
        let mut report = Report::default();
        for message in lines {
            report.read(&Line {
                micros: Some(0),
                level: Level::Info,
                message: (*message).to_owned(),
                bytes: 0,
            });
        }
        report
    }

    /// `--json` prints what `dunlin run --format json` prints last, by the same schema.
    #[test]
    fn the_summary_is_described_by_the_schema_of_a_runs_end() {
        let schema = root().join("boards/host/schemas/run-summary.schema.json");
        let schema = std::fs::read_to_string(schema).expect("a schema");
        let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
        for share in [None, Some(0.5)] {
            let summary = Summary {
                freshness_estimate: share,
                optimum_estimate: share,
                ..Summary::default()
            };
            let summary = serde_json::to_value(summary).expect("JSON");
            let summary = summary.as_object().expect("an object");
            for (name, value) in summary {
                let kind = match value {
                    serde_json::Value::Null => "null",
                    value if value.is_u64() => "integer",
                    _ => "number",
                };
                let types = &schema["properties"][name]["type"];
                let described = types.as_str().is_some_and(|only| only == kind);
                let of_several = types
                    .as_array()
                    .is_some_and(|all| all.contains(&kind.into()));
                assert!(described || of_several, "{name}: {value}, expected {types}");
            }
            let required = schema["required"].as_array().expect("a list");
            let missing = |name: &&serde_json::Value| {
                !name.as_str().is_some_and(|name| summary.contains_key(name))
            };
            assert_eq!(required.iter().find(missing), None);
        }
    }

    #[test]
    fn the_first_version_of_a_page_is_no_change() {
        let lines = [
            "loaded pages=2 hosts=1",
            "first page=0",
            "end page=0 status=200 bytes=9 ms=1 changed=true",
            "first page=1",
            "end page=1 status=200 bytes=9 ms=1 changed=true",
            "end page=0 status=200 bytes=9 ms=1 changed=true",
            "plan price=1 freshness=0.5 optimum=0.75",
            "totals fetches=3 same=0 changed=3 errors=0 denied=0 bytes=27 late_s=0",
        ];
        let summary = report(&lines).summary;
        assert_eq!((summary.changed, summary.first_versions), (1, 2));
        let text = summary.to_string();
        assert!(
            text.contains("changes found  1 (besides 2 first versions)"),
            "{text}"
        );
        assert!(
            text.contains("freshness      still learning (1.5 visits a page)"),
            "{text}"
        );
        // What a machine reads is what the firmware believes.
        let json = serde_json::to_value(&summary).expect("JSON");
        assert_eq!(json["freshness_estimate"], 0.5);
        assert_eq!(json["first_versions"], 2);
    }

    #[test]
    fn what_was_collected_and_what_was_not_is_counted() {
        let report = report(&[
            "collected page=0 ms=12",
            "not collected page=1 why=Slow",
            "collected page=1 ms=9",
        ]);
        assert_eq!((report.collected, report.uncollected), (2, 1));
    }

    #[test]
    fn an_estimate_after_ten_visits_a_page_is_shown() {
        let summary = report(&[
            "loaded pages=2 hosts=1",
            "plan price=1 freshness=0.5 optimum=0.75",
            "totals fetches=20 same=0 changed=3 errors=0 denied=0 bytes=27 late_s=0",
        ])
        .summary;
        let text = summary.to_string();
        assert!(text.contains("freshness      0.500"), "{text}");
    }
}
