//! What a link tells of itself, for a log.

use core::fmt;

use crate::list::ListError;

/// Why a probe has no connection to its broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Left {
    /// The broker's name has no address that can be reached.
    Name,
    /// The broker is spoken to through TLS, which this firmware is without.
    Tls,
    /// No connection could be opened.
    Connection,
    /// The broker refuses the probe: wrong credentials, as a rule. With MQTT's reason code.
    Refused(u8),
    /// The broker did not answer in time, or took nothing.
    Silence,
    /// The connection has ended: the broker went, or somebody has taken over the probe's name.
    Ended,
    /// The broker sent what is no MQTT, or more than there is room for.
    Nonsense,
    /// The broker sent more messages in a second than a planner has reason to.
    Flood,
    /// The probe's name, its fleet's or its credentials are longer than they may be.
    Names,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("the broker's name has no address"),
            Self::Tls => {
                f.write_str("the broker speaks TLS, and this firmware does not: use mqtt://")
            }
            Self::Connection => f.write_str("no connection to the broker"),
            Self::Refused(code) => write!(
                f,
                "the broker refuses this probe (reason {code:#04x}): check user and password"
            ),
            Self::Silence => f.write_str("the broker does not answer"),
            Self::Ended => f.write_str("the connection to the broker has ended"),
            Self::Nonsense => f.write_str("the broker sent what is no MQTT 5"),
            Self::Flood => f.write_str("the broker sends too many messages"),
            Self::Names => {
                f.write_str("the names of probe and fleet, or the credentials, are too long")
            }
        }
    }
}

/// Something that a person may want to know about a link.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum News {
    /// The broker knows the probe.
    Joined,
    /// There is no connection, and why.
    Left(Left),
    /// The planner has granted a budget and a lease.
    Granted {
        /// The grant's number.
        number: u32,
        /// Fetches a day.
        budget: f32,
        /// For how long, in milliseconds.
        lease_ms: u32,
    },
    /// The planner has made another list.
    Announced {
        /// Its version.
        version: u32,
    },
    /// A list is here, and good.
    Listed {
        /// Its version.
        version: u32,
    },
    /// A list was not taken.
    NotListed {
        /// Its version.
        version: u32,
        /// Why it was not taken.
        why: ListError,
    },
    /// The planner has told it to pause, or to go on.
    Paused(bool),
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined => f.write_str("fleet: connected to the broker"),
            Self::Left(why) => write!(f, "fleet: {why}; trying again"),
            Self::Granted {
                number,
                budget,
                lease_ms,
            } => write!(
                f,
                "fleet: grant {number}: {budget:.0} fetches a day for {} s",
                lease_ms / 1_000
            ),
            Self::Announced { version } => write!(f, "fleet: there is list {version}"),
            Self::Listed { version } => write!(f, "fleet: took list {version}"),
            Self::NotListed { version, why } => {
                write!(f, "fleet: list {version} was not taken: {why}")
            }
            Self::Paused(true) => f.write_str("fleet: told to pause"),
            Self::Paused(false) => f.write_str("fleet: told to go on"),
        }
    }
}
