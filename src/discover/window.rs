//! The window that links pass through.

use crate::fetch::ascii::find;

/// Longest link that is read; longer ones are left out.
pub const LONGEST_LINK: usize = 256;
/// Longest `base` that is read; links of a page with a longer one are left out.
pub const LONGEST_BASE: usize = 128;
/// The base of a page, and behind it the link at hand.
#[derive(Clone, Debug)]
pub(super) struct LinkWindow {
    /// The base first, then the link at hand.
    bytes: [u8; LONGEST_BASE + LONGEST_LINK],
    base: u16,
    has_base: bool,
    length: u16,
    /// The link at hand does not fit.
    long: bool,
    /// The base does not fit: nobody knows where links lead.
    lost: bool,
}

impl LinkWindow {
    /// No base and no link yet.
    pub(super) const EMPTY: Self = Self {
        bytes: [0; LONGEST_BASE + LONGEST_LINK],
        base: 0,
        has_base: false,
        length: 0,
        long: false,
        lost: false,
    };

    /// The next link begins.
    pub(super) fn clear(&mut self) {
        self.length = 0;
        self.long = false;
    }

    /// The base, if the page has one, and the link at hand, if both fit.
    pub(super) fn link(&self) -> Option<(Option<&[u8]>, &[u8])> {
        let (base, rest) = self
            .bytes
            .split_at_checked(self.base.into())
            .unwrap_or_default();
        let href = rest.get(..usize::from(self.length))?;
        let fits = !self.long && !self.lost;
        fits.then_some((self.has_base.then_some(base), href))
    }

    /// Takes bytes of a link. Browsers leave out line ends and tabs anywhere, and control characters
    /// and spaces before.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let start = usize::from(self.base + self.length);
        let end = usize::from(self.base) + LONGEST_LINK;
        let room = self.bytes.get_mut(start..end).unwrap_or_default();
        if bytes.iter().all(|byte| *byte > b' ') {
            room.iter_mut()
                .zip(bytes)
                .for_each(|(to, from)| *to = *from);
            self.long |= bytes.len() > room.len();
            self.length += bytes.len().min(room.len()) as u16;
            return;
        }
        let mut slots = room.iter_mut();
        let mut has_begun = self.length > 0;
        for byte in bytes {
            if *byte <= b' ' && (!has_begun || matches!(byte, b'\t' | b'\n' | b'\r')) {
                continue;
            }
            has_begun = true;
            match slots.next() {
                Some(slot) => *slot = *byte,
                // Spaces at the end do not count.
                None => self.long |= *byte > b' ',
            }
        }
        self.length = (LONGEST_LINK - slots.len()) as u16;
    }

    /// Leaves out control characters and spaces at the end; backslashes are slashes before a query,
    /// as browsers have it.
    pub(super) fn tidy(&mut self) {
        let start = usize::from(self.base);
        let end = start + usize::from(self.length);
        let link = self.bytes.get_mut(start..end).unwrap_or_default();
        let kept = link.iter().rposition(|byte| *byte > b' ');
        self.length = kept.map_or(0, |last| last + 1) as u16;
        if find(link, b'\\').is_none() {
            return;
        }
        let path = link
            .iter_mut()
            .take_while(|byte| !matches!(**byte, b'?' | b'#'));
        for byte in path.filter(|byte| **byte == b'\\') {
            *byte = b'/';
        }
    }

    /// The first base of a page counts.
    pub(super) fn set_base(&mut self) {
        if self.has_base {
            return;
        }
        self.tidy();
        self.has_base = true;
        if self.long || usize::from(self.length) > LONGEST_BASE {
            self.lost = true;
        } else {
            self.base = self.length;
        }
    }
}
