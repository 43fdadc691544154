//! This computer's network for the fetcher: sockets, TLS, names and timers, and what requests carry
//! besides what the fetcher writes.
//!
//! The same [`Connect`] and [`Resolve`] that a microcontroller's network stack implements.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::pin::pin;
use std::sync::Arc;

use async_io::{Async, Timer};
use dunlin::fetch::{
    Addresses, ClientError, Connect, Connection, Endpoint, Insert, Inserter, OwnerServer, Resolve,
    Scheme, TlsError, within,
};
use dunlin::time::Duration;
use dunlin_tls::{PUBLIC_ROOTS, Roots, Verifier};
use embedded_io_async::{ErrorType, Read, Write};
use futures_lite::{AsyncReadExt, AsyncWriteExt};
use futures_rustls::client::TlsStream;
use futures_rustls::rustls::pki_types::ServerName;
use futures_rustls::rustls::{ClientConfig, RootCertStore};
use futures_rustls::{TlsConnector, rustls};

use super::own::OwnFields;
use super::proxy::{Proxy, is_local};
use super::verify::Trust;
use crate::lists::pages::as_dns_knows;

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
    proxy: Option<Arc<Proxy>>,
    fields: Arc<OwnFields>,
}

impl HostConnect {
    /// Trusts what this computer trusts (`SSL_CERT_FILE` included), or Mozilla's list where it
    /// trusts nothing; and whom the owner trusts.
    pub fn new(trust: Trust) -> Self {
        let mut own = RootCertStore::empty();
        own.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if own.is_empty() {
            return Self::with(Roots::Packed(PUBLIC_ROOTS), trust);
        }
        Self::trusting(own, trust)
    }

    /// To a broker of this name, for which these authorities, in DER, may vouch besides.
    pub fn to_broker(host: &str, authorities: Vec<Vec<u8>>) -> Self {
        let mut connect = Self::new(Trust {
            authorities,
            own: [host.to_ascii_lowercase()].into(),
            ..Trust::default()
        });
        // A broker that knows protocols by name may refuse who asks for HTTP.
        Arc::make_mut(&mut connect.tls).alpn_protocols.clear();
        connect
    }

    /// A connector that trusts exactly these roots.
    pub fn trusting(roots: RootCertStore, trust: Trust) -> Self {
        Self::with(Roots::Listed(roots.roots), trust)
    }

    fn with(roots: Roots, trust: Trust) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier {
            owner: trust,
            roots,
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
            proxy: None,
            fields: Arc::default(),
        }
    }

    /// The same, through a proxy.
    #[must_use]
    pub fn through(mut self, proxy: Option<Arc<Proxy>>) -> Self {
        self.proxy = proxy;
        self
    }

    /// The same, with fields of the owner's in the requests to some hosts.
    #[must_use]
    pub fn with_fields(mut self, fields: OwnFields) -> Self {
        self.fields = Arc::new(fields);
        self
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
        let proxy = self.proxy.as_deref().filter(|_| !is_local(to.host));
        let address = proxy.map_or(SocketAddr::new(to.address, to.port), |proxy| proxy.address);
        let mut socket = Async::<TcpStream>::connect(address).await?;
        socket.get_ref().set_nodelay(true)?;
        let mut own = Own {
            inserter: Inserter::default(),
            origin: String::new(),
            fields: self.fields.of(&to).unwrap_or_default().to_owned(),
        };
        let stream = match to.scheme {
            Scheme::Http => {
                if let Some(proxy) = proxy {
                    own.origin = format!("http://{}", authority(&to, 80));
                    own.fields.push_str(&proxy.fields);
                }
                Stream::Plain(socket)
            }
            Scheme::Https => {
                if let Some(proxy) = proxy {
                    proxy.open(&mut socket, &authority(&to, 0)).await?;
                }
                let host = to
                    .host
                    .trim_start_matches('[')
                    .trim_end_matches(']')
                    .to_owned();
                let name = ServerName::try_from(host).map_err(io::Error::other)?;
                let stream = TlsConnector::from(Arc::clone(&self.tls))
                    .connect(name, socket)
                    .await
                    .map_err(cut_short)?;
                Stream::Tls(Box::new(stream))
            }
        };
        Ok(HostConnection { stream, own })
    }
}

/// It is no TLS that ends in the middle of a handshake; rustls has no error of its own for that.
fn cut_short(why: io::Error) -> io::Error {
    match why.kind() {
        io::ErrorKind::UnexpectedEof => {
            let cut = rustls::Error::General("the server ended the handshake".into());
            io::Error::new(why.kind(), cut)
        }
        _ => why,
    }
}

/// A host and its port, as requests name it; without a port that goes without saying.
fn authority(to: &Endpoint<'_>, default: u16) -> String {
    match to.port == default {
        true => to.host.to_owned(),
        false => format!("{}:{}", to.host, to.port),
    }
}

/// An open connection. The operating system ends it when it is dropped.
#[derive(Debug)]
pub struct HostConnection {
    stream: Stream,
    own: Own,
}

/// What goes into the requests of a connection besides what the fetcher writes.
#[derive(Debug)]
struct Own {
    inserter: Inserter,
    /// Before the path: a proxy wants the whole URL.
    origin: String,
    fields: String,
}

/// What a connection is made of.
#[derive(Debug)]
enum Stream {
    /// A connection for http.
    Plain(Async<TcpStream>),
    /// A connection for https.
    Tls(Box<TlsStream<Async<TcpStream>>>),
}

impl ErrorType for HostConnection {
    type Error = io::Error;
}

impl Read for HostConnection {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.stream {
            Stream::Plain(socket) => socket.read(buffer).await,
            // An end without TLS's own goodbye is an error: somebody may have cut a body that has
            // no length of its own. One that has is never read to the connection's end.
            Stream::Tls(stream) => stream.read(buffer).await,
        }?;
        if count > 0 {
            self.own.inserter.answered();
        }
        Ok(count)
    }
}

impl Stream {
    /// *Cancellation*: some of the bytes may have been written.
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes).await,
            Self::Tls(stream) => stream.write(bytes).await,
        }
    }

    /// *Cancellation*: some of the bytes may have been written.
    async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.write_all(bytes).await,
            Self::Tls(stream) => stream.write_all(bytes).await,
        }
    }
}

impl Write for HostConnection {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let own = &mut self.own;
        if own.origin.is_empty() && own.fields.is_empty() {
            return self.stream.write(bytes).await;
        }
        let (count, insert) = own.inserter.next(bytes);
        self.stream.write_all(&bytes[..count]).await?;
        let more = match insert {
            Some(Insert::Origin) => &own.origin,
            Some(Insert::Fields) => &own.fields,
            None => "",
        };
        self.stream.write_all(more.as_bytes()).await?;
        Ok(count)
    }

    async fn flush(&mut self) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(socket) => socket.flush().await,
            Stream::Tls(stream) => stream.flush().await,
        }
    }
}

impl Connection for HostConnection {}

/// Why a server that the owner named could not be connected to.
pub type Unopened = ClientError<io::Error, io::Error, Infallible>;

/// Connects to a server that the owner named: to the first of its addresses that answers.
///
/// # Errors
/// That of the last address, if it has any.
///
/// *Cancellation*: start over.
pub async fn open_any(
    server: &OwnerServer<'_>,
    connect: &mut HostConnect,
    resolve: &mut HostResolve,
) -> Result<HostConnection, Unopened> {
    let addresses = server.addresses(resolve).await;
    let mut last = ClientError::NoAddress;
    for address in addresses.map_err(ClientError::Resolve)? {
        match connect.connect(server.at(address)).await {
            Ok(connection) => return Ok(connection),
            Err(why) => last = ClientError::Connect(why),
        }
    }
    Err(last)
}

/// Asks a table (`--resolve`), then the operating system.
#[derive(Clone, Debug, Default)]
pub struct HostResolve {
    table: HashMap<String, IpAddr>,
    everything_else: Option<IpAddr>,
    /// A proxy is asked instead of the hosts, and looks names up itself.
    proxied: bool,
}

/// How long this computer may take to look up what a proxy will look up itself.
const BESIDE_A_PROXY: Duration = Duration::from_secs(2);

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
                    let host = as_dns_knows(host).to_ascii_lowercase();
                    resolve.table.insert(host, ip);
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

    /// The same where a proxy looks names up. This computer does, too: what leads into a private
    /// network by its word is not asked for after a redirect.
    #[must_use]
    pub fn through(mut self, proxy: Option<&Proxy>) -> Self {
        self.proxied = proxy.is_some();
        self
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
        let found = pin!(blocking::unblock(move || query.to_socket_addrs()));
        let beside_proxy = self.proxied && !is_local(name);
        let found = if beside_proxy {
            let found = within(pin!(after(BESIDE_A_PROXY)), found).await;
            found.and_then(Result::ok)
        } else {
            Some(found.await?)
        };
        let found = found.into_iter().flatten().map(|found| found.ip());
        addresses.extend(found.take(addresses.capacity()));
        if beside_proxy && addresses.is_empty() {
            // Nobody connects there: the proxy knows the name, or does not. For the owner's own
            // pages any address will do, for redirects none that is not public.
            let _ = addresses.push(Ipv4Addr::UNSPECIFIED.into());
        }
        Ok(addresses)
    }
}
