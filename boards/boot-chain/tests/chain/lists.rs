//! Page lists in two halves: the newest good one counts, whatever a power cut leaves.

use std::cell::RefCell;
use std::rc::Rc;

use dunlin::update::Released;
use dunlin::update::halves::{HEADER, Header, newest, seal};
use embedded_storage::nor_flash::NorFlash as _;

use crate::chip::{Chip, Kind, Part, SECTOR};

/// Bytes of one half.
const HALF: usize = 3 * SECTOR;

/// A list whose bytes all say which it is: an image with a checksum would be refused in the same
/// way.
fn list(number: u8) -> Vec<u8> {
    vec![number; 2 * SECTOR + 96]
}

fn is_good(image: &[u8]) -> bool {
    image.len() >= list(0).len()
        && image[0] != 0xff
        && image[..list(0).len()].iter().all(|byte| *byte == image[0])
}

/// What a device with this chip runs on.
fn in_use(chip: &Chip) -> Option<(usize, u32, u8)> {
    let (one, two) = chip.bytes.split_at(HALF);
    newest([one, two], is_good).map(|(half, release, image)| (half, release.sequence, image[0]))
}

/// Puts list `number` into the half that is not in use.
fn switch<const W: usize>(part: &mut Part<W>, number: u8) -> Result<(), ()> {
    let used = in_use(&part.chip.borrow()).map_or(1, |(half, ..)| half);
    let start = ((1 - used) * HALF) as u32;
    part.erase(start, start + HALF as u32).map_err(drop)?;
    let list = list(number);
    part.write(start + HEADER as u32, &list).map_err(drop)?;
    let header = Header {
        release: Released {
            sequence: number.into(),
            counter: 0,
        },
        length: list.len() as u32,
    };
    seal(part, start, &header).map_err(drop)
}

fn cut_everywhere<const W: usize>(kind: Kind) -> u64 {
    let mut chip = Chip::blank(kind, 2 * HALF / SECTOR);
    // As a cable puts it there: no header.
    chip.bytes[..list(9).len()].copy_from_slice(&list(9));
    let part = |chip: Chip| Part::<W> {
        chip: Rc::new(RefCell::new(chip)),
        start: 0,
        length: 2 * HALF,
    };
    let mut cuts = 0;
    for number in 10..14 {
        let before = in_use(&chip).expect("a list");
        let mut whole = part(chip.clone());
        whole.chip.borrow_mut().count = 0;
        switch(&mut whole, number).expect("power");
        let after = in_use(&whole.chip.borrow()).expect("a list");
        assert_eq!((after.1, after.2), (number.into(), number));
        assert_ne!(before.0, after.0);
        let bytes = whole.chip.borrow().count;
        for byte in 0..bytes {
            let mut cut = part(chip.clone());
            cut.chip.borrow_mut().power = Some(byte);
            switch(&mut cut, number).expect_err("a cut");
            cut.chip.borrow_mut().power = None;
            let found = in_use(&cut.chip.borrow()).expect("a list");
            assert_eq!(found, before, "{kind:?} {byte}");
            // And the next one finds its place.
            if byte % 19 == 0 {
                switch(&mut cut, number).expect("power");
                assert_eq!(in_use(&cut.chip.borrow()), Some(after));
            }
            cuts += 1;
        }
        chip = whole.chip.borrow().clone();
    }
    cuts
}

#[test]
fn a_cut_at_every_byte_leaves_the_list_before() {
    let mut cuts = 0;
    for kind in [Kind::Nor, Kind::WriteOnce, Kind::Ecc] {
        cuts += cut_everywhere::<1>(kind);
        cuts += cut_everywhere::<4>(kind);
        cuts += cut_everywhere::<32>(kind);
    }
    println!("{cuts} cuts");
    assert!(cuts > 90_000, "{cuts}");
}
