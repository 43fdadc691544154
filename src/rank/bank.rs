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

/// The share of its cash that a page hands to its links.
pub const DAMPING: f32 = 0.9;
/// The most that is left of earnings when all cash has been spent once.
const FADING: f32 = 0.95;
/// What is left of a link's share if it leads to the page's own neighbourhood.
const NEAR: f32 = 0.25;
/// The pool rains when it holds this share of all cash.
const RAIN: f32 = 0.05;

/// What a page has: 12 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// The digest of the page's URL; 0 if there is no page.
    digest: u32,
    cash: f32,
    /// What it has earned lately.
    income: f32,
}

impl Account {
    /// An account that belongs to no page.
    pub const FREE: Self = Self {
        digest: 0,
        cash: 0.0,
        income: 0.0,
    };
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

/// Accounts of pages, by their places. With 4,096 pages, 56 KiB: 14 bytes a page.
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
            cash,
            income,
        };
        let order = self.order.as_mut();
        order.copy_within(at..self.open, at + 1);
        if let Some(slot) = order.get_mut(at) {
            *slot = place;
        }
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
            account.income += income;
        }
    }

    /// Cash that nobody has any more rains on all.
    pub fn give_back(&mut self, cash: f32) {
        self.pool += cash;
    }

    /// The page at a place goes, and takes with it what it has.
    pub fn close(&mut self, place: u16) -> Option<Closed> {
        let account = *self.accounts.as_ref().get(usize::from(place))?;
        if account.digest == 0 {
            return None;
        }
        let at = self.position(account.digest);
        self.order.as_mut().copy_within(at + 1..self.open, at);
        self.open -= 1;
        let slot = self.accounts.as_mut().get_mut(usize::from(place))?;
        *slot = Account::FREE;
        Some(Closed {
            digest: account.digest,
            income: account.income,
            cash: account.cash,
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
        let cash = core::mem::take(&mut account.cash);
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
                    account.cash += share;
                    account.income += share;
                    self.pool -= share;
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
            for account in self.accounts.as_mut() {
                if account.digest != 0 {
                    account.income = account.income * settled.fading + settled.drops;
                    account.cash += settled.drops;
                }
            }
        }
        settled
    }

    /// What the page at a place has earned lately: its PageRank, up to a factor that is the same
    /// for all.
    pub fn importance(&self, place: u16) -> f32 {
        let account = self.accounts.as_ref().get(usize::from(place));
        account.map_or(0.0, |account| account.income)
    }

    /// What the page at a place has not handed on.
    pub fn cash_of(&self, place: u16) -> f32 {
        let account = self.accounts.as_ref().get(usize::from(place));
        account.map_or(0.0, |account| account.cash)
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

    /// Places of all pages and what they have earned, in the order of the places.
    pub(crate) fn incomes(&self) -> impl Iterator<Item = (u16, f32)> {
        let accounts = (0_u16..).zip(self.accounts.as_ref());
        let open = accounts.filter(|(_, account)| account.digest != 0);
        open.map(|(place, account)| (place, account.income))
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
            .map(|account| account.cash)
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
