//! A TLS connection over any other: rustls in the middle, the shared buffer below it.

use alloc::boxed::Box;
use alloc::string::ToString as _;
use core::fmt;

use dunlin::fetch::{Connection, TlsError};
use embassy_time::{Duration, Instant, Timer, with_deadline};
use embedded_io_async::{ErrorType, Read, Write};
use rustls::HandshakeKind;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use crate::Tls;
use crate::caps::{self, Caps};
use crate::failure::{StreamError, reason};
use crate::incoming::{HEADER, Incoming};
use crate::need::Need;
use crate::records::{OUTGOING, PATIENCE, Taken};

/// Bytes that a handshake may bring.
const LONGEST_HANDSHAKE: usize = 32 * 1024;
/// Bytes of text that go into one record.
const LONGEST_WRITE: usize = OUTGOING - 64;
/// How often a handshake that waits for memory looks whether there is some.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// An open connection that speaks TLS over `S`.
///
/// *Cancellation*: a read that is dropped has lost nothing. A write that is dropped may have sent a
/// part of a record: the connection must not be used again.
pub struct TlsConnection<'t, S> {
    tls: &'t Tls,
    below: S,
    /// In the pool, so that a slot without a TLS connection has no room set apart for it.
    rustls: Box<UnbufferedClientConnection>,
    name: ServerName<'static>,
    port: u16,
    /// Bytes of the session that was there to be resumed.
    offered: usize,
    /// The first bytes of a record, until the buffer is there for the rest.
    begun: heapless::Vec<u8, HEADER>,
    buffer: Option<Incoming<'t>>,
    /// What is plain on its way, as long as that is so.
    caps: Caps,
    /// Bytes that the handshake has brought.
    brought: usize,
    /// rustls has refused what came, and may want to say so. If we did, it must not see it.
    has_alert: bool,
    is_over: bool,
}

/// What processing came to.
enum Progress {
    /// There is text to be read, or the server has said goodbye.
    Readable,
    /// More has to come.
    NeedsMore,
    /// So many bytes behind what came have to be sent.
    Send(usize),
    /// The handshake is complete, and everything that came is processed.
    Idle,
    /// The server says that this was all.
    Goodbye,
}

type Result<T, S> = core::result::Result<T, StreamError<<S as ErrorType>::Error>>;

impl<S> fmt::Debug for TlsConnection<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsConnection")
            .field("name", &self.name)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

impl<'t, S: Connection> TlsConnection<'t, S> {
    /// Shakes hands with the server on `below`, which has to be `host`; `port` is where it was
    /// asked. It is going to be asked for pages.
    ///
    /// # Errors
    /// Why it is not to be trusted, or cannot be talked to. *Cancellation*: the connection is given
    /// up.
    pub async fn open(tls: &'t Tls, below: S, host: &str, port: u16) -> Result<Self, S> {
        Self::open_for(tls, below, host, port, &["http/1.1"]).await
    }

    /// The same for other protocols, by the names that ALPN has for them; none, if the server is
    /// not to be asked for any.
    ///
    /// # Errors
    /// As of [`open`](Self::open). *Cancellation*: the connection is given up.
    pub async fn open_for(
        tls: &'t Tls,
        below: S,
        host: &str,
        port: u16,
        protocols: &[&str],
    ) -> Result<Self, S> {
        let refused = StreamError::Tls;
        if !tls.knows_time() {
            return Err(refused(TlsError::Time));
        }
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_string()).map_err(|_| refused(TlsError::Name))?;
        // Others are done soon, as a rule.
        let end = Instant::now() + PATIENCE;
        while !tls.make_room(Need::USUAL) && Instant::now() < end {
            Timer::after(LOOK_AGAIN).await;
        }
        tls.sessions().turn_to(port);
        let (_, ticket) = tls.sessions().bytes_of(&name);
        if !tls.make_room(Need::of_hello(ticket)) {
            return Err(refused(TlsError::Memory));
        }
        // It may have been forgotten to make room.
        let (offered, _) = tls.sessions().bytes_of(&name);
        let protocols = protocols.iter().map(|name| name.as_bytes().to_vec());
        let rustls = UnbufferedClientConnection::new_with_alpn(
            tls.config(),
            name.clone(),
            protocols.collect(),
        )
        .map_err(|why| refused(reason(&why)))?;
        let mut connection = Self {
            tls,
            below,
            rustls: Box::new(rustls),
            name,
            port,
            offered,
            begun: heapless::Vec::new(),
            buffer: None,
            caps: Caps::PLAIN,
            brought: 0,
            has_alert: false,
            is_over: false,
        };
        connection.take_buffer().await?;
        while !connection.turn().await? {
            if connection.brought > LONGEST_HANDSHAKE {
                return Err(refused(TlsError::Protocol));
            }
        }
        tls.count(connection.rustls.handshake_kind() == Some(HandshakeKind::Resumed));
        Ok(connection)
    }

    /// Was the handshake one that resumed a session?
    pub fn is_resumed(&self) -> bool {
        self.rustls.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Takes the buffer, if it is not ours already.
    ///
    /// *Cancellation*: safe; dropping the future gives up the place in the queue.
    async fn take_buffer(&mut self) -> Result<(), S> {
        if self.buffer.is_none() {
            let taken = self.tls.records().take().await;
            let bytes = taken.ok_or(StreamError::Tls(TlsError::Memory))?;
            self.put_begun(bytes);
        }
        Ok(())
    }

    fn put_begun(&mut self, mut bytes: Taken<'t>) {
        let begun = self.begun.len();
        if let Some(front) = bytes.get_mut(..begun) {
            front.copy_from_slice(&self.begun);
        }
        self.begun.clear();
        self.buffer = Some(Incoming::new(bytes, begun));
    }

    /// Gives the buffer back, if nothing is in it.
    fn give_back(&mut self) {
        if self.buffer.as_ref().is_some_and(Incoming::is_empty) {
            self.buffer = None;
        }
    }

    /// One step: processes what is there, sends what has to be sent, or waits for more. True if
    /// there is text to be read or nothing left to do.
    ///
    /// *Cancellation*: dropping the future may leave half a record sent or read: the connection is
    /// of no use any more.
    async fn turn(&mut self) -> Result<bool, S> {
        let progress = self.process().map_err(|why| self.fail(why));
        let progress = match progress {
            Ok(progress) => progress,
            Err(why) => {
                self.send_alert().await;
                return Err(why);
            }
        };
        match progress {
            Progress::Readable => return Ok(true),
            Progress::Idle => {
                self.give_back();
                return Ok(true);
            }
            Progress::Goodbye => {
                self.is_over = true;
                self.buffer = None;
                return Ok(true);
            }
            Progress::Send(length) => self.send(length).await?,
            Progress::NeedsMore => self.receive().await?,
        }
        Ok(false)
    }

    /// Lets rustls process what is there, as far as that goes without waiting.
    // Out of the futures' code: the frames of cryptography end with it.
    #[inline(never)]
    fn process(&mut self) -> core::result::Result<Progress, TlsError> {
        let handshaking = self.rustls.is_handshaking();
        let Some(incoming) = &mut self.buffer else {
            return Ok(Progress::Idle);
        };
        if !incoming.text.is_empty() {
            return Ok(Progress::Readable);
        }
        incoming.move_to_front();
        if handshaking {
            incoming.check(&mut self.caps)?;
        }
        self.tls.sessions().turn_to(self.port);
        let mut sending = 0;
        // Bytes of what waits that rustls has seen.
        let mut shown = 0;
        loop {
            let chain = chain_bytes(&self.rustls);
            let need = match self.rustls.is_handshaking() {
                true => {
                    shown = incoming.waiting.len();
                    Need::of_handshake(shown, self.offered, chain)
                }
                // A record at a time: that is what room is asked for.
                false => {
                    shown = incoming.with_next_record(shown);
                    Need::of_traffic(chain)
                }
            };
            if !self.tls.make_room(need) {
                return Err(TlsError::Memory);
            }
            let Incoming { bytes, waiting, .. } = incoming;
            let (came, free) = bytes.split_at_mut(waiting.end);
            let came = came.get_mut(waiting.start..waiting.start + shown);
            let came = came.unwrap_or_default();
            let UnbufferedStatus { discard, state } = self.rustls.process_tls_records(came);
            let mut is_text = false;
            let progress = match state {
                Ok(ConnectionState::EncodeTlsData(mut message)) => {
                    let free = free.get_mut(sending..).unwrap_or_default();
                    let encoded = message.encode(free).map_err(|_| TlsError::Memory)?;
                    sending += encoded;
                    None
                }
                Ok(ConnectionState::TransmitTlsData(message)) => {
                    message.done();
                    Some(Progress::Send(core::mem::take(&mut sending)))
                }
                // Its first byte, which is of no use: the text is where its record was.
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    is_text = matches!(traffic.next_record(), Some(Ok(_)));
                    None
                }
                Ok(ConnectionState::BlockedHandshake) => Some(Progress::NeedsMore),
                Ok(ConnectionState::WriteTraffic(_)) => Some(Progress::Idle),
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    Some(Progress::Goodbye)
                }
                Ok(_) => return Err(TlsError::Protocol),
                Err(why) => {
                    let why = reason(&why);
                    incoming.discard(discard);
                    self.has_alert = true;
                    return Err(why);
                }
            };
            incoming.discard(discard);
            shown = shown.saturating_sub(discard);
            if !self.rustls.is_handshaking() {
                self.tls.weigh(&self.name, &self.rustls);
            }
            if is_text {
                incoming.find_text().ok_or(TlsError::Protocol)?;
                return Ok(Progress::Readable);
            }
            match progress {
                Some(Progress::Idle) if shown < incoming.waiting.len() => {}
                Some(Progress::Idle) => {
                    // A part of a record waits for the rest.
                    return Ok(match incoming.waiting.is_empty() {
                        true => Progress::Idle,
                        false => Progress::NeedsMore,
                    });
                }
                Some(progress) => return Ok(progress),
                None => {}
            }
        }
    }

    /// Sends what was put behind what came.
    ///
    /// *Cancellation*: dropping the future may leave half a record sent: the connection is of no
    /// use any more.
    async fn send(&mut self, length: usize) -> Result<(), S> {
        let Some(incoming) = &mut self.buffer else {
            return Ok(());
        };
        let start = incoming.waiting.end;
        let bytes = incoming
            .bytes
            .get(start..start + length)
            .unwrap_or_default();
        let sent = with_deadline(incoming.bytes.until, self.below.write_all(bytes)).await;
        match sent {
            Ok(sent) => sent.map_err(StreamError::Below),
            Err(_) => Err(self.slow()),
        }
    }

    /// Waits for more, and puts it behind what is there.
    ///
    /// *Cancellation*: safe where reading of the connection below is.
    async fn receive(&mut self) -> Result<(), S> {
        if self.buffer.as_ref().is_some_and(Incoming::is_empty) {
            // Whoever waits holds nothing.
            self.buffer = None;
        }
        let count = match &mut self.buffer {
            None => {
                let mut header = [0; HEADER];
                let room = HEADER - self.begun.len();
                let place = header.get_mut(..room).unwrap_or_default();
                let count = self.below.read(place).await.map_err(StreamError::Below)?;
                let _ = self
                    .begun
                    .extend_from_slice(header.get(..count).unwrap_or_default());
                if count > 0 {
                    self.take_buffer().await?;
                }
                count
            }
            Some(incoming) => {
                let until = incoming.bytes.until;
                let Some(place) = incoming.room() else {
                    return Err(StreamError::Tls(self.fail_with(TlsError::Protocol)));
                };
                match with_deadline(until, self.below.read(place)).await {
                    Ok(read) => {
                        let count = read.map_err(StreamError::Below)?;
                        incoming.waiting.end += count;
                        count
                    }
                    Err(_) => return Err(self.slow()),
                }
            }
        };
        if count == 0 {
            self.is_over = true;
            self.buffer = None;
            return Err(StreamError::Cut);
        }
        self.brought += count;
        Ok(())
    }

    fn slow(&mut self) -> StreamError<S::Error> {
        self.is_over = true;
        self.buffer = None;
        StreamError::Slow
    }

    fn fail_with(&mut self, why: TlsError) -> TlsError {
        self.is_over = true;
        why
    }

    fn fail(&mut self, why: TlsError) -> StreamError<S::Error> {
        StreamError::Tls(self.fail_with(why))
    }

    /// Tells the server why the connection is over, if rustls has something to say and it can be
    /// said at once.
    ///
    /// *Cancellation*: safe; the connection is over in any case.
    async fn send_alert(&mut self) {
        let Some(incoming) = self.buffer.as_mut().filter(|_| self.has_alert) else {
            return;
        };
        let until = incoming.bytes.until;
        let (came, free) = incoming.bytes.split_at_mut(incoming.waiting.end);
        let came = came.get_mut(incoming.waiting.clone()).unwrap_or_default();
        let UnbufferedStatus { state, .. } = self.rustls.process_tls_records(came);
        let Ok(ConnectionState::EncodeTlsData(mut message)) = state else {
            return;
        };
        if let Ok(length) = message.encode(free) {
            let alert = free.get(..length).unwrap_or_default();
            let _ = with_deadline(until, self.below.write_all(alert)).await;
        }
        self.buffer = None;
    }

    /// Encrypts the beginning of these bytes behind what came: how many, and how long the record
    /// is.
    #[inline(never)]
    fn encrypt(&mut self, bytes: &[u8]) -> core::result::Result<(usize, usize), TlsError> {
        let Some(incoming) = &mut self.buffer else {
            return Err(TlsError::Memory);
        };
        if !self
            .tls
            .make_room(Need::of_traffic(chain_bytes(&self.rustls)))
        {
            return Err(TlsError::Memory);
        }
        let text = bytes
            .get(..LONGEST_WRITE.min(bytes.len()))
            .unwrap_or_default();
        let (came, free) = incoming.bytes.split_at_mut(incoming.waiting.end);
        let came = came.get_mut(incoming.waiting.clone()).unwrap_or_default();
        let UnbufferedStatus { discard, state } = self.rustls.process_tls_records(came);
        let length = match state {
            Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                traffic.encrypt(text, free).map_err(|_| TlsError::Memory)?
            }
            _ => return Err(TlsError::Protocol),
        };
        incoming.discard(discard);
        Ok((text.len(), length))
    }
}

impl<S: ErrorType> ErrorType for TlsConnection<'_, S> {
    type Error = StreamError<S::Error>;
}

impl<S: Connection> Read for TlsConnection<'_, S> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, S> {
        loop {
            if let Some(incoming) = &mut self.buffer
                && !incoming.text.is_empty()
            {
                let count = incoming.text.len().min(buffer.len());
                let start = incoming.text.start;
                let text = incoming.bytes.get(start..start + count).unwrap_or_default();
                buffer
                    .iter_mut()
                    .zip(text)
                    .for_each(|(to, from)| *to = *from);
                incoming.text.start += count;
                self.give_back();
                return Ok(count);
            }
            if self.is_over {
                return Ok(0);
            }
            if self.turn().await? && self.buffer.is_none() && !self.is_over {
                self.receive().await?;
            }
        }
    }
}

impl<S: Connection> Write for TlsConnection<'_, S> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, S> {
        if self.is_over {
            return Err(StreamError::Cut);
        }
        self.take_buffer().await?;
        // What rustls has to say comes first.
        while let Progress::Send(length) = self.process().map_err(|why| self.fail(why))? {
            self.send(length).await?;
        }
        let (count, length) = self.encrypt(bytes).map_err(|why| self.fail(why))?;
        self.send(length).await?;
        self.give_back();
        Ok(count)
    }

    async fn flush(&mut self) -> Result<(), S> {
        self.below.flush().await.map_err(StreamError::Below)
    }
}

impl<S: Connection> Connection for TlsConnection<'_, S> {
    /// Says goodbye, if the buffer is free for it, and ends what is below.
    async fn finish(&mut self) {
        if !self.is_over && !self.rustls.is_handshaking() {
            if self.buffer.is_none()
                && let Some(bytes) = self.tls.records().try_take()
            {
                self.put_begun(bytes);
            }
            let need = Need::of_traffic(chain_bytes(&self.rustls));
            let buffer = self.buffer.as_mut().filter(|_| self.tls.make_room(need));
            let goodbye = buffer.and_then(|incoming| {
                incoming.text = 0..0;
                let (came, free) = incoming.bytes.split_at_mut(incoming.waiting.end);
                let came = came.get_mut(incoming.waiting.clone()).unwrap_or_default();
                match self.rustls.process_tls_records(came).state {
                    Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                        traffic.queue_close_notify(free).ok()
                    }
                    _ => None,
                }
            });
            if let Some(length) = goodbye {
                let _ = self.send(length).await;
            }
        }
        self.is_over = true;
        self.buffer = None;
        self.below.finish().await;
    }
}

impl Tls {
    /// Tells the session cache how long what a server's session keeps is.
    fn weigh(&self, name: &ServerName<'_>, rustls: &UnbufferedClientConnection) {
        let chain = chain_bytes(rustls);
        self.sessions().weigh(name, chain, caps::ticket_bytes());
    }
}

/// Bytes of the server's chain, as far as it is known.
fn chain_bytes(rustls: &UnbufferedClientConnection) -> usize {
    let chain = rustls.peer_certificates().unwrap_or_default();
    chain.iter().map(|certificate| certificate.len()).sum()
}
