//! A probe in QEMU, watched live by `dunlin monitor` and looked at in a browser: what the page says
//! is what the log says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use dunlin_tools::qemu::crawl::{Crawl, Report, Summary};
use dunlin_tools::qemu::list::{LOOPBACK, listing};
use dunlin_tools::qemu::log_port::LogPort;
use dunlin_tools::qemu::page_image::Options;
use dunlin_tools::qemu::temporary;
use dunlin_tools::web::{Answer, Hit, Web};
use serde_json::{Value, json};

use super::browser::Browser;
use super::log_strings::only_log_strings;
use super::program::Monitor;

/// How long the probe crawls.
const SECONDS: u32 = 30;
const POLITENESS: Duration = Duration::from_millis(400);
pub const POLITENESS_TEXT: &str = "400ms";
/// An update has to be on the page by then.
const UPDATED: Duration = Duration::from_secs(2);
/// For what has no limit of its own.
const PATIENCE: Duration = Duration::from_secs(30);

/// Pages, and how many seconds each version lasts; 0 for ever.
const PAGES: &[(&str, &str, u64)] = &[
    ("news.test", "/headlines", 2),
    ("news.test", "/sport", 4),
    ("news.test", "/weather", 7),
    ("news.test", "/archive", 0),
    ("docs.test", "/guide", 15),
    ("docs.test", "/reference", 0),
    ("docs.test", "/private/draft", 0),
    ("shop.test", "/offers", 3),
    ("shop.test", "/catalogue", 10),
    ("shop.test", "/terms", 0),
    ("old.test", "/moved", 0),
    ("busy.test", "/queue", 0),
    ("broken.test", "/", 0),
];

fn site(hit: &Hit) -> Answer {
    match (hit.host.as_str(), hit.path.as_str()) {
        (_, "/robots.txt") => Answer::page("User-agent: *\nDisallow: /private/\n"),
        ("busy.test", _) => Answer::status(503, "Retry-After: 5"),
        ("broken.test", _) => Answer::status(500, "X: broken"),
        (_, "/moved") => Answer::status(301, "Location: /new"),
        (host, path) => {
            let lasts = PAGES
                .iter()
                .find(|page| (page.0, page.1) == (host, path))
                .map_or(0, |page| page.2);
            Answer::version(
                hit,
                hit.at.as_secs().checked_div(lasts).unwrap_or(0) as usize,
            )
        }
    }
}

/// What was seen, and where it is kept until it is dropped.
pub struct Record {
    log: PathBuf,
    pages: PathBuf,
}

impl Record {
    /// Puts it into `folder`, with the log strings of `elf`.
    pub fn keep(&self, elf: &Path, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        fs::copy(&self.log, folder.join("probe.defmt"))?;
        fs::write(folder.join("probe.elf"), only_log_strings(&fs::read(elf)?)?)?;
        // The port was ours for a minute; the log holds numbers only.
        let urls = PAGES
            .iter()
            .map(|(host, path, _)| format!("http://{host}{path}\n"));
        fs::write(
            folder.join("pages.csv"),
            "url\n".to_owned() + &urls.collect::<String>(),
        )?;
        Ok(())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.log);
        let _ = fs::remove_file(&self.pages);
    }
}

/// Runs the probe and looks at it.
pub fn watch(elf: &Path, program: &Path, browser: &Browser) -> Result<Record> {
    let web = Web::start(site)?;
    let pages: Vec<(&str, &str)> = PAGES.iter().map(|page| (page.0, page.1)).collect();
    let list = listing(web.port(), &pages, POLITENESS);
    let record = Record {
        log: temporary("defmt"),
        pages: temporary("csv"),
    };
    let urls = list.list.pages.iter().map(|page| page.url.clone() + "\n");
    fs::write(
        &record.pages,
        "url\n".to_owned() + &urls.collect::<String>(),
    )?;
    let port = LogPort::listen(0)?;
    let mut arguments: Vec<String> = vec!["--elf".into(), elf.display().to_string()];
    arguments.extend(["--pages".into(), record.pages.display().to_string()]);
    arguments.extend(["--politeness".into(), POLITENESS_TEXT.into()]);
    let mut live = arguments.clone();
    live.extend(["--log".into(), format!("tcp:{}", port.address())]);
    live.extend(["--record".into(), record.log.display().to_string()]);
    let monitor = Monitor::serve(program, &live)?;
    browser.open(&monitor.url)?;
    until("the monitor listens to the log", || Ok(port.clients() == 1))?;
    let heard = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let report = thread::scope(|scope| {
        let crawl = scope.spawn(|| crawl(elf, &list, &port, &heard, &stop));
        // A run that nobody waits for would leave its QEMU behind.
        let looked = look(browser, &monitor, &heard);
        stop.store(looked.is_err(), Ordering::Relaxed);
        let report = crawl
            .join()
            .map_err(|_| anyhow::anyhow!("the run panicked"))?;
        looked.and(report)
    })?;
    let decoded = summary(program, &arguments, &record.log)?;
    same_figures(browser, &report.summary, &decoded)?;
    asked_nobody_else(browser, &monitor.url)?;
    Ok(record)
}

/// Looks at the page while the probe is at work.
fn look(browser: &Browser, monitor: &Monitor, heard: &AtomicU64) -> Result<()> {
    updates_arrive(browser, heard)?;
    keyboard(browser)?;
    for scheme in ["light", "dark"] {
        accessible(browser, scheme)?;
    }
    fits_a_phone(browser)?;
    metrics(monitor)
}

fn crawl(
    elf: &Path,
    list: &dunlin_host::lists::listing::Listing,
    port: &LogPort,
    heard: &AtomicU64,
    stop: &AtomicBool,
) -> Result<Report> {
    let options = Options {
        resolve: vec![("*".into(), LOOPBACK)],
        back_off: dunlin::time::Duration::from_secs(4),
        deadline: dunlin::time::Duration::from_secs(5),
        ..Options::default()
    };
    let crawl = Crawl {
        stop: Some(stop),
        log_port: Some(port),
        ..Crawl::new(elf, list, &options, SECONDS)
    };
    crawl.run(|_| {
        heard.fetch_add(1, Ordering::Relaxed);
    })
}

fn until(what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<Duration> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if holds()? {
            return Ok(start.elapsed());
        }
        thread::sleep(Duration::from_millis(20));
    }
    bail!("waited {} s in vain: {what}", PATIENCE.as_secs())
}

/// Waits until an expression in the page is true.
pub fn wait_for(browser: &Browser, expression: &str) -> Result<Duration> {
    until(expression, || {
        Ok(browser.run(&format!("return {expression}"))? == true)
    })
}

/// From the moment a line has left QEMU until the page counts it: half of the tries within two
/// seconds, so that one hiccup of a busy computer fails nothing.
fn updates_arrive(browser: &Browser, heard: &AtomicU64) -> Result<()> {
    until(
        "the probe speaks",
        || Ok(heard.load(Ordering::Relaxed) > 10),
    )?;
    let mut times = Vec::new();
    for _ in 0..7 {
        let lines = heard.load(Ordering::Relaxed);
        let shown = format!(
            "Number(document.querySelector('[data-figure=frames]').textContent) >= {lines}"
        );
        times.push(wait_for(browser, &shown)?);
        thread::sleep(Duration::from_millis(700));
    }
    times.sort();
    println!(
        "monitor: a line is on the page after {} ms (median of {})",
        times[3].as_millis(),
        times.len()
    );
    ensure!(
        times[3] <= UPDATED,
        "updates took {times:?}, {} s are allowed",
        UPDATED.as_secs()
    );
    Ok(())
}

fn keyboard(browser: &Browser) -> Result<()> {
    browser.press("/news")?;
    let rows =
        "[...document.querySelectorAll('#pages tbody tr')].map((row) => row.cells[0].textContent)";
    wait_for(
        browser,
        &format!("{rows}.length === 4 && {rows}.every((url) => url.includes('news'))"),
    )?;
    // Escape leaves the field; `p` then is no letter, but the pause.
    browser.press("\u{e00c}p")?;
    wait_for(
        browser,
        "document.getElementById('pause').getAttribute('aria-pressed') === 'true'",
    )?;
    browser.press("p")?;
    browser.run(
        "const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input'))",
    )?;
    wait_for(browser, &format!("{rows}.length === {}", PAGES.len()))?;
    browser.run("document.querySelector('#pages [data-key=visits] button').click()")?;
    wait_for(
        browser,
        "document.querySelector('#pages [data-key=visits]').getAttribute('aria-sort') === 'ascending'",
    )?;
    browser
        .run("document.querySelector('#pages [data-key=url] button').click()")
        .map(drop)
}

fn accessible(browser: &Browser, scheme: &str) -> Result<()> {
    let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
    browser.devtools("Emulation.setEmulatedMedia", features)?;
    let problems = browser.text(include_str!("accessible.js"))?;
    ensure!(
        problems.is_empty(),
        "the page in {scheme} colours is hard to use:\n{problems}"
    );
    Ok(())
}

fn fits_a_phone(browser: &Browser) -> Result<()> {
    let phone = json!({"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true});
    browser.devtools("Emulation.setDeviceMetricsOverride", phone)?;
    let width = browser.run("return document.scrollingElement.scrollWidth")?;
    browser.devtools("Emulation.clearDeviceMetricsOverride", json!({}))?;
    let features = json!({"features": [{"name": "prefers-color-scheme", "value": "light"}]});
    browser.devtools("Emulation.setEmulatedMedia", features)?;
    ensure!(
        width.as_u64().is_some_and(|width| width <= 360),
        "the page is {width} wide on a phone of 360"
    );
    Ok(())
}

/// A real parser of the format reads the metrics, and finds in them what the probe does.
fn metrics(monitor: &Monitor) -> Result<()> {
    let file = temporary("metrics");
    fs::write(&file, monitor.get("/metrics")?)?;
    let script = "import sys\nfrom prometheus_client.parser import text_string_to_metric_families as read\n\
        families = list(read(open(sys.argv[1], encoding='utf-8').read()))\n\
        assert all(family.documentation and family.type != 'unknown' for family in families), families\n\
        print(len(families), sum(len(family.samples) for family in families))";
    let output = Command::new(dunlin_tools::setup::SYSTEM_PYTHON)
        .args(["-c", script])
        .arg(&file)
        .output();
    let _ = fs::remove_file(&file);
    let output = output.context("cannot start python3")?;
    let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    ensure!(
        output.status.success(),
        "Prometheus' parser refuses the metrics: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (families, samples) = found
        .split_once(' ')
        .context("the parser counted nothing")?;
    ensure!(
        families.parse::<u32>()? >= 20 && samples.parse::<u32>()? >= 30,
        "the parser found {found}"
    );
    Ok(())
}

/// The figures of a record, as the program decodes it afterwards.
fn summary(program: &Path, arguments: &[String], log: &Path) -> Result<Value> {
    let output = Command::new(program)
        .arg("monitor")
        .args(arguments)
        .arg("--log")
        .arg(log)
        .args(["--summary", "--format", "json"])
        .output()?;
    ensure!(
        output.status.success(),
        "decoding the record failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The page shows what the log says, and the log says what the probe counted.
fn same_figures(browser: &Browser, counted: &Summary, decoded: &Value) -> Result<()> {
    for (name, own) in [
        ("fetches", counted.fetches),
        ("not_modified", counted.not_modified),
        ("changed", counted.changed),
        ("first_versions", counted.first_versions),
        ("errors", counted.errors),
        ("robots_denied", counted.robots_denied),
    ] {
        let told = decoded[name].as_u64();
        ensure!(
            told == Some(own),
            "{name}: the log tells of {told:?}, the probe counted {own}"
        );
        ensure!(own > 0, "{name} did not happen");
    }
    ensure!(
        decoded["lost_frames"] == 0,
        "{} frames were lost",
        decoded["lost_frames"]
    );
    let text = |name: &str| {
        browser.text(&format!(
            "return document.querySelector('[data-figure={name}]').textContent"
        ))
    };
    let frames = decoded["frames"].to_string();
    until("the page shows the whole log", || {
        Ok(text("frames")? == frames)
    })?;
    for name in [
        "fetches",
        "changed",
        "errors",
        "robots_denied",
        "lost_frames",
    ] {
        let shown = text(name)?;
        let expected = decoded[name].to_string();
        ensure!(
            shown == expected,
            "{name}: {shown} on the page, {expected} in the log"
        );
    }
    let number = |name: &str| {
        decoded[name]
            .as_f64()
            .with_context(|| format!("no {name} in the log"))
    };
    // Half-way figures are rounded up by a browser and to even here: to half of the last digit,
    // whatever that is.
    for (name, factor, half) in [
        ("not_modified_share", 100.0, 0.051),
        ("freshness_reported", 1.0, 0.000_51),
        ("optimum", 1.0, 0.000_51),
    ] {
        let shown = text(name)?;
        let expected = factor * number(name)?;
        let figure: f64 = shown
            .trim_end_matches(" %")
            .parse()
            .with_context(|| format!("{name}: {shown}"))?;
        ensure!(
            (figure - expected).abs() <= half,
            "{name}: {shown} on the page, {expected} in the log"
        );
    }
    for page in decoded["pages"].as_array().context("no pages in the log")? {
        let url = page["url"].as_str().context("a page without URL")?;
        let row = format!(
            "const row = [...document.querySelectorAll('#pages tbody tr')].find((row) => row.cells[0].textContent === {}); \
            return [1, 5, 6, 7].map((cell) => row.cells[cell].textContent).join(' ')",
            json!(url)
        );
        let status = page["status"].as_str().unwrap_or("–");
        let expected = format!(
            "{status} {} {} {}",
            page["visits"], page["changes"], page["errors"]
        );
        let shown = browser.text(&row)?;
        ensure!(
            shown == expected,
            "{url}: {shown:?} on the page, {expected:?} in the log"
        );
    }
    Ok(())
}

/// No error in the console, and no request to anybody but the monitor.
pub(super) fn asked_nobody_else(browser: &Browser, url: &str) -> Result<()> {
    let console = browser.log("browser")?;
    ensure!(console.is_empty(), "the console says {console:?}");
    let mut requests = 0;
    for entry in browser.log("performance")? {
        let message: Value = serde_json::from_str(entry["message"].as_str().unwrap_or_default())?;
        let event = &message["message"];
        if event["method"] == "Network.requestWillBeSent" {
            let asked = event["params"]["request"]["url"]
                .as_str()
                .unwrap_or_default();
            ensure!(
                asked.starts_with(url) || asked.starts_with("data:"),
                "the page asked for {asked}"
            );
            requests += 1;
        }
    }
    ensure!(
        requests >= 2,
        "the browser's log tells of {requests} requests, so it would not tell of others"
    );
    Ok(())
}
