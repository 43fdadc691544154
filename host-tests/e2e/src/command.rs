//! End to end, the way a user starts it: `cargo xtask qemu` with a list in a file, judged by its
//! exit code, its words and the web's own log.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use dunlin::fetch::HttpDate;
use dunlin_tools::qemu::state::StateFile;
use dunlin_tools::qemu::temporary;
use dunlin_tools::web::{Answer, Hit, Web, shortest_gap};
use qemu_mps2_capacity::PAGES;

use crate::monitor::program;

const GAP: Duration = Duration::from_millis(400);
/// A run that was told to stop ends by then, on a machine that has other things to do, too.
const PATIENCE: Duration = Duration::from_secs(60);

/// What scripts read from the summary.
const PROMISED: [&str; 9] = [
    "fetches",
    "not_modified",
    "changed",
    "errors",
    "robots_denied",
    "bytes",
    "freshness_estimate",
    "optimum_estimate",
    "resumed_pages",
];

/// A text in a file that is removed when dropped.
#[derive(Debug)]
pub struct TextFile(pub PathBuf);

impl TextFile {
    pub fn new(text: &str) -> Result<Self> {
        let path = temporary("csv");
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for TextFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// This very program, run as `cargo xtask qemu`.
pub fn qemu(pages: &Path, seconds: u32, more: &[&str]) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        "--no-install",
        "qemu",
        "--json",
        "--resolve",
        "*=10.0.2.2",
        "--politeness",
        "400ms",
    ]);
    let has_budget = more.iter().any(|word| word.starts_with("--crawls-per-day"));
    if !has_budget {
        command.args(["--crawls-per-day", "max"]);
    }
    command
        .arg("--pages")
        .arg(pages)
        .arg("--seconds")
        .arg(seconds.to_string())
        .args(more);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

/// The summary that a run ended with, and what it said before.
pub fn summary(output: &Output) -> Result<(serde_json::Value, String)> {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}:\n{said}", output.status);
    let summary: serde_json::Value =
        serde_json::from_slice(&output.stdout).with_context(|| format!("no summary:\n{said}"))?;
    for key in PROMISED {
        ensure!(summary.get(key).is_some(), "no {key} in {summary}");
    }
    Ok((summary, said))
}

fn date() -> String {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    let date = HttpDate::from_unix(now)
        .map(|date| date.format().to_vec())
        .unwrap_or_default();
    format!("Date: {}", String::from_utf8_lossy(&date))
}

/// Serves everything, and says what time it is.
pub fn dated(hit: &Hit) -> Answer {
    let mut answer = match hit.path.rsplit('/').next() {
        Some("robots.txt") => Answer::status(404, "X: none"),
        _ => Answer::version(hit, 0),
    };
    answer.headers.push(date());
    answer
}

/// https pages through a gateway, an address of its own, and hosts that may be asked at certain
/// hours only.
pub fn configured(_: &Path) -> Result<()> {
    let web = Web::start(|hit| match hit.path.as_str() {
        "https://lured.test/c" => Answer::status(302, "Location: https://10.0.2.2/secret"),
        "https://lured.test/d" => Answer::status(302, "Location: https://127.0.0.1/secret"),
        _ => dated(hit),
    })?;
    let port = web.port();
    let pages = TextFile::new(&format!(
        "url\nhttp://plain.test:{port}/a\nhttps://secure.test/b\nhttps://lured.test/c\nhttps://lured.test/d\nhttp://asleep.test:{port}/c\nhttp://awake.test:{port}/d\nhttp://other.test:{port}/e\n"
    ))?;
    // Three hosts that are always awake tell the time. Local time is two hours ahead; one host
    // sleeps now, the other one does not.
    let seconds = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)?
        .as_secs();
    let hour = |later: u64| (seconds / 3_600 + 2 + later) % 24;
    let hosts = TextFile::new(&format!(
        "host,hours\nasleep.test:{port},{:02}-{:02}\nawake.test:{port},{:02}-{:02}\n",
        hour(3),
        hour(5),
        hour(23),
        hour(2)
    ))?;
    let hosts = hosts.0.to_string_lossy();
    let gateway = format!("10.0.2.2:{port}");
    let more = [
        "--hosts",
        &hosts,
        "--gateway",
        &gateway,
        "--utc-offset",
        "120",
        "--address",
        "10.0.2.77/24",
        "--router",
        "10.0.2.2",
        "--log",
        "debug",
    ];
    let (summary, said) = summary(&qemu(&pages.0, 12, &more)?.output()?)?;
    let log = web.log();
    let asked = |host: &str, path: &str| {
        log.iter()
            .filter(|hit| hit.host == host && hit.path == path)
            .count()
    };
    ensure!(
        said.contains("network up address=10.0.2.77"),
        "the static address was not taken:\n{said}"
    );
    ensure!(
        said.contains("start page="),
        "the log level was not taken:\n{said}"
    );
    ensure!(
        asked("plain.test", "/a") > 0,
        "the plain page was not asked for"
    );
    ensure!(
        asked("secure.test", "https://secure.test/b") > 0,
        "the https page did not go through the gateway"
    );
    ensure!(
        asked("secure.test", "https://secure.test/robots.txt") == 1,
        "nor did its robots.txt"
    );
    ensure!(
        asked("lured.test", "https://lured.test/c") > 0,
        "the page that redirects was not asked for"
    );
    let private = |hit: &&Hit| hit.path.contains("//10.0.2.2") || hit.path.contains("//127.");
    let lured = log.iter().find(private);
    ensure!(
        lured.is_none(),
        "the gateway was asked for what is private: {lured:?}"
    );
    ensure!(
        asked("asleep.test", "/c") == 0,
        "a host was asked outside its hours"
    );
    ensure!(
        asked("awake.test", "/d") > 0,
        "a host was not asked within its hours"
    );
    // Each of the two pages that are led astray counts as one, whenever it is asked for.
    let lured =
        asked("lured.test", "https://lured.test/c") + asked("lured.test", "https://lured.test/d");
    ensure!(
        summary["errors"].as_u64() <= Some(lured as u64),
        "{summary}, {lured} by redirects"
    );
    Ok(())
}

/// What cannot be run is refused before anything starts: exit code 2, one line, nothing on stdout.
pub fn refused(_: &Path) -> Result<()> {
    let many: String = (0..=PAGES)
        .map(|page| format!("http://a.test/{page}\n"))
        .collect();
    // Somebody's own file, which is not to become the device's flash.
    let own = TextFile::new("not to be overwritten")?;
    let state = own.0.to_string_lossy().into_owned();
    let cases: [(String, &[&str], &str); 14] = [
        (
            format!("url\n{many}"),
            &[],
            "expected at most 512 pages on 64 hosts",
        ),
        (
            "url\nhttps://b.test/x\n".into(),
            &["--ca", &state],
            "found 0 certificates, expected 1 to",
        ),
        (
            "url\nhttps://b.test/x\n".into(),
            &["--ca", "/nowhere.pem"],
            "/nowhere.pem",
        ),
        (
            "url\nhttp://[::1]/\n".into(),
            &[],
            "found http://[::1]/, expected a name or an IPv4 address",
        ),
        (
            "url\nhttp://a.test/\n".into(),
            &["--resolve", "a.test=::1"],
            "expected HOST=IPv4",
        ),
        (
            "url\nhttp://a.test/\n".into(),
            &["--agent", "two words"],
            "agent must be a name",
        ),
        ("url\n".into(), &[], "found no page"),
        (
            "url\nhttp://a.test/\n".into(),
            &["--address", "10.0.2.77/40"],
            "expected ADDRESS/PREFIX",
        ),
        (
            "url\nhttp://a.test/\n".into(),
            &["--crawls-per-day=0"],
            "expected a number from 0.000001 to 1000000000, or max",
        ),
        (
            "url\nhttp://a.test/\n".into(),
            &["--objective", "speed"],
            "freshness, age",
        ),
        (
            "url\nhttp://a.test/\n".into(),
            &["--interval", "0s"],
            "expected an interval from 1s to 49d",
        ),
        (
            "url\nhttp://a.test/\n".into(),
            &["--sntp", "a.test:0"],
            "expected HOST or HOST:PORT",
        ),
        (
            "url\nhttp://a.test/\n".into(),
            &["--log", "loud"],
            "expected error, warn, info or debug",
        ),
        (
            "url\nhttp://a.test/\n".into(),
            &["--state", &state],
            "expected a state file of",
        ),
    ];
    for (list, more, expected) in cases {
        let pages = TextFile::new(&list)?;
        let output = qemu(&pages.0, 5, more)?.output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(
            output.status.code() == Some(2),
            "{}, expected exit code 2:\n{said}",
            output.status
        );
        ensure!(said.contains(expected), "expected {expected:?}:\n{said}");
        ensure!(output.stdout.is_empty(), "something was written to stdout");
        ensure!(
            fs::read_to_string(&pages.0)? == list,
            "the list was overwritten"
        );
    }
    ensure!(
        fs::read_to_string(&own.0)? == "not to be overwritten",
        "a file that is no state file was overwritten"
    );
    Ok(())
}

/// A run that says little sums up all the same.
pub fn quiet(_: &Path) -> Result<()> {
    let web = Web::start(dated)?;
    let pages = TextFile::new(&format!("url\nhttp://a.test:{}/x\n", web.port()))?;
    let (summary, said) = summary(&qemu(&pages.0, 5, &["--log", "warn"])?.output()?)?;
    ensure!(
        !said.contains("INFO"),
        "more was shown than was asked for:\n{said}"
    );
    ensure!(
        summary["fetches"].as_u64() >= Some(1) && summary["bytes"].as_u64() >= Some(1),
        "{summary} after {} requests",
        web.log().len()
    );
    Ok(())
}

/// Without `--seed` a device draws its key, keeps it over a restart, and shares it with no other.
pub fn key_of_its_own(_: &Path) -> Result<()> {
    let web = Web::start(dated)?;
    let port = web.port();
    let pages = TextFile::new(&format!(
        "url\nhttp://a.test:{port}/x\nhttp://b.test:{port}/y\nhttp://b.test:{port}/z\n"
    ))?;
    let run = |state: &TextFile| -> Result<(serde_json::Value, [u8; 16])> {
        let path = state.0.to_string_lossy();
        let (summary, said) = summary(&qemu(&pages.0, 9, &["--state", &path])?.output()?)?;
        let key = StateFile::open(&state.0)?.key();
        Ok((summary, key.with_context(|| format!("no key:\n{said}"))?))
    };
    let one = TextFile(temporary("flash"));
    let other = TextFile(temporary("flash"));
    let (first, key) = run(&one)?;
    ensure!(first["resumed_pages"] == 0, "a new device: {first}");
    let (again, same) = run(&one)?;
    ensure!(same == key, "another key after a restart");
    ensure!(
        again["resumed_pages"] == 3,
        "what is stored is known: {again}"
    );
    // By another key, every page would look like a new one.
    ensure!(
        again["fetches"].as_u64() >= Some(3)
            && again["changed"] == 0
            && again["first_versions"] == 0,
        "{again}"
    );
    let (_, another) = run(&other)?;
    ensure!(another != key, "two devices with one key");
    learnt_list(&program::build()?, &one.0, &pages.0)
}

/// What a device has learnt is a list for the next run, and its flash stays as it is.
fn learnt_list(program: &Path, state: &Path, pages: &Path) -> Result<()> {
    let before = fs::read(state)?;
    let export = |format: &str| -> Result<String> {
        let mut command = Command::new(program);
        command.arg("export").args([state, pages]);
        let output = command.args(["--format", format]).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cannot be exported: {said}");
        Ok(String::from_utf8(output.stdout)?)
    };
    let rows: serde_json::Value = serde_json::from_str(&export("json")?)?;
    let is_learnt = |row: &serde_json::Value| {
        row["visited"] == true && row["changes_per_day"].as_f64() > Some(0.0)
    };
    let rows = rows.as_array().context("rows")?;
    ensure!(rows.len() == 3 && rows.iter().all(is_learnt), "{rows:?}");
    let history = TextFile(temporary("history"));
    let mut command = Command::new(program);
    command.arg("export").args([state, pages]).arg("--visits");
    ensure!(command.arg(&history.0).output()?.status.success());
    let mut command = Command::new(program);
    let estimated = command.arg("estimate").arg(&history.0);
    let estimated = estimated.args(["--format", "json"]).output()?;
    let said = String::from_utf8_lossy(&estimated.stderr);
    ensure!(estimated.status.success(), "no history: {said}");
    let histories: serde_json::Value = serde_json::from_slice(&estimated.stdout)?;
    let histories = histories.as_array().context("rows")?;
    // Nothing of these pages ever changes.
    let is_still =
        |row: &serde_json::Value| row["visits"].as_u64() >= Some(1) && row["changes"] == 0;
    ensure!(
        histories.len() == 3 && histories.iter().all(is_still),
        "{histories:?}"
    );
    let learnt = TextFile::new(&export("csv")?)?;
    let checked = Command::new(program).arg("check").arg(&learnt.0).output()?;
    let said = String::from_utf8_lossy(&checked.stderr);
    ensure!(checked.status.success(), "no list: {said}");
    let used = StateFile::open(state)?;
    let refused = Command::new(program)
        .arg("export")
        .args([state, pages])
        .output()?;
    drop(used);
    let said = String::from_utf8_lossy(&refused.stderr);
    ensure!(
        refused.status.code() == Some(2) && said.contains("found that a device uses it"),
        "a device's flash was read while it ran: {said}"
    );
    ensure!(fs::read(state)? == before, "its flash is another one now");
    Ok(())
}

/// Ctrl-C ends a run with its summary.
pub fn interrupted(_: &Path) -> Result<()> {
    let web = Web::start(dated)?;
    let pages = TextFile::new(&format!("url\nhttp://a.test:{}/x\n", web.port()))?;
    let child = EndsWithUs(Some(qemu(&pages.0, 600, &[])?.spawn()?));
    for _ in 0..PATIENCE.as_millis() / 50 {
        if web.log().len() >= 3 {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    ensure!(web.log().len() >= 3, "the probe did not get going");
    let (summary, said) = summary(&child.interrupt()?)?;
    ensure!(
        !said.contains("start page="),
        "more was logged than is enough to monitor a probe:\n{said}"
    );
    ensure!(summary["fetches"].as_u64() >= Some(1), "{summary}");
    ensure!(
        said.contains("done after"),
        "the firmware did not say good-bye:\n{said}"
    );
    Ok(())
}

/// A process that does not outlive us.
struct EndsWithUs(Option<Child>);

impl EndsWithUs {
    /// Sends what Ctrl-C sends, and waits for the end.
    fn interrupt(mut self) -> Result<Output> {
        let Some(mut child) = self.0.take() else {
            bail!("it has ended already")
        };
        let sent = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()?;
        ensure!(sent.success(), "cannot interrupt it");
        for _ in 0..PATIENCE.as_millis() / 50 {
            if child.try_wait()?.is_some() {
                return Ok(child.wait_with_output()?);
            }
            thread::sleep(Duration::from_millis(50));
        }
        self.0 = Some(child);
        bail!("it was still running {} s after Ctrl-C", PATIENCE.as_secs())
    }
}

impl Drop for EndsWithUs {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Connections are kept while the next request is near, and the gap is kept all the same; a
/// robots.txt that has moved is read where it is.
pub fn kept_connections(_: &Path) -> Result<()> {
    let web = Web::start(|hit| match (hit.host.as_str(), hit.path.as_str()) {
        ("moved.test", "/robots.txt") => Answer::status(
            302,
            &format!("Location: http://kept.test:{}/rules", hit.port),
        ),
        (_, "/rules") => Answer {
            keep: true,
            ..Answer::page("User-agent: *\nDisallow: /private\n")
        },
        (_, "/robots.txt") => Answer::status(404, "X: none"),
        // Says that it keeps the connection, and closes it.
        ("liar.test", _) => Answer {
            headers: vec!["Keep-Alive: timeout=5".into()],
            ..Answer::version(hit, 0)
        },
        _ => Answer {
            keep: true,
            ..Answer::version(hit, 0)
        },
    })?;
    let page = |place: &str| {
        format!(
            "http://{}\n",
            place.replacen('/', &format!(":{}/", web.port()), 1)
        )
    };
    let places = [
        "kept.test/a",
        "kept.test/b",
        "liar.test/c",
        "moved.test/d",
        "moved.test/private/e",
    ];
    let pages = TextFile::new(&format!("url\n{}", places.map(page).concat()))?;
    let (summary, said) = summary(&qemu(&pages.0, 14, &[])?.output()?)?;
    let log = web.log();
    let of = |host: &str| {
        log.iter()
            .filter(|hit| hit.host == host)
            .collect::<Vec<_>>()
    };
    let mut connections: Vec<usize> = of("kept.test").iter().map(|hit| hit.connection).collect();
    connections.sort_unstable();
    connections.dedup();
    let requests = of("kept.test").len();
    ensure!(requests > 10, "{requests} requests in 14 s:\n{said}");
    ensure!(
        3 * connections.len() < requests,
        "{} connections for {requests} requests",
        connections.len()
    );
    for host in ["kept.test", "liar.test", "moved.test"] {
        let gap =
            shortest_gap(&log, host).with_context(|| format!("{host} was not asked twice"))?;
        ensure!(
            gap >= GAP,
            "{host} was asked twice within {} ms",
            gap.as_millis()
        );
    }
    ensure!(
        of("moved.test").iter().any(|hit| hit.path == "/d"),
        "the page behind a moved robots.txt was not asked for"
    );
    ensure!(
        !log.iter().any(|hit| hit.path == "/private/e"),
        "a page that a moved robots.txt denies was asked for"
    );
    ensure!(
        summary["errors"] == 0 && summary["robots_denied"].as_u64() > Some(0),
        "{summary}"
    );
    Ok(())
}
