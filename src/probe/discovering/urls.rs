//! Which URLs are known, and which may become candidates: limits, scope, doorkeepers.

use super::queue::{UrlQueue, Waiting};
use super::{FoundEvent, ProbeParts, UrlText};
use crate::discover::{
    Candidate, Frontier, Placement, Scope, Target, UrlLimits, UrlRefusal, digest, directory_digest,
};
use crate::fetch::{Url, UrlHost, is_public};
use crate::probe::redirects::spell;
use crate::probe::setup::Setup;
use crate::probe::{Board, HostMemory};
use crate::rank::FoundWords;

/// Mixed into the digest of a host, so that it is not taken for its front page's.
const OF_HOST: u32 = 0x9e37_79b9;

/// The URLs that are known: of pages, of candidates, and those that wait for the log.
#[derive(Debug)]
pub(super) struct KnownUrls<'a> {
    /// Where pages may be.
    scope: Scope,
    /// What pages have earned, candidates, and which URLs were seen before.
    pub frontier: Frontier<'a>,
    /// Those that become candidates once their texts are in the log.
    pub queue: UrlQueue<'a>,
    /// URLs that became candidates.
    pub found: u32,
    /// Links that were not followed, and candidates that were not kept for good.
    pub refused: u32,
}

impl<'a> KnownUrls<'a> {
    /// Those that the frontier holds already.
    pub(super) fn new(scope: Scope, frontier: Frontier<'a>, queue: UrlQueue<'a>) -> Self {
        Self {
            scope,
            frontier,
            queue,
            found: 0,
            refused: 0,
        }
    }

    /// A link leads to this URL, which is known by its digest: true if it leads to a page that is
    /// kept or may become a candidate. Work: a look at the tables, and for what is new the hosts of
    /// the list.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn meet(
        &mut self,
        pages: &mut ProbeParts<'_, '_>,
        board: &impl Board,
        digest: u32,
        (url, about): (&Url<'_>, FoundWords),
        (from, from_host): (&Url<'_>, u16),
    ) -> bool {
        let why = match self.consider(pages, digest, (url, about), (from, from_host)) {
            Ok(()) => return true,
            Err(why) => why,
        };
        if let Some(text) = spell(url) {
            board.found(&FoundEvent::Refused { why, url: &text });
        }
        false
    }

    fn consider(
        &mut self,
        pages: &mut ProbeParts<'_, '_>,
        digest: u32,
        (url, about): (&Url<'_>, FoundWords),
        (from, from_host): (&Url<'_>, u16),
    ) -> Result<(), UrlRefusal> {
        let setup = pages.setup;
        let worth = || setup.found.worth_of(url, about);
        // The URL alone says nothing that it did not say before.
        let raised = if about.is_empty() { 0.0 } else { worth() };
        if self.knows(digest, raised) {
            return Ok(());
        }
        let refused = UrlLimits::DEFAULT.check(url).err();
        let host = match refused {
            Some(why) => Err(why),
            None if url.same_server(from) && self.scope != Scope::Prefix => Ok(from_host),
            None => self.host_for(pages, url).and_then(|host| {
                let closed = !url.same_server(from) && pages.is_closed_to_links(host, url);
                if closed {
                    return Err(UrlRefusal::Scope);
                }
                Ok(host)
            }),
        };
        let met = host.and_then(|host| self.ask_for_room(setup, digest, (url, worth()), host));
        let refused = u32::from(met.is_err());
        self.refused = self.refused.saturating_add(refused);
        met
    }

    /// The number of the host of a URL, if the scope lets that in. A host that is not in the list
    /// is taken in once it was seen twice. Work: the hosts; for the scope `prefix`, the host's
    /// pages.
    pub(super) fn host_for(
        &mut self,
        pages: &mut ProbeParts<'_, '_>,
        url: &Url<'_>,
    ) -> Result<u16, UrlRefusal> {
        let setup = pages.setup;
        let scope = self.scope;
        if let Some(host) = setup.host_of(url) {
            let mut pages = setup.pages_of(host);
            let lets_in =
                scope != Scope::Prefix || pages.any(|page| page_lets_in(setup, scope, page, url));
            return lets_in.then_some(host).ok_or(UrlRefusal::Scope);
        }
        let lets_in = match scope {
            Scope::Hosts | Scope::Prefix => false,
            Scope::Site | Scope::Any => (0..setup.image.hosts()).any(|host| {
                let first = setup.image.host(host).map(|host| host.first_page);
                first.is_ok_and(|first| page_lets_in(setup, scope, first.into(), url))
            }),
        };
        if !lets_in || url.scheme() == crate::fetch::Scheme::Https && !setup.reaches_https {
            return Err(UrlRefusal::Scope);
        }
        // It would take a host's place in vain: nobody connects there. Names are looked up first.
        if matches!(url.host(), UrlHost::Address(address) if !is_public(address)) {
            return Err(UrlRefusal::Scope);
        }
        let root = discover_root(url, &setup.config.key);
        if !self.frontier.is_seen_again(root ^ OF_HOST) {
            return Err(UrlRefusal::Host);
        }
        pages.add_host(url).ok_or(UrlRefusal::Host)
    }

    /// Is it the URL of a page that is kept, or of a candidate, which is worth at least this by the
    /// link that leads there?
    fn knows(&mut self, digest: u32, worth: f32) -> bool {
        if self.frontier.bank().find(digest).is_some() {
            return true;
        }
        let candidate = self.frontier.candidates_mut().find_mut(digest);
        let linked = |candidate: &mut Candidate| {
            candidate.linked();
            candidate.raise_worth(worth);
        };
        candidate.map(linked).is_some()
    }

    /// Something new: it waits for the log if it may become a candidate.
    fn ask_for_room(
        &mut self,
        setup: &Setup<'_>,
        digest: u32,
        (url, worth): (&Url<'_>, f32),
        host: u16,
    ) -> Result<(), UrlRefusal> {
        let directory = directory_digest(url, host, &setup.config.key);
        match self.frontier.met(digest, directory, host) {
            Target::Refused(why) => Err(why),
            Target::Page(_) | Target::Candidate | Target::Unwanted => Ok(()),
            Target::New => {
                let text = url_text(url).ok_or(UrlRefusal::Length)?;
                if !self.queue.has(&text) {
                    // Without room, whoever links to it will do so again.
                    let retired = false;
                    let _ = self.queue.push(Waiting { retired, worth }, &text);
                }
                Ok(())
            }
        }
    }

    /// A URL whose text is there asks for a place among the candidates; true if it got one.
    pub(super) fn offer(
        &mut self,
        pages: &mut ProbeParts<'_, '_>,
        url: &str,
        at: u32,
        income: Option<f32>,
    ) -> bool {
        let setup = pages.setup;
        let Ok(url) = Url::parse(url) else {
            return false;
        };
        let known = setup.host_of(&url);
        let Some(host) = known.or_else(|| self.host_for(pages, &url).ok()) else {
            return false;
        };
        let key = &setup.config.key;
        let digest = digest(&url, key);
        if self.frontier.bank().find(digest).is_some() {
            return false;
        }
        if let Some(known) = self.frontier.candidates_mut().find_mut(digest) {
            known.set_text(at);
            return false;
        }
        let mut newcomer = Candidate::new(digest, host, at);
        newcomer.set_worth(setup.found.worth_of(&url, setup.found.words_of(&url)));
        let directory = directory_digest(&url, host, key);
        let offer = self.frontier.offer(newcomer, directory);
        if let (Some(income), Some(candidate)) =
            (income, self.frontier.candidates_mut().find_mut(digest))
        {
            candidate.set_income(income, 0.0);
        }
        let taken = matches!(offer, Placement::Taken { .. });
        self.found += u32::from(taken);
        taken
    }

    /// The link to a candidate has said what it may be worth.
    pub(super) fn raise_worth(&mut self, setup: &Setup<'_>, url: &str, worth: Option<f32>) {
        if let (Some(digest), Some(worth)) = (setup.digest_of(url), worth) {
            let candidates = self.frontier.candidates_mut();
            if let Some(candidate) = candidates.find_mut(digest) {
                candidate.raise_worth(worth);
            }
        }
    }
}

impl ProbeParts<'_, '_> {
    /// Is it a URL of a listed host that links of others must not lead to? Strangers must not choose
    /// what is asked for in the owner's network: they lead where the owner's table or the list has
    /// the address, or to what was seen on the open Internet. Through a gateway nobody is seen: the
    /// visit looks there itself.
    fn is_closed_to_links(&self, host: u16, url: &Url<'_>) -> bool {
        let setup = self.setup;
        let UrlHost::Name(name) = url.host() else {
            return false;
        };
        let memory = self.known.origins.hosts.get(usize::from(host));
        !memory.is_some_and(HostMemory::is_open_to_links)
            && !setup.found.is_found(host)
            && !setup.goes_by_gateway(url.scheme())
            && setup.named(name).is_none()
    }
}

/// The text of a URL, if the log has room for it.
#[inline(never)] // Once for all callers.
pub(super) fn url_text(url: &Url<'_>) -> Option<UrlText> {
    let mut text = UrlText::new();
    text.push_str(&spell(url)?).ok()?;
    Some(text)
}

/// Does a page of the list let a URL in?
#[inline(never)] // Once for both callers.
fn page_lets_in(setup: &Setup<'_>, scope: Scope, page: usize, url: &Url<'_>) -> bool {
    let page = setup.image.page(page).ok();
    let page = page.and_then(|page| Url::parse(page.url).ok());
    page.is_some_and(|page| scope.lets_in(&page, url))
}

/// The digest of a host's front page.
fn discover_root(url: &Url<'_>, key: &[u8; 16]) -> u32 {
    let mut text = [0; 256];
    let root = url.join(b"/", &mut text);
    root.map_or(1, |root| digest(&root, key))
}
