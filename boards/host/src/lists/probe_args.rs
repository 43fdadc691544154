//! How a probe is to crawl a list, as `image`, `cargo xtask qemu` and `cargo xtask flash` take it.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use dunlin::catalog::{Address, LogLevel};
use dunlin::collect::{Collector, CollectorError};
use dunlin::fetch::Url;
use dunlin::time::Duration;

use super::budget::Budget;
use super::discovery::DiscoverArgs;
use super::listing::Listing;
use super::page_image::{Options, pairs};
use super::trust;
use crate::board::room::MOST_PLACES;
use crate::error::Error;
use crate::lists::constraints::{Goal, parse_interval};

/// How a probe is to crawl a list.
#[derive(Debug, clap::Args)]
pub struct ProbeArgs {
    /// Fetches a day, over all hosts; `max` for what politeness allows [default: 24 a page]
    #[arg(long, value_name = "X|max")]
    crawls_per_day: Option<Budget>,
    /// Where a host is (repeatable); `*=IP` for all that have no entry of their own
    #[arg(long, value_name = "HOST=IP", value_parser = resolve)]
    resolve: Vec<(String, Ipv4Addr)>,
    /// A forward gateway that fetches https pages for the probe
    #[arg(long, value_name = "HOST:PORT", value_parser = gateway)]
    gateway: Option<(String, u16)>,
    /// Trust this certificate authority for the hosts of the list, besides the public ones: a PEM
    /// file
    #[arg(long, value_name = "FILE.pem")]
    ca: Option<PathBuf>,
    /// Look below this URL for signed firmware and lists, as `cargo xtask release` and `dunlin
    /// release-list` write them; for firmware with updates
    #[arg(long, value_name = "URL", value_parser = update_url)]
    update_url: Option<String>,
    /// Hand each page that has changed to the collector there while it is fetched. Its token, if it
    /// asks for one, is the device's own and no part of the list
    #[arg(long, value_name = "http://HOST:PORT/", value_parser = collector)]
    collect: Option<String>,
    /// The name the probe gives itself, in requests and before robots.txt
    #[arg(long, value_name = "NAME", default_value_t = Options::default().agent)]
    agent: String,
    /// Where the owner of the probe can be reached: a URL, sent with every request
    #[arg(long, value_name = "URL")]
    contact: Option<String>,
    /// Local time is universal time and so many minutes, for the hours of HOSTS.csv
    #[arg(
        long,
        value_name = "MINUTES",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    utc_offset: i16,
    /// A time server to ask for the date (port 123 unless given); without it, the hosts' Date
    /// headers tell
    #[arg(long, value_name = "HOST[:PORT]", value_parser = time_server)]
    sntp: Option<(String, u16)>,
    /// The device's own address and the bits of its network's part, instead of DHCP
    #[arg(long, value_name = "ADDRESS/PREFIX", value_parser = address)]
    address: Option<(Ipv4Addr, u8)>,
    /// The way out, with --address
    #[arg(long, value_name = "IP", requires = "address")]
    router: Option<Ipv4Addr>,
    /// Who knows names, with --address
    #[arg(long, value_name = "IP", requires = "address")]
    name_server: Option<Ipv4Addr>,
    /// What stands between two markers is no change, such as --ignore 'nonce="' '"' (up to 8 times)
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    ignore: Vec<String>,
    /// What `min`, `max` and `updates` of the list are counted in, from local midnight on
    #[arg(long, value_name = "DURATION", value_parser = parse_interval, default_value = "24h")]
    interval: Duration,
    /// What is to be kept small: the time that copies are stale, or how long they have been so
    #[arg(long, value_enum, default_value_t)]
    objective: Goal,
    #[command(flatten)]
    pub discover: DiscoverArgs,
    /// What the probe logs, and in QEMU what is shown of that: error, warn, info (enough to monitor
    /// it) or debug (also the start of every fetch)
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = level)]
    log: LogLevel,
    /// For the little that is random, and for the key that what is stored is known by: the same
    /// seed, the same key [default: 1, and in QEMU a key that is drawn at random]
    #[arg(long, value_name = "S")]
    pub seed: Option<u32>,
}

/// The seed where none is given.
const DEFAULT_SEED: u32 = 1;

impl ProbeArgs {
    /// How many fetches a day it gets.
    fn budget(&self) -> Budget {
        self.crawls_per_day.unwrap_or_default()
    }

    /// The address that the device was given, instead of one by DHCP.
    pub fn own_address(&self) -> Option<Ipv4Addr> {
        self.address.map(|(address, _)| address)
    }

    /// What that comes to, in a line for whoever starts a probe.
    pub fn manners(&self, listing: &Listing) -> String {
        self.budget().describe(listing, self.interval)
    }

    /// Certificates of the owner's own certificate authorities.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn authorities(&self) -> Result<Vec<Vec<u8>>, Error> {
        match &self.ca {
            Some(path) => trust::authorities(path),
            None => Ok(Vec::new()),
        }
    }

    /// What an image of this list says besides.
    ///
    /// # Errors
    /// A certificate that cannot be read, a list without pages, or one that cannot be visited as
    /// often as it asks for.
    pub fn options(&self, listing: &Listing) -> Result<Options, Error> {
        if listing.list.pages.is_empty() {
            let found = "found no page in the list, expected at least one";
            return Err(Error::Usage(found.into()));
        }
        refuse_secrets(listing)?;
        let budget = self.budget();
        budget.check(listing, self.interval)?;
        let discovery = self.discover.wanted(listing, MOST_PLACES)?;
        Ok(Options {
            per_day: match &discovery {
                Some(wanted) => wanted.per_day(budget, listing, self.interval),
                None => budget.per_day(listing, self.interval),
            },
            discovery,
            ..self.options_of_device()?
        })
    }

    /// What an image says besides its list, and how often that is visited.
    ///
    /// # Errors
    /// A certificate that cannot be read.
    pub fn options_of_device(&self) -> Result<Options, Error> {
        Ok(Options {
            agent: self.agent.clone(),
            contact: self.contact.clone(),
            per_day: None,
            seed: self.seed.unwrap_or(DEFAULT_SEED),
            resolve: self.resolve.clone(),
            gateway: self.gateway.clone(),
            sntp: self.sntp.clone(),
            update_url: self.update_url.clone(),
            utc_offset_minutes: self.utc_offset,
            ignore: pairs(&self.ignore),
            interval: self.interval,
            objective: self.objective.into(),
            authorities: self.authorities()?,
            collector: self.collect.clone(),
            log: self.log,
            address: self
                .address
                .map_or(Address::Dhcp, |(address, prefix)| Address::Static {
                    address: address.octets(),
                    prefix,
                    router: self.router.map(|router| router.octets()),
                    names: self.name_server.map(|server| server.octets()),
                }),
            ..Options::default()
        })
    }
}

/// Lists for probes are published, and images of them lie where everybody can read them: a secret
/// is in neither. Headers are in no image at all.
fn refuse_secrets(listing: &Listing) -> Result<(), Error> {
    let mut headers = listing.headers.iter();
    let secret = headers.find_map(|(host, headers)| {
        let header = headers.iter().find(|header| header.is_literal_secret())?;
        Some((host, header.name()))
    });
    match secret {
        Some((host, name)) => Err(Error::Usage(format!(
            "{host}: found the value of header {name} in the list, expected the name of an environment variable, as \
            {name}: $SECRET; a board takes headers from its settings (flash --settings), never from a list"
        ))),
        None => Ok(()),
    }
}

fn collector(text: &str) -> Result<String, String> {
    match Collector::new(text, None) {
        Ok(_) => Ok(text.to_owned()),
        Err(CollectorError::Url(_)) => {
            Err("expected a URL such as http://192.168.1.5:8090/".into())
        }
        Err(why) => Err(why.to_string()),
    }
}

fn level(text: &str) -> Result<LogLevel, String> {
    match text {
        "error" => Ok(LogLevel::Error),
        "warn" => Ok(LogLevel::Warn),
        "info" => Ok(LogLevel::Info),
        "debug" => Ok(LogLevel::Debug),
        _ => Err("expected error, warn, info or debug".into()),
    }
}

fn resolve(text: &str) -> Result<(String, Ipv4Addr), String> {
    let parts = text
        .split_once('=')
        .and_then(|(host, ip)| Some((host.to_ascii_lowercase(), ip.parse().ok()?)));
    parts
        .filter(|(host, _)| !host.is_empty())
        .ok_or_else(|| "expected HOST=IPv4 such as example.org=10.0.2.2 or *=10.0.2.2".into())
}

/// A URL of a folder: the names of manifests are joined with it.
fn update_url(text: &str) -> Result<String, String> {
    let folder = match text.ends_with('/') {
        true => text.to_owned(),
        false => format!("{text}/"),
    };
    let is_plain = Url::parse(&folder).is_ok() && !folder.contains(['?', '#']);
    // The board joins it with a name, in 160 bytes.
    if is_plain && folder.len() <= LONGEST_UPDATE_URL {
        Ok(folder)
    } else {
        Err(format!(
            "expected the URL of a folder in at most {LONGEST_UPDATE_URL} bytes, such as http://updates.example/roof/"
        ))
    }
}

/// Bytes of the URL of a folder with updates.
const LONGEST_UPDATE_URL: usize = 120;

fn address(text: &str) -> Result<(Ipv4Addr, u8), String> {
    let parts = text
        .split_once('/')
        .and_then(|(ip, bits)| Some((ip.parse().ok()?, bits.parse().ok()?)));
    parts
        .filter(|(_, bits)| *bits <= 32)
        .ok_or_else(|| "expected ADDRESS/PREFIX such as 192.168.1.20/24".into())
}

fn time_server(text: &str) -> Result<(String, u16), String> {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, "123"));
    let port = port.parse().ok().filter(|port| *port > 0);
    let host = Some(host).filter(|host| !host.is_empty() && !host.contains([':', '/', ' ']));
    host.map(str::to_ascii_lowercase)
        .zip(port)
        .ok_or_else(|| "expected HOST or HOST:PORT such as pool.ntp.org or 10.0.2.2:123".into())
}

fn gateway(text: &str) -> Result<(String, u16), String> {
    let parts = text
        .rsplit_once(':')
        .and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
    parts
        .filter(|(host, port)| !host.is_empty() && *port > 0)
        .ok_or_else(|| "expected HOST:PORT such as 10.0.2.2:3128".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        probe: ProbeArgs,
    }

    #[test]
    fn the_defaults_name_the_project() {
        let Command { probe } = Command::parse_from(["test"]);
        assert!(probe.agent.starts_with("dunlin/"), "{}", probe.agent);
        assert_eq!(probe.log, LogLevel::Info);
    }
}
