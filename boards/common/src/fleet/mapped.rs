//! A fleet's lists on boards whose flash the processor reads like memory: two places between
//! `_lists_start` and `_lists_end` of the memory map. One holds the list in use, the other takes
//! the next one.

use dunlin::boot::BlackBox;
use dunlin::fleet::list_digest;
use dunlin::image::Image;
use dunlin::probe::{Board, FleetEvent, Probe};
use embassy_net::Stack;
use static_cell::ConstStaticCell;

use super::{Broker, Device, Memory, Room};
use crate::partition::ChipFlash;
use crate::{black_box, persist, probe, rtt, settings};

/// How a place begins that holds a list.
const MAGIC: u32 = 0x6466_6c31;
/// What is written in one go: a page of the RP2350's flash, eight words of an STM32H7's. The first
/// of a place has magic, version, length and digest, and is written last.
const CHUNK: usize = 256;

unsafe extern "C" {
    static _lists_start: u8;
    static _lists_end: u8;
}

/// The list in use: in which place it is, and its version.
#[derive(Clone, Copy, Debug)]
struct Found {
    place: usize,
    version: u32,
    image: &'static [u8],
}

/// Bytes of a place.
fn size() -> usize {
    let (start, end) = (&raw const _lists_start, &raw const _lists_end);
    end.addr().saturating_sub(start.addr()) / 2
}

/// A place, whatever is in it.
fn place(number: usize) -> &'static [u8] {
    let start = (&raw const _lists_start).wrapping_add(number * size());
    // SAFETY: the memory map sets this part of flash apart. The place in use is not written; the
    // other one is, but nobody holds a reference to it meanwhile.
    unsafe { core::slice::from_raw_parts(start, size()) }
}

/// Can a board with room for so many pages and hosts run on that?
fn fits<const PAGES: usize, const HOSTS: usize>(list: &[u8]) -> bool {
    Image::parse(list).is_ok_and(|image| image.pages() <= PAGES && image.hosts() <= HOSTS)
}

fn found<const PAGES: usize, const HOSTS: usize>(number: usize) -> Option<Found> {
    let (header, rest) = place(number).split_at_checked(CHUNK)?;
    let word = |at: usize| {
        let bytes = header.get(4 * at..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    };
    let (magic, version, length, digest) = (word(0)?, word(1)?, word(2)?, word(3)?);
    let image = rest
        .get(..length as usize)
        .filter(|_| magic == MAGIC && version > 0)?;
    (list_digest(image) == digest && fits::<PAGES, HOSTS>(image)).then_some(Found {
        place: number,
        version,
        image,
    })
}

/// The image that the device was loaded with, if it was told to belong to a fleet.
pub fn device_image() -> Option<Image<'static>> {
    super::broker(settings::read())?;
    Image::parse(probe::image_flash()).ok()
}

/// A device that belongs to a fleet.
#[derive(Clone, Copy, Debug)]
pub struct Membership {
    broker: Broker<'static>,
    /// The image that the device was loaded with.
    image: Image<'static>,
    list: Option<Found>,
    room: Room,
    fits: fn(&[u8]) -> bool,
}

impl Membership {
    /// What the device's settings say; `None` if it is alone, or was loaded with no image.
    /// `fetches` a day are what its slots can make. Work: the lists, each read once or twice.
    pub fn find<const PAGES: usize, const HOSTS: usize>(fetches: f32) -> Option<Self> {
        let lists = [found::<PAGES, HOSTS>(0), found::<PAGES, HOSTS>(1)];
        Some(Self {
            broker: super::broker(settings::read())?,
            image: Image::parse(probe::image_flash()).ok()?,
            list: lists.into_iter().flatten().max_by_key(|list| list.version),
            room: Room {
                pages: PAGES as u16,
                hosts: HOSTS as u16,
                fetches,
            },
            fits: fits::<PAGES, HOSTS>,
        })
    }

    /// What the probe runs on: the planner's list, or before there is one what it was loaded with.
    pub fn list(&self) -> &'static [u8] {
        self.list
            .map_or_else(|| self.image.as_bytes(), |list| list.image)
    }

    /// Keeps the probe in its fleet until there is another list, saves what is not saved yet, and
    /// starts the device again with it. `boot` was drawn at random; `flash` is a driver of the
    /// chip's flash, of its own. [`persist::keep`] has to run.
    ///
    /// *Cancellation*: safe.
    pub async fn run<B: Board, F: ChipFlash>(
        self,
        probe: &Probe<'static, B>,
        stack: Stack<'static>,
        boot: u32,
        flash: F,
    ) -> ! {
        static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::NEW);
        let spare = self.list.map_or(0, |list| 1 - list.place);
        let mut lists = Lists::new(flash, spare, self.fits);
        let version = self.list.map_or(0, |list| list.version);
        let who = (self.broker, self.image);
        let room = (self.room, &mut lists);
        super::run(probe, stack, MEMORY.take(), who, (boot, version), room).await;
        persist::end().await;
        // Nothing has failed that would have to be counted.
        black_box::put(BlackBox::EMPTY);
        rtt::reset()
    }
}

/// Where the next list goes. A sector is erased when the first byte of it comes, so that no call
/// stops the device for longer than one erase or two.
struct Lists<F> {
    flash: F,
    /// The place that is not in use.
    spare: usize,
    fits: fn(&[u8]) -> bool,
    /// Bytes that were announced, …
    announced: usize,
    /// … those that are in flash, behind the header, …
    length: usize,
    /// … and those that do not fill a chunk yet.
    chunk: [u8; CHUNK],
    held: usize,
    /// Bytes of the place, from its beginning, that are erased.
    erased: usize,
}

impl<F: ChipFlash> Lists<F> {
    fn new(flash: F, spare: usize, fits: fn(&[u8]) -> bool) -> Self {
        const {
            assert!(
                CHUNK.is_multiple_of(F::WRITE_SIZE),
                "a chunk is whole words"
            );
        }
        Self {
            flash,
            spare,
            fits,
            announced: 0,
            length: 0,
            chunk: [0; CHUNK],
            held: 0,
            erased: 0,
        }
    }

    /// Where a byte of the spare place is, as the driver counts.
    fn address(&self, offset: usize) -> u32 {
        let start = (&raw const _lists_start).addr() + self.spare * size();
        (start + offset) as u32 - F::BASE
    }

    /// Erases as much of the place as has to be for so many bytes.
    fn erase_to(&mut self, end: usize) -> bool {
        while self.erased < end {
            let from = self.address(self.erased);
            if self.flash.erase(from, from + F::ERASE_SIZE as u32).is_err() {
                return false;
            }
            self.erased += F::ERASE_SIZE;
        }
        true
    }

    /// Writes what is held, and ones behind it.
    fn flush(&mut self) -> bool {
        let at = CHUNK + self.length;
        if let Some(rest) = self.chunk.get_mut(self.held..) {
            rest.fill(0xff);
        }
        let address = self.address(at);
        let written = self.erase_to(at + CHUNK) && self.flash.write(address, &self.chunk).is_ok();
        self.length += self.held;
        self.held = 0;
        written
    }
}

impl<F: ChipFlash> Device for Lists<F> {
    fn room(&self) -> u32 {
        size().saturating_sub(CHUNK) as u32
    }

    fn begin(&mut self, length: u32) -> bool {
        (self.length, self.held, self.erased) = (0, 0, 0);
        self.announced = length as usize;
        // With its header goes the list that was there.
        self.erase_to(CHUNK)
    }

    fn write(&mut self, mut bytes: &[u8]) -> bool {
        if self.length + self.held + bytes.len() > self.announced.min(self.room() as usize) {
            return false;
        }
        while !bytes.is_empty() {
            let free = self.chunk.get_mut(self.held..).unwrap_or_default();
            let (now, later) = bytes.split_at(free.len().min(bytes.len()));
            for (to, from) in free.iter_mut().zip(now) {
                *to = *from;
            }
            self.held += now.len();
            bytes = later;
            let is_last = self.length + self.held == self.announced;
            if (self.held == CHUNK || is_last) && !self.flush() {
                return false;
            }
        }
        true
    }

    fn written(&self) -> &[u8] {
        let list = place(self.spare).get(CHUNK..);
        let list = list.and_then(|list| list.get(..self.length));
        list.unwrap_or_default()
    }

    fn keep(&mut self, version: u32) -> bool {
        let list = self.written();
        if !(self.fits)(list) {
            return false;
        }
        let header = [MAGIC, version, list.len() as u32, list_digest(list)];
        let mut chunk = [0xff; CHUNK];
        for (to, word) in chunk.chunks_exact_mut(4).zip(header) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        self.flash.write(self.address(0), &chunk).is_ok()
    }

    fn tell(&mut self, event: FleetEvent) {
        event.emit();
    }
}
