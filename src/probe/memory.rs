//! What the probe remembers between fetches, besides the scheduler: in arrays that the board provides.

use core::net::IpAddr;

use crate::fetch::robots::{Access, HostRobots};
use crate::fetch::{Etag, Hops, HttpDate};
use crate::time::{Duration, Instant};

/// How long a name's address is used: embassy-net and most stacks do not tell how long it holds.
const ADDRESS_HOLDS: Duration = Duration::from_secs(600);
/// How long a name that has no address is not asked for again.
const FAILURE_HOLDS: Duration = Duration::from_secs(60);

/// May the page be fetched, as far as robots rules are known?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It has not been held against the rules.
    #[default]
    Unknown,
    /// It may.
    Allowed,
    /// It may not.
    Denied,
}

// The table of what RAM is spent on, in the scheduler's documentation, says so.
#[cfg(target_pointer_width = "32")]
const _: () = assert!(size_of::<PageMemory>() == 56 && size_of::<HostMemory>() == 48);

/// What is known of a page's last version: 56 bytes.
#[derive(Clone, Copy, Debug)]
pub struct PageMemory {
    pub(super) etag: Option<Etag>,
    pub(super) verdict: Verdict,
    /// Seconds since 1970, until 2106; 0 for none.
    last_modified: u32,
    /// Half of the fingerprint, in halves to be packed; 0 before the first version.
    fingerprint: [u32; 2],
}

impl PageMemory {
    /// Nothing is known.
    pub const NEW: Self =
        Self { etag: None, verdict: Verdict::Unknown, last_modified: 0, fingerprint: [0; 2] };

    pub(super) fn last_modified(&self) -> Option<HttpDate> {
        (self.last_modified != 0).then(|| HttpDate::from_unix(self.last_modified.into())).flatten()
    }

    /// Takes a version in; true if it is another one than before, or the first.
    pub(super) fn update(
        &mut self,
        fingerprint: u64,
        etag: Option<Etag>,
        last_modified: Option<HttpDate>,
    ) -> bool {
        let fingerprint = [fingerprint as u32, (fingerprint >> 32) as u32];
        let changed = self.fingerprint != fingerprint;
        self.fingerprint = fingerprint;
        self.etag = etag;
        self.last_modified = last_modified.and_then(|date| date.as_unix().try_into().ok()).unwrap_or(0);
        changed
    }
}

/// What is known of a host: 48 bytes.
#[derive(Clone, Copy, Debug)]
pub struct HostMemory {
    pub(super) robots: HostRobots,
    address: Option<IpAddr>,
    address_until: Instant,
}

impl HostMemory {
    /// Nothing is known.
    pub const NEW: Self = Self { robots: HostRobots::UNKNOWN, address: None, address_until: Instant::ZERO };

    /// Its address if known, `Some(None)` if it is known to have none.
    pub(super) fn address(&self, now: Instant) -> Option<Option<IpAddr>> {
        (now < self.address_until).then_some(self.address)
    }

    pub(super) fn set_address(&mut self, address: Option<IpAddr>, now: Instant) {
        self.address = address;
        self.address_until = now + if address.is_some() { ADDRESS_HOLDS } else { FAILURE_HOLDS };
    }

    /// May a page with this verdict be fetched?
    pub(super) fn verdict(&self, page: Verdict, now: Instant) -> Verdict {
        match self.robots.access(now) {
            Access::AllowAll => Verdict::Allowed,
            Access::Rules => page,
            Access::DenyAll | Access::Unknown => Verdict::Unknown,
        }
    }
}

/// The longest redirect target that is followed.
pub(super) const LONGEST_TARGET: usize = 256;

/// A page that is elsewhere: its next turn goes there.
#[derive(Clone, Debug)]
pub(super) struct Detour {
    pub page: usize,
    pub url: heapless::String<LONGEST_TARGET>,
    pub hops: Hops,
    pub verdict: Verdict,
}
