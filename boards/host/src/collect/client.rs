//! Delivers what was fetched to a collector, from a thread of its own: a collector that is slow,
//! full or gone holds no crawl up.
//!
//! So many versions wait for a collector that is away. What comes beyond that is *owed*: the probe
//! asks for the page whole at its next visit, and it is offered again.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
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
    sender: SyncSender<Parcel>,
    receipts: Receiver<(Label, Receipt)>,
    thread: JoinHandle<()>,
    /// When what is not delivered by then is given up; unknown until the end is near.
    end: Arc<OnceLock<Instant>>,
    account: Account,
}

/// One exchange on its way.
#[derive(Debug)]
struct Parcel {
    label: Label,
    exchange: Exchange,
}

/// What an exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A version of a page.
    Version(u16, Version),
    /// It says where a page has moved.
    Move,
}

/// A version of a page, among all that were offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    number: u64,
    /// It came as a change: nobody else has delivered it before.
    is_new: bool,
}

/// What became of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receipt {
    /// The collector has it.
    Taken,
    /// It does not take it, whenever it is asked.
    Refused,
    /// It did not take it this time.
    NotNow,
}

/// What the collector has got of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Its last version, or it will never take that.
    Settled,
    /// Its last version waits to be delivered.
    Waiting(Version),
    /// Its last version found no room.
    Owed(Version),
}

/// What the collector has got, and what it has not. Memory: an entry for each page.
#[derive(Debug, Default)]
struct Account {
    pages: HashMap<u16, Standing>,
    offered: u64,
    counts: Counts,
}

impl Account {
    /// A page was answered, with another version or not: what has to be delivered of it, if
    /// anything. A version of which nothing is known here may be one that an earlier run owes.
    fn offer(&mut self, page: u16, changed: bool) -> Option<Version> {
        let standing = self.pages.get(&page).copied();
        match (changed, standing) {
            (false, Some(Standing::Settled | Standing::Waiting(_))) => return None,
            (false, Some(Standing::Owed(version))) => return Some(version),
            (true, Some(Standing::Owed(version))) => self.lose(version),
            (true, _) | (false, None) => {}
        }
        self.offered += 1;
        let version = Version {
            number: self.offered,
            is_new: changed,
        };
        self.pages.insert(page, Standing::Owed(version));
        Some(version)
    }

    /// A version was handed over, and waits to be delivered.
    fn posted(&mut self, label: Label) {
        if let Label::Version(page, version) = label {
            self.pages.insert(page, Standing::Waiting(version));
        }
    }

    /// There was no room for it.
    fn left(&mut self, label: Label) {
        // A version stays owed; where a page has moved is told again when it is asked again.
        self.counts.lost += u64::from(label == Label::Move);
    }

    /// Somebody else is at the page's place from now on.
    fn forget(&mut self, page: u16) {
        if let Some(Standing::Owed(version)) = self.pages.remove(&page) {
            self.lose(version);
        }
    }

    fn lose(&mut self, version: Version) {
        self.counts.lost += u64::from(version.is_new);
    }

    /// Something became of an exchange; the page whose last version it settles, if it does.
    fn hear(&mut self, label: Label, receipt: Receipt) -> Option<u16> {
        let (page, version) = match label {
            Label::Version(page, version) => (page, version),
            Label::Move => {
                match receipt {
                    Receipt::Taken => self.counts.versions += 1,
                    Receipt::Refused | Receipt::NotNow => self.counts.lost += 1,
                }
                return None;
            }
        };
        // Another version may have come meanwhile, or another page.
        let is_last = self.pages.get(&page) == Some(&Standing::Waiting(version));
        match receipt {
            Receipt::Taken => self.counts.versions += u64::from(version.is_new),
            Receipt::NotNow if is_last => {
                self.pages.insert(page, Standing::Owed(version));
                return None;
            }
            Receipt::Refused | Receipt::NotNow => self.lose(version),
        }
        if is_last {
            self.pages.insert(page, Standing::Settled);
        }
        is_last.then_some(page)
    }

    /// What came of it, once nothing is delivered any more.
    fn close(self) -> Counts {
        let mut counts = self.counts;
        for standing in self.pages.into_values() {
            if let Standing::Waiting(version) | Standing::Owed(version) = standing {
                counts.lost += u64::from(version.is_new);
            }
        }
        counts
    }
}

impl Courier {
    /// Delivers to the collector at `url`, with a token if it asks for one.
    pub fn new(
        url: &PostUrl,
        token: Option<String>,
        connect: HostConnect,
        resolve: HostResolve,
    ) -> Self {
        let (sender, parcels) = sync_channel(WAITING);
        let (sign, receipts) = channel();
        let end = Arc::new(OnceLock::new());
        let work = Work {
            post: Post::new(url.at(PATH), connect, resolve),
            token,
            end: Arc::clone(&end),
        };
        Self {
            sender,
            receipts,
            thread: std::thread::spawn(move || work.run(&parcels, &sign)),
            end,
            account: Account::default(),
        }
    }

    /// A page was answered, with another version or not: what the collector has to get of it, to be
    /// handed to [`Self::deliver`]; `None` if nothing.
    pub fn wants(&mut self, page: u16, changed: bool) -> Option<Label> {
        let version = self.account.offer(page, changed)?;
        Some(Label::Version(page, version))
    }

    /// Hands an exchange over. Where nobody has taken so many before, a version is owed.
    pub fn deliver(&mut self, label: Label, exchange: Exchange) {
        // The thread only ends when nobody can send any more.
        match self.sender.try_send(Parcel { label, exchange }) {
            Ok(()) => self.account.posted(label),
            Err(_) => self.account.left(label),
        }
    }

    /// Another page is at this place from now on.
    pub fn forget(&mut self, page: u16) {
        self.account.forget(page);
    }

    /// Pages whose last version is with the collector since this was asked before, or will never
    /// be taken.
    pub fn settled(&mut self) -> Vec<u16> {
        let receipts = self.receipts.try_iter();
        let account = &mut self.account;
        receipts
            .filter_map(|(label, receipt)| account.hear(label, receipt))
            .collect()
    }

    /// Gives what waits a last moment: what came of all, and the pages that are settled by it.
    pub fn finish(self) -> (Counts, Vec<u16>) {
        let Self {
            sender,
            receipts,
            thread,
            end,
            mut account,
        } = self;
        let _ = end.set(Instant::now() + LAST_MOMENTS);
        // The thread ends when nobody can send any more, and receipts end with it.
        drop(sender);
        let settled = receipts
            .iter()
            .filter_map(|(label, receipt)| account.hear(label, receipt))
            .collect();
        let _ = thread.join();
        (account.close(), settled)
    }
}

struct Work {
    post: Post,
    token: Option<String>,
    end: Arc<OnceLock<Instant>>,
}

impl Work {
    fn run(mut self, parcels: &Receiver<Parcel>, sign: &Sender<(Label, Receipt)>) {
        for Parcel { label, exchange } in parcels {
            let receipt = match is_over(&self.end) {
                true => Receipt::NotNow,
                false => self.deliver(&exchange),
            };
            // Whoever does not listen any more needs no receipt.
            let _ = sign.send((label, receipt));
        }
    }

    /// Sends frames, for as long as there is time; the status that is answered.
    fn send(&mut self, frames: &[u8]) -> Result<u16, String> {
        let (token, end) = (self.token.as_deref(), &self.end);
        self.post
            .send_while("application/octet-stream", token, frames, || !is_over(end))
    }

    /// Tries until it is taken, or is not as things are, or there is no time left.
    fn deliver(&mut self, exchange: &Exchange) -> Receipt {
        let body = frames::write(exchange);
        let mut pause = PAUSE;
        let mut said = false;
        loop {
            let why = match self.send(&body) {
                Ok(200..300) => return Receipt::Taken,
                Ok(status @ (400 | 401 | 404 | 411 | 413)) => {
                    output::say(format_args!(
                        "the collector answered {status}: {} is not collected",
                        exchange.url
                    ));
                    return match status {
                        // Its owner can mend a token or an address.
                        401 | 404 => Receipt::NotNow,
                        _ => Receipt::Refused,
                    };
                }
                Ok(status) => format!("it answered {status}"),
                Err(why) => why,
            };
            let next = Instant::now() + pause;
            while self.end.get().is_none() && Instant::now() < next {
                if !std::mem::replace(&mut said, true) {
                    output::say(format_args!(
                        "the collector takes nothing now: {why}; trying again"
                    ));
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            if self.end.get().is_some() {
                return Receipt::NotNow;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Has the last moment passed?
fn is_over(end: &OnceLock<Instant>) -> bool {
    end.get().is_some_and(|end| Instant::now() >= *end)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::board::verify::Trust;

    fn counts(versions: u64, lost: u64) -> Counts {
        Counts { versions, lost }
    }

    /// Offers a version, and hands it to the thread if there is room.
    fn give(account: &mut Account, page: u16, changed: bool, room: bool) -> Option<Label> {
        let label = Label::Version(page, account.offer(page, changed)?);
        match room {
            true => account.posted(label),
            false => account.left(label),
        }
        Some(label)
    }

    #[test]
    fn what_found_no_room_is_offered_again_until_it_is_taken() {
        let mut account = Account::default();
        let first = give(&mut account, 1, true, false).expect("new");
        let again = give(&mut account, 1, false, true).expect("it is owed");
        assert_eq!(first, again, "the same version");
        assert_eq!(give(&mut account, 1, false, true), None, "it waits");
        assert_eq!(account.hear(again, Receipt::NotNow), None);
        let third = give(&mut account, 1, false, true).expect("it is owed again");
        assert_eq!(account.hear(third, Receipt::Taken), Some(1));
        assert_eq!(give(&mut account, 1, false, true), None, "it is there");
        assert_eq!(account.close(), counts(1, 0));
    }

    #[test]
    fn a_receipt_for_an_older_version_settles_nothing() {
        let mut account = Account::default();
        let old = give(&mut account, 1, true, true).expect("new");
        let new = give(&mut account, 1, true, false).expect("new");
        assert_eq!(account.hear(old, Receipt::Taken), None);
        assert_eq!(give(&mut account, 1, false, true), Some(new));
        assert_eq!(account.hear(new, Receipt::Taken), Some(1));
        assert_eq!(account.close(), counts(2, 0));
    }

    #[test]
    fn versions_that_nobody_can_bring_any_more_are_lost() {
        let mut account = Account::default();
        give(&mut account, 1, true, false);
        give(&mut account, 1, true, false);
        let large = give(&mut account, 2, true, true).expect("new");
        assert_eq!(account.hear(large, Receipt::Refused), Some(2), "for good");
        give(&mut account, 3, true, false);
        account.forget(3);
        account.left(Label::Move);
        assert_eq!(
            account.close(),
            counts(0, 5),
            "the page 1 is still owed, too"
        );
    }

    /// A collector that never answers, for as long as the listener is there.
    fn silent() -> (TcpListener, PostUrl, HostConnect) {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/", silent.local_addr().expect("bound"));
        let url = PostUrl::parse(&url).expect("a URL");
        (silent, url, HostConnect::new(Trust::default()))
    }

    #[test]
    fn what_is_under_way_at_the_end_is_left_there() {
        let (_silent, url, connect) = silent();
        let mut work = Work {
            post: Post::new(url, connect, HostResolve::default()),
            token: None,
            end: Arc::new(OnceLock::from(Instant::now())),
        };
        // Not the sentence of patience that ran out.
        assert_eq!(work.send(b""), Err("no answer before the end".to_owned()));
    }

    #[test]
    fn a_collector_that_is_silent_holds_no_end_up() {
        let (_silent, url, connect) = silent();
        let mut courier = Courier::new(&url, None, connect, HostResolve::default());
        for page in 0..3 {
            let label = courier.wants(page, true).expect("new");
            courier.deliver(label, Exchange::default());
        }
        assert_eq!(courier.finish(), (counts(0, 3), Vec::new()));
    }

    #[test]
    fn what_an_earlier_run_may_owe_is_offered_once_and_is_no_loss_of_this_one() {
        let mut account = Account::default();
        let known = give(&mut account, 1, false, true).expect("nothing is known of it");
        assert_eq!(account.hear(known, Receipt::Taken), Some(1));
        assert_eq!(give(&mut account, 1, false, true), None);
        give(&mut account, 2, false, false);
        assert_eq!(account.close(), counts(0, 0));
    }
}
