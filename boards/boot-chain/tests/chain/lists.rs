//! Page lists in two halves: the newest good one counts, whatever a power cut leaves.

use std::cell::RefCell;
use std::rc::Rc;

use dunlin::update::Released;
use dunlin::update::halves::{HEADER, Header, newest, seal};
use embedded_storage::nor_flash::{NorFlash as _, ReadNorFlash as _};

use crate::chip::{Chip, Kind, Part, SECTOR};

/// Bytes of one half.
const HALF: usize = 3 * SECTOR;

/// A list whose bytes all say which it is: an image with a checksum would be refused in the same
/// way.
fn list(number: u8) -> Vec<u8> {
    vec![number; 2 * SECTOR + 96]
}

/// The halves of a device with this chip.
fn halves<const W: usize>(chip: &Rc<RefCell<Chip>>) -> [Part<W>; 2] {
    [0, HALF].map(|start| Part {
        chip: Rc::clone(chip),
        start,
        length: HALF,
    })
}

/// Which list is at this place of a half, read as a device reads it: what cannot be read is none.
fn image<const W: usize>(half: &mut Part<W>, at: usize, length: u32) -> Option<u8> {
    let mut bytes = vec![0; length as usize];
    half.read(at as u32, &mut bytes).ok()?;
    let first = *bytes.first()?;
    (bytes == list(first) && first != 0xff).then_some(first)
}

/// What a device with this chip runs on: half, sequence, list. As boards choose it: what came as an
/// update, or else what a cable has put into the first half.
fn in_use<const W: usize>(chip: &Rc<RefCell<Chip>>) -> Option<(usize, u32, u8)> {
    let mut read = halves::<W>(chip);
    let mut is_good = |half: usize, length| image(&mut read[half], HEADER, length).is_some();
    let found = newest(&mut halves::<W>(chip), &mut is_good);
    match found {
        Some((half, header)) => {
            let number = image(&mut read[half], HEADER, header.length)?;
            Some((half, header.release.sequence, number))
        }
        None => image(&mut read[0], 0, list(0).len() as u32).map(|number| (0, 0, number)),
    }
}

/// Puts list `number` into the half that is not in use.
fn switch<const W: usize>(chip: &Rc<RefCell<Chip>>, number: u8) -> Result<(), ()> {
    let used = in_use::<W>(chip).map_or(1, |(half, ..)| half);
    let spare = &mut halves::<W>(chip)[1 - used];
    spare.erase(0, HALF as u32).map_err(drop)?;
    let list = list(number);
    spare.write(HEADER as u32, &list).map_err(drop)?;
    let header = Header {
        release: Released {
            sequence: number.into(),
            counter: 0,
        },
        length: list.len() as u32,
    };
    seal(spare, 0, &header).map_err(drop)
}

fn cut_everywhere<const W: usize>(kind: Kind) -> u64 {
    let mut chip = Chip::blank(kind, 2 * HALF / SECTOR);
    // As a cable puts it there: no header.
    chip.bytes[..list(9).len()].copy_from_slice(&list(9));
    let shared = |chip: &Chip| Rc::new(RefCell::new(chip.clone()));
    let mut cuts = 0;
    for number in 10..14 {
        let before = in_use::<W>(&shared(&chip)).expect("a list");
        let whole = shared(&chip);
        whole.borrow_mut().count = 0;
        switch::<W>(&whole, number).expect("power");
        let after = in_use::<W>(&whole).expect("a list");
        assert_eq!((after.1, after.2), (number.into(), number));
        assert_ne!(before.0, after.0);
        let bytes = whole.borrow().count;
        for byte in 0..bytes {
            let cut = shared(&chip);
            cut.borrow_mut().power = Some(byte);
            switch::<W>(&cut, number).expect_err("a cut");
            cut.borrow_mut().power = None;
            let found = in_use::<W>(&cut).expect("a list");
            assert_eq!(found, before, "{kind:?} {byte}");
            // And the next one finds its place.
            if byte % 19 == 0 {
                switch::<W>(&cut, number).expect("power");
                assert_eq!(in_use::<W>(&cut), Some(after));
            }
            cuts += 1;
        }
        chip = whole.borrow().clone();
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

/// What the newest half holds is damaged after it was in use, in its header or behind it: the one
/// before counts again.
#[test]
fn a_half_that_cannot_be_read_gives_way_to_the_one_before() {
    const W: usize = 32;
    for place in [0, HEADER, HEADER + 900] {
        let chip = Rc::new(RefCell::new(Chip::blank(Kind::Ecc, 2 * HALF / SECTOR)));
        chip.borrow_mut().bytes[..list(9).len()].copy_from_slice(&list(9));
        for number in 10..12 {
            switch::<W>(&chip, number).expect("power");
        }
        let (half, sequence, number) = in_use::<W>(&chip).expect("a list");
        assert_eq!((sequence, number), (11, 11));
        chip.borrow_mut().spoil((half * HALF + place) / W);
        assert_eq!(in_use::<W>(&chip), Some((1 - half, 10, 10)), "{place}");
    }
}
