//! A TLS server that shows each host's own certificate, keeps a log, and can be made to misbehave.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustls::crypto::ring;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{CipherSuite, HandshakeKind, ServerConfig, ServerConnection, StreamOwned};

use super::pki::{Fate, Identity};

/// A request, and what came before it.
#[derive(Clone, Debug)]
pub struct Visit {
    pub at: Instant,
    pub host: String,
    pub path: String,
    /// The handshake of its connection resumed a session.
    pub resumed: bool,
    /// It is the first request on its connection.
    pub first: bool,
    /// Both sides have agreed on `http/1.1` (ALPN).
    pub speaks_http: bool,
    /// What the client named first of what both know is ChaCha20-Poly1305.
    pub is_chacha: bool,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It has a length.
    Length,
    /// The connection ends, with TLS's goodbye.
    Goodbye,
    /// The connection ends without.
    Cut,
    /// It has a length, and the server gives no tickets to resume by.
    NoTickets,
    /// It has a length, and the connection ends: the next request needs a handshake.
    Close,
}

#[derive(Debug)]
struct ByName {
    keys: HashMap<String, Arc<CertifiedKey>>,
    without: Option<Arc<CertifiedKey>>,
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        match hello.server_name() {
            Some(name) => self.keys.get(name).cloned(),
            None => self.without.clone(),
        }
    }
}

fn certified(identity: &Identity) -> Result<Arc<CertifiedKey>> {
    let key = ring::sign::any_supported_type(&identity.key)?;
    Ok(Arc::new(CertifiedKey::new(identity.chain.clone(), key)))
}

/// The server. Its threads end with the process.
#[derive(Clone)]
pub struct Server {
    pub port: u16,
    config: Arc<Mutex<Arc<ServerConfig>>>,
    log: Arc<Mutex<Vec<Visit>>>,
}

/// Shows hosts' certificates by name, and this one to whoever asks without; with keys of its own
/// for tickets, if it gives any.
pub fn config(
    hosts: &[(&str, &Identity)],
    without: Option<&Identity>,
    tickets: bool,
) -> Result<Arc<ServerConfig>> {
    let keys = hosts
        .iter()
        .map(|(host, identity)| Ok((host.to_string(), certified(identity)?)))
        .collect::<Result<_>>()?;
    let without = without.map(certified).transpose()?;
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(ByName { keys, without }));
    if tickets {
        config.ticketer = ring::Ticketer::new()?;
    } else {
        config.send_tls13_tickets = 0;
    }
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

impl Server {
    /// Serves hosts by name, and whoever asks without one with `without`.
    pub fn start(
        hosts: &[(&str, &Identity)],
        without: Option<&Identity>,
        ending: Ending,
    ) -> Result<Self> {
        let config = config(hosts, without, ending != Ending::NoTickets)?;
        let config = Arc::new(Mutex::new(config));
        let log: Arc<Mutex<Vec<Visit>>> = Arc::default();
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let server = Self { port, config, log };
        let own = server.clone();
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let config = Arc::clone(&own.config.lock().expect("no thread panics"));
                let log = Arc::clone(&own.log);
                thread::spawn(move || serve(socket, config, ending, &log));
            }
        });
        Ok(server)
    }

    /// Shows these certificates from now on, and has forgotten every session.
    pub fn rotate(&self, hosts: &[(&str, &Identity)]) -> Result<()> {
        let config = config(hosts, None, true)?;
        *self.config.lock().expect("no thread panics") = config;
        Ok(())
    }

    pub fn log(&self) -> Vec<Visit> {
        self.log.lock().expect("no thread panics").clone()
    }
}

fn serve(
    socket: TcpStream,
    config: Arc<ServerConfig>,
    ending: Ending,
    log: &Mutex<Vec<Visit>>,
) -> Option<()> {
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .ok()?;
    let mut stream = StreamOwned::new(ServerConnection::new(config).ok()?, socket);
    let mut first = true;
    loop {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            match stream.read(&mut byte) {
                Ok(1) => request.push(byte[0]),
                _ => return None,
            }
        }
        let request = String::from_utf8(request).ok()?;
        let path = request.split(' ').nth(1)?.to_owned();
        let host = request
            .lines()
            .find_map(|line| line.strip_prefix("Host: "))?;
        log.lock().ok()?.push(Visit {
            at: Instant::now(),
            host: host.to_owned(),
            path: path.clone(),
            resumed: stream.conn.handshake_kind() == Some(HandshakeKind::Resumed),
            first,
            speaks_http: stream.conn.alpn_protocol() == Some(&b"http/1.1"[..]),
            is_chacha: stream
                .conn
                .negotiated_cipher_suite()
                .is_some_and(|suite| suite.suite() == CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
        });
        first = false;
        let (status, body) = match path.as_str() {
            "/robots.txt" => ("404 Not Found", String::new()),
            "/large" => ("200 OK", "x".repeat(100_000)),
            _ => ("200 OK", format!("{path} says hello")),
        };
        let ends = matches!(ending, Ending::NoTickets | Ending::Close);
        if ends || ending == Ending::Length || path == "/robots.txt" {
            let length = body.len();
            let close = if ends { "Connection: close\r\n" } else { "" };
            let head = format!("HTTP/1.1 {status}\r\n{close}Content-Length: {length}\r\n\r\n");
            stream.write_all((head + &body).as_bytes()).ok()?;
            if ends {
                stream.conn.send_close_notify();
                let _ = stream.flush();
                return None;
            }
            continue;
        }
        let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n\r\n");
        stream.write_all((head + &body).as_bytes()).ok()?;
        if ending == Ending::Goodbye {
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
        return None;
    }
}

/// What stands between a client and a server that behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meddling {
    /// Everything byte by byte.
    ByteByByte,
    /// Each record of the handshake that is not encrypted in pieces of 20 bytes.
    Fragments,
    /// One bit of each encrypted record of the handshake is another.
    HandshakeBit,
    /// One bit of each record after the handshake is another.
    PageBit,
    /// After the handshake comes a record that nobody has encrypted.
    PlainText,
    /// Half of each record, and after [`HALF_TIME`] the rest.
    Halves,
}

/// How long the second half of a record is waited for.
pub const HALF_TIME: Duration = Duration::from_millis(200);

/// Every way, and what has to become of a page behind it. What happens behind the handshake has no
/// reason of its own.
pub const MEDDLINGS: &[(Meddling, Option<Fate>)] = &[
    (Meddling::ByteByByte, Some(Fate::Fetched)),
    (Meddling::Fragments, Some(Fate::Fetched)),
    (Meddling::HandshakeBit, Some(Fate::Refused("Protocol"))),
    (Meddling::PageBit, None),
    (Meddling::PlainText, None),
];

/// Stands between clients and the server on `port`.
pub fn meddle(port: u16, how: Meddling) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let own = listener.local_addr()?.port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
                continue;
            };
            let (Ok(from_client), Ok(to_server)) = (client.try_clone(), server.try_clone()) else {
                continue;
            };
            let asked = Arc::new(AtomicBool::new(false));
            let shared = Arc::clone(&asked);
            thread::spawn(move || listen(from_client, to_server, &shared));
            thread::spawn(move || pass_on(server, client, how, &asked));
        }
    });
    Ok(own)
}

fn read_record(from: &mut TcpStream) -> Option<([u8; 5], Vec<u8>)> {
    let mut header = [0; 5];
    from.read_exact(&mut header).ok()?;
    let mut contents = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
    from.read_exact(&mut contents).ok()?;
    Some((header, contents))
}

/// Passes a client's records on, and says when it has asked for something: its second encrypted
/// record, behind the end of the handshake.
fn listen(mut client: TcpStream, mut server: TcpStream, asked: &AtomicBool) -> Option<()> {
    let mut encrypted = 0;
    loop {
        let (header, contents) = read_record(&mut client)?;
        encrypted += u32::from(header[0] == 23);
        asked.store(encrypted >= 2, Ordering::SeqCst);
        server
            .write_all(&[&header, contents.as_slice()].concat())
            .ok()?;
    }
}

/// Passes a server's records on.
fn pass_on(
    mut server: TcpStream,
    mut client: TcpStream,
    how: Meddling,
    asked: &AtomicBool,
) -> Option<()> {
    client.set_nodelay(true).ok()?;
    loop {
        let (header, mut contents) = read_record(&mut server)?;
        let is_encrypted = header[0] == 23;
        let asked = asked.load(Ordering::SeqCst);
        let flips = match how {
            Meddling::HandshakeBit => !asked,
            Meddling::PageBit => asked,
            _ => false,
        };
        if flips && is_encrypted {
            contents[0] ^= 1;
        }
        if how == Meddling::PlainText && asked {
            client.write_all(&[23, 3, 3, 0, 2, b'h', b'i']).ok()?;
        }
        if how == Meddling::Fragments && header[0] == 22 {
            for piece in contents.chunks(20) {
                let record = [&[22, 3, 3, 0, piece.len() as u8], piece].concat();
                client.write_all(&record).ok()?;
            }
            continue;
        }
        let record = [&header, contents.as_slice()].concat();
        let (piece, pause) = match how {
            Meddling::ByteByByte => (1, Duration::from_micros(200)),
            Meddling::Halves => (record.len().div_ceil(2), HALF_TIME),
            _ => (record.len(), Duration::ZERO),
        };
        for piece in record.chunks(piece) {
            client.write_all(piece).ok()?;
            thread::sleep(pause);
        }
    }
}
