//! What the owner of a list says about pages that are not on it: a section of the page image.

use super::limits::Scope;

/// What a section begins with; a reader that finds another version leaves the list as it is.
const VERSION: u8 = 1;
/// The same with a limit for hosts behind the header.
const VERSION_WITH_LIMIT: u8 = 2;
/// Bytes that both begin with.
const HEADER: usize = 10;
/// Bytes before the pinned pages, at most.
const LONGEST_HEADER: usize = HEADER + 2;

/// Whether and where pages are looked for that are not on the list.
///
/// ```text
/// version u8 · scope u8 · places u16 · exploring u8 · sitemaps u8 · gap in ms u32
/// pinned page u16 · …
/// ```
///
/// Version 2 has `per_host u16` before the pinned pages. It is written only where that is said, so
/// that older firmware reads all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscoverySettings<'a> {
    /// Where pages may be.
    pub scope: Scope,
    /// Pages that are kept, those of the list included.
    pub places: u16,
    /// The share of visits that explores, in 256ths.
    pub exploring: u8,
    /// Sitemaps are read, too.
    pub sitemaps: bool,
    /// What hosts that are not in the list get between two requests, in milliseconds.
    pub gap_ms: u32,
    /// Candidates of one host at the most; half of all that there is room for if it is not said.
    pub per_host: Option<u16>,
    /// Pages of the list that are never replaced: their numbers, each two bytes, in their order.
    pinned: &'a [u8],
}

impl<'a> DiscoverySettings<'a> {
    /// A quarter of the visits explores, as
    /// [`Replacement::SHARE`](crate::rank::Replacement::SHARE).
    pub const EXPLORING: u8 = 64;

    /// Settings under which sitemaps are read and no page is pinned.
    pub const fn new(scope: Scope, places: u16, gap_ms: u32) -> Self {
        Self {
            scope,
            places,
            exploring: Self::EXPLORING,
            sitemaps: true,
            gap_ms,
            per_host: None,
            pinned: &[],
        }
    }

    /// Reads a section; `None` if it is of another version or cannot be read.
    pub fn read(section: &'a [u8]) -> Option<Self> {
        let (head, pinned) = section.split_first_chunk::<HEADER>()?;
        let [version, scope, p0, p1, exploring, sitemaps, g0, g1, g2, g3] = *head;
        let (per_host, pinned) = match (version, pinned) {
            (VERSION, _) => (None, pinned),
            (VERSION_WITH_LIMIT, [h0, h1, rest @ ..]) => {
                (Some(u16::from_le_bytes([*h0, *h1])), rest)
            }
            _ => return None,
        };
        let scope = match scope {
            0 => Scope::Hosts,
            1 => Scope::Site,
            2 => Scope::Prefix,
            3 => Scope::Any,
            _ => return None,
        };
        Some(Self {
            scope,
            places: u16::from_le_bytes([p0, p1]),
            exploring,
            sitemaps: sitemaps != 0,
            gap_ms: u32::from_le_bytes([g0, g1, g2, g3]),
            per_host,
            pinned,
        })
    }

    /// What a section begins with; numbers of pinned pages follow, two bytes each, in their order.
    ///
    /// ```
    /// use dunlin::discover::{DiscoverySettings, Scope};
    ///
    /// let wanted = DiscoverySettings::new(Scope::Site, 256, 15_000);
    /// let mut section = wanted.header().to_vec();
    /// section.extend(7_u16.to_le_bytes());
    /// let read = DiscoverySettings::read(&section).unwrap();
    /// assert!(read.is_pinned(7) && !read.is_pinned(6));
    /// assert_eq!((read.scope, read.places), (wanted.scope, wanted.places));
    ///
    /// let mut limited = wanted;
    /// limited.per_host = Some(100);
    /// let read = DiscoverySettings::read(&limited.header()).map(|read| read.per_host);
    /// assert_eq!(read, Some(Some(100)));
    /// ```
    pub fn header(&self) -> heapless::Vec<u8, LONGEST_HEADER> {
        let scope = match self.scope {
            Scope::Hosts => 0,
            Scope::Site => 1,
            Scope::Prefix => 2,
            Scope::Any => 3,
        };
        let [p0, p1] = self.places.to_le_bytes();
        let [g0, g1, g2, g3] = self.gap_ms.to_le_bytes();
        let sitemaps = u8::from(self.sitemaps);
        let version = match self.per_host {
            None => VERSION,
            Some(_) => VERSION_WITH_LIMIT,
        };
        let header: [u8; HEADER] = [
            version,
            scope,
            p0,
            p1,
            self.exploring,
            sitemaps,
            g0,
            g1,
            g2,
            g3,
        ];
        let limit = self.per_host.map(u16::to_le_bytes);
        header
            .into_iter()
            .chain(limit.into_iter().flatten())
            .collect()
    }

    /// Must a page of the list never be replaced? Work: the pinned pages.
    pub fn is_pinned(&self, page: u16) -> bool {
        let mut pinned = self.pinned.chunks_exact(2);
        pinned.any(|number| number == page.to_le_bytes())
    }
}
