//! Ten probes on de Souza's web: who has which servers, and how many crawls a day.

use dunlin::fleet::{
    Balance, Drift, GrantLedger, Group, Member, NOBODY, Outlook, ProbeCapacity, assign, rehome,
};
use dunlin::math::{h_inverse, split_mix};
use dunlin::time::{Duration, Instant};
use dunlin_host::fleet::planner::{Planner, Rules};
use dunlin_host::fleet::web::bisect;
use host_tests::desouza::{GAP, Web};

use super::PROBES;

/// A probe can do so many times the work of one of de Souza's crawlers, and holds at most so many
/// mean shares.
pub const CAP: f64 = 3.0;
/// Pages of a probe, in means, for balance: as the planner of `dunlin fleet` has it.
const FAIR: f64 = 1.25;
/// The share of pages that may move where budgets are fixed.
const MOST_MOVED: f64 = 0.08;
const LEASE: Duration = Duration::HOUR;
const REPORT: Duration = Duration::from_secs(900);
/// Until decreases are acknowledged.
const SETTLE: Duration = Duration::from_secs(60);

/// The table's steps in the logarithm of a price.
const STEP: f64 = 1.0 / 256.0;
/// Prices below e to this are looked up as this.
const LEAST: f64 = -20.0;

/// Crawls for each change of a page, by the logarithm of y = price × rate (Cho, section 5.3);
/// nothing from y = 1 on.
struct Curve(Vec<f64>);

impl Curve {
    fn new() -> Self {
        let count = (-LEAST / STEP) as usize + 2;
        let crawls = |index: usize| 1.0 / h_inverse((LEAST + index as f64 * STEP).exp());
        Self((0..count).map(crawls).collect())
    }

    /// Crawls of a page within a day that begins with a fresh copy: as good as one crawl more.
    fn crawls(&self, rate: f64, log_price: f64) -> f64 {
        let log = rate.ln() + log_price;
        if log >= 0.0 {
            return 0.0;
        }
        let place = (log.max(LEAST) - LEAST) / STEP;
        let index = place as usize;
        let [low, high] = [self.0[index], self.0[index + 1]];
        let each = low + (high - low) * (place - index as f64);
        (rate * each - 1.0).max(0.0)
    }
}

/// A server, as a planner sees it.
struct Server {
    key: u64,
    rates: Vec<f64>,
}

impl Server {
    fn pages(&self) -> u32 {
        self.rates.len() as u32
    }
}

/// What a web's servers ask for, and who has them.
pub struct Fleet {
    servers: Vec<Server>,
    pages: f64,
    curve: Curve,
    /// Crawls a day, over all probes.
    total: f64,
    /// The probe that has each server.
    owners: Vec<u32>,
    keys: Vec<u64>,
}

impl Fleet {
    /// Gives each server to a probe, by name and within fair shares.
    pub fn new(web: &Web, total: f64) -> Self {
        let mut random = super::SEED;
        let servers: Vec<Server> = (web.servers())
            .map(|rates| Server {
                key: split_mix(&mut random),
                rates: rates.to_vec(),
            })
            .collect();
        let keys = (0..PROBES).map(|_| split_mix(&mut random)).collect();
        let mut fleet = Self {
            owners: vec![NOBODY; servers.len()],
            pages: servers.iter().map(|server| f64::from(server.pages())).sum(),
            servers,
            curve: Curve::new(),
            total,
            keys,
        };
        fleet.assign();
        fleet
    }

    fn assign(&mut self) {
        // A page asks for its share of the budget, as far as its server's politeness goes.
        let groups: Vec<Group> = (self.servers.iter())
            .map(|server| Group {
                key: server.key,
                pages: server.pages(),
                hosts: 1,
                demand: (self.total * f64::from(server.pages()) / self.pages).min(most()) as f32,
            })
            .collect();
        let mut places: Vec<ProbeCapacity> = (self.keys.iter())
            .map(|key| ProbeCapacity {
                key: *key,
                // θ = 1 has servers that are larger than a probe's share.
                pages: u32::MAX,
                hosts: u32::MAX,
                link: self.link(),
                fair: (FAIR * self.pages / PROBES as f64) as u32,
            })
            .collect();
        // Servers come by size.
        let left = assign(&groups, &mut places, &mut self.owners);
        assert_eq!(left, 0, "every server has a probe");
    }

    fn link(&self) -> f32 {
        (CAP * self.total / PROBES as f64) as f32
    }

    /// The servers of each probe.
    pub fn lists(&self) -> Vec<Vec<usize>> {
        let mut lists = vec![Vec::new(); PROBES];
        for (server, owner) in self.owners.iter().enumerate() {
            lists[*owner as usize].push(server);
        }
        lists
    }

    /// Crawls a day that servers ask for at a price, within their politeness.
    fn visits(&self, servers: &[usize], log_price: f32) -> f64 {
        let asked = |server: &usize| {
            let rates = self.servers[*server].rates.iter();
            let crawls = rates.map(|rate| self.curve.crawls(*rate, log_price.into()));
            crawls.sum::<f64>().min(most())
        };
        servers.iter().map(asked).sum()
    }

    /// What each probe holds at first, and after each of so many rounds of reports and grants, from
    /// a planner that heeds what the politeness of servers allows, as `dunlin fleet` does, or not.
    pub fn grants(&self, count: usize, heeds: bool) -> Vec<Vec<f64>> {
        let lists = self.lists();
        let drift = Drift::DEFAULT;
        let mut now = Instant::ZERO + SETTLE;
        let rules = Rules {
            epoch: 1,
            total: self.total as f32,
            cap: CAP as f32,
            lease: LEASE,
            drift,
        };
        let mut planner = Planner::new(rules, (0..PROBES).map(|_| GrantLedger::new(1)));
        if heeds {
            for (number, servers) in lists.iter().enumerate() {
                planner.set_polite(number, (most() * servers.len() as f64) as f32);
            }
        }
        let mut members: Vec<Member> = (1..=PROBES as u32)
            .map(|boot| Member::new(boot, 1, Instant::ZERO, drift))
            .collect();
        let mut rounds = Vec::new();
        for _ in 0..=count {
            for (number, member) in members.iter_mut().enumerate() {
                let outlook = self.outlook(&lists[number], member.budget().into());
                planner.reported(number, member.report(&outlook, now), now);
            }
            planner.replan(now);
            let mut fallen = Vec::new();
            for (number, member) in members.iter_mut().enumerate() {
                let before = member.budget();
                let grant = planner.grant(number, now);
                if grant.is_some_and(|grant| member.granted(&grant)) && member.budget() < before {
                    fallen.push(number);
                }
            }
            // Who has less says so; others get what that sets free.
            now += SETTLE;
            for number in fallen {
                let member = &mut members[number];
                let outlook = self.outlook(&lists[number], member.budget().into());
                planner.reported(number, member.report(&outlook, now), now);
            }
            planner.count_free(now);
            let waiting: Vec<usize> = planner.waiting().collect();
            for number in waiting {
                if let Some(grant) = planner.grant(number, now) {
                    members[number].granted(&grant);
                }
            }
            rounds.push(members.iter().map(|one| one.budget().into()).collect());
            now += REPORT - SETTLE;
        }
        rounds
    }

    /// What a probe says of itself: what a crawl is worth at its budget, and how that changes.
    fn outlook(&self, servers: &[usize], budget: f64) -> Outlook {
        let known = Outlook {
            link: self.link(),
            ..Outlook::default()
        };
        if budget <= 0.0 {
            return known;
        }
        let at = |log: f32| self.visits(servers, log);
        let price = bisect(budget, at);
        Outlook {
            price: price.exp(),
            elasticity: (at(price - 0.5) / at(price + 0.5).max(1e-9)).ln() as f32,
            ..known
        }
    }

    /// Moves servers from probes at which a crawl is dear, where budgets are fixed and equal; the
    /// share of pages that moved.
    pub fn rehome(&mut self) -> f64 {
        let all: Vec<usize> = (0..self.owners.len()).collect();
        let common = bisect(self.total, |log| self.visits(&all, log));
        let group = |server: &usize| Group {
            key: self.servers[*server].key,
            pages: self.servers[*server].pages(),
            hosts: 1,
            demand: self.visits(&[*server], common) as f32,
        };
        // Those that ask for much with few pages move first.
        let mut wanted: Vec<(usize, Group)> =
            all.iter().map(|server| (*server, group(server))).collect();
        let dear = |group: &Group| group.demand / group.pages.max(1) as f32;
        wanted.sort_by(|one, other| dear(&other.1).total_cmp(&dear(&one.1)));
        let budget = (self.total / PROBES as f64) as f32;
        let mut balances: Vec<Balance> = (self.keys.iter())
            .map(|key| Balance {
                key: *key,
                excess: -budget,
                pages: u32::MAX / 2,
                hosts: u32::MAX / 2,
            })
            .collect();
        for (server, group) in &wanted {
            balances[self.owners[*server] as usize].excess += group.demand;
        }
        let (servers, groups): (Vec<usize>, Vec<Group>) = wanted.into_iter().unzip();
        let mut owners: Vec<u32> = servers.iter().map(|server| self.owners[*server]).collect();
        let most = (MOST_MOVED * self.pages) as u32;
        let moved = rehome(&groups, &mut balances, &mut owners, most);
        for (server, owner) in servers.into_iter().zip(owners) {
            self.owners[server] = owner;
        }
        f64::from(moved) / self.pages
    }
}

/// Crawls a day that a server's politeness allows.
fn most() -> f64 {
    (Duration::DAY.as_micros() / GAP.as_micros()) as f64
}
