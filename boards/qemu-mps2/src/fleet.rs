//! A probe of a fleet on this board: lists that its planner sent lie in two places behind the page
//! image. QEMU has RAM there, which a reset leaves alone as it would flash.

use dunlin::fleet::list_digest;
use dunlin::image::Image;
use dunlin::probe::FleetEvent;
use dunlin_board::fleet::{self, Device, Home, Memory, Room};
use embassy_net::Stack;
use qemu_mps2_capacity::{HOSTS, IMAGE_ROOM, PAGES, SLOTS};
use qemu_mps2_flash::kept::Word;
use static_cell::ConstStaticCell;

use crate::options::Options;
use crate::probe::BoardProbe;

/// How a place begins that holds a list.
const MAGIC: u32 = 0x6466_6c31;
/// Before each list: magic, version, length, digest.
const HEADER: usize = 4;
/// Bytes of a place.
const PLACE: usize = IMAGE_ROOM + 4 * HEADER;

unsafe extern "C" {
    static mut _lists_start: u8;
}

/// The list in use: in which place it is, if any, and its version.
#[derive(Clone, Copy, Debug)]
struct Found {
    place: usize,
    version: u32,
    image: &'static [u8],
}

fn start_of(place: usize) -> *mut u8 {
    (&raw mut _lists_start).wrapping_add(place * PLACE)
}

/// What is written before a list.
fn header(place: usize) -> [u32; HEADER] {
    // SAFETY: RAM that the memory map leaves to this module, at a multiple of four; volatile, for
    // another run of the firmware has written it.
    unsafe { start_of(place).cast::<[u32; HEADER]>().read_volatile() }
}

fn set_header(place: usize, header: [u32; HEADER]) {
    // SAFETY: as above.
    unsafe {
        start_of(place)
            .cast::<[u32; HEADER]>()
            .write_volatile(header)
    }
}

/// So many bytes of a place's list.
fn bytes(place: usize, length: usize) -> &'static [u8] {
    let start = start_of(place).wrapping_add(4 * HEADER);
    // SAFETY: RAM that the memory map leaves to this module. What is in use is not written, and
    // what is written is not in use: see `Lists`.
    unsafe { core::slice::from_raw_parts(start, length.min(IMAGE_ROOM)) }
}

/// Can this firmware run on that?
fn is_good(list: &[u8]) -> bool {
    Image::parse(list).is_ok_and(|image| image.pages() <= PAGES && image.hosts() <= HOSTS)
}

fn found(place: usize) -> Option<Found> {
    let [magic, version, length, digest] = header(place);
    let length = length as usize;
    let image = (magic == MAGIC && length <= IMAGE_ROOM).then(|| bytes(place, length))?;
    (list_digest(image) == digest && is_good(image)).then_some(Found {
        place,
        version,
        image,
    })
}

/// The newest list that is whole.
fn newest() -> Option<Found> {
    let found = [found(0), found(1)].into_iter().flatten();
    found.max_by_key(|found| found.version)
}

/// A device that belongs to a fleet.
#[derive(Clone, Copy, Debug)]
pub struct Membership {
    /// What the device was told.
    pub home: Home,
    list: Option<Found>,
}

impl Membership {
    /// What the device's settings say; `None` if it is alone, or was loaded with no image.
    pub fn find() -> Option<Self> {
        Some(Self {
            home: Home::find()?,
            list: newest(),
        })
    }

    /// What the probe runs on: the planner's list, or before there is one what it was loaded with.
    pub fn list(&self) -> &'static [u8] {
        self.list
            .map_or_else(|| self.home.image.as_bytes(), |list| list.image)
    }

    /// Keeps the probe in its fleet until there is another list.
    ///
    /// *Cancellation*: safe.
    pub async fn run(self, probe: &'static BoardProbe, stack: Stack<'static>, boot: u32) {
        static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::NEW);
        let room = Room {
            pages: PAGES as u16,
            hosts: HOSTS as u16,
            fetches: fleet::fetches(SLOTS),
        };
        let room = self.list.map_or(room, |list| {
            let pages = probe.image().pages();
            room.beside(pages, list.image.len(), IMAGE_ROOM)
        });
        let mut lists = Lists {
            spare: self.list.map_or(0, |list| 1 - list.place),
            length: 0,
        };
        let version = self.list.map_or(0, |list| list.version);
        let boot = (boot, version);
        let room = (room, &mut lists);
        fleet::run(probe, stack, MEMORY.take(), self.home, boot, room).await
    }
}

/// A number that tells this start from all others, as far as the command line has brought random
/// numbers: those are the same after a reset, so starts are counted.
pub fn nonce(options: &Options) -> u32 {
    let starts = Word::Starts.get().wrapping_add(1);
    Word::Starts.set(starts);
    if options.entropy.is_none() {
        defmt::warn!("no random numbers: give entropy=HEX, or other probes may be mistaken for it");
    }
    let seed = options.entropy.unwrap_or_default();
    let mut mixed = seed.iter().fold(u64::from(starts), |mixed, byte| {
        mixed.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte)
    });
    dunlin::math::split_mix(&mut mixed) as u32
}

/// Where the next list goes.
struct Lists {
    /// The place that is not in use.
    spare: usize,
    /// Bytes that were written to it.
    length: usize,
}

impl Device for Lists {
    fn room(&self) -> u32 {
        IMAGE_ROOM as u32
    }

    fn begin(&mut self, _: u32) -> bool {
        set_header(self.spare, [0; HEADER]);
        self.length = 0;
        true
    }

    fn write(&mut self, bytes: &[u8]) -> bool {
        let fits = self.length + bytes.len() <= IMAGE_ROOM;
        if fits {
            let start = start_of(self.spare).wrapping_add(4 * HEADER + self.length);
            // SAFETY: within the place that is not in use, of which nobody holds a reference now.
            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) }
            self.length += bytes.len();
        }
        fits
    }

    fn written(&self) -> &[u8] {
        bytes(self.spare, self.length)
    }

    fn keep(&mut self, version: u32) -> bool {
        let list = self.written();
        let good = is_good(list);
        if good {
            let header = [MAGIC, version, list.len() as u32, list_digest(list)];
            set_header(self.spare, header);
        }
        good
    }

    fn tell(&mut self, event: FleetEvent) {
        event.emit();
    }
}
