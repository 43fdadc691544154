//! What a probe of a fleet says of its link to the planner.

use crate::catalog::LogLevel;
use crate::fetch::TlsError;
use crate::fleet::{LinkError, ListError};
use crate::probe::log_line::{Value, events, values};
use core::fmt::{self, Formatter};

values! {
    Debug: LinkError, ListError, TlsError;
}

events! {
    /// What happens between a probe and the planner of its fleet. `list` is the version of a list.
    pub enum FleetEvent;
    /// A [`FleetEvent`] as it is read back from its line.
    pub enum LoggedFleetEvent<'l>;

    /// The broker knows the probe.
    info Joined => "fleet joined";

    /// There is no connection to the broker, and why; it will be tried again.
    warn Left { why: LinkError as &'l str } => "fleet left why={}";

    /// Why TLS refused the broker; that the probe has left follows.
    warn Untrusted { why: TlsError as &'l str } => "fleet untrusted why={}";

    /// The planner has granted fetches a day, and for how long.
    info Granted { number: u32, budget: f32 as f64, lease_millis: u32 }
        => "fleet granted number={=u32} budget={=f32} lease_ms={=u32}";

    /// The planner has made another list.
    info Announced { list: u32 } => "fleet announced list={=u32}";

    /// A list is here, and good.
    info Listed { list: u32 } => "fleet listed list={=u32}";

    /// A list was not taken, and why.
    warn NotListed { list: u32, why: ListError as &'l str }
        => "fleet not listed list={=u32} why={}";

    /// The planner has told the probe to pause.
    info Paused => "fleet paused";

    /// The planner has told the probe to go on.
    info Resumed => "fleet resumed";
}

impl FleetEvent {
    /// Writes the line to the log, through `defmt` or `log`.
    #[cfg(any(feature = "defmt", feature = "log"))]
    pub fn emit(&self) {
        self.emit_line();
    }
}
