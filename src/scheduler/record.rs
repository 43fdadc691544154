//! What became of a fetch: the gate that follows, what is learnt, and when the page is due again.

use super::page::{BY_CLOCK, FLAGS, OWN, Place, TOO_FAST};
use super::read::{Read as _, host_key, page_key};
use super::state::Core;
use super::tick::Tick;
use super::{Counter, Error, HostId, Outcome, PageId};
use crate::heap::Id;
use crate::learn::{Estimate, HostPrior, Prior, Visit};
use crate::time::{Duration, Instant};

/// One fetch in so many re-plans, too, and teaches how far pages' records may be trusted, once that
/// is settled.
const BUSY: u32 = 16;
/// One in so many tells how regularly pages change, once that is settled.
const CALM: u32 = 256;
/// And in so many a host's prior follows what its pages have shown, once that is settled.
const SELDOM: u32 = 4;
/// A change that is found after at most so many even gaps is evidence of a page that changes faster
/// than it is visited: the gap that such a look is planned after, and what it may be late.
pub(super) const TOO_FAST_WITHIN: f32 = 0.75;
/// After so many even gaps that evidence is too old: the page may have calmed down.
const EVIDENCE_LASTS: f32 = 8.0;
/// A page that is gone, or that robots rules forbid, is looked at again after this at the earliest,
/// in a world of seconds, too: a matter of politeness. Nobody likes to be asked again and again for
/// what is not there, and robots.txt is asked for once a day.
const RECHECK: Duration = Duration::DAY;

impl<I: Id> Core<'_, I> {
    pub(super) fn record(
        &mut self,
        page: PageId,
        outcome: Outcome,
        now: Instant,
    ) -> Result<(), Error> {
        let (now, tick) = self.advance(now);
        let id = page_key(page)?;
        let page = self.page_mut(id)?;
        if page.place != Place::InFlight {
            return Err(Error::NotInFlight);
        }
        let host = page.host;
        let earliest = page.due;
        let last = page.last;
        self.state.counters.count(outcome.counter());
        let gate = self.gate_of(host)?;
        let opens = self.after_fetch(gate, earliest, outcome, now)?;
        let opens = self.after_savings(host, outcome, opens, tick);
        self.learn(id, outcome, tick);
        match outcome {
            Outcome::Denied | Outcome::RulesFirst => self.state.budget.refund(),
            Outcome::Postponed => {}
            _ if last == Tick::NEVER => self.state.budget.went_ahead(),
            _ => {}
        }
        let since_last = tick.days_since(last);
        let (mut due, place) = self.after_outcome(id, outcome, since_last, tick, opens);
        let unasked = matches!(
            outcome,
            Outcome::Denied | Outcome::Postponed | Outcome::RulesFirst
        );
        if !unasked {
            // Whatever came of it, the page was asked for.
            due = due.max(self.not_before(id, tick));
        }
        let page = self.page_mut(id)?;
        page.due = due;
        page.place = place;
        self.close(gate, opens);
        self.insert(gate, id);
        // As a rule `next` re-plans when there is nothing to fetch; there may always be something.
        let fetches = self.state.counters.get(Counter::Fetch);
        if !self.state.prices.settled || fetches.is_multiple_of(BUSY) {
            self.sweep(tick);
        }
        Ok(())
    }

    pub(super) fn hand_over(
        &mut self,
        page: PageId,
        to: HostId,
        now: Instant,
    ) -> Result<(), Error> {
        let (now, tick) = self.advance(now);
        let id = page_key(page)?;
        let state = *self.page_mut(id)?;
        let host = host_key(to)?;
        let gate = self.gate_of(host)?;
        if state.place == Place::InFlight {
            let from = self.gate_of(state.host)?;
            // Nobody was asked, as when robots rules forbid it.
            let opens = self.after_fetch(from, state.due, Outcome::Denied, now)?;
            self.state.budget.refund();
            self.close(from, opens);
            let page = self.page_mut(id)?;
            page.due = tick;
            page.place = Place::Pinned;
        } else {
            self.dequeue(id)?;
        }
        if let Ok(left) = self.host_mut(state.host) {
            left.kin.remove_page();
        }
        self.host_mut(host)?.kin.add_page();
        self.follow_all(host);
        self.page_mut(id)?.host = host;
        self.enqueue(gate, id);
        Ok(())
    }

    /// When a gate opens after a fetch.
    fn after_fetch(
        &mut self,
        gate: I,
        earliest: Tick,
        outcome: Outcome,
        now: Instant,
    ) -> Result<Tick, Error> {
        // xorshift: the spread of back-offs, and what one fetch in so many does, need no better.
        let mut random = self.state.random;
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        self.state.random = random;
        let settings = self.state.settings.gate;
        let earliest = self.state.clock.instant(earliest);
        let gate = &mut self.host_mut(gate)?.gate;
        let opens = gate.opens(earliest, now, outcome.answer(), &settings, random);
        Ok(self.state.clock.tick_after(opens))
    }

    /// When a gate that would open then does if the host of the page just fetched tells: until it
    /// has proven itself, it lives on what its signals save.
    fn after_savings(&mut self, host: I, outcome: Outcome, opens: Tick, now: Tick) -> Tick {
        let unspent = matches!(outcome, Outcome::Denied | Outcome::RulesFirst);
        if !self.state.providers.tells(host) || unspent || self.state.per_day.is_none() {
            return opens;
        }
        let spent = self.state.providers.spend(host, now);
        // However little its pages ask for, it is not closed for longer than pages wait on average,
        // nor for good.
        let latest = now.after_days(self.retry_after(self.mean_gap()));
        spent.map_or(opens, |spent| opens.max(spent.min(latest)))
    }

    /// Learns from an outcome.
    fn learn(&mut self, id: I, outcome: Outcome, tick: Tick) {
        let settings = self.state.settings.learn;
        let (changed, modified_ago) = match outcome {
            Outcome::Changed { modified_ago } => (true, modified_ago),
            Outcome::Unchanged => (false, None),
            _ => return,
        };
        let Ok(page) = self.page_mut(id) else { return };
        let host = page.host;
        let before = page.last;
        page.last = tick;
        if before == Tick::NEVER || page.signals & BY_CLOCK != 0 {
            // Nothing to compare with yet; or nothing to learn, because the list says it all.
            page.signals &= FLAGS;
            if let Some(ago) = modified_ago {
                page.estimate.first_visit(ago);
            }
            // Budget and pages may have come after the host.
            self.follow_all(host);
            return;
        }
        let signals = page.signals();
        page.signals &= FLAGS;
        let interval = tick.since(before);
        let days = tick.days_since(before);
        let visit = Visit {
            interval,
            changed,
            modified_ago,
        };
        let own = page.has_own_belief();
        let mut estimate = page.estimate;
        let prior = self.host(host).map_or(Prior::DEFAULT, |host| host.prior);
        if own {
            estimate.fade(days, &settings);
        } else {
            estimate = estimate.faded(days, &settings);
            let heard = self.state.trust.is_young() || self.state.is_one_in(BUSY);
            // Where a host tells, visits find what was told, not what a page's record foresees.
            if heard && self.state.providers.record(host, signals).is_none() {
                self.learn_of_all(&estimate, &prior, days, changed);
            }
            estimate = estimate.on(&prior);
        }
        let jumped = match self.state.providers.record(host, signals) {
            // Visits that signals have prompted find changes more often than chance.
            Some(provider) => estimate.take_in_signalled(&visit, signals, &provider, &settings),
            None => estimate.take_in(&visit, &settings),
        };
        let rate = estimate.rate();
        self.state.providers.learn(host, signals, &visit, rate);
        let gaps = days / self.state.even_gap();
        if let Ok(page) = self.page_mut(id) {
            // A page whose habits have changed is no longer like the others of its host.
            page.signals |= if jumped { OWN } else { 0 };
            if changed && (gaps <= TOO_FAST_WITHIN || visit.dated().is_some()) {
                page.signals |= TOO_FAST;
            } else if !changed || gaps > EVIDENCE_LASTS {
                page.signals &= !TOO_FAST;
            }
            page.estimate = if own || jumped {
                estimate
            } else {
                estimate.beyond(&prior)
            };
        }
        self.teach_kin(host, &estimate, days, gaps);
    }

    /// Learns from a visit to a page, after so many days, what holds for all pages: how far records
    /// like what it had shown by then may be trusted, and how regularly pages change.
    #[inline(always)] // Called once.
    fn learn_of_all(&mut self, own: &Estimate, prior: &Prior, days: f32, changed: bool) {
        let expected = self.state.trust.update(own, prior, days, changed);
        if self.state.trust.is_young() || self.state.is_one_in(CALM) {
            self.state.regularity.follow_page(own, expected, changed);
        }
    }

    /// Tells a page's host, and all, what is believed of it after a visit that came after so many
    /// days, which are so many even gaps.
    pub(super) fn teach_kin(&mut self, host: I, believed: &Estimate, days: f32, gaps: f32) {
        let Some(state) = self.hosts.get_mut(host.index()) else {
            return;
        };
        HostPrior::update_both(&mut state.kin, &mut self.state.all, believed, days, gaps);
        // One more page hardly moves a host that has heard of all of them.
        if !state.kin.has_heard_of_all() || self.state.is_one_in(SELDOM) {
            self.follow_kin(host);
        }
    }

    /// Lets a host whose pages have shown nothing yet follow all others.
    pub(super) fn follow_all(&mut self, host: I) {
        if self
            .hosts
            .get(host.index())
            .is_some_and(|host| !host.kin.has_learnt())
        {
            self.follow_kin(host);
        }
    }

    /// Brings a host's prior in line with what its pages, and all, have shown.
    fn follow_kin(&mut self, host: I) {
        let guess = HostPrior::of_gap(self.state.even_gap());
        let all = self.state.all.or_guess(&guess);
        if let Some(host) = self.hosts.get_mut(host.index()) {
            host.prior = host.kin.prior(&all);
        }
    }

    /// When a page is due after a fetch, and in what place it waits. Its gate opens at `opens`; the
    /// answer before came `since_last` days ago.
    fn after_outcome(
        &self,
        id: I,
        outcome: Outcome,
        since_last: f32,
        tick: Tick,
        opens: Tick,
    ) -> (Tick, Place) {
        let gap = self.gap_of(id, since_last);
        match outcome {
            Outcome::Changed { .. } | Outcome::Unchanged => {
                (self.planned(id, gap).unwrap_or(Tick::NEVER), Place::Queued)
            }
            // A page that was never seen has no copy that could do for the time being, and nothing
            // is known of its gap.
            Outcome::Refused { .. } | Outcome::Failed if since_last <= 0.0 => {
                (opens.after_days(opens.days_since(tick)), Place::Pinned)
            }
            _ => (self.tried_again(outcome, gap, tick, opens), Place::Pinned),
        }
    }

    /// When a page is due that would be worth a visit every `gap` days, and has not been seen.
    fn tried_again(&self, outcome: Outcome, gap: f32, tick: Tick, opens: Tick) -> Tick {
        let retry = self.retry_after(gap);
        match outcome {
            Outcome::Gone | Outcome::Denied => tick.after(RECHECK).max(tick.after_days(retry)),
            // Alone, unless its gate has closed as well.
            Outcome::Broken { times } => {
                let wait = self.state.settings.gate.page_back_off(times);
                opens.max(tick.after(wait))
            }
            // Soon again, but behind the pages that wait.
            Outcome::Refused { .. } | Outcome::Failed => opens.max(tick.after_days(0.25 * retry)),
            Outcome::Postponed | Outcome::RulesFirst => tick,
            Outcome::Redirected | Outcome::Changed { .. } | Outcome::Unchanged => {
                tick.after_days(retry)
            }
        }
    }
}
