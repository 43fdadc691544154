//! What runs on a computer: papers' tables, properties, differential oracles, benches.

pub mod bench;
pub mod desouza;
pub mod fetch;
pub mod flash;
pub mod freshness;
pub mod fuzz;
pub mod learn;
pub mod papers;
