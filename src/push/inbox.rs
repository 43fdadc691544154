//! Who may push to this device, and who said what.

use core::fmt;

use super::datagram::{Datagram, KEY, key};
use super::sender::{Reception, Sender};
use crate::time::Instant;

/// The most senders that a device knows.
pub const SENDERS: usize = 4;
/// A datagram is no older and no younger than so many seconds.
pub const WINDOW_S: u64 = 300;
/// Pages that wait for the visit that shows whether their sender was right.
const WAITING: usize = 16;

/// Why a datagram does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum DatagramError {
    /// It is no datagram of a version that is known.
    Form,
    /// Nobody with such a key is known, or the key is another one.
    Key,
    /// The device does not know what time it is.
    NoTime,
    /// It was sent too long ago, or not after the one before, or will be.
    Time,
    /// Its sender pushes too much.
    TooMany,
    /// Its sender was wrong too often.
    Doubted,
}

impl fmt::Display for DatagramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "found no push datagram, expected one of version 1",
            Self::Key => "signed with a key that this device does not have",
            Self::NoTime => "this device does not know the time yet",
            Self::Time => "sent at another time than now, or not after the one before",
            Self::TooMany => "its sender pushes too much",
            Self::Doubted => "its sender was wrong too often",
        })
    }
}

impl core::error::Error for DatagramError {}

#[derive(Clone, Copy)]
struct Known {
    key: [u8; KEY],
    /// When its last datagram that counted was sent, in milliseconds since 1970.
    last_ms: u64,
    sender: Sender,
}

/// The senders that a device knows.
///
/// ```
/// use dunlin::push::{Datagram, DatagramError, Inbox, LONGEST};
/// use dunlin::time::Instant;
///
/// let mut inbox = Inbox::new("000102030405060708090a0b0c0d0e0f");
/// let key = core::array::from_fn(|index| index as u8);
/// let datagram = Datagram { sender: 0, sent_ms: 1_800_000_000_000, url: "http://a.test/" };
/// let mut out = [0; LONGEST];
/// let length = datagram.sign(&key, &mut out).unwrap();
/// let hear = |inbox: &mut Inbox, unix| {
///     inbox.hear(&out[..length], unix, Instant::ZERO).map(|heard| heard.url.len())
/// };
/// assert_eq!(hear(&mut inbox, None), Err(DatagramError::NoTime));
/// assert_eq!(hear(&mut inbox, Some(1_800_000_010)), Ok(14));
/// assert_eq!(hear(&mut inbox, Some(1_800_000_011)), Err(DatagramError::Time), "said again");
/// ```
pub struct Inbox {
    known: heapless::Vec<Known, SENDERS>,
    /// Pages and who pushed them, the oldest first.
    waiting: heapless::Deque<(u16, u8), WAITING>,
}

impl fmt::Debug for Inbox {
    /// Leaves the keys out, which are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let senders = self.known.len();
        f.debug_struct("Inbox")
            .field("senders", &senders)
            .finish_non_exhaustive()
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Inbox {
    /// An inbox to which nobody may push.
    pub const EMPTY: Self = Self {
        known: heapless::Vec::new(),
        waiting: heapless::Deque::new(),
    };

    /// For senders with these keys: 32 hexadecimal digits each, with white space between them. What
    /// is no key leaves its sender out, and the others their numbers.
    pub fn new(keys: &str) -> Self {
        let mut inbox = Self::EMPTY;
        for text in keys.split_ascii_whitespace().take(SENDERS) {
            let known = Known {
                // A key that nobody can have: all that is signed with it is sent too late.
                key: key(text).unwrap_or_default(),
                last_ms: if key(text).is_some() { 0 } else { u64::MAX },
                sender: Sender::new(),
            };
            // There is room for as many as are taken.
            let _ = inbox.known.push(known);
        }
        inbox
    }

    /// Whether nobody may push.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Takes a datagram in, when it is so many seconds after 1970 if that is certain. Work: its
    /// length.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn hear<'d>(
        &mut self,
        bytes: &'d [u8],
        unix: Option<u64>,
        now: Instant,
    ) -> Result<Datagram<'d>, DatagramError> {
        let datagram = Datagram::parse(bytes).ok_or(DatagramError::Form)?;
        let known = self.known.get_mut(usize::from(datagram.sender));
        let known = known.filter(|known| Datagram::is_signed(&known.key, bytes));
        let known = known.ok_or(DatagramError::Key)?;
        let unix = unix.ok_or(DatagramError::NoTime)?;
        let is_now = unix.abs_diff(datagram.sent_ms / 1_000) <= WINDOW_S;
        if !is_now || datagram.sent_ms <= known.last_ms {
            return Err(DatagramError::Time);
        }
        known.last_ms = datagram.sent_ms;
        match known.sender.push(now) {
            Reception::Heard => Ok(datagram),
            Reception::Doubted => Err(DatagramError::Doubted),
            Reception::TooMany => Err(DatagramError::TooMany),
        }
    }

    /// What was heard from a sender is this page. With too many of them, the first is never judged.
    pub fn wait(&mut self, page: u16, sender: u8) {
        if self.waiting.iter().any(|(known, _)| *known == page) {
            return;
        }
        if self.waiting.is_full() {
            self.waiting.pop_front();
        }
        // One has made room.
        let _ = self.waiting.push_back((page, sender));
    }

    /// A page was visited, and has changed or not: who said that it has was right or wrong.
    pub fn visited(&mut self, page: u16, changed: bool) {
        for _ in 0..self.waiting.len() {
            let Some((waiting, sender)) = self.waiting.pop_front() else {
                return;
            };
            if waiting != page {
                // It has just made room for itself.
                let _ = self.waiting.push_back((waiting, sender));
            } else if let Some(known) = self.known.get_mut(usize::from(sender)) {
                known.sender.visited(changed);
            }
        }
    }

    /// The share of a sender's pushes that were true; `None` if there is no such sender.
    pub fn precision(&self, sender: u8) -> Option<f32> {
        let known = self.known.get(usize::from(sender))?;
        Some(known.sender.precision())
    }
}

#[cfg(test)]
mod tests {
    use super::super::LONGEST;
    use super::*;
    use crate::time::Duration;

    const KEYS: &str = "00000000000000000000000000000001 \
                        nonsense 00000000000000000000000000000003";
    const NOW: u64 = 1_800_000_000;

    fn keys(last: u8) -> [u8; KEY] {
        let mut key = [0; KEY];
        key[KEY - 1] = last;
        key
    }

    fn hear(
        inbox: &mut Inbox,
        (sender, key): (u8, u8),
        sent_ms: u64,
        now: Instant,
    ) -> Result<(), DatagramError> {
        let url = "http://a.test/";
        let datagram = Datagram {
            sender,
            sent_ms,
            url,
        };
        let mut out = [0; LONGEST];
        let length = datagram.sign(&keys(key), &mut out).expect("it fits");
        let unix = Some(NOW + now.as_micros() / 1_000_000);
        let heard = inbox.hear(&out[..length], unix, now)?;
        assert_eq!(heard, datagram);
        Ok(())
    }

    #[test]
    fn a_key_is_its_senders_own() {
        let mut inbox = Inbox::new(KEYS);
        let at = NOW * 1_000;
        assert_eq!(hear(&mut inbox, (0, 1), at, Instant::ZERO), Ok(()));
        assert_eq!(hear(&mut inbox, (2, 3), at, Instant::ZERO), Ok(()));
        for (sender, key) in [(0, 3), (2, 1), (3, 1), (255, 1)] {
            let heard = hear(&mut inbox, (sender, key), at + 1, Instant::ZERO);
            assert_eq!(heard, Err(DatagramError::Key), "{sender} with {key}");
        }
        let nobody = hear(&mut inbox, (1, 0), at, Instant::ZERO);
        assert_eq!(
            nobody,
            Err(DatagramError::Time),
            "what is no key is nobody's"
        );
        assert!(Inbox::new("").is_empty());
        assert_eq!(
            inbox.hear(b"dpsh", Some(NOW), Instant::ZERO),
            Err(DatagramError::Form)
        );
    }

    #[test]
    fn nothing_is_heard_twice_nor_at_another_time() {
        let mut inbox = Inbox::new(KEYS);
        let at = NOW * 1_000;
        let mut say = |sent_ms| hear(&mut inbox, (0, 1), sent_ms, Instant::ZERO);
        assert_eq!(say(at), Ok(()));
        assert_eq!(say(at), Err(DatagramError::Time), "again");
        assert_eq!(say(at - 1), Err(DatagramError::Time), "an earlier one");
        assert_eq!(say(at + 1), Ok(()));
        let window = WINDOW_S * 1_000;
        assert_eq!(
            say(at + window + 1_000),
            Err(DatagramError::Time),
            "tomorrow's"
        );
        assert_eq!(say(at + window), Ok(()), "clocks differ");
        let mut inbox = Inbox::new(KEYS);
        let old = hear(&mut inbox, (0, 1), at - window - 1, Instant::ZERO);
        assert_eq!(old, Err(DatagramError::Time));
    }

    #[test]
    fn a_flood_is_held_back_and_a_liar_doubted_alone() {
        let mut inbox = Inbox::new(KEYS);
        let at = NOW * 1_000;
        let flood = (0..100).map(|push| hear(&mut inbox, (0, 1), at + push, Instant::ZERO));
        let heard = flood.filter(|heard| *heard == Ok(())).count();
        assert_eq!(heard, 60);
        assert_eq!(hear(&mut inbox, (2, 3), at, Instant::ZERO), Ok(()));

        let mut now = Instant::ZERO + Duration::HOUR;
        let mut heard = [0, 0];
        for push in 0..100_u16 {
            now += Duration::from_secs(10);
            let ms = at + now.as_micros() / 1_000;
            for (place, (sender, key)) in [(0, 1), (2, 3)].into_iter().enumerate() {
                if hear(&mut inbox, (sender, key), ms, now) == Ok(()) {
                    heard[place] += 1;
                    inbox.wait(push, sender);
                    inbox.visited(push, sender == 2);
                }
            }
        }
        assert_eq!(heard[1], 100);
        assert!(heard[0] < 30, "{} lies were heard", heard[0]);
        assert!(inbox.precision(0) < Some(0.2) && inbox.precision(2) > Some(0.9));
    }

    #[test]
    fn only_the_first_who_said_it_is_judged_and_old_words_are_forgotten() {
        let mut inbox = Inbox::new(KEYS);
        inbox.wait(7, 0);
        inbox.wait(7, 2);
        inbox.visited(7, false);
        inbox.visited(7, false);
        assert_eq!(
            (inbox.precision(0), inbox.precision(2)),
            (Some(2.0 / 3.0), Some(1.0))
        );
        for page in 0..=WAITING as u16 {
            inbox.wait(page, 2);
        }
        inbox.visited(0, false);
        assert_eq!(inbox.precision(2), Some(1.0), "the first has made room");
        inbox.visited(WAITING as u16, false);
        assert!(inbox.precision(2) < Some(1.0));
    }
}
