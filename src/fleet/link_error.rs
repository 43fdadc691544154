//! What can go wrong between a probe and those whom it hears of: the broker, and the planner's
//! lists.

use core::fmt;

/// Why a probe has no connection to its broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum LinkError {
    /// The broker's name has no address that can be reached.
    Name,
    /// The broker is spoken to through TLS, which this firmware is without.
    Tls,
    /// TLS refused the broker, or could not be spoken with it.
    Untrusted,
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

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("the broker's name has no address"),
            Self::Tls => {
                f.write_str("the broker speaks TLS, and this firmware does not: use mqtt://")
            }
            Self::Untrusted => f.write_str("no connection to the broker through TLS"),
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

impl core::error::Error for LinkError {}

/// Why a list was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ListError {
    /// It is longer than there is room for.
    TooLong,
    /// It could not be written.
    Storage,
    /// Its address is no URL that can be asked.
    Url,
    /// Its server was not reached, or broke off.
    Unanswered,
    /// Its server answered with this status.
    Status(u16),
    /// It has another length than announced.
    Length,
    /// It has another digest than announced.
    Digest,
    /// It is no page image, or one that this device cannot run on.
    Image,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("it is longer than there is room for"),
            Self::Storage => f.write_str("it could not be written"),
            Self::Url => f.write_str("its address cannot be asked"),
            Self::Unanswered => f.write_str("the planner did not answer"),
            Self::Status(status) => write!(f, "the planner answered {status}"),
            Self::Length => f.write_str("it has another length than announced"),
            Self::Digest => f.write_str("it has another digest than announced"),
            Self::Image => f.write_str("it is no list that this probe can run on"),
        }
    }
}

impl core::error::Error for ListError {}
