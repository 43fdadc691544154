//! Pages that come after the list was made, and go again: an overlay over the page image, in places
//! that the board lends.

use core::cell::Cell;

use super::{Board, PageMemory, Probe};
use crate::catalog::Page;
use crate::fetch::Url;
use crate::scheduler::{Error, PageSettings};

/// Room for one page that is added while the probe runs.
#[derive(Debug)]
pub struct AddedPage<'a>(Cell<Option<Added<'a>>>);

#[derive(Clone, Copy, Debug)]
struct Added<'a> {
    /// Its number, in the scheduler and in the log.
    number: u16,
    page: Page<'a>,
}

impl AddedPage<'_> {
    /// No page yet: to be repeated in an array.
    #[expect(
        clippy::declare_interior_mutable_const,
        reason = "each use is meant to be a place of its own"
    )]
    pub const NEW: Self = Self(Cell::new(None));
}

/// Why a page was not added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum AddError {
    /// Its URL cannot be read.
    Url,
    /// No page of the list is at the same host and port: nobody has said how polite to be there.
    UnknownHost,
    /// All places that were lent for added pages are taken, or the scheduler is full.
    Full,
    /// Its weight or rate is none.
    Settings,
    /// It is being fetched: try again when that is over.
    InFlight,
    /// There is no such page.
    Missing,
}

impl core::fmt::Display for AddError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Url => "found a URL that cannot be read, expected one by http or https",
            Self::UnknownHost => {
                "found a URL at a host that is not in the list, expected one of its hosts"
            }
            Self::Full => "found no place for another page; remove one, or lend more memory",
            Self::Settings => {
                "found a weight or rate that is none, expected finite numbers above 0"
            }
            Self::InFlight => "found a page that is being fetched; try again when that is over",
            Self::Missing => "found no such page",
        })
    }
}

impl core::error::Error for AddError {}

/// The pages that were added. Work of each question: the places that were lent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Additions<'a>(pub &'a [AddedPage<'a>]);

impl<'a> Additions<'a> {
    fn all(&self) -> impl Iterator<Item = Added<'a>> + use<'a> {
        self.0.iter().filter_map(|place| place.0.get())
    }

    /// The page that has this number, if it was added.
    pub(super) fn page(&self, number: usize) -> Option<Page<'a>> {
        self.all()
            .find(|added| usize::from(added.number) == number)
            .map(|added| added.page)
    }

    /// The numbers of pages that were added to a host.
    pub(super) fn on_host(&self, host: u16) -> impl Iterator<Item = usize> + use<'a> {
        self.all()
            .filter(move |added| added.page.host == host)
            .map(|added| added.number.into())
    }

    /// Is there room for another one?
    pub(super) fn has_room(&self) -> bool {
        self.0.iter().any(|place| place.0.get().is_none())
    }

    /// Puts a page into a free place, if there is one.
    pub(super) fn put(&self, number: u16, page: Page<'a>) {
        if let Some(place) = self.0.iter().find(|place| place.0.get().is_none()) {
            place.0.set(Some(Added { number, page }));
        }
    }

    /// Frees the place of a page, if it was added.
    pub(super) fn remove(&self, number: u16) {
        let is_it = |place: &&AddedPage<'a>| place.0.get().is_some_and(|it| it.number == number);
        if let Some(place) = self.0.iter().find(is_it) {
            place.0.set(None);
        }
    }
}

impl<'a, B: Board> Probe<'a, B> {
    /// Lends places for pages that will be added while it runs. The scheduler and the probe's
    /// memory need room for them, too, beyond the pages of the image.
    #[must_use]
    pub fn with_additions(mut self, places: &'a [AddedPage<'a>]) -> Self {
        self.setup.additions = Additions(places);
        self
    }

    /// Adds pages, and removes them, while the probe runs.
    pub fn additions(&self) -> AddedPages<'_, 'a, B> {
        AddedPages { probe: self }
    }
}

/// What changes the pages of a probe that runs: see [`Probe::additions`].
#[derive(Debug)]
pub struct AddedPages<'p, 'a, B> {
    probe: &'p Probe<'a, B>,
}

impl<'a, B: Board> AddedPages<'_, 'a, B> {
    /// Adds a page at a host of the list; its number, as in the log. `page.host` is not looked at:
    /// the URL says which host it is, and that host's gap, hours and robots.txt hold for it.
    ///
    /// It is due at once, learns and is learnt from like any other, and is gone after a restart,
    /// unless the caller adds it again: what was learnt of it can be given back as `rate` and
    /// `confidence`. A store has to have room for it. Work: the hosts of the list.
    ///
    /// ```
    /// # use dunlin::probe::{AddError, Board, Probe};
    /// use dunlin::catalog::Page;
    /// fn watch<B: Board>(probe: &Probe<'static, B>) -> Result<u16, AddError> {
    ///     let page = Page { weight: 2.0, ..Page::new(0, "http://example.org/status") };
    ///     probe.additions().add(page)
    /// }
    /// ```
    ///
    /// # Errors
    /// See [`AddError`]; nothing has changed then.
    pub fn add(&self, page: Page<'a>) -> Result<u16, AddError> {
        let url = Url::parse(page.url).map_err(|_| AddError::Url)?;
        let host = self
            .probe
            .setup
            .host_of(&url)
            .ok_or(AddError::UnknownHost)?;
        let now = self.probe.board.now();
        let state = &mut *self.probe.state();
        if !self.probe.setup.additions.has_room() {
            return Err(AddError::Full);
        }
        let id = state.scheduler.host_id(host.into());
        let id = id.ok_or(AddError::UnknownHost)?;
        let settings = PageSettings::DEFAULT
            .with_weight(page.weight)
            .with_rate(page.rate)
            .with_confidence(page.confidence);
        let added = state.scheduler.add_page(id, &settings, now);
        let number = added.map_err(|error| match error {
            Error::PagesFull => AddError::Full,
            _ => AddError::Settings,
        })?;
        let Some(memory) = state.known.pages.get_mut(number.index()) else {
            // The scheduler has more room than the probe.
            let _ = state.scheduler.remove_page(number);
            return Err(AddError::Full);
        };
        *memory = PageMemory::NEW;
        let number = number.index() as u16;
        self.probe
            .setup
            .additions
            .put(number, Page { host, ..page });
        state.slots.wake_all();
        Ok(number)
    }

    /// Removes a page, whether it was added or is in the list; a page of the list is back after a
    /// restart. Its number may be given to another page later on. Work: O(log n).
    ///
    /// # Errors
    /// [`AddError::Missing`], or [`AddError::InFlight`] if it is being fetched.
    pub fn remove(&self, number: u16) -> Result<(), AddError> {
        let state = &mut *self.probe.state();
        let id = state.scheduler.page_id(number.into());
        let id = id.ok_or(AddError::Missing)?;
        // It is there, so nothing else can be in the way.
        let removed = state.scheduler.remove_page(id);
        removed.map_err(|_| AddError::InFlight)?;
        state.known.redirects.forget(number);
        self.probe.setup.additions.remove(number);
        if let Some(memory) = state.known.page_mut(number) {
            *memory = PageMemory::NEW;
        }
        Ok(())
    }
}
