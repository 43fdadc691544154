//! What the examples run on instead of a board: a network, a clock and a flash in memory.
#![allow(dead_code)] // Each example uses a part of it.

use core::cell::Cell;
use core::convert::Infallible;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use dunlin::catalog::{Config, Host, Page};
use dunlin::fetch::{Addresses, Connect, Connection, Endpoint, Resolve};
use dunlin::image::{Builder, ImageError};
use dunlin::probe::{Board, Event};
use dunlin::store::Partition;
use dunlin::time::{Duration, Instant};
use embedded_io_async::{ErrorType, Read, Write};
use embedded_storage_async::nor_flash::{
    ErrorType as FlashErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash,
};

/// A page image of two pages on one host.
pub fn page_image() -> Result<Vec<u8>, ImageError> {
    let host = Host {
        pages: 2,
        ..Host::new("example.org", 0)
    };
    Builder::new(&Config::new("dunlin/0.1"))
        .hosts(&[host])
        .pages(&[
            Page::new(0, "http://example.org/"),
            Page::new(0, "http://example.org/news"),
        ])
        .build()
}

/// A network on which every name has an address and every page says hello.
#[derive(Clone, Copy, Debug)]
pub struct Network;

/// A connection to it: what is left of the answer.
#[derive(Debug)]
pub struct Server(&'static [u8]);

impl Connect for Network {
    type Error = Infallible;
    type Connection<'c> = Server;

    async fn connect(&mut self, _: Endpoint<'_>) -> Result<Server, Infallible> {
        Ok(Server(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"))
    }
}

impl Resolve for Network {
    type Error = Infallible;

    async fn resolve(&mut self, _: &str) -> Result<Addresses, Infallible> {
        Ok(Addresses::from_iter([[192, 0, 2, 1].into()]))
    }
}

impl Connection for Server {}

impl ErrorType for Server {
    type Error = Infallible;
}

impl Read for Server {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let count = self.0.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

impl Write for Server {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// A board on which whoever sleeps wakes up at once, later, until its ten minutes are over.
#[derive(Debug, Default)]
pub struct FastClock(Cell<u64>);

impl Board for FastClock {
    fn now(&self) -> Instant {
        Instant::from_micros(self.0.get())
    }

    async fn sleep_until(&self, then: Instant) {
        if then > Instant::ZERO + Duration::from_secs(600) {
            core::future::pending().await
        }
        self.0.set(then.max(self.now()).as_micros());
    }

    fn log(&self, event: &Event) {
        println!("{:>8} ms  {event}", self.0.get() / 1_000);
    }
}

/// Flash that forgets nothing while the program runs: 8 sectors of 4 KiB.
#[derive(Debug)]
pub struct Flash(Vec<u8>);

impl Flash {
    /// A flash that is erased.
    pub fn blank() -> Self {
        Self(vec![0xFF; 8 * 4096])
    }
}

impl FlashErrorType for Flash {
    type Error = Infallible;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        let start = offset as usize;
        bytes.copy_from_slice(&self.0[start..start + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.len()
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 4096;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        self.0[from as usize..to as usize].fill(0xFF);
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        let place = self.0.iter_mut().skip(offset as usize);
        // Writing can only clear bits.
        place.zip(bytes).for_each(|(old, new)| *old &= new);
        Ok(())
    }
}

impl MultiwriteNorFlash for Flash {}

impl Partition for Flash {
    const SECTORS: usize = 8;
    const RATED_CYCLES: u32 = 100_000;
    const LONGEST_STALL: Duration = Duration::ZERO;
}

/// Runs a future that waits for nothing but the clock above; `None` once its time is over.
pub fn run<T>(work: impl Future<Output = T>) -> Option<T> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}
