//! What the two commands print, write and refuse.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use dunlin_host::monitor::decode::{Decoder, ElfMatch};
use serde_json::Value;

use super::program::{dunlin, refuses, text};
use super::{Folder, firmware, fixture, path, record};

#[test]
fn an_elf_of_another_build_is_named_as_the_reason() {
    let folder = Folder::new("mismatch");
    let mut elf = fs::read(fixture("probe.elf")).expect("the log strings");
    let id = firmware().build.expect("an identity").to_be_bytes();
    let at = elf
        .windows(8)
        .position(|window| window == id)
        .expect("the identity is in the file");
    elf[at] ^= 0xff;
    let other = folder.file("other.elf");
    fs::write(&other, elf).expect("written");
    let banner = format!(
        "the log comes from dunlin on qemu-mps2 {}, build",
        env!("CARGO_PKG_VERSION")
    );
    for arguments in [
        &["monitor", "--elf", &other, "--log", "-", "--plain"][..],
        &["monitor", "--elf", &other, "--log", "-", "--summary"],
        &[
            "report",
            "-",
            "--elf",
            &other,
            "--html",
            &folder.file("never.html"),
        ],
    ] {
        refuses(arguments, &record(), &banner);
    }
    assert!(!Path::new(&folder.file("never.html")).exists());
    // A probe that was updated has several builds: the banner says which one counts.
    let own = path("probe.elf");
    let html = folder.file("both.html");
    let both = [
        "report", "-", "--elf", &other, "--elf", &own, "--html", &html,
    ];
    let output = dunlin(&both, &record());
    assert!(output.status.success(), "{output:?}");
    assert!(Path::new(&html).exists());
    // Without the banner, what cannot be decoded speaks for itself.
    let mut decoder = Decoder::new(firmware());
    let nonsense: Vec<u8> = (0..40_000_u32)
        .map(|n| ((n * n) >> 3) as u8 | u8::from(n % 19 != 0))
        .collect();
    decoder.feed(&nonsense, &mut |_| ());
    assert_eq!(
        decoder.trust,
        ElfMatch::Doubtful,
        "{} frames, {:?}",
        decoder.frames,
        decoder.lost
    );
}

#[test]
fn what_is_no_elf_is_said_so() {
    let elf = path("probe.elf");
    refuses(
        &["monitor", "--elf", &path("pages.csv"), "--log", "-"],
        b"",
        "found no object file",
    );
    refuses(
        &["monitor", "--elf", "no-such.elf", "--log", "-"],
        b"",
        "cannot read no-such.elf",
    );
    refuses(
        &["monitor", "--elf", &elf, "--log", "no-such.defmt"],
        b"",
        "cannot open no-such.defmt",
    );
    refuses(
        &["monitor", "--elf", &elf, "--log", "."],
        b"",
        "cannot read .",
    );
    refuses(&["monitor", "--elf", &elf], b"", "--log");
    refuses(
        &["monitor", "--elf", &elf, "--log", "a=-", "--log", "a=x"],
        b"",
        "two probes called a",
    );
    refuses(
        &["monitor", "--elf", &elf, "--elf", "b=x", "--log", "a=-"],
        b"",
        "one of the probes: a",
    );
    refuses(
        &["monitor", "--elf", "a=x", "--log", "b=-", "--log", "a=-"],
        b"",
        "no --elf for b",
    );
    refuses(
        &["monitor", "--elf", &elf, "--log", "-", "--speed", "0"],
        b"",
        "a number from 0.001",
    );
    refuses(
        &[
            "monitor",
            "--elf",
            &elf,
            "--log",
            "-",
            "--web",
            "everywhere",
        ],
        b"",
        "expected a port",
    );
    refuses(&["report", "-", "--elf", &elf], b"", "found no line in -");
}

#[test]
fn nothing_that_is_read_is_recorded_over() {
    let folder = Folder::new("over");
    let elf = folder.file("probe.elf");
    let log = folder.file("probe.defmt");
    fs::copy(fixture("probe.elf"), &elf).expect("copied");
    fs::copy(fixture("probe.defmt"), &log).expect("copied");
    let roundabout = |name: &str| folder.file(&format!("../{}/{name}", folder.name()));
    for record in [
        &log,
        &elf,
        &roundabout("probe.defmt"),
        &roundabout("probe.elf"),
    ] {
        refuses(
            &["monitor", "--elf", &elf, "--log", &log, "--record", record],
            b"",
            "expected two files",
        );
    }
    assert_eq!(fs::read(&log).expect("the log"), record());
    assert_eq!(
        fs::read(&elf).expect("the ELF file"),
        fs::read(fixture("probe.elf")).expect("the original")
    );
}

#[test]
fn plain_lines_come_in_every_format_with_names() {
    let elf = path("probe.elf");
    let log = path("probe.defmt");
    let pages = path("pages.csv");
    let arguments = ["monitor", "--elf", &elf, "--log", &log, "--pages", &pages];
    let lines = text(&dunlin(&arguments, b"").stdout);
    assert!(lines.contains("INFO  dunlin on qemu-mps2"), "{lines}");
    assert!(
        lines.contains("end page=0 ") && lines.contains("  http://news.test/headlines\n"),
        "{lines}"
    );
    let host = lines.lines().find(|line| line.contains("gap host=0 "));
    assert!(
        host.is_some_and(|line| line.ends_with("  news.test")),
        "{host:?}"
    );
    let json = text(&dunlin(&[&arguments[..], &["--format", "json"]].concat(), b"").stdout);
    let parsed: Vec<Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(parsed.len(), lines.lines().count());
    let csv = text(&dunlin(&[&arguments[..], &["--format", "csv"]].concat(), b"").stdout);
    assert_eq!(csv.lines().next(), Some("probe,time_s,level,message,url"));
    assert_eq!(csv.lines().count(), parsed.len() + 1);
}

#[test]
fn several_probes_are_kept_apart_and_records_are_the_log() {
    let folder = Folder::new("several");
    let elf = path("probe.elf");
    let log = path("probe.defmt");
    let kept = folder.file("kept.defmt");
    let output = dunlin(
        &[
            "monitor",
            "--elf",
            &elf,
            "--log",
            &format!("attic={log}"),
            "--log",
            "cellar=-",
            "--record",
            &format!("cellar={kept}"),
            "--summary",
            "--format",
            "json",
        ],
        &record()[2_000..],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let views: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(views[0]["probe"], "attic");
    assert_eq!(views[1]["probe"], "cellar");
    assert!(views[0]["fetches"].as_u64() > views[1]["fetches"].as_u64());
    assert!(views[1]["fetches"].as_u64() > Some(0));
    assert_eq!(fs::read(&kept).expect("the record"), &record()[2_000..]);
}

#[test]
fn a_replay_takes_its_time() {
    let elf = path("probe.elf");
    let log = path("probe.defmt");
    let start = std::time::Instant::now();
    let output = dunlin(
        &[
            "monitor",
            "--elf",
            &elf,
            "--log",
            &log,
            "--speed",
            "30",
            "--summary",
            "--format",
            "json",
        ],
        b"",
    );
    let view: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(
        start.elapsed() >= Duration::from_millis(900),
        "30 s at 30 × took {:?}",
        start.elapsed()
    );
    assert!(view["fetches"].as_u64() > Some(100), "{view}");
}

#[test]
fn the_report_is_a_page_with_plots_that_asks_nobody() {
    let folder = Folder::new("report");
    let html = folder.file("report.html");
    let elf = path("probe.elf");
    let log = path("probe.defmt");
    let pages = path("pages.csv");
    let output = dunlin(
        &[
            "report", &log, "--elf", &elf, "--pages", &pages, "--html", &html, "--format", "csv",
        ],
        b"",
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("probe,fetches,not_modified,"));
    let page = fs::read_to_string(&html).expect("the report");
    for part in [
        "Freshness over time",
        "Fetches over time",
        "Pages by changes a day",
        "Errors by kind",
        "news.test",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    assert!(
        !page.contains("src=") && !page.contains("<script") && !page.contains("href="),
        "it needs something"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_long_record_takes_no_more_memory_than_a_short_one() {
    // The issue asks for 1 GiB within 100 MiB; 1 GiB takes minutes, so that is for --long. A leak
    // shows at 24 MiB, too.
    let megabytes: usize = if std::env::var_os("DUNLIN_LONG").is_some() {
        1024
    } else {
        24
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args([
            "monitor",
            "--elf",
            &path("probe.elf"),
            "--log",
            "-",
            "--pages",
            &path("pages.csv"),
            "--summary",
        ])
        .args(["--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("stdin is piped");
    let record = record();
    let mut sent = 0;
    while sent < megabytes << 20 {
        pipe.write_all(&record).expect("it reads");
        sent += record.len();
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it still runs");
    drop(pipe);
    let peak = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix(" kB")?
            .parse()
            .ok()
    });
    let peak: u64 = peak.expect("the system tells");
    let output = child.wait_with_output().expect("it ends");
    let view: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(view["lost_frames"], 0);
    assert_eq!(view["boots"].as_u64(), Some((sent / record.len()) as u64));
    println!("{megabytes} MiB replayed, {peak} kB resident at most");
    assert!(peak < 100 * 1024, "{peak} kB resident");
}
