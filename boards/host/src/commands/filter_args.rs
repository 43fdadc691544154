//! The options that say what of a page counts as a change: a list's, or one's own.

use std::path::PathBuf;

use crate::error::Error;
use crate::filter::markers::Markers;
use crate::filter::{Filter, Filters, Select};
use crate::lists::page_image::pairs;
use crate::lists::pages::PageList;

/// What of a page counts as a change.
#[derive(Debug, clap::Args)]
pub struct FilterArgs {
    /// A page list whose columns `select` and `ignore` say what of the page counts
    #[arg(long, value_name = "PAGES.csv")]
    pages: Option<PathBuf>,
    /// Only this part of the page counts: a CSS selector such as '#news li', or what stands between
    /// two markers, FROM…TO. Instead of what the list says
    #[arg(long, value_name = "SELECTOR|FROM…TO", value_parser = select)]
    select: Option<Select>,
    /// What stands between two markers does not count (repeatable). Instead of what the list says
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    ignore: Vec<String>,
}

fn select(text: &str) -> Result<Select, String> {
    Filter::read_select(text).map_err(|expected| format!("expected {expected}"))
}

impl FilterArgs {
    /// The list, if there is one.
    pub fn list(&self) -> Option<&PathBuf> {
        self.pages.as_ref()
    }

    /// The filter of this page, or of all pages of the list.
    ///
    /// # Errors
    /// The list cannot be read, or a marker is empty.
    pub fn read(&self, url: &str) -> Result<Filters, Error> {
        let list = self.pages.as_deref().map(PageList::read).transpose()?;
        let listed = list.map(|list| Filters::of(&list, &[])).unwrap_or_default();
        if self.select.is_none() && self.ignore.is_empty() {
            return Ok(listed);
        }
        let mut filter = listed.get(url).cloned().unwrap_or_default();
        if self.select.is_some() {
            filter.select = self.select.clone();
        }
        if !self.ignore.is_empty() {
            let pairs = pairs(&self.ignore).into_iter();
            filter.ignore = pairs.map(|(from, to)| Markers { from, to }).collect();
        }
        if filter.ignore.iter().any(|markers| markers.from.is_empty()) {
            let found = "found an empty marker behind --ignore, expected what opens the stretch";
            return Err(Error::Usage(found.into()));
        }
        Ok(Filters::one(url, filter))
    }
}
