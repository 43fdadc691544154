//! The two number types the crate computes in.

use core::fmt::Debug;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::heap::Key;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` on the device, `f64` on the host: one source for both.
///
/// Every function calls `libm` directly. The standard library's differ from it in the last bits,
/// and then host and device would disagree on ties.
///
/// ```
/// use dunlin::math::Real;
///
/// fn half_life<F: Real>(rate: F) -> F {
///     F::TWO.ln() / rate
/// }
/// assert_eq!(half_life(1.0_f32), 0.693_147_2);
/// assert_eq!(half_life(1.0_f64), 0.693_147_180_559_945_3);
/// ```
pub trait Real:
    sealed::Sealed
    + Copy
    + Debug
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
    + Send
    + Sync
    + 'static
{
    /// What a heap orders numbers from 0 by: their bits, which sort as they do.
    type Key: Key;

    /// The number 0.
    const ZERO: Self;
    /// The number ½.
    const HALF: Self;
    /// The number 1.
    const ONE: Self;
    /// The number 2.
    const TWO: Self;
    /// The spacing of numbers just above 1.
    const EPSILON: Self;
    /// The smallest positive number with full precision.
    const MIN_POSITIVE: Self;
    /// The largest finite number.
    const MAX: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// `(−1)^k 6/(k+3)!`: e^{−y} from its cubic term on, divided by that term. Exact below 1 with
    /// the first [`Self::SERIES_TERMS`].
    const SERIES: [Self; 18];
    /// How many terms this type needs; even.
    const SERIES_TERMS: usize;

    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// The nearest number of this type.
    fn from_u32(value: u32) -> Self;
    /// The nearest number of this type.
    fn from_u64(value: u64) -> Self;
    /// The same value, exactly.
    fn to_f64(self) -> f64;
    /// Truncated towards zero; 0 for NaN and negative numbers, the largest value when too large.
    fn to_u32(self) -> u32;
    /// Truncated towards zero; 0 for NaN and negative numbers, the largest value when too large.
    fn to_u64(self) -> u64;

    /// The exponential function, eˣ.
    fn exp(self) -> Self;
    /// eˣ − 1, exact near 0.
    fn exp_m1(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// ln(1 + x), exact near 0.
    fn ln_1p(self) -> Self;
    /// −ln(1 − x) for x from 0 to below 1, exact near 0. Relative error below 2ε. Without a branch:
    /// a processor can work on several at once.
    fn ln_rest(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// The power xʸ.
    fn powf(self, exponent: Self) -> Self;
    /// The largest whole number that is not above it.
    fn floor(self) -> Self;
    /// The smallest whole number that is not below it.
    fn ceil(self) -> Self;
    /// The number without its sign.
    fn abs(self) -> Self;
    /// The logarithm of the gamma function, ln |Γ(x)|.
    fn ln_gamma(self) -> Self;
    /// Whether it is neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// Whether it is NaN.
    fn is_nan(self) -> bool;

    /// A heap key that puts larger numbers first; for numbers from 0.
    fn descending(self) -> Self::Key;
    /// The number a key was made from.
    fn from_descending(key: Self::Key) -> Self;

    /// The larger; `other` if `self` is NaN.
    #[must_use]
    fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
    /// The smaller; `other` if `self` is NaN.
    #[must_use]
    fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }
}

macro_rules! real {
    ($t:ident, $bits:ident, $terms:literal, $ln_2:expr, $even:expr, $odd:expr, $exp:ident,
     $expm1:ident, $log:ident, $log1p:ident, $sqrt:ident, $pow:ident, $floor:ident, $ceil:ident,
     $lgamma:ident) => {
        impl Real for $t {
            type Key = $bits;
            const ZERO: Self = 0.0;
            const HALF: Self = 0.5;
            const ONE: Self = 1.0;
            const TWO: Self = 2.0;
            const EPSILON: Self = $t::EPSILON;
            const MIN_POSITIVE: Self = $t::MIN_POSITIVE;
            const MAX: Self = $t::MAX;
            const INFINITY: Self = $t::INFINITY;
            const SERIES: [Self; 18] = {
                let mut series = [1.0; 18];
                let mut k = 1;
                while k < 18 {
                    series[k] = -series[k - 1] / (k + 3) as $t;
                    k += 1;
                }
                series
            };
            const SERIES_TERMS: usize = $terms;

            #[inline]
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            #[inline]
            fn from_u32(value: u32) -> Self {
                value as $t
            }
            #[inline]
            fn from_u64(value: u64) -> Self {
                value as $t
            }
            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline]
            fn to_u32(self) -> u32 {
                self as u32
            }
            #[inline]
            fn to_u64(self) -> u64 {
                self as u64
            }
            #[inline]
            fn exp(self) -> Self {
                libm::$exp(self)
            }
            #[inline]
            fn exp_m1(self) -> Self {
                libm::$expm1(self)
            }
            #[inline]
            fn ln(self) -> Self {
                libm::$log(self)
            }
            #[inline]
            fn ln_1p(self) -> Self {
                libm::$log1p(self)
            }
            #[inline]
            fn ln_rest(self) -> Self {
                // 1 − x = 2^k (1 + f), 1 + f between √½ and √2, as libm does it; `lost` is what
                // rounding took from it.
                const ROOT: $bits = core::$t::consts::FRAC_1_SQRT_2.to_bits();
                const FRACTION: $bits = (1 << ($t::MANTISSA_DIGITS - 1)) - 1;
                const LN_2: [$t; 2] = $ln_2;
                let rest = 1.0 - self;
                let lost = (1.0 - rest) - self;
                let bits = rest.to_bits().wrapping_add($t::to_bits(1.0) - ROOT);
                // k, biased: put below the point of a number with no fraction, which registers of
                // two numbers can do, too.
                let whole = $t::to_bits((FRACTION + 1) as $t);
                let k = $t::from_bits(whole | (bits >> ($t::MANTISSA_DIGITS - 1)))
                    - ((FRACTION + 1) as $t + ($t::MAX_EXP - 1) as $t);
                let f = $t::from_bits((bits & FRACTION) + ROOT) - 1.0;
                let s = f / (2.0 + f);
                let half = 0.5 * f * f;
                let square = s * s;
                let fourth = square * square;
                let chain = |coefficients: &[$t]| {
                    coefficients
                        .iter()
                        .rev()
                        .fold(0.0, |sum, coefficient| sum * fourth + coefficient)
                };
                let tail = square * chain(&$odd) + fourth * chain(&$even);
                (half - s * (half + tail)) - f - (k * LN_2[1] + lost) - k * LN_2[0]
            }
            #[inline]
            fn sqrt(self) -> Self {
                libm::$sqrt(self)
            }
            #[inline]
            fn powf(self, exponent: Self) -> Self {
                libm::$pow(self, exponent)
            }
            #[inline]
            fn floor(self) -> Self {
                libm::$floor(self)
            }
            #[inline]
            fn ceil(self) -> Self {
                libm::$ceil(self)
            }
            #[inline]
            fn abs(self) -> Self {
                $t::abs(self)
            }
            #[inline]
            fn ln_gamma(self) -> Self {
                libm::$lgamma(self)
            }
            #[inline]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
            #[inline]
            fn is_nan(self) -> bool {
                $t::is_nan(self)
            }
            #[inline]
            fn descending(self) -> Self::Key {
                !self.to_bits()
            }
            #[inline]
            fn from_descending(key: Self::Key) -> Self {
                $t::from_bits(!key)
            }
        }
    };
}

// The series of ln((1 + s)/(1 − s)) by odd powers, cut and bent to be level: coefficients as in
// libm.
real!(
    f32,
    u32,
    10,
    [6.931_381e-1, 9.058_001e-6],
    [0.400_009_72, 0.242_790_79],
    [0.666_666_63, 0.284_987_87],
    expf,
    expm1f,
    logf,
    log1pf,
    sqrtf,
    powf,
    floorf,
    ceilf,
    lgammaf
);
real!(
    f64,
    u64,
    18,
    [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10],
    [
        0.399_999_999_994_094_2,
        0.222_221_984_321_497_84,
        0.153_138_376_992_093_73
    ],
    [
        0.666_666_666_666_673_5,
        0.285_714_287_436_623_9,
        0.181_835_721_616_180_5,
        0.147_981_986_051_165_86
    ],
    exp,
    expm1,
    log,
    log1p,
    sqrt,
    pow,
    floor,
    ceil,
    lgamma
);
