//! URLs that wait to be written to the log: first in, first out, in memory that the board lends.

use super::found::UrlText;

/// Bytes before each URL: its kind and its length.
const HEADER: usize = 2;

/// What a URL waits for, beside its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Waiting {
    /// It was a page of the list.
    pub retired: bool,
    /// What its URL and the link to it make of it, 1 at most.
    pub worth: f32,
}

/// Steps of what URLs are worth in the queue.
const STEPS: f32 = 127.0;

impl Waiting {
    fn byte(self) -> u8 {
        let worth = (self.worth * STEPS + 0.5).clamp(1.0, STEPS) as u8;
        worth << 1 | u8::from(self.retired)
    }

    fn of(byte: u8) -> Self {
        Self {
            retired: byte & 1 != 0,
            worth: f32::from(byte >> 1) / STEPS,
        }
    }
}

/// The queue. A URL that does not fit is left out: who links to it will do so again.
#[derive(Debug)]
pub(super) struct UrlQueue<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl<'a> UrlQueue<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, used: 0 }
    }

    /// Appends a URL; false if there is no room.
    pub(super) fn push(&mut self, waiting: Waiting, url: &str) -> bool {
        let Ok(length) = u8::try_from(url.len()) else {
            return false;
        };
        let end = self.used + HEADER + url.len();
        let Some(room) = self.bytes.get_mut(self.used..end) else {
            return false;
        };
        let bytes = [waiting.byte(), length].into_iter().chain(url.bytes());
        room.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        self.used = end;
        true
    }

    /// The first of them.
    pub(super) fn first(&self) -> Option<(Waiting, UrlText)> {
        let (head, rest) = self.bytes.get(..self.used)?.split_first_chunk::<HEADER>()?;
        let [waiting, length] = *head;
        let text = core::str::from_utf8(rest.get(..usize::from(length))?).ok()?;
        let mut url = UrlText::new();
        url.push_str(text).ok()?;
        Some((Waiting::of(waiting), url))
    }

    /// Takes the first of them out. Work: the queue's bytes.
    pub(super) fn pop(&mut self) {
        let length = self.bytes.get(1).copied().map_or(0, usize::from);
        let end = (HEADER + length).min(self.used);
        self.bytes.copy_within(end..self.used, 0);
        self.used -= end;
    }

    /// Does this URL wait already? Work: the queue's bytes.
    pub(super) fn has(&self, url: &str) -> bool {
        let mut rest = self.bytes.get(..self.used).unwrap_or_default();
        while let Some(([_, length], behind)) = rest.split_first_chunk::<HEADER>() {
            let Some((text, next)) = behind.split_at_checked((*length).into()) else {
                return false;
            };
            if text == url.as_bytes() {
                return true;
            }
            rest = next;
        }
        false
    }

    /// Takes the last one out again, if it is this URL.
    pub(super) fn take_back(&mut self, url: &str) {
        let start = self.used.saturating_sub(HEADER + url.len());
        let last = self.bytes.get(start + HEADER..self.used);
        if last == Some(url.as_bytes()) {
            self.used = start;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }
}
