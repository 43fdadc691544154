//! Asks a time server, if the image names one, when the device starts and every few hours.

use core::net::IpAddr;
use core::pin::pin;

use super::{Board, Event, Probe, TimeSource};
use crate::catalog::TimeServer;
use crate::fetch::{Resolve, keyed_hash, literal, within};
use crate::sntp::{NoTime, PACKET, PATIENCE, TimeClient};
use crate::time::Duration;

/// The time between two looks whether the network is there.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What a server may add to an answer: a key's number and a digest.
const DIGEST: usize = 20;

/// Datagrams to one place and back: what a time server needs of a network.
#[allow(async_fn_in_trait)] // One executor, no threads.
pub trait Datagrams {
    /// Sends one, from a port that was not used before if there is a choice; false if it cannot be
    /// sent.
    ///
    /// *Cancellation*: it may be sent or not.
    async fn send(&mut self, to: IpAddr, port: u16, bytes: &[u8]) -> bool;
    /// Waits for one and returns its length. What is longer than `buffer` may be cut off or left
    /// out.
    ///
    /// *Cancellation*: safe.
    async fn receive(&mut self, buffer: &mut [u8]) -> usize;
}

/// What time it is, and who says so: see [`Probe::time`].
#[derive(Debug)]
pub struct Timekeeping<'p, 'a, B> {
    pub(super) probe: &'p Probe<'a, B>,
}

impl<B: Board> Timekeeping<'_, '_, B> {
    /// Seconds since 1970, once that is certain; never before the moment that the store knows, if a
    /// time server or three hosts gave that, unless a time server says so now.
    pub fn unix(&self) -> Option<u64> {
        let now = self.probe.board.now();
        self.probe.state().clock.certain(now)
    }

    /// A time server said what time it is, in seconds since 1970. It is believed, whatever hosts
    /// say.
    pub fn set(&self, unix: u64) {
        let now = self.probe.board.now();
        self.probe.state().set_time(unix, &self.probe.setup, now);
        self.date_the_past();
    }

    /// Keeps the time by the image's time server, for ever; without one it waits for ever. `random`
    /// is drawn at each start: together with the device's key it makes numbers that nobody else can
    /// guess.
    ///
    /// *Cancellation*: safe at any time; hosts' `Date` headers stand in.
    pub async fn keep<R: Resolve, D: Datagrams>(
        &self,
        random: u64,
        resolve: &mut R,
        wire: &mut D,
    ) -> ! {
        let Some(server) = self.probe.setup.config.sntp else {
            core::future::pending().await
        };
        self.probe.state().clock.ask_server(true);
        let mut client = TimeClient::new(self.nonce(random));
        let mut then = client.ask_at();
        loop {
            self.probe.board.sleep_until(then).await;
            if !self.probe.state().online {
                then = self.probe.board.now() + LOOK_AGAIN;
                continue;
            }
            let nonce = self.nonce(random);
            let found = {
                let deadline = pin!(
                    self.probe
                        .board
                        .sleep_until(self.probe.board.now() + PATIENCE)
                );
                let work = pin!(self.ask(&server, nonce, &mut client, resolve, wire));
                within(deadline, work).await.unwrap_or(Err(NoTime::Silence))
            };
            match found {
                Ok(unix) => self.set(unix),
                Err(why) => {
                    if matches!(why, NoTime::Name | NoTime::Silence) {
                        client.failed(self.probe.board.now());
                    }
                    self.probe.state().clock.ask_server(false);
                    self.probe.board.log(&Event::NoTime { why });
                }
            }
            then = client.ask_at();
        }
    }

    /// A number that is another one at each moment.
    fn nonce(&self, random: u64) -> u64 {
        let both = u128::from(random) << 64 | u128::from(self.probe.board.now().as_micros());
        keyed_hash(&self.probe.setup.config.key, &both.to_le_bytes())
    }

    /// One request, from the name to the answer. *Cancellation*: safe.
    async fn ask<R: Resolve, D: Datagrams>(
        &self,
        server: &TimeServer<'_>,
        nonce: u64,
        client: &mut TimeClient,
        resolve: &mut R,
        wire: &mut D,
    ) -> Result<u64, NoTime> {
        let named = self.probe.setup.named(server.host).map(IpAddr::from);
        let address = match named.or_else(|| literal(server.host)) {
            Some(address) => address,
            None => {
                let found = resolve.resolve(server.host).await.ok();
                found
                    .and_then(|found| found.first().copied())
                    .ok_or(NoTime::Name)?
            }
        };
        let request = client.request(nonce, self.probe.board.now());
        if !wire.send(address, server.port, &request).await {
            return Err(NoTime::Silence);
        }
        let mut buffer = [0; PACKET + DIGEST];
        loop {
            let length = wire.receive(&mut buffer).await;
            let answer = client.answer(
                buffer.get(..length).unwrap_or_default(),
                self.probe.board.now(),
            );
            if let Some(time) = answer {
                return time;
            }
        }
    }

    /// If the date has become certain, everything that was dated gets its place in time.
    #[inline(never)] // Once for all callers.
    pub(super) fn date_the_past(&self) {
        let now = self.probe.board.now();
        let state = &mut *self.probe.state();
        let certain = !state.persist.dated && state.clock.is_certain(now);
        let Some(unix) = state.clock.unix(now).filter(|_| certain) else {
            return;
        };
        state.date_records(&self.probe.setup, now);
        let from = if state.clock.is_by_server() {
            TimeSource::Server
        } else {
            TimeSource::Hosts
        };
        self.probe.board.log(&Event::Clock {
            unix: unix.min(u32::MAX.into()) as u32,
            from,
        });
    }
}
