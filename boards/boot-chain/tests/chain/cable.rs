//! A cable brings a firmware: what was begun before does not count any more.

use boot_chain::{NOTHING_TO_DO, Part};
use embedded_storage::nor_flash::{NorFlash as _, ReadNorFlash as _};

use crate::chip::{Kind, SECTOR};
use crate::device::Device;

/// What the cable writes of the state, on every board.
const MARK: [u8; 32] = [NOTHING_TO_DO; 32];

fn after_a_cable<const WORD: usize, const STATE: usize>(kind: Kind) {
    let device = Device::<WORD, STATE>::new(kind);
    // An update was marked, and then somebody came with a cable.
    device.install(device.dfu(), 2).expect("power");
    device.mark(true).expect("power");
    let mut state = device.state();
    state.erase(0, state.length as u32).expect("power");
    state.write(0, &MARK).expect("power");
    assert_eq!(
        device.boot(true),
        Ok(1),
        "what the cable brought is started"
    );
    // The next update is none the worse for it.
    device.mark(true).expect("power");
    assert_eq!(device.boot(true), Ok(2));
    device.confirm(true).expect("power");
    assert_eq!(device.boot(true), Ok(2));
}

#[test]
fn what_was_marked_before_does_not_count() {
    after_a_cable::<4, 8>(Kind::Nor);
    after_a_cable::<1, 8>(Kind::Nor);
    after_a_cable::<32, 32>(Kind::Ecc);
}

#[test]
fn a_part_knows_its_bounds() {
    let device = Device::<4, 8>::new(Kind::WriteOnce);
    let whole = device.active();
    let end = whole.length as u32;
    let mut part = Part::new(whole, SECTOR as u32, end, || ());
    assert_eq!(part.capacity(), end as usize - SECTOR);
    part.erase(0, SECTOR as u32).expect("within");
    part.write(0, b"here").expect("within");
    let mut bytes = [0; 4];
    device
        .active()
        .read(SECTOR as u32, &mut bytes)
        .expect("read");
    assert_eq!(&bytes, b"here");
    let beyond = end - SECTOR as u32;
    assert!(part.read(beyond, &mut bytes).is_err());
    assert!(part.write(beyond, b"else").is_err());
    assert!(part.erase(0, end).is_err());
    assert!(part.write(u32::MAX - 1, b"wrap").is_err());
}
