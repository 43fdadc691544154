//! The way to the update server: one request at a time, on a connection of its own.

use crate::fetch::{Ask, Body, Client, Connect, Resolve};

/// Makes requests for a [`Puller`](super::Puller). On a device that is the probe, by its `request`:
/// then updates come by the code that fetches pages, and need none of their own.
#[allow(async_fn_in_trait)]
pub trait Transport {
    /// Makes a request, and hands the answer to `body`; true if it came whole.
    ///
    /// *Cancellation*: the connection is not used again.
    async fn request(&mut self, ask: &mut Ask<'_>, body: &mut dyn Body) -> bool;
}

/// A network without a probe.
#[derive(Debug)]
pub struct Network<'n, C, R> {
    /// Opens connections to the update server.
    pub connect: &'n mut C,
    /// Turns names into addresses.
    pub resolve: &'n mut R,
    /// The window that everything passes through: 512 bytes or more.
    pub buffer: &'n mut [u8],
}

impl<C: Connect, R: Resolve> Transport for Network<'_, C, R> {
    /// *Cancellation*: the connection is not used again.
    async fn request(&mut self, ask: &mut Ask<'_>, body: &mut dyn Body) -> bool {
        let mut client = Client::new(&mut *self.connect);
        let answer = client.request(ask, self.resolve, self.buffer, body).await;
        let is_whole = answer.is_ok();
        client.finish().await;
        is_whole
    }
}
