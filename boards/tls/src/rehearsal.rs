//! A few connections that are always the same, from the first random number on. What servers said
//! to a computer that went through them can therefore be said again to a device, without a network:
//! that is how a handshake's instructions are counted.

use dunlin::fetch::Connection;
use embedded_io_async::{Read as _, Write as _};

use crate::{StreamError, Tls, TlsConnection};

/// What random numbers are made of.
pub const SEED: [u8; 32] = [7; 32];
/// The date: seconds since 1970.
pub const DATE: u64 = 1_800_000_000;
/// The host of all servers.
pub const HOST: &str = "a.test";

/// A connection that is rehearsed.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// What its handshake is, for a table.
    pub handshake: &'static str,
    /// Which of the servers it leads to: sessions are kept by port.
    pub port: u16,
    /// What is asked there.
    pub request: &'static str,
    /// Bytes of the answer, its head included.
    pub answer: usize,
}

const UNCHANGED: Scene = Scene {
    handshake: "",
    port: 1,
    request: "GET /page HTTP/1.1\r\nHost: a.test\r\nUser-Agent: dunlin/0.1.0\r\nIf-None-Match: \"1\"\r\n\r\n",
    answer: "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n".len(),
};

/// All of them, in their order.
pub const SCENES: [Scene; 5] = [
    Scene {
        handshake: "P-256",
        ..UNCHANGED
    },
    Scene {
        handshake: "RSA-2048",
        port: 2,
        ..UNCHANGED
    },
    Scene {
        handshake: "P-256 below P-384 below RSA-4096",
        port: 3,
        ..UNCHANGED
    },
    Scene {
        handshake: "resumed",
        ..UNCHANGED
    },
    // The last: the page itself.
    Scene {
        handshake: "resumed, for a page",
        request: "GET /page HTTP/1.1\r\nHost: a.test\r\n\r\n",
        answer: 100_000,
        ..UNCHANGED
    },
];

/// Goes through one of them. `opened` is called when the handshake is complete.
///
/// # Errors
/// What went wrong: with words that were recorded, they belong to another version of this code.
///
/// *Cancellation*: ends the connection, nothing else is lost.
pub async fn play<S: Connection>(
    tls: &Tls,
    below: S,
    scene: &Scene,
    opened: impl FnOnce(),
) -> Result<(), StreamError<S::Error>> {
    let mut connection = TlsConnection::open(tls, below, HOST, scene.port).await?;
    opened();
    connection.write_all(scene.request.as_bytes()).await?;
    let mut window = [0; 1024];
    let mut left = scene.answer;
    while left > 0 {
        match connection.read(&mut window).await? {
            0 => return Err(StreamError::Cut),
            count => left = left.saturating_sub(count),
        }
    }
    Ok(())
}
