//! Servers that lie, stall, flood and hang up: every fetch ends, with the right outcome.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration as StdDuration;

use dunlin::fetch::{
    AnswerKind, Client, Limits, RedirectError, Request, ResponseError, RetryAfter, Url,
};
use dunlin::time::Duration;
use dunlin_host::board::net::{HostConnect, HostResolve};
use dunlin_host::board::verify::Trust;
use futures_lite::future::block_on;

use crate::client::{Failure, Got, LOOPBACK, PATIENCE, agent, ask, fingerprint, follow, get};

/// Serves every connection on a port of its own until the process ends: reads a request, then
/// misbehaves.
fn serve(
    behaviour: impl Fn(&mut TcpStream, &str) -> std::io::Result<()> + Send + Sync + Clone + 'static,
) -> u16 {
    let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let behaviour = behaviour.clone();
            thread::spawn(move || {
                let mut request = BufReader::new(stream.try_clone().unwrap());
                // The client hangs up on us, as it should: a failed read or write only ends this
                // connection.
                while let Some(path) = read_request(&mut request) {
                    if behaviour(&mut stream, &path).is_err() {
                        break;
                    }
                }
            });
        }
    });
    port
}

/// The path of the next request; `None` when the client is gone.
fn read_request(stream: &mut impl BufRead) -> Option<String> {
    let mut path = None;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            return path;
        }
        path = path.or_else(|| line.split(' ').nth(1).map(str::to_owned));
    }
}

/// Sends `text` and hangs up.
fn say(text: impl Into<Vec<u8>>) -> u16 {
    let text = text.into();
    serve(move |stream, _| {
        stream.write_all(&text)?;
        stream.shutdown(std::net::Shutdown::Both)
    })
}

/// Sends `head`, then `piece` for ever.
fn flood(head: &'static str, piece: &'static str) -> u16 {
    serve(move |stream, _| {
        stream.write_all(head.as_bytes())?;
        let many = piece.repeat(1 + 8192 / piece.len());
        loop {
            stream.write_all(many.as_bytes())?;
        }
    })
}

/// Sends one byte of `text` at a time, slowly, over and over.
fn drip(head: &'static str, text: &'static str) -> u16 {
    serve(move |stream, _| {
        stream.write_all(head.as_bytes())?;
        for byte in text.bytes().cycle() {
            stream.write_all(&[byte])?;
            thread::sleep(StdDuration::from_millis(15));
        }
        Ok(())
    })
}

fn fetch(port: u16) -> Result<Got, Failure> {
    get(
        &format!("http://127.0.0.1:{port}/"),
        Limits::DEFAULT,
        PATIENCE,
    )
}

fn error(port: u16) -> Failure {
    fetch(port).unwrap_err()
}

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn drip_feeding_meets_the_deadline() {
    for (what, port) in [
        (
            "silence",
            serve(|_, _| {
                loop {
                    thread::park()
                }
            }),
        ),
        ("head", drip("", "HTTP/1.1 200 OK\r\nX-Slow: ")),
        ("endless field", drip("HTTP/1.1 200 OK\r\nX: ", "x")),
        ("interim", drip("", "HTTP/1.1 102 Processing\r\n\r\n")),
        (
            "body",
            drip("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", "x"),
        ),
        (
            "chunks",
            drip(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                "1\r\nx\r\n",
            ),
        ),
        ("until close", drip("HTTP/1.1 200 OK\r\n\r\n", "x")),
        (
            "trailers",
            drip(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
                "A: b\r\n",
            ),
        ),
    ] {
        let outcome = get(&format!("http://127.0.0.1:{port}/"), Limits::DEFAULT, SHORT);
        assert_eq!(outcome.unwrap_err(), Failure::Deadline, "{what}");
    }
}

#[test]
fn truncation_is_not_a_page() {
    for text in [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
    ] {
        assert_eq!(
            error(say(text)),
            Failure::Response(ResponseError::Incomplete),
            "{text:?}"
        );
    }
    assert_eq!(error(say("")), Failure::Response(ResponseError::Closed));
}

#[test]
fn oversized_heads_are_cut_off() {
    let of = |head, piece| error(flood(head, piece));
    let ok = "HTTP/1.1 200 OK\r\n";
    assert_eq!(
        of(ok, "X-A: b\r\n"),
        Failure::Response(ResponseError::TooManyFields)
    );
    assert_eq!(
        of("HTTP/1.1 200 OK\r\nX: ", "x"),
        Failure::Response(ResponseError::HeadTooLong)
    );
    assert_eq!(
        of("HTTP/1.1 200 ", "x"),
        Failure::Response(ResponseError::HeadTooLong)
    );
    assert_eq!(
        of("", "\r\n"),
        Failure::Response(ResponseError::HeadTooLong)
    );
    assert_eq!(
        of("", "HTTP/1.1 100 Continue\r\n\r\n"),
        Failure::Response(ResponseError::TooManyInterim)
    );
    // What real servers send must pass: 32 KiB of cookies.
    let cookies = format!("Set-Cookie: {}\r\n", "c".repeat(4_000)).repeat(8);
    let page = fetch(say(format!("{ok}{cookies}Content-Length: 2\r\n\r\nhi"))).unwrap();
    assert_eq!(page.fingerprint, fingerprint(b"hi"));
}

#[test]
fn endless_bodies_are_taken_to_the_limit() {
    for (head, piece) in [
        ("HTTP/1.1 200 OK\r\n\r\n", "x"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
            "x",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "1\r\nx\r\n",
        ),
    ] {
        let limits = Limits::DEFAULT.with_body_bytes(10_000);
        let page = get(
            &format!("http://127.0.0.1:{}/", flood(head, piece)),
            limits,
            PATIENCE,
        )
        .unwrap();
        assert_eq!(
            (page.kind, page.bytes, page.truncated, page.reusable),
            (AnswerKind::Page, 10_000, true, false)
        );
        assert_eq!(page.fingerprint, fingerprint(&[b'x'; 10_000]));
    }
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(
        error(flood(chunked, "1;abcdefgh\r\nx\r\n")),
        Failure::Response(ResponseError::ChunkExtension)
    );
    let trailers = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
    assert_eq!(
        error(flood(trailers, "A: b\r\n")),
        Failure::Response(ResponseError::TooManyFields)
    );
}

#[test]
fn lying_lengths() {
    let page = fetch(say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdefgh")).unwrap();
    assert_eq!(
        (page.fingerprint, page.reusable),
        (fingerprint(b"abc"), false)
    );
    for length in ["-1", "3, 4", "0x3", "three", "99999999999999999999999"] {
        let port = say(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nabc"
        ));
        assert_eq!(
            error(port),
            Failure::Response(ResponseError::ContentLength),
            "{length}"
        );
    }
    let port = say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc");
    assert_eq!(error(port), Failure::Response(ResponseError::ChunkSize));
}

#[test]
fn other_protocols() {
    for text in [
        &b"SSH-2.0-OpenSSH_9.2\r\n\r\n"[..],
        b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n",
        b"220 mail ESMTP\r\n\r\n",
    ] {
        assert_eq!(
            error(say(text)),
            Failure::Response(ResponseError::StatusLine),
            "{}",
            text.escape_ascii()
        );
    }
}

#[test]
fn resets_in_the_middle() {
    for head in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\n\r\nabc",
    ] {
        let port = serve(move |stream, _| {
            stream.write_all(head.as_bytes())?;
            // Time for what was sent to arrive: a reset takes unread bytes with it.
            thread::sleep(StdDuration::from_millis(50));
            socket2::SockRef::from(&*stream).set_linger(Some(StdDuration::ZERO))?;
            Err(ErrorKind::Other.into())
        });
        // The reader's clone must not outlive the reset, so it may look like an end in the middle
        // as well.
        assert_eq!(
            error(port),
            Failure::Connection(ErrorKind::ConnectionReset),
            "{head:?}"
        );
    }
    let closed = TcpListener::bind((LOOPBACK, 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    assert_eq!(
        error(closed),
        Failure::Connection(ErrorKind::ConnectionRefused)
    );
}

#[test]
fn compressed_all_the_same_is_flagged() {
    let body = "\x1f\x08 not really gzip";
    let port = say(format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    let page = fetch(port).unwrap();
    assert!(page.head.encoded);
    assert_eq!(page.fingerprint, fingerprint(body.as_bytes()));
}

#[test]
fn busy_and_gone() {
    let busy = fetch(say(
        "HTTP/1.1 429 Slow Down\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n",
    ))
    .unwrap();
    assert_eq!(
        (busy.kind, busy.head.retry_after),
        (AnswerKind::Busy, Some(RetryAfter::Seconds(120)))
    );
    for (status, outcome) in [
        (404, AnswerKind::Gone),
        (410, AnswerKind::Gone),
        (403, AnswerKind::Refused),
        (500, AnswerKind::Broken),
        (503, AnswerKind::Busy),
        (304, AnswerKind::Nonsense),
        (301, AnswerKind::Nonsense),
        (600, AnswerKind::Nonsense),
    ] {
        let got = fetch(say(format!("HTTP/1.1 {status} X\r\n\r\nbody"))).unwrap();
        assert_eq!((got.kind, got.fingerprint), (outcome, None), "{status}");
    }
}

/// Redirects as written in the path: `/301/http://…` leads there.
fn redirector() -> u16 {
    serve(|stream, path| {
        let (status, target) = path
            .trim_start_matches('/')
            .split_once('/')
            .unwrap_or(("200", ""));
        write!(
            stream,
            "HTTP/1.1 {status} X\r\nLocation: {target}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )?;
        stream.shutdown(std::net::Shutdown::Both)
    })
}

#[test]
fn redirects_are_followed_as_far_as_is_sane() {
    let port = redirector();
    let mut resolve =
        HostResolve::new(["here.example=127.0.0.1", "inside.example=127.0.0.1"]).unwrap();
    let here = format!("http://here.example:{port}");
    let (page, permanent) =
        follow(&format!("{here}/301/{here}/308/{here}/200/"), &mut resolve).unwrap();
    assert_eq!((page.kind, permanent), (AnswerKind::Page, true));
    let (_, permanent) =
        follow(&format!("{here}/301/{here}/302/{here}/200/"), &mut resolve).unwrap();
    assert!(!permanent);
    let chain = |hops: usize| format!("{here}/{}200/", format!("302/{here}/").repeat(hops));
    assert!(follow(&chain(5), &mut resolve).is_ok());
    assert_eq!(
        follow(&chain(6), &mut resolve).unwrap_err(),
        Failure::Redirect(RedirectError::TooMany)
    );
    let secure = format!("{here}/301/https://here.example/");
    assert_eq!(
        follow(&secure, &mut resolve).unwrap_err(),
        Failure::Redirect(RedirectError::NeedsTls)
    );
}

#[test]
fn redirects_in_circles_are_noticed() {
    let port = serve(|stream, path| {
        let target = if path == "/a" { "/b" } else { "/%61" };
        write!(
            stream,
            "HTTP/1.1 302 X\r\nLocation: {target}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )?;
        stream.shutdown(std::net::Shutdown::Both)
    });
    let outcome = follow(
        &format!("http://127.0.0.1:{port}/a"),
        &mut HostResolve::default(),
    );
    assert_eq!(outcome.unwrap_err(), Failure::Redirect(RedirectError::Loop));
}

#[test]
fn redirects_into_our_own_network_are_refused() {
    let port = redirector();
    let mut resolve = HostResolve::new(["here.example=127.0.0.1"]).unwrap();
    for inside in [
        "127.0.0.1",
        "10.0.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "[::1]",
        "[fe80::1]",
        "[::ffff:10.0.0.1]",
    ] {
        let start = format!("http://here.example:{port}/302/http://{inside}:{port}/200/");
        let outcome = follow(&start, &mut resolve).unwrap_err();
        assert_eq!(
            outcome,
            Failure::Redirect(RedirectError::PrivateAddress),
            "{inside}"
        );
    }
    // A name that resolves there is no better: localhost is in no table of ours.
    let start = format!("http://here.example:{port}/302/http://localhost:{port}/200/");
    let outcome = follow(&start, &mut resolve).unwrap_err();
    assert_eq!(outcome, Failure::Redirect(RedirectError::PrivateAddress));
    // Named by the owner it may be reached: as the page itself, or through the resolve table.
    assert!(follow(&format!("http://127.0.0.1:{port}/200/"), &mut resolve).is_ok());
    let start = format!("http://here.example:{port}/302/http://here.example:{port}/200/");
    assert!(follow(&start, &mut resolve).is_ok());
}

#[test]
fn a_connection_is_used_again_and_its_end_noticed() {
    let port = serve(|stream, path| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")?;
        if path == "/last" {
            stream.shutdown(std::net::Shutdown::Both)
        } else {
            Ok(())
        }
    });
    block_on(async {
        let text = format!("http://127.0.0.1:{port}/");
        let last = format!("{text}last");
        let mut request = Request::get(Url::parse(&text).unwrap(), agent());
        request.keep_alive = true;
        let mut connector = HostConnect::new(Trust::default());
        let mut client = Client::new(&mut connector);
        for _ in 0..3 {
            let page = ask(&mut client, &request, Limits::DEFAULT, PATIENCE)
                .await
                .unwrap();
            assert!(page.reusable && page.fingerprint == fingerprint(b"hi"));
        }
        request.url = Url::parse(&last).unwrap();
        assert!(
            ask(&mut client, &request, Limits::DEFAULT, PATIENCE)
                .await
                .is_ok()
        );
        let gone = ask(&mut client, &request, Limits::DEFAULT, PATIENCE)
            .await
            .unwrap_err();
        assert_eq!(gone, Failure::Stale);
    });
}

#[test]
fn ipv6_where_this_computer_has_it() {
    let Ok(listener) = TcpListener::bind(("::1", 0)) else {
        // Past the harness, which shows nothing of a test that passes.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: this computer has no IPv6 loopback"
        );
        return;
    };
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read_request(&mut BufReader::new(stream.try_clone().unwrap()));
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nv6")
            .unwrap();
    });
    let (page, _) = follow(
        &format!("http://[::1]:{port}/"),
        &mut HostResolve::default(),
    )
    .unwrap();
    assert_eq!(page.fingerprint, fingerprint(b"v6"));
}
