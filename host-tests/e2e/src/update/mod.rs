//! End to end: signed updates of firmware and lists, in QEMU, from a server on loopback.

mod boot;
mod cuts;
pub mod demo;
mod desk;
mod server;
mod terms;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use dunlin::update::{Manifest, PayloadKind, SecretKey};
use dunlin_tools::firmware::BOARD;
use dunlin_tools::qemu::{End, Line, temporary};
use dunlin_tools::web::{Answer, Web};

use crate::CASE;
use crate::command;
use crate::crawling::{hits, no_robots, polite};
use crate::monitor::program;
pub use boot::{starts_as_soon, taken_over};
pub use cuts::{cut_everywhere, cut_in_steps, killed};
use desk::{Desk, count, said, started};
use server::Trick;
pub use terms::{back_in_time, two_minutes_up};

/// What every case crawls.
const PAGES: [(&str, &str); 4] = [
    ("good.test", "/a"),
    ("good.test", "/b"),
    ("third.test", "/c"),
    ("busy.test", "/d"),
];
/// Looks each second, and a trial of three to forty seconds.
const FAST: [&str; 2] = ["look=1", "trial=3-40"];
/// No case takes so long on a computer that does nothing else.
const DEADLINE: Duration = Duration::from_secs(150);

fn unchanged(_: &mut Manifest<'_>) {}

/// The firmware was ended by us, in good order.
fn ended((end, log): (End, Vec<Line>)) -> Result<Vec<Line>> {
    end.success("the firmware", DEADLINE)?;
    ensure!(!said(&log, "could not be decoded"), "frames were lost");
    Ok(log)
}

/// The device has crawled politely all the while, and forgotten nothing.
fn crawled_on(desk: &Desk) -> Result<()> {
    let log = desk.web.log();
    for host in ["good.test", "third.test", "busy.test"] {
        polite(&log, host)?;
    }
    for (host, path) in PAGES {
        let anew = hits(&log, host, path)
            .iter()
            .filter(|hit| hit.known.is_none())
            .count();
        ensure!(
            anew <= 1,
            "{path} was asked for without its tag {anew} times: what was learnt is forgotten"
        );
    }
    Ok(())
}

/// Fetches, swaps, tries and confirms a build; what is older or lower is refused from then on.
pub fn from_one_build_to_the_next(elf: &Path) -> Result<()> {
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    let [first, second] = desk.names();
    let mut fetched = 0;
    let log = ended(desk.run(&image, &FAST, DEADLINE, |line| {
        fetched += usize::from(line.message.starts_with("end page="));
        if fetched == 6 {
            desk.release_second(5, &|manifest| manifest.counter = 2);
        }
        line.message.contains("update confirmed")
    })?)?;
    ensure!(
        started(&log) == [first, second.clone()],
        "started {:?}",
        started(&log)
    );
    for words in [
        "state=confirmed attempt=0 sequence=0 ",
        "update ready kind=firmware sequence=5 ",
        "state=trial attempt=1 sequence=5 counter=2 ",
        "resumed pages=4 ",
        "update confirmed sequence=5",
        "state=confirmed attempt=0 sequence=5 counter=2 ",
    ] {
        ensure!(said(&log, words), "it did not say {words:?}");
    }
    let lower: [(u32, u32, &str); 3] = [(4, 2, "sequence"), (5, 2, "sequence"), (6, 1, "counter")];
    for (sequence, counter, why) in lower {
        desk.release_second(sequence, &|manifest| {
            manifest.counter = counter;
            manifest.build = 7;
        });
        let expected = format!("update refused kind=firmware sequence={sequence} why={why}");
        let log = ended(desk.run(&image, &FAST, DEADLINE, |line| {
            line.message.contains("update refused")
        })?)?;
        ensure!(said(&log, &expected), "it did not say {expected:?}");
        ensure!(started(&log) == [second.clone()], "{:?}", started(&log));
    }
    let settled = desk
        .server
        .log()
        .iter()
        .filter(|asked| asked.status == 304)
        .count();
    ensure!(settled > 0, "what is settled was asked for again whole");
    crawled_on(&desk)
}

/// Visits a day of three pages: each has one in 36 seconds.
const SELDOM: f64 = 7_200.0;

/// A list on which nothing is due during a trial does not doom a good build: it waits for the first
/// page, and stays. One that loses the update server meanwhile is given up.
pub fn seldom(elf: &Path) -> Result<()> {
    let ends = ["update confirmed sequence=1", "attempt=1 why=no-pages"];
    side_by_side(ends.map(|end| move || waits_for_a_page(elf, end))).map(drop)
}

/// A build that waits for its first page ends its trial with these words. Its release is signed with
/// the second key.
fn waits_for_a_page(elf: &Path, words: &str) -> Result<()> {
    let stays = words.contains("confirmed");
    let desk = Desk::new(elf)?;
    let pages = &PAGES[..3];
    let image = desk.image_at(pages, Some(SELDOM))?;
    let mut fetched = 0;
    // The release comes when each page was visited once, and none is due for long.
    let options = ["look=1", "trial=3-12"];
    let log = ended(desk.run(&image, &options, DEADLINE, |line| {
        fetched += usize::from(line.message.starts_with("end page="));
        if fetched == pages.len() {
            let [_, second] = &desk.builds;
            let [key, _] = &desk.spare_keys;
            let payload = (second.id, &second.bytes[..]);
            desk.release(key, PayloadKind::Firmware, payload, 1, &unchanged);
        }
        if line.message.contains("update ready") && !stays {
            // The manifest once, which is what a trial asks for first.
            desk.server.set_trick(Trick::FallsSilent(1));
        }
        line.message.contains("update confirmed") || line.message.contains("rolled back")
    })?)?;
    for words in [
        "resumed pages=3 ",
        "state=trial attempt=1 sequence=1 ",
        words,
    ] {
        ensure!(said(&log, words), "it did not say {words:?}");
    }
    polite(&desk.web.log(), "good.test")?;
    if !stays {
        return Ok(());
    }
    let on_trial = log
        .iter()
        .skip_while(|line| !line.message.contains("state=trial"))
        .filter(|line| line.message.starts_with("end page="))
        .count();
    ensure!(
        (1..=2).contains(&on_trial),
        "{on_trial} pages were visited on trial: the list is no slow one"
    );
    Ok(())
}

/// Does these at the same time: devices wait most of it.
fn side_by_side<T: Send, const N: usize>(
    works: [impl FnOnce() -> Result<T> + Send; N],
) -> Result<Vec<T>> {
    let case = CASE.get();
    thread::scope(|scope| {
        let works = works.map(|work| {
            scope.spawn(move || {
                CASE.set(case);
                work()
            })
        });
        let end = |work: thread::ScopedJoinHandle<'_, Result<T>>| {
            work.join().map_err(|_| anyhow!("a thread panicked"))?
        };
        works.into_iter().map(end).collect()
    })
}

/// A build that falls is rolled back, and tried three times at most.
pub fn rolled_back(elf: &Path) -> Result<()> {
    let falls = [
        ("panic", "panic", 3),
        ("hang", "hang", 1),
        ("mute", "no-pages", 1),
        // Nothing is wrong with it, but what comes next would not be found.
        ("lost", "no-server", 1),
        // Its requests are answered, but never with a page.
        ("gone", "no-pages", 1),
    ];
    side_by_side(falls.map(|fall| move || falls_and_is_rolled_back(elf, fall))).map(drop)
}

/// A build falls in this way, for this reason, so often.
fn falls_and_is_rolled_back(elf: &Path, (how, why, attempts): (&str, &str, usize)) -> Result<()> {
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    let [first, second] = desk.names();
    let falls = format!("falls={second}:{how}");
    let mut options = vec!["look=1", "trial=3-12"];
    let is_told = !["lost", "gone"].contains(&how);
    options.extend(is_told.then_some(falls.as_str()));
    desk.release_second(1, &unchanged);
    let last = match attempts {
        3 => "update refused kind=firmware sequence=1 why=tried".to_owned(),
        _ => format!("update rolled back sequence=1 attempt={attempts} why={why}"),
    };
    let log = ended(desk.run(&image, &options, DEADLINE, |line| {
        if line.message.contains("update ready") {
            match how {
                "lost" => desk.server.clear(),
                "gone" => desk.gone.store(true, Ordering::Relaxed),
                _ => {}
            }
        }
        line.message.contains(&last)
    })?)?;
    ensure!(said(&log, &last), "it did not say {last:?}");
    for attempt in 1..=attempts {
        let words = format!("update rolled back sequence=1 attempt={attempt} why={why}");
        ensure!(said(&log, &words), "it did not say {words:?}");
    }
    let builds = started(&log);
    ensure!(builds.last() == Some(&first), "{builds:?} were started");
    // It is kept, and not only said.
    let kept = format!("refused=1 why={why}");
    ensure!(
        attempts == 3 || said(&log, &kept),
        "it did not keep {kept:?}"
    );
    let tries = builds.iter().filter(|build| **build == second).count();
    ensure!(tries == attempts, "{how}: tried {tries} times");
    crawled_on(&desk)
}

/// Every refusal, one after the other, with the firmware running on.
pub fn refusals(elf: &Path) -> Result<()> {
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    let stranger = SecretKey::new(&[9; 32], [9; 8]);
    let impostor = SecretKey::new(&[9; 32], [1; 8]);
    let own = &desk.firmware_key;
    let payload: Vec<u8> = (0..9_000_u32).map(|at| at as u8).collect();
    // Who signs, what is wrong with the manifest, and with how the payload is sent.
    type Wrong<'k> = (&'static str, &'k SecretKey, fn(&mut Manifest<'_>), Trick);
    let cases: [Wrong<'_>; 15] = [
        ("unknown-key", &stranger, |_| (), Trick::None),
        ("signature", &impostor, |_| (), Trick::None),
        ("signature", own, |_| (), Trick::FlipsManifest),
        ("digest", own, |_| (), Trick::FlipsPayload),
        (
            "board",
            own,
            |manifest| manifest.board = "other",
            Trick::None,
        ),
        (
            "kind",
            own,
            |manifest| manifest.kind = PayloadKind::List,
            Trick::None,
        ),
        (
            "sequence",
            own,
            |manifest| manifest.sequence = 0,
            Trick::None,
        ),
        (
            "length",
            own,
            |manifest| manifest.length = 768 * 1024 + 1,
            Trick::None,
        ),
        ("store", own, |manifest| manifest.store = 200, Trick::None),
        (
            "digest",
            own,
            |manifest| manifest.digest[9] ^= 1,
            Trick::None,
        ),
        ("announced", own, |_| (), Trick::Announces(7)),
        ("too-long", own, |_| (), Trick::SendsMore(7)),
        ("too-short", own, |_| (), Trick::SendsFewer(7)),
        ("range", own, |_| (), Trick::OtherRange),
        ("version", own, |_| (), Trick::OtherVersion),
    ];
    let mut next = 0;
    let offer = |index: usize| {
        let Some((why, key, change, trick)) = cases.get(index) else {
            return;
        };
        // A part is asked for once a download has broken off.
        let breaks = ["range", "version"].contains(why);
        desk.server.set_trick(match breaks {
            true => Trick::HangsUpAfter(5_000),
            false => *trick,
        });
        let bytes = [&payload[..], &[index as u8]].concat();
        let change = |manifest: &mut Manifest<'_>| change(manifest);
        let sequence = 100 + index as u32;
        desk.release(key, PayloadKind::Firmware, (8, &bytes), sequence, &change);
    };
    offer(0);
    let log = ended(desk.run(&image, &FAST, DEADLINE, |line| {
        let Some((why, .., trick)) = cases.get(next) else {
            return true;
        };
        let refused = line.message.contains("update refused");
        if refused && line.message.ends_with(&format!("why={why}")) {
            next += 1;
            offer(next);
            return next == cases.len();
        }
        // It broke off, and is asked for again: now the trick.
        let broken = desk
            .server
            .log()
            .last()
            .is_some_and(|asked| asked.sent == 5_000);
        if broken {
            desk.server.set_trick(*trick);
        }
        false
    })?)?;
    for (why, ..) in &cases {
        let words = format!("why={why}");
        ensure!(said(&log, &words), "nothing was refused with {words:?}");
    }
    ensure!(
        started(&log).len() == 1,
        "it was started {:?}",
        started(&log)
    );
    ensure!(!said(&log, "update ready"), "something was accepted");
    crawled_on(&desk)
}

/// A list takes another one's place, and what was learnt of pages that stay is kept.
pub fn lists(elf: &Path) -> Result<()> {
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    let mut newer = PAGES;
    newer[3] = ("busy.test", "/new");
    let newer = desk.image(&newer)?;
    let release = |key: &SecretKey, sequence: u32, bytes: &[u8]| {
        desk.release(key, PayloadKind::List, (8, bytes), sequence, &unchanged);
    };
    let mut fetched = 0;
    let mut refused = false;
    let log = ended(desk.run(&image, &FAST, DEADLINE, |line| {
        fetched += usize::from(line.message.starts_with("end page="));
        if fetched == 6 && !refused {
            // Lists have keys of their own.
            release(&desk.firmware_key, 1, &newer);
        }
        if line.message.contains("why=unknown-key") && !refused {
            refused = true;
            release(&desk.list_key, 2, b"no page image");
        }
        if line
            .message
            .contains("update refused kind=list sequence=2 why=list")
        {
            // The second key is as good as the first.
            release(&desk.spare_keys[1], 3, &newer);
        }
        said(std::slice::from_ref(line), " list=3 half=") && fetched > 6
    })?)?;
    for words in [
        "update refused kind=list sequence=2 why=list",
        "update ready kind=list sequence=3 ",
        "resumed pages=3 ",
        "other_list=true",
    ] {
        ensure!(said(&log, words), "it did not say {words:?}");
    }
    ensure!(count(&log, ", build ") >= 2, "it was not started again");
    // It stays, and the page that is new is fetched.
    let log = ended(desk.run(&image, &FAST, DEADLINE, |_| {
        !hits(&desk.web.log(), "busy.test", "/new").is_empty()
    })?)?;
    ensure!(said(&log, " list=3 half="), "the list was forgotten");
    let log = desk.web.log();
    ensure!(
        !hits(&log, "busy.test", "/new").is_empty(),
        "the new page was not fetched"
    );
    crawled_on(&desk)
}

/// A download that breaks off goes on where it was, also after the power went; one that takes its
/// time keeps nobody from crawling.
pub fn resumed(elf: &Path) -> Result<()> {
    const BREAK: usize = 60_000;
    const SECTOR: usize = 4096;
    const WORD: usize = 4;
    let desk = Desk::new(elf)?;
    let image = desk.image(&PAGES)?;
    let [_, second] = &desk.builds;
    desk.server.set_trick(Trick::HangsUpAfter(BREAK));
    desk.release_second(1, &unchanged);
    let parts = || {
        let log = desk.server.log();
        log.into_iter()
            .filter(|asked| asked.sent > 10_000)
            .collect::<Vec<_>>()
    };
    // Two pieces, then the power goes, then the rest.
    let enough = |_: &Line| parts().len() == 2;
    desk.run(&image, &["look=1", "trial=3-40"], DEADLINE, enough)?;
    let slowly = Trick::TakesItsTime(Duration::from_secs(5));
    desk.server.set_trick(slowly);
    let log = ended(desk.run(&image, &FAST, DEADLINE, |line| {
        line.message.contains("update confirmed")
    })?)?;
    ensure!(
        said(&log, "update ready kind=firmware sequence=1 "),
        "it did not go on"
    );
    let parts = parts();
    ensure!(parts.len() >= 3, "{} pieces", parts.len());
    let sent: usize = parts.iter().map(|asked| asked.sent).sum();
    // Each piece that breaks off loses less than a word; the restart, a sector.
    let twice = sent.saturating_sub(second.bytes.len());
    let most = SECTOR + (parts.len() - 1) * (WORD - 1);
    ensure!(
        twice <= most,
        "{twice} bytes were sent twice, {most} are allowed"
    );
    let last = parts.last().context("no piece")?;
    ensure!(
        last.from.is_multiple_of(SECTOR),
        "it went on at {}, which is no sector's beginning",
        last.from
    );
    let begin = Instant::now() - desk.web.now();
    let [first_byte, last_byte] = last.sending.map(|at| at - begin);
    let meanwhile = desk
        .web
        .log()
        .into_iter()
        .filter(|hit| hit.path != "/robots.txt" && (first_byte..last_byte).contains(&hit.at));
    let meanwhile = meanwhile.count();
    ensure!(
        meanwhile >= 2,
        "{meanwhile} pages were asked for in the {:.1} s of a download: crawling paused",
        (last_byte - first_byte).as_secs_f64()
    );
    crawled_on(&desk)
}

/// As its owner does it: keys, a release that signify verifies, a probe that runs it already, and a
/// list that the probe takes.
pub fn released(_: &Path) -> Result<()> {
    let folder = temporary("updates");
    let [keys, out, state] = ["keys", "out", "flash"].map(|name| folder.join(name));
    fs::create_dir_all(&folder)?;
    let xtask = |words: &[&str]| -> Result<String> {
        let mut command = Command::new(std::env::current_exe()?);
        let output = command.arg("--no-install").args(words).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "{words:?}: {said}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let text = |path: &Path| path.display().to_string();
    xtask(&["keygen", "--out", &text(&keys)])?;
    let key = text(&keys.join("firmware.sec"));
    let words = [
        "release",
        "--board",
        BOARD,
        "--key",
        &key,
        "--out",
        &text(&out),
    ];
    let said = xtask(&words)?;
    ensure!(said.contains("sequence  1\n"), "{said}");
    let verified = Command::new("signify-openbsd")
        .args(["-V", "-e", "-p", &text(&keys.join("firmware.pub"))])
        .args([
            "-x",
            &text(&out.join("qemu-mps2.sig")),
            "-m",
            &text(&out.join("manifest")),
        ])
        .output()?;
    ensure!(verified.status.success(), "signify: {verified:?}");
    let manifest = fs::read(out.join("manifest"))?;
    let manifest = Manifest::parse(&manifest).map_err(|why| anyhow!("{why}"))?;
    ensure!(
        manifest.sequence == 1 && manifest.board == BOARD,
        "{manifest:?}"
    );
    // Keys that are there are not written over.
    ensure!(
        xtask(&["keygen", "--out", &text(&keys)]).is_err(),
        "keys were lost"
    );

    // The build that the command puts onto the device trusts the same keys, and so is the same.
    let web = Web::start(|hit| no_robots(hit).unwrap_or_else(|| Answer::version(hit, 0)))?;
    let server = server::UpdateServer::start()?;
    let hand_out = || -> Result<()> {
        for file in fs::read_dir(&out)? {
            let file = file?.path();
            let name = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            server.put(&name, &fs::read(&file)?);
        }
        Ok(())
    };
    hand_out()?;
    let [pages, longer] = ["pages.csv", "longer.csv"].map(|name| folder.join(name));
    let page = |path: &str| format!("http://good.test:{}{path}\n", web.port());
    fs::write(&pages, format!("url\n{}", page("/a")))?;
    fs::write(&longer, format!("url\n{}{}", page("/a"), page("/b")))?;
    let url = server.url();
    let list_key = keys.join("list.sec");
    let keys = text(&keys);
    let state = text(&state);
    let more = [
        "--update-url",
        &url,
        "--keys",
        &keys,
        "--state",
        &state,
        "--look",
        "1s",
    ];
    let (summary, said) = command::summary(&command::qemu(&pages, 8, &more)?.output()?)?;
    ensure!(summary["fetches"].as_u64() > Some(0), "{summary}");
    ensure!(
        said.contains("updates slot=active state=confirmed"),
        "{said}"
    );
    let asked = |status: u16| server.log().iter().any(|asked| asked.status == status);
    ensure!(
        asked(200) && asked(304),
        "the server was not asked, or not conditionally"
    );
    ensure!(
        !said.contains("update ready"),
        "what runs was taken for new:\n{said}"
    );

    // A list with one page more is.
    let mut command = Command::new(program::build()?);
    command.arg("release-list").arg(&longer).arg("--key");
    command.arg(&list_key).arg("--out").arg(&out);
    command.args(["--resolve", "*=10.0.2.2", "--politeness", "400ms"]);
    let released = command.args(["--crawls-per-day", "max"]).output()?;
    ensure!(released.status.success(), "release-list: {released:?}");
    hand_out()?;
    let (_, said) = command::summary(&command::qemu(&pages, 24, &more)?.output()?)?;
    ensure!(
        said.contains("update ready kind=list sequence=1 "),
        "the list was not taken:\n{said}"
    );
    ensure!(
        !hits(&web.log(), "good.test", "/b").is_empty(),
        "the page that is new in the list was not asked for:\n{said}"
    );
    fs::remove_dir_all(&folder)?;
    Ok(())
}
