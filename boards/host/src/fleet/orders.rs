//! What the owner of a fleet can ask of a running planner. Asking twice is asking once.

use dunlin::fleet::Verb;
use dunlin::time::Instant;
use serde::{Deserialize, Serialize};

use super::coordinator::Coordinator;
use super::saved::SavedPage;

/// What an owner can order a planner to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Visit this page as soon as budget and politeness allow.
    Pull {
        /// The page to be visited.
        url: String,
    },
    /// Take one more page into the collection.
    Add {
        /// The page to be added.
        url: String,
        /// How important it is.
        weight: f64,
    },
    /// Take a page out of the collection.
    Remove {
        /// The page to be removed.
        url: String,
    },
    /// Fetch nothing until told otherwise, or go on.
    Pause {
        /// The probe; `None` for all.
        probe: Option<String>,
        /// The probe goes on instead.
        resume: bool,
    },
    /// Another budget for all.
    Budget {
        /// Fetches a day of all probes together.
        crawls_per_day: f32,
    },
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Something is different from before.
    pub changed: bool,
    /// The probe that has been told.
    pub probe: Option<String>,
    /// What its answer is known by.
    pub command: Option<u32>,
}

impl Coordinator {
    /// Does what its owner asks.
    ///
    /// # Errors
    /// It makes no sense here; what was found and what was expected.
    pub fn obey(&mut self, order: &Order, now: Instant) -> Result<Answered, String> {
        match order {
            Order::Pull { url } => self.pull(url),
            Order::Add { url, weight } => self.add_page(url, *weight),
            Order::Remove { url } => self.remove_page(url),
            Order::Pause { probe, resume } => self.pause(probe.as_deref(), !resume),
            Order::Budget { crawls_per_day } => self.set_budget(*crawls_per_day, now),
        }
    }

    fn pull(&mut self, url: &str) -> Result<Answered, String> {
        let page = self.collection.find(url);
        let page =
            page.ok_or_else(|| format!("found {url}, expected the URL of a page of the fleet"))?;
        let group = self.collection.groups().get(self.collection.group_of(page));
        let owner = group.and_then(|group| group.holder.owner());
        let probe = owner.and_then(|owner| self.roster.get(owner as usize));
        let (Some(owner), Some(probe)) = (owner, probe) else {
            return Err(format!(
                "found nobody who has {url} now, expected a probe: ask again once its host has been given to one"
            ));
        };
        let place = probe.list.pages.iter().position(|of| *of == page);
        let place = place.and_then(|place| u16::try_from(place).ok());
        let Some(place) = place else {
            return Err(format!(
                "found {url} on no list yet, expected it there in a moment"
            ));
        };
        let name = probe.name.clone();
        let list = probe.list.version;
        let verb = Verb::Pull { page: place, list };
        let command = self.send(owner as usize, verb);
        Ok(Answered {
            changed: true,
            probe: Some(name),
            command: Some(command),
        })
    }

    fn add_page(&mut self, url: &str, weight: f64) -> Result<Answered, String> {
        if !(weight > 0.0 && weight.is_finite()) {
            return Err(format!("found weight {weight}, expected a number above 0"));
        }
        let (page, is_new) = self
            .collection
            .add(url, weight)
            .map_err(|why| why.to_string())?;
        if !is_new {
            return Ok(Answered::default());
        }
        if let Err(why) = self.image(&[page], 0.0, self.started) {
            self.collection.remove(page);
            return Err(why.to_string());
        }
        let url = self.collection.url(page).to_owned();
        self.remember(Some(SavedPage { url, weight }), None);
        let group = self.collection.group_of(page);
        let owner = self.collection.groups()[group].holder.owner();
        if let Some(owner) = owner {
            self.make_stale(owner as usize);
        }
        // Its owner may have no room for one more.
        self.unplaced = true;
        let probe = owner.and_then(|owner| self.roster.get(owner as usize));
        Ok(Answered {
            changed: true,
            probe: probe.map(|probe| probe.name.clone()),
            command: None,
        })
    }

    fn remove_page(&mut self, url: &str) -> Result<Answered, String> {
        let Some(page) = self.collection.find(url) else {
            return Ok(Answered::default());
        };
        let Some(group) = self.collection.remove(page) else {
            return Ok(Answered::default());
        };
        self.remember(None, Some(url.to_owned()));
        let owner = self.collection.groups()[group].holder.owner();
        match owner {
            // The host is nobody's: who gets it again, if it comes back, waits for its politeness.
            Some(_) if self.collection.groups()[group].pages == 0 => {
                self.take_away(group, None);
            }
            Some(owner) => self.make_stale(owner as usize),
            None => {}
        }
        // There may be room now for what nobody had room for.
        self.unplaced = true;
        let probe = owner.and_then(|owner| self.roster.get(owner as usize));
        Ok(Answered {
            changed: true,
            probe: probe.map(|probe| probe.name.clone()),
            command: None,
        })
    }

    fn pause(&mut self, name: Option<&str>, paused: bool) -> Result<Answered, String> {
        let numbers: Vec<usize> = match name {
            None => (0..self.roster.probes().len()).collect(),
            Some(name) => match self.roster.find(name) {
                Some(number) => vec![number],
                None => return Err(format!("found {name:?}, expected the name of a probe")),
            },
        };
        let mut answered = Answered {
            probe: name.map(str::to_owned),
            ..Answered::default()
        };
        for number in numbers {
            let Some(probe) = self.roster.get_mut(number) else {
                continue;
            };
            answered.changed |= probe.paused != paused;
            probe.paused = paused;
            probe.pending |= probe.seq > 0;
            answered.command = Some(self.send(number, Verb::Pause(paused)));
        }
        self.touch();
        Ok(answered)
    }

    fn set_budget(&mut self, budget: f32, now: Instant) -> Result<Answered, String> {
        if !(budget > 0.0 && budget <= 1e9) {
            return Err(format!(
                "found {budget} fetches a day, expected a number above 0, up to 1000000000"
            ));
        }
        let changed = self.settings.budget != budget;
        self.remember_budget(budget);
        for number in 0..self.roster.probes().len() {
            let is_here = self.is_here(number, now);
            if let Some(probe) = self.roster.get_mut(number) {
                // Whoever has too much is told at once.
                probe.pending |= is_here;
            }
        }
        Ok(Answered {
            changed,
            ..Answered::default()
        })
    }
}
