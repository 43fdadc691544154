//! A page list and how it is to be crawled, as `qemu` and `flash` take it.

use std::path::PathBuf;

use clap::Args;
use dunlin::time::Duration;
use dunlin_host::duration;
use dunlin_host::error::Error;
use dunlin_host::fleet::join_args::JoinArgs;
use dunlin_host::lists::listing::{Listing, ListingArgs};
use dunlin_host::lists::page_image::Options;
use dunlin_host::lists::probe_args::ProbeArgs;
use dunlin_tools::firmware::budgets;

/// What a host gets between two fetches unless the user says otherwise.
const POLITE: Duration = Duration::from_secs(15);

/// A page list, and how it is to be crawled.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// The page list: a header row, then one page a line; or a URL a line, a sitemap, OPML
    #[arg(
        long,
        value_name = "PAGES.csv",
        required_unless_present = "fleet",
        conflicts_with = "fleet"
    )]
    pub pages: Option<PathBuf>,
    /// What is special about some hosts: politeness, group, hours, hints, pin, header
    #[arg(long, value_name = "HOSTS.csv")]
    hosts: Option<PathBuf>,
    /// Least time between two requests to a host
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "15s")]
    politeness: Duration,
    #[command(flatten)]
    pub probe: ProbeArgs,
    #[command(flatten)]
    pub join: JoinArgs,
}

impl ListArguments {
    /// How many fetches a day it gets, in a line for whoever starts it.
    pub fn manners(&self, listing: &Listing) -> Result<String, Error> {
        Ok(match self.join.place()? {
            Some(place) => format!("as {} of the fleet at {}", place.probe, place.broker),
            None => self.probe.manners(listing),
        })
    }

    /// What tells a monitor the names of pages and hosts, as its options.
    pub fn monitor_options(&self) -> Vec<String> {
        let pages = self.pages.iter();
        let pages = pages.flat_map(|pages| ["--pages".into(), pages.display().to_string()]);
        let mut options: Vec<String> = pages.collect();
        if let Some(hosts) = &self.hosts {
            options.extend(["--hosts".into(), hosts.display().to_string()]);
        }
        // To the last digit, unlike durations that are to be read.
        let millis = self.politeness.as_millis();
        options.extend(["--politeness".into(), format!("{millis}ms")]);
        options
    }

    /// What the firmware of a fleet's probe needs: TLS as well, where the broker speaks it.
    pub fn fleet_features(&self) -> Vec<String> {
        match &self.join.fleet {
            Some(broker) if broker.tls => {
                [budgets::FLEET, budgets::HTTPS].map(str::to_owned).into()
            }
            Some(_) => vec![budgets::FLEET.to_owned()],
            None => Vec::new(),
        }
    }

    /// Reads the list, and what else its image is to say.
    pub fn read(&self) -> Result<(Listing, Options), Error> {
        let Some(pages) = &self.pages else {
            // The list of a fleet's probe comes from the planner.
            return Ok((Listing::default(), self.probe.options_of_device()?));
        };
        let files = ListingArgs {
            pages: pages.clone(),
            hosts: self.hosts.clone(),
            politeness: Some(self.politeness),
        };
        let listing = files.read(POLITE)?;
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
        assert_eq!(list.fleet_features(), [""; 0]);
    }

    #[test]
    fn a_broker_that_speaks_tls_needs_a_firmware_that_does() {
        let features = |url: &str| {
            Command::parse_from(["test", "--fleet", url])
                .list
                .fleet_features()
        };
        assert_eq!(features("mqtt://a:b@192.0.2.1/f"), ["fleet"]);
        assert_eq!(features("mqtts://a:b@192.0.2.1/f"), ["fleet", "tls"]);
    }
}
