//! Servers that never had a key: what can be said before anything is encrypted, said wrongly.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::Result;

/// What a server says, and to what.
pub type Speech = fn(&mut TcpStream, &Hello) -> std::io::Result<()>;

/// What a server has to know of a client's hello.
pub struct Hello {
    session: Vec<u8>,
    /// The message as the client sent it.
    pub message: Vec<u8>,
}

/// Every way there is, by name.
pub const SPEECHES: &[(&str, Speech)] = &[
    ("http", |client, _| {
        client.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    }),
    ("garbage", |client, _| client.write_all(&[0xa5; 4_000])),
    ("nothing", |_, _| Ok(())),
    ("oversized", |client, _| {
        client.write_all(&[22, 3, 3, 0xff, 0xff])?;
        client.write_all(&[0; 20_000])
    }),
    ("truncated", |client, _| {
        client.write_all(&[22, 3, 3, 0, 200])?;
        client.write_all(&[2; 50])
    }),
    ("alerts", |client, _| {
        (0..1_000).try_for_each(|_| client.write_all(&[21, 3, 3, 0, 2, 1, 90]))
    }),
    ("empty-records", |client, _| {
        (0..20_000).try_for_each(|_| client.write_all(&[22, 3, 3, 0, 0]))
    }),
    ("hello-retry-loop", |client, hello| {
        let retry = hello.answer(&RETRY, 0x1303, &[VERSION_13, &[0, 51, 0, 2, 0, 23]]);
        client.write_all(&record(22, &retry))?;
        read_record(client)?;
        client.write_all(&record(22, &retry))?;
        read_record(client).map(drop)
    }),
    ("zero-key-share", |client, hello| {
        let share = [&[0, 51, 0, 36, 0, 29, 0, 32][..], &[0; 32]].concat();
        let answer = hello.answer(&[7; 32], 0x1303, &[VERSION_13, &share]);
        client.write_all(&record(22, &answer))
    }),
    ("version-12-by-extension", |client, hello| {
        let share = [&[0, 51, 0, 36, 0, 29, 0, 32][..], &[9; 32]].concat();
        let answer = hello.answer(&[7; 32], 0x1303, &[&[0, 43, 0, 2, 3, 3], &share]);
        client.write_all(&record(22, &answer))
    }),
    ("early-data", |client, _| {
        client.write_all(&record(23, &[1; 64]))
    }),
    ("no-certificate", |client, hello| {
        let done = message(14, &[]);
        client.write_all(&record(22, &[hello.tls12(), done].concat()))
    }),
    ("hello-twice", |client, hello| {
        client.write_all(&record(22, &[hello.tls12(), hello.tls12()].concat()))
    }),
    ("empty-chain", |client, hello| {
        let chain = message(11, &[0, 0, 0]);
        client.write_all(&record(22, &[hello.tls12(), chain].concat()))
    }),
    ("lying-chain", |client, hello| {
        let chain = message(11, &[0, 0x10, 0, 0, 0xff, 0xff, 1, 2, 3]);
        client.write_all(&record(22, &[hello.tls12(), chain].concat()))
    }),
    // Three thousand certificates without a byte: 9 kB here, 100 kB for who believes it.
    ("chain-of-thousands", |client, hello| {
        let list = [0; 3 * 3_000];
        let chain = message(11, &[&[0, 0x23, 0x28][..], &list].concat());
        client.write_all(&record(22, &hello.tls12()))?;
        client.write_all(&record(22, &chain))
    }),
    ("message-without-end", |client, hello| {
        client.write_all(&record(22, &hello.tls12()))?;
        client.write_all(&record(22, &[11, 0xff, 0xff, 0xff]))?;
        (0..100).try_for_each(|_| client.write_all(&record(22, &[0; 16_000])))
    }),
    ("unknown-cipher", |client, hello| {
        let answer = hello.answer(&[7; 32], 0x1305, &[VERSION_13]);
        client.write_all(&record(22, &answer))
    }),
];

/// The random number that makes a hello a request for another one.
const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];
pub const VERSION_13: &[u8] = &[0, 43, 0, 2, 3, 4];

impl Hello {
    fn new(message: Vec<u8>) -> Self {
        let length = usize::from(*message.get(38).unwrap_or(&0));
        let session = message.get(39..39 + length).unwrap_or_default().to_vec();
        Self { session, message }
    }

    /// The client's half of a key exchange by X25519.
    pub fn share(&self) -> Option<&[u8]> {
        // Behind session, ciphers and compressions come extensions, among them the shares.
        let number = |at: usize| -> Option<usize> {
            let bytes = self.message.get(at..at + 2)?;
            Some(usize::from(u16::from_be_bytes(bytes.try_into().ok()?)))
        };
        let mut at = 39 + self.session.len();
        at += 2 + number(at)?;
        at += 1 + usize::from(*self.message.get(at)?);
        at += 2;
        loop {
            let kind = number(at)?;
            let length = number(at + 2)?;
            let is_x25519 = kind == 51 && number(at + 6)? == 29;
            if is_x25519 {
                return self.message.get(at + 10..at + 10 + number(at + 8)?);
            }
            at += 4 + length;
        }
    }

    /// A server's hello with these extensions.
    pub fn answer(&self, random: &[u8; 32], cipher: u16, extensions: &[&[u8]]) -> Vec<u8> {
        let extensions = extensions.concat();
        let mut body = vec![3, 3];
        body.extend(random);
        body.push(self.session.len() as u8);
        body.extend(&self.session);
        body.extend(cipher.to_be_bytes());
        body.push(0);
        body.extend((extensions.len() as u16).to_be_bytes());
        body.extend(extensions);
        message(2, &body)
    }

    /// A hello of TLS 1.2, with the extensions that clients insist on.
    fn tls12(&self) -> Vec<u8> {
        self.answer(&[7; 32], 0xcca9, &[&[0, 23, 0, 0], &[0xff, 1, 0, 1, 0]])
    }
}

pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    [&[kind], &length[1..], body].concat()
}

pub fn record(kind: u8, contents: &[u8]) -> Vec<u8> {
    let length = (contents.len() as u16).to_be_bytes();
    [&[kind, 3, 3], &length[..], contents].concat()
}

pub fn read_record(client: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut header = [0; 5];
    client.read_exact(&mut header)?;
    let mut contents = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
    client.read_exact(&mut contents)?;
    Ok(contents)
}

/// Starts a server that makes this speech to whoever says hello, and returns its port.
pub fn start(
    speech: impl Fn(&mut TcpStream, &Hello) -> std::io::Result<()> + Clone + Send + 'static,
) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let speech = speech.clone();
            thread::spawn(move || {
                client.set_read_timeout(Some(Duration::from_secs(10)))?;
                let hello = Hello::new(read_record(&mut client)?);
                speech(&mut client, &hello)?;
                // The client decides when it has heard enough.
                let _ = client.shutdown(std::net::Shutdown::Write);
                std::io::copy(&mut client, &mut std::io::sink()).map(drop)
            });
        }
    });
    Ok(port)
}

/// Starts a server that never says a word.
pub fn silent() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        let mut held = Vec::new();
        for client in listener.incoming().flatten() {
            held.push(client);
        }
    });
    Ok(port)
}

/// Starts a server that announces a long record and sends a byte of it each second.
pub fn dripping() -> Result<u16> {
    start(|client, _| {
        client.write_all(&[22, 3, 3, 0x40, 0])?;
        for _ in 0..60 {
            client.write_all(&[2])?;
            thread::sleep(Duration::from_secs(1));
        }
        Ok(())
    })
}
