//! The host board: what the program `dunlin` is made of, for xtask and the tests as well.
//!
//! | part | what is in it |
//! |---|---|
//! | [`board`] | this computer as a board: its clock, its sockets, and a file as its flash |
//! | [`lists`] | the files a user brings: PAGES.csv, HOSTS.csv, HISTORY.csv, TRACE.csv, TIMES.csv, and the page image made of them |
//! | [`allotment`] | crawls divided over pages by a method that has a name |
//! | [`planning`] | from a page list to what the planner takes, and back to the user's terms |
//! | [`simulate`] | the simulator: a web that changes, and the policies that crawl it |
//! | [`estimate`] | how often a page changes, by what visits to it found |
//! | [`evolution`] | how a collection of pages changes and vanishes over time |
//! | [`crawl`] | crawls over a link graph: orders, selection models, a collection of fixed size, several crawlers |
//! | [`monitor`] | a probe seen at work, from the bytes of its log to terminal, web page and metrics |
//! | [`news`] | what is worth telling: changes, bad news, and good news after bad |
//! | [`told`] | who is told of it: a command, a webhook, feed readers |
//! | [`push`] | who tells us that a page has changed: webhooks in IndexNow's and WebSub's form |
//! | [`archive`] | the collection itself: every version of every page, as WARC files with an index |
//! | [`filter`] | what of a page counts as a change: parts of it alone, or without stretches that always change |
//! | [`collect`] | the collector: bodies from probes, over HTTP, into one archive |
//! | [`fleet`] | many probes, one collection: the planner's decisions, and a simulation of thousands of probes |
//! | [`release`] | signed updates on their owner's desk: numbered, signed, put where probes look |
//! | [`commands`] | what `dunlin` can be asked, one file a command |
//! | [`cli`] | the command line: which command was asked for, and how errors leave |
//! | [`output`] | how results are printed: tables, JSON, CSV, plots, pictures, progress |
//! | [`post`], [`get`] | posting to somebody else's server, and one page from there |
//! | [`duration`], [`date`], [`error`] | lengths of time and dates as users write them; what can be wrong, as one line |
//!
//! Without the feature `program` there is only what computes: [`allotment`], [`estimate`] and
//! [`simulate`], for the Python package, with next to no dependencies.

pub mod allotment;
#[cfg(feature = "program")]
pub mod archive;
#[cfg(feature = "program")]
pub mod board;
#[cfg(feature = "program")]
pub mod cli;
#[cfg(feature = "program")]
pub mod collect;
#[cfg(feature = "program")]
pub mod commands;
#[cfg(feature = "program")]
pub mod crawl;
#[cfg(feature = "program")]
pub mod date;
pub mod duration;
#[cfg(feature = "program")]
pub mod error;
pub mod estimate;
#[cfg(feature = "program")]
pub mod evolution;
#[cfg(feature = "program")]
pub mod filter;
#[cfg(feature = "program")]
pub mod fleet;
#[cfg(feature = "program")]
pub mod get;
#[cfg(feature = "program")]
pub mod lists;
#[cfg(feature = "program")]
pub mod monitor;
#[cfg(feature = "program")]
pub mod news;
#[cfg(feature = "program")]
pub mod output;
#[cfg(feature = "program")]
pub mod planning;
#[cfg(feature = "program")]
pub mod post;
#[cfg(feature = "program")]
pub mod push;
#[cfg(feature = "program")]
pub mod release;
pub mod simulate;
#[cfg(feature = "program")]
pub mod told;
