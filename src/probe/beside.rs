//! Requests beside the pages, for who shares the probe's network: updates.

use super::connection::SlotConnection;
use super::names::Names;
use super::origin::Origin;
use super::{Board, Probe, Slot};
use crate::fetch::{Ask, Body, Connect, Resolve};

impl<B: Board> Probe<'_, B> {
    /// Makes one request that belongs to no page, in a slot that fetches none, on a connection of
    /// its own; true if the answer came whole. Names are looked up as for pages: in the owner's
    /// table first. It is the code that fetches pages, so it takes no room of its own.
    ///
    /// Work: bounded by the limits of `ask`. *Cancellation*: the connection is dropped where it is.
    pub async fn request<C: Connect, R: Resolve>(
        &self,
        slot: &mut Slot<'_, C, R>,
        ask: &mut Ask<'_>,
        body: &mut dyn Body,
    ) -> bool {
        let Slot {
            connect,
            resolve,
            buffer,
        } = slot;
        let now = self.board.now();
        let mut connection = SlotConnection::new(connect);
        let is_whole = {
            let mut names = Names {
                probe: self,
                origin: Origin::Unlisted(ask.request.url),
                resolve,
                kept_until: None,
            };
            let answered = connection
                .request(ask, now, &mut names, buffer, body, &mut ())
                .await;
            answered.is_ok()
        };
        connection.end(true, now).await;
        is_whole
    }
}
