//! Requests a second without politeness, beside a bare embassy-net loop on the same emulated board,
//! in the same run.
//!
//! The two take turns of half a second, so that what else this computer does hits both; the medians
//! are compared. Both ask the same server for the same small page, with three requests at a time
//! and a connection for each request: the server closes it. The probe's robots.txt files are
//! fetched before anything counts; everything else that a fetch takes is in it – planning,
//! learning, fingerprints, the log at its usual level.
//!
//! A clock's word depends on the computer. So a second run counts instructions: what the core was
//! awake for, for each request. There QEMU's clock follows the instructions, and no other program
//! changes the count – but for how many frames and ticks of the clock a request is spread over.

use std::time::Duration;

use anyhow::{Result, ensure};
use dunlin_tools::qemu::list::{self, LOOPBACK, listing};
use dunlin_tools::qemu::page_image::{self, ImageFile, Options};
use dunlin_tools::qemu::{self, Attached, Line, Machine, Time};
use dunlin_tools::shell::say;
use dunlin_tools::web::{Answer, Web};
use dunlin_tools::{firmware, setup};

/// How long all turns take together.
const SECONDS: u32 = 30;
const DEADLINE: Duration = Duration::from_secs(90);
/// What the probe must reach of the bare loop.
pub const LEAST: f64 = 0.6;

/// A figure of the bare loop and of the probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub bare: f64,
    pub probe: f64,
}

/// What the two reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Throughput {
    /// Requests a second, turn by turn.
    pub turns: Vec<Pair>,
    /// Instructions that a request takes.
    pub instructions: Pair,
}

impl Throughput {
    /// Requests a second: the medians.
    pub fn rates(&self) -> Pair {
        let of = |rate: fn(&Pair) -> f64| median(self.turns.iter().map(rate));
        Pair {
            bare: of(|turn| turn.bare),
            probe: of(|turn| turn.probe),
        }
    }

    /// What the probe reaches of the bare loop.
    fn share(&self) -> f64 {
        let Pair { bare, probe } = self.rates();
        probe / bare
    }

    /// A quarter of the turns is below, and a quarter above.
    fn range(&self) -> (f64, f64) {
        (quantile(self.shares(), 0.25), quantile(self.shares(), 0.75))
    }

    fn shares(&self) -> impl Iterator<Item = f64> {
        self.turns.iter().map(|turn| turn.probe / turn.bare)
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    quantile(figures, 0.5)
}

fn quantile(figures: impl Iterator<Item = f64>, part: f64) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    let place = (part * (figures.len().saturating_sub(1)) as f64).round();
    figures.get(place as usize).copied().unwrap_or(f64::NAN)
}

/// Fails unless the probe reaches its share of the bare loop's speed.
pub fn throughput(install: bool) -> Result<()> {
    let found = measure(install)?;
    let rates = found.rates();
    let share = found.share();
    let (lowest, highest) = found.range();
    println!(
        "{:.0} requests a second by a bare loop, {:.0} by the probe: {:.0} % (the middle half of {} turns: {:.0} to {:.0} %)",
        rates.bare,
        rates.probe,
        100.0 * share,
        found.turns.len(),
        100.0 * lowest,
        100.0 * highest
    );
    let Pair { bare, probe } = found.instructions;
    println!("{bare:.0} instructions for a request by a bare loop, {probe:.0} by the probe");
    ensure!(
        share >= LEAST,
        "the probe is slower than {LEAST} of a bare loop"
    );
    Ok(())
}

/// Lets both take turns, by the clock and by instructions.
pub fn measure(install: bool) -> Result<Throughput> {
    setup::qemu(install)?;
    let elf = firmware::build(install, firmware::THROUGHPUT)?;
    let web = Web::start(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::status(404, "X: none"),
        _ => Answer::page("a small page"),
    })?;
    // A host for each: the scheduler's clock ticks every 8 ms, and a host is asked once a tick.
    let pages: Vec<(String, String)> = (0..48)
        .map(|page| (format!("site{page}.test"), format!("/{page}")))
        .collect();
    let pages: Vec<(&str, &str)> = pages
        .iter()
        .map(|(host, path)| (host.as_str(), path.as_str()))
        .collect();
    let options = Options {
        resolve: vec![("*".into(), LOOPBACK)],
        ..list::options()
    };
    let (image, _) = page_image::build(&listing(web.port(), &pages, Duration::ZERO), &options)?;
    let image = ImageFile::write(&image, &elf)?;
    let arguments = [format!("seconds={SECONDS}")];
    // A pipe would make this computer wake somebody for each byte of the probe's log, and the bare
    // loop writes none.
    let attached = Attached {
        image: Some((&image.path, image.address)),
        network: true,
        log_to_file: true,
        ..Attached::default()
    };
    let run = |time: Time| -> Result<Vec<Turn>> {
        let machine = Machine {
            elf: &elf,
            options: &arguments,
            time,
            deadline: DEADLINE,
            attached,
        };
        let mut turns = Vec::new();
        qemu::run(machine, |line| turns.extend(Turn::read(line)))?
            .success("the throughput firmware", DEADLINE)?;
        ensure!(
            !turns.is_empty(),
            "the firmware said nothing about throughput"
        );
        let empty = turns
            .iter()
            .any(|turn| turn.requests.bare == 0.0 || turn.requests.probe == 0.0);
        ensure!(!empty, "a turn without a request: {turns:?}");
        Ok(turns)
    };
    say(format_args!(
        "bare loop and probe by turns, by the clock ({SECONDS} s)"
    ));
    let per_second = |turn: &Turn| turn.requests.map(|requests| requests / turn.seconds);
    let turns = run(Time::Real)?.iter().map(per_second).collect();
    say(format_args!(
        "the same with instructions counted ({SECONDS} s)"
    ));
    let counted = run(Time::Counted)?;
    let a_request = |of: fn(Pair) -> f64| {
        let instructions = |turn: &Turn| Time::Counted.instructions(1_000.0 * of(turn.awake_us));
        median(
            counted
                .iter()
                .map(|turn| instructions(turn) / of(turn.requests)),
        )
    };
    let instructions = Pair {
        bare: a_request(|pair| pair.bare),
        probe: a_request(|pair| pair.probe),
    };
    Ok(Throughput {
        turns,
        instructions,
    })
}

impl Pair {
    fn map(self, work: impl Fn(f64) -> f64) -> Self {
        Self {
            bare: work(self.bare),
            probe: work(self.probe),
        }
    }
}

/// One turn of each, as the firmware tells it.
#[derive(Debug)]
struct Turn {
    seconds: f64,
    requests: Pair,
    awake_us: Pair,
}

impl Turn {
    fn read(line: &Line) -> Option<Self> {
        line.message.strip_prefix("throughput ")?;
        let number = |key: &str| -> Option<f64> {
            let mut words = line.message.split(' ');
            let value = words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            value?.parse().ok()
        };
        Some(Self {
            seconds: number("ms")? / 1_000.0,
            requests: Pair {
                bare: number("bare")?,
                probe: number("probe")?,
            },
            awake_us: Pair {
                bare: number("bare_awake_us")?,
                probe: number("probe_awake_us")?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_turn_that_was_disturbed_does_not_count() {
        let turns = [
            (100.0, 80.0),
            (100.0, 82.0),
            (100.0, 5.0),
            (20.0, 80.0),
            (90.0, 72.9),
        ];
        let turns = turns.map(|(bare, probe)| Pair { bare, probe }).into();
        let found = Throughput {
            turns,
            instructions: Pair {
                bare: 1.0,
                probe: 1.0,
            },
        };
        assert_eq!(
            (found.share(), found.rates()),
            (
                0.8,
                Pair {
                    bare: 100.0,
                    probe: 80.0
                }
            )
        );
        assert_eq!(found.range(), (0.8, 0.82));
    }
}
