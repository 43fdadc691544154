//! Records of the few hosts that send signals, kept apart: most hosts never say anything.
//!
//! A host that tells is worth more visits, and would take them from those that do not. Until it is
//! clear that it tells the truth, it lives on what its signals save: it may have as many visits as
//! its pages would ask for if it said nothing, its tellers' own included. What it does not need goes
//! to all; what it saves it may spend a little later ([`SAVED`]). Who lies has wasted nobody's
//! visits but its own pages', and is not listened to once that is clear.
//!
//! A new host is believed as far as others that tell have turned out to be true, and a little more:
//! whoever may tell the truth is tried.
//!
//! Told pages ask for a visit when they are told of, not every so often. How often that is follows
//! from what is believed of rates, which are learnt from so few visits, and in bursts, that a part
//! of the budget would be left over: then they are counted as asking for less.
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

/// So much of the budget may be left over before told pages are counted as asking for less.
const LEFT_OVER: f32 = 1.0 / 32.0;
/// Where more is left over, nobody could be asked: that says nothing.
const NOBODY_ASKED: f32 = 0.5;
/// So many fetches of budget say how much is left over.
const ENOUGH_FETCHES: f32 = 16.0;
/// How fast that follows: each time it is corrected by this share of what is left over, …
const FOLLOWS: f32 = 0.25;
/// … and they count as asking for this much of what their rates foresee at least.
const LEAST_ASKED: f32 = 1.0 / 8.0;

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
            provider: Provider::NOTHING,
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

    /// What is guessed of it without its own record. Whoever says when pages have changed is
    /// guessed to be like the others that do; of expectations nobody knows.
    fn guess(&self, news: &Provider) -> Provider {
        if self.by_news {
            news.guess()
        } else {
            Provider::new()
        }
    }

    /// What is believed of it.
    fn believed(&self, news: &Provider) -> Provider {
        if self.by_siblings {
            self.provider
        } else {
            self.provider.on(&self.guess(news))
        }
    }

    /// May it have what its pages ask for? By its own record it tells the truth, or nobody listens
    /// to it and there is no teller to pay for.
    fn is_free(&self, news: &Provider) -> bool {
        let own = self.provider.on(&Provider::new());
        own.is_proven() || self.believed(news).is_noise() && self.saved >= 0.0
    }

    /// What it says about a page that has sent so many signals, if that counts: not that of a host
    /// that only makes noise. Siblings are not heard until they have helped.
    fn speaks(&self, signals: u32, news: &Provider) -> Option<Provider> {
        let believed = self.believed(news);
        let counts = match self.by_siblings {
            true => signals > 0 && believed.beats_chance(),
            false => !believed.is_noise(),
        };
        counts.then_some(believed)
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
    /// Of what the rates of told pages foresee, they are counted as asking for this share.
    asked: f32,
    /// When it was last seen what is left over, and the fetches there had been by then.
    began: Tick,
    fetches: u32,
    /// What all were worth that say when pages have changed, …
    news: Provider,
    /// … and hosts for which no record was left.
    others: Provider,
}

impl<I: Id> Providers<I> {
    pub(super) const fn new() -> Self {
        Self {
            own: heapless::Vec::new(),
            fair: 1.0,
            asked: 1.0,
            began: Tick::NEVER,
            fetches: 0,
            news: Provider::new(),
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
                record.provider = Provider::NOTHING;
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
    pub(super) fn record(&self, host: I, signals: u32) -> Option<Provider> {
        match self.of(host) {
            Some(record) => record.speaks(signals, &self.news),
            None => (signals > 0 && !self.others.is_noise()).then_some(self.others),
        }
    }

    /// What is believed of a host that has a record because it tells, whether it counts or not.
    pub(super) fn believed(&self, host: I) -> Option<Provider> {
        let record = self.of(host).filter(|record| !record.by_siblings)?;
        Some(record.believed(&self.news))
    }

    /// Learns from a visit to a page of this host and `rate` a day, which had sent so many signals
    /// since the visit before.
    pub(super) fn learn(&mut self, host: I, signals: u32, visit: &Visit, rate: f32) {
        let news = self.news;
        match self.of_mut(host) {
            None if signals > 0 => self.others.update(visit, signals, rate),
            None => {}
            Some(record) if record.by_siblings && signals > 0 => {
                record.provider.update_beyond_chance(visit, rate);
            }
            Some(record) if record.by_siblings => {}
            Some(record) => {
                let guess = record.guess(&news);
                let mut believed = record.provider.on(&guess);
                believed.update(visit, signals, rate);
                record.provider = believed.beyond(&guess);
                if record.by_news {
                    self.news.update(visit, signals, rate);
                }
            }
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
        let news = self.news;
        let Some(record) = self.of_mut(host) else {
            return asked;
        };
        record.share = core::mem::replace(&mut record.silent, 0.0);
        let told = core::mem::replace(&mut record.told, 0.0);
        record.saved = record.share - told;
        let too_much = if record.is_free(&news) {
            0.0
        } else {
            greater(-record.saved, 0.0)
        };
        sane(asked - too_much)
    }

    /// A round has ended in which so much was asked for, and there is so much; now there have been
    /// so many `fetches`, and the budget is so many a day.
    pub(super) fn end_round(
        &mut self,
        demand: f32,
        supply: f32,
        fetches: u32,
        now: Tick,
        per_day: Option<f32>,
    ) {
        let ratio = supply / demand;
        self.fair = if ratio > 0.5 { lesser(ratio, 1.0) } else { 0.5 };
        let budget = per_day.map_or(0.0, |per_day| per_day * now.days_since(self.began));
        if self.began != Tick::NEVER && per_day.is_some() {
            if budget < ENOUGH_FETCHES {
                // Short rounds add up.
                return;
            }
            let left_over = 1.0 - fetches.wrapping_sub(self.fetches) as f32 / budget;
            if left_over <= NOBODY_ASKED {
                let by = 1.0 + FOLLOWS * (LEFT_OVER - greater(left_over, -1.0));
                self.asked = lesser(greater(self.asked * by, LEAST_ASKED), 1.0);
            }
        }
        self.began = now;
        self.fetches = fetches;
    }

    /// What a told page is counted as asking for whose rate foresees so many visits a day.
    pub(super) fn asked(&self, foreseen: f32) -> f32 {
        self.asked * foreseen
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
        let provider = record.map_or(self.others, |record| record.believed(&self.news));
        let told = greater(provider.recall() * provider.precision(), LEAST_WORTH);
        let gap = worth::teller_gap(pages, told, share);
        lesser(greater(gap, MOST_SHARE / share), MOST_GAPS * pages / share)
    }

    /// A page of this host was visited: when the next may be, by what it has saved; `None` if it may
    /// have what it asks for.
    pub(super) fn spend(&mut self, host: I, now: Tick) -> Option<Tick> {
        let fair = TOLL * self.fair;
        let news = self.news;
        let lives_on_it = |record: &&mut Record<I>| record.share > 0.0 && !record.is_free(&news);
        let record = self.of_mut(host).filter(lives_on_it)?;
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
        self.began = self.began.moved(by);
    }
}

/// Visits a day that are a number and not below 0: what signals make of extreme rates must not
/// reach the price of all.
fn sane(visits: f32) -> f32 {
    lesser(greater(0.0, visits), MOST_VISITS_A_DAY)
}

/// What a host's signals mean to a page of this change rate a day. Its precision is taken to be as
/// good as it may well be.
#[inline(never)] // Once for all callers.
pub(super) fn signals(provider: &Provider, rate: f32) -> Signals<f32> {
    let recall = lesser(provider.recall(), MOST_RECALL);
    Signals::new(rate, recall, provider.precision() + provider.doubt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn precision(providers: &Providers<u16>, host: u16) -> Option<f32> {
        let believed = providers.believed(host)?;
        Some(believed.precision())
    }

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
        let before = precision(&providers, 3).expect("it is known");
        assert!(before < 0.1, "{before}");
        assert!(providers.meet(3, false));
        let after = precision(&providers, 3);
        assert_eq!(after, Some(Provider::new().precision()), "as of a new one");
        assert!(!providers.meet(3, true), "its news will come");
        assert!(providers.meet(4, true), "others are not concerned");
    }

    /// Hosts of which one has told before each of many visits, all of which found a change or none.
    fn told(changed: bool) -> Providers<u16> {
        let mut providers = Providers::new();
        assert!(providers.meet(3, false));
        for _ in 0..64 {
            let visit = Visit::new(crate::time::Duration::DAY, changed);
            providers.learn(3, 1, &visit, 0.1);
        }
        providers
    }

    /// What a host gets that asks for four visits, and for one if it said nothing.
    fn gets(providers: &mut Providers<u16>, host: u16) -> f32 {
        providers.ask(host, 4.0, 1.0);
        providers.settle(host, 4.0)
    }

    #[test]
    fn who_tells_the_truth_may_have_what_its_pages_ask_for() {
        let mut honest = told(true);
        assert_eq!(gets(&mut honest, 3), 4.0);
        for extreme in [f32::NAN, f32::INFINITY] {
            let asked = honest.settle(3, extreme);
            assert!(asked.is_finite(), "{extreme} would reach the price of all");
        }
        assert_eq!(honest.spend(3, Tick::FILLER), None);
        let mut new: Providers<u16> = Providers::new();
        assert!(new.meet(3, false));
        assert_eq!(gets(&mut new, 3), 1.0, "nobody knows yet");
        assert!(new.spend(3, Tick::FILLER).is_some());
    }

    #[test]
    fn who_lies_is_not_heard_and_has_nothing_of_it() {
        let mut liar = told(false);
        assert!(liar.record(3, 1).is_none() && liar.believed(3).is_some());
        assert_eq!(gets(&mut liar, 3), 1.0, "a teller that only costs");
        liar.ask(3, 1.0, 1.0);
        assert_eq!(liar.settle(3, 1.0), 1.0);
        assert_eq!(liar.spend(3, Tick::FILLER), None, "like any other host");
    }

    /// What has faded must not become more than all when others turn out to be better.
    #[test]
    fn a_record_stays_one_when_what_is_guessed_changes() {
        let mut providers: Providers<u16> = Providers::new();
        assert!(providers.meet(3, false) && providers.meet(4, false));
        let visit = |changed| Visit::new(crate::time::Duration::DAY, changed);
        for round in 0..2_000 {
            providers.learn(3, 1, &visit(true), 0.1);
            providers.learn(4, 1, &visit(round > 600), 0.1);
            for host in [3, 4] {
                let believed = providers.believed(host).expect("it tells");
                assert!(
                    believed.precision() <= 1.0 && believed.doubt() >= 0.0,
                    "{believed:?}"
                );
            }
        }
        assert_eq!(gets(&mut providers, 3), 4.0, "it has always told the truth");
    }

    #[test]
    fn a_new_host_is_believed_as_others_have_turned_out() {
        for (told, low, high) in [(told(true), 0.9, 1.0), (told(false), 0.0, 0.1)] {
            let mut providers = told;
            assert!(providers.meet(4, false) && providers.meet(5, true));
            let guessed = precision(&providers, 4).expect("it has told");
            assert!((low..high).contains(&guessed), "{guessed}");
            let expected = precision(&providers, 5).expect("it has told");
            assert_eq!(
                expected,
                Provider::new().precision(),
                "that is another matter"
            );
        }
    }

    #[test]
    fn told_pages_count_for_less_while_budget_is_left_over() {
        let mut providers: Providers<u16> = Providers::new();
        let mut days = |from: u32, to: u32, fetches: u32| {
            for day in from..to {
                let now = Tick::FILLER.after_days(day as f32);
                providers.end_round(1.0, 1.0, fetches * day, now, Some(100.0));
                // A round that took no time.
                providers.end_round(1.0, 1.0, fetches * day, now, Some(100.0));
            }
            providers.asked(1.0)
        };
        let half = days(0, 9, 60);
        assert!((0.3..0.5).contains(&half), "{half}");
        let all = days(9, 40, 100);
        assert!(all > 1.2 * half, "{all} after {half}");
        assert_eq!(days(40, 400, 100), 1.0);
        assert_eq!(days(400, 450, 1), 1.0, "nobody could be asked");
    }

    #[test]
    fn what_single_short_rounds_leave_over_says_nothing() {
        let mut providers: Providers<u16> = Providers::new();
        let mut fetches = 0;
        for round in 0..22 {
            let now = Tick::FILLER.after_days(0.1 * round as f32);
            // Ten are allowed.
            fetches += if round % 2 == 0 { 14 } else { 6 };
            providers.end_round(1.0, 1.0, fetches, now, Some(100.0));
        }
        assert_eq!(providers.asked(1.0), 1.0, "all were made in the end");
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
            providers.record(3, 1).map(|record| record.precision())
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
        assert_eq!(
            providers.record(3, 1).map(|record| record.recall()),
            Some(0.0)
        );
        assert_eq!(providers.settle(3, 7.0), 7.0);
    }
}
