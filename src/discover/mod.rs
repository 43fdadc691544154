//! discover: what else there is. Links as they stream by, next to the fingerprint.
//!
//! [`LinkReader`] finds the links of a page and hands them to a [`LinkSink`]; [`Link::resolve`]
//! makes URLs of them. What the links of a page have in common is found out once, in a
//! [`LinkSource`]; a [`LinkSet`] holds each of them once. [`Directives`] is what a page asks of
//! robots. The pages that a host lists itself are found by [`feed`](crate::feed). [`UrlLimits`] and
//! [`Scope`] refuse URLs by their looks.
//!
//! What is found becomes a [`Candidate`], one of a fixed number; a [`Doorkeeper`] keeps URLs that
//! are seen once from costing one a place. A [`Frontier`] joins them with the importance that
//! [`rank`](crate::rank) knows, and says who takes whose place in the collection.
//!
//! What one fetch holds in memory: 560 bytes for a [`LinkReader`].
//!
//! # Example
//! A page streams by in two pieces, and its links become URLs that may be asked for:
//!
//! ```
//! use dunlin::discover::{Link, LinkReader, LinkSink, Scope, UrlLimits};
//! use dunlin::fetch::{Url, UrlError};
//!
//! struct Found<'a> {
//!     page: Url<'a>,
//!     paths: Vec<String>,
//! }
//!
//! impl LinkSink for Found<'_> {
//!     fn link(&mut self, link: &Link<'_>) {
//!         let mut room = [0; 256];
//!         let Ok(url) = link.resolve(&self.page, &mut room) else {
//!             return;
//!         };
//!         if Scope::Hosts.lets_in(&self.page, &url) && UrlLimits::DEFAULT.check(&url).is_ok() {
//!             self.paths.push(url.path_and_query().into());
//!         }
//!     }
//! }
//!
//! let page = Url::parse("http://example.org/news/")?;
//! let mut found = Found { page, paths: Vec::new() };
//! let mut reader = LinkReader::new("dunlin");
//! reader.update(b"<a href=today>Today</a> <a href=http://elsewhere.test/>Else", &mut found);
//! reader.update(b"where</a> <a href='/archive?PHPSESSID=1'>Archive</a>", &mut found);
//! reader.finish(&mut found);
//! assert_eq!(found.paths, ["/news/today"]);
//! # Ok::<(), UrlError>(())
//! ```

mod anchor;
mod candidates;
mod config;
mod digest;
mod doorkeeper;
mod frontier;
mod limits;
mod link;
mod link_set;
mod link_source;
mod links;
mod raw_text;
mod reference;
mod resolve;
mod tag;
mod window;
mod word;

pub use crate::fetch::robots::Directives;
pub use anchor::ANCHOR;
pub use candidates::{Candidate, Candidates, Placement};
pub use config::DiscoverySettings;
#[cfg(feature = "probe")]
pub(crate) use digest::part_of;
pub use digest::{branch_digest, digest, directory_digest};
pub use doorkeeper::Doorkeeper;
pub use frontier::{Frontier, FrontierMemory, FrontierSettings, Target, VisitPurpose};
pub use limits::{Scope, UrlLimits, UrlRefusal};
pub use link::{Link, LinkKind, LinkSink, TextPlace};
pub use link_set::LinkSet;
pub use link_source::LinkSource;
pub use links::LinkReader;
pub use window::{LONGEST_BASE, LONGEST_LINK};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_and_candidates_are_as_small_as_the_documentation_says() {
        assert!(
            size_of::<LinkReader>() <= 560,
            "{}",
            size_of::<LinkReader>()
        );
        assert_eq!(size_of::<Candidate>(), 16);
    }
}
