//! Learning on a computer: what one more visit costs.

use dunlin::learn::{Estimate, LearningSettings, Prior, Visit, irregular};
use dunlin_suite::bench::Random;
use host_tests::learn::{PoissonPage, Spacing};

use super::{Row, seconds};

/// Twelve bytes a page against the whole history again.
pub fn learn(rows: &mut Vec<Row>) {
    const VISITS: usize = 200;
    let mut page = PoissonPage {
        rate: 1.0,
        random: Random(1),
    };
    let mut random = Random(2);
    let visit = |_| Visit {
        modified_ago: None,
        ..page.visit(Spacing::Random.interval(1.0, &mut random))
    };
    let history: Vec<Visit> = (0..VISITS).map(visit).collect();
    let online = seconds(50, || {
        let mut page = Estimate::new(&Prior::DEFAULT);
        history
            .iter()
            .for_each(|visit| page.update(visit, &LearningSettings::DEFAULT));
        page
    });
    let whole = seconds(50, || irregular::<f64>(history.iter().copied()));
    rows.push(Row {
        room: "learn",
        what: format!("one more visit after {VISITS}: online estimate"),
        ours: 1e9 * online / VISITS as f64,
        unit: "ns",
        other: Some(("maximum likelihood from the history", 1e9 * whole)),
        limit: "12 bytes a page".into(),
        grows: None,
    });
}
