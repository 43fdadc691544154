//! From what is written in a page to the URL that it means.

use super::link::Link;
use crate::fetch::{Url, UrlError};

impl<'t> Link<'t> {
    /// The URL that this link of `page` leads to, written into `out`: joined with the page's base
    /// if it has one, spaces and non-ASCII letters percent-encoded, fragments dropped.
    ///
    /// With a base, half of `out` is needed for it. A link to a path of the page's own server stays
    /// where it is, as a rule. Work: one pass over each of the texts.
    ///
    /// ```
    /// use dunlin::discover::{Link, LinkKind};
    /// use dunlin::fetch::Url;
    ///
    /// let page = Url::parse("http://a.test/b/c")?;
    /// let link = Link {
    ///     kind: LinkKind::Anchor,
    ///     href: "é f#top".as_bytes(),
    ///     base: Some(b"../d/"),
    ///     anchor: b"",
    ///     nofollow: false,
    /// };
    /// let mut out = [0; 128];
    /// let url = link.resolve(&page, &mut out)?;
    /// assert_eq!(url.path_and_query(), "/d/%C3%A9%20f");
    /// # Ok::<(), dunlin::fetch::UrlError>(())
    /// ```
    ///
    /// # Errors
    /// It is no http or https URL, or does not fit.
    pub fn resolve<'o>(&self, page: &Url<'o>, out: &'o mut [u8]) -> Result<Url<'o>, UrlError>
    where
        't: 'o,
    {
        let Some(base) = self.base else {
            return match page.at_path(self.href) {
                Some(url) => Ok(url),
                None => page.join(self.href, out),
            };
        };
        let half = out.len() / 2;
        let (first, second) = out.split_at_mut_checked(half).ok_or(UrlError::TooLong)?;
        match page.join(base, first) {
            Ok(base) => base.join(self.href, second),
            // A base that is no URL counts for nothing.
            Err(_) => page.join(self.href, second),
        }
    }
}
