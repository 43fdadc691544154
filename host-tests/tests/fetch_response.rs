//! Where responses end, what their heads say, and what is refused: RFC 9112 case by case, in any
//! pieces.

use dunlin::fetch::{
    Agent, Etag, FetchError, HttpDate, Limits, Method, Request, ResponseError, RetryAfter, Url,
};
use host_tests::fetch::{Read, read};

fn whole(text: &str) -> Result<Read, ResponseError> {
    every_split(text.as_bytes(), Method::Get, Limits::DEFAULT)
}

/// Reads a response whole, byte by byte and cut at every byte: all must agree.
fn every_split(text: &[u8], method: Method, limits: Limits) -> Result<Read, ResponseError> {
    let whole = read([text], method, limits);
    let same = |other: &Result<Read, ResponseError>, how: &str| {
        assert_eq!(
            format!("{other:?}"),
            format!("{whole:?}"),
            "{how}: {}",
            text.escape_ascii()
        );
    };
    same(&read(text.chunks(1), method, limits), "byte by byte");
    if text.len() < 1000 {
        (1..text.len()).for_each(|at| {
            same(
                &read(<[_; 2]>::from(text.split_at(at)), method, limits),
                "cut in two",
            )
        });
    }
    whole
}

fn body(text: &str) -> Result<String, ResponseError> {
    whole(text).map(|read| String::from_utf8(read.body).unwrap())
}

/// (what, response, its body or the error, may the connection be used again)
type Framing = (
    &'static str,
    &'static str,
    Result<&'static str, ResponseError>,
    bool,
);

const FRAMING: &[Framing] = &[
    (
        "length",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        Ok("abc"),
        true,
    ),
    (
        "zero length",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        Ok(""),
        true,
    ),
    (
        "length and more bytes",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef",
        Ok("abc"),
        true,
    ),
    (
        "length not reached",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc",
        Err(ResponseError::Incomplete),
        false,
    ),
    (
        "same length twice",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        Ok("abc"),
        true,
    ),
    (
        "same length as a list",
        "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\nabc",
        Ok("abc"),
        true,
    ),
    (
        "two lengths",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        Err(ResponseError::ContentLength),
        false,
    ),
    (
        "two lengths in a list",
        "HTTP/1.1 200 OK\r\nContent-Length: 3, 4\r\n\r\nabcd",
        Err(ResponseError::ContentLength),
        false,
    ),
    (
        "negative length",
        "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc",
        Err(ResponseError::ContentLength),
        false,
    ),
    (
        "signed length",
        "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc",
        Err(ResponseError::ContentLength),
        false,
    ),
    (
        "hex length",
        "HTTP/1.1 200 OK\r\nContent-Length: 0x3\r\n\r\nabc",
        Err(ResponseError::ContentLength),
        false,
    ),
    (
        "length with a space",
        "HTTP/1.1 200 OK\r\nContent-Length: 1 2\r\n\r\nabc",
        Err(ResponseError::ContentLength),
        false,
    ),
    (
        "empty length",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nabc",
        Err(ResponseError::ContentLength),
        false,
    ),
    (
        "overflowing length",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\nabc",
        Err(ResponseError::ContentLength),
        false,
    ),
    (
        "huge length",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551614\r\n\r\nabc",
        Err(ResponseError::Incomplete),
        false,
    ),
    (
        "until close",
        "HTTP/1.1 200 OK\r\n\r\nabc",
        Ok("abc"),
        false,
    ),
    (
        "until close, nothing",
        "HTTP/1.1 200 OK\r\n\r\n",
        Ok(""),
        false,
    ),
    (
        "HTTP/1.0 with length",
        "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        Ok("abc"),
        false,
    ),
    (
        "HTTP/1.0 until close",
        "HTTP/1.0 200 OK\r\n\r\nabc",
        Ok("abc"),
        false,
    ),
    (
        "asked to close",
        "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 3\r\n\r\nabc",
        Ok("abc"),
        false,
    ),
    (
        "asked to close, in a list",
        "HTTP/1.1 200 OK\r\nConnection: x, close\r\nContent-Length: 3\r\n\r\nabc",
        Ok("abc"),
        false,
    ),
    (
        "204",
        "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n",
        Ok(""),
        true,
    ),
    (
        "304",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 300\r\n\r\n",
        Ok(""),
        true,
    ),
    (
        "304, chunked",
        "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
        Ok(""),
        true,
    ),
    (
        "chunked",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        Ok("abc"),
        true,
    ),
    (
        "chunked, several",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n1\r\na\r\n02\r\nbc\r\n0\r\n\r\n",
        Ok("abc"),
        true,
    ),
    (
        "chunked, hex sizes",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n",
        Ok("01234567890123456789a"),
        true,
    ),
    (
        "chunked, padded size",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3  \r\nabc\r\n0 \r\n\r\n",
        Ok("abc"),
        true,
    ),
    (
        "chunked, extensions",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a;b=c;d=\"e f\"\r\nabc\r\n0;z\r\n\r\n",
        Ok("abc"),
        true,
    ),
    (
        "chunked, trailers",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\nC: d\r\n\r\n",
        Ok("abc"),
        true,
    ),
    (
        "chunked, data for trailers",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nabc\r\n0\r\n\r\n",
        Err(ResponseError::Field),
        false,
    ),
    (
        "chunked, cut in the size",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3",
        Err(ResponseError::Incomplete),
        false,
    ),
    (
        "chunked, cut in the data",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
        Err(ResponseError::Incomplete),
        false,
    ),
    (
        "chunked, cut after the data",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc",
        Err(ResponseError::Incomplete),
        false,
    ),
    (
        "chunked, no last chunk",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        Err(ResponseError::Incomplete),
        false,
    ),
    (
        "chunked, cut in the trailers",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n",
        Err(ResponseError::Incomplete),
        false,
    ),
    (
        "chunked, no size",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nabc\r\n0\r\n\r\n",
        Err(ResponseError::ChunkSize),
        false,
    ),
    (
        "chunked, bad size",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
        Err(ResponseError::ChunkSize),
        false,
    ),
    (
        "chunked, negative size",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n",
        Err(ResponseError::ChunkSize),
        false,
    ),
    (
        "chunked, huge size",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc",
        Err(ResponseError::ChunkSize),
        false,
    ),
    (
        "chunked, bare LF after the size",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
        Err(ResponseError::ChunkSize),
        false,
    ),
    (
        "chunked, bare LF in an extension",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a\nabc\r\n0\r\n\r\n",
        Err(ResponseError::ChunkExtension),
        false,
    ),
    (
        "chunked, data too long",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
        Err(ResponseError::ChunkEnd),
        false,
    ),
    (
        "chunked and length",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        Ok("abc"),
        false,
    ),
    (
        "chunked twice",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        Err(ResponseError::TransferEncoding),
        false,
    ),
    (
        "chunked not last",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        Err(ResponseError::TransferEncoding),
        false,
    ),
    (
        "gzip, then chunked",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        Ok("abc"),
        true,
    ),
    (
        "gzip alone",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\nabc",
        Ok("abc"),
        false,
    ),
    (
        "continue first",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        Ok("abc"),
        true,
    ),
    (
        "early hints with fields",
        "HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        Ok("abc"),
        true,
    ),
    (
        "only continue",
        "HTTP/1.1 100 Continue\r\n\r\n",
        Err(ResponseError::Incomplete),
        false,
    ),
    (
        "upgrade",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        Err(ResponseError::Upgrade),
        false,
    ),
    (
        "bare LFs",
        "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc",
        Ok("abc"),
        true,
    ),
    (
        "line ends before the status",
        "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        Ok("abc"),
        true,
    ),
    (
        "no reason",
        "HTTP/1.1 200\r\nContent-Length: 3\r\n\r\nabc",
        Ok("abc"),
        true,
    ),
    (
        "empty reason",
        "HTTP/1.1 200 \r\nContent-Length: 3\r\n\r\nabc",
        Ok("abc"),
        true,
    ),
    (
        "reason in Latin-1 and UTF-8",
        "HTTP/1.1 200 Schön\r\nContent-Length: 3\r\n\r\nabc",
        Ok("abc"),
        true,
    ),
    ("no header", "HTTP/1.1 404 Not Found\r\n\r\n", Ok(""), false),
    (
        "blanks around a value",
        "HTTP/1.1 200 OK\r\nContent-Length: \t 3 \t\r\n\r\nabc",
        Ok("abc"),
        true,
    ),
    (
        "folded length",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n 3\r\n\r\nabc",
        Ok("abc"),
        true,
    ),
    (
        "folded other field",
        "HTTP/1.1 200 OK\r\nX: a\r\n\tb\r\nContent-Length: 3\r\n\r\nabc",
        Ok("abc"),
        true,
    ),
    (
        "folded into two lengths",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n 4\r\n\r\nabc",
        Err(ResponseError::ContentLength),
        false,
    ),
    ("nothing", "", Err(ResponseError::Closed), false),
    (
        "line ends only",
        "\r\n\r\n",
        Err(ResponseError::Incomplete),
        false,
    ),
    (
        "cut in the head",
        "HTTP/1.1 200 OK\r\nContent-Le",
        Err(ResponseError::Incomplete),
        false,
    ),
    (
        "cut before the last line end",
        "HTTP/1.1 200 OK\r\n\r",
        Err(ResponseError::Incomplete),
        false,
    ),
    (
        "HTTP/0.9",
        "<html>hello</html>\r\n\r\n",
        Err(ResponseError::StatusLine),
        false,
    ),
    (
        "HTTP/2",
        "HTTP/2.0 200 OK\r\n\r\n",
        Err(ResponseError::StatusLine),
        false,
    ),
    (
        "ICY",
        "ICY 200 OK\r\n\r\n",
        Err(ResponseError::StatusLine),
        false,
    ),
    (
        "lower case",
        "http/1.1 200 OK\r\n\r\n",
        Err(ResponseError::StatusLine),
        false,
    ),
    (
        "two spaces",
        "HTTP/1.1  200 OK\r\n\r\n",
        Err(ResponseError::StatusLine),
        false,
    ),
    (
        "two digits",
        "HTTP/1.1 20 OK\r\n\r\n",
        Err(ResponseError::StatusLine),
        false,
    ),
    (
        "four digits",
        "HTTP/1.1 2000 OK\r\n\r\n",
        Err(ResponseError::StatusLine),
        false,
    ),
    (
        "status below 100",
        "HTTP/1.1 099 OK\r\n\r\n",
        Err(ResponseError::StatusLine),
        false,
    ),
    (
        "NUL in the reason",
        "HTTP/1.1 200 O\0K\r\n\r\n",
        Err(ResponseError::StatusLine),
        false,
    ),
    (
        "field without colon",
        "HTTP/1.1 200 OK\r\nhello\r\n\r\n",
        Err(ResponseError::Field),
        false,
    ),
    (
        "field without name",
        "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
        Err(ResponseError::Field),
        false,
    ),
    (
        "space before the colon",
        "HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\nabc",
        Err(ResponseError::Field),
        false,
    ),
    (
        "space in a name",
        "HTTP/1.1 200 OK\r\nContent Length: 3\r\n\r\nabc",
        Err(ResponseError::Field),
        false,
    ),
    (
        "fold after the status line",
        "HTTP/1.1 200 OK\r\n Content-Length: 3\r\n\r\nabc",
        Err(ResponseError::Field),
        false,
    ),
    (
        "control character in a value",
        "HTTP/1.1 200 OK\r\nX: a\x01b\r\n\r\n",
        Err(ResponseError::Field),
        false,
    ),
    (
        "bare CR in a value",
        "HTTP/1.1 200 OK\r\nX: a\rContent-Length: 3\r\n\r\nabc",
        Err(ResponseError::LineEnd),
        false,
    ),
    (
        "bare CR at the end",
        "HTTP/1.1 200 OK\r\n\rX: y\r\n\r\n",
        Err(ResponseError::LineEnd),
        false,
    ),
];

#[test]
fn framing_by_rfc_9112() {
    for (what, text, expected, reusable) in FRAMING {
        let read = whole(text);
        assert_eq!(body(text), expected.map(str::to_owned), "{what}");
        assert_eq!(read.is_ok_and(|read| read.reusable), *reusable, "{what}");
    }
}

#[test]
fn head_requests_have_no_body() {
    for framing in ["Content-Length: 300", "Transfer-Encoding: chunked", "X: y"] {
        let text = format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n");
        let read = every_split(text.as_bytes(), Method::Head, Limits::DEFAULT).unwrap();
        assert!(read.body.is_empty() && read.reusable, "{framing}");
    }
}

#[test]
fn what_heads_say() {
    let read = whole(
        "HTTP/1.1 301 Moved\r\nETAG: W/\"x y\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
         Date: Sunday, 06-Nov-94 08:50:07 GMT\r\nRetry-After: Sun Nov  6 08:51:07 1994\r\n\
         Cache-Control: private, Max-Age=\"90\"\r\nExpires: 0\r\nContent-Encoding: gzip\r\n\
         Location: //b/c\r\nLocation: /ignored\r\nContent-Length: 0\r\n\r\n",
    )
    .unwrap();
    let head = read.head;
    let date = |seconds: u64| HttpDate::from_unix(784_111_777 + seconds);
    assert_eq!(
        (head.etag, head.last_modified, head.date),
        (Etag::new(b"W/\"x y\""), date(0), date(30))
    );
    assert_eq!(head.retry_after, date(90).map(RetryAfter::Date));
    assert_eq!(
        head.retry_after
            .unwrap()
            .wait(head.date, None)
            .unwrap()
            .as_secs(),
        60
    );
    assert_eq!(
        (head.max_age, head.expires, head.encoded),
        (Some(90), HttpDate::from_unix(0), true)
    );
    assert_eq!(read.location.as_deref(), Some(&b"//b/c"[..]));
    for (value, expected) in [
        ("no-cache", Some(0)),
        ("max-age=60, no-store", Some(0)),
        ("max-age=99999999999", Some(u32::MAX)),
        ("max-age=soon", Some(0)),
        ("s-maxage=5", None),
        ("public", None),
    ] {
        let text = format!("HTTP/1.1 200 OK\r\nCache-Control: {value}\r\n\r\n");
        assert_eq!(whole(&text).unwrap().head.max_age, expected, "{value}");
    }
    for (value, expected) in [
        ("120", Some(RetryAfter::Seconds(120))),
        ("-1", None),
        ("soon", None),
        ("99999999999", Some(RetryAfter::Seconds(u32::MAX))),
    ] {
        let text = format!("HTTP/1.1 503 Busy\r\nRetry-After: {value}\r\n\r\n");
        assert_eq!(whole(&text).unwrap().head.retry_after, expected, "{value}");
    }
}

#[test]
fn tags_that_do_not_fit_are_not_used() {
    for (length, kept) in [(1, true), (40, true), (41, false), (600, false)] {
        let text = format!("HTTP/1.1 200 OK\r\nETag: {}\r\n\r\n", "e".repeat(length));
        assert_eq!(whole(&text).unwrap().head.etag.is_some(), kept, "{length}");
    }
}

#[test]
fn long_lines_are_skipped_and_long_targets_are_lost() {
    let cookies = format!("Set-Cookie: a={}\r\n", "x".repeat(3_000)).repeat(10);
    let text = format!(
        "HTTP/1.1 302 Found\r\n{cookies}Location: /x\r\n{cookies}ETag: \"e\"\r\nContent-Length: 3\r\n\r\nabc"
    );
    let read = whole(&text).unwrap();
    assert_eq!(
        (read.location.as_deref(), read.head.etag.is_some()),
        (Some(&b"/x"[..]), true)
    );
    for (length, kept) in [(512, true), (513, false), (5_000, false)] {
        let target = format!("/{}", "y".repeat(length - 1));
        let text = format!(
            "HTTP/1.1 302 Found\r\nLocation: {target}\r\nETag: \"{}\"\r\n\r\n",
            "e".repeat(38)
        );
        let read = whole(&text).unwrap();
        assert_eq!(read.location, kept.then(|| target.into_bytes()), "{length}");
        assert!(
            read.head.etag.is_some(),
            "a long Location leaves room for other lines"
        );
    }
    let padded = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}3\r\n\r\nabc",
        " ".repeat(1_000)
    );
    assert_eq!(
        whole(&padded).map(|_| ()),
        Err(ResponseError::ContentLength)
    );
}

#[test]
fn limits_hold() {
    let mut tight = Limits::DEFAULT.with_body_bytes(5);
    tight.head_bytes = 100;
    tight.fields = 3;
    tight.interim = 2;
    tight.extension_bytes = 4;
    let of = |text: &str| every_split(text.as_bytes(), Method::Get, tight);
    let error = |text: &str| of(text).unwrap_err();
    assert_eq!(
        error(&format!(
            "HTTP/1.1 200 OK\r\nX: {}\r\n\r\n",
            "x".repeat(100)
        )),
        ResponseError::HeadTooLong
    );
    assert_eq!(
        error("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n"),
        ResponseError::TooManyFields
    );
    let interim = "HTTP/1.1 102 P\r\n\r\n";
    assert_eq!(error(&interim.repeat(3)), ResponseError::TooManyInterim);
    assert!(of(&format!("{}HTTP/1.1 204 N\r\n\r\n", interim.repeat(2))).is_ok());
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(
        error(&format!("{chunked}1;abcd\r\na\r\n")),
        ResponseError::ChunkExtension
    );
    assert_eq!(
        error(&format!("{chunked}1;a\r\na\r\n1;a\r\na\r\n1;a\r\na\r\n")),
        ResponseError::ChunkExtension
    );
    assert_eq!(
        error(&format!("{chunked}0\r\nA: b\r\nA: b\r\nA: b\r\n\r\n")),
        ResponseError::TooManyFields
    );
    assert_eq!(
        error(&format!("{chunked}0\r\nA: {}\r\n\r\n", "x".repeat(60))),
        ResponseError::HeadTooLong
    );
    for (framing, text) in [
        (
            "length",
            "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcdef",
        ),
        (
            "length and more",
            "HTTP/1.1 200 OK\r\nContent-Length: 600\r\n\r\nabcdefgh",
        ),
        ("close", "HTTP/1.1 200 OK\r\n\r\nabcdef"),
        (
            "one chunk",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n",
        ),
        (
            "two chunks",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n1\r\nf\r\n0\r\n\r\n",
        ),
    ] {
        let read = of(text).unwrap();
        assert_eq!(
            (&read.body[..], read.truncated, read.reusable),
            (&b"abcde"[..], true, false),
            "{framing}"
        );
    }
    let exact = of(&format!("{chunked}5\r\nabcde\r\n0\r\n\r\n")).unwrap();
    assert!(!exact.truncated && exact.reusable);
}

#[test]
fn requests_say_what_they_must() {
    let agent = Agent::new("dunlin/0.1", Some("https://example.org/about")).unwrap();
    let etag = Etag::new(b"W/\"v1\"").unwrap();
    assert_eq!(format!("{etag:?}"), r#"Etag(W/\"v1\")"#);
    let mut request = Request::get(
        Url::parse("https://Example.org:8443/a b?ä".replace(' ', "%20").leak()).unwrap(),
        agent,
    );
    request.etag = Some(&etag);
    request.last_modified = HttpDate::from_unix(784_111_777);
    let expected = "GET /a%20b?%C3%A4 HTTP/1.1\r\nHost: Example.org:8443\r\n\
        User-Agent: dunlin/0.1 (+https://example.org/about)\r\nAccept: */*\r\nAccept-Encoding: identity\r\n\
        If-None-Match: W/\"v1\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close\r\n\r\n";
    // Through windows of any size.
    for size in [1, 7, 64, 4096] {
        let mut sent = Vec::new();
        let mut window = vec![0; size];
        loop {
            let count = request.render(sent.len(), &mut window);
            sent.extend_from_slice(&window[..count]);
            if count < size {
                break;
            }
        }
        assert_eq!(String::from_utf8(sent).unwrap(), expected, "{size}");
    }
    request.etag = None;
    request.last_modified = None;
    request.keep_alive = true;
    request.via_gateway = true;
    let mut window = [0; 4096];
    let count = request.render(0, &mut window);
    let text = std::str::from_utf8(&window[..count]).unwrap();
    assert!(
        text.starts_with(
            "GET https://Example.org:8443/a%20b?%C3%A4 HTTP/1.1\r\nHost: Example.org:8443\r\n"
        ),
        "{text}"
    );
    assert!(
        !text.contains("Connection") && !text.contains("If-"),
        "{text}"
    );
}

#[test]
fn agents_cannot_smuggle_header_lines() {
    for product in ["", "1x", "a b", "a\r\nX: y", "ä"] {
        assert!(Agent::new(product, None).is_err(), "{product:?}");
    }
    for contact in ["", "a b", "a\r\nX: y", "a)b", "ä"] {
        assert!(Agent::new("dunlin", Some(contact)).is_err(), "{contact:?}");
    }
}

#[test]
fn failures_say_what_went_wrong() {
    let closed = FetchError::<()>::Response(ResponseError::Closed).to_string();
    assert_eq!(closed, ResponseError::Closed.to_string());
    assert!(!closed.is_empty());
    let broken = FetchError::Connection("reset by peer").to_string();
    assert!(broken.contains("reset by peer"), "{broken}");
}
