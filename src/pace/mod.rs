//! In what order, at what moment? Rates and whole crawls come in, slots and times go out.
//!
//! | file | takes | gives |
//! |---|---|---|
//! | [`carousel`] | rates | an endless order of pages, one a slot, never a visit ahead or behind |
//! | [`merge`] | whole crawls of one host's pages | polite times within the interval |
//! | [`transport`] | ideal times, crawlers of different speed | the slot of each crawl, at the least total shift |
//! | [`rhythm`] | a visit that was late or early | when the next is due |
//! | [`dispatch`] | times, and a crawler that fell idle | the most delayed update whose host is free |

pub mod carousel;
pub mod dispatch;
pub mod merge;
mod ready;
pub mod rhythm;
mod seat;
mod slot_price;
mod ticks;
pub mod transport;
