//! A time server on loopback that says what it is told to say, and counts.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};

/// How often it looks whether it is to end.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// 1970 in seconds since 1900.
const UNIX: u64 = 2_208_988_800;

/// What it says to a request.
type Answer = dyn Fn(&[u8]) -> Vec<u8> + Send;

/// A running time server. Ends when dropped.
pub struct TimeServer {
    port: u16,
    asked: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TimeServer {
    pub fn start(answer: impl Fn(&[u8]) -> Vec<u8> + Send + 'static) -> Result<Self> {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).context("cannot listen on loopback")?;
        socket.set_read_timeout(Some(LOOK_AGAIN))?;
        let port = socket.local_addr()?.port();
        let asked = Arc::new(AtomicUsize::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let count = Arc::clone(&asked);
        let stopped = Arc::clone(&stop);
        let answer = Box::<Answer>::from(Box::new(answer));
        let serve = move || {
            let mut buffer = [0; 512];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else {
                    continue;
                };
                count.fetch_add(1, Ordering::Relaxed);
                // Who has gone away is not our problem.
                let _ = socket.send_to(&answer(&buffer[..length]), from);
            }
        };
        Ok(Self {
            port,
            asked,
            stop,
            thread: Some(thread::spawn(serve)),
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the number of requests so far.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Drop for TimeServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// A packet of a server of this stratum at which it is so late, in seconds since 1970.
pub fn packet(request: &[u8], stratum: u8, unix: u64) -> Vec<u8> {
    let mut packet = vec![0; 48];
    packet[0] = 0x24;
    packet[1] = stratum;
    if let Some(number) = request.get(40..48) {
        packet[24..32].copy_from_slice(number);
    }
    // Seconds run over in 2036.
    let seconds = ((unix + UNIX) as u32).to_be_bytes();
    for place in [16, 32, 40] {
        packet[place..place + 4].copy_from_slice(&seconds);
    }
    packet
}
