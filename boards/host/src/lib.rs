//! The host board: what the program `dunlin` is made of, for xtask and the tests as well.
//!
//! | part | what is in it |
//! |---|---|
//! | [`board`] | this computer as a board: its clock, its sockets, and a file as its flash |
//! | [`lists`] | the files a user brings: PAGES.csv, HOSTS.csv, HISTORY.csv, TRACE.csv, TIMES.csv, and the page image made of them |
//! | [`planning`] | from a page list to what the planner takes, and back to the user's terms |
//! | [`simulate`] | the simulator: a web that changes, and the policies that crawl it |
//! | [`evolution`] | how a collection of pages changes and vanishes over time |
//! | [`monitor`] | a probe seen at work, from the bytes of its log to terminal, web page and metrics |
//! | [`news`] | what is worth telling: changes, bad news, and good news after bad |
//! | [`commands`] | what `dunlin` can be asked, one file a command |
//! | [`cli`] | the command line: which command was asked for, and how errors leave |
//! | [`output`] | how results are printed: tables, JSON, CSV, plots, pictures, progress |
//! | [`duration`], [`error`] | lengths of time as users write them; what can be wrong, as one line |

pub mod board;
pub mod cli;
pub mod commands;
pub mod duration;
pub mod error;
pub mod evolution;
pub mod lists;
pub mod monitor;
pub mod news;
pub mod output;
pub mod planning;
pub mod simulate;
