//! The planner's mind, without its network and its clock: messages of probes in, grants, lists and
//! commands out.
//!
//! What leaves is in [`Coordinator::tick`]'s hands: it is handed out once everything that it rests
//! on has been saved.

use std::collections::{BTreeMap, HashMap};
use std::io;

use dunlin::fleet::{Departure, Drift, GrantLedger, Verb};
use dunlin::time::{Duration, Instant};

use super::asking::{self, Control};
use super::collection::{Collection, Holder, HostGroup};
use super::link::Outgoing;
use super::page_table::hash;
use super::planner::{Planner, Rules};
use super::roster::Roster;
use super::saved::{Folder, OneByOne, Saved, SavedGroup, SavedPage, SavedProbe, VERSION};
use super::telling::MOST_LISTED;
use crate::error::Error;
use crate::lists::page_image::Options;

/// After a connection to the broker, probes that it says are there are waited for so long, at most,
/// before hosts are given away.
const GATHER: Duration = Duration::from_secs(10);
/// What was learnt is saved this often, and less often where that writes megabytes.
const LEARNT_EVERY: Duration = Duration::from_secs(5);
const LEARNT_EVERY_OF_MANY: Duration = Duration::from_secs(60);
pub(super) const MANY: usize = 100_000;
/// An epoch is a start of a planner: nobody has started one so many times more often than this one
/// knows of.
const MOST_AHEAD: u32 = 1 << 20;

/// How a fleet is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of the fleet, which is part of every topic.
    pub fleet: String,
    /// Where probes get their lists: a URL that ends with a slash.
    pub lists: String,
    /// What a list says besides its pages. `per_day` is the whole fleet's.
    pub options: Options,
    /// The probes speak https themselves.
    pub https: bool,
    /// Fetches a day, over all probes.
    pub budget: f32,
    /// A probe has at most so many times the mean share.
    pub cap: f32,
    /// How long a grant holds.
    pub lease: Duration,
    /// By how much clocks differ.
    pub drift: Drift,
}

/// A command that was sent to a probe.
#[derive(Clone, Copy, Debug)]
pub struct SentCommand {
    /// What the answer is known by.
    pub id: u32,
    /// The probe, by number.
    pub probe: usize,
    /// What is to be done.
    pub verb: Verb,
    /// What the probe said.
    pub done: Option<bool>,
}

/// What was not used, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Ignored {
    /// On a topic that is none of a probe's.
    pub foreign: u64,
    /// No message of its topic, of another version, or of an epoch that cannot be.
    pub nonsense: u64,
    /// Older than what was heard already, a duplicate, or kept by the broker.
    pub stale: u64,
}

/// Groups that were taken off one probe's list. There may be half a million in all: nobody looks at
/// each of them at every turn.
#[derive(Debug)]
pub(super) struct Leaving {
    /// The groups, by number.
    pub(super) groups: Vec<u32>,
    /// None of them is free before.
    pub(super) free_at: Instant,
}

impl Default for Leaving {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            free_at: Instant::MAX,
        }
    }
}

/// What a planner knows of its fleet, and how it decides; messages come and go elsewhere.
#[derive(Debug)]
pub struct Coordinator {
    pub(super) settings: Settings,
    pub(super) folder: Folder,
    pub(super) planner_id: u64,
    pub(super) planner: Planner,
    pub(super) roster: Roster,
    pub(super) collection: Collection,
    pub(super) commands: Vec<SentCommand>,
    pub(super) ignored: Ignored,
    /// Groups on their way, by the number of the probe that had them.
    pub(super) leaving: BTreeMap<u32, Leaving>,
    /// Something is without an owner, or a probe has come.
    pub(super) unplaced: bool,
    /// Hosts are not given away before: a planner whose state is lost may have done so.
    pub(super) hold_until: Instant,
    /// Until then, probes that the broker says are there are waited for.
    pub(super) gather_until: Instant,
    /// Lists have to be made that one turn had no time for.
    pub(super) is_listing: bool,
    /// When a probe last came.
    pub(super) last_join: Instant,
    /// A probe has come since loads were last compared.
    pub(super) joined: bool,
    pub(super) balanced_at: Instant,
    /// When hosts were last given away.
    pub(super) placed_at: Option<Instant>,
    /// When reports were last answered.
    pub(super) answered_at: Option<Instant>,
    /// Nothing was saved before this start: what earlier planners have granted is not known.
    pub(super) fresh: bool,
    pub(super) started: Instant,
    /// A longer lease that an earlier run may have granted, and until when that matters.
    pub(super) earlier_lease: (Duration, Instant),
    pub(super) command_number: u32,
    added: Vec<SavedPage>,
    removed: Vec<String>,
    budget_said: Option<f32>,
    pub(super) unsaved: bool,
    pub(super) budgets_unsaved: bool,
    pub(super) learnt_unsaved: bool,
    learnt_saved_at: Instant,
    pub(super) random: u64,
    pub(super) outbox: Vec<Outgoing>,
}

impl Coordinator {
    /// A planner that starts, or starts again: what it knew is in the folder. It takes every lease
    /// for valid for its whole time (rule 6).
    ///
    /// # Errors
    /// The folder cannot be read or written, or the list is none that a probe would take.
    pub fn start(
        mut settings: Settings,
        mut collection: Collection,
        folder: Folder,
        random: [u64; 2],
        now: Instant,
    ) -> Result<Self, Error> {
        let found = folder.load()?;
        let fresh = found.is_none();
        let [planner_id, random] = random;
        let saved = found.unwrap_or(Saved {
            planner: planner_id,
            ..Saved::default()
        });
        for page in &saved.added {
            collection.add(&page.url, page.weight)?;
        }
        for url in &saved.removed {
            if let Some(page) = collection.find(url) {
                collection.remove(page);
            }
        }
        folder.load_learnt(|url, learnt| collection.recall(url, learnt));
        settings.budget = saved.budget.unwrap_or(settings.budget);
        let lease = settings.lease.max(Duration::from_millis(saved.lease_ms));
        let drift = settings.drift;
        let rules = Rules {
            epoch: saved.epoch.saturating_add(1),
            total: settings.budget,
            cap: settings.cap,
            lease: settings.lease,
            drift: settings.drift,
        };
        let mut coordinator = Self {
            settings,
            folder,
            planner_id: saved.planner,
            planner: Planner::new(rules, std::iter::empty()),
            roster: Roster::default(),
            collection,
            commands: Vec::new(),
            ignored: Ignored::default(),
            leaving: BTreeMap::new(),
            unplaced: true,
            hold_until: now,
            gather_until: Instant::MAX,
            is_listing: false,
            last_join: now,
            joined: false,
            balanced_at: now,
            placed_at: None,
            answered_at: None,
            fresh,
            started: now,
            earlier_lease: (lease, now + drift.lengthen(lease)),
            command_number: 0,
            added: saved.added.clone(),
            removed: saved.removed.clone(),
            budget_said: saved.budget,
            unsaved: true,
            budgets_unsaved: false,
            learnt_unsaved: false,
            learnt_saved_at: now,
            random,
            outbox: Vec::new(),
        };
        coordinator.check_lists()?;
        if !fresh {
            coordinator.recall(&saved, lease, now);
        }
        let made = coordinator.make_lists(now);
        let path = coordinator.folder.path().to_owned();
        // A new folder has a file of budgets from the start on: none is one that was lost.
        let begun = match fresh {
            true => coordinator.folder.save_budgets(&[]),
            false => Ok(()),
        };
        begun
            .and(made)
            .and_then(|()| coordinator.save())
            .map_err(|why| Error::writing(&path, why))?;
        Ok(coordinator)
    }

    /// Would a probe take any list of these pages? Said before anybody is told of one.
    fn check_lists(&self) -> Result<(), Error> {
        let mut parts = self.collection.members().chunks(MOST_LISTED);
        parts.try_for_each(|pages| self.image(pages, 0.0, self.started).map(drop))
    }

    /// Takes over who has what.
    fn recall(&mut self, saved: &Saved, lease: Duration, now: Instant) {
        let budgets = self.folder.load_budgets();
        if budgets.is_none() {
            // Nobody knows who has what of the budget: nothing is granted until all leases are over.
            let drift = self.settings.drift;
            self.planner.hold(now + drift.lengthen(lease));
        }
        let budgets = budgets.unwrap_or_default();
        for probe in &saved.probes {
            let Some(number) = self.roster.add(&probe.name) else {
                continue;
            };
            // What was granted was saved before.
            let budget = budgets.get(number).copied().unwrap_or(0.0);
            let ledger = GrantLedger::restarted(probe.list, budget, lease, now);
            self.planner.add(ledger);
            if let Some(known) = self.roster.get_mut(number) {
                known.paused = probe.paused;
                known.saved_budget = budget;
            }
        }
        let groups = self.collection.groups().iter().enumerate();
        let names: HashMap<&str, usize> = groups
            .map(|(number, group)| (&*group.name, number))
            .collect();
        let saved_groups = saved.groups.iter();
        let known: Vec<Option<usize>> = saved_groups
            .map(|group| names.get(group.name.as_str()).copied())
            .collect();
        for (group, known) in saved.groups.iter().zip(known) {
            let number = known.unwrap_or_else(|| self.collection.add_empty(&group.name));
            if let Some(place) = self.collection.groups_mut().get_mut(number) {
                place.holder = Holder::Probe(group.probe);
            }
            let is_gone = self.collection.groups()[number].pages == 0;
            if group.leaving || is_gone {
                // Already off its list; a new version costs nothing and is certain.
                self.take_away(number, None);
            }
        }
        let groups = self.collection.groups_by_probe(saved.probes.len());
        for (number, (probe, groups)) in saved.probes.iter().zip(&groups).enumerate() {
            let pages = self.collection.pages_of(groups);
            let is_same = self.pages_hash(&pages) == probe.pages;
            if !is_same {
                self.make_stale(number);
            } else if let Some(known) = self.roster.get_mut(number) {
                // The same pages under the same version: made again, but not another list.
                known.stale = true;
                known.list.digest = probe.pages;
            }
        }
    }

    /// What tells one set of pages from another.
    pub(super) fn pages_hash(&self, pages: &[u32]) -> u64 {
        let each = pages.iter().map(|page| hash(self.collection.url(*page)));
        each.fold(pages.len() as u64, |all, one| {
            all.rotate_left(7).wrapping_add(one)
        })
    }

    /// The name of the broker's topic by which planners know of each other.
    pub fn presence_topic(&self) -> String {
        format!("dunlin/1/{}/planner/state", self.settings.fleet)
    }

    /// What is said there.
    pub fn presence(&self) -> Outgoing {
        let text = format!(
            "{{\"planner\":\"{:016x}\",\"epoch\":{}}}",
            self.planner_id,
            self.planner.rules().epoch
        );
        Outgoing::new(self.presence_topic(), text).retained()
    }

    /// Is an epoch so far ahead that no planner has begun it? One lie would use all of them up.
    pub(super) fn is_absurd(&self, epoch: u32) -> bool {
        epoch > self.planner.rules().epoch.saturating_add(MOST_AHEAD)
    }

    /// Another planner was there until now, in this epoch: probes obey only a later one, and what
    /// it has granted may hold for a lease's time.
    pub fn follow(&mut self, epoch: u32, now: Instant) {
        let is_absurd = self.is_absurd(epoch);
        let rules = self.planner.rules_mut();
        if epoch >= rules.epoch && !is_absurd {
            rules.epoch = epoch.saturating_add(1);
            self.unsaved = true;
        }
        self.hold(now);
    }

    /// Gives no host away that may have been granted by somebody else before a moment.
    pub(super) fn hold(&mut self, before: Instant) {
        let Settings { lease, drift, .. } = self.settings;
        let groups = self.collection.groups().iter();
        let politeness = groups.map(|group| group.politeness).max();
        let politeness = politeness.unwrap_or(Duration::ZERO);
        let end = before + drift.lengthen(lease + politeness);
        self.hold_until = self.hold_until.max(end);
    }

    /// There is a connection to the broker: all lists are announced again, and hosts are not given
    /// away before those probes have reported that are there.
    pub fn connected(&mut self, now: Instant) {
        for number in 0..self.roster.probes().len() {
            self.announce(number, now);
        }
        self.gather_until = now + GATHER;
        // What the broker says of who is there takes a moment to come.
        self.last_join = now;
        self.outbox.push(self.presence());
    }

    /// Was the probe heard of within a lease's time?
    pub fn is_here(&self, number: usize, now: Instant) -> bool {
        let entry = self.planner.entries().get(number);
        entry.is_some_and(|entry| entry.is_here(self.planner.rules(), now))
    }

    /// The list of a probe gets another version, and has to be made.
    pub(super) fn make_stale(&mut self, number: usize) {
        let Some(probe) = self.roster.get_mut(number) else {
            return;
        };
        let version = probe.list.version;
        if let Some(ledger) = self.planner.ledger_mut(number) {
            // Once for all changes before it is made.
            if !probe.stale || ledger.list() == version {
                ledger.next_list(0);
            }
        }
        probe.stale = true;
        self.unsaved = true;
    }

    /// Takes a group off its owner's list.
    pub(super) fn take_away(&mut self, group: usize, to: Option<u32>) {
        let drift = self.settings.drift;
        let Some(place) = self.collection.groups().get(group) else {
            return;
        };
        let (politeness, Some(from)) = (place.politeness, place.holder.owner()) else {
            return;
        };
        self.make_stale(from as usize);
        let entry = self.planner.entries().get(from as usize);
        let Some(entry) = entry else { return };
        let departure = Departure::new(&entry.ledger, politeness, drift);
        if let Some(place) = self.collection.groups_mut().get_mut(group) {
            place.holder = Holder::Leaving {
                from,
                departure,
                to,
            };
            let leaving = self.leaving.entry(from).or_default();
            leaving.groups.push(group as u32);
            leaving.free_at = leaving.free_at.min(departure.free_at());
        }
    }

    /// What is to be done now; what leaves, once that it rests on is saved.
    ///
    /// # Errors
    /// The state cannot be saved: nothing leaves.
    pub fn tick(&mut self, now: Instant) -> io::Result<Vec<Outgoing>> {
        if now > self.earlier_lease.1 {
            self.earlier_lease.0 = Duration::ZERO;
        }
        self.settle(now);
        self.place(now);
        let made = self.make_lists(now);
        self.answer(now);
        if let Err(why) = made.and_then(|()| self.save_all(now)) {
            // Nobody has heard of what was not saved. Grants are asked for again.
            self.outbox.clear();
            return Err(why);
        }
        let every = match self.collection.pages() {
            0..MANY => LEARNT_EVERY,
            _ => LEARNT_EVERY_OF_MANY,
        };
        if self.learnt_unsaved && now >= self.learnt_saved_at + every {
            self.save_learnt(now)?;
        }
        Ok(std::mem::take(&mut self.outbox))
    }

    /// Saves what has changed, as far as others rest on it.
    fn save_all(&mut self, now: Instant) -> io::Result<()> {
        if self.unsaved {
            self.save()?;
        }
        if self.budgets_unsaved {
            let drift = self.settings.drift;
            let mut budgets = Vec::new();
            for (number, entry) in self.planner.entries().iter().enumerate() {
                let committed = entry.ledger.committed(drift, now);
                if let Some(probe) = self.roster.get_mut(number) {
                    probe.saved_budget = committed;
                }
                budgets.push(committed);
            }
            self.folder.save_budgets(&budgets)?;
            self.budgets_unsaved = false;
        }
        Ok(())
    }

    /// Saves what was learnt.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save_learnt(&mut self, now: Instant) -> io::Result<()> {
        self.learnt_saved_at = now;
        if std::mem::take(&mut self.learnt_unsaved) {
            self.folder.save_learnt(self.collection.all_learnt())?;
        }
        Ok(())
    }

    /// Where probes get their lists.
    pub fn lists_url(&self) -> &str {
        &self.settings.lists
    }

    /// Says in the planner's folder where it listens.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn publish_control(&self, control: &Control) -> io::Result<()> {
        let text = serde_json::to_vec(control).map_err(io::Error::other)?;
        self.folder.replace(asking::FILE, &text)
    }

    /// Keeps what a command has changed about the pages.
    pub(super) fn remember(&mut self, added: Option<SavedPage>, removed: Option<String>) {
        if let Some(page) = added {
            self.removed.retain(|url| *url != page.url);
            self.added.retain(|known| known.url != page.url);
            self.added.push(page);
        }
        if let Some(url) = removed {
            self.added.retain(|known| known.url != url);
            self.removed.retain(|known| *known != url);
            self.removed.push(url);
        }
        self.unsaved = true;
    }

    /// Keeps what a command has said of the budget.
    pub(super) fn remember_budget(&mut self, budget: f32) {
        self.settings.budget = budget;
        self.planner.rules_mut().total = budget;
        self.budget_said = Some(budget);
        self.unsaved = true;
    }

    /// Something that has to be saved has changed.
    pub(super) fn touch(&mut self) {
        self.unsaved = true;
    }

    fn save(&mut self) -> io::Result<()> {
        let probe = |(number, probe): (usize, &super::roster::Probe)| SavedProbe {
            name: probe.name.clone(),
            list: self
                .planner
                .entries()
                .get(number)
                .map_or(0, |entry| entry.ledger.list()),
            pages: probe.list.digest,
            paused: probe.paused,
        };
        let groups = || self.collection.groups().iter().filter_map(saved_group);
        let probes = self.roster.probes().iter().enumerate().map(probe);
        let saved = Saved {
            version: VERSION,
            epoch: self.planner.rules().epoch,
            planner: self.planner_id,
            lease_ms: self.settings.lease.max(self.earlier_lease.0).as_millis(),
            budget: self.budget_said,
            probes: probes.collect(),
            groups: OneByOne(groups),
            added: self.added.clone(),
            removed: self.removed.clone(),
        };
        self.folder.save(&saved)?;
        self.unsaved = false;
        Ok(())
    }
}

/// What is saved of a group; nothing of one that nobody has.
fn saved_group(group: &HostGroup) -> Option<SavedGroup<&str>> {
    let (probe, leaving) = match group.holder {
        Holder::Probe(number) => (number, false),
        Holder::Leaving { from, .. } => (from, true),
        Holder::Nobody { .. } => return None,
    };
    Some(SavedGroup {
        name: &group.name,
        probe,
        leaving,
    })
}
