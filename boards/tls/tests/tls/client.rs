//! The client under test, on this computer's sockets.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::SystemTime;

use async_io::Async;
use dunlin::fetch::{Connection, TlsError};
use dunlin_tls::{
    Clock, Memory, Owner, RecordBuffer, Records, Sessions, StreamError, Tls, TlsConnection, seed,
};
use embedded_io_async::{ErrorType, Read, Write};
use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::peers::{Authority, Server};

/// What to fetch, and whom to trust.
#[derive(Clone)]
pub struct Fetch {
    address: SocketAddr,
    host: String,
    pub client: Option<&'static Tls>,
}

pub struct Got {
    pub result: Result<Vec<u8>, StreamError<io::Error>>,
    pub resumed: bool,
}

impl Got {
    pub fn text(&self) -> &str {
        let bytes = self.result.as_ref().unwrap();
        let text = str::from_utf8(bytes).unwrap();
        text.split_once("\r\n\r\n").unwrap().1
    }

    pub fn error(&self) -> TlsError {
        match &self.result {
            Err(StreamError::Tls(why)) => *why,
            other => panic!("{other:?}"),
        }
    }
}

#[derive(Debug)]
struct Machine {
    authority: Option<&'static [u8]>,
}

impl Clock for Machine {
    fn unix_time(&self) -> Option<u64> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Some(now.unwrap().as_secs())
    }
}

impl Memory for Machine {
    fn has_room(&self, _: usize, _: usize) -> bool {
        true
    }
}

impl Owner for Machine {
    fn is_own(&self, _: &str) -> bool {
        true
    }

    fn authority(&self, index: usize) -> Option<&[u8]> {
        self.authority.filter(|_| index == 0)
    }
}

fn client(authority: Option<&Authority>) -> &'static Tls {
    seed([7; 32]);
    let authority = authority.map(|authority| &*authority.der().leak());
    let machine: &Machine = Box::leak(Box::new(Machine { authority }));
    let records = Box::leak(Box::new(Records::new(Box::leak(Box::new(
        RecordBuffer::new(),
    )))));
    let sessions = Box::leak(Box::new(Sessions::new(16 * 1024)));
    Box::leak(Box::new(
        Tls::new(records, sessions, machine, machine, machine).unwrap(),
    ))
}

impl Fetch {
    pub fn of(server: &Server, host: &str) -> Self {
        Self {
            address: server.address,
            host: host.into(),
            client: None,
        }
    }

    /// The same client asks another server.
    pub fn at(&self, server: &Server) -> Self {
        Self {
            address: server.address,
            ..self.clone()
        }
    }

    pub fn trusting(mut self, authority: &Authority) -> Self {
        self.client = Some(client(Some(authority)));
        self
    }
}

pub fn fetch(ask: &Fetch) -> Got {
    let tls = ask.client.unwrap_or_else(|| client(None));
    async_io::block_on(async {
        let socket = Async::<TcpStream>::connect(ask.address).await.unwrap();
        let mut resumed = false;
        let result = async {
            let port = ask.address.port();
            let mut connection = TlsConnection::open(tls, Socket(socket), &ask.host, port).await?;
            resumed = connection.is_resumed();
            let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", ask.host);
            connection.write_all(request.as_bytes()).await?;
            let mut all = Vec::new();
            let mut window = [0; 256];
            loop {
                match connection.read(&mut window).await? {
                    0 => break,
                    count => all.extend(&window[..count]),
                }
            }
            connection.finish().await;
            Ok(all)
        }
        .await;
        Got { result, resumed }
    })
}

struct Socket(Async<TcpStream>);

impl ErrorType for Socket {
    type Error = io::Error;
}

impl Read for Socket {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).await
    }
}

impl Write for Socket {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.0.flush().await
    }
}

impl Connection for Socket {}
