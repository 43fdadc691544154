//! fetch: HTTP that survives the open web, in a few kilobytes.
//!
//! State machines first: [`Url`], [`Request::render`], [`Response`], [`robots::RobotsReader`],
//! [`HttpDate`] take bytes and give values; they neither wait nor allocate, and no input makes them
//! panic or run on. A thin async layer over `embedded-io-async` drives them: a [`Client`] resolves
//! a name, checks the address, connects and exchanges, and is the only way to a page. A collector
//! or a broker is an [`OwnerServer`], which is connected to without that check. Who connects,
//! resolves and keeps time is the board's business, behind [`Connect`], [`Resolve`] and a deadline
//! that is any future (see [`within`]).
//!
//! ```
//! use dunlin::fetch::{Agent, AnswerKind, Ask, Client, Fingerprinter, Request, Url};
//! # use core::convert::Infallible;
//! # use core::task::{Context, Poll, Waker};
//! # use dunlin::fetch::{Addresses, Connect, Connection, Endpoint, Resolve};
//! # struct Server(&'static [u8]);
//! # impl embedded_io_async::ErrorType for Server { type Error = Infallible; }
//! # impl embedded_io_async::Read for Server {
//! #     async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
//! #         let count = self.0.len().min(buffer.len());
//! #         buffer[..count].copy_from_slice(&self.0[..count]);
//! #         self.0 = &self.0[count..];
//! #         Ok(count)
//! #     }
//! # }
//! # impl embedded_io_async::Write for Server {
//! #     async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> { Ok(bytes.len()) }
//! #     async fn flush(&mut self) -> Result<(), Infallible> { Ok(()) }
//! # }
//! # impl Connection for Server {}
//! # struct Network;
//! # impl Connect for Network {
//! #     type Error = Infallible;
//! #     type Connection<'c> = Server;
//! #     async fn connect(&mut self, _: Endpoint<'_>) -> Result<Server, Infallible> {
//! #         Ok(Server(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
//! #     }
//! # }
//! # struct Names;
//! # impl Resolve for Names {
//! #     type Error = Infallible;
//! #     async fn resolve(&mut self, _: &str) -> Result<Addresses, Infallible> {
//! #         Ok(Addresses::from_iter([[192, 0, 2, 1].into()]))
//! #     }
//! # }
//! // `Network` and `Names` are a board's own; here, an answer in memory.
//! async fn fetch(network: &mut Network, names: &mut Names) -> AnswerKind {
//!     let agent = Agent::new("dunlin/0.1", None).unwrap();
//!     let url = Url::parse("http://example.org/").unwrap();
//!     let mut ask = Ask::new(Request::get(url, agent));
//!     let mut window = [0; 512];
//!     let mut fingerprint = Fingerprinter::new(&[0; 16], &[]);
//!     let mut client = Client::new(network);
//!     let answer = client.request(&mut ask, names, &mut window, &mut fingerprint).await;
//!     answer.unwrap().kind
//! }
//! # let (mut network, mut names) = (Network, Names);
//! # let work = core::pin::pin!(fetch(&mut network, &mut names));
//! # let kind = work.poll(&mut Context::from_waker(Waker::noop()));
//! # assert_eq!(kind, Poll::Ready(AnswerKind::Page));
//! ```
//!
//! [`robots`] reads robots.txt files and says what their rules mean. What a probe remembers of
//! them, page by page, is its own business (`probe/verdicts.rs`).
//!
//! What one fetch holds in memory, besides the network stack's socket (32-bit device):
//!
//! | what | bytes |
//! |---|---|
//! | the buffer everything passes through | 512 to 1,024, the caller's choice |
//! | [`Response`], with the window for header lines and a redirect's target | 848 |
//! | [`Fingerprinter`], or [`robots::RobotsReader`] with a [`robots::Judge`] | 96, or 608 |
//! | [`Ask`] and the [`Etag`] it sends back | 161 |
//! | the future of [`Client::request`], beyond these | some 200 |
//!
//! What stays between fetches: 41 bytes for a page's tag, 8 for its date, 8 or 16 for its
//! fingerprint; 16 for a host's [`robots::HostRobots`], and what [`robots::Rules`] are given if
//! they are kept.
//!
//! With the feature `update`, a [`Request`] may ask for the rest of a page (`Range`, answered with
//! 206), and whom a body goes to may refuse it on the way.
//!
//! Not done, on purpose: compressed bodies (we ask for `identity`; what comes compressed all the
//! same is fingerprinted as it is, and marked), HTTP/2, cookies, authentication, `X-Robots-Tag` (it
//! governs indexing, and we index nothing).

mod address;
#[cfg(any(feature = "discover", feature = "hints"))]
mod any_date;
pub(crate) mod ascii;
mod client;
mod connect;
mod date;
mod exchange;
mod fingerprint;
#[cfg(feature = "headers")]
mod insert;
#[cfg(feature = "probe")]
mod keyed_hash;
#[cfg(feature = "hints")]
mod link;
mod number;
mod owner_server;
pub(crate) mod percent;
mod redirect;
mod request;
mod response;
pub mod robots;
#[cfg(feature = "filter")]
mod select;
mod tee;
#[cfg(any(feature = "discover", feature = "hints"))]
mod timestamp;
mod url;
#[cfg(feature = "discover")]
mod url_digest;
mod validator;

pub use address::is_public;
#[cfg(feature = "probe")]
pub(crate) use address::literal;
pub use client::{Ask, Client, ClientError};
pub use connect::{Addresses, Connect, Connection, Endpoint, Resolve, TlsError};
pub use date::HttpDate;
#[cfg(feature = "update")]
pub(crate) use exchange::others_first;
pub use exchange::{AnswerKind, Body, FetchError, Fetched, within};
pub use fingerprint::{Fingerprint, Fingerprinter, Ignore};
#[cfg(feature = "headers")]
pub use insert::{Insert, Inserter};
#[cfg(feature = "probe")]
pub(crate) use keyed_hash::keyed_hash;
#[cfg(all(feature = "discover", feature = "hints"))]
pub(crate) use link::is_feed_type;
#[cfg(feature = "collect")]
pub(crate) use number::Decimal;
#[cfg(feature = "update")]
pub(crate) use number::decimal;
pub use owner_server::OwnerServer;
pub use redirect::{Hops, RedirectError};
pub use request::{Agent, AgentError, Request};
#[cfg(feature = "collect")]
pub(crate) use request::{Pieces, render};
#[cfg(feature = "update")]
pub use response::ContentRange;
pub use response::{Head, Limits, Method, Response, ResponseError, Step};
#[cfg(feature = "filter")]
pub use select::Select;
#[cfg(feature = "probe")]
pub(crate) use tee::Tee;
pub use url::{Scheme, Url, UrlError, UrlHost};
#[cfg(feature = "discover")]
pub(crate) use url_digest::{ServerDigest, keyed_digest_of_directory};
pub use validator::{Etag, RetryAfter};
