//! Origins: whom requests go to. Each is a host of the list, or one that only redirects lead to;
//! of either, the probe remembers the address and the robots.txt.
//!
//! A host of the list has its gate in the scheduler. A host that is not in the list gets one here,
//! with the gap of the host that led there; eight of them are remembered at a time.

use super::memory::HostMemory;
use super::setup::Setup;
use crate::time::{Duration, Instant};

/// Hosts that are not in the list, of which gate, address and robots.txt are remembered at the same
/// time.
const UNLISTED: usize = 8;

/// Whom a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A host of the list, by its place there.
    Listed(u16),
    /// A host that is not in the list, by [`Url::origin`](crate::fetch::Url::origin).
    Unlisted(u32),
}

/// Why a request does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Another request to the same unlisted origin was made too short a time ago.
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
    pub now: Instant,
    /// When the request will have ended, whatever becomes of it.
    pub deadline: Instant,
}

/// A host that is not in the list.
#[derive(Clone, Copy, Debug)]
struct Unlisted {
    /// [`Url::origin`](crate::fetch::Url::origin)
    origin: u32,
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
    unlisted: heapless::Vec<Unlisted, UNLISTED>,
}

impl<'a> Origins<'a> {
    /// The hosts of the list, and no others yet.
    pub(super) fn new(hosts: &'a mut [HostMemory]) -> Self {
        Self {
            hosts,
            unlisted: heapless::Vec::new(),
        }
    }

    /// What is known of an origin.
    pub(super) fn get_mut(&mut self, origin: Origin) -> Option<&mut HostMemory> {
        match origin {
            Origin::Listed(host) => self.hosts.get_mut(usize::from(host)),
            Origin::Unlisted(origin) => self.find(origin).map(|unlisted| &mut unlisted.memory),
        }
    }

    /// Sets what has to pass between two requests to an origin that is not in the list.
    pub(super) fn set_gap(&mut self, origin: u32, gap: Duration) {
        if let Some(unlisted) = self.find(origin) {
            unlisted.gap = gap;
        }
    }

    /// Lets a request pass, or says why not. The scheduler has let it pass the gate at which the
    /// page has waited; whoever else is asked has a gate, too. If that is a host of the list, the
    /// page has to wait there; an unlisted origin is asked from where the list says.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn pass(
        &mut self,
        origin: Origin,
        passage: &Passage,
        setup: &Setup<'_>,
    ) -> Result<(), Refusal> {
        let host = match origin {
            Origin::Listed(host) => host,
            Origin::Unlisted(_) => passage.host,
        };
        if !setup.share_a_gate(passage.waited_at, host) {
            return Err(Refusal::WaitAt(host));
        }
        let Origin::Unlisted(origin) = origin else {
            return Ok(());
        };
        let now = passage.now;
        let unlisted = self
            .find_or_add(origin, setup.gap_of(host), now)
            .ok_or(Refusal::Closed)?;
        let next = unlisted
            .next
            .filter(|(_, until)| now < *until)
            .map(|(page, _)| page);
        if unlisted.opens > now {
            // The first page that is refused is remembered, so that it goes next.
            if next.is_none() {
                unlisted.next = Some((passage.page, unlisted.opens + unlisted.gap * 2));
            }
            return Err(Refusal::Closed);
        }
        if next.is_some_and(|next| next != passage.page) {
            return Err(Refusal::Closed);
        }
        unlisted.opens = passage.deadline;
        unlisted.next = None;
        Ok(())
    }

    /// A request is over: the next one to the same unlisted origin may follow after the gap, or
    /// after `wait` if that is longer. The scheduler counts for the hosts of the list.
    pub(super) fn leave(&mut self, origin: Origin, wait: Option<Duration>, now: Instant) {
        if let Origin::Unlisted(origin) = origin
            && let Some(unlisted) = self.find(origin)
        {
            unlisted.opens = now + unlisted.gap.max(wait.unwrap_or(Duration::ZERO));
        }
    }

    fn find(&mut self, origin: u32) -> Option<&mut Unlisted> {
        self.unlisted
            .iter_mut()
            .find(|unlisted| unlisted.origin == origin)
    }

    /// The place of an unlisted origin: its own, a free one, or that of one whose gate is open,
    /// which may be forgotten.
    fn find_or_add(&mut self, origin: u32, gap: Duration, now: Instant) -> Option<&mut Unlisted> {
        if self.find(origin).is_none() {
            let unlisted = Unlisted {
                origin,
                opens: now,
                gap,
                next: None,
                memory: HostMemory::NEW,
            };
            if let Err(unlisted) = self.unlisted.push(unlisted) {
                let oldest = self.unlisted.iter_mut().min_by_key(|known| known.opens)?;
                if oldest.opens > now {
                    return None;
                }
                *oldest = unlisted;
            }
        }
        self.find(origin)
    }
}
