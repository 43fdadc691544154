//! What was learnt survives a power cut: the probe's memory as a ledger of the store.

use super::elsewhere::What;
use super::wall::Wall;
use super::{Board, Event, Probe, State};
use crate::fetch::robots::Access;
use crate::scheduler::HostMemo;
use crate::store::{
    HostRecord, Key, Ledger, MoveRecord, NOWHERE, PageRecord, Partition, Record, Root, Step, Store,
    identity,
};
use crate::time::{Duration, Instant};

/// How long what was learnt may wait for being stored: a page that is fetched again by then is
/// stored once.
const FLUSH: Duration = Duration::from_secs(5);
/// Between two looks whether the last fetch has ended, when a sector has to be erased.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// The device's own record is written so often: prices move slowly, and time goes on by itself.
const ROOT: Duration = Duration::from_secs(900);
/// From here on a rate counts as known: what the list says is not overruled by what was learnt.
const KNOWN: f32 = 500.0;

/// What was found in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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

/// Who said what time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum TimeSource {
    /// A time server, or the board's own clock.
    Server,
    /// The hosts that are fetched from, in their `Date` headers.
    Hosts,
}

/// What is kept of the device itself.
#[derive(Debug)]
pub(super) struct RootMemory {
    sector: u8,
    unsaved: bool,
    /// When it is written again.
    due: Instant,
    /// The page that was stored last: the search for the next one goes on from there. Were the
    /// first one taken each time, a probe without enough erases would never come to the end of its
    /// list.
    stored: u16,
    /// Everything that an earlier run dated has been put in its place.
    dated: bool,
    /// Nothing is fetched while a sector is to be erased.
    pub(super) hold: bool,
    pub(super) wall: Wall,
}

impl RootMemory {
    pub(super) const NEW: Self = Self {
        sector: NOWHERE,
        unsaved: false,
        due: Instant::ZERO,
        stored: 0,
        dated: false,
        hold: false,
        wall: Wall::new(),
    };
}

impl<B: Board> Probe<'_, B> {
    /// Takes over what an earlier run has kept. Call it before any slot runs; then spawn
    /// [`Self::keep_store`]. With `trust` off the store is opened, but nothing is believed: for a
    /// device that resets again and again.
    ///
    /// No host is asked before its gap has passed, whatever is known: nobody knows when it was last
    /// asked.
    ///
    /// *Cancellation*: start over.
    pub async fn restore<F: Partition>(&self, store: &mut Store<F>, trust: bool) -> Resumed {
        self.number_pages();
        let now = self.board.now();
        let mut resumed = Resumed::default();
        let found = store.open(|record, sector| {
            if trust {
                self.take(record, sector, &mut resumed);
            }
        });
        match found.await {
            Ok(found) => resumed.refused = found.refused + found.damaged + found.lost,
            Err(_) => self.board.log(&Event::NotStored),
        }
        let mut state = self.state.borrow_mut();
        for index in 0..self.image.hosts() {
            resumed.hosts += u16::from(self.resume_host(&mut state, index, now));
        }
        for index in 0..self.image.pages() {
            resumed.pages += u16::from(self.resume_page(&mut state, index, now));
        }
        state.root.unsaved = true;
        drop(state);
        self.date_the_past();
        self.board.log(&Event::Resumed(resumed));
        resumed
    }

    /// Gives every page and host the number that its records are found by.
    fn number_pages(&self) {
        let mut state = self.state.borrow_mut();
        for index in 0..self.image.pages() {
            if let Some(page) = state.memory.pages.get_mut(index) {
                page.id = self.page_identity(index) as u32;
            }
        }
        for index in 0..self.image.hosts() {
            if let Some(host) = state.memory.hosts.get_mut(index) {
                host.id = self.host_identity(index) as u32;
            }
        }
    }

    fn page_identity(&self, index: usize) -> u64 {
        self.image
            .page(index)
            .map_or(0, |page| identity(&self.config.key, page.url))
    }

    fn host_identity(&self, index: usize) -> u64 {
        self.image
            .host(index)
            .map_or(0, |host| identity(&self.config.key, host.name))
    }

    /// One version of a record: a later one overwrites it.
    fn take(&self, record: &Record, sector: u8, resumed: &mut Resumed) {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        match record {
            Record::Root(root) => {
                resumed.foreign = root.device != self.device();
                resumed.other_list = root.list != self.list();
                if !resumed.foreign {
                    state.root.sector = sector;
                    state.root.wall.was(root.time);
                    state.memory.scheduler.restore_price(root.price);
                }
            }
            Record::Host(record) => {
                let known = state
                    .memory
                    .hosts
                    .iter()
                    .position(|host| host.id == record.host as u32);
                let known = known.filter(|index| self.host_identity(*index) == record.host);
                match known.and_then(|index| Some((index, state.memory.hosts.get_mut(index)?))) {
                    Some((index, host)) => {
                        host.earlier = record.access;
                        (host.robots_until, host.wait_s) = (record.robots_until, record.wait_s);
                        host.waits_since = record.time;
                        host.set_sector(sector);
                        state.root.wall.was(record.time);
                        self.take_host(state, index, record);
                    }
                    None => resumed.strange += 1,
                }
            }
            Record::Page(record) => {
                let known = self.known_page(state, record.page);
                match known.and_then(|index| Some((index, state.memory.pages.get_mut(index)?))) {
                    Some((index, page)) => {
                        page.restore(record, sector);
                        state.root.wall.was(record.fetched);
                        self.take_page(state, index, record);
                    }
                    None => resumed.strange += 1,
                }
            }
            Record::Move(record) => match self.known_page(state, record.page) {
                Some(index) => match self.restored_move(index, record) {
                    Some(detour) => state.elsewhere.restore(&detour, sector),
                    None => _ = state.elsewhere.remove(What::Page(index as u16)),
                },
                None => resumed.strange += 1,
            },
        }
    }

    /// The page of the list that records with this identity are about.
    fn known_page(&self, state: &State<'_>, identity: u64) -> Option<usize> {
        let known = state
            .memory
            .pages
            .iter()
            .position(|page| page.id == identity as u32);
        known.filter(|index| self.page_identity(*index) == identity)
    }

    fn take_host(&self, state: &mut State<'_>, index: usize, record: &HostRecord) {
        let id = state.memory.scheduler.host_id(index);
        let (Some(id), Ok(host)) = (id, self.image.host(index)) else {
            return;
        };
        let gap = Duration::from_millis(host.gap_ms.max(record.gap_ms).into());
        let memo = HostMemo {
            gap,
            failures: record.failures,
            price: record.price,
        };
        // The host is there: the image has it.
        let _ = state
            .memory
            .scheduler
            .restore_host(id, &memo, self.board.now());
    }

    fn take_page(&self, state: &mut State<'_>, index: usize, record: &PageRecord) {
        let id = state.memory.scheduler.page_id(index);
        let (Some(id), Ok(page)) = (id, self.image.page(index)) else {
            return;
        };
        if page.rate.is_none() || page.confidence < KNOWN {
            // The page is there: the image has it.
            let _ = state.memory.scheduler.believe(id, record.estimate);
        }
    }

    /// Leaves the host alone for as long as it must be; was it known?
    fn resume_host(&self, state: &mut State<'_>, index: usize, now: Instant) -> bool {
        let id = state.memory.scheduler.host_id(index);
        let (Some(id), Some(host)) = (id, state.memory.hosts.get(index)) else {
            return false;
        };
        let (passed, _) = state.root.wall.ago(host.waits_since, now);
        let wait = Duration::from_secs(host.wait_s.into()) - passed;
        let known = host.sector() != NOWHERE;
        let gap = state
            .memory
            .scheduler
            .host_memo(id)
            .map_or(Duration::ZERO, |memo| memo.gap);
        let _ = state.memory.scheduler.close_until(id, now + wait.max(gap));
        known
    }

    /// Puts the page where it would be; was it known?
    fn resume_page(&self, state: &mut State<'_>, index: usize, now: Instant) -> bool {
        let Some(page) = state
            .memory
            .pages
            .get(index)
            .filter(|page| page.sector() != NOWHERE)
        else {
            return false;
        };
        let (ago, certain) = state.root.wall.ago(page.fetched, now);
        if let Some(id) = state.memory.scheduler.page_id(index)
            && let Ok(estimate) = state.memory.scheduler.estimate(id)
        {
            let _ = state
                .memory
                .scheduler
                .restore_page(id, estimate, ago, certain, now);
        }
        true
    }

    /// The hour has become certain: what an earlier run dated gets its place in time, and what this
    /// one has done without knowing the date is stored again.
    #[inline(never)] // Once for all callers.
    fn date_the_past(&self) {
        let now = self.board.now();
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let wall = &state.root.wall;
        let Some(unix) = wall
            .unix(now)
            .filter(|_| !state.root.dated && wall.is_certain(now))
        else {
            return;
        };
        for (index, page) in state
            .memory
            .pages
            .iter_mut()
            .enumerate()
            .take(self.image.pages())
        {
            let scheduler = &mut state.memory.scheduler;
            let Some(id) = scheduler.page_id(index) else {
                return;
            };
            page.unsaved |= scheduler.last_fetch(id).is_some() && !page.fetched.is_certain();
            if let (ago, true) = wall.ago(page.fetched, now) {
                // A page that is being fetched right now learns nothing from that.
                let _ = scheduler.date_page(id, ago, now);
            }
        }
        for host in state.memory.hosts.iter_mut().take(self.image.hosts()) {
            let present = wall.stamp(now, now).seconds();
            let left = host.robots_until.seconds().saturating_sub(present);
            let holds = host.robots_until.is_certain() && left > 0;
            if host.earlier != Access::Unknown && holds {
                host.robots
                    .restore(host.earlier, now + Duration::from_secs(left.into()));
            }
            host.earlier = Access::Unknown;
        }
        (state.root.dated, state.root.unsaved) = (true, true);
        let from = if wall.is_by_server() {
            TimeSource::Server
        } else {
            TimeSource::Hosts
        };
        self.board.log(&Event::Clock {
            unix: unix.min(u32::MAX.into()) as u32,
            from,
        });
    }

    /// A time server said what time it is, in seconds since 1970. It is believed, whatever hosts
    /// say.
    pub fn set_time(&self, unix: u64) {
        let now = self.board.now();
        {
            let state = &mut *self.state.borrow_mut();
            if state.root.wall.set(unix, now) {
                // What hosts had been believed about is stored again, under its right date.
                state.root.dated = false;
                for (index, page) in state
                    .memory
                    .pages
                    .iter_mut()
                    .enumerate()
                    .take(self.image.pages())
                {
                    let id = state.memory.scheduler.page_id(index);
                    page.unsaved |=
                        id.is_some_and(|id| state.memory.scheduler.last_fetch(id).is_some());
                }
            }
            self.tell_time_of_day(state, now);
            state.slots.wake_all();
        }
        self.date_the_past();
    }

    /// Tells the scheduler what hosts with allowed hours need, as soon as anybody knows it.
    pub(super) fn tell_time_of_day(&self, state: &mut State<'_>, now: Instant) {
        let Some(unix) = state.root.wall.unix(now).filter(|_| self.has_hours) else {
            return;
        };
        let offset =
            Duration::from_secs(60 * u64::from(self.config.utc_offset_minutes.unsigned_abs()));
        let universal = Duration::from_secs(unix) + Duration::DAY;
        let local = if self.config.utc_offset_minutes < 0 {
            universal - offset
        } else {
            universal + offset
        };
        let time_of_day = Duration::from_secs(local.as_secs() % Duration::DAY.as_secs());
        state.memory.scheduler.set_clock(time_of_day, now);
    }

    /// Stores what changes, for ever. A power cut costs what was learnt in the last seconds.
    ///
    /// *Cancellation*: safe between two records; within one, it may be stored or not.
    pub async fn keep_store<F: Partition>(&self, store: &mut Store<F>) -> ! {
        loop {
            self.board.sleep_until(self.board.now() + FLUSH).await;
            self.date_the_past();
            self.flush(store).await;
        }
    }

    /// Stores what has changed.
    ///
    /// *Cancellation*: as above.
    pub async fn flush<F: Partition>(&self, store: &mut Store<F>) {
        let now = self.board.now();
        {
            let root = &mut self.state.borrow_mut().root;
            root.unsaved |= now >= root.due;
        }
        loop {
            let quiet = self.is_quiet();
            match store.step(&Books(self), quiet, self.board.now()).await {
                Ok(Step::Wrote) => self.hold(false),
                Ok(Step::NeedsErase) => {
                    self.hold(true);
                    self.board.sleep_until(self.board.now() + LOOK_AGAIN).await;
                }
                Ok(Step::Idle | Step::Spent(_)) => break,
                Err(_) => {
                    self.board.log(&Event::NotStored);
                    break;
                }
            }
        }
        self.hold(false);
    }

    /// Stores what has changed when nothing is fetched any more: a slot that was dropped at a page
    /// is not waited for.
    ///
    /// *Cancellation*: as above.
    pub async fn save<F: Partition>(&self, store: &mut Store<F>) {
        while let Ok(Step::Wrote) = store.step(&Books(self), true, self.board.now()).await {}
    }

    /// Is nothing being fetched, and will nothing be?
    fn is_quiet(&self) -> bool {
        let state = self.state.borrow();
        state.root.hold && state.slots.are_idle()
    }

    fn hold(&self, hold: bool) {
        let mut state = self.state.borrow_mut();
        if state.root.hold != hold {
            state.root.hold = hold;
            state.slots.wake_all();
        }
    }

    /// This device and its key.
    fn device(&self) -> u64 {
        identity(&self.config.key, "this device")
    }

    /// The list, in whatever order it is.
    fn list(&self) -> u64 {
        (0..self.image.pages()).fold(0, |list, index| list ^ self.page_identity(index))
    }

    /// What would be kept of a page now; `None` if there is no such page.
    pub fn kept_of(&self, page: usize) -> Option<PageRecord> {
        self.page_record(&self.state.borrow(), page)
    }

    fn root_record(&self, state: &State<'_>) -> Root {
        let now = self.board.now();
        let (time, price) = (
            state.root.wall.stamp(now, now),
            state.memory.scheduler.price(),
        );
        Root {
            device: self.device(),
            list: self.list(),
            time,
            price,
        }
    }

    fn host_record(&self, state: &State<'_>, index: usize) -> Option<HostRecord> {
        let now = self.board.now();
        let id = state.memory.scheduler.host_id(index)?;
        let host = state.memory.hosts.get(index)?;
        let memo = state.memory.scheduler.host_memo(id).ok()?;
        let gap_ms = memo.gap.as_millis().min(u32::MAX.into()) as u32;
        // Only what robots.txt asks for beyond the list: the list may change.
        let gap_ms = if gap_ms > self.image.host(index).ok()?.gap_ms {
            gap_ms
        } else {
            0
        };
        let opens = state
            .memory
            .scheduler
            .opens(id)
            .filter(|_| memo.failures > 0)
            .unwrap_or(now);
        let wall = &state.root.wall;
        // What an earlier run knew counts until this one knows better.
        let (access, robots_until) = match host.earlier {
            Access::Unknown => (
                host.robots.access(now),
                wall.stamp(host.robots.ask_at(), now),
            ),
            earlier => (earlier, host.robots_until),
        };
        Some(HostRecord {
            host: self.host_identity(index),
            access,
            robots_until,
            gap_ms,
            failures: memo.failures,
            wait_s: (opens - now).as_secs().min(u32::MAX.into()) as u32,
            time: wall.stamp(now, now),
            price: memo.price,
        })
    }

    fn page_record(&self, state: &State<'_>, index: usize) -> Option<PageRecord> {
        let id = state.memory.scheduler.page_id(index)?;
        let page = state.memory.pages.get(index)?;
        let estimate = state.memory.scheduler.estimate(id).ok()?;
        let now = self.board.now();
        let fetched = state
            .memory
            .scheduler
            .last_fetch(id)
            .map(|then| state.root.wall.stamp(then, now));
        Some(page.to_record(
            self.page_identity(index),
            estimate,
            fetched.unwrap_or(page.fetched),
        ))
    }
}

impl State<'_> {
    /// What has to be stored next.
    #[inline(never)] // Once for all callers.
    fn unsaved(&self) -> Option<Key> {
        let host = || self.memory.hosts.iter().position(|host| host.unsaved);
        let page = || {
            let next = usize::from(self.root.stored) + 1;
            let (before, behind) = self.memory.pages.split_at_checked(next)?;
            let found = behind
                .iter()
                .position(|page| page.unsaved)
                .map(|index| next + index);
            found.or_else(|| before.iter().position(|page| page.unsaved))
        };
        let root = self.root.unsaved.then_some(Key::Root);
        let listed = root
            .or_else(|| Some(Key::Host(host()? as u16)))
            .or_else(|| Some(Key::Page(page()? as u16)));
        listed.or_else(|| self.elsewhere.unsaved().map(Key::Move))
    }
}

/// The probe's memory, as the store sees it.
struct Books<'p, 'a, B>(&'p Probe<'a, B>);

impl<B: Board> Ledger for Books<'_, '_, B> {
    fn unsaved(&self) -> Option<Key> {
        self.0.state.borrow().unsaved()
    }

    fn any_in(&self, sector: u8) -> Option<Key> {
        let state = self.0.state.borrow();
        let host = || {
            state
                .memory
                .hosts
                .iter()
                .position(|host| host.sector() == sector)
        };
        let page = || {
            state
                .memory
                .pages
                .iter()
                .position(|page| page.sector() == sector)
        };
        let root = (state.root.sector == sector).then_some(Key::Root);
        let listed = root
            .or_else(|| Some(Key::Host(host()? as u16)))
            .or_else(|| Some(Key::Page(page()? as u16)));
        listed.or_else(|| state.elsewhere.in_sector(sector).next().map(Key::Move))
    }

    fn count_in(&self, sector: u8) -> usize {
        let state = self.0.state.borrow();
        let hosts = state
            .memory
            .hosts
            .iter()
            .filter(|host| host.sector() == sector)
            .count();
        let pages = state
            .memory
            .pages
            .iter()
            .filter(|page| page.sector() == sector)
            .count();
        let moves = state.elsewhere.in_sector(sector).count();
        hosts + pages + moves + usize::from(state.root.sector == sector)
    }

    fn read(&self, key: Key) -> Record {
        let mut state = self.0.state.borrow_mut();
        let state = &mut *state;
        // What is only moved to another sector does not count.
        let next = state.unsaved() == Some(key);
        let record = match key {
            Key::Root => {
                state.root.unsaved = false;
                state.root.due = self.0.board.now() + ROOT;
                None
            }
            Key::Host(index) => {
                let record = self.0.host_record(state, index.into()).map(Record::Host);
                if let Some(host) = state.memory.hosts.get_mut(usize::from(index)) {
                    host.unsaved = false;
                }
                record
            }
            Key::Page(index) => {
                let record = self.0.page_record(state, index.into());
                state.root.stored = if next { index } else { state.root.stored };
                if let (Some(page), Some(record)) =
                    (state.memory.pages.get_mut(usize::from(index)), record)
                {
                    (page.unsaved, page.fetched) = (false, record.fetched);
                }
                record.map(Record::Page)
            }
            Key::Move(index) => {
                let (page, to) = (
                    self.0.page_identity(index.into()),
                    state.elsewhere.read(index),
                );
                let own = self.0.image.page(index.into()).ok();
                let moved = own
                    .zip(to)
                    .map(|(own, to)| MoveRecord::new(page, own.url, &to));
                Some(Record::Move(moved.unwrap_or(MoveRecord::home(page))))
            }
        };
        // The device's own record is as good as any where there is no such page or host.
        record.unwrap_or_else(|| Record::Root(self.0.root_record(state)))
    }

    fn saved(&self, key: Key, sector: u8) {
        let mut state = self.0.state.borrow_mut();
        let again = sector == NOWHERE;
        match key {
            Key::Root => {
                state.root.sector = sector;
                state.root.unsaved |= again;
            }
            Key::Host(index) => {
                if let Some(host) = state.memory.hosts.get_mut(usize::from(index)) {
                    host.set_sector(sector);
                    host.unsaved |= again;
                }
            }
            Key::Page(index) => {
                if let Some(page) = state.memory.pages.get_mut(usize::from(index)) {
                    page.set_sector(sector);
                    page.unsaved |= again;
                }
            }
            Key::Move(index) => state.elsewhere.saved(index, sector),
        }
    }
}
