//! `cargo xtask demo`: the main job on a fresh machine.

use std::fmt::{self, Display, Formatter};
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dunlin::probe::LoggedEvent;
use dunlin_tools::qemu::Line;
use dunlin_tools::qemu::crawl::{Crawl, Report};
use dunlin_tools::qemu::list::LOOPBACK;
use dunlin_tools::qemu::page_image::Options;
use dunlin_tools::shell::say;
use dunlin_tools::web::changing::{DAY, Rates, World, host};
use dunlin_tools::web::{Hit, shortest_gap};
use dunlin_tools::{firmware, setup};

use crate::tls;
use crate::tls::front::{Front, Handshakes};

const PAGES: usize = 60;
const HOSTS: usize = 8;
/// Those that speak https in the demo.
const HTTPS: usize = 4;
const SECONDS: u32 = 60;
/// Fetches a second: about three pages for each change the budget could catch.
const BUDGET: f64 = 6.0;
pub const POLITENESS: Duration = Duration::from_millis(500);
/// The copies of the first fetches, before which nothing can be fresh, are not measured.
const WARM_UP: Duration = Duration::from_secs(15);
/// The web's changes are one draw of many, and chance moves a minute by two per cent either way: this
/// one is near the mean.
const SEED: u64 = 38;

/// What a run came to, by the server's log.
#[derive(Debug)]
pub struct Measured {
    pub freshness: f64,
    pub optimum: f64,
    pub shortest_gap: Duration,
    pub requests: usize,
    pub not_modified: usize,
    /// Hosts that speak https.
    pub https: usize,
    /// Theirs, after each host's first.
    pub handshakes: Handshakes,
    pub report: Report,
}

/// Lets the probe crawl a changing web for `seconds`.
pub fn crawl(
    elf: &Path,
    rates: Rates,
    seconds: u32,
    seed: u64,
    show: impl FnMut(&Line),
) -> Result<Measured> {
    tour(elf, rates, seconds, seed).run(show)
}

/// A minute longer than the crawl, which a slow start may make later.
fn web(seconds: u32, seed: u64) -> World {
    World::new(PAGES, HOSTS, f64::from(seconds) + 60.0, seed)
}

fn tour(elf: &Path, rates: Rates, seconds: u32, seed: u64) -> Tour<'_> {
    Tour {
        elf,
        world: web(seconds, seed),
        https: 0,
        politeness: POLITENESS,
        per_second: BUDGET,
        rates,
        warm_up: WARM_UP,
        seconds,
    }
}

/// The same on a web of your own, with so many fetches a second, measured after the `warm_up`.
pub fn crawl_world(
    elf: &Path,
    world: World,
    per_second: f64,
    rates: Rates,
    warm_up: Duration,
    seconds: u32,
    show: impl FnMut(&Line),
) -> Result<Measured> {
    let tour = Tour {
        elf,
        world,
        https: 0,
        politeness: POLITENESS,
        per_second,
        rates,
        warm_up,
        seconds,
    };
    tour.run(show)
}

/// A crawl of a changing web.
#[derive(Clone, Debug)]
pub struct Tour<'a> {
    /// The firmware that crawls it.
    pub elf: &'a Path,
    pub world: World,
    /// So many of its hosts, the first ones, speak https.
    pub https: usize,
    pub politeness: Duration,
    /// How many pages are fetched in a second.
    pub per_second: f64,
    pub rates: Rates,
    /// What comes before is not measured.
    pub warm_up: Duration,
    pub seconds: u32,
}

impl Tour<'_> {
    /// Lets the probe crawl it.
    pub fn run(self, show: impl FnMut(&Line)) -> Result<Measured> {
        let world = Arc::new(self.world);
        let web = world.serve()?;
        let mut listing = world.listing(web.port(), self.rates, self.politeness);
        let secure: Vec<String> = (0..self.https).map(host).collect();
        let front = Front::start(&secure, web.port())?;
        front.secure(&mut listing, self.https);
        let mut options = Options {
            per_day: Some(self.per_second * DAY),
            resolve: vec![("*".into(), LOOPBACK)],
            ..Options::default()
        };
        if self.https > 0 {
            options.authorities = tls::authorities(&[&front.root])?;
        }
        let crawl = Crawl {
            epoch: (self.https > 0).then(tls::now),
            ..Crawl::new(self.elf, &listing, &options, self.seconds)
        };
        let report = crawl.run(show)?;
        let log = web.log();
        let last = log
            .iter()
            .map(|hit| hit.at)
            .max()
            .context("the probe never asked the web for anything")?;
        let first = log.iter().map(|hit| hit.at).min().unwrap_or_default();
        let gaps = (0..world.hosts).filter_map(|index| shortest_gap(&log, &host(index)));
        let count = |wanted: fn(&&Hit) -> bool| log.iter().filter(wanted).count();
        Ok(Measured {
            freshness: world.freshness(&log, first + self.warm_up, last),
            optimum: world.optimum(self.per_second, self.politeness)?,
            shortest_gap: gaps.min().unwrap_or_default(),
            requests: log.len(),
            not_modified: count(|hit| hit.status == 304),
            https: self.https,
            handshakes: front.later_handshakes(),
            report,
        })
    }
}

/// Boots the probe on a small changing web, shows it at work and sums up.
pub fn demo(install: bool) -> Result<()> {
    setup::qemu(install)?;
    let elf = firmware::build_https_firmware(install)?;
    say(format_args!(
        "a web of {PAGES} pages on {HOSTS} hosts, on loopback, {HTTPS} of them with https; a probe that knows none of their change rates; {SECONDS} s"
    ));
    let live = std::io::stderr().is_terminal();
    let mut view = View::new(live, SECONDS);
    let tour = Tour {
        https: HTTPS,
        ..tour(&elf, Rates::Learnt, SECONDS, SEED)
    };
    let measured = tour.run(|line| {
        eprint!("{}", view.show(line));
        let _ = std::io::stderr().flush();
    })?;
    if live {
        eprintln!();
    }
    println!("{measured}");
    ensure!(
        measured.report.summary.fetches > 0,
        "the probe fetched nothing"
    );
    Ok(())
}

/// What is shown while the probe runs: on a terminal the latest fetch in a line that is written
/// over and over, below what else there is to say; elsewhere every line of the log.
struct View {
    live: bool,
    /// How long the probe runs.
    seconds: u32,
    fetches: usize,
    changes: usize,
}

impl View {
    fn new(live: bool, seconds: u32) -> Self {
        Self {
            live,
            seconds,
            fetches: 0,
            changes: 0,
        }
    }

    /// What to write for a line of the log.
    fn show(&mut self, line: &Line) -> String {
        const CLEARED: &str = "\r\x1b[K";
        let end = match LoggedEvent::read(&line.message) {
            Some(LoggedEvent::End {
                page,
                status,
                changed,
                ..
            }) => {
                self.fetches += 1;
                self.changes += usize::from(changed);
                Some((page, status))
            }
            _ => None,
        };
        match (self.live, end) {
            (false, _) => format!("{line}\n"),
            (true, None) => format!("{CLEARED}{line}\n"),
            // Short enough for 80 columns: what wraps cannot be written over.
            (true, Some((page, status))) => format!(
                "{CLEARED}{:>3} s left  {} fetches, {} changes; page {page} answered {status}",
                u64::from(self.seconds).saturating_sub(line.micros.unwrap_or(0) / 1_000_000),
                self.fetches,
                self.changes,
            ),
        }
    }
}

impl Display for Measured {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            freshness,
            optimum,
            shortest_gap,
            requests,
            not_modified,
            https,
            handshakes: later,
            report,
        } = self;
        let summary = &report.summary;
        writeln!(
            f,
            "measured at the server, after the first {} s:",
            WARM_UP.as_secs()
        )?;
        writeln!(
            f,
            "  freshness       {freshness:.3} of at most {optimum:.3} for this budget ({:.0} %), learning as it went",
            100.0 * freshness / optimum
        )?;
        writeln!(
            f,
            "  shortest gap    {} ms between two requests to one host ({} ms were asked for)",
            shortest_gap.as_millis(),
            POLITENESS.as_millis()
        )?;
        writeln!(
            f,
            "  requests        {requests}, of which {:.0} % answered 304",
            100.0 * *not_modified as f64 / (*requests).max(1) as f64
        )?;
        if *https > 0 {
            writeln!(
                f,
                "  https           {https} hosts; after each one's first handshake, {} of {} resumed a session",
                later.resumed,
                later.full + later.resumed
            )?;
        }
        writeln!(f, "the probe's own count:")?;
        writeln!(
            f,
            "  fetches         {}, {} changes found, {} errors",
            summary.fetches, summary.changed, summary.errors
        )?;
        writeln!(f, "  bytes           {} of pages", summary.bytes)?;
        write!(
            f,
            "  stack           {} B at most",
            report.stack.unwrap_or(0)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin_host::simulate::{self, Change, Options, PolicyName, SimHost, SimPage};
    use dunlin_tools::qemu::Level;
    use dunlin_tools::qemu::crawl::Summary;

    /// What the scheduler reaches in virtual time in the minute that the demo shows, as a share of
    /// the optimum, if its web changes by the draw of this seed.
    fn first_minute(seed: u64) -> f64 {
        /// Runs of the same web, in which the scheduler's own chances differ.
        const RUNS: u64 = 8;
        let web = web(SECONDS, seed);
        let best = web.optimum(BUDGET, POLITENESS).expect("a plan of the web");
        let page = |page: &dunlin_tools::web::changing::Changing| SimPage {
            host: page.host,
            weight: 1.0,
            mean_rate: page.rate * DAY,
            change: Change::Trace(page.changes.iter().map(|second| second / DAY).collect()),
        };
        let world = simulate::World {
            pages: web.pages.iter().map(page).collect(),
            hosts: vec![SimHost::new(POLITENESS.into()); HOSTS],
            ..simulate::World::default()
        };
        let run = |seed| {
            let options = Options {
                measured_from: WARM_UP.as_secs_f64() / DAY,
                fetch_time: dunlin::time::Duration::from_millis(30),
                ..Options::new(f64::from(SECONDS) / DAY, seed)
            };
            let mut policy = PolicyName::default().build(&world, BUDGET * DAY, true, seed);
            simulate::run(&world, &mut *policy, &options).freshness / best
        };
        (1..=RUNS).map(run).sum::<f64>() / RUNS as f64
    }

    #[test]
    fn the_web_that_is_shown_is_a_usual_one_and_learnt_within_three_per_cent() {
        const DRAWS: u64 = 40;
        let mean = (1..=DRAWS).map(first_minute).sum::<f64>() / DRAWS as f64;
        let shown = first_minute(SEED);
        println!("{shown:.4} of the optimum in the web that is shown, {mean:.4} on average");
        assert!(mean >= 0.97, "{mean}");
        assert!((shown - mean).abs() < 0.01, "{shown}, on average {mean}");
    }

    #[test]
    fn the_summary_says_what_the_server_saw() {
        let summary = Summary {
            fetches: 300,
            changed: 40,
            bytes: 12_345,
            ..Summary::default()
        };
        let report = Report {
            summary,
            stack: Some(6_000),
            ..Report::default()
        };
        let measured = Measured {
            freshness: 0.6,
            optimum: 0.75,
            shortest_gap: Duration::from_millis(504),
            requests: 320,
            not_modified: 80,
            https: 4,
            handshakes: Handshakes {
                full: 1,
                resumed: 9,
            },
            report,
        };
        let text = measured.to_string();
        for expected in [
            "0.600 of at most 0.750",
            "(80 %)",
            "504 ms",
            "25 % answered 304",
            "12345 of pages",
            "9 of 10 resumed",
        ] {
            assert!(text.contains(expected), "no {expected:?} in\n{text}");
        }
    }

    #[test]
    fn a_terminal_sees_one_line_move_and_everybody_else_all_of_them() {
        let line = |message: &str| Line {
            micros: Some(1_500_000),
            level: Level::Info,
            message: message.into(),
            bytes: 0,
        };
        let lines = [
            "loaded pages=60",
            "end page=1 status=200 bytes=9 ms=1 changed=true",
            "end page=2 status=304 bytes=0 ms=1 changed=false",
            "totals fetches=2",
        ];
        let show = |live: bool| {
            let mut view = View::new(live, 60);
            lines.map(|message| view.show(&line(message))).concat()
        };
        let plain = show(false);
        assert!(
            plain.lines().count() == 4 && !plain.contains('\r'),
            "{plain:?}"
        );
        let live = show(true);
        assert_eq!(
            live.lines().count(),
            2,
            "fetches are written over: {live:?}"
        );
        assert!(
            live.contains("\r\x1b[K 59 s left  2 fetches, 1 changes; page 2 answered 304"),
            "{live:?}"
        );
    }
}
