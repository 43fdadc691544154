//! What the algorithms cost on this computer: measured by the program `host-bench`, optimised as
//! users build it.

use anyhow::{Context, Result, ensure};
use dunlin_tools::shell::{capture, cargo};

use super::row::{Complexity, Limit, Place, Row};

/// Builds and runs the host benches, or those of some rooms.
pub fn rows(rooms: &[&str]) -> Result<Vec<Row>> {
    let run = [
        "run",
        "--quiet",
        "--release",
        "--package",
        "dunlin-bench",
        "--bin",
        "host-bench",
        "--",
    ];
    let text = capture(cargo().args(run).args(rooms))?;
    let rows: Vec<Row> = text
        .lines()
        .map(|line| {
            parse(line).with_context(|| format!("the bench printed a line that is no row: {line}"))
        })
        .collect::<Result<_>>()?;
    ensure!(!rows.is_empty(), "the bench printed nothing");
    Ok(rows)
}

/// Nine fields between tabs; see [`crate::host::Row`].
fn parse(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [
        room,
        what,
        ours,
        unit,
        other,
        figure,
        limit,
        size,
        complexity,
    ] = fields[..]
    else {
        return None;
    };
    let place = Complexity::parse(complexity).zip(size.parse().ok());
    let series = what.split(", ").next().unwrap_or_default();
    Some(Row {
        room: format!("host · {room}"),
        what: what.to_owned(),
        ours: ours.parse().ok()?,
        unit: unit.to_owned(),
        other: figure.parse().ok().map(|figure| (other.to_owned(), figure)),
        limit: Limit::parse(limit),
        place: place.map(|(complexity, size)| Place {
            series: format!("host: {series}"),
            size,
            complexity,
        }),
    })
}
