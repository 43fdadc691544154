//! Bytes a page and a host, flash by module, and how deep the stack goes.

use anyhow::{Context, Result};
use dunlin::heap::Entry;
use dunlin::learn::Estimate;
use dunlin::pace::carousel::Seat;
use dunlin::scheduler::Scheduler;
use dunlin_e2e::day;
use dunlin_tools::firmware::boards::{BOARDS, Holdings};
use dunlin_tools::firmware::budgets::{self, Image, Rows};
use dunlin_tools::firmware::modules::modules;
use dunlin_tools::firmware::sizes::{self, Sizes};
use dunlin_tools::firmware::{self, panics};
use dunlin_tools::qemu::Time;
use qemu_mps2_capacity::SLOTS;

use super::row::{Limit, Row};

/// An image that has a budget, and what it occupies.
#[derive(Clone, Debug)]
pub struct Weighed {
    pub image: Image,
    pub sizes: Sizes,
}

/// Builds and weighs every image that is built in every run of the tests.
pub fn images(install: bool) -> Result<Vec<Weighed>> {
    let weigh = |image| {
        let sizes = sizes::measure(&firmware::build_image(install, &image)?)?;
        Ok(Weighed { image, sizes })
    };
    budgets::images(Rows::Ordinary)?
        .into_iter()
        .map(weigh)
        .collect()
}

/// What one more page, and one more host, adds to a scheduler with 16-bit ids; the same on every
/// computer.
pub fn scheduler() -> [(&'static str, f64); 2] {
    let page = Scheduler::<4096, 32>::SIZE - Scheduler::<1024, 32>::SIZE;
    let host = Scheduler::<1024, 544>::SIZE - Scheduler::<1024, 32>::SIZE;
    [
        ("scheduler and estimator, a page", page as f64 / 3072.0),
        ("scheduler and estimator, a host", host as f64 / 512.0),
    ]
}

/// What must be known of a page, in bits, for 1,024 pages on 32 hosts over the 102 days that times
/// reach, each to the precision that decisions need. A code without slack would keep this and
/// nothing else.
///
/// | bits | what, and why so many |
/// |---|---|
/// | 2 × 16 | belief about the rate: a Gamma law's two numbers over 12 decades to 0.04 %, so that a thousandth of a visit's weight still adds up |
/// | 2 × 8 | evidence that it rose or fell: to a sixteenth of a nat |
/// | 10 | weight: 12 decades to 3 % |
/// | 24 | when it was last fetched: 102 days to the second |
/// | 24 | when it is due: the same |
/// | 8 | what the carousel owes it: ±1 gap to 1/128 |
/// | 5 | which of 32 hosts |
/// | 9 | its place in its host's queue of 32 in O(log n): two links to children of 5 bits, less the bit that one of them implies |
/// | 2 | free, queued, pinned or in flight |
/// | 7 | signals of a change since the last fetch |
const PAGE_BITS: f64 = (2 * 16 + 2 * 8 + 10 + 24 + 24 + 8 + 5 + 9 + 2 + 7) as f64;

/// The same for a host.
///
/// | bits | what |
/// |---|---|
/// | 24 | when its gate opens |
/// | 16 | its gap: a millisecond to weeks, to 0.1 % |
/// | 8 | failures in a row and what it waits for |
/// | 10 | allowed hours, from and to |
/// | 10 | the root of its queue |
/// | 16 | its price where it is at its cap |
/// | 16 | demand of its pages in the present sweep |
/// | 3 × 16 | what its pages have taught about new ones: sums of a Gamma law's two numbers and their weight |
const HOST_BITS: f64 = (24 + 16 + 8 + 10 + 10 + 16 + 16 + 3 * 16) as f64;

/// All rows of memory.
pub fn rows(install: bool, images: &[Weighed]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut row = |what: &str, ours: f64, other: Option<(&str, f64)>, limit| {
        rows.push(Row {
            room: "memory".into(),
            what: what.into(),
            ours,
            unit: "bytes".into(),
            other: other.map(|(name, figure)| (name.into(), figure)),
            limit,
            place: None,
        });
    };
    for ((what, ours), (bits, most)) in scheduler()
        .into_iter()
        .zip([(PAGE_BITS, 36.0), (HOST_BITS, 56.0)])
    {
        row(
            what,
            ours,
            Some(("what must be known", bits / 8.0)),
            Limit::Most(most),
        );
    }
    row(
        "of these, the estimator, a page",
        size_of::<Estimate>() as f64,
        None,
        Limit::Most(16.0),
    );
    // One place in each of the three tables, as a device lays them out.
    let carousel = size_of::<Seat<u32, u16>>() + size_of::<Entry<u32, u16>>() + size_of::<u16>();
    row(
        "carousel alone, a page",
        carousel as f64,
        Some(("the listing's rate and credit", 8.0)),
        Limit::None,
    );
    // The only slice that `optimal` asks for is the one it puts its result in.
    let rate = size_of::<f32>() as f64;
    row(
        "plan, working memory a page, on a device",
        rate,
        Some(("the result itself", rate)),
        Limit::Most(8.0),
    );
    let hour = day::hour(install)?;
    let stack = hour
        .stack
        .context("the firmware did not say how deep its stack was")?;
    row(
        "stack high-water mark of the probe, an hour on a simulated network",
        stack as f64,
        None,
        Limit::Most(16_384.0),
    );
    row(
        "the end of a fetch in the log",
        hour.longest_end as f64,
        None,
        Limit::Most(24.0),
    );
    let named = |name: &str| {
        let found = images.iter().find(|weighed| weighed.image.name == name);
        found.map(|weighed| weighed.sizes.static_ram as f64)
    };
    if let (Some(with), Some(without)) = (named("qemu-mps2+collect"), named("qemu-mps2")) {
        row(
            "copies to a collector, static RAM a slot",
            (with - without) / SLOTS as f64,
            None,
            Limit::Most(4096.0),
        );
    }
    for Weighed { image, sizes } in images {
        let budget = image.budget;
        row(
            &format!("{}, flash", image.name),
            sizes.flash as f64,
            None,
            Limit::Most(budget.flash as f64),
        );
        let ram = sizes.static_ram as f64;
        row(
            &format!("{}, static RAM", image.name),
            ram,
            None,
            Limit::Most(budget.static_ram as f64),
        );
    }
    for (module, bytes) in modules(&firmware::build(install, firmware::BOARD)?)?
        .into_iter()
        .take(12)
    {
        row(
            &format!("flash of {module}"),
            bytes as f64,
            None,
            Limit::None,
        );
    }
    let awake = hour
        .awake
        .context("the firmware did not say how long it was awake")?;
    let instructions = Time::Skipping.instructions(awake.as_nanos() as f64);
    rows.extend(boards(install)?);
    let fetches = (hour.summary.fetches + hour.summary.errors).max(1) as f64;
    rows.push(Row {
        room: "end to end".into(),
        what: "awake, a fetch on a simulated network, everything included".into(),
        ours: instructions / fetches,
        unit: "instructions".into(),
        other: None,
        limit: Limit::None,
        place: None,
    });
    Ok(rows)
}

/// How much each board holds, and where its firmware could panic.
fn boards(install: bool) -> Result<Vec<Row>> {
    let row = |what: String, ours: f64, unit: &str, limit| Row {
        room: "boards".into(),
        what,
        ours,
        unit: unit.into(),
        other: None,
        limit,
        place: None,
    };
    let mut rows = Vec::new();
    for board in BOARDS {
        let elf = board.build(install)?;
        let budget = budgets::image(board.name)?.budget;
        let limit = budget
            .pages
            .map_or(Limit::None, |pages| Limit::Least(pages.into()));
        let pages = Holdings::read(board, &elf)?.pages;
        rows.push(row(
            format!("{}, pages it holds", board.name),
            pages.into(),
            "pages",
            limit,
        ));
        let sites = panics::count(&elf)? as f64;
        rows.push(row(
            format!("{}, panic sites, its network stack's included", board.name),
            sites,
            "sites",
            Limit::Most(budget.panic_sites as f64),
        ));
    }
    Ok(rows)
}
