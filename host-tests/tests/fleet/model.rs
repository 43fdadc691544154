//! The six rules of leases under everything that a network, a flash and a clock can do: no two
//! visits to one host are closer than its politeness, and no rule can be left out.
//!
//! The state machines are the crate's own. A rule is broken from outside, by what is told to them:
//! see
//! [`Broken`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dunlin::fleet::{Departure, Drift, Grant, GrantLedger, Member, Outlook, Report};
use dunlin::time::{Duration, Instant};
use dunlin_suite::bench::Random;

const PROBES: usize = 4;
const HOSTS: usize = 6;
const LEASE: Duration = Duration::from_secs(600);
const POLITENESS: Duration = Duration::from_secs(20);
const REPORT: u64 = 150_000_000;
/// True time of one run, in microseconds.
const RUN: u64 = 12_000_000_000;
/// Clocks are up to a twentieth too fast or too slow.
const DRIFT: Drift = Drift::from_millionths(50_000);
/// Fetches a day, over all probes.
const TOTAL: f32 = 1_000.0;

/// Which rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    Nothing,
    /// A host that moves is given away at once when its owner has released it.
    NoWait,
    /// Grants for earlier boots are obeyed.
    NoNonce,
    /// The planner takes leases to be a tenth as long as they are.
    Impatient,
    /// A probe takes any list that it is offered.
    OldList,
    /// A lease counts from when its grant arrived.
    FromReceipt,
    /// A planner that starts knows of no leases.
    Forgets,
    /// Grants hold for any list.
    NoVersion,
    /// A probe that starts visits at once.
    NoBootRule,
}

/// What will happen at some moment.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    /// A probe looks whether it may visit; of this boot.
    Look(usize, u32),
    /// A probe reports; of this boot.
    Send(usize, u32),
    Report(usize, Report),
    Grant(usize, Grant),
    /// Version and hosts of a list.
    List(usize, List),
    Reboot(usize),
    Boot(usize),
    Partition(usize),
    PlannerLook,
    PlannerDies,
    PlannerStarts,
    /// The broker loses what it was told last.
    BrokerDies,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct List {
    version: u32,
    hosts: u32,
}

/// A clock that is set at random and runs too fast or too slowly.
#[derive(Clone, Copy, Debug)]
struct Clock {
    offset: u64,
    rate: f64,
}

impl Clock {
    fn new(rng: &mut Random) -> Self {
        Self {
            offset: rng.below(1_000_000_000).into(),
            rate: 1.0 + (f64::from(rng.unit()) * 2.0 - 1.0) * 0.05,
        }
    }

    fn read(&self, now: u64) -> Instant {
        Instant::from_micros(self.offset + (now as f64 * self.rate) as u64)
    }
}

struct Probe {
    clock: Clock,
    boot: u32,
    member: Option<Member>,
    /// What survives a reboot.
    flash: List,
    list: List,
    gates: [Instant; HOSTS],
    cut_off_until: u64,
    /// When reports were sent, by true time and number: for a mutant.
    sent: Vec<(u32, u64)>,
}

#[derive(Clone, Copy)]
enum Owner {
    Of(usize),
    Leaving(usize, Departure),
}

struct Planner {
    clock: Clock,
    up: bool,
    epoch: u32,
    ledgers: [GrantLedger; PROBES],
    lists: [List; PROBES],
    owners: [Owner; HOSTS],
}

struct World {
    rng: Random,
    broken: Broken,
    now: u64,
    order: u64,
    events: BinaryHeap<Reverse<(u64, u64, usize)>>,
    kept: Vec<Event>,
    probes: Vec<Probe>,
    planner: Planner,
    /// What the broker keeps of lists, and what it kept before.
    retained: [[List; 2]; PROBES],
    last_visit: [Option<u64>; HOSTS],
    visits: u64,
    too_close: u64,
    overspent: u64,
}

impl World {
    fn new(seed: u64, broken: Broken) -> Self {
        let mut rng = Random(seed);
        let probes = (0..PROBES).map(|_| Probe {
            clock: Clock::new(&mut rng),
            boot: 0,
            member: None,
            flash: List::default(),
            list: List::default(),
            gates: [Instant::ZERO; HOSTS],
            cut_off_until: 0,
            sent: Vec::new(),
        });
        let probes = probes.collect();
        let mut lists = [List {
            version: 1,
            hosts: 0,
        }; PROBES];
        for host in 0..HOSTS {
            lists[host % PROBES].hosts |= 1 << host;
        }
        let planner = Planner {
            clock: Clock::new(&mut rng),
            up: true,
            epoch: 1,
            ledgers: [GrantLedger::new(1); PROBES],
            lists,
            owners: core::array::from_fn(|host| Owner::Of(host % PROBES)),
        };
        let mut world = Self {
            rng,
            broken,
            now: 0,
            order: 0,
            events: BinaryHeap::new(),
            kept: Vec::new(),
            probes,
            planner,
            retained: lists.map(|list| [list; 2]),
            last_visit: [None; HOSTS],
            visits: 0,
            too_close: 0,
            overspent: 0,
        };
        for probe in 0..PROBES {
            world.at(0, Event::Boot(probe));
            world.later(3_000_000_000, Event::Reboot(probe));
            world.later(3_000_000_000, Event::Partition(probe));
        }
        world.at(10_000_000, Event::PlannerLook);
        world.later(6_000_000_000, Event::PlannerDies);
        world.later(3_000_000_000, Event::BrokerDies);
        world
    }

    fn at(&mut self, time: u64, event: Event) {
        self.order += 1;
        self.events
            .push(Reverse((time, self.order, self.kept.len())));
        self.kept.push(event);
    }

    /// After a random time with this mean, roughly.
    fn later(&mut self, mean: u64, event: Event) {
        let wait = (-f64::from(1.0 - self.rng.unit()).ln() * mean as f64) as u64;
        self.at(self.now + wait, event);
    }

    /// A message on its way: lost, late, or there twice.
    fn send(&mut self, probe: usize, event: Event) {
        let cut_off = self.probes[probe].cut_off_until;
        let copies = match self.rng.below(10) {
            0 => 0,
            1 => 2,
            _ => 1,
        };
        for _ in 0..copies {
            // What is sent into a partition is lost, or comes out at its end.
            if self.now < cut_off && self.rng.below(2) == 0 {
                continue;
            }
            let slow = self.rng.below(10) == 0;
            let delay = self.rng.below(if slow { 900_000_000 } else { 500_000 });
            self.at(self.now.max(cut_off) + u64::from(delay), event);
        }
    }

    fn run(&mut self) {
        while let Some(Reverse((time, _, index))) = self.events.pop() {
            if time > RUN {
                break;
            }
            self.now = time;
            self.happen(self.kept[index]);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Look(probe, boot) => self.look(probe, boot),
            Event::Send(probe, boot) => self.report(probe, boot),
            Event::Report(probe, report) => self.answer(probe, &report),
            Event::Grant(probe, grant) => self.obey(probe, grant),
            Event::List(probe, list) => self.take(probe, list),
            Event::Reboot(probe) => {
                let wipe = self.rng.below(3) == 0;
                let one = &mut self.probes[probe];
                one.member = None;
                one.flash = if wipe { List::default() } else { one.list };
                let off = u64::from(self.rng.below(60_000_000));
                self.at(self.now + off, Event::Boot(probe));
                self.later(3_000_000_000, Event::Reboot(probe));
            }
            Event::Boot(probe) => self.boot(probe),
            Event::Partition(probe) => {
                let length = u64::from(self.rng.below(1_500_000_000));
                self.probes[probe].cut_off_until = self.now + length;
                self.later(4_000_000_000, Event::Partition(probe));
            }
            Event::PlannerLook => {
                if self.planner.up {
                    self.plan();
                }
                self.at(self.now + 10_000_000, Event::PlannerLook);
            }
            Event::PlannerDies => {
                self.planner.up = false;
                let off = u64::from(self.rng.below(900_000_000));
                self.at(self.now + off, Event::PlannerStarts);
            }
            Event::PlannerStarts => self.start_planner(),
            Event::BrokerDies => {
                for kept in &mut self.retained {
                    kept[0] = kept[1];
                }
                for probe in 0..PROBES {
                    self.send(probe, Event::List(probe, self.retained[probe][0]));
                }
                self.later(3_000_000_000, Event::BrokerDies);
            }
        }
    }

    // The probes.

    fn boot(&mut self, probe: usize) {
        let boot = self.rng.next_u32();
        let one = &mut self.probes[probe];
        let now = one.clock.read(self.now);
        one.boot = boot;
        one.list = one.flash;
        one.sent.clear();
        one.gates = [Instant::ZERO; HOSTS];
        let started = match self.broken {
            Broken::NoBootRule => Instant::from_micros(now.as_micros().saturating_sub(30_000_000)),
            _ => now,
        };
        one.member = Some(Member::new(boot, one.list.version, started, DRIFT));
        self.send(probe, Event::List(probe, self.retained[probe][0]));
        self.at(self.now, Event::Send(probe, boot));
        self.at(self.now, Event::Look(probe, boot));
    }

    fn report(&mut self, probe: usize, boot: u32) {
        let one = &mut self.probes[probe];
        let Some(member) = one.member.as_mut().filter(|_| one.boot == boot) else {
            return;
        };
        let report = member.report(&Outlook::default(), one.clock.read(self.now));
        one.sent.push((report.seq, self.now));
        self.send(probe, Event::Report(probe, report));
        self.at(self.now + REPORT, Event::Send(probe, boot));
    }

    fn obey(&mut self, probe: usize, mut grant: Grant) {
        let one = &mut self.probes[probe];
        let Some(member) = &mut one.member else {
            return;
        };
        match self.broken {
            Broken::NoNonce => grant.boot = member.boot(),
            Broken::FromReceipt => {
                let sent = one.sent.iter().find(|(seq, _)| *seq == grant.seq);
                let late = sent.map_or(0, |(_, sent)| self.now - sent);
                grant.lease_ms += (late / 1_000) as u32;
            }
            Broken::NoVersion => grant.list = 0,
            _ => {}
        }
        if member.granted(&grant) {
            let now = self.now;
            let spent: f32 = self.probes.iter().map(|one| one.spends(now)).sum();
            self.overspent += u64::from(spent > TOTAL * 1.0001);
        }
    }

    fn take(&mut self, probe: usize, list: List) {
        let one = &mut self.probes[probe];
        let Some(member) = &mut one.member else {
            return;
        };
        let version = match self.broken {
            Broken::OldList => member.list() + 1,
            _ => list.version,
        };
        let now = one.clock.read(self.now);
        if member.take_list(version, now) {
            // Hosts that were not in the list before count as any other after a start.
            let new = list.hosts & !one.list.hosts;
            for (host, gate) in one.gates.iter_mut().enumerate() {
                if new >> host & 1 == 1 {
                    *gate = Instant::ZERO;
                }
            }
            one.list = List { version, ..list };
            // It says at once what it has released.
            self.at(self.now, Event::Send(probe, self.probes[probe].boot));
        }
    }

    fn look(&mut self, probe: usize, boot: u32) {
        let one = &mut self.probes[probe];
        let Some(member) = one.member.as_ref().filter(|_| one.boot == boot) else {
            return;
        };
        let now = one.clock.read(self.now);
        let leased = member.leased_until().is_some_and(|until| now < until);
        let rested = now >= member.rests_until(POLITENESS);
        for host in 0..HOSTS {
            let listed = one.list.hosts >> host & 1 == 1;
            if !(leased && rested && listed && now >= one.gates[host]) {
                continue;
            }
            one.gates[host] = now + DRIFT.lengthen(POLITENESS);
            self.visits += 1;
            let last = self.last_visit[host].replace(self.now);
            let gap = last.map_or(RUN, |last| self.now - last);
            // A clock that rounds down to microseconds.
            self.too_close += u64::from(gap + 2 < POLITENESS.as_micros());
        }
        let wait = u64::from(self.rng.below(8_000_000));
        self.at(self.now + wait, Event::Look(probe, boot));
    }

    // The planner.

    fn answer(&mut self, probe: usize, report: &Report) {
        let planner = &mut self.planner;
        if !planner.up {
            return;
        }
        let now = planner.clock.read(self.now);
        planner.ledgers[probe].reported(report, planner.epoch);
        for owner in &mut planner.owners {
            if let Owner::Leaving(from, departure) = owner
                && *from == probe
            {
                departure.reported(report, DRIFT, now);
            }
        }
        let others = planner.ledgers.iter().enumerate();
        let others = others.filter(|(number, _)| *number != probe);
        let escrow: f32 = others.map(|(_, one)| one.committed(DRIFT, now)).sum();
        let wish = self.rng.unit() * TOTAL;
        let budget = wish.min(TOTAL - escrow).max(0.0);
        let believed = match self.broken {
            Broken::Impatient => Duration::from_secs(LEASE.as_secs() / 10),
            _ => LEASE,
        };
        let ledger = &mut planner.ledgers[probe];
        let mut grant = ledger.grant(report, planner.epoch, budget, believed, now);
        grant.lease_ms = LEASE.as_millis() as u32;
        self.send(probe, Event::Grant(probe, grant));
    }

    /// Gives a host away now and then, and gives hosts that are free to somebody.
    fn plan(&mut self) {
        let now = self.planner.clock.read(self.now);
        let politeness = match self.broken {
            Broken::NoWait => Duration::ZERO,
            _ => POLITENESS,
        };
        if self.rng.below(12) == 0 {
            let host = self.rng.below(HOSTS as u32) as usize;
            if let Owner::Of(from) = self.planner.owners[host] {
                self.planner.lists[from].hosts &= !(1 << host);
                self.publish(from);
                let departure = Departure::new(&self.planner.ledgers[from], politeness, DRIFT);
                self.planner.owners[host] = Owner::Leaving(from, departure);
            }
        }
        for host in 0..HOSTS {
            if let Owner::Leaving(_, departure) = self.planner.owners[host]
                && now >= departure.free_at()
            {
                let to = self.rng.below(PROBES as u32) as usize;
                self.planner.owners[host] = Owner::Of(to);
                self.planner.lists[to].hosts |= 1 << host;
                self.publish(to);
            }
        }
        if self.rng.below(20) == 0 {
            // It says again what it has said.
            for probe in 0..PROBES {
                self.send(probe, Event::List(probe, self.planner.lists[probe]));
                self.retained[probe] = [self.planner.lists[probe]; 2];
            }
        }
    }

    fn publish(&mut self, probe: usize) {
        self.planner.lists[probe].version = self.planner.ledgers[probe].next_list(0);
        let list = self.planner.lists[probe];
        let [kept, _] = self.retained[probe];
        self.retained[probe] = [list, kept];
        self.send(probe, Event::List(probe, list));
    }

    /// Owners and lists are on disk; leases are not.
    fn start_planner(&mut self) {
        let planner = &mut self.planner;
        planner.up = true;
        planner.epoch += 1;
        let now = planner.clock.read(self.now);
        for (ledger, list) in planner.ledgers.iter_mut().zip(&planner.lists) {
            *ledger = match self.broken {
                Broken::Forgets => GrantLedger::new(list.version),
                _ => GrantLedger::restarted(list.version, TOTAL, LEASE, now),
            };
        }
        for owner in &mut planner.owners {
            if let Owner::Leaving(from, departure) = owner {
                *departure = Departure::new(&planner.ledgers[*from], POLITENESS, DRIFT);
            }
        }
        self.later(6_000_000_000, Event::PlannerDies);
    }
}

impl Probe {
    fn spends(&self, now: u64) -> f32 {
        let now = self.clock.read(now);
        let member = self.member.as_ref();
        let leased = member.filter(|one| one.leased_until().is_some_and(|until| now < until));
        leased.map_or(0.0, Member::budget)
    }
}

/// The worlds of so many seeds, at their ends.
fn worlds(count: u64, broken: Broken) -> impl Iterator<Item = World> {
    (0..count).map(move |seed| {
        let mut world = World::new(seed, broken);
        world.run();
        world
    })
}

fn is_long() -> bool {
    std::env::var_os("DUNLIN_LONG").is_some()
}

#[test]
fn no_two_visits_to_a_host_are_closer_than_its_politeness() {
    let count = if is_long() { 3_000 } else { 200 };
    let mut visits = 0;
    let mut too_close = 0;
    let mut overspent = 0;
    for world in worlds(count, Broken::Nothing) {
        visits += world.visits;
        too_close += world.too_close;
        overspent += world.overspent;
    }
    println!("{count} runs, {visits} visits, {too_close} too close, {overspent} overspent");
    assert!(visits > count * 500, "the probes hardly visit: {visits}");
    assert_eq!((too_close, overspent), (0, 0));
}

#[test]
fn no_rule_can_be_left_out() {
    let mutants = [
        Broken::NoWait,
        Broken::NoNonce,
        Broken::Impatient,
        Broken::OldList,
        Broken::FromReceipt,
        Broken::Forgets,
        Broken::NoVersion,
        Broken::NoBootRule,
    ];
    for broken in mutants {
        let found = |world: &World| world.too_close > 0;
        if is_long() {
            let all = worlds(200, broken).map(|world| world.too_close);
            println!("{broken:?}: {} too close in 200 runs", all.sum::<u64>());
        }
        let run = worlds(200, broken).position(|world| found(&world));
        assert!(run.is_some(), "{broken:?} is not found out in 200 runs");
    }
}
