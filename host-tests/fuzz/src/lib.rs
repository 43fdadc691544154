//! The targets of host-tests and no more of it, so that what is instrumented builds in seconds.

#[path = "../../src/fetch.rs"]
pub mod fetch;
#[path = "../../src/fuzz.rs"]
pub mod fuzz;
