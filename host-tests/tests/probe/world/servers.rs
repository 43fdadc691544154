//! The network of a world: its names, its servers, and its time server.

use std::net::IpAddr;

use dunlin::fetch::{Addresses, Connect, Connection, Endpoint, Resolve, Scheme};
use dunlin::probe::Datagrams;
use dunlin::time::Instant;
use embedded_io_async::{ErrorKind, ErrorType, Read, Write};

use super::{Hit, TOO_MUCH, World};

/// The network of a world.
#[derive(Clone, Copy)]
pub struct Net<'w>(pub &'w World);

impl<'w> Connect for Net<'w> {
    type Error = ErrorKind;
    type Connection<'c>
        = Conversation<'w>
    where
        Self: 'c;

    fn speaks_https(&self) -> bool {
        self.0.https
    }

    fn reaches(&self, address: IpAddr) -> bool {
        address.is_ipv4() || !self.0.only_ipv4
    }

    async fn connect(&mut self, to: Endpoint<'_>) -> Result<Conversation<'w>, ErrorKind> {
        self.0.connected.borrow_mut().push(to.address);
        let number = self.0.connections.get();
        self.0.connections.set(number + 1);
        if (self.0.refused)(number) {
            return Err(ErrorKind::ConnectionRefused);
        }
        let never = Instant::MAX;
        Ok(Conversation {
            world: self.0,
            https: to.scheme == Scheme::Https,
            address: to.address,
            number,
            request: Vec::new(),
            answer: Vec::new(),
            ready: never,
            closes: never,
        })
    }
}

impl Resolve for Net<'_> {
    type Error = ErrorKind;

    async fn resolve(&mut self, name: &str) -> Result<Addresses, ErrorKind> {
        self.0.resolved.borrow_mut().push(name.to_owned());
        if name.ends_with(".invalid") {
            return Err(ErrorKind::Other);
        }
        let address = (self.0.whereabouts)(name, self.0.elapsed())
            .map(IpAddr::from)
            .or_else(|| self.0.names.get(name).copied())
            .unwrap_or(IpAddr::from([93, 184, 215, 14]));
        Ok(Addresses::from_iter([address]))
    }
}

/// The way to the world's time server, and what is under way from it.
pub struct Wire<'w> {
    pub world: &'w World,
    pub inbox: Vec<Vec<u8>>,
}

impl Datagrams for Wire<'_> {
    async fn send(&mut self, _: IpAddr, _: u16, bytes: &[u8]) -> bool {
        let now = self.world.elapsed();
        self.world
            .asked_time
            .borrow_mut()
            .push((now, bytes.to_vec()));
        self.inbox = (self.world.time_server)(now, bytes);
        self.inbox.reverse();
        true
    }

    async fn receive(&mut self, buffer: &mut [u8]) -> usize {
        let Some(bytes) = self.inbox.pop() else {
            return std::future::pending().await;
        };
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        count
    }
}

/// A connection to a server of the world.
pub struct Conversation<'w> {
    world: &'w World,
    https: bool,
    address: IpAddr,
    number: usize,
    request: Vec<u8>,
    answer: Vec<u8>,
    /// When the answer comes.
    ready: Instant,
    /// When the server closes it.
    closes: Instant,
}

impl ErrorType for Conversation<'_> {
    type Error = ErrorKind;
}

impl Write for Conversation<'_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        let now = self.world.now.get();
        if now >= self.closes {
            return Err(ErrorKind::ConnectionReset);
        }
        self.request.extend_from_slice(bytes);
        if self.request.ends_with(b"\r\n\r\n") {
            let request = String::from_utf8(std::mem::take(&mut self.request)).expect("ASCII");
            let header = |name: &str| {
                request
                    .lines()
                    .find_map(|line| line.strip_prefix(name))
                    .map(str::trim)
            };
            let hit = Hit {
                at: self.world.elapsed(),
                connection: self.number,
                host: header("Host:").unwrap_or_default().to_owned(),
                target: request.split(' ').nth(1).unwrap_or_default().to_owned(),
                keep_alive: header("Connection:") != Some("close"),
                conditional: header("If-None-Match:").is_some()
                    || header("If-Modified-Since:").is_some(),
                https: self.https,
                address: self.address,
            };
            let answer = (self.world.site)(&hit);
            self.world.hits.borrow_mut().push(hit);
            self.answer = answer.text.into_bytes();
            self.ready = now + answer.after;
            self.closes = answer
                .closes
                .map_or(Instant::MAX, |closes| self.ready + closes);
        }
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Read for Conversation<'_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        let then = if self.answer.is_empty() {
            self.closes
        } else {
            self.ready
        };
        self.world.sleep(then).await;
        if self.answer == TOO_MUCH.as_bytes() {
            return Err(ErrorKind::OutOfMemory);
        }
        let count = self.answer.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.answer[..count]);
        self.answer.drain(..count);
        Ok(count)
    }
}

impl Connection for Conversation<'_> {}
