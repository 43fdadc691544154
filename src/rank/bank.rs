//! PageRank by cash: no link is stored, and no round is ever over.
//!
//! Every page holds cash. When it is visited, it hands nine tenths of it to the pages that it links
//! to, in equal parts, and the rest to a pool; the pool rains on all pages alike. What a page earns
//! in the long run is its PageRank (Abiteboul, Preda and Cobena 2003; damping as in Cho §2.2), in
//! whatever order pages are visited, as long as all are visited now and then. Candidates hold cash,
//! too, and hand it on when they are looked at: what they link to counts as well.
//!
//! Old earnings fade, for the web changes and so does the collection: quickly at first, when they
//! were made by few pages, and slowly later.

use super::packed::{Dither, Figures};

/// The share of its cash that a page hands to its links.
pub const DAMPING: f32 = 0.9;
/// The most that is left of earnings when all cash has been spent once.
const FADING: f32 = 0.95;
/// What is left of a link's share if it leads to the page's own neighbourhood.
const NEAR: f32 = 0.25;
/// One page of so many is looked at before the others.
const SAMPLE: usize = 64;
/// Places that are moved together.
const STRETCH: usize = 128;
/// The pool rains when it holds this share of all cash.
const RAIN: f32 = 0.05;

/// What a page has: 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// The digest of the page's URL; 0 if there is no page.
    digest: u32,
    figures: Figures,
}

impl Account {
    /// An account that belongs to no page.
    pub const FREE: Self = Self {
        digest: 0,
        figures: Figures::ZERO,
    };

    /// Sets its cash; what it cannot hold of that, for it counts in steps: less than 0 if it holds
    /// more.
    #[inline(never)] // Once for all callers.
    fn set_cash(&mut self, cash: f32, dither: &mut Dither) -> f32 {
        self.figures.set_cash(cash, dither);
        cash - self.figures.cash()
    }

    /// Earns something; by how much its income grew.
    fn earn(&mut self, share: f32, dither: &mut Dither) -> f32 {
        let before = self.figures.income();
        self.figures.set_income(before + share, dither);
        self.figures.income() - before
    }
}

/// Puts a place between those from `at` to `end` and those before them. Work: linear, in stretches
/// that are copied as a whole: to move bytes to where some of them are takes a small core longer.
fn insert(order: &mut [u16], at: usize, mut end: usize, place: u16) {
    let mut stretch = [0; STRETCH];
    while end > at {
        let start = at.max(end.saturating_sub(STRETCH));
        let copy = |to: &mut [u16], from: &[u16]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        };
        copy(&mut stretch, order.get(start..end).unwrap_or_default());
        copy(
            order.get_mut(start + 1..end + 1).unwrap_or_default(),
            &stretch,
        );
        end = start;
    }
    if let Some(slot) = order.get_mut(at) {
        *slot = place;
    }
}

/// The least important page of those that were looked at.
struct Least<'f> {
    lowest: f32,
    factor: &'f dyn Fn(u16) -> Option<f32>,
    found: Option<(u16, f32)>,
    /// Who has earned more cannot be the least: by [`Figures::order`].
    limit: u32,
}

impl Least<'_> {
    fn look_at(&mut self, place: usize, accounts: &[Account]) {
        let Some(account) = accounts.get(place).filter(|one| one.digest != 0) else {
            return;
        };
        let place = place as u16;
        let Some(factor) = (self.factor)(place) else {
            return;
        };
        let worth = account.figures.income() * factor;
        if self.found.is_some_and(|(_, least)| worth >= least) {
            return;
        }
        self.found = Some((place, worth));
        if self.lowest > 0.0 {
            self.limit = Figures::most_of(worth / self.lowest);
        }
    }
}

/// What became of earnings: candidates have to be treated alike, see
/// [`Candidates::settle`](crate::discover::Candidates::settle).
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Settled {
    /// Earnings are multiplied by it.
    pub fading: f32,
    /// Rain on each page.
    pub drops: f32,
}

/// What a page takes with it when it goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closed {
    /// The digest of its URL.
    pub digest: u32,
    /// What it has earned lately.
    pub income: f32,
    /// What it has not spent.
    pub cash: f32,
}

/// Accounts of pages, by their places. With 4,096 pages, 40 KiB: 10 bytes a page.
///
/// ```
/// use dunlin::rank::{Account, Bank};
///
/// let mut bank = Bank::new([Account::FREE; 3], [0; 3]);
/// for (place, digest) in [(0, 11), (1, 22), (2, 33)] {
///     bank.open(place, digest, 0.0, 1.0);
/// }
/// for _ in 0..20 {
///     bank.spend(0, &[22, 33], &mut |_, _| false);
///     bank.spend(1, &[33], &mut |_, _| false);
///     // Nobody holds the page with the digest 99: its share goes to all.
///     bank.spend(2, &[33, 99], &mut |digest, _| digest != 99);
///     let _ = bank.settle(0);
/// }
/// assert!(bank.importance(2) > bank.importance(1));
/// assert!(bank.importance(1) > bank.importance(0));
/// ```
#[derive(Clone, Debug)]
pub struct Bank<A, O> {
    accounts: A,
    /// Places of open accounts in the order of their digests.
    order: O,
    open: usize,
    pool: f32,
    /// All cash, candidates' included.
    total: f32,
    /// How often earnings have faded, up to when that no longer matters.
    rounds: u8,
    /// What rain has brought to each page, faded like the rest.
    rain: f32,
    /// The cash that was spent since earnings last faded.
    spent: f32,
    /// What all pages have earned, to within rounding: counted anew whenever it fades.
    earnings: f32,
    dither: Dither,
}

impl<A, O> Bank<A, O>
where
    A: AsRef<[Account]> + AsMut<[Account]>,
    O: AsRef<[u16]> + AsMut<[u16]>,
{
    /// An empty bank over this memory: as many accounts as both have room for.
    pub fn new(accounts: A, order: O) -> Self {
        let mut bank = Self {
            accounts,
            order,
            open: 0,
            pool: 0.0,
            total: 0.0,
            rounds: 0,
            rain: 0.0,
            spent: 0.0,
            earnings: 0.0,
            dither: Dither::START,
        };
        bank.accounts.as_mut().fill(Account::FREE);
        bank
    }

    /// How many accounts are open.
    pub fn len(&self) -> usize {
        self.open
    }

    /// Whether no account is open.
    pub fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// The place of the page with this digest. Work: logarithmic.
    pub fn find(&self, digest: u32) -> Option<u16> {
        let at = self.position(digest);
        let place = *self.order.as_ref().get(..self.open)?.get(at)?;
        (self.digest(place.into()) == digest).then_some(place)
    }

    /// A page takes this place, with what it has earned and not spent as a candidate; true if it
    /// did. Not if the place is taken, or the page has another one.
    pub fn open(&mut self, place: u16, digest: u32, income: f32, cash: f32) -> bool {
        let known = digest == 0 || self.find(digest).is_some();
        let is_free = self.digest(place.into()) == 0;
        let at = self.position(digest);
        let room = self.order.as_ref().len();
        let Some(account) = self.accounts.as_mut().get_mut(usize::from(place)) else {
            return false;
        };
        if known || !is_free || self.open >= room {
            return false;
        }
        *account = Account {
            digest,
            figures: Figures::ZERO,
        };
        self.earnings += account.earn(income, &mut self.dither);
        self.pool += account.set_cash(cash, &mut self.dither);
        insert(self.order.as_mut(), at, self.open, place);
        self.open += 1;
        true
    }

    /// New cash comes into the world: as a rule, 1 with each page of a list.
    pub fn found(&mut self, cash: f32) {
        self.total += cash;
    }

    /// A page is known to have earned this before.
    pub fn earned(&mut self, place: u16, income: f32) {
        if let Some(account) = self.accounts.as_mut().get_mut(usize::from(place)) {
            self.earnings += account.earn(income, &mut self.dither);
        }
    }

    /// Cash that nobody has any more rains on all.
    pub fn give_back(&mut self, cash: f32) {
        self.pool += cash;
    }

    /// The page at a place goes, and takes with it what it has.
    pub fn close(&mut self, place: u16) -> Option<Closed> {
        let account = *self.accounts.as_ref().get(usize::from(place))?;
        let digest = account.digest;
        if digest == 0 {
            return None;
        }
        let at = self.position(digest);
        self.order.as_mut().copy_within(at + 1..self.open, at);
        self.open -= 1;
        let slot = self.accounts.as_mut().get_mut(usize::from(place))?;
        *slot = Account::FREE;
        let income = account.figures.income();
        self.earnings -= income;
        Some(Closed {
            digest,
            income,
            cash: account.figures.cash(),
        })
    }

    /// A page was visited, and has these links, each once. What those to pages that are not kept
    /// earn is offered to `candidate`, by digest: true if it takes it, or it goes to the pool.
    /// Work: linear in the links.
    pub fn spend(
        &mut self,
        place: u16,
        links: &[u32],
        candidate: &mut dyn FnMut(u32, f32) -> bool,
    ) {
        self.spend_at(place, links, 0, candidate);
    }

    /// The same, where some links lead to the page's own neighbourhood: those of the first 128
    /// whose bits are set in `near` get a quarter, and the rest of it rains on all. What a part of
    /// a site says of itself counts less, and a trap, which leads nowhere else, gathers nothing.
    pub fn spend_at(
        &mut self,
        place: u16,
        links: &[u32],
        near: u128,
        candidate: &mut dyn FnMut(u32, f32) -> bool,
    ) {
        let Some(account) = self.accounts.as_mut().get_mut(usize::from(place)) else {
            return;
        };
        let cash = account.figures.cash();
        account.set_cash(0.0, &mut self.dither);
        self.spent += cash;
        self.pool += cash;
        if links.is_empty() {
            return;
        }
        let whole = DAMPING * cash / links.len() as f32;
        for (index, digest) in links.iter().enumerate() {
            let is_near = index < 128 && near >> index & 1 == 1;
            let share = if is_near { whole * NEAR } else { whole };
            let known = self.find(*digest);
            let kept = known.and_then(|place| self.accounts.as_mut().get_mut(usize::from(place)));
            match kept {
                Some(account) => {
                    let cash = account.figures.cash() + share;
                    let lost = account.set_cash(cash, &mut self.dither);
                    self.earnings += account.earn(share, &mut self.dither);
                    self.pool -= share - lost;
                }
                None => {
                    if candidate(*digest, share) {
                        self.pool -= share;
                    }
                }
            }
        }
    }

    /// Lets the pool rain, on so many candidates as well, and old earnings fade, when it is time:
    /// at most once for some twentieth of the pages that were visited. Work: linear in the pages.
    pub fn settle(&mut self, candidates: usize) -> Settled {
        let mut settled = Settled {
            fading: 1.0,
            drops: 0.0,
        };
        if self.spent >= self.total {
            self.spent = 0.0;
            self.rounds = self.rounds.saturating_add(1).min(100);
            let rounds = f32::from(self.rounds);
            // The last round counts most, and those before it less and less.
            settled.fading = crate::math::lesser(rounds / (rounds + 0.5), FADING);
        }
        let known = self.open + candidates;
        if self.pool > RAIN * self.total && known > 0 {
            settled.drops = self.pool / known as f32;
            self.pool = 0.0;
        }
        if settled.drops > 0.0 || settled.fading < 1.0 {
            self.rain = self.rain * settled.fading + settled.drops;
            self.earnings = 0.0;
            for account in self.accounts.as_mut() {
                if account.digest != 0 {
                    let figures = account.figures;
                    let income = figures.income() * settled.fading + settled.drops;
                    account.figures.set_income(income, &mut self.dither);
                    self.earnings += income;
                    self.pool += account.set_cash(figures.cash() + settled.drops, &mut self.dither);
                }
            }
        }
        settled
    }

    /// What the page at a place has earned lately: its PageRank, up to a factor that is the same
    /// for all.
    pub fn importance(&self, place: u16) -> f32 {
        let account = self.accounts.as_ref().get(usize::from(place));
        account.map_or(0.0, |account| account.figures.income())
    }

    /// What the page at a place has not handed on.
    pub fn cash_of(&self, place: u16) -> f32 {
        let account = self.accounts.as_ref().get(usize::from(place));
        account.map_or(0.0, |account| account.figures.cash())
    }

    /// What all pages have earned lately, together.
    pub fn earnings(&self) -> f32 {
        self.earnings
    }

    /// All cash there is, that of candidates included.
    pub fn total(&self) -> f32 {
        self.total
    }

    /// What a page has earned lately that nobody links to: newcomers begin with it, for older ones
    /// have it.
    pub fn rain(&self) -> f32 {
        self.rain
    }

    /// The page that has the least by what it has earned times its factor, and that product. No
    /// factor is below `lowest`: it is not asked for of pages that have earned so much that they
    /// cannot be the least. Work: linear in the pages, and few of them are more than one number.
    pub(crate) fn least(
        &self,
        lowest: f32,
        factor: &dyn Fn(u16) -> Option<f32>,
    ) -> Option<(u16, f32)> {
        let mut least = Least {
            lowest,
            factor,
            found: None,
            limit: u32::MAX,
        };
        let accounts = self.accounts.as_ref();
        // A few from everywhere first: then most of the others have no chance, however they lie.
        for place in (0..accounts.len()).step_by(SAMPLE) {
            least.look_at(place, accounts);
        }
        let mut start = 0;
        while let Some(rest) = accounts.get(start..)
            && let Some(next) = rest
                .iter()
                .position(|one| one.figures.order() <= least.limit)
        {
            least.look_at(start + next, accounts);
            start += next + 1;
        }
        least.found
    }

    /// Places of all pages, in no order that means something.
    pub fn places(&self) -> impl Iterator<Item = u16> {
        let order = self.order.as_ref().get(..self.open);
        order.unwrap_or_default().iter().copied()
    }

    /// All cash that pages and the pool hold; candidates hold the rest.
    pub fn cash(&self) -> f32 {
        let held: f32 = self
            .accounts
            .as_ref()
            .iter()
            .map(|account| account.figures.cash())
            .sum();
        held + self.pool
    }

    /// The digest of the page at a place; 0 if there is none.
    pub fn digest(&self, place: usize) -> u32 {
        let account = self.accounts.as_ref().get(place);
        account.map_or(0, |account| account.digest)
    }

    /// Where a digest stands in the order, or would.
    fn position(&self, digest: u32) -> usize {
        let order = self.order.as_ref().get(..self.open).unwrap_or_default();
        order.partition_point(|place| self.digest((*place).into()) < digest)
    }
}
