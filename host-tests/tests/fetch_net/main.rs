//! The fetcher over real sockets: hostile servers of our own, real servers, and TLS. Loopback only.

mod client;
mod hostile;
mod real;
mod tls;
