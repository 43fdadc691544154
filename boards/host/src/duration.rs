//! Durations as people write them: `250ms`, `15s`, `10m`, `6h`, `1.5d`.

use dunlin::time::Duration;

/// Unit and its length in microseconds, longest first.
const UNITS: [(&str, f64); 5] = [
    ("d", 86_400e6),
    ("h", 3_600e6),
    ("m", 60e6),
    ("s", 1e6),
    ("ms", 1e3),
];
/// A century: longer is a slip of the pen.
const LONGEST_DAYS: f64 = 36_500.0;

/// What an error says was expected.
pub const EXPECTED: &str = "a duration such as 250ms, 15s, 10m, 6h or 1.5d, at most 36500d";

/// Reads a duration.
///
/// # Errors
/// [`EXPECTED`], when it is not one.
///
/// ```
/// use dunlin::time::Duration;
/// assert_eq!(dunlin_host::duration::parse("1.5d"), Ok(Duration::from_secs(129_600)));
/// assert!(dunlin_host::duration::parse("15").is_err());
/// ```
pub fn parse(text: &str) -> Result<Duration, String> {
    let split = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let plain = !digits.is_empty()
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let length = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, length)| *length);
    match (digits.parse::<f64>(), length) {
        (Ok(number), Some(length)) if plain && number * length <= LONGEST_DAYS * 86_400e6 => {
            Ok(Duration::from_micros((number * length).round() as u64))
        }
        _ => Err(format!("expected {EXPECTED}")),
    }
}

/// A duration with two or three significant digits, in the unit that suits it.
///
/// ```
/// use dunlin::time::Duration;
/// assert_eq!(dunlin_host::duration::format(Duration::from_secs(5_400)), "1.5h");
/// ```
pub fn format(duration: Duration) -> String {
    let micros = duration.as_micros() as f64;
    let (name, length) = UNITS
        .into_iter()
        .find(|(_, length)| micros >= *length)
        .unwrap_or(("ms", 1e3));
    let number = micros / length;
    let digits = if number >= 100.0 {
        format!("{number:.0}")
    } else {
        format!("{number:.2}")
    };
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        &digits
    };
    format!("{digits}{name}")
}
