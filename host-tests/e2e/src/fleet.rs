//! A fleet on loopback: a broker, a planner, probes in QEMU and `dunlin run`, judged by the web's
//! own log.

pub mod secure;
pub mod ten_minutes;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use dunlin_host::fleet::broker_url::BrokerUrl;
use dunlin_host::fleet::join_args::Place;
use dunlin_host::lists::listing::Listing;
use dunlin_tools::firmware::budgets::{FLEET, HTTPS};
use dunlin_tools::firmware::told::Told;
use dunlin_tools::qemu::crawl::{Crawl, Report};
use dunlin_tools::qemu::list::{LOOPBACK, listing, options};
use dunlin_tools::qemu::page_image::Options;
use dunlin_tools::qemu::{Line, temporary};
use dunlin_tools::web::{Answer, Hit, Web};

use crate::monitor::program;
use crate::tls::now;
use crate::{show, trace};

/// Hosts of the small web.
const HOSTS: usize = 6;
const PAGES: usize = 2;
/// The gap between two requests to a host, by whichever probe.
const GAP: Duration = Duration::from_secs(1);
/// A busy computer reads one request late and the next one in time.
const SLACK: Duration = Duration::from_millis(150);
/// How long a probe goes on without its planner.
const LEASE: Duration = Duration::from_secs(6);

/// The firmware of a fleet's probe with these features, beside the other.
fn firmware(elf: &Path, features: &[&str]) -> PathBuf {
    let name = elf.file_name().unwrap_or_default().to_string_lossy();
    elf.with_file_name(format!("{name}+{}", features.join("+")))
}

/// A process of `dunlin`, ended when dropped.
struct Process(Child);

impl Process {
    /// Its words go to our own.
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start dunlin")?;
        let stderr = child.stderr.take().context("a pipe")?;
        thread::spawn(move || {
            let lines = BufReader::new(stderr).lines().map_while(Result::ok);
            lines.for_each(|line| eprintln!("{line}"))
        });
        Ok(Self(child))
    }
}

impl Process {
    fn signal(&self, signal: &str) -> Result<()> {
        let mut kill = Command::new("kill");
        let sent = kill.args([signal, &self.0.id().to_string()]).status()?;
        ensure!(sent.success(), "kill {signal} ended with {sent}");
        Ok(())
    }

    /// Waits for its end.
    fn ended(mut self) -> Result<()> {
        self.0.wait().map(drop).context("a process that ends")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        // As Ctrl-C would: a planner ends the broker that it has started.
        let _ = self.signal("-INT");
        for _ in 0..50 {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder of our own, removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a fleet is to do.
#[derive(Default)]
struct Plan {
    /// The text of the fleet's PAGES.csv.
    pages: String,
    per_day: f64,
    lease: Duration,
    /// More options of `fleet init`, …
    init: Vec<OsString>,
    /// … and of the planner.
    options: Vec<OsString>,
}

/// A fleet's folder with credentials for so many probes.
struct Fleet {
    folder: Folder,
    program: PathBuf,
    plan: Plan,
}

impl Fleet {
    fn new(plan: Plan, probes: usize) -> Result<Self> {
        let program = program::build()?;
        let folder = Folder(temporary("fleet"));
        let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let made = Command::new(&program)
            .args(["fleet", "init"])
            .arg(&folder.0)
            .args([
                "--probes",
                &probes.to_string(),
                "--broker",
                &free.to_string(),
            ])
            .args(&plan.init)
            .stdout(Stdio::null())
            .status()?;
        ensure!(made.success(), "dunlin fleet init ended with {made}");
        fs::write(folder.0.join("pages.csv"), &plan.pages)?;
        Ok(Self {
            folder,
            program,
            plan,
        })
    }

    /// Starts the planner, on the broker that these options name.
    fn planner(&self, broker: [&str; 2]) -> Result<Process> {
        let Plan { per_day, lease, .. } = &self.plan;
        let mut planner = Command::new(&self.program);
        planner.arg("fleet").arg(self.folder.0.join("pages.csv"));
        planner.args(broker);
        planner.arg("--state").arg(self.folder.0.join("state"));
        planner.args(["--crawls-per-day", &per_day.to_string()]);
        planner.args(["--listen", "127.0.0.1:0"]);
        planner.args(["--politeness", &format!("{}ms", GAP.as_millis())]);
        planner.args(["--lease", &format!("{}s", lease.as_secs())]);
        planner.args(&self.plan.options);
        Process::start(planner)
    }

    /// Where a probe's credentials are.
    fn url(&self, name: &str) -> PathBuf {
        self.folder.0.join(format!("{name}.url"))
    }

    /// The broker's URL for a probe, with its credentials.
    fn credentials(&self, name: &str) -> Result<BrokerUrl> {
        let text = fs::read_to_string(self.url(name))?;
        BrokerUrl::parse(text.trim()).map_err(anyhow::Error::msg)
    }

    /// A probe in QEMU, for so many seconds; then it is gone as if its power was.
    fn in_qemu(&self, elf: &Path, name: &str, seconds: u32) -> Result<Report> {
        in_qemu(elf, &self.credentials(name)?, seconds, &[], None, |_| {})
    }

    /// The same with a flash that outlives it: a file in the fleet's folder.
    fn in_qemu_with_flash(&self, elf: &Path, name: &str, seconds: u32) -> Result<Report> {
        let flash = self.flash(name);
        let broker = self.credentials(name)?;
        in_qemu(elf, &broker, seconds, &[], Some(&flash), |_| {})
    }

    /// The flash of a probe that has one.
    fn flash(&self, name: &str) -> PathBuf {
        self.folder.0.join(format!("{name}.flash"))
    }

    /// A probe on this computer.
    fn on_this_computer(&self, name: &str) -> Result<Process> {
        let mut run = Command::new(&self.program);
        let url = self.url(name);
        run.args(["run", "--fleet", &format!("@{}", url.display())]);
        run.args(["--lease", &format!("{}s", self.plan.lease.as_secs())]);
        run.args(["--resolve", "*=127.0.0.1"]);
        Process::start(run)
    }
}

/// Options of a device to which every host is this computer.
fn everywhere() -> Options {
    let hosts = ["*", "127.0.0.1"];
    Options {
        resolve: hosts.map(|name| (name.into(), LOOPBACK)).into(),
        ..options()
    }
}

/// A probe in QEMU, for so many seconds, with these credentials and authorities of its own. Its log
/// goes to `hear`, too.
fn in_qemu(
    elf: &Path,
    broker: &BrokerUrl,
    seconds: u32,
    authorities: &[Vec<u8>],
    flash: Option<&Path>,
    mut hear: impl FnMut(&Line),
) -> Result<Report> {
    let name = &broker.user;
    let told = Told::default().with_fleet(Place {
        broker,
        probe: name,
        lease: dunlin::time::Duration::HOUR,
    })?;
    let told = told.bytes()?;
    let options = Options {
        authorities: authorities.to_vec(),
        ..everywhere()
    };
    let nothing = Listing::default();
    let crawl = Crawl {
        settings: told.as_deref(),
        state: flash,
        epoch: broker.tls.then(now),
        ..Crawl::new(elf, &nothing, &options, seconds)
    };
    crawl.run(|line| {
        trace(format_args!("{name}: {line}"));
        hear(line);
    })
}

/// Every page of the web, by its host.
fn all() -> impl Iterator<Item = (String, String)> {
    let hosts = (0..HOSTS).map(|host| format!("h{host}.test"));
    hosts.flat_map(|host| (0..PAGES).map(move |page| (host.clone(), format!("/page{page}"))))
}

/// No two requests to a host are closer than its gap, whoever makes them, but for what a server may
/// read late.
fn judge(log: &[Hit], slack: Duration) -> Result<Duration> {
    let mut last = BTreeMap::new();
    let mut shortest = Duration::MAX;
    for hit in log {
        if let Some(before) = last.insert(hit.host.clone(), hit.at) {
            let gap = hit.at.saturating_sub(before);
            shortest = shortest.min(gap);
            ensure!(
                gap + slack >= GAP,
                "{}{} was asked for {gap:?} after the last request to its host",
                hit.host,
                hit.path
            );
        }
    }
    Ok(shortest)
}

/// Every page was visited in this time.
fn visited(log: &[Hit], from: Duration, to: Duration) -> Result<()> {
    for (host, page) in all() {
        let found = log
            .iter()
            .any(|hit| hit.host == host && hit.path == page && (from..to).contains(&hit.at));
        ensure!(
            found,
            "{host}{page} was not visited from {from:?} to {to:?}"
        );
    }
    Ok(())
}

/// Two probes in QEMU and one on this computer share a web. One in QEMU is gone after a while: its
/// pages are visited by the others, and no host is asked too soon by anybody at any time. In the
/// end the other one leaves the fleet.
pub fn shares(elf: &Path) -> Result<()> {
    const WHOLE: u32 = 40;
    const PART: u32 = 16;
    let elf = firmware(elf, &[FLEET, HTTPS]);
    let web = Web::start(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::status(404, "X: none"),
        _ => Answer::version(hit, 1),
    })?;
    let pages = all().map(|(host, page)| format!("http://{host}:{}{page}\n", web.port()));
    let plan = Plan {
        pages: ["url\n".to_owned()].into_iter().chain(pages).collect(),
        per_day: 200_000.0,
        lease: LEASE,
        ..Plan::default()
    };
    let fleet = Fleet::new(plan, 3)?;
    let planner = fleet.planner(["--mosquitto", &fleet.folder.0.to_string_lossy()])?;
    let (stays, leaves) = thread::scope(|scope| {
        let stays = scope.spawn(|| fleet.in_qemu_with_flash(&elf, "p1", WHOLE));
        let leaves = scope.spawn(|| fleet.in_qemu(&elf, "p2", PART));
        let run = fleet.on_this_computer("p3");
        let leaves = leaves.join().map(|report| (report, web.now()));
        let stays = stays.join();
        drop(run?);
        match (stays, leaves) {
            (Ok(stays), Ok((leaves, gone))) => Ok((stays?, (leaves?, gone))),
            _ => bail!("a probe's thread panicked"),
        }
    })?;
    let (leaves, gone) = leaves;
    let log = web.log();
    let shortest = judge(&log, SLACK)?;
    show(format_args!(
        "{} requests, {} by p1 and {} by p2, the closest two after {shortest:?}",
        log.len(),
        stays.summary.fetches,
        leaves.summary.fetches
    ));
    ensure!(
        stays.summary.fetches > 0 && leaves.summary.fetches > 0,
        "a probe in QEMU has fetched nothing"
    );
    visited(&log, Duration::ZERO, gone)?;
    visited(&log, gone + LEASE + GAP, Duration::MAX)?;
    drop(planner);
    is_alone_again(&elf, &fleet.flash("p1"), &web)
}

/// A device that has left its fleet, without a broker and a planner, crawls the list that it was
/// loaded with, and knows what it has learnt about pages that are on that one, too.
fn is_alone_again(elf: &Path, flash: &Path, web: &Web) -> Result<()> {
    const SECONDS: u32 = 12;
    let mut own: Vec<(String, String)> = all().collect();
    own.push(("own.test".to_owned(), "/page0".to_owned()));
    let pages: Vec<(&str, &str)> = own.iter().map(|(host, path)| (&**host, &**path)).collect();
    let listing = listing(web.port(), &pages, GAP);
    let options = everywhere();
    let before = web.log().len();
    let crawl = Crawl {
        state: Some(flash),
        ..Crawl::new(elf, &listing, &options, SECONDS)
    };
    let report = crawl.run(|line| trace(format_args!("alone: {line}")))?;
    let log = web.log();
    let hits = log.get(before..).unwrap_or_default();
    judge(hits, SLACK)?;
    let is_own = |hit: &&Hit| {
        let is_same = |(host, path): &(String, String)| hit.host == *host && hit.path == *path;
        hit.path == "/robots.txt" || own.iter().any(is_same)
    };
    if let Some(hit) = hits.iter().find(|hit| !is_own(hit)) {
        bail!("{}{} is not on its own list", hit.host, hit.path);
    }
    for (host, path) in &own {
        let found = hits
            .iter()
            .any(|hit| hit.host == *host && hit.path == *path);
        ensure!(found, "{host}{path} of its own list was not visited");
    }
    let known = report.summary.resumed_pages;
    ensure!(
        (PAGES as u64..own.len() as u64).contains(&known),
        "{known} pages of its own list were known, expected those that it had in its fleet"
    );
    Ok(())
}
