//! What the scheduler must never do, in the simplest words: a model beside it that checks every
//! answer.

use std::collections::BTreeMap;

use dunlin::learn::Estimate;
use dunlin::learn::hints::Hint;
use dunlin::polite::{Hours, MAX_RETRY_AFTER};
use dunlin::scheduler::{
    Decision, Error, HostId, Outcome, PageId, PageSettings, Scheduler, Settings,
};
use dunlin::time::{Duration, Instant};
use dunlin_suite::bench::Random;

pub const PAGES: usize = 40;
pub const HOSTS: usize = 10;
/// Pages that one call may look at.
const MOST_LOOKS: usize = 24;

/// What hosts that share a gate have in common.
#[derive(Clone, Copy, Debug)]
struct ModelGate {
    gap: Duration,
    /// The hours of a day in which it may be asked, from and to; `None` for all of them.
    hours: Option<(u64, u64)>,
    /// No fetch before this, and what it was before the present fetch began.
    earliest: Instant,
    before: Instant,
    busy: bool,
}

impl ModelGate {
    /// May it be asked in this hour of the day? Counted here, not by the code under test.
    fn is_open(&self, hour: u64) -> bool {
        match self.hours {
            None => true,
            Some((from, to)) if from < to => (from..to).contains(&hour),
            Some((from, to)) => hour >= from || hour < to,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct ModelPage {
    host: usize,
    in_flight: bool,
    /// Fetches that got an answer.
    answers: u32,
    /// Its rate was not given, so that it is never given up.
    unknown: bool,
}

type Beyond = Box<Scheduler<{ PAGES + 2 }, { HOSTS + 2 }>>;

fn beyond() -> Beyond {
    let mut scheduler = Beyond::default();
    for _ in 0..HOSTS + 2 {
        scheduler.add_host(Duration::ZERO).expect("room");
    }
    let host = scheduler.host_id(0).expect("the first");
    for _ in 0..PAGES + 2 {
        scheduler
            .add_page(host, &PageSettings::DEFAULT, Instant::ZERO)
            .expect("room");
    }
    scheduler
}

/// The scheduler and the model beside it.
pub struct Checked {
    pub scheduler: Box<Scheduler<PAGES, HOSTS>>,
    /// A larger one, whose ids may be of pages and hosts that the first does not have.
    beyond: Beyond,
    settings: Settings,
    pub now: Instant,
    hosts: Vec<usize>,
    gates: Vec<ModelGate>,
    pages: BTreeMap<PageId, ModelPage>,
    wall: Option<(Instant, Duration)>,
    per_day: Option<f64>,
    budget_since: Instant,
    /// Requests started and pages denied under the present budget.
    starts: Vec<(Instant, PageId)>,
    denials: Vec<Instant>,
}

impl Checked {
    pub fn new(settings: Settings) -> Self {
        Self {
            scheduler: Box::new(Scheduler::new(settings)),
            beyond: beyond(),
            settings,
            now: Instant::ZERO,
            hosts: Vec::new(),
            gates: Vec::new(),
            pages: BTreeMap::new(),
            wall: None,
            per_day: None,
            budget_since: Instant::ZERO,
            starts: Vec::new(),
            denials: Vec::new(),
        }
    }

    fn gate(&mut self, page: PageId) -> &mut ModelGate {
        let host = self.pages[&page].host;
        &mut self.gates[self.hosts[host]]
    }

    fn host_id(&self, host: usize) -> HostId {
        self.beyond.host_id(host).expect("a host of the larger one")
    }

    /// A page that exists, as a rule; sometimes one that does not.
    fn any_page(&self, random: &mut Random) -> PageId {
        let index = random.below(PAGES as u32 + 2) as usize;
        self.pages
            .keys()
            .nth(index)
            .copied()
            .or_else(|| self.beyond.page_id(index))
            .expect("a page of the larger one")
    }

    pub fn add_host(&mut self, gap: Duration) {
        let result = self.scheduler.add_host(gap);
        if self.hosts.len() == HOSTS {
            assert_eq!(result, Err(Error::HostsFull));
            return;
        }
        assert_eq!(result, Ok(self.host_id(self.hosts.len())));
        self.hosts.push(self.gates.len());
        let earliest = Instant::ZERO;
        let before = Instant::ZERO;
        // A gap is kept in whole milliseconds, rounded up.
        let gap = Duration::from_millis(gap.as_micros().div_ceil(1_000));
        self.gates.push(ModelGate {
            gap,
            hours: None,
            earliest,
            before,
            busy: false,
        });
    }

    pub fn add_page(&mut self, host: usize, page: &PageSettings, now: Instant) {
        let result = self.scheduler.add_page(self.host_id(host), page, now);
        if host >= self.hosts.len() {
            assert_eq!(result, Err(Error::UnknownHost));
        } else if self.pages.len() == PAGES {
            assert_eq!(result, Err(Error::PagesFull));
        } else {
            let id = result.expect("there is room");
            let new = ModelPage {
                host,
                in_flight: false,
                answers: 0,
                unknown: page.rate.is_none(),
            };
            assert!(
                self.pages.insert(id, new).is_none(),
                "{id:?} was given out twice"
            );
        }
        self.now = self.now.max(now);
    }

    fn share(&mut self, host: usize, with: usize) {
        let result = self
            .scheduler
            .share_gate(self.host_id(host), self.host_id(with));
        if host.max(with) >= self.hosts.len() {
            assert_eq!(result, Err(Error::UnknownHost));
            return;
        }
        let from = self.hosts[host];
        let to = self.hosts[with];
        if from != to && (self.gates[from].busy || self.gates[to].busy) {
            assert_eq!(result, Err(Error::HostBusy));
            return;
        }
        assert_eq!(result, Ok(()));
        let other = self.gates[from];
        let gate = &mut self.gates[to];
        gate.gap = gate.gap.max(other.gap);
        gate.earliest = gate.earliest.max(other.earliest);
        self.hosts
            .iter_mut()
            .filter(|gate| **gate == from)
            .for_each(|gate| *gate = to);
    }

    pub fn set_budget(&mut self, per_day: Option<f32>, now: Instant) {
        assert_eq!(self.scheduler.set_budget(per_day, now), Ok(()));
        self.now = self.now.max(now);
        // Slower than one in two years is as slow as it gets.
        self.per_day = per_day.map(|rate| f64::from(rate).max(1.0 / 814.0));
        self.budget_since = self.now;
        self.starts.clear();
        self.denials.clear();
    }

    pub fn set_clock(&mut self, time_of_day: Duration, now: Instant) {
        self.scheduler.set_clock(time_of_day, now);
        self.now = self.now.max(now);
        self.wall = Some((self.now, time_of_day));
    }

    /// Calls something that re-plans, and counts the pages that it looks at.
    fn bounded<T>(&mut self, call: impl FnOnce(&mut Scheduler<PAGES, HOSTS>) -> T) -> T {
        let before = self.scheduler.next_page_to_review();
        let result = call(&mut self.scheduler);
        let after = self.scheduler.next_page_to_review();
        let looks = if after >= before {
            after - before
        } else {
            PAGES - before + after
        };
        assert!(
            looks <= MOST_LOOKS || after == 0,
            "{looks} pages looked at in a call"
        );
        result
    }

    pub fn next(&mut self, now: Instant) -> Decision {
        let decision = self.bounded(|scheduler| scheduler.next(now));
        self.now = self.now.max(now);
        match decision {
            Decision::Fetch(page) => self.check_start(page),
            Decision::WaitUntil(then) => {
                assert!(then > self.now, "to wait until {then:?} is no wait")
            }
            Decision::Idle => {}
        }
        decision
    }

    fn check_start(&mut self, page: PageId) {
        let now = self.now;
        let known = self.pages.get_mut(&page).expect("a page that was added");
        assert!(!known.in_flight, "{page:?} is being fetched already");
        known.in_flight = true;
        let wall = self.wall;
        let without_clock = self.settings.fetch_without_clock;
        let gate = self.gate(page);
        assert!(!gate.busy, "two fetches from one host");
        assert!(
            now >= gate.earliest,
            "impolite: {now:?} is before {:?}",
            gate.earliest
        );
        match wall {
            Some((then, time_of_day)) => {
                let hour = (time_of_day + (now - then)).as_micros() / 3_600_000_000 % 24;
                assert!(gate.is_open(hour), "hour {hour} of {:?}", gate.hours)
            }
            None => assert!(without_clock || (0..24).all(|hour| gate.is_open(hour))),
        }
        gate.busy = true;
        gate.before = gate.earliest;
        gate.earliest = now + gate.gap;
        self.starts.push((now, page));
        self.check_budget();
    }

    /// In no window that ends now, more than the budget and a burst; since it was set, no burst at
    /// all.
    fn check_budget(&self) {
        let Some(per_day) = self.per_day else { return };
        let allowance = |since: Instant, at_once: f64| {
            let denied = self
                .denials
                .iter()
                .filter(|denied| **denied >= since)
                .count();
            (self.now - since).as_days::<f64>() * per_day + at_once + denied as f64 + 1e-6
        };
        for (count, (start, _)) in (1..).zip(self.starts.iter().rev().take(100)) {
            let allowed = allowance(*start, f64::from(self.settings.burst.max(1)));
            assert!(
                f64::from(count) <= allowed,
                "{count} since {start:?}, {allowed} allowed"
            );
        }
        let allowed = allowance(self.budget_since, 1.0);
        assert!(
            self.starts.len() as f64 <= allowed,
            "a burst after a new budget"
        );
    }

    pub fn record(&mut self, page: PageId, outcome: Outcome, now: Instant) {
        let result = self.bounded(|scheduler| scheduler.record(page, outcome, now));
        self.now = self.now.max(now);
        match self.pages.get_mut(&page) {
            None => return assert_eq!(result, Err(Error::UnknownPage)),
            Some(known) if !known.in_flight => return assert_eq!(result, Err(Error::NotInFlight)),
            Some(known) => {
                known.in_flight = false;
                known.answers += u32::from(outcome.is_answer());
            }
        }
        assert_eq!(result, Ok(()));
        let end = self.now;
        let settings = self.settings.gate;
        if outcome == Outcome::Denied {
            self.refund(page);
        }
        let gate = self.gate(page);
        gate.busy = false;
        if settings.gap_from_end {
            gate.earliest = gate.earliest.max(end + gate.gap);
        }
        match outcome {
            Outcome::Denied => gate.earliest = gate.before.max(end),
            Outcome::Refused {
                retry_after: Some(asked),
            } => {
                gate.earliest = gate.earliest.max(end + asked.min(MAX_RETRY_AFTER));
            }
            Outcome::Refused { retry_after: None } | Outcome::Failed => {
                let least = settings.back_off.min(settings.back_off_ceiling);
                gate.earliest = gate.earliest.max(end + least / 4 * 3);
            }
            _ => {}
        }
    }

    /// A page is somewhere else from now on. If it was being fetched, nobody was asked, and it goes
    /// on there.
    fn hand_over(&mut self, page: PageId, host: usize, now: Instant) {
        let result = self.scheduler.hand_over(page, self.host_id(host), now);
        self.now = self.now.max(now);
        match self.pages.get(&page) {
            None => return assert_eq!(result, Err(Error::UnknownPage)),
            Some(_) if host >= self.hosts.len() => {
                return assert_eq!(result, Err(Error::UnknownHost));
            }
            Some(known) if known.in_flight => {
                let end = self.now;
                self.refund(page);
                let gate = self.gate(page);
                gate.busy = false;
                gate.earliest = gate.before.max(end);
            }
            Some(_) => {}
        }
        assert_eq!(result, Ok(()));
        let known = self.pages.get_mut(&page).expect("it is there");
        known.in_flight = false;
        known.host = host;
        assert_eq!(self.scheduler.host_of(page), Ok(self.host_id(host)));
    }

    /// A fetch that had begun asked nobody: the budget gets it back.
    fn refund(&mut self, page: PageId) {
        self.denials.push(self.now);
        self.starts.retain(|(_, started)| *started != page);
    }

    /// Does one operation at random.
    pub fn operate(&mut self, random: &mut Random) {
        let now = self.some_time(random);
        let page = self.any_page(random);
        let host = random.below(HOSTS as u32 + 1) as usize;
        match random.below(100) {
            0..45 => _ = self.next(now),
            45..72 => {
                let page = self.one_in_flight(random);
                self.record(page, some_outcome(random), now);
            }
            72..74 => {
                let page = self.one_in_flight(random);
                self.hand_over(page, host, now);
            }
            74 => self.hand_over(page, host, now),
            75..80 => self.add_page(host, &some_page(random), now),
            80..83 => self.remove(page),
            83..88 => self.hint(page, random, now),
            88..90 => self.set_weight(page, random),
            90..92 => self.restore(page, random, now),
            92..94 => {
                let gap = some_duration(random, 5_000_000);
                let known = self.scheduler.set_gap(self.host_id(host), gap).is_ok();
                assert_eq!(known, host < self.hosts.len());
                if known {
                    self.gates[self.hosts[host]].gap =
                        Duration::from_millis(gap.as_micros().div_ceil(1_000));
                }
            }
            94..96 => {
                let drawn = match random.below(3) {
                    0 => None,
                    _ => Some((random.below(24), random.below(25))),
                };
                // None are refused: nobody could ever be asked.
                let drawn = drawn.filter(|(from, to)| from != to);
                let hours = drawn.map_or(Some(Hours::ALWAYS), |(from, to)| {
                    Hours::new(from as u8, to as u8)
                });
                let hours = hours.expect("hours of a day");
                let known = self.scheduler.set_hours(self.host_id(host), hours).is_ok();
                assert_eq!(known, host < self.hosts.len());
                if known {
                    self.gates[self.hosts[host]].hours =
                        drawn.map(|(from, to)| (from.into(), to.into()));
                }
            }
            96 => self.set_clock(Duration::from_secs(u64::from(random.below(100_000))), now),
            97 => {
                let budgets = [
                    None,
                    Some(1e-20),
                    Some(0.5),
                    Some(40.0),
                    Some(3_000.0),
                    Some(1e12),
                ];
                self.set_budget(budgets[random.below(6) as usize], now);
            }
            98 => self.share(host, random.below(HOSTS as u32 + 1) as usize),
            _ => self.add_host(some_duration(random, 60_000_000)),
        }
        self.check_pages();
    }

    fn check_pages(&self) {
        assert_eq!(self.scheduler.pages(), self.pages.len(), "a page was lost");
        assert!(
            self.pages
                .keys()
                .all(|page| self.scheduler.estimate(*page).is_ok())
        );
        assert!(self.scheduler.price().is_finite());
    }

    /// Mostly a little later; sometimes a day, seldom years; sometimes the clock has stepped back.
    fn some_time(&self, random: &mut Random) -> Instant {
        match random.below(1_000) {
            0 => self.now + Duration::DAY * u64::from(random.below(1_000)),
            1..20 => self.now + some_duration(random, 86_400_000_000),
            20..40 => self.now - some_duration(random, 86_400_000_000),
            40..300 => self.now,
            300..800 => self.now + some_duration(random, 10_000_000),
            _ => self.now + some_duration(random, 600_000_000),
        }
    }

    /// A page that is being fetched, as a rule.
    fn one_in_flight(&self, random: &mut Random) -> PageId {
        let in_flight: Vec<_> = self
            .pages
            .iter()
            .filter(|(_, page)| page.in_flight)
            .collect();
        match in_flight.get(random.below(in_flight.len() as u32 + 1) as usize) {
            Some((page, _)) => **page,
            None => self.any_page(random),
        }
    }

    fn remove(&mut self, page: PageId) {
        let result = self.scheduler.remove_page(page);
        if self.pages.get(&page).is_some_and(|page| !page.in_flight) {
            assert_eq!(result, Ok(()));
            self.pages.remove(&page);
        } else {
            assert_eq!(result, Err(Error::UnknownPage));
        }
    }

    fn hint(&mut self, page: PageId, random: &mut Random, now: Instant) {
        let at = self.some_time(random);
        let hint = if random.below(2) == 0 {
            Hint::Changed(at)
        } else {
            Hint::Expected(at)
        };
        let result = self.scheduler.hint(page, hint, now);
        self.now = self.now.max(now);
        assert_eq!(result.is_ok(), self.pages.contains_key(&page));
    }

    fn set_weight(&mut self, page: PageId, random: &mut Random) {
        let weights = [
            0.0,
            -1.0,
            f32::NAN,
            f32::INFINITY,
            1e-30,
            1e30,
            0.01,
            1.0,
            7.0,
        ];
        let weight = weights[random.below(9) as usize];
        let result = self.scheduler.set_weight(page, weight);
        assert_eq!(
            result.is_ok(),
            self.pages.contains_key(&page) && weight > 0.0 && weight.is_finite()
        );
    }

    fn restore(&mut self, page: PageId, random: &mut Random, now: Instant) {
        let ago = some_duration(random, 86_400_000_000) * u64::from(random.below(400));
        let estimate = Estimate::new(&dunlin::learn::Prior::new(10.0 * random.unit(), 3.0));
        let result = self.scheduler.restore_page(page, estimate, ago, true, now);
        self.now = self.now.max(now);
        assert_eq!(
            result.is_ok(),
            self.pages.get(&page).is_some_and(|page| !page.in_flight)
        );
    }

    /// From now on all goes well: every page that may not be given up must be fetched, however it
    /// was left.
    pub fn drain(&mut self) {
        self.set_clock(Duration::ZERO, self.now);
        self.set_budget(Some(50.0 * PAGES as f32), self.now);
        for host in 0..self.hosts.len() {
            self.scheduler
                .set_hours(self.host_id(host), Hours::ALWAYS)
                .expect("a host that was added");
            self.gates[self.hosts[host]].hours = None;
        }
        let in_flight: Vec<_> = self
            .pages
            .iter()
            .filter(|(_, page)| page.in_flight)
            .map(|(id, _)| *id)
            .collect();
        in_flight
            .into_iter()
            .for_each(|page| self.record(page, Outcome::Unchanged, self.now));
        self.pages.values_mut().for_each(|page| page.answers = 0);
        let end = self.now + Duration::DAY * 400;
        let waits = |page: &ModelPage| page.unknown && page.answers == 0;
        while self.now < end && self.pages.values().any(waits) {
            match self.next(self.now) {
                Decision::Fetch(page) => self.record(page, Outcome::Unchanged, self.now),
                Decision::WaitUntil(then) => self.now = then,
                Decision::Idle => break,
            }
        }
        let left: Vec<_> = self.pages.iter().filter(|(_, page)| waits(page)).collect();
        assert!(
            left.is_empty(),
            "never fetched again: {left:?}, next due {:?}",
            self.scheduler.next_due()
        );
    }
}

/// Zero, or anything up to `most` microseconds, small ones as likely as large ones.
fn some_duration(random: &mut Random, most: u64) -> Duration {
    let bits = random.below(1 + u64::BITS - most.leading_zeros());
    Duration::from_micros((random.next_u64() & ((1 << bits) - 1)).min(most))
}

fn some_page(random: &mut Random) -> PageSettings {
    let weight = [0.1, 1.0, 1.0, 20.0][random.below(4) as usize];
    let rate = [None, None, Some(0.0), Some(0.3), Some(500.0)][random.below(5) as usize];
    PageSettings::DEFAULT
        .with_weight(weight)
        .with_rate(rate)
        .with_confidence([0.5, 4.0, 1e6][random.below(3) as usize])
}

fn some_outcome(random: &mut Random) -> Outcome {
    match random.below(16) {
        0 => Outcome::Gone,
        1 => Outcome::Redirected,
        2 => Outcome::Refused { retry_after: None },
        3 => Outcome::Refused {
            retry_after: Some(some_duration(random, 172_800_000_000)),
        },
        4 => Outcome::Failed,
        5 => Outcome::Denied,
        6..9 => Outcome::Changed { modified_ago: None },
        9 => Outcome::Changed {
            modified_ago: Some(some_duration(random, 864_000_000_000)),
        },
        10 => Outcome::Broken {
            times: random.below(256) as u8,
        },
        _ => Outcome::Unchanged,
    }
}
