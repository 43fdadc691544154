#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
//! A crawl scheduler for microcontrollers.
//!
//! One loop, five rooms. A page's data walks through them in this order and never backwards:
//!
//! ```text
//!   plan   how often?        change model → rates or whole crawls, under budget and host caps
//!   pace   in what order?    EDF carousel, MERGE, slot assignment
//!   polite may we, now?      per-host timers, robots, Retry-After, back-off
//!   fetch  get it            HTTP/1.1, conditional, streamed into a fingerprint
//!   learn  did it change?    estimators, provider hints → new rates, back to plan
//! ```
//!
//! All of it in one type, for firmware that has a clock and an HTTP client (see [`scheduler`]):
//!
//! ```
//! use dunlin::scheduler::{Decision, Outcome, PageSettings, Scheduler, Settings};
//! use dunlin::time::{Duration, Instant};
//!
//! let mut scheduler: Scheduler<256, 32> = Scheduler::new(Settings::DEFAULT);
//! let host = scheduler.add_host(Duration::from_secs(15))?; // the least time between two fetches
//! scheduler.add_page(host, &PageSettings::DEFAULT, Instant::ZERO)?;
//! match scheduler.next(Instant::ZERO) {
//!     Decision::Fetch(page) => scheduler.record(page, Outcome::Unchanged, Instant::ZERO)?, // fetch it, say what came
//!     Decision::WaitUntil(_then) => {} // sleep
//!     Decision::Idle => {}             // nothing until something is recorded or added
//! }
//! # Ok::<(), dunlin::scheduler::Error>(())
//! ```
//!
//! The crate is sans-IO: time comes in as an argument, decisions go out as values, nothing sleeps
//! and nothing touches a socket. It needs no allocator and contains no `unsafe`. Algorithms take
//! slices, so the same code serves 500 pages in static memory and a million on a workstation.

#[cfg(feature = "std")]
extern crate std;

#[cfg(all(feature = "defmt", feature = "log"))]
compile_error!("features `defmt` and `log` exclude each other: choose where log lines go");

#[cfg(feature = "probe")]
pub mod boot;
#[cfg(feature = "probe")]
pub mod catalog;
#[cfg(feature = "fetch")]
pub mod fetch;
mod forest;
pub mod heap;
#[cfg(feature = "probe")]
pub mod image;
pub mod learn;
pub mod math;
pub mod model;
pub mod pace;
pub mod plan;
pub mod polite;
#[cfg(feature = "probe")]
pub mod probe;
pub mod scheduler;
#[cfg(feature = "probe")]
pub mod sntp;
#[cfg(feature = "probe")]
pub mod store;
pub mod time;
pub mod weight;

/// Keeps the README's example compiling.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
