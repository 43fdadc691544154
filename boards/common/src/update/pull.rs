//! Looking: when, where, and what becomes of what is found.

use core::pin::pin;

use dunlin::fetch::{Ask, Body, Url, within};
use dunlin::image::{self, Image};
use dunlin::probe::{Board, BoardEvent, Probe, Slot};
use dunlin::time::{Duration, Instant};
use dunlin::update::halves::{self, HEADER, Header};
use dunlin::update::{
    Device, LONGEST_MANIFEST, Manifest, PayloadKind, PublicKey, Pulled, Puller, Refusal, Released,
    Server, SpareSlot, Transport,
};
use dunlin::{store, update};
use embassy_net::Stack;
use embassy_time::Timer;
use embedded_storage::nor_flash::NorFlash;

use super::{Particulars, Restart, Updates, keys};
use crate::memory;
use crate::network::{Connector, Names, NetworkConnector, wrap};

/// What looking for updates needs: put it in a `ConstStaticCell`.
#[derive(Debug)]
pub struct Memory {
    receive: [u8; RECEIVE],
    send: [u8; SEND],
    window: [u8; WINDOW],
    manifest: [u8; LONGEST_MANIFEST],
    /// The URLs of the two manifests.
    urls: [[u8; LONGEST_URL]; 2],
    keys: [Option<[PublicKey; 2]>; 2],
}

impl Memory {
    /// Memory that nobody has used yet.
    pub const NEW: Self = Self {
        receive: [0; RECEIVE],
        send: [0; SEND],
        window: [0; WINDOW],
        manifest: [0; LONGEST_MANIFEST],
        urls: [[0; LONGEST_URL]; 2],
        keys: [None; 2],
    };
}

const LONGEST_URL: usize = 128;
/// Bytes that wait to be read, and to be sent, and that are looked at in one go: a download may
/// take its time, RAM is dear.
const RECEIVE: usize = 384;
const SEND: usize = 64;
const WINDOW: usize = 128;
/// A look that takes longer is given up; the next one goes on where it stopped.
const LONGEST_LOOK: embassy_time::Duration = embassy_time::Duration::from_secs(1800);
/// The same while the firmware is on trial, and nothing but a manifest is fetched.
const LONGEST_ON_TRIAL: embassy_time::Duration = embassy_time::Duration::from_secs(30);
/// A broken download goes on after this time, and after so much more each time, up to the pace.
const SOON: Duration = Duration::from_secs(30);
/// The first look after a start comes this late.
const FIRST: Duration = Duration::from_secs(10);
/// The most time between two looks on trial, during which the server has to be reached.
const ON_TRIAL: Duration = Duration::from_secs(60);
/// As many looks, one after the other, that break on trial mean that the server is not reached any
/// more: they take six to ten minutes.
const MOST_BROKEN: u32 = 7;
/// What flash is read in may go beyond a payload's end.
const BEHIND: u32 = 256;

/// Looks for both kinds.
pub(super) struct Look {
    slot: UpdateSlot,
    manifest: &'static mut [u8; LONGEST_MANIFEST],
    pace: Duration,
    kinds: [OneKind; 2],
}

/// What updates come through: as pages do, so that the code is there once.
type UpdateSlot = Slot<'static, NetworkConnector, Names>;

/// The probe as who makes the requests.
struct ByProbe<'p, B> {
    probe: &'p Probe<'static, B>,
    slot: &'p mut UpdateSlot,
}

impl<B: Board> Transport for ByProbe<'_, B> {
    async fn request(&mut self, ask: &mut Ask<'_>, body: &mut dyn Body) -> bool {
        self.probe.request(self.slot, ask, body).await
    }
}

/// What is remembered of one kind.
struct OneKind {
    kind: PayloadKind,
    puller: Puller<'static>,
    due: Instant,
    /// Looks that broke, one after the other.
    broken: u32,
}

impl Look {
    /// Below this URL, for which the board has its own file names; `None` if it is none, or nobody
    /// is trusted.
    pub(super) fn new<B: Board>(
        probe: &Probe<'static, B>,
        stack: Stack<'static>,
        memory: &'static mut Memory,
        below: &str,
        particulars: &Particulars,
    ) -> Option<Self> {
        let base = Url::parse(below).ok()?;
        let agent = probe.agent();
        let gateway = probe
            .config()
            .gateway
            .map(|gateway| (gateway.host, gateway.port));
        let Memory {
            receive,
            send,
            window,
            manifest,
            urls: [firmware_url, list_url],
            keys: [firmware_keys, list_keys],
        } = memory;
        let now = probe.board().now();
        let kind = |kind: PayloadKind,
                    place: &'static mut [u8; LONGEST_URL],
                    known: &'static mut Option<[PublicKey; 2]>| {
            *known = keys(kind);
            let server = Server {
                url: base
                    .join(name(kind, particulars.board)?.as_bytes(), place)
                    .ok()?,
                agent,
                gateway,
            };
            Some(OneKind {
                kind,
                puller: Puller::new(known.as_ref()?, server),
                due: now + FIRST.min(particulars.pace),
                broken: 0,
            })
        };
        let kinds = [
            kind(PayloadKind::Firmware, firmware_url, firmware_keys)?,
            kind(PayloadKind::List, list_url, list_keys)?,
        ];
        Some(Self {
            slot: Slot {
                connect: wrap(Connector::with_room(stack, receive, send)),
                resolve: Names(stack),
                buffer: window,
            },
            manifest,
            pace: particulars.pace,
            kinds,
        })
    }

    /// Has the update server sent what is signed since the start, and is it still reached?
    pub(super) fn is_reached(&self) -> bool {
        let [firmware, _] = &self.kinds;
        firmware.puller.has_verified() && firmware.broken < MOST_BROKEN
    }

    /// Looks for what it is time for; tells to restart once something new can be put to use.
    ///
    /// *Cancellation*: safe; what was downloaded stays.
    pub(super) async fn when_due<B: Board, F: NorFlash, const WORD: usize>(
        &mut self,
        updates: &mut Updates<F, WORD>,
        probe: &Probe<'static, B>,
    ) -> Option<Restart> {
        let Self {
            slot,
            manifest,
            pace,
            kinds,
        } = self;
        for one in kinds {
            // On trial, a firmware accepts no list.
            let waits = updates.trial.is_some() && one.kind == PayloadKind::List;
            if waits || probe.board().now() < one.due {
                continue;
            }
            let device = updates.device(one.kind, probe.image());
            let longest = match updates.trial {
                Some(_) => LONGEST_ON_TRIAL,
                None => LONGEST_LOOK,
            };
            let (place, journal) = match one.kind {
                PayloadKind::Firmware => (&mut updates.dfu, &mut updates.journal),
                PayloadKind::List => {
                    let [first, second] = &mut updates.halves;
                    let spare = match updates.particulars.list.0 {
                        0 => second,
                        _ => first,
                    };
                    (spare, &mut updates.journal)
                }
            };
            let place = SpareSlot {
                bytes: place.capacity() as u32,
                flash: place,
                start: 0,
                header: header(one.kind),
            };
            let persistence = probe.persistence();
            let quiet = async || persistence.quiet().await;
            let found = {
                let mut transport = ByProbe {
                    probe,
                    slot: &mut *slot,
                };
                let looked =
                    pin!(
                        one.puller
                            .look(&mut transport, &device, place, journal, quiet, manifest)
                    );
                within(pin!(Timer::after(longest)), looked).await
            };
            let is_on_trial = updates.trial.is_some();
            let is_broken = match found.unwrap_or(Pulled::Broken) {
                Pulled::Ready(found) => match updates.take(&found) {
                    Ok(()) => return Some(Restart::Taken),
                    Err(why) => {
                        one.puller.reject(&found, why, &mut updates.journal);
                        updates.say_refused(one.kind, why);
                        false
                    }
                },
                Pulled::Nothing => false,
                Pulled::Refused(why) => {
                    updates.say_refused(one.kind, why);
                    // On trial it is soon looked again anyway, and who refuses has been answered.
                    why.may_pass() && !is_on_trial
                }
                Pulled::Broken => true,
            };
            let pace = if is_on_trial {
                ON_TRIAL.min(*pace)
            } else {
                *pace
            };
            one.due = probe.board().now() + one.wait(is_broken, pace);
        }
        None
    }
}

impl OneKind {
    /// How long to wait after a look: after one that broke, longer each time.
    fn wait(&mut self, is_broken: bool, pace: Duration) -> Duration {
        if !is_broken {
            self.broken = 0;
            return pace;
        }
        self.broken += 1;
        (SOON * u64::from(self.broken)).min(pace)
    }
}

/// Bytes that a payload leaves free before it.
const fn header(kind: PayloadKind) -> u32 {
    match kind {
        PayloadKind::Firmware => 0,
        PayloadKind::List => HEADER as u32,
    }
}

/// The file that the manifest of a board is in.
fn name(kind: PayloadKind, board: &str) -> Option<heapless::String<64>> {
    let mut name = heapless::String::new();
    name.push_str(board).ok()?;
    name.push_str(update::manifest_ending(kind)).ok()?;
    Some(name)
}

impl<F: NorFlash, const WORD: usize> Updates<F, WORD> {
    /// What an update has to fit.
    fn device(&self, kind: PayloadKind, image: &Image<'_>) -> Device<'static> {
        let released = self.released(kind);
        let record = self.journal.record();
        let [half, _] = &self.halves;
        let sector = F::ERASE_SIZE as u32;
        Device {
            kind,
            board: self.particulars.board,
            build: match kind {
                PayloadKind::Firmware => memory::build_id(),
                PayloadKind::List => 0,
            },
            sequence: released.sequence,
            counter: released.counter,
            room: match kind {
                PayloadKind::Firmware => (self.dfu.capacity() as u32).saturating_sub(sector),
                PayloadKind::List => (half.capacity() as u32).saturating_sub(header(kind) + BEHIND),
            },
            store: store::VERSION,
            image: match kind {
                PayloadKind::Firmware => image.version(),
                PayloadKind::List => image::VERSION,
            },
            tried: record.attempt.map(|attempt| (attempt.build, attempt.count)),
            on_trial: self.trial.is_some(),
        }
    }

    fn say_refused(&self, kind: PayloadKind, why: Refusal) {
        let refused = BoardEvent::UpdateRefused {
            kind: kind.name(),
            sequence: self.journal.record().last.sequence,
            why: why.name(),
        };
        refused.emit();
        self.say_status();
    }

    /// Puts what is in its place, verified, to use at the next start.
    ///
    /// # Errors
    /// Why it is refused after all.
    fn take(&mut self, manifest: &Manifest<'_>) -> Result<(), Refusal> {
        match manifest.kind {
            PayloadKind::Firmware => {
                // Which build is tried is known before it can be started.
                self.journal.change(|record| record.try_out(manifest))?;
                self.marks.mark().map_err(|_| Refusal::Flash)?;
            }
            PayloadKind::List => self.take_list(manifest)?,
        }
        let ready = BoardEvent::UpdateReady {
            kind: manifest.kind.name(),
            sequence: manifest.sequence,
            bytes: manifest.length,
        };
        ready.emit();
        Ok(())
    }

    fn take_list(&mut self, manifest: &Manifest<'_>) -> Result<(), Refusal> {
        let spare = 1 - self.particulars.list.0.min(1);
        if !(self.particulars.is_good_list)(spare, manifest.length) {
            return Err(Refusal::List);
        }
        let header = Header {
            release: Released {
                sequence: manifest.sequence,
                counter: manifest.counter,
            },
            length: manifest.length,
        };
        let [first, second] = &mut self.halves;
        let half = if spare == 0 { first } else { second };
        halves::seal(half, 0, &header)?;
        self.journal.change(|record| record.take_list(manifest))
    }
}
