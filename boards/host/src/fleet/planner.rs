//! Who may fetch how much: reports in, grants out, and the sum of all grants never above the
//! budget.

use dunlin::fleet::{Demand, Drift, Grant, GrantLedger, Report, share};
use dunlin::time::{Duration, Instant};

/// A grant is given again, beyond a probe's reports, where it raises the budget by more than this
/// share.
const WORTH_TELLING: f32 = 0.005;
/// The share of what politeness allows that a probe is granted at most: at its very end one fetch
/// more is worth nothing, and with a little less one is worth much. Grants would swing between the
/// two for ever.
const POLITE: f32 = 0.99;

/// How a planner treats its probes.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Counts the planner's starts.
    pub epoch: u32,
    /// Fetches a day, over all probes.
    pub total: f32,
    /// A probe has at most so many times the mean share, whatever it says.
    pub cap: f32,
    /// How long a grant holds.
    pub lease: Duration,
    /// By how much clocks differ.
    pub drift: Drift,
}

/// One probe, as the planner knows it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it may believe to hold.
    pub ledger: GrantLedger,
    /// The last report that was taken from it.
    pub report: Option<Report>,
    /// When the planner last heard of it.
    pub heard: Instant,
    /// It has nothing to fetch, or shall not.
    idle: bool,
    /// Fetches a day that the politeness of its hosts allows.
    polite: f32,
    /// What it should have.
    target: f32,
}

impl Entry {
    fn new(ledger: GrantLedger) -> Self {
        Self {
            ledger,
            report: None,
            heard: Instant::ZERO,
            idle: false,
            polite: f32::INFINITY,
            target: 0.0,
        }
    }

    /// It has reported, and was heard of within a lease's time.
    pub fn is_here(&self, rules: &Rules, now: Instant) -> bool {
        self.report.is_some() && now <= self.heard + rules.drift.lengthen(rules.lease)
    }

    /// Fetches a day that it should have.
    pub fn target(&self) -> f32 {
        self.target
    }
}

/// The planner's decisions about budgets.
#[derive(Debug)]
pub struct Planner {
    rules: Rules,
    entries: Vec<Entry>,
    /// Fetches a day that nobody can believe to have.
    free: f64,
    /// Nothing is taken for free until then.
    hold_until: Instant,
    /// The share of a wished increase that can be granted: a shortage is shared by all, because a
    /// probe that is left with next to nothing cannot tell what more would be worth.
    ration: f64,
    /// Those that share the budget, …
    sharing: Vec<usize>,
    /// … what they ask for, …
    demands: Vec<Demand>,
    /// … and what they should have.
    shares: Vec<f32>,
}

impl Planner {
    /// A planner of probes with these ledgers.
    pub fn new(rules: Rules, ledgers: impl Iterator<Item = GrantLedger>) -> Self {
        Self {
            rules,
            entries: ledgers.map(Entry::new).collect(),
            free: 0.0,
            hold_until: Instant::ZERO,
            ration: 0.0,
            sharing: Vec::new(),
            demands: Vec::new(),
            shares: Vec::new(),
        }
    }

    /// How probes are treated.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Another budget for all, or another epoch.
    pub fn rules_mut(&mut self) -> &mut Rules {
        &mut self.rules
    }

    /// The probes, by number.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// One more probe; its number.
    pub fn add(&mut self, ledger: GrantLedger) -> usize {
        self.entries.push(Entry::new(ledger));
        self.entries.len() - 1
    }

    /// The ledger of a probe.
    pub fn ledger_mut(&mut self, probe: usize) -> Option<&mut GrantLedger> {
        self.entries.get_mut(probe).map(|entry| &mut entry.ledger)
    }

    /// A probe that has nothing to fetch, or shall not, has no share of the budget.
    pub fn set_idle(&mut self, probe: usize, idle: bool) {
        if let Some(entry) = self.entries.get_mut(probe) {
            entry.idle = idle;
        }
    }

    /// The hosts of a probe can be asked so often in a day, all together: it is granted no more,
    /// whatever its link could carry.
    pub fn set_polite(&mut self, probe: usize, fetches: f32) {
        if let Some(entry) = self.entries.get_mut(probe) {
            entry.polite = fetches;
        }
    }

    /// Hears a report; [`Self::grant`] answers it.
    pub fn reported(&mut self, probe: usize, report: Report, now: Instant) {
        if let Some(entry) = self.entries.get_mut(probe) {
            entry.ledger.reported(&report, self.rules.epoch);
            entry.report = Some(report);
            entry.heard = now;
        }
    }

    /// Decides anew what each probe should have, by the last reports of those that are here. Work:
    /// some forty looks at each probe.
    pub fn replan(&mut self, now: Instant) {
        self.sharing.clear();
        for (number, entry) in self.entries.iter_mut().enumerate() {
            entry.target = 0.0;
            if entry.is_here(&self.rules, now) && !entry.idle {
                self.sharing.push(number);
            }
        }
        let cap = self.rules.cap * self.rules.total / self.sharing.len().max(1) as f32;
        self.demands.clear();
        for number in &self.sharing {
            let entry = self.entries.get(*number);
            let demand = entry.and_then(|entry| demand(entry, cap, &self.rules, now));
            self.demands.push(demand.unwrap_or(Demand::NOTHING));
        }
        self.shares.clear();
        self.shares.resize(self.sharing.len(), 0.0);
        share(self.rules.total, &self.demands, &mut self.shares);
        for (number, share) in self.sharing.iter().zip(&self.shares) {
            if let Some(entry) = self.entries.get_mut(*number) {
                entry.target = *share;
            }
        }
        self.count_free(now);
    }

    /// Grants nothing more until then: somebody may have any part of the budget.
    pub fn hold(&mut self, until: Instant) {
        self.hold_until = until;
    }

    /// Counts what has become free by reports and by leases that have run out.
    pub fn count_free(&mut self, now: Instant) {
        let drift = self.rules.drift;
        let committed = self.entries.iter();
        let committed = committed.map(|entry| f64::from(entry.ledger.committed(drift, now)));
        self.free = match now <= self.hold_until {
            true => 0.0,
            false => f64::from(self.rules.total) - committed.sum::<f64>(),
        };
        let wished = self.entries.iter().map(|entry| {
            let more = entry.target - entry.ledger.committed(drift, now);
            f64::from(more.max(0.0))
        });
        self.ration = (self.free.max(0.0) / wished.sum::<f64>().max(1e-9)).min(1.0);
    }

    /// Fetches a day that a probe can be granted now: what it should have, as far as that is free.
    pub fn offer(&self, probe: usize, now: Instant) -> f32 {
        let drift = self.rules.drift;
        let Some(entry) = self.entries.get(probe) else {
            return 0.0;
        };
        let before = entry.ledger.committed(drift, now);
        let more = f64::from(entry.target - before).max(0.0);
        let more = (more * self.ration).min(self.free.max(0.0)) * (1.0 - 1e-6);
        entry.target.min(before + more as f32)
    }

    /// Answers the last report of a probe with what it can be offered.
    pub fn grant(&mut self, probe: usize, now: Instant) -> Option<Grant> {
        let Rules {
            epoch,
            lease,
            drift,
            ..
        } = self.rules;
        let budget = self.offer(probe, now);
        let entry = self.entries.get_mut(probe)?;
        let report = entry.report?;
        entry.ledger.lapse(drift, now);
        let before = entry.ledger.committed(drift, now);
        // From when the report came, which was sent before that: a grant that is given again, to a
        // probe that has died meanwhile, makes nobody wait longer.
        let grant = entry
            .ledger
            .grant(&report, epoch, budget, lease, entry.heard);
        let after = entry.ledger.committed(drift, now);
        self.free -= f64::from(after - before);
        Some(grant)
    }

    /// Probes that should have more than they were granted. To be asked after
    /// [`Self::count_free`], when decreases have been acknowledged.
    pub fn waiting(&self) -> impl Iterator<Item = usize> {
        let waits = |entry: &Entry| entry.target > entry.ledger.budget() * 1.001;
        let all = self.entries.iter().enumerate();
        all.filter(move |(_, entry)| waits(entry) && entry.report.is_some())
            .map(|(number, _)| number)
    }

    /// Those of them that can be given so much more now that it is worth a message.
    pub fn served(&self, now: Instant) -> Vec<usize> {
        let more = |number: &usize| {
            let entry = self.entries.get(*number);
            let has = entry.map_or(0.0, |entry| entry.ledger.budget());
            let target = entry.map_or(0.0, Entry::target);
            self.offer(*number, now) > has + WORTH_TELLING * target
        };
        self.waiting().filter(more).collect()
    }

    /// Fetches a day that all probes together may believe to have.
    pub fn committed(&self, now: Instant) -> f64 {
        let drift = self.rules.drift;
        let each = self.entries.iter();
        let each = each.map(|entry| f64::from(entry.ledger.committed(drift, now)));
        // Not `sum`, which makes a negative zero of nothing.
        each.fold(0.0, |all, one| all + one)
    }
}

/// What a probe asks for. It may say anything: what it holds is known better here, its share is
/// capped, and what politeness allows it cannot know better than its planner.
fn demand(entry: &Entry, cap: f32, rules: &Rules, now: Instant) -> Option<Demand> {
    let report = entry.report?;
    let link = if report.outlook.link >= 0.0 {
        report.outlook.link
    } else {
        0.0
    };
    Some(Demand {
        budget: report.budget.min(entry.ledger.committed(rules.drift, now)),
        price: report.outlook.price,
        elasticity: report.outlook.elasticity,
        most: link.min(cap).min(POLITE * entry.polite),
    })
}
