//! The probe's log on a TCP port, byte for byte, as debuggers serve it: monitors come and go, and
//! the firmware never waits for one.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::{Context, Result};

/// Monitors at the same time.
const MOST_CLIENTS: usize = 8;

/// A listening port. Whoever connects gets what comes from then on.
#[derive(Debug)]
pub struct LogPort {
    address: SocketAddr,
    clients: Arc<Mutex<Vec<TcpStream>>>,
}

impl LogPort {
    /// Listens on loopback; port 0 takes one that is free. Lasts as long as the process.
    pub fn listen(port: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))
            .with_context(|| format!("cannot listen on port {port}"))?;
        let address = listener.local_addr()?;
        let clients = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&clients);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Ok(mut clients) = shared.lock() else {
                    return;
                };
                // Never waits: see `send`.
                if clients.len() < MOST_CLIENTS && stream.set_nonblocking(true).is_ok() {
                    clients.push(stream);
                }
            }
        });
        Ok(Self { address, clients })
    }

    /// Returns the address it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns how many monitors listen to it.
    pub fn clients(&self) -> usize {
        self.clients.lock().map_or(0, |clients| clients.len())
    }

    /// Sends to all. Who does not keep up is cut off: a log with a hole would be worse than none.
    pub fn send(&self, bytes: &[u8]) {
        if let Ok(mut clients) = self.clients.lock() {
            clients.retain_mut(|client| client.write_all(bytes).is_ok());
        }
    }
}
