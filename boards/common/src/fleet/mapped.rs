//! A fleet's lists on boards whose flash the processor reads like memory: two places between
//! `_lists_start` and `_lists_end` of the memory map. One holds the list in use, the other takes
//! the next one.

use dunlin::boot::BlackBox;
use dunlin::image::Image;
use dunlin::probe::{Board, FleetEvent, Probe};
use dunlin_fleet::kept::{self, CHUNK, KeptList, ListWriter, Place};
use embassy_net::Stack;
use static_cell::ConstStaticCell;

use super::{Home, Memory, Room, fetches};
use crate::partition::ChipFlash;
use crate::{black_box, persist, probe, rtt};

unsafe extern "C" {
    static _lists_start: u8;
    static _lists_end: u8;
}

/// The list in use, and in which place it is.
#[derive(Clone, Copy, Debug)]
struct Found {
    place: usize,
    list: KeptList<'static>,
}

/// Bytes of a place.
fn size() -> usize {
    let start = &raw const _lists_start;
    let end = &raw const _lists_end;
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

fn found<const PAGES: usize, const HOSTS: usize>(number: usize, owner: u32) -> Option<Found> {
    let list = kept::find(place(number), owner)?;
    fits::<PAGES, HOSTS>(list.image).then_some(Found {
        place: number,
        list,
    })
}

/// The image that the device was loaded with, if it was told to belong to a fleet.
pub fn device_image() -> Option<Image<'static>> {
    Some(Home::find()?.image)
}

/// A device that belongs to a fleet.
#[derive(Clone, Copy, Debug)]
pub struct Membership {
    home: Home,
    list: Option<Found>,
    room: Room,
    fits: fn(&[u8]) -> bool,
}

impl Membership {
    /// What the device's settings say; `None` if it is alone, or was loaded with no image. Work:
    /// the lists, each read once or twice.
    pub fn find<const PAGES: usize, const HOSTS: usize>(slots: usize) -> Option<Self> {
        let home = Home::find()?;
        let owner = kept::owner(&home.broker);
        let lists = [0, 1].map(|number| found::<PAGES, HOSTS>(number, owner));
        let lists = lists.into_iter().flatten();
        let list = lists.max_by_key(|found| found.list.version);
        let room = Room {
            pages: PAGES as u16,
            hosts: HOSTS as u16,
            fetches: fetches(slots),
        };
        Some(Self {
            home,
            list,
            room: list.map_or(room, |found| {
                let image = found.list.image;
                let pages = Image::parse(image).map_or(PAGES, |image| image.pages());
                room.beside(pages, image.len(), size() - CHUNK)
            }),
            fits: fits::<PAGES, HOSTS>,
        })
    }

    /// What a device runs on: the planner's list, or before there is one, and where there is no
    /// fleet, what it was loaded with.
    pub fn list(this: Option<&Self>) -> &'static [u8] {
        let found = this.and_then(|this| this.list);
        found.map_or_else(probe::image_flash, |found| found.list.image)
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
        let number = self.list.map_or(0, |found| 1 - found.place);
        let spare = Spare { flash, number };
        let mut lists = ListWriter::new(spare, kept::owner(&self.home.broker), self.fits);
        let version = self.list.map_or(0, |found| found.list.version);
        let room = (self.room, &mut lists);
        let boot = (boot, version);
        super::run(probe, stack, MEMORY.take(), self.home, boot, room).await;
        persist::end().await;
        // Nothing has failed that would have to be counted.
        black_box::put(BlackBox::EMPTY);
        rtt::reset()
    }
}

/// The task `fleet` of a board whose probe has this type and whose flash is driven by one more of
/// these: it keeps the probe in its fleet, and starts the device again with each list that comes.
/// Tasks have no generic parameters, so it is made where the types are known.
#[macro_export]
macro_rules! fleet_task {
    ($probe:ty, $flash:expr) => {
        #[embassy_executor::task]
        async fn fleet(
            member: $crate::fleet::mapped::Membership,
            probe: &'static $probe,
            stack: embassy_net::Stack<'static>,
            boot: u32,
        ) -> ! {
            member.run(probe, stack, boot, $flash).await
        }
    };
}

/// The place that is not in use: where the next list goes.
struct Spare<F> {
    flash: F,
    number: usize,
}

impl<F: ChipFlash> Spare<F> {
    /// Where a byte of it is, as the driver counts.
    fn address(&self, offset: usize) -> u32 {
        const {
            assert!(
                CHUNK.is_multiple_of(F::WRITE_SIZE),
                "a chunk is whole words"
            );
        }
        let start = (&raw const _lists_start).addr() + self.number * size();
        (start + offset) as u32 - F::BASE
    }
}

impl<F: ChipFlash> Place for Spare<F> {
    const SECTOR: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: usize) -> bool {
        let from = self.address(from);
        self.flash.erase(from, from + F::ERASE_SIZE as u32).is_ok()
    }

    fn write(&mut self, at: usize, chunk: &[u8; CHUNK]) -> bool {
        self.flash.write(self.address(at), chunk).is_ok()
    }

    fn bytes(&self) -> &[u8] {
        place(self.number)
    }

    fn tell(&mut self, event: FleetEvent) {
        event.emit();
    }
}
