//! `cargo xtask demo --update`: one update from end to end, and one that is taken back.

use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use dunlin::update::{PayloadKind, SecretKey};
use dunlin_host::board::state_file::random_key;
use dunlin_tools::firmware::budgets::UPDATE;
use dunlin_tools::qemu::Line;
use dunlin_tools::shell::say;
use dunlin_tools::web::shortest_gap;
use dunlin_tools::{firmware, setup};

use super::desk::{Desk, said, started};
use super::{DEADLINE, PAGES, ended, unchanged};

/// Pages that are fetched before there is an update.
const BEFORE: usize = 6;
/// The first release, and the second one.
const GOOD: u32 = 1;
const BAD: u32 = 2;

/// What was seen of a good release and of a bad one.
#[derive(Debug)]
pub struct Seen {
    /// Bytes of the firmware.
    bytes: usize,
    /// From the release to the confirmation.
    confirmed: Duration,
    /// From the second release to the old build's return.
    back: Duration,
    /// Requests for pages, and the shortest time between two to one host.
    requests: usize,
    gap: Duration,
}

/// Builds what is needed, and shows it.
///
/// # Errors
/// What did not happen as it should.
pub fn demo(install: bool) -> Result<()> {
    setup::qemu(install)?;
    firmware::build_boot_loader(install)?;
    let elf = firmware::build_firmware(install, &[UPDATE.to_owned()])?;
    let seen = run(&elf, |line| eprintln!("{line}"))?;
    println!("{seen}");
    Ok(())
}

/// The case that the tests run: the demo as people see it.
pub fn case(elf: &Path) -> Result<()> {
    let seen = run(elf, crate::trace)?;
    crate::show(seen);
    Ok(())
}

fn run(elf: &Path, mut tell: impl FnMut(String)) -> Result<Seen> {
    let desk = Desk::with_keys(elf, [drawn()?, drawn()?, drawn()?, drawn()?])?;
    let [one, two] = desk.names();
    let image = desk.image(&PAGES)?;
    say(format_args!(
        "a probe runs build {one}; keys drawn for this demo; build {two} will be released for it on loopback"
    ));
    let mut fetched = 0;
    let mut confirmed = Clock::default();
    let options = ["look=2", "trial=6-40"];
    let log = ended(desk.run(&image, &options, DEADLINE, |line| {
        fetched += usize::from(line.message.starts_with("end page="));
        if fetched == BEFORE && confirmed.begins(line) {
            desk.release_second(GOOD, &unchanged);
            tell(format!("— release {GOOD}, signed: build {two} —"));
        }
        tell_of(line, &mut tell);
        confirmed.ends(line, "update confirmed")
    })?)?;
    ensure!(
        started(&log) == [one.clone(), two.clone()] && said(&log, "update confirmed sequence=1"),
        "the update was not confirmed: {:?} were started",
        started(&log)
    );

    // A build that falls over when it starts: the first one, told to.
    let [first, _] = &desk.builds;
    let payload = (first.id, &first.bytes[..]);
    let falls = format!("falls={one}:panic");
    let options = ["look=2", "trial=6-40", &falls];
    let mut back = Clock::default();
    let log = ended(desk.run(&image, &options, DEADLINE, |line| {
        if line.message.starts_with("end page=") && back.begins(line) {
            desk.release(
                &desk.firmware_key,
                PayloadKind::Firmware,
                payload,
                BAD,
                &unchanged,
            );
            tell(format!(
                "— release {BAD}, signed: build {one}, which panics when it starts —"
            ));
        }
        tell_of(line, &mut tell);
        back.ends(line, "update rolled back sequence=2 attempt=1 why=panic")
    })?)?;
    ensure!(
        started(&log) == [two.clone(), one, two],
        "the old build did not come back: {:?} were started",
        started(&log)
    );
    let log = desk.web.log();
    let gaps = PAGES
        .iter()
        .filter_map(|(host, _)| shortest_gap(&log, host));
    Ok(Seen {
        bytes: desk.builds[1].bytes.len(),
        confirmed: confirmed.time(),
        back: back.time(),
        requests: log.len(),
        gap: gaps.min().unwrap_or_default(),
    })
}

/// A key that is forgotten with the demo.
fn drawn() -> Result<SecretKey> {
    let mut seed = [0; 32];
    let (low, high) = seed.split_at_mut(16);
    low.copy_from_slice(&random_key()?);
    high.copy_from_slice(&random_key()?);
    let mut number = [0; 8];
    number.copy_from_slice(&random_key()?[..8]);
    Ok(SecretKey::new(&seed, number))
}

/// Lines that say how updates stand, and which build speaks.
fn tell_of(line: &Line, tell: &mut impl FnMut(String)) {
    let words = ["update", ", build ", "boot ", "last words", "resumed "];
    if words.iter().any(|word| line.message.contains(word)) {
        tell(line.to_string());
    }
}

/// How long something takes, by this computer's clock: the device's begins anew at each start.
#[derive(Debug, Default)]
struct Clock {
    begun: Option<std::time::Instant>,
    ended: Option<std::time::Instant>,
}

impl Clock {
    /// True at its first call.
    fn begins(&mut self, _: &Line) -> bool {
        self.begun.is_none() && {
            self.begun = Some(std::time::Instant::now());
            true
        }
    }

    /// True if these words were said.
    fn ends(&mut self, line: &Line, words: &str) -> bool {
        let over = line.message.contains(words);
        if over {
            self.ended = Some(std::time::Instant::now());
        }
        over
    }

    fn time(&self) -> Duration {
        self.begun
            .zip(self.ended)
            .map_or(Duration::ZERO, |(begun, ended)| ended - begun)
    }
}

impl Display for Seen {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            bytes,
            confirmed,
            back,
            requests,
            gap,
        } = self;
        writeln!(
            f,
            "release {GOOD}     {bytes} bytes fetched, swapped in, tried for 6 s and confirmed, {:.1} s after it was signed",
            confirmed.as_secs_f64()
        )?;
        writeln!(
            f,
            "release {BAD}     panicked when it was started; the build before it was back {:.1} s after it was signed",
            back.as_secs_f64()
        )?;
        write!(
            f,
            "meanwhile     {requests} requests for pages, at least {} ms apart on each host",
            gap.as_millis()
        )
    }
}
