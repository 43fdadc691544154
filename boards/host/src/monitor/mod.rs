//! Seeing a probe at work: from the bytes of its log to what a person looks at.
//!
//! [`source`] and [`follow`] read bytes, [`decode`] makes lines of them, [`said`] finds out what
//! they mean, [`state`] keeps what follows from it, and [`view`] is what all ways of looking at it
//! share: [`terminal`], [`web`], [`metrics`].

pub mod course;
pub mod decode;
pub mod firmware;
pub mod follow;
pub mod host;
pub mod metrics;
pub mod names;
pub mod page;
pub mod said;
mod shape;
pub mod source;
pub mod state;
pub mod terminal;
pub mod text;
pub mod view;
pub mod web;
