//! Origins: whom requests go to. Each is a host of the list, or one that only redirects lead to;
//! of either, the probe remembers the address and the robots.txt.
//!
//! A host of the list has its gate in the scheduler. A host that is not in the list gets one here,
//! with the gap of the host that led there; eight of them are remembered at a time.

use super::memory::HostMemory;
use super::redirects::{RedirectTarget, spell};
use super::setup::Setup;
use crate::fetch::robots::Access;
use crate::fetch::{Scheme, Url};
use crate::polite::MAX_RETRY_AFTER;
use crate::time::{Duration, Instant};

/// Hosts that are not in the list, of which gate, address and robots.txt are remembered at the same
/// time.
const UNLISTED: usize = 8;
/// How many of them the redirects of one host of the list may take, so that it cannot shut out the
/// redirects of others.
const UNLISTED_OF_A_HOST: usize = UNLISTED / 4;

/// Whom a request goes to: a scheme, a host and a port. Gate and address belong to host and port
/// (those of http and https being one), robots.txt to all three.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<'u> {
    /// A host of the list, by its place there, and how it is asked.
    Listed(u16, Scheme),
    /// A host that is not in the list, by a URL that it serves.
    Unlisted(Url<'u>),
}

impl Origin<'_> {
    pub(super) fn scheme(&self) -> Scheme {
        match self {
            Self::Listed(_, scheme) => *scheme,
            Self::Unlisted(url) => url.scheme(),
        }
    }
}

/// Why a request does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateRefusal {
    /// Another request to the same unlisted origin was made too short a time ago, or the host of
    /// the list rests from pages that slow hosts lead there.
    Closed,
    /// The page has to wait at the gate of this host of the list.
    WaitAt(u16),
}

/// A page's request at a gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    pub page: u16,
    /// The page's own host.
    pub host: u16,
    /// The host at whose gate the page has waited.
    pub waited_at: u16,
    /// What has to pass between two requests to an unlisted origin, as far as the page's own
    /// redirect was told by its robots.txt.
    pub gap: Duration,
    pub now: Instant,
    /// When the request will have ended, whatever becomes of it.
    pub deadline: Instant,
}

/// A host that is not in the list.
#[derive(Clone, Debug)]
struct Unlisted {
    /// A URL of it. Names are compared: others could be made up with the same short hash.
    url: RedirectTarget,
    /// The host whose page was led there first, by [`Setup::share_of`].
    led_by: u16,
    /// When the next request may go there.
    opens: Instant,
    /// What has to pass between two requests.
    gap: Duration,
    /// The page that was refused first and goes next; the claim ends at this time.
    next: Option<(u16, Instant)>,
    memory: HostMemory,
}

/// What is remembered of each origin.
#[derive(Debug)]
pub(super) struct Origins<'a> {
    /// One for each host of the list.
    pub hosts: &'a mut [HostMemory],
    /// What is remembered of the gateway, whoever is asked through it.
    pub gateway: HostMemory,
    unlisted: heapless::Vec<Unlisted, UNLISTED>,
}

impl<'a> Origins<'a> {
    /// The hosts of the list, and no others yet.
    pub(super) fn new(hosts: &'a mut [HostMemory]) -> Self {
        Self {
            hosts,
            gateway: HostMemory::NEW,
            unlisted: heapless::Vec::new(),
        }
    }

    /// What is known of an origin.
    pub(super) fn get_mut(&mut self, origin: &Origin<'_>) -> Option<&mut HostMemory> {
        match origin {
            Origin::Listed(host, _) => self.hosts.get_mut(usize::from(*host)),
            Origin::Unlisted(url) => self.find(url).map(|unlisted| &mut unlisted.memory),
        }
    }

    /// What is known of an origin's robots.txt.
    pub(super) fn access(&mut self, origin: &Origin<'_>, now: Instant) -> Access {
        let scheme = origin.scheme();
        self.get_mut(origin)
            .map_or(Access::Unknown, |host| host.robots(scheme).access(now))
    }

    /// When the gate of an origin that is not in the list opens next, and the gap there; `None` if
    /// it has none. While a request is under way, nobody knows when that ends: at its deadline, and
    /// the gap follows.
    #[cfg(feature = "discover")]
    pub(super) fn gate_of(&mut self, origin: &Url<'_>) -> Option<(Instant, Duration)> {
        let unlisted = self.find(origin)?;
        Some((unlisted.opens + unlisted.gap, unlisted.gap))
    }

    /// Sets what has to pass between two requests to an origin that is not in the list, from the
    /// last one on.
    pub(super) fn set_gap(&mut self, origin: &Url<'_>, gap: Duration) {
        if let Some(unlisted) = self.find(origin) {
            unlisted.opens += gap - unlisted.gap;
            unlisted.gap = gap;
        }
    }

    /// Lets a request pass, or says why not. The scheduler has let it pass the gate at which the
    /// page has waited; whoever else is asked has a gate, too. If that is a host of the list, the
    /// page has to wait there; an unlisted origin is asked from where the list says.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn pass(
        &mut self,
        origin: &Origin<'_>,
        passage: &Passage,
        setup: &Setup<'_>,
    ) -> Result<(), GateRefusal> {
        let host = match origin {
            Origin::Listed(host, _) => *host,
            Origin::Unlisted(_) => passage.host,
        };
        if host != passage.host && self.rests_from(passage.host, host, passage.now) {
            return Err(GateRefusal::Closed);
        }
        if !setup.share_a_gate(passage.waited_at, host) {
            return Err(GateRefusal::WaitAt(host));
        }
        let Origin::Unlisted(origin) = origin else {
            return Ok(());
        };
        let now = passage.now;
        let unlisted = self
            .find_or_add(
                origin,
                setup.share_of(host),
                setup.gap_of(host).max(passage.gap),
                now,
            )
            .ok_or(GateRefusal::Closed)?;
        let next = unlisted
            .next
            .filter(|(_, until)| now < *until)
            .map(|(page, _)| page);
        if unlisted.opens > now {
            // The first page that is refused is remembered, so that it goes next.
            if next.is_none() {
                unlisted.next = Some((passage.page, unlisted.opens + unlisted.gap * 2));
            }
            return Err(GateRefusal::Closed);
        }
        if next.is_some_and(|next| next != passage.page) {
            return Err(GateRefusal::Closed);
        }
        unlisted.opens = passage.deadline;
        unlisted.next = None;
        Ok(())
    }

    /// A request is over: the next one to the same unlisted origin may follow after the gap, or
    /// after `wait` if that is longer, but no more than [`MAX_RETRY_AFTER`]. The scheduler counts
    /// for the hosts of the list.
    pub(super) fn leave(&mut self, origin: &Origin<'_>, wait: Option<Duration>, now: Instant) {
        if let Origin::Unlisted(origin) = origin
            && let Some(unlisted) = self.find(origin)
        {
            let wait = wait.unwrap_or(Duration::ZERO).min(MAX_RETRY_AFTER);
            unlisted.opens = now + unlisted.gap.max(wait);
        }
    }

    /// Does a host of the list rest from pages of another one?
    fn rests_from(&self, other: u16, host: u16, now: Instant) -> bool {
        let memory = |host: u16| self.hosts.get(usize::from(host));
        memory(host).is_some_and(|host| host.rests(now))
            && memory(other).is_some_and(|other| other.slow > 0)
    }

    fn find(&mut self, origin: &Url<'_>) -> Option<&mut Unlisted> {
        let is_it = |known: &str| Url::parse(known).is_ok_and(|known| known.same_server(origin));
        self.unlisted
            .iter_mut()
            .find(|unlisted| is_it(&unlisted.url))
    }

    /// The place of an unlisted origin: its own, a free one, or that of one whose gate is open,
    /// which may be forgotten. A host of the list whose redirects have their share of places gets
    /// none but its own.
    fn find_or_add(
        &mut self,
        origin: &Url<'_>,
        led_by: u16,
        gap: Duration,
        now: Instant,
    ) -> Option<&mut Unlisted> {
        if self.find(origin).is_none() {
            let unlisted = Unlisted {
                url: spell(origin)?,
                led_by,
                opens: now,
                gap,
                next: None,
                memory: HostMemory::NEW,
            };
            let own = |known: &&mut Unlisted| known.led_by == led_by;
            let has_share = self.unlisted.iter_mut().filter(own).count() >= UNLISTED_OF_A_HOST;
            if has_share || self.unlisted.is_full() {
                let places = self.unlisted.iter_mut();
                let places = places.filter(|known| !has_share || known.led_by == led_by);
                let oldest = places.min_by_key(|known| known.opens)?;
                if oldest.opens > now {
                    return None;
                }
                *oldest = unlisted;
            } else {
                // There is room.
                let _ = self.unlisted.push(unlisted);
            }
        }
        self.find(origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_secs(1);

    #[test]
    fn one_host_leads_to_its_share_of_strangers_at_a_time() {
        let mut hosts = [HostMemory::NEW; 2];
        let mut origins = Origins::new(&mut hosts);
        let now = Instant::ZERO;
        let names = ["http://a.test/", "http://b.test/", "http://c.test/"];
        let [a, b, c] = names.map(|name| Url::parse(name).expect("a URL"));
        for stranger in [&a, &b] {
            let place = origins.find_or_add(stranger, 0, GAP, now);
            place.expect("room").opens = now + Duration::DAY;
        }
        assert!(origins.find_or_add(&c, 0, GAP, now).is_none());
        assert!(origins.find_or_add(&b, 0, GAP, now).is_some());
        assert!(origins.find_or_add(&c, 1, GAP, now).is_some());
        let later = now + Duration::DAY;
        let fourth = Url::parse("http://d.test/").expect("a URL");
        assert!(origins.find_or_add(&fourth, 0, GAP, later).is_some());
        assert!(origins.find(&c).is_some(), "in the place of one of its own");
    }
}
