//! The same servers against `dunlin run`: what a board refuses, a computer refuses, and says why.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use dunlin_tools::qemu::temporary;

use super::mixed::Redirecting;
use super::peers::{Peers, pem};
use super::pki::{Authority, Case, Fate, Identity, ROOT, cases, leaf, maze, pinned};
use super::server::{Ending, MEDDLINGS, Server, meddle};
use super::sessions::Rotating;
use super::{raw, rogue};
use crate::command::TextFile;
use crate::monitor::program;
use crate::show;

const SECONDS: u32 = 16;

/// What `dunlin run` says for a reason of the log.
fn spelt(why: &str) -> &'static str {
    match why {
        "Expired" => "expired",
        "NotYetValid" => "not valid yet",
        "Name" => "for another host",
        "Issuer" => "issuer is not trusted",
        "Certificate" => "certificate is not valid",
        "Pin" => "not the pinned one",
        _ => "breaks TLS's rules",
    }
}

/// Chains that only boards refuse: what they have no memory for.
const LIMITS_OF_BOARDS: [&str; 2] = ["toolong.test", "many.test"];

/// Certificates, pins, and servers that break the rules, against `dunlin run`.
pub fn on_this_computer(_: &Path) -> Result<()> {
    let program = program::build()?;
    let root = Authority::root(ROOT)?;
    let mut cases = cases(&root)?;
    cases.push(maze()?);
    let mut hosts = String::from("host,pin\n");
    let pins = pinned(&root)?;
    let named: Vec<(&str, &Identity)> = cases
        .iter()
        .chain(pins.iter().map(|(case, _)| case))
        .map(|case| (case.host, &case.identity))
        .collect();
    let server = Server::start(&named, None, Ending::Length)?;
    for (case, pin) in &pins {
        writeln!(
            hosts,
            "{}:{},sha256/{}",
            case.host,
            server.port,
            base64(pin)
        )?;
    }
    cases.extend(pins.into_iter().map(|(case, _)| case));
    cases.retain(|case| !LIMITS_OF_BOARDS.contains(&case.host));
    let right = root.sign(&leaf(&["127.0.0.1"])?, &[])?;
    let wrong = root.sign(&leaf(&["127.0.0.2"])?, &[])?;
    let mut list = String::from("url\n");
    let mut expected: BTreeMap<String, Option<Fate>> = BTreeMap::new();
    let redirecting = Redirecting::start(&root)?;
    let redirects = [
        (Redirecting::MOVED, Fate::Fetched),
        (Redirecting::STRAYING, Fate::Refused("Issuer")),
    ];
    for (host, fate) in redirects {
        let port = redirecting.web.port();
        let url = format!("http://{host}:{port}{}", Redirecting::PATH);
        writeln!(list, "{url}")?;
        expected.insert(url, Some(fate));
    }
    let mut expect = |host: &str, port: u16, fate| -> Result<()> {
        let url = format!("https://{host}:{port}/page");
        writeln!(list, "{url}")?;
        expected.insert(url, fate);
        Ok(())
    };
    for Case { host, fate, .. } in &cases {
        expect(host, server.port, Some(*fate))?;
    }
    for (name, speech) in raw::SPEECHES {
        expect(name, raw::start(*speech)?, Some(Fate::Refused("Protocol")))?;
    }
    for (name, way, fate) in rogue::WAYS {
        let identity = root.sign(&leaf(&[name])?, &[])?;
        expect(name, rogue::start(&identity, *way)?, *fate)?;
    }
    expect("silent", raw::silent()?, None)?;
    expect("dripping", raw::dripping()?, None)?;
    for (identity, fate) in [(&right, Fate::Fetched), (&wrong, Fate::Refused("Name"))] {
        let server = Server::start(&[], Some(identity), Ending::Length)?;
        expect("127.0.0.1", server.port, Some(fate))?;
    }
    for (how, fate) in MEDDLINGS {
        let port = meddle(server.port, *how)?;
        expect("good.test", port, *fate)?;
    }
    for (ending, fate) in [(Ending::Goodbye, Some(Fate::Fetched)), (Ending::Cut, None)] {
        let good = root.sign(&leaf(&["good.test"])?, &[])?;
        let server = Server::start(&[("good.test", &good)], None, ending)?;
        expect("good.test", server.port, fate)?;
    }
    let peers = Peers::start(&root)?;
    for (host, port) in peers.hosts() {
        expect(&host, port, Some(Fate::Fetched))?;
    }
    let said = run(&program, &[&root], &list, &hosts, SECONDS)?;
    for (url, fate) in &expected {
        let heard = said.get(url).map_or("", String::as_str);
        match fate {
            Some(Fate::Fetched) => ensure!(heard == "changed", "{url}: {heard:?}"),
            Some(Fate::Refused(why)) => {
                ensure!(heard.contains(spelt(why)), "{url}: {heard:?}, not {why}");
            }
            // What happens behind the handshake has no reason of its own; there is one.
            None => ensure!(
                !["", "changed"].contains(&heard),
                "{url} did not fail: {heard:?}"
            ),
        }
    }
    redirecting.judge(5)?;
    // All the while an honest host keeps its pace: a visit a second.
    let honest = format!("good.test:{}", server.port);
    let visits = server.log();
    let visits = visits.iter().filter(|visit| visit.host == honest).count();
    show(format_args!(
        "the honest host had {visits} of {SECONDS} visits"
    ));
    ensure!(visits >= SECONDS as usize / 2, "it had {visits} visits");
    let failed = said.values().filter(|heard| *heard != "changed").count();
    show(format_args!(
        "{} pages, {failed} of them failed",
        said.len()
    ));
    Ok(())
}

/// Certificates that change are followed, by `dunlin run`.
pub fn rotates(_: &Path) -> Result<()> {
    let program = program::build()?;
    let rotating = Rotating::start()?;
    let port = rotating.server.port;
    let list = format!("url\nhttps://{}:{port}/page\n", Rotating::HOST);
    let [first, second] = &rotating.authorities;
    let said = run(
        &program,
        &[first, second],
        &list,
        "host\n",
        Rotating::SECONDS,
    )?;
    let said: Vec<&String> = said.values().collect();
    ensure!(said == ["changed"], "{said:?}");
    rotating.judge()
}

/// Runs the program: what it said of each page the last time, `changed` or why not.
fn run(
    program: &Path,
    trusted: &[&Authority],
    list: &str,
    hosts: &str,
    seconds: u32,
) -> Result<BTreeMap<String, String>> {
    let pages = TextFile::new(list)?;
    let hosts = TextFile::new(hosts)?;
    let ca = temporary("pem");
    let pem: String = trusted.iter().map(|root| root.pem()).collect();
    fs::write(&ca, pem)?;
    let output = Command::new(program)
        .arg("run")
        .arg(&pages.0)
        .arg("--hosts")
        .arg(&hosts.0)
        .arg("--ca")
        .arg(&ca)
        .args(["--politeness", "1s", "--slots", "8", "--deadline", "4s"])
        .args(["--resolve", "*=127.0.0.1", "--crawls-per-day", "max"])
        .args(["--seconds", &seconds.to_string()])
        // Nobody listens there.
        .env("https_proxy", "http://127.0.0.1:9")
        .stdin(Stdio::null())
        .output()
        .context("cannot start dunlin run")?;
    fs::remove_file(&ca)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}:\n{errors}", output.status);
    ensure!(!errors.contains("panicked"), "it panicked:\n{errors}");
    let is_said = errors.contains("https_proxy is set, but not used");
    ensure!(is_said, "no word of the proxy:\n{errors}");
    let mut said = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let news: serde_json::Value = serde_json::from_str(line)?;
        let Some(url) = news["url"].as_str() else {
            continue;
        };
        let what = match news["event"].as_str() {
            Some("changed" | "recovered") => "changed",
            _ => news["reason"].as_str().unwrap_or_default(),
        };
        said.insert(url.to_owned(), what.to_owned());
    }
    Ok(said)
}

fn base64(bytes: &[u8]) -> String {
    pem("", bytes)
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect()
}
