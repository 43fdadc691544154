//! Where a page has moved to, in few bytes.

/// Where a page has moved to for good, or that it has not: its new URL as far as it differs from
/// the one in the list.
///
/// Most moves change the scheme, add `www.` or a slash: a few bytes. A target that differs by more
/// than [`MoveRecord::LONGEST`] bytes is not kept: after a restart, one more request finds it
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveRecord {
    /// The page's number: see [`identity`](super::identity).
    pub page: u64,
    /// So many bytes of the list's URL begin the new one …
    pub(super) start: u16,
    /// … then come these …
    pub(super) between: [u8; Self::LONGEST],
    pub(super) length: u8,
    /// … and so many bytes of the list's URL end it.
    pub(super) end: u16,
}

impl MoveRecord {
    /// Bytes that a new URL may have of its own.
    pub const LONGEST: usize = 64;

    /// The page is where the list says, as far as is known.
    pub const fn home(page: u64) -> Self {
        Self {
            page,
            start: 0,
            between: [0; Self::LONGEST],
            length: 0,
            end: 0,
        }
    }

    /// The page, `own` in the list, is at `to` now. If that cannot be kept, it is where the list
    /// says.
    pub fn new(page: u64, own: &str, to: &str) -> Self {
        let own = own.as_bytes();
        let to = to.as_bytes();
        let same = |pair: &(&u8, &u8)| pair.0 == pair.1;
        let start = own.iter().zip(to).take_while(same).count();
        let own = own.get(start..).unwrap_or_default();
        let to = to.get(start..).unwrap_or_default();
        let end = own
            .iter()
            .rev()
            .zip(to.iter().rev())
            .take_while(same)
            .count();
        let between = to.get(..to.len() - end).unwrap_or_default();
        let mut record = Self::home(page);
        if let (Some(room), Ok(start), Ok(end)) = (
            record.between.get_mut(..between.len()),
            start.try_into(),
            end.try_into(),
        ) {
            room.copy_from_slice(between);
            record.start = start;
            record.length = between.len() as u8;
            record.end = end;
        }
        record
    }

    /// Where the page is that is `own` in the list; `None` if it is there, or if that is longer
    /// than `N` bytes.
    pub fn target<const N: usize>(&self, own: &str) -> Option<heapless::String<N>> {
        let own = own.as_bytes();
        let mut target = heapless::Vec::new();
        target
            .extend_from_slice(own.get(..self.start.into())?)
            .ok()?;
        target.extend_from_slice(self.between()).ok()?;
        target
            .extend_from_slice(own.get(own.len().checked_sub(self.end.into())?..)?)
            .ok()?;
        heapless::String::from_utf8(target)
            .ok()
            .filter(|target| !target.is_empty())
    }

    /// Version 2 as it is written: identity, both lengths, length and bytes of what is between.
    pub(super) fn write(&self, body: &mut [u8]) {
        let [a, b] = self.start.to_le_bytes();
        let [c, d] = self.end.to_le_bytes();
        let bytes = self
            .page
            .to_le_bytes()
            .into_iter()
            .chain([a, b, c, d, self.length])
            .chain(self.between);
        body.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    }

    pub(super) fn from_bytes(body: &[u8]) -> Option<Self> {
        let (page, body) = body.split_first_chunk()?;
        let ([a, b, c, d, length], body) = body.split_first_chunk()?;
        let start = u16::from_le_bytes([*a, *b]);
        let end = u16::from_le_bytes([*c, *d]);
        let record = Self {
            start,
            end,
            length: *length,
            ..Self::home(u64::from_le_bytes(*page))
        };
        let between = *body.first_chunk()?;
        (usize::from(*length) <= Self::LONGEST).then_some(Self { between, ..record })
    }

    fn between(&self) -> &[u8] {
        self.between.get(..self.length.into()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_kept_by_what_is_new() {
        let own = "http://example.org/a/long/path/that/both/share?and=a&query=too";
        let long = "http://xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.example/";
        for (to, bytes) in [
            (
                "https://example.org/a/long/path/that/both/share?and=a&query=too",
                1,
            ),
            (
                "https://www.example.org/a/long/path/that/both/share?and=a&query=too",
                8,
            ),
            (
                "http://example.org/a/long/path/that/both/share?and=a&query=too/",
                1,
            ),
            ("http://example.org/", 0),
            (
                "http://example.org/a/long/path/that/both/share?and=a&query=tootoo",
                3,
            ),
            (long, 64),
        ] {
            let record = MoveRecord::new(7, own, to);
            assert_eq!(usize::from(record.length), bytes, "{to}");
            assert_eq!(record.target::<256>(own).as_deref(), Some(to));
            assert_eq!(record.target::<10>(own), None, "there is no room for it");
        }
        let longer = "http://yxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.example/";
        assert_eq!(MoveRecord::new(7, own, longer), MoveRecord::home(7));
        assert_eq!(MoveRecord::home(7).target::<256>(own), None);
        let other = MoveRecord::new(7, own, "http://example.org/a").target::<256>("http://b/");
        assert_eq!(other, None, "more than there is of a shorter URL");
    }
}
