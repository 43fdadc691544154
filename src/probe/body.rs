//! The body of a page on its way by: shown to the board, then read for its fingerprint.

#[cfg(feature = "hints")]
use super::tellers::Ear;
use super::visit::Reading;
use super::{Board, Probe};
use crate::fetch::{Body, Head};

/// A piece of a page's body, as it streams by; see [`Board::body`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BodyPiece<'b> {
    /// The page's number.
    pub page: u16,
    /// What the head of the answer said.
    pub head: &'b Head,
    /// So many bytes of the body came before: 0 for the first piece of a visit.
    pub offset: u32,
    /// The bytes; none at the end of the body, or of what is read of it.
    pub bytes: &'b [u8],
}

/// Who reads a body, with the board looking on.
pub(super) struct Shown<'p, 'a, 'r, 'u, B> {
    pub reading: Reading<'r, 'u>,
    pub probe: &'p Probe<'a, B>,
    /// Who listens to a host's own word.
    #[cfg(feature = "hints")]
    pub ear: Ear<'p, 'a, B>,
    pub page: u16,
    pub offset: u32,
}

impl<B: Board> Body for Shown<'_, '_, '_, '_, B> {
    fn take(&mut self, head: &Head, bytes: &mut &[u8]) -> bool {
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
        #[cfg(feature = "hints")]
        let before = *bytes;
        let taken = self.reading.take(head, bytes);
        #[cfg(feature = "hints")]
        self.ear
            .hear(head, before, if taken { 0 } else { bytes.len() });
        taken
    }
}
