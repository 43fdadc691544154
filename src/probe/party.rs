//! Who a request goes to: a host of the list or a stranger, its gate, its address.

use core::net::IpAddr;

use super::line::Trouble;
use super::memory::{HostMemory, Stranger};
use super::turn::Errand;
use super::{Board, Failure, Probe, State};
use crate::catalog::Page;
use crate::fetch::{Host, Resolve, Url, literal};
use crate::time::{Duration, Instant};

/// Hosts that are not in the list, of which politeness, address and robots.txt are remembered at
/// the same time.
pub(super) const STRANGERS: usize = 8;

/// Who a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Party {
    /// A host of the list.
    Listed(u16),
    /// A host that is not in the list, by its origin.
    Stranger(u32),
}

impl State<'_> {
    /// What is known of a party.
    pub(super) fn host_memory(&mut self, party: Party) -> Option<&mut HostMemory> {
        match party {
            Party::Listed(host) => self.memory.hosts.get_mut(usize::from(host)),
            Party::Stranger(origin) => self.stranger(origin).map(|stranger| &mut stranger.memory),
        }
    }

    pub(super) fn stranger(&mut self, origin: u32) -> Option<&mut Stranger> {
        self.strangers
            .iter_mut()
            .find(|stranger| stranger.origin == origin)
    }

    /// A place for a stranger: its own, a free one, or that of somebody who may be forgotten.
    fn meet(&mut self, origin: u32, gap: Duration, now: Instant) -> Option<&mut Stranger> {
        let known = self
            .strangers
            .iter()
            .position(|stranger| stranger.origin == origin);
        let place = match known {
            Some(place) => place,
            None => {
                let stranger = Stranger {
                    origin,
                    opens: now,
                    gap,
                    next: None,
                    memory: HostMemory::NEW,
                };
                if let Err(stranger) = self.strangers.push(stranger) {
                    let oldest = self
                        .strangers
                        .iter_mut()
                        .min_by_key(|stranger| stranger.opens)?;
                    if oldest.opens > now {
                        return None;
                    }
                    *oldest = stranger;
                }
                self.strangers
                    .iter()
                    .position(|stranger| stranger.origin == origin)?
            }
        };
        self.strangers.get_mut(place)
    }
}

impl<'a, B: Board> Probe<'a, B> {
    /// Whose URL is this? Work: the hosts of the list, unless it is of the page's own host.
    pub(super) fn party(&self, record: &Page<'a>, url: &Url<'_>) -> Party {
        let is_at = |page: &str| Url::parse(page).is_ok_and(|page| page.same_origin(url));
        // As a rule it is the page's own URL, and reading that once is enough.
        if url.is_read_from(record.url) || is_at(record.url) {
            return Party::Listed(record.host);
        }
        let listed = |index: &usize| {
            let first = self
                .image
                .host(*index)
                .and_then(|host| self.image.page(host.first_page.into()));
            first.is_ok_and(|page| is_at(page.url))
        };
        let found = (0..self.image.hosts()).find(listed);
        found.map_or_else(
            || Party::Stranger(url.origin()),
            |host| Party::Listed(host as u16),
        )
    }

    /// Has the owner named this host, as a page's or in a resolve table: the image's, or the
    /// network's own?
    pub(super) fn is_named(&self, party: Party, url: &Url<'_>, resolve: &impl Resolve) -> bool {
        let in_table = |name| self.image.named(name).is_some() || resolve.is_named(name);
        !matches!(party, Party::Stranger(_))
            || matches!(url.host(), Host::Name(name) if in_table(name))
    }

    /// May a request go there now? The scheduler has passed the gate of `errand.home`: whoever else
    /// is asked has to be passed, too. A host of the list has a gate of its own, at which the page
    /// waits from now on.
    pub(super) fn pass(
        &self,
        errand: &Errand<'_, 'a>,
        party: Party,
        deadline: Instant,
    ) -> Result<(), Trouble> {
        // A stranger is asked from where the list says.
        let home = if let Party::Listed(host) = party {
            host
        } else {
            errand.record.host
        };
        if !self.share_a_gate(errand.home, home) {
            return Err(Trouble::Elsewhere(home));
        }
        let Party::Stranger(origin) = party else {
            return Ok(());
        };
        let (now, page) = (self.board.now(), errand.page as u16);
        let gap = self.image.host(home.into()).map_or(0, |host| host.gap_ms);
        let mut state = self.state.borrow_mut();
        let stranger = state
            .meet(origin, Duration::from_millis(gap.into()), now)
            .ok_or(Trouble::Closed)?;
        let next = stranger
            .next
            .filter(|(_, until)| now < *until)
            .map(|(page, _)| page);
        if stranger.opens > now {
            // The first who comes too early comes first, if not too late.
            if next.is_none() {
                stranger.next = Some((page, stranger.opens + stranger.gap * 2));
            }
            return Err(Trouble::Closed);
        }
        if next.is_some_and(|next| next != page) {
            return Err(Trouble::Closed);
        }
        (stranger.opens, stranger.next) = (deadline, None);
        Ok(())
    }

    /// A request to a stranger is over: the next one may follow after the gap, or after `wait` if
    /// that is longer.
    pub(super) fn leave(&self, party: Party, wait: Option<Duration>) {
        let Party::Stranger(origin) = party else {
            return;
        };
        let now = self.board.now();
        if let Some(stranger) = self.state.borrow_mut().stranger(origin) {
            stranger.opens = now + stranger.gap.max(wait.unwrap_or(Duration::ZERO));
        }
    }

    fn share_a_gate(&self, one: u16, other: u16) -> bool {
        let gate = |host: u16| self.image.host(host.into()).ok().map(|host| host.gate);
        one == other || gate(one) == gate(other)
    }

    /// Where to connect to: the owner's word, the cache, the network's word.
    ///
    /// *Cancellation*: the query is given up, and nothing is remembered of it.
    pub(super) async fn address<R: Resolve>(
        &self,
        host: &str,
        party: Party,
        resolve: &mut R,
    ) -> Result<IpAddr, Failure> {
        if let Some(address) = self.image.named(host) {
            return Ok(address.into());
        }
        if let Some(address) = literal(host) {
            return Ok(address);
        }
        let known = self
            .state
            .borrow_mut()
            .host_memory(party)
            .and_then(|host| host.address(self.board.now()));
        if let Some(known) = known {
            return known.ok_or(Failure::Name);
        }
        let found = resolve
            .resolve(host)
            .await
            .ok()
            .and_then(|found| found.first().copied());
        let now = self.board.now();
        let mut state = self.state.borrow_mut();
        // While the network is away, no name is to blame.
        let online = state.online;
        if let Some(host) = state
            .host_memory(party)
            .filter(|_| online || found.is_some())
        {
            host.set_address(found, now);
        }
        found.ok_or(Failure::Name)
    }
}
