//! What is written to flash, and when: the probe's memory as a ledger of the store.
//!
//! | record | written |
//! |---|---|
//! | a page | within five seconds after it was answered or its robots verdict changed, or the date became certain |
//! | a host | within five seconds after its robots.txt was answered, it failed, or it recovered |
//! | where a page has moved to | within five seconds after it arrived there, or came back |
//! | the device: time, price, and how far the records of pages are trusted | at the start, every 15 minutes, and when the date becomes certain |
//!
//! It takes longer while a sector waits to be erased, which happens only while nothing is fetched,
//! and once the day's erases are spent. A page that is answered twice within the five seconds is
//! written once. Records of the sector that is erased next are written again. What is read at the
//! next start is in `restore.rs`.

use core::ops::ControlFlow;

use super::memory::{Knowledge, PageMemory};
use super::setup::Setup;
use super::wall_clock::WallClock;
use super::{Board, Event, Probe, State};
use crate::fetch::Scheme;
use crate::fetch::robots::Access;
use crate::scheduler::SchedulerView;
use crate::store::{
    HostRecord, Ledger, MoveRecord, NOWHERE, PageRecord, Partition, Record, RecordKey, Root, Store,
    StoreStep,
};
use crate::time::{Duration, Instant};

/// How long what was learnt may wait for being stored.
const FLUSH_PERIOD: Duration = Duration::from_secs(5);
/// Between two looks whether the last fetch has ended, when a sector has to be erased.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How often the device's own record is written: prices move slowly, and time goes on by itself.
const ROOT_PERIOD: Duration = Duration::from_secs(900);

/// What the store knows of the device's own record, and where its search for work goes on.
#[derive(Debug)]
pub(super) struct Persist {
    /// The sector of the device's own record.
    pub root_sector: u8,
    /// The device's own record has to be written.
    pub root_unsaved: bool,
    /// When it is written again.
    root_due: Instant,
    /// The page that was stored last: the search for the next one goes on from there. Were the
    /// first one taken each time, a probe without enough erases would never come to the end of its
    /// list.
    last_page: u16,
    /// Everything that an earlier run dated has been put in its place.
    pub dated: bool,
    /// Nothing is fetched while a sector is to be erased.
    holds: bool,
}

impl Persist {
    pub(super) const NEW: Self = Self {
        root_sector: NOWHERE,
        root_unsaved: false,
        root_due: Instant::ZERO,
        last_page: 0,
        dated: false,
        holds: false,
    };

    /// Must nothing be fetched, because a sector is to be erased?
    pub(super) fn is_holding(&self) -> bool {
        self.holds
    }

    /// What has to be stored next.
    #[inline(never)] // Once for all callers.
    fn unsaved(&self, known: &Knowledge<'_>) -> Option<RecordKey> {
        let host = || known.origins.hosts.iter().position(|host| host.unsaved);
        let page = || {
            let next = usize::from(self.last_page) + 1;
            let (before, behind) = known.pages.split_at_checked(next)?;
            let found = behind.iter().position(PageMemory::is_unsaved);
            found
                .map(|index| next + index)
                .or_else(|| before.iter().position(PageMemory::is_unsaved))
        };
        let root = self.root_unsaved.then_some(RecordKey::Root);
        root.or_else(|| Some(RecordKey::Host(host()? as u16)))
            .or_else(|| Some(RecordKey::Page(page()? as u16)))
            .or_else(|| known.redirects.unsaved().map(RecordKey::Move))
    }

    /// A record whose newest version is in this sector.
    fn any_in(&self, sector: u8, known: &Knowledge<'_>) -> Option<RecordKey> {
        let mut hosts = known.origins.hosts.iter();
        let mut pages = known.pages.iter();
        let mut host = || hosts.position(|host| host.sector() == sector);
        let mut page = || pages.position(|page| page.sector() == sector);
        let root = (self.root_sector == sector).then_some(RecordKey::Root);
        root.or_else(|| Some(RecordKey::Host(host()? as u16)))
            .or_else(|| Some(RecordKey::Page(page()? as u16)))
            .or_else(|| {
                known
                    .redirects
                    .in_sector(sector)
                    .next()
                    .map(RecordKey::Move)
            })
    }

    /// How many records have their newest version in this sector.
    fn count_in(&self, sector: u8, known: &Knowledge<'_>) -> usize {
        let hosts = known.origins.hosts.iter();
        let hosts = hosts.filter(|host| host.sector() == sector).count();
        let pages = known.pages.iter();
        let pages = pages.filter(|page| page.sector() == sector).count();
        let moves = known.redirects.in_sector(sector).count();
        hosts + pages + moves + usize::from(self.root_sector == sector)
    }

    /// A record's newest version is in this sector; it has to be written again if that is
    /// [`NOWHERE`].
    fn saved(&mut self, key: RecordKey, sector: u8, known: &mut Knowledge<'_>) {
        let again = sector == NOWHERE;
        match key {
            RecordKey::Root => {
                self.root_sector = sector;
                self.root_unsaved |= again;
            }
            RecordKey::Host(index) => {
                if let Some(host) = known.origins.hosts.get_mut(usize::from(index)) {
                    host.set_sector(sector);
                    host.unsaved |= again;
                }
            }
            RecordKey::Page(index) => {
                if let Some(page) = known.page_mut(index) {
                    page.set_sector(sector);
                    page.save_if(again);
                }
            }
            RecordKey::Move(index) => known.redirects.saved(index, sector),
        }
    }
}

fn root_record(
    setup: &Setup<'_>,
    clock: &WallClock,
    scheduler: &SchedulerView<'_>,
    now: Instant,
) -> Root {
    Root {
        device: setup.device_identity(),
        list: setup.list_identity(),
        time: clock.stamp(now, now),
        firm: clock.is_firm(now),
        price: scheduler.price(),
        trust: Some(scheduler.trust()),
    }
}

fn host_record(
    index: usize,
    setup: &Setup<'_>,
    state: &State<'_>,
    now: Instant,
) -> Option<HostRecord> {
    let id = state.scheduler.host_id(index)?;
    let host = state.known.origins.hosts.get(index)?;
    let memo = state.scheduler.host_memo(id).ok()?;
    let clock = &state.clock;
    let gap_ms = memo.gap.as_millis().min(u32::MAX.into()) as u32;
    // Only what robots.txt asks for beyond the list: the list may change.
    let listed_gap_ms = setup.listed_gap_ms(index)?;
    let gap_ms = if gap_ms > listed_gap_ms { gap_ms } else { 0 };
    let opens = state.scheduler.opens(id);
    let opens = opens.filter(|_| memo.failures > 0).unwrap_or(now);
    // Of a host with two files, one is kept: the other one is asked for after a restart.
    let known = |scheme: &Scheme| host.robots(*scheme).access(now) != Access::Unknown;
    let scheme = [Scheme::Http, Scheme::Https].into_iter().find(known);
    // What an earlier run knew counts until this one knows better.
    let (scheme, access, robots_until) = match (host.earlier, scheme) {
        (_, Some(scheme)) => {
            let robots = host.robots(scheme);
            let until = clock.stamp(robots.ask_at(), now);
            (scheme, robots.access(now), until)
        }
        (earlier, None) => (host.earlier_scheme(), earlier, host.robots_until),
    };
    Some(HostRecord {
        host: setup.host_identity(index),
        scheme: Some(scheme),
        access,
        public: host.was_public,
        robots_until,
        gap_ms,
        failures: memo.failures,
        wait_s: (opens - now).as_secs().min(u32::MAX.into()) as u32,
        time: clock.stamp(now, now),
        price: memo.price,
    })
}

fn page_record(
    index: usize,
    setup: &Setup<'_>,
    state: &State<'_>,
    now: Instant,
) -> Option<PageRecord> {
    let id = state.scheduler.page_id(index)?;
    let page = state.known.pages.get(index)?;
    let estimate = state.scheduler.page_memo(id).ok()?;
    let fetched = state.scheduler.last_fetch(id);
    let fetched = fetched.map(|then| state.clock.stamp(then, now));
    let fetched = fetched.unwrap_or(page.fetched);
    Some(page.to_record(setup.page_identity(index), estimate, fetched))
}

fn move_record(index: u16, setup: &Setup<'_>, known: &mut Knowledge<'_>) -> MoveRecord {
    let page = setup.page_identity(index.into());
    let target = known.redirects.read(index);
    let own = setup.page(index.into()).ok();
    own.zip(target)
        .map(|(own, target)| MoveRecord::new(page, own.url, &target))
        .unwrap_or(MoveRecord::home(page))
}

/// The probe's memory, as the store sees it.
struct Books<'p, 'a, B>(&'p Probe<'a, B>);

impl<B: Board> Ledger for Books<'_, '_, B> {
    fn unsaved(&self) -> Option<RecordKey> {
        let state = &*self.0.state();
        state.persist.unsaved(&state.known)
    }

    fn any_in(&self, sector: u8) -> Option<RecordKey> {
        let state = &*self.0.state();
        state.persist.any_in(sector, &state.known)
    }

    fn count_in(&self, sector: u8) -> usize {
        let state = &*self.0.state();
        state.persist.count_in(sector, &state.known)
    }

    fn read(&self, key: RecordKey) -> Record {
        let now = self.0.board.now();
        let setup = &self.0.setup;
        let state = &mut *self.0.state();
        // What is only moved to another sector does not count.
        let is_next = state.persist.unsaved(&state.known) == Some(key);
        let record = match key {
            RecordKey::Root => {
                state.persist.root_unsaved = false;
                state.persist.root_due = now + ROOT_PERIOD;
                None
            }
            RecordKey::Host(index) => {
                let record = host_record(index.into(), setup, state, now);
                if let Some(host) = state.known.origins.hosts.get_mut(usize::from(index)) {
                    host.unsaved = false;
                }
                record.map(Record::Host)
            }
            RecordKey::Page(index) => {
                let record = page_record(index.into(), setup, state, now);
                if is_next {
                    state.persist.last_page = index;
                }
                if let (Some(page), Some(record)) = (state.known.page_mut(index), record) {
                    page.set_saved();
                    page.fetched = record.fetched;
                }
                record.map(Record::Page)
            }
            RecordKey::Move(index) => {
                let record = move_record(index, setup, &mut state.known);
                Some(Record::Move(record))
            }
        };
        // The device's own record is as good as any where there is no such page or host.
        record.unwrap_or_else(|| {
            Record::Root(root_record(setup, &state.clock, &state.scheduler, now))
        })
    }

    fn saved(&self, key: RecordKey, sector: u8) {
        let state = &mut *self.0.state();
        state.persist.saved(key, sector, &mut state.known);
    }
}

/// Keeps what a probe has learnt in a store: see [`Probe::persistence`].
#[derive(Debug)]
pub struct Persistence<'p, 'a, B> {
    pub(super) probe: &'p Probe<'a, B>,
}

impl<B: Board> Persistence<'_, '_, B> {
    /// Stores what changes, for ever. A power cut costs what was learnt in the last seconds.
    ///
    /// *Cancellation*: safe between two records; within one, it may be stored or not.
    pub async fn run<F: Partition>(&self, store: &mut Store<F>) -> ! {
        let board = &self.probe.board;
        loop {
            board.sleep_until(board.now() + FLUSH_PERIOD).await;
            self.probe.time().date_the_past();
            self.flush(store).await;
        }
    }

    /// Stores what has changed.
    ///
    /// *Cancellation*: as for [`Self::run`].
    pub async fn flush<F: Partition>(&self, store: &mut Store<F>) {
        let now = self.probe.board.now();
        {
            let persist = &mut self.probe.state().persist;
            persist.root_unsaved |= now >= persist.root_due;
        }
        let board = &self.probe.board;
        loop {
            let quiet = self.is_quiet();
            let step = store.step(&Books(self.probe), quiet, board.now()).await;
            match self.stepped(step) {
                ControlFlow::Continue(None) => {}
                ControlFlow::Continue(Some(then)) => board.sleep_until(then).await,
                ControlFlow::Break(()) => break,
            }
        }
    }

    /// What follows a step of a store or a log: the next one, at once or at that moment, or the
    /// end, because there is nothing to write or it cannot be written. Nothing is fetched while a
    /// sector waits to be erased.
    // No async function that takes the step: each one is a place that can panic, and takes RAM.
    pub(super) fn stepped<E>(
        &self,
        step: Result<StoreStep, E>,
    ) -> ControlFlow<(), Option<Instant>> {
        let board = &self.probe.board;
        self.hold(matches!(step, Ok(StoreStep::NeedsErase)));
        match step {
            Ok(StoreStep::Wrote) => ControlFlow::Continue(None),
            Ok(StoreStep::NeedsErase) => ControlFlow::Continue(Some(board.now() + LOOK_AGAIN)),
            Ok(StoreStep::Idle | StoreStep::Spent(_)) => ControlFlow::Break(()),
            Err(_) => {
                board.log(&Event::NotStored);
                ControlFlow::Break(())
            }
        }
    }

    /// Stores what has changed when nothing is fetched any more: a slot that was dropped at a page
    /// is not waited for.
    ///
    /// *Cancellation*: as for [`Self::run`].
    pub async fn save<F: Partition>(&self, store: &mut Store<F>) {
        let books = Books(self.probe);
        while let Ok(StoreStep::Wrote) = store.step(&books, true, self.probe.board.now()).await {}
    }

    /// What would be stored of a page now; `None` if there is no such page.
    pub fn record_of(&self, page: usize) -> Option<PageRecord> {
        let now = self.probe.board.now();
        page_record(page, &self.probe.setup, &self.probe.state(), now)
    }

    /// Waits for a moment in which nothing is being fetched: what is done before the next `await`
    /// disturbs nobody.
    ///
    /// *Cancellation*: safe; fetches wait until the next [`Self::flush`].
    pub async fn quiet(&self) {
        let board = &self.probe.board;
        loop {
            // Each time anew: whoever stores lets go when it is done.
            self.hold(true);
            if self.is_quiet() {
                break;
            }
            board.sleep_until(board.now() + LOOK_AGAIN).await;
        }
        self.hold(false);
    }

    /// Is nothing being fetched, and will nothing be?
    pub(super) fn is_quiet(&self) -> bool {
        let state = self.probe.state();
        state.persist.holds && state.slots.are_idle()
    }

    fn hold(&self, holds: bool) {
        let mut state = self.probe.state();
        if state.persist.holds != holds {
            state.persist.holds = holds;
            state.slots.wake_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::HostMemory;
    use crate::probe::origin::Origins;
    use crate::probe::redirects::Redirects;

    #[test]
    fn each_record_counts_where_its_newest_version_is() {
        let mut hosts = [HostMemory::NEW; 2];
        let mut pages = [PageMemory::NEW; 3];
        let mut known = Knowledge {
            pages: &mut pages,
            origins: Origins::new(&mut hosts),
            redirects: Redirects::new(&mut []),
        };
        let mut persist = Persist::NEW;
        for (key, sector) in [
            (RecordKey::Host(0), 4),
            (RecordKey::Host(1), 4),
            (RecordKey::Page(0), 4),
            (RecordKey::Page(1), 4),
            (RecordKey::Page(2), 5),
            (RecordKey::Root, 5),
        ] {
            persist.saved(key, sector, &mut known);
        }
        let counts = [4, 5, 6].map(|sector| persist.count_in(sector, &known));
        assert_eq!(counts, [4, 2, 0]);
    }

    #[test]
    fn what_could_not_be_written_is_written_again() {
        let mut hosts = [HostMemory::NEW; 2];
        let mut pages = [PageMemory::NEW; 3];
        let mut known = Knowledge {
            pages: &mut pages,
            origins: Origins::new(&mut hosts),
            redirects: Redirects::new(&mut []),
        };
        for key in [RecordKey::Root, RecordKey::Host(1), RecordKey::Page(2)] {
            let mut persist = Persist::NEW;
            persist.saved(key, 4, &mut known);
            assert_eq!(persist.unsaved(&known), None, "{key:?} is written");
            assert_eq!(persist.any_in(4, &known), Some(key));
            persist.saved(key, NOWHERE, &mut known);
            assert_eq!(persist.unsaved(&known), Some(key), "{key:?} was refused");
            assert_eq!(persist.any_in(4, &known), None);
            // As reading it does.
            known.origins.hosts[1].unsaved = false;
            known.pages[2].set_saved();
        }
    }
}
