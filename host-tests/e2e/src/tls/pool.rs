//! Does a step of the boards' client allocate more than it asks for? Counted on this computer, with
//! servers that go to the limits of what is accepted. See `boards/tls/src/need.rs`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, ensure};
use dunlin::fetch::{Connection as _, TlsError};
use dunlin_tls::computer::{Machine, Socket, finish};
use dunlin_tls::{Memory, Need, Room, StreamError, Tls, TlsConnection};
use embedded_io_async::{Read as _, Write as _};
use rustls::crypto::ring;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::now;
use super::pki::{Authority, Identity, ROOT, fat, leaf};
use super::rogue::{self, Way};

/// Counts what each thread allocates. What is freed does not count: room is one piece, and what was
/// freed in its middle may be of no use.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
    /// What the client has asked for last.
    static ASKED: Cell<Option<Need>> = const { Cell::new(None) };
    /// Steps that took more than they asked for; and of all others the one that left the least.
    static OVER: RefCell<Vec<(usize, Need)>> = const { RefCell::new(Vec::new()) };
    static CLOSEST: Cell<Option<(usize, Need)>> = const { Cell::new(None) };
}

// SAFETY: all is the system's own, which is only counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Rounded up as in the pool.
        let bytes = layout.size().next_multiple_of(8);
        let _ = ALLOCATED.try_with(|allocated| allocated.set(allocated.get() + bytes));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(piece, layout) }
    }
}

/// Memory without end whose use is compared with what was asked for.
#[derive(Debug)]
struct Watched;

impl Memory for Watched {
    fn room(&self, need: Need, _: usize) -> Room {
        judge();
        ASKED.set(Some(need));
        ALLOCATED.set(0);
        Room::Enough
    }
}

/// The last step is over.
fn judge() {
    let bytes = ALLOCATED.get();
    let Some(need) = ASKED.take() else {
        return;
    };
    let all = |need: Need| need.connection + need.sessions;
    if bytes > all(need) {
        OVER.with_borrow_mut(|over| over.push((bytes, need)));
    }
    let left = all(need).saturating_sub(bytes);
    let is_closest = CLOSEST
        .get()
        .is_none_or(|(bytes, need)| left < all(need).saturating_sub(bytes));
    if is_closest {
        CLOSEST.set(Some((bytes, need)));
    }
}

fn client(root: &Authority) -> &'static Tls {
    let machine = Machine {
        date: now(),
        authorities: vec![root.0.der().to_vec()],
        sessions: 48 * 1024,
        seed: [9; 32],
    };
    machine.client_in(&Watched)
}

/// Fetches a page of this server; true if a session was resumed.
fn visit(tls: &'static Tls, host: &str, port: u16) -> Result<bool, StreamError<std::io::Error>> {
    let socket = TcpStream::connect(("127.0.0.1", port)).map_err(StreamError::Below)?;
    let visited = finish(async {
        let mut connection = TlsConnection::open(tls, Socket(socket), host, port).await?;
        let resumed = connection.is_resumed();
        connection.write_all(b"GET / HTTP/1.1\r\n\r\n").await?;
        let mut window = [0; 256];
        while connection.read(&mut window).await? > 0 {}
        connection.finish().await;
        Ok(resumed)
    });
    judge();
    visited
}

/// What was found since this was asked before.
fn found(what: &str) -> Result<()> {
    if let Some((bytes, need)) = CLOSEST.take() {
        println!("{what}: the closest step took {bytes} of {need:?}");
    }
    let over = OVER.take();
    ensure!(over.is_empty(), "{what}: more than was asked for: {over:?}");
    Ok(())
}

/// Chains as long as they may be, in one certificate and in five.
fn chains(root: &Authority, host: &str) -> Result<Vec<Identity>> {
    let plain = root.sign(&leaf(&[host])?, &[])?;
    let long = fat(root, host, 12_700)?;
    let mut many = fat(root, host, 2_000)?;
    many.chain
        .extend(vec![fat(root, host, 2_000)?.chain[0].clone(); 4]);
    Ok(vec![plain, long, many])
}

#[test]
fn no_step_takes_more_than_it_asks_for() -> Result<()> {
    const HOST: &str = "a.test";
    let root = Authority::root(ROOT)?;
    let tls = client(&root);
    for identity in chains(&root, HOST)? {
        let bytes: usize = identity.chain.iter().map(|der| der.len()).sum();
        for way in [
            Way::Honest,
            Way::KeyUpdate,
            Way::LongTicket,
            Way::Tickets,
            Way::Names,
            Way::Extensions,
        ] {
            let port = rogue::start(&identity, way)?;
            let mut visited = visit(tls, HOST, port);
            if way == Way::Tickets {
                // Its ticket goes back, as long as it is.
                visited = visit(tls, HOST, port);
            }
            let as_expected = match way {
                Way::Extensions => {
                    matches!(visited, Err(StreamError::Tls(TlsError::Protocol)))
                }
                // It ends without a goodbye, behind the answer.
                _ => matches!(visited, Err(StreamError::Cut)),
            };
            ensure!(as_expected, "{way:?}: {visited:?}");
            found(&format!("{way:?}, {bytes} B"))?;
        }
        for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
            let port = serve(&identity, version)?;
            let first = visit(tls, HOST, port);
            ensure!(matches!(first, Ok(false)), "{first:?}");
            found(&format!("{:?}, {bytes} B", version.version))?;
            let second = visit(tls, HOST, port);
            // Chains that are too long are not kept.
            let is_kept = bytes < 6_000;
            ensure!(matches!(second, Ok(kept) if kept == is_kept), "{second:?}");
            found(&format!("{:?} again, {bytes} B", version.version))?;
        }
    }
    Ok(())
}

/// A server as others have it, which answers with a record as long as there are.
fn serve(identity: &Identity, version: &'static rustls::SupportedProtocolVersion) -> Result<u16> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])?
        .with_no_client_auth()
        .with_single_cert(identity.chain.clone(), identity.key.clone_key())?;
    config.ticketer = ring::Ticketer::new()?;
    config.send_tls13_tickets = 4;
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || -> Result<()> {
        for socket in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config))?;
            let mut stream = StreamOwned::new(connection, socket?);
            let count = stream.read(&mut [0; 512])?;
            (count > 0).then_some(()).context("nothing was asked")?;
            stream.write_all(&[b'x'; 16_384])?;
            stream.conn.send_close_notify();
            stream.flush()?;
        }
        Ok(())
    });
    Ok(port)
}
