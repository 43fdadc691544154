//! Policies by the names that options and tables give them.

use dunlin::model::Objective;
use dunlin::scheduler::{Engine, Settings};
use serde::{Deserialize, Serialize};

use super::World;
use super::policy::{Policy, scheduler};
use super::rules::{Adaptive, adaptive, proportional, random, uniform};
use super::scored::scored;
use super::siblings::Siblings;
use super::timetable::{TimetableMethod, timetable};

/// Which policy decides what is fetched next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// The scheduler, keeping each page's rhythm: Azar's carousel on the best rates
    Carousel,
    /// The scheduler, fetching whatever is worth its price
    Index,
    /// Whole crawls, spread politely on each host (de Souza 2007)
    Psp,
    /// Whole crawls at even times, dispatched politely
    Mp2,
    /// Whole crawls planned without politeness, dispatched politely (Wolf 2002)
    MWolf,
    /// Pages at random, as often as is best for that (Azar 2018)
    Random,
    /// Round robin over all pages
    Uniform,
    /// In proportion to change rates
    Proportional,
    /// Apache Nutch's adaptive schedule: interval × 0.8 or × 1.2
    Nutch,
    /// Apache StormCrawler's adaptive scheduler: interval × 0.5 or × 1.5
    Stormcrawler,
    /// The highest score by what providers tell (Xu 2007)
    Hints,
    /// The scheduler, which looks at a page's siblings when it has changed (Cho 2001)
    Siblings,
}

/// The engine the firmware uses.
impl Default for PolicyName {
    fn default() -> Self {
        match Settings::DEFAULT.engine {
            Engine::Index => Self::Index,
            _ => Self::Carousel,
        }
    }
}

impl PolicyName {
    /// As written on the command line.
    pub fn name(self) -> String {
        let name = match self {
            Self::Carousel => "carousel",
            Self::Index => "index",
            Self::Psp => "psp",
            Self::Mp2 => "mp2",
            Self::MWolf => "m-wolf",
            Self::Random => "random",
            Self::Uniform => "uniform",
            Self::Proportional => "proportional",
            Self::Nutch => "nutch",
            Self::Stormcrawler => "stormcrawler",
            Self::Hints => "hints",
            Self::Siblings => "siblings",
        };
        name.to_owned()
    }

    /// The policy on a world, with so many fetches a day.
    pub fn build(self, world: &World, per_day: f64, learn: bool, seed: u64) -> Box<dyn Policy> {
        self.build_for(Objective::Freshness, world, per_day, learn, seed)
    }

    /// The same, with what is to be kept small; rules that do not plan know freshness only.
    pub fn build_for(
        self,
        objective: Objective,
        world: &World,
        per_day: f64,
        learn: bool,
        seed: u64,
    ) -> Box<dyn Policy> {
        let core = |engine| {
            let settings = Settings::DEFAULT
                .with_engine(engine)
                .with_objective(objective)
                .with_seed(seed as u32);
            Box::new(scheduler(world, Some(per_day as f32), learn, settings))
        };
        match self {
            Self::Index => core(Engine::Index),
            Self::Carousel => core(Engine::Carousel),
            Self::Psp => Box::new(timetable(
                world,
                per_day,
                learn,
                TimetableMethod::Psp,
                objective,
            )),
            Self::Mp2 => Box::new(timetable(
                world,
                per_day,
                learn,
                TimetableMethod::Mp2,
                objective,
            )),
            Self::MWolf => Box::new(timetable(
                world,
                per_day,
                learn,
                TimetableMethod::MWolf,
                objective,
            )),
            Self::Random => Box::new(random(world, per_day, learn, seed)),
            Self::Uniform => Box::new(uniform(world, per_day)),
            Self::Proportional => Box::new(proportional(world, per_day, learn, seed)),
            Self::Nutch => Box::new(adaptive(world, per_day, Adaptive::NUTCH)),
            Self::Stormcrawler => Box::new(adaptive(world, per_day, Adaptive::STORMCRAWLER)),
            Self::Hints => Box::new(scored(world, per_day)),
            Self::Siblings => {
                let scheduler = *core(Settings::DEFAULT.engine);
                Box::new(Siblings::new(scheduler, world))
            }
        }
    }
}

#[cfg(all(test, feature = "program"))]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn a_policy_has_one_name_everywhere() {
        for policy in PolicyName::value_variants() {
            let option = policy.to_possible_value().expect("none is hidden");
            assert_eq!(option.get_name(), policy.name());
            let json = serde_json::to_string(policy).expect("a name");
            assert_eq!(json, format!("\"{}\"", policy.name()));
        }
    }
}
