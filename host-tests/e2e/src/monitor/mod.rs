//! The monitor end to end: a probe in QEMU watched live in a real browser, and the terminal view in
//! tmux, screen by screen.

mod ansi;
mod browser;
mod collection;
mod hostile;
mod live;
mod log_strings;
pub(crate) mod program;
mod screens;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use dunlin_tools::shell::{root, say};
use dunlin_tools::{firmware, setup};

use self::browser::Browser;
use self::program::Monitor;

/// Runs all of it. `bless` takes what it sees for the truth: a new record, new screens, new
/// pictures for the README.
pub fn monitor(install: bool, bless: bool) -> Result<()> {
    setup::qemu(install)?;
    setup::monitor(install)?;
    let elf = firmware::build(install, firmware::BOARD)?;
    let program = program::build()?;
    let browser = Browser::start()?;
    say("monitor: a probe in QEMU, watched live in a browser");
    let record = live::watch(&elf, &program, &browser)?;
    if bless {
        record.keep(&elf, &Fixture::folder())?;
    }
    say("monitor: what changed, on a phone and by keyboard");
    collection::check(&program, &browser)?;
    say("monitor: what strangers deliver to a collector");
    hostile::check(&program, &browser)?;
    let fixture = Fixture::new();
    say("monitor: the terminal view in tmux");
    let terminal = screens::check(&program, &fixture, bless)?;
    say("monitor: pictures of both views");
    let folder = if bless {
        root().join("host-tests/screenshots")
    } else {
        root().join("target/screenshots")
    };
    fs::create_dir_all(&folder)?;
    let monitor = Monitor::serve(&program, &fixture.arguments())?;
    browser.open(&monitor.url)?;
    live::wait_for(
        &browser,
        "document.querySelector('[data-figure=frames]').textContent !== '–'",
    )?;
    // The firmware of the record takes no updates: where those of another one stand is shown so.
    let said = browser.text(
        "const view = probes.get(selected).view, before = view.updates;\n\
        view.updates = 'slot active, release 7'; draw();\n\
        const said = find('status').textContent; view.updates = before; draw(); return said",
    )?;
    anyhow::ensure!(
        said.contains(", slot active, release 7, "),
        "the page says nothing of updates: {said}"
    );
    picture(&browser, folder.join("web.png"))?;
    browser.open(&format!(
        "data:text/html;charset=utf-8,{}",
        ansi::percent_encoded(&ansi::to_html(&terminal))
    ))?;
    let screen =
        serde_json::json!({"width": 1120, "height": 780, "deviceScaleFactor": 1, "mobile": false});
    browser.devtools("Emulation.setDeviceMetricsOverride", screen)?;
    picture(&browser, folder.join("terminal.png"))
}

fn picture(browser: &Browser, path: PathBuf) -> Result<()> {
    let picture = browser.screenshot()?;
    anyhow::ensure!(picture.starts_with(b"\x89PNG"), "the screenshot is no PNG");
    fs::write(&path, picture).with_context(|| format!("cannot write {}", path.display()))
}

/// A record of a probe's half minute, the log strings of its firmware and its page list.
#[derive(Debug)]
pub struct Fixture {
    pub elf: PathBuf,
    pub log: PathBuf,
    pub pages: PathBuf,
}

impl Fixture {
    fn folder() -> PathBuf {
        root().join("host-tests/data/monitor")
    }

    fn new() -> Self {
        let file = |name| Self::folder().join(name);
        Self {
            elf: file("probe.elf"),
            log: file("probe.defmt"),
            pages: file("pages.csv"),
        }
    }

    /// The options that read it.
    pub fn arguments(&self) -> Vec<String> {
        let option = |name: &str, file: &PathBuf| [name.to_owned(), file.display().to_string()];
        let mut arguments = Vec::new();
        arguments.extend(option("--elf", &self.elf));
        arguments.extend(option("--log", &self.log));
        arguments.extend(option("--pages", &self.pages));
        arguments.extend(["--politeness".into(), live::POLITENESS_TEXT.into()]);
        arguments
    }
}
