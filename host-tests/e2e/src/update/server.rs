//! An update server that does as it is told: files with tags, parts of them, and every way to
//! answer wrongly.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// How the server answers a request for a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trick {
    /// It answers as it should.
    #[default]
    None,
    /// It hangs up after so many bytes, each time.
    HangsUpAfter(usize),
    /// It announces more than it sends.
    Announces(usize),
    /// It sends so many bytes more than there are, without saying how many there are.
    SendsMore(usize),
    /// It sends so many bytes fewer, and says that this is all.
    SendsFewer(usize),
    /// Asked for a part, it sends another one.
    OtherRange,
    /// Asked for a part, it sends that of another version.
    OtherVersion,
    /// One bit of the payload is another one.
    FlipsPayload,
    /// One bit of the manifest is.
    FlipsManifest,
    /// It takes so long to send the payload, piece by piece.
    TakesItsTime(Duration),
    /// It answers so many more requests, whatever they are for, and then none.
    FallsSilent(usize),
}

/// Pieces that a payload is sent in by a server that takes its time.
const PIECES: u32 = 10;

/// One request that was answered.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The first byte that was asked for.
    pub from: usize,
    pub status: u16,
    /// Bytes of the body that were sent.
    pub sent: usize,
    /// When the first byte was sent, and the last one.
    pub sending: [Instant; 2],
}

#[derive(Debug, Default)]
struct Inner {
    files: HashMap<String, (Vec<u8>, u64)>,
    versions: u64,
    trick: Trick,
    log: Vec<Asked>,
}

/// A running server; its threads end with the process.
#[derive(Clone, Debug)]
pub struct UpdateServer {
    port: u16,
    inner: Arc<Mutex<Inner>>,
}

impl UpdateServer {
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on loopback")?;
        let port = listener.local_addr()?.port();
        let inner = Arc::new(Mutex::new(Inner::default()));
        let shared = Arc::clone(&inner);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A client that went away is not the server's problem.
                thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Ok(Self { port, inner })
    }

    /// As the device sees it.
    pub fn url(&self) -> String {
        format!("http://10.0.2.2:{}/updates/", self.port)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a file where devices look, as a new version.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut inner = self.inner();
        inner.versions += 1;
        let version = inner.versions;
        let path = format!("/updates/{name}");
        inner.files.insert(path, (bytes.to_vec(), version));
    }

    /// From now on nothing is there.
    pub fn clear(&self) {
        self.inner().files.clear();
    }

    pub fn set_trick(&self, trick: Trick) {
        self.inner().trick = trick;
    }

    /// What was asked for so far.
    pub fn log(&self) -> Vec<Asked> {
        self.inner().log.clone()
    }
}

fn serve(stream: TcpStream, inner: &Mutex<Inner>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut from = 0;
    let mut known = None;
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                let digits = value.trim_start_matches("bytes=").trim_end_matches('-');
                from = digits.parse().unwrap_or(0);
            }
            "if-none-match" => known = Some(value.to_owned()),
            _ => {}
        }
    }
    let lock = || inner.lock().unwrap_or_else(PoisonError::into_inner);
    let (answer, number, pause) = {
        let mut inner = lock();
        if let Trick::FallsSilent(left) = &mut inner.trick {
            match left.checked_sub(1) {
                Some(fewer) => *left = fewer,
                None => return Ok(()),
            }
        }
        let (answer, status, sent) = answer(&inner, &path, from, known.as_deref());
        let sending = [Instant::now(); 2];
        inner.log.push(Asked {
            from,
            status,
            sent,
            sending,
        });
        let pause = match inner.trick {
            Trick::TakesItsTime(time) if !path.ends_with(".sig") => Some(time / PIECES),
            _ => None,
        };
        (answer, inner.log.len() - 1, pause)
    };
    let mut stream = stream;
    let pieces = pause.map_or(1, |_| PIECES as usize);
    for piece in answer.chunks(answer.len().div_ceil(pieces)) {
        stream.write_all(piece)?;
        if let Some(asked) = lock().log.get_mut(number) {
            asked.sending[1] = Instant::now();
        }
        thread::sleep(pause.unwrap_or_default());
    }
    Ok(())
}

/// The bytes of an answer, its status, and how many of them are its body.
fn answer(inner: &Inner, path: &str, from: usize, known: Option<&str>) -> (Vec<u8>, u16, usize) {
    const CLOSE: &str = "Connection: close\r\n";
    let Some((bytes, version)) = inner.files.get(path) else {
        let head = format!("HTTP/1.1 404 None\r\n{CLOSE}Content-Length: 0\r\n\r\n");
        return (head.into_bytes(), 404, 0);
    };
    let tag = format!("\"v{version}\"");
    if known == Some(&tag) && from == 0 {
        let head = format!("HTTP/1.1 304 Same\r\n{CLOSE}ETag: {tag}\r\n\r\n");
        return (head.into_bytes(), 304, 0);
    }
    let trick = match (path.ends_with(".sig"), inner.trick) {
        (true, Trick::FlipsManifest) => Trick::FlipsPayload,
        (true, _) | (_, Trick::FlipsManifest) => Trick::None,
        (false, trick) => trick,
    };
    let total = bytes.len();
    let (status, start, tag) = match trick {
        _ if from == 0 => (200, 0, tag),
        Trick::OtherRange => (206, from + 4, tag),
        Trick::OtherVersion => (206, from, "\"another\"".into()),
        _ => (206, from, tag),
    };
    let mut body = bytes.get(start..).unwrap_or_default().to_vec();
    let mut announced = Some(body.len());
    match trick {
        Trick::HangsUpAfter(count) => body.truncate(count),
        // Near the end: in a manifest, a letter of the payload's name.
        Trick::FlipsPayload => body[total - 3] ^= 1,
        Trick::Announces(more) => announced = Some(body.len() + more),
        Trick::SendsMore(more) => {
            body.extend(vec![7; more]);
            announced = None;
        }
        Trick::SendsFewer(fewer) => {
            body.truncate(total.saturating_sub(fewer));
            announced = None;
        }
        _ => {}
    }
    let mut head = format!("HTTP/1.1 {status} Said\r\n{CLOSE}ETag: {tag}\r\n");
    if status == 206 {
        head += &format!("Content-Range: bytes {start}-{}/{total}\r\n", total - 1);
    }
    if let Some(length) = announced {
        head += &format!("Content-Length: {length}\r\n");
    }
    head += "\r\n";
    let sent = body.len();
    ([head.into_bytes(), body].concat(), status, sent)
}
