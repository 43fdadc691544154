//! The client under test, on this computer's sockets.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, SystemTime};

use dunlin::fetch::{Connection as _, TlsError};
use dunlin_tls::computer::{Machine, Socket, finish};
use dunlin_tls::{StreamError, Tls, TlsConnection};
use embedded_io_async::{Read as _, Write as _};

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

fn client(authority: Option<&Authority>) -> &'static Tls {
    machine(authority).client()
}

/// What a board would be that trusts this authority.
pub fn machine(authority: Option<&Authority>) -> Machine {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Machine {
        date: now.unwrap().as_secs(),
        authorities: authority.iter().map(|authority| authority.der()).collect(),
        sessions: 48 * 1024,
        seed: [7; 32],
    }
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
    finish(visit(ask))
}

/// The same for what may wait for memory: asked again and again.
pub fn fetch_patiently(ask: &Fetch) -> Got {
    let mut visit = pin!(visit(ask));
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match visit.as_mut().poll(&mut context) {
            Poll::Ready(got) => return got,
            Poll::Pending => thread::sleep(Duration::from_millis(10)),
        }
    }
}

async fn visit(ask: &Fetch) -> Got {
    let mut resumed = false;
    let result = page(ask, &mut resumed).await;
    Got { result, resumed }
}

async fn page(ask: &Fetch, resumed: &mut bool) -> Result<Vec<u8>, StreamError<io::Error>> {
    let tls = ask.client.unwrap_or_else(|| client(None));
    let socket = Socket(TcpStream::connect(ask.address).unwrap());
    let port = ask.address.port();
    let mut connection = TlsConnection::open(tls, socket, &ask.host, port).await?;
    *resumed = connection.is_resumed();
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
