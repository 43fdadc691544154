//! Redirects: few, no circles, and never into our own network.
//!
//! A hop is a fetch like any other: the caller takes it through robots.txt and the gate of its own
//! host. This file only keeps count.

use core::fmt;
use core::net::IpAddr;

use super::address::is_public;
use super::url::{Scheme, Url};

/// Why a redirect is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum RedirectError {
    /// There were more than [`Hops::MOST`] in a row.
    TooMany,
    /// It leads back to a URL of the same chain.
    Loop,
    /// It leads from http to https, which this connector cannot reach.
    NeedsTls,
    /// It leads to an address that is not on the open Internet, see [`is_public`].
    PrivateAddress,
    /// The caller has no room left to remember where it leads.
    NoRoom,
    /// It leads to a host that is not in the list, and may be another probe's.
    #[cfg(feature = "fleet")]
    Unlisted,
}

impl fmt::Display for RedirectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "redirected more than {} times", Hops::MOST),
            Self::Loop => f.write_str("redirected in a circle"),
            Self::NeedsTls => f.write_str("redirected to https, which needs a gateway here"),
            Self::PrivateAddress => f.write_str("redirected to an address that is not public"),
            Self::NoRoom => f.write_str("redirected while no room was left to remember where"),
            #[cfg(feature = "fleet")]
            Self::Unlisted => f.write_str("redirected to a host that is not in the fleet's list"),
        }
    }
}

impl core::error::Error for RedirectError {}

/// A chain of redirects, from a page of the list on.
///
/// ```
/// use dunlin::fetch::{Hops, RedirectError, Url};
///
/// let (a, b) = (Url::parse("http://a/")?, Url::parse("http://a/b")?);
/// let mut hops = Hops::from(&a);
/// assert_eq!(hops.follow(301, &b, true), Ok(()));
/// assert!(hops.is_permanent());
/// assert_eq!(hops.follow(302, &a, true), Err(RedirectError::Loop));
/// # Ok::<(), dunlin::fetch::UrlError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hops {
    seen: heapless::Vec<u32, { Hops::MOST + 1 }>,
    permanent: bool,
}

impl Hops {
    /// How many redirects in a row are followed.
    pub const MOST: usize = 5;

    /// No page of the list is at its beginning: somebody's link led to the URL, and not the owner's
    /// word.
    #[cfg(all(feature = "discover", feature = "probe"))]
    pub(crate) const LINK: Self = Self {
        seen: heapless::Vec::new(),
        permanent: false,
    };

    /// A chain that begins at a page of the list.
    pub fn from(start: &Url<'_>) -> Self {
        let mut seen = heapless::Vec::new();
        // There is room: the capacity is at least 1.
        let _ = seen.push(start.digest());
        Self {
            seen,
            permanent: true,
        }
    }

    /// What it consists of, to be kept: digests of URLs, and whether all redirects were permanent.
    #[cfg(feature = "probe")]
    pub(crate) fn parts(&self) -> (&[u32], bool) {
        (&self.seen, self.permanent)
    }

    /// A chain of what was kept.
    #[cfg(feature = "probe")]
    pub(crate) fn from_parts(seen: impl Iterator<Item = u32>, permanent: bool) -> Self {
        Self {
            seen: seen.take(Self::MOST + 1).collect(),
            permanent,
        }
    }

    /// How many redirects have been followed.
    pub fn count(&self) -> usize {
        self.seen.len().saturating_sub(1)
    }

    /// Is it the owner's own URL, to which neither a redirect nor a link has led?
    pub(super) fn is_owners_url(&self) -> bool {
        self.seen.len() == 1
    }

    /// Was every redirect so far permanent (301 or 308)? Then the page may be remembered under its
    /// new URL.
    pub fn is_permanent(&self) -> bool {
        self.permanent
    }

    /// The same chain without the steps between its ends: for a page that is asked for at its new
    /// URL from now on.
    pub fn shortened(&self) -> Self {
        let ends = [self.seen.first(), self.seen.last()]
            .into_iter()
            .flatten()
            .copied();
        Self {
            seen: ends.take(self.seen.len()).collect(),
            permanent: self.permanent,
        }
    }

    /// Counts a redirect, or says why it must not be followed.
    pub fn follow(
        &mut self,
        status: u16,
        target: &Url<'_>,
        speaks_https: bool,
    ) -> Result<(), RedirectError> {
        if target.scheme() == Scheme::Https && !speaks_https {
            return Err(RedirectError::NeedsTls);
        }
        let digest = target.digest();
        if self.seen.contains(&digest) {
            return Err(RedirectError::Loop);
        }
        self.seen.push(digest).map_err(|_| RedirectError::TooMany)?;
        self.permanent &= matches!(status, 301 | 308);
        Ok(())
    }

    /// May this resolved address be connected to, if the owner has not named its host?
    ///
    /// The first URL of a chain is the owner's own choice; from then on only public addresses are
    /// connected to.
    pub(super) fn may_connect(&self, address: IpAddr) -> Result<(), RedirectError> {
        if self.is_owners_url() || is_public(address) {
            Ok(())
        } else {
            Err(RedirectError::PrivateAddress)
        }
    }
}
