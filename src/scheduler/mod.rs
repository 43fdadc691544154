//! What next? One type that owns all state and answers: sans-IO, time in, decision out.
//!
//! [`Scheduler`] owns its tables; [`SchedulerView`] works on tables of any size that somebody else
//! owns, such as [`Tables`] in zero-initialised static memory; `LargeScheduler` (feature `std`) is
//! for simulations of millions of pages.
//!
//! ```
//! use dunlin::scheduler::{Decision, Outcome, PageSettings, Scheduler, Settings};
//! use dunlin::time::{Duration, Instant};
//!
//! let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
//! let mut now = Instant::ZERO; // your clock
//! scheduler.set_budget(Some(2_000.0), now)?;
//! let host = scheduler.add_host(Duration::from_secs(15))?;
//! let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
//! for _ in 0..10 {
//!     match scheduler.next(now) {
//!         // Your HTTP client says what became of it.
//!         Decision::Fetch(page) => scheduler.record(page, Outcome::Unchanged, now)?,
//!         Decision::WaitUntil(then) => now = then, // sleep
//!         Decision::Idle => break, // nothing to wait for but your own `record` or `add_page`
//!     }
//! }
//! # Ok::<(), dunlin::scheduler::Error>(())
//! ```
//!
//! # How it decides
//! Every page has a *due time*: when fetching it is worth the price of a fetch (see
//! [`plan::worth`](crate::plan::worth)). Every host has a queue of its pages by due time and a
//! gate. [`next`](Scheduler::next) takes the page that is due first among hosts whose gates are
//! open. The price is corrected all the time so that the budget is just spent.
//!
//! [`Engine::Index`] counts a page's gap from its last fetch: value decides, nothing is made up
//! for. [`Engine::Carousel`] counts it from when the last fetch was due, up to one gap either way,
//! so that a page keeps its rhythm and its rate however late or early single fetches are: Azar's
//! carousel in continuous time (see [`pace::rhythm`](crate::pace::rhythm)).
//!
//! The carousel is the default, by measurement: 10,000 pages on 200 hosts, 0.2 visits a page and
//! day, share of the optimum over the second half of the time.
//!
//! | | carousel | index | round robin | Nutch | StormCrawler |
//! |---|---|---|---|---|---|
//! | rates known | 1.003 | 1.004 | 0.983 | 0.970 | 0.965 |
//! | half of the hosts at their cap | 1.004 | 0.998 | 0.976 | 0.963 | 0.958 |
//! | rates unknown, 30 days | 0.988 | 0.987 | 0.982 | 0.981 | 0.956 |
//! | the same, rates that differ by factors of hundreds | 0.956 | 0.953 | 0.940 | 0.945 | 0.926 |
//!
//! They are equals where pages are late by chance. Where a gate makes pages late all the time, the
//! index engine adds the same wait to every page's gap, which distorts short gaps most; the
//! carousel makes it up. Where rates hardly differ and a page is seen six times in all, there is
//! little to be learnt, and no rule beats another by much. (One simulated run, which starts with
//! fresh copies: shares are right to some thousandths and may exceed 1.)
//!
//! # Where it is decided
//! | question | file |
//! |---|---|
//! | which page is next, and until when to wait | `next` |
//! | when a page is due | `due`; what it is worth: [`plan::worth`](crate::plan::worth); at which update: [`constraints::Clockwork`](crate::constraints::Clockwork) |
//! | what follows from an outcome: gate, belief, next due time | `record` |
//! | what a fetch costs | `replan`, which walks over the pages; `price`, which corrects |
//! | when a host may be asked | `hosts`; back-off: [`polite`](crate::polite) |
//! | how many fetches a day | `budget` |
//! | which pages wait where | `queue`, on the tables of `page` and `host` |
//! | what a hint means, and what a host that tells may spend | `hint`, `providers` (feature `hints`) |
//! | what is taken over after a restart | `restore` |
//!
//! # Learning
//! Nothing in it knows a unit of time: what it measures by is the *even gap*, the time between two
//! visits of a page if all had the same share of the budget. Where nothing is known, pages are
//! taken to change about that often, give or take a factor of three. What a page shows counts on
//! top of what its host's pages have shown, and that on top of what all pages have
//! ([`HostPrior`](crate::learn::HostPrior)); and it counts only as far as pages' records have told
//! what their next visits found. So a page is treated like the others until pages have shown that
//! they differ, which makes a round robin of the first rounds, and of pages that keep to a clock
//! nobody knows: what has just changed there will not for a while. The same world in seconds and in
//! weeks ends equally fresh, and in none of a set of 22 worlds, after 3 to 1,000 visits a page, is
//! the scheduler more than half a per cent below round robin
//! (`host-tests/tests/scheduler/floor.rs`).
//!
//! What nobody can see at visits is by which law pages change: by chance, by the clock or in bursts.
//! What follows an unchanged visit tells it ([`Regularity`](crate::learn::Regularity)), and how
//! fresh copies are believed to be, [`freshness`](Scheduler::freshness), takes it into account.
//!
//! # Exploring
//! It is chosen by what it is worth. A visit is worth the average over all rates that a page may
//! have, so doubt makes a visit worth more where it may pay, and a page of which little is known is
//! never given up. Visits at one gap that all find a change cannot tell a page that changes once in
//! that gap from one that changes all the time. So a page is believed to change more than three
//! times in an even gap only if it has been found changed after a short gap, too, or if it dates
//! its changes; until then it has about its even share. It is looked at after half an even gap if
//! that brings more than it costs. It brings the probability that it finds a change, times what
//! giving the page up saves: visits, as far as they are worth their price elsewhere, less how fresh
//! the page would be, for as long as that is remembered. It costs the price of a visit, less what
//! so early a one is worth. One visit in four may be such a look, because with more of them none
//! would come in time if all pages asked for one.
//!
//! What was seen fades; when half of what is known of a page has faded – 30 mean gaps after its
//! last visit – it is visited, whatever it seems to be worth, and if it was given up, looked at
//! again. A page of so little weight that no rate could make such a visit worth its price waits
//! longer. That costs a page that was given up for good reason some five visits in 30 mean gaps, a
//! sixth of an even share.
//!
//! What it costs in all, over 100 visits a page, in parts of the freshness: the price of those
//! visits, less what they were worth by pages' true rates (`host-tests/tests/scheduler/exploring.rs`
//! holds it).
//!
//! | pages (`host-tests/tests/scheduler/worlds.rs`) | visits that explore | freshness they cost |
//! |---|---|---|
//! | all alike; 300 on one host; 120 that are seldom changed | up to 0.5 % | up to 0.02 % |
//! | 28 whose rates differ by factors of tens; 300, by factors of hundreds | 3 % | 0.2 to 0.3 % |
//! | weights from 1 to 10,000 | 13 % | 0.7 % |
//! | two; five | 10 to 13 % | 1 % |
//!
//! Four numbers stay constants, because nothing depends on them much. Looks at one visit in 1, 2 or
//! 8 instead of 4 reach the same share of the optimum to 0.0003 where rates differ by factors of
//! hundreds; half of the 30 visits, or twice as many, change no freshness by more than 0.0007.
//! After half an even gap a page that changes six times in a gap is found changed with probability
//! 0.95, one that changes once with 0.39; three changes in a gap are what 19 visits in 20 find. A
//! rule by constants, for pages that would
//! wait for two even gaps and change twice as often as is usual, comes to the same within 0.0005.
//!
//! Pages that change at every visit are worth no more than others until one visit finds them
//! unchanged: a quarter of the pages that does so takes 23 % of the requests.
//! [`Settings::host_share`] caps a host.
//!
//! # What is measured by the clock
//! | limit | why |
//! |---|---|
//! | gaps, back-offs, allowed hours, `Retry-After`; a page that is gone or forbidden waits for a day | politeness: nobody likes to be asked again and again for what is not there |
//! | a page that changes by the clock is fetched 2 s after an update, and up to two days' budget ahead of time | clocks differ by that much; and those of a list are those of a day as a rule |
//! | while the time of day is not known, hosts with allowed hours are looked at every hour | a clock |
//! | no page is left alone for more than 180 days, none is tried again later than after 32 | what the clock's four bytes can hold: 203 days of past, 101 of future |
//! | times are in steps of 8 ms, and no wait is shorter than a millisecond | the same |
//! | evidence fades with a half-life of 180 days besides that of 30 visits | sites change their habits by the calendar: see [`Settings::learn`] |
//! | a `Last-Modified` date of less than 5 s ago is none | clocks, and pages that are made for each request |
//!
//! Everything else is measured in even gaps, mean gaps or times between two fetches.
//!
//! # What the list says
//! A page may have [`constraints`](crate::constraints), which are read where they are kept whenever
//! such a page is looked at ([`PageSettings::has_constraints`]). Between the starts of two requests
//! for a page, whatever came of the first, lies at least interval/max; robots.txt and the steps of
//! one redirect ([`Outcome::RulesFirst`], [`Outcome::Postponed`]) are no requests of their own. No
//! more than interval/min lies between two visits, if budget and gates allow. A page that changes
//! by the clock is due two seconds after the next update that is worth its price, as soon as the
//! local time is known ([`set_clock`](Scheduler::set_clock)), and does not wait for the budget. A
//! page with constraints is never fetched early, and whoever waits behind it waits with it; where
//! there is one, nothing late is made up for, so that moments are kept. Pages that are late for
//! want of budget still come first. Pages that change alike by the clock ask for a visit all
//! together or not at all, so each of them has a price of its own, up to a tenth off the common
//! one, and that moves by shorter and shorter strides. After a restart one request of a page more
//! is allowed: the times of requests that failed are not kept, and
//! [`restore_page`](Scheduler::restore_page) may not know how long ago the last one was.
//!
//! The budget is one of visits: a host's robots.txt does not count, which is asked for once a day
//! as a rule and once an hour at the most. The steps of redirects do.
//!
//! # Start, restart, overload
//! New pages are fetched at the pace of the budget, heavy ones first. After a restart
//! ([`restore_page`](Scheduler::restore_page)) or a day without network, what is overdue is fetched
//! at the same pace: no burst beyond [`Settings::burst`]; what pages had shown is trusted as far as
//! before ([`restore_trust`](Scheduler::restore_trust)). Where budget or a gate cannot keep up,
//! prices rise until those pages wait that lose least by it, and [`Counter::SkippedByGate`],
//! [`Counter::SkippedByBudget`], [`Counter::Late`] and [`Counters::late_seconds`] say so.
//!
//! # Work
//! | call | bound |
//! |---|---|
//! | `next` | O(log pages + log hosts), and for each gate that opened since the last call O(log hosts): 64 gates a call, the others with the next |
//! | `record`, `hint`, `add_page`, `remove_page`, `set_weight` | O(log pages + log hosts) |
//! | re-planning, inside a `next` that has nothing to fetch and every sixteenth `record` | 1 page, 24 while prices are far off; at the end of a round 64 hosts a call |
//! | `set_clock`, and `next` after it | 64 hosts a call, O(log hosts) for each that waits for its hours |
//! | `share_gate` | O(hosts), a comparison each |
//! | every 101 days, inside the call that is told the time | O(pages + hosts), some 20 instructions each: the clock is set back, and nothing else is done in that call |
//!
//! What is left for the next call makes `next` answer [`Decision::WaitUntil`] a millisecond later
//! at most, if there is nothing to fetch meanwhile.
//!
//! At 4,096 pages on 512 hosts the dearest call of all, which sets the clock back, takes 94,000
//! instructions on a Cortex-M4F: 4 ms at 25 MHz. One that opens 64 gates takes 40,000, one that
//! reviews 24 pages and then hosts 18,000.
//!
//! # Memory
//! | per page | bytes | per host | bytes |
//! |---|---|---|---|
//! | change-rate belief | 12 | gate | 10 |
//! | weight | 4 | queue | 2 |
//! | last fetch, next due | 8 | price, demand | 8 |
//! | queue links, what a carousel makes up for | 8 | what its pages have in common | 20 |
//! | host, place, signals | 4 | two heaps | 16 |
//! | **together** | **36** | | **56** |
//!
//! Some 500 bytes more in all; [`Scheduler::SIZE`] says it exactly. What a probe keeps besides,
//! with feature `probe`:
//!
//! | per page | bytes | per host | bytes |
//! |---|---|---|---|
//! | `ETag`, up to 40 bytes | 41 | address and how long it holds | 26 |
//! | fingerprint | 8 | robots.txt of http and of https: access and how long it holds | 32 |
//! | `Last-Modified` | 4 | one of them, and a back-off, of an earlier run | 14 |
//! | robots verdict | 1 | has it been public, is it slow? | 2 |
//! | for the store: identity, place, date of an earlier fetch | 10 | for the store: identity, place | 6 |
//! | **together** | **64** | with padding | **80** |
//!
//! The store itself takes some 100 bytes, its only cache – the position in the current sector –
//! included.
//!
//! Robots rules are not kept: a file is judged as it streams by. URLs and names are in flash, in
//! the page image.

mod budget;
mod calls;
mod counters;
mod due;
mod error;
#[cfg(feature = "hints")]
mod hint;
mod host;
mod hosts;
mod id;
#[cfg(feature = "std")]
mod large;
mod next;
mod outcome;
mod owned;
mod page;
mod pages;
mod price;
#[cfg(feature = "hints")]
mod providers;
mod queue;
mod read;
mod record;
mod replan;
mod restore;
mod settings;
#[cfg(not(feature = "hints"))]
mod silence;
mod state;
mod tables;
mod tick;
#[cfg(feature = "std")]
mod vectors;
mod view;

pub use counters::{Counter, Counters};
pub use error::Error;
pub use id::{HostId, PageId};
#[cfg(feature = "std")]
pub use large::LargeScheduler;
pub use next::Decision;
pub use outcome::Outcome;
pub use owned::Scheduler;
pub use restore::HostMemo;
pub use settings::{Engine, PageSettings, Settings};
pub use tables::Tables;
#[cfg(feature = "std")]
pub use vectors::DynTables;
pub use view::SchedulerView;

#[cfg(not(feature = "hints"))]
use silence as providers;
