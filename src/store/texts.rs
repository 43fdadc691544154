//! URLs that a probe has found, in flash: a log beside the records.
//!
//! RAM knows a URL by its digest and by where its text is. The log is a ring of sectors, one of
//! them blank or about to be. Texts are appended to the current sector; when that is full, the
//! blank one becomes the current one, what is still wanted of the sector behind it is copied, and
//! that is erased. So a power cut at any byte costs the text that was being written, and nothing
//! else: what was cut short has a wrong checksum, and a sector that was being emptied is emptied
//! again.
//!
//! ```text
//! sector   "dtx1" · number u32 · the same, all bits turned · text · text · …
//! text     kind u8 · length u8 · place u16 · value u32 · checksum u32 · URL, up to whole words
//! ```
//!
//! Of two texts about the same URL or the same place, the later one counts. Pages are copied before
//! candidates; candidates give way when more than three quarters of a sector would be copies.

use super::budget::Budget;
use super::{LIFETIME_DAYS, MOST_SECTORS, Partition, StoreError, StoreStep};
use crate::math::crc32;
use crate::time::Instant;

/// Longest URL that is kept.
pub const LONGEST_TEXT: usize = 200;
/// Bytes of a text in flash, at most.
pub const TEXT_BYTES: usize = HEADER + LONGEST_TEXT;
const HEADER: usize = 12;
const MAGIC: [u8; 4] = *b"dtx1";
/// Words of flash are no longer.
const LONGEST_WORD: usize = 32;
/// The longest text, in whole words of any flash.
const BUFFER: usize = TEXT_BYTES.next_multiple_of(LONGEST_WORD);
/// Room in a sector for what power cuts leave behind while another one is emptied into it: so many
/// cuts cost nothing.
const MARGIN: usize = 3 * BUFFER;

/// What a URL is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// A page that is known by links, and not kept.
    Candidate,
    /// A page that is kept, at this place; whatever was there before is not.
    Page(u16),
    /// Nothing is at this place any more.
    Free(u16),
    /// A page of the list that had to give way.
    Retired,
}

/// A URL, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'t> {
    /// What the URL is to the collection.
    pub kind: TextKind,
    /// What the owner of the log wants to know besides.
    pub value: u32,
    /// The URL; empty for a place that is free.
    pub url: &'t str,
}

impl<'t> Text<'t> {
    /// Reads the text that bytes of flash begin with; `None` if it is none, or was cut short.
    pub fn read(bytes: &'t [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEADER>()?;
        let [kind, length, p0, p1, v0, v1, v2, v3, c0, c1, c2, c3] = *head;
        let place = u16::from_le_bytes([p0, p1]);
        let kind = match kind {
            1 => TextKind::Candidate,
            2 => TextKind::Page(place),
            3 => TextKind::Free(place),
            4 => TextKind::Retired,
            _ => return None,
        };
        let url = rest.get(..usize::from(length))?;
        let counted = head.first_chunk::<8>()?;
        if crc32(&[counted, url]) != u32::from_le_bytes([c0, c1, c2, c3]) {
            return None;
        }
        Some(Self {
            kind,
            value: u32::from_le_bytes([v0, v1, v2, v3]),
            url: core::str::from_utf8(url).ok()?,
        })
    }

    /// Writes it; how many bytes it takes, or `None` if it is too long.
    fn write(&self, buffer: &mut [u8; BUFFER]) -> Option<usize> {
        let (kind, place) = match self.kind {
            TextKind::Candidate => (1, 0),
            TextKind::Page(place) => (2, place),
            TextKind::Free(place) => (3, place),
            TextKind::Retired => (4, 0),
        };
        let length = self.url.len();
        if length > LONGEST_TEXT {
            return None;
        }
        let [p0, p1] = place.to_le_bytes();
        let [v0, v1, v2, v3] = self.value.to_le_bytes();
        let counted = [kind, length as u8, p0, p1, v0, v1, v2, v3];
        let [c0, c1, c2, c3] = crc32(&[&counted, self.url.as_bytes()]).to_le_bytes();
        let bytes = counted.into_iter().chain([c0, c1, c2, c3]);
        let bytes = bytes.chain(self.url.bytes());
        buffer.fill(0xff);
        buffer
            .iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to = from);
        Some(HEADER + length)
    }
}

/// The number of a log's sector that begins with these bytes; `None` if it is blank, or no sector
/// of a log.
pub fn text_sector_number(bytes: &[u8]) -> Option<u32> {
    let [m0, m1, m2, m3, n0, n1, n2, n3, t0, t1, t2, t3] = *bytes.first_chunk()?;
    let number = u32::from_le_bytes([n0, n1, n2, n3]);
    let turned = u32::from_le_bytes([t0, t1, t2, t3]);
    ([m0, m1, m2, m3] == MAGIC && turned == !number).then_some(number)
}

/// The truth in RAM, of which the log holds the texts. Places of texts are words of four bytes from
/// the beginning of the partition.
pub trait TextLedger {
    /// What has to be written next; its URL is put into `url`.
    fn next<'u>(&self, url: &'u mut [u8; LONGEST_TEXT]) -> Option<Text<'u>>;
    /// That is in flash now, at this place.
    fn written(&self, text: &Text<'_>, at: u32);
    /// What the text at this place is today; `None` if it is not wanted any more.
    fn wanted(&self, text: &Text<'_>, at: u32) -> Option<TextKind>;
    /// It was copied to there; `None` if there was no room, and then it is lost.
    fn moved(&self, text: &Text<'_>, from: u32, to: Option<u32>);
}

/// The log of URLs in flash.
#[derive(Debug)]
pub struct TextLog<F> {
    flash: F,
    /// The current sector …
    sector: u8,
    /// … its number …
    number: u32,
    /// … and the byte in it at which the next text goes.
    at: usize,
    /// The next sector is blank. If not, it is being emptied: pages first, then candidates.
    blank: bool,
    candidates: bool,
    /// How many of them have been copied so far.
    emptied: usize,
    budget: Budget,
}

/// Flash drivers that copy by words want their buffers aligned.
#[repr(align(8))]
struct Aligned([u8; BUFFER]);

impl<F: Partition> TextLog<F> {
    const WORD: usize = if F::WRITE_SIZE > F::READ_SIZE {
        F::WRITE_SIZE
    } else {
        F::READ_SIZE
    };
    /// Where the first text of a sector is.
    const FIRST: usize = 12_usize.next_multiple_of(Self::WORD);

    /// Over this partition. Read it with [`Self::open`] before anything is written.
    pub const fn new(flash: F) -> Self {
        const {
            assert!(
                F::SECTORS >= 3 && F::SECTORS <= MOST_SECTORS,
                "a log has 3 to 254 sectors"
            );
            assert!(Self::WORD <= LONGEST_WORD, "words are too long");
            assert!(F::ERASE_SIZE >= 4 * MARGIN, "sectors are too small");
        }
        let per_day = F::RATED_CYCLES as u64 * F::SECTORS as u64 / LIFETIME_DAYS;
        Self {
            flash,
            sector: (F::SECTORS - 1) as u8,
            number: 0,
            at: F::ERASE_SIZE,
            blank: false,
            candidates: false,
            emptied: Self::FIRST,
            budget: Budget::new(per_day),
        }
    }

    /// Reads everything, oldest first, each text with its place. Work: every sector once.
    ///
    /// # Errors
    /// [`StoreError::Flash`]; damage is no error.
    ///
    /// *Cancellation*: open it again.
    pub async fn open(
        &mut self,
        mut each: impl FnMut(&Text<'_>, u32),
    ) -> Result<(), StoreError<F::Error>> {
        let mut newest = None;
        for sector in 0..F::SECTORS as u8 {
            let number = self.number_of(sector).await?;
            newest = newest.max(number.map(|number| (number, sector)));
        }
        let Some((number, current)) = newest else {
            return Ok(());
        };
        self.sector = current;
        self.number = number;
        for step in 1..=F::SECTORS {
            let sector = ((usize::from(current) + step) % F::SECTORS) as u8;
            if self.number_of(sector).await?.is_none() {
                continue;
            }
            let mut at = Self::FIRST;
            let mut buffer = Aligned([0; BUFFER]);
            while let Some((text, place, behind)) =
                self.read_from(sector, at, &mut buffer.0).await?
            {
                each(&text, Self::place(sector, place));
                at = behind;
            }
        }
        self.at = self.end_of(current).await?;
        Ok(())
    }

    /// Writes, copies or erases, if that has to be. Work: one sector at most.
    ///
    /// # Errors
    /// [`StoreError`]; nothing was told to the ledger then.
    ///
    /// *Cancellation*: what was being written may be whole or absent.
    pub async fn step(
        &mut self,
        ledger: &impl TextLedger,
        may_erase: bool,
        now: Instant,
    ) -> Result<StoreStep, StoreError<F::Error>> {
        if !self.blank {
            return self.empty_next(ledger, may_erase, now).await;
        }
        let mut url = [0; LONGEST_TEXT];
        let Some(text) = ledger.next(&mut url) else {
            return Ok(StoreStep::Idle);
        };
        if self.at + Self::length(&text) + MARGIN > F::ERASE_SIZE {
            self.advance().await?;
            return Ok(StoreStep::Wrote);
        }
        let at = self.append(&text).await?;
        ledger.written(&text, at);
        Ok(StoreStep::Wrote)
    }

    /// Copies one text of the next sector that is still wanted, or erases the sector if there is
    /// none.
    ///
    /// *Cancellation*: as a power cut; what is half written is passed over once the log is opened
    /// again.
    async fn empty_next(
        &mut self,
        ledger: &impl TextLedger,
        may_erase: bool,
        now: Instant,
    ) -> Result<StoreStep, StoreError<F::Error>> {
        let next = self.next_sector();
        let mut buffer = Aligned([0; BUFFER]);
        if self.number_of(next).await?.is_some() {
            while let Some((text, place, behind)) =
                self.read_from(next, self.emptied, &mut buffer.0).await?
            {
                let from = Self::place(next, place);
                let is_candidate = |kind: &TextKind| *kind == TextKind::Candidate;
                let kind = ledger.wanted(&text, from);
                let Some(kind) = kind.filter(|kind| is_candidate(kind) == self.candidates) else {
                    self.emptied = behind;
                    continue;
                };
                let text = Text { kind, ..text };
                let most = match self.candidates {
                    true => F::ERASE_SIZE / 4 * 3,
                    false => F::ERASE_SIZE,
                };
                let to = if self.at + Self::length(&text) <= most {
                    Some(self.append(&text).await?)
                } else {
                    None
                };
                ledger.moved(&text, from, to);
                self.emptied = behind;
                return Ok(StoreStep::Wrote);
            }
            if !self.candidates {
                self.candidates = true;
                self.emptied = Self::FIRST;
                return Ok(StoreStep::Wrote);
            }
        }
        if let Some(then) = self.budget.spent_until(now) {
            return Ok(StoreStep::Spent(then));
        }
        if !may_erase {
            return Ok(StoreStep::NeedsErase);
        }
        self.budget.spend(now);
        let start = u32::from(next) * F::ERASE_SIZE as u32;
        let erased = self.flash.erase(start, start + F::ERASE_SIZE as u32);
        erased.await.map_err(StoreError::Flash)?;
        self.blank = true;
        Ok(StoreStep::Wrote)
    }

    /// The next sector, which is blank, becomes the current one.
    ///
    /// *Cancellation*: as a power cut; what is half written is passed over once the log is opened
    /// again.
    async fn advance(&mut self) -> Result<(), StoreError<F::Error>> {
        let next = self.next_sector();
        let number = self.number.saturating_add(1);
        let mut head = Aligned([0xff; BUFFER]);
        let bytes = MAGIC.into_iter().chain(number.to_le_bytes());
        let bytes = bytes.chain((!number).to_le_bytes());
        head.0
            .iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to = from);
        // Whatever becomes of it, the sector is not blank any more.
        self.blank = false;
        self.candidates = false;
        self.emptied = Self::FIRST;
        self.put(next, 0, head.0.get(..Self::FIRST).unwrap_or_default())
            .await?;
        self.sector = next;
        self.number = number;
        self.at = Self::FIRST;
        Ok(())
    }

    /// Writes a text behind the others; its place.
    ///
    /// *Cancellation*: as a power cut; what is half written is passed over once the log is opened
    /// again.
    async fn append(&mut self, text: &Text<'_>) -> Result<u32, StoreError<F::Error>> {
        let mut buffer = Aligned([0; BUFFER]);
        text.write(&mut buffer.0).ok_or(StoreError::Damaged)?;
        let length = Self::length(text);
        let at = self.at;
        // If it fails, what is there is no text and no blank flash.
        self.at += length;
        let bytes = buffer.0.get(..length).unwrap_or_default();
        self.put(self.sector, at, bytes).await?;
        Ok(Self::place(self.sector, at))
    }

    /// Writes bytes at a place of a sector.
    ///
    /// *Cancellation*: as a power cut; what is half written is passed over once the log is opened
    /// again.
    async fn put(
        &mut self,
        sector: u8,
        at: usize,
        bytes: &[u8],
    ) -> Result<(), StoreError<F::Error>> {
        let start = usize::from(sector) * F::ERASE_SIZE + at;
        let written = self.flash.write(start as u32, bytes).await;
        written.map_err(StoreError::Flash)
    }

    /// Reads whole words of a sector, as far as it goes.
    ///
    /// *Cancellation*: safe; it only reads.
    async fn get(
        &mut self,
        sector: u8,
        at: usize,
        buffer: &mut [u8; BUFFER],
    ) -> Result<(), StoreError<F::Error>> {
        let start = usize::from(sector) * F::ERASE_SIZE + at;
        let length = BUFFER.min(F::ERASE_SIZE - at);
        let (read, rest) = buffer.split_at_mut(length);
        rest.fill(0xff);
        let done = self.flash.read(start as u32, read).await;
        done.map_err(StoreError::Flash)
    }

    /// The first text of a sector from this byte on, where it is, and the byte behind it.
    ///
    /// *Cancellation*: safe; it only reads.
    async fn read_from<'b>(
        &mut self,
        sector: u8,
        mut at: usize,
        buffer: &'b mut [u8; BUFFER],
    ) -> Result<Option<(Text<'b>, usize, usize)>, StoreError<F::Error>> {
        while at < F::ERASE_SIZE {
            self.get(sector, at, buffer).await?;
            // What a power cut has left behind is passed over word by word.
            let words = buffer.chunks(Self::WORD).take_while(|word| !begins(word));
            let passed = words.count() * Self::WORD;
            if passed == 0 && Text::read(&*buffer).is_some() {
                break;
            }
            at += passed.max(Self::WORD);
        }
        let text = Text::read(&*buffer).filter(|_| at < F::ERASE_SIZE);
        Ok(text.map(|text| (text, at, at + Self::length(&text))))
    }

    /// The number of a sector that was begun.
    ///
    /// *Cancellation*: safe; it only reads.
    async fn number_of(&mut self, sector: u8) -> Result<Option<u32>, StoreError<F::Error>> {
        let mut buffer = Aligned([0; BUFFER]);
        self.get(sector, 0, &mut buffer.0).await?;
        Ok(text_sector_number(&buffer.0))
    }

    /// The byte from which on a sector is blank.
    ///
    /// *Cancellation*: safe; it only reads.
    async fn end_of(&mut self, sector: u8) -> Result<usize, StoreError<F::Error>> {
        let mut buffer = Aligned([0; BUFFER]);
        let mut end = Self::FIRST;
        for at in (0..F::ERASE_SIZE).step_by(BUFFER) {
            self.get(sector, at, &mut buffer.0).await?;
            let last = buffer.0.iter().rposition(|byte| *byte != 0xff);
            end = last.map_or(end, |last| (at + last + 1).max(end));
        }
        Ok(end.next_multiple_of(Self::WORD))
    }

    fn next_sector(&self) -> u8 {
        ((usize::from(self.sector) + 1) % F::SECTORS) as u8
    }

    /// Bytes that a text takes.
    fn length(text: &Text<'_>) -> usize {
        (HEADER + text.url.len()).next_multiple_of(Self::WORD)
    }

    fn place(sector: u8, at: usize) -> u32 {
        ((usize::from(sector) * F::ERASE_SIZE + at) / 4) as u32
    }

    /// The partition that the log is in.
    pub fn flash(&mut self) -> &mut F {
        &mut self.flash
    }
}

/// May a text begin with this word?
fn begins(word: &[u8]) -> bool {
    matches!(word.first(), Some(1..=4))
}
