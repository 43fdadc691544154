//! The options of a probe that belongs to a fleet.

use dunlin::fleet::{LONGEST_NAME, is_name};
use dunlin::time::Duration;

use super::broker_url::BrokerUrl;
use crate::duration;
use crate::error::Error;

/// The fleet that a probe belongs to, if it does.
#[derive(Clone, Debug, clap::Args)]
pub struct JoinArgs {
    /// Be a probe of this fleet: its planner gives pages, budget and lease. `@FILE` reads the URL
    /// from a file
    #[arg(long, conflicts_with = "discover", value_name = "mqtt://USER:PASSWORD@HOST:PORT/FLEET", value_parser = BrokerUrl::parse)]
    pub fleet: Option<BrokerUrl>,
    /// This probe's name in its fleet, as a rule the same as USER [default: USER]
    #[arg(long, value_name = "ID", requires = "fleet")]
    pub probe: Option<String>,
    /// How long leases are taken to last, until the planner has said so
    #[arg(long, value_name = "DURATION", requires = "fleet", value_parser = duration::parse, default_value = "1h")]
    pub lease: Duration,
}

/// A probe's place in a fleet.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Where the broker is.
    pub broker: &'a BrokerUrl,
    /// The name by which the fleet knows the probe.
    pub probe: &'a str,
    /// How long leases are taken to last.
    pub lease: Duration,
}

impl JoinArgs {
    /// The place in a fleet that was asked for.
    ///
    /// # Errors
    /// A name that no probe can have.
    pub fn place(&self) -> Result<Option<Place<'_>>, Error> {
        let Some(broker) = &self.fleet else {
            return Ok(None);
        };
        let probe = self.probe.as_deref().unwrap_or(&broker.user);
        if !is_name(probe) {
            return Err(Error::Usage(format!(
                "found the probe's name {probe:?}, expected up to {LONGEST_NAME} letters, digits, - _ and ."
            )));
        }
        Ok(Some(Place {
            broker,
            probe,
            lease: self.lease,
        }))
    }

    /// Does a board know the date before it has to check its broker's certificate? Pages' hosts
    /// could say it, but nobody is asked without a lease.
    ///
    /// # Errors
    /// [`Error::Usage`], if it does not.
    pub fn check_date(&self, has_time_server: bool) -> Result<(), Error> {
        match &self.fleet {
            Some(broker) if broker.tls && !has_time_server => Err(Error::Usage(
                "found --fleet mqtts:// without --sntp HOST, expected a time server: without the \
                date the board can check no certificate, and would never reach its broker"
                    .into(),
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_needs_a_date() {
        let checked = |url: &str, has_time_server: bool| {
            let join = JoinArgs {
                fleet: BrokerUrl::parse(url).ok(),
                probe: None,
                lease: Duration::HOUR,
            };
            join.check_date(has_time_server)
                .map_err(|why| why.to_string())
        };
        assert_eq!(checked("mqtt://a:b@192.0.2.1/f", false), Ok(()));
        assert_eq!(checked("mqtts://a:b@192.0.2.1/f", true), Ok(()));
        let why = checked("mqtts://a:b@192.0.2.1/f", false).expect_err("no date");
        assert!(why.contains("expected a time server"), "{why}");
    }
}
