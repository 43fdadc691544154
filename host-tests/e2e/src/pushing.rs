//! Signed datagrams in which somebody says that a page has changed, to a probe in QEMU: who is
//! heard, who is not, and what a flood of lies costs, by the web's own log.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail, ensure};
use dunlin::push::{Datagram, LONGEST, PORT, key};
use dunlin::settings::{SettingKey, build};
use dunlin_host::push::send::to_device;
use dunlin_host::simulate::Random;
use dunlin_tools::firmware::{self, budgets};
use dunlin_tools::qemu::crawl::Crawl;
use dunlin_tools::qemu::list::{LOOPBACK, options};
use dunlin_tools::web::changing::{Changing, DAY, Rates, World, host};
use dunlin_tools::web::{Hit, Web, shortest_gap};

use crate::{show, trace};

/// The image, as host-tests/budgets.toml has it.
const IMAGE: &str = "qemu-mps2+hints+push";
/// The device's keys: a sender that is right, and one that lies.
const KEYS: [&str; 2] = [
    "000102030405060708090a0b0c0d0e0f",
    "f0e0d0c0b0a090807060504030201000",
];
const STRANGER: &str = "ffffffffffffffffffffffffffffffff";
/// Pages of each of two hosts.
const PAGES: usize = 6;
/// Seconds between two changes of a page, by the list, and between two visits if nobody pushes.
/// What a sender says for the first time is worth a quarter of the first to the scheduler.
const CHANGES: f64 = 60.0;
const VISITS: f64 = 4.0;
const GAP: Duration = Duration::from_millis(200);
/// A page that has just been visited is visited again before so many others if it is pushed, and
/// only then: otherwise the eleven others come first. Pages that are late go before one whose last
/// visit was after they were due, and where the budget is just enough, all are a little late.
const SOON: usize = 8;
/// The device says why it heeds somebody not once in five seconds.
const SILENCE: Duration = Duration::from_millis(5_500);

/// A port of this computer at which the device hears.
fn free_port() -> Result<u16> {
    Ok(UdpSocket::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn settings() -> Result<Vec<u8>> {
    Ok(build(&[(SettingKey::PushKeys, &KEYS.join(" "))])?)
}

fn unix() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Pages that change at these moments; the second host's when the first one's do.
fn world(changes: impl Fn(usize) -> Vec<f64>) -> World {
    let pages = (0..2 * PAGES).map(|index| Changing {
        host: index % 2,
        path: format!("/page{}", index / 2),
        rate: 1.0 / CHANGES,
        changes: changes(index / 2),
    });
    World {
        hosts: 2,
        pages: pages.collect(),
    }
}

/// A probe on a web that is there, for so many seconds; what it logs.
fn crawl(elf: &Path, world: &World, web: &Web, hears: u16, seconds: u32) -> Result<Vec<String>> {
    let listing = world.listing(web.port(), Rates::Given, GAP);
    let mut options = options();
    options.resolve = vec![("*".into(), LOOPBACK)];
    options.per_day = Some(world.pages.len() as f64 / VISITS * DAY);
    let settings = settings()?;
    let crawl = Crawl {
        settings: Some(&settings),
        epoch: Some(unix()),
        datagrams: Some((hears, PORT)),
        ..Crawl::new(elf, &listing, &options, seconds)
    };
    let mut lines = Vec::new();
    let report = crawl.run(|line| {
        trace(line);
        lines.push(line.message.clone());
    })?;
    ensure!(report.summary.errors == 0, "{:?}", report.summary);
    for place in 0..2 {
        let gap = shortest_gap(&web.log(), &host(place));
        ensure!(gap.is_some_and(|gap| gap >= GAP), "{gap:?}");
    }
    Ok(lines)
}

/// Waits until every page was asked for once.
fn wait_for_all(web: &Web) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(30);
    let asked = || {
        let log = web.log();
        let pages = log.iter().filter(|hit| hit.path.starts_with("/page"));
        let mut pages: Vec<(&str, &str)> = pages.map(|hit| (&*hit.host, &*hit.path)).collect();
        pages.sort_unstable();
        pages.dedup();
        pages.len()
    };
    while asked() < 2 * PAGES {
        ensure!(Instant::now() < end, "{} pages were asked for", asked());
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Waits for the next visit to a page; whose and which that was.
fn just_visited(web: &Web) -> Result<(String, String)> {
    let before = web.log().len();
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let log = web.log();
        let mut later = log.iter().skip(before);
        if let Some(hit) = later.find(|hit| hit.path.starts_with("/page")) {
            // Until its answer has been read, it is being visited.
            thread::sleep(Duration::from_millis(300));
            return Ok((hit.host.clone(), hit.path.clone()));
        }
        ensure!(Instant::now() < end, "nothing is asked for");
        thread::sleep(Duration::from_millis(20));
    }
}

/// When, after a moment, a page is visited before [`SOON`] others; `None` if it is not. By order and
/// not by the clock, so that a busy computer is no reason.
fn soon(web: &Web, since: Duration, host: &str, path: &str) -> Result<Option<Duration>> {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let log = web.log();
        let is_page = |hit: &&Hit| hit.at >= since && hit.path.starts_with("/page");
        let mut first = log.iter().filter(is_page).take(SOON);
        let count = first.clone().count();
        let found = first.find(|hit| hit.host == host && hit.path == path);
        if found.is_some() || count == SOON {
            return Ok(found.map(|hit| hit.at - since));
        }
        ensure!(Instant::now() < end, "nothing is asked for");
        thread::sleep(Duration::from_millis(20));
    }
}

/// After how long the page that has just been visited is visited again, after this was said of its
/// URL; `None` if that is not [`SOON`].
fn visited(web: &Web, say: impl FnOnce(&str) -> Result<()>) -> Result<Option<Duration>> {
    let (host, path) = just_visited(web)?;
    let since = web.now();
    say(&format!("http://{host}:{}{path}", web.port()))?;
    soon(web, since, &host, &path)
}

/// A signed datagram of a sender.
fn signed(sender: u8, digits: &str, url: &str) -> Result<Vec<u8>> {
    let sent = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let datagram = Datagram {
        sender,
        sent_ms: sent.as_millis() as u64,
        url,
    };
    let mut bytes = [0; LONGEST];
    let key = key(digits).context("a key")?;
    let length = datagram.sign(&key, &mut bytes).context("it fits")?;
    Ok(bytes[..length].to_vec())
}

/// Sends pushes, right and wrong ones, and looks at what is asked for then.
fn talk(web: &Web, hears: u16) -> Result<()> {
    wait_for_all(web)?;
    // The first round is ahead of the budget, and has to be paid for: then nothing is late any
    // more.
    thread::sleep(Duration::from_secs_f64(6.0 * VISITS));
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(("127.0.0.1", hears))?;
    let file = PathBuf::from("key");
    let pushed = visited(web, |url| {
        let urls = [url.to_owned()];
        Ok(to_device(("127.0.0.1", hears), &urls, (&file, KEYS[0]), 0)?)
    })?;
    let pushed = pushed.context("what `dunlin push` said was not heard")?;
    // Everybody in the network can say so, and hear what others say.
    let by_stranger = visited(web, |url| {
        socket.send(&signed(0, STRANGER, url)?)?;
        Ok(())
    })?;
    ensure!(by_stranger.is_none(), "a stranger was heard");
    thread::sleep(SILENCE);
    let mut heard = Vec::new();
    let first = visited(web, |url| {
        heard = signed(0, KEYS[0], url)?;
        socket.send(&heard)?;
        Ok(())
    })?;
    let first = first.context("the second push was not heard")?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    thread::sleep(Duration::from_millis(300));
    let since = web.now();
    socket.send_to(&heard, ("127.0.0.1", hears))?;
    let said = Datagram::parse(&heard).context("a datagram")?;
    let (_, address) = said.url.split_once("//").context("a URL")?;
    let (place, path) = address.split_once('/').context("a URL")?;
    let host = place.split(':').next().unwrap_or_default();
    let again = soon(web, since, host, &format!("/{path}"))?;
    ensure!(again.is_none(), "a push was heard twice, after {again:?}");
    show(format_args!(
        "visited {pushed:.2?} and {first:.2?} after a push"
    ));
    Ok(())
}

/// Who has a key is heard; a stranger is not, nor is what was said before, and both are said.
pub fn hears(_: &Path) -> Result<()> {
    let elf = firmware::build_image(false, &budgets::image(IMAGE)?)?;
    let world = Arc::new(world(|_| Vec::new()));
    let web = world.serve()?;
    let hears = free_port()?;
    let lines = thread::scope(|scope| {
        let talk = scope.spawn(|| talk(&web, hears));
        let lines = crawl(&elf, &world, &web, hears, 60);
        match talk.join() {
            Ok(talk) => talk.and(lines),
            Err(_) => bail!("who pushes has panicked"),
        }
    })?;
    let said = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    for (part, times) in [
        ("was pushed by sender 0", 2),
        ("a push is not heeded: Key", 1),
        ("a push is not heeded: Time", 1),
    ] {
        ensure!(said(part) == times, "{part}: said {} times", said(part));
    }
    Ok(())
}

/// Pushes lies about the first host's pages twice a second, and what no key has signed as fast as
/// the network takes it, until told to end; how many of each.
fn flood(web: &Web, hears: u16, stop: &AtomicBool) -> Result<[usize; 2]> {
    wait_for_all(web)?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let mut sent = [0, 0];
    while !stop.load(Ordering::Relaxed) {
        let page = sent[0] % PAGES;
        let url = format!("http://{}:{}/page{page}", host(0), web.port());
        socket.send_to(&signed(1, KEYS[1], &url)?, ("127.0.0.1", hears))?;
        sent[0] += 1;
        for _ in 0..25 {
            socket.send_to(&signed(1, STRANGER, &url)?, ("127.0.0.1", hears))?;
            sent[1] += 1;
            thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(sent)
}

/// A probe for so long, flooded or not; how fresh the second host's pages were, and how often they
/// were visited.
fn beside(elf: &Path, world: &Arc<World>, flooded: bool, seconds: u32) -> Result<(f64, usize)> {
    let web = world.serve()?;
    let hears = free_port()?;
    let stop = AtomicBool::new(!flooded);
    let sent = Mutex::new([0, 0]);
    let lines = thread::scope(|scope| {
        let liar = scope.spawn(|| -> Result<()> {
            *sent.lock().unwrap_or_else(PoisonError::into_inner) = flood(&web, hears, &stop)?;
            Ok(())
        });
        let lines = crawl(elf, world, &web, hears, seconds);
        stop.store(true, Ordering::Relaxed);
        match liar.join() {
            Ok(sent) => sent.and(lines),
            Err(_) => bail!("who pushes has panicked"),
        }
    })?;
    let log = web.log();
    let visits = log.iter().filter(|hit| hit.path.starts_with("/page"));
    let visits: Vec<&Hit> = visits.collect();
    // The first round is ahead of the budget, and three slots may each be one ahead.
    let budget = 2.0 * PAGES as f64 * (f64::from(seconds) / VISITS + 1.0) + 4.0;
    ensure!(visits.len() as f64 <= budget, "{} visits", visits.len());
    let others = World {
        hosts: 2,
        pages: world
            .pages
            .iter()
            .filter(|page| page.host == 1)
            .cloned()
            .collect(),
    };
    let to = Duration::from_secs(seconds.into());
    let fresh = others.freshness(&log, Duration::from_secs(10), to);
    let count = visits.iter().filter(|hit| hit.host == host(1)).count();
    let [lies, strange] = *sent.lock().unwrap_or_else(PoisonError::into_inner);
    let heard = lines
        .iter()
        .filter(|line| line.contains("was pushed by sender 1"));
    let heard = heard.count();
    show(format_args!(
        "{lies} lies of which {heard} were heard, {strange} without a key: others {fresh:.4} fresh, {count} visits"
    ));
    ensure!(
        !flooded || (lies > 0 && heard > 0 && heard < lies.div_ceil(2).max(40)),
        "of {lies} lies {heard} were heard"
    );
    Ok((fresh, count))
}

/// A flood of lies costs other pages at most this much of their freshness, beside a probe that
/// nobody floods.
pub fn floods(seconds: u32, most: f64) -> Result<()> {
    let elf = firmware::build_image(false, &budgets::image(IMAGE)?)?;
    let mut random = Random(24);
    let changes: Vec<Vec<f64>> = (0..PAGES)
        .map(|_| {
            let mut time = 0.0;
            let mut changes = Vec::new();
            while time < f64::from(seconds) + 30.0 {
                time += random.exponential() * CHANGES;
                changes.push(time);
            }
            changes
        })
        .collect();
    let world = Arc::new(world(|page| changes[page].clone()));
    let results = thread::scope(|scope| {
        let probes = [false, true].map(|flooded| {
            let elf = &elf;
            let world = &world;
            scope.spawn(move || beside(elf, world, flooded, seconds))
        });
        probes.map(|probe| match probe.join() {
            Ok(result) => result,
            Err(_) => bail!("a probe's thread panicked"),
        })
    });
    let [quiet, flooded] = results;
    let (quiet, visits) = quiet?;
    let (flooded, beside) = flooded?;
    show(format_args!(
        "others: {quiet:.4} fresh with {visits} visits, beside the flood {flooded:.4} with {beside}"
    ));
    ensure!(
        flooded >= quiet - most,
        "the flood cost others {:.4}",
        quiet - flooded
    );
    ensure!(
        beside as f64 >= visits as f64 * 0.99 - 2.0,
        "{beside} visits to others beside the flood, {visits} without it"
    );
    Ok(())
}
