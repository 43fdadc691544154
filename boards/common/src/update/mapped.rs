//! Updates of boards whose flash the processor reads like memory, and whose memory map says what is
//! where: `partitions.x` beside the board's memory.x, which its boot loader includes, too.

use boot_chain::Part;
use dunlin::boot::Boot;
use dunlin::image::Image;
use dunlin::probe::{Board, Probe};
use dunlin::settings::SettingKey;
use dunlin::update::halves::{HEADER, newest};
use dunlin::update::{Released, Terms};
use embedded_storage::nor_flash::{ErrorType, NorFlashErrorKind, ReadNorFlash};

use super::{PACE, Particulars, Slots, Updates};
use crate::partition::ChipFlash;
use crate::{rtt, settings};

unsafe extern "C" {
    static _boot_state_start: u8;
    static _boot_state_end: u8;
    static _journal_start: u8;
    static _journal_end: u8;
    static _dfu_start: u8;
    static _dfu_end: u8;
    static _image_start: u8;
    static _image_end: u8;
    static _spare_image_start: u8;
    static _spare_image_end: u8;
}

/// The list that the device runs on.
#[derive(Clone, Copy, Debug)]
pub struct List {
    half: usize,
    released: Released,
    /// Its page image, or what is where one should be.
    pub image: &'static [u8],
}

/// Chooses the newest list that is good for so many pages and hosts; a list that a cable has
/// brought is the oldest, and looked at by who loads it. Work: the half that is chosen, as a rule.
pub fn choose<const PAGES: usize, const HOSTS: usize>() -> List {
    let halves = halves();
    let newest = newest(&mut halves.map(Mapped), &mut is_good::<PAGES, HOSTS>);
    let came = newest.and_then(|(half, header)| {
        let released = header.release;
        let image = image_of(halves.get(half)?, header.length)?;
        Some(List {
            half,
            released,
            image,
        })
    });
    came.unwrap_or(List {
        half: 0,
        released: Released::default(),
        image: halves[0],
    })
}

/// Flash that the processor reads like memory.
struct Mapped(&'static [u8]);

impl ErrorType for Mapped {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Mapped {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        let from = self.0.get(offset as usize..);
        let from = from.and_then(|rest| rest.get(..bytes.len()));
        bytes.copy_from_slice(from.ok_or(NorFlashErrorKind::OutOfBounds)?);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.len()
    }
}

/// So many bytes behind the header of a half.
fn image_of(half: &'static [u8], length: u32) -> Option<&'static [u8]> {
    half.get(HEADER..)?.get(..length as usize)
}

/// The halves of flash that hold lists, whatever is in them.
fn halves() -> [&'static [u8]; 2] {
    let half = |from: *const u8, to: *const u8| {
        let length = to.addr().saturating_sub(from.addr());
        // SAFETY: the memory map sets this part of flash apart. The half in use is not written; the
        // other one is, but nobody looks at it meanwhile.
        unsafe { core::slice::from_raw_parts(from, length) }
    };
    [
        half(&raw const _image_start, &raw const _image_end),
        half(&raw const _spare_image_start, &raw const _spare_image_end),
    ]
}

/// Is the image behind the header of this half, of so many bytes, one that the board can run on?
fn is_good<const PAGES: usize, const HOSTS: usize>(half: usize, length: u32) -> bool {
    let halves = halves();
    let image = halves.get(half).and_then(|half| image_of(half, length));
    let image = image.and_then(|image| Image::parse(image).ok());
    image.is_some_and(|image| image.pages() <= PAGES && image.hosts() <= HOSTS)
}

/// What lies between two addresses of flash.
#[inline(never)] // Once for all parts.
fn part<F: ChipFlash>(driver: fn() -> F, from: *const u8, to: *const u8) -> Part<F> {
    let place = |address: *const u8| (address.addr() as u32).saturating_sub(F::BASE);
    Part::new(driver(), place(from), place(to), || ())
}

/// Finds out where updates of this board stand. `driver` makes one more driver of its flash; words
/// of the boot loader's state have `WORD` bytes.
pub fn start<F: ChipFlash, const WORD: usize, const PAGES: usize, const HOSTS: usize>(
    board: &'static str,
    driver: fn() -> F,
    list: &List,
    boot: &Boot,
) -> Updates<Part<F>, WORD> {
    let part = |from, to| part(driver, from, to);
    let slots = Slots {
        dfu: part(&raw const _dfu_start, &raw const _dfu_end),
        state: part(&raw const _boot_state_start, &raw const _boot_state_end),
        journal: part(&raw const _journal_start, &raw const _journal_end),
        halves: [
            part(&raw const _image_start, &raw const _image_end),
            part(&raw const _spare_image_start, &raw const _spare_image_end),
        ],
    };
    let particulars = Particulars {
        board,
        list: (list.half, list.released),
        is_good_list: is_good::<PAGES, HOSTS>,
        reset: rtt::reset,
        terms: Terms::DEFAULT,
        pace: PACE,
    };
    Updates::new(slots, particulars, boot)
}

/// Where updates are: what the device was told by a cable counts more than what its list says.
pub fn url<B: Board>(probe: &Probe<'static, B>) -> Option<&'static str> {
    settings::read()
        .get(SettingKey::UpdateUrl)
        .or_else(|| probe.image().update_url())
}
