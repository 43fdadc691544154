//! What must be known of updates after a restart: which sequences are in use, which build is being
//! tried and how often, what was refused, and how far a download is.
//!
//! Records of one size are appended to two sectors in turn; the newest whole one counts. A write
//! that was cut leaves a place that is passed over, so the record before or after it is found,
//! never a mix. Words are written once.
//!
//! ```text
//! partition   sector 0 | sector 1
//! sector      record · record · … · blank
//! record      magic u16 · version u8 · number u32 · fields · blank · checksum u32   (160 bytes)
//! ```

use embedded_storage::nor_flash::NorFlash;

use super::fields::{Reader, Writer, is_sealed, seal};
use super::manifest::{Manifest, PayloadKind};
use super::refusal::{Refusal, name_of};
use crate::fetch::Etag;

/// Bytes of a record: whole words of every flash.
const RECORD: usize = 160;
const MAGIC: u16 = 0x7564;
/// The version of the format.
const VERSION: u8 = 1;
/// What is written before the checksum: not even zeros have it.
const SEAL: &[u8] = b"dunlin update journal";

/// What is in use of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Released {
    /// The sequence of the release.
    pub sequence: u32,
    /// The highest security counter that was confirmed.
    pub counter: u32,
}

/// A build that was marked to be started, or is about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Attempt {
    /// The build's identity, as in its manifest.
    pub build: u64,
    /// What is in use once it is confirmed.
    pub release: Released,
    /// How often it was tried, this time included.
    pub count: u8,
    /// It was rolled back.
    pub over: bool,
}

/// A download that was begun: its place is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Whether firmware or a list is downloaded.
    pub kind: PayloadKind,
    /// The first bytes of its digest.
    pub digest: [u8; 8],
    /// The version that the server named.
    pub etag: Option<Etag>,
}

/// What was refused last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Last {
    /// [`Refusal::code`], or 0; of a firmware that was rolled back, [`Last::ROLLED_BACK`] and
    /// [why](Fall).
    pub code: u8,
    /// The sequence of what was refused, as far as it is known.
    pub sequence: u32,
}

impl Last {
    /// A firmware was rolled back. What is added is [why](Fall).
    pub const ROLLED_BACK: u8 = 128;

    /// A word for why.
    pub const fn name(self) -> &'static str {
        if self.code & Self::ROLLED_BACK == 0 {
            name_of(self.code)
        } else {
            Fall::of(self.code & !Self::ROLLED_BACK).name()
        }
    }
}

/// Why a firmware on trial was rolled back. Numbers keep their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fall {
    /// It was started again, and nobody knows why.
    Restart = 0,
    /// The power was cut.
    Power = 1,
    /// It hung: the watchdog was not fed.
    Hang = 2,
    /// The firmware panicked.
    Panic = 3,
    /// It fetched too few pages in time.
    NoPages = 4,
    /// It did not reach the update server in time.
    NoServer = 5,
}

impl Fall {
    /// The reason that a number in flash stands for.
    pub const fn of(code: u8) -> Self {
        match code {
            1 => Self::Power,
            2 => Self::Hang,
            3 => Self::Panic,
            4 => Self::NoPages,
            5 => Self::NoServer,
            _ => Self::Restart,
        }
    }

    /// A word for it, for logs and figures; words keep their meaning.
    #[inline(never)] // Once for all who say it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Power => "power",
            Self::Hang => "hang",
            Self::Panic => "panic",
            Self::NoPages => "no-pages",
            Self::NoServer => "no-server",
        }
    }
}

/// Everything that is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalRecord {
    /// The firmware that is confirmed.
    pub firmware: Released,
    /// The page list in use.
    pub list: Released,
    /// The build that was tried last.
    pub attempt: Option<Attempt>,
    /// The download that is under way.
    pub begun: Option<Begun>,
    /// What was refused last.
    pub last: Last,
}

/// Where the firmware that runs stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Standing {
    /// It is confirmed, or was never updated.
    Confirmed,
    /// It is being tried, for the so manieth time.
    OnTrial(u8),
    /// Another one was tried, and this one is back.
    RolledBack(Attempt),
}

impl JournalRecord {
    /// Where the firmware with this build stands. The boot loader's own word is not asked: after a
    /// power cut it may call a new firmware an old one.
    pub fn standing(&self, build: u64) -> Standing {
        match self.attempt {
            Some(attempt) if !attempt.over && attempt.build == build => {
                Standing::OnTrial(attempt.count)
            }
            Some(attempt) if !attempt.over => Standing::RolledBack(attempt),
            _ => Standing::Confirmed,
        }
    }

    /// Before this firmware is marked to be started: it is tried once more.
    pub fn try_out(&mut self, manifest: &Manifest<'_>) {
        let before = self.tried(manifest.build);
        self.attempt = Some(Attempt {
            build: manifest.build,
            release: Released {
                sequence: manifest.sequence,
                counter: manifest.counter,
            },
            count: before.saturating_add(1),
            over: false,
        });
        // From here on, what lies in the slot is not what was fetched.
        self.begun = None;
    }

    /// How often this build was tried.
    pub fn tried(&self, build: u64) -> u8 {
        self.attempt
            .filter(|attempt| attempt.build == build)
            .map_or(0, |attempt| attempt.count)
    }

    /// The firmware on trial is confirmed: from here on, nothing older is accepted.
    pub fn confirm(&mut self) {
        if let Some(attempt) = self.attempt.take() {
            self.firmware = Released {
                sequence: attempt.release.sequence,
                counter: self.firmware.counter.max(attempt.release.counter),
            };
        }
    }

    /// The firmware on trial was rolled back, and why.
    pub fn roll_back(&mut self, why: Fall) {
        if let Some(attempt) = &mut self.attempt {
            attempt.over = true;
            self.last = Last {
                code: Last::ROLLED_BACK | why as u8,
                sequence: attempt.release.sequence,
            };
        }
    }

    /// This list is in use from the next start on.
    pub fn take_list(&mut self, manifest: &Manifest<'_>) {
        self.begun = None;
        self.list = Released {
            sequence: manifest.sequence,
            counter: self.list.counter.max(manifest.counter),
        };
    }

    #[inline(never)] // Once for both callers.
    fn encode(&self, number: u32) -> [u8; RECORD] {
        let mut bytes = [0xff; RECORD];
        let mut to = Writer(&mut bytes);
        to.put(&MAGIC.to_le_bytes());
        to.put(&[VERSION]);
        to.put(&number.to_le_bytes());
        to.released(self.firmware);
        to.released(self.list);
        let attempt = self.attempt.unwrap_or(Attempt {
            build: 0,
            release: Released::default(),
            count: 0,
            over: false,
        });
        to.put(&[self.attempt.is_some().into()]);
        to.put(&attempt.build.to_le_bytes());
        to.released(attempt.release);
        to.put(&[attempt.count, attempt.over.into()]);
        to.put(&[self.last.code]);
        to.put(&self.last.sequence.to_le_bytes());
        to.put(&[match self.begun.map(|begun| begun.kind) {
            None => 0,
            Some(PayloadKind::Firmware) => 1,
            Some(PayloadKind::List) => 2,
        }]);
        to.put(&self.begun.map_or([0; 8], |begun| begun.digest));
        let etag = self.begun.and_then(|begun| begun.etag);
        let etag = etag.as_ref().map_or(&[][..], Etag::as_bytes);
        to.put(&[etag.len() as u8]);
        to.put(etag);
        seal(SEAL, &mut bytes);
        bytes
    }

    /// The number and the record, if this is a whole one of a version that is known.
    fn decode(bytes: &[u8; RECORD]) -> Option<(u32, Self)> {
        // First, because most places of a large sector are blank, and a device has to start soon.
        if !bytes.starts_with(&MAGIC.to_le_bytes()) || !is_sealed(SEAL, bytes) {
            return None;
        }
        let mut from = Reader(bytes);
        let _magic = from.number(2);
        if from.number(1) != u64::from(VERSION) {
            return None;
        }
        let number = from.number(4) as u32;
        let firmware = from.released();
        let list = from.released();
        let tried = from.number(1);
        let attempt = Attempt {
            build: from.number(8),
            release: from.released(),
            count: from.number(1) as u8,
            over: from.number(1) != 0,
        };
        let code = from.number(1) as u8;
        let sequence = from.number(4) as u32;
        let kind = match from.number(1) {
            1 => Some(PayloadKind::Firmware),
            2 => Some(PayloadKind::List),
            _ => None,
        };
        let digest = from.number(8).to_le_bytes();
        let length = from.number(1) as usize;
        let etag = from.0.get(..length).and_then(Etag::new);
        let record = Self {
            firmware,
            list,
            attempt: (tried != 0).then_some(attempt),
            begun: kind.map(|kind| Begun { kind, digest, etag }),
            last: Last { code, sequence },
        };
        Some((number, record))
    }
}

/// The journal in its part of flash: two sectors or more, of which the first two are used.
#[derive(Debug)]
pub struct Journal<F> {
    flash: F,
    /// The newest record, which holds now.
    record: JournalRecord,
    /// The number of the newest record.
    number: u32,
    /// Where the next one goes.
    next: u32,
}

impl<F: NorFlash> Journal<F> {
    const _WORDS: () = assert!(
        RECORD.is_multiple_of(F::WRITE_SIZE),
        "a record is whole words"
    );
    const _ROOM: () = assert!(F::ERASE_SIZE >= 2 * RECORD, "a sector holds records");
    const PLACES: u32 = (F::ERASE_SIZE / RECORD) as u32;

    /// Reads what is there. A place that cannot be read counts as spoilt. Work: two sectors.
    pub fn open(flash: F) -> Self {
        let () = Self::_WORDS;
        let () = Self::_ROOM;
        let mut journal = Self {
            flash,
            record: JournalRecord::default(),
            // Those in flash begin with 1.
            number: 0,
            next: 0,
        };
        for place in 0..2 * Self::PLACES {
            let mut bytes = [0; RECORD];
            let read = journal.flash.read(Self::address(place), &mut bytes);
            let found = read.ok().and_then(|()| JournalRecord::decode(&bytes));
            if let Some((number, record)) = found
                && number > journal.number
            {
                journal.number = number;
                journal.record = record;
                journal.next = (place + 1) % (2 * Self::PLACES);
            }
        }
        journal
    }

    /// The newest record, which holds now.
    pub fn record(&self) -> &JournalRecord {
        &self.record
    }

    /// Changes it. Nothing is written if nothing changes. Work: a sector at most.
    ///
    /// # Errors
    /// [`Refusal::Flash`]: what held before holds.
    pub fn change(&mut self, change: impl FnOnce(&mut JournalRecord)) -> Result<(), Refusal> {
        let mut record = self.record;
        change(&mut record);
        self.replace(&record)
    }

    #[inline(never)] // Once for all changes.
    fn replace(&mut self, record: &JournalRecord) -> Result<(), Refusal> {
        let number = self.number.saturating_add(1);
        let bytes = record.encode(number);
        if self.number > 0 && bytes == self.record.encode(number) {
            return Ok(());
        }
        // A place may be spoilt by a cut: then the next one is taken, once around at most.
        for _ in 0..2 * Self::PLACES {
            let place = self.next;
            self.next = (place + 1) % (2 * Self::PLACES);
            if place.is_multiple_of(Self::PLACES) {
                let start = Self::address(place);
                self.flash
                    .erase(start, start + F::ERASE_SIZE as u32)
                    .map_err(|_| Refusal::Flash)?;
            }
            if !self.is_blank(place) {
                continue;
            }
            self.flash
                .write(Self::address(place), &bytes)
                .map_err(|_| Refusal::Flash)?;
            self.number = number;
            self.record = *record;
            return Ok(());
        }
        Err(Refusal::Flash)
    }

    /// Gives the flash back.
    pub fn into_flash(self) -> F {
        self.flash
    }

    fn is_blank(&mut self, place: u32) -> bool {
        let mut bytes = [0; RECORD];
        self.flash.read(Self::address(place), &mut bytes).is_ok()
            && bytes.iter().all(|byte| *byte == 0xff)
    }

    fn address(place: u32) -> u32 {
        place / Self::PLACES * F::ERASE_SIZE as u32 + place % Self::PLACES * RECORD as u32
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::path::Path;

    /// What host-tests/data keeps of version 1: something in every field.
    fn full() -> JournalRecord {
        JournalRecord {
            firmware: Released {
                sequence: 7,
                counter: 1,
            },
            list: Released {
                sequence: 9,
                counter: 2,
            },
            attempt: Some(Attempt {
                build: 0x0011_2233_4455_66ff,
                release: Released {
                    sequence: 8,
                    counter: 3,
                },
                count: 2,
                over: true,
            }),
            begun: Some(Begun {
                kind: PayloadKind::List,
                digest: *b"digested",
                etag: Etag::new(&[b'"'; Etag::LONGEST]),
            }),
            last: Last {
                code: Refusal::Digest.code(),
                sequence: 8,
            },
        }
    }

    #[test]
    fn records_of_every_version_are_read_and_the_newest_is_written() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("host-tests/data/journal-v1.bin");
        let stored = std::fs::read(file).expect("the stored record");
        let stored: [u8; RECORD] = stored.try_into().expect("one record");
        assert_eq!(JournalRecord::decode(&stored), Some((5, full())));
        assert_eq!(full().encode(5), stored);
        let empty = JournalRecord::default();
        assert_eq!(JournalRecord::decode(&empty.encode(1)), Some((1, empty)));
    }

    #[test]
    fn a_flipped_bit_is_no_record() {
        for bit in 0..8 * RECORD {
            let mut bytes = full().encode(5);
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(JournalRecord::decode(&bytes), None, "{bit}");
        }
    }
}
