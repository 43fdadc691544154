//! What finding, ranking and replacing pages costs a device.

use anyhow::{Context, Result};
use dunlin::discover::Candidate;
use dunlin::probe::FoundPage;
use dunlin::rank::Account;
use dunlin_tools::firmware::{self, budgets, sizes};
use dunlin_tools::qemu::Attached;

use super::device;
use super::row::{Limit, Row};

/// The room of what reads sitemaps and feeds.
pub const FEED: &str = "M4F · feed";

/// What discovery costs a device, as rows of the page.
pub fn rows(install: bool) -> Result<Vec<Row>> {
    let mut rows = instructions(install)?;
    let candidate = size_of::<Candidate>() as f64;
    rows.push(row("a candidate", candidate, "bytes", Limit::Most(16.0)));
    // Its account, its place in the order of digests, and where its URL is.
    let page = size_of::<Account>() + size_of::<u16>() + size_of::<FoundPage>();
    rows.push(row(
        "a page, besides what the scheduler knows",
        page as f64,
        "bytes",
        Limit::Most(14.0),
    ));
    let flash = |features: &[String]| {
        let elf = firmware::build_firmware(install, features)?;
        Ok::<f64, anyhow::Error>(sizes::measure(&elf)?.flash as f64)
    };
    let more = flash(&[budgets::DISCOVER.to_owned()])? - flash(&[])?;
    rows.push(row(
        "flash, beyond the plain firmware",
        more,
        "bytes",
        Limit::Most(24.0 * 1024.0),
    ));
    Ok(rows)
}

/// Those of them that are counted in instructions.
pub fn instructions(install: bool) -> Result<Vec<Row>> {
    let elf = firmware::build_discover_bench(install)?;
    let counts = device::run(&elf, Attached::default())?;
    let count = |name: &str| {
        let found = counts.iter().find(|count| count.name == name);
        let found = found.with_context(|| format!("the firmware has not counted {name:?}"));
        found.map(|count| count.each)
    };
    let instructions = [
        (
            "links of a page, a byte beyond the fingerprint",
            "discover: links, per byte",
            Limit::Most(25.0),
        ),
        (
            "the same with 16 topic words",
            "discover: links and 16 topic words, per byte",
            Limit::None,
        ),
        (
            "who gives way to whom, 4,096 pages and 2,048 candidates",
            "discover: who gives way to whom",
            Limit::Most(100e3),
        ),
        (
            "the same, and whom to explore",
            "discover: the same, and whom to explore",
            Limit::Most(100e3),
        ),
    ];
    let mut rows = Vec::new();
    for (what, name, limit) in instructions {
        rows.push(row(what, count(name)?, "instructions", limit));
    }
    let hash = count("discover: the fingerprint alone, per byte")?;
    for row in rows.iter_mut().take(2) {
        row.other = Some(("the fingerprint alone".into(), hash));
    }
    for (what, name) in [
        ("a sitemap, a byte", "discover: a sitemap, per byte"),
        ("an Atom feed, a byte", "discover: an Atom feed, per byte"),
        ("an RSS feed, a byte", "discover: an RSS feed, per byte"),
        ("a JSON feed, a byte", "discover: a JSON feed, per byte"),
    ] {
        rows.push(Row {
            room: FEED.into(),
            ..row(what, count(name)?, "instructions", Limit::Most(60.0))
        });
    }
    Ok(rows)
}

fn row(what: &str, ours: f64, unit: &str, limit: Limit) -> Row {
    Row {
        room: "M4F · discover".into(),
        what: what.into(),
        ours,
        unit: unit.into(),
        other: None,
        limit,
        place: None,
    }
}
