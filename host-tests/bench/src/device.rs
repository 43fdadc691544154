//! What the algorithms cost on a device, in instructions: the M4F's own code, and thumbv6m code,
//! which stands for an M0+, on the same core.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use dunlin_tools::setup::{CORTEX_M0, CORTEX_M4F};
use dunlin_tools::{firmware, qemu};

use super::row::{Complexity, Limit, Place, Row};

const DEADLINE: Duration = Duration::from_secs(900);

/// The two kinds of code, and what they are called in the table.
pub const TARGETS: [(&str, &str); 2] = [(CORTEX_M4F, "M4F"), (CORTEX_M0, "M0+")];

/// One measurement, as the firmware's meter logs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    pub name: String,
    pub size: u32,
    /// Instructions that one operation takes.
    pub each: f64,
}

/// What is known about a measurement besides its figure.
struct About {
    name: &'static str,
    room: &'static str,
    /// The measurement of what else one could use, at the same size, and what to call it.
    other: Option<(&'static str, &'static str)>,
    /// What was promised for the M4F, at a size.
    limit: Option<(u32, f64)>,
    /// The limit holds on every core, and not on the M4F alone.
    everywhere: bool,
    grows: Option<Complexity>,
}

const fn about(name: &'static str, room: &'static str) -> About {
    About {
        name,
        room,
        other: None,
        limit: None,
        everywhere: false,
        grows: None,
    }
}

impl About {
    const fn beside(mut self, measured: &'static str, called: &'static str) -> Self {
        self.other = Some((measured, called));
        self
    }
    const fn most(mut self, size: u32, most: f64) -> Self {
        self.limit = Some((size, most));
        self
    }
    const fn everywhere(mut self) -> Self {
        self.everywhere = true;
        self
    }
    const fn grows(mut self, complexity: Complexity) -> Self {
        self.grows = Some(complexity);
        self
    }
}

/// Every measurement that has a room, a limit or something to be compared with.
const MEASUREMENTS: &[About] = &[
    about("heap pop+push", "heap")
        .beside(
            "heapless::BinaryHeap pop+push",
            "heapless::BinaryHeap, which cannot update or remove",
        )
        .grows(Complexity::Logarithmic),
    about("plan optimal", "plan")
        .beside(
            "plan by bisection in bisection",
            "bisection in bisection, no caps",
        )
        .most(1024, 15e6)
        .grows(Complexity::Linear),
    about("h_inverse", "plan"),
    about("carousel slot, mixed rates", "pace")
        .beside("the paper's listing, a slot", "the paper's O(n) listing")
        .most(1024, 2_000.0)
        .grows(Complexity::Logarithmic),
    about("carousel slot, equal rates", "pace")
        .beside("the paper's listing, a slot", "the paper's O(n) listing")
        .most(1024, 2_000.0)
        .grows(Complexity::Logarithmic),
    about("carousel slot that releases all pages", "pace")
        .beside("the paper's listing, a slot", "the paper's O(n) listing")
        .grows(Complexity::Logarithmic),
    about("scheduler next+record, 32 hosts", "scheduler")
        .beside(
            "a scan for the page due first",
            "a scan for `next` alone, nothing learnt",
        )
        .most(1024, 3_000.0)
        .grows(Complexity::Logarithmic),
    about("scheduler next+record by its owner", "scheduler")
        .beside("scheduler next+record, 32 hosts", "on a view of its tables")
        .most(1024, 3_000.0)
        .grows(Complexity::Logarithmic),
    about("estimate update, changed", "learn")
        .beside(
            "the rate from the whole history",
            "maximum likelihood over 64 visits kept",
        )
        .most(1, 600.0),
    about("estimate update, unchanged", "learn").most(1, 600.0),
    about("estimate update, dated", "learn").most(1, 600.0),
    about("estimate update, mixed", "learn").most(1, 600.0),
    about("estimate update, signalled", "learn").most(1, 600.0),
    about("scheduler next with nothing to do", "scheduler"),
    // A hundredth of a second on a core of 25 MHz would be 250,000.
    about(
        "scheduler, the dearest call: the clock is set back",
        "scheduler",
    )
    .most(4096, 100e3),
    about("scheduler, the dearest call: all gates open", "scheduler").most(4096, 100e3),
    about("scheduler, the dearest call: a round ends", "scheduler").most(4096, 100e3),
    about("fetch: robots.txt, per byte", "fetch"),
    about("fetch: chunked page, per byte", "fetch")
        .beside(
            "fetch: the hash alone, per byte",
            "the hash alone, which is the limit",
        )
        .most(65_536, 12.0),
    about("fetch: the same with one stretch to skip", "fetch")
        .beside(
            "fetch: the hash alone, per byte",
            "the hash alone, which is the limit",
        )
        .most(65_536, 12.0),
    // Other slots, and the deadline, wait for no longer.
    about("robots.txt, a turn at rules full of stars", "fetch")
        .most(32, 100e3)
        .everywhere(),
    about("robots.txt, the first turn at long rules", "fetch")
        .most(32, 100e3)
        .everywhere(),
    about("robots.txt, a turn at long rules", "fetch")
        .most(32, 100e3)
        .everywhere(),
    about("robots decision, per rule", "fetch")
        .beside(
            "comparing bytes, per rule",
            "comparing bytes, without `*`, `$` and %-escapes",
        )
        .most(32, 400.0),
];

/// Runs the benches compiled for `target`.
pub fn measure(install: bool, target: &str) -> Result<Vec<Count>> {
    let elf = firmware::build_for(install, firmware::BENCH, target)?;
    run(&elf, qemu::Attached::default()).with_context(|| format!("device bench for {target}"))
}

/// Runs a firmware that counts, and returns what it counted.
pub fn run(elf: &Path, attached: qemu::Attached<'_>) -> Result<Vec<Count>> {
    let machine = qemu::Machine {
        elf,
        options: &[],
        time: qemu::Time::Counted,
        deadline: DEADLINE,
        attached,
    };
    let mut counts = Vec::new();
    let end = qemu::run(machine, |line| {
        match line.message.strip_prefix("bench ").and_then(Count::parse) {
            Some(count) => counts.push(count),
            None => eprintln!("{line}"),
        }
    });
    end?.success("the instruction bench", DEADLINE)?;
    Ok(counts)
}

/// The table's rows for what was measured.
pub fn rows(counts: &[Count], core: &str) -> Vec<Row> {
    let is_known = |name: &str| MEASUREMENTS.iter().any(|about| about.name == name);
    let alternative = |name: &str| {
        let is_beside = MEASUREMENTS
            .iter()
            .any(|about| about.other.is_some_and(|other| other.0 == name));
        is_beside && !is_known(name)
    };
    counts
        .iter()
        .filter(|count| !alternative(&count.name))
        .map(|count| row(count, counts, core))
        .collect()
}

fn row(count: &Count, counts: &[Count], core: &str) -> Row {
    let known = MEASUREMENTS.iter().find(|about| about.name == count.name);
    let other = known
        .and_then(|about| about.other)
        .and_then(|(measured, called)| {
            // What has no size of its own is the same at every size.
            let same = |other: &&Count| other.name == measured && other.size == count.size;
            let other = counts.iter().find(same)?;
            Some((called.to_owned(), other.each))
        });
    let promised = known
        .filter(|about| about.everywhere || core == "M4F")
        .and_then(|about| about.limit)
        .filter(|(size, _)| *size == count.size);
    let place = known.and_then(|about| about.grows).map(|complexity| Place {
        series: format!("{core}: {}", count.name),
        size: f64::from(count.size),
        complexity,
    });
    let room = known.map_or("learn", |about| about.room);
    let what = if count.size > 1 {
        format!("{}, n = {}", count.name, count.size)
    } else {
        count.name.clone()
    };
    Row {
        room: format!("{core} · {room}"),
        what,
        ours: count.each,
        unit: "instructions".into(),
        other,
        limit: promised.map_or(Limit::None, |(_, most)| Limit::Most(most)),
        place,
    }
}

impl Count {
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split('|');
        let name = fields.next()?.to_owned();
        let size = fields.next()?.parse().ok()?;
        let per: f64 = fields.next()?.parse().ok()?;
        let instructions: f64 = fields.next()?.parse().ok()?;
        fields.next().is_none().then_some(Self {
            name,
            size,
            each: instructions / per.max(1.0),
        })
    }
}
