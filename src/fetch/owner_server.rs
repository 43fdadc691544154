//! Servers that the owner named, for other things than pages: a collector, a broker, a webhook.

use core::convert::Infallible;
use core::net::IpAddr;

use super::address::literal;
use super::client::ClientError;
use super::connect::{Addresses, Connect, Endpoint, Resolve};
use super::url::Scheme;

/// A server that the owner named. It may be in a private network: nobody else has led there, so
/// its address is not checked as those of pages are.
///
/// ```
/// use dunlin::fetch::{Addresses, OwnerServer, Resolve, Scheme};
/// # use core::convert::Infallible;
/// # struct Names;
/// # impl Resolve for Names {
/// #     type Error = Infallible;
/// #     async fn resolve(&mut self, _: &str) -> Result<Addresses, Infallible> {
/// #         Ok(Addresses::new())
/// #     }
/// # }
/// # use core::future::Future;
/// # use core::task::{Context, Poll, Waker};
///
/// let broker = OwnerServer { scheme: Scheme::Http, host: "192.168.1.2", port: 1883 };
/// let mut names = Names;
/// // An address needs no look-up.
/// let found = core::pin::pin!(broker.addresses(&mut names));
/// let Poll::Ready(Ok(found)) = found.poll(&mut Context::from_waker(Waker::noop())) else {
///     panic!("nobody is waited for");
/// };
/// assert_eq!(found.as_slice(), ["192.168.1.2".parse::<core::net::IpAddr>()?]);
/// # Ok::<(), core::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerServer<'h> {
    /// Whether it is spoken to through TLS.
    pub scheme: Scheme,
    /// Its name or its address, which may be in brackets.
    pub host: &'h str,
    /// The port that it listens at.
    pub port: u16,
}

/// Why a server that the owner named could not be connected to.
type Unopened<C, R> = ClientError<<R as Resolve>::Error, <C as Connect>::Error, Infallible>;

impl<'h> OwnerServer<'h> {
    /// Where it is: by the owner's table, by the address that it is named by, or by its name.
    ///
    /// # Errors
    /// The resolver's.
    ///
    /// *Cancellation*: dropping the future gives the query up.
    pub async fn addresses<R: Resolve>(&self, resolve: &mut R) -> Result<Addresses, R::Error> {
        let given = resolve.owner_address(self.host);
        match given.or_else(|| literal(self.host)) {
            Some(address) => Ok(Addresses::from_iter([address])),
            None => resolve.resolve(self.host).await,
        }
    }

    /// Where a connection to it goes, if that is its address.
    pub fn at(&self, address: IpAddr) -> Endpoint<'h> {
        Endpoint {
            scheme: self.scheme,
            host: self.host,
            address,
            port: self.port,
        }
    }

    /// Connects to the first of its addresses.
    ///
    /// # Errors
    /// [`ClientError`] says which step failed; no exchange does, for there is none.
    ///
    /// *Cancellation*: dropping the future gives the query or the attempt up.
    pub async fn open<'c, C: Connect, R: Resolve>(
        &self,
        connect: &'c mut C,
        resolve: &mut R,
    ) -> Result<C::Connection<'c>, Unopened<C, R>> {
        let found = self.addresses(resolve).await;
        let found = found.map_err(ClientError::Resolve)?;
        let address = *found.first().ok_or(ClientError::NoAddress)?;
        if self.scheme == Scheme::Https && !connect.speaks_https() {
            return Err(ClientError::NeedsTls);
        }
        if !connect.reaches(address) {
            return Err(ClientError::Unreachable);
        }
        let connected = connect.connect(self.at(address)).await;
        connected.map_err(ClientError::Connect)
    }
}
