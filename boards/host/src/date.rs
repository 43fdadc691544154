//! Dates as archives and feeds write them, in UTC.

/// A moment, split into its calendar's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    year: u64,
    month: u64,
    day: u64,
    second: u64,
}

/// The last second of the year 9999: later ones would not have four digits.
const LAST: u64 = 253_402_300_799;
const DAY: u64 = 86_400;

/// The moment as in `2026-11-17T04:50:08Z`.
pub fn iso(unix: u64) -> String {
    let Parts {
        year,
        month,
        day,
        second,
    } = parts(unix);
    let hour = second / 3600;
    let minute = second / 60 % 60;
    let second = second % 60;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The same in 14 digits, as in `20261117045008`.
pub fn digits(unix: u64) -> String {
    let mut digits = iso(unix);
    digits.retain(|letter| letter.is_ascii_digit());
    digits
}

/// Reads what [`iso`] and [`digits`] write, and the beginning of either: `2026-11` is when that
/// month began. `None` for what is no date.
pub fn parse(text: &str) -> Option<u64> {
    let punctuation = |letter: char| "-:TZ ".contains(letter);
    if !text
        .chars()
        .all(|letter| letter.is_ascii_digit() || punctuation(letter))
    {
        return None;
    }
    let mut digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if digits.len() < 4 || digits.len() > 14 || !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.push_str(&"00000101000000"[digits.len()..]);
    let number = |from: usize, to: usize| digits.get(from..to)?.parse::<u64>().ok();
    let year = number(0, 4)?;
    let month = number(4, 6)?;
    let day = number(6, 8)?;
    let hour = number(8, 10)?;
    let minute = number(10, 12)?;
    let second = number(12, 14)?;
    let is_date = year >= 1970 && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let unix = days_before(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
    // The 31st of a month that has none would come back as another day.
    (parts(unix).day == day || second == 60).then_some(unix)
}

/// Howard Hinnant's calendar, whose years begin in March: leap days come last.
fn parts(unix: u64) -> Parts {
    let unix = unix.min(LAST);
    let days = unix / DAY + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let (month, late) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    Parts {
        year: era * 400 + year_of_era + late,
        month,
        day: day_of_year - (153 * ((month + 9) % 12) + 2) / 5 + 1,
        second: unix % DAY,
    }
}

/// Days from 1970 to a date after it.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let year = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let year_of_era = year % 400;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    year / 400 * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar_and_come_back() {
        for (unix, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (784_111_777, "1994-11-06T08:49:37Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_794_000_000, "2026-11-06T21:20:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (LAST, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(iso(unix), text);
            assert_eq!(parse(text), Some(unix));
            assert_eq!(parse(&digits(unix)), Some(unix));
        }
        for day in 0..60_000 {
            assert_eq!(parse(&iso(day * DAY)), Some(day * DAY));
        }
        assert_eq!(iso(u64::MAX), iso(LAST));
    }

    #[test]
    fn the_beginning_of_a_date_is_a_date_and_other_text_is_none() {
        assert_eq!(parse("2026"), parse("2026-01-01"));
        assert_eq!(parse("2026-11-17 04:50"), parse("20261117045000"));
        for text in [
            "",
            "now",
            "202",
            "2026-13",
            "2026-02-30",
            "1969",
            "20261117045008123",
            "é",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
