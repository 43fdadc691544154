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
const FEED: &str = "M4F · feed";

/// What discovery costs a device, as rows of the page.
pub fn rows(install: bool) -> Result<Vec<Row>> {
    let mut rows = instructions(install)?;
    rows.extend(memory());
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

/// Those of them that are sizes of a candidate and a page.
pub fn memory() -> [Row; 2] {
    let candidate = size_of::<Candidate>() as f64;
    // Its account, its place in the order of digests, and where its URL is.
    let page = size_of::<Account>() + size_of::<u16>() + size_of::<FoundPage>();
    [
        row("a candidate", candidate, "bytes", Limit::Most(16.0)),
        row(
            "a page, besides what the scheduler knows",
            page as f64,
            "bytes",
            Limit::Most(14.0),
        ),
    ]
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
            "the same where all of them are known",
            "discover: links that are known, per byte",
            Limit::Most(25.0),
        ),
        (
            "links of a page of much markup, a byte",
            "discover: links in much markup, per byte",
            Limit::Most(25.0),
        ),
        (
            "links with 16 topic words, a byte",
            "discover: links and 16 topic words, per byte",
            Limit::None,
        ),
        (
            "of that, to read the markup, a byte",
            "discover: the markup alone, per byte",
            Limit::None,
        ),
        (
            "who gives way to whom, 4,096 pages and 2,048 candidates",
            "discover: who gives way to whom",
            Limit::Most(100e3),
        ),
        (
            "the same, the least important page last",
            "discover: the same, the least important page last",
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
    for row in rows.iter_mut().take(5) {
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
