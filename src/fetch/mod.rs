//! fetch: HTTP that survives the open web, in a few kilobytes.
//!
//! State machines first: [`Url`], [`Request::render`], [`Response`], [`robots::Reader`],
//! [`HttpDate`] take bytes and give values; they neither wait nor allocate, and no input makes them
//! panic or run on. A thin async layer over `embedded-io-async` drives them: [`open`] for a
//! connection, [`fetch`] for one page on it. Who connects, resolves and keeps time is the board's
//! business, behind [`Connect`], [`Resolve`] and a deadline that is any future.
//!
//! What one fetch holds in memory, besides the network stack's socket (32-bit device):
//!
//! | what | bytes |
//! |---|---|
//! | the buffer everything passes through | 512 to 1,024, the caller's choice |
//! | [`Response`], with the window for header lines and a redirect's target | 848 |
//! | [`Fingerprinter`], or [`robots::Reader`] with a [`robots::Judge`] | 96, or 608 |
//! | [`Request`] and the [`Etag`] it sends back | 121 |
//! | the future of [`fetch`], beyond these | some 300 |
//!
//! What stays between fetches: 41 bytes for a page's tag, 8 for its date, 8 or 16 for its
//! fingerprint; 16 for a host's [`robots::HostRobots`], and what [`robots::Rules`] are given if
//! they are kept.
//!
//! Not done, on purpose: compressed bodies (we ask for `identity`; what comes compressed all the
//! same is fingerprinted as it is, and marked), HTTP/2, cookies, authentication, `X-Robots-Tag` (it
//! governs indexing, and we index nothing).

mod address;
mod client;
mod connect;
mod date;
mod exchange;
mod fingerprint;
mod number;
mod percent;
mod redirect;
mod request;
mod response;
pub mod robots;
mod url;
mod validator;

pub use address::is_public;
#[cfg(feature = "probe")]
pub(crate) use address::literal;
pub use client::{Ask, Client, ClientError};
pub use connect::{Addresses, Connect, Connection, Endpoint, Resolve};
pub use date::HttpDate;
pub use exchange::{AnswerKind, Body, FetchError, Fetched, within};
pub use fingerprint::{Fingerprint, Fingerprinter, Ignore};
pub use redirect::{Hops, RedirectError};
pub use request::{Agent, AgentError, Request};
pub use response::{Head, Limits, Method, Response, ResponseError, Step};
pub use url::{Host, Scheme, Url, UrlError};
pub use validator::{Etag, RetryAfter};
