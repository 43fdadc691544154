//! What the probe remembers between fetches, besides the scheduler: in arrays that the board
//! provides.

use core::net::IpAddr;

use super::origin::Origins;
use super::redirects::Redirects;
use crate::fetch::robots::{Access, HostRobots, Verdict};
use crate::fetch::{Etag, HttpDate, Scheme, is_public};
use crate::learn::Estimate;
use crate::store::{NOWHERE, PageRecord, Stamp};
use crate::time::{Duration, Instant};

/// How long a name's address is used: embassy-net and most stacks do not tell how long it holds.
const ADDRESS_HOLDS: Duration = Duration::from_secs(600);
/// How long a name that has no address is not asked for again.
const FAILURE_HOLDS: Duration = Duration::from_secs(60);

/// How long a host rests at most from pages that slow hosts lead there.
const LONGEST_REST: Duration = Duration::from_secs(600);

/// Seconds since boot, the lower half of them.
fn seconds(at: Instant) -> u16 {
    (at - Instant::ZERO).as_secs() as u16
}

// A place of 0 stands for it, so that memory starts as zeros.
const _: () = assert!(NOWHERE.wrapping_add(1) == 0);

// The table of what RAM is spent on, in the scheduler's documentation, says so.
#[cfg(target_pointer_width = "32")]
const _: () = assert!(size_of::<PageMemory>() == 64 && size_of::<HostMemory>() == 80);

/// What is known of a page's last version, and what the store knows of it: 64 bytes.
#[derive(Clone, Copy, Debug)]
pub struct PageMemory {
    pub(super) etag: Option<Etag>,
    pub(super) verdict: Verdict,
    /// Seconds since 1970, until 2106; 0 for none.
    last_modified: u32,
    /// Half of the fingerprint, in halves to be packed; 0 before the first version. The lowest bit
    /// is set, unless the version is one that a collector has not got.
    fingerprint: [u32; 2],
    /// The first half of its [`identity`](crate::store::identity).
    pub(super) id: u32,
    /// When it was fetched in an earlier run.
    pub(super) fetched: Stamp,
    /// Where the store keeps it: 0 for nowhere, or the sector's number and one.
    place: u8,
    /// [`UNSAVED`], [`LOST`], and below them how many turns in a row brought no version of it.
    marks: u8,
}

/// It has changed since it was stored.
const UNSAVED: u8 = 0x80;
/// Kept connections may be lost over it: one was, and no version of it has come since.
const LOST: u8 = 0x40;
/// Turns in a row that brought no version of it.
#[cfg(not(feature = "discover"))]
const FAILURES: u8 = 0x3f;
/// The same, with a bit less.
#[cfg(feature = "discover")]
const FAILURES: u8 = 0x1f;
/// It is asked for whole, for the links in it.
#[cfg(feature = "discover")]
const WHOLE: u8 = 0x20;

impl PageMemory {
    /// A page of which nothing is known.
    pub const NEW: Self = Self {
        etag: None,
        verdict: Verdict::Unknown,
        last_modified: 0,
        fingerprint: [0; 2],
        id: 0,
        fetched: Stamp::NEVER,
        place: 0,
        marks: 0,
    };

    /// It has changed since it was stored.
    pub(super) fn is_unsaved(&self) -> bool {
        self.marks & UNSAVED != 0
    }

    /// It has to be stored if `changed`, and otherwise no less than before.
    pub(super) fn save_if(&mut self, changed: bool) {
        if changed {
            self.marks |= UNSAVED;
        }
    }

    pub(super) fn set_saved(&mut self) {
        self.marks &= !UNSAVED;
    }

    /// How many turns in a row brought no version of it, whoever is to blame.
    pub(super) fn failures(&self) -> u8 {
        self.marks & FAILURES
    }

    /// One more turn brought none.
    pub(super) fn fail(&mut self) {
        self.marks = self.marks & !FAILURES | (self.failures() + 1).min(FAILURES);
    }

    /// A turn brought one; true if those before did not.
    pub(super) fn recover(&mut self) -> bool {
        let failed = self.failures() > 0;
        self.marks &= UNSAVED;
        failed
    }

    /// Should it be asked for whole, so that its links are seen?
    #[cfg(feature = "discover")]
    pub(super) fn is_wanted_whole(&self) -> bool {
        self.marks & WHOLE != 0
    }

    /// It should be, or not.
    #[cfg(feature = "discover")]
    pub(super) fn want_whole(&mut self, whole: bool) {
        self.marks = self.marks & !WHOLE | if whole { WHOLE } else { 0 };
    }

    /// Has it the same content as another page?
    #[cfg(feature = "discover")]
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        let [low, high] = self.version();
        let [other_low, other_high] = other.version();
        !self.is_new() && low == other_low && high == other_high
    }

    /// A kept connection was lost before an answer.
    pub(super) fn lose(&mut self) {
        self.marks |= LOST;
    }

    /// Should it be asked for on a connection of its own?
    pub(super) fn was_lost(&self) -> bool {
        self.marks & LOST != 0
    }

    pub(super) fn last_modified(&self) -> Option<HttpDate> {
        (self.last_modified != 0)
            .then(|| HttpDate::from_unix(self.last_modified.into()))
            .flatten()
    }

    /// It is asked for whole the next time.
    #[cfg(any(feature = "collect", feature = "hints"))]
    pub(super) fn forget_validators(&mut self) {
        self.etag = None;
        self.last_modified = 0;
    }

    /// What is kept of it, but for what the scheduler knows.
    pub(super) fn to_record(self, page: u64, estimate: Estimate, fetched: Stamp) -> PageRecord {
        let [low, high] = self.fingerprint.map(u64::from);
        let allowed = match self.verdict {
            Verdict::Unknown => None,
            verdict => Some(verdict == Verdict::Allowed),
        };
        PageRecord {
            page,
            estimate,
            fetched,
            fingerprint: high << 32 | low,
            last_modified: self.last_modified,
            allowed,
            etag: self.etag,
        }
    }

    /// Takes over what was kept, in this sector.
    pub(super) fn restore(&mut self, record: &PageRecord, sector: u8) {
        self.verdict = match record.allowed {
            None => Verdict::Unknown,
            Some(true) => Verdict::Allowed,
            Some(false) => Verdict::Denied,
        };
        self.fingerprint = [record.fingerprint as u32, (record.fingerprint >> 32) as u32];
        self.last_modified = record.last_modified;
        self.etag = record.etag;
        self.fetched = record.fetched;
        self.set_sector(sector);
    }

    pub(super) fn sector(&self) -> u8 {
        self.place.wrapping_sub(1)
    }

    pub(super) fn set_sector(&mut self, sector: u8) {
        self.place = sector.wrapping_add(1);
    }

    /// Is there no version yet?
    pub(super) fn is_new(&self) -> bool {
        self.fingerprint == [0; 2]
    }

    /// The fingerprint of its last version, whether a collector has got that or not.
    fn version(&self) -> [u32; 2] {
        let [low, high] = self.fingerprint;
        let delivered = cfg!(feature = "collect") && !self.is_new();
        [low | u32::from(delivered), high]
    }

    /// Is its last version one that the collector has not got?
    #[cfg(feature = "collect")]
    pub(super) fn is_owed(&self) -> bool {
        self.version() != self.fingerprint
    }

    /// The collector has not got its last version.
    #[cfg(feature = "collect")]
    pub(super) fn owe(&mut self) {
        let [low, high] = self.fingerprint;
        self.fingerprint = [low & !1, high];
    }

    /// The collector has got its last version, or needs none; true if it had not.
    #[cfg(feature = "collect")]
    pub(super) fn settle(&mut self) -> bool {
        let was_owed = self.is_owed();
        self.fingerprint = self.version();
        was_owed
    }

    /// The collector has got the version of this fingerprint, or will never take it; true if that
    /// is its last one.
    #[cfg(feature = "collect")]
    pub(super) fn deliver(&mut self, fingerprint: u64) -> bool {
        let is_last = self.version() == [fingerprint as u32 | 1, (fingerprint >> 32) as u32];
        if is_last {
            self.fingerprint = self.version();
        }
        is_last
    }

    /// Takes a version in; true if it is another one than before, or the first.
    pub(super) fn update(
        &mut self,
        fingerprint: u64,
        etag: Option<Etag>,
        last_modified: Option<HttpDate>,
    ) -> bool {
        let fingerprint = [fingerprint as u32, (fingerprint >> 32) as u32];
        let changed = self.version() != fingerprint;
        // One that is known may be one that a collector has not got: that stays so.
        if changed {
            self.fingerprint = fingerprint;
        }
        self.etag = etag;
        self.last_modified = last_modified
            .and_then(|date| date.as_unix().try_into().ok())
            .unwrap_or(0);
        changed
    }
}

/// Where a host is. Not an `Option`, whose `None` would not be zero: memory that starts as zeros
/// costs no flash.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum Address {
    None,
    Of(IpAddr),
    /// By the table of the owner's resolver.
    #[cfg(feature = "discover")]
    Named(IpAddr),
}

/// What is known of a host, and what the store knows of it: 80 bytes.
#[derive(Clone, Copy, Debug)]
pub struct HostMemory {
    /// Of the robots.txt that is read by http, and of the one that is read by https.
    robots: [HostRobots; 2],
    /// Its name has led to the open Internet.
    pub(super) was_public: bool,
    /// How many fetches in a row must not take long before it counts as fast.
    pub(super) slow: u8,
    /// Until then it is not for pages that slow hosts lead there: seconds since boot, the lower half
    /// of them.
    rests_until: u16,
    address: Address,
    address_until: Instant,
    /// The first half of its [`identity`](crate::store::identity).
    pub(super) id: u32,
    /// What an earlier run knew of its robots.txt, until that is used or known better.
    pub(super) earlier: Access,
    /// That was the one that is read by https.
    pub(super) earlier_https: bool,
    /// How long what the earlier run knew holds.
    pub(super) robots_until: Stamp,
    /// How long an earlier run was to leave it alone, in twos of seconds.
    pub(super) wait_2s: u16,
    /// When the earlier run said so.
    pub(super) waits_since: Stamp,
    /// Where the store keeps it: 0 for nowhere, or the sector's number and one.
    place: u8,
    /// It has changed since it was stored.
    pub(super) unsaved: bool,
}

impl HostMemory {
    /// A host of which nothing is known.
    pub const NEW: Self = Self {
        robots: [HostRobots::UNKNOWN; 2],
        was_public: false,
        slow: 0,
        rests_until: 0,
        address: Address::None,
        address_until: Instant::ZERO,
        id: 0,
        earlier: Access::Unknown,
        earlier_https: false,
        robots_until: Stamp::NEVER,
        wait_2s: 0,
        waits_since: Stamp::NEVER,
        place: 0,
        unsaved: false,
    };

    pub(super) fn sector(&self) -> u8 {
        self.place.wrapping_sub(1)
    }

    pub(super) fn set_sector(&mut self, sector: u8) {
        self.place = sector.wrapping_add(1);
    }

    /// It is not for pages that slow hosts lead there, for so long from now on.
    pub(super) fn rest(&mut self, now: Instant, wait: Duration) {
        self.rests_until = seconds(now + wait.min(LONGEST_REST));
    }

    /// Does it rest from such pages? Once in 18 hours, what was set long ago is taken for a rest that
    /// ends within ten minutes.
    pub(super) fn rests(&self, now: Instant) -> bool {
        let left = self.rests_until.wrapping_sub(seconds(now));
        left != 0 && u64::from(left) <= LONGEST_REST.as_secs()
    }

    /// Which robots.txt an earlier run knew.
    pub(super) fn earlier_scheme(&self) -> Scheme {
        match self.earlier_https {
            true => Scheme::Https,
            false => Scheme::Http,
        }
    }

    /// What is known of the robots.txt that is read in this way.
    pub(super) fn robots(&self, scheme: Scheme) -> &HostRobots {
        let [http, https] = &self.robots;
        match scheme {
            Scheme::Http => http,
            Scheme::Https => https,
        }
    }

    /// The same, to be changed.
    pub(super) fn robots_mut(&mut self, scheme: Scheme) -> &mut HostRobots {
        let [http, https] = &mut self.robots;
        match scheme {
            Scheme::Http => http,
            Scheme::Https => https,
        }
    }

    /// Notes where its name leads; false if it must not be followed there. A name that has led to
    /// the open Internet never leads into a private network: whoever owns it could reach the
    /// owner's devices.
    pub(super) fn may_be_at(&mut self, address: IpAddr) -> bool {
        let public = is_public(address);
        let may = public || !self.was_public;
        self.unsaved |= public && !self.was_public;
        self.was_public |= public;
        may
    }

    /// Its address if known, `Some(None)` if it is known to have none.
    pub(super) fn address(&self, now: Instant) -> Option<Option<IpAddr>> {
        (now < self.address_until).then_some(match self.address {
            Address::None => None,
            Address::Of(address) => Some(address),
            #[cfg(feature = "discover")]
            Address::Named(address) => Some(address),
        })
    }

    /// The owner named its address, or it was seen on the open Internet: links of other hosts may
    /// lead there.
    #[cfg(feature = "discover")]
    pub(super) fn is_open_to_links(&self) -> bool {
        self.was_public || matches!(self.address, Address::Named(_))
    }

    /// The owner named the address that was set last.
    #[cfg(feature = "discover")]
    pub(super) fn set_named(&mut self) {
        if let Address::Of(address) = self.address {
            self.address = Address::Named(address);
        }
    }

    pub(super) fn set_address(&mut self, address: Option<IpAddr>, now: Instant) {
        self.address = address.map_or(Address::None, Address::Of);
        self.address_until = now
            + if address.is_some() {
                ADDRESS_HOLDS
            } else {
                FAILURE_HOLDS
            };
    }
}

/// Everything a probe knows of pages and hosts besides what the scheduler knows: the parts that a
/// [`PageVisit`](super::visit::PageVisit) reads and changes.
#[derive(Debug)]
pub(super) struct Knowledge<'a> {
    /// One for each page of the list.
    pub pages: &'a mut [PageMemory],
    /// The hosts of the list, and those that redirects lead to.
    pub origins: Origins<'a>,
    /// Where pages and robots.txt files are that are not where the list says.
    pub redirects: Redirects<'a>,
}

impl Knowledge<'_> {
    /// What is remembered of a page.
    pub(super) fn page_mut(&mut self, page: u16) -> Option<&mut PageMemory> {
        self.pages.get_mut(usize::from(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "discover")]
    #[test]
    fn a_page_that_is_wanted_whole_keeps_what_else_is_known_of_it() {
        let mut page = PageMemory::NEW;
        page.fail();
        page.want_whole(true);
        assert!(page.is_wanted_whole() && page.failures() == 1);
        page.want_whole(false);
        assert!(!page.is_wanted_whole() && page.failures() == 1);
    }

    /// Otherwise a power cut before the host's robots.txt is known would open the owner's network.
    #[test]
    fn that_a_name_was_public_is_stored_at_once() {
        let mut host = HostMemory::NEW;
        let [inside, outside] = [[192, 168, 0, 1], [93, 184, 215, 14]].map(IpAddr::from);
        assert!(host.may_be_at(inside) && !host.unsaved, "private so far");
        assert!(host.may_be_at(outside) && host.unsaved);
        host.unsaved = false;
        assert!(host.may_be_at(outside) && !host.unsaved, "nothing new");
        assert!(!host.may_be_at(inside));
    }
}
