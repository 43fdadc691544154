//! Pages that are known by links only: a fixed number, the most important ones.
//!
//! Candidates lie in buckets of eight, chosen by their digest: to look for one, or to make room, is
//! to look at eight. A newcomer to a full bucket takes the place of its least important candidate,
//! once it has been seen often enough (see [`Doorkeeper`](super::Doorkeeper)) and is worth more.

use crate::fetch::robots::Verdict;
use crate::rank::Settled;

/// Candidates that are looked at together.
const BUCKET: usize = 8;

/// A page that might be worth keeping: 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Candidate {
    /// The digest of its URL; 0 if there is no candidate.
    digest: u32,
    /// Where its URL's text is, by the log, in the lower 24 bits; the higher, the later. Above them,
    /// how much of its income it has not handed on, in 255ths.
    text_and_unspent: u32,
    /// What it has earned lately, by [`Bank`](crate::rank::Bank).
    income: f32,
    /// The number of its host.
    host: u16,
    /// Pages that were seen to link to it.
    backlinks: u8,
    /// Two bits of verdict, one for each page that was visited, five for what its URL and anchors
    /// are worth.
    flags: u8,
}

const VISITED: u8 = 0b100;
const WORTH: u8 = 0b1111_1000;

impl Candidate {
    /// A place of the table without a candidate.
    pub const NONE: Self = Self {
        digest: 0,
        text_and_unspent: 0,
        income: 0.0,
        host: 0,
        backlinks: 0,
        flags: 0,
    };
    /// Texts lie below it: 24 bits.
    pub const MOST_TEXT: u32 = 1 << 24;

    /// Of this digest, which is not 0, on a host; its text is there, below [`Self::MOST_TEXT`].
    pub fn new(digest: u32, host: u16, text: u32) -> Self {
        let mut candidate = Self {
            digest,
            host,
            ..Self::default()
        };
        candidate.set_text(text);
        candidate.set_worth(1.0);
        candidate
    }

    /// What it has earned lately.
    pub fn income(&self) -> f32 {
        self.income
    }

    /// What it has not handed on.
    pub fn cash(&self) -> f32 {
        self.income * f32::from(self.unspent()) / 255.0
    }

    /// Sets what it has earned, and how much of it was not handed on.
    #[inline(never)] // Once for all callers.
    pub fn set_income(&mut self, income: f32, cash: f32) {
        // Also what is no number is nothing.
        self.income = if income > 0.0 { income } else { 0.0 };
        let share = if income > 0.0 { cash / income } else { 0.0 };
        let unspent = (share * 255.0 + 0.5).clamp(0.0, 255.0) as u32;
        self.text_and_unspent = unspent << 24 | self.text();
    }

    /// It has earned something. How much of that it cannot hold, for it counts cash in steps: less
    /// than 0 if it holds more.
    pub fn earn(&mut self, share: f32) -> f32 {
        let cash = self.cash() + share;
        self.set_income(self.income + share, cash);
        cash - self.cash()
    }

    /// The digest of its URL.
    pub fn digest(&self) -> u32 {
        self.digest
    }

    /// Where its URL's text is.
    pub fn text(&self) -> u32 {
        self.text_and_unspent & (Self::MOST_TEXT - 1)
    }

    /// The text was moved.
    pub fn set_text(&mut self, text: u32) {
        let unspent = u32::from(self.unspent());
        self.text_and_unspent = unspent << 24 | text & (Self::MOST_TEXT - 1);
    }

    /// The number of its host.
    pub fn host(&self) -> u16 {
        self.host
    }

    /// Pages that were seen to link to it, 255 at most.
    pub fn backlinks(&self) -> u8 {
        self.backlinks
    }

    /// One more page links to it.
    pub fn linked(&mut self) {
        self.backlinks = self.backlinks.saturating_add(1);
    }

    /// What its host's robots.txt says about it.
    pub fn verdict(&self) -> Verdict {
        Verdict::from_bits(self.flags)
    }

    /// A robots.txt was read.
    pub fn set_verdict(&mut self, verdict: Verdict) {
        self.flags = self.flags & !Verdict::BITS | verdict.to_bits();
    }

    /// Was it visited, and found not to be important enough?
    pub fn is_visited(&self) -> bool {
        self.flags & VISITED != 0
    }

    /// Remembers that it was visited.
    pub fn set_visited(&mut self) {
        self.flags |= VISITED;
    }

    /// What its URL and the texts of links make of it, 1 at most, in 31 steps.
    pub fn worth(&self) -> f32 {
        f32::from((self.flags & WORTH) >> 3) / 31.0
    }

    /// Sets what [`Self::worth`] says; never less than one step.
    #[inline(never)] // Once for all callers.
    pub fn set_worth(&mut self, worth: f32) {
        let steps = (worth * 31.0 + 0.5).clamp(1.0, 31.0) as u8;
        self.flags = self.flags & !WORTH | steps << 3;
    }

    /// A link that says more of it was seen: it is worth at least this.
    pub fn raise_worth(&mut self, worth: f32) {
        if worth > self.worth() {
            self.set_worth(worth);
        }
    }

    /// Must it not be asked for?
    pub(super) fn is_denied(&self) -> bool {
        self.flags & Verdict::BITS == Verdict::Denied.to_bits()
    }

    /// The most that [`Self::untold`] may be of what it has earned.
    pub(super) const MOST_UNTOLD: f32 = 255.0 * 31.0;

    /// What it has not handed on times what it is worth, up to a factor that is the same for all.
    pub(super) fn untold(&self) -> f32 {
        let steps = u16::from(self.unspent()) * u16::from(self.flags >> 3);
        self.income * f32::from(steps)
    }

    fn unspent(&self) -> u8 {
        (self.text_and_unspent >> 24) as u8
    }

    fn is_free(&self) -> bool {
        self.digest == 0
    }
}

/// What became of a newcomer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub enum Placement {
    /// It has a place now; this one had to go.
    Taken {
        /// Its text is no longer needed.
        evicted: Option<Candidate>,
    },
    /// All others in its bucket are worth more, or it was not seen often enough.
    Refused,
}

/// A fixed number of candidates: 2,048 of them take 32 KiB.
///
/// ```
/// use dunlin::discover::{Candidate, Candidates, Placement};
///
/// let mut candidates = Candidates::new([Candidate::default(); 16]);
/// let importance = Candidate::income;
/// let offer = candidates.offer(Candidate::new(7, 0, 0), true, &importance);
/// assert_eq!(offer, Placement::Taken { evicted: None });
/// let _lost = candidates.find_mut(7).unwrap().earn(2.0);
/// assert_eq!(candidates.best(&|one| Some(one.income())).unwrap().digest(), 7);
/// assert!(candidates.remove(7).is_some());
/// assert_eq!(candidates.len(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct Candidates<S> {
    slots: S,
    count: usize,
    /// The host that was asked about last, and how many are on it.
    counted: (u16, usize),
}

impl<S: AsRef<[Candidate]> + AsMut<[Candidate]>> Candidates<S> {
    /// None yet, in this memory. What does not make a whole bucket of eight is not used.
    pub fn new(mut slots: S) -> Self {
        slots.as_mut().fill(Candidate::default());
        Self {
            slots,
            count: 0,
            counted: (0, 0),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// How many are on a host. Work: constant for the one that was asked about last, linear for
    /// another one.
    pub fn count_on(&mut self, host: u16) -> usize {
        if self.counted.0 != host {
            let on_host = self.iter().filter(|one| one.host == host);
            self.counted = (host, on_host.count());
        }
        self.counted.1
    }

    /// Whether there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The candidate of this digest. Work: constant.
    #[inline(never)] // Once for all callers.
    pub fn find_mut(&mut self, digest: u32) -> Option<&mut Candidate> {
        let bucket = self.bucket(digest);
        let mut slots = self.slots.as_mut().get_mut(bucket)?.iter_mut();
        slots.find(|slot| slot.digest == digest && digest != 0)
    }

    /// The same, only to be looked at.
    #[inline(never)] // Once for all callers.
    pub fn find(&self, digest: u32) -> Option<&Candidate> {
        let mut slots = self.slots.as_ref().get(self.bucket(digest))?.iter();
        slots.find(|slot| slot.digest == digest && digest != 0)
    }

    /// Whether a newcomer would find its bucket full.
    pub fn is_full_for(&self, digest: u32) -> bool {
        let bucket = self.slots.as_ref().get(self.bucket(digest));
        bucket.is_none_or(|slots| slots.iter().all(|slot| !slot.is_free()))
    }

    /// A newcomer asks for a place. In a full bucket it gets one only if it was `vouched` for, and
    /// if the least important candidate there is less important than it is. Work: constant.
    pub fn offer(
        &mut self,
        newcomer: Candidate,
        vouched: bool,
        importance: &dyn Fn(&Candidate) -> f32,
    ) -> Placement {
        let bucket = self.bucket(newcomer.digest);
        let slots = self.slots.as_mut().get_mut(bucket).unwrap_or_default();
        if newcomer.is_free() || slots.iter().any(|slot| slot.digest == newcomer.digest) {
            return Placement::Refused;
        }
        let (counted, count) = &mut self.counted;
        let own = usize::from(newcomer.host == *counted);
        if let Some(free) = slots.iter_mut().find(|slot| slot.is_free()) {
            *free = newcomer;
            self.count += 1;
            *count += own;
            return Placement::Taken { evicted: None };
        }
        let least = slots
            .iter_mut()
            .map(|slot| (importance(slot), slot))
            .min_by(|(one, _), (other, _)| one.total_cmp(other));
        match least {
            Some((worth, slot)) if vouched && worth < importance(&newcomer) => {
                *count += own;
                *count -= usize::from(slot.host == *counted);
                let evicted = Some(core::mem::replace(slot, newcomer));
                Placement::Taken { evicted }
            }
            _ => Placement::Refused,
        }
    }

    /// Takes a candidate out: it is a page now, or gone.
    #[inline(never)] // Once for all callers.
    pub fn remove(&mut self, digest: u32) -> Option<Candidate> {
        let found = self.find_mut(digest).map(core::mem::take);
        if let Some(found) = found {
            self.count -= 1;
            self.counted.1 -= usize::from(found.host == self.counted.0);
        }
        found
    }

    /// The one with the highest importance; a candidate of none, or of less than 0, does not count,
    /// and of equals the one that was found first does. Work: linear.
    pub fn best(&self, importance: &dyn Fn(&Candidate) -> Option<f32>) -> Option<&Candidate> {
        let mut best = None;
        let mut most = 0.0;
        for candidate in self.iter() {
            // As a rule it is less, and that is all that is looked at.
            if let Some(own) = importance(candidate)
                && own >= most
            {
                let is_first = |held: &Candidate| own > most || candidate.text() < held.text();
                if best.is_none_or(is_first) {
                    best = Some(candidate);
                    most = own;
                }
            }
        }
        best
    }

    /// The one that is worth most of those that may be asked for; of equals the one that was found
    /// first. Who is worth so much has earned at least what `needed` says of that. Work: linear,
    /// and for most of them a comparison.
    pub(super) fn best_allowed(
        &self,
        worth: impl Fn(&Candidate) -> f32,
        needed: impl Fn(f32) -> f32,
    ) -> Option<&Candidate> {
        let mut best: Option<(&Candidate, f32)> = None;
        // Earnings are not below 0, and in this order as bits, too.
        let mut limit = 0;
        let mut rest = self.slots.as_ref();
        while let Some(next) = rest.iter().position(|slot| slot.income.to_bits() >= limit)
            && let Some((slot, behind)) = rest.get(next..).and_then(<[_]>::split_first)
        {
            rest = behind;
            if slot.is_free() || slot.is_denied() {
                continue;
            }
            let own = worth(slot);
            let is_better = |(held, most): (&Candidate, f32)| {
                own > most || own == most && slot.text() < held.text()
            };
            if best.is_none_or(is_better) {
                best = Some((slot, own));
                limit = needed(own).to_bits();
            }
        }
        best.map(|(slot, _)| slot)
    }

    /// The one at this share of the table, in 2³²nds, if there is one.
    pub(super) fn at(&self, share: u32) -> Option<&Candidate> {
        let slots = self.slots.as_ref();
        let at = (u64::from(share) * slots.len() as u64) >> 32;
        slots.get(at as usize).filter(|slot| !slot.is_free())
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Candidate> {
        self.slots.as_ref().iter().filter(|slot| !slot.is_free())
    }

    /// All of them, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Candidate> {
        self.slots
            .as_mut()
            .iter_mut()
            .filter(|slot| !slot.is_free())
    }

    /// Earnings fade and rain falls, as on pages; the cash that is lost by that, which goes back to
    /// the bank. Work: linear.
    pub fn settle(&mut self, settled: Settled) -> f32 {
        let Settled { fading, drops } = settled;
        if fading >= 1.0 && drops <= 0.0 {
            return 0.0;
        }
        let mut lost = 0.0;
        for candidate in self.iter_mut() {
            let cash = candidate.cash() + drops;
            candidate.set_income(candidate.income * fading + drops, cash);
            lost += cash - candidate.cash();
        }
        lost
    }

    fn bucket(&self, digest: u32) -> core::ops::Range<usize> {
        let buckets = self.slots.as_ref().len() / BUCKET;
        // The upper bits, spread over all buckets without a division.
        let bucket = ((u64::from(digest) * buckets as u64) >> 32) as usize;
        bucket * BUCKET..(bucket + 1) * BUCKET
    }
}
