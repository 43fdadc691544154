//! What the fetcher needs from a network: names resolved, connections opened and ended.
//!
//! Boards implement these; the crate names no stack. Neither trait has a clock: callers put one
//! deadline around everything with [`within`](super::within).

use core::net::IpAddr;

use embedded_io_async::{Read, Write};

use super::url::Scheme;

/// The addresses of one name that are tried.
pub type Addresses = heapless::Vec<IpAddr, 4>;

/// Turns names into addresses.
#[allow(async_fn_in_trait)] // One executor, no threads: futures need not be Send.
pub trait Resolve {
    /// Why a name has no address.
    type Error: core::fmt::Debug;

    /// The addresses of a name, best first.
    ///
    /// *Cancellation*: dropping the future gives the query up.
    async fn resolve(&mut self, name: &str) -> Result<Addresses, Self::Error>;

    /// The address that the owner's table gives for this host. It replaces a look-up, and an
    /// address that is written in the URL.
    fn owner_address(&self, _host: &str) -> Option<IpAddr> {
        None
    }

    /// Has the owner said where this name is? Then redirects may lead there, even into a private
    /// network.
    fn is_named(&self, name: &str) -> bool {
        self.owner_address(name).is_some()
    }
}

/// Where a connection goes.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    /// Whether it goes through TLS.
    pub scheme: Scheme,
    /// The name a TLS certificate must be for.
    pub host: &'a str,
    /// The address to connect to: resolved, and found fit.
    pub address: IpAddr,
    /// The port to connect to.
    pub port: u16,
}

/// Why TLS refused a server, or could not be spoken with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TlsError {
    /// Its certificate, or one that vouches for it, is no longer valid.
    Expired,
    /// Its certificate, or one that vouches for it, is not valid yet.
    NotYetValid,
    /// Its certificate is for other hosts.
    Name,
    /// Nobody who is trusted vouches for its certificate.
    Issuer,
    /// Something else is wrong with its certificate or those that vouch for it.
    Certificate,
    /// Its key is not the one that the owner pinned.
    Pin,
    /// It does not keep to the protocol, or speaks none that we do.
    Protocol,
    /// The date is not known yet, without which no certificate can be checked.
    Time,
    /// There is no memory left for what it sent.
    Memory,
    /// This device has no random numbers, without which nothing can be kept secret.
    Random,
}

impl TlsError {
    /// All of these errors.
    pub const ALL: [Self; 10] = [
        Self::Expired,
        Self::NotYetValid,
        Self::Name,
        Self::Issuer,
        Self::Certificate,
        Self::Pin,
        Self::Protocol,
        Self::Time,
        Self::Memory,
        Self::Random,
    ];
}

impl core::fmt::Display for TlsError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Expired => "the certificate has expired",
            Self::NotYetValid => "the certificate is not valid yet",
            Self::Name => "the certificate is for another host",
            Self::Issuer => "the certificate's issuer is not trusted",
            Self::Certificate => "the certificate is not valid",
            Self::Pin => "the server's key is not the pinned one",
            Self::Protocol => "the server breaks TLS's rules, or speaks another version",
            Self::Time => "the date is not known yet, so no certificate can be checked",
            Self::Memory => "no memory is left for what the server sent",
            Self::Random => "this device has no random numbers, so it has no https",
        })
    }
}

impl core::error::Error for TlsError {}

/// Opens connections to servers.
#[allow(async_fn_in_trait)]
pub trait Connect {
    /// Why a connection could not be opened.
    type Error: core::fmt::Debug;
    /// An open connection; it may borrow the connector's buffers.
    type Connection<'c>: Connection
    where
        Self: 'c;

    /// Can it speak TLS? If not, https pages need a gateway.
    fn speaks_https(&self) -> bool {
        false
    }

    /// Can a connection go to this address? Not to an IPv6 one from a stack that knows IPv4 only.
    fn reaches(&self, _address: IpAddr) -> bool {
        true
    }

    /// Why TLS was the reason, if it was.
    fn tls_error(_error: &Self::Error) -> Option<TlsError> {
        None
    }

    /// Opens a connection.
    ///
    /// *Cancellation*: dropping the future abandons the attempt.
    async fn connect(&mut self, to: Endpoint<'_>) -> Result<Self::Connection<'_>, Self::Error>;
}

/// A connection that is open.
#[allow(async_fn_in_trait)]
pub trait Connection: Read + Write {
    /// Ends it. Stacks that send nothing on drop must close or abort, and flush, here.
    ///
    /// *Cancellation*: dropping the future may leave the peer to find out by itself.
    async fn finish(&mut self) {}
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::collections::BTreeSet;
    use std::string::ToString;

    struct Table;

    impl Resolve for Table {
        type Error = ();

        async fn resolve(&mut self, _name: &str) -> Result<Addresses, ()> {
            Err(())
        }

        fn owner_address(&self, host: &str) -> Option<IpAddr> {
            (host == "nas.test").then_some(IpAddr::from([192, 168, 0, 2]))
        }
    }

    #[test]
    fn who_is_in_the_owners_table_is_named() {
        assert!(Table.is_named("nas.test") && !Table.is_named("a.test"));
    }

    #[test]
    fn every_reason_of_tls_has_words_of_its_own() {
        let words: BTreeSet<_> = TlsError::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(words.len(), TlsError::ALL.len());
        assert!(words.iter().all(|words| words.len() > 10), "{words:?}");
    }
}
