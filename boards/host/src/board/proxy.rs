//! A proxy that stands between this computer and the web: what `--proxy` says, and how https goes
//! through it.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use async_io::{Async, Timer};
use data_encoding::BASE64;
use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _, FutureExt as _};

use crate::error::Error;
use crate::lists::headers::expand;

/// The longest answer of a proxy to CONNECT.
const LONGEST_HEAD: usize = 8 * 1024;
/// How long opening a way through it may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// A proxy that the owner named.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// The address that it listens at.
    pub(super) address: SocketAddr,
    /// What it wants to see in requests: nothing, or who asks.
    pub(super) fields: String,
}

impl std::fmt::Debug for Proxy {
    /// Leaves the password out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let address = &self.address;
        f.debug_struct("Proxy")
            .field("address", address)
            .finish_non_exhaustive()
    }
}

const EXPECTED: &str = "expected http://HOST:PORT, with USER:PASSWORD@ before the host if it asks for them, as \
    'http://$USER:$PASSWORD@proxy.example:3128' from environment variables";

impl Proxy {
    /// Reads `http://[USER:PASSWORD@]HOST[:PORT]`, with environment variables as `$NAME`, and looks
    /// its name up.
    ///
    /// # Errors
    /// It is something else, or has no address.
    pub fn find(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let text = expand(text, variable).map_err(|name| {
            Error::Usage(format!(
                "found no environment variable {name:?}, which --proxy names"
            ))
        })?;
        let (host, port, fields) = parse(&text)
            .ok_or_else(|| Error::Usage(format!("found another --proxy, {EXPECTED}")))?;
        let found = (host, port).to_socket_addrs().ok();
        let address = found.and_then(|mut found| found.next());
        let address = address
            .ok_or_else(|| Error::Usage(format!("found no address for the proxy {host}")))?;
        Ok(Self { address, fields })
    }

    /// Has it open a way to a host.
    ///
    /// *Cancellation*: the socket is of no use then.
    pub(super) async fn open(&self, socket: &mut Async<TcpStream>, to: &str) -> io::Result<()> {
        let late = async {
            Timer::after(PATIENCE).await;
            Err(io::ErrorKind::TimedOut.into())
        };
        self.ask(socket, to).or(late).await
    }

    /// *Cancellation*: the socket is of no use then.
    async fn ask(&self, socket: &mut Async<TcpStream>, to: &str) -> io::Result<()> {
        let request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{}\r\n", self.fields);
        socket.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        // Byte by byte: what follows the head belongs to somebody else.
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && head.len() < LONGEST_HEAD {
            socket.read_exact(&mut byte).await?;
            head.push(byte[0]);
        }
        let status = head.get(9..12).unwrap_or_default();
        match head.starts_with(b"HTTP/1.") && status.starts_with(b"2") {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "the proxy answered {}",
                String::from_utf8_lossy(status)
            ))),
        }
    }
}

/// Host, port, and the field with user and password.
fn parse(text: &str) -> Option<(&str, u16, String)> {
    let rest = text.strip_prefix("http://")?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (user, place) = match rest.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, rest),
    };
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (place, 80),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let plain = |text: &str| !text.is_empty() && !text.contains(['/', '?', '#', ' ', '@']);
    let fields = user.map_or_else(String::new, |user| {
        let user = BASE64.encode(user.as_bytes());
        format!("Proxy-Authorization: Basic {user}\r\n")
    });
    plain(host).then_some((host, port, fields))
}

/// Is it this computer itself, which no proxy is asked for?
pub fn is_local(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_a_host_and_a_port() {
        let none = String::new;
        assert_eq!(parse("http://p.test:3128/"), Some(("p.test", 3128, none())));
        assert_eq!(parse("http://p.test"), Some(("p.test", 80, none())));
        assert_eq!(parse("http://[::1]:8080"), Some(("::1", 8080, none())));
        let field = "Proxy-Authorization: Basic YTpiQGM=\r\n".to_owned();
        assert_eq!(parse("http://a:b@c@p.test:1"), Some(("p.test", 1, field)));
        for wrong in [
            "p.test:3128",
            "https://p.test",
            "http://",
            "http://p:x",
            "http://p/q",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        let missing = Proxy::find("http://$NOBODY@p.test", |_| None);
        assert!(missing.is_err_and(|why| why.to_string().contains("NOBODY")));
        let shown = format!("{:?}", Proxy::find("http://a:b@127.0.0.1:1", |_| None));
        assert!(!shown.contains("YTpi"), "{shown}");
    }

    #[test]
    fn this_computer_needs_no_proxy() {
        assert!(is_local("localhost") && is_local("127.0.0.2") && is_local("[::1]"));
        assert!(!is_local("a.test") && !is_local("10.0.0.1"));
    }
}
