//! What the carousel makes of rates: freshness in steady state, against the continuous optimum.

use dunlin::heap::Entry;
use dunlin::math::g;
use dunlin::model::Change;
use dunlin::pace::carousel::{Carousel, Seat};
use dunlin::plan::azar::azar;
use dunlin::plan::optimal::optimal;
use dunlin::plan::{Objective, PlanHost, PlanPage};
use dunlin_suite::bench::Random;

/// Shares of the continuous optimum.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// EDF on the optimal rates.
    pub optimal: f64,
    /// EDF on Azar's rates.
    pub azar: f64,
}

/// `pages` pages with random rates of change (a decade around 1) and weights, visited `budget`
/// times as often as they change in total, for `rounds` visits a page.
pub fn run(pages: usize, budget: f64, rounds: usize, seed: u64) -> Reached {
    let mut random = Random(seed);
    let list: Vec<PlanPage<'_, f64>> = (0..pages)
        .map(|_| {
            let rate = 10_f64.powf(f64::from(random.unit()) - 0.5);
            PlanPage::new(0.1 + f64::from(random.unit()), Change::Poisson(rate))
        })
        .collect();
    let changes: f64 = list.iter().filter_map(|page| page.change.rate()).sum();
    let visits = budget * changes;
    let mut hosts = [PlanHost::unlimited()];
    let mut rates = vec![0.0; pages];
    let best = optimal(
        &list[..],
        &mut hosts,
        visits,
        Objective::Freshness,
        &mut rates,
    )
    .expect("a sound plan");
    let optimal = freshness(&list, &rates, visits, rounds) / (1.0 - best.cost);
    azar(
        &list[..],
        &mut hosts,
        visits,
        Objective::Freshness,
        &mut rates,
    )
    .expect("a sound plan");
    Reached {
        optimal,
        azar: freshness(&list, &rates, visits, rounds) / (1.0 - best.cost),
    }
}

/// Weighted mean freshness over the whole gaps between visits of a long run; a page without one
/// counts as stale.
fn freshness(pages: &[PlanPage<'_, f64>], rates: &[f64], visits: f64, rounds: usize) -> f64 {
    let count = pages.len();
    let mut carousel: Carousel<u64, u32, _, _, _> = Carousel::with_storage(
        vec![Seat::UNUSED; count],
        vec![Entry::UNUSED; count],
        vec![0; 2 * count],
    );
    for (page, rate) in rates.iter().enumerate().filter(|(_, rate)| **rate > 0.0) {
        carousel
            .add(page as u32, (rate / visits).min(1.0))
            .expect("rates below one a slot");
    }
    let slots = rounds * count;
    let mut last: Vec<Option<usize>> = vec![None; count];
    let mut fresh = vec![0.0; count];
    let mut watched = vec![0; count];
    for slot in 0..slots {
        let Some(page) = carousel.next_slot().map(|page| page as usize) else {
            continue;
        };
        if let Some(last) = last[page].replace(slot) {
            let gap = (slot - last) as f64 / visits;
            fresh[page] += gap * (1.0 - g(pages[page].change.rate().unwrap_or(0.0) * gap));
            watched[page] += slot - last;
        }
    }
    let weight: f64 = pages.iter().map(|page| page.weight).sum();
    // A page's freshness over whole gaps: the start from nothing and the open end are not steady
    // state.
    let value = |page: usize| {
        if watched[page] == 0 {
            0.0
        } else {
            fresh[page] * visits / watched[page] as f64
        }
    };
    (0..count)
        .map(|page| pages[page].weight * value(page))
        .sum::<f64>()
        / weight
}
