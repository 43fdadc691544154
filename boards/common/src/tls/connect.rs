//! Connections that speak TLS where the URL says https.

use core::net::IpAddr;

use dunlin::fetch::{Connect, Connection, Endpoint, Scheme, TlsError};
use dunlin_tls::{StreamError, TlsConnection};
use embassy_net::tcp;
use embedded_io_async::{ErrorType, Read, Write};

use super::shared;
use crate::network::{Connector, Socket};

/// Opens connections, one at a time, with TLS for https.
#[allow(missing_debug_implementations)] // embassy-net's types have none.
pub struct TlsConnector(pub(crate) Connector);

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// The network has none.
    Below(tcp::ConnectError),
    /// TLS could not open one on the network's.
    Tls(StreamError<tcp::Error>),
}

impl Connect for TlsConnector {
    type Error = LinkError;
    type Connection<'c> = Link<'c>;

    fn speaks_https(&self) -> bool {
        true
    }

    fn reaches(&self, address: IpAddr) -> bool {
        self.0.reaches(address)
    }

    fn tls_error(error: &LinkError) -> Option<TlsError> {
        match error {
            LinkError::Tls(StreamError::Tls(why)) => Some(*why),
            // It is no TLS that ends in the middle of a handshake.
            LinkError::Tls(StreamError::Cut) => Some(TlsError::Protocol),
            _ => None,
        }
    }

    async fn connect(&mut self, to: Endpoint<'_>) -> Result<Link<'_>, LinkError> {
        if to.scheme == Scheme::Http {
            let socket = self.0.connect(to).await;
            return socket.map(Link::Plain).map_err(LinkError::Below);
        }
        self.connect_for(to, &["http/1.1"]).await
    }
}

impl TlsConnector {
    /// Opens a connection with TLS for other protocols than http, by the names that ALPN has for
    /// them; none, if the server is not to be asked for any, as an MQTT broker.
    ///
    /// It waits for what others have of TLS's memory, three seconds at most, and for the shared
    /// buffer whenever something comes. Connections that stay open should lead to servers whose
    /// chains are short: what a chain takes is missing to all others, who are refused with
    /// [`TlsError::Memory`] if too little is left.
    ///
    /// # Errors
    /// There is no connection, or the server is not to be trusted. *Cancellation*: safe; the
    /// attempt is given up.
    pub async fn connect_for(
        &mut self,
        to: Endpoint<'_>,
        protocols: &[&str],
    ) -> Result<Link<'_>, LinkError> {
        let tls = shared().ok_or(LinkError::Tls(StreamError::Tls(TlsError::Random)))?;
        if !tls.knows_time() {
            // No need to disturb the server.
            return Err(LinkError::Tls(StreamError::Tls(TlsError::Time)));
        }
        let Endpoint { host, port, .. } = to;
        let socket = self.0.connect(to).await.map_err(LinkError::Below)?;
        TlsConnection::open_for(tls, socket, host, port, protocols)
            .await
            .map(Link::Tls)
            .map_err(LinkError::Tls)
    }
}

/// An open connection, with TLS or without.
#[allow(missing_debug_implementations)] // embassy-net's types have none.
pub enum Link<'c> {
    /// A connection for http.
    Plain(Socket<'c>),
    /// A connection for https.
    Tls(TlsConnection<'static, Socket<'c>>),
}

impl ErrorType for Link<'_> {
    type Error = StreamError<tcp::Error>;
}

impl Read for Link<'_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        match self {
            Self::Plain(socket) => socket.read(buffer).await.map_err(StreamError::Below),
            Self::Tls(connection) => connection.read(buffer).await,
        }
    }
}

impl Write for Link<'_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        match self {
            Self::Plain(socket) => socket.write(bytes).await.map_err(StreamError::Below),
            Self::Tls(connection) => connection.write(bytes).await,
        }
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        match self {
            Self::Plain(socket) => socket.flush().await.map_err(StreamError::Below),
            Self::Tls(connection) => connection.flush().await,
        }
    }
}

impl Connection for Link<'_> {
    async fn finish(&mut self) {
        match self {
            Self::Plain(socket) => socket.finish().await,
            Self::Tls(connection) => connection.finish().await,
        }
    }
}
