//! What was found, for who owns the probe.

use super::kept::{importance, mean_importance};
use super::{Discovery, FoundTotals, Kind};
use crate::probe::{Board, Event, Probe};

/// What a probe has found and keeps: see [`Probe::found`].
#[derive(Debug)]
pub struct FoundPages<'p, 'a, B> {
    pub(super) probe: &'p Probe<'a, B>,
}

impl<B: Board> FoundPages<'_, '_, B> {
    /// What was found so far; `None` if nothing is looked for.
    pub fn totals(&self) -> Option<FoundTotals> {
        let tellers = self.probe.setup.tellers() as u16;
        self.probe.discover(|discovery, _| {
            let Discovery { urls, kept, .. } = discovery;
            let candidates = urls.frontier.candidates().len();
            FoundTotals {
                pages: kept.count.saturating_sub(tellers),
                places: kept.places.saturating_sub(tellers),
                candidates: candidates.min(u16::MAX.into()) as u16,
                found: urls.found,
                admitted: kept.admitted,
                replaced: kept.replaced,
                refused: urls.refused,
            }
        })
    }

    /// Logs what was found so far.
    pub(in crate::probe) fn report(&self) {
        if let Some(totals) = self.totals() {
            self.probe.board.log(&Event::Collection {
                pages: totals.pages,
                places: totals.places,
                candidates: totals.candidates,
                found: totals.found,
                admitted: totals.admitted,
                replaced: totals.replaced,
                refused: totals.refused,
            });
        }
    }

    /// Hands every page of the collection to `each`: its number, its URL and its importance, 1 on
    /// average. Tellers are none. Work: the places, each a read of flash.
    pub fn each_kept(&self, mut each: impl FnMut(u16, &str, f32)) {
        for place in 0..self.probe.setup.page_places() {
            let importance = self.probe.discover(|discovery, _| {
                let frontier = &discovery.urls.frontier;
                importance(frontier, place as u16)
            });
            let Some(importance) = importance else {
                return;
            };
            match self.probe.setup.found.kind(place) {
                Kind::Listed if self.probe.setup.is_teller(place as u16) => {}
                Kind::Listed => {
                    if let Ok(page) = self.probe.setup.image.page(place) {
                        each(place as u16, page.url, importance);
                    }
                }
                Kind::Kept => {
                    if let Some(url) = self.probe.setup.found_url(place) {
                        each(place as u16, &url, importance);
                    }
                }
                Kind::Free | Kind::Scout | Kind::Sitemap => {}
            }
        }
    }

    /// Hands every candidate to `each`: its URL, if the log has it as it must, and what it has
    /// earned, where 1 is what a page that is kept has on average. Work: the candidates, each a
    /// read of flash.
    pub fn each_candidate(&self, mut each: impl FnMut(Option<&str>, f32)) {
        self.probe.discover(|discovery, pages| {
            let frontier = &discovery.urls.frontier;
            let mean = mean_importance(frontier);
            for candidate in frontier.candidates().iter() {
                let url = pages.setup.found.text(candidate.text());
                each(url.as_deref(), candidate.income() / mean);
            }
        });
    }

    /// The weight of a page, and the changes a day that were learnt of it; `None` before the first
    /// version.
    pub fn belief(&self, page: u16) -> (f32, Option<f32>) {
        let weight = self
            .probe
            .setup
            .page(page.into())
            .map_or(1.0, |page| page.weight);
        let state = self.probe.state();
        let memory = state.known.pages.get(usize::from(page));
        let is_known = memory.is_some_and(|page| !page.is_new());
        let id = state.scheduler.page_id(page.into());
        let estimate = id.and_then(|id| state.scheduler.estimate(id).ok());
        let rate = estimate.map(|estimate| estimate.rate());
        (weight, rate.filter(|_| is_known))
    }
}
