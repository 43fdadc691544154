#![no_std]
#![no_main]
//! The fetcher alone, so that `cargo xtask size` can weigh it: URLs, requests, responses,
//! fingerprints, dates, robots.txt and redirects, on a connection that is a piece of memory.

use core::convert::Infallible;
use core::future::{Future, pending};
use core::hint::black_box;
use core::net::IpAddr;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use dunlin::fetch::robots::{Access, HostRobots, Judge, LIMITS, RobotsReader, Rules};
use dunlin::fetch::{
    Addresses, Agent, Ask, Body, Client, Connect, Connection, Endpoint, Etag, Fetched,
    Fingerprinter, Hops, HttpDate, Ignore, Request, Resolve, Url, within,
};
use dunlin::time::Instant;
use embedded_io_async::{ErrorType, Read, Write};
use qemu_mps2::exit;

#[cortex_m_rt::entry]
fn main() -> ! {
    // Nobody can tell beforehand what a black box holds, so nothing of the fetcher can be left out.
    black_box(page(black_box("http://example.org/"), black_box(b"")));
    black_box(robots(
        black_box("http://example.org/robots.txt"),
        black_box(b""),
    ));
    exit::success()
}

/// A page, conditionally, up to the question whether its redirect may be followed.
fn page(url: &str, answer: &[u8]) -> Option<bool> {
    let agent = Agent::new(
        black_box("dunlin/0.1"),
        black_box(Some("https://example.org/")),
    )
    .ok()?;
    let url = Url::parse(url).ok()?;
    let etag = Etag::new(black_box(b"\"v1\""));
    let mut request = Request::get(url, agent);
    request.etag = etag.as_ref();
    request.last_modified = HttpDate::from_unix(black_box(0));
    request.keep_alive = black_box(true);
    request.via_gateway = black_box(true);
    let ignore = [Ignore {
        from: black_box(b"nonce=\""),
        to: black_box(b"\""),
    }];
    let mut hasher = Fingerprinter::new(black_box(&[0; 16]), &ignore);
    let mut buffer = [0; 1024];
    let mut hops = Hops::from(&url);
    // The way to a redirect's target leads through the check of addresses.
    let mut ask = Ask::new(request);
    ask.hops = Some(&hops);
    ask.listed = black_box(false);
    ask.gateway = black_box(Some(("10.0.2.2", 3128)));
    let fetched = fetch(answer, &mut ask, &mut buffer, &mut hasher)?;
    black_box((
        fetched.wait(None),
        fetched.lifetime(None),
        fetched.age(None),
        hasher.finish(),
    ));
    let target = fetched.target?.ok()?;
    hops.follow(fetched.head.status, &target, black_box(false))
        .ok()?;
    Some(target == url)
}

/// One request through the client. Not to be inlined: there is one in the firmware, too.
#[inline(never)]
fn fetch<'b>(
    answer: &[u8],
    ask: &mut Ask<'_>,
    buffer: &'b mut [u8],
    body: &mut dyn Body,
) -> Option<Fetched<'b>> {
    let mut server = Server(answer);
    let mut client = Client::new(&mut server);
    let mut names = Names;
    let work = pin!(client.request(ask, &mut names, buffer, body));
    let never = pin!(pending());
    let work = pin!(within(never, work));
    match work.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(fetched) => fetched?.ok(),
        Poll::Pending => None,
    }
}

/// A robots.txt, judged for one page and kept for others.
fn robots(url: &str, answer: &[u8]) -> Option<bool> {
    let request = Request::get(
        Url::parse(url).ok()?,
        Agent::new(black_box("dunlin/0.1"), None).ok()?,
    );
    let mut buffer = [0; 512];
    let mut kept = RobotsReader::new(request.agent.token(), Rules::new([0; 256]));
    let mut ask = Ask::new(request);
    ask.limits = LIMITS;
    let fetched = fetch(answer, &mut ask, &mut buffer, &mut kept)?;
    let mut host = HostRobots::UNKNOWN;
    host.record(
        Access::from_status(Some(fetched.head.status)),
        fetched.lifetime(None),
        Instant::ZERO,
    );
    let mut judge = RobotsReader::new(request.agent.token(), Judge::new(request.url));
    judge.update(answer);
    let allowed = judge.finish().0.ruling().allowed && kept.finish().0.decide(&request.url).allowed;
    Some(allowed && host.access(Instant::ZERO) == Access::Rules)
}

/// A connection on which everything has been said.
struct Memory<'a>(&'a [u8]);

impl ErrorType for Memory<'_> {
    type Error = Infallible;
}

impl Read for Memory<'_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let count = self.0.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(self.0) {
            *to = *from;
        }
        self.0 = self.0.get(count..).unwrap_or_default();
        Ok(count)
    }
}

impl Write for Memory<'_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        Ok(black_box(bytes).len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Connection for Memory<'_> {}

/// Connects to a connection on which this has been said.
struct Server<'a>(&'a [u8]);

impl<'a> Connect for Server<'a> {
    type Error = Infallible;
    type Connection<'c>
        = Memory<'a>
    where
        Self: 'c;

    async fn connect(&mut self, _: Endpoint<'_>) -> Result<Memory<'a>, Infallible> {
        Ok(Memory(self.0))
    }
}

/// Every name is at an address that nobody can tell beforehand.
struct Names;

impl Resolve for Names {
    type Error = Infallible;

    async fn resolve(&mut self, _: &str) -> Result<Addresses, Infallible> {
        let mut addresses = Addresses::new();
        let _ = addresses.push(black_box(IpAddr::from([127, 0, 0, 1])));
        Ok(addresses)
    }
}
