//! A slot's connection: how long it is kept for the next request to the same host, and what a
//! failure on it means for the page.

use embedded_io_async::{Error as _, ErrorKind};

use super::Failure;
use super::visit::VisitAnswer;
use crate::fetch::{Ask, Body, Client, ClientError, Connect, FetchError, Resolve, Tee, TlsError};
use crate::time::{Duration, Instant};

/// A next request that is further away gets a connection of its own: many servers close an idle one
/// after five seconds.
pub(super) const NEAR: Duration = Duration::from_secs(4);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// The request was made and failed.
    Failed(Failure),
    /// The connection is of no use for this request; a new one may be. Nothing has been asked.
    Stale,
    /// The server closed a connection that was used before without a byte of an answer. It may
    /// have seen the request.
    Lost,
}

/// At most one connection, from its opening to its end.
pub(super) struct SlotConnection<'c, C: Connect + 'c> {
    client: Client<'c, C>,
    /// The host of the page for which the connection is kept.
    host: u16,
    /// A connection that is kept may be used again until then.
    until: Instant,
}

impl<'c, C: Connect> SlotConnection<'c, C> {
    /// A connection that is not open yet.
    pub(super) fn new(connect: &'c mut C) -> Self {
        Self {
            client: Client::new(connect),
            host: 0,
            until: Instant::ZERO,
        }
    }

    /// Makes a request.
    ///
    /// *Cancellation*: the connection is not used again.
    pub(super) async fn request<R: Resolve<Error = Unanswered>, T: Tee>(
        &mut self,
        ask: &mut Ask<'_>,
        now: Instant,
        resolve: &mut R,
        buffer: &mut [u8],
        body: &mut dyn Body,
        tee: T,
    ) -> Result<VisitAnswer, Unanswered> {
        let sent = if self.is_due(now) {
            Err(ClientError::Stale)
        } else {
            self.client
                .request_with(ask, resolve, buffer, body, tee)
                .await
        };
        let why = match sent {
            Ok(fetched) => return Ok(VisitAnswer::new(&fetched)),
            Err(why) => why,
        };
        Err(Unanswered::Failed(match why {
            ClientError::Stale | ClientError::Resolve(Unanswered::Stale) => {
                self.client.finish().await;
                return Err(Unanswered::Stale);
            }
            ClientError::Lost | ClientError::Resolve(Unanswered::Lost) => {
                self.client.finish().await;
                return Err(Unanswered::Lost);
            }
            ClientError::NeedsTls => Failure::Url,
            ClientError::Resolve(Unanswered::Failed(why)) => why,
            ClientError::NoAddress => Failure::Name,
            ClientError::Refused(_) => Failure::PrivateAddress,
            ClientError::Unreachable => Failure::NoIpv6,
            ClientError::Connect(why) => {
                C::tls_error(&why).map_or(Failure::Connection, Failure::Tls)
            }
            // Not the server's fault.
            ClientError::Exchange(FetchError::Connection(why) | FetchError::Unanswered(why))
                if why.kind() == ErrorKind::OutOfMemory =>
            {
                Failure::Tls(TlsError::Memory)
            }
            ClientError::Exchange(_) => Failure::Response,
        }))
    }

    /// Lets the connection be used again for a while, if the server keeps it open. The page has
    /// waited at the gate of `host`.
    pub(super) fn keep(&mut self, host: u16, now: Instant) {
        if self.client.is_reusable() {
            self.host = host;
            self.until = now + NEAR;
        }
    }

    /// A connection that is kept is not used again.
    pub(super) fn expire(&mut self) {
        self.until = Instant::ZERO;
    }

    /// The host whose connection is kept, and until when.
    pub(super) fn kept(&self) -> Option<(u16, Instant)> {
        self.client.is_open().then_some((self.host, self.until))
    }

    /// Is a connection open that must not be used any more?
    fn is_due(&self, now: Instant) -> bool {
        self.client.is_open() && (self.until <= now || !self.client.is_reusable())
    }

    /// Has it ended? Then the slot takes another one.
    pub(super) fn is_over(&self) -> bool {
        self.client.is_over()
    }

    /// Ends a connection whose time is over, or that has `broken`.
    ///
    /// *Cancellation*: as for [`Connection::finish`](crate::fetch::Connection::finish).
    pub(super) async fn end(&mut self, broken: bool, now: Instant) {
        if broken || self.is_due(now) {
            self.client.finish().await;
        }
    }

    /// Completes when a connection on which nothing is asked says something all the same; never
    /// without a connection.
    ///
    /// *Cancellation*: safe.
    pub(super) async fn broken(&mut self) {
        self.client.broken().await;
    }
}
