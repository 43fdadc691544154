//! What handing copies to a collector costs the probe: instructions a byte, by running the same
//! firmware on the same pages with a collector and without.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dunlin::probe::{LoggedBoardEvent, LoggedEvent};
use dunlin_host::archive::{Archive, Settings};
use dunlin_host::collect::server;
use dunlin_tools::firmware::budgets::COLLECT;
use dunlin_tools::qemu::list::{self, LOOPBACK, listing};
use dunlin_tools::qemu::page_image::{self, ImageFile, Options};
use dunlin_tools::qemu::{self, Attached, Machine, Time, temporary};
use dunlin_tools::web::{Answer, Web};
use dunlin_tools::{firmware, setup};

use super::row::{Limit, Row};

/// How long each of the two runs is.
const SECONDS: u32 = 15;
const DEADLINE: Duration = Duration::from_secs(90);
/// Bytes of a page.
const PAGE: usize = 60_000;
/// What a visit may take. The core is a slow one here, 8 million instructions a second, and a probe
/// waits for its collector a sixth of this: with the five seconds of other runs it would give up
/// copies that take a second because three are made at a time.
const PATIENCE: dunlin::time::Duration = dunlin::time::Duration::from_secs(30);

/// What a run took.
struct Cost {
    instructions: f64,
    bytes: f64,
    /// Copies that the collector has acknowledged.
    collected: usize,
    /// Why others were given up.
    given_up: Vec<String>,
}

impl Cost {
    fn a_byte(&self) -> f64 {
        self.instructions / self.bytes
    }
}

/// The row.
///
/// # Errors
/// It cannot be measured, or copies were given up: their cost would count, and their bytes not.
pub fn rows(install: bool) -> Result<Vec<Row>> {
    setup::qemu(install)?;
    let folder = temporary("bench-archive");
    let archive = Archive::open(&folder, Settings::default())?;
    let (address, _) = server::start("127.0.0.1:0".parse()?, archive, None, Box::new(|_| {}))?;
    let with = run(install, Some(address.port()));
    let without = run(install, None);
    let _ = std::fs::remove_dir_all(&folder);
    let with = with?;
    let without = without?;
    ensure!(
        with.given_up.is_empty() && with.collected > 20,
        "{} pages were collected, more than 20 expected; given up were {:?}, none expected",
        with.collected,
        with.given_up
    );
    let more = with.instructions - without.a_byte() * with.bytes;
    Ok(vec![Row {
        room: "device · collect".into(),
        what: "a copy to the collector, pages of 60 kB, a byte".into(),
        ours: more / (with.collected * PAGE) as f64,
        unit: "instructions".into(),
        other: Some(("fetching alone".into(), without.a_byte())),
        limit: Limit::Most(15.0),
        place: None,
    }])
}

fn run(install: bool, collector: Option<u16>) -> Result<Cost> {
    let elf = firmware::build_firmware(install, &[COLLECT.to_owned()])?;
    let count = AtomicUsize::new(0);
    let web = Web::start(move |hit| match hit.path.as_str() {
        "/robots.txt" => Answer::status(404, "X: none"),
        _ => {
            let version = count.fetch_add(1, Ordering::Relaxed);
            let line = format!("version {version} of {}\n", hit.path);
            let mut page = line.repeat(PAGE / line.len() + 1);
            page.truncate(PAGE);
            Answer::page(&page)
        }
    })?;
    let pages = [("a.test", "/a"), ("b.test", "/b"), ("c.test", "/c")];
    let options = Options {
        resolve: vec![("*".into(), LOOPBACK)],
        deadline: PATIENCE,
        collector: collector.map(|port| format!("http://{LOOPBACK}:{port}/")),
        ..list::options()
    };
    let list = listing(web.port(), &pages, Duration::from_millis(200));
    let (image, _) = page_image::build(&list, &options)?;
    let image = ImageFile::write(&image, &elf)?;
    let arguments = [format!("seconds={SECONDS}")];
    let machine = Machine {
        elf: &elf,
        options: &arguments,
        time: Time::Counted,
        deadline: DEADLINE,
        attached: Attached {
            image: Some((&image.path, image.address)),
            network: true,
            log_to_file: true,
            ..Attached::default()
        },
    };
    let mut awake = None;
    let mut bytes = 0.0;
    let mut collected = 0;
    let mut given_up = Vec::new();
    qemu::run(machine, |line| {
        match LoggedEvent::read(&line.message) {
            Some(LoggedEvent::Totals(totals)) => bytes = totals.bytes as f64,
            Some(LoggedEvent::Collected { .. }) => collected += 1,
            Some(LoggedEvent::Uncollected { why, .. }) => given_up.push(why.to_owned()),
            _ => {}
        }
        let said = LoggedBoardEvent::read(&line.message);
        if let Some(LoggedBoardEvent::Power { awake_millis }) = said {
            awake = Some(awake_millis as f64);
        }
    })?
    .success("the firmware", DEADLINE)?;
    let awake = awake.context("the firmware did not say how long it was awake")?;
    ensure!(bytes > 10.0 * PAGE as f64, "{bytes} bytes were fetched");
    Ok(Cost {
        instructions: Time::Counted.instructions(1e6 * awake),
        bytes,
        collected,
        given_up,
    })
}
