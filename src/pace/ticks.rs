//! What slots and shares of a carousel are counted in.

use core::fmt;
use core::ops::{Add, Div, Mul, Sub};

use crate::heap::Key;

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// What slots and shares are counted in: `u32` on a device (rates to 2⁻³⁰ visits a slot), `u64` on
/// a host (2⁻⁴⁰).
pub trait Ticks:
    sealed::Sealed
    + Key
    + fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// The number 0.
    const ZERO: Self;
    /// The number 1.
    const ONE: Self;
    /// The largest unit: periods and lateness stay within half the range of the type, so that slots
    /// may wrap.
    const FINEST: Self;

    /// Low bits of a number of slots.
    fn wrap(slots: u64) -> Self;
    /// The same number in 64 bits.
    fn widen(self) -> u64;
    /// The slot `slots` later, past the end of the range if need be.
    fn plus(self, slots: Self) -> Self;
    /// How many slots it is after `earlier`.
    fn since(self, earlier: Self) -> Self;
    /// Whether it is earlier, seen from anywhere within half the range.
    fn is_before(self, other: Self) -> bool;
}

macro_rules! ticks {
    ($t:ident, $bits:expr) => {
        impl Ticks for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const FINEST: Self = 1 << $bits;
            fn wrap(slots: u64) -> Self {
                slots as $t
            }
            fn widen(self) -> u64 {
                u64::from(self)
            }
            fn plus(self, slots: Self) -> Self {
                self.wrapping_add(slots)
            }
            fn since(self, earlier: Self) -> Self {
                self.wrapping_sub(earlier)
            }
            fn is_before(self, other: Self) -> bool {
                self.wrapping_sub(other) > $t::MAX / 2
            }
        }
    };
}

ticks!(u32, 30);
ticks!(u64, 40);
