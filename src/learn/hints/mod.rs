//! Providers that help: what a site says about its own changes, and how far to believe it (Xu et
//! al.).
//!
//! | question | file |
//! |---|---|
//! | what is a push message, a sitemap, a feed, a cache header worth? | [`source`] |
//! | does this host cry wolf, does it keep quiet? | [`provider`] |
//! | what is a page worth fetching after so many signals? | [`signal`] |
//! | the same by Xu's published scores | [`scores`] |

pub mod provider;
pub mod scores;
pub mod signal;
pub mod source;

pub use provider::Provider;
pub use signal::Signals;
pub use source::Hint;
