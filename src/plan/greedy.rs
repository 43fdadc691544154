//! Whole crawls one by one, the largest gain first: Fox's marginal allocation, de Souza's GREEDY
//! (§2.1).
//!
//! Gains of a page never rise, and caps nest (pages in hosts, hosts in the budget), so taking the
//! largest gain that still fits is exactly optimal.

use super::check::{Checked, cap_of, check};
use super::cost::gain;
use super::queue::SectionQueue;
use super::{Allocation, Objective, Pages, PlanError, PlanHost, Spacing, page_cost};
use crate::heap::{Entry, Id};
use crate::math::{Real, Sum};

/// Divides `budget` whole crawls so that the weighted mean cost is least; `crawls` receives one
/// number a page.
///
/// `entries` is the queue's memory, one a page; `I` is `u16` on a device, `u32` beyond 65,535
/// pages. Work: O((n + R) log n).
///
/// ```
/// use dunlin::heap::Entry;
/// use dunlin::model::Change;
/// use dunlin::plan::{Objective, PlanHost, PlanPage, greedy::greedy};
/// let pages = [0.5, 2.0, 40.0].map(|rate| PlanPage::new(1.0, Change::Poisson(rate)));
/// let (mut hosts, mut crawls) = ([PlanHost::<f32>::unlimited()], [0; 3]);
/// let mut entries = [Entry::<_, u16>::UNUSED; 3];
/// greedy(&pages[..], &mut hosts, 4, Objective::Freshness, &mut entries, &mut crawls)?;
/// assert_eq!(crawls, [1, 3, 0]); // 40 changes an interval cannot be kept up with
/// # Ok::<(), dunlin::plan::PlanError>(())
/// ```
///
/// # Errors
/// What is wrong with the demand; nothing is written then.
pub fn greedy<F: Real, P: Pages<F> + ?Sized, I: Id>(
    pages: &P,
    hosts: &mut [PlanHost<F>],
    budget: u32,
    objective: Objective,
    entries: &mut [Entry<F::Key, I>],
    crawls: &mut [u32],
) -> Result<Allocation<F>, PlanError> {
    let room = crawls.len().min(entries.len());
    let pages = check(pages, hosts, F::from_u32(budget), room, true)?;
    let mut queue = SectionQueue::new(entries);
    for host in hosts.iter_mut() {
        host.crawls = host.minimum;
    }
    let mut left = budget;
    for ((index, page), place) in pages.iter().zip(crawls.iter_mut()) {
        *place = page.min;
        left = left.saturating_sub(page.min);
        let first = gain(&page, objective, page.min);
        let id = I::from_index(index).ok_or(PlanError::TooShort {
            needed: index + 1,
            found: index,
        })?;
        if page.min < page.max && first > F::ZERO {
            queue.push(Entry {
                key: first.descending(),
                id,
            });
        }
    }
    let mut price = F::ZERO;
    while left > 0 {
        let worth = |id: I| {
            let page = pages.page(id.index());
            let open = hosts.get(page.host as usize).is_some_and(has_room);
            let more = crawls
                .get(id.index())
                .is_some_and(|crawls| *crawls < page.max);
            open && more && page.weight > F::ZERO && page.change.rate() != Some(F::ZERO)
        };
        let Some(Entry { id, key }) = queue.first(worth) else {
            break;
        };
        let page = pages.page(id.index());
        let (Some(host), Some(place)) = (
            hosts.get_mut(page.host as usize),
            crawls.get_mut(id.index()),
        ) else {
            break;
        };
        if !has_room(host) {
            queue.remove_first();
            continue;
        }
        *place += 1;
        left -= 1;
        host.crawls += F::ONE;
        host.price = F::from_descending(key);
        price = host.price;
        let next = gain(&page, objective, *place);
        if *place < page.max && next > F::ZERO {
            queue.replace_first(Entry {
                key: next.descending(),
                id,
            });
        } else {
            queue.remove_first();
        }
    }
    let price = if left > 0 { F::ZERO } else { price };
    Ok(settle(&pages, hosts, objective, price, crawls))
}

/// Whether one more crawl fits.
fn has_room<F: Real>(host: &PlanHost<F>) -> bool {
    host.crawls + F::ONE <= cap_of(host, true)
}

/// Prices of hosts and what the allocation costs.
fn settle<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [PlanHost<F>],
    objective: Objective,
    price: F,
    crawls: &[u32],
) -> Allocation<F> {
    for host in hosts.iter_mut() {
        // Only a full host has a price of its own: what its last crawl saved.
        let full = !has_room(host);
        host.price = if full { host.price.max(price) } else { price };
    }
    // A host that minimum crawls alone have filled got no price above. Its price is the largest
    // gain that one more crawl there would bring.
    for ((_, page), crawls) in pages.iter().zip(crawls) {
        let Some(host) = hosts.get_mut(page.host as usize) else {
            continue;
        };
        let full = !has_room(host);
        if full && host.crawls == host.minimum && *crawls < page.max {
            host.price = host.price.max(gain(&page, objective, *crawls));
        }
    }
    let mut cost = Sum::ZERO;
    let mut dual = Sum::ZERO;
    let mut total = Sum::ZERO;
    for ((_, page), crawls) in pages.iter().zip(crawls) {
        let crawls = F::from_u32(*crawls);
        let charged = page.weight * page_cost(&page, objective, Spacing::Whole, crawls);
        let price = hosts
            .get(page.host as usize)
            .map_or(price, |host| host.price);
        cost.add(charged);
        dual.add(charged);
        dual.add(price * crawls);
        total.add(crawls);
    }
    bound(pages, hosts, price, cost, dual, total.total())
}

/// The weak politeness bound by weak duality: whatever the prices, no polite schedule costs less. A
/// schedule may fit ⌈T/P⌉ fetches on a host where ⌊T/P⌋ are allotted.
pub(super) fn bound<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &[PlanHost<F>],
    price: F,
    cost: Sum<F>,
    mut dual: Sum<F>,
    crawls: F,
) -> Allocation<F> {
    dual.add(-price * pages.budget);
    for host in hosts
        .iter()
        .filter(|host| host.price > price && host.cap.is_finite())
    {
        dual.add(-(host.price - price) * host.cap.ceil());
    }
    let mean = |sum: Sum<F>| {
        if pages.weight > F::ZERO {
            sum.total() / pages.weight
        } else {
            F::ZERO
        }
    };
    let cost = mean(cost);
    Allocation {
        cost,
        bound: mean(dual).max(F::ZERO).min(cost),
        price,
        crawls,
    }
}
