//! The functions of the mathematics, each with its error bound.
mod real;
pub use real::Real;
