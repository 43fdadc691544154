//! One page from somebody else's server, for whoever wants to look at it: redirects are followed,
//! nothing is remembered.

use std::time::Duration;

use async_io::Timer;
use dunlin::fetch::{Addresses, Agent, Connect as _, Endpoint, Request, Resolve as _, Url};
use embedded_io_async::{Read as _, Write as _};
use futures_lite::FutureExt as _;

use crate::archive::LONGEST_BODY;
use crate::archive::exchange::{Answer, header};
use crate::board::net::{HostConnect, HostResolve};

/// For the whole of it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Redirects that are followed.
const HOPS: usize = 5;
/// Bytes of an answer: a body of 1 MiB, however it is cut into chunks.
const LONGEST: usize = 8 << 20;

/// Gets a page; where it was found, and what was answered.
///
/// # Errors
/// What went wrong.
pub fn get(
    url: &str,
    agent: Agent<'_>,
    connect: HostConnect,
    resolve: HostResolve,
) -> Result<(String, Answer), String> {
    let late = async {
        Timer::after(PATIENCE).await;
        Err(format!("no answer within {} s", PATIENCE.as_secs()))
    };
    async_io::block_on(follow(url, agent, connect, resolve).or(late))
}

/// *Cancellation*: connections are dropped where they are.
async fn follow(
    url: &str,
    agent: Agent<'_>,
    mut connect: HostConnect,
    mut resolve: HostResolve,
) -> Result<(String, Answer), String> {
    let mut at = url.to_owned();
    for _ in 0..=HOPS {
        let url = Url::parse(&at).map_err(said)?;
        let answer = ask(url, agent, &mut connect, &mut resolve).await?;
        let location = header(&answer.head, "location");
        let moved = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
        let Some(location) = location.filter(|_| moved) else {
            return Ok((at, answer));
        };
        let mut room = vec![0; Url::MAX_LENGTH * 2];
        let next = url.join(location.as_bytes(), &mut room).map_err(said)?;
        at = next.to_string();
    }
    Err(format!("more than {HOPS} redirects"))
}

/// One request and its answer.
///
/// *Cancellation*: the connection is dropped where it is.
async fn ask(
    url: Url<'_>,
    agent: Agent<'_>,
    connect: &mut HostConnect,
    resolve: &mut HostResolve,
) -> Result<Answer, String> {
    let host = url.host_text();
    let addresses = match host.trim_matches(['[', ']']).parse() {
        Ok(address) => Addresses::from_iter([address]),
        Err(_) => resolve.resolve(host).await.map_err(said)?,
    };
    let address = *addresses.first().ok_or("its name has no address")?;
    let to = Endpoint {
        scheme: url.scheme(),
        host,
        address,
        port: url.port(),
    };
    let mut connection = connect.connect(to).await.map_err(said)?;
    let mut request = vec![0; Url::MAX_LENGTH * 4];
    let length = Request::get(url, agent).render(0, &mut request);
    connection
        .write_all(&request[..length])
        .await
        .map_err(said)?;
    connection.flush().await.map_err(said)?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = match connection.read(&mut buffer).await {
            Ok(count) => count,
            // What has come may be all there is.
            Err(_) if !bytes.is_empty() => 0,
            Err(why) => return Err(said(why)),
        };
        bytes.extend_from_slice(&buffer[..count]);
        if count == 0 || bytes.len() >= LONGEST {
            return Answer::read(&bytes, LONGEST_BODY)
                .map_err(|_| "its answer is no HTTP, or ends in the middle".to_owned());
        }
    }
}

fn said(why: impl std::fmt::Display) -> String {
    why.to_string()
}
