//! The functions of the mathematics, each with its error bound.
//!
//! ε is [`Real::EPSILON`] of the number type: 1.2e-7 for `f32`, 2.2e-16 for `f64`.

#[cfg(any(feature = "probe", feature = "update", feature = "fleet"))]
mod checksum;
mod exponential;
mod extremes;
mod gamma;
mod inverse;
mod random;
mod real;
mod root;
mod sum;

#[cfg(any(feature = "probe", feature = "update", feature = "fleet"))]
pub(crate) use checksum::crc32;
pub use exponential::{age_excess, age_fraction, excess, g, h, harmonic, staleness_drop};
pub(crate) use extremes::{greater, lesser};
pub use gamma::{gamma_lower, gamma_upper};
pub(crate) use inverse::h_inverse_fraction;
pub use inverse::{age_excess_inverse, excess_inverse, h_inverse};
pub use random::split_mix;
pub use real::Real;
pub(crate) use root::root;
pub use sum::Sum;
