//! A thread that keeps what the crawler fetched: compressing and writing take their time, and are
//! none of the crawler's business.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::exchange::Exchange;
use super::{Archive, Kept};
use crate::output;

/// Answers that wait to be written. More than that hold the crawler up: a disk that is slower than
/// the network sets the pace.
const WAITING: usize = 16;
/// The index is brought up to date after so long without work.
const QUIET: Duration = Duration::from_secs(1);

/// The way to the thread.
#[derive(Debug)]
pub struct Keeper {
    sender: SyncSender<Exchange>,
    thread: JoinHandle<Counts>,
}

/// What became of the answers that were handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Versions that were written.
    pub versions: u64,
    /// Answers that were lost, as on a full disk.
    pub lost: u64,
}

impl Keeper {
    /// Starts the thread, which owns the archive until it ends.
    pub fn new(archive: Archive) -> Self {
        let (sender, receiver) = sync_channel(WAITING);
        Self {
            sender,
            thread: std::thread::spawn(move || work(archive, &receiver)),
        }
    }

    /// Hands an answer over.
    pub fn keep(&self, exchange: Exchange) {
        // The thread only ends when nobody can send any more.
        let _ = self.sender.send(exchange);
    }

    /// Waits until everything is written.
    pub fn finish(self) -> Counts {
        drop(self.sender);
        self.thread.join().unwrap_or_default()
    }
}

fn work(mut archive: Archive, receiver: &Receiver<Exchange>) -> Counts {
    let mut counts = Counts::default();
    let mut failing = false;
    let mut tidied = Instant::now();
    loop {
        // What comes without a pause is handed to the disk all the same.
        if tidied.elapsed() >= QUIET {
            let _ = archive.tidy();
            tidied = Instant::now();
        }
        match receiver.recv_timeout(QUIET) {
            Ok(exchange) => match archive.keep(&exchange) {
                Ok(Kept::First | Kept::Version) => {
                    counts.versions += 1;
                    failing = false;
                }
                Ok(_) => {}
                Err(why) => {
                    counts.lost += 1;
                    if !std::mem::replace(&mut failing, true) {
                        output::say(format_args!(
                            "cannot write to the archive: {why}; {} and what follows is lost until that works again",
                            exchange.url
                        ));
                    }
                }
            },
            Err(RecvTimeoutError::Timeout) => {
                // What fails now is tried again, and said when something is lost by it.
                let _ = archive.tidy();
            }
            Err(RecvTimeoutError::Disconnected) => {
                if let Err(why) = archive.tidy() {
                    output::say(format_args!("cannot write the archive's index: {why}"));
                }
                return counts;
            }
        }
    }
}
