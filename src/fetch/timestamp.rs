//! Dates of sitemaps and feeds: W3C's profile of ISO 8601, which RFC 3339 is a part of.

use super::date::{HttpDate, at, number};

impl HttpDate {
    /// Reads `2005`, `2005-06`, `2005-06-07` or `2005-06-07T08:09[:10[.5]]` with `Z` or `+02:00`
    /// behind it; `None` if it is none of them. What is left out is the earliest there is: the
    /// first month, day and second. A time without a zone is taken for universal time.
    ///
    /// ```
    /// use dunlin::fetch::HttpDate;
    ///
    /// let date = HttpDate::parse_timestamp(b"1994-11-06T09:49:37+01:00");
    /// assert_eq!(date, HttpDate::parse(b"Sun, 06 Nov 1994 08:49:37 GMT"));
    /// ```
    pub fn parse_timestamp(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii();
        let (date, time) = match text
            .iter()
            .position(|byte| matches!(byte, b'T' | b't' | b' '))
        {
            Some(end) => (text.get(..end)?, text.get(end + 1..)),
            None => (text, None),
        };
        let year = number(date.get(..4)?)?;
        let (month, day) = match date.get(4..)? {
            [] => (1, 1),
            [b'-', m1, m2] => (number(&[*m1, *m2])?, 1),
            [b'-', m1, m2, b'-', d1, d2] => (number(&[*m1, *m2])?, number(&[*d1, *d2])?),
            _ => return None,
        };
        let Some(time) = time else {
            return at(year, month, day, b"00:00:00");
        };
        let zone = time.iter().position(|byte| !is_clock(*byte));
        let (clock, zone) = time.split_at_checked(zone.unwrap_or(time.len()))?;
        let clock = clock.split(|byte| *byte == b'.').next()?;
        let local = match clock {
            [h1, h2, b':', m1, m2] => at(
                year,
                month,
                day,
                &[*h1, *h2, b':', *m1, *m2, b':', b'0', b'0'],
            )?,
            _ => at(year, month, day, clock)?,
        };
        let (east, digits) = match zone {
            [] | b"Z" | b"z" => return Some(local),
            [b'+', digits @ ..] => (true, digits),
            [b'-', digits @ ..] => (false, digits),
            _ => return None,
        };
        let ([h1, h2, b':', m1, m2] | [h1, h2, m1, m2]) = digits else {
            return None;
        };
        let minutes = number(&[*h1, *h2])? * 60 + number(&[*m1, *m2])?;
        let seconds = u64::from(minutes) * 60;
        let unix = local.as_unix();
        Self::from_unix(if east {
            unix.checked_sub(seconds)?
        } else {
            unix + seconds
        })
    }
}

fn is_clock(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b':' | b'.')
}
