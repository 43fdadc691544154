//! The smaller and the larger of two numbers, in three instructions. `f32::min` and `f32::max` are
//! calls on a Cortex-M4, for what they say of numbers that are none.

/// The smaller one; `a` if either is not a number.
#[inline]
pub(crate) fn lesser(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

/// The larger one; `a` if either is not a number.
#[inline]
pub(crate) fn greater(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}
