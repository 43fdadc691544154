//! Dates as sites write them: RFC 822 in feeds, with all that people make of it.

use super::ascii::same;
use super::date::{HttpDate, moment, month_of, number};

/// Names of zones that feeds still use, and how far they are east of universal time, in hours.
/// Others are taken for universal time.
const ZONES: &[u8] = b"EST EDT CST CDT MST MDT PST PDT BST CET CEST";
const HOURS: [i8; 11] = [-5, -4, -6, -5, -7, -6, -8, -7, 1, 1, 2];
/// No zone is further from universal time, in minutes: what is, was made up.
const MOST_ZONE: u32 = 14 * 60;

impl HttpDate {
    /// Reads a date as sitemaps, feeds and their authors spell it: W3C's profile of ISO 8601 (see
    /// [`Self::parse_timestamp`]), HTTP's formats (see [`Self::parse`]), and RFC 822 with years of
    /// two digits or four, months in full, weekdays or none, seconds or none, and zones as numbers,
    /// as names, wrong or missing. A zone that makes no sense is universal time.
    ///
    /// One reader for all of them: numbers and words, each by what stands around it. To try one
    /// format after the other would take twice the flash.
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
        SpelledDate::read(text)?.moment()
    }

    /// Reads the date of a header, by the one reader that is there anyway. It has to have a time of
    /// day: a number of seconds where a date belongs is no year.
    #[cfg(feature = "hints")]
    pub(super) fn of_header(text: &[u8]) -> Option<Self> {
        let date = SpelledDate::read(text)?;
        if date.clocks > 1 { date.moment() } else { None }
    }
}

/// What the numbers and words of a date have said so far.
#[derive(Default)]
struct SpelledDate {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    /// Hour, minute and second, of which so many are known.
    clock: [u32; 3],
    clocks: usize,
    /// How far east it is, or else west, in minutes.
    zone: u32,
    is_west: bool,
    /// The zone's minutes come behind a colon.
    lacks_minutes: bool,
}

impl SpelledDate {
    /// What a text says. Work: its length.
    fn read(text: &[u8]) -> Option<Self> {
        let mut date = Self::default();
        let mut before = b' ';
        let mut rest = text;
        while let [first, more @ ..] = rest {
            let is_alike = match first {
                b'0'..=b'9' => u8::is_ascii_digit,
                _ if first.is_ascii_alphabetic() => u8::is_ascii_alphabetic,
                _ => {
                    before = *first;
                    rest = more;
                    continue;
                }
            };
            let end = rest.iter().position(|byte| !is_alike(byte));
            let (run, after) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
            if first.is_ascii_digit() {
                date.number(run, before, after.first() == Some(&b':'))?;
            } else {
                date.word(run);
            }
            before = *first;
            rest = after;
        }
        Some(date)
    }

    /// Takes a number by the byte before it, and whether a colon follows.
    fn number(&mut self, digits: &[u8], before: u8, colon: bool) -> Option<()> {
        let value = number(digits)?;
        let lacked_minutes = core::mem::take(&mut self.lacks_minutes);
        if matches!(before, b'+' | b'-') && self.clocks > 0 {
            // `+0100` or `+01:00`
            self.is_west = before == b'-';
            self.lacks_minutes = digits.len() == 2 && colon;
            self.zone = match digits.len() {
                2 => value * 60,
                4 => value / 100 * 60 + value % 100,
                _ => 0,
            };
        } else if lacked_minutes {
            self.zone = self.zone.saturating_add(value);
        } else if colon || before == b':' {
            if let Some(part) = self.clock.get_mut(self.clocks) {
                *part = value;
                self.clocks += 1;
            }
        } else if before == b'.' && self.clocks > 0 {
            // Parts of a second do not matter.
        } else if self.year.is_none()
            && (digits.len() > 2 || self.day.is_some() && self.month.is_some())
        {
            // Years of two digits are RFC 822's, of three a mistake of the year 2000.
            self.year = Some(match digits.len() {
                ..=2 if value < 70 => 2000 + value,
                ..=3 => 1900 + value,
                _ => value,
            });
        } else if self.year.is_some() && self.month.is_none() {
            self.month = Some(value);
        } else {
            self.day = self.day.or(Some(value));
        }
        Some(())
    }

    /// Takes a word: the name of a month, or behind the time that of a zone. A weekday is neither,
    /// or is taken for a month until the month comes: Tuesday is `Mar` in Spanish.
    fn word(&mut self, word: &[u8]) {
        let is_late = self.clocks > 0;
        if !is_late || self.month.is_none() {
            let month = word.first_chunk().and_then(month_of);
            self.month = month.or(self.month);
        } else if word.len() > 2
            && let Some(hours) = hours_east(word)
        {
            self.zone = u32::from(hours.unsigned_abs()) * 60;
            self.is_west = hours < 0;
        }
    }

    /// The moment that is meant. What is left out at the end of `2005-06-07` is the earliest there
    /// is.
    fn moment(self) -> Option<HttpDate> {
        let [hour, minute, second] = self.clock;
        let month = self.month.or(self.day.is_none().then_some(1))?;
        let day = self.day.unwrap_or(1);
        let local = moment(self.year?, month, day, hour, minute, second)?.as_unix();
        let zone = if self.zone > MOST_ZONE { 0 } else { self.zone };
        let seconds = u64::from(zone * 60);
        HttpDate::from_unix(match self.is_west {
            true => local + seconds,
            false => local.checked_sub(seconds)?,
        })
    }
}

/// How far east a zone of this name is, in hours.
fn hours_east(name: &[u8]) -> Option<i8> {
    let mut zones = ZONES.split(|byte| *byte == b' ');
    let zone = zones.position(|zone| same(zone, name))?;
    HOURS.get(zone).copied()
}
