//! Demand of several pages at a time.
//!
//! The demand of one page is a chain of operations that wait for each other, three divisions and a
//! root among them. Done stage by stage for a block of pages, a processor works on many of them at
//! once, and on two in one register where it can. The stages have no branches; a page that needs
//! another formula is seen to at the end.

use super::check::Checked;
use super::level::{CrawlDemand, demand_of};
use super::{Pages, PlanHost, PlanPage};
use crate::math::{Real, h_inverse_fraction};

/// Pages in a block: as many as a word has bits.
const BLOCK: usize = 32;

/// A page whose demand is `rate / h⁻¹(q)`, for a `q` above 0; nothing from 1 on.
#[derive(Clone, Copy)]
pub(super) struct Quick<F> {
    pub(super) rate: F,
    pub(super) q: F,
}

/// Calls `take` with each page of the list whose host is searching, that host, the crawls the page
/// wants at the host's trial level within its own limits, and the slope of that in the level. In
/// order. Returns how many there were.
pub(super) fn each<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [PlanHost<F>],
    demand: &impl CrawlDemand<F>,
    list: &List<'_, F>,
    mut take: impl FnMut(usize, &PlanPage<'_, F>, &mut PlanHost<F>, F, F),
) -> usize {
    let mut block = Block::new();
    let mut indices = [0; BLOCK];
    let mut count = 0;
    let mut total = 0;
    for place in 0..list.len {
        let index = list.get(place);
        // Written in any case and counted or not, because a branch here would be taken at random.
        if let Some(place) = indices.get_mut(count) {
            *place = index;
        }
        count += usize::from(is_searching(pages, hosts, index));
        if count == BLOCK {
            block.serve(pages, hosts, demand, &indices, &mut take);
            count = 0;
            total += BLOCK;
        }
    }
    block.serve(
        pages,
        hosts,
        demand,
        indices.get(..count).unwrap_or_default(),
        &mut take,
    );
    total + count
}

fn is_searching<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &[PlanHost<F>],
    index: usize,
) -> bool {
    hosts
        .get(pages.page(index).host as usize)
        .is_some_and(|host| host.searching)
}

/// The pages to look at: all, or those listed. A search ends with a few hosts that are hard to
/// settle, and looking for their pages among all would take longer than the rest. Numbers are kept
/// where the result will be.
pub(super) struct List<'a, F> {
    memory: &'a mut [F],
    len: usize,
    listed: bool,
}

impl<'a, F: Real> List<'a, F> {
    /// All `len` pages. Without memory for as many numbers it stays at that.
    pub(super) fn all(memory: &'a mut [F], len: usize) -> Self {
        // Every number up to 1/ε is exact.
        let exact = F::from_u64(len as u64) * F::EPSILON <= F::ONE;
        let memory = if exact && memory.len() >= len {
            memory
        } else {
            &mut []
        };
        Self {
            memory,
            len,
            listed: false,
        }
    }

    fn get(&self, place: usize) -> usize {
        if self.listed {
            self.memory
                .get(place)
                .map_or(0, |index| index.to_u32() as usize)
        } else {
            place
        }
    }

    /// Keeps only pages whose host is searching.
    pub(super) fn shorten<P: Pages<F> + ?Sized>(
        &mut self,
        pages: &Checked<'_, P, F>,
        hosts: &[PlanHost<F>],
    ) {
        if self.memory.is_empty() {
            return;
        }
        let mut kept = 0;
        for place in 0..self.len {
            let index = self.get(place);
            if let Some(entry) = self.memory.get_mut(kept) {
                *entry = F::from_u64(index as u64);
            }
            kept += usize::from(is_searching(pages, hosts, index));
        }
        self.len = kept;
        self.listed = true;
    }

    /// So few of the pages looked at were of any use that it pays to list them.
    pub(super) fn is_sparse(&self, useful: usize) -> bool {
        useful < self.len / 2 && !self.memory.is_empty()
    }
}

/// Columns for the stages, a lane for each page that goes through them.
struct Block<F> {
    rates: [F; BLOCK],
    qs: [F; BLOCK],
    crawls: [F; BLOCK],
    slopes: [F; BLOCK],
}

impl<F: Real> Block<F> {
    const fn new() -> Self {
        let zeros = [F::ZERO; BLOCK];
        Self {
            rates: zeros,
            qs: zeros,
            crawls: zeros,
            slopes: zeros,
        }
    }

    fn serve<P: Pages<F> + ?Sized>(
        &mut self,
        pages: &Checked<'_, P, F>,
        hosts: &mut [PlanHost<F>],
        demand: &impl CrawlDemand<F>,
        indices: &[usize],
        take: &mut impl FnMut(usize, &PlanPage<'_, F>, &mut PlanHost<F>, F, F),
    ) {
        let mut lanes = 0;
        let mut quick = 0_u32;
        let mut nothing = 0_u32;
        for (place, &index) in indices.iter().enumerate() {
            let page = pages.page(index);
            let host = hosts
                .get(page.host as usize)
                .filter(|host| host.trial > F::ZERO);
            let Some(Quick { rate, q }) = host.and_then(|host| demand.quick(&page, host.price))
            else {
                continue;
            };
            if let (Some(q_of), Some(rate_of)) = (self.qs.get_mut(lanes), self.rates.get_mut(lanes))
            {
                *q_of = q;
                *rate_of = rate;
            }
            let some = q < F::ONE;
            lanes += usize::from(some);
            quick |= u32::from(some) << place;
            nothing |= u32::from(!some) << place;
        }
        self.stages(lanes);
        let mut wanted = self.crawls.iter().zip(&self.slopes);
        for (place, &index) in indices.iter().enumerate() {
            let page = pages.page(index);
            let Some(host) = hosts.get_mut(page.host as usize) else {
                continue;
            };
            let (crawls, slope) = if quick >> place & 1 == 1 {
                let Some((&wanted, slope)) = wanted.next() else {
                    continue;
                };
                let given = page.clamp(wanted);
                (
                    given,
                    if given == wanted {
                        *slope * host.price * host.trial
                    } else {
                        F::ZERO
                    },
                )
            } else if nothing >> place & 1 == 1 {
                (page.clamp(F::ZERO), F::ZERO)
            } else {
                demand_of(demand, &page, host.trial, host.price)
            };
            take(index, &page, host, crawls, slope);
        }
    }

    /// `crawls = rate / h⁻¹(q)`, and the slope, for a price that is `level^−2`, without the factor
    /// `price · level`.
    fn stages(&mut self, lanes: usize) {
        let mut roots = [F::ZERO; BLOCK];
        for (root, q) in roots.iter_mut().zip(&self.qs).take(lanes) {
            *root = F::TWO * q.ln_rest();
        }
        for root in roots.iter_mut().take(lanes) {
            *root = root.sqrt();
        }
        let results = self.crawls.iter_mut().zip(&mut self.slopes);
        for (((crawls, slope), root), (q, rate)) in results
            .zip(&roots)
            .zip(self.qs.iter().zip(&self.rates))
            .take(lanes)
        {
            let (over, under) = h_inverse_fraction(*root);
            let rest = F::ONE - *q;
            // Two divisions made one: 1/r, and 1/(1 − q).
            let both = F::ONE / (over * under * rest);
            let inverse = under * under * rest * both;
            let by_rest = over * under * both;
            *crawls = *rate * inverse;
            // e^r = (1 + r)/(1 − q) at the root: no exponential needed.
            *slope = F::TWO * *crawls * *q * inverse * (inverse + F::ONE) * by_rest;
        }
    }
}
