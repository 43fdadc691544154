//! The payload on its way into flash: which part to ask for, and whether what comes is that part.

use embedded_storage::nor_flash::NorFlash;

use super::digest::PIECE;
use super::refusal::Refusal;
use crate::fetch::{Body, Etag, Head};

/// A payload that is being fetched.
#[derive(Clone, Debug)]
pub struct Download {
    /// Where in flash it begins.
    start: u32,
    /// Bytes that it has.
    length: u32,
    /// Bytes that are in flash.
    done: u32,
    /// The version that they belong to, if the server named one.
    etag: Option<Etag>,
    /// Bytes that wait to be written: flash takes whole words.
    held: [u8; PIECE],
    count: usize,
}

impl Download {
    /// A payload of so many bytes, which lies in flash from `start` on: a multiple of the flash's
    /// words, and of its reads. `done` bytes of the version with this tag are there, whole words,
    /// and what follows is blank.
    pub fn new(start: u32, length: u32, done: u32, etag: Option<Etag>) -> Self {
        Self {
            start,
            length,
            done: done.min(length),
            etag,
            held: [0xff; PIECE],
            count: 0,
        }
    }

    /// The byte to ask for.
    pub fn at(&self) -> u32 {
        self.done
    }

    /// The version that is being fetched.
    pub fn etag(&self) -> Option<&Etag> {
        self.etag.as_ref()
    }

    /// Is this the answer that was asked for?
    fn check(&mut self, head: &Head) -> Result<(), Refusal> {
        if head.encoded {
            return Err(Refusal::Encoded);
        }
        let left = u64::from(self.length - self.done);
        match head.status {
            200 if self.done == 0 => self.etag = head.etag,
            // The whole, although a part was asked for: another version, or a server that knows no
            // parts. Either way it begins at the beginning.
            200 => return Err(Refusal::Version),
            206 if self.done > 0 => {
                let range = head.content_range.ok_or(Refusal::Range)?;
                if (range.first, range.total.get()) != (self.done, self.length) {
                    return Err(Refusal::Range);
                }
                if self.etag.is_some() && head.etag != self.etag {
                    return Err(Refusal::Version);
                }
            }
            206 => return Err(Refusal::Range),
            status => return Err(Refusal::Status(status)),
        }
        if head.length().is_some_and(|length| length != left) {
            return Err(Refusal::Announced);
        }
        Ok(())
    }

    /// Takes bytes, and writes those that fill whole pieces.
    fn take<F: NorFlash>(&mut self, mut bytes: &[u8], flash: &mut F) -> Result<(), Refusal> {
        while !bytes.is_empty() {
            let received = self.done as usize + self.count;
            if received + bytes.len() > self.length as usize {
                return Err(Refusal::TooLong);
            }
            let piece = self.piece::<F>();
            let room = self.held.get_mut(self.count..piece).unwrap_or_default();
            let count = bytes.len().min(room.len());
            let (now, later) = bytes.split_at_checked(count).unwrap_or((bytes, &[]));
            room.iter_mut().zip(now).for_each(|(to, from)| *to = *from);
            self.count += count;
            bytes = later;
            if self.count == piece {
                self.write(piece, flash)?;
            }
        }
        Ok(())
    }

    /// Bytes that are written at once from here on: up to the next whole piece of flash. The first
    /// word of a sector goes alone, at once: after a restart, it shows that the sector before is
    /// whole, and so that sector need not come twice.
    fn piece<F: NorFlash>(&self) -> usize {
        let place = (self.start + self.done) as usize;
        if place.is_multiple_of(F::ERASE_SIZE) {
            F::WRITE_SIZE
        } else {
            PIECE - place % PIECE
        }
    }

    /// Writes so many of the bytes that are held, filled up to whole words, and forgets the rest.
    fn write<F: NorFlash>(&mut self, count: usize, flash: &mut F) -> Result<(), Refusal> {
        let words = count.next_multiple_of(F::WRITE_SIZE).min(PIECE);
        let (_, blank) = self.held.split_at_mut_checked(count).unwrap_or_default();
        blank.fill(0xff);
        let words = self.held.get(..words).unwrap_or_default();
        flash
            .write(self.start + self.done, words)
            .map_err(|_| Refusal::Flash)?;
        self.done += count as u32;
        self.count = 0;
        Ok(())
    }

    /// The answer broke off: what is held is written, but for less than a word.
    pub(super) fn pause<F: NorFlash>(&mut self, flash: &mut F) -> Result<(), Refusal> {
        match self.count - self.count % F::WRITE_SIZE {
            0 => Ok(()),
            whole => self.write(whole, flash),
        }
    }

    /// The answer has ended.
    fn end<F: NorFlash>(&mut self, flash: &mut F) -> Result<(), Refusal> {
        if self.done as usize + self.count < self.length as usize {
            return Err(Refusal::TooShort);
        }
        match self.count {
            0 => Ok(()),
            count => self.write(count, flash),
        }
    }
}

/// Leads the body of one answer into flash, and refuses it as soon as it is not what was asked for.
#[derive(Debug)]
pub struct Receiver<'d, F> {
    download: &'d mut Download,
    flash: &'d mut F,
    checked: bool,
    refusal: Option<Refusal>,
}

impl<'d, F: NorFlash> Receiver<'d, F> {
    /// A receiver for the answer to a request for [`Download::at`] on.
    pub fn new(download: &'d mut Download, flash: &'d mut F) -> Self {
        Self {
            download,
            flash,
            checked: false,
            refusal: None,
        }
    }

    /// Why the answer was refused, if it was.
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// Has the answer begun?
    pub(super) fn has_begun(&self) -> bool {
        self.checked
    }

    fn receive(&mut self, head: &Head, bytes: &[u8]) -> Result<(), Refusal> {
        if !core::mem::replace(&mut self.checked, true) {
            self.download.check(head)?;
        }
        if bytes.is_empty() {
            self.download.end(self.flash)
        } else {
            self.download.take(bytes, self.flash)
        }
    }
}

impl<F: NorFlash> Body for Receiver<'_, F> {
    fn take(&mut self, head: &Head, bytes: &mut &[u8]) -> bool {
        if self.refusal.is_none() {
            self.refusal = self.receive(head, bytes).err();
        }
        true
    }

    fn is_over(&self) -> bool {
        self.refusal.is_some()
    }
}
