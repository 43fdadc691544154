//! A small crawler, for tests: resolve, check, connect, ask, follow.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use dunlin::fetch::{
    Agent, Connect, Endpoint, FetchError, Fetched, Fingerprint, Fingerprinter, Head, Hops, Host,
    Limits, OpenError, Outcome, RedirectError, Request, ResponseError, Url, fetch, open,
};
use dunlin::time::Duration;
use dunlin_host::board::net::{HostConnect, HostConnection, HostResolve, after};
use futures_lite::future::block_on;

pub const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Far beyond what loopback needs: only servers that hang get there.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What a fetch brought, in one piece.
#[derive(Clone, Debug)]
pub struct Got {
    pub outcome: Outcome,
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

/// One request on an open connection.
pub async fn ask(
    connection: &mut HostConnection,
    request: &Request<'_>,
    limits: Limits,
    patience: Duration,
) -> Result<Got, Failure> {
    let mut buffer = [0; 700];
    let hasher = Fingerprinter::new(&[9; 16], &[]);
    match fetch(
        connection,
        request,
        limits,
        &mut buffer,
        hasher,
        after(patience),
    )
    .await
    {
        Ok((fetched, fingerprint)) => {
            let Fetched {
                outcome,
                head,
                bytes,
                truncated,
                reusable,
                target,
            } = fetched;
            let target = target.and_then(Result::ok).map(|url| url.to_string());
            Ok(Got {
                outcome,
                head,
                bytes,
                truncated,
                reusable,
                target,
                fingerprint,
            })
        }
        Err(FetchError::Connection(error) | FetchError::Unanswered(error)) => {
            Err(Failure::Connection(error.kind()))
        }
        Err(FetchError::Response(error)) => Err(Failure::Response(error)),
        Err(FetchError::Deadline) => Err(Failure::Deadline),
        Err(FetchError::NoBuffer) => unreachable!("700 bytes were lent"),
    }
}

/// Connects to where a URL leads.
pub async fn connect(
    connect: &mut HostConnect,
    url: &Url<'_>,
    address: IpAddr,
) -> Result<HostConnection, Failure> {
    let endpoint = Endpoint {
        scheme: url.scheme(),
        host: url.host_text(),
        address,
        port: url.port(),
    };
    connect
        .connect(endpoint)
        .await
        .map_err(|error| Failure::Connection(error.kind()))
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
        let mut connection = connect(&mut HostConnect::new(), &request.url, LOOPBACK).await?;
        ask(&mut connection, request, limits, patience).await
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
            let named =
                listed || matches!(url.host(), Host::Name(name) if resolve.named(name).is_some());
            let mut connector = HostConnect::new();
            let mut connection = open(&url, &hops, named, resolve, &mut connector)
                .await
                .map_err(|error| match error {
                    OpenError::Refused(error) => Failure::Redirect(error),
                    OpenError::Connect(error) | OpenError::Resolve(error) => {
                        Failure::Connection(error.kind())
                    }
                    OpenError::NoAddress | OpenError::NeedsTls => {
                        Failure::Connection(io::ErrorKind::Unsupported)
                    }
                })?;
            let got = ask(
                &mut connection,
                &Request::get(url, agent()),
                Limits::DEFAULT,
                PATIENCE,
            )
            .await?;
            let Some(target) = got
                .target
                .clone()
                .filter(|_| got.outcome == Outcome::Redirect)
            else {
                return Ok((got, hops.is_permanent()));
            };
            hops.follow(got.head.status, &Url::parse(&target).unwrap(), false)
                .map_err(Failure::Redirect)?;
            at = target;
        }
    })
}
