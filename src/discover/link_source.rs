//! The page that links stand in.

use super::digest::{digest, part_of};
use crate::fetch::{ServerDigest, Url};

/// A page whose links are met, and what need not be found out again for each of them: most lead to
/// the page's own server.
///
/// ```
/// use dunlin::discover::{LinkSource, digest};
/// use dunlin::fetch::Url;
///
/// let key = [7; 16];
/// let page = Url::parse("http://a.test/b/c")?;
/// let source = LinkSource::new(&page, &key);
/// assert_eq!(source.digest(), digest(&page, &key));
/// let near = Url::parse("http://a.test/b/d")?;
/// assert_eq!(source.digest_of(&near, &key), digest(&near, &key));
/// assert!(source.is_near(&near) && !source.is_near(&Url::parse("http://a.test/e/")?));
/// # Ok::<(), dunlin::fetch::UrlError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LinkSource<'u> {
    url: Url<'u>,
    server: ServerDigest,
    digest: u32,
    part: Option<(&'u [u8], bool)>,
}

impl<'u> LinkSource<'u> {
    /// The page at this URL, under the device's key.
    pub fn new(url: &Url<'u>, key: &[u8; 16]) -> Self {
        let server = ServerDigest::new(url, key);
        Self {
            url: *url,
            digest: server.of(url).max(1),
            server,
            part: part_of(url),
        }
    }

    /// The URL that the page is at.
    pub fn url(&self) -> &Url<'u> {
        &self.url
    }

    /// The page's own digest.
    pub fn digest(&self) -> u32 {
        self.digest
    }

    /// The digest of a URL that it links to, under the same key.
    pub fn digest_of(&self, url: &Url<'_>, key: &[u8; 16]) -> u32 {
        match url.is_made_from(&self.url) {
            true => self.server.of(url).max(1),
            false => digest(url, key),
        }
    }

    /// Is a URL in the page's own part of its host, below the front page? Calendars are, and
    /// sessions.
    pub fn is_near(&self, url: &Url<'_>) -> bool {
        self.part.is_some() && part_of(url) == self.part && url.same_server(&self.url)
    }
}
