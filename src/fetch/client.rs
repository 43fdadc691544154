//! The one door to the network: resolve → check → connect → exchange.
//!
//! Whoever fetches – the probe, the program on a computer, a test – does it through a [`Client`],
//! so the check of addresses stands here and nowhere else: no caller can forget it. What is no page
//! – a collector, a broker, a webhook – is a server that the owner named, and needs no check:
//! [`OwnerServer`](super::OwnerServer) connects to it. Where a fleet's planner says that a list is,
//! counts as what the owner wrote ([`Ask::new`]): a list decides what is fetched, so whoever may
//! give one is trusted with more than its address.
//!
//! A test of `host-tests/tests/rooms.rs` names every file that connects or looks up a name.

use core::fmt;
use core::future::pending;
use core::net::IpAddr;

use embedded_io_async::{ErrorType, Read as _};

use super::address::literal;
use super::connect::{Connect, Connection as _, Endpoint, Resolve};
use super::exchange::{Body, FetchError, Fetched, exchange};
use super::redirect::{Hops, RedirectError};
use super::request::Request;
use super::response::Limits;
use super::tee::Tee;
use super::url::{Scheme, UrlHost};

/// A request, and the way it may take.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ask<'q> {
    /// What is asked for.
    pub request: Request<'q>,
    /// The redirects, or the link, that led to its URL; `None` if the owner wrote the URL.
    pub hops: Option<&'q Hops>,
    /// The URL's host is an address that stands in the owner's page list: redirects may lead there,
    /// even into a private network.
    pub listed: bool,
    /// Name and port of the gateway that fetches https pages for a connector without TLS.
    pub gateway: Option<(&'q str, u16)>,
    /// How much of an answer is read.
    pub limits: Limits,
}

impl<'q> Ask<'q> {
    /// A request for a URL that the owner wrote, without a gateway and under the usual limits.
    pub const fn new(request: Request<'q>) -> Self {
        Self {
            request,
            hops: None,
            listed: true,
            gateway: None,
            limits: Limits::DEFAULT,
        }
    }
}

/// Why a request brought no answer: `R` is the resolver's error, `C` the connector's, `E` the
/// connection's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ClientError<R, C, E> {
    /// It is an https page, and the connector has no TLS: it needs a gateway.
    NeedsTls,
    /// The name could not be resolved.
    Resolve(R),
    /// The name has no address.
    NoAddress,
    /// A redirect or a link led to where none may lead.
    Refused(RedirectError),
    /// The connector's network does not reach the address: it is an IPv6 one, and the network knows
    /// IPv4 only.
    Unreachable,
    /// The connection could not be opened.
    Connect(C),
    /// This client's connection is of no use for the request, which nobody has seen: finish the
    /// client, and make the request again with a new one.
    Stale,
    /// A connection that had been kept ended before a byte of the answer. The server may have seen
    /// the request: finish the client, and make it again with a new one as politely as any other.
    Lost,
    /// The connection broke, or the answer made no sense.
    Exchange(FetchError<E>),
}

impl<R: fmt::Debug, C: fmt::Debug, E: fmt::Debug> fmt::Display for ClientError<R, C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedsTls => f.write_str("https page without TLS: configure a gateway"),
            Self::Resolve(error) => write!(f, "name not resolved: {error:?}"),
            Self::NoAddress => f.write_str("name has no address"),
            Self::Refused(error) => error.fmt(f),
            Self::Unreachable => f.write_str("this network does not reach the host's address"),
            Self::Connect(error) => write!(f, "not connected: {error:?}"),
            Self::Stale | Self::Lost => {
                f.write_str("the connection is over: ask again on a new one")
            }
            Self::Exchange(error) => error.fmt(f),
        }
    }
}

impl<R: fmt::Debug, C: fmt::Debug, E: fmt::Debug> core::error::Error for ClientError<R, C, E> {}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Peer {
    scheme: Scheme,
    address: IpAddr,
    port: u16,
}

/// The longest host of a URL: names have 253 bytes at most.
const LONGEST_HOST: usize = 255;

struct Open<T> {
    connection: T,
    peer: Peer,
    /// The host that was asked for; empty for the gateway, through which everything goes on one
    /// connection.
    host: heapless::String<LONGEST_HOST, u8>,
    /// Its last response was read to the end, and the server keeps it open.
    reusable: bool,
}

/// Makes requests on one connection, from its opening to its end. The connection borrows the
/// connector's buffers, so another one takes another client.
pub struct Client<'c, C: Connect + 'c> {
    /// It is taken when the connection is opened.
    connector: Option<&'c mut C>,
    open: Option<Open<C::Connection<'c>>>,
    speaks_https: bool,
}

impl<C: Connect> fmt::Debug for Client<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("is_open", &self.is_open())
            .field("is_over", &self.is_over())
            .finish_non_exhaustive()
    }
}

/// What a client's request comes to.
type Result<'c, T, C, R> = core::result::Result<
    T,
    ClientError<
        <R as Resolve>::Error,
        <C as Connect>::Error,
        <<C as Connect>::Connection<'c> as ErrorType>::Error,
    >,
>;

impl<'c, C: Connect> Client<'c, C> {
    /// A client that has not connected to anyone yet.
    pub fn new(connect: &'c mut C) -> Self {
        Self {
            speaks_https: connect.speaks_https(),
            connector: Some(connect),
            open: None,
        }
    }

    /// Resolves the host's name, checks the address, connects – unless the connection that is open
    /// leads there – and makes the request.
    ///
    /// The address must be public, or the owner must have chosen it: by writing the URL, by listing
    /// its address, or by an entry of the resolver's table. What a gateway is asked for after a
    /// redirect or a link is looked up and checked in the same way. `buffer` is the window that
    /// everything passes through (512 bytes or more serve well); a redirect's target comes back in
    /// it.
    ///
    /// # Errors
    /// [`ClientError`] says what went wrong. After [`ClientError::Stale`] and
    /// [`ClientError::Lost`], nobody has answered: [finish](Self::finish) this client, and ask
    /// again with a new one.
    ///
    /// Work: bounded by the limits of `ask`. *Cancellation*: dropping the future abandons the query
    /// or the attempt, or leaves the connection in the middle of a response: it is not used again.
    /// Put a deadline around it with [`within`](super::within).
    pub fn request<'b, R: Resolve>(
        &mut self,
        ask: &mut Ask<'_>,
        resolve: &mut R,
        buffer: &'b mut [u8],
        body: &mut dyn Body,
    ) -> impl Future<Output = Result<'c, Fetched<'b>, C, R>> {
        self.request_with(ask, resolve, buffer, body, ())
    }

    /// The same, with somebody who is shown what comes, see [`Tee`].
    #[allow(clippy::manual_async_fn)] // An async function would hold its arguments twice.
    pub(crate) fn request_with<'b, R: Resolve, T: Tee>(
        &mut self,
        ask: &mut Ask<'_>,
        resolve: &mut R,
        buffer: &'b mut [u8],
        body: &mut dyn Body,
        mut tee: T,
    ) -> impl Future<Output = Result<'c, Fetched<'b>, C, R>> {
        async move {
            // A scope of its own: what is only needed up to here takes no room in what follows.
            let reused = {
                let url = &ask.request.url;
                let by_gateway = url.scheme() == Scheme::Https && !self.speaks_https;
                let (host, port) = match ask.gateway {
                    Some(gateway) if by_gateway => gateway,
                    None if by_gateway => return Err(ClientError::NeedsTls),
                    _ => (url.host_text(), url.port()),
                };
                let named = ask.listed
                    || matches!(url.host(), UrlHost::Name(name) if resolve.is_named(name));
                let mut hops = ask.hops.filter(|_| !named);
                // A gateway connects to whomever it is told: where a redirect or a link leads is
                // looked up and checked here first.
                let mut checks = by_gateway && hops.is_some_and(|hops| !hops.is_owners_url());
                let address = loop {
                    let (whom, given) = if checks {
                        (url.host_text(), None)
                    } else {
                        hops = hops.filter(|_| !by_gateway);
                        (host, resolve.owner_address(host))
                    };
                    let permitted = match given.or_else(|| literal(whom)) {
                        Some(address) => permitted(&[address], hops),
                        None => {
                            let found = resolve.resolve(whom).await;
                            permitted(&found.map_err(ClientError::Resolve)?, hops)
                        }
                    };
                    let address = permitted.map_err(|refused| match refused {
                        Some(why) => ClientError::Refused(why),
                        None => ClientError::NoAddress,
                    })?;
                    if !core::mem::take(&mut checks) {
                        break address;
                    }
                };
                let scheme = if by_gateway {
                    Scheme::Http
                } else {
                    url.scheme()
                };
                let peer = Peer {
                    scheme,
                    address,
                    port,
                };
                ask.request.via_gateway |= by_gateway;
                let asked_for = if by_gateway { "" } else { host };
                let reused = self.reuse(peer, asked_for);
                if !reused {
                    // A connection to somebody else stays open until the caller ends it.
                    let connector = self.connector.take().ok_or(ClientError::Stale)?;
                    if !connector.reaches(address) {
                        return Err(ClientError::Unreachable);
                    }
                    let to = Endpoint {
                        scheme,
                        host,
                        address,
                        port,
                    };
                    let opened = connector.connect(to).await;
                    self.open = Some(Open {
                        connection: opened.map_err(ClientError::Connect)?,
                        peer,
                        // A URL's host fits; one that did not would never be asked for again here.
                        host: asked_for.try_into().unwrap_or_default(),
                        reusable: false,
                    });
                }
                reused
            };
            let open = self.open.as_mut().ok_or(ClientError::Stale)?;
            match exchange(&mut open.connection, ask, buffer, body, &mut tee).await {
                Ok(fetched) => {
                    open.reusable = fetched.reusable;
                    Ok(fetched)
                }
                Err(error) if reused && error.is_unanswered() => Err(ClientError::Lost),
                Err(error) => Err(ClientError::Exchange(error)),
            }
        }
    }

    /// Does the connection that is open lead there, and may it be used again?
    fn reuse(&mut self, to: Peer, host: &str) -> bool {
        match &mut self.open {
            // Not once more until the next response has been read to its end.
            Some(open) if open.peer == to && open.host.eq_ignore_ascii_case(host) => {
                core::mem::take(&mut open.reusable)
            }
            _ => false,
        }
    }

    /// Is a connection open?
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Is a connection open on which another request may be made?
    pub fn is_reusable(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.reusable)
    }

    /// Has its connection ended? Then the next request takes another client.
    pub fn is_over(&self) -> bool {
        self.connector.is_none() && self.open.is_none()
    }

    /// Ends the connection, if there is one.
    ///
    /// *Cancellation*: as for [`Connection::finish`](super::Connection::finish).
    pub async fn finish(&mut self) {
        if let Some(open) = &mut self.open {
            open.connection.finish().await;
            self.open = None;
        }
    }

    /// Completes when a connection on which nothing is asked says something all the same, as a rule
    /// that it is over; never without a connection.
    ///
    /// *Cancellation*: safe.
    pub async fn broken(&mut self) {
        match &mut self.open {
            Some(open) => _ = open.connection.read(&mut [0]).await,
            None => pending().await,
        }
    }
}

/// The first address that may be connected to after these redirects, if there are any; else why
/// none may, or `None` if there is no address.
#[inline(never)] // Once for names and addresses.
fn permitted(
    addresses: &[IpAddr],
    hops: Option<&Hops>,
) -> core::result::Result<IpAddr, Option<RedirectError>> {
    let mut refused = None;
    for address in addresses {
        match hops.map_or(Ok(()), |hops| hops.may_connect(*address)) {
            Ok(()) => return Ok(*address),
            Err(why) => refused = Some(why),
        }
    }
    Err(refused)
}
