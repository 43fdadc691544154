//! The pages and hosts of the probe, as discovery changes them: places that are filled and freed
//! while the probe runs.

use super::{Discovery, Kind};
use crate::discover::Frontier;
use crate::fetch::Url;
use crate::probe::memory::Knowledge;
use crate::probe::setup::Setup;
use crate::probe::slots::Runner;
use crate::probe::{Board, PageMemory, Probe};
use crate::scheduler::{Outcome, PageSettings, SchedulerView};
use crate::time::Instant;

/// What discovery works on besides its own memory, for the time of one call.
pub(in crate::probe) struct ProbeParts<'s, 'a> {
    pub setup: &'s Setup<'a>,
    pub scheduler: &'s mut SchedulerView<'a>,
    pub known: &'s mut Knowledge<'a>,
}

impl<'a, B> Probe<'a, B> {
    /// Lets discovery do something; `None` if nothing is looked for. Nobody else has the probe's
    /// state meanwhile.
    pub(super) fn discover<T>(
        &self,
        work: impl FnOnce(&mut Discovery<'a>, &mut ProbeParts<'_, 'a>) -> T,
    ) -> Option<T> {
        let state = &mut *self.state();
        let mut pages = ProbeParts {
            setup: &self.setup,
            scheduler: &mut state.scheduler,
            known: &mut state.known,
        };
        let discovery = state.discovery.as_mut()?;
        Some(work(discovery, &mut pages))
    }
}

impl<B: Board> Runner<'_, '_, B> {
    /// Asks for a page whole if its links are wanted.
    pub(in crate::probe) fn want_links(&self, page: u16) {
        self.probe
            .discover(|discovery, pages| want_links(&discovery.urls.frontier, pages, page));
    }

    /// Lets discovery know how a turn ended, and look at others.
    pub(in crate::probe) fn look_further(&self, page: u16, outcome: Outcome) {
        let board = &self.probe.board;
        let looks = self
            .probe
            .discover(|discovery, pages| discovery.turn_ended(pages, board, page, outcome));
        if looks == Some(true) {
            self.probe.state().slots.wake_all();
        }
    }
}

/// Asks for a page whole if it has cash to hand on: its links are not kept.
fn want_links(frontier: &Frontier<'_>, pages: &mut ProbeParts<'_, '_>, page: u16) {
    let bank = frontier.bank();
    let known = bank.len() + frontier.candidates().len();
    let mean = bank.total() / known.max(1) as f32;
    let whole = bank.cash_of(page) >= mean;
    if let Some(page) = pages.known.page_mut(page) {
        page.want_whole(whole);
    }
}

impl ProbeParts<'_, '_> {
    /// Adds a page that is due at once, at a place that was free.
    pub(super) fn add(&mut self, host: u16, now: Instant) -> Option<u16> {
        let host = self.scheduler.host_id(host.into())?;
        let added = self.scheduler.add_page(host, &PageSettings::DEFAULT, now);
        let id = added.ok()?;
        let place = id.index();
        let found = &self.setup.found;
        let fits = place < found.len() && place < self.known.pages.len();
        if !fits || found.kind(place) != Kind::Free {
            // The scheduler has more room than the others.
            let _ = self.scheduler.remove_page(id);
            return None;
        }
        *self.known.pages.get_mut(place)? = PageMemory::NEW;
        Some(place as u16)
    }

    /// Takes a page out, with what was learnt of it; false if it is being fetched.
    pub(super) fn remove(&mut self, place: u16) -> bool {
        let Some(id) = self.scheduler.page_id(place.into()) else {
            return false;
        };
        if self.scheduler.remove_page(id).is_err() {
            return false;
        }
        self.known.redirects.forget(place);
        if let Some(memory) = self.known.page_mut(place) {
            *memory = PageMemory::NEW;
        }
        true
    }

    /// Takes in a host that is not in the list; its number, `None` if there is no room.
    pub(super) fn add_host(&mut self, url: &Url<'_>) -> Option<u16> {
        let found = &self.setup.found;
        let next = found.count_hosts();
        // What the rest of the probe knows of it needs a place, too.
        self.known.origins.hosts.get(next)?;
        // If redirects have led there before, it is left alone for as long as it was to be then.
        let gate = self.known.origins.gate_of(url);
        let gap = gate.map_or(found.gap, |(_, gap)| gap.max(found.gap));
        // First, as its name may be too long: the scheduler's hosts stay, and are numbered.
        let host = found.add_host(url)?;
        let id = self.scheduler.add_host(gap).ok();
        let Some(id) = id.filter(|id| id.index() == next) else {
            found.remove_last_host();
            return None;
        };
        if let Some((opens, _)) = gate {
            let _ = self.scheduler.close_until(id, opens);
        }
        Some(host)
    }

    /// Has a page that is kept the same content as this one?
    pub(super) fn has_copy_of(&self, place: u16) -> bool {
        let all = self.known.pages.get(..self.setup.page_places());
        let all = all.unwrap_or_default();
        let Some(own) = all.get(usize::from(place)) else {
            return false;
        };
        // What its content is first: hardly any page gets further.
        let mut copies = all
            .iter()
            .enumerate()
            .filter(|(_, other)| own.is_copy_of(other));
        copies.any(|(other, _)| matches!(self.setup.found.kind(other), Kind::Listed | Kind::Kept))
    }

    /// Gives the scheduler a page for each place that is kept. It numbers pages in the order in
    /// which they come, so places that are free are filled and emptied again.
    pub(super) fn restore(&mut self, now: Instant) {
        let found = &self.setup.found;
        let listed = self.setup.image.pages();
        let last = (0..found.len())
            .rev()
            .find(|place| found.kind(*place) == Kind::Kept);
        let end = last.map_or(listed, |last| (last + 1).max(listed));
        for place in listed..end {
            let _ = self.add_restored(place, now);
        }
        for place in (0..end).rev() {
            let kind = found.kind(place);
            let Some(id) = self.scheduler.page_id(place) else {
                continue;
            };
            if kind == Kind::Listed || kind == Kind::Kept && place >= listed {
                continue;
            }
            let _ = self.scheduler.remove_page(id);
            if kind == Kind::Kept {
                // The place that was freed last is given away first.
                let _ = self.add_restored(place, now);
            }
        }
    }

    fn add_restored(&mut self, place: usize, now: Instant) -> Option<()> {
        let host = self.setup.found_host(place).map_or(0, usize::from);
        let host = self
            .scheduler
            .host_id(host)
            .or_else(|| self.scheduler.host_id(0))?;
        let added = self.scheduler.add_page(host, &PageSettings::DEFAULT, now);
        let id = added.ok()?;
        debug_assert_eq!(id.index(), place, "places are numbered in their order");
        if let Some(memory) = self.known.pages.get_mut(place) {
            *memory = PageMemory::NEW;
        }
        Some(())
    }
}
