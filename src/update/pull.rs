//! One look at the update server: the manifest, and what it promises.
//!
//! The board's task decides when to look, and what to do with what is ready: mark a firmware, or
//! seal a list, and restart.

use embedded_storage::nor_flash::NorFlash;

use super::LONGEST_MANIFEST;
use super::accept::{Device, Offer};
use super::digest::{Check, PIECE};
use super::download::{Download, Receiver};
use super::journal::{Begun, Journal, Last};
use super::manifest::Manifest;
use super::refusal::Refusal;
use super::signify::PublicKey;
use super::transport::Transport;
use crate::fetch::{Agent, Ask, Body, Etag, Head, HttpDate, Limits, Request, Url, others_first};

/// Where the manifest is, and how it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// The URL of the manifest.
    pub url: Url<'a>,
    /// The agent that asks, for its `User-Agent`.
    pub agent: Agent<'a>,
    /// Name and port of the gateway that fetches what is behind https, if the board cannot.
    pub gateway: Option<(&'a str, u16)>,
}

/// Where a payload goes.
#[derive(Debug)]
pub struct SpareSlot<'f, F> {
    /// The flash that the place is a part of.
    pub flash: &'f mut F,
    /// Where it begins: at a sector.
    pub start: u32,
    /// Its bytes: whole sectors.
    pub bytes: u32,
    /// Bytes at its beginning that the payload leaves free.
    pub header: u32,
}

/// What a look has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled<'m> {
    /// Nothing that is not in use already, or was refused before.
    Nothing,
    /// The payload of this manifest is in its place, verified.
    Ready(Manifest<'m>),
    /// What was offered is refused.
    Refused(Refusal),
    /// The server was not reached, or the connection broke: what has come so far stays.
    Broken,
}

/// Asks one update server. It remembers which manifest it has dealt with, so that the usual answer
/// is 304.
#[derive(Clone, Copy, Debug)]
pub struct Puller<'k> {
    keys: &'k [PublicKey],
    server: Server<'k>,
    /// The manifest that nothing more is to be done about.
    settled: Version,
    /// The payload that was refused for good.
    refused: Option<[u8; 8]>,
    /// A payload whose download broke off, and how much of it is in flash for certain.
    broken_off: Option<([u8; 8], u32)>,
    /// A manifest with a good signature has come since the start.
    has_verified: bool,
}

impl<'k> Puller<'k> {
    /// Asks this server, and trusts these keys and nobody else.
    pub const fn new(keys: &'k [PublicKey], server: Server<'k>) -> Self {
        Self {
            keys,
            server,
            settled: Version::NONE,
            refused: None,
            broken_off: None,
            has_verified: false,
        }
    }

    /// Has a manifest with a good signature come since the start?
    pub const fn has_verified(&self) -> bool {
        self.has_verified
    }

    /// Asks for the manifest, which is kept in `file`, and fetches what it offers if that fits the
    /// device. What is refused is noted in the journal. `quiet` is waited for before each erase,
    /// which may stop the processor.
    ///
    /// Work: a manifest, and one answer of the payload's length; others have a turn after each
    /// sector. *Cancellation*: what is in flash stays, and the next look goes on from the sector
    /// that was written last, as after a restart.
    pub async fn look<'m, T: Transport, F: NorFlash, J: NorFlash>(
        &mut self,
        transport: &mut T,
        device: &Device<'_>,
        place: SpareSlot<'_, F>,
        journal: &mut Journal<J>,
        quiet: impl AsyncFn(),
        file: &'m mut [u8; LONGEST_MANIFEST],
    ) -> Pulled<'m> {
        let mut keep = Keep::new(file);
        let mut ask = self.ask();
        let answered = transport.request(&mut ask, &mut keep).await;
        let kept = keep.end(answered);
        let (manifest, room) = match self.consider(kept, file, device, journal) {
            Ok(offered) => offered,
            Err(found) => return found,
        };
        let fetched = self
            .fetch(transport, &manifest, place, journal, quiet, room)
            .await;
        match fetched {
            Ok(()) => Pulled::Ready(manifest),
            Err(None) => Pulled::Broken,
            Err(Some(why)) => {
                self.reject(&manifest, why, journal);
                Pulled::Refused(why)
            }
        }
    }

    /// What the manifest is asked for by.
    fn ask(&self) -> Ask<'_> {
        let mut request = Request::get(self.server.url, self.server.agent);
        request.etag = self.settled.etag.as_ref();
        request.last_modified = self.settled.last_modified;
        let mut ask = Ask::new(request);
        ask.gateway = self.server.gateway;
        ask
    }

    /// Reads the manifest that came, and holds it against the device: what is offered, and the room
    /// behind it; or what the look has found, if that is all.
    #[inline(never)] // Out of the future's code, which would be larger.
    fn consider<'m, J: NorFlash>(
        &mut self,
        kept: Result<Option<(usize, Version)>, Option<Refusal>>,
        file: &'m mut [u8; LONGEST_MANIFEST],
        device: &Device<'_>,
        journal: &mut Journal<J>,
    ) -> Result<(Manifest<'m>, &'m mut [u8]), Pulled<'m>> {
        let (length, version) = match kept {
            Ok(Some(answer)) => answer,
            Ok(None) => return Err(Pulled::Nothing),
            Err(None) => return Err(Pulled::Broken),
            Err(Some(why)) => return Err(self.refuse(why, 0, Version::NONE, journal)),
        };
        let (file, room) = file.split_at_mut_checked(length).unwrap_or_default();
        let read = PublicKey::open(self.keys, file).and_then(Manifest::parse);
        let manifest = match read {
            Ok(manifest) => manifest,
            Err(why) => return Err(self.refuse(why, 0, version, journal)),
        };
        self.has_verified = true;
        match device.accept(&manifest) {
            Ok(Offer::New) if self.refused != Some(id(&manifest)) => Ok((manifest, room)),
            Ok(_) => {
                self.settled = version;
                Err(Pulled::Nothing)
            }
            Err(why) => Err(self.refuse(why, manifest.sequence, version, journal)),
        }
    }

    /// Fetches the payload into its place, or what is missing of it, and verifies it. `room` holds
    /// its URL meanwhile. An error without a reason is a broken connection.
    ///
    /// *Cancellation*: safe; what is in flash is where the next attempt goes on.
    async fn fetch<T: Transport, F: NorFlash, J: NorFlash>(
        &mut self,
        transport: &mut T,
        manifest: &Manifest<'_>,
        mut place: SpareSlot<'_, F>,
        journal: &mut Journal<J>,
        quiet: impl AsyncFn(),
        room: &mut [u8],
    ) -> Result<(), Option<Refusal>> {
        let joined = self.server.url.join(manifest.url.as_bytes(), room);
        let url = joined.map_err(|_| Refusal::Url)?;
        let start = place.start + place.header;
        let (begun, done) = match self.begun(manifest, journal) {
            (Some(begun), Some(done)) => (begun, done),
            (Some(begun), None) => {
                let done = resume(&mut place, manifest.length, &quiet).await?;
                (begun, done)
            }
            (None, _) => {
                journal.change(|record| record.begun = None)?;
                for sector in (place.start..place.start + place.bytes).step_by(F::ERASE_SIZE) {
                    quiet().await;
                    erase(place.flash, sector)?;
                    others_first().await;
                }
                let begun = Begun {
                    kind: manifest.kind,
                    digest: id(manifest),
                    etag: None,
                };
                journal.change(|record| record.begun = Some(begun))?;
                (begun, 0)
            }
        };
        let mut download = Download::new(start, manifest.length, done, begun.etag);
        let mut receiver = Receiver::new(&mut download, place.flash);
        let mut request = Request::get(url, self.server.agent);
        request.etag = begun.etag.as_ref().filter(|_| done > 0);
        let mut ask = Ask::new(request.starting_at(done));
        ask.gateway = self.server.gateway;
        // One byte more than was signed shows that there is more.
        ask.limits = Limits::DEFAULT.with_body_bytes(manifest.length.saturating_add(1));
        let is_whole = transport.request(&mut ask, &mut receiver).await;
        let mut refusal = receiver.refusal();
        if !is_whole && refusal.is_none() {
            refusal = receiver.has_begun().then_some(Refusal::TooShort);
            download.pause(place.flash)?;
        }
        self.end(begun, &download, is_whole, refusal, journal)?;
        let mut check = Check::new(start, manifest.length);
        while !check.step(place.flash)? {
            others_first().await;
        }
        if check.finish() != manifest.digest {
            journal.change(|record| record.begun = None)?;
            return Err(Some(Refusal::Digest));
        }
        Ok(())
    }

    /// What is known of a download of this payload that was begun, and how much of it is in flash,
    /// if it broke off since the start.
    fn begun<J: NorFlash>(
        &mut self,
        manifest: &Manifest<'_>,
        journal: &Journal<J>,
    ) -> (Option<Begun>, Option<u32>) {
        let digest = id(manifest);
        let begun = journal.record().begun;
        let broken_off = self.broken_off.take();
        (
            begun.filter(|begun| begun.kind == manifest.kind && begun.digest == digest),
            broken_off
                .filter(|(of, _)| *of == digest)
                .map(|(_, done)| done),
        )
    }

    /// The answer has ended, whole or not, or was refused: what breaks off goes on later, what is
    /// refused begins anew, if at all.
    #[inline(never)] // Out of the future's code, which would be larger.
    fn end<J: NorFlash>(
        &mut self,
        begun: Begun,
        download: &Download,
        is_whole: bool,
        refusal: Option<Refusal>,
        journal: &mut Journal<J>,
    ) -> Result<(), Option<Refusal>> {
        let ended = match refusal {
            Some(why) => Err(Some(why)),
            None if is_whole => Ok(()),
            None => Err(None),
        };
        let goes_on = matches!(ended, Ok(()) | Err(None | Some(Refusal::TooShort)));
        let etag = download.etag().copied();
        self.broken_off = Some((begun.digest, download.at())).filter(|_| goes_on && ended.is_err());
        journal
            .change(|record| record.begun = Some(Begun { etag, ..begun }).filter(|_| goes_on))?;
        ended
    }

    /// What was [ready](Pulled::Ready) is refused after all, by who was to use it.
    pub fn reject<J: NorFlash>(
        &mut self,
        manifest: &Manifest<'_>,
        why: Refusal,
        journal: &mut Journal<J>,
    ) {
        self.refused = Some(id(manifest)).filter(|_| !why.may_pass());
        self.refuse(why, manifest.sequence, Version::NONE, journal);
    }

    /// Notes a refusal. What may pass is looked at again, the rest is settled.
    #[inline(never)] // Once for all reasons.
    fn refuse<J: NorFlash>(
        &mut self,
        why: Refusal,
        sequence: u32,
        version: Version,
        journal: &mut Journal<J>,
    ) -> Pulled<'static> {
        if !why.may_pass() {
            self.settled = version;
        }
        let code = why.code();
        // A journal that cannot be written makes the refusal no less true.
        let _ = journal.change(|record| record.last = Last { code, sequence });
        Pulled::Refused(why)
    }
}

/// A version of the manifest, by the server's word.
#[derive(Clone, Copy, Debug)]
struct Version {
    etag: Option<Etag>,
    last_modified: Option<HttpDate>,
}

impl Version {
    const NONE: Self = Self {
        etag: None,
        last_modified: None,
    };
}

/// What a payload is known by.
fn id(manifest: &Manifest<'_>) -> [u8; 8] {
    manifest.digest.first_chunk().copied().unwrap_or_default()
}

/// How many bytes of the payload are in flash for certain: up to the last sector that is not blank,
/// which may be half written, and is erased.
///
/// *Cancellation*: safe; as a power cut, and asked again at the next attempt.
async fn resume<F: NorFlash>(
    place: &mut SpareSlot<'_, F>,
    length: u32,
    quiet: impl AsyncFn(),
) -> Result<u32, Refusal> {
    let sector = F::ERASE_SIZE as u32;
    let end = (place.header.saturating_add(length)).min(place.bytes);
    let mut last = end.div_ceil(sector);
    while last > 0 {
        last -= 1;
        let from = place.start + last * sector;
        if is_blank(place.flash, from) {
            others_first().await;
            continue;
        }
        quiet().await;
        erase(place.flash, from)?;
        break;
    }
    Ok((last * sector).saturating_sub(place.header))
}

/// Whether a sector is erased. Work: one sector.
fn is_blank<F: NorFlash>(flash: &mut F, sector: u32) -> bool {
    let mut piece = [0; PIECE];
    for at in (0..F::ERASE_SIZE as u32).step_by(PIECE) {
        // A word that was cut off may not be readable.
        let read = flash.read(sector + at, &mut piece);
        if read.is_err() || piece.iter().any(|byte| *byte != 0xff) {
            return false;
        }
    }
    true
}

fn erase<F: NorFlash>(flash: &mut F, sector: u32) -> Result<(), Refusal> {
    flash
        .erase(sector, sector + F::ERASE_SIZE as u32)
        .map_err(|_| Refusal::Flash)
}

/// Keeps a short body.
struct Keep<'b> {
    bytes: &'b mut [u8],
    length: usize,
    is_too_long: bool,
    /// What the head said.
    status: u16,
    version: Version,
}

impl<'b> Keep<'b> {
    fn new(bytes: &'b mut [u8]) -> Self {
        Self {
            bytes,
            length: 0,
            is_too_long: false,
            status: 0,
            version: Version::NONE,
        }
    }

    /// Length and version of the manifest, if the answer came `whole`; `None` if it is the one that
    /// is settled. An error without a reason is a broken connection.
    fn end(self, whole: bool) -> Result<Option<(usize, Version)>, Option<Refusal>> {
        match self.status {
            _ if self.is_too_long => Err(Some(Refusal::ManifestLength)),
            _ if !whole => Err(None),
            // Nothing new, or nothing at all: both are how it usually is.
            304 | 404 => Ok(None),
            200 => Ok(Some((self.length, self.version))),
            status => Err(Some(Refusal::Status(status))),
        }
    }
}

impl Body for Keep<'_> {
    fn take(&mut self, head: &Head, bytes: &mut &[u8]) -> bool {
        self.status = head.status;
        self.version = Version {
            etag: head.etag,
            last_modified: head.last_modified,
        };
        if head.status != 200 {
            return true;
        }
        let end = self.length + bytes.len();
        match self.bytes.get_mut(self.length..end) {
            Some(room) => {
                room.iter_mut()
                    .zip(*bytes)
                    .for_each(|(to, from)| *to = *from);
                self.length = end;
            }
            None => self.is_too_long = true,
        }
        true
    }

    fn is_over(&self) -> bool {
        self.is_too_long
    }
}
