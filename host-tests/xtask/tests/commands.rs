//! `cargo xtask` as somebody types it who has no emulator and no board, and no minutes to build: what
//! README says is run as far as that goes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dunlin_readme::Exception::{self, Instead, Skipped, UntilItBuilds};
use dunlin_readme::{block_after, commands, exceptions, words};
use dunlin_tools::shell::root;

/// What `cargo xtask test` runs as a step of its own.
const A_STEP: Exception = Skipped("a step of `cargo xtask test`, or what one is made of");
/// What measures for minutes.
const LONG: Exception = Skipped("takes minutes or hours, and ends by itself: its parts are tested");

/// What is said of README's page list before its minutes of building.
const MANNERS: &str = "3 pages on 2 hosts, at most 72 requests a day";

/// What becomes of README's commands here: the others are run as they stand there.
const EXCEPTIONS: [(&str, Exception); 24] = [
    (
        "demo",
        Skipped("the cases of `cargo xtask e2e` crawl webs like it, and know what must come of it"),
    ),
    ("demo --update", Skipped("the case `updates: the demo`")),
    ("test", Skipped("this is a part of it")),
    ("size", A_STEP),
    ("boards --readme", A_STEP),
    ("bench", LONG),
    ("bench --collection", LONG),
    ("bench --discovery", LONG),
    ("bench --https", LONG),
    ("bench --peers", LONG),
    ("papers", LONG),
    ("mutants", LONG),
    ("qemu", Skipped("only named")),
    ("flash", Skipped("only named")),
    ("keygen", Instead("keygen --out boards/keys")),
    (
        "release --board qemu-mps2 --key boards/keys/firmware.sec --out updates",
        UntilItBuilds("", "building the firmware"),
    ),
    (
        "qemu --pages PAGES.csv --seconds 600",
        UntilItBuilds("", MANNERS),
    ),
    (
        "qemu --pages PAGES.csv --seconds 600 --log-port 19021",
        UntilItBuilds("", MANNERS),
    ),
    (
        "qemu --pages PAGES.csv --collect http://127.0.0.1:8090/",
        UntilItBuilds("", MANNERS),
    ),
    (
        "qemu --pages PAGES.csv --state probe.flash --update-url http://10.0.2.2:8000/",
        UntilItBuilds("--keys boards/keys", MANNERS),
    ),
    (
        "qemu --fleet mqtt://p1:PASSWORD@127.0.0.1:1883/fleet --probe p1 --seconds 600",
        UntilItBuilds("", "as p1 of the fleet at"),
    ),
    (
        "flash --board w5500-evb-pico2 --pages PAGES.csv",
        UntilItBuilds("", MANNERS),
    ),
    (
        "flash --board w5500-evb-pico2 --pages PAGES.csv --uf2",
        UntilItBuilds("", MANNERS),
    ),
    (
        "flash --board w5500-evb-pico2 --pages PAGES.csv --update-url http://updates.example/ --uf2",
        UntilItBuilds("--keys boards/keys", MANNERS),
    ),
];

/// A folder of its own, with the page list that README shows.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let list = block_after(&readme(), "A page list is");
    fs::write(folder.join("PAGES.csv"), list).expect("written");
    folder
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).expect("README.md")
}

/// Runs it with a cargo that builds nothing.
fn xtask(folder: &Path, arguments: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("--no-install")
        .args(arguments)
        .current_dir(folder)
        .env("CARGO", "false")
        // Set, and empty: whatever this computer's owner has written down for a board of theirs.
        .envs(["DUNLIN_WIFI_NETWORK", "DUNLIN_WIFI_PASSWORD"].map(|name| (name, "")))
        .output()
        .expect("it starts")
}

#[test]
fn what_the_readme_says_to_type_works_until_it_builds() {
    let folder = folder("xtask-readme");
    let all = commands(&readme(), &["cargo xtask"]);
    let all: Vec<&[String]> = all.iter().map(|words| &words[2..]).collect();
    for (arguments, exception) in all.iter().zip(exceptions(&all, &EXCEPTIONS)) {
        let (arguments, expected) = match exception {
            None => (arguments.to_vec(), None),
            Some(Instead(line)) => (words(line), None),
            Some(UntilItBuilds(more, says)) => {
                ([*arguments, &words(more)[..]].concat(), Some(says))
            }
            Some(Skipped(_)) => continue,
        };
        let output = xtask(&folder, &arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        let code = if expected.is_some() { 1 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(
            expected.is_none_or(|expected| said.contains(*expected)),
            "{arguments:?}: {said}"
        );
    }
    fs::remove_dir_all(&folder).expect("removed");
}

/// An error in the first second, and not after minutes of building.
#[test]
fn a_board_with_wifi_and_no_network_is_refused_before_anything_is_built() {
    let folder = folder("xtask-wifi");
    for more in ["", "--uf2", "--no-monitor"] {
        let line = format!("flash --board pico2-w --pages PAGES.csv {more}");
        let output = xtask(&folder, &words(&line));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("found no Wi-Fi network for pico2-w"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(output.stdout.is_empty(), "something was written to stdout");
    }
    fs::remove_dir_all(&folder).expect("removed");
}
