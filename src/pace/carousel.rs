//! The EDF carousel: one page a slot, every page as often as its rate says (Azar et al. 2018,
//! Algorithm 3).
//!
//! Job `j` of a page with rate ρ is released at slot ⌊(j−1)/ρ⌋ + 1 and due by ⌈j/ρ⌉; each slot goes
//! to the released job that is due first, equal ones to the smaller id. Then after `t` slots the
//! page has had `N` visits with
//! |tρ − N| ≤ 1, always (Tijdeman 1980). The paper's listing looks at all pages in each slot and adds up floats. Here
//! a slot costs O(log n), in the worst case too, and everything is an integer: rates are shares of
//! a common unit, and what a page is owed is kept as the exact remainder, so that nothing drifts
//! however long it turns.
//!
//! Pages wait for their release in a wheel with one tree a slot and turn over to the tree of
//! released pages together: pages of equal rate are all released in the same slot, and one by one
//! that slot would take O(n). Releases beyond the wheel wait in a tree of their own, from which
//! each slot moves only a few. They are in time: whatever it holds is moved within one turn of the
//! wheel.

use core::fmt;

use crate::forest::{meld, remove};
use crate::heap::{Entry, Id};
use crate::math::Real;

use super::ready;
use super::rhythm::slots_to_wait;
pub use super::seat::Seat;
use super::seat::State;
pub use super::ticks::Ticks;

/// Why a page was not taken or changed. The carousel is as it was.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum CarouselError {
    /// The rate is not a number in (0, 1]: a page can have one visit a slot, no more, and one that
    /// is to have none is left out.
    Rate {
        /// The page that was refused.
        page: u32,
        /// What was asked for, in visits a slot.
        rate: f32,
    },
    /// The page is on the carousel already; change its rate instead.
    Duplicate {
        /// The page that was refused.
        page: u32,
    },
    /// The carousel has no place of that number.
    OutOfRange {
        /// The page that was refused.
        page: u32,
        /// How many places there are.
        places: u32,
    },
    /// The page is not on the carousel; add it first.
    Unknown {
        /// The page that was refused.
        page: u32,
    },
}

impl fmt::Display for CarouselError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate { page, rate } => {
                write!(
                    f,
                    "page {page} asks for {rate} visits a slot, expected more than 0 and at most 1"
                )
            }
            Self::Duplicate { page } => {
                write!(f, "page {page} is on the carousel already: change its rate")
            }
            Self::OutOfRange { page, places } => {
                write!(
                    f,
                    "page {page} was added, but the carousel has places 0 to {places} (exclusive)"
                )
            }
            Self::Unknown { page } => write!(f, "page {page} is not on the carousel: add it first"),
        }
    }
}

impl core::error::Error for CarouselError {}

/// An endless order of pages in which each comes up as often as its rate says.
///
/// `P` holds the pages (ids are places in it), `R` the released ones in order and `S` the wheel;
/// all may be arrays, slices or, on a host, `Vec`s. The longer the wheel, the fewer pages take the
/// way through the tree of far releases; as many places as pages is a good length. With `u32`
/// slots, `u16` ids and that length a page costs 30 bytes.
///
/// | operation | work |
/// |---|---|
/// | [`next_slot`](Self::next_slot) | O(log n) in the worst case: 3 melds, and two more for each ⌈pages/wheel⌉ |
/// | [`add`](Self::add), [`set_rate`](Self::set_rate), [`remove`](Self::remove) | O(log n) |
/// | [`skip`](Self::skip), construction | O(n log n) |
///
/// *Total rate below 1*: the missing share of slots is idle, as evenly as the visits. *Above 1*:
/// every page gets the same fraction 1/Σρ of what it asked for, within the same bound. Releases and
/// due slots are counted on a clock that is held in some slots, so that there are always slots
/// enough.
///
/// *Changes while it turns* cost no page its credit: one that is owed half a visit is still owed it
/// at its new rate. The bound then holds from where the change found it; many changes at once can
/// leave pages late by as many slots as there are pages, never more.
///
/// ```
/// use dunlin::pace::carousel::ArrayCarousel;
///
/// let mut carousel: ArrayCarousel<u32, u16, 3> = ArrayCarousel::new();
/// carousel.add(0, 0.5_f32)?;
/// carousel.add(1, 0.25_f32)?;
/// let order: [Option<u16>; 8] = core::array::from_fn(|_| carousel.next_slot());
/// assert_eq!(order, [Some(0), Some(1), Some(0), None, Some(0), Some(1), Some(0), None]);
/// # Ok::<(), dunlin::pace::carousel::CarouselError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Carousel<W, I, P, R, S> {
    pages: P,
    /// `wheel[(head + k) mod length]`: what is released k slots from now.
    wheel: S,
    head: usize,
    /// Released pages by due slot, `released` of them roots of trees.
    ready: R,
    released: usize,
    /// Pages released beyond the wheel, by release.
    far: I,
    /// Slots of the clock that releases and due slots are counted on.
    now: W,
    /// All slots, those in which that clock was held included.
    turned: u64,
    unit: W,
    /// Sum of all shares.
    total: u64,
    /// Visits, times `unit`, that are due beyond one a slot: the clock is held for each whole one.
    owed: u64,
}

/// A carousel that owns its memory, for `N` pages; `const`-constructible for a `static`.
pub type ArrayCarousel<W, I, const N: usize> =
    Carousel<W, I, [Seat<W, I>; N], [Entry<W, I>; N], [I; N]>;

/// A carousel in slices the caller lends it.
pub type SliceCarousel<'a, W, I> =
    Carousel<W, I, &'a mut [Seat<W, I>], &'a mut [Entry<W, I>], &'a mut [I]>;

impl<W: Ticks, I: Id, const N: usize> ArrayCarousel<W, I, N> {
    /// Makes an empty carousel.
    pub const fn new() -> Self {
        Self::empty([Seat::UNUSED; N], [Entry::UNUSED; N], [I::NONE; N])
    }
}

impl<W: Ticks, I: Id, const N: usize> Default for ArrayCarousel<W, I, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Ticks, I: Id, P, R, S> Carousel<W, I, P, R, S> {
    const fn empty(pages: P, ready: R, wheel: S) -> Self {
        Self {
            pages,
            wheel,
            head: 0,
            ready,
            released: 0,
            far: I::NONE,
            now: W::ZERO,
            turned: 0,
            unit: W::FINEST,
            total: 0,
            owed: 0,
        }
    }
}

impl<W, I, P, R, S> Carousel<W, I, P, R, S>
where
    W: Ticks,
    I: Id,
    P: AsRef<[Seat<W, I>]> + AsMut<[Seat<W, I>]>,
    R: AsRef<[Entry<W, I>]> + AsMut<[Entry<W, I>]>,
    S: AsRef<[I]> + AsMut<[I]>,
{
    /// An empty carousel in the given storage, whatever that held. `ready` must be as long as
    /// `pages`, or places beyond its length cannot be used; `wheel` may have any length.
    pub fn with_storage(mut pages: P, ready: R, mut wheel: S) -> Self {
        pages.as_mut().fill(Seat::UNUSED);
        wheel.as_mut().fill(I::NONE);
        Self::empty(pages, ready, wheel)
    }

    /// The same with shares counted in `unit` (at least 1, at most [`Ticks::FINEST`], which is the
    /// default): a page of share 3 in 1,000 then gets exactly 3 visits in 1,000 slots. For an empty
    /// carousel.
    #[must_use]
    pub fn with_unit(mut self, unit: W) -> Self {
        self.unit = unit.clamp(W::ONE, W::FINEST);
        self
    }

    /// How many slots it has turned.
    pub fn slot(&self) -> u64 {
        self.turned
    }

    /// What shares are counted in.
    pub fn unit(&self) -> W {
        self.unit
    }

    /// The share of a page, if it is on the carousel.
    pub fn share(&self, id: I) -> Option<W> {
        self.pages
            .as_ref()
            .get(id.index())
            .map(|page| page.rate)
            .filter(|rate| *rate > W::ZERO)
    }

    /// The sum of all shares: above [`Self::unit`], pages get less than they ask for.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What a page is owed, in visits times [`Self::unit`]: above −1 visit, and below +1 unless
    /// changes or an overload have made it late. `None` if it is not on the carousel.
    pub fn credit(&self, id: I) -> Option<i64> {
        let page = self
            .pages
            .as_ref()
            .get(id.index())
            .filter(|page| page.rate > W::ZERO)?;
        Some(credit(page, self.unit, self.now))
    }

    /// The share that stands for a rate in visits a slot: rounded down, so that shares never sum to
    /// more than the rates did; one unit at least.
    fn share_of<F: Real>(&self, id: I, rate: F) -> Result<W, CarouselError> {
        // The comparison is false for NaN, too.
        if rate > F::ZERO && rate <= F::ONE {
            let share = (rate * F::from_u64(self.unit.widen())).to_u64();
            return Ok(W::wrap(share).clamp(W::ONE, self.unit));
        }
        Err(CarouselError::Rate {
            page: number(id),
            rate: rate.to_f64() as f32,
        })
    }

    /// Puts a page on the carousel; it may come up from the next slot on.
    ///
    /// # Errors
    /// A rate outside (0, 1], an id that is there already or beyond the storage: the carousel is
    /// unchanged.
    pub fn add<F: Real>(&mut self, id: I, rate: F) -> Result<(), CarouselError> {
        self.add_share(id, self.share_of(id, rate)?)
    }

    /// The same with an exact share of [`Self::unit`].
    ///
    /// # Errors
    /// As for [`Self::add`].
    pub fn add_share(&mut self, id: I, share: W) -> Result<(), CarouselError> {
        let places = self.pages.as_ref().len().min(self.ready.as_ref().len());
        let page = number(id);
        let Some(free) = self
            .pages
            .as_ref()
            .get(id.index())
            .filter(|_| id != I::NONE && id.index() < places)
        else {
            return Err(CarouselError::OutOfRange {
                page,
                places: u32::try_from(places).unwrap_or(u32::MAX),
            });
        };
        if free.rate > W::ZERO {
            return Err(CarouselError::Duplicate { page });
        }
        self.check_share(id, share)?;
        self.total = self.total.saturating_add(share.widen());
        self.file_credit(id, share, 0);
        Ok(())
    }

    /// Changes a page's rate; what it is owed is kept.
    ///
    /// # Errors
    /// A rate outside (0, 1] or a page that is not there: the carousel is unchanged.
    pub fn set_rate<F: Real>(&mut self, id: I, rate: F) -> Result<(), CarouselError> {
        self.set_share(id, self.share_of(id, rate)?)
    }

    /// The same with an exact share of [`Self::unit`].
    ///
    /// # Errors
    /// As for [`Self::set_rate`].
    pub fn set_share(&mut self, id: I, share: W) -> Result<(), CarouselError> {
        let old = self
            .share(id)
            .ok_or(CarouselError::Unknown { page: number(id) })?;
        self.check_share(id, share)?;
        let credit = self.take_out(id);
        self.total = self
            .total
            .saturating_sub(old.widen())
            .saturating_add(share.widen());
        self.file_credit(id, share, credit);
        Ok(())
    }

    /// Takes a page off the carousel and returns its share; `None` if it was not there.
    pub fn remove(&mut self, id: I) -> Option<W> {
        let share = self.share(id)?;
        let credit = self.take_out(id);
        self.total = self.total.saturating_sub(share.widen());
        // A page that leaves just after a visit has used slots that the others were counting on.
        self.owed = self
            .owed
            .saturating_add(u64::try_from(-credit).unwrap_or(0));
        if let Some(page) = self.pages.as_mut().get_mut(id.index()) {
            *page = Seat::UNUSED;
        }
        Some(share)
    }

    /// Turns by one slot: whose it is, or `None` for an idle one.
    #[must_use = "the page whose slot it is has to be visited"]
    pub fn next_slot(&mut self) -> Option<I> {
        self.turned += 1;
        if self.owed >= self.unit.widen() {
            self.owed -= self.unit.widen();
        } else {
            self.owed = self
                .owed
                .saturating_add(self.total.saturating_sub(self.unit.widen()));
            self.advance();
        }
        self.visit()
    }

    /// Every slot from now on, without end: whose it is, or `None` for an idle one.
    ///
    /// ```
    /// # use dunlin::heap::Entry;
    /// # use dunlin::pace::carousel::{Carousel, Seat};
    /// let (pages, ready, wheel) = (vec![Seat::UNUSED; 2], vec![Entry::UNUSED; 2], vec![0; 2]);
    /// let mut carousel = Carousel::with_storage(pages, ready, wheel).with_unit(3_u64);
    /// carousel.add_share(0_u32, 2)?;
    /// carousel.add_share(1, 1)?;
    /// let order: Vec<u32> = carousel.slots().take(6).flatten().collect();
    /// assert_eq!(order, [0, 0, 1, 0, 0, 1]);
    /// # Ok::<(), dunlin::pace::carousel::CarouselError>(())
    /// ```
    pub fn slots(&mut self) -> impl Iterator<Item = Option<I>> {
        core::iter::repeat_with(|| self.next_slot())
    }

    /// Lets slots pass as though every visit in them had been made: after a power cut nothing is
    /// made up for in a burst, and pages keep their rhythm. O(n log n) once.
    pub fn skip(&mut self, slots: u64) {
        let unit = u128::from(self.unit.widen());
        let demand = u128::from(self.total).max(unit);
        // On the clock that is held, fewer slots pass.
        let passed = u128::from(slots) * unit / demand;
        let mut visits = passed * demand / unit;
        let before = self.now;
        self.turned = self.turned.saturating_add(slots);
        self.now = before.plus(W::wrap(passed as u64));
        self.released = 0;
        self.far = I::NONE;
        self.wheel.as_mut().fill(I::NONE);
        for index in 0..self.pages.as_ref().len() {
            let Some((id, page)) = I::from_index(index).zip(self.pages.as_ref().get(index)) else {
                break;
            };
            let rate = page.rate;
            if rate == W::ZERO {
                continue;
            }
            // Counted from one visit earlier, so that it cannot be negative.
            let owed = unit.saturating_add_signed(i128::from(credit(page, self.unit, before)));
            let owed = owed + passed * u128::from(rate.widen());
            let made = (owed / unit).saturating_sub(1);
            visits = visits.saturating_sub(made);
            self.file_credit(id, rate, (owed - made * unit) as i64 - unit as i64);
        }
        // Of what is released by now, what is due first would have been visited.
        while visits > 0 && self.visit().is_some() {
            visits -= 1;
        }
    }

    fn check_share(&self, id: I, share: W) -> Result<(), CarouselError> {
        if share > W::ZERO && share <= self.unit {
            return Ok(());
        }
        let rate = share.widen() as f32 / self.unit.widen() as f32;
        Err(CarouselError::Rate {
            page: number(id),
            rate,
        })
    }

    /// One slot of the clock: what is released now turns over, and the wheel takes in what has come
    /// within reach.
    fn advance(&mut self) {
        self.now = self.now.plus(W::ONE);
        let pages = self.pages.as_mut();
        let wheel = self.wheel.as_mut();
        self.head = if self.head + 1 < wheel.len() {
            self.head + 1
        } else {
            0
        };
        if let Some(tree) = wheel.get_mut(self.head) {
            ready::insert(pages, self.ready.as_mut(), &mut self.released, *tree);
            *tree = I::NONE;
        }
        let moves = pages.len().div_ceil(wheel.len().max(1));
        for _ in 0..moves {
            let id = self.far;
            let Some(page) = self.pages.as_ref().get(id.index()).copied() else {
                break;
            };
            if self.place(page.slot).is_none() {
                break;
            }
            self.far = meld(self.pages.as_mut(), page.links.left, page.links.right);
            self.file(id, page.rate, page.slot, page.credit);
        }
    }

    /// The released page that is due first has its visit and is filed for the next.
    fn visit(&mut self) -> Option<I> {
        let id = self.ready.as_ref().get(..self.released)?.first()?.id;
        let page = *self.pages.as_ref().get(id.index())?;
        self.leave(0, &page);
        if page.credit > W::ZERO {
            self.file(id, page.rate, page.slot, page.credit);
        } else {
            self.file(id, page.rate, page.slot.plus(W::ONE), page.rate);
        }
        Some(id)
    }

    /// Takes the root at `place` out of the released pages; the next of its tree steps in.
    fn leave(&mut self, place: usize, root: &Seat<W, I>) {
        let pages = self.pages.as_mut();
        let next = meld(pages, root.links.left, root.links.right);
        ready::replace(pages, self.ready.as_mut(), &mut self.released, place, next);
    }

    /// Files a page that is in no tree by what it is owed now.
    fn file_credit(&mut self, id: I, rate: W, credit: i64) {
        let step = rate.widen();
        // Released with the first slot in which it is owed anything, which may lie behind us.
        let (release, left) = match u64::try_from(credit.saturating_sub(1)) {
            Ok(over) => (self.now.since(W::wrap(over / step)), over % step + 1),
            Err(_) => {
                let missing = credit.unsigned_abs();
                (
                    self.now.plus(W::wrap(missing / step + 1)),
                    step - missing % step,
                )
            }
        };
        self.file(id, rate, release, W::wrap(left));
    }

    /// Files a page that is in no tree under its next job, given the release and what it is owed
    /// then: more than nothing, at most one slot's worth.
    fn file(&mut self, id: I, rate: W, release: W, credit: W) {
        let place = self.place(release);
        let pages = self.pages.as_mut();
        let wheel = self.wheel.as_mut();
        let Some(page) = pages.get_mut(id.index()) else {
            return;
        };
        let Some(place) = place else {
            *page = Seat::alone(release, rate, credit, State::Far);
            self.far = meld(pages, self.far, id);
            return;
        };
        let wait = slots_to_wait(self.unit, rate, credit);
        *page = Seat::alone(
            release.plus(wait),
            rate,
            credit + wait * rate - self.unit,
            State::Tree,
        );
        match place {
            Place::Ready => ready::insert(pages, self.ready.as_mut(), &mut self.released, id),
            Place::Wheel(index) => {
                if let Some(tree) = wheel.get_mut(index) {
                    *tree = meld(pages, *tree, id);
                }
            }
        }
    }

    /// Where a page with that release waits; `None` if it is beyond the wheel.
    fn place(&self, release: W) -> Option<Place> {
        if !self.now.is_before(release) {
            return Some(Place::Ready);
        }
        let ahead = release.since(self.now).widen();
        let length = self.wheel.as_ref().len();
        let ahead = usize::try_from(ahead)
            .ok()
            .filter(|ahead| *ahead <= length)?;
        let index = self.head + ahead;
        Some(Place::Wheel(if index < length {
            index
        } else {
            index - length
        }))
    }

    /// Takes a page out of the tree it stands in and returns what it is owed now.
    fn take_out(&mut self, id: I) -> i64 {
        let Some(page) = self.pages.as_ref().get(id.index()).copied() else {
            return 0;
        };
        if page.is(State::Far) {
            self.far = remove(self.pages.as_mut(), self.far, id);
        } else if page.is(State::Root) {
            self.leave(page.links.up.index(), &page);
        } else if let Some(Place::Wheel(index)) = self.place(release(&page, self.unit)) {
            // A page on the wheel knows when it is due, and from that its release.
            if let Some(tree) = self.wheel.as_mut().get_mut(index) {
                *tree = remove(self.pages.as_mut(), *tree, id);
            }
        } else {
            remove(self.pages.as_mut(), I::NONE, id);
        }
        credit(&page, self.unit, self.now)
    }
}

/// Where a page waits.
enum Place {
    /// It waits among the released.
    Ready,
    /// It waits in the wheel, at this index.
    Wheel(usize),
}

/// What a page is owed at slot `now`, in visits times `unit`: above −unit, and above +unit only if
/// it is late.
fn credit<W: Ticks, I: Id>(page: &Seat<W, I>, unit: W, now: W) -> i64 {
    let at_slot = page.credit.widen() as i64
        + if page.is(State::Far) {
            0
        } else {
            unit.widen() as i64
        };
    let rate = page.rate.widen() as i64;
    if now.is_before(page.slot) {
        at_slot - page.slot.since(now).widen() as i64 * rate
    } else {
        at_slot + now.since(page.slot).widen() as i64 * rate
    }
}

/// The slot in which a page's job was or will be released, from the slot by which it is due.
fn release<W: Ticks, I: Id>(page: &Seat<W, I>, unit: W) -> W {
    let owed = page.credit + unit - W::ONE;
    page.slot.since(owed / page.rate.max(W::ONE))
}

fn number<I: Id>(id: I) -> u32 {
    u32::try_from(id.index()).unwrap_or(u32::MAX)
}
