//! Tellers of a list: one more page of an image for each host that says when its pages changed.

use dunlin::catalog::Page;
use dunlin::fetch::Url;
use dunlin::image::{Teller, TellerSource};

use super::hosts::ListedHints;
use super::listing::Listing;
use super::page_image::Options;

/// Where sitemaps are as a rule.
const USUAL: &[u8] = b"/sitemap.xml";

/// A teller on its way into an image.
#[derive(Clone, Debug)]
pub(super) struct NewTeller {
    url: String,
    /// Its host in the list.
    pub host: usize,
    weight: f32,
    source: TellerSource,
}

impl NewTeller {
    /// Its record as a page, among so many of the list.
    pub(super) fn record(&self, options: &Options, pages: usize) -> Page<'_> {
        Page {
            host: self.host as u16,
            url: &self.url,
            weight: self.weight,
            rate: options
                .per_day
                .map(|per_day| (per_day / pages.max(1) as f64) as f32),
            confidence: 0.0,
        }
    }
}

/// The tellers of a list. One whose URL is that of a page of the list is left out: what its owner
/// wants to be watched is no longer news if it is only listened to.
pub(super) fn tellers(listing: &Listing) -> Vec<NewTeller> {
    let pages = &listing.list.pages;
    let teller = |(host, hints): &(usize, ListedHints)| {
        let own = || pages.iter().filter(|page| page.host == *host);
        let first = own().next()?;
        let weights: f64 = own().map(|page| page.weight).sum();
        let (url, source) = match hints {
            ListedHints::At(url) => (url.clone(), TellerSource::Given),
            ListedHints::Auto => {
                let base = Url::parse(&first.url).ok()?;
                let mut text = [0; 512];
                let url = base.join(USUAL, &mut text).ok()?;
                (url.to_string(), TellerSource::Auto)
            }
        };
        let known = own().any(|page| page.url == url);
        (!known).then(|| NewTeller {
            url,
            host: *host,
            weight: (weights / own().count() as f64) as f32,
            source,
        })
    };
    listing.tellers.iter().filter_map(teller).collect()
}

/// Where they are in an image whose pages are in this order, those of the list numbered below
/// `pages`.
pub(super) fn placed(tellers: &[NewTeller], order: &[usize], pages: usize) -> Vec<Teller> {
    let teller = |(place, &index): (usize, &usize)| {
        let teller = tellers.get(index.checked_sub(pages)?)?;
        Some(Teller {
            page: place as u16,
            source: teller.source,
        })
    };
    order.iter().enumerate().filter_map(teller).collect()
}
