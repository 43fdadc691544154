//! What is left of e^{−y} when its first terms are taken away.
//!
//! Freshness, its first differences and the price of a visit are all of this kind. Written as they
//! are printed they subtract nearly equal numbers when `y` is small: in `f32` that leaves 4.6 %
//! error in a difference. Here they all come from one alternating series below `y = 1`, and from
//! `exp` above, where nothing cancels.
//!
//! Error bounds are relative, over `y` from 1e-9 to 1e9, and checked against 40 digits in the
//! tests.

use super::Real;

/// e^{−y}, `y − 1 + e^{−y}` and `y²/2 − (y − 1 + e^{−y})`, for the price of one of them.
fn remainders<F: Real>(y: F) -> (F, F, F) {
    let half_square = F::HALF * y * y;
    if y < F::ONE {
        // y³/6 (1 − y/4 + y²/20 − …), even and odd powers side by side: all three follow without
        // cancelling.
        let square = y * y;
        let mut even = F::ZERO;
        let mut odd = F::ZERO;
        for pair in F::SERIES
            .as_chunks::<2>()
            .0
            .iter()
            .take(F::SERIES_TERMS / 2)
            .rev()
        {
            even = even * square + pair[0];
            odd = odd * square + pair[1];
        }
        let third = half_square * y * F::from_f64(1.0 / 3.0) * (even + y * odd);
        let second = half_square - third;
        ((F::ONE - y) + second, second, third)
    } else {
        let exp = (-y).exp();
        let second = (y - F::ONE) + exp;
        (exp, second, half_square - second)
    }
}

/// `y − 1 + e^{−y}` for `y ≥ 0`: how far the expected number of changes runs ahead of the chance of
/// one.
///
/// Relative error below 4ε.
///
/// ```
/// use dunlin::math::excess;
/// assert_eq!(excess(1e-4_f32), 4.999_833e-9); // (1e-4 - 1.0 + exp(-1e-4)) would give 0
/// ```
pub fn excess<F: Real>(y: F) -> F {
    remainders(y).1
}

/// Staleness of a Poisson page visited at equal gaps in which it changes `y` times on average:
/// `1 − (1 − e^{−y})/y` (Wolf §2, Cho §5).
///
/// Relative error below 5ε. 0 at 0, 1 at infinity.
pub fn g<F: Real>(y: F) -> F {
    if y > F::ZERO {
        if y.is_finite() { excess(y) / y } else { F::ONE }
    } else {
        F::ZERO
    }
}

/// `1 − (1 + r) e^{−r}`: the slope of freshness in the visit rate, and with it the price of a visit
/// (Cho §5.3).
///
/// Relative error below 8ε. Rises from 0 at 0 to 1 at infinity.
pub fn h<F: Real>(r: F) -> F {
    if r < F::ONE {
        r * r - (F::ONE + r) * excess(r)
    } else if r.is_finite() {
        F::ONE - (F::ONE + r) * (-r).exp()
    } else {
        F::ONE
    }
}

/// `x²/2 − h(x)`: what a visit saves in age, in units of `λ⁻²`.
///
/// Relative error below 10ε.
pub fn age_excess<F: Real>(x: F) -> F {
    let (_, second, third) = remainders(x);
    if x < F::ONE {
        x * second - third
    } else {
        F::HALF * x * x - h(x)
    }
}

/// `½ − 1/r + (1 − e^{−r})/r²`: the mean age of a Poisson page in units of its gap, `r` changes a
/// gap (Cho §5.5).
///
/// Relative error below 8ε. 0 at 0, ½ at infinity.
pub fn age_fraction<F: Real>(r: F) -> F {
    if r < F::MIN_POSITIVE.sqrt() {
        F::ZERO
    } else if r < F::ONE {
        remainders(r).2 / (r * r)
    } else {
        F::HALF - (F::ONE - (F::ONE - (-r).exp()) / r) / r
    }
}

/// What one more crawl saves: `A(x) − A(x+1)` for a Poisson page that changes `changes` times in
/// the horizon, with `A(x) = g(changes / (x+1))` (Wolf §2.4).
///
/// `[h(b) + (x+1) e^{−b} (δ − 1 + e^{−δ})] / changes` with `b = changes/(x+2)`, `δ = b/(x+1)`: a
/// sum of positive terms. Relative error below 10ε, never negative, and 0 only for a page that
/// never changes.
///
/// ```
/// use dunlin::math::staleness_drop;
/// // One change a day, from no crawl to one at noon: 0.3679 stale instead of 0.2131.
/// assert!((staleness_drop(1.0_f32, 0) - 0.154_818).abs() < 1e-6);
/// ```
pub fn staleness_drop<F: Real>(changes: F, crawls: u32) -> F {
    if changes <= F::ZERO {
        return F::ZERO;
    }
    let now = F::from_u32(crawls) + F::ONE;
    let b = changes / (now + F::ONE);
    let (exp, second, _) = remainders(b);
    let slope = if b < F::ONE {
        b * b - (F::ONE + b) * second
    } else {
        F::ONE - (F::ONE + b) * exp
    };
    (slope + now * exp * excess(b / now)) / changes
}

/// `∫₀ʸ (1 − e^{−u})/u du`: the expected harmonic number of a Poisson count with mean `y`.
///
/// Series below 2, logarithm and continued fraction above. Relative error below 20ε.
pub fn harmonic<F: Real>(y: F) -> F {
    if y <= F::ZERO {
        return F::ZERO;
    }
    if y < F::TWO {
        // Σ (−1)^{k+1} y^k / (k k!)
        let mut term = y;
        let mut sum = y;
        for k in 2..40_u32 {
            let k = F::from_u32(k);
            term = -term * y / k;
            sum += term / k;
            if term.abs() < F::EPSILON * F::EPSILON {
                break;
            }
        }
        return sum;
    }
    let euler = F::from_f64(0.577_215_664_901_532_9);
    if y > F::from_f64(60.0) {
        return euler + y.ln();
    }
    // E₁(y) = e^{−y} / (y + 1 − 1/(y + 3 − 4/(y + 5 − …))), from the far end inwards.
    let mut fraction = F::ZERO;
    for k in (1..60_u32).rev() {
        let k = F::from_u32(k);
        fraction = k * k / (y + F::TWO * k + F::ONE - fraction);
    }
    euler + y.ln() + (-y).exp() / (y + F::ONE - fraction)
}
