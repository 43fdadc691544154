//! This computer's network for the fetcher: sockets, TLS, names and timers.
//!
//! The same [`Connect`] and [`Resolve`] that a microcontroller's network stack implements.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;

use async_io::{Async, Timer};
use dunlin::fetch::{Addresses, Connect, Connection, Endpoint, Resolve, Scheme, TlsError};
use dunlin::time::Duration;
use dunlin_tls::Verifier;
use embedded_io_async::{ErrorType, Read, Write};
use futures_lite::{AsyncReadExt, AsyncWriteExt};
use futures_rustls::client::TlsStream;
use futures_rustls::rustls::pki_types::ServerName;
use futures_rustls::rustls::{ClientConfig, RootCertStore};
use futures_rustls::{TlsConnector, rustls};

use super::verify::Trust;

/// Completes after `duration`: a deadline for [`dunlin::fetch::within`].
pub fn after(duration: Duration) -> impl Future<Output = ()> {
    let timer = Timer::after(duration.into());
    async {
        timer.await;
    }
}

/// Opens TCP connections, with TLS for https.
#[derive(Clone, Debug)]
pub struct HostConnect {
    tls: Arc<ClientConfig>,
}

impl HostConnect {
    /// Trusts what this computer trusts (`SSL_CERT_FILE` included), or Mozilla's list where it
    /// trusts nothing; and whom the owner trusts.
    pub fn new(trust: Trust) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        Self::trusting(roots, trust)
    }

    /// Trusts exactly these.
    pub fn trusting(roots: RootCertStore, trust: Trust) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier {
            owner: trust,
            roots: roots.roots.into(),
            algorithms: provider.signature_verification_algorithms,
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports the default protocol versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self {
            tls: Arc::new(config),
        }
    }
}

impl Connect for HostConnect {
    type Error = io::Error;
    type Connection<'c> = HostConnection;

    fn speaks_https(&self) -> bool {
        true
    }

    fn tls_error(error: &io::Error) -> Option<TlsError> {
        let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
        Some(dunlin_tls::reason(error))
    }

    async fn connect(&mut self, to: Endpoint<'_>) -> Result<HostConnection, io::Error> {
        let socket = Async::<TcpStream>::connect(SocketAddr::new(to.address, to.port)).await?;
        socket.get_ref().set_nodelay(true)?;
        match to.scheme {
            Scheme::Http => Ok(HostConnection::Plain(socket)),
            Scheme::Https => {
                let host = to
                    .host
                    .trim_start_matches('[')
                    .trim_end_matches(']')
                    .to_owned();
                let name = ServerName::try_from(host).map_err(io::Error::other)?;
                let stream = TlsConnector::from(Arc::clone(&self.tls))
                    .connect(name, socket)
                    .await?;
                Ok(HostConnection::Tls(Box::new(stream)))
            }
        }
    }
}

/// An open connection. The operating system ends it when it is dropped.
#[derive(Debug)]
pub enum HostConnection {
    /// http.
    Plain(Async<TcpStream>),
    /// https.
    Tls(Box<TlsStream<Async<TcpStream>>>),
}

impl ErrorType for HostConnection {
    type Error = io::Error;
}

impl Read for HostConnection {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer).await,
            // An end without TLS's own goodbye is an error: somebody may have cut a body that has
            // no length of its own. One that has is never read to the connection's end.
            Self::Tls(stream) => stream.read(buffer).await,
        }
    }
}

impl Write for HostConnection {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes).await,
            Self::Tls(stream) => stream.write(bytes).await,
        }
    }

    async fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush().await,
            Self::Tls(stream) => stream.flush().await,
        }
    }
}

impl Connection for HostConnection {}

/// Asks a table (`--resolve`), then the operating system.
#[derive(Clone, Debug, Default)]
pub struct HostResolve {
    table: HashMap<String, IpAddr>,
    everything_else: Option<IpAddr>,
}

impl HostResolve {
    /// From `HOST=IP` entries; `*=IP` answers for every host that has no entry of its own.
    ///
    /// # Errors
    /// Names the entry that is not of this form.
    pub fn new<'e>(entries: impl IntoIterator<Item = &'e str>) -> Result<Self, String> {
        let mut resolve = Self::default();
        for entry in entries {
            let parts = entry
                .split_once('=')
                .and_then(|(host, ip)| Some((host, address(ip)?)));
            match parts {
                Some(("*", ip)) => resolve.everything_else = Some(ip),
                Some((host, ip)) if !host.is_empty() => {
                    resolve.table.insert(host.to_ascii_lowercase(), ip);
                }
                _ => {
                    return Err(format!(
                        "found {entry:?}, expected HOST=IP such as example.org=10.0.2.2 or *=[::1]"
                    ));
                }
            }
        }
        Ok(resolve)
    }

    /// The table's own answer: an address the user chose, and may be sent to whatever it is.
    pub fn named(&self, host: &str) -> Option<IpAddr> {
        self.table
            .get(&host.to_ascii_lowercase())
            .copied()
            .or(self.everything_else)
    }
}

/// An address, IPv6 in brackets or without.
fn address(text: &str) -> Option<IpAddr> {
    match text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
    {
        Some(inner) => inner.parse().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    }
}

impl Resolve for HostResolve {
    type Error = io::Error;

    fn is_named(&self, name: &str) -> bool {
        self.named(name).is_some()
    }

    async fn resolve(&mut self, name: &str) -> Result<Addresses, io::Error> {
        let mut addresses = Addresses::new();
        if let Some(ip) = self.named(name) {
            // There is room: it is empty.
            let _ = addresses.push(ip);
            return Ok(addresses);
        }
        let query = (name.to_owned(), 0);
        let found = blocking::unblock(move || query.to_socket_addrs()).await?;
        addresses.extend(found.map(|address| address.ip()).take(addresses.capacity()));
        Ok(addresses)
    }
}
