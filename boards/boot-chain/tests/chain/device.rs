//! A device: a chip with its partitions, a boot loader, and a firmware that knows which it is.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::OnceLock;

use boot_chain::{FlashError, Marks, StateWords, start, state_sectors};
use dunlin::fetch::{Agent, Url};
use dunlin::update::{
    Device as Facts, Fall, Journal, LONGEST_MANIFEST, Manifest, Network, PayloadKind as What,
    PublicKey, Pulled, Puller, Refusal, Server as Where, SpareSlot, Standing,
};
use embedded_storage::nor_flash::NorFlash as _;
use futures_lite::future::block_on;

use crate::chip::{Chip, Fault, Kind, Part, SECTOR};
use crate::server::{BOARD, Names, Server, key};

/// Sectors of ACTIVE; DFU has one more.
const SLOT: usize = 3;

/// In words of `WORD` bytes, of which `STATE` bytes make one of the boot loader's.
#[derive(Clone, Debug)]
pub struct Device<const WORD: usize, const STATE: usize> {
    pub chip: Rc<RefCell<Chip>>,
}

/// The firmware of a build, 1 or 2: every byte of it says which.
pub fn firmware(build: u64) -> &'static [u8] {
    static BUILDS: [OnceLock<Vec<u8>>; 2] = [const { OnceLock::new() }; 2];
    // Not whole sectors, nor whole words.
    let make = || {
        (0..SLOT * SECTOR - 77)
            .map(|at| (at as u8).wrapping_mul(7).wrapping_add(build as u8 * 101))
            .collect()
    };
    BUILDS[build as usize - 1].get_or_init(make)
}

/// Why the device stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// Flash did not do as it was told; with a power cut to come, that was it.
    Flash,
    /// What would be started is no firmware, but a mixture.
    Mixed,
}

impl From<FlashError> for Halt {
    fn from(_: FlashError) -> Self {
        Self::Flash
    }
}

impl From<Refusal> for Halt {
    fn from(_: Refusal) -> Self {
        Self::Flash
    }
}

impl<const WORD: usize, const STATE: usize> Device<WORD, STATE> {
    /// With firmware 1, as a cable puts it there.
    pub fn new(kind: Kind) -> Self {
        let sectors = 2 * SLOT + 1 + Self::state_sectors() + 2;
        let device = Self {
            chip: Rc::new(RefCell::new(Chip::blank(kind, sectors))),
        };
        device.install(device.active(), 1).expect("power");
        device
    }

    fn state_sectors() -> usize {
        state_sectors(SLOT, STATE, SECTOR)
    }

    fn part(&self, first: usize, sectors: usize) -> Part<WORD> {
        Part {
            chip: self.chip.clone(),
            start: first * SECTOR,
            length: sectors * SECTOR,
        }
    }

    pub fn active(&self) -> Part<WORD> {
        self.part(0, SLOT)
    }

    pub fn dfu(&self) -> Part<WORD> {
        self.part(SLOT, SLOT + 1)
    }

    pub fn state(&self) -> Part<WORD> {
        self.part(2 * SLOT + 1, Self::state_sectors())
    }

    pub fn journal(&self) -> Journal<Part<WORD>> {
        Journal::open(self.part(2 * SLOT + 1 + Self::state_sectors(), 2))
    }

    /// The same device in another world: what happens there does not happen here.
    pub fn copy(&self) -> Self {
        let chip = self.chip.borrow().clone();
        Self {
            chip: Rc::new(RefCell::new(chip)),
        }
    }

    /// Writes a firmware without asking anybody.
    pub fn install(&self, mut slot: Part<WORD>, build: u64) -> Result<(), Halt> {
        slot.erase(0, slot.length as u32).map_err(|_| Halt::Flash)?;
        let mut bytes = firmware(build).to_vec();
        bytes.resize(bytes.len().next_multiple_of(WORD), 0xff);
        slot.write(0, &bytes).map_err(|_| Halt::Flash)
    }

    /// The boot loader, with or without the wrapper of its state; then the build that is started.
    pub fn boot(&self, wrapped: bool) -> Result<u64, Halt> {
        let mut buffer = [0; SECTOR];
        if wrapped {
            let state = StateWords::<_, STATE>::new(self.state());
            start(self.active(), self.dfu(), state, &mut buffer)?;
        } else {
            let config = embassy_boot::BootLoaderConfig {
                active: self.active(),
                dfu: self.dfu(),
                state: self.state(),
            };
            embassy_boot::BootLoader::new(config)
                .prepare_boot(&mut buffer)
                .map_err(|_| Halt::Flash)?;
        }
        let mut bytes = vec![0; SLOT * SECTOR];
        // A word that cannot be read is no instruction, either.
        self.active()
            .read_all(&mut bytes)
            .map_err(|_| Halt::Mixed)?;
        let whole = [1, 2]
            .into_iter()
            .find(|build| bytes.starts_with(firmware(*build)));
        whole.ok_or(Halt::Mixed)
    }

    pub fn mark(&self, wrapped: bool) -> Result<(), Halt> {
        if wrapped {
            return Ok(Marks::<_, STATE>::new(self.state()).mark()?);
        }
        let mut word = vec![0; WORD];
        embassy_boot::BlockingFirmwareState::new(self.state(), &mut word)
            .mark_updated()
            .map_err(|_| Halt::Flash)
    }

    pub fn confirm(&self, wrapped: bool) -> Result<(), Halt> {
        if wrapped {
            Marks::<_, STATE>::new(self.state()).confirm()?;
        } else {
            let mut word = vec![0; WORD];
            embassy_boot::BlockingFirmwareState::new(self.state(), &mut word)
                .mark_booted()
                .map_err(|_| Halt::Flash)?;
        }
        self.journal().change(|record| record.confirm())?;
        Ok(())
    }

    /// Does the boot loader leave what runs where it is?
    fn is_confirmed(&self, wrapped: bool) -> bool {
        if wrapped {
            return Marks::<_, STATE>::new(self.state()).is_confirmed();
        }
        let mut word = vec![0; WORD];
        embassy_boot::BlockingFirmwareState::new(self.state(), &mut word)
            .get_state()
            .is_ok_and(|state| state != embassy_boot::State::Swap)
    }

    /// Would the next start bring the old firmware back?
    pub fn has_way_back(&self, wrapped: bool) -> bool {
        let next = self.copy();
        next.chip.borrow_mut().power = None;
        next.boot(wrapped) == Ok(1)
    }

    /// Notes that the build is tried, and marks it.
    pub fn try_out(&self, manifest: &Manifest<'_>, wrapped: bool) -> Result<(), Halt> {
        self.journal().change(|record| record.try_out(manifest))?;
        self.mark(wrapped)
    }

    /// Where the build that was started stands; what was rolled back is noted, and what was
    /// confirmed before the journal knew it. As on boards.
    pub fn standing(&self, build: u64, wrapped: bool) -> Result<Standing, Halt> {
        let mut journal = self.journal();
        let standing = journal.record().standing(build);
        match standing {
            Standing::OnTrial(_) if self.is_confirmed(wrapped) => {
                journal.change(|record| record.confirm())?;
                return Ok(Standing::Confirmed);
            }
            Standing::RolledBack(_) => journal.change(|record| record.roll_back(Fall::Power))?,
            _ => {}
        }
        Ok(standing)
    }

    /// What the firmware with this build says of itself.
    pub fn facts(&self, build: u64) -> Facts<'static> {
        let journal = self.journal();
        let record = journal.record();
        Facts {
            kind: What::Firmware,
            board: BOARD,
            build,
            sequence: record.firmware.sequence,
            counter: record.firmware.counter,
            room: (SLOT * SECTOR) as u32,
            store: 1,
            image: 1,
            tried: record.attempt.map(|attempt| (attempt.build, attempt.count)),
            on_trial: false,
        }
    }

    /// One look at the server, by a firmware that was just started.
    pub fn look<T>(
        &self,
        server: &mut Server,
        facts: &Facts<'_>,
        then: impl FnOnce(Pulled<'_>) -> T,
    ) -> T {
        // Made once: a key takes as long as half a verification.
        static KEYS: OnceLock<[PublicKey; 2]> = OnceLock::new();
        let keys = KEYS.get_or_init(|| [key(1).public(), key(2).public()]);
        self.look_again(&mut puller(keys), server, facts, then)
    }

    /// One more look by a puller that remembers the looks before.
    pub fn look_again<T>(
        &self,
        puller: &mut Puller<'_>,
        server: &mut Server,
        facts: &Facts<'_>,
        then: impl FnOnce(Pulled<'_>) -> T,
    ) -> T {
        block_on(self.looking(puller, server, facts, then))
    }

    /// One more look, as a future.
    pub async fn looking<T>(
        &self,
        puller: &mut Puller<'_>,
        server: &mut Server,
        facts: &Facts<'_>,
        then: impl FnOnce(Pulled<'_>) -> T,
    ) -> T {
        let mut dfu = self.dfu();
        let mut journal = self.journal();
        let mut file = [0; LONGEST_MANIFEST];
        let mut buffer = [0; 512];
        let place = SpareSlot {
            bytes: dfu.length as u32,
            flash: &mut dfu,
            start: 0,
            header: 0,
        };
        let mut network = Network {
            connect: server,
            resolve: &mut Names,
            buffer: &mut buffer,
        };
        let quiet = async || ();
        let found = puller.look(&mut network, facts, place, &mut journal, quiet, &mut file);
        then(found.await)
    }
}

/// Asks the server of all tests.
pub fn puller(keys: &[PublicKey]) -> Puller<'_> {
    let server = Where {
        url: Url::parse("http://updates.test/updates/manifest").expect("a URL"),
        agent: Agent::new("dunlin/0.1", None).expect("an agent"),
        gateway: None,
    };
    Puller::new(keys, server)
}

impl<const WORD: usize> Part<WORD> {
    pub fn read_all(&mut self, bytes: &mut [u8]) -> Result<(), Fault> {
        embedded_storage::nor_flash::ReadNorFlash::read(self, 0, bytes)
    }
}
