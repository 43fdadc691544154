//! Whether and where pages are looked for beyond the list, as `run`, `check`, `cargo xtask qemu` and
//! `cargo xtask flash` take it.

use dunlin::discover::{Discovery, Scope};
use dunlin::time::Duration;

use super::budget::{Budget, VISITS};
use super::listing::Listing;
use crate::error::Error;

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
    /// Anywhere
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
}

/// The least that is kept where nobody says how much.
const PLACES: usize = 256;

/// What an image is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Where pages may be.
    pub scope: Scope,
    /// Pages that are kept.
    pub places: u16,
    /// What new hosts get between two requests.
    pub gap_ms: u32,
}

impl DiscoverArgs {
    /// What is wanted; `None` if the list stays as it is. There is room for `most` pages.
    ///
    /// # Errors
    /// More places than there is room for, or fewer than the list has pages.
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
            scope: self.scope.into(),
            places: u16::try_from(places).unwrap_or(u16::MAX),
            gap_ms: u32::try_from(gap).unwrap_or(u32::MAX),
        }))
    }
}

impl Wanted {
    /// The section of an image, with these pages pinned.
    pub fn section(&self, pinned: impl Iterator<Item = u16>) -> Vec<u8> {
        let wanted = Discovery::new(self.scope, self.places, self.gap_ms);
        let pinned = pinned.flat_map(u16::to_le_bytes);
        wanted.header().into_iter().chain(pinned).collect()
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
        format!(
            "looks for pages {scope}, and keeps the {} most important ones, {pinned} of the list pinned; \
             a quarter of the visits explores",
            self.places
        )
    }
}
