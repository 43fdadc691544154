//! One file a command.

pub mod check;
pub mod estimate;
pub mod plan;
pub mod robots;
pub mod run;
pub mod schedule;
pub mod simulate;
