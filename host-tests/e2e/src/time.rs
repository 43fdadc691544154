//! End to end: who is believed about the time, judged by which hosts were asked, and by the log.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use dunlin::probe::LoggedEvent;
use dunlin_tools::qemu::temporary;
use dunlin_tools::web::Web;

use crate::command::{TextFile, dated, qemu, summary};
use crate::time_server::{TimeServer, packet};

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

/// The time server's word counts, eleven years and half a day away from what the hosts' Date
/// headers say; where it does not know itself, they count.
pub fn time_server(_: &Path) -> Result<()> {
    let web = Web::start(dated)?;
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)?
        .as_secs();
    let future = now + 11 * 365 * DAY + DAY / 2;
    let hour = |later: u64| (now / HOUR + later) % 24;
    let early = format!("{:02}-{:02}", hour(23), hour(2));
    let late = format!("{:02}-{:02}", hour(11), hour(14));
    let port = web.port();
    let page = |host: &str| format!("http://{host}.test:{port}/x\n");
    let pages = TextFile::new(&format!(
        "url\n{}",
        ["early", "late", "a", "b", "c"].map(page).concat()
    ))?;
    let hosts = TextFile::new(&format!(
        "host,hours\nearly.test:{port},{early}\nlate.test:{port},{late}\n"
    ))?;
    let asked = |from: usize, host: &str| {
        web.log()[from..]
            .iter()
            .filter(|hit| hit.host == host)
            .count()
    };
    let state = temporary("flash");
    let run = |server: &TimeServer| -> Result<String> {
        let sntp = format!("10.0.2.2:{}", server.port());
        let hosts = hosts.0.to_string_lossy();
        let state = state.to_string_lossy();
        let more = ["--sntp", &sntp, "--hosts", &hosts, "--state", &state];
        let (_, said) = summary(&qemu(&pages.0, 14, &more)?.output()?)?;
        Ok(said)
    };
    // Before its message, a line says when it was and how grave it is.
    let event = |line: &str| -> Option<(u64, String)> {
        match LoggedEvent::read(line.get(line.find("clock ")?..)?)? {
            LoggedEvent::Clock { unix, from } => Some((unix.into(), from?.to_owned())),
            _ => None,
        }
    };
    let clock = |said: &str| -> Result<(u64, String)> {
        let found = said.lines().find_map(event);
        found.with_context(|| format!("the clock was never certain:\n{said}"))
    };

    let server = TimeServer::start(move |request| packet(request, 2, future))?;
    let said = run(&server)?;
    let (unix, from) = clock(&said)?;
    ensure!(
        from.starts_with("Server") && unix.abs_diff(future) <= 20,
        "clock {unix} from {from}:\n{said}"
    );
    ensure!(
        server.asked() == 1,
        "the time server was asked {} times",
        server.asked()
    );
    ensure!(
        asked(0, "late.test") > 0,
        "a host was not asked within its hours, by the time server's clock"
    );
    ensure!(
        asked(0, "early.test") == 0,
        "a host was asked by the hours of Date headers"
    );

    // Stratum 16: it does not know. So three hosts that agree are believed.
    fs::remove_file(&state).context("the state file")?;
    let server = TimeServer::start(|request| packet(request, 16, 0))?;
    let before = web.log().len();
    let said = run(&server)?;
    let _ = fs::remove_file(&state);
    ensure!(
        said.contains("no time why=Unsure"),
        "the probe did not say that there is no time:\n{said}"
    );
    let (unix, from) = clock(&said)?;
    ensure!(
        from.starts_with("Hosts") && unix.abs_diff(now) <= 600,
        "clock {unix} from {from}:\n{said}"
    );
    ensure!(
        asked(before, "early.test") > 0,
        "a host was not asked within its hours, by the hosts' clocks"
    );
    ensure!(
        asked(before, "late.test") == 0,
        "a host was asked outside its hours"
    );
    Ok(())
}
