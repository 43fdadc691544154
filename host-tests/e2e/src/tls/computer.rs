//! The same servers against `dunlin run`: what a board refuses, a computer refuses, and says why.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use dunlin_tools::qemu::temporary;

use super::pki::{Authority, Case, Fate, Identity, ROOT, cases, leaf, pinned};
use super::server::{Ending, Server};
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
    let mut list = String::from("url\n");
    let mut expected: BTreeMap<String, Option<Fate>> = BTreeMap::new();
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
        expect(name, raw::start(*speech)?, None)?;
    }
    for (name, way, fate) in rogue::WAYS {
        let identity = root.sign(&leaf(&[name])?, &[])?;
        expect(name, rogue::start(&identity, *way)?, *fate)?;
    }
    expect("silent", raw::silent()?, None)?;
    let said = run(&program, &root, &list, &hosts)?;
    for (url, fate) in &expected {
        let heard = said.get(url).map_or("", String::as_str);
        match fate {
            Some(Fate::Fetched) => ensure!(heard == "changed", "{url}: {heard:?}"),
            Some(Fate::Refused(why)) => {
                ensure!(heard.contains(spelt(why)), "{url}: {heard:?}, not {why}");
            }
            None => ensure!(heard != "changed", "{url} was fetched"),
        }
    }
    let failed = said.values().filter(|heard| *heard != "changed").count();
    show(format_args!(
        "{} pages, {failed} of them failed",
        said.len()
    ));
    Ok(())
}

/// Runs the program: what it said of each page the last time, `changed` or why not.
fn run(
    program: &Path,
    root: &Authority,
    list: &str,
    hosts: &str,
) -> Result<BTreeMap<String, String>> {
    let pages = TextFile::new(list)?;
    let hosts = TextFile::new(hosts)?;
    let ca = temporary("pem");
    fs::write(&ca, root.pem())?;
    let output = Command::new(program)
        .arg("run")
        .arg(&pages.0)
        .arg("--hosts")
        .arg(&hosts.0)
        .arg("--ca")
        .arg(&ca)
        .args(["--politeness", "1s", "--slots", "8"])
        .args(["--resolve", "*=127.0.0.1", "--crawls-per-day", "max"])
        .args(["--seconds", &SECONDS.to_string()])
        .stdin(Stdio::null())
        .output()
        .context("cannot start dunlin run")?;
    fs::remove_file(&ca)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}:\n{errors}", output.status);
    ensure!(!errors.contains("panicked"), "it panicked:\n{errors}");
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
    super::peers::pem("", bytes)
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect()
}
