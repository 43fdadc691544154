//! What runs on a computer: papers' tables, properties, differential oracles, benches.

pub mod bench;
pub mod desouza;
pub mod freshness;
pub mod learn;
pub mod papers;
