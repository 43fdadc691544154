//! Copies to a collector: what a page's answer brings goes there as it comes, over a second
//! connection, and the fetch waits for it – but never for long.

use core::pin::pin;

use super::copying::{Copying, Copyist};
use super::owner_names::OwnerNames;
use super::slots::Runner;
use super::{Board, Event, Probe, Slot};
use crate::collect::{
    Collector, CopyStatus, LONGEST_PIECE, Preamble, Uncollected, ending, piece, status,
};
use crate::fetch::{
    ClientError, Connect, Connection as _, OwnerServer, Request, Resolve, Scheme, Tee, within,
};
use crate::time::{Duration, Instant};
use embedded_io_async::{Read as _, Write as _};

/// A collector that takes nothing for so long is given up …
const STALL: Duration = Duration::from_secs(2);
/// … and so is one for which a fetch has waited this share of its own deadline, all together.
const SHARE_OF_DEADLINE: u64 = 6;
/// The window that the beginning of a delivery passes through.
const WINDOW: usize = 128;
/// Bytes up to the first digit of a status: `HTTP/1.1 2`.
const STATUS: usize = 10;

/// A slot whose pages are collected.
#[derive(Debug)]
pub struct CollectingSlot<'b, C, R, K> {
    /// The slot that fetches the pages.
    pub slot: Slot<'b, C, R>,
    /// Opens connections to the collector, with buffers of its own. Its window for sending is what
    /// a slot holds of a body: two whole segments of TCP, 2,920 bytes, serve well.
    pub connect: K,
    /// Turns the collector's name into an address, if it has no address of its own.
    pub resolve: R,
}

impl<'a, B: Board> Probe<'a, B> {
    /// Hands a copy of what has changed to a collector: by [`Self::run_collecting_slot`]. Before
    /// anything is fetched.
    #[must_use]
    pub fn with_collector(mut self, collector: Collector<'a>) -> Self {
        self.setup.collector = Some(collector);
        self
    }

    /// The board hands copies over by itself, as a computer can, which holds whole answers: slots
    /// are run by [`Self::run_slot`]. Each version that has changed is owed until
    /// [`Self::collected`] says otherwise, over restarts, too; meanwhile its page is asked for
    /// whole. Before anything is fetched.
    #[must_use]
    pub fn with_copies_by_board(mut self) -> Self {
        self.setup.board_collects = true;
        self
    }

    /// The collector has got the last version of a page that was logged, or will never take it.
    /// `page` is its number, as in the log; without such a page, nothing happens.
    pub fn collected(&self, page: u16) {
        let mut state = self.state();
        if let Some(page) = state.known.page_mut(page) {
            let was_owed = page.settle();
            page.save_if(was_owed);
        }
    }

    /// As [`Self::run_slot`], and hands what has changed to the collector while it is fetched, if
    /// there is one: status line, head and body as they come, through the collector's own window.
    ///
    /// A collector that is slow, full or gone stops nothing: then the fetch goes on alone, and the
    /// page is fetched again, whole, at its next visit, unless the collector has said that it will
    /// never take that. An answer 304 costs nothing, and a page that was gone, or not for us, is
    /// asked for whole: that it is back is news, which needs an answer with a body. One that turns
    /// out to be the version that is known is streamed, and the collector drops it.
    ///
    /// *Cancellation*: as for [`Self::run_slot`].
    pub async fn run_collecting_slot<C: Connect, R: Resolve, K: Connect>(
        &self,
        number: usize,
        slot: &mut CollectingSlot<'_, C, R, K>,
    ) -> ! {
        let runner = Runner {
            probe: self,
            number,
        };
        let mut desk = Desk {
            probe: self,
            number,
            connect: &mut slot.connect,
            resolve: &mut slot.resolve,
        };
        runner.run(&mut slot.slot, &mut desk).await
    }
}

/// Makes copies for one slot.
struct Desk<'s, 'a, B, K, R> {
    probe: &'s Probe<'a, B>,
    number: usize,
    connect: &'s mut K,
    resolve: &'s mut R,
}

impl<'a, B: Board, K: Connect, R: Resolve> Copyist for Desk<'_, 'a, B, K, R> {
    type Copy<'t>
        = Delivery<'t, 'a, B, K, R>
    where
        Self: 't;

    fn begin(&mut self) -> Delivery<'_, 'a, B, K, R> {
        Delivery {
            probe: self.probe,
            number: self.number,
            connect: Some(self.connect),
            resolve: self.resolve,
            stage: Stage::Aside,
            page: 0,
            refused: false,
            began: Instant::ZERO,
            waited: Duration::ZERO,
        }
    }
}

/// How far a delivery is.
enum Stage<T> {
    /// Nothing comes that is to be collected.
    Aside,
    /// An answer is to come; these are the first bytes of it, too few to tell what it is.
    Head(heapless::Vec<u8, STATUS, u8>),
    /// An answer comes, and its bytes go this way.
    Open(T),
    /// An answer comes that cannot be delivered, for this reason.
    Failed(Uncollected),
}

/// The copy of one answer, on its way to the collector.
struct Delivery<'t, 'a, B, K: Connect + 't, R> {
    probe: &'t Probe<'a, B>,
    /// The number of the slot.
    number: usize,
    /// It is taken when the connection is opened.
    connect: Option<&'t mut K>,
    resolve: &'t mut R,
    stage: Stage<K::Connection<'t>>,
    page: u16,
    /// The answer says that the page is gone, or not for us.
    refused: bool,
    /// When the answer began to come.
    began: Instant,
    /// For how long the fetch has waited for the collector.
    waited: Duration,
}

impl<B: Board, K: Connect, R: Resolve> Tee for Delivery<'_, '_, B, K, R> {
    async fn received(&mut self, request: &Request<'_>, bytes: &[u8]) {
        let before = self.waited;
        let sent = match &mut self.stage {
            Stage::Aside | Stage::Failed(_) => return,
            Stage::Head(head) => {
                let held = head.clone();
                let missing = STATUS - head.len();
                // There is room for what is missing.
                let _ = head.extend_from_slice(bytes.get(..missing).unwrap_or(bytes));
                match head.last() {
                    // What comes before the answer itself is followed by it. That a page is gone,
                    // or not for us, is news, which the collector passes on.
                    Some(b'1' | b'2') if head.is_full() => {}
                    Some(b'4') if head.is_full() => self.refused = true,
                    _ if head.is_full() => {
                        self.stage = Stage::Aside;
                        return;
                    }
                    _ => return,
                }
                match self.open(request).await {
                    Ok(()) if held.is_empty() => self.send_piece(bytes).await,
                    Ok(()) => match self.send_piece(&held).await {
                        Ok(()) => self.send_piece(bytes).await,
                        Err(why) => Err(why),
                    },
                    Err(why) => Err(why),
                }
            }
            Stage::Open(_) => self.send_piece(bytes).await,
        };
        if let Err(why) = sent {
            self.give_up(why).await;
        }
        let waited = self.waited - before;
        if !waited.is_zero() {
            self.probe.state().slots.excuse(self.number, waited);
        }
    }
}

impl<B: Board, K: Connect, R: Resolve> Copying for Delivery<'_, '_, B, K, R> {
    fn watch(&mut self, page: u16) {
        self.page = page;
        if self.probe.setup.collector.is_some() {
            self.stage = Stage::Head(heapless::Vec::new());
        }
    }

    async fn finish(&mut self, version: Option<u64>) {
        let Some(fingerprint) = version else {
            if self.refused && matches!(self.stage, Stage::Open(_)) {
                // News that is lost comes again with the next visit.
                let _ = self.send(&ending(CopyStatus::Refused, 0)).await;
                self.ask_whole();
            }
            // Without a status, the collector drops what it has of it.
            if let Stage::Open(connection) = &mut self.stage {
                connection.finish().await;
            }
            return;
        };
        let owed = self.is_owed();
        let status = if owed {
            CopyStatus::Changed
        } else {
            CopyStatus::Same
        };
        if matches!(self.stage, Stage::Open(_)) {
            let delivered = self.deliver(status, fingerprint).await;
            match delivered {
                Ok(()) => {
                    if let Stage::Open(connection) = &mut self.stage {
                        connection.finish().await;
                    }
                    return self.delivered(owed, fingerprint);
                }
                Err(why) => self.give_up(why).await,
            }
        }
        if let (true, Stage::Failed(why)) = (owed, &self.stage) {
            let page = self.page;
            let why = *why;
            if why.is_final() {
                self.settle(fingerprint);
            }
            self.probe.board.log(&Event::Uncollected { page, why });
        }
    }
}

impl<B: Board, K: Connect, R: Resolve> Delivery<'_, '_, B, K, R> {
    /// Opens the connection, and sends what comes before the answer.
    ///
    /// *Cancellation*: the copy is lost; the collector drops what has come of it.
    async fn open(&mut self, request: &Request<'_>) -> Result<(), Uncollected> {
        let probe = self.probe;
        self.began = probe.board.now();
        if probe.state().rest.lasts(self.began) {
            return Err(Uncollected::Resting);
        }
        let (Some(collector), Some(connect)) = (&probe.setup.collector, self.connect.take()) else {
            return Err(Uncollected::Connection);
        };
        let opened = {
            let url = collector.url();
            let server = OwnerServer {
                scheme: Scheme::Http,
                host: url.host_text(),
                port: url.port(),
            };
            let mut names = OwnerNames {
                image: &probe.setup.image,
                resolve: &mut *self.resolve,
            };
            let deadline = pin!(probe.board.sleep_until(self.began + STALL));
            within(deadline, pin!(server.open(connect, &mut names))).await
        };
        self.waited = probe.board.now() - self.began;
        let opened = opened.ok_or(Uncollected::Slow)?;
        self.stage = Stage::Open(opened.map_err(|why| match why {
            ClientError::Resolve(_) | ClientError::NoAddress => Uncollected::Name,
            _ => Uncollected::Connection,
        })?);
        let preamble = Preamble {
            collector,
            request,
            unix_time: probe.time().unix(),
        };
        let mut window = [0; WINDOW];
        let mut sent = 0;
        loop {
            let count = preamble.render(sent, &mut window);
            self.send(window.get(..count).unwrap_or_default()).await?;
            sent += count;
            if count < window.len() {
                return Ok(());
            }
        }
    }

    /// Sends a piece of the answer.
    ///
    /// *Cancellation*: the copy is lost; the collector drops what has come of it.
    async fn send_piece(&mut self, bytes: &[u8]) -> Result<(), Uncollected> {
        // One is as long as the slot's window: it is a frame, as a rule.
        for bytes in bytes.chunks(LONGEST_PIECE) {
            self.send(&piece(bytes.len())).await?;
            self.send(bytes).await?;
        }
        Ok(())
    }

    /// Sends bytes, as fast as the collector takes them.
    ///
    /// *Cancellation*: the copy is lost; the collector drops what has come of it.
    async fn send(&mut self, mut bytes: &[u8]) -> Result<(), Uncollected> {
        let board = &self.probe.board;
        let patience = self.probe.setup.deadline() / SHARE_OF_DEADLINE;
        let Stage::Open(connection) = &mut self.stage else {
            return Err(Uncollected::Lost);
        };
        while !bytes.is_empty() {
            let before = board.now();
            let taken = {
                let deadline = pin!(board.sleep_until(before + STALL));
                within(deadline, pin!(connection.write(bytes))).await
            };
            self.waited += board.now() - before;
            match taken {
                Some(Ok(count @ 1..)) => bytes = bytes.get(count..).unwrap_or_default(),
                Some(_) => return Err(Uncollected::Lost),
                None => return Err(Uncollected::Slow),
            }
            if self.waited > patience {
                return Err(Uncollected::Slow);
            }
        }
        Ok(())
    }

    /// Sends the status. What has changed is delivered once the collector says so.
    ///
    /// *Cancellation*: the copy is lost; the collector drops what has come of it.
    async fn deliver(&mut self, status: CopyStatus, fingerprint: u64) -> Result<(), Uncollected> {
        self.send(&ending(status, fingerprint)).await?;
        match status {
            CopyStatus::Same | CopyStatus::Refused => Ok(()),
            CopyStatus::Changed => match self.answer().await? {
                200..300 => Ok(()),
                status => Err(Uncollected::Refused(status)),
            },
        }
    }

    /// The status that the collector answers with.
    ///
    /// *Cancellation*: the copy is lost; the collector drops what has come of it.
    async fn answer(&mut self) -> Result<u16, Uncollected> {
        let began = self.probe.board.now();
        let deadline = pin!(self.probe.board.sleep_until(began + STALL));
        let Stage::Open(connection) = &mut self.stage else {
            return Err(Uncollected::Lost);
        };
        let reading = async {
            let mut answer = [0; 16];
            let mut length = 0;
            loop {
                let room = answer.get_mut(length..).unwrap_or_default();
                match connection.read(room).await {
                    Ok(count @ 1..) => length += count,
                    _ => return Err(Uncollected::Lost),
                }
                match status(answer.get(..length).unwrap_or_default()) {
                    Some(status) => return Ok(status),
                    None if length == answer.len() => return Err(Uncollected::Lost),
                    None => {}
                }
            }
        };
        let answer = within(deadline, pin!(reading)).await;
        self.waited += self.probe.board.now() - began;
        answer.unwrap_or(Err(Uncollected::Slow))
    }

    /// The copy is lost, the fetch goes on. A collector that closes the connection may have said
    /// why.
    ///
    /// *Cancellation*: the copy is lost; the collector drops what has come of it.
    async fn give_up(&mut self, mut why: Uncollected) {
        if why == Uncollected::Lost
            && let Ok(status @ 300..) = self.answer().await
        {
            why = Uncollected::Refused(status);
        }
        if let Stage::Open(connection) = &mut self.stage {
            connection.finish().await;
        }
        self.stage = Stage::Failed(why);
        // What is wrong with this one is no reason to leave the collector alone with others.
        if why != Uncollected::Resting && !why.is_final() {
            let now = self.probe.board.now();
            self.probe.state().rest.failed(now);
        }
    }

    /// Has the collector not got the version of the page that is known?
    fn is_owed(&self) -> bool {
        let mut state = self.probe.state();
        let page = state.known.page_mut(self.page);
        page.is_some_and(|page| page.is_owed())
    }

    /// The page is asked for whole at its next visit: for a 304 no connection would be opened, and
    /// the collector would not hear that the page is back.
    fn ask_whole(&self) {
        let mut state = self.probe.state();
        if let Some(page) = state.known.page_mut(self.page) {
            let had_one = page.etag.is_some() || page.last_modified().is_some();
            page.forget_validators();
            page.save_if(had_one);
        }
    }

    /// The version of this fingerprint is not owed any more.
    fn settle(&self, fingerprint: u64) {
        let mut state = self.probe.state();
        // Another version may have come meanwhile, by another slot.
        if let Some(page) = state.known.page_mut(self.page) {
            let last = page.deliver(fingerprint);
            page.save_if(last);
        }
    }

    /// The collector has got it, or needs none.
    fn delivered(&self, owed: bool, fingerprint: u64) {
        let now = self.probe.board.now();
        self.probe.state().rest.succeeded();
        if owed {
            self.settle(fingerprint);
            let millis = (now - self.began).as_millis().min(u32::MAX.into()) as u32;
            let page = self.page;
            self.probe.board.log(&Event::Collected { page, millis });
        }
    }
}
