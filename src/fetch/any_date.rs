//! Dates as sites write them: RFC 822 in feeds, with all that people make of it.

use super::date::{HttpDate, moment, month_of, number};

/// Names of zones that feeds still use, in minutes east. Others are taken for universal time.
const ZONES: &[(&[u8], i16)] = &[
    (b"EST", -300),
    (b"EDT", -240),
    (b"CST", -360),
    (b"CDT", -300),
    (b"MST", -420),
    (b"MDT", -360),
    (b"PST", -480),
    (b"PDT", -420),
    (b"BST", 60),
    (b"CET", 60),
    (b"CEST", 120),
];
/// No zone is further from universal time, in minutes: what is, was made up.
const MOST_ZONE: u32 = 14 * 60;
/// Words that a date has at the most.
const WORDS: usize = 8;

impl HttpDate {
    /// Reads a date as sitemaps, feeds and their authors spell it: W3C's profile of ISO 8601 (see
    /// [`Self::parse_timestamp`]), HTTP's formats (see [`Self::parse`]), and RFC 822 with years of
    /// two digits or four, months in full, weekdays or none, seconds or none, and zones as numbers,
    /// as names, wrong or missing. A zone that makes no sense is universal time.
    ///
    /// ```
    /// use dunlin::fetch::HttpDate;
    ///
    /// let date = HttpDate::from_unix(784_111_777);
    /// for text in [
    ///     "1994-11-06T08:49:37Z",
    ///     "Sun, 6 Nov 94 03:49:37 EST",
    ///     "06 November 1994 9:49:37 +0100",
    ///     "Sunday, November 6, 1994 08:49:37 XYZ",
    /// ] {
    ///     assert_eq!(HttpDate::parse_any(text.as_bytes()), date, "{text}");
    /// }
    /// assert_eq!(HttpDate::parse_any(b"yesterday"), None);
    /// ```
    pub fn parse_any(text: &[u8]) -> Option<Self> {
        Self::parse_timestamp(text)
            .or_else(|| Self::parse(text))
            .or_else(|| mail_date(text))
    }
}

fn mail_date(text: &[u8]) -> Option<HttpDate> {
    let mut day = None;
    let mut month = None;
    let mut year = None;
    let mut clock: &[u8] = b"00:00";
    let mut minutes_east = 0;
    let words = text
        .split(|byte| byte.is_ascii_whitespace() || *byte == b',')
        .filter(|word| !word.is_empty());
    for word in words.take(WORDS) {
        match word {
            _ if word.contains(&b':') && !is_zone(word) => clock = word,
            [b'0'..=b'9'] | [b'0'..=b'9', b'0'..=b'9'] if day.is_none() => day = number(word),
            [b'0'..=b'9', ..] => year = year.or(full_year(word)),
            _ if is_zone(word) => minutes_east = offset(word),
            // The name of a weekday is neither a month nor a zone.
            _ => match word.first_chunk().and_then(month_of) {
                Some(found) if month.is_none() => month = Some(found),
                _ => minutes_east = zone(word),
            },
        }
    }
    let mut parts = clock.split(|byte| matches!(byte, b':' | b'.'));
    let mut part = || parts.next().map_or(Some(0), number);
    let hour = part()?;
    let minute = part()?;
    let second = part()?;
    let local = moment(year?, month?, day?, hour, minute, second)?;
    let unix = i64::try_from(local.as_unix()).ok()? - i64::from(minutes_east) * 60;
    HttpDate::from_unix(u64::try_from(unix).ok()?)
}

/// Years of two digits are RFC 822's, of three a mistake of the year 2000.
fn full_year(word: &[u8]) -> Option<u32> {
    let year = number(word)?;
    Some(match word.len() {
        ..=2 if year < 70 => 2000 + year,
        ..=3 => 1900 + year,
        _ => year,
    })
}

fn is_zone(word: &[u8]) -> bool {
    matches!(word, [b'+' | b'-', ..])
}

/// Reads `+0100` or `+01:00`, in minutes.
fn offset(word: &[u8]) -> i16 {
    let (sign, digits) = match word {
        [b'-', digits @ ..] => (-1, digits),
        [_, digits @ ..] => (1, digits),
        [] => (1, word),
    };
    let ([h1, h2, b':', m1, m2] | [h1, h2, m1, m2]) = digits else {
        return 0;
    };
    let hours = number(&[*h1, *h2]).unwrap_or(0);
    let minutes = hours * 60 + number(&[*m1, *m2]).unwrap_or(0);
    if minutes > MOST_ZONE {
        return 0;
    }
    sign * minutes as i16
}

/// The name of a zone, or of universal time with an offset behind it.
fn zone(word: &[u8]) -> i16 {
    let sign = word.iter().position(|byte| matches!(byte, b'+' | b'-'));
    if let Some(digits) = sign.and_then(|sign| word.get(sign..)) {
        return offset(digits);
    }
    let known = ZONES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(word));
    known.map_or(0, |(_, minutes)| *minutes)
}
