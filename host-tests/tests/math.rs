//! The error bounds the documentation of `dunlin::math` promises, over dense grids: `f32` against
//! `f64`, whose own error the on-target suite checks against 60-digit arithmetic.

use dunlin::math::*;

/// The largest relative difference between a function's two precisions, in units of `f32::EPSILON`.
fn worst(from: f64, to: f64, single: impl Fn(f32) -> f32, double: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 40_000;
    (0..=STEPS)
        .map(|step| {
            let at = (from * (to / from).powf(f64::from(step) / f64::from(STEPS))) as f32;
            let found = f64::from(single(at));
            let expected = double(f64::from(at));
            (found / expected - 1.0).abs() / f64::from(f32::EPSILON)
        })
        .fold(0.0, f64::max)
}

#[test]
fn documented_bounds_hold_in_f32() {
    let bounds: [(&str, f64, f64); 8] = [
        ("excess", worst(1e-9, 1e9, excess, excess), 4.0),
        ("g", worst(1e-9, 1e9, g, g), 5.0),
        ("h", worst(1e-9, 1e9, h, h), 8.0),
        ("age_excess", worst(1e-9, 1e9, age_excess, age_excess), 10.0),
        (
            "age_fraction",
            worst(1e-9, 1e9, age_fraction, age_fraction),
            8.0,
        ),
        ("harmonic", worst(1e-9, 1e9, harmonic, harmonic), 20.0),
        (
            "ln_rest",
            worst(1e-30, 0.999_999_9, Real::ln_rest, Real::ln_rest),
            2.0,
        ),
        (
            "h_inverse",
            worst(1e-18, 0.999_999_8, h_inverse, h_inverse),
            8.0,
        ),
    ];
    for (name, found, bound) in bounds {
        println!("{name}: {found:.2} epsilon");
        assert!(
            found <= bound,
            "{name}: {found} epsilon, documented {bound}"
        );
    }
}

#[test]
fn other_inverses_hold_in_f32() {
    let harmonic = worst(1e-18, 1e9, excess_inverse, excess_inverse);
    let age = worst(1e-18, 1e9, age_excess_inverse, age_excess_inverse);
    println!("excess_inverse: {harmonic:.2} epsilon, age_excess_inverse: {age:.2} epsilon");
    assert!(harmonic <= 4.0 && age <= 8.0, "{harmonic} {age}");
}

/// The logarithm of our own against libm's, each good to an ε.
#[test]
fn ln_rest_is_libms_in_f64() {
    let grid = (0..=100_000).map(|step| 1e-300_f64.powf(f64::from(step) / 100_000.0));
    let worst = grid
        .flat_map(|x| [x.min(1.0 - f64::EPSILON), 1.0 - x.max(f64::EPSILON)])
        .filter(|x| *x > 0.0)
        .map(|x| (x.ln_rest() / -(-x).ln_1p() - 1.0).abs() / f64::EPSILON)
        .fold(0.0, f64::max);
    println!("ln_rest: {worst:.2} epsilon");
    assert!(worst <= 2.0, "{worst}");
}

#[test]
fn inverse_and_function_agree_in_f64() {
    let mut worst = 0.0_f64;
    for step in 0..=20_000 {
        let r = 1e-9 * (35.0 / 1e-9_f64).powf(f64::from(step) / 20_000.0);
        // What half a step of q moves r by, where q crowds against 1.
        let conditioning = if r > 1.0 {
            f64::EPSILON * r.exp() / r
        } else {
            0.0
        };
        let error = (h_inverse(h(r)) - r).abs() - conditioning;
        worst = worst.max(error / r / f64::EPSILON);
    }
    println!("h_inverse(h(r)): {worst:.2} epsilon");
    assert!(worst <= 8.0, "{worst}");
}

#[test]
fn drops_hold_in_f32_and_never_rise() {
    let mut worst_error = 0.0_f64;
    for crawls in (0..60).map(|step| {
        if step < 10 {
            step
        } else {
            10 * 1.148_f64.powi(step as i32 - 10) as u32
        }
    }) {
        let error = worst(
            1e-6,
            1e6,
            |y| staleness_drop(y, crawls),
            |y| staleness_drop(y, crawls),
        );
        worst_error = worst_error.max(error);
    }
    println!("staleness_drop: {worst_error:.2} epsilon");
    assert!(worst_error <= 10.0, "{worst_error}");
    for changes in [1e-6, 1e-2, 1.0, 30.0, 1e6] {
        for crawls in 0..10_000 {
            assert!(
                staleness_drop(changes, crawls) >= staleness_drop(changes, crawls + 1),
                "{changes} {crawls}"
            );
        }
    }
}
