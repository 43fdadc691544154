//! Posting to somebody else's server: one request, one status. For webhooks and collectors.

use std::time::{Duration, Instant};

use async_io::Timer;
use dunlin::fetch::{ClientError, OwnerServer, Url};
use embedded_io_async::{Read as _, Write as _};
use futures_lite::FutureExt as _;

use crate::board::net::{HostConnect, HostResolve, open_any};

/// For the whole of it, from the look-up of a name to the answer's status, but for the body.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a body in a second: who is not done at this pace is given up.
const SLOW_LINE: u64 = 16 * 1024;
/// How often it is asked whether an exchange goes on.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Nobody needs more to say a status.
const LONGEST_STATUS_LINE: usize = 1024;

/// A URL that can be posted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostUrl(String);

impl PostUrl {
    /// # Errors
    /// It is no http or https URL.
    pub fn parse(text: &str) -> Result<Self, String> {
        match Url::parse(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(why) => Err(format!("{why}; expected http://… or https://…")),
        }
    }

    /// Another path on the same server.
    #[must_use]
    pub fn at(&self, path: &str) -> Self {
        let after_scheme = self.0.find("://").map_or(0, |place| place + 3);
        let rest = &self.0[after_scheme..];
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        Self(format!("{}{path}", &self.0[..after_scheme + end]))
    }

    /// Its host, which is no secret as its path may be.
    pub fn host(&self) -> &str {
        let url = Url::parse(&self.0);
        url.as_ref().map_or("", Url::host_text)
    }
}

/// The way to a server.
#[derive(Clone, Debug)]
pub struct Post {
    url: PostUrl,
    connect: HostConnect,
    resolve: HostResolve,
}

impl Post {
    /// A poster that posts to `url`.
    pub fn new(url: PostUrl, connect: HostConnect, resolve: HostResolve) -> Self {
        Self {
            url,
            connect,
            resolve,
        }
    }

    /// Says where posts go.
    pub fn url(&self) -> &PostUrl {
        &self.url
    }

    /// Posts a body, with a token if there is one, and returns the status of the answer. It blocks,
    /// for ten seconds and what a slow line takes for the body.
    ///
    /// # Errors
    /// What went wrong before there was an answer.
    pub fn send(
        &mut self,
        content_type: &str,
        token: Option<&str>,
        body: &[u8],
    ) -> Result<u16, String> {
        self.send_while(content_type, token, body, || true)
    }

    /// The same, as long as `goes_on` says so.
    ///
    /// # Errors
    /// What went wrong before there was an answer.
    pub fn send_while(
        &mut self,
        content_type: &str,
        token: Option<&str>,
        body: &[u8],
        goes_on: impl Fn() -> bool,
    ) -> Result<u16, String> {
        let patience = patience(body.len());
        let end = Instant::now() + patience;
        let late = async {
            while Instant::now() < end {
                if !goes_on() {
                    return Err("no answer before the end".to_owned());
                }
                Timer::after(LOOK_AGAIN).await;
            }
            Err(format!("no answer within {} s", patience.as_secs()))
        };
        async_io::block_on(self.exchange(content_type, token, body).or(late))
    }

    /// Sends the request and reads the status of its answer.
    ///
    /// *Cancellation*: the connection is left in the middle of an exchange, and not used again.
    async fn exchange(
        &mut self,
        content_type: &str,
        token: Option<&str>,
        body: &[u8],
    ) -> Result<u16, String> {
        let url = Url::parse(&self.url.0).map_err(said)?;
        let host = url.host_text();
        let port = url.port();
        let server = OwnerServer {
            scheme: url.scheme(),
            host,
            port,
        };
        let opened = open_any(&server, &mut self.connect, &mut self.resolve).await;
        let mut connection = opened.map_err(|why| match why {
            ClientError::Resolve(why) | ClientError::Connect(why) => said(why),
            ClientError::NoAddress => "its name has no address".to_owned(),
            other => said(other),
        })?;
        let authority = match port == url.scheme().default_port() {
            true => host.to_owned(),
            false => format!("{host}:{port}"),
        };
        let token = token.map_or_else(String::new, |token| {
            format!("Authorization: Bearer {token}\r\n")
        });
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: dunlin/{}\r\n{token}\
            Content-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            url.path_and_query(),
            env!("CARGO_PKG_VERSION"),
            body.len()
        );
        connection.write_all(head.as_bytes()).await.map_err(said)?;
        // Whoever refuses early may close before all of it is written: what counts is the answer.
        let written = connection.write_all(body).await;
        let written = match written {
            Ok(()) => connection.flush().await,
            Err(why) => Err(why),
        };
        let mut line = [0; LONGEST_STATUS_LINE];
        let mut length = 0;
        loop {
            let count = connection.read(&mut line[length..]).await.map_err(said)?;
            length += count;
            if let Some(status) = status(&line[..length]) {
                return Ok(status);
            }
            if count == 0 {
                return match written {
                    Ok(()) => Err("its answer is no HTTP".into()),
                    Err(why) => Err(said(why)),
                };
            }
        }
    }
}

/// How long an exchange with so many bytes may take.
fn patience(bytes: usize) -> Duration {
    PATIENCE + Duration::from_secs(bytes as u64 / SLOW_LINE)
}

fn said(why: impl std::fmt::Display) -> String {
    why.to_string()
}

/// The status of an answer, as soon as its line is there.
fn status(answer: &[u8]) -> Option<u16> {
    let rest = answer.strip_prefix(b"HTTP/1.")?;
    let digits = rest.get(2..5)?;
    let digits = std::str::from_utf8(digits).ok()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::board::verify::Trust;

    #[test]
    fn a_status_is_read_as_soon_as_it_is_there() {
        assert_eq!(status(b"HTTP/1.1 204 No Content\r\n"), Some(204));
        assert_eq!(status(b"HTTP/1.0 500"), Some(500));
        for other in [&b"HTTP/1.1 20"[..], b"", b"HTTP/2 200 ", b"HTTP/1.1 2xx"] {
            assert_eq!(status(other), None);
        }
    }

    #[test]
    fn a_slow_line_has_time_for_a_long_body() {
        assert_eq!(patience(1_000), PATIENCE);
        // The longest body that is collected, over an uplink of 256 kbit/s.
        let sent = Duration::from_secs((1 << 20) * 8 / 256_000);
        assert!(patience(1 << 20) > PATIENCE + sent);
    }

    #[test]
    fn a_silent_server_is_left_as_soon_as_nobody_waits() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", silent.local_addr().expect("bound"));
        let url = PostUrl::parse(&url).expect("a URL");
        let connect = HostConnect::new(Trust::default());
        let mut post = Post::new(url, connect, HostResolve::default());
        let sent = post.send_while("text/plain", None, b"body", || false);
        // Not the sentence of patience that ran out.
        assert_eq!(sent, Err("no answer before the end".to_owned()));
    }

    #[test]
    fn another_path_is_on_the_same_server() {
        for url in [
            "http://a.test:81",
            "http://a.test:81/",
            "http://a.test:81/x?y",
        ] {
            let url = PostUrl::parse(url).expect("a URL");
            assert_eq!(url.at("/p"), PostUrl("http://a.test:81/p".into()));
            assert_eq!(url.host(), "a.test");
        }
    }
}
