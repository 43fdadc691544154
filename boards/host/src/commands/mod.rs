//! One file a command.

mod archive_args;
pub mod check;
pub mod collect;
pub mod crawl_order;
pub mod diff;
pub mod estimate;
pub mod evolution;
pub mod history;
pub mod image;
pub mod monitor;
pub mod plan;
pub mod report;
pub mod robots;
pub mod run;
pub mod schedule;
pub mod simulate;
pub mod terms;
mod told_args;
mod web_args;
