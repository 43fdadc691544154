//! The date and the time of day. No device has to have a clock that runs while it is off: the time
//! comes from a time server, or from the `Date` headers of the hosts that are fetched from anyway.
//!
//! | who speaks | is believed |
//! |---|---|
//! | the owner's time server | at once, and whatever else is known |
//! | three hosts that agree, and are more than half of the last seven | at once |
//! | one or two hosts of a list of one or two, and no other that disagrees | after a minute, unless it was later before |
//! | one or two hosts of a longer list, and no other that disagrees | after an hour, unless it was later before |
//!
//! Hosts of the list are its ports, too, but all ports of one name have one voice: who has the name
//! has them all. Names are compared, and not addresses: many honest names are at one address, and
//! several names of one owner are several voices, as are a name and its own address in numbers.
//!
//! Nothing is decided by a time that is not believed, allowed hours included. "It was later before"
//! is said by the store, and only where a time server or three hosts had given the time: what one
//! host made up does not last.

use crate::store::Stamp;
use crate::time::{Duration, Instant};

/// Hosts whose word counts: the latest ones.
const WITNESSES: usize = 7;
/// So many that agree are believed at once.
const QUORUM: usize = 3;
/// Fewer are believed after this, if the list has no more.
const PATIENCE: Duration = Duration::from_secs(60);
/// If it has, the others may be down: they are waited for for so long.
const LONG_PATIENCE: Duration = Duration::HOUR;
/// Hosts that differ by more than this from the middle one do not count, in seconds.
const OUTLIER: i64 = 120;

/// The time of day and the date, as far as they are known.
#[derive(Debug)]
pub(super) struct WallClock {
    /// When fewer hosts than a quorum are believed, after the first of them spoke.
    patience: Duration,
    /// By host: seconds since 1970 when this device's clock was 0.
    witnesses: heapless::Vec<(u16, i64), WITNESSES>,
    /// When the first of them spoke.
    since: Instant,
    /// The same by a time server, which is believed without a witness.
    server: Option<i64>,
    /// A time server is being asked: until it answers or does not, hosts are heard, but not
    /// believed.
    asks_server: bool,
    /// How late it was when the device was last on, in seconds: since 1970, if it knew.
    before: u32,
    /// It cannot be earlier than this, in seconds since 1970: a time server or three hosts said so.
    /// A time server may lower it.
    floor: u32,
}

impl WallClock {
    /// A clock that nobody has told the time, for a list of so many hosts.
    pub(super) const fn new(hosts: usize) -> Self {
        Self {
            patience: match hosts < QUORUM {
                true => PATIENCE,
                false => LONG_PATIENCE,
            },
            witnesses: heapless::Vec::new(),
            since: Instant::ZERO,
            server: None,
            asks_server: false,
            before: 0,
            floor: 0,
        }
    }

    /// A host said what time it is.
    pub(super) fn hear(&mut self, host: u16, date: u64, now: Instant) {
        let start = date as i64 - now.as_micros() as i64 / 1_000_000;
        if self.witnesses.is_empty() {
            self.since = now;
        }
        if let Some(known) = self.witnesses.iter_mut().find(|known| known.0 == host) {
            known.1 = start;
            return;
        }
        if self.witnesses.is_full() {
            self.witnesses.remove(0);
        }
        // There is room now.
        let _ = self.witnesses.push((host, start));
    }

    /// The hosts that have spoken lately.
    pub(super) fn voices(&self) -> impl Iterator<Item = u16> {
        self.witnesses.iter().map(|(host, _)| *host)
    }

    /// A time server said so. True if something else was taken for certain before.
    pub(super) fn set(&mut self, date: u64, now: Instant) -> bool {
        let start = date as i64 - now.as_micros() as i64 / 1_000_000;
        let before = self.start(now).filter(|_| self.is_certain(now));
        self.server = Some(start);
        self.asks_server = false;
        // Whoever gave the time that was stored, the owner's server knows better: with three hosts
        // that had lied, there would be no date until the next start.
        self.floor = self.floor.min(date.try_into().unwrap_or(u32::MAX));
        before.is_some_and(|before| (before - start).abs() > OUTLIER)
    }

    /// A time server is asked from now on, or it has not answered: then hosts are believed.
    pub(super) fn ask_server(&mut self, asks: bool) {
        self.asks_server = asks;
    }

    /// Does the time come from a time server?
    pub(super) fn is_by_server(&self) -> bool {
        self.server.is_some()
    }

    /// The device was on at this moment.
    pub(super) fn was(&mut self, before: Stamp) {
        self.before = self.before.max(before.seconds());
    }

    /// The device's own record was written at this moment; `firm` if a time server or three hosts
    /// gave it. The last one counts: a time server may have set the clock back.
    pub(super) fn was_root(&mut self, time: Stamp, firm: bool) {
        self.was(time);
        self.floor = if firm { time.seconds() } else { 0 };
    }

    /// Does a time server or do three hosts give the time?
    pub(super) fn is_firm(&self, now: Instant) -> bool {
        let agree = self.believed(now).map_or(0, |(_, agree)| agree);
        self.server.is_some() || agree >= QUORUM
    }

    /// Seconds since 1970 by whoever has spoken so far.
    pub(super) fn unix(&self, now: Instant) -> Option<u64> {
        self.unix_at(now, now)
    }

    /// Seconds since 1970, if that is certain and not before the floor.
    pub(super) fn certain(&self, now: Instant) -> Option<u64> {
        let unix = self.unix(now).filter(|_| self.is_certain(now))?;
        (unix >= self.floor.into()).then_some(unix)
    }

    /// The local time since the beginning of 1970, once the date is certain.
    pub(super) fn local_time(&self, utc_offset_minutes: i16, now: Instant) -> Option<Duration> {
        if !self.is_certain(now) {
            return None;
        }
        let offset = Duration::from_secs(60 * u64::from(utc_offset_minutes.unsigned_abs()));
        let universal = Duration::from_secs(self.unix(now)?);
        Some(if utc_offset_minutes < 0 {
            universal - offset
        } else {
            universal + offset
        })
    }

    /// The same of an earlier moment, by what is known now.
    fn unix_at(&self, then: Instant, now: Instant) -> Option<u64> {
        u64::try_from(self.start(now)? + then.as_micros() as i64 / 1_000_000).ok()
    }

    /// Seconds since 1970 when this device's clock was 0.
    fn start(&self, now: Instant) -> Option<i64> {
        self.server
            .or_else(|| self.believed(now).map(|(start, _)| start))
    }

    /// What hosts say, unless a time server is about to say something better.
    fn believed(&self, now: Instant) -> Option<(i64, usize)> {
        self.middle()
            .filter(|_| !self.asks_server || now - self.since >= PATIENCE)
    }

    /// Is that certain? By a server, by three hosts that agree, or by all that have spoken after a
    /// minute (an hour if the list has three) – unless they say it is earlier than it was.
    pub(super) fn is_certain(&self, now: Instant) -> bool {
        let all = self
            .believed(now)
            .is_some_and(|(_, agree)| agree == self.witnesses.len());
        let few = all && now - self.since >= self.patience;
        self.is_firm(now) || few && self.unix(now) >= Some(self.floor.into())
    }

    /// A moment of this run, to be kept.
    pub(super) fn stamp(&self, then: Instant, now: Instant) -> Stamp {
        let certain = self.is_certain(now);
        let seconds = self.unix_at(then, now).filter(|_| certain);
        // Without a clock, time goes on from where it was.
        let seconds = seconds.unwrap_or(u64::from(self.before) + then.as_micros() / 1_000_000 + 2);
        Stamp::new(seconds.try_into().unwrap_or(u32::MAX), certain)
    }

    /// How long ago a kept moment was, at least; exactly so if both it and the present are certain.
    /// One that has not come yet was dated by a clock that was wrong.
    pub(super) fn ago(&self, then: Stamp, now: Instant) -> (Duration, bool) {
        let present = self.stamp(now, now);
        let passed = present.seconds().checked_sub(then.seconds());
        let certain = present.is_certain() && then.is_certain() && passed.is_some();
        (Duration::from_secs(passed.unwrap_or(0).into()), certain)
    }

    /// The median of those that are not far off it, and how many these are: more than half, or
    /// none.
    fn middle(&self) -> Option<(i64, usize)> {
        let first = self.median(|_| true)?;
        let agrees = |start: i64| (start - first).abs() <= OUTLIER;
        let agree = self
            .witnesses
            .iter()
            .filter(|(_, start)| agrees(*start))
            .count();
        let median = self
            .median(agrees)
            .filter(|_| 2 * agree > self.witnesses.len())?;
        Some((median, agree))
    }

    /// The one of those that count with as many below as above it. Sorting would take 7 kB of
    /// flash.
    fn median(&self, counts: impl Fn(i64) -> bool) -> Option<i64> {
        let starts = || {
            self.witnesses
                .iter()
                .map(|(_, start)| *start)
                .filter(|start| counts(*start))
        };
        let half = starts().count() / 2;
        starts().find(|start| {
            let below = starts().filter(|other| other < start).count();
            let same = starts().filter(|other| other == start).count();
            (below..below + same).contains(&half)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: u64 = 1_794_000_000;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn three_hosts_that_agree_are_believed_and_a_fourth_that_does_not_is_not() {
        let mut clock = WallClock::new(2);
        assert_eq!(clock.unix(at(0)), None);
        for (host, off) in [(0, 0), (1, 1), (2, 500_000), (3, 2)] {
            assert!(!clock.is_certain(at(u64::from(host))));
            clock.hear(host, NOON + off + u64::from(host), at(u64::from(host)));
        }
        assert!(clock.is_certain(at(4)));
        assert_eq!(clock.unix(at(10)), Some(NOON + 11));
    }

    #[test]
    fn two_that_differ_are_not_believed() {
        let mut clock = WallClock::new(2);
        clock.hear(0, NOON, at(0));
        clock.hear(1, NOON + 86_400, at(0));
        assert!(!clock.is_certain(at(1_000)));
        assert_eq!(clock.unix(at(1_000)), None);
    }

    #[test]
    fn one_is_believed_after_a_minute_unless_time_would_run_backwards() {
        let mut clock = WallClock::new(2);
        clock.hear(0, NOON, at(0));
        assert!(!clock.is_certain(at(59)) && clock.is_certain(at(60)));
        let later = Stamp::new(NOON as u32 + 10_000, true);
        clock.was_root(later, true);
        assert!(!clock.is_certain(at(60)));
        clock.was_root(later, false);
        assert!(clock.is_certain(at(60)), "what one host said is no floor");
    }

    #[test]
    fn what_is_firm_but_before_the_floor_is_no_date() {
        let mut clock = WallClock::new(2);
        clock.was_root(Stamp::new(NOON as u32 + 10_000, true), true);
        (0..3).for_each(|host| clock.hear(host, NOON, at(0)));
        assert!(clock.is_firm(at(1)) && clock.is_certain(at(1)));
        assert_eq!(clock.certain(at(1)), None, "three hosts are early");
        assert_eq!(clock.certain(at(10_000)), Some(NOON + 10_000));
        clock.set(NOON + 500, at(1));
        assert_eq!(
            clock.certain(at(1)),
            Some(NOON + 500),
            "a time server may set the clock back at once"
        );
        // What it said is stored, and counts at the next start, too.
        clock.was_root(clock.stamp(at(1), at(1)), clock.is_firm(at(1)));
        assert_eq!(clock.certain(at(1)), Some(NOON + 500));
        assert_eq!(clock.certain(at(0)), None, "but not before");
    }

    #[test]
    fn hours_are_not_decided_by_one_host_at_once_nor_by_two_that_a_third_denies() {
        let mut clock = WallClock::new(2);
        clock.hear(0, NOON, at(0));
        assert_eq!(clock.local_time(0, at(59)), None);
        assert!(clock.local_time(0, at(60)).is_some());
        clock.hear(1, NOON, at(0));
        clock.hear(2, NOON + 86_400 / 2, at(0));
        assert_eq!(
            clock.local_time(0, at(3_600)),
            None,
            "they do not all agree"
        );
        clock.hear(3, NOON + 1, at(1));
        assert!(clock.local_time(0, at(1)).is_some() && clock.is_firm(at(1)));
    }

    #[test]
    fn time_zones_west_of_greenwich_are_behind() {
        let mut clock = WallClock::new(2);
        // 1 January 2027, 00:30 UTC.
        clock.set(1_798_763_400, at(0));
        let hours = |offset| {
            clock
                .local_time(offset, at(0))
                .map(|time| time.as_secs() % 86_400)
        };
        assert_eq!(hours(0), Some(1_800));
        assert_eq!(hours(60), Some(5_400));
        assert_eq!(hours(-90), Some(82_800));
    }

    #[test]
    fn a_server_wins_over_hosts_and_they_stand_in_for_one_that_fails() {
        let mut clock = WallClock::new(2);
        clock.ask_server(true);
        (0..3).for_each(|host| clock.hear(host, NOON, at(0)));
        assert!(
            !clock.is_certain(at(1)) && clock.unix(at(1)).is_none(),
            "the server has not answered yet"
        );
        clock.ask_server(false);
        assert!(clock.is_certain(at(1)) && !clock.is_by_server());
        assert_eq!(clock.unix(at(1)), Some(NOON + 1));
        assert!(clock.set(NOON + 86_400, at(2)), "the hosts were a day late");
        assert_eq!(clock.unix(at(3)), Some(NOON + 86_401));
        assert!(
            clock.is_by_server() && !clock.set(NOON + 86_402, at(3)),
            "a second is nothing"
        );
        // What happened before the server spoke is dated by it, too.
        assert_eq!(
            clock.stamp(at(1), at(3)),
            Stamp::new((NOON + 86_399 + 1) as u32, true)
        );
    }

    #[test]
    fn a_server_that_says_nothing_is_not_waited_for_for_ever() {
        let mut clock = WallClock::new(2);
        clock.ask_server(true);
        (0..3).for_each(|host| clock.hear(host, NOON, at(10)));
        assert!(!clock.is_certain(at(69)) && clock.is_certain(at(70)));
        let early = clock.stamp(at(20), at(70));
        assert_eq!(
            early,
            Stamp::new(NOON as u32 + 10, true),
            "a moment at which nothing was certain"
        );
    }

    #[test]
    fn without_a_clock_time_goes_on_but_nothing_is_certain() {
        let mut clock = WallClock::new(2);
        let kept = Stamp::new(5_000, false);
        clock.was(kept);
        assert_eq!(clock.ago(kept, at(100)), (Duration::from_secs(102), false));
        // A server knows better, but not when that was.
        clock.set(NOON, at(100));
        assert!(!clock.ago(kept, at(100)).1);
        let certain = clock.stamp(at(50), at(100));
        assert_eq!(clock.ago(certain, at(110)), (Duration::from_secs(60), true));
    }
}
