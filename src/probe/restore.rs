//! What a start takes over from the store, and how it gets its place in time once the date is
//! certain.

use super::memory::{HostMemory, PageMemory};
use super::persist::Persistence;
use super::redirects::Subject;
use super::setup::Setup;
use super::visit::restored_move;
use super::{Board, Event, State};
use crate::fetch::robots::{Access, HostRobots};
use crate::fetch::{Scheme, keyed_hash};
use crate::scheduler::{HostMemo, PageSettings};
use crate::store::{HostRecord, NOWHERE, PageRecord, Partition, Record, Root, Store};
use crate::time::{Duration, Instant};

/// What was found in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Resumed {
    /// Pages of the list that were known.
    pub pages: u16,
    /// Hosts of the list that were known.
    pub hosts: u16,
    /// Versions of records of what is no longer in the list, or never was.
    pub strange: u32,
    /// Records that could not be read: of a newer version, damaged, or no longer there.
    pub refused: u32,
    /// It was written by another device, or under another key.
    pub foreign: bool,
    /// It was written for another list.
    pub other_list: bool,
}

impl Resumed {
    /// The store was empty.
    pub const NOTHING: Self = Self {
        pages: 0,
        hosts: 0,
        strange: 0,
        refused: 0,
        foreign: false,
        other_list: false,
    };
}

/// Who said what time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TimeSource {
    /// A time server, or the board's own clock.
    Server,
    /// The hosts that are fetched from, in their `Date` headers.
    Hosts,
}

impl<B: Board> Persistence<'_, '_, B> {
    /// Takes over what an earlier run has kept. Call it before any slot runs; then spawn
    /// [`Self::run`]. With `trust` off the store is opened, but nothing is believed: for a device
    /// that resets again and again.
    ///
    /// No host is asked before its gap has passed, whatever is known: nobody knows when it was last
    /// asked.
    ///
    /// *Cancellation*: start over.
    pub async fn restore<F: Partition>(&self, store: &mut Store<F>, trust: bool) -> Resumed {
        let probe = self.probe;
        let setup = &probe.setup;
        probe.state().number_records(setup);
        let now = probe.board.now();
        let mut resumed = Resumed::default();
        let found = store.open(|record, sector| {
            if trust {
                probe.state().take(record, sector, setup, &mut resumed, now);
            }
        });
        match found.await {
            Ok(found) => resumed.refused = found.refused + found.damaged + found.lost,
            Err(_) => probe.board.log(&Event::NotStored),
        }
        {
            let state = &mut *probe.state();
            for index in 0..setup.host_places() {
                resumed.hosts += u16::from(state.resume_host(index, now));
            }
            for index in 0..setup.page_places() {
                resumed.pages += u16::from(state.resume_page(index, setup, now));
                state.resume_move(index as u16, setup, now);
            }
            #[cfg(feature = "fleet")]
            let visited = {
                let pages = &*state.known.pages;
                super::fleet::seed(&mut state.scheduler, pages, setup, now).visited
            };
            #[cfg(not(feature = "fleet"))]
            let visited = 0;
            let new = setup.first_round(resumed.pages + visited);
            state.scheduler.begin_ahead(new);
            state.persist.root_unsaved = true;
        }
        probe.time().date_the_past();
        probe.board.log(&Event::Resumed(resumed));
        resumed
    }
}

impl State<'_> {
    /// Gives every page and host the number that its records are found by.
    fn number_records(&mut self, setup: &Setup<'_>) {
        let pages = self.known.pages.iter_mut().enumerate();
        for (index, page) in pages.take(setup.page_places()) {
            page.id = setup.page_identity(index) as u32;
        }
        let hosts = self.known.origins.hosts.iter_mut().enumerate();
        for (index, host) in hosts.take(setup.host_places()) {
            host.id = setup.host_identity(index) as u32;
        }
    }

    /// Takes over one version of a record: a later one overwrites it.
    fn take(
        &mut self,
        record: &Record,
        sector: u8,
        setup: &Setup<'_>,
        resumed: &mut Resumed,
        now: Instant,
    ) {
        let taken =
            match record {
                Record::Root(root) => {
                    self.take_root(root, sector, setup, resumed);
                    Some(())
                }
                Record::Host(record) => self.take_host(record, sector, setup, now),
                Record::Page(record) => self.take_page(record, sector, setup),
                Record::Move(record) => self.page_of(record.page, setup).map(|page| {
                    match restored_move(setup, page, record, now) {
                        Some(redirect) => self.known.redirects.restore(&redirect, sector),
                        None => _ = self.known.redirects.remove(Subject::Page(page)),
                    }
                }),
            };
        resumed.strange += u32::from(taken.is_none());
    }

    fn take_root(&mut self, root: &Root, sector: u8, setup: &Setup<'_>, resumed: &mut Resumed) {
        resumed.foreign = root.device != setup.device_identity();
        resumed.other_list = root.list != setup.list_identity();
        if !resumed.foreign {
            self.persist.root_sector = sector;
            self.clock.was_root(root.time, root.firm);
            self.scheduler.restore_price(root.price);
            if let Some(trust) = root.trust {
                self.scheduler.restore_trust(trust);
            }
        }
    }

    fn take_host(
        &mut self,
        record: &HostRecord,
        sector: u8,
        setup: &Setup<'_>,
        now: Instant,
    ) -> Option<()> {
        let is_same = |host: &HostMemory| host.id == record.host as u32;
        let index = self.known.origins.hosts.iter().position(is_same)?;
        let index = Some(index).filter(|index| setup.host_identity(*index) == record.host)?;
        let host = self.known.origins.hosts.get_mut(index)?;
        // Whose file it was that earlier firmware read, nobody knows: it is asked for anew.
        host.earlier = record.scheme.map_or(Access::Unknown, |_| record.access);
        host.earlier_https = record.scheme == Some(Scheme::Https);
        host.was_public = record.public;
        host.robots_until = record.robots_until;
        // A day at most was meant, and there is room for more.
        host.wait_2s = record.wait_s.div_ceil(2).min(u16::MAX.into()) as u16;
        host.waits_since = record.time;
        host.set_sector(sector);
        self.clock.was(record.time);
        let id = self.scheduler.host_id(index);
        if let (Some(id), Some(listed_ms)) = (id, setup.listed_gap_ms(index)) {
            let memo = HostMemo {
                gap: Duration::from_millis(listed_ms.max(record.gap_ms).into()),
                failures: record.failures,
                price: record.price,
            };
            // The host is there: the image has it.
            let _ = self.scheduler.restore_host(id, &memo, now);
        }
        Some(())
    }

    fn take_page(&mut self, record: &PageRecord, sector: u8, setup: &Setup<'_>) -> Option<()> {
        let index = self.page_of(record.page, setup)?;
        self.known.page_mut(index)?.restore(record, sector);
        self.clock.was(record.fetched);
        let id = self.scheduler.page_id(index.into());
        if let (Some(id), Ok(page)) = (id, setup.page(index.into()))
            && (page.rate.is_none() || page.confidence < PageSettings::CERTAIN)
        {
            // The page is there: the image has it.
            let _ = self.scheduler.believe(id, record.estimate);
        }
        Some(())
    }

    /// The page of the list that records with this identity are about.
    fn page_of(&self, identity: u64, setup: &Setup<'_>) -> Option<u16> {
        let is_same = |page: &PageMemory| page.id == identity as u32;
        let index = self.known.pages.iter().position(is_same)?;
        (setup.page_identity(index) == identity).then_some(index as u16)
    }

    /// Leaves the host alone for as long as it must be; was it known?
    fn resume_host(&mut self, index: usize, now: Instant) -> bool {
        let id = self.scheduler.host_id(index);
        let Some((id, host)) = id.zip(self.known.origins.hosts.get(index)) else {
            return false;
        };
        let (passed, _) = self.clock.ago(host.waits_since, now);
        let wait = Duration::from_secs(2 * u64::from(host.wait_2s)) - passed;
        let memo = self.scheduler.host_memo(id);
        let gap = memo.map_or(Duration::ZERO, |memo| memo.gap);
        let _ = self.scheduler.close_until(id, now + wait.max(gap));
        host.sector() != NOWHERE
    }

    /// Puts the page where it would be; was it known?
    fn resume_page(&mut self, index: usize, setup: &Setup<'_>, now: Instant) -> bool {
        let page = self.known.pages.get(index);
        let Some(page) = page.filter(|page| page.sector() != NOWHERE) else {
            return false;
        };
        let (ago, certain) = self.clock.ago(page.fetched, now);
        if let Some(id) = self.scheduler.page_id(index)
            && let Ok(estimate) = self.scheduler.estimate(id)
        {
            let _ = self.scheduler.restore_page(id, estimate, ago, certain, now);
            if setup.page(index).is_ok_and(|page| page.rate.is_some()) {
                // Its owner has named a rate, which is not weighed by what others have shown.
                let _ = self.scheduler.believe(id, estimate);
            }
        }
        true
    }

    /// Draws how many visits to a page that has moved for good were made since the list's own URL
    /// was asked for, which the store does not say: a device that starts again and again would
    /// never come to as many as it takes. At each start another number is drawn, because it is
    /// another time.
    fn resume_move(&mut self, page: u16, setup: &Setup<'_>, now: Instant) {
        let present = self.clock.stamp(now, now).seconds();
        let drawn = u64::from(page) << 32 | u64::from(present);
        let drawn = || keyed_hash(&setup.config.key, &drawn.to_le_bytes());
        self.known.redirects.resume(page, drawn);
    }

    /// Puts what an earlier run dated in its place in time, and marks what this one has done
    /// without knowing the date to be stored again.
    pub(super) fn date_records(&mut self, setup: &Setup<'_>, now: Instant) {
        let pages = self.known.pages.iter_mut().enumerate();
        for (index, page) in pages.take(setup.page_places()) {
            let Some(id) = self.scheduler.page_id(index) else {
                continue;
            };
            let was_fetched = self.scheduler.last_fetch(id).is_some();
            page.save_if(was_fetched && !page.fetched.is_certain());
            if let (ago, true) = self.clock.ago(page.fetched, now) {
                // A page that is being fetched right now learns nothing from that.
                let _ = self.scheduler.date_page(id, ago, now);
            }
        }
        let present = self.clock.stamp(now, now).seconds();
        for host in self
            .known
            .origins
            .hosts
            .iter_mut()
            .take(setup.host_places())
        {
            let left = host.robots_until.seconds().saturating_sub(present);
            // What holds for much longer than anything may was dated by a clock that was wrong.
            let sound = 1..=2 * HostRobots::LONGEST.as_secs() as u32;
            let holds = host.robots_until.is_certain() && sound.contains(&left);
            if host.earlier != Access::Unknown && holds {
                let earlier = host.earlier;
                let until = now + Duration::from_secs(left.into());
                host.robots_mut(host.earlier_scheme())
                    .restore(earlier, until);
            }
            host.earlier = Access::Unknown;
        }
        self.persist.dated = true;
        self.persist.root_unsaved = true;
    }

    /// A time server said what time it is.
    pub(super) fn set_time(&mut self, unix: u64, setup: &Setup<'_>, now: Instant) {
        if self.clock.set(unix, now) {
            // What hosts had been believed about is stored again, under its right date.
            self.persist.dated = false;
            let pages = self.known.pages.iter_mut().enumerate();
            for (index, page) in pages.take(setup.page_places()) {
                let id = self.scheduler.page_id(index);
                page.save_if(id.is_some_and(|id| self.scheduler.last_fetch(id).is_some()));
            }
        }
        self.tell_time_of_day(setup, now);
        self.slots.wake_all();
    }

    /// Tells the scheduler what hosts with allowed hours need, as soon as anybody knows it.
    pub(super) fn tell_time_of_day(&mut self, setup: &Setup<'_>, now: Instant) {
        let offset = setup.config.utc_offset_minutes;
        if setup.needs_time
            && let Some(local) = self.clock.local_time(offset, now)
        {
            self.scheduler.set_clock(local, now);
        }
    }
}
