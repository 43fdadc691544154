//! How much a page matters: the embarrassment weight (Wolf §2.2).
//!
//! Any positive number can be a page's weight. A search engine can do better than guess: a stale
//! page embarrasses it only if it is shown, clicked, and wrong.

use crate::math::{Real, Sum};

/// `w = d Σ c b`: the chance that a stale copy of the page embarrasses whoever shows it.
///
/// `wrong` is the chance `d` that a stale copy answers wrongly. `clicks` holds `c`, the chance of a
/// click at each position, result page after result page; `shown` holds `b`, the chance that the
/// page is shown there, in the same order. Positions that only one of them has count nothing. At
/// most `wrong` if chances are chances.
///
/// ```
/// use dunlin::weight::{click_chances, embarrassment};
/// let mut clicks = [0.0_f32; 20]; // two result pages of ten
/// click_chances(10, 0.0, 0.8, &mut clicks);
/// let mut shown = [0.0; 20];
/// shown[0] = 0.5; // first on every other query
/// let top = embarrassment(0.3, &clicks, &shown);
/// shown.swap(0, 10); // first on the second page
/// assert!(embarrassment(0.3, &clicks, &shown) < top / 10.0);
/// ```
pub fn embarrassment<F: Real>(wrong: F, clicks: &[F], shown: &[F]) -> F {
    let mut sum = Sum::ZERO;
    for (click, shown) in clicks.iter().zip(shown) {
        sum.add(*click * *shown);
    }
    wrong * sum.total()
}

/// Fills `clicks` with a click model: Zipf-like in the overall position, times a geometric chance
/// of going on from one result page to the next (Wolf's Figure 3).
///
/// `positions` results a page; `flatness` is Wolf's θ, 0 for Zipf's law (the most skewed) and 1 for
/// uniform; `next` is the chance of going on to the next result page (0.8 in Wolf §5). Without
/// going on, the chances sum to 1.
pub fn click_chances<F: Real>(positions: usize, flatness: F, next: F, clicks: &mut [F]) {
    let skew = flatness - F::ONE;
    let mut sum = Sum::ZERO;
    let mut rank = F::ZERO;
    for click in clicks.iter_mut() {
        rank += F::ONE;
        *click = rank.powf(skew);
        sum.add(*click);
    }
    let mut reach = F::ONE / sum.total();
    for page in clicks.chunks_mut(positions.max(1)) {
        page.iter_mut().for_each(|click| *click *= reach);
        reach *= next;
    }
}
