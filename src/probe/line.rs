//! A slot's connection: opened, kept while the next request to the same server is near, ended.

use core::future::pending;
use core::net::IpAddr;

use embedded_io_async::Read as _;

use super::Failure;
use crate::fetch::{Connect, Connection as _, Endpoint, Resolve, Scheme};
use crate::time::{Duration, Instant};

/// A next request that is further away gets a connection of its own: many servers close an idle one
/// after five seconds.
pub(super) const NEAR: Duration = Duration::from_secs(4);

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    /// [`Url::origin`](crate::fetch::Url::origin) of who is asked: a page's host, or the gateway.
    pub origin: u32,
    pub scheme: Scheme,
    pub address: IpAddr,
    pub port: u16,
}

/// At most one connection, from its opening to its end. It borrows the connector's buffers: for
/// another one, the slot takes another line.
pub(super) enum Line<'c, C: Connect + 'c> {
    /// Nothing has been opened yet.
    Free(&'c mut C),
    Open {
        connection: C::Connection<'c>,
        peer: Peer,
        /// The host of the page that was asked for last.
        host: u16,
        /// May be used again until then; not at all if that has passed.
        until: Instant,
    },
    /// It was opened, and is over.
    Spent,
}

/// Why there is no answer to make something of.
pub(super) enum Trouble {
    /// The page was not answered.
    Failed(Failure),
    /// The line is of no use for this request; a new one may be. Nothing has been asked, or the
    /// server closed a connection that was used before without a byte of an answer.
    Stale,
    /// Another request to the same stranger was made too short a time ago.
    Closed,
    /// The request has to wait at the gate of this host.
    Elsewhere(u16),
}

/// What a request goes through.
pub(super) struct Wires<'w, 'c, C: Connect + 'c, R: Resolve> {
    pub line: &'w mut Line<'c, C>,
    pub resolve: &'w mut R,
    pub buffer: &'w mut [u8],
}

impl<'c, C: Connect> Line<'c, C> {
    /// Opens a connection, unless the one that is open leads there. True if it was used before.
    ///
    /// *Cancellation*: a connection that was being opened is given up, and the line with it.
    pub(super) async fn open(
        &mut self,
        to: Endpoint<'_>,
        to_peer: Peer,
        of: u16,
        now: Instant,
    ) -> Result<bool, Trouble> {
        if let Self::Open {
            peer, host, until, ..
        } = self
            && *peer == to_peer
            && now < *until
        {
            (*host, *until) = (of, Instant::ZERO);
            return Ok(true);
        }
        match core::mem::replace(self, Self::Spent) {
            Self::Free(connector) => {
                if !connector.reaches(to.address) {
                    return Err(Trouble::Failed(Failure::NoIpv6));
                }
                let opened = connector.connect(to).await;
                let connection = opened.map_err(|_| Trouble::Failed(Failure::Connection))?;
                *self = Self::Open {
                    connection,
                    peer: to_peer,
                    host: of,
                    until: Instant::ZERO,
                };
                Ok(false)
            }
            Self::Open { mut connection, .. } => {
                connection.finish().await;
                Err(Trouble::Stale)
            }
            Self::Spent => Err(Trouble::Stale),
        }
    }

    /// The connection, if there is one.
    pub(super) fn connection(&mut self) -> Option<&mut C::Connection<'c>> {
        match self {
            Self::Open { connection, .. } => Some(connection),
            _ => None,
        }
    }

    /// Lets the connection be used again until then.
    pub(super) fn keep(&mut self, then: Instant) {
        if let Self::Open { until, .. } = self {
            *until = then;
        }
    }

    /// The host whose connection is kept, and until when.
    pub(super) fn kept(&self) -> Option<(u16, Instant)> {
        match self {
            Self::Open { host, until, .. } => Some((*host, *until)),
            _ => None,
        }
    }

    pub(super) fn is_spent(&self) -> bool {
        matches!(self, Self::Spent)
    }

    /// Ends the connection, if there is one.
    ///
    /// *Cancellation*: as for [`Connection::finish`](crate::fetch::Connection::finish).
    pub(super) async fn end(&mut self) {
        if let Self::Open { connection, .. } = self {
            connection.finish().await;
            *self = Self::Spent;
        }
    }

    /// Completes when a connection that nothing is asked on says something all the same, as a rule
    /// that it is over; never without a connection.
    ///
    /// *Cancellation*: safe.
    pub(super) async fn breaks(&mut self) {
        match self {
            Self::Open { connection, .. } => _ = connection.read(&mut [0]).await,
            _ => pending().await,
        }
    }
}
