//! What the tests of this crate share, and papers, benches and fuzzing with them. Nothing here runs
//! by itself; `tests/` holds the tests, and `README.md` says what else lies beside them.

pub mod desouza;
pub mod discover;
pub mod fetch;
pub mod flash;
pub mod freshness;
pub mod fuzz;
pub mod learn;
pub mod names;
