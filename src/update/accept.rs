//! Does this update belong on this device?

use super::manifest::{Manifest, PayloadKind};
use super::refusal::Refusal;

/// What the device is and has, as far as an update has to fit it.
#[derive(Clone, Copy, Debug)]
pub struct Device<'d> {
    /// What is asked for.
    pub kind: PayloadKind,
    /// The name of the board.
    pub board: &'d str,
    /// The build that runs; of a list, 0.
    pub build: u64,
    /// The sequence in use: of the confirmed firmware, or of the list.
    pub sequence: u32,
    /// The highest security counter that was ever confirmed.
    pub counter: u32,
    /// Bytes that there is room for.
    pub room: u32,
    /// The version of the records that are in the store.
    pub store: u8,
    /// For a firmware: the version of the page image in use. For a list: the newest version that
    /// this firmware can read.
    pub image: u16,
    /// The build that was tried last, and how often.
    pub tried: Option<(u64, u8)>,
    /// The firmware that runs is on trial.
    pub on_trial: bool,
}

/// What a manifest offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Offer {
    /// What is in use already.
    Current,
    /// Something newer, which fits.
    New,
}

/// How often one build is tried.
pub const MOST_ATTEMPTS: u8 = 3;

impl Device<'_> {
    /// Holds a manifest whose signature is good against the device. Work: constant.
    ///
    /// # Errors
    /// [`Refusal`] says what does not fit.
    pub fn accept(&self, manifest: &Manifest<'_>) -> Result<Offer, Refusal> {
        if manifest.board != self.board {
            return Err(Refusal::Board);
        }
        if manifest.kind != self.kind {
            return Err(Refusal::Kind);
        }
        // Before anything that could refuse it: the manifest of what runs is the usual answer, and
        // a firmware on trial is confirmed by it.
        if manifest.build == self.build {
            return Ok(Offer::Current);
        }
        // A list in use does not know its digest any more; what has its sequence could not replace
        // it.
        if manifest.kind == PayloadKind::List
            && self.sequence > 0
            && manifest.sequence == self.sequence
        {
            return Ok(Offer::Current);
        }
        if manifest.sequence <= self.sequence {
            return Err(Refusal::Sequence {
                found: manifest.sequence,
                newest: self.sequence,
            });
        }
        if manifest.counter < self.counter {
            return Err(Refusal::Counter {
                found: manifest.counter,
                least: self.counter,
            });
        }
        if manifest.length == 0 || manifest.length > self.room {
            return Err(Refusal::Length {
                found: manifest.length,
                room: self.room,
            });
        }
        if self.on_trial {
            return Err(Refusal::OnTrial);
        }
        match manifest.kind {
            PayloadKind::Firmware if manifest.store > self.store => Err(Refusal::Store),
            // A firmware reads what is there; a list is read by what is there.
            PayloadKind::Firmware if manifest.image > self.image => Err(Refusal::Image),
            PayloadKind::List if manifest.image > self.image => Err(Refusal::Image),
            _ => match self.tried {
                Some((build, attempts)) if build == manifest.build && attempts >= MOST_ATTEMPTS => {
                    Err(Refusal::Tried { attempts })
                }
                _ => Ok(Offer::New),
            },
        }
    }
}
