//! The shared buffer while a connection has it: records that came, and the text in them.

use core::ops::Range;

use dunlin::fetch::TlsError;
use rustls::ContentType;

use crate::caps::Caps;
use crate::records::{LONGEST_RECORD, Taken};
use crate::text;

/// Bytes of a record's header.
pub const HEADER: usize = 5;

/// The shared buffer with what came, and what is left to be read of it.
pub(crate) struct Incoming<'t> {
    pub bytes: Taken<'t>,
    /// Text that was decrypted and not read yet. It is where its record was.
    pub text: Range<usize>,
    /// What has not been processed yet.
    pub waiting: Range<usize>,
    /// Up to here records have been looked at.
    checked: usize,
}

impl<'t> Incoming<'t> {
    /// A buffer whose first bytes have come already.
    pub fn new(bytes: Taken<'t>, begun: usize) -> Self {
        Self {
            bytes,
            text: 0..0,
            waiting: 0..begun,
            checked: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.waiting.is_empty()
    }

    /// rustls is done with so many bytes.
    pub fn discard(&mut self, count: usize) {
        self.waiting.start = (self.waiting.start + count).min(self.waiting.end);
        self.checked = self.checked.max(self.waiting.start);
    }

    /// So many bytes of what waits were shown: how many there are with one record more, or the part
    /// of it that is there.
    pub fn with_next_record(&self, shown: usize) -> usize {
        let rest = self.bytes.get(self.waiting.start + shown..self.waiting.end);
        let length = match rest {
            Some(&[_, _, _, high, low, ..]) => {
                HEADER + usize::from(u16::from_be_bytes([high, low]))
            }
            _ => HEADER,
        };
        self.waiting.len().min(shown + length)
    }

    /// The record that rustls was done with last has text in it.
    pub fn find_text(&mut self) -> Option<()> {
        self.text = text::noted(self.bytes.get(..self.waiting.start)?)?;
        Some(())
    }

    /// Moves what waits to the front, so that there is room behind it.
    pub fn move_to_front(&mut self) {
        let start = self.waiting.start;
        self.bytes.copy_within(self.waiting.clone(), 0);
        self.waiting = 0..self.waiting.len();
        self.checked = self.checked.saturating_sub(start);
    }

    /// Room for more, if a record or message has not filled it all.
    pub fn room(&mut self) -> Option<&mut [u8]> {
        self.move_to_front();
        let room = self.bytes.get_mut(self.waiting.end..LONGEST_RECORD)?;
        (!room.is_empty()).then_some(room)
    }

    /// Looks at the headers of records that have come since, and at what is plain of them.
    pub fn check(&mut self, caps: &mut Caps) -> core::result::Result<(), TlsError> {
        loop {
            let rest = self.bytes.get(self.checked..self.waiting.end);
            let Some(&[kind, _, _, high, low, ref rest @ ..]) = rest else {
                return Ok(());
            };
            let length = usize::from(u16::from_be_bytes([high, low]));
            let Some(contents) = rest.get(..length) else {
                return Ok(());
            };
            let kind = ContentType::from(kind);
            caps.check(kind, contents).map_err(|_| TlsError::Protocol)?;
            if kind == ContentType::ChangeCipherSpec {
                *caps = Caps::SEALED;
            }
            self.checked += HEADER + length;
        }
    }
}
