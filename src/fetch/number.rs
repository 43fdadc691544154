//! Decimal numbers, read and written without the formatting machinery.

/// Reads digits; `None` if there are none, or anything else. Numbers too large to hold become the
/// largest.
// One copy, however many headers hold numbers.
#[inline(never)]
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for digit in digits {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number = number.saturating_mul(10).saturating_add(digit);
    }
    (!digits.is_empty()).then_some(number)
}

/// A number's digits, of which there are `N` at most: 5 for 16 bits, 10 for 32.
pub(crate) struct Decimal<const N: usize = 5> {
    digits: [u8; N],
    start: usize,
}

impl<const N: usize> Decimal<N> {
    pub(crate) fn new(value: impl Into<u32>) -> Self {
        let mut value = value.into();
        let mut digits = [b'0'; N];
        let mut start = digits.len();
        for (at, digit) in digits.iter_mut().enumerate().rev() {
            *digit = b'0' + (value % 10) as u8;
            value /= 10;
            start = at;
            if value == 0 {
                break;
            }
        }
        Self { digits, start }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.digits.get(self.start..).unwrap_or_default()
    }
}
