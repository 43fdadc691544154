//! End to end: https, judged by the servers and by what the probe says of those it refuses.

mod pki;
mod raw;
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use dunlin::probe::{LoggedBoardEvent, LoggedEvent};
use dunlin_host::lists::listing::Listing;
use dunlin_host::lists::trust;
use dunlin_tools::qemu::crawl::{Crawl, Report};
use dunlin_tools::qemu::list::{LOOPBACK, listing};
use dunlin_tools::qemu::page_image::Options;
use dunlin_tools::qemu::{Line, temporary};

use crate::show;
use pki::{Authority, Fate, Identity, ROOT, cases, leaf};
use server::{Ending, Meddling, Server, Visit, meddle};

/// What the stack may take.
const STACK: u64 = 36 * 1024;
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
    report: Report,
}

fn https_list(pages: &[Page<'_>], gap: Duration) -> Listing {
    let mut all = listing(0, &[], gap);
    for page in pages {
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
        listed.url = listed.url.replacen("http:", "https:", 1);
        all.list.pages.push(listed);
    }
    all
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

/// The firmware that speaks https lies beside the one that does not.
fn tls_firmware(elf: &Path) -> PathBuf {
    elf.with_file_name("qemu-mps2+tls")
}

fn crawl(
    elf: &Path,
    root: Option<&Authority>,
    list: &Listing,
    seconds: u32,
    epoch: Option<u64>,
) -> Result<Outcome> {
    let elf = tls_firmware(elf);
    let authorities = match root {
        Some(root) => {
            let file = temporary("pem");
            fs::write(&file, root.pem())?;
            let read = trust::authorities(&file);
            fs::remove_file(&file)?;
            read?
        }
        None => Vec::new(),
    };
    let options = Options {
        resolve: vec![("*".into(), LOOPBACK)],
        back_off: dunlin::time::Duration::from_secs(20),
        deadline: DEADLINE.into(),
        authorities,
        ..Options::default()
    };
    let crawl = Crawl {
        elf: &elf,
        listing: list,
        options: &options,
        seconds,
        state: None,
        monitor: None,
        stop: None,
        log_port: None,
        epoch,
        forward: None,
    };
    let mut outcome = Outcome::default();
    let report = crawl.run(|line| {
        show(line);
        outcome.read(line);
    })?;
    outcome.report = report;
    let stack = outcome.report.stack.context("no word of the stack")?;
    show(format_args!(
        "stack {stack} B, pool {} B, {} full and {} resumed handshakes",
        outcome.pool, outcome.full, outcome.resumed
    ));
    ensure!(stack <= STACK, "the stack took {stack} bytes");
    ensure!(
        outcome.pool <= POOL + outcome.session_bytes,
        "the pool took {} bytes, {} of them for sessions",
        outcome.pool,
        outcome.session_bytes
    );
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
    let cases = cases(&root)?;
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
    let list = https_list(&pages, GAP);
    let outcome = crawl(elf, Some(&root), &list, 25, Some(now()))?;
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
    let meddled = [
        ("a.test", Meddling::ByteByByte, Some(Fate::Fetched)),
        ("b.test", Meddling::Fragments, Some(Fate::Fetched)),
        (
            "c.test",
            Meddling::HandshakeBit,
            Some(Fate::Refused("Protocol")),
        ),
        ("d.test", Meddling::PageBit, None),
        ("e.test", Meddling::PlainText, None),
    ];
    let page = |host, port| Page {
        host,
        port,
        path: "/page",
    };
    let mut pages = vec![page("honest.test", server.port)];
    for (host, how, _) in meddled {
        pages.push(page(host, meddle(server.port, how)?));
    }
    for (name, speech) in raw::SPEECHES {
        pages.push(page(name, raw::start(*speech)?));
    }
    pages.push(page("silent", raw::silent()?));
    pages.push(page("dripping", raw::dripping()?));
    let list = https_list(&pages, GAP);
    const SECONDS: u32 = 30;
    let outcome = crawl(elf, Some(&root), &list, SECONDS, Some(now()))?;
    for (index, (host, how, fate)) in (1..).zip(meddled) {
        let what = format!("{host} with {how:?}");
        match fate {
            Some(fate) => outcome.expect(index, &what, fate)?,
            None => {
                ensure!(!outcome.answered.contains_key(&index), "{what} was fetched");
                let why = outcome.failed.get(&index);
                ensure!(why.is_some(), "{what} did not fail");
            }
        }
    }
    let first = 1 + meddled.len() as u16;
    for (index, (name, _)) in (first..).zip(raw::SPEECHES) {
        outcome.expect(index, name, Fate::Refused("Protocol"))?;
    }
    let slow = first + raw::SPEECHES.len() as u16;
    for index in [slow, slow + 1] {
        ensure!(!outcome.answered.contains_key(&index));
        ensure!(
            outcome.failed.contains_key(&index),
            "page {index} did not fail"
        );
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
    let outcome = crawl(elf, Some(&root), &list, 32, Some(now()))?;
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
    let answered = |page: u16| outcome.answered.contains_key(&page);
    let last = 5;
    ensure!(answered(4) || answered(last), "no page without a length");
    let failed = outcome.failed.values().filter(|why| *why == "Response");
    ensure!(failed.count() == 1, "{:?}", outcome.failed);
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
    let outcome = crawl(elf, Some(&root), &list, 5, None)?;
    outcome.expect(0, "a.test", Fate::Refused("Time"))?;
    ensure!(server.log().is_empty(), "it was asked");
    Ok(())
}

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
    let outcome = crawl(elf, Some(&root), &list, seconds, Some(now()))?;
    show(format_args!(
        "{} greediest handshakes, pool {} of {POOL} B",
        outcome.full, outcome.pool
    ));
    // Who finds no room for a chain while others have theirs comes back later.
    let failed = outcome.failed.values().find(|why| *why != "Tls(Memory)");
    ensure!(failed.is_none(), "{failed:?}");
    ensure!(outcome.full >= least, "{} handshakes", outcome.full);
    ensure!(outcome.pool < POOL, "the pool took {} bytes", outcome.pool);
    Ok(())
}

/// OpenSSL and nginx, as different as they can be configured.
pub fn real_peers(elf: &Path) -> Result<()> {
    let root = Authority::root(ROOT)?;
    let folder = temporary("peers");
    fs::create_dir_all(&folder)?;
    let identity = root.sign(&leaf(&["*.peer.test"])?, &[])?;
    let file = |name: &str| folder.join(name);
    fs::write(file("chain.pem"), pem("CERTIFICATE", &identity.chain[0]))?;
    fs::write(
        file("key.pem"),
        pem("PRIVATE KEY", identity.key.secret_der()),
    )?;
    fs::write(file("page"), "hello")?;
    fs::write(file("robots.txt"), "")?;
    let ways: &[&[&str]] = &[
        &["-tls1_3"],
        &["-tls1_2"],
        // A hello that has to be repeated with another key share.
        &["-tls1_3", "-groups", "P-256"],
        &["-tls1_2", "-groups", "P-256"],
        &["-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256"],
        &["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"],
        // A certificate is asked for, and not missed.
        &["-tls1_3", "-verify", "1"],
        &["-tls1_2", "-verify", "1"],
        &["-tls1_3", "-record_padding", "512"],
        &["-tls1_3", "-max_send_frag", "512"],
        &["-tls1_3", "-no_ticket"],
    ];
    let mut peers = Vec::new();
    let mut ports = Vec::new();
    for way in ways {
        let port = free_port()?;
        let mut openssl = Command::new("openssl");
        openssl
            .current_dir(&folder)
            .args(["s_server", "-quiet", "-WWW", "-accept", &port.to_string()])
            .args(["-cert", "chain.pem", "-key", "key.pem"])
            .args(*way);
        peers.push(Peer::start(&mut openssl, port)?);
        ports.push(port);
    }
    let port = free_port()?;
    let conf = format!(
        "daemon off; pid {0}/nginx.pid; error_log {0}/error.log; events {{}}
        http {{ access_log off; client_body_temp_path {0}/b; proxy_temp_path {0}/p;
        fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;
        server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {0}/chain.pem;
        ssl_certificate_key {0}/key.pem; root {0}; }} }}",
        folder.display()
    );
    fs::write(file("nginx.conf"), conf)?;
    let mut nginx = Command::new("nginx");
    nginx.arg("-c").arg(file("nginx.conf"));
    nginx.arg("-e").arg(file("error.log"));
    peers.push(Peer::start(&mut nginx, port)?);
    ports.push(port);
    // One name each: sessions are kept by name.
    let hosts: Vec<String> = (0..ports.len())
        .map(|number| format!("p{number}.peer.test"))
        .collect();
    let pages: Vec<Page<'_>> = hosts
        .iter()
        .zip(&ports)
        .map(|(host, port)| Page {
            host,
            port: *port,
            path: "/page",
        })
        .collect();
    let list = https_list(&pages, GAP);
    let outcome = crawl(elf, Some(&root), &list, 20, Some(now()))?;
    drop(peers);
    fs::remove_dir_all(&folder)?;
    for (page, way) in (0..).zip(ways.iter().copied().chain([&["nginx"][..]])) {
        outcome.expect(page, &way.join(" "), Fate::Fetched)?;
    }
    ensure!(outcome.failed.is_empty(), "{:?}", outcome.failed);
    // All but the one that keeps none.
    ensure!(
        outcome.full <= 3 * ports.len() as u32 && outcome.resumed >= 2 * outcome.full,
        "{} full and {} resumed handshakes",
        outcome.full,
        outcome.resumed
    );
    Ok(())
}

/// A program that serves, ended when dropped.
struct Peer(Child);

impl Peer {
    fn start(command: &mut Command, port: u16) -> Result<Self> {
        let program = command.get_program().to_owned();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let peer = Self(child);
        let end = Instant::now() + Duration::from_secs(10);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(
                Instant::now() < end,
                "{} does not listen",
                program.display()
            );
            thread::sleep(Duration::from_millis(50));
        }
        Ok(peer)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}

fn pem(kind: &str, der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = format!("-----BEGIN {kind}-----\n");
    for line in der.chunks(48) {
        for group in line.chunks(3) {
            let bits = (0..3).fold(0_u32, |bits, at| {
                bits << 8 | u32::from(*group.get(at).unwrap_or(&0))
            });
            for place in 0..4 {
                let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
                text.push(if place <= group.len() {
                    digit.into()
                } else {
                    '='
                });
            }
        }
        text.push('\n');
    }
    text + &format!("-----END {kind}-----\n")
}
