//! The power goes at every byte of download, mark, swap, confirmation and revert.

use std::sync::OnceLock;

use dunlin::update::{Manifest, Pulled, Refusal, Standing};

use crate::chip::Kind;
use crate::device::{Device, Halt, firmware};
use crate::server::{good, key, manifest};

/// What a new firmware is worth, and whether the state is wrapped.
#[derive(Clone, Copy, Debug)]
struct World {
    /// The new firmware does its work, and is confirmed.
    is_good: bool,
    wrapped: bool,
    /// It is fetched from a server; else it is put there without asking.
    fetched: bool,
}

/// How a device fares once it is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It runs this build, which is confirmed, and nothing more is to be done.
    Settled(u64),
    /// It does not start any more.
    Dead,
    /// It starts a mixture.
    Mixed,
    /// It does not know whether what runs is on trial.
    Confused,
}

/// One start: the boot loader, then what the firmware does until the next start. `None` if it goes
/// on.
fn one_start<const W: usize, const S: usize>(
    device: &Device<W, S>,
    world: World,
) -> Result<Option<Fate>, Halt> {
    let build = device.boot(world.wrapped)?;
    let standing = device.standing(build, world.wrapped)?;
    let record = *device.journal().record();
    // The old one is never on trial; the new one is, until it is confirmed. Who gives itself up on
    // trial has to have a way back: without one it would start again for ever.
    let known = match (build, standing) {
        (1, Standing::Confirmed | Standing::RolledBack(_)) => record.firmware.sequence < 2,
        (2, Standing::OnTrial(_)) => device.has_way_back(world.wrapped),
        (2, Standing::Confirmed) => record.firmware.sequence == 2,
        _ => false,
    };
    if !known {
        return Ok(Some(Fate::Confused));
    }
    if build == 2 {
        if let Standing::Confirmed = standing {
            return Ok(Some(Fate::Settled(2)));
        }
        if world.is_good {
            device.confirm(world.wrapped)?;
        }
        return Ok(None);
    }
    static MANIFEST: OnceLock<Manifest<'_>> = OnceLock::new();
    let payload = firmware(2);
    let manifest = MANIFEST.get_or_init(|| manifest(payload));
    if record.tried(2) >= dunlin::update::MOST_ATTEMPTS {
        return Ok(Some(Fate::Settled(1)));
    }
    if world.fetched {
        static SIGNED: OnceLock<String> = OnceLock::new();
        let signed = SIGNED.get_or_init(|| key(1).sign(&manifest.text(), ""));
        let mut server = good(signed.clone(), payload.to_vec());
        let facts = device.facts(1);
        let ready = device.look(&mut server, &facts, |found| match found {
            Pulled::Ready(_) => Ok(()),
            Pulled::Refused(Refusal::Flash) => Err(Halt::Flash),
            other => panic!("{other:?}"),
        });
        ready?;
    } else {
        device.install(device.dfu(), 2)?;
    }
    device.try_out(manifest, world.wrapped)?;
    Ok(None)
}

/// Starts it again and again, until it has settled.
fn fate<const W: usize, const S: usize>(device: &Device<W, S>, world: World) -> Fate {
    for _ in 0..16 {
        match one_start(device, world) {
            Ok(Some(fate)) => return fate,
            Ok(None) | Err(Halt::Flash) => {}
            Err(Halt::Mixed) => return Fate::Mixed,
        }
    }
    Fate::Dead
}

/// Counts of fates after a cut at every byte of one start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fates {
    cuts: u64,
    settled: u64,
    dead: u64,
    mixed: u64,
    confused: u64,
}

impl Fates {
    fn count(&mut self, fate: Fate) {
        self.cuts += 1;
        *match fate {
            Fate::Settled(_) => &mut self.settled,
            Fate::Dead => &mut self.dead,
            Fate::Mixed => &mut self.mixed,
            Fate::Confused => &mut self.confused,
        } += 1;
    }
}

/// Cuts the power at every `step`-th byte of everything that happens until the device has settled,
/// start by start.
fn cut_everywhere<const W: usize, const S: usize>(kind: Kind, world: World, step: u64) -> Fates {
    let device: Device<W, S> = Device::new(kind);
    let mut fates = Fates::default();
    for _ in 0..16 {
        let before = device.copy();
        device.chip.borrow_mut().count = 0;
        let settled = one_start(&device, world).expect("power");
        let bytes = device.chip.borrow().count;
        for byte in (0..bytes).step_by(step as usize) {
            let device = before.copy();
            device.chip.borrow_mut().power = Some(byte);
            let cut = one_start(&device, world);
            assert_eq!(cut.expect_err("a cut"), Halt::Flash, "{kind:?} {byte}");
            device.chip.borrow_mut().power = None;
            fates.count(fate(&device, world));
        }
        if settled.is_some() {
            return fates;
        }
    }
    panic!("never settled");
}

/// All kinds of flash with words of one length.
fn all_kinds<const W: usize, const S: usize>(world: World, step: u64) -> Fates {
    let mut sum = Fates::default();
    for kind in [Kind::Nor, Kind::WriteOnce, Kind::Ecc] {
        let fates = cut_everywhere::<W, S>(kind, world, step);
        println!("words of {W}, {kind:?}, {world:?}: {fates:?}");
        let expected = Fates {
            cuts: fates.cuts,
            settled: fates.cuts,
            ..Fates::default()
        };
        assert_eq!(fates, expected, "words of {W}, {kind:?}, {world:?}");
        sum.cuts += fates.cuts;
    }
    sum
}

const WRAPPED: World = World {
    is_good: true,
    wrapped: true,
    fetched: false,
};

/// All words and kinds, at every byte in a long run, else at every `step`-th: how many cuts at
/// every byte that stands for.
fn all_words(world: World, step: u64) -> u64 {
    let step = match std::env::var_os("DUNLIN_LONG") {
        Some(_) => 1,
        None => step,
    };
    let cuts = all_kinds::<1, 8>(world, step).cuts
        + all_kinds::<4, 8>(world, step).cuts
        + all_kinds::<32, 32>(world, step).cuts;
    cuts * step
}

#[test]
fn in_swap_and_confirmation_leave_one_whole_firmware_that_knows_itself() {
    let cuts = all_words(WRAPPED, 7);
    assert!(cuts > 100_000, "{cuts}");
}

#[test]
fn in_swaps_and_reverts_of_a_firmware_that_fails_leave_the_old_one() {
    // Three attempts, each with a revert.
    let world = World {
        is_good: false,
        ..WRAPPED
    };
    let cuts = all_words(world, 29);
    assert!(cuts > 470_000, "{cuts}");
}

#[test]
fn in_a_download_lose_nothing_but_a_sector() {
    // Each of these verifies signatures, which takes its time.
    let world = World {
        fetched: true,
        ..WRAPPED
    };
    let cuts = all_words(world, 193);
    assert!(cuts > 100_000, "{cuts}");
}

/// What the wrapper is for: without it the same cuts kill a device whose flash corrects errors, and
/// plain flash lives.
#[test]
fn kill_a_device_whose_state_is_not_wrapped() {
    let world = World {
        wrapped: false,
        ..WRAPPED
    };
    let dead = cut_everywhere::<32, 32>(Kind::Ecc, world, 1);
    println!("without the wrapper: {dead:?}");
    assert!(dead.dead > 100, "{dead:?}");
    let plain = cut_everywhere::<32, 32>(Kind::Nor, world, 1);
    assert_eq!(plain.dead, 0, "{plain:?}");
}
