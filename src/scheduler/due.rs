//! When a page is due: the gap that its value and the price make, counted from its last fetch.

use super::page::{BY_CLOCK, LIMITED, PageState, Place};
use super::providers;
use super::read::Read as _;
use super::state::Core;
use super::tick::Tick;
use super::{Engine, PageSettings};
use crate::constraints::Clockwork;
use crate::heap::Id;
use crate::math::{greater, lesser};
use crate::model::Objective;
use crate::pace::rhythm::Credit;
use crate::plan::worth::Belief;
use crate::time::Duration;

/// No page that is worth visiting at all is left alone for longer, in days: the clock's memory ends
/// at 203.
const MOST_GAP: f32 = 180.0;
/// Gaps of no more than so many even ones need not be held against what a page is left alone for at
/// the most.
pub(super) const UNCHECKED_GAPS: f32 = 4.0;
/// Visits after even gaps cannot tell a page that changes so often in a gap from one that changes
/// all the time: 19 in 20 find a change. Before there is other evidence, it is not believed to
/// change more often, so that it has about its even share.
const MOST_UNPROVEN: f32 = 3.0;
/// Evidence is a look after so many even gaps: what has changed by then, too, changes faster than
/// visits can follow, and what has not is worth its visits after all.
const SHORT_LOOK: f32 = 0.5;
/// One visit in so many may be followed by such a look, the others by an even gap. Were all pages to
/// look at once, all would be late, and none would come within
/// [`TOO_FAST_WITHIN`](super::record::TOO_FAST_WITHIN): with a quarter of them they come after 0.68
/// even gaps, with half of them after 0.81.
const LOOK_ONCE_IN: u32 = 4;
/// No visit to a page of weight 1 is worth more than this a day of its gap, whatever its rate: the
/// most that (1 − (1+x)e^{−x})/x can be.
const MOST_VALUE: f32 = 0.2984;
/// A page whose last fetch failed or led nowhere is tried again after so many even gaps at most,
/// even if the price says never: the price may fall. And after so many days, because a time set
/// from outside has to be one that the clock can hold.
const MOST_RETRY: f32 = 32.0;

/// A page that changes by the clock is fetched so long after an update: clocks differ.
const AFTER_UPDATE: Duration = Duration::from_secs(2);

impl<I: Id> Core<'_, I> {
    /// Days between fetches of a page at present prices. `guess` is the likely result and saves
    /// steps; 0 for none.
    pub(super) fn gap_of(&self, id: I, guess: f32) -> f32 {
        let Some(page) = self.pages.get(id.index()) else {
            return f32::INFINITY;
        };
        self.gap_at(id, page, self.price_of(page), guess)
    }

    /// The same at a price.
    pub(super) fn gap_at(&self, id: I, page: &PageState<I>, price: f32, guess: f32) -> f32 {
        let believed = self.believed(page);
        let objective = self.state.settings.objective;
        let gap = believed.gap_toward(objective, page.weight, price, guess);
        if page.has_constraints() {
            return self.gap_by_constraints(id, page, price, gap);
        }
        if believed.shape >= PageSettings::CERTAIN {
            return if gap < f32::INFINITY {
                lesser(gap, MOST_GAP)
            } else {
                gap
            };
        }
        let even = self.state.even_gap();
        let unproven = believed.rate() * even > MOST_UNPROVEN
            && !page.may_be_given_up()
            && page.last != Tick::NEVER;
        let gap = if unproven {
            self.unproven_gap(page, believed, price, gap)
        } else {
            gap
        };
        // The value of a visit is an average over the belief, so doubt about a page is in its price
        // already. But what was seen a half-life ago says half as much: by then a belief is
        // renewed, whatever the page seems to be worth, unless it weighs so little that no rate
        // could make the visit worth its price.
        if gap > UNCHECKED_GAPS * even {
            let half_life = self.state.settings.learn.memory() * self.mean_gap();
            if gap > half_life {
                let worth_it = match objective {
                    Objective::Age => 0.0,
                    _ => price / (MOST_VALUE * page.weight),
                };
                return lesser(lesser(gap, greater(half_life, worth_it)), MOST_GAP);
            }
        }
        lesser(gap, MOST_GAP)
    }

    /// Days between fetches of a page that seems to change faster than visits can follow, without
    /// evidence of it: it would be visited after `gap`.
    #[cold]
    #[inline(never)]
    fn unproven_gap(&self, page: &PageState<I>, believed: Belief, price: f32, gap: f32) -> f32 {
        if self.state.settings.objective == Objective::Age {
            // No page is given up whose age counts.
            return gap;
        }
        let even = self.state.even_gap();
        let may_look = gap > even && page.last.is_one_in(LOOK_ONCE_IN);
        if may_look && self.is_look_worth_it(page, believed, price, gap) {
            return SHORT_LOOK * even;
        }
        let believed = believed.at_most(MOST_UNPROVEN / even);
        // From a guess of its own: `gap` may be infinite, and a search from there gets nowhere.
        believed.gap(page.weight, price, 0.0)
    }

    /// Is a short look at a page worth its price, which has about its even share of the visits, and
    /// with evidence that it changes too fast would be left alone for `gap`?
    ///
    /// What it brings is the probability that it finds a change, times what giving the page up
    /// saves, for as long as that is remembered. Saved are its visits, as far as they are worth
    /// their price elsewhere: where all pages change too fast, there is nobody to give them to.
    /// Lost is all of how fresh it would have been: what is left of that at the longer gap, by a
    /// belief from before the look, is not counted. What the look costs is the price of a visit
    /// less what so early a one is worth.
    fn is_look_worth_it(
        &self,
        page: &PageState<I>,
        believed: Belief,
        price: f32,
        gap: f32,
    ) -> bool {
        let even = self.state.even_gap();
        let look = SHORT_LOOK * even;
        let memory = self.state.settings.learn.memory();
        let longest = lesser(gap, memory * self.mean_gap());
        let usual = self.state.all.usual_rate();
        let changes = usual * even;
        let worth = (1.0 - (1.0 + changes) * libm::expf(-changes)) / usual;
        let elsewhere = self.state.prices.mean_weight() * worth;
        let saved = lesser(price, elsewhere) * (1.0 - even / longest);
        let (fresh, _) = believed.freshness_over(even);
        let lost = page.weight * even * fresh;
        let (fresh, unchanged) = believed.freshness_over(look);
        let cost = price - page.weight * look * (fresh - unchanged);
        memory * (1.0 - unchanged) * (saved - lost) > cost
    }

    /// What a fetch of a page costs: the common price, or the higher one of its host.
    #[inline(never)] // Once for all callers.
    pub(super) fn price_of(&self, page: &PageState<I>) -> f32 {
        let gate = self.gate_of(page.host).and_then(|gate| self.host(gate));
        greater(
            gate.map_or(0.0, |host| host.price),
            self.state.prices.common,
        )
    }

    /// Visits a day of a page that changes by the clock and is visited after `gap` days next, which
    /// may be an hour once and a day after that.
    #[cold]
    #[inline(never)]
    pub(super) fn per_day_by_clock(&self, id: I, page: &PageState<I>, gap: f32) -> f32 {
        let next = self.clock_of(id, page).and_then(|(clock, phase)| {
            let price = spread(id, self.price_of(page) / page.weight);
            clock.next(phase, self.state.settings.objective, price)
        });
        next.map_or(1.0 / gap, |next| next.per_day)
    }

    /// The same for a page with constraints that would be worth a visit after so many days.
    #[cold]
    #[inline(never)]
    fn gap_by_constraints(&self, id: I, page: &PageState<I>, price: f32, gap: f32) -> f32 {
        const DAYS_A_MILLISECOND: f32 = 1.0 / 86_400e3;
        let constraints = self.constraints.of(id.index());
        let least = constraints.least_ms as f32 * DAYS_A_MILLISECOND;
        let mut gap = gap;
        if let Some((clock, phase)) = self.clock_of(id, page) {
            let price = spread(id, price / page.weight);
            let next = clock.next(phase, self.state.settings.objective, price);
            gap = next.map_or(gap, |next| next.days);
            gap = clock.at_or_after(phase, greater(gap, least));
        }
        let most = match constraints.most_ms {
            0 => MOST_GAP,
            most => most as f32 * DAYS_A_MILLISECOND,
        };
        greater(lesser(gap, most), least)
    }

    /// What of a page's constraints it is worth to ask about.
    pub(super) fn flags_of(&self, id: I) -> u8 {
        let constraints = self.constraints.of(id.index());
        let limited = if constraints.is_limited() { LIMITED } else { 0 };
        let by_clock = if constraints.clock.is_none() {
            0
        } else {
            BY_CLOCK
        };
        limited | by_clock
    }

    /// The clock of a page, and where it was at the page's last fetch; `None` as long as nobody
    /// knows the time.
    #[inline(never)] // Once for all callers.
    pub(super) fn clock_of(&self, id: I, page: &PageState<I>) -> Option<(Clockwork<'_>, f32)> {
        if page.signals & BY_CLOCK == 0 || page.last == Tick::NEVER {
            return None;
        }
        let (then, local) = self.state.wall_clock?;
        let clock = self.constraints.of(id.index()).clock;
        let last = self.state.clock.instant(page.last).as_micros();
        let since_then = last.wrapping_sub(then.as_micros());
        let phase = clock.phase(local.as_micros().wrapping_add(since_then));
        Some((clock, phase))
    }

    /// The first moment at which a page may be asked for again that was asked for now.
    pub(super) fn not_before(&self, id: I, now: Tick) -> Tick {
        let limited = |page: &PageState<I>| page.signals & LIMITED != 0;
        if !self.pages.get(id.index()).is_some_and(limited) {
            return now;
        }
        // A tick more, because the present was rounded down to one.
        let gap = u64::from(self.constraints.of(id.index()).least_ms) + 9;
        now.after(Duration::from_millis(gap))
    }

    /// Days between fetches of a page, on average.
    pub(super) fn mean_gap(&self) -> f32 {
        let asked = self.state.prices.mean_gap();
        asked.unwrap_or_else(|| self.state.even_gap())
    }

    /// Days until a page is tried again that would be worth a visit every `gap` days.
    pub(super) fn retry_after(&self, gap: f32) -> f32 {
        lesser(lesser(gap, MOST_RETRY * self.state.even_gap()), MOST_RETRY)
    }

    /// When a page that is worth a fetch every `gap` days is due; `None` before its first fetch.
    pub(super) fn planned(&self, id: I, gap: f32) -> Option<Tick> {
        let page = self
            .pages
            .get(id.index())
            .filter(|page| page.last != Tick::NEVER)?;
        if page.signals & BY_CLOCK != 0 {
            // Just after the update, by clocks that are right to a second.
            let due = page.last.after_days(gap).after(AFTER_UPDATE);
            return Some(due.max(self.not_before(id, page.last)));
        }
        let provider = self.state.providers.record(page.host, page.signals());
        let told =
            provider.map(|provider| providers::signals(&provider, self.believed(page).rate()));
        let days = told.map_or(gap, |told| {
            let days = told.days_until(gap, page.signals());
            days.min(MOST_GAP.max(gap))
        });
        let credit = match self.state.settings.engine {
            // What all pages are late by is made up for only where nobody minds the very moment:
            // who makes it up stays late.
            Engine::Carousel if !self.state.has_constraints => page.credit(),
            _ => Credit::NONE,
        };
        let due = page.last.after_days(credit.wait(days));
        // What a host says takes a page beyond the age at which it is due: it goes before those that
        // are late by less. A sibling's change does not.
        let beyond = told.map_or(0.0, |told| told.equivalent_age(0.0, page.signals()) - gap);
        let due = if beyond > 0.0 && self.state.providers.tells(page.host) {
            page.last.before_days(beyond)
        } else {
            due
        };
        Some(if page.has_constraints() {
            due.max(self.not_before(id, page.last))
        } else {
            due
        })
    }

    /// Brings a page's due time in line with what is known now.
    pub(super) fn replan(&mut self, id: I) {
        if let Some(due) = self.planned(id, self.gap_of(id, 0.0)) {
            self.reschedule(id, due, Place::Queued);
        }
    }
}

/// A price of a page's own, a tenth up or down: pages that change alike by the clock would
/// otherwise all ask for a visit, or none.
fn spread<I: Id>(id: I, price: f32) -> f32 {
    let share = (id.index() as u32).wrapping_mul(0x9e37_79b9) >> 8;
    price * (0.9 + 0.2 / (1 << 24) as f32 * share as f32)
}
