//! The options of whoever shows a probe as a web page: where, and to whom.

use std::net::SocketAddr;

use crate::error::Error;
use crate::monitor::web::{self, Site};
use crate::output;

/// Where the web page is served, and to whom.
#[derive(Debug, clap::Args)]
pub struct WebArgs {
    /// Serve the view as a web page, and metrics for Prometheus at /metrics; without an address on
    /// loopback only
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:8080", value_parser = address)]
    web: Option<SocketAddr>,
    /// Answer only whoever knows this: http://ADDR/?token=TOKEN in a browser, for Prometheus
    /// `Authorization: Bearer TOKEN`
    #[arg(long, value_name = "TOKEN", requires = "web", value_parser = token)]
    token: Option<String>,
    /// Answer everybody who can reach the address: needed where that is not loopback and there is
    /// no --token
    #[arg(long, requires = "web", conflicts_with = "token")]
    web_open: bool,
}

impl WebArgs {
    /// Is the page wanted at all?
    pub fn is_asked(&self) -> bool {
        self.web.is_some()
    }

    /// What a probe does is not shown to a whole network by accident.
    ///
    /// # Errors
    /// An address that others can reach, without a word about whom to answer.
    pub fn check(&self) -> Result<(), Error> {
        match self.web {
            Some(address)
                if !address.ip().is_loopback() && self.token.is_none() && !self.web_open =>
            {
                Err(Error::Usage(format!(
                    "found --web {address}, which others can reach, expected --token TOKEN with it, or --web-open to show it to everybody"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Where a page of another kind is served, and what one has to know to see it.
    pub fn site(&self) -> Option<(SocketAddr, Option<String>)> {
        Some((self.web?, self.token.clone()))
    }

    /// Serves the page, if it is wanted, and says where.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn start(&self, site: Site) -> Result<(), Error> {
        let Some(address) = self.web else {
            return Ok(());
        };
        let address = web::start(address, self.token.clone(), site)?;
        output::say(format_args!(
            "monitor: http://{address}/ and http://{address}/metrics"
        ));
        Ok(())
    }
}

/// What can stand in a URL as it is, and is not guessed at once.
fn token(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if text.bytes().all(plain) && (8..=256).contains(&text.len()) {
        Ok(text.to_owned())
    } else {
        Err("expected 8 to 256 letters, digits, and any of - . _ ~".into())
    }
}

/// `PORT` on loopback, or `ADDRESS:PORT`.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text
        .parse()
        .map(|port: u16| SocketAddr::from(([127, 0, 0, 1], port)));
    port.or_else(|_| text.parse())
        .map_err(|_| "expected a port, or an address and a port such as [::1]:8080".into())
}
