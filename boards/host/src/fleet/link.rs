//! The way to a broker: MQTT 5 over this computer's sockets, for as long as somebody wants it.
//!
//! Nothing relies on what a broker remembers of a client: each connection begins anew, and what
//! matters is said again until it has been heard.

use std::future::Future;
use std::time::Duration;

use async_io::Timer;
use dunlin::fetch::{ClientError, OwnerServer, Scheme};
use futures_lite::FutureExt as _;
use minimq::{
    Buffers, ConfigBuilder, Connection, Property, Publication, QoS, Session, SubscriptionOptions,
    TopicFilter, Will,
};

use super::broker_url::BrokerUrl;
use crate::board::net::{HostConnect, HostConnection, HostResolve, open_any};

/// How long a connection, a handshake, or one message on its way out may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two attempts to connect.
const RETRY: Duration = Duration::from_millis(500);
/// How often somebody is asked what to send.
const TICK: Duration = Duration::from_millis(50);
/// The longest packet that is read, and the longest that is written.
const LONGEST: usize = 64 * 1024;
/// A broker that has heard nothing for one and a half times this ends the connection.
const KEEP_ALIVE_S: u16 = 20;
/// The longest name of a client that is kept here.
const LONGEST_CLIENT: usize = 64;

/// A message on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The topic that it is published under.
    pub topic: String,
    /// The bytes of the message.
    pub payload: Vec<u8>,
    /// The broker keeps it for who comes later.
    pub retained: bool,
    /// The broker forgets it after so many seconds.
    pub expires_s: Option<u32>,
}

impl Outgoing {
    /// A message that is gone once it has been heard.
    pub fn new(topic: impl Into<String>, payload: impl Into<Vec<u8>>) -> Self {
        Self {
            topic: topic.into(),
            payload: payload.into(),
            retained: false,
            expires_s: None,
        }
    }

    /// The broker keeps it.
    #[must_use]
    pub fn retained(self) -> Self {
        Self {
            retained: true,
            ..self
        }
    }

    /// The broker forgets it after so many seconds.
    #[must_use]
    pub fn expires(self, seconds: u32) -> Self {
        Self {
            expires_s: Some(seconds),
            ..self
        }
    }
}

/// Who connects, and to what.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The broker, and the user who connects to it.
    pub url: BrokerUrl,
    /// The client's name: a broker has one connection of a name.
    pub client: String,
    /// What is listened to, and whether the broker has to see that it arrives.
    pub filters: Vec<(String, bool)>,
    /// What the broker says when the connection is lost; it keeps that.
    pub will: Option<Outgoing>,
}

/// Whoever has something to say to others through a broker. Calls return at once.
pub trait Peer {
    /// There is a connection, and it listens.
    fn connected(&mut self);
    /// A message came; `kept` says that the broker had it from earlier.
    fn heard(&mut self, topic: &str, payload: &[u8], kept: bool);
    /// What is to be said now. Asked some twenty times a second.
    fn outbox(&mut self) -> Vec<Outgoing>;
    /// The connection is lost, or there was none.
    fn lost(&mut self, why: &str);
    /// The end: the connection is closed.
    fn is_over(&mut self) -> bool;
}

/// Keeps a connection for as long as it is wanted.
///
/// *Cancellation*: the connection ends without a good-bye, and what was on its way is lost.
pub async fn serve(
    settings: &Settings,
    connect: &HostConnect,
    resolve: &HostResolve,
    peer: &mut impl Peer,
) {
    while !peer.is_over() {
        match connection(settings, connect.clone(), resolve.clone(), peer).await {
            Ok(()) => return,
            Err(why) => peer.lost(&why),
        }
        Timer::after(RETRY).await;
    }
}

/// One connection, from its beginning to its end.
///
/// *Cancellation*: the connection ends without a good-bye, and what was on its way is lost.
async fn connection(
    settings: &Settings,
    connect: HostConnect,
    resolve: HostResolve,
    peer: &mut impl Peer,
) -> Result<(), String> {
    let url = &settings.url;
    let socket = within(open(url, connect, resolve)).await??;
    let mut received = vec![0; LONGEST];
    let mut sent = vec![0; LONGEST];
    let wrong = |why: minimq::ConfigError| why.to_string();
    let client: String = settings.client.chars().take(LONGEST_CLIENT).collect();
    let mut config = ConfigBuilder::new(Buffers::new(&mut received, &mut sent))
        .client_id(&client)
        .map_err(wrong)?
        .auth(&url.user, url.password.as_bytes())
        .map_err(wrong)?
        .keepalive_interval(KEEP_ALIVE_S);
    if let Some(will) = &settings.will {
        let will = Will::new(&will.topic, &will.payload, &[]).map_err(wrong)?;
        config = config.will(will.retained()).map_err(wrong)?;
    }
    let mut session = Session::new(config);
    let mut connection = within(session.connect(socket))
        .await?
        .map_err(|why| why.to_string())?;
    let options = |certain: &bool| {
        let quality = match certain {
            true => QoS::AtLeastOnce,
            false => QoS::AtMostOnce,
        };
        SubscriptionOptions::default().maximum_qos(quality)
    };
    // One at a time: a broker that forbids one of them says which.
    for (filter, certain) in &settings.filters {
        let filter = TopicFilter::new(filter).options(options(certain));
        within(connection.subscribe(&[filter], &[]))
            .await?
            .map_err(|why| why.to_string())?;
    }
    peer.connected();
    loop {
        if peer.is_over() {
            // Whoever ends the program does not wait for a broker that is gone.
            let _ = within(connection.disconnect()).await;
            return Ok(());
        }
        for message in peer.outbox() {
            within(publish(&mut connection, &message)).await??;
        }
        let heard = async { Some(connection.poll().await) };
        let quiet = async {
            Timer::after(TICK).await;
            None
        };
        match heard.or(quiet).await {
            Some(Ok(Some(message))) => {
                peer.heard(message.topic(), message.payload(), message.retained());
            }
            Some(Ok(None)) | None => {}
            Some(Err(why)) => return Err(why.to_string()),
        }
    }
}

/// Opens a connection to the broker.
///
/// *Cancellation*: start over.
async fn open(
    url: &BrokerUrl,
    mut connect: HostConnect,
    mut resolve: HostResolve,
) -> Result<HostConnection, String> {
    let server = OwnerServer {
        scheme: if url.tls { Scheme::Https } else { Scheme::Http },
        host: &url.host,
        port: url.port,
    };
    let opened = open_any(&server, &mut connect, &mut resolve).await;
    opened.map_err(|why| match why {
        ClientError::Resolve(why) => format!("{}: {why}", url.host),
        ClientError::NoAddress => format!("{} has no address", url.host),
        ClientError::Connect(why) => why.to_string(),
        other => other.to_string(),
    })
}

/// Sends a message.
///
/// *Cancellation*: the connection is of no use any more, for a part of the message may have gone.
async fn publish(
    connection: &mut Connection<'_, '_, HostConnection>,
    message: &Outgoing,
) -> Result<(), String> {
    let expires = message.expires_s.map(Property::MessageExpiryInterval);
    let publication = Publication::bytes(&message.topic, &message.payload);
    let publication = match message.retained {
        true => publication.retain(),
        false => publication,
    };
    let publication = publication.properties(expires.as_slice());
    let published = connection.publish(publication).await;
    published
        .map(drop)
        .map_err(|_| "it cannot be written to".into())
}

/// Gives up after [`PATIENCE`].
///
/// *Cancellation*: as of the work itself.
async fn within<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let late = async {
        Timer::after(PATIENCE).await;
        Err("it does not answer".to_owned())
    };
    async { Ok(work.await) }.or(late).await
}
