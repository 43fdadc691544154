//! Prices of slots: a bound below every assignment (the dual of Wolf's transportation problem).
//!
//! Put a price on each slot, none below zero unless all slots are needed. A crawl then pays at
//! least the cheapest sum of distance and price it can find, and all crawls together at least the
//! sum of these; taking off what all slots cost leaves a bound on the distances alone. Any prices
//! will do; the best make the bound exact.

use super::transport::{Crawl, CrawlOrSlot, TimeSlot, events, events_backwards, micros};

/// A slot's price, and what is known of it. Scratch memory of [`super::transport::sweep`].
#[derive(Clone, Copy, Debug)]
pub struct SlotPrice {
    price: i64,
    /// The least that its crawl would pay for this or a later slot.
    offer: i64,
    pub(super) used: bool,
    pub(super) filled: bool,
}

impl SlotPrice {
    /// What the slice is filled with.
    pub const UNUSED: Self = Self {
        price: 0,
        offer: 0,
        used: false,
        filled: false,
    };
}

/// How often prices are revised. Each pass carries them as far in both directions as crawls reach.
const PASSES: usize = 200;

/// A price beyond every path from slot to slot.
const DEAR: i64 = 1 << 55;

/// The bound for the prices that an assignment suggests: no crawl would rather pay for another slot
/// than its own.
pub(super) fn bound(
    crawls: &[Crawl],
    slots: &[TimeSlot],
    prices: &mut [SlotPrice],
    slot_of: &[u32],
) -> i64 {
    // Slots nobody needs are free, and all others are worth what it costs to do without them: down
    // from dear.
    let start = if crawls.len() < slots.len() { DEAR } else { 0 };
    for price in prices.iter_mut() {
        price.price = if price.used { start } else { 0 };
    }
    let plan = Plan {
        crawls,
        slots,
        slot_of,
    };
    if start == 0 {
        plan.slope(prices);
    }
    for _ in 0..PASSES {
        if !(plan.lower_from_the_end(prices) | plan.lower_from_the_start(prices)) {
            break;
        }
    }
    // Below zero only if the assignment could be improved; the bound has to hold even so.
    for price in prices.iter_mut().filter(|_| start > 0) {
        price.price = price.price.max(0);
    }
    plan.value(prices)
}

struct Plan<'a> {
    crawls: &'a [Crawl],
    slots: &'a [TimeSlot],
    slot_of: &'a [u32],
}

impl Plan<'_> {
    /// Where a crawl was put, and what that costs.
    fn own(&self, index: usize, crawl: Crawl) -> Option<(usize, TimeSlot, i64)> {
        let own = *self.slot_of.get(index)? as usize;
        let slot = *self.slots.get(own)?;
        Some((own, slot, crawl.cost(slot)?))
    }

    /// Where crawls move to later slots, a slot is worth less by the time that it is later; where
    /// they move to earlier ones, more. With no slot to spare that is nearly the whole truth, and
    /// passes only have to mend it.
    fn slope(&self, prices: &mut [SlotPrice]) {
        for (index, crawl) in self.crawls.iter().enumerate() {
            if let Some((own, slot, _)) = self.own(index, *crawl)
                && let Some(price) = prices.get_mut(own)
            {
                price.offer = i64::from(slot.at < crawl.at);
            }
        }
        let mut earlier = 0_i64;
        let mut later = 0_i64;
        let mut price = 0_i64;
        let mut last = 0_i64;
        for event in events(self.crawls, self.slots) {
            let at = micros(match event {
                CrawlOrSlot::Crawl(_, crawl) => crawl.at,
                CrawlOrSlot::Slot(_, slot) => slot.at,
            });
            price += if earlier > 0 {
                at - last
            } else if later > 0 {
                last - at
            } else {
                0
            };
            last = at;
            match event {
                CrawlOrSlot::Crawl(index, crawl) => match self.own(index, crawl) {
                    Some((_, slot, _)) if slot.at < crawl.at => earlier -= 1,
                    _ => later += 1,
                },
                CrawlOrSlot::Slot(index, _) => {
                    if let Some(slot) = prices.get_mut(index) {
                        slot.price = price;
                        if slot.offer > 0 {
                            earlier += 1
                        } else {
                            later -= 1
                        }
                    }
                }
            }
        }
    }

    /// Lowers prices until no crawl would rather have a later slot. Did any change?
    fn lower_from_the_end(&self, prices: &mut [SlotPrice]) -> bool {
        let mut lowered = false;
        let mut cheapest = i64::MAX;
        for event in events_backwards(self.crawls, self.slots) {
            match event {
                CrawlOrSlot::Slot(index, slot) => {
                    let price = prices
                        .get(index)
                        .map_or(i64::MAX, |price| micros(slot.at) + price.price);
                    cheapest = cheapest.min(price);
                }
                CrawlOrSlot::Crawl(index, crawl) => {
                    let Some((own, slot, cost)) = self.own(index, crawl) else {
                        continue;
                    };
                    let Some(price) = prices.get_mut(own) else {
                        continue;
                    };
                    price.offer =
                        (cost + price.price).min(cheapest.saturating_sub(micros(crawl.at)));
                    if price.offer - cost < price.price {
                        price.price = price.offer - cost;
                        lowered = true;
                    }
                    if slot.at >= crawl.at {
                        cheapest = cheapest.min(micros(slot.at) + price.price);
                    }
                }
            }
        }
        lowered
    }

    /// The same for earlier slots, where a crawl may be early.
    fn lower_from_the_start(&self, prices: &mut [SlotPrice]) -> bool {
        let mut lowered = false;
        let mut cheapest = i64::MAX;
        for event in events(self.crawls, self.slots) {
            match event {
                CrawlOrSlot::Slot(index, slot) => {
                    let price = prices
                        .get(index)
                        .map_or(i64::MAX, |price| price.price - micros(slot.at));
                    cheapest = cheapest.min(price);
                }
                CrawlOrSlot::Crawl(index, crawl) if !crawl.not_before => {
                    let Some((own, slot, cost)) = self.own(index, crawl) else {
                        continue;
                    };
                    let Some(price) = prices.get_mut(own) else {
                        continue;
                    };
                    let offer = cheapest.saturating_add(micros(crawl.at));
                    if offer.saturating_sub(cost) < price.price {
                        price.price = offer - cost;
                        lowered = true;
                    }
                    if slot.at < crawl.at {
                        cheapest = cheapest.min(price.price - micros(slot.at));
                    }
                }
                CrawlOrSlot::Crawl(..) => {}
            }
        }
        lowered
    }

    /// What all crawls pay at least, less the prices of all slots.
    fn value(&self, prices: &mut [SlotPrice]) -> i64 {
        let mut cheapest = i64::MAX;
        for event in events_backwards(self.crawls, self.slots) {
            match event {
                CrawlOrSlot::Slot(index, slot) => {
                    let price = prices
                        .get(index)
                        .map_or(i64::MAX, |price| micros(slot.at) + price.price);
                    cheapest = cheapest.min(price);
                }
                CrawlOrSlot::Crawl(index, crawl) => {
                    if let Some(price) =
                        self.own(index, crawl).and_then(|own| prices.get_mut(own.0))
                    {
                        price.offer = cheapest.saturating_sub(micros(crawl.at));
                    }
                }
            }
        }
        let mut value: i128 = prices.iter().map(|price| -i128::from(price.price)).sum();
        let mut cheapest = i64::MAX;
        for event in events(self.crawls, self.slots) {
            match event {
                CrawlOrSlot::Slot(index, slot) => {
                    let price = prices
                        .get(index)
                        .map_or(i64::MAX, |price| price.price - micros(slot.at));
                    cheapest = cheapest.min(price);
                }
                CrawlOrSlot::Crawl(index, crawl) => {
                    let Some(price) = self.own(index, crawl).and_then(|own| prices.get(own.0))
                    else {
                        return 0;
                    };
                    let early = if crawl.not_before {
                        i64::MAX
                    } else {
                        cheapest.saturating_add(micros(crawl.at))
                    };
                    value += i128::from(price.offer.min(early));
                }
            }
        }
        i64::try_from(value).unwrap_or(0)
    }
}
