//! A square root in a dozen instructions, for `f32` on a device.

/// `√x` for a finite number above 0, to 5ε.
///
/// Half the exponent is a guess that is right to 3.5 %, and each of Heron's steps squares the error
/// and halves it. `libm`'s root is right to the last bit and takes 70 instructions more, because it
/// does without the processor's own: that one can only be had by unstable or unsafe means.
///
/// Of 0, and of numbers below 10⁻³⁸, it is some number near 0; of infinity and of what is no
/// number, no number.
pub(crate) fn root(x: f32) -> f32 {
    let guess = f32::from_bits((x.to_bits() >> 1) + 0x1fbd_1df5);
    let once = 0.5 * (guess + x / guess);
    0.5 * (once + x / once)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_right_to_five_epsilon() {
        let mut x = 1e-37_f32;
        while x < 1e38 {
            let exact = libm::sqrt(f64::from(x));
            let error = (f64::from(root(x)) / exact - 1.0).abs();
            assert!(error < 5.0 * f64::from(f32::EPSILON), "{x}: {error}");
            x *= 1.000_37;
        }
    }

    #[test]
    fn ends_are_where_they_belong() {
        assert!(root(0.0) < 1e-18);
        assert!(root(f32::INFINITY).is_nan());
        assert!(root(f32::NAN).is_nan());
    }
}
