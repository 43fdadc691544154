//! HTTP dates: RFC 9110's examples, what is refused, and agreement with crate `httpdate`.

use std::time::{Duration, UNIX_EPOCH};

use dunlin::fetch::{HttpDate, Limits, Method, RetryAfter};
use host_tests::fetch::read;
use proptest::prelude::*;

fn parse(text: &str) -> Option<u64> {
    HttpDate::parse(text.as_bytes()).map(HttpDate::as_unix)
}

fn oracle(text: &str) -> Option<u64> {
    let time = httpdate::parse_http_date(text).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

#[test]
fn the_three_formats_of_rfc_9110() {
    for text in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ] {
        assert_eq!(parse(text), Some(784_111_777), "{text}");
        assert_eq!(oracle(text), Some(784_111_777), "{text}");
    }
}

#[test]
fn edges_of_the_calendar() {
    for (text, expected) in [
        ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
        ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799)),
        ("Sat, 29 Feb 2100 00:00:00 GMT", None),
        ("Thu, 29 Feb 2024 00:00:00 GMT", Some(1_709_164_800)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
        ("Wed, 31 Dec 1969 23:59:59 GMT", None),
        ("Fri, 31 Apr 2026 00:00:00 GMT", None),
        ("Fri, 00 Apr 2026 00:00:00 GMT", None),
        ("Sun, 06 Nov 1994 24:00:00 GMT", None),
        ("Sun, 06 Nov 1994 08:60:00 GMT", None),
        ("Sun, 06 Nov 1994 08:49:37", None),
        ("Sun, 06 Nov 1994 08:49:37 CET", None),
        ("Sun, 06 nov 1994 08:49:37 GMT", None),
        ("Sun, 6 Nov 1994 08:49:37 GMT", None),
        ("Sun, +6 Nov 1994 08:49:37 GMT", None),
        ("Sunday, 06-Nov-1994 08:49:37 GMT", None),
        ("Wednesday, 06-Nov-69 08:49:37 GMT", Some(3_150_953_377)),
        ("Friday, 06-Nov-70 08:49:37 GMT", Some(26_729_377)),
        ("", None),
        ("0", None),
        ("-1", None),
        ("never", None),
    ] {
        assert_eq!(parse(text), expected, "{text}");
    }
}

/// Where we differ from `httpdate`, on purpose: a wrong weekday and a leap second are readable all
/// the same.
#[test]
fn what_we_read_and_httpdate_does_not() {
    for (text, ours) in [
        ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sun, 06 Nov 1994 08:49:60 GMT", 784_111_800),
    ] {
        assert_eq!((parse(text), oracle(text)), (Some(ours), None), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn formats_like_httpdate(seconds in 0_u64..253_402_300_800) {
        let ours = HttpDate::from_unix(seconds).unwrap().format();
        let theirs = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
        prop_assert_eq!(core::str::from_utf8(&ours).unwrap(), &theirs);
        prop_assert_eq!(parse(&theirs), Some(seconds));
    }

    /// Valid dates with one character changed, in each format: read alike, or explained above.
    #[test]
    fn reads_damaged_dates_like_httpdate(
        seconds in 0_u64..4_000_000_000,
        format in 0..3,
        at in 0_usize..30,
        put in proptest::sample::select(b"0123456789 :,-JFMASONDGMTabn".to_vec()),
    ) {
        let fixdate = String::from_utf8(HttpDate::from_unix(seconds).unwrap().format().to_vec()).unwrap();
        let text = rewrite(&fixdate, format);
        let mut damaged = text.clone().into_bytes();
        let index = at % damaged.len();
        damaged[index] = put;
        let damaged = String::from_utf8(damaged).unwrap();
        let ours = parse(&damaged);
        let theirs = oracle(&damaged);
        let explained = if theirs.is_none() { is_explained(&damaged) } else { is_sloppy(&damaged) };
        prop_assert!(ours == theirs || explained, "{damaged:?}: {ours:?}, httpdate {theirs:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Whatever the weekday is called, and if one character was changed.
    #[test]
    fn the_reader_of_any_date_reads_those_of_http_alike(
        seconds in 0_u64..253_402_300_800,
        format in 0..3,
        weekday in "[A-Za-z]{9}",
        at in 0_usize..30,
        put in proptest::sample::select(b"0123456789 :,-JFMASONDGMTabn".to_vec()),
    ) {
        let fixdate = String::from_utf8(HttpDate::from_unix(seconds).unwrap().format().to_vec()).unwrap();
        let text = rewrite(&fixdate, format);
        let letters = text.find([',', ' ']).unwrap();
        let mut text = format!("{}{}", &weekday[..letters], &text[letters..]).into_bytes();
        prop_assert_eq!(HttpDate::parse_any(&text), HttpDate::parse(&text));
        prop_assert!(HttpDate::parse(&text).is_some());
        let index = letters + at % (text.len() - letters);
        text[index] = put;
        if let Some(date) = HttpDate::parse(&text) {
            prop_assert_eq!(HttpDate::parse_any(&text), Some(date), "{:?}", text.escape_ascii());
        }
    }
}

/// What heads say is read by the reader of any date: spellings that HTTP does not have count, too.
#[test]
fn dates_of_heads_have_a_time_of_day() {
    let date = HttpDate::from_unix(784_111_777);
    let retry = |value: &str| {
        let head = format!("HTTP/1.1 503 Busy\r\nRetry-After: {value}\r\nExpires: {value}\r\n\r\n");
        let read = read([head.as_bytes()], Method::Get, Limits::DEFAULT).expect("a head");
        (read.head.retry_after, read.head.expires)
    };
    for value in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 nov 1994 8:49:37",
        "1994-11-06T08:49:37Z",
        "Dom, 06 Nov 1994 08:49:37 GMT",
        "Mar, 06 Nov 1994 08:49:37 GMT",
    ] {
        assert_eq!(retry(value), (date.map(RetryAfter::Date), date), "{value}");
    }
    // Numbers are no years.
    let already = HttpDate::from_unix(0);
    for value in [
        "3600 seconds",
        "3600s",
        "3600.5",
        "1994-11-06",
        "soon",
        "-1",
    ] {
        assert_eq!(retry(value), (None, already), "{value}");
    }
}

/// What `httpdate` reads and we do not: it takes any character for the space before an RFC 850
/// time.
fn is_sloppy(text: &str) -> bool {
    let Some(space) = text.find(',').map(|comma| comma + 11) else {
        return false;
    };
    let mended = format!("{} {}", &text[..space], &text[space + 1..]);
    parse(text).is_none() && parse(&mended).is_some() && parse(&mended) == oracle(text)
}

/// An IMF-fixdate in another format.
fn rewrite(fixdate: &str, format: i32) -> String {
    let (weekday, rest) = fixdate.split_once(", ").unwrap();
    let [day, month, year, time, _] = rest.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{rest}")
    };
    let long = [
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
    ]
    .into_iter()
    .find(|name| name.starts_with(weekday))
    .unwrap();
    match format {
        0 => fixdate.to_owned(),
        1 => format!("{long}, {day}-{month}-{} {time} GMT", &year[2..]),
        _ => format!(
            "{weekday} {month} {:>2} {time} {year}",
            day.trim_start_matches('0')
        ),
    }
}

/// Differs only in what `what_we_read_and_httpdate_does_not` shows: the right weekday, or second 59
/// instead of 60, makes `httpdate` read it as we do.
fn is_explained(text: &str) -> bool {
    let ours = parse(text);
    let with_59 = text.replacen(":60", ":59", 1);
    let candidates = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        .into_iter()
        .flat_map(|day| {
            let long = [
                "Monday",
                "Tuesday",
                "Wednesday",
                "Thursday",
                "Friday",
                "Saturday",
                "Sunday",
            ]
            .into_iter()
            .find(|name| name.starts_with(day))
            .unwrap();
            let rest_of = |text: &str| match text.find(", ") {
                Some(3) => format!("{day}{}", &text[3..]),
                Some(comma @ 6..=9) => format!("{long}{}", &text[comma..]),
                _ => format!("{day}{}", text.get(3..).unwrap_or_default()),
            };
            [(rest_of(text), 0), (rest_of(&with_59), 1)]
        });
    candidates
        .into_iter()
        .any(|(text, more)| oracle(&text).is_some_and(|seconds| Some(seconds + more) == ours))
}
