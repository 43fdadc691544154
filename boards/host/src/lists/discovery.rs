//! Whether and where pages are looked for beyond the list, as `run`, `check`, `cargo xtask qemu`
//! and `cargo xtask flash` take it.

use dunlin::discover::{DiscoverySettings, FrontierSettings, Scope, UrlLimits};
use dunlin::rank::{Measure, Ranking, Topic, TopicError};
use dunlin::time::Duration;

use super::budget::{Budget, VISITS};
use super::listing::Listing;
use crate::error::{Error, quoted};

/// Where pages may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ScopeArg {
    /// On the hosts of the list
    #[default]
    Hosts,
    /// On the hosts of the list and on those below the same domains
    Site,
    /// Below the directories of the list's pages
    Prefix,
    /// Anywhere that links lead to
    Any,
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Hosts => Self::Hosts,
            ScopeArg::Site => Self::Site,
            ScopeArg::Prefix => Self::Prefix,
            ScopeArg::Any => Self::Any,
        }
    }
}

/// What makes a page important.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RankArg {
    /// Important pages link to it
    Pagerank,
    /// Many pages link to it: which one is looked at next, for nobody counts links to pages that
    /// are kept
    Backlink,
    /// Its URL is short, and looks like that of a front page
    Location,
}

/// Pages beyond the list.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DiscoverArgs {
    /// Look for more pages, by links and sitemaps, and keep the most important ones
    #[arg(long)]
    pub discover: bool,
    /// Where they may be
    #[arg(
        long,
        value_enum,
        value_name = "SCOPE",
        default_value_t,
        requires = "discover"
    )]
    scope: ScopeArg,
    /// Pages that are kept, those of the list included [default: 256, or twice the list]
    #[arg(long, value_name = "K", requires = "discover")]
    places: Option<usize>,
    /// What makes a page important: these, multiplied [default: pagerank]
    #[arg(
        long,
        value_enum,
        value_name = "ORDER",
        value_delimiter = ',',
        requires = "discover"
    )]
    rank: Vec<RankArg>,
    /// Words that pages should hold in their titles, texts, URLs or in links to them: others count
    /// a tenth (16 at most)
    #[arg(
        long,
        value_name = "WORDS",
        value_delimiter = ',',
        requires = "discover"
    )]
    topic: Vec<String>,
    /// The share of visits that goes to pages that are not kept, to know what they link to
    /// [default: 0.25]
    #[arg(long, value_name = "SHARE", requires = "discover")]
    explore: Option<f32>,
    /// URLs of one host that are known at the most, besides the pages that are kept [default: half
    /// of what there is room for, if there are several hosts]
    #[arg(long, value_name = "N", requires = "discover")]
    per_host: Option<u32>,
}

/// The least that is kept where nobody says how much.
const PLACES: usize = 256;

/// The largest share of visits that explores: pages that are kept want some.
const MOST_EXPLORING: f32 = 0.9;

/// What an image is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Where pages may be.
    pub scope: Scope,
    /// Pages that are kept.
    pub places: u16,
    /// What new hosts get between two requests.
    pub gap_ms: u32,
    /// The share of visits that explores, in 256ths.
    pub exploring: u8,
    /// What makes a page important.
    pub measure: Measure,
    /// Words that pages should hold.
    pub topic: Vec<String>,
    /// Candidates of one host at the most; half of all if it is not said.
    pub per_host: Option<u16>,
}

impl DiscoverArgs {
    /// What is wanted; `None` if the list stays as it is. There is room for `most` pages.
    ///
    /// # Errors
    /// More places than there is room for, or fewer than the list has pages; words that make no
    /// topic; a share that is none; a limit that lets nothing in.
    pub fn wanted(&self, listing: &Listing, most: usize) -> Result<Option<Wanted>, Error> {
        if !self.discover {
            return Ok(None);
        }
        let pages = listing.list.pages.len();
        let places = match self.places {
            Some(places) if places > most => {
                return Err(Error::Usage(format!(
                    "found --places {places}, expected at most {most}"
                )));
            }
            Some(places) if places < pages => {
                return Err(Error::Usage(format!(
                    "found --places {places} for a list of {pages} pages, expected at least {pages}: \
                     a scope has room for the list"
                )));
            }
            Some(places) => places,
            None if pages > most => {
                return Err(Error::Usage(format!(
                    "found {pages} pages, expected at most {most} with --discover"
                )));
            }
            None => (2 * pages).max(PLACES).min(most),
        };
        let gaps = listing.gates.iter().map(|gate| gate.politeness.as_millis());
        let gap = gaps.max().unwrap_or(0);
        Ok(Some(Wanted {
            exploring: self.exploring()?,
            measure: self.measure(),
            topic: self.words()?,
            per_host: self.per_host()?,
            ..Wanted::new(
                self.scope.into(),
                u16::try_from(places).unwrap_or(u16::MAX),
                u32::try_from(gap).unwrap_or(u32::MAX),
            )
        }))
    }

    fn exploring(&self) -> Result<u8, Error> {
        match self.explore {
            None => Ok(DiscoverySettings::EXPLORING),
            Some(share) if (0.0..=MOST_EXPLORING).contains(&share) => {
                Ok((share * 256.0).round() as u8)
            }
            Some(share) => Err(Error::Usage(format!(
                "found --explore {share}, expected a share from 0 to {MOST_EXPLORING}"
            ))),
        }
    }

    fn per_host(&self) -> Result<Option<u16>, Error> {
        // The highest number is that of no limit.
        const MOST: u16 = u16::MAX - 1;
        match self.per_host.map(u16::try_from) {
            None => Ok(None),
            Some(Ok(urls @ 1..=MOST)) => Ok(Some(urls)),
            Some(_) => Err(Error::Usage(format!(
                "found --per-host {}, expected 1 to {MOST} URLs",
                self.per_host.unwrap_or(0)
            ))),
        }
    }

    fn measure(&self) -> Measure {
        let named = |order| self.rank.contains(&order);
        Measure {
            backlinks: named(RankArg::Backlink),
            page_rank: named(RankArg::Pagerank) || self.rank.is_empty(),
            location: named(RankArg::Location),
            topic: false,
        }
    }

    /// The words of the topic, however they are separated.
    fn words(&self) -> Result<Vec<String>, Error> {
        let words = self.topic.iter().flat_map(|part| part.split_whitespace());
        let words: Vec<String> = words.map(str::to_owned).collect();
        let found = match Topic::new(words.iter().map(String::as_str)) {
            Ok(_) if words.is_empty() && !self.topic.is_empty() => {
                "--topic without a word".to_owned()
            }
            Ok(_) => return Ok(words),
            Err(TopicError::Word(at)) => {
                let word = words.get(at).map_or("", String::as_str);
                format!("--topic {}", quoted(word))
            }
            Err(_) => format!("--topic of {} words", words.len()),
        };
        Err(Error::Usage(format!(
            "found {found}, expected 1 to {} words of letters and digits, such as --topic wader,estuary",
            Topic::MOST
        )))
    }
}

impl Wanted {
    /// Settings that rank by PageRank, with a quarter of the visits exploring.
    pub fn new(scope: Scope, places: u16, gap_ms: u32) -> Self {
        Self {
            scope,
            places,
            gap_ms,
            exploring: DiscoverySettings::EXPLORING,
            measure: Measure::DEFAULT,
            topic: Vec::new(),
            per_host: None,
        }
    }

    /// The section of an image, with these pages pinned.
    pub fn section(&self, pinned: impl Iterator<Item = u16>) -> Vec<u8> {
        let mut wanted = DiscoverySettings::new(self.scope, self.places, self.gap_ms);
        wanted.exploring = self.exploring;
        wanted.per_host = self.per_host;
        let pinned = pinned.flat_map(u16::to_le_bytes);
        wanted.header().into_iter().chain(pinned).collect()
    }

    /// The section of an image that says how pages are ranked; `None` if by PageRank alone.
    pub fn ranking(&self) -> Option<Vec<u8>> {
        let is_special = self.measure != Measure::DEFAULT || !self.topic.is_empty();
        let words = self.topic.join(" ").into_bytes();
        is_special.then(|| {
            Ranking::header(self.measure)
                .into_iter()
                .chain(words)
                .collect()
        })
    }

    /// Fetches a day, where nobody says how many: those that the list asks for, and as many for
    /// each further place as for a page that says nothing.
    pub fn per_day(&self, budget: Budget, listing: &Listing, interval: Duration) -> Option<f64> {
        let listed = budget.per_day(listing, interval);
        match budget {
            Budget::Manners => {
                let places = usize::from(self.places);
                let free = places.saturating_sub(listing.list.pages.len());
                let wanted = listed.unwrap_or(0.0) + VISITS * free as f64;
                Some(wanted.min(budget.allowed(listing)))
            }
            _ => listed,
        }
    }

    /// What will be done, in a line.
    pub fn describe(&self, listing: &Listing) -> String {
        let scope = match self.scope {
            Scope::Hosts => "on the hosts of the list",
            Scope::Site => "on the hosts of the list and on those below the same domains",
            Scope::Prefix => "below the directories of the list's pages",
            Scope::Any => "anywhere",
        };
        let pinned = listing.list.pinned.len();
        let limits = UrlLimits::DEFAULT;
        let per_host = match self.per_host {
            Some(urls) => format!("{urls} URLs a host"),
            None => "half of what is known a host, where there are several".to_owned(),
        };
        format!(
            "looks for pages {scope}, and keeps the {} most important ones, {pinned} of the list pinned; \
             important by {}; {:.0} % of the visits explore; at most {per_host}, {} a directory, \
             {} directories deep, {} characters, {} parameters",
            self.places,
            self.importance(),
            100.0 * f32::from(self.exploring) / 256.0,
            FrontierSettings::DIRECTORY,
            limits.depth,
            limits.length,
            limits.parameters
        )
    }

    fn importance(&self) -> String {
        let parts = [
            (self.measure.page_rank, "PageRank"),
            (self.measure.backlinks, "links to a candidate"),
            (self.measure.location, "location"),
        ];
        let parts = parts.into_iter().filter(|(counts, _)| *counts);
        let mut parts: Vec<String> = parts.map(|(_, name)| name.to_owned()).collect();
        if !self.topic.is_empty() {
            parts.push(format!("the topic ({})", self.topic.join(", ")));
        }
        parts.join(" × ")
    }
}
