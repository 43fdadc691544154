//! One page from somebody else's server, for whoever wants to look at it: redirects are followed,
//! nothing is remembered.

use std::time::Duration;

use async_io::Timer;
use dunlin::fetch::{
    Agent, AnswerKind, Ask, Body, Client, ClientError, Head, Hops, Limits, Request, Url,
};
use futures_lite::FutureExt as _;

use crate::archive::LONGEST_BODY;
use crate::archive::exchange::Answer;
use crate::board::net::{HostConnect, HostResolve};
use crate::board::tape::Tapes;

/// How long the whole of it may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The window that an answer passes through; a redirect's target has to fit.
const WINDOW: usize = 16 * 1024;

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
    let tapes = Tapes::new(1);
    let found = tapes.during(0, follow(url, agent, connect, resolve, &tapes));
    async_io::block_on(found.or(late))
}

/// *Cancellation*: connections are dropped where they are.
async fn follow(
    url: &str,
    agent: Agent<'_>,
    connect: HostConnect,
    mut resolve: HostResolve,
    tapes: &Tapes,
) -> Result<(String, Answer), String> {
    let mut hops = Hops::from(&Url::parse(url).map_err(said)?);
    let mut at = url.to_owned();
    let mut window = vec![0; WINDOW];
    loop {
        let here = Url::parse(&at).map_err(said)?;
        let mut connect = tapes.around(0, connect.clone());
        let mut client = Client::new(&mut connect);
        let mut ask = Ask::new(Request::get(here, agent));
        // The user wrote the first URL; where others lead, is checked.
        ask.hops = Some(&hops).filter(|hops| hops.count() > 0);
        ask.listed = hops.count() == 0;
        ask.limits = Limits::DEFAULT.with_body_bytes(LONGEST_BODY);
        let mut body = Dropped;
        let asked = client.request(&mut ask, &mut resolve, &mut window, &mut body);
        let fetched = asked.await.map_err(|why| match why {
            ClientError::Resolve(why) | ClientError::Connect(why) => said(why),
            why => said(why),
        })?;
        let is_redirect = fetched.kind == AnswerKind::Redirect;
        let Some(next) = fetched.target.filter(|_| is_redirect) else {
            let exchange = tapes.take().ok_or("nothing was answered")?;
            let answer = Answer::read(&exchange.response, LONGEST_BODY).map_err(said)?;
            return Ok((at, answer));
        };
        let next = next.map_err(said)?;
        hops.follow(fetched.head.status, &next, true)
            .map_err(said)?;
        at = next.to_string();
    }
}

/// The tape has the body already.
struct Dropped;

impl Body for Dropped {
    fn take(&mut self, _: &Head, _: &mut &[u8]) -> bool {
        true
    }
}

fn said(why: impl std::fmt::Display) -> String {
    why.to_string()
}
