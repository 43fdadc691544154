//! The same URL, date, response, fingerprint and robots answers on a computer and on a device,
//! however bytes are split; what a fetch holds in memory; and what reading a page costs.

use core::future::Future;
use core::hint::black_box;
use core::mem::size_of;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use dunlin::fetch::robots::{Judge, RobotsReader, Rules};
use dunlin::fetch::{
    Addresses, Agent, AnswerKind, Ask, Body as _, Client, ClientError, Connect, Connection,
    Endpoint, Etag, FetchError, Fingerprint, Fingerprinter, HttpDate, Ignore, Limits, Method,
    Request, Resolve, Response, ResponseError, Step, Url,
};

use crate::bench::{Meter, Random};
use crate::{Case, cases};

pub const CASES: &[Case] = cases![fetch:
    urls_join_and_compare, dates_round_trip, responses_end_where_they_should, damaged_responses_are_refused,
    splits_do_not_matter, fingerprints_are_keyed_and_skip_stretches, robots_decide, robots_without_room_err_to_disallow,
    a_fetch_runs_on_any_connection, a_fetch_fits_in_2560_bytes,
];

fn urls_join_and_compare() {
    let base = Url::parse("http://a/b/c/d;p?q").unwrap();
    let mut buffer = [0; 64];
    for (reference, expected) in [
        ("g", "/b/c/g"),
        ("../../../g", "/g"),
        ("?y", "/b/c/d;p?y"),
        ("", "/b/c/d;p?q"),
    ] {
        let joined = base.join(reference.as_bytes(), &mut buffer).unwrap();
        assert_eq!(joined.path_and_query(), expected, "{reference}");
    }
    assert_eq!(
        Url::parse("HTTP://A:80/%7e%2f").unwrap(),
        Url::parse("http://a/~%2F").unwrap()
    );
    assert_ne!(
        Url::parse("http://a/%2f").unwrap(),
        Url::parse("http://a//").unwrap()
    );
    assert!(Url::parse("http://[2001:db8::1]:8080/").is_ok());
}

fn dates_round_trip() {
    let mut random = Random(8);
    for _ in 0..200 {
        let date = HttpDate::from_unix(random.next_u64() % 253_402_300_800).unwrap();
        assert_eq!(HttpDate::parse(&date.format()), Some(date));
    }
}

/// What came of a response: status, bytes of body, their fingerprint.
type Read = Result<(u16, u32, Fingerprint), ResponseError>;

/// Feeds a response in pieces of `size` bytes and, at the end, closes.
fn read(text: &[u8], size: usize, limits: Limits) -> Read {
    let mut response = Response::new(Method::Get, limits);
    let mut hasher = Fingerprinter::new(&[1; 16], &[]);
    for mut piece in text.chunks(size) {
        loop {
            match response.step(&mut piece)? {
                Step::More => break,
                Step::Head => {}
                Step::Body(bytes) => hasher.update(bytes),
                Step::Done => {
                    return Ok((response.head().status, response.received(), hasher.finish()));
                }
            }
        }
    }
    response.end()?;
    Ok((response.head().status, response.received(), hasher.finish()))
}

const CHUNKED: &[u8] =
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
    5;a=b\r\nhello\r\n7  \r\n, world\r\n0\r\nX: y\r\n\r\n";

fn responses_end_where_they_should() {
    let of = |text: &[u8]| read(text, 1, Limits::DEFAULT).map(|(status, bytes, _)| (status, bytes));
    assert_eq!(of(CHUNKED), Ok((200, 12)));
    assert_eq!(
        of(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP"),
        Ok((200, 5))
    );
    assert_eq!(
        of(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
        Ok((304, 0))
    );
    assert_eq!(of(b"HTTP/1.0 200\n\nuntil the end"), Ok((200, 13)));
}

fn damaged_responses_are_refused() {
    let of = |text: &[u8]| read(text, 3, Limits::DEFAULT).map(|_| ());
    assert_eq!(of(b""), Err(ResponseError::Closed));
    assert_eq!(
        of(b"SSH-2.0-OpenSSH\r\n\r\n"),
        Err(ResponseError::StatusLine)
    );
    assert_eq!(
        of(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        Err(ResponseError::ContentLength)
    );
    assert_eq!(
        of(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"),
        Err(ResponseError::Incomplete)
    );
    assert_eq!(
        of(&CHUNKED[..CHUNKED.len() - 1]),
        Err(ResponseError::Incomplete)
    );
}

fn splits_do_not_matter() {
    let whole = read(CHUNKED, CHUNKED.len(), Limits::DEFAULT);
    assert!((1..CHUNKED.len()).all(|size| read(CHUNKED, size, Limits::DEFAULT) == whole));
    let short = Limits::DEFAULT.with_body_bytes(7);
    let cut = read(CHUNKED, CHUNKED.len(), short);
    assert_eq!(cut.map(|(_, bytes, _)| bytes), Ok(7));
    assert!((1..CHUNKED.len()).all(|size| read(CHUNKED, size, short) == cut));
}

fn fingerprints_are_keyed_and_skip_stretches() {
    let ignore = [Ignore {
        from: b"<time>",
        to: b"</time>",
    }];
    let of = |key, ignore, text: &[u8]| {
        let mut hasher = Fingerprinter::new(&[key; 16], ignore);
        hasher.update(text);
        hasher.finish()
    };
    assert_eq!(
        of(1, &ignore, b"a<time>1</time>b"),
        of(1, &ignore, b"a<time>22<</time>b")
    );
    assert_ne!(
        of(1, &ignore, b"a<time>1</time>b"),
        of(1, &ignore, b"a<time>1</time>c")
    );
    assert_ne!(of(1, &[], b"page"), of(2, &[], b"page"));
    // The same bits on every machine: state kept by one must mean something to the next.
    assert_eq!(of(0, &[], b"pagepagepagepagepage").0, GOLDEN);
}

/// SipHash-1-3-128 under a zero key, worked out with another implementation.
const GOLDEN: [u8; 16] = [
    181, 99, 242, 80, 208, 137, 37, 123, 208, 196, 8, 75, 186, 151, 173, 49,
];

const ROBOTS: &[u8] =
    b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /\r\n\r\nUSER-AGENT: Dunlin/2\rDisallow: /private\n\
    Allow: /private/press\nDisallow: /*.pdf$\nCrawl-delay: 1.5";

fn robots_decide() {
    for size in [1, 7, ROBOTS.len()] {
        let mut reader = RobotsReader::new("dunlin", Rules::new([0; 64]));
        ROBOTS.chunks(size).for_each(|piece| reader.update(piece));
        let (rules, delay) = reader.finish();
        assert_eq!(delay.map(|delay| delay.as_millis()), Some(1500));
        for (url, allowed) in [
            ("http://a/", true),
            ("http://a/private/x", false),
            ("http://a/private/press/x", true),
            ("http://a/x.pdf", false),
            ("http://a/x.pdf?page=2", true),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(rules.decide(&url).allowed, allowed, "{url}");
            let mut reader = RobotsReader::new("dunlin", Judge::new(url));
            reader.update(ROBOTS);
            assert_eq!(reader.finish().0.ruling().allowed, allowed, "{url}");
        }
    }
}

fn robots_without_room_err_to_disallow() {
    let mut reader = RobotsReader::new("dunlin", Rules::new([0; 16]));
    reader.update(
        b"User-agent: *\nDisallow: /cgi-bin\nDisallow: /shop/cart\nDisallow: /shop/checkout\n",
    );
    let (rules, _) = reader.finish();
    let allowed = |url| rules.decide(&Url::parse(url).unwrap()).allowed;
    assert!(!rules.is_complete());
    assert!(
        !allowed("http://a/cgi-bin/x")
            && !allowed("http://a/shop/cart")
            && !allowed("http://a/shop/c")
    );
    assert!(allowed("http://a/shop/list") && allowed("http://a/about"));
}

/// A server that has said all it will say.
struct Canned<'a>(&'a [u8]);

impl embedded_io_async::ErrorType for Canned<'_> {
    type Error = core::convert::Infallible;
}

impl embedded_io_async::Read for Canned<'_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        let (now, later) = self.0.split_at(self.0.len().min(buffer.len()).min(100));
        buffer[..now.len()].copy_from_slice(now);
        self.0 = later;
        Ok(now.len())
    }
}

impl embedded_io_async::Write for Canned<'_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

fn request() -> Request<'static> {
    let agent = Agent::new("dunlin/0.1", Some("https://example.org/probe")).unwrap();
    Request::get(
        Url::parse("http://example.org/old/page?x=1").unwrap(),
        agent,
    )
}

/// Polls once: a canned server never keeps anybody waiting.
fn now<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("a canned connection kept us waiting"),
    }
}

impl Connection for Canned<'_> {}

/// Connects to a server that will say this.
struct Answers<'a>(&'a [u8]);

impl<'a> Connect for Answers<'a> {
    type Error = core::convert::Infallible;
    type Connection<'c>
        = Canned<'a>
    where
        Self: 'c;

    async fn connect(&mut self, _: Endpoint<'_>) -> Result<Canned<'a>, Self::Error> {
        Ok(Canned(self.0))
    }
}

/// Every name is at one address.
struct OneAddress;

impl Resolve for OneAddress {
    type Error = core::convert::Infallible;

    async fn resolve(&mut self, _: &str) -> Result<Addresses, Self::Error> {
        Ok([core::net::IpAddr::from([192, 0, 2, 1])]
            .into_iter()
            .collect())
    }
}

fn a_fetch_runs_on_any_connection() {
    let mut server = Answers(
        b"HTTP/1.1 301 Moved\r\nLocation: ../new?y\r\nRetry-After: 7\r\nETag: \"v1\"\r\nContent-Length: 2\r\n\r\nhi",
    );
    let mut buffer = [0; 512];
    let mut hasher = Fingerprinter::new(&[0; 16], &[]);
    let mut ask = Ask::new(request());
    let mut names = OneAddress;
    let mut client = Client::new(&mut server);
    let work = client.request(&mut ask, &mut names, &mut buffer, &mut hasher);
    let fetched = now(work).unwrap();
    assert_eq!(
        (fetched.kind, fetched.head.status, fetched.bytes),
        (AnswerKind::Redirect, 301, 2)
    );
    assert_eq!(fetched.head.etag, Etag::new(b"\"v1\""));
    assert_eq!(
        fetched.target.unwrap().unwrap(),
        Url::parse("http://example.org/new?y").unwrap()
    );
    let mut silent = Answers(b"");
    let mut client = Client::new(&mut silent);
    let work = client.request(&mut ask, &mut names, &mut buffer, &mut hasher);
    assert_eq!(
        now(work).unwrap_err(),
        ClientError::Exchange(FetchError::Response(ResponseError::Closed))
    );
}

/// State and buffers of one fetch, besides the network stack's socket.
fn a_fetch_fits_in_2560_bytes() {
    let mut server = Answers(b"");
    let mut buffer = [0; 512];
    let mut ask = Ask::new(request());
    let mut hasher = Fingerprinter::new(&[0; 16], &[]);
    let mut names = OneAddress;
    let mut client = Client::new(&mut server);
    let lent = size_of::<[u8; 512]>() + size_of::<Ask<'_>>() + size_of::<Etag>();
    let work = client.request(&mut ask, &mut names, &mut buffer, &mut hasher);
    let both = lent + size_of_val(&work);
    let page = both + size_of::<Fingerprinter<'_>>();
    let robots = both + size_of::<RobotsReader<'_, Judge<'_>>>();
    // Of a device. On a computer, pointers are twice as long, and features come together.
    let most = if size_of::<usize>() == 4 { 2560 } else { 2624 };
    assert!(
        page <= most && robots <= most,
        "a page takes {page} bytes, a robots.txt {robots}"
    );
}

/// A 64 KiB page in chunks of 4 KiB, parsed and fingerprinted through a window of 1 KiB: cost per
/// byte.
pub fn bench(meter: &mut dyn Meter) {
    const SIZE: u32 = 64 * 1024;
    let mut random = Random(3);
    let mut chunk = [0_u8; 6 + 4096 + 2];
    chunk[..6].copy_from_slice(b"1000\r\n");
    chunk[6..]
        .iter_mut()
        .for_each(|byte| *byte = b' ' + (random.next_u32() % 90) as u8);
    chunk[6 + 4096..].copy_from_slice(b"\r\n");
    let head: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
        Content-Type: text/html; charset=utf-8\r\nETag: W/\"67ab43\"\r\nTransfer-Encoding: chunked\r\n\r\n";
    let page = |ignore: &[Ignore<'_>]| {
        let mut response = Response::new(Method::Get, Limits::DEFAULT);
        let mut hasher = Fingerprinter::new(&[1; 16], ignore);
        let mut feed = |text: &[u8]| {
            for mut window in text.chunks(1024) {
                while let Ok(Step::Body(_) | Step::Head) =
                    response.step(&mut window).inspect(|step| {
                        if let Step::Body(bytes) = step {
                            hasher.update(bytes);
                        }
                    })
                {}
            }
        };
        feed(head);
        (0..SIZE / 4096).for_each(|_| feed(&chunk));
        feed(b"0\r\n\r\n");
        assert_eq!((response.received(), response.reusable()), (SIZE, true));
        black_box(hasher.finish());
    };
    meter.measure("fetch: chunked page, per byte", SIZE, SIZE, &mut || {
        page(&[])
    });
    meter.measure("fetch: the hash alone, per byte", SIZE, SIZE, &mut || {
        let mut hasher = Fingerprinter::new(&[1; 16], &[]);
        for window in (0..SIZE / 4096).flat_map(|_| chunk[6..6 + 4096].chunks(1024)) {
            hasher.update(window);
        }
        black_box(hasher.finish());
    });
    let ignore = [Ignore {
        from: b"nonce=\"",
        to: b"\"",
    }];
    meter.measure(
        "fetch: the same with one stretch to skip",
        SIZE,
        SIZE,
        &mut || page(&ignore),
    );
    let robots = b"Disallow: /some/path/or/other/\n";
    let url = Url::parse("http://example.org/some/page").unwrap();
    meter.measure(
        "fetch: robots.txt, per byte",
        32 * robots.len() as u32,
        32 * robots.len() as u32,
        &mut || {
            let mut reader = RobotsReader::new("dunlin", Judge::new(url));
            reader.update(b"User-agent: *\n");
            (0..32).for_each(|_| reader.update(robots));
            black_box(reader.finish().0.ruling());
        },
    );
    decide(meter);
    turns(meter);
}

/// What a robots.txt may take before others get a turn, for as many pages as one file is held
/// against: rules made of stars and escapes, which are tried again and again, and rules as long as
/// they are read, which match.
fn turns(meter: &mut dyn Meter) {
    const PAGES: usize = 32;
    const STARS: &str = "robots.txt, a turn at rules full of stars";
    const LONG: &str = "robots.txt, a turn at long rules";
    const LONG_FIRST: &str = "robots.txt, the first turn at long rules";
    let mut response = Response::new(Method::Get, Limits::DEFAULT);
    let begun = response.step(&mut &b"HTTP/1.1 200 OK\r\n\r\n"[..]);
    assert!(matches!(begun, Ok(Step::Head)));
    let mut text = heapless::String::<600>::new();
    let mut line = heapless::String::<600>::new();
    for stars in [true, false] {
        text.clear();
        line.clear();
        let _ = text.push_str("http://example.org/");
        let _ = line.push_str(if stars { "Disallow: /*" } else { "Disallow: /" });
        for _ in 0..160 {
            // Spelled in two ways, or plain: that is compared in another way.
            let (there, here) = if stars {
                ("%6A", "%6a")
            } else {
                ("jjj", "jjj")
            };
            let _ = text.push_str(there);
            let _ = line.push_str(here);
        }
        let _ = line.push_str(if stars { "%6b" } else { "" });
        let url = Url::parse(&text).unwrap();
        let mut judges = core::array::from_fn::<_, PAGES, _>(|_| Judge::new(url));
        let mut reader = RobotsReader::new("dunlin", &mut judges[..]);
        reader.update(b"User-agent: *\n");
        reader.update(line.as_bytes());
        let mut rest: &[u8] = b"\n";
        let mut turn = || {
            black_box(reader.take(response.head(), &mut rest));
        };
        match stars {
            true => turn(),
            false => meter.measure(LONG_FIRST, PAGES as u32, 1, &mut turn),
        }
        let name = if stars { STARS } else { LONG };
        meter.measure(name, PAGES as u32, 1, &mut turn);
        assert!(!rest.is_empty(), "it takes many turns");
    }
}

/// A known file's rules, and one URL: none of 32 rules matches, so all are looked at.
fn decide(meter: &mut dyn Meter) {
    const RULES: u32 = 32;
    let mut reader = RobotsReader::new("dunlin", Rules::new([0_u8; 2048]));
    reader.update(b"User-agent: *\n");
    for rule in 0..RULES as u8 {
        reader.update(b"Disallow: /some/path/or/other/");
        // Rules that are alike are kept once.
        reader.update(&[b'0' + rule / 10, b'0' + rule % 10, b'\n']);
    }
    let (rules, _) = reader.finish();
    let url = Url::parse("http://example.org/some/page").unwrap();
    assert!(rules.decide(&url).allowed);
    assert_eq!(rules.iter().count(), RULES as usize);
    meter.measure("robots decision, per rule", RULES, RULES, &mut || {
        black_box(rules.decide(black_box(&url)).allowed);
    });
    let patterns = [b"/some/path/or/other/"; RULES as usize];
    meter.measure("comparing bytes, per rule", RULES, RULES, &mut || {
        black_box(
            black_box(&patterns)
                .iter()
                .any(|pattern| url.path_and_query().as_bytes().starts_with(*pattern)),
        );
    });
}
