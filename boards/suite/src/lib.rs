#![no_std]
#![forbid(unsafe_code)]
//! The on-target suite: assertions and benches that run unchanged on a computer and on a
//! microcontroller.
//!
//! A case is a function that panics when its claim is false. The host runs each as a test of its
//! own (`host-tests/tests/suite.rs`); a board's suite firmware runs them in order and names the one
//! that failed. New room, new module: list its cases in [`CASES`] and its benches in [`BENCHES`].

pub mod bench;
mod fetch;
mod heap;
mod learn;
mod math;
mod pace;
mod plan;
mod polite;
mod scheduler;
mod time;

pub use bench::{BENCHES, Meter};

/// One claim, by name.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// `module::function`, as a person would look it up.
    pub name: &'static str,
    /// Panics if the claim is false.
    pub run: fn(),
}

/// Lists functions of a module as [`Case`]s under `module::function`.
macro_rules! cases {
    ($module:ident: $($function:ident),* $(,)?) => {
        &[$($crate::Case {
            name: concat!(stringify!($module), "::", stringify!($function)),
            run: $function,
        }),*]
    };
}
pub(crate) use cases;

/// Every case of every room.
pub const CASES: &[&[Case]] = &[
    fetch::CASES,
    heap::CASES,
    learn::CASES,
    math::CASES,
    pace::CASES,
    plan::CASES,
    polite::CASES,
    scheduler::CASES,
    time::CASES,
];
