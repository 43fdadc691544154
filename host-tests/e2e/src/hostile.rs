//! End to end: a web that misbehaves in more than 150 ways, against `dunlin run` and against the
//! firmware, judged by the servers alone.
//!
//! Nobody may be harmed by it: the probe goes on and ends by itself, no host is asked sooner than its
//! gap allows, nobody is led into the trap on this computer's own addresses, and honest hosts are
//! visited as before.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dunlin_tools::hostile::{Asked, HostileWeb};

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

/// `dunlin run` on this computer's sockets. Those answers that hold a place until a deadline are in
/// the long mode alone.
pub fn on_this_computer(slow: bool) -> Result<()> {
    let web = HostileWeb::start()?;
    let program = program::build()?;
    let seconds = if slow { 120 } else { 12 };
    let honest = list(&web, false, false);
    run(&program, &web, &honest, seconds)?;
    let alone = visits(&web.log());
    judge(&web.log())?;
    web.forget();
    let everything = list(&web, true, slow);
    let said = run(&program, &web, &everything, seconds)?;
    let log = web.log();
    judge(&log)?;
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
        let _ = writeln!(list, "http://r{number}.test:{port}/yes");
    }
    list
}

fn host_of(url: &str) -> &str {
    let rest = url.trim_start_matches("http://");
    rest.split(':').next().unwrap_or(rest)
}

/// Runs the program on a list: what it said, if it ended as it should.
fn run(program: &Path, web: &HostileWeb, list: &str, seconds: u32) -> Result<String> {
    let pages = TextFile::new(list)?;
    let mut command = Command::new(program);
    command
        .arg("run")
        .arg(&pages.0)
        .args(["--politeness", "1s", "--slots", "8", "--format", "json"])
        .args(["--seconds", &seconds.to_string()])
        .args(["--crawls-per-day", "max"])
        .stdin(Stdio::null());
    // Every host of the list is where the owner says; whoever is named by a redirect is not.
    for host in list.lines().skip(1).map(host_of) {
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

/// Requests by host, in order.
fn hosts(log: &[Asked]) -> BTreeMap<&str, Vec<&Asked>> {
    let mut hosts: BTreeMap<&str, Vec<&Asked>> = BTreeMap::new();
    for asked in log {
        hosts.entry(&asked.host).or_default().push(asked);
    }
    hosts
}

/// Visits to pages of honest hosts.
fn visits(log: &[Asked]) -> usize {
    log.iter()
        .filter(|asked| asked.host.starts_with("good") && asked.path != "/robots.txt")
        .count()
}

/// No host was asked too soon after it had been asked.
fn judge(log: &[Asked]) -> Result<()> {
    let mut short = Vec::new();
    for (host, asked) in hosts(log) {
        for pair in asked.windows(2) {
            let gap = pair[1].at.saturating_duration_since(pair[0].at);
            if gap + JITTER < GAP {
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
