//! Copies from probes in QEMU and from `dunlin run` to one collector, judged by the web's own log.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use dunlin_host::archive::reader::Reader;
use dunlin_host::filter::Filter;
use dunlin_host::filter::markers::Markers;
use dunlin_host::lists::listing::Listing;
use dunlin_tools::firmware::budgets::{COLLECT, FILTER, HEADERS};
use dunlin_tools::qemu::crawl::{Crawl, Report};
use dunlin_tools::qemu::list::{LOOPBACK, listing, options};
use dunlin_tools::qemu::temporary;
use dunlin_tools::shell::root;
use dunlin_tools::web::changing::{Changing, Rates, World, host};
use dunlin_tools::web::{Answer, Hit, Web};
use flate2::read::MultiGzDecoder;

use crate::command::TextFile;
use crate::monitor::program;
use crate::{show, trace};

/// Probes in QEMU; one more host is for `dunlin run`.
const PROBES: usize = 3;
/// So many pages are on the list of each.
const PAGES: usize = 4;
/// The gap between two requests to a host.
const GAP: Duration = Duration::from_millis(400);
/// What was asked for so long before the end has been concluded, and delivered or not.
const SETTLED: Duration = Duration::from_secs(4);
/// How long a collector that was killed is away.
const AWAY: Duration = Duration::from_secs(1);
/// A collector that was away is asked again within this.
const REST: Duration = Duration::from_secs(12);
/// Deliveries of a probe at a time.
const SLOTS: usize = qemu_mps2_capacity::SLOTS;
const TOKENS: [&str; PROBES + 1] = [
    "token-of-probe-0",
    "token-of-probe-1",
    "token-of-probe-2",
    "token-of-computer",
];

/// The firmware that collects, beside the other. All cases share the one with filters and headers.
fn firmware(elf: &Path) -> PathBuf {
    let name = elf.file_name().unwrap_or_default().to_string_lossy();
    elf.with_file_name(format!("{name}+{COLLECT}+{FILTER}+{HEADERS}"))
}

/// Bodies of very different lengths; the longest take many windows.
fn body(path: &str, version: usize) -> String {
    let line = format!("{path} version {version}\n");
    let page: usize = path.trim_start_matches("/page").parse().unwrap_or(0);
    line.repeat([3, 60, 500, 3_000][page % 4])
}

/// Serves a changing world with bodies of our own, and tags.
fn serve(world: &Arc<World>) -> Result<Web> {
    let world = Arc::clone(world);
    Web::start(move |hit| {
        let known = |page: &&Changing| page.path == hit.path && host(page.host) == hit.host;
        let Some(page) = world.pages.iter().find(known) else {
            return Answer::status(404, "X: none");
        };
        let version = page.version(hit.at);
        let answer = Answer::version(hit, version);
        match answer.status {
            304 => answer,
            _ => Answer {
                body: body(&hit.path, version),
                ..answer
            },
        }
    })
}

/// The pages of one host of a world.
fn pages_of(listing: &Listing, place: usize) -> Listing {
    let mut part = listing.clone();
    part.list.pages.retain(|page| page.host == place);
    part.list.pages.iter_mut().for_each(|page| page.host = 0);
    part.list.hosts = vec![listing.list.hosts[place].clone()];
    part.gates = vec![listing.gates[place].clone()];
    part.gate_of_host = vec![0];
    part
}

/// A collector, and what it keeps. Ends when dropped.
struct Collector {
    child: Child,
    address: SocketAddr,
}

impl Collector {
    fn start(program: &Path, archive: &Path, tokens: &Path, address: &str) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["collect", "--listen", address, "--archive"])
            .arg(archive)
            .arg("--tokens")
            .arg(tokens)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start dunlin collect")?;
        let stderr = child.stderr.take().context("a pipe")?;
        let mut lines = BufReader::new(stderr).lines();
        let found = lines.by_ref().find_map(|line| {
            let line = line.ok()?;
            let address = line.split_once("http://")?.1.trim_end_matches('/');
            address.parse().ok()
        });
        // Whoever does not read on would stop it.
        thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .for_each(|line| eprintln!("{line}"))
        });
        let address = found.context("dunlin collect did not say where it listens")?;
        Ok(Self { child, address })
    }

    /// Sends it a signal.
    fn signal(&self, name: &str) -> Result<()> {
        let sent = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        ensure!(sent?.success(), "kill {name}");
        Ok(())
    }

    /// Ends it as a power cut would.
    fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder of our own, removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn crawl(
    elf: &Path,
    listing: &Listing,
    seconds: u32,
    to: Option<(SocketAddr, &str)>,
) -> Result<Report> {
    let mut options = options();
    options.resolve = vec![("*".into(), LOOPBACK)];
    options.collector = to.map(|(address, _)| format!("http://{LOOPBACK}:{}/", address.port()));
    let crawl = Crawl {
        token: to.map(|(_, token)| token),
        ..Crawl::new(elf, listing, &options, seconds)
    };
    crawl.run(|line| trace(line))
}

/// `dunlin run` on one host of the world.
fn run(program: &Path, listing: &Listing, seconds: u32, to: SocketAddr) -> Result<()> {
    let rows = listing
        .list
        .pages
        .iter()
        .map(|page| format!("{}\n", page.url));
    let pages = TextFile::new(&format!("url\n{}", rows.collect::<String>()))?;
    let status = Command::new(program)
        .arg("run")
        .arg(&pages.0)
        .args([
            "--seconds",
            &seconds.to_string(),
            "--resolve",
            "*=127.0.0.1",
        ])
        .args(["--politeness", "400ms", "--crawls-per-day", "max"])
        .args([
            "--collect",
            &format!("http://{to}/"),
            "--collect-token",
            "TOKEN",
        ])
        .env("TOKEN", TOKENS[PROBES])
        .stdout(Stdio::null())
        .status()?;
    ensure!(status.success(), "dunlin run ended with {status}");
    Ok(())
}

/// What a thread has come to.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    match thread.join() {
        Ok(done) => done,
        Err(_) => bail!("a probe's thread panicked"),
    }
}

/// The versions of a page that an archive holds, oldest first. Each is a version of the page,
/// whole.
fn kept(archive: &Reader, url: &str, path: &str) -> Result<Vec<usize>> {
    let mut versions = Vec::new();
    for entry in archive.history(url)? {
        ensure!(!entry.is_revisit(), "{url}: a version was delivered twice");
        let version = archive.version(&entry)?;
        let text = String::from_utf8_lossy(&version.body);
        let word = text.lines().next().and_then(|line| line.rsplit(' ').next());
        let number = word.and_then(|word| word.parse().ok());
        let number = number.with_context(|| format!("{url}: found {text:.60}"))?;
        ensure!(
            text == body(path, number),
            "{url}: version {number} is not byte for byte the same"
        );
        versions.push(number);
    }
    let mut once = versions.clone();
    once.sort_unstable();
    once.dedup();
    ensure!(
        once.len() == versions.len(),
        "{url}: {versions:?} has a version twice"
    );
    Ok(versions)
}

/// warcio finds nothing wrong with the archive, and pywb replays every version in it.
fn replayed(program: &Path, archive: &Path, killed: bool) -> Result<()> {
    // Mends what the collector's sudden end has left, and sorts the index.
    let mended = Command::new(program)
        .args(["collect", "--seconds", "0", "--listen", "0", "--archive"])
        .arg(archive)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(mended.success(), "the archive cannot be mended: {mended}");
    let output = Command::new(root().join("target/python/bin/python"))
        .arg(root().join("boards/host/tests/python/archive.py"))
        .arg(archive)
        .arg("--replay")
        .args(killed.then_some("--killed"))
        .output()
        .context("cannot start Python")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "others cannot read it: {said}");
    Ok(())
}

/// The versions that visits of a page have seen until then, each once, and the last one.
fn seen(page: &Changing, log: &[Hit], from: Duration, to: Duration) -> Vec<usize> {
    let of_page = |hit: &&Hit| {
        let answered = [200, 304].contains(&hit.status);
        answered
            && hit.path == page.path
            && hit.host == host(page.host)
            && (from..to).contains(&hit.at)
    };
    let mut versions: Vec<usize> = log
        .iter()
        .filter(of_page)
        .map(|hit| page.version(hit.at))
        .collect();
    versions.dedup();
    versions
}

/// Judges the archive by the web's own log: it holds nothing that no visit brought, each version
/// once, and every version that one brought in the given span. Counts the versions of each host.
fn judged(
    world: &World,
    web: &Web,
    archive: &Path,
    span: (Duration, Duration),
) -> Result<BTreeMap<usize, usize>> {
    let log = web.log();
    let archive = Reader::open(archive)?;
    let mut counts = BTreeMap::new();
    for page in &world.pages {
        let url = format!("http://{}:{}{}", host(page.host), web.port(), page.path);
        let kept = kept(&archive, &url, &page.path)?;
        let expected = seen(page, &log, span.0, span.1);
        let missing = expected.iter().filter(|version| !kept.contains(version));
        let missing: Vec<&usize> = missing.collect();
        ensure!(
            missing.is_empty(),
            "{url}: {missing:?} of {expected:?} are not in {kept:?}"
        );
        let all = seen(page, &log, Duration::ZERO, Duration::MAX);
        ensure!(
            kept.iter().all(|version| all.contains(version)),
            "{url}: {kept:?}, seen were {all:?}"
        );
        *counts.entry(page.host).or_insert(0) += kept.len();
    }
    Ok(counts)
}

/// What a probe was told is kept, is; and what is kept beyond that, it has counted as not
/// collected, because it did not hear of it, or was delivering when its time was over. A page that
/// is visited again before the collector has answered is delivered again, and kept once.
fn agrees(kept: usize, report: &Report) -> Result<()> {
    let Report {
        collected,
        uncollected,
        ..
    } = *report;
    let versions = report.summary.changed + report.summary.first_versions;
    let least = collected.min(versions as usize);
    ensure!(
        (least..=collected + uncollected + SLOTS).contains(&kept),
        "{kept} versions are kept; the probe says {collected} collected, {uncollected} not"
    );
    Ok(())
}

/// Three probes and a computer deliver to one collector: every version that a visit brought is
/// there once, byte for byte. If it is killed in between, however often, nothing that is there is
/// half a version, and the current ones are there after their next visit.
pub fn delivers(elf: &Path, seconds: u32, kills: u32) -> Result<()> {
    let program = program::build()?;
    let elf = firmware(elf);
    let hosts = PROBES + 1;
    let world = World::between(
        4.0,
        40.0,
        PAGES * hosts,
        hosts,
        f64::from(seconds) * 2.0,
        26,
    );
    let world = Arc::new(world);
    let web = serve(&world)?;
    let listing = world.listing(web.port(), Rates::Learnt, GAP);
    let archive = Folder(temporary("archive"));
    let names = TOKENS.iter().enumerate();
    let tokens: String = names
        .map(|(place, token)| format!("probe{place} {token}\n"))
        .collect();
    let tokens = TextFile::new(&tokens)?;
    let mut collector = Collector::start(&program, &archive.0, &tokens.0, "127.0.0.1:0")?;
    let address = collector.address;
    let mut back = Duration::ZERO;
    let reports = thread::scope(|scope| {
        let mut probes = Vec::new();
        for (place, token) in TOKENS.iter().take(PROBES).enumerate() {
            let listing = pages_of(&listing, place);
            let elf = &elf;
            probes.push(scope.spawn(move || crawl(elf, &listing, seconds, Some((address, token)))));
        }
        let listing = pages_of(&listing, PROBES);
        let program = &program;
        let computer = scope.spawn(move || run(program, &listing, seconds, address));
        // In two thirds of the time: the last one is to show that all is well again.
        let between = Duration::from_secs(u64::from(seconds)) * 2 / 3 / (kills + 1);
        for _ in 0..kills {
            thread::sleep(between - AWAY);
            collector.kill()?;
            thread::sleep(AWAY);
            let address = address.to_string();
            collector = Collector::start(program, &archive.0, &tokens.0, &address)?;
            // Who has found it away twice in a row rests twice as long.
            back = web.now() + REST * kills.min(2);
        }
        joined(computer)?;
        probes.into_iter().map(joined).collect::<Result<Vec<_>>>()
    })?;
    let end = web.now().saturating_sub(SETTLED);
    drop(collector);
    replayed(&program, &archive.0, kills > 0)?;
    let counts = judged(&world, &web, &archive.0, (back, end))?;
    show(format_args!("versions a probe: {counts:?}"));
    ensure!(
        counts.len() == hosts && counts.values().all(|count| *count > PAGES),
        "{counts:?}"
    );
    counts
        .values()
        .zip(&reports)
        .try_for_each(|(kept, report)| agrees(*kept, report))
}

/// A page whose clock and counter always change, around a story that does so now and then.
fn busy(hit: &Hit, story: usize) -> String {
    let at = hit.at.as_millis();
    format!(
        "<p>{at}</p><main>story {story} of {}<i>seen {at} times</i></main>ad {at}\n",
        hit.path
    )
    .repeat(3)
}

/// What of a page counts is the list's to say, and what requests carry the device's own: only
/// stories are changes, one host is answered because of its token, the other one never sees it, and
/// neither does the collector.
pub fn filters(elf: &Path) -> Result<()> {
    const SECONDS: u32 = 16;
    const SECRET: &str = "s3cret-of-the-roof";
    let program = program::build()?;
    let elf = firmware(elf);
    let web = Web::start(|hit| match (hit.path.as_str(), hit.host.as_str()) {
        ("/robots.txt", _) => Answer::status(404, "X: none"),
        (_, "good.test") if hit.token.as_deref() != Some(SECRET) => Answer::status(401, "X: none"),
        _ => Answer::page(&busy(hit, (hit.at.as_secs() / 4) as usize)),
    })?;
    let port = web.port();
    let pages = [
        ("good.test", "/selected"),
        ("bad.test", "/ignored"),
        ("third.test", "/all"),
    ];
    let mut listing = listing(port, &pages, GAP);
    let selected = Filter::read_select("<main>…<i>").map_err(anyhow::Error::msg)?;
    listing.list.pages[0].filter = Some(Filter {
        select: Some(selected),
        ignore: Vec::new(),
    });
    let ignored = Markers::parse_several("<p>…</p>|seen … times|</main>ad …\n");
    listing.list.pages[1].filter = Some(Filter {
        select: None,
        ignore: ignored.context("markers")?,
    });
    let archive = Folder(temporary("archive"));
    let tokens = TextFile::new(&format!("probe0 {}\n", TOKENS[0]))?;
    let collector = Collector::start(&program, &archive.0, &tokens.0, "127.0.0.1:0")?;
    let mut options = options();
    options.resolve = vec![("*".into(), LOOPBACK)];
    let there = collector.address.port();
    options.collector = Some(format!("http://{LOOPBACK}:{there}/"));
    let headers = format!("http://good.test:{port} X-Token: {SECRET}|X-Other: 1\n");
    let crawl = Crawl {
        token: Some(TOKENS[0]),
        headers: Some(&headers),
        ..Crawl::new(&elf, &listing, &options, SECONDS)
    };
    crawl.run(|line| trace(line))?;
    let log = web.log();
    let of = |host: &str| {
        log.iter()
            .filter(|hit| hit.host == host)
            .collect::<Vec<_>>()
    };
    ensure!(
        of("good.test")
            .iter()
            .all(|hit| hit.token.as_deref() == Some(SECRET)),
        "a request to the host lacks its token"
    );
    let others = ["bad.test", "third.test"];
    ensure!(
        others
            .iter()
            .all(|host| of(host).iter().all(|hit| hit.token.is_none())),
        "another host was told the token"
    );
    drop(collector);
    let reader = Reader::open(&archive.0)?;
    let mut counts = Vec::new();
    for (host, path) in pages {
        let url = format!("http://{host}:{port}{path}");
        let looks = of(host).iter().filter(|hit| hit.path == path).count();
        let versions = reader.history(&url)?.len();
        show(format_args!("{url}: {looks} looks, {versions} versions"));
        ensure!(looks >= 8, "{url}: {looks} looks");
        counts.push((looks, versions));
    }
    // Five stories begin within the run.
    for (looks, versions) in &counts[..2] {
        ensure!(
            (3..=6).contains(versions),
            "{versions} versions in {looks} looks"
        );
    }
    let (looks, versions) = counts[2];
    ensure!(
        versions + 3 >= looks,
        "{versions} versions in {looks} looks"
    );
    for file in fs::read_dir(&archive.0)?.flatten() {
        let bytes = fs::read(file.path())?;
        let mut plain = Vec::new();
        let _ = MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain);
        let holds = |bytes: &[u8]| bytes.windows(6).any(|word| word == b"s3cret");
        ensure!(
            !holds(&bytes) && !holds(&plain),
            "the archive holds a secret"
        );
    }
    Ok(())
}

/// How a collector stands still, and what that may cost.
pub struct Stalls {
    seconds: u32,
    /// It stands still once in so much time, in the middle of it …
    every: Duration,
    /// … for so long.
    stall: Duration,
    /// The share of freshness that is left at least.
    share: f64,
}

pub const STALLS: Stalls = Stalls {
    seconds: 600,
    every: Duration::from_secs(300),
    stall: Duration::from_secs(60),
    share: 0.98,
};

/// Too short to tell two hundredths from chance.
pub const SHORT_STALLS: Stalls = Stalls {
    seconds: 54,
    every: Duration::from_secs(54),
    stall: Duration::from_secs(12),
    share: 0.95,
};

/// A collector that stands still for a minute in each five costs the probe next to no freshness,
/// and gets everything else.
pub fn stalls(elf: &Path, how: &Stalls) -> Result<()> {
    const ALL_PAGES: usize = 24;
    let Stalls {
        seconds,
        every,
        stall,
        share,
    } = *how;
    let program = program::build()?;
    let elf = firmware(elf);
    let tokens = TextFile::new(&format!("probe {}\n", TOKENS[0]))?;
    let archive = Folder(temporary("archive"));
    let collector = Collector::start(&program, &archive.0, &tokens.0, "127.0.0.1:0")?;
    let address = collector.address;
    let world = Arc::new(World::between(
        4.0,
        100.0,
        ALL_PAGES,
        4,
        f64::from(seconds) * 1.2,
        98,
    ));
    // Two probes at the same time, so that a busy computer is as busy for both.
    let webs = [serve(&world)?, serve(&world)?];
    let mut back = Duration::ZERO;
    let reports = thread::scope(|scope| -> Result<_> {
        let probes = webs
            .iter()
            .zip([None, Some((address, TOKENS[0]))])
            .map(|(web, to)| {
                let listing = world.listing(web.port(), Rates::Given, GAP);
                let elf = &elf;
                scope.spawn(move || crawl(elf, &listing, seconds, to))
            });
        let probes: Vec<_> = probes.collect();
        for _ in 0..u64::from(seconds) / every.as_secs() {
            thread::sleep((every - stall) / 2);
            collector.signal("-STOP")?;
            thread::sleep(stall);
            collector.signal("-CONT")?;
            // It is left alone for no longer than it was away.
            back = webs[1].now() + stall;
            thread::sleep((every - stall) / 2);
        }
        probes.into_iter().map(joined).collect::<Result<Vec<_>>>()
    })?;
    let end = webs[1].now().saturating_sub(SETTLED);
    drop(collector);
    let [_, report] = &reports[..] else {
        bail!("found {} reports, expected two", reports.len());
    };
    let counts = judged(&world, &webs[1], &archive.0, (back, end))?;
    let kept: usize = counts.values().sum();
    let span = (
        Duration::from_secs(15),
        Duration::from_secs(u64::from(seconds) - 5),
    );
    let [without, with] = webs.map(|web| world.freshness(&web.log(), span.0, span.1));
    show(format_args!(
        "freshness {with:.4} with a collector that stalls, {without:.4} without; {} versions \
         collected, {} not at once, {kept} kept",
        report.collected, report.uncollected
    ));
    ensure!(
        with >= share * without,
        "{with:.4} is less than {share} of {without:.4}"
    );
    let least = ALL_PAGES * seconds as usize / 54;
    ensure!(
        report.collected > least,
        "{} versions were collected, expected more than {least}",
        report.collected
    );
    ensure!(
        report.uncollected > 0,
        "no delivery has met a collector that stands still"
    );
    agrees(kept, report)
}
