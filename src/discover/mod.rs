//! discover: what else there is. Links as they stream by, next to the fingerprint.
//!
//! [`LinkReader`] finds the links of a page and hands them to a [`LinkSink`]; [`Link::resolve`]
//! makes URLs of them. [`Directives`] is what a page asks of robots. The pages that a host lists
//! itself are found by [`feed`](crate::feed). [`UrlLimits`] and [`Scope`] refuse URLs by their looks.
//!
//! What is found becomes a [`Candidate`], one of a fixed number; a [`Doorkeeper`] keeps URLs that are
//! seen once from costing one a place. A [`Frontier`] joins them with the importance that
//! [`rank`](crate::rank) knows, and says who takes whose place in the collection.
//!
//! What one fetch holds in memory: 560 bytes for a [`LinkReader`].

mod candidates;
mod config;
mod digest;
mod doorkeeper;
mod frontier;
mod limits;
mod links;
mod raw_text;
mod reference;
mod resolve;
mod tag;
mod word;

pub use crate::fetch::robots::Directives;
pub use candidates::{Candidate, Candidates, Offer, Verdict};
pub use config::Discovery;
pub use digest::{branch_digest, digest, directory_digest};
pub use doorkeeper::Doorkeeper;
pub use frontier::{Frontier, FrontierSettings, Memory, Step, Target};
pub use limits::{Refusal, Scope, UrlLimits};
pub use links::{
    ANCHOR, LONGEST_BASE, LONGEST_LINK, Link, LinkKind, LinkReader, LinkSink, TextPlace,
};

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
