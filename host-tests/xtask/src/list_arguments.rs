//! A page list and how it is to be crawled, as `qemu` and `flash` take it.

use std::path::PathBuf;

use clap::Args;
use dunlin::time::Duration;
use dunlin_host::duration;
use dunlin_host::error::Error;
use dunlin_host::lists::budget::Budget;
use dunlin_host::lists::listing::{Listing, ListingArgs};
use dunlin_host::lists::page_image::Options;
use dunlin_host::lists::probe_args::ProbeArgs;
use dunlin_host::lists::terms::{Goal, parse_interval};
use dunlin_host::lists::trust;
use dunlin_tools::qemu::page_image::{Options, pairs};

/// What a host gets between two fetches unless the user says otherwise.
const POLITE: Duration = Duration::from_secs(15);

/// A page list, and how it is to be crawled.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// The page list: a header row, then one page a line
    #[arg(long, value_name = "PAGES.csv")]
    pub pages: PathBuf,
    /// What is special about some hosts: politeness, group, hours
    #[arg(long, value_name = "HOSTS.csv")]
    hosts: Option<PathBuf>,
    /// Least time between two requests to a host
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "15s")]
    politeness: Duration,
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
    /// What the probe logs, and in QEMU what is shown of that: error, warn, info (enough to monitor
    /// it) or debug (also the start of every fetch)
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = level)]
    log: LogLevel,
    /// For the little that is random, and for the key that what is stored is known by: the same
    /// seed, the same key
    #[arg(long, value_name = "S")]
    pub seed: Option<u32>,
    #[command(flatten)]
    pub probe: ProbeArgs,
}

impl ListArguments {
    /// How many fetches a day it gets.
    pub fn budget(&self) -> Budget {
        self.probe.budget()
    }

    /// What tells a monitor the names of pages and hosts, as its options.
    pub fn monitor_options(&self) -> Vec<String> {
        let mut options = vec!["--pages".into(), self.pages.display().to_string()];
        if let Some(hosts) = &self.hosts {
            options.extend(["--hosts".into(), hosts.display().to_string()]);
        }
        // To the last digit, unlike durations that are to be read.
        let millis = self.politeness.as_millis();
        options.extend(["--politeness".into(), format!("{millis}ms")]);
        options
    }

    /// Reads the list.
    pub fn read(&self) -> Result<(Listing, Options), Error> {
        let files = ListingArgs {
            pages: self.pages.clone(),
            hosts: self.hosts.clone(),
            politeness: Some(self.politeness),
        };
        let listing = files.read(POLITE)?;
        let options = Options {
            agent: self.agent.clone(),
            contact: self.contact.clone(),
            per_day: self.budget().per_day(&listing),
            seed: self.seed.unwrap_or(DEFAULT_SEED),
            resolve: self.resolve.clone(),
            gateway: self.gateway.clone(),
            sntp: self.sntp.clone(),
            utc_offset_minutes: self.utc_offset,
            ignore: pairs(&self.ignore),
            interval: self.interval,
            objective: self.objective.into(),
            authorities: match &self.ca {
                Some(path) => trust::authorities(path)?,
                None => Vec::new(),
            },
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
        };
        if listing.list.pages.is_empty() {
            let found = format!(
                "found no page in {}, expected at least one",
                pages.display()
            );
            return Err(Error::Usage(found));
        }
        let options = self.probe.options(&listing)?;
        Ok((listing, options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        list: ListArguments,
    }

    #[test]
    fn the_default_is_polite() {
        let Command { list } = Command::parse_from(["test", "--pages", "pages.csv"]);
        assert_eq!(list.politeness, Duration::from_secs(15));
    }
}
