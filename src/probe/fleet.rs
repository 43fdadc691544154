//! A probe of a fleet: it fetches within its lease and its granted budget, and says what more would
//! be worth to it.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::Poll;

use super::origin::Origin;
use super::setup::Setup;
use super::slots::Runner;
use super::turn::Turn;
pub(super) use super::visited::Visited;
use super::{Board, PageMemory, Probe};
use crate::fleet::{Drift, ELASTICITY, Member, Outlook};
use crate::learn::Estimate;
use crate::math::Real;
use crate::model::Objective;
use crate::plan::worth::Belief;
use crate::scheduler::{PageSettings, SchedulerView};
use crate::store::NOWHERE;
use crate::time::{Duration, Instant};

/// Pages that are looked at for an elasticity: one that is right to a tenth is good enough.
const SAMPLE: usize = 64;

/// Until when anybody may be asked, and how much.
#[derive(Debug)]
pub(super) struct Lease {
    /// Nobody is asked from then on: the end of a lease, or never.
    until: Instant,
    /// The budget that was granted last.
    budget: f32,
}

impl Lease {
    /// A probe that is alone needs none.
    pub(super) const UNNEEDED: Self = Self {
        until: Instant::MAX,
        budget: 0.0,
    };

    /// May anybody be asked now?
    pub(super) fn holds(&self, now: Instant) -> bool {
        now < self.until
    }

    /// The moment at which the lease ends.
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// Ends the lease: nobody may be asked until another one is granted.
    pub(super) fn end(&mut self) {
        self.until = Instant::ZERO;
    }

    /// Takes over what a member was granted; the budget if that is another one than before.
    fn grant(&mut self, member: &Member) -> Option<f32> {
        let budget = member.budget();
        let until = member.leased_until().filter(|_| budget > 0.0);
        self.until = until.unwrap_or(Instant::ZERO);
        let is_new = self.budget != budget && budget > 0.0 && budget.is_finite();
        if is_new {
            self.budget = budget;
        }
        is_new.then_some(budget)
    }
}

/// ln[D(p e^−½) / D(p e^½)] of the demand D at the present price p, by some of the pages. Work:
/// 128 gaps.
fn elasticity(
    scheduler: &SchedulerView<'_>,
    objective: Objective,
    weight: impl Fn(usize) -> f32,
) -> f32 {
    let price = scheduler.price();
    let half = Real::exp(0.5_f32);
    let mut demand = [0.0_f32; 2];
    let step = scheduler.pages() / SAMPLE + 1;
    for index in (0..scheduler.pages()).step_by(step) {
        let page = scheduler.page_id(index);
        let Some(Ok(estimate)) = page.map(|page| scheduler.estimate(page)) else {
            continue;
        };
        let belief = Belief {
            shape: estimate.shape(),
            time: estimate.time(),
        };
        for (sum, price) in demand.iter_mut().zip([price / half, price * half]) {
            let gap = belief.gap_toward(objective, weight(index), price, 0.0);
            if gap > 0.0 && gap.is_finite() {
                *sum += 1.0 / gap;
            }
        }
    }
    let (least, most) = ELASTICITY;
    let [low, high] = demand;
    if high > 0.0 && low > 0.0 {
        Real::ln(low / high).clamp(least, most)
    } else {
        most
    }
}

/// What a list has told of pages that the store knows nothing of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seeded {
    /// Pages of which what others have learnt is believed.
    pub(super) believed: u16,
    /// Pages that others have visited: they are due when they would have been there.
    pub(super) visited: u16,
}

/// Believes what the list says that others have learnt, and goes on where they were, with all pages
/// that the store knows nothing of. Work: the pages, each with a binary search.
pub(super) fn seed(
    scheduler: &mut SchedulerView<'_>,
    pages: &[PageMemory],
    setup: &Setup<'_>,
    now: Instant,
) -> Seeded {
    let seen = setup.image.seen();
    if let Some(seen) = seen.filter(|_| scheduler.price() <= 0.0) {
        scheduler.restore_price(seen.price);
    }
    let is_priced = scheduler.price() > 0.0;
    let seen = seen.filter(|_| is_priced);
    let mut seeded = Seeded::default();
    for index in 0..setup.image.pages() as u16 {
        let known = pages.get(usize::from(index));
        let is_known = known.is_none_or(|page| page.sector() != NOWHERE);
        let Some(id) = scheduler.page_id(index.into()).filter(|_| !is_known) else {
            continue;
        };
        let learnt = setup.image.learnt(index);
        let estimate = learnt.and_then(|learnt| {
            let is_open = setup
                .page(index.into())
                .is_ok_and(|page| page.rate.is_none() || page.confidence < PageSettings::CERTAIN);
            Estimate::from_parts(learnt.shape, learnt.time, learnt.watch).filter(|_| is_open)
        });
        if let Some(estimate) = estimate {
            seeded.believed += u16::from(scheduler.believe(id, estimate).is_ok());
        }
        if let Some(ago) = seen.and_then(|seen| seen.ago(index)) {
            seeded.visited += u16::from(scheduler.expect_page(id, ago, now).is_ok());
        }
    }
    seeded
}

impl<B: Board> Runner<'_, '_, B> {
    /// Would this request go to a host that is not in a fleet's list? It was led there before the
    /// list was: the page is forgotten to have moved, and waits as after a request.
    pub(super) fn is_outside_fleet(&self, turn: &Turn, origin: &Origin<'_>) -> bool {
        let is_outside = self.probe.setup.is_member && matches!(origin, Origin::Unlisted(_));
        if is_outside {
            let page = turn.page.index() as u16;
            self.probe.state().known.redirects.forget(page);
            self.put_back(turn, turn.host, true);
        }
        is_outside
    }

    /// Goes on with a request while there is a lease; `None` once there is none. A computer that
    /// slept through that moment must not send anything more, so it is asked before each step.
    ///
    /// *Cancellation*: leaves the request as it is.
    pub(super) fn while_leased<T>(
        &self,
        mut request: Pin<&mut impl Future<Output = Option<T>>>,
    ) -> impl Future<Output = Option<T>> {
        poll_fn(move |context| match self.is_leased() {
            true => request.as_mut().poll(context),
            false => Poll::Ready(None),
        })
    }
}

/// What a fleet's planner may know of a probe and let it do: see [`Probe::membership`].
#[derive(Debug)]
pub struct Membership<'p, 'a, B> {
    pub(super) probe: &'p Probe<'a, B>,
}

impl<B: Board> Membership<'_, '_, B> {
    /// Does what the fleet's planner has granted: nothing is asked without a lease, no request is
    /// under way when it ends, and no more is fetched than granted. To be called whenever the
    /// member was granted something or has taken a list. A probe that never calls it is alone, and
    /// needs no lease.
    pub fn obey(&self, member: &Member) {
        let now = self.probe.board.now();
        let state = &mut *self.probe.state();
        if let Some(budget) = state.lease.grant(member) {
            // It is a number above zero: nothing else is refused.
            let _ = state.scheduler.set_budget(Some(budget), now);
        }
        state.slots.wake_all();
    }

    /// Leaves every host alone until its politeness has passed since the probe started: nobody
    /// knows who asked it before. To be called before any slot runs. Work: the hosts of the list.
    pub fn rest(&self, member: &Member) {
        self.close_hosts(|gap| member.rests_until(gap));
    }

    /// Leaves every host alone until its politeness has passed since this moment: nobody knows who
    /// asked it before. To be called before any slot runs. Work: the hosts of the list.
    pub fn rest_since(&self, moment: Instant) {
        self.close_hosts(|gap| moment + Drift::DEFAULT.lengthen(gap));
    }

    /// Leaves every host of the list alone until a moment that its gap decides.
    fn close_hosts(&self, until: impl Fn(Duration) -> Instant) {
        let state = &mut *self.probe.state();
        for index in 0..self.probe.setup.image.hosts() {
            if let Some(host) = state.scheduler.host_id(index)
                && let Some(gap) = state.scheduler.gap(host)
            {
                let _ = state.scheduler.close_until(host, until(gap));
            }
        }
    }

    /// Begins where others were: believes what the list says that has been learnt about pages, and
    /// visits each when its turn would have come. Of how many pages something is believed? For a
    /// probe without a store, before any slot runs;
    /// [`Persistence::restore`](super::Persistence) does it by itself. Work: the pages, each with a
    /// binary search.
    pub fn seed(&self) -> u16 {
        let now = self.probe.board.now();
        let setup = &self.probe.setup;
        let state = &mut *self.probe.state();
        let seeded = seed(&mut state.scheduler, state.known.pages, setup, now);
        let new = setup.first_round(seeded.visited);
        state.scheduler.begin_ahead(new);
        seeded.believed
    }

    /// What a report says of this probe; `room` has the pages, hosts and fetches a day that it
    /// could have.
    pub fn outlook(&self, room: (u16, u16, f32)) -> Outlook {
        let state = self.probe.state();
        let (pages, hosts, link) = room;
        let weight = |index| self.probe.setup.page(index).map_or(1.0, |page| page.weight);
        Outlook {
            price: state.scheduler.price(),
            elasticity: elasticity(&state.scheduler, self.probe.setup.image.objective(), weight),
            freshness: state.scheduler.freshness().unwrap_or(0.0),
            pages,
            hosts,
            link,
            fetches: state.totals.fetches,
            errors: state.totals.errors,
        }
    }

    /// What is believed of a page now, by its number: what the planner keeps for its next owner.
    pub fn learnt(&self, page: u16) -> Option<Estimate> {
        let state = self.probe.state();
        let page = state.scheduler.page_id(page.into())?;
        state.scheduler.estimate(page).ok()
    }
}
