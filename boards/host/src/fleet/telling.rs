//! What a planner says to probes: grants, lists and commands.

use std::io;

use dunlin::fleet::{Command, LONGEST, ListNotice, ProbeTopic, Verb, encode, list_digest, topic};
use dunlin::time::{Duration, Instant};

use super::collection::HostGroup;
use super::coordinator::{Coordinator, SentCommand};
use super::link::Outgoing;
use super::roster::{List, Probe};
use crate::error::Error;
use crate::lists::page_image::{self, Capacity, Options};
use crate::monitor::web::request::is_same;

/// Where there are many probes, reports that come within this are answered together: each time looks
/// at every probe some forty times.
const ANSWERED_OF_MANY: Duration = Duration::from_secs(1);
const MANY: usize = 1_000;
/// One turn makes lists of so many pages, and the next ones go on: reports are heard between them.
const LISTED_A_TURN: usize = 500_000;
/// A command is of no use any more after so many seconds.
const COMMAND_EXPIRES_S: u32 = 3_600;
/// Commands that are remembered.
const MOST_COMMANDS: usize = 256;
/// As many as a list can count.
pub(super) const MOST_LISTED: usize = u16::MAX as usize - 1;

impl Coordinator {
    /// Grants, in answer to the reports that have come. A probe whose list is still to be made waits
    /// for that: a grant would hold for the new list alone.
    pub(super) fn answer(&mut self, now: Instant) {
        let is_listed = |probe: &Probe| !probe.stale;
        let probes = self.roster.probes().iter().enumerate();
        let pending: Vec<usize> = probes
            .filter(|(_, probe)| probe.pending && is_listed(probe))
            .map(|(number, _)| number)
            .collect();
        let is_many = self.roster.probes().len() >= MANY;
        let last = self.answered_at.filter(|_| is_many);
        if pending.is_empty() || last.is_some_and(|last| now < last + ANSWERED_OF_MANY) {
            return;
        }
        self.answered_at = Some(now);
        for number in 0..self.roster.probes().len() {
            let probe = self.roster.get(number);
            let idle = probe.is_none_or(|probe| probe.paused || probe.list.pages.is_empty());
            self.planner.set_idle(number, idle);
        }
        self.planner.replan(now);
        for number in pending {
            self.grant(number, now);
            if let Some(probe) = self.roster.get_mut(number) {
                probe.pending = false;
            }
        }
        self.planner.count_free(now);
        for number in self.planner.served(now) {
            if self.is_here(number, now) && self.roster.get(number).is_some_and(is_listed) {
                self.grant(number, now);
            }
        }
    }

    fn grant(&mut self, number: usize, now: Instant) {
        let Some(grant) = self.planner.grant(number, now) else {
            return;
        };
        let committed = self.planner.entries().get(number).map_or(0.0, |entry| {
            entry.ledger.committed(self.settings.drift, now)
        });
        let fleet = &self.settings.fleet;
        let Some(probe) = self.roster.get_mut(number) else {
            return;
        };
        if committed > probe.saved_budget {
            probe.saved_budget = committed;
            self.budgets_unsaved = true;
        }
        let mut buffer = [0; LONGEST];
        if let (Some(place), Some(bytes)) = (
            topic(fleet, &probe.name, ProbeTopic::Grant),
            encode(&grant, &mut buffer),
        ) {
            self.outbox.push(Outgoing::new(place.as_str(), bytes));
        }
    }

    /// The image of a list, and its pages by place. A fetch is worth `price` to the fleet's probes.
    pub(super) fn image(
        &self,
        pages: &[u32],
        price: f32,
        now: Instant,
    ) -> Result<(Vec<u8>, Vec<u32>), Error> {
        let part = self.collection.part(pages);
        let share = pages.len() as f64 / self.collection.pages().max(1) as f64;
        let learnt = pages.iter().enumerate();
        let learnt = learnt.filter_map(|(place, page)| {
            let learnt = self.collection.learnt(*page)?;
            Some((place, learnt))
        });
        let ago = |page: &u32| {
            let then = self.collection.visited(*page)?;
            Some((now - then).as_secs().min(u64::from(u32::MAX - 1)) as u32)
        };
        let options = Options {
            per_day: Some((f64::from(self.settings.budget) * share).max(1e-6)),
            learnt: learnt.collect(),
            seen: pages.iter().map(ago).collect(),
            price,
            ..self.settings.options.clone()
        };
        let capacity = Capacity {
            pages: MOST_LISTED,
            hosts: MOST_LISTED,
            https: self.settings.https,
            ipv6: false,
        };
        let (image, order) = page_image::build(&part, &options, capacity)?;
        let places = order.iter().map(|index| pages[*index]).collect();
        Ok((image, places))
    }

    /// Makes the lists that have changed, or as many of them as one turn has time for, and announces
    /// them.
    ///
    /// # Errors
    /// One cannot be written into the folder: it is tried again.
    pub(super) fn make_lists(&mut self, now: Instant) -> io::Result<()> {
        let probes = self.roster.probes();
        let stale: Vec<usize> = (0..probes.len())
            .filter(|number| probes[*number].stale)
            .collect();
        self.is_listing = !stale.is_empty();
        if stale.is_empty() {
            return Ok(());
        }
        let groups = self.collection.groups_by_probe(probes.len());
        let price = self.usual_price(now);
        let mut listed = 0;
        for number in stale {
            if listed >= LISTED_A_TURN {
                return Ok(());
            }
            let pages = self.collection.pages_of(&groups[number]);
            listed += pages.len();
            let digest = self.pages_hash(&pages);
            // Every page was in a list that could be made; if one cannot, hosts that were taken
            // away are still to go.
            let (image, pages) = self.image(&pages, price, now).unwrap_or_else(|why| {
                crate::output::say(format_args!("a list cannot be made: {why}"));
                self.image(&[], price, now).unwrap_or_default()
            });
            self.planner
                .set_polite(number, self.polite(&groups[number]));
            let version = self.planner.entries().get(number);
            let version = version.map_or(0, |entry| entry.ledger.list());
            let token = dunlin::math::split_mix(&mut self.random);
            self.folder.save_list(number, &image)?;
            let Some(probe) = self.roster.get_mut(number) else {
                continue;
            };
            if version != probe.list.version {
                let pages = std::mem::take(&mut probe.list.pages);
                probe.earlier = (probe.list.version, pages);
            }
            probe.list = List {
                version,
                pages,
                length: image.len() as u32,
                image: list_digest(&image),
                digest,
                token,
            };
            probe.stale = false;
            self.announce(number, now);
        }
        self.is_listing = false;
        // What is in the lists, for the next start, once for all: their versions are saved already.
        self.touch();
        Ok(())
    }

    /// What a fetch is worth to most probes that are here; 0 if nobody says. Not the mean, which a
    /// single liar would decide.
    fn usual_price(&self, now: Instant) -> f32 {
        let rules = self.planner.rules();
        let here = self.planner.entries().iter();
        let here = here.filter(|entry| entry.is_here(rules, now));
        let prices = here.filter_map(|entry| Some(entry.report?.outlook.price));
        let is_sound = |price: &f32| *price > 0.0 && price.is_finite();
        let mut prices: Vec<f32> = prices.filter(is_sound).collect();
        prices.sort_unstable_by(f32::total_cmp);
        let middle = prices.len().saturating_sub(1) / 2;
        prices.get(middle).copied().unwrap_or(0.0)
    }

    /// Fetches a day that the politeness of these groups allows.
    fn polite(&self, groups: &[u32]) -> f32 {
        let groups = groups.iter();
        let groups = groups.filter_map(|group| self.collection.groups().get(*group as usize));
        groups.map(HostGroup::fetches_a_day).sum()
    }

    /// Tells a probe where its list is.
    pub(super) fn announce(&mut self, number: usize, now: Instant) {
        let Some(probe) = self.roster.get_mut(number) else {
            return;
        };
        if probe.list.version == 0 {
            return;
        }
        probe.announced = Some(now);
        let List {
            version,
            length,
            image,
            token,
            ..
        } = &probe.list;
        let url = format!(
            "{}lists/{}/{version}/{token:016x}",
            self.settings.lists, probe.name
        );
        let notice = ListNotice {
            version: *version,
            digest: *image,
            length: *length,
            url: &url,
        };
        let mut buffer = [0; LONGEST];
        if let (Some(place), Some(bytes)) = (
            topic(&self.settings.fleet, &probe.name, ProbeTopic::List),
            encode(&notice, &mut buffer),
        ) {
            let message = Outgoing::new(place.as_str(), bytes).retained();
            self.outbox.push(message);
        }
    }

    /// A list, for who knows its token.
    pub fn list(&self, probe: &str, version: &str, token: &str) -> Option<Vec<u8>> {
        let number = self.roster.find(probe)?;
        let list = &self.roster.get(number)?.list;
        let expected = format!("{:016x}", list.token);
        let is_right = is_same(token.as_bytes(), expected.as_bytes());
        let is_same = version == list.version.to_string() && list.version > 0;
        let image = (is_right && is_same).then(|| self.folder.load_list(number));
        image?.ok()
    }

    /// Tells a probe to do something; what its answer is known by.
    pub(super) fn send(&mut self, number: usize, verb: Verb) -> u32 {
        let same =
            |sent: &&SentCommand| sent.probe == number && sent.verb == verb && sent.done.is_none();
        let known = self.commands.iter().find(same).map(|sent| sent.id);
        let id = known.unwrap_or_else(|| {
            self.command_number += 1;
            self.planner.rules().epoch << 16 | self.command_number & 0xffff
        });
        let probe = self.roster.get(number);
        let place =
            probe.and_then(|probe| topic(&self.settings.fleet, &probe.name, ProbeTopic::Command));
        let mut buffer = [0; LONGEST];
        if let (Some(place), Some(bytes)) = (place, encode(&Command { id, verb }, &mut buffer)) {
            let message = Outgoing::new(place.as_str(), bytes).expires(COMMAND_EXPIRES_S);
            self.outbox.push(message);
        }
        if known.is_none() {
            if self.commands.len() >= MOST_COMMANDS {
                self.commands.remove(0);
            }
            self.commands.push(SentCommand {
                id,
                probe: number,
                verb,
                done: None,
            });
        }
        id
    }
}
