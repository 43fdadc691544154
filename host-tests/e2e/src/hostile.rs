//! End to end: a web that misbehaves in more than 150 ways, against `dunlin run` and against the
//! firmware, judged by the servers alone.
//!
//! Nobody may be harmed by it: the probe goes on and ends by itself, no host is asked sooner than
//! its gap allows, nobody is led into the trap on this computer's own addresses, and honest hosts
//! are visited as before. Names are looked up at a server that lies: the firmware's own look-up, and
//! this computer's.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dunlin::catalog::Address;
use dunlin_tools::hostile::names::{self, LIES};
use dunlin_tools::hostile::{Asked, HOP, HostileWeb, LONG_PATH};
use dunlin_tools::qemu::crawl::Crawl;
use dunlin_tools::qemu::list::{LOOPBACK, listing, options};
use dunlin_tools::qemu::page_image::Options;
use dunlin_tools::shell::output;
use qemu_mps2_capacity::HOSTS;

use crate::command::TextFile;
use crate::monitor::program;
use crate::show;

/// Between two requests to a host.
const GAP: Duration = Duration::from_secs(1);
/// What threads of the server may be late by when they look at the clock.
const JITTER: Duration = Duration::from_millis(60);
/// Honest hosts, with two pages each.
const HONEST: usize = 8;
/// Of a hundred visits that honest hosts have alone.
const KEPT_PERCENT: usize = 80;

/// Between two requests to a host of the firmware's list.
const QEMU_GAP: Duration = Duration::from_secs(2);
/// Honest hosts on the firmware's list, with two pages each.
const QEMU_HONEST: usize = 6;

/// A listed host of whose place only the name server knows.
const NAMED: &str = "named.test";
/// Where `dunlin run` has its name server. Not where the firmware's is: that one stays.
const COMPUTERS_NAMES: Ipv4Addr = Ipv4Addr::new(127, 11, 0, 53);

/// The firmware in QEMU, beside one that has the honest hosts alone. It holds 64 hosts: some of the
/// answers in the ordinary run, all of them one part after the other in the long mode.
pub fn in_qemu(elf: &Path, all: bool) -> Result<()> {
    let asked = names::serve(Ipv4Addr::LOCALHOST, LOOPBACK);
    let has_names = asked.is_ok();
    if let Err(why) = &asked {
        show(format_args!(
            "redirects by name are skipped: no name server on port 53, {why}"
        ));
    }
    let web = HostileWeb::start()?;
    say_what_lacks(&web);
    let mut hostile: Vec<(String, bool)> = Vec::new();
    for (number, answer) in web.answers().iter().enumerate() {
        let by_name = answer.name.contains(".test:");
        if (all || !answer.is_slow()) && (has_names || !by_name) {
            hostile.push((format!("h{number}.test"), false));
        }
    }
    for (number, robots) in web.robots().iter().enumerate() {
        if all || !robots.is_costly() {
            hostile.push((format!("r{number}.test"), true));
        }
    }
    let room = HOSTS - QEMU_HONEST - 1;
    let parts = hostile.len().div_ceil(room);
    let mut trapped = 0;
    for part in 0..if all { parts } else { 1 } {
        // Every part has some of each kind.
        let some: Vec<&(String, bool)> = hostile.iter().skip(part).step_by(parts).collect();
        let seconds = if all { 60 } else { 24 };
        firmware_beside(elf, &web, &some, seconds, has_names)
            .with_context(|| format!("part {} of {parts}", part + 1))?;
        trapped += web.trapped().len();
        ensure!(trapped == 0, "{:?} came into the trap", web.trapped());
    }
    match asked {
        Ok(asked) => hear_lies(&asked, all),
        Err(_) => Ok(()),
    }
}

/// Says that there is no trap by IPv6, if so.
fn say_what_lacks(web: &HostileWeb) {
    if let Some(why) = web.no_ipv6() {
        show(format_args!("the trap by IPv6 is skipped: {why}"));
    }
}

/// The name of the list was asked for, and lies were: `all` of them, or some.
fn hear_lies(asked: &names::Asked, all: bool) -> Result<()> {
    let asked = asked.lock().map(|asked| asked.clone()).unwrap_or_default();
    ensure!(asked.iter().any(|name| name == NAMED), "{NAMED} is unknown");
    let lies = asked.into_iter().filter(|name| name.starts_with('d'));
    let lies: BTreeSet<String> = lies.collect();
    show(format_args!(
        "{} of {} lies about names were heard",
        lies.len(),
        LIES.len()
    ));
    ensure!(!lies.is_empty(), "nobody asked where redirects lead");
    let is_unknown = |number: &usize| !lies.contains(&format!("d{number}.test"));
    let unknown: Vec<usize> = (0..LIES.len()).filter(is_unknown).collect();
    ensure!(!all || unknown.is_empty(), "lies {unknown:?} are unknown");
    Ok(())
}

/// One run of the firmware on honest and these hostile hosts, and one on the honest ones alone at
/// the same time: whatever slows this computer down slows both.
fn firmware_beside(
    elf: &Path,
    web: &HostileWeb,
    hostile: &[&(String, bool)],
    seconds: u32,
    has_names: bool,
) -> Result<()> {
    let mut pages: Vec<(String, &str)> = (0..QEMU_HONEST)
        .flat_map(|number| ["/a", "/b"].map(|path| (format!("good{number}.test"), path)))
        .collect();
    let honest = HostileWeb::start()?;
    let (alone, beside) = std::thread::scope(|scope| {
        let quiet = pages.clone();
        let honest = &honest;
        let alone = scope.spawn(move || firmware(elf, honest, &quiet, seconds));
        for (host, is_robots) in hostile {
            let paths: &[&str] = if *is_robots {
                &["/no", LONG_PATH]
            } else {
                &["/page"]
            };
            pages.extend(paths.iter().map(|path| (host.clone(), *path)));
        }
        if has_names {
            pages.push((NAMED.into(), "/a"));
        }
        web.forget();
        let beside = firmware(elf, web, &pages, seconds);
        (alone.join(), beside)
    });
    beside?;
    alone.map_err(|_| anyhow::anyhow!("the other run panicked"))??;
    let log = web.log();
    judge(&log, QEMU_GAP)?;
    judge(&honest.log(), QEMU_GAP)?;
    let asked = hosts(&log);
    for (host, _) in &pages {
        ensure!(asked.contains_key(&**host), "{host} was not asked");
    }
    let disobeyed = log.iter().find(|asked| asked.path == "/no");
    ensure!(disobeyed.is_none(), "robots.txt forbids it: {disobeyed:?}");
    let alone = visits(&honest.log());
    let beside = visits(&log);
    show(format_args!(
        "{} hostile hosts, {} requests; honest hosts had {beside} visits, {alone} alone",
        hostile.len(),
        log.len()
    ));
    ensure!(
        beside * 100 >= alone * KEPT_PERCENT,
        "honest hosts had {beside} visits, {alone} without the others"
    );
    Ok(())
}

/// Runs the firmware on these pages: it boots once, and ends by itself.
fn firmware(elf: &Path, web: &HostileWeb, pages: &[(String, &str)], seconds: u32) -> Result<()> {
    let listed: Vec<(&str, &str)> = pages.iter().map(|(host, path)| (&**host, *path)).collect();
    let listing = listing(web.port(), &listed, QEMU_GAP);
    // Whoever is not named here is asked for from the name server.
    let named = listed.iter().map(|(host, _)| *host);
    let mut resolve: Vec<(String, Ipv4Addr)> = named
        .filter(|host| *host != NAMED)
        .map(|host| (host.to_owned(), LOOPBACK))
        .collect();
    resolve.dedup();
    let options = Options {
        resolve,
        address: Address::Static {
            address: [10, 0, 2, 15],
            prefix: 24,
            router: Some(LOOPBACK.octets()),
            names: Some(LOOPBACK.octets()),
        },
        ..options()
    };
    let crawl = Crawl::new(elf, &listing, &options, seconds);
    let mut boots = 0;
    let mut last = std::collections::VecDeque::new();
    let report = crawl.run(|line| {
        boots += u32::from(line.message.starts_with("boot reset="));
        last.push_back(line.to_string());
        if last.len() > 40 {
            last.pop_front();
        }
    });
    report.with_context(|| Vec::from(last).join("\n"))?;
    ensure!(boots == 1, "it booted {boots} times");
    Ok(())
}

/// This computer's own look-up, with a name server that lies.
#[derive(Debug)]
struct LyingNames {
    asked: names::Asked,
    /// Stands in for `/etc/resolv.conf`.
    settings: TextFile,
}

impl LyingNames {
    /// Who is patient waits for an answer as long as this computer does by default: ten seconds.
    fn new(patient: bool) -> Result<Self> {
        let hurry = if patient {
            ""
        } else {
            "options timeout:1 attempts:1\n"
        };
        let settings = format!("nameserver {COMPUTERS_NAMES}\nsearch .\n{hurry}");
        let names = Self {
            asked: names::serve(COMPUTERS_NAMES, Ipv4Addr::LOCALHOST)
                .context("no name server on port 53")?,
            settings: TextFile::new(&settings)?,
        };
        let possible = output(names.before(Path::new("true")).arg("here"));
        possible.context("/etc/resolv.conf cannot be replaced for one program")?;
        Ok(names)
    }

    /// A program that sees these names, and nobody else does: for it alone another file lies over
    /// the computer's own.
    fn before(&self, program: &Path) -> Command {
        const REPLACED: &str = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", REPLACED])
            .arg(&self.settings.0)
            .arg(program);
        command
    }
}

/// `dunlin run` on this computer's sockets. Those answers that hold a place until a deadline are in
/// the long mode alone.
pub fn on_this_computer(slow: bool) -> Result<()> {
    let names = LyingNames::new(slow);
    if let Err(why) = &names {
        show(format_args!("lies about names are skipped: {why:#}"));
    }
    let names = names.ok();
    let web = HostileWeb::start()?;
    say_what_lacks(&web);
    let program = program::build()?;
    let seconds = if slow { 120 } else { 12 };
    let honest = list(&web, false, false);
    run(&program, &web, &honest, seconds, names.as_ref())?;
    let alone = visits(&web.log());
    judge(&web.log(), GAP)?;
    web.forget();
    let mut everything = list(&web, true, slow);
    if names.is_some() {
        let _ = writeln!(everything, "http://{NAMED}:{}/a", web.port());
    }
    let said = run(&program, &web, &everything, seconds, names.as_ref())?;
    let log = web.log();
    judge(&log, GAP)?;
    let asked = hosts(&log);
    let expected = everything.lines().skip(1).map(host_of);
    for host in expected {
        ensure!(asked.contains_key(host), "{host} was not asked:\n{said}");
    }
    ensure!(
        web.trapped().is_empty(),
        "{:?} came into the trap",
        web.trapped()
    );
    if let Some(names) = &names {
        // In twelve seconds some of them are: each is behind a robots.txt, a page and two gaps.
        hear_lies(&names.asked, slow)?;
    }
    let forbidden = |asked: &&Asked| asked.path == "/no";
    let disobeyed = log.iter().find(forbidden);
    ensure!(disobeyed.is_none(), "robots.txt forbids it: {disobeyed:?}");
    let beside = visits(&log);
    show(format_args!(
        "{} hostile hosts, {} requests; honest hosts had {beside} visits, {alone} alone",
        asked.len() - HONEST,
        log.len()
    ));
    ensure!(
        beside * 100 >= alone * KEPT_PERCENT,
        "honest hosts had {beside} visits, {alone} without the others"
    );
    Ok(())
}

/// A page list of the honest hosts, with the others if `hostile`, and with those that take long if
/// `slow`.
fn list(web: &HostileWeb, hostile: bool, slow: bool) -> String {
    let port = web.port();
    let mut list = String::from("url\n");
    for number in 0..HONEST {
        let _ = writeln!(list, "http://good{number}.test:{port}/a");
        let _ = writeln!(list, "http://good{number}.test:{port}/b");
    }
    if !hostile {
        return list;
    }
    for (number, answer) in web.answers().iter().enumerate() {
        if slow || !answer.is_slow() {
            let _ = writeln!(list, "http://h{number}.test:{port}/page");
        }
    }
    for number in 0..web.robots().len() {
        let _ = writeln!(list, "http://r{number}.test:{port}/no");
        let _ = writeln!(list, "http://r{number}.test:{port}{LONG_PATH}");
    }
    list
}

fn host_of(url: &str) -> &str {
    let rest = url.trim_start_matches("http://");
    rest.split(':').next().unwrap_or(rest)
}

/// Runs the program on a list: what it said, if it ended as it should.
fn run(
    program: &Path,
    web: &HostileWeb,
    list: &str,
    seconds: u32,
    names: Option<&LyingNames>,
) -> Result<String> {
    let pages = TextFile::new(list)?;
    let mut command = names.map_or_else(|| Command::new(program), |names| names.before(program));
    command
        .arg("run")
        .arg(&pages.0)
        .args(["--politeness", "1s", "--slots", "8", "--format", "json"])
        .args(["--seconds", &seconds.to_string()])
        .args(["--crawls-per-day", "max"])
        .stdin(Stdio::null());
    // Every host of the list is where the owner says; whoever is named by a redirect is not.
    let listed = list.lines().skip(1).map(host_of);
    for host in listed.filter(|host| *host != NAMED) {
        command.args(["--resolve", &format!("{host}=127.0.0.1")]);
    }
    let output = command.output().context("cannot start dunlin run")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}:\n{said}", output.status);
    ensure!(!said.contains("panicked"), "it panicked:\n{said}");
    let summary = String::from_utf8_lossy(&output.stdout);
    let summary = summary.lines().last().unwrap_or_default();
    let summary: serde_json::Value =
        serde_json::from_str(summary).with_context(|| format!("no summary:\n{said}"))?;
    ensure!(
        summary["fetches"].as_u64() >= Some(1),
        "{summary} by {} requests",
        web.log().len()
    );
    Ok(said)
}

/// Requests by host, in order. However a host is spelled, it is one: `A.test.` is `a.test`.
fn hosts(log: &[Asked]) -> BTreeMap<String, Vec<&Asked>> {
    let mut hosts: BTreeMap<String, Vec<&Asked>> = BTreeMap::new();
    for asked in log {
        let host = asked.host.to_ascii_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        hosts.entry(host.to_owned()).or_default().push(asked);
    }
    hosts
}

/// Visits to pages of honest hosts.
fn visits(log: &[Asked]) -> usize {
    log.iter()
        .filter(|asked| asked.host.starts_with("good"))
        .filter(|asked| asked.path != "/robots.txt" && asked.path != HOP)
        .count()
}

/// No host was asked too soon after it had been asked.
fn judge(log: &[Asked], least: Duration) -> Result<()> {
    let mut short = Vec::new();
    for (host, asked) in hosts(log) {
        for pair in asked.windows(2) {
            let gap = pair[1].at.saturating_duration_since(pair[0].at);
            if gap + JITTER < least {
                let paths = (&pair[0].path, &pair[1].path);
                short.push(format!("{host}: {} ms between {paths:?}", gap.as_millis()));
            }
        }
    }
    ensure!(
        short.is_empty(),
        "{} gaps are too short: {}",
        short.len(),
        short.join("; ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn one_host_has_one_gap_however_it_is_spelled() {
        let start = Instant::now();
        let log = |hosts: &[(&str, u64)]| -> Vec<Asked> {
            let asked = |(host, millis): &(&str, u64)| Asked {
                at: start + Duration::from_millis(*millis),
                host: (*host).to_owned(),
                path: "/page".to_owned(),
            };
            hosts.iter().map(asked).collect()
        };
        let two = log(&[("a.test", 0), ("b.test", 10), ("a.test", 1_000)]);
        assert!(judge(&two, GAP).is_ok());
        for other in ["a.test", "a.test.", "A.TEST", "A.test."] {
            let twice = log(&[("a.test", 0), ("b.test", 10), (other, 500)]);
            assert!(judge(&twice, GAP).is_err(), "{other} was not seen");
        }
    }
}
