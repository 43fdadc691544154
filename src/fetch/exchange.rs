//! One exchange on an open connection: the request out, the response in, through one buffer.

use core::fmt;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::Poll;

use embedded_io_async::{Read, Write};

use super::client::Ask;
use super::request::Request;
use super::response::{Head, Response, ResponseError, Step};
use super::tee::Tee;
use super::url::{Url, UrlError};
use crate::fetch::date::HttpDate;
use crate::time::Duration;

/// What kind of answer a response is to a request for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum AnswerKind {
    /// 2xx: here it is. Whether it changed is for its fingerprint to say.
    Page,
    /// 304: the version we know is current.
    NotModified,
    /// 3xx: it is somewhere else, see [`Fetched::target`].
    Redirect,
    /// 404 or 410: it is no longer there.
    Gone,
    /// 429 or 503: come back later, see [`Fetched::wait`].
    Busy,
    /// Any other 4xx: the server does not give it to us.
    Refused,
    /// Any other 5xx: the server is broken.
    Broken,
    /// 304 to a question that named no version, a redirect to nowhere, a status that does not
    /// exist.
    Nonsense,
}

impl AnswerKind {
    fn of(status: u16, conditional: bool, has_target: bool) -> Self {
        match status {
            200..=299 => Self::Page,
            304 if conditional => Self::NotModified,
            301..=303 | 307 | 308 if has_target => Self::Redirect,
            404 | 410 => Self::Gone,
            429 | 503 => Self::Busy,
            400..=499 => Self::Refused,
            500..=599 => Self::Broken,
            _ => Self::Nonsense,
        }
    }
}

/// What a fetch brought: all that scheduling and learning want to know.
#[derive(Clone, Debug)]
pub struct Fetched<'b> {
    /// What kind of answer it is.
    pub kind: AnswerKind,
    /// What the head said: status, tag, dates, cache lifetime, encoding.
    pub head: Head,
    /// Bytes of body that arrived and were counted.
    pub bytes: u32,
    /// The page is longer than the limit; what was fingerprinted is its beginning.
    pub truncated: bool,
    /// The connection may be used for another request.
    pub reusable: bool,
    /// Where a redirect leads, joined with the URL that was asked for. In the buffer that was lent.
    /// With feature `hints`, of a page: where its `Link` header says that a feed is.
    pub target: Option<Result<Url<'b>, UrlError>>,
}

impl Fetched<'_> {
    /// How long the server wants to be left alone: `Retry-After`, by the response's own clock or by
    /// `now`.
    pub fn wait(&self, now: Option<HttpDate>) -> Option<Duration> {
        self.head.retry_after?.wait(self.head.date, now)
    }

    /// How long this version is promised to stay good: `max-age`, else `Expires` by the response's
    /// own clock or by `now` (RFC 9111 §4.2.1).
    pub fn lifetime(&self, now: Option<HttpDate>) -> Option<Duration> {
        match (self.head.max_age, self.head.expires) {
            (Some(seconds), _) => Some(Duration::from_secs(seconds.into())),
            (None, Some(expires)) => Some(expires.since(self.head.date.or(now)?)),
            (None, None) => None,
        }
    }

    /// How long ago the page last changed, by the server's word and clock.
    pub fn age(&self, now: Option<HttpDate>) -> Option<Duration> {
        Some(self.head.date.or(now)?.since(self.head.last_modified?))
    }
}

/// Why a fetch brought nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FetchError<E> {
    /// The connection failed inside the response.
    Connection(E),
    /// The connection failed before a byte of the response came. On a connection that was used
    /// before, this only means that the server had closed it: try again on a new one.
    Unanswered(E),
    /// The server's answer makes no sense, or does not end.
    Response(ResponseError),
    /// The buffer that was lent is empty.
    NoBuffer,
    /// Whom the body goes to wants no more of it, see [`Body::is_over`].
    #[cfg(feature = "update")]
    Unwanted,
}

impl<E: fmt::Debug> fmt::Display for FetchError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) | Self::Unanswered(error) => {
                write!(f, "connection failed: {error:?}")
            }
            Self::Response(error) => error.fmt(f),
            #[cfg(feature = "update")]
            Self::Unwanted => f.write_str("the response is not what was asked for"),
            Self::NoBuffer => {
                f.write_str("fetch was lent an empty buffer, expected at least one byte")
            }
        }
    }
}

impl<E: fmt::Debug> core::error::Error for FetchError<E> {}

impl<E> FetchError<E> {
    /// Did it fail before a byte of the response came?
    pub fn is_unanswered(&self) -> bool {
        matches!(
            self,
            Self::Unanswered(_) | Self::Response(ResponseError::Closed)
        )
    }
}

impl<E> From<ResponseError> for FetchError<E> {
    fn from(error: ResponseError) -> Self {
        Self::Response(error)
    }
}

/// Where a body goes, piece by piece.
pub trait Body {
    /// Takes the next bytes of a response with this head; none at its end. False if there is work
    /// left: then everybody else gets a turn before what is left of them is offered again.
    fn take(&mut self, head: &Head, bytes: &mut &[u8]) -> bool;

    /// Does it refuse the rest? Asked with each piece: then the connection is given up at once, and
    /// the exchange ends with [`FetchError::Unwanted`].
    #[cfg(feature = "update")]
    fn is_over(&self) -> bool {
        false
    }
}

/// Runs `work` until it or `deadline` is done; `None` if the deadline came first.
///
/// Both are taken pinned (`core::pin::pin!`), because a future that moves them would hold room for
/// them twice.
///
/// *Cancellation*: dropping it leaves both as they are.
// A future without a state of its own: an async function would be larger.
pub fn within<T>(
    mut deadline: Pin<&mut impl Future<Output = ()>>,
    mut work: Pin<&mut impl Future<Output = T>>,
) -> impl Future<Output = Option<T>> {
    poll_fn(move |context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => deadline.as_mut().poll(context).map(|()| None),
    })
}

/// Lets everybody else have a turn: other slots, and whoever watches over a deadline.
///
/// *Cancellation*: safe.
pub(crate) fn others_first() -> impl Future<Output = ()> {
    let mut waited = false;
    poll_fn(move |context| {
        if core::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// Makes one request on an open connection; the body of the response goes to `body`.
///
/// Work: bounded by the limits of `ask`. *Cancellation*: dropping the future leaves the connection
/// in the middle of a response; end it.
#[allow(clippy::manual_async_fn)] // An async function would hold its arguments twice.
pub(super) fn exchange<'b, C: Read + Write, T: Tee>(
    connection: &mut C,
    ask: &Ask<'_>,
    buffer: &'b mut [u8],
    body: &mut dyn Body,
    tee: &mut T,
) -> impl Future<Output = Result<Fetched<'b>, FetchError<C::Error>>> {
    async move {
        let request = &ask.request;
        send(connection, request, buffer).await?;
        let mut response = Response::new(request.method, ask.limits);
        #[cfg(feature = "discover")]
        response.read_by(request.agent.token());
        let leftover = receive(connection, request, &mut response, buffer, body, tee).await?;
        let target = response
            .location()
            .map(|location| request.url.join(location, buffer));
        let head = *response.head();
        Ok(Fetched {
            kind: AnswerKind::of(head.status, request.is_conditional(), target.is_some()),
            bytes: response.received(),
            truncated: response.truncated(),
            // Bytes that nobody asked for: the connection is not used again.
            reusable: response.reusable() && !leftover && request.keep_alive,
            head,
            target,
        })
    }
}

/// Writes the request. *Cancellation*: part of it may be on its way; end the connection.
async fn send<C: Write>(
    connection: &mut C,
    request: &Request<'_>,
    buffer: &mut [u8],
) -> Result<(), FetchError<C::Error>> {
    if buffer.is_empty() {
        return Err(FetchError::NoBuffer);
    }
    let mut sent = 0;
    loop {
        let count = request.render(sent, buffer);
        let mut piece = buffer.get(..count).unwrap_or_default();
        // Not `write_all`: it panics when a stack takes nothing.
        while !piece.is_empty() {
            let taken = connection
                .write(piece)
                .await
                .map_err(FetchError::Unanswered)?;
            if taken == 0 {
                return Err(ResponseError::Closed.into());
            }
            piece = piece.get(taken..).unwrap_or_default();
        }
        sent += count;
        if count < buffer.len() {
            return connection.flush().await.map_err(FetchError::Unanswered);
        }
    }
}

/// Reads until the response is complete; true if bytes are left that do not belong to it.
/// *Cancellation*: as for [`exchange`].
#[allow(clippy::manual_async_fn)] // An async function would hold its arguments twice.
fn receive<C: Read, T: Tee>(
    connection: &mut C,
    request: &Request<'_>,
    response: &mut Response,
    buffer: &mut [u8],
    body: &mut dyn Body,
    tee: &mut T,
) -> impl Future<Output = Result<bool, FetchError<C::Error>>> {
    async move {
        loop {
            let count = connection.read(buffer).await.map_err(|error| {
                if response.started() {
                    FetchError::Connection(error)
                } else {
                    FetchError::Unanswered(error)
                }
            })?;
            let mut input = buffer.get(..count).unwrap_or_default();
            // Without the feature there is nobody but `()`: not even a place to wait is paid for.
            #[cfg(feature = "collect")]
            tee.received(request, input).await;
            #[cfg(not(feature = "collect"))]
            let _ = (&*tee, request);
            let mut over = input.is_empty();
            if over {
                response.end()?;
            }
            loop {
                let mut piece: &[u8] = &[];
                if !over {
                    match response.step(&mut input)? {
                        Step::Head => continue,
                        Step::Body(bytes) => piece = bytes,
                        Step::More => break,
                        Step::Done => over = true,
                    }
                }
                while !body.take(response.head(), &mut piece) {
                    others_first().await;
                }
                #[cfg(feature = "update")]
                if body.is_over() {
                    return Err(FetchError::Unwanted);
                }
                if over {
                    return Ok(!input.is_empty());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_means_what_was_asked_for() {
        let of = |status| AnswerKind::of(status, true, true);
        assert_eq!(of(204), AnswerKind::Page);
        assert_eq!(of(304), AnswerKind::NotModified);
        assert_eq!(of(308), AnswerKind::Redirect);
        assert_eq!(of(300), AnswerKind::Nonsense);
        assert_eq!(of(410), AnswerKind::Gone);
        assert_eq!(of(503), AnswerKind::Busy);
        assert_eq!(of(403), AnswerKind::Refused);
        assert_eq!(of(502), AnswerKind::Broken);
        assert_eq!(of(600), AnswerKind::Nonsense);
        // Not modified since when, and redirected to where?
        assert_eq!(AnswerKind::of(304, false, true), AnswerKind::Nonsense);
        assert_eq!(AnswerKind::of(302, true, false), AnswerKind::Nonsense);
    }
}
