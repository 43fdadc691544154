//! A small crawler, for tests: resolve, check, connect, ask, follow.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;

use dunlin::fetch::{
    Agent, AnswerKind, Ask, Client, ClientError, FetchError, Fingerprint, Fingerprinter, Head,
    Hops, Limits, RedirectError, Request, ResponseError, Url, within,
};
use dunlin::time::Duration;
use dunlin_host::board::net::{HostConnect, HostResolve, after};
use dunlin_host::board::verify::Trust;
use futures_lite::future::block_on;

pub const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Far beyond what loopback needs: only servers that hang get there.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What a fetch brought, in one piece.
#[derive(Clone, Debug)]
pub struct Got {
    pub kind: AnswerKind,
    pub head: Head,
    pub bytes: u32,
    pub truncated: bool,
    pub reusable: bool,
    pub target: Option<String>,
    pub fingerprint: Option<Fingerprint>,
}

/// Why it brought nothing, comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    Connection(io::ErrorKind),
    Response(ResponseError),
    Deadline,
    /// The connection was used before, and is over.
    Stale,
    Redirect(RedirectError),
}

pub fn agent() -> Agent<'static> {
    Agent::new("dunlin-test/0", Some("mailto:nobody@example.org")).unwrap()
}

pub fn fingerprint(body: &[u8]) -> Option<Fingerprint> {
    let mut hasher = Fingerprinter::new(&[9; 16], &[]);
    hasher.update(body);
    Some(hasher.finish())
}

/// One request, under a deadline.
pub async fn ask(
    client: &mut Client<'_, HostConnect>,
    request: &Request<'_>,
    limits: Limits,
    patience: Duration,
) -> Result<Got, Failure> {
    let mut ask = Ask::new(*request);
    ask.limits = limits;
    send(client, ask, &mut loopback(), patience).await
}

/// Every name is this computer's.
pub fn loopback() -> HostResolve {
    HostResolve::new(["*=127.0.0.1"]).unwrap()
}

async fn send(
    client: &mut Client<'_, HostConnect>,
    mut ask: Ask<'_>,
    resolve: &mut HostResolve,
    patience: Duration,
) -> Result<Got, Failure> {
    let mut buffer = [0; 700];
    let mut hasher = Fingerprinter::new(&[9; 16], &[]);
    let sent = {
        let work = pin!(client.request(&mut ask, resolve, &mut buffer, &mut hasher));
        within(pin!(after(patience)), work).await
    };
    let fetched = sent.ok_or(Failure::Deadline)?.map_err(failure)?;
    let fingerprint = (fetched.kind == AnswerKind::Page).then(|| hasher.finish());
    let target = fetched
        .target
        .and_then(Result::ok)
        .map(|url| url.to_string());
    Ok(Got {
        kind: fetched.kind,
        head: fetched.head,
        bytes: fetched.bytes,
        truncated: fetched.truncated,
        reusable: fetched.reusable,
        target,
        fingerprint,
    })
}

fn failure(error: ClientError<io::Error, io::Error, io::Error>) -> Failure {
    match error {
        ClientError::Refused(error) => Failure::Redirect(error),
        ClientError::Connect(error)
        | ClientError::Resolve(error)
        | ClientError::Exchange(FetchError::Connection(error) | FetchError::Unanswered(error)) => {
            Failure::Connection(error.kind())
        }
        ClientError::Exchange(FetchError::Response(error)) => Failure::Response(error),
        ClientError::Stale | ClientError::Lost => Failure::Stale,
        _ => Failure::Connection(io::ErrorKind::Unsupported),
    }
}

/// One page, by a plain GET.
pub fn get(url: &str, limits: Limits, patience: Duration) -> Result<Got, Failure> {
    request(
        &Request::get(Url::parse(url).unwrap(), agent()),
        limits,
        patience,
    )
}

/// One request on a connection of its own, to loopback whatever the host's name.
pub fn request(request: &Request<'_>, limits: Limits, patience: Duration) -> Result<Got, Failure> {
    block_on(async {
        let mut connector = HostConnect::new(Trust::default());
        ask(&mut Client::new(&mut connector), request, limits, patience).await
    })
}

/// One page, through its redirects, as a probe without TLS would: every hop is resolved and
/// checked.
pub fn follow(start: &str, resolve: &mut HostResolve) -> Result<(Got, bool), Failure> {
    block_on(async {
        let mut hops = Hops::from(&Url::parse(start).unwrap());
        let mut at = start.to_owned();
        loop {
            let url = Url::parse(&at).unwrap();
            // The page list here is the first URL alone.
            let listed = url.host_text() == Url::parse(start).unwrap().host_text();
            let mut ask = Ask::new(Request::get(url, agent()));
            ask.hops = Some(&hops);
            ask.listed = listed;
            let mut connector = HostConnect::new(Trust::default());
            let got = send(&mut Client::new(&mut connector), ask, resolve, PATIENCE).await?;
            let Some(target) = got
                .target
                .clone()
                .filter(|_| got.kind == AnswerKind::Redirect)
            else {
                return Ok((got, hops.is_permanent()));
            };
            hops.follow(got.head.status, &Url::parse(&target).unwrap(), false)
                .map_err(Failure::Redirect)?;
            at = target;
        }
    })
}
