//! End to end: the probe in QEMU against a web on loopback, judged by the web's own log.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dunlin::probe::LoggedEvent;
use dunlin_host::lists::listing::Listing;
use dunlin_host::lists::page_image::Capacity;
use dunlin_tools::qemu::crawl::{Crawl, Report};
use dunlin_tools::qemu::list::{listing, options};
use dunlin_tools::qemu::page_image::{self, ImageFile};
use dunlin_tools::qemu::{self, Attached, Level, Line, Machine, Time, temporary};
use dunlin_tools::web::changing::{Rates, World};
use dunlin_tools::web::{Answer, Hit, Web, shortest_gap};
use qemu_mps2_capacity::PAGES;

use crate::demo;
use crate::{show, trace};

/// The gap that most cases ask for.
pub const GAP: Duration = Duration::from_millis(400);
/// What a fetch's end may take on the wire.
const LONGEST_END: usize = 24;
/// What the stack may take.
const STACK: u64 = 16 * 1024;

fn run(elf: &Path, listing: &Listing, seconds: u32) -> Result<Report> {
    run_and_watch(elf, listing, seconds, |_| ())
}

fn run_and_watch(
    elf: &Path,
    listing: &Listing,
    seconds: u32,
    mut watch: impl FnMut(&Line),
) -> Result<Report> {
    let options = options();
    let crawl = Crawl::new(elf, listing, &options, seconds);
    let report = crawl.run(|line| {
        trace(line);
        watch(line);
    })?;
    ensure!(
        report.longest_end <= LONGEST_END,
        "the end of a fetch took {} bytes on the wire, {LONGEST_END} are allowed",
        report.longest_end
    );
    let stack = report
        .stack
        .context("the firmware did not say how deep its stack was")?;
    ensure!(
        stack <= STACK,
        "the stack took {stack} bytes, {STACK} are allowed"
    );
    Ok(report)
}

pub fn hits<'l>(log: &'l [Hit], host: &str, path: &str) -> Vec<&'l Hit> {
    log.iter()
        .filter(|hit| hit.host == host && hit.path == path)
        .collect()
}

pub fn no_robots(hit: &Hit) -> Option<Answer> {
    (hit.path == "/robots.txt").then(|| Answer::status(404, "X: none"))
}

pub fn polite(log: &[Hit], host: &str) -> Result<()> {
    let gap = shortest_gap(log, host).with_context(|| format!("{host} was not asked twice"))?;
    ensure!(
        gap >= GAP,
        "{host} was asked twice within {} ms",
        gap.as_millis()
    );
    Ok(())
}

/// 500 KiB of rules that are made to be compared for as long as possible, for 32 pages with long
/// URLs: the other host is asked as often as ever, and the watchdog does not bite.
pub fn slow_robots(elf: &Path) -> Result<()> {
    const SECONDS: u32 = 12;
    let rule = format!("Disallow: /*{}b\n", "a".repeat(90));
    let file = format!("User-agent: *\n{}", rule.repeat(500 * 1024 / rule.len()));
    let web = Web::start(move |hit| match (hit.host.as_str(), hit.path.as_str()) {
        ("slow.test", "/robots.txt") => Answer::page(&file),
        (_, "/robots.txt") => Answer::status(404, "X: none"),
        _ => Answer::version(hit, 0),
    })?;
    let paths: Vec<String> = (0..32)
        .map(|page| format!("/{page}{}", "a".repeat(190)))
        .collect();
    let mut pages: Vec<(&str, &str)> = paths.iter().map(|path| ("slow.test", &**path)).collect();
    pages.push(("good.test", "/still"));
    let mut resets = 0;
    run_and_watch(elf, &listing(web.port(), &pages, GAP), SECONDS, |line| {
        resets += u32::from(line.message.contains("boot reset=Watchdog"));
    })?;
    let log = web.log();
    ensure!(resets == 0, "the watchdog bit {resets} times");
    ensure!(
        log.iter()
            .all(|hit| hit.host != "slow.test" || hit.path == "/robots.txt"),
        "a page was asked for whose rules cannot be compared"
    );
    let asked = hits(&log, "good.test", "/still").len();
    let most = u128::from(SECONDS) * 1_000 / GAP.as_millis();
    ensure!(
        asked as u128 * 10 >= most * 6,
        "the other host was asked {asked} times, {most} were possible"
    );
    polite(&log, "good.test")
}

pub fn crawls_politely(elf: &Path) -> Result<()> {
    let web = Web::start(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::page("User-agent: dunlin\nDisallow: /private\n"),
        "/changing" => Answer::version(hit, hit.at.as_secs() as usize / 2),
        _ => Answer::version(hit, 0),
    })?;
    let pages = [
        ("good.test", "/still"),
        ("good.test", "/changing"),
        ("good.test", "/private/x"),
        ("third.test", "/still"),
    ];
    let report = run(elf, &listing(web.port(), &pages, GAP), 12)?;
    let log = web.log();
    polite(&log, "good.test")?;
    polite(&log, "third.test")?;
    ensure!(
        hits(&log, "good.test", "/private/x").is_empty(),
        "a page that robots.txt denies was asked for"
    );
    ensure!(
        report.summary.robots_denied > 0,
        "the probe did not say that a page was denied"
    );
    let still = hits(&log, "good.test", "/still");
    let conditional = still.iter().filter(|hit| hit.status == 304).count();
    ensure!(
        still.len() > 2 && conditional == still.len() - 1,
        "{conditional} of {} were 304",
        still.len()
    );
    let changed = hits(&log, "good.test", "/changing")
        .iter()
        .filter(|hit| hit.status == 200)
        .count();
    ensure!(
        changed >= 3,
        "the page that changes every 2 s was seen to change {changed} times"
    );
    let same = log.iter().filter(|hit| hit.status == 304).count() as u64;
    ensure!(
        report.summary.not_modified == same,
        "the probe counted {} 304s, the server {same}",
        report.summary.not_modified
    );
    let robots = hits(&log, "good.test", "/robots.txt").len();
    ensure!(robots == 1, "robots.txt was asked for {robots} times");
    let agent = log.first().map(|hit| hit.agent.clone()).unwrap_or_default();
    ensure!(
        agent.starts_with("dunlin/") && agent.ends_with("(+https://example.org/about)"),
        "agent {agent:?}"
    );
    Ok(())
}

pub fn bad_hosts(elf: &Path) -> Result<()> {
    let web = Web::start(|hit| match (hit.host.as_str(), hit.path.as_str()) {
        (_, "/robots.txt") => Answer::status(404, "X: none"),
        ("bad.test", _) => Answer::default(),
        ("busy.test", _) => Answer::status(429, "Retry-After: 6"),
        _ => Answer::version(hit, 0),
    })?;
    let pages = [
        ("good.test", "/a"),
        ("good.test", "/b"),
        ("bad.test", "/x"),
        ("busy.test", "/y"),
        ("nowhere.invalid", "/z"),
    ];
    let mut nameless = false;
    run_and_watch(elf, &listing(web.port(), &pages, GAP), 16, |line| {
        let event = LoggedEvent::read(&line.message);
        nameless |= matches!(
            event,
            Some(LoggedEvent::BackOff {
                why: Some("Name"),
                ..
            })
        );
    })?;
    let log = web.log();
    ensure!(nameless, "the probe did not say that a name has no address");
    let good = log.iter().filter(|hit| hit.host == "good.test").count();
    // 16 s at 0.4 s are 40. Were it to wait for the hanging host, there would be four.
    ensure!(
        good >= 24,
        "the good host was asked only {good} times beside a hanging one"
    );
    polite(&log, "good.test")?;
    ensure!(
        !hits(&log, "bad.test", "/x").is_empty(),
        "the hanging host was never asked"
    );
    let busy = hits(&log, "busy.test", "/y");
    ensure!(busy.len() >= 2, "the busy host was not asked again");
    for pair in busy.windows(2) {
        ensure!(
            pair[1].at - pair[0].at >= Duration::from_secs(6),
            "Retry-After was not respected"
        );
    }
    Ok(())
}

pub fn redirects(elf: &Path) -> Result<()> {
    let web = Web::start(|hit| {
        // Our own web, so that a probe that went there would be seen.
        let inward = format!("Location: http://10.0.2.2:{}/secret", hit.port);
        no_robots(hit).unwrap_or_else(|| match hit.path.as_str() {
            "/moved" => Answer::status(301, "Location: /new"),
            "/inward" => Answer::status(302, &inward),
            _ => Answer::version(hit, 0),
        })
    })?;
    let pages = [("good.test", "/moved"), ("third.test", "/inward")];
    let list = listing(web.port(), &pages, GAP);
    let mut astray = false;
    run_and_watch(elf, &list, 8, |line| {
        astray |= line.message.contains("PrivateAddress")
    })?;
    let log = web.log();
    ensure!(
        !hits(&log, "good.test", "/new").is_empty(),
        "a redirect on the same host was not followed"
    );
    polite(&log, "good.test")?;
    ensure!(
        !hits(&log, "third.test", "/inward").is_empty(),
        "the page that redirects was not asked for"
    );
    ensure!(
        astray,
        "the probe did not say that it refused a private address"
    );
    ensure!(
        !log.iter()
            .any(|hit| hit.host == "10.0.2.2" || hit.path == "/secret"),
        "the private address was asked"
    );
    Ok(())
}

pub fn server_restarts(elf: &Path) -> Result<()> {
    let site = |hit: &Hit| no_robots(hit).unwrap_or_else(|| Answer::version(hit, 0));
    let web = Web::start(site)?;
    let list = listing(
        web.port(),
        &[("good.test", "/a"), ("third.test", "/b")],
        GAP,
    );
    let probe = elf.to_owned();
    let crawl = thread::spawn(move || run(&probe, &list, 20));
    wait_for_hits(&web, 8)?;
    let ended = web.end();
    thread::sleep(Duration::from_secs(3));
    let web = Web::restart(ended, site)?;
    let restarted = web.now();
    crawl
        .join()
        .map_err(|_| anyhow::anyhow!("the run panicked"))??;
    let log = web.log();
    for host in ["good.test", "third.test"] {
        let later = log
            .iter()
            .filter(|hit| hit.host == host && hit.at > restarted)
            .count();
        ensure!(
            later >= 2,
            "{host} was asked {later} times after the restart"
        );
    }
    Ok(())
}

fn wait_for_hits(web: &Web, count: usize) -> Result<()> {
    for _ in 0..600 {
        if web.log().len() >= count {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
    anyhow::bail!("the probe made only {} requests in 30 s", web.log().len())
}

pub fn link_loss(elf: &Path) -> Result<()> {
    let web = Web::start(|hit| no_robots(hit).unwrap_or_else(|| Answer::version(hit, 0)))?;
    let list = listing(
        web.port(),
        &[("good.test", "/a"), ("third.test", "/b")],
        GAP,
    );
    let monitor = temporary("monitor");
    let probe = elf.to_owned();
    let socket = monitor.clone();
    let crawl = thread::spawn(move || {
        let options = options();
        let crawl = Crawl {
            monitor: Some(&socket),
            ..Crawl::new(&probe, &list, &options, 28)
        };
        let mut states = Vec::new();
        let report = crawl.run(|line| {
            trace(line);
            states.extend(match LoggedEvent::read(&line.message) {
                Some(LoggedEvent::Up { .. }) => Some("up"),
                Some(LoggedEvent::Down) => Some("down"),
                _ => None,
            });
        });
        report.map(|_| states)
    });
    wait_for_hits(&web, 8)?;
    let mut qemu = UnixStream::connect(&monitor).context("cannot reach QEMU's monitor")?;
    writeln!(qemu, "set_link net off")?;
    let lost = web.now();
    thread::sleep(Duration::from_secs(10));
    // Before the word is given: requests follow it within a millisecond or two.
    let back = web.now();
    writeln!(qemu, "set_link net on")?;
    let states = crawl
        .join()
        .map_err(|_| anyhow::anyhow!("the run panicked"))??;
    let _ = std::fs::remove_file(&monitor);
    let log = web.log();
    let slack = Duration::from_secs(1);
    let during = log
        .iter()
        .filter(|hit| hit.at > lost + slack && hit.at < back)
        .count();
    let after = log.iter().filter(|hit| hit.at > back).count();
    ensure!(
        during == 0,
        "{during} requests came through a link that was down"
    );
    ensure!(
        after >= 6,
        "only {after} requests came after the link was back"
    );
    ensure!(
        states == ["up", "down", "up"],
        "the probe saw the network go {states:?}"
    );
    Ok(())
}

pub fn bad_images(elf: &Path) -> Result<()> {
    let (good, _) = page_image::build(&listing(80, &[("good.test", "/a")], GAP), &options())?;
    let mut damaged = good.clone();
    if let Some(byte) = damaged.last_mut() {
        *byte ^= 1;
    }
    let mut newer = good;
    newer[4] = 200;
    let many: Vec<String> = (0..=PAGES).map(|page| format!("/{page}")).collect();
    let many: Vec<(&str, &str)> = many
        .iter()
        .map(|path| ("good.test", path.as_str()))
        .collect();
    // A larger firmware's image.
    let room = Capacity {
        pages: 2 * PAGES,
        hosts: 1,
        https: false,
        ipv6: false,
    };
    let (large, _) =
        dunlin_host::lists::page_image::build(&listing(80, &many, GAP), &options(), room)?;
    for (image, expected) in [
        (large, "more than this firmware has room for"),
        (damaged, "damaged page image"),
        (newer, "page image of version 200"),
        (vec![0; 64], "no page image"),
    ] {
        let image = ImageFile::write(&image, elf)?;
        let options = ["seconds=1".to_owned()];
        let attached = Attached {
            image: Some((&image.path, image.address)),
            ..Attached::default()
        };
        let deadline = Duration::from_secs(30);
        let mut log: Vec<Line> = Vec::new();
        let machine = Machine {
            elf,
            options: &options,
            time: Time::Real,
            deadline,
            attached,
        };
        qemu::run(machine, |line| log.push(line.clone()))?.success("the firmware", deadline)?;
        let said = log
            .iter()
            .any(|line| line.level == Level::Error && line.message.contains(expected));
        ensure!(said, "expected an error with {expected:?}, found {log:?}");
        ensure!(
            log.iter().any(|line| line.message.starts_with("done")),
            "the firmware did not run on"
        );
    }
    Ok(())
}

pub fn beats_round_robin(elf: &Path) -> Result<()> {
    let crawl = |rates: Rates| {
        let elf = elf.to_owned();
        thread::spawn(move || demo::crawl(&elf, rates, 60, 7, |_| ()))
    };
    let runs = [crawl(Rates::Given), crawl(Rates::Alike)];
    let [ours, round_robin] = runs.map(|run| {
        run.join()
            .unwrap_or_else(|_| anyhow::bail!("the run panicked"))
    });
    let ours = ours?;
    let round_robin = round_robin?;
    println!(
        "freshness at the server, same changes and budget: {:.3} with rates given, {:.3} round robin, {:.3} at best",
        ours.freshness, round_robin.freshness, ours.optimum
    );
    ensure!(
        ours.freshness > round_robin.freshness,
        "not fresher than round robin"
    );
    for run in [&ours, &round_robin] {
        let gap = run.shortest_gap;
        ensure!(
            gap >= demo::POLITENESS,
            "a host was asked twice within {} ms",
            gap.as_millis()
        );
        ensure!(run.not_modified > 0, "no page was found unchanged");
    }
    Ok(())
}

/// Ten runs of five minutes each: with rates given near the optimum, and how near without.
pub fn near_the_optimum(elf: &Path) -> Result<()> {
    const RUNS: u64 = 10;
    const SECONDS: u32 = 300;
    let mean = |rates: Rates| -> Result<(f64, f64)> {
        show(format_args!(
            "{RUNS} runs of {SECONDS} s at once, rates {rates:?}"
        ));
        // All at once: each sleeps most of the time.
        let runs: Vec<_> = (0..RUNS)
            .map(|seed| {
                let elf = elf.to_owned();
                let show = move |line: &Line| {
                    if line.message.starts_with("totals ") {
                        eprintln!("run {seed}: {line}");
                    }
                };
                thread::spawn(move || demo::crawl(&elf, rates, SECONDS, seed, show))
            })
            .collect();
        let mut freshness = 0.0;
        let mut optimum = 0.0;
        for (seed, run) in runs.into_iter().enumerate() {
            let measured = run
                .join()
                .map_err(|_| anyhow::anyhow!("a run panicked"))??;
            println!(
                "run {seed}, rates {rates:?}: freshness {:.4}, {:.4} at best, {} requests, {} errors",
                measured.freshness,
                measured.optimum,
                measured.requests,
                measured.report.summary.errors
            );
            freshness += measured.freshness / RUNS as f64;
            optimum += measured.optimum / RUNS as f64;
        }
        Ok((freshness, optimum))
    };
    let (given, optimum) = mean(Rates::Given)?;
    let (learnt, _) = mean(Rates::Learnt)?;
    println!(
        "{RUNS} runs of {SECONDS} s: freshness {given:.4} with rates given ({:.1} % of the optimum), {learnt:.4} learning \
        them ({:.1} %), {optimum:.4} at best",
        100.0 * given / optimum,
        100.0 * learnt / optimum
    );
    ensure!(
        given >= 0.97 * optimum,
        "with rates given, freshness is below 97 % of the optimum"
    );
    Ok(())
}

/// 28 pages that change every 5 to 300 s, a request a second, nothing known: minutes 5 to 15, by
/// the server, beside round robin on the same changes.
pub fn learns_from_nothing(elf: &Path) -> Result<()> {
    const RUNS: u64 = 4;
    const SECONDS: u32 = 900;
    const WARM_UP: Duration = Duration::from_secs(300);
    show(format_args!(
        "{RUNS} runs of {SECONDS} s at once, learning and round robin"
    ));
    let crawl = |rates: Rates, seed: u64| {
        let elf = elf.to_owned();
        let world = World::between(5.0, 300.0, 28, 1, f64::from(SECONDS) + 60.0, seed);
        thread::spawn(move || demo::crawl_world(&elf, world, 1.0, rates, WARM_UP, SECONDS, |_| ()))
    };
    let runs: Vec<_> = (0..RUNS)
        .map(|seed| [Rates::Learnt, Rates::Alike].map(|rates| crawl(rates, seed)))
        .collect();
    let mut sums = [0.0; 3];
    for (seed, pair) in runs.into_iter().enumerate() {
        let [ours, round_robin] = pair.map(|run| {
            run.join()
                .unwrap_or_else(|_| anyhow::bail!("the run panicked"))
        });
        let ours = ours?;
        let found = [ours.freshness, round_robin?.freshness, ours.optimum];
        println!(
            "run {seed}: freshness {:.4} learning, {:.4} round robin, {:.4} at best",
            found[0], found[1], found[2]
        );
        for (sum, value) in sums.iter_mut().zip(found) {
            *sum += value / RUNS as f64;
        }
    }
    let [ours, round_robin, optimum] = sums;
    println!(
        "{RUNS} runs of minutes 5 to 15: freshness {ours:.4} learning, {round_robin:.4} round robin, {optimum:.4} at best"
    );
    ensure!(ours >= round_robin, "not fresher than round robin");
    ensure!(ours >= 0.98 * optimum, "below 98 % of the optimum");
    Ok(())
}
