//! Our reader of responses against hyper's, on generated streams, sound and damaged, cut at every
//! byte.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use dunlin::fetch::{Limits, Method};
use dunlin_suite::bench::Random;
use futures_lite::future::{block_on, or};
use host_tests::fetch::read;
use http_body_util::{BodyExt, Empty};
use hyper::rt::{ReadBufCursor, Write};

/// What a reader made of a stream: status and body, or nothing.
type Result = std::result::Result<(u16, Vec<u8>), String>;

fn ours(stream: &[u8], cut: usize) -> Result {
    let (first, second) = stream.split_at(cut);
    match read([first, second], Method::Get, Limits::DEFAULT) {
        Ok(read) => Ok((read.head.status, read.body)),
        Err(error) => Err(format!("{error:?}")),
    }
}

/// A connection on which, once a request has been sent, the whole stream is waiting, and then the
/// end.
struct Canned {
    stream: Bytes,
    asked: bool,
    reader: Option<Waker>,
}

impl hyper::rt::Read for Canned {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut out: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.asked {
            self.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        let count = out.remaining().min(self.stream.len());
        out.put_slice(&self.stream.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl Write for Canned {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.asked = true;
        self.reader.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn hypers(stream: &[u8]) -> Result {
    let io = Canned {
        stream: Bytes::copy_from_slice(stream),
        asked: false,
        reader: None,
    };
    block_on(async {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io)
            .await
            .map_err(|e| format!("{e:?}"))?;
        let request = hyper::Request::get("/")
            .header("host", "a")
            .body(Empty::<Bytes>::new())
            .unwrap();
        let exchange = async {
            let response = sender
                .send_request(request)
                .await
                .map_err(|error| format!("{error:?}"))?;
            let status = response.status().as_u16();
            let body = response
                .into_body()
                .collect()
                .await
                .map_err(|error| format!("{error:?}"))?;
            Ok((status, body.to_bytes().to_vec()))
        };
        // Whatever the connection says when it ends, the exchange has heard about it.
        or(exchange, async {
            let _ = connection.await;
            std::future::pending().await
        })
        .await
    })
}

/// A response as servers send them, or nearly.
fn generate(random: &mut Random) -> Vec<u8> {
    fn pick<'p>(random: &mut Random, among: &[&'p str]) -> &'p str {
        among[random.below(among.len() as u32) as usize]
    }
    let mut text = String::new();
    if random.below(8) == 0 {
        text += pick(
            random,
            &[
                "HTTP/1.1 100 Continue\r\n\r\n",
                "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
            ],
        );
    }
    text += pick(
        random,
        &["HTTP/1.1 ", "HTTP/1.1 ", "HTTP/1.1 ", "HTTP/1.0 "],
    );
    text += pick(
        random,
        &[
            "200 OK",
            "200 ",
            "404 Not Found",
            "301 Moved",
            "204 No Content",
            "304 Not Modified",
            "503 Busy",
        ],
    );
    let end = if random.below(8) == 0 { "\n" } else { "\r\n" };
    text += end;
    let body: String = (0..random.below(24))
        .map(|_| char::from(b'a' + random.below(26) as u8))
        .collect();
    let mut fields: Vec<String> = Vec::new();
    let chunked = random.below(2) == 0;
    if chunked {
        let coding = pick(
            random,
            &[
                "chunked",
                "chunked",
                "Chunked",
                "gzip, chunked",
                " chunked ",
                "gzip",
                "chunked, chunked",
            ],
        );
        fields.push(format!("Transfer-Encoding: {coding}"));
    }
    match random.below(if chunked { 12 } else { 4 }) {
        0 => {}
        1 => fields.push(format!(
            "Content-Length: {}",
            pick(
                random,
                &["7", "x", "-1", "+3", "", "3, 3", "99999999999999999999"]
            )
        )),
        2 | 3 if !chunked => fields.push(format!("content-length: {}", body.len())),
        _ => {}
    }
    for _ in 0..random.below(4) {
        fields.push(
            pick(
                random,
                &[
                    "Server: nginx",
                    "ETag: \"x\"",
                    "Connection: close",
                    "Connection: keep-alive",
                    "Set-Cookie: a=b; c",
                    "X-Empty:",
                    "X-Colon: a:b:c",
                    "Date: Sun, 06 Nov 1994 08:49:37 GMT",
                    "X-Tab:\ta\t",
                    "X-Latin: sch\u{f6}n",
                ],
            )
            .to_owned(),
        );
    }
    if !fields.is_empty() {
        let turn = random.below(fields.len() as u32) as usize;
        fields.rotate_left(turn);
    }
    for field in fields {
        text = text + &field + end;
    }
    text += end;
    if chunked {
        for piece in body.as_bytes().chunks(1 + random.below(12) as usize) {
            let extension = pick(random, &["", "", "", ";a=b", " ", ";q=\"r s\""]);
            text += &format!(
                "{:x}{extension}\r\n{}\r\n",
                piece.len(),
                std::str::from_utf8(piece).unwrap()
            );
        }
        text += pick(
            random,
            &["0\r\n\r\n", "0\r\n\r\n", "00\r\n\r\n", "0\r\nX: y\r\n\r\n"],
        );
    } else {
        text += &body;
    }
    text += pick(random, &["", "", "", "", "HTTP/1.1 200 OK\r\n\r\n"]);
    text.into_bytes()
}

/// One damage: a byte changed, removed or repeated, or the end cut off.
fn damage(stream: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(stream.len() as u32) as usize;
    const BYTES: &[u8] = b"\r\n\0 \t:;,09afHTP/1x\x7f\x80";
    match random.below(4) {
        0 => stream[at] = BYTES[random.below(BYTES.len() as u32) as usize],
        1 => drop(stream.remove(at)),
        2 => stream.insert(at, stream[at]),
        _ => stream.truncate(at),
    }
}

/// Why the two differ on a stream, if that is as it should be. Each is a deliberate choice of one
/// side.
fn explanation(stream: &[u8], ours: &Result, theirs: &Result) -> Option<&'static str> {
    let text = String::from_utf8_lossy(stream).to_ascii_lowercase();
    let values = |name: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(name));
        lines
            .flat_map(|value| value.split(','))
            .map(|value| value.trim().to_owned())
            .collect()
    };
    let codings = values("transfer-encoding:");
    let bodiless = [" 101 ", " 204 ", " 304 "]
        .iter()
        .any(|status| text.contains(status));
    match (ours, theirs) {
        (Err(why), Ok(_)) => match why.as_str() {
            "TransferEncoding" if codings.len() > 1 => {
                Some("hyper takes chunked with codings around it for chunked")
            }
            "ContentLength" if bodiless || !codings.is_empty() => Some(
                "hyper does not read a length that does not matter; we believe no head that contradicts itself",
            ),
            "ChunkExtension" => Some("hyper lets control characters in chunk extensions pass"),
            "Upgrade" => Some("hyper hands over 101 as a response"),
            _ => None,
        },
        (Ok(_), Err(why)) => {
            let says = |what| why.contains(what);
            if says("Parse(Version)") {
                Some("hyper knows only HTTP/1.0 and 1.1; RFC 9110 §2.5 reads any 1.x as 1.1")
            } else if says("TransferEncodingUnexpected") && text.contains("http/1.0") {
                Some(
                    "hyper refuses a coding in HTTP/1.0; we read it and do not use the connection again",
                )
            } else if says("Header(Token)") && (text.contains("\n ") || text.contains("\n\t")) {
                Some("hyper refuses folded lines; RFC 9112 §5.2 lets a client read them")
            } else if says("linear white space") {
                Some(
                    "hyper refuses what follows blanks after a chunk size; we skip it like an extension",
                )
            } else if says("chunk size line") && text.contains('\n') {
                Some("hyper wants CRLF between trailers; we take LF there as in the head")
            } else {
                None
            }
        }
        (Ok(_), Ok(_)) if codings.iter().any(|coding| !coding.is_ascii()) => Some(
            "hyper passes over a coding that is not ASCII; to us it is one that we do not know",
        ),
        _ => None,
    }
}

#[test]
fn agrees_with_hyper_on_generated_streams() {
    let streams = if std::env::var_os("DUNLIN_LONG").is_some() {
        100_000
    } else {
        10_000
    };
    let mut random = Random(9);
    let mut agreed = 0;
    let mut read_by_both = 0;
    let mut explained = BTreeMap::<&str, u32>::new();
    let mut unexplained = BTreeMap::<String, (u32, String)>::new();
    for index in 0..streams {
        let mut stream = generate(&mut random);
        for _ in 0..index % 3 {
            if !stream.is_empty() {
                damage(&mut stream, &mut random);
            }
        }
        let whole = ours(&stream, 0);
        for cut in 1..stream.len() {
            assert_eq!(
                ours(&stream, cut),
                whole,
                "cut at {cut}: {}",
                stream.escape_ascii()
            );
        }
        let theirs = hypers(&stream);
        let agree = match (&whole, &theirs) {
            (Ok(ours), Ok(theirs)) => ours == theirs,
            (Err(_), Err(_)) => true,
            _ => false,
        };
        if agree {
            agreed += 1;
            read_by_both += u32::from(whole.is_ok());
        } else if let Some(why) = explanation(&stream, &whole, &theirs) {
            *explained.entry(why).or_default() += 1;
        } else {
            let kind = match (&whole, &theirs) {
                (Ok(_), Ok(_)) => "both read, differently".to_owned(),
                (Ok(_), Err(e)) => format!("only we read; hyper: {e}"),
                (Err(e), _) => format!("only hyper reads; we: {e}"),
            };
            let entry = unexplained
                .entry(kind)
                .or_insert_with(|| (0, stream.escape_ascii().to_string()));
            entry.0 += 1;
        }
    }
    println!(
        "{streams} streams: {agreed} agreed ({read_by_both} read by both), explained: {explained:#?}"
    );
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    assert!(
        read_by_both > streams / 5,
        "the generator makes too few sound streams: {read_by_both}"
    );
}
