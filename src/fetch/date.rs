//! HTTP dates: the three formats of RFC 9110 §5.6.7, without a calendar library.

use super::number::decimal;
use crate::fetch::ascii::trimmed;
use crate::time::Duration;

/// A moment in universal time, to the second, from 1970 to 9999.
///
/// ```
/// use dunlin::fetch::HttpDate;
///
/// let date = HttpDate::parse(b"Sun, 06 Nov 1994 08:49:37 GMT");
/// assert_eq!(date, HttpDate::from_unix(784_111_777));
/// assert_eq!(date, HttpDate::parse(b"Sunday, 06-Nov-94 08:49:37 GMT"));
/// assert_eq!(date, HttpDate::parse(b"Sun Nov  6 08:49:37 1994"));
/// assert_eq!(&date.unwrap().format(), b"Sun, 06 Nov 1994 08:49:37 GMT");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HttpDate(u64);

const DAY: u64 = 86_400;
const WEEKDAYS: &[u8; 21] = b"ThuFriSatSunMonTueWed";
const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

impl HttpDate {
    /// The date so many seconds after 1970 (leap seconds not counted); `None` after the year 9999.
    pub const fn from_unix(seconds: u64) -> Option<Self> {
        // 10000-01-01: past it, the year no longer has four digits.
        if seconds < 253_402_300_800 {
            Some(Self(seconds))
        } else {
            None
        }
    }

    /// The seconds since 1970.
    pub const fn as_unix(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`, zero if that is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_secs(self.0.saturating_sub(earlier.0))
    }

    /// Reads any of the three formats; `None` if it is none of them.
    ///
    /// The name of the weekday is not compared with the date: servers get it wrong, and it adds
    /// nothing. A two-digit year (RFC 850) means 1970 to 2069. Second 60 is taken as the second
    /// after 59.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = trimmed(text);
        if let [_, _, _, b',', b' ', rest @ ..] = text {
            return fixdate(rest);
        }
        match text.iter().position(|byte| *byte == b',') {
            Some(comma @ 6..=9) => rfc850(text.get(comma + 1..)?),
            _ => asctime(text),
        }
    }

    /// Reads the date of a header; with feature `hints`, in any spelling.
    #[cfg(not(feature = "hints"))]
    pub(super) fn of_header(text: &[u8]) -> Option<Self> {
        Self::parse(text)
    }

    /// Writes it as IMF-fixdate, the one format to send.
    pub fn format(self) -> [u8; 29] {
        // 86,400 is 128 × 675, and without the last seven bits four-digit years fit in 32: no
        // 64-bit division.
        let days = (self.0 >> 7) as u32 / 675;
        let second = (self.0 - u64::from(days) * DAY) as u32;
        let (year, month, day) = civil(days);
        let mut out = *b"Thu, 00 Jan 0000 00:00:00 GMT";
        put(
            &mut out,
            0,
            WEEKDAYS.get((days % 7 * 3) as usize..).unwrap_or_default(),
            3,
        );
        put(
            &mut out,
            8,
            MONTHS.get((month as usize - 1) * 3..).unwrap_or_default(),
            3,
        );
        put(&mut out, 5, &two(day), 2);
        put(&mut out, 12, &two(year / 100), 2);
        put(&mut out, 14, &two(year % 100), 2);
        put(&mut out, 17, &two(second / 3600), 2);
        put(&mut out, 20, &two(second / 60 % 60), 2);
        put(&mut out, 23, &two(second % 60), 2);
        out
    }
}

fn put(out: &mut [u8], at: usize, bytes: &[u8], count: usize) {
    for (to, from) in out.iter_mut().skip(at).zip(bytes).take(count) {
        *to = *from;
    }
}

fn two(value: u32) -> [u8; 2] {
    [b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]
}

/// Reads `06 Nov 1994 08:49:37 GMT`, after the weekday.
fn fixdate(text: &[u8]) -> Option<HttpDate> {
    let [
        d1,
        d2,
        b' ',
        m1,
        m2,
        m3,
        b' ',
        y1,
        y2,
        y3,
        y4,
        b' ',
        time @ ..,
    ] = text
    else {
        return None;
    };
    let year = number(&[*y1, *y2, *y3, *y4])?;
    at(
        year,
        month(&[*m1, *m2, *m3])?,
        number(&[*d1, *d2])?,
        time.strip_suffix(b" GMT")?,
    )
}

/// Reads ` 06-Nov-94 08:49:37 GMT`, after the weekday and its comma.
fn rfc850(text: &[u8]) -> Option<HttpDate> {
    let [
        b' ',
        d1,
        d2,
        b'-',
        m1,
        m2,
        m3,
        b'-',
        y1,
        y2,
        b' ',
        time @ ..,
    ] = text
    else {
        return None;
    };
    let year = number(&[*y1, *y2])?;
    let year = if year < 70 { 2000 + year } else { 1900 + year };
    at(
        year,
        month(&[*m1, *m2, *m3])?,
        number(&[*d1, *d2])?,
        time.strip_suffix(b" GMT")?,
    )
}

/// Reads `Sun Nov  6 08:49:37 1994`.
fn asctime(text: &[u8]) -> Option<HttpDate> {
    let [_, _, _, b' ', m1, m2, m3, b' ', d1, d2, b' ', rest @ ..] = text else {
        return None;
    };
    let (time, year) = rest.split_at_checked(8)?;
    let day = if *d1 == b' ' {
        number(&[*d2])?
    } else {
        number(&[*d1, *d2])?
    };
    let [b' ', year @ ..] = year else { return None };
    at(
        number(year).filter(|_| year.len() == 4)?,
        month(&[*m1, *m2, *m3])?,
        day,
        time,
    )
}

/// A day and `08:49:37`, if they exist.
pub(super) fn at(year: u32, month: u32, day: u32, time: &[u8]) -> Option<HttpDate> {
    let [h1, h2, b':', m1, m2, b':', s1, s2] = time else {
        return None;
    };
    let hour = number(&[*h1, *h2])?;
    let minute = number(&[*m1, *m2])?;
    let second = number(&[*s1, *s2])?;
    moment(year, month, day, hour, minute, second)
}

/// A moment of universal time, if it exists.
pub(super) fn moment(
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
) -> Option<HttpDate> {
    if !(1970..=9999).contains(&year) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_from_civil(year, month, day);
    // 31 April would come back as 1 May.
    if civil(days) != (year, month, day) {
        return None;
    }
    HttpDate::from_unix(u64::from(days) * DAY + u64::from(hour * 3600 + minute * 60 + second))
}

pub(super) fn number(digits: &[u8]) -> Option<u32> {
    u32::try_from(decimal(digits)?).ok()
}

/// The number of a month whose name begins with these letters, of any size.
#[cfg(any(feature = "discover", feature = "hints"))]
pub(super) fn month_of(letters: &[u8; 3]) -> Option<u32> {
    let is_same = |(one, other): (&u8, &u8)| one.eq_ignore_ascii_case(other);
    let is_it = |month: &[u8]| month.iter().zip(letters).all(is_same);
    let index = MONTHS.chunks_exact(3).position(is_it)?;
    Some(index as u32 + 1)
}

fn month(name: &[u8; 3]) -> Option<u32> {
    let index = MONTHS.chunks_exact(3).position(|month| month == name)?;
    Some(index as u32 + 1)
}

/// Days from 0000-03-01 to 1970-01-01: with the year starting in March, the leap day comes last.
const EPOCH: u32 = 719_468;

/// Days since 1970 of a date in the Gregorian calendar, for years from 1970 and months from 1 to
/// 12.
fn days_from_civil(year: u32, month: u32, day: u32) -> u32 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day;
    (year * 365 + year / 4 - year / 100 + year / 400 + day_of_year).wrapping_sub(EPOCH + 1)
}

/// The date of a day since 1970.
fn civil(days: u32) -> (u32, u32, u32) {
    let days = days.wrapping_add(EPOCH);
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (era * 400 + year + u32::from(month <= 2), month, day)
}
