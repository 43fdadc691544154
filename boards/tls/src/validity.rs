//! The dates of a certificate whose key is pinned: webpki checks them only along a path.

use rustls::pki_types::UnixTime;
use rustls::{CertificateError, Error};

/// Is the certificate valid now?
///
/// # Errors
/// It is not yet, or no longer, or its dates cannot be read.
pub(crate) fn check(certificate: &[u8], now: UnixTime) -> Result<(), Error> {
    let (from, to) = dates(certificate).ok_or(CertificateError::BadEncoding)?;
    if now.as_secs() < from {
        Err(CertificateError::NotValidYet.into())
    } else if now.as_secs() > to {
        Err(CertificateError::Expired.into())
    } else {
        Ok(())
    }
}

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Seconds since 1970 of the first and the last moment.
fn dates(certificate: &[u8]) -> Option<(u64, u64)> {
    let (_, outer, _) = element(certificate)?;
    let (_, mut fields, _) = element(outer)?;
    if let Some((VERSION, _, rest)) = element(fields) {
        fields = rest;
    }
    // Serial number, algorithm, issuer.
    for _ in 0..3 {
        (_, _, fields) = element(fields)?;
    }
    let (SEQUENCE, validity, _) = element(fields)? else {
        return None;
    };
    let (from_tag, from, rest) = element(validity)?;
    let (to_tag, to, _) = element(rest)?;
    Some((moment(from_tag, from)?, moment(to_tag, to)?))
}

/// Tag, contents and what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (number, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let number = number
                .iter()
                .fold(0, |number, byte| number << 8 | usize::from(*byte));
            (number, rest)
        }
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((tag, contents, rest))
}

/// Reads a moment, `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn moment(tag: u8, text: &[u8]) -> Option<u64> {
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0, |number: u64, digit| {
            digit
                .is_ascii_digit()
                .then(|| 10 * number + u64::from(digit - b'0'))
        })
    };
    let (year, rest) = match tag {
        UTC_TIME => {
            let (year, rest) = text.split_at_checked(2)?;
            let year = number(year)?;
            // RFC 5280: 50 and above is the last century.
            (year + if year < 50 { 2000 } else { 1900 }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = text.split_at_checked(4)?;
            (number(year)?, rest)
        }
        _ => return None,
    };
    let (digits, b"Z") = rest.split_at_checked(10)? else {
        return None;
    };
    let mut pairs = digits.chunks_exact(2).map(number);
    let mut next = || pairs.next().flatten();
    let month = next()?;
    let day = next()?;
    let hour = next()?;
    let minute = next()?;
    let second = next()?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    Some(((days(year, month, day)? * 24 + hour) * 60 + minute) * 60 + second)
}

/// Days since 1970, by the civil calendar.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    // Years begin in March, so that a leap day is the last.
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let leap = year / 4 - year / 100 + year / 400;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    (year * 365 + leap + day_of_year).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_written() {
        let read = |tag, text: &str| moment(tag, text.as_bytes());
        assert_eq!(read(UTC_TIME, "700101000000Z"), Some(0));
        assert_eq!(read(UTC_TIME, "491231235959Z"), Some(2_524_607_999));
        assert_eq!(
            read(GENERALIZED_TIME, "20240229120000Z"),
            Some(1_709_208_000)
        );
        assert_eq!(
            read(GENERALIZED_TIME, "99991231235959Z"),
            Some(253_402_300_799)
        );
        assert_eq!(read(UTC_TIME, "241301000000Z"), None);
        assert_eq!(read(UTC_TIME, "24010100000Z"), None);
        assert_eq!(read(UTC_TIME, "240101000000"), None);
        assert_eq!(read(2, "240101000000Z"), None);
    }
}
