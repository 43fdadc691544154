//! The other side of a push: telling a device or a running `dunlin run` that pages have changed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use dunlin::push::{BURST, Datagram, KEY, LONGEST, LONGEST_URL, PER_SECOND, PORT, key};
use serde::Serialize;

use crate::board::net::{HostConnect, HostResolve};
use crate::board::verify::Trust;
use crate::collect::tokens::is_token;
use crate::error::{Error, InputError};
use crate::output;
use crate::post::{Post, PostUrl};

/// A device has room for a few datagrams that wait, so they do not come all at once. Each is signed
/// later than the one before, in this call of the program as in the next.
const BETWEEN: Duration = Duration::from_millis(50);

/// Who is told that pages have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A device, by its name or address, and its port.
    Device(String, u16),
    /// A program that runs with `--push`.
    Program(PostUrl),
}

impl Target {
    /// A URL, or a device as `HOST[:PORT]`.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            return PostUrl::parse(text).map(Self::Program);
        }
        let whole = text.parse::<SocketAddr>();
        let bare = text.trim_matches(['[', ']']).parse::<IpAddr>();
        let parts = match (whole, bare, text.rsplit_once(':')) {
            (Ok(address), ..) => Some((address.ip().to_string(), address.port())),
            (_, Ok(address), _) => Some((address.to_string(), PORT)),
            (.., Some((name, port))) => port.parse().ok().map(|port| (name.to_owned(), port)),
            (.., None) => Some((text.to_owned(), PORT)),
        };
        match parts {
            Some((name, port)) if !name.is_empty() && port > 0 && !name.contains([':', '/']) => {
                Ok(Self::Device(name, port))
            }
            Some((name, port)) if name.parse::<Ipv6Addr>().is_ok() && port > 0 => {
                Ok(Self::Device(name, port))
            }
            _ => {
                Err("expected a device as HOST[:PORT], or http://HOST:PORT of `run --push`".into())
            }
        }
    }
}

/// Reads a sender's key: the first line of the file that is neither empty nor a comment.
///
/// # Errors
/// It cannot be read, or has no such line.
pub fn read_key(path: &Path) -> Result<String, Error> {
    let text = std::fs::read_to_string(path).map_err(|why| Error::reading(path, why))?;
    let lines = text.lines().map(str::trim);
    let mut keys = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let key = keys.next().unwrap_or_default();
    match is_token(key) {
        true => Ok(key.to_owned()),
        false => Err(wrong_key(
            path,
            key,
            "16 or more letters, digits and signs without a space",
        )),
    }
}

/// A key is a secret: how long it is, is said, and nothing else of it.
fn wrong_key(path: &Path, key: &str, expected: &str) -> Error {
    InputError {
        file: path.display().to_string(),
        line: 1,
        column: None,
        found: format!("a key of {} bytes", key.len()),
        expected: expected.into(),
    }
    .into()
}

/// Sends a datagram for each page to a device, which answers nothing. The first go out at once,
/// the others as fast as a device hears them.
///
/// # Errors
/// The key is none, a URL is too long, or the device cannot be reached.
pub fn to_device(
    (name, port): (&str, u16),
    urls: &[String],
    (path, digits): (&Path, &str),
    sender: u8,
) -> Result<(), Error> {
    let key = key(digits).ok_or_else(|| {
        let expected = format!(
            "{} hexadecimal digits, as in the device's push-keys",
            2 * KEY
        );
        wrong_key(path, digits, &expected)
    })?;
    if let Some(url) = urls.iter().find(|url| url.len() > LONGEST_URL) {
        let length = url.len();
        return Err(Error::Usage(format!(
            "found a URL of {length} bytes, expected {LONGEST_URL} at most: {url}"
        )));
    }
    let wrong = |why: std::io::Error| Error::Usage(format!("cannot push to {name}:{port}: {why}"));
    let socket = connect(name, port).map_err(wrong)?;
    for (count, url) in urls.iter().enumerate() {
        let datagram = Datagram {
            sender,
            sent_ms: unix_ms(),
            url,
        };
        let mut bytes = [0; LONGEST];
        // It fits: no URL is empty or too long.
        let length = datagram.sign(&key, &mut bytes).unwrap_or_default();
        socket.send(&bytes[..length]).map_err(wrong)?;
        let is_many = count + 1 >= BURST as usize;
        thread::sleep(match is_many && count + 1 < urls.len() {
            true => Duration::from_secs_f32(1.0 / PER_SECOND),
            false => BETWEEN,
        });
    }
    // What a datagram has met is told to the socket, if at all, a little later.
    match socket.take_error() {
        Ok(Some(why)) => Err(wrong(why)),
        _ => Ok(()),
    }
}

/// A socket that sends there and nowhere else.
fn connect(name: &str, port: u16) -> std::io::Result<UdpSocket> {
    let mut last = std::io::Error::new(std::io::ErrorKind::NotFound, "its name has no address");
    for to in (name, port).to_socket_addrs()? {
        let any = match to {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let socket = UdpSocket::bind((any, 0)).and_then(|socket| {
            socket.connect(to)?;
            Ok(socket)
        });
        match socket {
            Ok(socket) => return Ok(socket),
            Err(why) => last = why,
        }
    }
    Err(last)
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// The body of an IndexNow request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Submission<'a> {
    key: &'a str,
    url_list: &'a [String],
}

/// Tells a program that runs with `--push`, in IndexNow's form; the status of its answer.
///
/// # Errors
/// There is no answer.
pub fn to_program(url: &PostUrl, urls: &[String], key: &str) -> Result<u16, Error> {
    let connect = HostConnect::new(Trust::default());
    let mut post = Post::new(url.at("/indexnow"), connect, HostResolve::default());
    let body = output::json(&Submission {
        key,
        url_list: urls,
    });
    post.send("application/json", None, body.as_bytes())
        .map_err(|why| Error::Usage(format!("cannot push to {}: {why}", url.host())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_a_host_with_or_without_a_port() {
        for (text, name, port) in [
            ("192.0.2.7", "192.0.2.7", PORT),
            ("192.0.2.7:99", "192.0.2.7", 99),
            ("probe.local", "probe.local", PORT),
            ("probe.local:99", "probe.local", 99),
            ("::1", "::1", PORT),
            ("[::1]", "::1", PORT),
            ("[::1]:99", "::1", 99),
        ] {
            let device = Target::Device(name.into(), port);
            assert_eq!(Target::parse(text), Ok(device), "{text}");
        }
        let program = Target::parse("http://a.test:8091/");
        assert!(matches!(program, Ok(Target::Program(_))));
        for wrong in [
            "", ":99", "a:", "a:b", "a:0", "a:70000", "a/b", "ftp://a", "a:b:9",
        ] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }
}
