//! Records of the few hosts that send signals, kept apart: most hosts never say anything.
//!
//! A host that tells is worth more visits, and would take them from those that do not. So it lives
//! on what its signals save: it may have as many visits as its pages would ask for if it said
//! nothing, its tellers' own included. What it does not need goes to all; what it saves it may
//! spend a little later ([`SAVED`]). Who lies has wasted nobody's visits but its own pages'.
//!
//! What pages say about their siblings is kept in the same records, for hosts that say nothing: how
//! often a page has changed, too, is learnt for each host, and what a host's pages have in common
//! differs so much that one record for all was worth nothing. Until it is clearly more than chance,
//! it moves no visit. Silence means nothing here, and nobody is told more often than visits find
//! changes, so that such a host lives like all others.

use super::tick::Tick;
use crate::heap::{Id, Key as _};
use crate::learn::Visit;
use crate::learn::hints::{Provider, Signals};
use crate::math::{greater, lesser};
use crate::plan::worth;

/// Hosts with a record of their own. Further ones that send signals share one.
const RECORDS: usize = if cfg!(feature = "std") { 256 } else { 8 };
/// So many of them may be taken by hosts that only say how long their pages are good for, as most
/// servers do.
const BY_HEADERS: usize = RECORDS / 2;
/// However well a host has told so far, its pages are looked at after so much of the time that
/// others are left alone: a host that falls silent is found out.
const MOST_RECALL: f32 = 15.0 / 16.0;
/// Visits that a host may have saved up. With more, what it tells all at once would make the pages
/// of others late, and what is made up for after that looks like pages that change too fast.
const SAVED: f32 = 2.0;

/// Of what its pages would ask for without signals, a host that tells has a little less: what it
/// asks for comes first, so that it would have all of it where others have to wait.
const TOLL: f32 = 31.0 / 32.0;
/// However little a teller was worth so far, it is listened to as if it were worth this.
const LEAST_WORTH: f32 = 1.0 / 16.0;
/// One visit to a host in so many goes to its teller at the most.
const MOST_SHARE: f32 = 4.0;
/// A teller is left alone for so many gaps of its host's pages at the most.
const MOST_GAPS: f32 = 4.0;

/// Visits a day that a page may ask for, and more than any gate lets through.
const MOST_VISITS_A_DAY: f32 = 1e9;

/// What is known of one host's signals, and what it may spend.
#[derive(Clone, Copy, Debug)]
struct Record<I> {
    provider: Provider,
    /// Visits a day that its pages would ask for without signals, summed up by the present round.
    silent: f32,
    /// Visits a day that they do ask for.
    told: f32,
    /// What they would ask for without signals, by the last round; 0 before there was one.
    share: f32,
    /// How much more that was than what they did ask for.
    saved: f32,
    /// When what it has spent is earned.
    spent: Tick,
    host: I,
    /// The host itself says nothing: its signals are changes of siblings.
    by_siblings: bool,
    /// It has said that pages have changed, not only when they may.
    by_news: bool,
}

impl<I> Record<I> {
    const fn new(host: I) -> Self {
        Self {
            provider: Provider::new(),
            silent: 0.0,
            told: 0.0,
            share: 0.0,
            saved: 0.0,
            spent: Tick::FILLER,
            host,
            by_siblings: false,
            by_news: false,
        }
    }

    fn by_siblings(host: I) -> Self {
        Self {
            provider: Provider::without_recall(),
            by_siblings: true,
            ..Self::new(host)
        }
    }

    /// Does it say anything about a page that has sent so many signals? Siblings are not heard
    /// until they have helped.
    fn speaks(&self, signals: u32) -> bool {
        !self.by_siblings || signals > 0 && self.provider.beats_chance()
    }
}

/// What is known of signals, by host.
#[derive(Clone, Debug)]
pub(super) struct Providers<I> {
    /// Those that are taken.
    own: heapless::Vec<Record<I>, RECORDS>,
    /// What there is of what all ask for, by the last round: late pages of silent hosts must not
    /// wait for those of hosts that tell.
    fair: f32,
    others: Provider,
}

impl<I: Id> Providers<I> {
    pub(super) const fn new() -> Self {
        Self {
            own: heapless::Vec::new(),
            fair: 1.0,
            others: Provider::new(),
        }
    }

    /// A signal came from this host: from now on it has a record, if there is one left. Hosts that
    /// are `expected` to change, and do not say that they have, leave some to the others. Whoever
    /// tells comes before siblings.
    ///
    /// Says whether the signal counts: what is expected of a host that says when its pages have
    /// changed does not. Its news come anyway, so that each change would count twice, and how often
    /// they are true would be mixed with how often expectations are.
    pub(super) fn meet(&mut self, host: I, expected: bool) -> bool {
        let room = if expected { BY_HEADERS } else { RECORDS };
        let new = Record {
            by_news: !expected,
            ..Record::new(host)
        };
        if let Some(record) = self.of_mut(host) {
            if record.by_siblings {
                *record = new;
            } else if expected {
                return !record.by_news;
            } else if !record.by_news {
                // What its expectations were worth says nothing of its news.
                record.by_news = true;
                record.provider = Provider::new();
            }
        } else if !self.add(new, room)
            && let Some(record) = self.own.iter_mut().find(|record| record.by_siblings)
        {
            *record = new;
        }
        true
    }

    /// A page of this host is signalled by a change of another one. Says whether that has a record:
    /// not that of a host that tells, nor where none is left.
    pub(super) fn meet_siblings(&mut self, host: I) -> bool {
        match self.of(host) {
            Some(record) => record.by_siblings,
            None => self.add(Record::by_siblings(host), RECORDS),
        }
    }

    /// Takes one record more, if fewer than so many are taken.
    fn add(&mut self, new: Record<I>, room: usize) -> bool {
        self.own.len() < room && self.own.push(new).is_ok()
    }

    #[inline(never)] // Once for all callers.
    fn of(&self, host: I) -> Option<&Record<I>> {
        self.own.iter().find(|record| record.host == host)
    }

    #[inline(never)] // Once for all callers.
    fn of_mut(&mut self, host: I) -> Option<&mut Record<I>> {
        self.own.iter_mut().find(|record| record.host == host)
    }

    /// The record of a page's host; `None` where what it has said, or its silence, means nothing:
    /// it never speaks or cannot be told from one that never does, or its siblings do not help.
    pub(super) fn record(&self, host: I, signals: u32) -> Option<&Provider> {
        match self.of(host) {
            Some(record) => record.speaks(signals).then_some(&record.provider),
            None => (signals > 0).then_some(&self.others),
        }
    }

    /// Learns from a visit to a page of this host and `rate` a day, which had sent so many signals
    /// since the visit before.
    pub(super) fn learn(&mut self, host: I, signals: u32, visit: &Visit, rate: f32) {
        let Some(record) = self.of_mut(host) else {
            if signals > 0 {
                self.others.update(visit, signals, rate);
            }
            return;
        };
        if !record.by_siblings {
            record.provider.update(visit, signals, rate);
        } else if signals > 0 {
            record.provider.update_beyond_chance(visit, rate);
        }
    }

    /// Does this host tell?
    pub(super) fn tells(&self, host: I) -> bool {
        self.of(host).is_some_and(|record| !record.by_siblings)
    }

    /// Books the visits a day that a page of this host asks for, and what it would ask for without
    /// signals.
    pub(super) fn ask(&mut self, host: I, told: f32, silent: f32) {
        if let Some(record) = self.of_mut(host) {
            record.told += sane(told);
            record.silent += sane(silent);
        }
    }

    /// What is asked for at the gate of a host, less what its pages ask for beyond what they would
    /// without signals: that it cannot have. Ends the round for it.
    pub(super) fn settle(&mut self, host: I, asked: f32) -> f32 {
        let Some(record) = self.of_mut(host) else {
            return asked;
        };
        record.share = core::mem::replace(&mut record.silent, 0.0);
        let told = core::mem::replace(&mut record.told, 0.0);
        record.saved = record.share - told;
        sane(asked - greater(-record.saved, 0.0))
    }

    /// A round has ended in which so much was asked for, and there is so much.
    pub(super) fn end_round(&mut self, demand: f32, supply: f32) {
        let ratio = supply / demand;
        self.fair = if ratio > 0.5 { lesser(ratio, 1.0) } else { 0.5 };
    }

    /// Visits a day that the signals of a host save.
    pub(super) fn saved(&self, host: I) -> f32 {
        self.of(host).map_or(0.0, |record| record.saved)
    }

    /// Days between two visits of a host's teller, where so many `pages` are told of, and pages are
    /// visited every `mean_gap` days: what is best by [`worth`], within bounds.
    pub(super) fn teller_gap(&self, host: I, pages: f32, mean_gap: f32) -> f32 {
        let record = self.of(host);
        let pages = greater(pages, 1.0);
        let share = record.map_or(0.0, |record| record.share);
        let share = if share > 0.0 { share } else { pages / mean_gap };
        let provider = record.map_or(&self.others, |record| &record.provider);
        let told = greater(provider.recall() * provider.precision(), LEAST_WORTH);
        let gap = worth::teller_gap(pages, told, share);
        lesser(greater(gap, MOST_SHARE / share), MOST_GAPS * pages / share)
    }

    /// A page of this host was visited: when the next may be, by what it has saved.
    pub(super) fn spend(&mut self, host: I, now: Tick) -> Option<Tick> {
        let fair = TOLL * self.fair;
        let record = self.of_mut(host).filter(|record| record.share > 0.0)?;
        let each = 1.0 / (fair * record.share);
        let earned = record.spent.max(now.before_days(SAVED * each));
        record.spent = earned.after_days(each);
        Some(record.spent)
    }

    /// The clock was set back by so many ticks.
    pub(super) fn move_ticks(&mut self, by: u32) {
        for record in &mut self.own {
            record.spent = record.spent.moved(by);
        }
    }
}

/// Visits a day that are a number and not below 0: what signals make of extreme rates must not
/// reach the price of all.
fn sane(visits: f32) -> f32 {
    lesser(greater(0.0, visits), MOST_VISITS_A_DAY)
}

/// What a host's signals mean to a page of this change rate a day.
#[inline(never)] // Once for all callers.
pub(super) fn signals(provider: &Provider, rate: f32) -> Signals<f32> {
    let recall = lesser(provider.recall(), MOST_RECALL);
    Signals::new(rate, recall, provider.precision())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_tells_comes_before_siblings() {
        let mut providers: Providers<u16> = Providers::new();
        for host in 0..RECORDS as u16 {
            assert!(providers.meet_siblings(host) && !providers.tells(host));
        }
        assert!(!providers.meet_siblings(1_000), "no record is left");
        assert!(providers.meet(1_000, true));
        assert!(providers.tells(1_000), "in the place of one of them");
        assert!(providers.meet(5, false));
        assert!(providers.tells(5) && !providers.meet_siblings(5));
    }

    #[test]
    fn news_count_once_where_they_were_expected() {
        let mut providers: Providers<u16> = Providers::new();
        assert!(providers.meet(3, true), "all that is said");
        for _ in 0..8 {
            let visit = Visit::new(crate::time::Duration::DAY, false);
            providers.learn(3, 1, &visit, 0.1);
        }
        let before = providers.record(3, 0).map_or(1.0, Provider::precision);
        assert!(before < 0.1, "{before}");
        assert!(providers.meet(3, false));
        let after = providers.record(3, 0).map(Provider::precision);
        assert_eq!(after, Some(Provider::new().precision()), "as of a new one");
        assert!(!providers.meet(3, true), "its news will come");
        assert!(providers.meet(4, true), "others are not concerned");
    }

    #[test]
    fn siblings_are_heard_where_they_find_more_than_chance() {
        // A page that changes on every second day by chance, seen a day after each signal. How far
        // are its siblings believed, if they are heard at all?
        let after = |changed: fn(u32) -> bool| {
            let mut providers: Providers<u16> = Providers::new();
            assert!(providers.meet_siblings(3));
            assert!(providers.record(3, 1).is_none(), "not before it has helped");
            for visit in 0..200 {
                let visit = Visit::new(crate::time::Duration::DAY, changed(visit));
                providers.learn(3, 1, &visit, core::f32::consts::LN_2);
            }
            providers.record(3, 1).map(Provider::precision)
        };
        let together = after(|visit| visit % 10 != 0).expect("heard");
        // Nine in ten of the visits find a change, five in ten would by chance.
        assert!((together - 0.8).abs() < 0.05, "{together}");
        assert_eq!(after(|visit| visit % 2 == 0), None, "by chance");
        assert_eq!(after(|visit| visit % 10 == 0), None, "even less");
    }

    #[test]
    fn the_silence_of_siblings_says_nothing() {
        let mut providers: Providers<u16> = Providers::new();
        assert!(providers.meet_siblings(3));
        for day in 0..100 {
            let told = day % 2 == 0;
            let visit = Visit::new(crate::time::Duration::DAY, told);
            providers.learn(3, u32::from(told), &visit, 0.1);
        }
        assert!(providers.record(3, 0).is_none());
        assert_eq!(providers.record(3, 1).map(Provider::recall), Some(0.0));
        assert_eq!(providers.settle(3, 7.0), 7.0);
    }
}
