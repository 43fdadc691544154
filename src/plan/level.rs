//! One search for every price: how high demand may rise before budget and caps are full.
//!
//! Demand is a function of a *level* that runs against the price (`price = level^−2`, or `−3` for
//! age), because for large budgets every optimal rate grows linearly with it: Newton's method then
//! needs few steps. All hosts share the level at which they together, each counted up to its cap,
//! meet the budget. A host that is over its cap at a level known to be too low is *sealed*: it has
//! left the common search and has a level of its own, that just fills it. That is exact (the
//! optimality conditions of the whole problem), and every pass over the pages serves all searches
//! at once.

use super::block::{List, Quick, each};
use super::check::{Checked, cap_of};
use super::{Pages, PlanHost, PlanPage};
use crate::math::{Real, Sum};

/// Most passes over the pages in a search. At least every third halves the bracket, so after this
/// many it is narrower than rounding.
pub const STEPS: u32 = 128;

/// Where a host stands in the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It shares its level with others.
    Common,
    /// It is over its cap, and searches a level of its own.
    Sealed,
    /// It has found the level of its own.
    Settled,
}

/// How many crawls a page wants.
pub(super) trait CrawlDemand<F: Real> {
    /// Crawls wanted at a level above 0 with its price, possibly infinite, and the slope there (0
    /// if not known). Limits of the page are not this function's business.
    fn at(&self, page: &PlanPage<'_, F>, level: F, price: F) -> (F, F);
    /// The same as a function that can be had for many pages at once, if it is one, where the price
    /// is `level^−2`.
    fn quick(&self, _page: &PlanPage<'_, F>, _price: F) -> Option<Quick<F>> {
        None
    }
    /// What [`Self::at`] grows like: `(gain, offset)` of `gain · level − offset`. Only steers the
    /// search.
    fn asymptote(&self, page: &PlanPage<'_, F>) -> (F, F);
    /// The price that goes with a level.
    fn price(&self, level: F) -> F;
    /// Whether only whole crawls are allotted.
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
        Self {
            low: F::ZERO,
            low_demand: minimum,
            high: F::INFINITY,
            high_demand: F::INFINITY,
        }
    }

    /// Takes in what `level` asks for and proposes the next level, `newton` if that is sound;
    /// `None` when the bracket is good enough.
    fn next(
        &mut self,
        level: F,
        demand: F,
        newton: F,
        target: F,
        step: u32,
        same: Same<F>,
    ) -> Option<F> {
        if demand <= target {
            self.low = level;
            self.low_demand = demand;
        } else {
            self.high = level;
            self.high_demand = demand;
        }
        // A page that is just worth a visit goes from none to several in no time: what is left then
        // is handed out between the two levels, whose prices are the same for all purposes.
        let narrow = self.high <= self.low * (F::ONE + same.level);
        if narrow || target - self.low_demand <= same.demand * target {
            return None;
        }
        let inside = |level: F| level > self.low && level < self.high;
        if inside(newton) && (step < 6 || step.is_multiple_of(3)) {
            return Some(newton);
        }
        let chord = (target - self.low_demand) / (self.high_demand - self.low_demand);
        let chord = self.low + (self.high - self.low) * chord;
        let next = if !self.high.is_finite() {
            self.low.max(level) * F::from_f64(4.0)
        } else if inside(chord) && step < 6 {
            chord
        } else if self.low > F::ZERO {
            self.low * (self.high / self.low).sqrt()
        } else {
            self.high * F::from_f64(0.125)
        };
        inside(next).then_some(next)
    }
}

/// The relative tolerances at which a search stops.
#[derive(Clone, Copy)]
pub(super) struct Same<F> {
    level: F,
    demand: F,
}

impl<F: Real> Same<F> {
    /// All that the number type allows: for plans.
    pub(super) fn exact(whole: bool) -> Self {
        let level = if whole { F::ZERO } else { F::from_f64(2e-7) };
        Self {
            level: level.max(F::TWO * F::EPSILON),
            demand: tolerance(),
        }
    }

    /// What bounds need: what prices miss counts there by its square only.
    pub(super) fn rough() -> Self {
        Self {
            level: F::from_f64(1e-4),
            demand: F::from_f64(1e-4),
        }
    }
}

/// Where a straight line through what is known meets the target, or a hair below: only a level that
/// does not exceed it can be used.
fn newton<F: Real>(level: F, demand: F, slope: F, target: F) -> F {
    level + (target * (F::ONE - F::HALF * tolerance::<F>()) - demand) / slope
}

/// How much of a budget may stay unused before the search goes on. Well above rounding in the sums.
fn tolerance<F: Real>() -> F {
    (F::EPSILON * F::from_f64(16.0)).max(F::from_f64(1e-9))
}

/// Crawls a page gets at a level, within its limits.
pub(super) fn demand_of<F: Real>(
    demand: &impl CrawlDemand<F>,
    page: &PlanPage<'_, F>,
    level: F,
    price: F,
) -> (F, F) {
    if !(level > F::ZERO) {
        return (F::from_u32(page.min), F::ZERO);
    }
    let (wanted, slope) = demand.at(page, level, price);
    let given = page.clamp(wanted);
    (given, if given == wanted { slope } else { F::ZERO })
}

/// Finds the levels. Afterwards every host's bracket holds its own; the answer is the shared one.
/// Faster with `memory` for a number a page, whatever it holds.
pub(super) fn search<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [PlanHost<F>],
    demand: &impl CrawlDemand<F>,
    same: Same<F>,
    memory: &mut [F],
) -> Bracket<F> {
    let mut list = List::all(memory, pages.len());
    let mut shared = begin(pages, hosts, demand);
    let mut trial = hosts
        .first()
        .map(|host| host.trial)
        .filter(|_| shared.low.is_finite());
    for step in 0..STEPS {
        if trial.is_none() && hosts.iter().all(|host| host.stage != Stage::Sealed) {
            break;
        }
        prepare(hosts, demand, trial);
        let useful = each(pages, hosts, demand, &list, |_, _, host, crawls, slope| {
            host.demand.add(crawls);
            host.slope += slope;
        });
        for host in hosts.iter_mut().filter(|host| host.stage == Stage::Sealed) {
            host.advance(demand.whole(), step, same);
        }
        if trial.is_none() && list.is_sparse(useful) {
            list.shorten(pages, hosts);
        }
        if let Some(level) = trial {
            let (total, newton) = tally(hosts, demand.whole(), level, pages.budget);
            trial = shared.next(level, total, newton, pages.budget, step, same);
            if total <= pages.budget {
                seal(hosts, demand.whole(), level);
            }
        }
    }
    for host in hosts.iter_mut().filter(|host| host.stage == Stage::Common) {
        host.bracket = Bracket {
            low_demand: host.bracket.low_demand,
            ..shared
        };
    }
    shared
}

/// What demand grows like, and what it is at no price at all: if that is within budget, only caps
/// and maxima bind and the shared level is infinite. Leaves the first level to try with every host.
fn begin<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [PlanHost<F>],
    demand: &impl CrawlDemand<F>,
) -> Bracket<F> {
    for (_, page) in pages.iter() {
        if let Some(host) = hosts.get_mut(page.host as usize) {
            let (gain, offset) = demand.asymptote(&page);
            host.gain += gain;
            host.offset += offset;
            host.demand
                .add(demand_of(demand, &page, F::INFINITY, F::ZERO).0);
        }
    }
    let mut minimum = F::ZERO;
    for host in hosts.iter_mut() {
        minimum += host.minimum;
        host.bracket = Bracket::new(host.minimum);
    }
    let mut shared = Bracket::new(minimum);
    let trial = start_shared(hosts, demand.whole(), pages.budget);
    if tally(hosts, demand.whole(), trial, pages.budget).0 <= pages.budget {
        seal(hosts, demand.whole(), F::INFINITY);
        shared.low = F::INFINITY;
    } else {
        hosts.iter_mut().for_each(|host| host.trial = trial);
    }
    shared
}

/// Sets the terms of the next pass: the `shared` level for hosts in the common search, its own for
/// a sealed host.
fn prepare<F: Real>(hosts: &mut [PlanHost<F>], demand: &impl CrawlDemand<F>, shared: Option<F>) {
    for host in hosts.iter_mut() {
        host.demand = Sum::ZERO;
        host.slope = F::ZERO;
        if let (Stage::Common, Some(level)) = (host.stage, shared) {
            host.trial = level;
        }
        host.searching =
            host.stage == Stage::Sealed || (host.stage == Stage::Common && shared.is_some());
        // Once a host, not once a page: divisions are slow everywhere.
        host.price = demand.price(host.trial);
    }
}

/// What all hosts together want, each up to its cap, and the level at which that should meet the
/// budget.
fn tally<F: Real>(hosts: &[PlanHost<F>], whole: bool, level: F, budget: F) -> (F, F) {
    // With the hosts that would fill on the way counted as full from there: a few cheap steps here
    // save passes.
    let mut first = None;
    let mut next = level;
    for _ in 0..24 {
        let mut total = Sum::ZERO;
        let mut slope = F::ZERO;
        for host in hosts {
            let cap = cap_of(host, whole);
            let wanted = host.demand.total() + host.slope * (next - level);
            if host.stage != Stage::Common || !(wanted < cap) {
                total.add(cap);
            } else {
                total.add(wanted);
                slope += host.slope;
            }
        }
        let total = total.total();
        first = first.or(Some(total));
        let better = newton(next, total, slope, budget);
        let settled = (better - next).abs() <= F::EPSILON * next;
        if !(better > F::ZERO && better.is_finite()) || settled {
            break;
        }
        next = better;
    }
    (first.unwrap_or(F::ZERO), next)
}

/// The shared level is above `level`: hosts over their cap there leave the common search, the
/// others remember what they asked for.
fn seal<F: Real>(hosts: &mut [PlanHost<F>], whole: bool, level: F) {
    for host in hosts.iter_mut().filter(|host| host.stage == Stage::Common) {
        let wanted = host.demand.total();
        let cap = cap_of(host, whole);
        if wanted <= cap {
            host.bracket.low_demand = wanted;
            continue;
        }
        host.stage = Stage::Sealed;
        host.bracket.high = level;
        host.bracket.high_demand = wanted;
        host.bracket.low = F::ZERO;
        host.bracket.low_demand = host.minimum;
        let tangent = newton(level, wanted, host.slope, cap);
        let guess = start(cap, host.gain, host.offset);
        let inside = |level: &F| *level > F::ZERO && *level < host.bracket.high;
        let tries = [
            fade(host, level, wanted, cap),
            tangent,
            guess,
            level * cap / wanted,
            level * F::HALF,
        ];
        host.trial = tries.into_iter().find(inside).unwrap_or(F::ONE);
    }
}

impl<F: Real> PlanHost<F> {
    /// The level found is what counts from now on.
    fn decide(&mut self, demand: &impl CrawlDemand<F>) {
        self.trial = self.bracket.low;
        self.price = demand.price(self.trial);
        self.searching = true;
    }

    /// A sealed host takes in what its trial asked for.
    fn advance(&mut self, whole: bool, step: u32, same: Same<F>) {
        let demand = self.demand.total();
        let cap = cap_of(self, whole);
        let newton = newton(self.trial, demand, self.slope, cap);
        match self
            .bracket
            .next(self.trial, demand, newton, cap, step, same)
        {
            Some(next) => self.trial = next,
            None => self.stage = Stage::Settled,
        }
    }
}

/// Where demand would meet its target if it were the straight line it tends to.
fn start<F: Real>(target: F, gain: F, offset: F) -> F {
    let level = (target + offset) / gain;
    if level > F::ZERO && level.is_finite() {
        level
    } else {
        F::ONE
    }
}

/// The same for all hosts together, each up to its cap: without caps first, then with those full
/// that are over theirs, until no more are.
fn start_shared<F: Real>(hosts: &[PlanHost<F>], whole: bool, budget: F) -> F {
    let mut level = F::ZERO;
    for _ in 0..24 {
        let mut rest = budget;
        let mut gain = F::ZERO;
        let mut offset = F::ZERO;
        for host in hosts {
            let cap = cap_of(host, whole);
            if host.gain * level - host.offset < cap {
                gain += host.gain;
                offset += host.offset;
            } else {
                rest -= cap;
            }
        }
        let better = start(rest, gain, offset);
        if !(better > level) {
            break;
        }
        level = better;
    }
    level
}

/// Where demand meets its target if it is its line and a term that fades as `1/level`, fitted to
/// what it is at `level`.
fn fade<F: Real>(host: &PlanHost<F>, level: F, demand: F, target: F) -> F {
    let gain = host.gain;
    let sum = host.offset + target;
    let faded = (demand - gain * level + host.offset) * level;
    (sum + (sum * sum - F::from_f64(4.0) * gain * faded).sqrt()) / (F::TWO * gain)
}

/// Sets every host's price and calls `give` with every page, the crawls its price justifies, and
/// that price.
pub(super) fn charge<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [PlanHost<F>],
    demand: &impl CrawlDemand<F>,
    mut give: impl FnMut(&PlanPage<'_, F>, F, F),
) {
    hosts.iter_mut().for_each(|host| host.decide(demand));
    each(
        pages,
        hosts,
        demand,
        &List::all(&mut [], pages.len()),
        |_, page, host, crawls, _| give(page, crawls, host.price),
    );
}

/// Hands out crawls at the levels found, and what is left over where the next higher level would
/// put it. Calls `give` with every page, the crawls the price alone justifies, the crawls it gets,
/// and that price. Returns the total.
pub(super) fn hand_out<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [PlanHost<F>],
    demand: &impl CrawlDemand<F>,
    mut give: impl FnMut(usize, &PlanPage<'_, F>, F, F, F),
) -> F {
    // A host in the common search draws on what the common budget has left, any other on its own
    // cap.
    let mut used = Sum::ZERO;
    for host in hosts.iter_mut() {
        let common = host.stage == Stage::Common;
        used.add(if common {
            host.bracket.low_demand
        } else {
            cap_of(host, demand.whole())
        });
        host.decide(demand);
        host.demand = Sum::ZERO;
    }
    let mut common_room = pages.budget - used.total();
    let unused = |target: F| {
        if demand.whole() {
            F::ONE
        } else {
            tolerance::<F>() * target * F::TWO
        }
    };
    let mut total = Sum::ZERO;
    each(
        pages,
        hosts,
        demand,
        &List::all(&mut [], pages.len()),
        |index, page, host, justified, _| {
            let mut crawls = justified;
            let cap = cap_of(host, demand.whole());
            let mut room = cap - host.bracket.low_demand;
            let mut least = unused(cap);
            if host.stage == Stage::Common {
                room = room.min(common_room);
                least = unused(pages.budget);
            }
            if room >= least && host.bracket.high.is_finite() {
                let high = host.bracket.high;
                let (more, _) = demand_of(demand, page, high, demand.price(high));
                let extra = (more - crawls).min(room).max(F::ZERO);
                let extra = if demand.whole() { extra.floor() } else { extra };
                host.bracket.low_demand += extra;
                if host.stage == Stage::Common {
                    common_room -= extra;
                }
                crawls += extra;
            }
            host.demand.add(crawls);
            total.add(crawls);
            give(index, page, justified, crawls, host.price);
        },
    );
    for host in hosts.iter_mut() {
        host.crawls = host.demand.total();
    }
    total.total()
}
