//! What runs on a computer: papers' tables, properties, differential oracles, benches.

pub mod bench;
pub mod fetch;
pub mod fuzz;
pub mod learn;
