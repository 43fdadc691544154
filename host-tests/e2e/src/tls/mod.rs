//! End to end: https, judged by the servers and by what the probe says of those it refuses.

pub mod computer;
pub mod front;
pub mod mixed;
mod peers;
mod pki;
#[cfg(test)]
mod pool;
mod raw;
mod rogue;
pub mod server;
pub mod sessions;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use dunlin::probe::{LoggedBoardEvent, LoggedEvent};
use dunlin_host::lists::listing::Listing;
use dunlin_host::lists::trust;
use dunlin_tools::qemu::crawl::{Crawl, Report};
use dunlin_tools::qemu::list::{LOOPBACK, listing};
use dunlin_tools::qemu::page_image::Options;
use dunlin_tools::qemu::{Line, temporary};

use crate::{show, trace};
pub use peers::{pem, real_peers};
pub use pki::{Authority, Identity, leaf};
use pki::{Fate, ROOT, cases, maze, pinned};
use server::{Ending, MEDDLINGS, Server, meddle};

/// What the stack may take.
pub const STACK: u64 = 28_000;
/// The same for the deepest path that a server can have searched: of 37,376 bytes that boards
/// leave, interrupts need some, too.
const STACK_IN_A_MAZE: u64 = 32_000;
/// What the pool has beside its sessions.
const POOL: u32 = 32 * 1024;
/// Between two requests to a host.
const GAP: Duration = Duration::from_millis(500);
/// For a whole fetch.
const DEADLINE: Duration = Duration::from_secs(10);

/// A page at a host's port.
struct Page<'a> {
    host: &'a str,
    port: u16,
    path: &'a str,
}

/// What became of pages, and of the probe.
#[derive(Debug, Default)]
struct Outcome {
    /// How often each page was answered.
    answered: BTreeMap<u16, u32>,
    /// Why each page was not answered, the last time.
    failed: BTreeMap<u16, String>,
    /// The longest time that a failure took, in milliseconds.
    slowest: u32,
    full: u32,
    resumed: u32,
    sessions: u32,
    session_bytes: u32,
    pool: u32,
    /// The first word of the pool's high-water mark, after a minute if the run is longer.
    first_pool: Option<u32>,
    report: Report,
}

fn https_list(pages: &[Page<'_>], gap: Duration) -> Listing {
    mixed_list(pages.iter().map(|page| ("https:", page)), gap)
}

/// Pages by their schemes.
fn mixed_list<'p>(
    pages: impl IntoIterator<Item = (&'p str, &'p Page<'p>)>,
    gap: Duration,
) -> Listing {
    let mut all = listing(0, &[], gap);
    for (scheme, page) in pages {
        let mut one = listing(page.port, &[(page.host, page.path)], gap);
        let name = one.list.hosts.remove(0);
        let known = all.list.hosts.iter().position(|known| *known == name);
        let host = known.unwrap_or_else(|| {
            all.list.hosts.push(name);
            all.gate_of_host.push(all.gates.len());
            all.gates.push(one.gates.remove(0));
            all.list.hosts.len() - 1
        });
        let mut listed = one.list.pages.remove(0);
        listed.host = host;
        listed.url = listed.url.replacen("http:", scheme, 1);
        all.list.pages.push(listed);
    }
    all
}

/// Seconds since 1970, for the firmware's clock.
pub fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

/// The firmware that speaks https lies beside the one that does not.
pub fn tls_firmware(elf: &Path) -> PathBuf {
    elf.with_file_name("qemu-mps2+tls")
}

/// What `--ca` makes of them.
pub fn authorities(trusted: &[&Authority]) -> Result<Vec<Vec<u8>>> {
    let file = temporary("pem");
    let text: String = trusted.iter().map(|authority| authority.pem()).collect();
    fs::write(&file, text)?;
    let read = trust::authorities(&file);
    fs::remove_file(&file)?;
    Ok(read?)
}

fn crawl(
    elf: &Path,
    trusted: &[&Authority],
    list: &Listing,
    seconds: u32,
    epoch: Option<u64>,
) -> Result<Outcome> {
    let elf = tls_firmware(elf);
    let options = Options {
        resolve: vec![("*".into(), LOOPBACK)],
        // A third of what it is by default: whoever misbehaves is asked more often than usual.
        back_off: dunlin::time::Duration::from_secs(20),
        deadline: DEADLINE.into(),
        authorities: authorities(trusted)?,
        ..Options::default()
    };
    let crawl = Crawl {
        epoch,
        ..Crawl::new(&elf, list, &options, seconds)
    };
    let mut outcome = Outcome::default();
    let report = crawl.run(|line| {
        trace(line);
        outcome.read(line);
    })?;
    outcome.report = report;
    let stack = outcome.report.stack.context("no word of the stack")?;
    show(format_args!(
        "stack {stack} B, pool {} B, {} full and {} resumed handshakes",
        outcome.pool, outcome.full, outcome.resumed
    ));
    let most = match list
        .list
        .hosts
        .iter()
        .any(|host| host.starts_with("maze.test"))
    {
        true => STACK_IN_A_MAZE,
        false => STACK,
    };
    ensure!(stack <= most, "the stack took {stack} bytes of {most}");
    ensure!(outcome.pool <= POOL, "the pool took {} bytes", outcome.pool);
    Ok(outcome)
}

impl Outcome {
    fn read(&mut self, line: &Line) {
        match LoggedEvent::read(&line.message) {
            Some(LoggedEvent::End { page, .. }) => *self.answered.entry(page).or_default() += 1,
            Some(LoggedEvent::Failed { page, millis, why }) => {
                self.failed.insert(page, why.to_owned());
                self.slowest = self.slowest.max(millis);
            }
            _ => {}
        }
        if let Some(LoggedBoardEvent::Tls {
            full,
            resumed,
            sessions,
            session_bytes,
            pool,
        }) = LoggedBoardEvent::read(&line.message)
        {
            self.full = full;
            self.resumed = resumed;
            self.sessions = sessions;
            self.session_bytes = session_bytes;
            self.pool = pool;
            self.first_pool.get_or_insert(pool);
        }
    }

    fn expect(&self, page: u16, host: &str, fate: Fate) -> Result<()> {
        let answered = self.answered.contains_key(&page);
        let failed = self.failed.get(&page).map_or("nothing", String::as_str);
        match fate {
            Fate::Fetched => ensure!(answered, "{host} was not fetched: {failed}"),
            Fate::Refused(why) => {
                ensure!(!answered, "{host} was fetched");
                let expected = format!("Tls({why})");
                ensure!(failed == expected, "{host}: {failed} instead of {expected}");
            }
        }
        Ok(())
    }
}

/// Every certificate of the list is accepted or refused, each for its own reason.
pub fn certificates(elf: &Path) -> Result<()> {
    let root = Authority::root(ROOT)?;
    let mut cases = cases(&root)?;
    let mut pins = Vec::new();
    for (case, pin) in pinned(&root)? {
        pins.push((case.host.to_owned(), pin));
        cases.push(case);
    }
    let hosts: Vec<(&str, &Identity)> = cases
        .iter()
        .map(|case| (case.host, &case.identity))
        .collect();
    let right = root.sign(&leaf(&["10.0.2.2"])?, &[])?;
    let wrong = root.sign(&leaf(&["10.0.2.3"])?, &[])?;
    let server = Server::start(&hosts, Some(&right), Ending::Length)?;
    let other = Server::start(&[], Some(&wrong), Ending::Length)?;
    let mut pages: Vec<Page<'_>> = cases
        .iter()
        .map(|case| Page {
            host: case.host,
            port: server.port,
            path: "/page",
        })
        .collect();
    for port in [server.port, other.port] {
        pages.push(Page {
            host: "10.0.2.2",
            port,
            path: "/address",
        });
    }
    let mut list = https_list(&pages, GAP);
    list.pins = pins;
    let outcome = crawl(elf, &[&root], &list, 25, Some(now()))?;
    for (page, case) in (0..).zip(&cases) {
        outcome.expect(page, case.host, case.fate)?;
    }
    let first = cases.len() as u16;
    outcome.expect(first, "the right address", Fate::Fetched)?;
    outcome.expect(first + 1, "the wrong address", Fate::Refused("Name"))?;
    ensure!(outcome.slowest < DEADLINE.as_millis() as u32 + 1_000);
    // Nothing was asked of whoever was refused.
    let asked = server.log();
    for case in &cases {
        let heard = asked.iter().any(|visit| visit.host.starts_with(case.host));
        ensure!(
            heard == (case.fate == Fate::Fetched),
            "{}: asked {heard}",
            case.host
        );
    }
    Ok(())
}

/// Four namesakes of an authority, each of which may stand above each other one, are refused with
/// bounded work and within the stack that boards leave.
pub fn lost_in_a_maze(elf: &Path) -> Result<()> {
    let root = Authority::root(ROOT)?;
    let case = maze()?;
    let server = Server::start(&[(case.host, &case.identity)], None, Ending::Length)?;
    let page = Page {
        host: case.host,
        port: server.port,
        path: "/page",
    };
    let outcome = crawl(elf, &[&root], &https_list(&[page], GAP), 6, Some(now()))?;
    outcome.expect(0, case.host, case.fate)?;
    ensure!(server.log().is_empty(), "it was asked");
    Ok(())
}

/// Servers that break the rules are refused, none of them holds anybody up, and an honest host is
/// visited all the while.
pub fn protocol(elf: &Path) -> Result<()> {
    let root = Authority::root(ROOT)?;
    let hosts = [
        "honest.test",
        "a.test",
        "b.test",
        "c.test",
        "d.test",
        "e.test",
    ];
    let identities: Vec<Identity> = hosts
        .iter()
        .map(|host| root.sign(&leaf(&[host])?, &[]))
        .collect::<Result<_>>()?;
    let named: Vec<(&str, &Identity)> = hosts.into_iter().zip(&identities).collect();
    let server = Server::start(&named, None, Ending::Length)?;
    let page = |host, port| Page {
        host,
        port,
        path: "/page",
    };
    let mut pages = vec![page("honest.test", server.port)];
    for (host, (how, _)) in hosts[1..].iter().zip(MEDDLINGS) {
        pages.push(page(host, meddle(server.port, *how)?));
    }
    for (name, speech) in raw::SPEECHES {
        pages.push(page(name, raw::start(*speech)?));
    }
    for (name, way, _) in rogue::WAYS {
        let identity = root.sign(&leaf(&[name])?, &[])?;
        pages.push(page(name, rogue::start(&identity, *way)?));
    }
    pages.push(page("silent", raw::silent()?));
    pages.push(page("dripping", raw::dripping()?));
    let list = https_list(&pages, GAP);
    const SECONDS: u32 = 30;
    let outcome = crawl(elf, &[&root], &list, SECONDS, Some(now()))?;
    let meddled = MEDDLINGS
        .iter()
        .map(|(how, fate)| (format!("{how:?}"), *fate));
    let spoken = raw::SPEECHES.iter().map(|(name, _)| {
        let fate = Some(Fate::Refused("Protocol"));
        (name.to_string(), fate)
    });
    let rogues = rogue::WAYS
        .iter()
        .map(|(name, _, fate)| (name.to_string(), *fate));
    let slow = ["silent", "dripping"].map(|name| (name.to_owned(), None));
    let expected = meddled.chain(spoken).chain(rogues).chain(slow);
    for (index, (what, fate)) in (1..).zip(expected) {
        match fate {
            Some(fate) => outcome.expect(index, &what, fate)?,
            None => {
                ensure!(!outcome.answered.contains_key(&index), "{what} was fetched");
                let why = outcome.failed.get(&index);
                ensure!(why.is_some(), "{what} did not fail");
            }
        }
    }
    ensure!(
        u128::from(outcome.slowest) <= DEADLINE.as_millis() + 1_500,
        "a failure took {} ms",
        outcome.slowest
    );
    let visits = outcome.answered.get(&0).copied().unwrap_or_default();
    let most = SECONDS * 1_000 / GAP.as_millis() as u32;
    show(format_args!(
        "the honest host had {visits} of {most} visits"
    ));
    ensure!(
        visits * 10 >= most * 5,
        "the honest host had {visits} visits"
    );
    Ok(())
}

/// Without the date nothing is asked by https, and no host is blamed.
pub fn without_time(elf: &Path) -> Result<()> {
    let root = Authority::root(ROOT)?;
    let identity = root.sign(&leaf(&["a.test"])?, &[])?;
    let server = Server::start(&[("a.test", &identity)], None, Ending::Length)?;
    let page = Page {
        host: "a.test",
        port: server.port,
        path: "/page",
    };
    let list = https_list(&[page], GAP);
    // Nobody says what time it is, or it is before this firmware was built.
    for epoch in [None, Some(1_700_000_000)] {
        let outcome = crawl(elf, &[&root], &list, 5, epoch)?;
        outcome.expect(0, "a.test", Fate::Refused("Time"))?;
        ensure!(server.log().is_empty(), "it was asked");
    }
    Ok(())
}
