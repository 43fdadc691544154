//! Delivers what was fetched to a collector, from a thread of its own: a collector that is slow,
//! full or gone holds no crawl up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::frames;
use super::server::PATH;
use crate::archive::exchange::Exchange;
use crate::archive::keeper::Counts;
use crate::board::net::{HostConnect, HostResolve};
use crate::output;
use crate::post::{Post, PostUrl};

/// Exchanges that wait for a collector that is away.
const WAITING: usize = 64;
/// The pause after a failure; each further one is twice as long, up to a limit.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// What waits at the end is tried for so long.
const LAST_MOMENTS: Duration = Duration::from_secs(5);

/// The way to a collector.
#[derive(Debug)]
pub struct Courier {
    sender: SyncSender<Exchange>,
    thread: JoinHandle<Counts>,
    ending: Arc<AtomicBool>,
    lost: u64,
}

impl Courier {
    /// Delivers to the collector at `url`, with a token if it asks for one.
    pub fn new(
        url: &PostUrl,
        token: Option<String>,
        connect: HostConnect,
        resolve: HostResolve,
    ) -> Self {
        let (sender, receiver) = sync_channel(WAITING);
        let ending = Arc::new(AtomicBool::new(false));
        let work = Work {
            post: Post::new(url.at(PATH), connect, resolve),
            token,
            ending: Arc::clone(&ending),
        };
        Self {
            sender,
            thread: std::thread::spawn(move || work.run(&receiver)),
            ending,
            lost: 0,
        }
    }

    /// Hands an exchange over; where nobody has taken so many before, it is lost, and counted.
    pub fn keep(&mut self, exchange: Exchange) {
        if let Err(TrySendError::Full(_)) = self.sender.try_send(exchange) {
            self.lost += 1;
        }
    }

    /// Gives what waits a last moment.
    pub fn finish(self) -> Counts {
        self.ending.store(true, Ordering::Relaxed);
        drop(self.sender);
        let mut counts = self.thread.join().unwrap_or_default();
        counts.lost += self.lost;
        counts
    }
}

struct Work {
    post: Post,
    token: Option<String>,
    ending: Arc<AtomicBool>,
}

impl Work {
    fn run(mut self, receiver: &Receiver<Exchange>) -> Counts {
        let mut counts = Counts::default();
        let mut deadline = None;
        for exchange in receiver {
            if self.ending.load(Ordering::Relaxed) {
                let end = *deadline.get_or_insert_with(|| Instant::now() + LAST_MOMENTS);
                if Instant::now() >= end {
                    counts.lost += 1;
                    continue;
                }
            }
            match self.deliver(&exchange) {
                true => counts.versions += 1,
                false => counts.lost += 1,
            }
        }
        counts
    }

    /// Tries until it is taken, or can never be, or there is no time left.
    fn deliver(&mut self, exchange: &Exchange) -> bool {
        let body = frames::write(exchange);
        let mut pause = PAUSE;
        let mut said = false;
        loop {
            let why = match self
                .post
                .send("application/octet-stream", self.token.as_deref(), &body)
            {
                Ok(200..300) => return true,
                Ok(status @ (400 | 401 | 404 | 411 | 413)) => {
                    output::say(format_args!(
                        "the collector answered {status}: {} is not collected",
                        exchange.url
                    ));
                    return false;
                }
                Ok(status) => format!("it answered {status}"),
                Err(why) => why,
            };
            if !std::mem::replace(&mut said, true) {
                output::say(format_args!(
                    "the collector takes nothing now: {why}; trying again"
                ));
            }
            let end = Instant::now() + pause;
            while Instant::now() < end {
                if self.ending.load(Ordering::Relaxed) {
                    return false;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
