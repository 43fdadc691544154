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
    /// This probe's name in its fleet: as a rule the same as USER, which is the default
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
    /// The probe's name.
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
}
