//! What is written to the log of URL texts. What a restart makes of it is in `restored.rs`.
//!
//! | text | written |
//! |---|---|
//! | a candidate | before it is one |
//! | a page | when it is kept, and again if its importance has doubled or halved since: after ten minutes, twice as many, and so on |
//! | a free place | when the page there has gone and no other has come |
//! | a retired page | when a page of the list gives way |
//!
//! Of each place and of each URL the last text counts. Its value holds what the page has earned (see
//! `earned.rs`), and a part of the list's identity: places below the list's length mean something
//! only as long as the list is the same.

use core::ops::ControlFlow;

use super::earned::{income, value};
use super::kept::{importance, mean_importance};
use super::queue::UrlQueue;
use super::urls::KnownUrls;
use super::{Discovery, FoundEvent, FoundPage, Kind, ProbeParts, TextsKept, restored};
use crate::discover::Frontier;
use crate::probe::persist::Persistence;
use crate::probe::setup::Setup;
use crate::probe::{Board, Event, Probe};
use crate::store::{LONGEST_TEXT, Partition, StoreStep, Text, TextKind, TextLedger, TextLog};
use crate::time::{Duration, Instant};

/// The time between two looks whether something has to be written.
const LOOK: Duration = Duration::from_millis(250);

/// What a candidate has earned when it is found, compared with the pages that are kept.
const LITTLE: f32 = 0.1;

/// How long importances in the log are not looked at, at first …
const RENEW: Duration = Duration::from_secs(600);
/// … and at most.
const RENEW_SELDOM: Duration = Duration::from_secs(6 * 3_600);

impl<B: Board> Persistence<'_, '_, B> {
    /// Takes over which pages an earlier run has found. Call it before [`Self::restore`], which
    /// brings back what was learnt of them. With `trust` off the log is opened, but nothing in it
    /// is believed.
    ///
    /// The partition may have 2 MiB: a larger one does not compile.
    ///
    /// *Cancellation*: start over.
    pub async fn restore_found<F: Partition>(
        &self,
        log: &mut TextLog<F>,
        trust: bool,
    ) -> TextsKept {
        // Nobody could say where a text behind it is.
        const {
            assert!(F::SECTORS * F::ERASE_SIZE <= 4 * FoundPage::MOST_TEXT as usize);
        }
        let probe = self.probe;
        let opened = log.open(|text, at| {
            if trust {
                probe.discover(|discovery, pages| {
                    restored::take_text(&mut discovery.urls, pages, text, at);
                });
            }
        });
        if opened.await.is_err() {
            probe.board.log(&Event::NotStored);
        }
        let now = probe.board.now();
        let kept = probe.discover(|discovery, pages| {
            let Discovery { urls, kept, .. } = discovery;
            restored::settle_texts(urls, kept, pages, now)
        });
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
            let frontier = &discovery.urls.frontier;
            discovery.renewal.renew(frontier, pages.setup, now);
            has_texts(&discovery.urls.queue, pages.setup)
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
                has_texts(&discovery.urls.queue, pages.setup)
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
            .discover(move |discovery, pages| next_text(&discovery.urls, pages.setup, buffer))?
    }

    fn written(&self, text: &Text<'_>, at: u32) {
        let found = self
            .0
            .discover(|discovery, pages| text_written(&mut discovery.urls, pages, text, at));
        if found == Some(true) {
            self.0.board.found(&FoundEvent::Found { url: text.url });
        }
    }

    fn wanted(&self, text: &Text<'_>, at: u32) -> Option<TextKind> {
        self.0.discover(|discovery, pages| {
            let frontier = &discovery.urls.frontier;
            wanted_text(frontier, pages.setup, text, at)
        })?
    }

    fn moved(&self, text: &Text<'_>, from: u32, to: Option<u32>) {
        self.0.discover(|discovery, pages| {
            let frontier = &mut discovery.urls.frontier;
            text_moved(frontier, pages.setup, text, from, to);
        });
    }
}

/// What has to be written next, if anything.
fn next_text<'u>(
    urls: &KnownUrls<'_>,
    setup: &Setup<'_>,
    buffer: &'u mut [u8; LONGEST_TEXT],
) -> Option<Text<'u>> {
    let places = setup.found.pages.iter();
    if let Some(place) = places.into_iter().position(|page| page.is_unsaved()) {
        let kept = setup.found.kind(place) == Kind::Kept;
        let url = setup.found.url(place).filter(|_| kept);
        let kind = match &url {
            Some(_) => TextKind::Page(place as u16),
            None => TextKind::Free(place as u16),
        };
        let income = importance(&urls.frontier, place as u16);
        let value = value(income, setup.list_identity());
        let url = put(&url.unwrap_or_default(), buffer);
        return Some(Text { kind, value, url });
    }
    let (waiting, url) = urls.queue.first()?;
    let kind = match waiting.retired {
        true => TextKind::Retired,
        false => TextKind::Candidate,
    };
    let value = value(LITTLE, 0);
    let url = put(&url, buffer);
    Some(Text { kind, value, url })
}

/// A text is there; true if it is that of a new candidate.
fn text_written(
    urls: &mut KnownUrls<'_>,
    pages: &mut ProbeParts<'_, '_>,
    text: &Text<'_>,
    at: u32,
) -> bool {
    let setup = pages.setup;
    match text.kind {
        TextKind::Page(place) => {
            page_written(&urls.frontier, setup, place, text.url, at);
            false
        }
        TextKind::Free(place) => {
            let page = setup.found.pages.get(usize::from(place));
            if let Some(page) = page.filter(|page| page.kind() != Kind::Kept) {
                page.set_unsaved(false);
            }
            false
        }
        TextKind::Candidate | TextKind::Retired => {
            let waiting = urls.queue.first();
            urls.queue.pop();
            let found = urls.offer(pages, text.url, at, None);
            let worth = waiting.map(|(waiting, _)| waiting.worth);
            urls.raise_worth(setup, text.url, worth);
            found
        }
    }
}

/// What a text still says; `None` if another one or none counts.
fn wanted_text(
    frontier: &Frontier<'_>,
    setup: &Setup<'_>,
    text: &Text<'_>,
    at: u32,
) -> Option<TextKind> {
    let digest = setup.digest_of(text.url)?;
    if let Some(place) = frontier.bank().find(digest) {
        let page = setup.found.pages.get(usize::from(place))?;
        if page.text() == at {
            match page.kind() {
                // Not before the place is its own in the log, too.
                Kind::Kept if !page.is_unsaved() => return Some(TextKind::Page(place)),
                Kind::Kept | Kind::Scout => return Some(TextKind::Candidate),
                Kind::Listed | Kind::Free | Kind::Sitemap => {}
            }
        }
    }
    let candidate = frontier.candidates().find(digest);
    let is_candidate = candidate.is_some_and(|candidate| candidate.text() == at);
    // Without it, a page of the list would be back after a restart.
    if text.kind == TextKind::Retired && setup.is_retired(digest) {
        return Some(TextKind::Retired);
    }
    is_candidate.then_some(TextKind::Candidate)
}

/// A text was copied to another place of the log, or there was no room for it.
fn text_moved(
    frontier: &mut Frontier<'_>,
    setup: &Setup<'_>,
    text: &Text<'_>,
    from: u32,
    to: Option<u32>,
) {
    let Some(digest) = setup.digest_of(text.url) else {
        return;
    };
    if let Some(place) = frontier.bank().find(digest)
        && let Some(page) = setup.found.pages.get(usize::from(place))
        && page.text() == from
        && let Some(to) = to
    {
        return page.set_text(to);
    }
    let candidates = frontier.candidates_mut();
    match (candidates.find_mut(digest), to) {
        (Some(candidate), Some(to)) if candidate.text() == from => candidate.set_text(to),
        (Some(candidate), None) if candidate.text() == from => {
            // There was no room for it.
            candidates.remove(digest);
        }
        _ => {}
    }
}

/// The text of a page that is kept is there.
fn page_written(frontier: &Frontier<'_>, setup: &Setup<'_>, place: u16, url: &str, at: u32) {
    let digest = setup.digest_of(url);
    let page = setup.found.pages.get(usize::from(place));
    // Another page may be there by now.
    if let Some(page) = page
        && page.kind() == Kind::Kept
        && Some(frontier.bank().digest(place.into())) == digest
    {
        page.set_text(at);
        page.set_unsaved(false);
    }
}

/// Has anything to be written?
fn has_texts(queue: &UrlQueue<'_>, setup: &Setup<'_>) -> bool {
    let mut pages = setup.found.pages.iter();
    !queue.is_empty() || pages.any(|page| page.is_unsaved())
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
            let page = self.image.page(index);
            !self.found.is_listed(index)
                && page.is_ok_and(|page| self.digest_of(page.url) == Some(wanted))
        })
    }
}

/// When importances in the log are compared with those of today.
#[derive(Debug)]
pub(super) struct Renewal {
    at: Instant,
    /// How long after that again.
    after: Duration,
}

impl Renewal {
    /// The first comparison comes a while after this.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            at: now + RENEW,
            after: RENEW,
        }
    }

    /// Lets pages be written again whose importance is another than the log says, now and then.
    /// Work: linear in the pages, with a read of flash each.
    fn renew(&mut self, frontier: &Frontier<'_>, setup: &Setup<'_>, now: Instant) {
        if self.at > now {
            return;
        }
        self.at = now + self.after;
        self.after = (self.after * 2).min(RENEW_SELDOM);
        let mean = mean_importance(frontier);
        let bank = frontier.bank();
        for (place, page) in setup.found.pages.iter().enumerate() {
            if page.kind() == Kind::Kept && !page.is_unsaved() {
                let written = setup.found.value(page.text()).map_or(0.0, income);
                let today = bank.importance(place as u16) / mean;
                page.set_unsaved(today > 2.0 * written || 2.0 * today < written);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Config;
    use crate::discover::{Candidate, FrontierMemory, FrontierSettings};
    use crate::image::{Image, build};
    use crate::rank::Account;

    /// A page of the list that gave way may be found again: then there are two texts of it, and
    /// the older one is kept as well, for it says that the page is not in the list's place.
    #[test]
    fn a_candidate_is_lost_with_its_own_text_only() {
        let bytes = build(&Config::new("dunlin/0.1"), &[], &[], &[], &[]);
        let image = Image::parse(&bytes).expect("an image of our own");
        let setup = Setup::new(image, false).expect("a good configuration");
        let memory = FrontierMemory {
            accounts: &mut [Account::FREE; 1],
            order: &mut [0; 1],
            candidates: &mut [Candidate::default(); 8],
            doorkeeper: &mut [0; 64],
            directories: &mut [0; 64],
        };
        let mut frontier = Frontier::new(memory, FrontierSettings::DEFAULT, 1);
        let text = Text {
            kind: TextKind::Retired,
            value: 0,
            url: "http://a.test/retired",
        };
        let own = setup.digest_of(text.url).expect("a URL");
        let _ = frontier.offer(Candidate::new(own, 0, 70), 1);
        let mut moved = |from, to| {
            text_moved(&mut frontier, &setup, &text, from, to);
            let candidate = frontier.candidates().find(own);
            candidate.map(|candidate| candidate.text())
        };
        assert_eq!(moved(30, None), Some(70), "an older text is lost");
        assert_eq!(moved(30, Some(90)), Some(70), "an older text is moved");
        assert_eq!(moved(70, Some(90)), Some(90));
        assert_eq!(moved(90, None), None);
    }
}
