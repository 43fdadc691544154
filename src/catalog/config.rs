//! How a probe is to behave: what its owner sets once for all pages.

use super::Ignore;

/// How the probe is to behave.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config<'a> {
    /// The product of the User-Agent, such as `dunlin/0.1`.
    pub agent: &'a str,
    /// Where its owner can be reached.
    pub contact: Option<&'a str>,
    /// Fetches a day over all hosts; `None` for what politeness allows.
    pub per_day: Option<f32>,
    /// How long a host is left alone after a first failure, in milliseconds.
    pub back_off_ms: u32,
    /// The time for one fetch, from the name to the last byte, in milliseconds.
    pub deadline_ms: u32,
    /// Bytes of a page that are read.
    pub body_bytes: u32,
    /// The seed of what is random.
    pub seed: u32,
    /// The key of fingerprints.
    pub key: [u8; 16],
    /// Who fetches https pages for us.
    pub gateway: Option<Gateway<'a>>,
    /// How the device gets its own address.
    pub address: Address,
    /// Minutes to add to UTC for local time, which allowed hours are given in.
    pub utc_offset_minutes: i16,
    /// What is worth a line of the log.
    pub log: LogLevel,
    /// Who knows what time it is. Without one, the hosts that are fetched from.
    pub sntp: Option<TimeServer<'a>>,
}

impl<'a> Config<'a> {
    /// A probe that names itself `agent`, takes its address from the network, fetches as often as
    /// politeness allows and leaves everything else at what the program `dunlin` takes by default.
    ///
    /// The key is zero: give a device one of its own with `Probe::with_key`.
    pub const fn new(agent: &'a str) -> Self {
        Self {
            agent,
            contact: None,
            per_day: None,
            back_off_ms: 60_000,
            deadline_ms: 30_000,
            body_bytes: 1 << 20,
            seed: 1,
            key: [0; 16],
            gateway: None,
            address: Address::Dhcp,
            utc_offset_minutes: 0,
            log: LogLevel::Info,
            sntp: None,
        }
    }
}

/// A server that is asked for the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeServer<'a> {
    /// Its name or address.
    pub host: &'a str,
    /// The port that it listens at.
    pub port: u16,
}

/// A forward gateway: it takes whole URLs in plain requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway<'a> {
    /// Its name or address.
    pub host: &'a str,
    /// The port that it listens at.
    pub port: u16,
}

/// How the device gets its own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// The network's DHCP server gives it an address.
    Dhcp,
    /// Its owner has given it an address.
    Static {
        /// The address of the device, in the network's order.
        address: [u8; 4],
        /// The length of the network's prefix, in bits.
        prefix: u8,
        /// Where what is not in its own network is sent.
        router: Option<[u8; 4]>,
        /// The server that turns names into addresses.
        names: Option<[u8; 4]>,
    },
}

/// The least important level that is logged; more important ones are logged, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LogLevel {
    /// What needs somebody to act.
    Error,
    /// What went wrong on the way.
    Warn,
    /// Enough to monitor a probe.
    Info,
    /// Every start of a fetch.
    Debug,
}

/// An entry of the resolve table: where the owner says a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// The host; `*` for all that have no entry of their own.
    pub host: &'a str,
    /// The address that the host's name stands for.
    pub address: [u8; 4],
}

/// Stretches of pages that do not count as changes.
pub type Ignores<'a> = heapless::Vec<Ignore<'a>, { Ignore::MOST }>;
