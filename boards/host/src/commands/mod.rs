//! One file a command.

mod archive_args;
pub mod check;
pub mod collect;
pub mod crawl_order;
pub mod diff;
pub mod estimate;
pub mod evolution;
pub mod export;
mod filter_args;
pub mod fleet;
pub mod fleet_watch;
pub mod history;
pub mod image;
pub mod monitor;
pub mod plan;
pub mod planner;
mod push_args;
pub mod release_list;
pub mod report;
pub mod robots;
pub mod run;
pub mod schedule;
pub mod simulate;
pub mod terms;
pub mod test_filter;
mod told_args;
mod web_args;
