//! Records of redirects in bytes that the board provides, one behind the other.

use super::record::{Redirect, RedirectHeader, Subject};

/// The records, each with a header before it.
#[derive(Debug)]
pub(super) struct RedirectRecords<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl<'a> RedirectRecords<'a> {
    /// None yet, in these bytes.
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, used: 0 }
    }

    /// How many bytes there are, free or not.
    pub(super) fn room(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the record of something out; what was known of it without reading it.
    pub(super) fn remove(&mut self, subject: Subject) -> Option<RedirectHeader> {
        let (start, header, record) = self.find(subject)?;
        let end = start + record.len();
        self.bytes
            .copy_within(end..self.used, start - RedirectHeader::BYTES);
        self.used -= end - start + RedirectHeader::BYTES;
        Some(header)
    }

    /// Appends a record, with what the store knows of it; false if there is no room.
    pub(super) fn append(&mut self, redirect: &Redirect, (sector, unsaved): (u8, bool)) -> bool {
        let record = redirect.to_record();
        let header = RedirectHeader {
            subject: redirect.subject,
            under_way: redirect.under_way,
            sector,
            unsaved,
        };
        let end = self.used + RedirectHeader::BYTES + record.len();
        let Some(room) = self.bytes.get_mut(self.used..end) else {
            return false;
        };
        let header = header.to_bytes(record.len() as u16);
        room.iter_mut()
            .zip(header.iter().chain(&record))
            .for_each(|(place, byte)| *place = *byte);
        self.used = end;
        true
    }

    /// Changes what the store knows of a record, if there is one; without a sector, it is where it
    /// was.
    pub(super) fn change(&mut self, subject: Subject, sector: Option<u8>, unsaved: bool) {
        let Some((start, header, _)) = self.find(subject) else {
            return;
        };
        let places = self.bytes.iter_mut().take(start).skip(start - 2);
        places
            .zip([sector.unwrap_or(header.sector), unsaved.into()])
            .for_each(|(place, byte)| *place = byte);
    }

    /// The record of something: where it starts, its header and the record.
    pub(super) fn find(&self, subject: Subject) -> Option<(usize, RedirectHeader, &[u8])> {
        self.all().find(|(_, header, _)| header.subject == subject)
    }

    /// Where each record starts, its header and the record.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, RedirectHeader, &[u8])> {
        let mut start = 0;
        core::iter::from_fn(move || {
            let (at, header, record) = self.record_behind(start)?;
            start = at + record.len();
            Some((at, header, record))
        })
    }

    /// The record whose header starts at `start`.
    #[inline(never)] // Once for all callers.
    fn record_behind(&self, start: usize) -> Option<(usize, RedirectHeader, &[u8])> {
        let (header, rest) = self
            .bytes
            .get(start..self.used)?
            .split_first_chunk::<{ RedirectHeader::BYTES }>()?;
        let (header, length) = RedirectHeader::from_bytes(*header);
        let record = rest.get(..usize::from(length))?;
        Some((start + RedirectHeader::BYTES, header, record))
    }
}
