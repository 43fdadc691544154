//! The body of a page on its way by: shown to the board, then read for its fingerprint.

use super::discovering::{self, JudgedTexts};
use super::setup::Setup;
use super::tellers::Ear;
use super::verdicts::Judges;
use super::visit::{Finding, PageVisit, Reading, VisitAnswer};
use super::{Board, Probe};
use crate::fetch::{Body, Head};

/// A piece of a page's body, as it streams by; see [`Board::body`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BodyPiece<'b> {
    /// The number of the page.
    pub page: u16,
    /// What the head of the answer said.
    pub head: &'b Head,
    /// So many bytes of the body came before: 0 for the first piece of a visit.
    pub offset: u32,
    /// The bytes; none at the end of the body, or of what is read of it.
    pub bytes: &'b [u8],
}

/// What an answer is held against besides the rules for all pages: it outlives the reading, which
/// borrows it.
pub(super) struct Criteria<'a> {
    /// What of the page counts as a change.
    #[cfg(feature = "filter")]
    filter: crate::catalog::PageFilter<'a>,
    #[cfg(not(feature = "filter"))]
    filter: core::marker::PhantomData<&'a ()>,
    /// URLs that a robots.txt should judge and the image has not.
    judged: JudgedTexts,
}

impl<'a> Criteria<'a> {
    pub(super) fn new<B: Board>(probe: &Probe<'a, B>, visit: &PageVisit<'a>, page: u16) -> Self {
        Self {
            #[cfg(feature = "filter")]
            filter: probe.setup.filter(page.into()),
            #[cfg(not(feature = "filter"))]
            filter: core::marker::PhantomData,
            judged: JudgedTexts::of(probe, visit, page),
        }
    }

    /// Judges for URLs that the image has not; the others are still to be added.
    pub(super) fn judges(&self) -> Judges<'_> {
        let mut judges = Judges::new();
        self.judged.add_to(&mut judges);
        judges
    }

    fn reading<'r, 'u>(
        &'r self,
        visit: &PageVisit<'a>,
        judges: &'r mut Judges<'u>,
        setup: &'r Setup<'a>,
    ) -> Reading<'r, 'u> {
        #[cfg(feature = "filter")]
        return visit.reading_filtered(judges, setup, &self.filter);
        #[cfg(not(feature = "filter"))]
        visit.reading(judges, setup)
    }

    /// A robots.txt was read to its end: what it says of those URLs is remembered.
    pub(super) fn judge<B: Board>(&self, probe: &Probe<'_, B>, judges: &Judges<'_>, head: &Head) {
        self.judged.judge(probe, judges, head);
    }
}

/// Who reads a body, with the board looking on.
pub(super) struct ShownBody<'p, 'a, 'r, 'u, B> {
    reading: Reading<'r, 'u>,
    probe: &'p Probe<'a, B>,
    /// Who listens to a host's own word.
    ear: Ear<'p, 'a, B>,
    /// Who looks for what the body leads to.
    links: discovering::Reading<'p, 'a, 'u, B>,
    page: u16,
    offset: u32,
}

impl<'p, 'a, 'r, 'u, B: Board> ShownBody<'p, 'a, 'r, 'u, B> {
    /// A reader for the answer to what a visit asks for.
    pub(super) fn new(
        probe: &'p Probe<'a, B>,
        visit: &'u PageVisit<'a>,
        page: u16,
        ear: Ear<'p, 'a, B>,
        judges: &'r mut Judges<'u>,
        criteria: &'r Criteria<'a>,
    ) -> Self
    where
        'p: 'r,
    {
        Self {
            reading: criteria.reading(visit, judges, &probe.setup),
            probe,
            ear,
            links: discovering::Reading::new(probe, visit, page),
            page,
            offset: 0,
        }
    }

    /// The answer has come to its end: what was found in it, and the fingerprint of the version of
    /// a page that it brought, if any.
    pub(super) fn finish(mut self, answer: &VisitAnswer) -> (Finding<'r, 'u>, Option<u64>) {
        self.ear.finish(answer);
        let finding = self.reading.finish();
        #[cfg(feature = "filter")]
        let finding = finding.judged(answer, |found| {
            self.probe.board.fingerprint(self.page, found)
        });
        let version = finding.version(answer);
        self.links.finish(version.is_some());
        (finding, version)
    }
}

impl<B: Board> Body for ShownBody<'_, '_, '_, '_, B> {
    fn take(&mut self, head: &Head, all: &mut &[u8]) -> bool {
        let (mut bytes, later) = all
            .split_at_checked(self.ear.breath())
            .unwrap_or((all, &[]));
        // Not robots.txt, and not what a server sends instead of a page.
        if matches!(self.reading, Reading::Page(_)) && (200..300).contains(&head.status) {
            self.probe.board.body(BodyPiece {
                page: self.page,
                head,
                offset: self.offset,
                bytes,
            });
            self.offset = self.offset.saturating_add(bytes.len() as u32);
        }
        let before = bytes;
        let taken = self.reading.take(head, &mut bytes);
        self.ear
            .hear(head, before, if taken { 0 } else { bytes.len() });
        self.links.overhear(head, before, bytes.len());
        let unread = if taken { 0 } else { bytes.len() } + later.len();
        *all = all.get(all.len() - unread..).unwrap_or_default();
        taken && later.is_empty()
    }
}
