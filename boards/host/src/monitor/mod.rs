//! Seeing a probe at work: from the bytes of its log to what a person looks at.
//!
//! [`source`] and [`stream_reader`] read bytes, [`decode`] makes lines of them,
//! [`dunlin::probe::LoggedEvent`] is what they mean, [`state`] keeps what follows from it, and
//! [`view`] is what all ways of looking at it share: [`terminal`], [`plain`], [`web`], [`metrics`].
//! [`herald`] tells those who do not look. [`own`] is the short way for a probe of the same process.

pub mod collection;
pub mod counts;
pub mod decode;
pub mod firmware;
mod frame_layout;
pub mod herald;
pub mod host_stats;
pub mod metrics;
pub mod names;
pub mod own;
pub mod page_stats;
pub mod plain;
pub mod readable;
pub mod self_report;
pub mod source;
pub mod state;
pub mod stream_reader;
pub mod terminal;
pub mod time_series;
pub mod updates;
pub mod view;
pub mod web;
