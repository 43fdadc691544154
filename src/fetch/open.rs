//! From a URL to an open connection, by way of an address that may be connected to.

use core::fmt;

use super::connect::{Addresses, Connect, Endpoint, Resolve};
use super::redirect::{Hops, RedirectError};
use super::url::{Host, Scheme, Url};

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum OpenError<R, C> {
    /// An https page, and a connector without TLS: it needs a gateway.
    NeedsTls,
    /// The name could not be resolved.
    Resolve(R),
    /// The name has no address.
    NoAddress,
    /// A redirect led to where none may lead.
    Refused(RedirectError),
    /// Nobody answered.
    Connect(C),
}

impl<R: fmt::Debug, C: fmt::Debug> fmt::Display for OpenError<R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedsTls => f.write_str("https page without TLS: configure a gateway"),
            Self::Resolve(error) => write!(f, "name not resolved: {error:?}"),
            Self::NoAddress => f.write_str("name has no address"),
            Self::Refused(error) => error.fmt(f),
            Self::Connect(error) => write!(f, "not connected: {error:?}"),
        }
    }
}

impl<R: fmt::Debug, C: fmt::Debug> core::error::Error for OpenError<R, C> {}

/// Resolves a URL's host, picks the first address that `hops` lets us connect to, and connects.
///
/// The check is made on the resolved address, here and nowhere else, so that no caller can forget
/// it. `named` says that the owner named this host: in the page list or in the resolve table.
///
/// *Cancellation*: dropping the future abandons the query or the attempt. Put a deadline around it
/// with [`within`](super::within).
pub async fn open<'c, R: Resolve, C: Connect>(
    url: &Url<'_>,
    hops: &Hops,
    named: bool,
    resolve: &mut R,
    connect: &'c mut C,
) -> Result<C::Connection<'c>, OpenError<R::Error, C::Error>> {
    if url.scheme() == Scheme::Https && !connect.speaks_https() {
        return Err(OpenError::NeedsTls);
    }
    let addresses = match url.host() {
        Host::Address(address) => Addresses::from_iter([address]),
        Host::Name(name) => resolve.resolve(name).await.map_err(OpenError::Resolve)?,
    };
    let mut refused = None;
    let fit = addresses
        .iter()
        .find(|address| match hops.may_connect(**address, named) {
            Ok(()) => true,
            Err(error) => {
                refused = Some(error);
                false
            }
        });
    match (fit, refused) {
        (Some(address), _) => {
            let to = Endpoint {
                scheme: url.scheme(),
                host: url.host_text(),
                address: *address,
                port: url.port(),
            };
            connect.connect(to).await.map_err(OpenError::Connect)
        }
        (None, Some(error)) => Err(OpenError::Refused(error)),
        (None, None) => Err(OpenError::NoAddress),
    }
}
