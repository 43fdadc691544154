//! One connection to the broker, from its opening to its end.

use core::pin::pin;

use dunlin::fetch::{ClientError, Connect, Connection as _, OwnerServer, Resolve, Scheme, within};
use dunlin::fleet::{LinkError, MOST_VISITS, Presence, ProbeTopic, encode, topic};
use dunlin::probe::{Board, FleetEvent, Probe};
use dunlin::time::{Duration, Instant};
use embassy_futures::select::{Either, select};
use embassy_futures::yield_now;
use minimq::{
    Buffers, ConfigBuilder, Connection, Error, Io, Op, PeerError, PubError, Publication, QoS,
    Session, SubscriptionOptions, TopicFilter, Will,
};

use crate::duty::Duty;
use crate::link::{Broker, Link};
use crate::list::Device;

/// Messages of a second that are listened to. A planner sends one or two a report.
pub const MOST_A_SECOND: u32 = 32;
/// How long the broker may take for one step.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest time between two looks whether there is something to send.
const LOOK: Duration = Duration::from_secs(5);

/// What a step on a connection comes to.
type Step<T> = Result<T, LinkError>;

/// Connects, and attends to the broker until the connection ends, and why; `None` once it is time
/// to fetch a list, for which the connection makes room.
///
/// *Cancellation*: the connection ends without a good-bye.
pub(crate) async fn attend<B: Board, C: Connect, R: Resolve, D: Device>(
    link: &mut Link<'_, C, R>,
    probe: &Probe<'_, B>,
    device: &mut D,
) -> Option<LinkError> {
    let Link {
        connect,
        resolve,
        broker,
        memory,
        duty,
    } = link;
    let board = probe.board();
    let opened = {
        let opening = pin!(open(connect, resolve, broker, device));
        in_time(board, opening).await.and_then(|opened| opened)
    };
    let io = match opened {
        Ok(io) => io,
        Err(why) => return Some(why),
    };
    let mut gone = [0; 16];
    let boot = duty.member.boot();
    let gone = encode(
        &Presence {
            boot,
            online: false,
        },
        &mut gone,
    )
    .unwrap_or_default();
    let buffers = Buffers::new(&mut memory.receive, &mut memory.send);
    let keep_alive = duty.pace.keep_alive();
    let Some(config) = config(buffers, broker, gone, keep_alive) else {
        return Some(LinkError::Names);
    };
    let mut session = Session::new(config);
    let joined = {
        let joining = pin!(session.connect(io));
        in_time(board, joining).await
    };
    let mut connection = match joined {
        Ok(Ok(connection)) => connection,
        Ok(Err(why)) => return Some(left(&why)),
        Err(why) => return Some(why),
    };
    let ended = Attending {
        connection: &mut connection,
        broker,
        duty,
        window: &mut memory.window,
        told: None,
        heard: (Instant::ZERO, 0),
    }
    .run(probe, device)
    .await;
    if ended.is_ok() {
        // A good-bye keeps the broker from announcing the probe's end.
        let leaving = pin!(connection.disconnect());
        let _ = in_time(board, leaving).await;
    }
    connection.into_inner().finish().await;
    ended.err()
}

/// Waits for a step of the broker, but not for ever.
///
/// *Cancellation*: as of the step itself.
async fn in_time<B: Board, T>(
    board: &B,
    step: core::pin::Pin<&mut impl Future<Output = T>>,
) -> Step<T> {
    let deadline = pin!(board.sleep_until(board.now() + PATIENCE));
    within(deadline, step).await.ok_or(LinkError::Silence)
}

/// Finds the broker and opens a connection to it.
///
/// *Cancellation*: start over.
async fn open<'c, C: Connect, R: Resolve, D: Device>(
    connect: &'c mut C,
    resolve: &mut R,
    broker: &Broker<'_>,
    device: &mut D,
) -> Step<C::Connection<'c>> {
    let server = OwnerServer {
        scheme: if broker.is_secure {
            Scheme::Https
        } else {
            Scheme::Http
        },
        host: broker.host,
        port: broker.port,
    };
    let opened = server.open(connect, resolve).await;
    opened.map_err(|why| match why {
        ClientError::NeedsTls => LinkError::Tls,
        ClientError::Connect(why) => match C::tls_error(&why) {
            Some(why) => {
                device.tell(FleetEvent::Untrusted { why });
                LinkError::Untrusted
            }
            None => LinkError::Connection,
        },
        _ => LinkError::Name,
    })
}

/// Who connects; `None` if a name is too long for a broker.
fn config<'s>(
    buffers: Buffers<'s>,
    broker: &Broker<'s>,
    gone: &'s [u8],
    keep_alive: u16,
) -> Option<ConfigBuilder<'s>> {
    let state = topic(broker.fleet, broker.probe, ProbeTopic::State)?;
    let will = Will::new(&state, gone, &[]).ok()?;
    let config = ConfigBuilder::new(buffers)
        .client_id(broker.probe)
        .ok()?
        .keepalive_interval(keep_alive)
        .autodowngrade_qos()
        .will(will.retained().qos(QoS::AtLeastOnce))
        .ok()?;
    match broker.password {
        Some(password) => config.auth(broker.user, password.as_bytes()).ok(),
        None => Some(config),
    }
}

/// Why a connection is of no use any more.
fn left<E>(why: &Error<E>) -> LinkError {
    match why {
        Error::Peer(PeerError::Rejected(code)) => LinkError::Refused(u8::from(*code)),
        Error::Peer(_) | Error::Resource(_) | Error::InvalidRequest => LinkError::Nonsense,
        _ => LinkError::Ended,
    }
}

/// A probe that is connected.
struct Attending<'l, 'c, 's, 'b, IO> {
    connection: &'l mut Connection<'c, 's, IO>,
    broker: &'l Broker<'b>,
    duty: &'l mut Duty,
    window: &'l mut [u8],
    /// Visits that the broker has not acknowledged.
    told: Option<Op>,
    /// Messages since a moment.
    heard: (Instant, u32),
}

impl<IO: Io> Attending<'_, '_, '_, '_, IO> {
    /// Until it is time to fetch a list.
    ///
    /// *Cancellation*: the connection ends without a good-bye.
    async fn run<B: Board, D: Device>(mut self, probe: &Probe<'_, B>, device: &mut D) -> Step<()> {
        let board = probe.board();
        for which in [ProbeTopic::Grant, ProbeTopic::List, ProbeTopic::Command] {
            self.subscribe(board, which).await?;
        }
        let boot = self.duty.member.boot();
        let here = Presence { boot, online: true };
        self.say(board, ProbeTopic::State, |window| {
            encode(&here, window).map(<[u8]>::len)
        })
        .await?;
        device.tell(FleetEvent::Joined);
        // Who has lost the broker for a while says how it is, soon.
        self.duty.pace.report_soon();
        loop {
            let now = board.now();
            if now >= self.duty.pace.next_report() {
                self.report(probe).await?;
                self.duty.pace.joined();
                self.duty.take_visits(probe);
            }
            if probe.membership().untold() >= MOST_VISITS {
                self.duty.take_visits(probe);
            }
            self.tell_visits(board).await?;
            if self.duty.is_list_due(board.now()) {
                return Ok(());
            }
            let mut then = self.duty.pace.next_report().min(board.now() + LOOK);
            if self.duty.wanted.is_some() {
                then = then.min(self.duty.fetch_at);
            }
            self.listen(probe, device, then).await?;
        }
    }

    /// Listens to a topic from now on.
    ///
    /// *Cancellation*: the connection ends without a good-bye.
    async fn subscribe<B: Board>(&mut self, board: &B, which: ProbeTopic) -> Step<()> {
        let name = topic(self.broker.fleet, self.broker.probe, which).ok_or(LinkError::Names)?;
        let options = SubscriptionOptions::default().maximum_qos(QoS::AtLeastOnce);
        let filter = [TopicFilter::new(&name).options(options)];
        let subscribing = pin!(self.connection.subscribe(&filter, &[]));
        match in_time(board, subscribing).await? {
            Ok(_) => Ok(()),
            Err(why) => Err(left(&why)),
        }
    }

    /// Sends a message, which `write` puts into the window.
    ///
    /// *Cancellation*: the connection is of no use any more.
    async fn say<B: Board>(
        &mut self,
        board: &B,
        which: ProbeTopic,
        write: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) -> Step<Option<Op>> {
        let name = topic(self.broker.fleet, self.broker.probe, which).ok_or(LinkError::Names)?;
        let length = write(self.window).unwrap_or(0);
        let bytes = self.window.get(..length).unwrap_or_default();
        // The moment of a report counts, so it is not sent again later by itself.
        let publication = match which {
            ProbeTopic::Report => Publication::bytes(&name, bytes),
            ProbeTopic::State => Publication::bytes(&name, bytes)
                .retain()
                .qos(QoS::AtLeastOnce),
            _ => Publication::bytes(&name, bytes).qos(QoS::AtLeastOnce),
        };
        let publishing = pin!(self.connection.publish(publication));
        match in_time(board, publishing).await? {
            Ok(op) => Ok(op),
            // Too many are on their way; this one is sent again when its time comes.
            Err(PubError::Session(Error::NotReady | Error::Resource(_))) => Ok(None),
            Err(PubError::Session(why)) => Err(left(&why)),
            Err(PubError::Payload(())) => Err(LinkError::Nonsense),
        }
    }

    /// Reports, which counts for the lease that answers it.
    ///
    /// *Cancellation*: the connection is of no use any more; the next report says it all.
    async fn report<B: Board>(&mut self, probe: &Probe<'_, B>) -> Step<()> {
        let board = probe.board();
        let room = self.duty.room;
        let outlook = probe
            .membership()
            .outlook((room.pages, room.hosts, room.fetches));
        let now = board.now();
        let report = self.duty.member.report(&outlook, now);
        let is_leased = self.duty.is_leased(now);
        self.duty.pace.reported(is_leased, now);
        self.say(board, ProbeTopic::Report, |window| {
            encode(&report, window).map(<[u8]>::len)
        })
        .await?;
        Ok(())
    }

    /// Sends visits that were taken, and forgets them once the broker has acknowledged them.
    ///
    /// *Cancellation*: they are sent again.
    async fn tell_visits<B: Board>(&mut self, board: &B) -> Step<()> {
        if let Some(op) = &self.told {
            if self.connection.is_pending(op) {
                return Ok(());
            }
            self.told = None;
            self.duty.batch = None;
        }
        let now = board.now();
        let Some(batch) = self.duty.batch_at(now) else {
            return Ok(());
        };
        let length = encode(batch, self.window).map_or(0, <[u8]>::len);
        self.told = self
            .say(board, ProbeTopic::Visits, |_| Some(length))
            .await?;
        Ok(())
    }

    /// Listens to the broker until then, or until it has said something.
    ///
    /// *Cancellation*: safe.
    async fn listen<B: Board, D: Device>(
        &mut self,
        probe: &Probe<'_, B>,
        device: &mut D,
        then: Instant,
    ) -> Step<()> {
        let board = probe.board();
        let heard = match select(self.connection.poll(), board.sleep_until(then)).await {
            Either::First(Ok(Some(message))) => {
                let message = (message.topic(), message.retained(), message.payload());
                Some(self.duty.hear(self.broker, message, probe))
            }
            Either::First(Ok(None)) => None,
            Either::First(Err(Error::NotReady | Error::Resource(_))) => None,
            Either::First(Err(why)) => return Err(left(&why)),
            Either::Second(()) => return Ok(()),
        };
        // Others have their turn, however much the broker says.
        yield_now().await;
        let now = board.now();
        let (since, count) = &mut self.heard;
        if now - *since >= Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        if *count > MOST_A_SECOND {
            return Err(LinkError::Flood);
        }
        let Some(heard) = heard else { return Ok(()) };
        if let Some(news) = heard.news {
            device.tell(news);
        }
        if let Some(done) = heard.done {
            self.say(board, ProbeTopic::Done, |window| {
                encode(&done, window).map(<[u8]>::len)
            })
            .await?;
        }
        Ok(())
    }
}
