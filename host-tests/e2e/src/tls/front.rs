//! TLS in front of a web that speaks http: what https takes is then all that differs.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use dunlin_host::lists::listing::Listing;
use rustls::{HandshakeKind, ServerConnection, StreamOwned};

use super::pki::{Authority, Identity, ROOT, leaf};
use super::server::config;

/// How long either side is listened to before the other one has its turn.
const TURN: Duration = Duration::from_millis(2);
/// A connection on which nothing has moved for so long is over.
const IDLE: Duration = Duration::from_secs(60);

/// Handshakes that were completed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handshakes {
    pub full: usize,
    pub resumed: usize,
}

/// Stands before a web. Its threads end with the process.
pub struct Front {
    pub root: Authority,
    port: u16,
    /// By host; true if a session was resumed.
    handshakes: Arc<Mutex<Vec<(String, bool)>>>,
}

impl Front {
    /// Speaks TLS for these hosts, and passes what is asked on to the web on `web`.
    pub fn start(hosts: &[String], web: u16) -> Result<Self> {
        let root = Authority::root(ROOT)?;
        let middle = root.intermediate("middle")?;
        let identities: Vec<Identity> = hosts
            .iter()
            .map(|host| middle.sign(&leaf(&[host])?, &[&middle]))
            .collect::<Result<_>>()?;
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let named: Vec<(&str, &Identity)> = hosts.into_iter().zip(&identities).collect();
        let config = config(&named, None, true)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let handshakes: Arc<Mutex<Vec<(String, bool)>>> = Arc::default();
        let shared = Arc::clone(&handshakes);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let config = Arc::clone(&config);
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let mut tls = StreamOwned::new(
                        ServerConnection::new(config).map_err(io::Error::other)?,
                        client,
                    );
                    tls.sock.set_nodelay(true)?;
                    tls.sock.set_read_timeout(Some(IDLE))?;
                    while tls.conn.is_handshaking() {
                        tls.conn.complete_io(&mut tls.sock)?;
                    }
                    let host = tls.conn.server_name().unwrap_or_default().to_owned();
                    let resumed = tls.conn.handshake_kind() == Some(HandshakeKind::Resumed);
                    if let Ok(mut handshakes) = shared.lock() {
                        handshakes.push((host, resumed));
                    }
                    pass(tls, TcpStream::connect(("127.0.0.1", web))?)
                });
            }
        });
        Ok(Self {
            root,
            port,
            handshakes,
        })
    }

    /// Makes the first hosts of a list hosts behind this front.
    pub fn secure(&self, listing: &mut Listing, hosts: usize) {
        for index in 0..hosts {
            let old = listing.list.hosts[index].clone();
            let name = old.split(':').next().unwrap_or(&old);
            let new = format!("{name}:{}", self.port);
            for page in listing.list.pages.iter_mut() {
                if page.host == index {
                    let plain = format!("http://{old}");
                    page.url = page.url.replacen(&plain, &format!("https://{new}"), 1);
                }
            }
            listing.gates[listing.gate_of_host[index]].name = new.clone();
            listing.list.hosts[index] = new;
        }
    }

    /// The handshakes so far, but for the first one of each host.
    pub fn later_handshakes(&self) -> Handshakes {
        let handshakes = self.handshakes.lock().expect("no thread panics");
        let mut seen: Vec<&str> = Vec::new();
        let mut counted = Handshakes::default();
        for (host, resumed) in handshakes.iter() {
            if seen.contains(&host.as_str()) {
                counted.full += usize::from(!resumed);
                counted.resumed += usize::from(*resumed);
            } else {
                seen.push(host);
            }
        }
        counted
    }
}

/// Passes bytes on in both directions until one side ends.
fn pass(mut tls: StreamOwned<ServerConnection, TcpStream>, mut web: TcpStream) -> io::Result<()> {
    web.set_nodelay(true)?;
    web.set_read_timeout(Some(TURN))?;
    tls.sock.set_read_timeout(Some(TURN))?;
    let mut buffer = [0; 16_384];
    let mut moved = Instant::now();
    let came = |read: io::Result<usize>| match read {
        Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
        read => read.map(Some),
    };
    while moved.elapsed() < IDLE {
        match came(tls.read(&mut buffer))? {
            Some(0) => return Ok(()),
            Some(count) => {
                web.write_all(&buffer[..count])?;
                moved = Instant::now();
            }
            None => {}
        }
        match came(web.read(&mut buffer))? {
            Some(0) => {
                tls.conn.send_close_notify();
                return tls.flush();
            }
            Some(count) => {
                tls.write_all(&buffer[..count])?;
                moved = Instant::now();
            }
            None => {}
        }
    }
    Ok(())
}
