//! What a fleet's planner is told of visits, and what it may ask for besides: a probe in a fleet
//! keeps what it has seen until somebody has taken it.

use super::{Board, Membership, Probe};
use crate::fleet::{MOST_VISITS, VisitReport};
use crate::image::Image;
use crate::scheduler::{self, PageId, SchedulerView};
use crate::time::{Duration, Instant};

/// Visits that are kept: two batches, so that one can be full while another is under way.
const KEPT: usize = 2 * MOST_VISITS;

/// The last visits that nobody has taken yet.
#[derive(Debug)]
pub(super) struct Visited {
    /// In their order; each says when it was, in seconds since the board started, and not how long
    /// ago.
    visits: heapless::Deque<VisitReport, KEPT>,
    /// Visits that there was no room for since some were taken.
    lost: u32,
}

impl Visited {
    pub(super) const NEW: Self = Self {
        visits: heapless::Deque::new(),
        lost: 0,
    };

    /// The oldest one goes if there is no room: what is believed of a page is in its last visit.
    fn push(&mut self, visit: VisitReport) {
        if self.visits.is_full() {
            let _ = self.visits.pop_front();
            self.lost = self.lost.saturating_add(1);
        }
        let _ = self.visits.push_back(visit);
    }

    /// A page was visited, and what it brought has been learnt.
    pub(super) fn note(
        &mut self,
        scheduler: &SchedulerView<'_>,
        page: PageId,
        changed: bool,
        now: Instant,
    ) {
        let Ok(estimate) = scheduler.estimate(page) else {
            return;
        };
        let (shape, time, watch) = estimate.parts();
        let seconds = (now - Instant::ZERO).as_secs();
        self.push(VisitReport {
            page: page.index() as u16,
            ago_s: seconds.min(u32::MAX.into()) as u32,
            changed,
            shape,
            time,
            watch,
        });
    }
}

impl<'a, B: Board> Probe<'a, B> {
    /// Makes it a probe of a fleet, before any slot runs: it asks nobody before it has a lease (see
    /// [`Membership::obey`]), and follows no redirect to a host that is not in its list, for that
    /// may be another probe's. `device` is the image that the device was loaded with: where it says
    /// a host is counts besides what the list says, and its time server before the list's.
    #[must_use]
    pub fn in_fleet(mut self, device: Option<Image<'a>>) -> Self {
        self.setup.is_member = true;
        let server = device.and_then(|device| device.config().ok()?.sntp);
        self.setup.config.sntp = server.or(self.setup.config.sntp);
        self.setup.device = device;
        self.state().lease.end();
        self
    }
}

impl<B: Board> Membership<'_, '_, B> {
    /// Asks nobody any more, until [`Self::obey`] is called.
    pub fn pause(&self) {
        let state = &mut *self.probe.state();
        state.lease.end();
        state.slots.wake_all();
    }

    /// How many visits there are that nobody has taken.
    pub fn untold(&self) -> usize {
        self.probe.state().visited.visits.len()
    }

    /// Moves the oldest visits that nobody has taken into a batch, as many as fit. How many were
    /// lost before the first of them for want of room?
    pub fn take_visits(&self, batch: &mut heapless::Vec<VisitReport, MOST_VISITS>) -> u32 {
        let now = (self.probe.board.now() - Instant::ZERO).as_secs();
        let visited = &mut self.probe.state().visited;
        while !batch.is_full()
            && let Some(visit) = visited.visits.pop_front()
        {
            let ago = now.saturating_sub(visit.ago_s.into());
            let _ = batch.push(VisitReport {
                ago_s: ago.min(u32::MAX.into()) as u32,
                ..visit
            });
        }
        core::mem::take(&mut visited.lost)
    }

    /// Lets a page be the next of its host, as soon as politeness and budget allow. `page` is its
    /// number, as in the log.
    ///
    /// # Errors
    /// There is no such page, or it is being fetched.
    pub fn pull(&self, page: u16) -> Result<(), scheduler::Error> {
        let state = &mut *self.probe.state();
        let id = state.scheduler.page_id(page.into());
        let id = id.ok_or(scheduler::Error::UnknownPage)?;
        state.scheduler.fetch_after(id, Duration::ZERO)?;
        state.slots.wake_all();
        Ok(())
    }
}
