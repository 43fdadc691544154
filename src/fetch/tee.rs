//! A tee between a connection and who reads it: bytes are shown as they come off the wire, and the
//! wire waits until they have been looked at.

#[cfg(feature = "collect")]
use core::future::{Future, ready};

#[cfg(feature = "collect")]
use super::request::Request;

/// Who is shown an answer as it comes, head and framing included.
pub(crate) trait Tee {
    /// Is shown the next bytes of the answer to a request. Until it is done, nothing more is read
    /// from the connection: that is how a slow reader slows down a fast server.
    ///
    /// *Cancellation*: the exchange is given up.
    #[cfg(feature = "collect")]
    fn received(&mut self, request: &Request<'_>, bytes: &[u8]) -> impl Future<Output = ()>;
}

/// A reader that keeps no copy.
impl Tee for () {
    #[cfg(feature = "collect")]
    fn received(&mut self, _: &Request<'_>, _: &[u8]) -> impl Future<Output = ()> {
        ready(())
    }
}

#[cfg(feature = "probe")]
impl<T: Tee> Tee for &mut T {
    #[cfg(feature = "collect")]
    fn received(&mut self, request: &Request<'_>, bytes: &[u8]) -> impl Future<Output = ()> {
        (**self).received(request, bytes)
    }
}
