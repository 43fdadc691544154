//! One search for every price: how high demand may rise before budget and caps are full.
//!
//! Demand is a function of a *level* that runs against the price (`price = level^−2`, or `−3` for age), because for
//! large budgets every optimal rate grows linearly with it: Newton's method then needs few steps. First the level
//! at which all hosts together, each counted up to its cap, meet the budget; then, for the hosts that are over
//! their cap at that level, one level each that just fills them. That is exact (the optimality conditions of the
//! whole problem), and all hosts are searched in the same passes over the pages.

use super::check::{Checked, cap_of};
use super::{Host, Page, Pages};
use crate::math::{Real, Sum};

/// Most passes over the pages in either half of the search. Each halves a bracket at worst every other pass, so
/// this many leave nothing to decide.
pub const STEPS: u32 = 128;

/// How many crawls a page wants.
pub(super) trait Demand<F: Real> {
    /// Crawls wanted at a level above 0, possibly infinite, and the slope there (0 if not known). Limits of the page are not this
    /// function's business.
    fn at(&self, page: &Page<'_, F>, level: F) -> (F, F);
    /// What [`Self::at`] grows like: `(gain, offset)` of `gain · level − offset`. Only steers the search.
    fn asymptote(&self, page: &Page<'_, F>) -> (F, F);
    /// The price that goes with a level.
    fn price(&self, level: F) -> F;
    /// Whole crawls only?
    fn whole(&self) -> bool;
}

/// A level that asks too little, one that asks too much, and what they ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bracket<F> {
    pub(super) low: F,
    pub(super) low_demand: F,
    pub(super) high: F,
    high_demand: F,
}

impl<F: Real> Bracket<F> {
    /// Everything is possible; at level 0 the minima are asked for.
    pub(super) const fn new(minimum: F) -> Self {
        Self { low: F::ZERO, low_demand: minimum, high: F::INFINITY, high_demand: F::INFINITY }
    }

    /// Takes in what `level` asks for and proposes the next level; `None` when the bracket is good enough.
    fn next(&mut self, level: F, demand: F, slope: F, target: F, step: u32) -> Option<F> {
        if demand <= target {
            (self.low, self.low_demand) = (level, demand);
        } else {
            (self.high, self.high_demand) = (level, demand);
        }
        let slack = tolerance::<F>() * target;
        if target - self.low_demand <= slack || self.high <= self.low * (F::ONE + F::TWO * F::EPSILON) {
            return None;
        }
        // Aim below the target: only a level that does not exceed it can be used.
        let aim = target - F::HALF * slack;
        let newton = level + (aim - demand) / slope;
        if newton > self.low && newton < self.high && (step < 6 || step % 3 == 0) {
            return Some(newton);
        }
        let middle = if !self.high.is_finite() {
            self.low.max(level) * F::from_f64(4.0)
        } else if self.low > F::ZERO {
            self.low * (self.high / self.low).sqrt()
        } else {
            self.high * F::from_f64(0.125)
        };
        let chord = (aim - self.low_demand) / (self.high_demand - self.low_demand);
        let chord = self.low + (self.high - self.low) * chord;
        let inside = chord > self.low && chord < self.high;
        let next = if inside && step % 3 != 2 { chord } else { middle };
        (next > self.low && next < self.high).then_some(next)
    }
}

/// How much of a budget may stay unused before the search goes on. Far above rounding in the sums.
fn tolerance<F: Real>() -> F {
    F::EPSILON * F::from_f64(16.0)
}

/// Crawls a page gets at a level, within its limits.
fn demand_of<F: Real>(demand: &impl Demand<F>, page: &Page<'_, F>, level: F) -> (F, F) {
    if !(level > F::ZERO) {
        return (F::from_u32(page.min), F::ZERO);
    }
    let (wanted, slope) = demand.at(page, level);
    let given = page.clamp(wanted);
    (given, if given == wanted { slope } else { F::ZERO })
}

/// Sums the demand of every host for which `level` names one.
fn pass<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [Host<F>],
    demand: &impl Demand<F>,
    level: impl Fn(&Host<F>) -> Option<F>,
) {
    for host in hosts.iter_mut() {
        (host.demand, host.slope) = (Sum::ZERO, F::ZERO);
    }
    for (_, page) in pages.iter() {
        let Some(host) = hosts.get_mut(page.host as usize) else { continue };
        if let Some(level) = level(host) {
            let (crawls, slope) = demand_of(demand, &page, level);
            host.demand.add(crawls);
            host.slope += slope;
        }
    }
}

/// Finds the levels. Afterwards every host's bracket holds its own; the answer is the shared one.
pub(super) fn search<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [Host<F>],
    demand: &impl Demand<F>,
) -> Bracket<F> {
    for (_, page) in pages.iter() {
        if let Some(host) = hosts.get_mut(page.host as usize) {
            let (gain, offset) = demand.asymptote(&page);
            host.gain += gain;
            host.offset += offset;
        }
    }
    let shared = search_shared(pages, hosts, demand);
    for host in hosts.iter_mut() {
        let cap = cap_of(host, demand.whole());
        let at_shared = host.bracket.low_demand;
        host.settled = at_shared <= cap;
        host.bracket = if host.settled {
            Bracket { low_demand: at_shared, ..shared }
        } else {
            Bracket { high: shared.low, high_demand: at_shared, ..Bracket::new(host.minimum) }
        };
        host.trial = start(cap, host.gain, host.offset);
        if host.trial >= host.bracket.high {
            host.trial = host.bracket.high * F::HALF;
        }
    }
    for step in 0..STEPS {
        if hosts.iter().all(|host| host.settled) {
            break;
        }
        pass(pages, hosts, demand, |host| (!host.settled).then_some(host.trial));
        for host in hosts.iter_mut().filter(|host| !host.settled) {
            let cap = cap_of(host, demand.whole());
            match host.bracket.next(host.trial, host.demand.total(), host.slope, cap, step) {
                Some(next) => host.trial = next,
                None => host.settled = true,
            }
        }
    }
    shared
}

/// The level all hosts share, counting each up to its cap. Hosts are left with their demand at its lower end.
fn search_shared<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [Host<F>],
    demand: &impl Demand<F>,
) -> Bracket<F> {
    let (mut gain, mut offset, mut minimum) = (F::ZERO, F::ZERO, F::ZERO);
    for host in hosts.iter_mut() {
        gain += host.gain;
        offset += host.offset;
        minimum += host.minimum;
        host.bracket = Bracket::new(host.minimum);
    }
    let mut bracket = Bracket::new(minimum);
    let mut trial = start(pages.budget, gain, offset);
    // First at no price at all: if that is within budget, only caps and maxima bind.
    if tally(pages, hosts, demand, F::INFINITY).0 <= pages.budget {
        return Bracket { low: F::INFINITY, ..bracket };
    }
    for step in 0..STEPS {
        let (total, slope) = tally(pages, hosts, demand, trial);
        match bracket.next(trial, total, slope, pages.budget, step) {
            Some(next) => trial = next,
            None => break,
        }
    }
    bracket
}

/// What all hosts together, each up to its cap, want at a level, and the slope. If that is within budget, hosts
/// remember their part.
fn tally<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [Host<F>],
    demand: &impl Demand<F>,
    level: F,
) -> (F, F) {
    pass(pages, hosts, demand, |_| Some(level));
    let (mut total, mut slope) = (Sum::ZERO, F::ZERO);
    for host in hosts.iter() {
        let (wanted, cap) = (host.demand.total(), cap_of(host, demand.whole()));
        total.add(wanted.min(cap));
        slope += if wanted < cap { host.slope } else { F::ZERO };
    }
    if total.total() <= pages.budget {
        for host in hosts.iter_mut() {
            host.bracket.low_demand = host.demand.total();
        }
    }
    (total.total(), slope)
}

/// Where demand would meet its target if it were the straight line it tends to.
fn start<F: Real>(target: F, gain: F, offset: F) -> F {
    let level = (target + offset) / gain;
    if level > F::ZERO && level.is_finite() { level } else { F::ONE }
}

/// Hands out crawls at the levels found, and what is left over where the next higher level would put it. Calls
/// `give` with every page, the crawls the price alone justifies, the crawls it gets, and that price. Returns the total.
pub(super) fn hand_out<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [Host<F>],
    demand: &impl Demand<F>,
    mut give: impl FnMut(usize, &Page<'_, F>, F, F, F),
) -> F {
    let mut used = Sum::ZERO;
    for host in hosts.iter_mut() {
        used.add(host.bracket.low_demand);
        host.price = demand.price(host.bracket.low);
        host.demand = Sum::ZERO;
    }
    let mut room = pages.budget - used.total();
    let worth_it = if demand.whole() { F::ONE } else { tolerance::<F>() * pages.budget * F::TWO };
    let mut total = Sum::ZERO;
    for (index, page) in pages.iter() {
        let Some(host) = hosts.get_mut(page.host as usize) else { continue };
        let (justified, _) = demand_of(demand, &page, host.bracket.low);
        let mut crawls = justified;
        if room >= worth_it && host.bracket.high.is_finite() {
            let here = cap_of(host, demand.whole()) - host.bracket.low_demand;
            let (more, _) = demand_of(demand, &page, host.bracket.high);
            let extra = (more - crawls).min(here).min(room).max(F::ZERO);
            let extra = if demand.whole() { extra.floor() } else { extra };
            host.bracket.low_demand += extra;
            room -= extra;
            crawls += extra;
        }
        host.demand.add(crawls);
        total.add(crawls);
        give(index, &page, justified, crawls, host.price);
    }
    for host in hosts.iter_mut() {
        host.crawls = host.demand.total();
    }
    total.total()
}
