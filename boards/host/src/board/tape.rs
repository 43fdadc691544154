//! A tee around the connections of a crawl: what went over the wire last, slot by slot, for an
//! archive. The crawler does not know of it.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::rc::Rc;

use dunlin::fetch::{Connect, Connection, Endpoint, Scheme, TlsError};
use embedded_io_async::{ErrorType, Read, Write};

use super::computer::unix_time;
use super::net::{HostConnect, HostConnection};
use crate::archive::exchange::Exchange;

/// Bytes of an answer that are remembered: a body of 1 MiB, however it is cut into chunks.
const LONGEST: usize = 8 << 20;

/// One tape a slot, and which slot is at work.
#[derive(Debug, Default)]
pub struct Tapes {
    tapes: Vec<Rc<RefCell<Tape>>>,
    at_work: Cell<Option<usize>>,
}

/// The last request of a slot and its answer.
#[derive(Debug, Default)]
struct Tape {
    exchange: Exchange,
    scheme: Option<Scheme>,
    /// Bytes of the answer have come: what is written next is another request.
    answered: bool,
}

impl Tapes {
    /// Tapes for so many slots.
    pub fn new(slots: usize) -> Self {
        Self {
            tapes: (0..slots).map(|_| Rc::default()).collect(),
            at_work: Cell::new(None),
        }
    }

    /// Puts a slot's tape between it and the network.
    pub fn around(&self, slot: usize, connect: HostConnect) -> TapedConnect {
        TapedConnect {
            connect,
            tape: self.tapes.get(slot).cloned(),
        }
    }

    /// Drives a slot's work, and says that it is this slot's while it does: what is logged then is
    /// about the tape's exchange. *Cancellation*: as for `work`.
    pub async fn during<T>(&self, slot: usize, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            self.at_work.set(Some(slot));
            let done = work.as_mut().poll(context);
            self.at_work.set(None);
            done
        })
        .await
    }

    /// Looks at the answer to the last request of the slot that is at work.
    pub fn look<T>(&self, see: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let tape = self.tapes.get(self.at_work.get()?)?.borrow();
        Some(see(&tape.exchange.response))
    }

    /// The last exchange of the slot that is at work.
    pub fn take(&self) -> Option<Exchange> {
        let tape = self.tapes.get(self.at_work.get()?)?;
        let mut tape = tape.borrow_mut();
        let exchange = std::mem::take(&mut tape.exchange);
        let url = url(&exchange.request, tape.scheme?)?;
        Some(Exchange { url, ..exchange })
    }
}

/// What a request asks for: its target and its `Host`.
fn url(request: &[u8], scheme: Scheme) -> Option<String> {
    let head = std::str::from_utf8(request).ok()?;
    let mut lines = head.split("\r\n");
    let target = lines.next()?.split(' ').nth(1)?;
    let host = lines.find_map(|line| line.strip_prefix("Host: "))?;
    Some(format!("{}://{host}{target}", scheme.name()))
}

impl Tape {
    fn connected(&mut self, scheme: Scheme, address: IpAddr) {
        self.scheme = Some(scheme);
        self.exchange = Exchange {
            address: Some(address),
            ..Exchange::default()
        };
        self.answered = false;
    }

    fn sent(&mut self, bytes: &[u8]) {
        if std::mem::take(&mut self.answered) {
            self.exchange.request.clear();
            self.exchange.response.clear();
        }
        if self.exchange.request.is_empty() {
            self.exchange.time = unix_time();
        }
        self.exchange.request.extend_from_slice(bytes);
    }

    fn received(&mut self, bytes: &[u8]) {
        self.answered = true;
        let room = LONGEST.saturating_sub(self.exchange.response.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.exchange.response.extend_from_slice(taken);
    }
}

/// Opens connections that are taped, if anybody wants that.
#[derive(Clone, Debug)]
pub struct TapedConnect {
    connect: HostConnect,
    tape: Option<Rc<RefCell<Tape>>>,
}

impl Connect for TapedConnect {
    type Error = io::Error;
    type Connection<'c> = TapedConnection;

    fn speaks_https(&self) -> bool {
        self.connect.speaks_https()
    }

    fn tls_error(error: &io::Error) -> Option<TlsError> {
        HostConnect::tls_error(error)
    }

    async fn connect(&mut self, to: Endpoint<'_>) -> Result<TapedConnection, io::Error> {
        let connection = self.connect.connect(to).await?;
        if let Some(tape) = &self.tape {
            tape.borrow_mut().connected(to.scheme, to.address);
        }
        Ok(TapedConnection {
            connection,
            tape: self.tape.clone(),
        })
    }
}

/// A connection that may be taped.
#[derive(Debug)]
pub struct TapedConnection {
    connection: HostConnection,
    tape: Option<Rc<RefCell<Tape>>>,
}

impl ErrorType for TapedConnection {
    type Error = io::Error;
}

impl Read for TapedConnection {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.connection.read(buffer).await?;
        if let Some(tape) = &self.tape {
            tape.borrow_mut().received(&buffer[..count]);
        }
        Ok(count)
    }
}

impl Write for TapedConnection {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.connection.write(bytes).await?;
        if let Some(tape) = &self.tape {
            tape.borrow_mut().sent(&bytes[..count]);
        }
        Ok(count)
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.connection.flush().await
    }
}

impl Connection for TapedConnection {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tape_holds_the_last_exchange_of_the_slot_that_is_at_work() {
        let tapes = Tapes::new(2);
        let hear = |slot: usize, request: &[u8], answer: &[u8]| {
            let mut tape = tapes.tapes[slot].borrow_mut();
            tape.sent(&request[..3]);
            tape.sent(&request[3..]);
            tape.received(answer);
        };
        for tape in &tapes.tapes {
            tape.borrow_mut()
                .connected(Scheme::Https, [127, 0, 0, 1].into());
        }
        hear(
            0,
            b"GET /robots.txt HTTP/1.1\r\nHost: a.test\r\n\r\n",
            b"old",
        );
        hear(0, b"GET /x?y HTTP/1.1\r\nHost: a.test:81\r\n\r\n", b"new");
        hear(1, b"GET /other HTTP/1.1\r\nHost: b.test\r\n\r\n", b"other");
        assert_eq!(tapes.take(), None, "nobody is at work");
        let taken = async_io::block_on(tapes.during(0, async { tapes.take() }));
        let taken = taken.expect("an exchange");
        assert_eq!(taken.url, "https://a.test:81/x?y");
        assert_eq!(taken.response, b"new");
        let again = async_io::block_on(tapes.during(0, async { tapes.take() }));
        assert_eq!(again, None, "it is taken once");
    }
}
