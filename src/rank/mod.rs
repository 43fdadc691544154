//! rank: how important pages are, those that are kept and those that are only known by links.
//!
//! [`Bank`] is PageRank without stored links: every page holds cash, and hands it to the pages it
//! links to while its links stream by. [`location()`] judges by the URL alone, [`Topic`] by words,
//! and [`Measure`] says which of them are multiplied; [`Ranking`] is what an image says of it.
//! [`Replacement`] decides who gives way to whom.
//!
//! The names of Cho's thesis (§2.2): backlinks are IB, PageRank is IR, location is IL, similarity
//! to a topic is IS; what is estimated from the pages seen so far has a prime there.
//!
//! Estimated from the code, for a Cortex-M4; `cargo xtask bench --discovery` counts what all of it
//! comes to:
//!
//! | work | instructions |
//! |---|---|
//! | [`Bank::find`] | a step for each doubling of the pages, some 12 each |
//! | [`Bank::spend`] | that for each link, and some 30 |
//! | [`Bank::settle`] | some 10 a page, once a round |
//! | [`Bank::open`], [`Bank::close`] | some 2 a page |

mod bank;
mod location;
mod measure;
mod packed;
mod ranking;
mod replacement;
mod topic;

pub use bank::{Account, Bank, Closed, DAMPING, Settled};
pub use location::location;
pub use measure::{Evidence, Measure};
pub use ranking::Ranking;
pub use replacement::{Choice, Replacement};
pub use topic::{FoundWords, Topic, TopicError, WordReader};
