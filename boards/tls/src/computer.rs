//! The client of boards on a computer, for tests and benches: sockets that block, so that it never
//! waits, and whatever clock, memory and authorities are wanted.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use dunlin::fetch::Connection;
use embedded_io_async::{ErrorType, Read, Write};

use crate::{Clock, Memory, Need, Owner, RecordBuffer, Records, Room, Sessions, Tls, seed};

/// What a board would be.
#[derive(Debug)]
pub struct Machine {
    /// The date, in seconds since 1970.
    pub date: u64,
    /// Certificates of authorities, in DER.
    pub authorities: Vec<Vec<u8>>,
    /// Bytes that sessions may take.
    pub sessions: usize,
    /// What random numbers are made of.
    pub seed: [u8; 32],
}

impl Machine {
    /// A client that lives as long as the program, in memory without end.
    ///
    /// # Panics
    /// rustls finds fault with its configuration.
    pub fn client(self) -> &'static Tls {
        self.client_in(&Endless)
    }

    /// The same in memory that somebody watches.
    ///
    /// # Panics
    /// rustls finds fault with its configuration.
    pub fn client_in(self, memory: &'static dyn Memory) -> &'static Tls {
        seed(self.seed);
        let machine: &Self = Box::leak(Box::new(self));
        let buffer = Box::leak(Box::new(RecordBuffer::new()));
        let records = Box::leak(Box::new(Records::new(buffer)));
        let sessions = Box::leak(Box::new(Sessions::new(machine.sessions)));
        let tls = Tls::new(records, sessions, memory, machine, machine);
        Box::leak(Box::new(tls.expect("the configuration is sound")))
    }
}

impl Clock for Machine {
    fn unix_time(&self) -> Option<u64> {
        Some(self.date)
    }
}

impl Owner for Machine {
    fn is_own(&self, _: &str) -> bool {
        true
    }

    fn authority(&self, index: usize) -> Option<&[u8]> {
        self.authorities.get(index).map(Vec::as_slice)
    }
}

#[derive(Debug)]
struct Endless;

impl Memory for Endless {
    fn room(&self, _: Need, _: usize) -> Room {
        Room::Enough
    }
}

/// A socket that blocks.
#[derive(Debug)]
pub struct Socket(pub TcpStream);

impl ErrorType for Socket {
    type Error = io::Error;
}

impl Read for Socket {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Socket {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    async fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Connection for Socket {}

/// The outcome of what never waits, as all does over a [`Socket`].
///
/// # Panics
/// It waits.
pub fn finish<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}
