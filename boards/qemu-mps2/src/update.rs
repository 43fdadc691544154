//! Updates on this board: slots in the state file, and page lists that are copied from there to
//! where the probe reads them.

use core::cell::Cell;

use dunlin::boot::Boot;
use dunlin::image::Image;
use dunlin::time::Duration;
use dunlin::update::halves::{HEADER, newest};
use dunlin::update::{Released, Terms};
use dunlin_board::memory;
use dunlin_board::update::{PACE, Particulars, Slots, Updates};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embedded_storage::nor_flash::{NorFlash as _, ReadNorFlash as _};
use qemu_mps2_capacity::{
    BOOT_STATE, BOOT_STATE_ROOM, BOOT_WORD, DFU, DFU_ROOM, HOSTS, IMAGE_ROOM, JOURNAL,
    JOURNAL_ROOM, LIST_ROOM, LISTS, PAGES, SECTOR,
};
use qemu_mps2_flash::nor::Part;
use static_cell::ConstStaticCell;

use crate::options::{Fall, Options};
use crate::restart::restart;

/// Updates of this board.
pub type BoardUpdates = Updates<Part, BOOT_WORD>;

const HALVES: [Part; 2] = [
    Part::new(LISTS, LIST_ROOM),
    Part::new(LISTS + LIST_ROOM, LIST_ROOM),
];

unsafe extern "C" {
    static mut _staging_start: u8;
}

/// The list in use: its half, and what it was released as.
static IN_USE: Mutex<CriticalSectionRawMutex, Cell<(usize, Released)>> = Mutex::new(Cell::new((
    0,
    Released {
        sequence: 0,
        counter: 0,
    },
)));

/// Where the list that was loaded says that updates are.
static URL: Mutex<CriticalSectionRawMutex, Cell<Option<&'static str>>> =
    Mutex::new(Cell::new(None));

/// Keeps what the list that was loaded says, before another one takes its place. Call once.
pub fn keep_url(url: Option<&str>) {
    static PLACE: ConstStaticCell<[u8; 128]> = ConstStaticCell::new([0; 128]);
    let place = PLACE.take();
    let kept = url.and_then(|url| {
        let (room, _) = place.split_at_mut_checked(url.len())?;
        room.copy_from_slice(url.as_bytes());
        core::str::from_utf8(room).ok()
    });
    URL.lock(|place| place.set(kept));
}

/// Where updates are: a list that came as one may say so, too.
pub fn url(image: &Image<'static>) -> Option<&'static str> {
    image.update_url().or_else(|| URL.lock(Cell::get))
}

/// Finds out where updates stand.
pub fn start(options: &Options, boot: &Boot) -> BoardUpdates {
    let slots = Slots {
        dfu: Part::new(DFU, DFU_ROOM),
        state: Part::new(BOOT_STATE, BOOT_STATE_ROOM),
        journal: Part::new(JOURNAL, JOURNAL_ROOM),
        halves: HALVES,
    };
    let terms = match options.trial {
        Some((least, most)) => Terms {
            least: Duration::from_secs(least.into()),
            most: Duration::from_secs(most.into()),
            ..Terms::DEFAULT
        },
        None => Terms::DEFAULT,
    };
    let particulars = Particulars {
        board: "qemu-mps2",
        list: IN_USE.lock(Cell::get),
        is_good_list: |half, length| image_of(half, length).is_some(),
        reset: restart,
        terms,
        pace: options
            .look
            .map_or(PACE, |look| Duration::from_secs(look.into())),
    };
    Updates::new(slots, particulars, boot)
}

/// The image in a half, where it can be looked at, if this firmware can run on it.
fn image_of(half: usize, length: u32) -> Option<&'static [u8]> {
    let mut half = *HALVES.get(half)?;
    // Whole words of the flash; what is behind the image is not looked at.
    let length = (length as usize).next_multiple_of(4).min(IMAGE_ROOM);
    // SAFETY: RAM that the memory map leaves to this function alone, which looks at one image at a
    // time: what it returned before is not used any more.
    let place = unsafe { core::slice::from_raw_parts_mut(&raw mut _staging_start, length) };
    half.read(HEADER as u32, place).ok()?;
    let image = Image::parse(place).ok()?;
    (image.pages() <= PAGES && image.hosts() <= HOSTS).then_some(image.as_bytes())
}

/// The newest good list that came as an update, which takes the place of the one that was loaded.
/// `false` if there is none.
pub fn newest_list(place: &mut [u8]) -> bool {
    let mut is_good = |half, length| {
        let image = image_of(half, length);
        let room = image.and_then(|image| Some((place.get_mut(..image.len())?, image)));
        room.map(|(room, image)| room.copy_from_slice(image))
            .is_some()
    };
    let found = newest(&mut HALVES.clone(), &mut is_good);
    if let Some((half, header)) = found {
        IN_USE.lock(|in_use| in_use.set((half, header.release)));
    }
    found.is_some()
}

/// A list was brought by a cable: those that came as updates do not count any more.
pub fn forget_lists() {
    for mut half in HALVES {
        if half.erase(0, SECTOR as u32).is_err() {
            defmt::error!("a list that came as an update could not be forgotten");
        }
    }
}

/// Falls, if this build was told to.
pub fn fall(options: &Options) {
    match options.falls {
        Some((build, Fall::Panic)) if build == memory::build_id() => panic!("told to panic"),
        Some((build, Fall::Hang)) if build == memory::build_id() => loop {
            cortex_m::asm::nop();
        },
        _ => {}
    }
}

/// Was this build told to have no network?
pub fn is_mute(options: &Options) -> bool {
    options.falls == Some((memory::build_id(), Fall::Mute))
}
