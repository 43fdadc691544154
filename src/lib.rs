#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
//! A crawl scheduler for microcontrollers: how often to visit each page, in what order, and
//! whether it may be fetched now.
//!
//! All of it in one type, for firmware that has a clock and an HTTP client of its own:
//!
//! ```
//! use dunlin::scheduler::{Decision, Outcome, PageSettings, Scheduler, Settings};
//! use dunlin::time::{Duration, Instant};
//!
//! let mut scheduler: Scheduler<256, 32> = Scheduler::new(Settings::DEFAULT);
//! let now = Instant::ZERO; // your clock
//! let host = scheduler.add_host(Duration::from_secs(15))?; // least time between two fetches
//! scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
//! match scheduler.next(now) {
//!     // Fetch it with your HTTP client, then say what came.
//!     Decision::Fetch(page) => scheduler.record(page, Outcome::Unchanged, now)?,
//!     // Sleep, and ask again.
//!     Decision::WaitUntil(_then) => {}
//!     // Nothing happens until something is recorded or added.
//!     Decision::Idle => {}
//! }
//! # Ok::<(), dunlin::scheduler::Error>(())
//! ```
//!
//! Decisions are sans-IO: time and bytes come in as arguments, values go out, nothing sleeps. Only
//! four rooms await: `fetch` on a connection, `store` on a flash and `update` on both, through
//! traits that a board implements, and `probe`, the loop that joins the rooms. It needs no
//! allocator and contains no `unsafe`. Algorithms take slices, so the same code serves 500 pages in
//! static memory and a million on a workstation.
//!
//! # Two roads
//!
//! *Ahead of time*, on a computer, change rates are known and a timetable comes out:
//!
//! ```text
//!   model ────► plan ──────► pace ──────► a timetable, and a bound that none can beat
//!   how does    how          in what order,
//!   it change?  often?       at what moment?
//! ```
//!
//! *On the probe*, all the time, rates are learnt from the visits themselves:
//!
//! ```text
//!   catalog ──► scheduler ──► polite ──► fetch ──► learn ──┐
//!   what there  what next?    may we,    get it    did it  │
//!   is               ▲        now?         │       change? │
//!       ▲            └─────────────────────┼───────────────┘
//!       │                                  ├─► feed ──► learn      when do hosts say they change?
//!       └─────────────── rank ◄── discover ┤                       what else is there?
//!                                          └─► collect             the copy, for who keeps it
//! ```
//!
//! The scheduler does the work of plan and pace together, page by page, with learnt instead of
//! known rates. What a visit is worth, the gap that follows from a price, and a carousel's rhythm
//! are written once, in [`plan`] and [`pace`], and called from both roads. `probe` walks the second
//! road for months, `store` keeps what was learnt over power cuts, and `image` is the form in which
//! the catalog lies in flash. The last three branches are features that can be left out, and
//! `fleet` lets several probes share one road.
//!
//! # Who may use whom
//!
//! The arrows above are data. These are `use` statements: a line names lines above it only, so
//! there are no cycles, and a test holds the picture. `time`, `math`, `heap` and `forest` are open
//! to all.
//!
//! ```text
//!   heap        →
//!   math        → heap
//!   time        → heap, math
//!   forest      → heap
//!
//!   weight      →
//!   model       →
//!   plan        → model
//!   pace        →
//!   polite      →
//!   learn       →
//!   constraints → model
//!   scheduler   → plan, pace, polite, learn, constraints, model
//!
//!   fetch       →
//!   xml         →
//!   feed        → fetch, xml
//!   rank        → fetch
//!   discover    → fetch, rank
//!   catalog     → fetch, constraints
//!   image       → catalog, constraints, model
//!   store       → learn, fetch
//!   sntp        →
//!   boot        →
//!   update      → fetch
//!   settings    →
//!   fleet       →
//!   collect     → fetch
//!   push        →
//!   probe       → catalog, image, scheduler, polite, fetch, learn, model, store, sntp, boot, plan,
//!                 fleet, collect, xml, feed, rank, discover, push
//! ```
//!
//! # What may grow
//!
//! Settings, errors, events and what is only read are `#[non_exhaustive]`: a field or a case more
//! breaks nobody. What somebody has to answer in full is not, on purpose: a
//! [`Decision`](scheduler::Decision), what a store is asked for, a command of a fleet's planner,
//! what a device says of itself before an update. Nor are records and messages, whose fields are
//! the format in which they are kept or sent: one more is another format, and whoever fills them
//! has to say what is in it.
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | page | One URL of the list, known by its place in the catalog. |
//! | host | The server a page is on, by name and port. It has a gate and robots rules. |
//! | gate | What a request to a host has to pass: closed during a fetch, and until a gap has passed since it began (on the probe: since it ended). Hosts may share one. |
//! | gap | A time between two events: between two requests at a gate (politeness), or between two visits of a page (its rhythm). |
//! | visit | Fetching a page once, with all that it needs: robots.txt, redirects. It ends with an [`Outcome`](scheduler::Outcome). |
//! | turn | One request of a visit, with its own passage of the gate. |
//! | weight | How much a page's freshness counts. |
//! | rate | Changes a day; in [`plan`] and [`model`], changes an interval. |
//! | belief | What is known of a rate: a Gamma distribution of two numbers, [`Estimate`](learn::Estimate). |
//! | price | What a fetch must be worth to be made, in weight × days of freshness. It is such that the budget is just spent. In [`plan`], what one more crawl an interval would save. |
//! | due | When a page should be fetched: as a rule, when a visit is worth its price. |
//! | credit | By what share of its gap a page was visited late or early: the carousel makes up for it. |
//! | freshness | The share of time, or of pages, in which the copy equals the page. |
//! | verdict | What robots rules say of one page. |
//! | origin | Who a request goes to: scheme, host and port; listed, or reached by a redirect. |
//! | slot | A fetch that may run at the same time as others, with its own buffers; in [`pace`], one place in the order of visits. |
//! | budget | How many fetches a day there may be, over all hosts. |
//! | carousel | The engine that keeps every page's rhythm however late single visits are. |
//! | hint, signal | What a host (a *provider*) says about a page's changes. |
//! | push | What somebody else says about a page, signed with a key that the probe knows. |
//! | teller | A document in which a host lists its pages and their dates: a sitemap or a feed. |
//! | fingerprint | A keyed hash of a page's body: another one means that the page has changed. |
//! | candidate | A page that is known by links only. |
//! | importance | How much a page is worth keeping: PageRank as a rule, times the weight. |
//! | cash, income | What a page holds and hands to its links, and what it has earned lately: its PageRank. |
//! | frontier | The pages that are kept, the candidates, and who takes whose place. |
//! | member, planner | A probe of a fleet, and who shares out hosts, budgets and leases among its probes. |
//! | lease, grant | The time for which a probe may ask its hosts without hearing of the planner, and the message that gives it, with a budget. |
//! | collector | Who keeps copies of pages; a copy's way there is a delivery. |
//! | page image | The catalog and the configuration as bytes in flash. |

#[cfg(feature = "std")]
extern crate std;

#[cfg(all(feature = "defmt", feature = "log"))]
compile_error!("features `defmt` and `log` exclude each other: choose where log lines go");

#[cfg(feature = "probe")]
pub mod boot;
#[cfg(feature = "probe")]
pub mod catalog;
#[cfg(feature = "collect")]
pub mod collect;
pub mod constraints;
#[cfg(feature = "discover")]
pub mod discover;
#[cfg(any(feature = "discover", feature = "hints"))]
pub mod feed;
#[cfg(feature = "fetch")]
pub mod fetch;
#[cfg(feature = "fleet")]
pub mod fleet;
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
#[cfg(feature = "push")]
pub mod push;
#[cfg(feature = "discover")]
pub mod rank;
pub mod scheduler;
#[cfg(feature = "probe")]
pub mod settings;
#[cfg(feature = "probe")]
pub mod sntp;
#[cfg(feature = "probe")]
pub mod store;
pub mod time;
#[cfg(feature = "update")]
pub mod update;
pub mod weight;
#[cfg(any(feature = "discover", feature = "hints"))]
pub mod xml;

/// Keeps the README's example compiling.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
