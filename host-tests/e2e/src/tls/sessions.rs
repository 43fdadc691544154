//! End to end: sessions that are resumed, handshakes by the thousand, certificates that change.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use dunlin_tools::web::changing::{Rates, World};

use super::pki::{self, Authority, Fate, Identity, ROOT, leaf};
use super::server::{Ending, Server, Visit};
use super::{POOL, Page, crawl, https_list, now, tls_firmware};
use crate::demo::Tour;
use crate::show;

/// Four hosts that come round again resume their sessions, by the servers' word; a body that has no
/// length is complete only with TLS's goodbye.
pub fn resumes(elf: &Path) -> Result<()> {
    let root = Authority::root(ROOT)?;
    let hosts = [
        "a.test", "b.test", "c.test", "d.test", "bye.test", "cut.test",
    ];
    let identities: Vec<Identity> = hosts
        .iter()
        .map(|host| root.sign(&leaf(&[host])?, &[]))
        .collect::<Result<_>>()?;
    let named: Vec<(&str, &Identity)> = hosts.into_iter().zip(&identities).collect();
    let server = Server::start(&named, None, Ending::Length)?;
    let goodbye = Server::start(&named, None, Ending::Goodbye)?;
    let cut = Server::start(&named, None, Ending::Cut)?;
    let page = |host, port, path| Page { host, port, path };
    let mut pages: Vec<Page<'_>> = hosts[..4]
        .iter()
        .map(|host| page(host, server.port, "/page"))
        .collect();
    pages.push(page("bye.test", goodbye.port, "/page"));
    pages.push(page("cut.test", cut.port, "/page"));
    pages.push(page("a.test", server.port, "/large"));
    // Kept connections would not have to shake hands at all.
    let list = https_list(&pages, Duration::from_secs(5));
    let outcome = crawl(elf, &[&root], &list, 32, Some(now()))?;
    let visits = server.log();
    let handshakes: Vec<&Visit> = visits.iter().filter(|visit| visit.first).collect();
    let full = handshakes.iter().filter(|visit| !visit.resumed).count();
    let resumed = handshakes.len() - full;
    show(format_args!(
        "{full} full handshakes, {resumed} resumed; {} sessions of {} B",
        outcome.sessions,
        outcome.session_bytes / outcome.sessions.max(1)
    ));
    ensure!(full == 4, "{full} full handshakes of four hosts");
    ensure!(resumed >= 12, "{resumed} sessions were resumed");
    let large = visits.iter().find(|visit| visit.path == "/large");
    ensure!(large.is_some(), "the large page was not asked for");
    ensure!(outcome.report.summary.bytes >= 100_000, "it was not read");
    // In an image pages stand host by host: the large one is the second.
    let bye = 5;
    let cut = 6;
    outcome.expect(bye, "a body that ends with a goodbye", Fate::Fetched)?;
    ensure!(
        !outcome.answered.contains_key(&cut),
        "a body was read that nobody has said goodbye to"
    );
    let why = outcome.failed.get(&cut).map(String::as_str);
    ensure!(why == Some("Response"), "the one that was cut: {why:?}");
    ensure!(outcome.failed.len() == 1, "{:?}", outcome.failed);
    for visit in &visits {
        ensure!(
            visit.speaks_http,
            "ALPN did not agree on http/1.1: {visit:?}"
        );
        ensure!(
            visit.is_chacha,
            "ChaCha was not the first choice: {visit:?}"
        );
    }
    Ok(())
}

/// Bytes by which three connections at once may take more of the pool than they did before.
const LEAK: u32 = 4 * 1024;

/// The greediest handshake that the caps allow, again and again: nothing is lost, and the pool is
/// large enough. How many there were.
pub fn greediest(elf: &Path, seconds: u32, least: u32) -> Result<()> {
    let root = Authority::root(ROOT)?;
    let hosts = ["a.test", "b.test", "c.test"];
    let identities: Vec<Identity> = hosts
        .iter()
        .map(|host| pki::fat(&root, host, 12_700))
        .collect::<Result<_>>()?;
    let named: Vec<(&str, &Identity)> = hosts.into_iter().zip(&identities).collect();
    // Nobody resumes: the answer ends the connection, and there are no tickets.
    let server = Server::start(&named, None, Ending::NoTickets)?;
    let pages: Vec<Page<'_>> = hosts
        .iter()
        .map(|host| Page {
            host,
            port: server.port,
            path: "/page",
        })
        .collect();
    let list = https_list(&pages, Duration::from_millis(20));
    let outcome = crawl(elf, &[&root], &list, seconds, Some(now()))?;
    show(format_args!(
        "{} greediest handshakes, pool {} of {POOL} B",
        outcome.full, outcome.pool
    ));
    // Who finds no room for a chain while others have theirs comes back later.
    let failed = outcome.failed.values().find(|why| *why != "Tls(Memory)");
    ensure!(failed.is_none(), "{failed:?}");
    ensure!(outcome.full >= least, "{} handshakes", outcome.full);
    ensure!(outcome.pool < POOL, "the pool took {} bytes", outcome.pool);
    // Whatever a handshake loses is lost by hundreds of them after the first minute.
    let first = outcome.first_pool.unwrap_or_default();
    ensure!(
        outcome.pool <= first + LEAK,
        "the pool's mark went up from {first} to {} bytes",
        outcome.pool
    );
    Ok(())
}

/// A host that gets another certificate after six seconds, and after twelve one of another
/// authority, and keeps none of its sessions.
pub struct Rotating {
    pub authorities: [Authority; 2],
    pub server: Server,
    turns: thread::JoinHandle<Result<Vec<usize>>>,
}

impl Rotating {
    pub const HOST: &str = "rotating.test";
    pub const SECONDS: u32 = 18;

    pub fn start() -> Result<Self> {
        let authorities = [Authority::root(ROOT)?, Authority::root("the next one")?];
        let [first, second] = &authorities;
        let identities: Vec<Identity> = [first, first, second]
            .iter()
            .map(|root| root.sign(&leaf(&[Self::HOST])?, &[]))
            .collect::<Result<_>>()?;
        let server = Server::start(&[(Self::HOST, &identities[0])], None, Ending::Close)?;
        let rotating = server.clone();
        let turns = thread::spawn(move || -> Result<Vec<usize>> {
            let mut turns = Vec::new();
            for identity in &identities[1..] {
                thread::sleep(Duration::from_secs(6));
                turns.push(rotating.log().len());
                rotating.rotate(&[(Self::HOST, identity)])?;
            }
            Ok(turns)
        });
        Ok(Self {
            authorities,
            server,
            turns,
        })
    }

    /// Was it followed? By its own word: a full handshake for each certificate, and no more.
    pub fn judge(self) -> Result<()> {
        let turns = self
            .turns
            .join()
            .map_err(|_| anyhow::anyhow!("the server panicked"))??;
        let visits = self.server.log();
        let full = visits.iter().filter(|visit| !visit.resumed).count();
        show(format_args!(
            "{} visits; certificates changed after {turns:?}; {full} full handshakes",
            visits.len()
        ));
        ensure!(full == 3, "{full} full handshakes");
        let ends = [0, turns[0], turns[1], visits.len()];
        for span in ends.windows(2) {
            ensure!(span[1] >= span[0] + 3, "{span:?} with one certificate");
        }
        Ok(())
    }
}

/// Certificates that change are followed without a visit that fails.
pub fn rotates(elf: &Path) -> Result<()> {
    let rotating = Rotating::start()?;
    let page = Page {
        host: Rotating::HOST,
        port: rotating.server.port,
        path: "/page",
    };
    let list = https_list(&[page], Duration::from_secs(1));
    let [first, second] = &rotating.authorities;
    let outcome = crawl(elf, &[first, second], &list, Rotating::SECONDS, Some(now()))?;
    ensure!(outcome.failed.is_empty(), "{:?}", outcome.failed);
    rotating.judge()
}

/// How sessions of so many hosts were kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Of the handshakes after each host's first.
    pub resumed: f64,
    /// Of the cache, for one session.
    pub bytes: f64,
    /// Of the pool beside sessions, at most.
    pub pool: f64,
    /// Of the stack, at most.
    pub stack: u64,
}

/// Lets the probe visit hosts with a chain of two certificates each, every few seconds.
pub fn kept(elf: &Path, hosts: usize) -> Result<Kept> {
    const ROUND: u64 = 8;
    let root = Authority::root(ROOT)?;
    let middle = root.intermediate("middle")?;
    let names: Vec<String> = (0..hosts).map(|host| format!("h{host}.test")).collect();
    let identities: Vec<Identity> = names
        .iter()
        .map(|host| middle.sign(&leaf(&[host])?, &[&middle]))
        .collect::<Result<_>>()?;
    let named: Vec<(&str, &Identity)> = names.iter().map(String::as_str).zip(&identities).collect();
    let server = Server::start(&named, None, Ending::Close)?;
    let pages: Vec<Page<'_>> = names
        .iter()
        .map(|host| Page {
            host,
            port: server.port,
            path: "/page",
        })
        .collect();
    let list = https_list(&pages, Duration::from_secs(ROUND));
    let outcome = crawl(elf, &[&root], &list, 5 * ROUND as u32, Some(now()))?;
    let later = server.log().len().saturating_sub(hosts);
    let resumed = server.log().iter().filter(|visit| visit.resumed).count();
    Ok(Kept {
        resumed: resumed as f64 / later.max(1) as f64,
        bytes: f64::from(outcome.session_bytes) / f64::from(outcome.sessions.max(1)),
        pool: f64::from(outcome.pool),
        stack: outcome.report.stack.unwrap_or_default(),
    })
}

/// Four https hosts for ten minutes, 15 s between two requests, beside the same over http: after
/// each host's first, nine handshakes of ten are resumed, and copies are as fresh.
pub fn ten_minutes(elf: &Path) -> Result<()> {
    const HOSTS: usize = 4;
    const SECONDS: u32 = 600;
    const RUNS: u64 = 3;
    let elf = tls_firmware(elf);
    let tour = |seed: u64, https: usize| {
        let elf = elf.clone();
        thread::spawn(move || {
            let tour = Tour {
                elf: &elf,
                world: World::between(60.0, 3_600.0, 40, HOSTS, f64::from(SECONDS) + 60.0, seed),
                https,
                politeness: Duration::from_secs(15),
                per_second: HOSTS as f64 / 15.0,
                rates: Rates::Given,
                warm_up: Duration::from_secs(200),
                seconds: SECONDS,
            };
            tour.run(|_| ())
        })
    };
    let runs: Vec<_> = (0..RUNS)
        .map(|seed| [HOSTS, 0].map(|https| tour(seed, https)))
        .collect();
    let mut secure = 0.0;
    let mut plain = 0.0;
    for run in runs {
        for (run, is_secure) in run.into_iter().zip([true, false]) {
            let measured = run
                .join()
                .map_err(|_| anyhow::anyhow!("a run panicked"))??;
            let sum = if is_secure { &mut secure } else { &mut plain };
            *sum += measured.freshness / RUNS as f64;
            let later = measured.handshakes;
            show(format_args!(
                "https {is_secure}: freshness {:.4}, {} requests, then {later:?}",
                measured.freshness, measured.requests
            ));
            if is_secure {
                ensure!(
                    10 * later.resumed >= 9 * (later.full + later.resumed) && later.resumed > 0,
                    "{later:?}"
                );
            }
        }
    }
    show(format_args!(
        "freshness {secure:.4} over https, {plain:.4} over http"
    ));
    ensure!(secure >= 0.97 * plain, "{secure:.4} of {plain:.4}");
    Ok(())
}
