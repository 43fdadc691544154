//! What a probe is started with and never changes: its page image, the configuration in it, and
//! what follows from both.

#[cfg(feature = "additions")]
use super::additions::Additions;
#[cfg(feature = "discover")]
use super::discovering::{Found, UrlText};
use super::origin::Origin;
use crate::catalog::{Config, Ignores, Page};
#[cfg(feature = "collect")]
use crate::collect::Collector;
use crate::fetch::{Agent, Url};
use crate::image::{Image, ImageError, Tag};
use crate::polite::{GateSettings, Hours};
use crate::scheduler::{PageSettings, SchedulerView, Settings};
use crate::store::identity;
use crate::time::{Duration, Instant};

/// The image, and what is read from it once.
#[derive(Debug)]
pub(super) struct Setup<'a> {
    pub image: Image<'a>,
    pub config: Config<'a>,
    pub agent: Agent<'a>,
    /// Stretches of pages that do not count as changes.
    pub ignores: Ignores<'a>,
    /// The list says something about the time of day: hours of a host, or updates of a page.
    pub needs_time: bool,
    /// Https pages can be fetched: by the board's own connections, or through a gateway.
    pub reaches_https: bool,
    /// Whom copies go to.
    #[cfg(feature = "collect")]
    pub collector: Option<Collector<'a>>,
    /// The board hands copies over by itself.
    #[cfg(feature = "collect")]
    pub board_collects: bool,
    /// Pages that came after the image was made.
    #[cfg(feature = "additions")]
    pub additions: Additions<'a>,
    /// It is a probe of a fleet: no host is asked that is not in the list.
    #[cfg(feature = "fleet")]
    pub is_member: bool,
    /// The image that the device was loaded with, if the list came later.
    #[cfg(feature = "fleet")]
    pub device: Option<Image<'a>>,
    /// Pages and hosts that are not in the image.
    #[cfg(feature = "discover")]
    pub found: Found<'a>,
}

impl<'a> Setup<'a> {
    /// Reads the image's configuration.
    ///
    /// # Errors
    /// [`ImageError::Record`] when the agent's rules refuse it.
    pub(super) fn new(image: Image<'a>, speaks_https: bool) -> Result<Self, ImageError> {
        let config = image.config()?;
        let agent = Agent::new(config.agent, config.contact).map_err(|_| ImageError::CONFIG)?;
        Ok(Self {
            image,
            agent,
            ignores: image.ignores(),
            needs_time: image.section(Tag::LAWS).is_some(),
            reaches_https: speaks_https || config.gateway.is_some(),
            config,
            #[cfg(feature = "collect")]
            collector: None,
            #[cfg(feature = "collect")]
            board_collects: false,
            #[cfg(feature = "additions")]
            additions: Additions(&[]),
            #[cfg(feature = "fleet")]
            is_member: false,
            #[cfg(feature = "fleet")]
            device: None,
            #[cfg(feature = "discover")]
            found: Found::NONE,
        })
    }

    /// Does anybody collect versions of pages?
    #[cfg(feature = "collect")]
    pub(super) fn is_collected(&self) -> bool {
        self.collector.is_some() || self.board_collects
    }

    /// Are pages of this scheme asked for through a gateway?
    #[cfg(feature = "discover")]
    pub(super) fn goes_by_gateway(&self, scheme: crate::fetch::Scheme) -> bool {
        scheme == crate::fetch::Scheme::Https && self.config.gateway.is_some()
    }

    /// Where the owner says that a host is.
    pub(super) fn named(&self, host: &str) -> Option<[u8; 4]> {
        #[cfg(feature = "fleet")]
        if let Some(device) = &self.device
            && let Some(address) = device.named(host)
        {
            return Some(address);
        }
        self.image.named(host)
    }

    /// Is this page a teller?
    #[cfg(feature = "hints")]
    #[inline(never)] // Once for all callers.
    pub(super) fn is_teller(&self, page: u16) -> bool {
        self.image.tellers().any(|teller| teller.page == page)
    }

    /// The teller of a host.
    #[cfg(feature = "hints")]
    #[inline(never)] // Once for all callers.
    pub(super) fn teller_of(&self, host: u16) -> Option<crate::image::Teller> {
        let pages = self.pages_of(host);
        let mut tellers = self.image.tellers();
        tellers.find(|teller| pages.contains(&teller.page.into()))
    }

    /// No page is a teller without `hints`.
    #[cfg(not(feature = "hints"))]
    pub(super) fn is_teller(&self, _page: u16) -> bool {
        false
    }

    /// How many pages of the image are tellers, and no pages of the list.
    #[cfg(all(feature = "discover", feature = "hints"))]
    pub(super) fn tellers(&self) -> usize {
        self.image.tellers().count()
    }

    /// Nobody listens: they are pages like others.
    #[cfg(all(feature = "discover", not(feature = "hints")))]
    pub(super) fn tellers(&self) -> usize {
        0
    }

    /// Is this the URL of a page, listed or found?
    #[cfg(feature = "hints")]
    pub(super) fn is_url_of(&self, index: usize, url: &str) -> bool {
        #[cfg(feature = "discover")]
        if let Some(found) = self.found_url(index) {
            return found.as_str() == url;
        }
        self.page(index).is_ok_and(|page| page.url == url)
    }

    /// A page: one that was added, or one of the list.
    ///
    /// # Errors
    /// As for [`Image::page`].
    pub(super) fn page(&self, index: usize) -> Result<Page<'a>, ImageError> {
        #[cfg(feature = "additions")]
        if let Some(page) = self.additions.page(index) {
            return Ok(page);
        }
        #[cfg(feature = "discover")]
        if let Some(page) = self.found.page(index) {
            return page;
        }
        self.image.page(index)
    }

    /// The URL of a page that was found, and not listed.
    #[cfg(feature = "discover")]
    pub(super) fn found_url(&self, index: usize) -> Option<UrlText> {
        self.found.url(index)
    }

    /// What a URL is known by; `None` if it is none.
    #[cfg(feature = "discover")]
    #[inline(never)] // Once for all callers.
    pub(super) fn digest_of(&self, url: &str) -> Option<u32> {
        let url = Url::parse(url).ok()?;
        Some(crate::discover::digest(&url, &self.config.key))
    }

    /// The host of a page that was found, and not listed. Work: a read of flash, and the hosts.
    #[cfg(feature = "discover")]
    pub(super) fn found_host(&self, index: usize) -> Option<u16> {
        let url = self.found_url(index)?;
        self.host_of(&Url::parse(&url).ok()?)
    }

    /// A found page, which is at this URL, with its host.
    #[cfg(feature = "discover")]
    pub(super) fn with_host_of(&self, page: Page<'a>, url: &str) -> Page<'a> {
        let host = Url::parse(url).ok().and_then(|url| self.host_of(&url));
        Page {
            host: host.unwrap_or(page.host),
            ..page
        }
    }

    /// The host of a found page, and where its URL's text is.
    #[cfg(feature = "discover")]
    pub(super) fn text_at(&self, index: usize) -> Option<(u16, u32)> {
        Some((self.found_host(index)?, self.found.text_at(index)?))
    }

    /// The host of any page; that of a found one takes as long as [`Self::found_host`].
    pub(super) fn host_of_page(&self, index: usize) -> Option<u16> {
        let page = self.page(index).ok()?;
        #[cfg(feature = "discover")]
        if page.url.is_empty() {
            return self.found_host(index);
        }
        Some(page.host)
    }

    /// Numbers of the found pages on a host. Work: the places, and a read of flash for one of eight
    /// or more.
    #[cfg(feature = "discover")]
    pub(super) fn found_on_host(&self, host: u16) -> impl Iterator<Item = usize> {
        let maybe = self.found.maybe_on_host(host);
        maybe.filter(move |place| self.is_found_on(*place, host))
    }

    /// Is a found page on the host of this number? Work: a read of flash.
    #[cfg(feature = "discover")]
    #[inline(never)] // Out of what looks at all pages.
    pub(super) fn is_found_on(&self, place: usize, host: u16) -> bool {
        let text = self.found_url(place);
        let Some(url) = text.as_ref().and_then(|text| Url::parse(text).ok()) else {
            return false;
        };
        if self.found.is_found(host) {
            return self.found.is_on_host(host, &url);
        }
        let first = self.image.host(host.into());
        let page = first.and_then(|host| self.image.page(host.first_page.into()));
        page.is_ok_and(|page| is_at(page.url, &url))
    }

    /// Numbers that pages may have.
    #[inline(always)] // As if the image were asked.
    pub(super) fn page_places(&self) -> usize {
        let pages = self.image.pages();
        #[cfg(feature = "discover")]
        let pages = pages.max(self.found.len());
        pages
    }

    /// Numbers that hosts may have.
    #[inline(always)] // As if the image were asked.
    pub(super) fn host_places(&self) -> usize {
        let hosts = self.image.hosts();
        #[cfg(feature = "discover")]
        let hosts = hosts.max(self.found.count_hosts());
        hosts
    }

    /// What of a page counts as a change: what is ignored of all pages, and what the list says of
    /// this one. A filter that cannot be read says nothing; a page that was added or found has
    /// none.
    #[cfg(feature = "filter")]
    pub(super) fn filter(&self, page: usize) -> crate::catalog::PageFilter<'a> {
        #[cfg(feature = "additions")]
        let is_listed = self.additions.page(page).is_none();
        #[cfg(not(feature = "additions"))]
        let is_listed = true;
        #[cfg(feature = "discover")]
        let is_listed = is_listed && self.found_url(page).is_none();
        let own = is_listed.then(|| self.image.filter(page));
        let own = own.and_then(Result::ok).unwrap_or_default();
        let mut ignore = self.ignores.clone();
        for stretch in own.ignore {
            // Who made the image has seen that there is room.
            let _ = ignore.push(stretch);
        }
        crate::catalog::PageFilter {
            select: own.select,
            ignore,
        }
    }

    /// The numbers of a host's pages, those that were added or found included.
    pub(super) fn every_page_of(&self, host: u16) -> impl Iterator<Item = usize> {
        let named = self.named_pages_of(host);
        #[cfg(feature = "discover")]
        let named = named.chain(self.found_on_host(host));
        named
    }

    /// Those that somebody has named, in the list or since.
    pub(super) fn named_pages_of(&self, host: u16) -> impl Iterator<Item = usize> {
        let listed = self.pages_of(host);
        #[cfg(feature = "additions")]
        let listed = listed
            .filter(|index| self.additions.page(*index).is_none())
            .chain(self.additions.on_host(host));
        #[cfg(feature = "discover")]
        let listed = listed.filter(|index| self.found.is_listed(*index));
        listed
    }

    /// Fills an empty scheduler with the image's hosts and pages, to be fetched by so many slots.
    ///
    /// # Errors
    /// [`ImageError::TooLarge`] when the scheduler does not hold them, [`ImageError::Record`] when
    /// a record cannot be read or the budget is none.
    pub(super) fn fill(
        &mut self,
        scheduler: &mut SchedulerView<'a>,
        slots: usize,
        now: Instant,
    ) -> Result<(), ImageError> {
        let image = self.image;
        let too_large = ImageError::TooLarge {
            pages: image.pages() as u16,
            hosts: image.hosts() as u16,
        };
        scheduler.set_settings(self.scheduler_settings(slots as u16));
        scheduler
            .set_budget(self.config.per_day, now)
            .map_err(|_| ImageError::CONFIG)?;
        for index in 0..image.hosts() {
            let host = image.host(index)?;
            let id = scheduler
                .add_host(Duration::from_millis(host.gap_ms.into()))
                .map_err(|_| too_large)?;
            if let Some(hours) = host.hours.and_then(|(from, to)| Hours::new(from, to)) {
                self.needs_time = true;
                let _ = scheduler.set_hours(id, hours);
            }
        }
        for index in 0..image.hosts() {
            let gate = image.host(index)?.gate;
            let own = scheduler.host_id(index);
            let gate = scheduler.host_id(gate.into());
            if let Some((own, gate)) = own.zip(gate) {
                let _ = scheduler.share_gate(own, gate);
            }
        }
        scheduler.set_constraints(image.constraints());
        for index in 0..image.pages() {
            let page = image.page(index)?;
            let host = scheduler.host_id(page.host.into()).ok_or(too_large)?;
            let settings = PageSettings::DEFAULT
                .with_weight(page.weight)
                .with_rate(page.rate)
                .with_confidence(page.confidence)
                .with_constraints(true);
            scheduler
                .add_page(host, &settings, now)
                .map_err(|_| too_large)?;
        }
        scheduler.begin_ahead(self.first_round(0));
        Ok(())
    }

    /// Pages of a first round that go at politeness' pace, when so many have been visited in an
    /// earlier run, or by others: the rest, but no more than the budget allows in a day.
    pub(super) fn first_round(&self, known: u16) -> u32 {
        let new = (self.image.pages() as u32).saturating_sub(known.into());
        self.config
            .per_day
            .map_or(new, |per_day| new.min(per_day as u32))
    }

    /// May a page be asked for so many times only?
    pub(super) fn is_limited(&self, page: usize) -> bool {
        self.image.constraints().of(page).least_ms > 0
    }

    fn scheduler_settings(&self, slots: u16) -> Settings {
        // The gap counts from the end: a request may reach its host late, and the next one early,
        // but never before the first has ended.
        let gate = GateSettings::DEFAULT
            .with_back_off(Duration::from_millis(self.config.back_off_ms.into()))
            .with_gap_from_end(true);
        Settings::DEFAULT
            .with_gate(gate)
            .with_objective(self.image.objective())
            .with_burst(slots)
            .with_seed(self.config.seed)
    }

    /// How long one request may take, from the name to the last byte.
    pub(super) fn deadline(&self) -> Duration {
        Duration::from_millis(self.config.deadline_ms.into())
    }

    /// Places of a host's pages in the list.
    #[inline(never)] // Once for all callers.
    pub(super) fn pages_of(&self, host: u16) -> core::ops::Range<usize> {
        self.image.host(host.into()).map_or(0..0, |host| {
            let first = usize::from(host.first_page);
            first..first + usize::from(host.pages)
        })
    }

    /// What the list says should pass between two requests to a host.
    pub(super) fn gap_of(&self, host: u16) -> Duration {
        #[cfg(feature = "discover")]
        if let Some(gap) = self.found.gap_of(host) {
            return gap;
        }
        let gap = self.image.host(host.into()).map_or(0, |host| host.gap_ms);
        Duration::from_millis(gap.into())
    }

    /// The same in milliseconds; `None` if there is no such host.
    #[inline(always)] // As if the image were asked.
    pub(super) fn listed_gap_ms(&self, host: usize) -> Option<u32> {
        #[cfg(feature = "discover")]
        if let Some(gap) = self.found.gap_of(host as u16) {
            return Some(gap.as_millis() as u32);
        }
        Some(self.image.host(host).ok()?.gap_ms)
    }

    /// Whose share of the room for redirects a host takes: its own, or the one that all hosts have
    /// together that are not in the list.
    pub(super) fn share_of(&self, host: u16) -> u16 {
        #[cfg(feature = "discover")]
        if self.found.is_found(host) {
            return self.found.listed_hosts;
        }
        host
    }

    /// Do two hosts of the list pass the same gate?
    pub(super) fn share_a_gate(&self, one: u16, other: u16) -> bool {
        #[cfg(feature = "discover")]
        if self.found.is_found(one) || self.found.is_found(other) {
            return one == other;
        }
        let gate = |host: u16| self.image.host(host.into()).ok().map(|host| host.gate);
        one == other || gate(one) == gate(other)
    }

    /// Whose URL is this, to which a page of the list has led? Work: the hosts of the list, unless
    /// it is the page's own host.
    pub(super) fn origin_of<'u>(&self, url: &Url<'u>, page: &Page<'a>) -> Origin<'u> {
        // As a rule it is the page's own URL, and reading that once is enough.
        let host = if url.is_read_from(page.url) || is_at(page.url, url) {
            Some(page.host)
        } else {
            self.host_of(url)
        };
        host.map_or_else(
            || Origin::Unlisted(*url),
            |host| Origin::Listed(host, url.scheme()),
        )
    }

    /// The host that this URL is on, of the list or one that was found. Work: the hosts of the
    /// list.
    pub(super) fn host_of(&self, url: &Url<'_>) -> Option<u16> {
        #[cfg(feature = "discover")]
        if let Some(host) = self.found.host_of(url) {
            return Some(host);
        }
        let listed = |index: &usize| {
            let first = self
                .image
                .host(*index)
                .and_then(|host| self.image.page(host.first_page.into()));
            first.is_ok_and(|page| is_at(page.url, url))
        };
        let found = (0..self.image.hosts()).find(listed);
        found.map(|host| host as u16)
    }

    /// Are two hosts of the list ports of one name?
    pub(super) fn share_a_name(&self, one: u16, other: u16) -> bool {
        let name = |host: u16| self.image.host(host.into()).map_or("", |host| host.name);
        without_port(name(one)) == without_port(name(other))
    }

    /// Is it a host that is in the collection because of links, and not in the list?
    #[cfg(feature = "discover")]
    pub(super) fn is_found(&self, origin: &Origin<'_>) -> bool {
        matches!(origin, Origin::Listed(host, _) if self.found.is_found(*host))
    }

    /// Does this URL, to which a page of the list has led, belong to nobody of a fleet's list?
    #[cfg(feature = "fleet")]
    pub(super) fn leads_outside_fleet(&self, url: &Url<'_>, page: &Page<'a>) -> bool {
        self.is_member && matches!(self.origin_of(url, page), Origin::Unlisted(_))
    }

    /// The number that a page's records are found by; 0 if there is no such page.
    pub(super) fn page_identity(&self, page: usize) -> u64 {
        #[cfg(feature = "discover")]
        if let Some(url) = self.found_url(page) {
            return identity(&self.config.key, &url);
        }
        let page = self.page(page);
        page.map_or(0, |page| identity(&self.config.key, page.url))
    }

    /// The number that a host's records are found by; 0 if there is no such host.
    pub(super) fn host_identity(&self, host: usize) -> u64 {
        #[cfg(feature = "discover")]
        if let Some(root) = self.found.root_of(host) {
            return identity(&self.config.key, &root);
        }
        let host = self.image.host(host);
        host.map_or(0, |host| identity(&self.config.key, host.name))
    }

    /// The number of this device and its key.
    pub(super) fn device_identity(&self) -> u64 {
        identity(&self.config.key, "this device")
    }

    /// The number of the list, in whatever order it is, and whatever has taken the places of its
    /// pages.
    pub(super) fn list_identity(&self) -> u64 {
        let listed = (0..self.image.pages()).filter_map(|index| self.image.page(index).ok());
        listed.fold(0, |list, page| list ^ identity(&self.config.key, page.url))
    }
}

/// Is a page with this URL on the server that another URL is on?
fn is_at(page: &str, url: &Url<'_>) -> bool {
    Url::parse(page).is_ok_and(|page| page.same_server(url))
}

/// A host's name without its port.
fn without_port(name: &str) -> &[u8] {
    let name = name.as_bytes();
    let colon = name.iter().rposition(|byte| *byte == b':');
    match colon {
        // The colons of an IPv6 address are in brackets.
        Some(colon) if !name.ends_with(b"]") => name.get(..colon).unwrap_or_default(),
        _ => name,
    }
}
