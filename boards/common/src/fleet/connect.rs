//! Connections of a probe's link: to its broker, and to where its lists are.

use core::net::IpAddr;

use dunlin::fetch::{Connect, Endpoint, Scheme, TlsError};
use dunlin_fleet::Broker;

use crate::tls::{Link, LinkError, TlsConnector};

/// Opens connections as slots do, but names no protocol to the broker: one that knows protocols by
/// name (ALPN) may refuse who asks for HTTP.
pub(super) struct BrokerConnector {
    pub(super) connect: TlsConnector,
    pub(super) broker: Broker<'static>,
}

impl Connect for BrokerConnector {
    type Error = LinkError;
    type Connection<'c> = Link<'c>;

    fn speaks_https(&self) -> bool {
        self.connect.speaks_https()
    }

    fn reaches(&self, address: IpAddr) -> bool {
        self.connect.reaches(address)
    }

    fn tls_error(error: &LinkError) -> Option<TlsError> {
        TlsConnector::tls_error(error)
    }

    async fn connect(&mut self, to: Endpoint<'_>) -> Result<Link<'_>, LinkError> {
        let is_broker = (to.host, to.port) == (self.broker.host, self.broker.port);
        if is_broker && to.scheme == Scheme::Https {
            return self.connect.connect_for(to, &[]).await;
        }
        self.connect.connect(to).await
    }
}
