//! A fleet in virtual time, with the state machines of real ones, on a network that loses messages:
//! how soon do grants come near the optimum, and does a host ever have two owners?

use dunlin::fleet::{
    Balance, Departure, Drift, GrantLedger, Group, LONGEST, Member, NOBODY, Outlook, ProbeCapacity,
    VisitReport, Visits, assign, encode, rehome,
};
use dunlin::math::split_mix;
use dunlin::time::{Duration, Instant};
use dunlin_fleet::{Pace, REPORT};
use serde::Serialize;

use super::planner::{Planner, Rules};
use super::web::{Curve, Web, bisect, unit};

const LEASE: Duration = Duration::HOUR;
const POLITENESS: Duration = Duration::from_secs(15);
const DRIFT: Drift = Drift::DEFAULT;
/// Visits a page and day.
const VISITS: f64 = 0.5;
/// What a link can carry, and the cap of a probe's share, in mean shares.
const CAP: f32 = 3.0;
/// A liar claims that a fetch is worth so many times what it is.
const LIE: f32 = 1_100.0;
/// Reports that come within this are answered together.
const TURN: Duration = Duration::from_secs(1);
/// Rounds that are simulated at most before the fleet must have agreed.
const MOST_ROUNDS: u32 = 12;
/// Agreed: no further than this from the optimum.
const NEAR: f64 = 0.001;
/// Pages that may move for balance.
const MOST_MOVED: f64 = 0.08;
/// Bytes around a packet that carries a message: IP and TCP, and their acknowledgement.
const PACKET: usize = 80;
/// Bytes around a message: fixed header, length of the topic, its text, properties.
const HEADER: usize = 5 + "dunlin/1/fleet/probe/p1234/up/report".len();
/// Bytes of the number by which a message is acknowledged.
const NUMBER: usize = 2;
/// Bytes of an acknowledgement.
const ACKNOWLEDGED: usize = 4 + PACKET;
/// A ping and its answer, one between two reports.
const PING: usize = 2 * (PACKET + 2);
/// Visits of a probe and day, as the traffic is reckoned with.
const DAY_VISITS: usize = 1_250;

/// A fleet to be simulated, and what is wrong with it.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// How many probes there are.
    pub probes: usize,
    /// The seed of what is random.
    pub seed: u64,
    /// The share of messages that is lost.
    pub loss: f32,
    /// Probes that lie about their price.
    pub liars: usize,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Simulated {
    /// How many probes there were.
    pub probes: usize,
    /// How many pages they had.
    pub pages: usize,
    /// Rounds of grants until the loss was at most a thousandth.
    pub rounds: u32,
    /// What is lost against the central optimum, as a share of its freshness, after that.
    pub loss: f64,
    /// The same with equal shares.
    pub equal_loss: f64,
    /// The loss after two rounds.
    pub second_loss: f64,
    /// Bytes a probe and day: reports, grants, visits, pings, and their packets.
    pub bytes_per_probe_day: f64,
    /// Hosts that were given away too soon, and moments at which grants exceeded the budget.
    pub violations: u64,
    /// The share of the budget that liars hold in the end.
    pub liars_share: f64,
    /// Pages of the probes that left …
    pub left_pages: u64,
    /// … and pages that moved because of that.
    pub moved_pages: u64,
    /// What is lost after two rounds with the new owners, against the optimum of who is left.
    pub churned_loss: f64,
    /// What fixed, equal budgets lose with hosts assigned by name …
    pub fixed_loss: f64,
    /// … and after some have moved for balance,
    pub rehomed_loss: f64,
    /// which was this share of the pages.
    pub rehomed_pages: f64,
}

struct Probe {
    member: Member,
    pace: Pace,
    hosts: Vec<u32>,
    link: f32,
    /// The budget for which the price was computed, and that.
    priced: (f32, f32, f32),
    alive: bool,
    /// When it took its present list.
    since: Instant,
}

impl Probe {
    /// Is there a lease now under which something may be fetched?
    fn is_leased(&self, now: Instant) -> bool {
        let until = self.member.leased_until();
        until.is_some_and(|until| now < until) && self.member.budget() > 0.0
    }

    /// Fetches a day that it may make now.
    fn spends(&self, now: Instant) -> f32 {
        match self.alive && self.is_leased(now) {
            true => self.member.budget(),
            false => 0.0,
        }
    }
}

struct Fleet {
    setting: Setting,
    random: u64,
    web: Web,
    curve: Curve,
    probes: Vec<Probe>,
    planner: Planner,
    total: f64,
    bytes: u64,
    violations: u64,
    now: Instant,
}

/// Parts of a simulation, for a progress bar: the optimum, six rounds as a rule, probes that leave,
/// fixed budgets.
pub const PARTS: u64 = 9;

/// Simulates a fleet. `done` is told how many of its [`PARTS`] are over.
pub fn simulate(setting: Setting, done: &mut dyn FnMut(u64)) -> Simulated {
    let mut fleet = Fleet::new(setting);
    let optimum = fleet.optimum();
    done(1);
    let honest_loss = |fleet: &Fleet| 1.0 - fleet.achieved() / optimum;
    fleet.round();
    done(2);
    let equal_loss = honest_loss(&fleet);
    let mut simulated = Simulated {
        probes: setting.probes,
        pages: fleet.web.pages(),
        rounds: 0,
        loss: equal_loss,
        equal_loss,
        second_loss: equal_loss,
        bytes_per_probe_day: 0.0,
        violations: 0,
        liars_share: 0.0,
        left_pages: 0,
        moved_pages: 0,
        churned_loss: 0.0,
        fixed_loss: 0.0,
        rehomed_loss: 0.0,
        rehomed_pages: 0.0,
    };
    let mut near = false;
    for round in 1..=MOST_ROUNDS {
        let before = fleet.bytes;
        fleet.round();
        done((2 + u64::from(round)).min(PARTS - 2));
        simulated.bytes_per_probe_day = fleet.bytes_per_day(before);
        simulated.loss = honest_loss(&fleet);
        simulated.rounds += u32::from(!near);
        near |= simulated.loss <= NEAR;
        if round == 2 {
            simulated.second_loss = simulated.loss;
        }
        // One round more, for what it costs when all agree.
        if round > 2 && (near || setting.liars > 0) {
            break;
        }
    }
    simulated.liars_share = fleet.held_by_liars();
    (simulated.left_pages, simulated.moved_pages) = fleet.churn();
    fleet.round();
    fleet.round();
    simulated.churned_loss = 1.0 - fleet.achieved() / fleet.optimum();
    done(PARTS - 1);
    simulated.violations = fleet.violations;
    let (fixed, rehomed, moved) = fixed_budgets(setting);
    simulated.fixed_loss = fixed;
    simulated.rehomed_loss = rehomed;
    simulated.rehomed_pages = moved;
    simulated
}

impl Fleet {
    fn new(setting: Setting) -> Self {
        let mut random = setting.seed;
        let mut web = Web::default();
        let mut probes = Vec::new();
        for number in 0..setting.probes {
            // Lists differ between probes: of other sizes, and on subjects that change more often.
            let pages = 1_000 + (unit(&mut random) * 3_000.0) as u32;
            let subject = (unit(&mut random) - 0.5) * 5.0;
            let first = web.hosts().len() as u32;
            let mut left = pages;
            while left > 0 {
                let some = (8.0 / (1.0 - unit(&mut random)).max(0.02)) as u32;
                web.add_host(some.min(left), subject, &mut random);
                left -= some.min(left);
            }
            probes.push(Probe {
                member: Member::new(number as u32 + 1, 1, Instant::ZERO, DRIFT),
                pace: Pace::new(LEASE, number as u32 + 1),
                hosts: (first..web.hosts().len() as u32).collect(),
                link: 0.0,
                priced: (-1.0, 0.0, 0.0),
                alive: true,
                since: Instant::ZERO,
            });
        }
        let total = web.pages() as f64 * VISITS;
        let mean = total as f32 / setting.probes as f32;
        for probe in &mut probes {
            probe.link = CAP * mean;
        }
        let rules = Rules {
            epoch: 1,
            total: total as f32,
            cap: CAP,
            lease: LEASE,
            drift: DRIFT,
        };
        let ledgers = probes.iter().map(|_| GrantLedger::new(1));
        Self {
            setting,
            random,
            planner: Planner::new(rules, ledgers),
            web,
            curve: Curve::new(),
            probes,
            total,
            bytes: 0,
            violations: 0,
            now: Instant::ZERO + Duration::from_secs(60),
        }
    }

    /// The best that one who knows everything could do, within links.
    fn optimum(&self) -> f64 {
        let demand = |log: f32| {
            let each = self.probes.iter().map(|probe| {
                let wish = self.web.visits(&probe.hosts, log, &self.curve);
                wish.min(f64::from(probe.link))
            });
            each.sum::<f64>()
        };
        let common = bisect(self.total, demand);
        let fresh = self.probes.iter().map(|probe| {
            let asked = self.web.asked(&probe.hosts, common, &self.curve);
            if asked.visits <= f64::from(probe.link) {
                return asked.fresh;
            }
            let own = self.web.price(&probe.hosts, probe.link.into(), &self.curve);
            self.web.asked(&probe.hosts, own, &self.curve).fresh
        });
        fresh.sum()
    }

    /// The freshness of what probes do with their budgets.
    fn achieved(&self) -> f64 {
        let fresh = self.probes.iter().map(|probe| {
            let budget = probe.spends(self.now).min(probe.link);
            let own = self.web.price(&probe.hosts, budget.into(), &self.curve);
            self.web.asked(&probe.hosts, own, &self.curve).fresh
        });
        fresh.sum()
    }

    fn is_lost(&mut self) -> bool {
        unit(&mut self.random) < self.setting.loss
    }

    fn count<T: Serialize>(&mut self, message: &T) {
        let mut buffer = [0; LONGEST];
        let length = encode(message, &mut buffer).map_or(LONGEST, <[u8]>::len);
        self.bytes += (length + HEADER + PACKET) as u64;
    }

    /// A probe's report, on its way to the planner; does it get there?
    fn report(&mut self, number: usize) -> bool {
        let Some(probe) = self.probes.get_mut(number) else {
            return false;
        };
        let budget = probe.member.budget();
        if probe.priced.0 != budget && budget > 0.0 {
            let price = self.web.price(&probe.hosts, budget.into(), &self.curve);
            let at = |log: f32| self.web.visits(&probe.hosts, log, &self.curve);
            let elasticity = (at(price - 0.5) / at(price + 0.5).max(1e-9)).ln() as f32;
            probe.priced = (budget, price.exp(), elasticity);
        }
        let (_, price, elasticity) = probe.priced;
        let lie = if number < self.setting.liars {
            LIE
        } else {
            1.0
        };
        let outlook = Outlook {
            price: price * lie,
            elasticity,
            pages: 4_096,
            hosts: 1_024,
            link: probe.link,
            ..Outlook::default()
        };
        let report = probe.member.report(&outlook, self.now);
        let is_leased = probe.is_leased(self.now);
        probe.pace.reported(is_leased, self.now);
        self.count(&report);
        let arrives = !self.is_lost();
        if arrives {
            self.planner.reported(number, report, self.now);
        }
        arrives
    }

    /// A grant, on its way to a probe.
    fn grant(&mut self, number: usize) {
        let Some(grant) = self.planner.grant(number, self.now) else {
            return;
        };
        self.count(&grant);
        if self.is_lost() {
            return;
        }
        let now = self.now;
        let Some(probe) = self.probes.get_mut(number).filter(|probe| probe.alive) else {
            return;
        };
        let before = probe.member.budget();
        if probe.member.granted(&grant) {
            let is_answer = probe.is_leased(now) && probe.member.is_answered_by(&grant);
            let budgets = (before, grant.budget);
            probe.pace.granted(LEASE, is_answer, budgets, now);
        }
    }

    /// The time between two reports: who was answered reports once, others report again.
    fn round(&mut self) {
        let end = self.now + REPORT;
        while self.now < end {
            self.turn();
            let alive = self.probes.iter().filter(|probe| probe.alive);
            let next = alive.map(|probe| probe.pace.next_report()).min();
            let next = next.unwrap_or(end).max(self.now + TURN);
            self.now = next.min(end);
        }
    }

    /// Reports that are due, their answers, and what has become free by them.
    fn turn(&mut self) {
        let now = self.now;
        let probes = self.probes.iter().enumerate();
        let due = probes.filter(|(_, probe)| probe.alive && probe.pace.next_report() <= now);
        let mut due: Vec<usize> = due.map(|(number, _)| number).collect();
        due.retain(|number| self.report(*number));
        self.planner.replan(now);
        due.into_iter().for_each(|number| self.grant(number));
        self.planner.count_free(now);
        for number in self.planner.served(now) {
            let entry = self.planner.entries().get(number);
            if entry.is_some_and(|entry| entry.is_here(self.planner.rules(), now)) {
                self.grant(number);
            }
        }
        let spent = self.probes.iter().map(|probe| probe.spends(now));
        let spent: f64 = spent.map(f64::from).sum();
        self.violations += u64::from(spent > self.total * 1.000_01);
    }

    fn bytes_per_day(&self, before: u64) -> f64 {
        let rounds = Duration::DAY.as_secs() / REPORT.as_secs();
        let control = (self.bytes - before) as f64 * rounds as f64 / self.probes.len() as f64;
        let visit = VisitReport {
            page: 1_000,
            ago_s: 300,
            changed: false,
            shape: 1.0,
            time: 1.0,
            watch: [100, 100],
        };
        let batch = Visits {
            boot: u32::MAX,
            list: u32::MAX,
            first: 100_000,
            // Told with each report: there are fewer than a batch has room for.
            visits: std::iter::repeat_n(visit, DAY_VISITS.div_ceil(rounds as usize)).collect(),
        };
        let mut buffer = [0; LONGEST];
        let length = encode(&batch, &mut buffer).map_or(LONGEST, <[u8]>::len);
        let batch = length + HEADER + NUMBER + PACKET + ACKNOWLEDGED;
        control + (rounds as usize * (batch + PING)) as f64
    }

    fn held_by_liars(&self) -> f64 {
        let liars = self.probes.iter().take(self.setting.liars);
        // Not `sum`, which makes a negative zero of nothing.
        let held = liars.fold(0.0, |held, probe| held + f64::from(probe.member.budget()));
        held / self.total
    }

    /// One probe in a hundred falls silent. Its hosts go to others once its lease is over, and these
    /// have them from then on; the pages it had, and the pages that moved.
    fn churn(&mut self) -> (u64, u64) {
        let hosts: Vec<u32> = (0..self.web.hosts().len() as u32).collect();
        let mut owners = vec![NOBODY; hosts.len()];
        for (number, probe) in self.probes.iter().enumerate() {
            for host in &probe.hosts {
                if let Some(owner) = owners.get_mut(*host as usize) {
                    *owner = number as u32;
                }
            }
        }
        let mut left = 0;
        let mut departures = Vec::new();
        for number in (0..self.probes.len()).step_by(100) {
            let (Some(probe), Some(ledger)) =
                (self.probes.get_mut(number), self.planner.ledger_mut(number))
            else {
                continue;
            };
            probe.alive = false;
            ledger.next_list(0);
            departures.push((number, Departure::new(ledger, POLITENESS, DRIFT)));
            let pages = probe.hosts.iter().filter_map(|host| {
                let host = self.web.hosts().get(*host as usize);
                host.map(|host| u64::from(host.pages))
            });
            left += pages.sum::<u64>();
        }
        let groups = self.groups(&hosts, 0.0);
        let mut places: Vec<_> = (0..self.probes.len() as u64)
            .map(|number| ProbeCapacity {
                key: split_mix(&mut (number + 1)),
                pages: 4_096,
                hosts: 1_024,
                link: f32::MAX,
                fair: 4_096,
            })
            .collect();
        for (number, _) in &departures {
            if let Some(place) = places.get_mut(*number) {
                (place.pages, place.hosts) = (0, 0);
            }
        }
        let before = owners.clone();
        assign(&groups, &mut places, &mut owners);
        let changed = before.iter().zip(&owners).zip(&groups);
        let moved = changed.filter(|((then, now), _)| then != now);
        let moved = moved.map(|(_, group)| u64::from(group.pages)).sum();
        // The others go on until then.
        let free = departures.iter().map(|(_, departure)| departure.free_at());
        let free = free.max().unwrap_or(self.now);
        while self.now < free {
            self.round();
        }
        for (number, departure) in departures {
            // The new owner may visit at once when it has the host on its list; the old one could
            // until its lease ended.
            let last = self.probes.get(number).and_then(|probe| {
                let until = probe.member.leased_until();
                until.map(|until| until.max(probe.since))
            });
            let close = last.is_some_and(|last| departure.free_at() < last + POLITENESS);
            self.violations += u64::from(close);
        }
        self.hand_over(&before, &owners);
        (left, moved)
    }

    /// Hosts that have another owner than before are on that one's list, and nobody else's.
    fn hand_over(&mut self, before: &[u32], owners: &[u32]) {
        for (host, (from, to)) in before.iter().zip(owners).enumerate() {
            if from == to {
                continue;
            }
            if let Some(probe) = self.probes.get_mut(*from as usize) {
                probe.hosts.clear();
            }
            let ledger = self.planner.ledger_mut(*to as usize);
            let (Some(probe), Some(ledger)) = (self.probes.get_mut(*to as usize), ledger) else {
                continue;
            };
            probe.hosts.push(host as u32);
            // Another price, whatever its budget.
            probe.priced.0 = -1.0;
            probe.member.take_list(ledger.next_list(0), self.now);
            probe.since = self.now;
        }
    }

    /// Hosts as they are assigned, with what they ask for at a price.
    fn groups(&self, hosts: &[u32], log_price: f32) -> Vec<Group> {
        groups(&self.web, hosts, log_price, &self.curve)
    }
}

fn groups(web: &Web, hosts: &[u32], log_price: f32, curve: &Curve) -> Vec<Group> {
    let group = |number: &u32| {
        let host = web.hosts().get(*number as usize)?;
        Some(Group {
            key: host.key,
            pages: host.pages,
            hosts: 1,
            demand: web.visits(&[*number], log_price, curve) as f32,
        })
    };
    hosts.iter().filter_map(group).collect()
}

/// Hosts assigned by name, budgets equal and fixed: what is lost before and after some have moved,
/// and the share of pages that did.
fn fixed_budgets(setting: Setting) -> (f64, f64, f64) {
    let mut random = setting.seed ^ 0xf1;
    let mut web = Web::default();
    let curve = Curve::new();
    while web.pages() < setting.probes * 2_500 {
        let some = (8.0 / (1.0 - unit(&mut random)).max(0.02)) as u32;
        let subject = (unit(&mut random) - 0.5) * 3.0;
        web.add_host(some, subject, &mut random);
    }
    let mut order: Vec<u32> = (0..web.hosts().len() as u32).collect();
    let size = |number: &u32| {
        web.hosts()
            .get(*number as usize)
            .map_or(0, |host| host.pages)
    };
    order.sort_by_key(|number| core::cmp::Reverse(size(number)));
    let mean = (web.pages() / setting.probes) as u32;
    let mut places: Vec<_> = (0..setting.probes)
        .map(|_| ProbeCapacity {
            key: split_mix(&mut random),
            pages: mean * 3 / 2,
            hosts: 1_024,
            link: f32::MAX,
            fair: mean * 11 / 10,
        })
        .collect();
    let keys: Vec<_> = places.iter().map(|place| place.key).collect();
    let mut owners = vec![NOBODY; order.len()];
    assign(&groups(&web, &order, 0.0, &curve), &mut places, &mut owners);
    let total = web.pages() as f64 * VISITS;
    let budget = total / setting.probes as f64;
    let common = web.price(&order, total, &curve);
    let optimum = web.asked(&order, common, &curve).fresh;
    let achieved = |owners: &[u32]| {
        let lists = lists(&order, owners, setting.probes);
        let fresh = lists.iter().map(|hosts| {
            let own = web.price(hosts, budget, &curve);
            web.asked(hosts, own, &curve).fresh
        });
        1.0 - fresh.sum::<f64>() / optimum
    };
    let before = achieved(&owners);
    let mut wanted = groups(&web, &order, common, &curve);
    let mut balances: Vec<_> = keys
        .iter()
        .zip(&places)
        .map(|(key, place)| Balance {
            key: *key,
            excess: -budget as f32,
            pages: place.pages,
            hosts: place.hosts,
        })
        .collect();
    for (group, owner) in wanted.iter().zip(&owners) {
        if let Some(balance) = balances.get_mut(*owner as usize) {
            balance.excess += group.demand;
        }
    }
    // Those that ask for much with few pages move first.
    let mut by_demand: Vec<usize> = (0..wanted.len()).collect();
    let dear = |group: &Group| group.demand / group.pages as f32;
    by_demand.sort_by(|one, other| dear(&wanted[*other]).total_cmp(&dear(&wanted[*one])));
    let order_of = |list: &[u32]| {
        by_demand
            .iter()
            .map(|index| list[*index])
            .collect::<Vec<_>>()
    };
    let mut moved_owners = order_of(&owners);
    wanted = by_demand.iter().map(|index| wanted[*index]).collect();
    let most = (web.pages() as f64 * MOST_MOVED) as u32;
    let moved = rehome(&wanted, &mut balances, &mut moved_owners, most);
    for (index, owner) in by_demand.iter().zip(moved_owners) {
        owners[*index] = owner;
    }
    (
        before,
        achieved(&owners),
        f64::from(moved) / web.pages() as f64,
    )
}

fn lists(hosts: &[u32], owners: &[u32], probes: usize) -> Vec<Vec<u32>> {
    let mut lists = vec![Vec::new(); probes];
    for (host, owner) in hosts.iter().zip(owners) {
        if let Some(list) = lists.get_mut(*owner as usize) {
            list.push(*host);
        }
    }
    lists
}
