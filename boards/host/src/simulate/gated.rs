//! What every rule needs to be a polite crawler: a queue and a gate for each host, and a budget.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dunlin::learn::hints::Hint;
use dunlin::polite::Hours;
use dunlin::scheduler::Outcome;
use dunlin::time::{Duration, Instant};

use super::{Policy, Step, World};

/// Fetches that may start at once when the budget has not been used up; what the scheduler allows
/// by default.
const BURST: u64 = 4;

/// A page that was due, and has been fetched.
#[derive(Clone, Copy, Debug)]
pub struct Fetched {
    /// Its index in the world.
    pub page: usize,
    /// When it was due.
    pub due: Instant,
    /// What the fetch found.
    pub outcome: Outcome,
    /// When that was known.
    pub now: Instant,
}

/// When pages are due.
pub trait Rule {
    /// May pages be fetched before they are due when there is budget left? Then due times are but
    /// an order. As a rule they may.
    fn eager(&self) -> bool {
        true
    }
    /// When a page is due for the first time: at once, in the order of the list, unless a rule
    /// knows better.
    fn first(&mut self, page: usize) -> Instant {
        Instant::from_micros(page as u64)
    }
    /// When a page is due again; `None` for never.
    fn again(&mut self, fetched: &Fetched) -> Option<Instant>;
    /// For rules that plan ahead: when they want to add pages; `None` for not now.
    fn refills_at(&self) -> Option<Instant> {
        None
    }
    /// The pages to add, with due times; asked for once that moment has come.
    fn refill(&mut self, _now: Instant) -> Vec<(Instant, u32)> {
        Vec::new()
    }
    /// What a host says about a page.
    fn hint(&mut self, _page: usize, _hint: Hint) {}
}

/// A rule with queues, gates and a budget: of the pages whose hosts may be fetched from, the one
/// due first is next. A host is fetched from once at a time, as by the scheduler.
#[derive(Debug)]
pub struct Gated<R> {
    rule: R,
    hosts: Vec<HostQueue>,
    host_of: Vec<u32>,
    /// When each page under way was due.
    due: Vec<Instant>,
    /// Hosts whose gate is closed, by when it opens.
    closed: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Hosts whose gate is open and that have pages, by when the first is due.
    ready: BinaryHeap<Reverse<(Instant, u32)>>,
    spacing: Duration,
    slot: Instant,
    late_micros: u64,
    /// For each page, before when it may not be fetched again; empty where no page is limited.
    not_before: Vec<Instant>,
    /// The least time between two fetches of each page; empty as well.
    shortest: Vec<Duration>,
}

#[derive(Debug)]
struct HostQueue {
    pages: BinaryHeap<Reverse<(Instant, u32)>>,
    gap: Duration,
    hours: Hours,
    opens: Instant,
    /// Neither in `closed` nor being fetched from.
    open: bool,
}

impl<R: Rule> Gated<R> {
    /// On a world, with so many fetches a day.
    pub fn new(world: &World, per_day: f64, mut rule: R) -> Self {
        let queue = |host: &super::SimHost| HostQueue {
            pages: BinaryHeap::new(),
            gap: host.gap,
            hours: host.hours,
            opens: Instant::ZERO,
            open: true,
        };
        let mut hosts: Vec<_> = world.hosts.iter().map(queue).collect();
        for (index, page) in world.pages.iter().enumerate() {
            let due = rule.first(index);
            if due < Instant::MAX {
                hosts[page.host].pages.push(Reverse((due, index as u32)));
            }
        }
        let mut gated = Self {
            rule,
            hosts,
            host_of: world.pages.iter().map(|page| page.host as u32).collect(),
            due: vec![Instant::ZERO; world.pages.len()],
            closed: BinaryHeap::new(),
            ready: BinaryHeap::new(),
            spacing: Duration::from_days(1.0 / per_day),
            slot: Instant::ZERO,
            late_micros: 0,
            not_before: vec![Instant::ZERO; world.limits.len()],
            shortest: world
                .limits
                .iter()
                .map(|limits| limits.shortest_gap())
                .collect(),
        };
        gated.line_up();
        gated
    }

    /// Puts every open host in line anew.
    fn line_up(&mut self) {
        self.ready.clear();
        for (index, host) in self.hosts.iter().enumerate().filter(|(_, host)| host.open) {
            self.ready.extend(
                host.pages
                    .peek()
                    .map(|Reverse((due, _))| Reverse((*due, index as u32))),
            );
        }
    }

    fn open_gates(&mut self, now: Instant) {
        while let Some(&Reverse((opens, host))) = self.closed.peek()
            && opens <= now
        {
            self.closed.pop();
            let queue = &mut self.hosts[host as usize];
            queue.open = true;
            self.ready.extend(
                queue
                    .pages
                    .peek()
                    .map(|Reverse((due, _))| Reverse((*due, host))),
            );
        }
    }

    fn close(&mut self, host: u32, opens: Instant) {
        self.hosts[host as usize].open = false;
        self.closed.push(Reverse((opens, host)));
    }
}

impl<R: Rule> Policy for Gated<R> {
    fn next(&mut self, now: Instant) -> Step {
        if self.rule.refills_at().is_some_and(|at| at <= now) {
            for (due, page) in self.rule.refill(now) {
                self.hosts[self.host_of[page as usize] as usize]
                    .pages
                    .push(Reverse((due, page)));
            }
            self.line_up();
        }
        self.open_gates(now);
        loop {
            let opens = self.closed.peek().map(|Reverse((opens, _))| *opens);
            let opens = opens.into_iter().chain(self.rule.refills_at()).min();
            let Some(&Reverse((due, host))) = self.ready.peek() else {
                return opens.map_or(Step::Idle, Step::WaitUntil);
            };
            if due > now && !self.rule.eager() {
                return Step::WaitUntil(opens.map_or(due, |opens| due.min(opens)));
            }
            if self.slot > now {
                return Step::WaitUntil(self.slot);
            }
            self.ready.pop();
            let queue = &mut self.hosts[host as usize];
            let wait = queue.hours.wait(now - Instant::ZERO);
            if !wait.is_zero() {
                self.close(host, now + wait);
                continue;
            }
            let Some(Reverse((due, page))) = queue.pages.pop() else {
                continue;
            };
            if let Some(&then) = self.not_before.get(page as usize) {
                if then > now {
                    // Too soon after its last fetch: it waits, and the next page may be another. An
                    // eager rule would find it again at once, so its host waits, too.
                    queue.pages.push(Reverse((then, page)));
                    let first = queue.pages.peek().map_or(then, |Reverse((due, _))| *due);
                    if first > now && self.rule.eager() {
                        self.close(host, first);
                    } else {
                        self.ready.push(Reverse((first, host)));
                    }
                    continue;
                }
                self.not_before[page as usize] = now + self.shortest[page as usize];
            }
            queue.open = false;
            queue.opens = now + queue.gap;
            self.slot = self.slot.max(now - self.spacing * BURST) + self.spacing;
            self.due[page as usize] = due;
            self.late_micros += if self.rule.eager() {
                0
            } else {
                (now - due).as_micros()
            };
            return Step::Fetch(page);
        }
    }

    fn record(&mut self, page: u32, outcome: Outcome, now: Instant) {
        let index = page as usize;
        let host = self.host_of[index];
        let again = self.rule.again(&Fetched {
            page: index,
            due: self.due[index],
            outcome,
            now,
        });
        let queue = &mut self.hosts[host as usize];
        queue.pages.extend(again.map(|due| Reverse((due, page))));
        let opens = queue.opens.max(now);
        self.close(host, opens);
    }

    fn hint(&mut self, page: u32, hint: Hint, _now: Instant) {
        self.rule.hint(page as usize, hint);
    }

    fn late_seconds(&self) -> u64 {
        self.late_micros / 1_000_000
    }
}
