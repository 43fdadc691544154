//! What is written to the log of URL texts, and what a restart makes of it.
//!
//! | text | written |
//! |---|---|
//! | a candidate | before it is one |
//! | a page | when it is kept, and again if its importance has doubled or halved since: after ten minutes, twice as many, and so on |
//! | a free place | when the page there has gone and no other has come |
//! | a retired page | when a page of the list gives way |
//!
//! Of each place and of each URL the last text counts. Its value holds what the page has earned,
//! compared with the mean of the collection, in fifteen bits and one that says how they are to be
//! read, and sixteen bits of the list's identity: places below the list's length mean something only
//! as long as the list is the same.

use core::ops::ControlFlow;

use super::{Discovery, FoundEvent, Kind, ProbeParts};
use crate::discover::{Candidate, Placement, digest, directory_digest};
use crate::fetch::Url;
use crate::fetch::robots::Verdict;
use crate::probe::persist::Persistence;
use crate::probe::setup::Setup;
use crate::probe::{Board, Event, Probe};
use crate::store::{LONGEST_TEXT, Partition, StoreStep, Text, TextKind, TextLedger, TextLog};
use crate::time::{Duration, Instant};

/// The time between two looks whether something has to be written.
const LOOK: Duration = Duration::from_millis(250);

/// What a candidate has earned when it is found, compared with the pages that are kept.
const LITTLE: f32 = 0.1;
/// What a page of the list has, by the same measure, after a restart.
const MEAN: f32 = 1.0;

/// How long importances in the log are not looked at, at first …
pub(super) const RENEW: Duration = Duration::from_secs(600);
/// … and at most.
const RENEW_SELDOM: Duration = Duration::from_secs(6 * 3_600);

/// What a restart has found in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextsKept {
    /// Pages of the collection that are not on the list.
    pub pages: u16,
    /// Candidates, which were not visited or are not kept.
    pub candidates: u16,
}

impl<B: Board> Persistence<'_, '_, B> {
    /// Takes over which pages an earlier run has found. Call it before [`Self::restore`], which
    /// brings back what was learnt of them. With `trust` off the log is opened, but nothing in it
    /// is believed.
    ///
    /// *Cancellation*: start over.
    pub async fn restore_found<F: Partition>(
        &self,
        log: &mut TextLog<F>,
        trust: bool,
    ) -> TextsKept {
        let probe = self.probe;
        let opened = log.open(|text, at| {
            if trust {
                probe.discover(|discovery, pages| discovery.take_text(pages, text, at));
            }
        });
        if opened.await.is_err() {
            probe.board.log(&Event::NotStored);
        }
        let now = probe.board.now();
        let kept = probe.discover(|discovery, pages| discovery.settle_texts(pages, now));
        for place in 0..probe.setup.found.len() {
            let url = probe.setup.found.url(place);
            if let Some(url) = &url {
                let page = place as u16;
                probe.board.found(&FoundEvent::Kept { page, url });
            }
        }
        kept.unwrap_or_default()
    }

    /// Writes what is found, for ever.
    ///
    /// *Cancellation*: safe between two texts; within one, it may be written or not.
    pub async fn run_found<F: Partition>(&self, log: &mut TextLog<F>) -> ! {
        let board = &self.probe.board;
        loop {
            board.sleep_until(board.now() + LOOK).await;
            self.flush_found(log).await;
        }
    }

    /// Writes what was found.
    ///
    /// *Cancellation*: as for [`Self::run_found`].
    pub async fn flush_found<F: Partition>(&self, log: &mut TextLog<F>) {
        let probe = self.probe;
        let now = probe.board.now();
        let has_texts = probe.discover(|discovery, pages| {
            discovery.renew_texts(pages.setup, now);
            discovery.has_texts(pages.setup)
        });
        if has_texts != Some(true) {
            return;
        }
        let board = &probe.board;
        loop {
            let quiet = self.is_quiet();
            let step = log.step(&Texts(probe), quiet, board.now()).await;
            match self.stepped(step) {
                ControlFlow::Continue(None) => {}
                ControlFlow::Continue(Some(then)) => board.sleep_until(then).await,
                ControlFlow::Break(()) => break,
            }
        }
        // Somebody may have been waiting for the first candidates.
        let now = probe.board.now();
        if probe.discover(|discovery, pages| discovery.launch_first(pages, now)) == Some(true) {
            probe.state().slots.wake_all();
        }
    }

    /// Writes what was found when nothing is fetched any more.
    ///
    /// *Cancellation*: as for [`Self::run_found`].
    pub async fn save_found<F: Partition>(&self, log: &mut TextLog<F>) {
        let texts = Texts(self.probe);
        let board = &self.probe.board;
        let has_texts = || {
            let waits = |discovery: &mut Discovery<'_>, pages: &mut ProbeParts<'_, '_>| {
                discovery.has_texts(pages.setup)
            };
            self.probe.discover(waits) == Some(true)
        };
        while has_texts()
            && matches!(
                log.step(&texts, true, board.now()).await,
                Ok(StoreStep::Wrote)
            )
        {}
    }
}

/// The probe's memory, as the log sees it.
struct Texts<'p, 'a, B>(&'p Probe<'a, B>);

impl<B: Board> TextLedger for Texts<'_, '_, B> {
    fn next<'u>(&self, buffer: &'u mut [u8; LONGEST_TEXT]) -> Option<Text<'u>> {
        self.0
            .discover(move |discovery, pages| discovery.next_text(pages.setup, buffer))?
    }

    fn written(&self, text: &Text<'_>, at: u32) {
        let found = self
            .0
            .discover(|discovery, pages| discovery.text_written(pages, text, at));
        if found == Some(true) {
            self.0.board.found(&FoundEvent::Found { url: text.url });
        }
    }

    fn wanted(&self, text: &Text<'_>, at: u32) -> Option<TextKind> {
        self.0
            .discover(|discovery, pages| discovery.wanted_text(pages.setup, text, at))?
    }

    fn moved(&self, text: &Text<'_>, from: u32, to: Option<u32>) {
        self.0
            .discover(|discovery, pages| discovery.text_moved(pages.setup, text, from, to));
    }
}

// What the log is told, and what it says.
impl Discovery<'_> {
    fn next_text<'u>(
        &self,
        setup: &Setup<'_>,
        buffer: &'u mut [u8; LONGEST_TEXT],
    ) -> Option<Text<'u>> {
        let places = setup.found.pages.iter();
        if let Some(place) = places.into_iter().position(|page| page.unsaved.get()) {
            let kept = setup.found.kind(place) == Kind::Kept;
            let url = setup.found.url(place).filter(|_| kept);
            let kind = match &url {
                Some(_) => TextKind::Page(place as u16),
                None => TextKind::Free(place as u16),
            };
            let income = self.importance(place as u16);
            let value = value(income, setup.list_identity());
            let url = put(&url.unwrap_or_default(), buffer);
            return Some(Text { kind, value, url });
        }
        let (waiting, url) = self.queue.first()?;
        let kind = match waiting.retired {
            true => TextKind::Retired,
            false => TextKind::Candidate,
        };
        let value = value(LITTLE, 0);
        let url = put(&url, buffer);
        Some(Text { kind, value, url })
    }

    /// A text is there; true if it is that of a new candidate.
    fn text_written(&mut self, pages: &mut ProbeParts<'_, '_>, text: &Text<'_>, at: u32) -> bool {
        let setup = pages.setup;
        match text.kind {
            TextKind::Page(place) => {
                self.page_written(setup, place, text.url, at);
                false
            }
            TextKind::Free(place) => {
                let page = setup.found.pages.get(usize::from(place));
                if let Some(page) = page.filter(|page| page.kind.get() != Kind::Kept) {
                    page.unsaved.set(false);
                }
                false
            }
            TextKind::Candidate | TextKind::Retired => {
                let waiting = self.queue.first();
                self.queue.pop();
                let found = self.candidate(pages, text.url, at, None);
                let worth = waiting.map(|(waiting, _)| waiting.worth);
                self.raise_worth(setup, text.url, worth);
                found
            }
        }
    }

    /// What a text still says; `None` if another one or none counts.
    fn wanted_text(&self, setup: &Setup<'_>, text: &Text<'_>, at: u32) -> Option<TextKind> {
        let url = Url::parse(text.url).ok()?;
        let digest = digest(&url, &setup.config.key);
        if let Some(place) = self.frontier.bank().find(digest) {
            let page = setup.found.pages.get(usize::from(place))?;
            if page.text() == at {
                match page.kind.get() {
                    // Not before the place is its own in the log, too.
                    Kind::Kept if !page.unsaved.get() => return Some(TextKind::Page(place)),
                    Kind::Kept | Kind::Scout => return Some(TextKind::Candidate),
                    Kind::Listed | Kind::Free | Kind::Sitemap => {}
                }
            }
        }
        let candidate = self.frontier.candidates().find(digest);
        let is_candidate = candidate.is_some_and(|candidate| candidate.text() == at);
        // Without it, a page of the list would be back after a restart.
        if text.kind == TextKind::Retired && setup.is_retired(digest) {
            return Some(TextKind::Retired);
        }
        is_candidate.then_some(TextKind::Candidate)
    }

    /// A text was copied to another place of the log, or there was no room for it.
    fn text_moved(&mut self, setup: &Setup<'_>, text: &Text<'_>, from: u32, to: Option<u32>) {
        let Ok(url) = Url::parse(text.url) else {
            return;
        };
        let digest = digest(&url, &setup.config.key);
        if let Some(place) = self.frontier.bank().find(digest)
            && let Some(page) = setup.found.pages.get(usize::from(place))
            && page.text() == from
            && let Some(to) = to
        {
            return page.set_text(to);
        }
        let candidates = self.frontier.candidates_mut();
        match (candidates.find_mut(digest), to) {
            (Some(candidate), Some(to)) if candidate.text() == from => candidate.set_text(to),
            (Some(candidate), None) if candidate.text() == from => {
                // There was no room for it.
                candidates.remove(digest);
            }
            _ => {}
        }
    }
}

/// What is kept beside a URL.
fn value(income: f32, list: u64) -> u32 {
    u32::from(packed(income)) << 16 | list as u32 & 0xffff
}

/// In the upper half of a value, this bit says how the rest is to be read.
const FINE: u16 = 0x8000;
/// Bits of a fraction: to a two-thousandth.
const FRACTION: u32 = 10;
/// What is added to an exponent, which has five bits: from 2⁻¹⁶ on.
const BIAS: u32 = 16;

/// What a page has earned, in fifteen bits: five of an exponent and ten of a fraction. There are no
/// signs, and no figures that are large or small enough for more.
fn packed(income: f32) -> u16 {
    const LEAST: u32 = 127 - BIAS;
    // To the nearest step, carrying over into the exponent.
    let bits = income.to_bits().wrapping_add(1 << (22 - FRACTION)) >> (23 - FRACTION);
    let least = LEAST << FRACTION;
    let most = ((LEAST + 32) << FRACTION) - 1;
    // Also what is no number, or none above 0.
    let bits = if income > 0.0 {
        bits.clamp(least, most)
    } else {
        least
    };
    (bits - least) as u16 | FINE
}

/// What a page had earned, by what was kept.
fn income(value: u32) -> f32 {
    let kept = (value >> 16) as u16;
    if kept & FINE != 0 {
        let bits = u32::from(kept & !FINE) + ((127 - BIAS) << FRACTION);
        return f32::from_bits(bits << (23 - FRACTION));
    }
    // As it was kept before: half a number, sign and all, to a hundredth.
    let income = f32::from_bits(value & 0xffff_0000);
    if income.is_finite() { income } else { 0.0 }
}

fn put<'u>(url: &str, buffer: &'u mut [u8; LONGEST_TEXT]) -> &'u str {
    let (room, _) = buffer.split_at_mut(url.len().min(LONGEST_TEXT));
    room.iter_mut()
        .zip(url.bytes())
        .for_each(|(to, from)| *to = from);
    core::str::from_utf8(room).unwrap_or_default()
}

impl Setup<'_> {
    /// Is this the URL of a page of the list that has given way? Work: the list.
    fn is_retired(&self, wanted: u32) -> bool {
        (0..self.image.pages()).any(|index| {
            let page = self.image.page(index).ok();
            let url = page.and_then(|page| Url::parse(page.url).ok());
            !self.found.is_listed(index)
                && url.is_some_and(|url| digest(&url, &self.config.key) == wanted)
        })
    }
}

impl Discovery<'_> {
    /// Lets pages be written again whose importance is another than the log says, now and then.
    /// Work: linear in the pages, with a read of flash each.
    fn renew_texts(&mut self, setup: &Setup<'_>, now: Instant) {
        if self.renew_at > now {
            return;
        }
        self.renew_at = now + self.renew_after;
        self.renew_after = (self.renew_after * 2).min(RENEW_SELDOM);
        let mean = self.mean_importance();
        let bank = self.frontier.bank();
        for (place, page) in setup.found.pages.iter().enumerate() {
            if page.kind.get() == Kind::Kept && !page.unsaved.get() {
                let written = setup.found.value(page.text()).map_or(0.0, income);
                let today = bank.importance(place as u16) / mean;
                page.unsaved
                    .set(today > 2.0 * written || 2.0 * today < written);
            }
        }
    }

    /// Has anything to be written?
    fn has_texts(&self, setup: &Setup<'_>) -> bool {
        let mut pages = setup.found.pages.iter();
        !self.queue.is_empty() || pages.any(|page| page.unsaved.get())
    }

    /// The text of a page that is kept is there.
    fn page_written(&self, setup: &Setup<'_>, place: u16, url: &str, at: u32) {
        let Ok(url) = Url::parse(url) else {
            return;
        };
        let digest = digest(&url, &setup.config.key);
        let page = setup.found.pages.get(usize::from(place));
        // Another page may be there by now.
        if let Some(page) = page
            && page.kind.get() == Kind::Kept
            && self.frontier.bank().digest(place.into()) == digest
        {
            page.set_text(at);
            page.unsaved.set(false);
        }
    }

    /// A URL whose text is there asks for a place among the candidates; true if it got one.
    fn candidate(
        &mut self,
        pages: &mut ProbeParts<'_, '_>,
        url: &str,
        at: u32,
        income: Option<f32>,
    ) -> bool {
        let setup = pages.setup;
        let Ok(url) = Url::parse(url) else {
            return false;
        };
        let known = setup.host_of(&url);
        let Some(host) = known.or_else(|| self.host_for(pages, &url).ok()) else {
            return false;
        };
        let key = &setup.config.key;
        let digest = digest(&url, key);
        if self.frontier.bank().find(digest).is_some() {
            return false;
        }
        if let Some(known) = self.frontier.candidates_mut().find_mut(digest) {
            known.set_text(at);
            return false;
        }
        let mut newcomer = Candidate::new(digest, host, at);
        newcomer.set_worth(setup.found.worth_of(&url, setup.found.words_of(&url)));
        let directory = directory_digest(&url, key);
        let offer = self.frontier.offer(newcomer, directory);
        if let (Some(income), Some(candidate)) =
            (income, self.frontier.candidates_mut().find_mut(digest))
        {
            candidate.set_income(income, 0.0);
        }
        let taken = matches!(offer, Placement::Taken { .. });
        self.totals.found += u32::from(taken);
        taken
    }

    /// The link to a candidate has said what it may be worth.
    fn raise_worth(&mut self, setup: &Setup<'_>, url: &str, worth: Option<f32>) {
        if let (Ok(url), Some(worth)) = (Url::parse(url), worth) {
            let candidates = self.frontier.candidates_mut();
            if let Some(candidate) = candidates.find_mut(digest(&url, &setup.config.key)) {
                candidate.raise_worth(worth);
            }
        }
    }

    /// Takes over a text of an earlier run: a later one overrules it.
    fn take_text(&mut self, pages: &mut ProbeParts<'_, '_>, text: &Text<'_>, at: u32) {
        let setup = pages.setup;
        let places = setup.found.pages;
        match text.kind {
            TextKind::Candidate => {
                self.candidate(pages, text.url, at, Some(income(text.value)));
            }
            TextKind::Retired => {
                let Ok(url) = Url::parse(text.url) else {
                    return;
                };
                let digest = digest(&url, &setup.config.key);
                if let Some(place) = self.frontier.bank().find(digest)
                    && setup.found.is_listed(place.into())
                    && let Some(page) = places.get(usize::from(place))
                {
                    page.kind.set(Kind::Free);
                    let _ = self.frontier.retire(place, None, Verdict::Unknown);
                }
                self.candidate(pages, text.url, at, Some(income(text.value)));
            }
            TextKind::Free(place) => self.demote(setup, place),
            TextKind::Page(place) => {
                let same = text.value as u16 == setup.list_identity() as u16;
                let listed = usize::from(place) < setup.image.pages();
                // Of another list, a place among the list's own means nothing.
                let place = if listed && !same {
                    let free = |page: &super::FoundPage| page.kind.get() == Kind::Free;
                    let above = places.iter().skip(setup.image.pages());
                    let at = above.into_iter().position(free);
                    at.map(|at| (setup.image.pages() + at) as u16)
                } else {
                    Some(place)
                };
                match place.filter(|place| usize::from(*place) < places.len()) {
                    Some(place) => self.take_page_text(pages, place, text, at),
                    None => {
                        self.candidate(pages, text.url, at, Some(income(text.value)));
                    }
                }
            }
        }
    }

    fn take_page_text(
        &mut self,
        pages: &mut ProbeParts<'_, '_>,
        place: u16,
        text: &Text<'_>,
        at: u32,
    ) {
        let setup = pages.setup;
        let Ok(url) = Url::parse(text.url) else {
            return;
        };
        let key = &setup.config.key;
        let digest = digest(&url, key);
        // An earlier text of the same page, wherever it was then.
        match self.frontier.bank().find(digest) {
            Some(before) if setup.found.is_listed(before.into()) => return,
            Some(before) => self.demote(setup, before),
            None => {}
        }
        self.demote(setup, place);
        let host = setup.host_of(&url).or_else(|| {
            // It was seen before.
            let _ = self.host_for(pages, &url);
            self.host_for(pages, &url).ok()
        });
        let Some((host, page)) = host.zip(setup.found.pages.get(usize::from(place))) else {
            return;
        };
        if page.kind.get() == Kind::Listed {
            // The page of the list had given way to it.
            let _ = self.frontier.retire(place, None, Verdict::Unknown);
            page.kind.set(Kind::Free);
        }
        if self.frontier.restore(place, digest, income(text.value)) {
            page.kind.set(Kind::Kept);
            page.set_worth(setup.found.worth_of(&url, setup.found.words_of(&url)));
            page.set_text(at);
            page.host.set(host);
        }
    }

    /// A page that was found loses its place, and is a candidate again.
    fn demote(&mut self, setup: &Setup<'_>, place: u16) {
        if let Some(page) = setup.found.pages.get(usize::from(place))
            && page.kind.get() == Kind::Kept
        {
            let text = Some((page.host.get(), page.text()));
            let _ = self.frontier.retire(place, text, Verdict::Unknown);
            page.kind.set(Kind::Free);
        }
    }

    /// All texts were read: the scheduler gets the pages, each at its place.
    fn settle_texts(&mut self, pages: &mut ProbeParts<'_, '_>, now: Instant) -> TextsKept {
        let setup = pages.setup;
        let mut kept = TextsKept::default();
        let places = setup.found.len();
        let listed = setup.image.pages();
        let is_kept = |place: &usize| setup.found.kind(*place) == Kind::Kept;
        let count = |kind| (0..places).filter(move |place| setup.found.kind(*place) == kind);
        // A power cut may have left one too many.
        loop {
            let all =
                count(Kind::Kept).count() + count(Kind::Listed).filter(|at| *at < listed).count();
            self.totals.pages = all as u16;
            if all <= usize::from(self.totals.places) {
                break;
            }
            let bank = self.frontier.bank();
            let worth = |place: &usize| bank.importance(*place as u16);
            let least = (0..places)
                .filter(is_kept)
                .min_by(|one, other| worth(one).total_cmp(&worth(other)));
            match least {
                Some(least) => {
                    self.demote(setup, least as u16);
                    if let Some(page) = setup.found.pages.get(least) {
                        page.unsaved.set(true);
                    }
                }
                None => break,
            }
        }
        pages.restore(now);
        self.totals.found = 0;
        let all = if count(Kind::Kept).count() > 0 {
            listed
        } else {
            0
        };
        (0..all).for_each(|place| self.frontier.earned(place as u16, MEAN));
        let candidates = self.frontier.candidates().len();
        kept.candidates = candidates.min(u16::MAX.into()) as u16;
        kept.pages = count(Kind::Kept).count() as u16;
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pages_have_earned_is_kept_to_a_two_thousandth() {
        let mut earned = 2e-5;
        while earned < 6e4 {
            let kept = income(value(earned, 7));
            assert!((kept / earned - 1.0).abs() <= 1.0 / 2_048.0, "{earned}");
            earned *= 1.0137;
        }
        assert_eq!(value(1.0, 0x12_3456) & 0xffff, 0x3456);
        let extremes = [0.0, -1.0, 1e-9, f32::NAN];
        for earned in extremes.map(|earned| income(value(earned, 0))) {
            assert!((0.0..2e-5).contains(&earned), "{earned}");
        }
        assert!(income(value(1e9, 0)) > 6e4 && income(value(f32::INFINITY, 0)) > 6e4);
    }

    #[test]
    fn what_was_kept_before_is_read() {
        for earned in [0.004_f32, 0.1, 1.0, 37.5] {
            let kept = income(earned.to_bits() & 0xffff_0000 | 0x3456);
            assert!((kept / earned - 1.0).abs() <= 0.01, "{earned}");
        }
        assert_eq!(income(0x7f80_0000), 0.0, "infinity");
        assert_eq!(income(0), 0.0);
    }
}
