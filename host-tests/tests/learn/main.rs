//! Learning how often pages change: papers' numbers, bias, properties, providers.

mod bias;
mod hints;
mod online;
mod papers;
mod properties;
mod real;
mod shape;

/// Mean and standard deviation.
fn spread(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (n, sum, squares) = values.fold((0.0, 0.0, 0.0), |(n, sum, squares), x| {
        (n + 1.0, sum + x, squares + x * x)
    });
    let mean: f64 = sum / n;
    (mean, (squares / n - mean * mean).max(0.0).sqrt())
}
