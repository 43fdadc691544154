//! Signed updates on a board: [`Updates`] looks for firmware and page lists at a pace of its own,
//! while crawling goes on, and tries new firmware until it has shown what it can.
//!
//! What is accepted, and why not, is decided in [`dunlin::update`]; which firmware starts, in
//! `boot-chain`. The boot loader has started the watchdog before the first instruction of this.

mod keys;
#[cfg(feature = "rtt")]
pub mod mapped;
mod pull;
mod status;

use core::pin::Pin;

use boot_chain::Marks;
use dunlin::boot::{BlackBox, Boot, Reset};
use dunlin::probe::{Board, BoardEvent, Probe};
use dunlin::scheduler::Counter;
use dunlin::time::Duration;
use dunlin::update::{Fall, Journal, PayloadKind, Released, Shown, Standing, Terms, TrialStatus};
use embassy_net::Stack;
use embassy_time::{Timer, with_timeout};
use embedded_storage::nor_flash::NorFlash;

use crate::{black_box, memory, persist};
pub use keys::keys;
use pull::Look;
pub use pull::Memory;
use status::Status;
pub use status::report;

/// What a board has for updates: parts of its flash.
#[derive(Debug)]
pub struct Slots<F> {
    /// Where a new firmware goes: a sector more than the slot it is started from.
    pub dfu: F,
    /// The boot loader's state.
    pub state: F,
    /// What is known of updates.
    pub journal: F,
    /// Where page lists go.
    pub halves: [F; 2],
}

/// What is particular to a board.
#[derive(Clone, Copy, Debug)]
pub struct Particulars {
    /// Its name, as manifests have it.
    pub board: &'static str,
    /// Which half the list in use is in, and what it was released as.
    pub list: (usize, Released),
    /// Can this half's image, of so many bytes, be run on?
    pub is_good_list: fn(half: usize, length: u32) -> bool,
    /// Starts the device again.
    pub reset: fn() -> !,
    /// What a firmware on trial has to show.
    pub terms: Terms,
    /// The time between two looks.
    pub pace: Duration,
}

/// How often a board looks for updates if nobody says otherwise.
pub const PACE: Duration = Duration::from_secs(3600);

/// What a firmware on trial says before it gives itself up.
const NO_PAGES: &str = "trial: no pages";
const NO_SERVER: &str = "trial: no update server";

/// Why the device is to be started again.
#[derive(Clone, Copy, Debug)]
enum Restart {
    /// There is something new to start with.
    Taken,
    /// The firmware on trial gives itself up, with these words.
    GivenUp(&'static str),
}

/// Updates of a board whose flash is `F`, and whose boot loader's words have `WORD` bytes.
#[derive(Debug)]
pub struct Updates<F, const WORD: usize> {
    particulars: Particulars,
    marks: Marks<F, WORD>,
    journal: Journal<F>,
    dfu: F,
    halves: [F; 2],
    /// How often the firmware that runs was tried, as long as it is on trial.
    trial: Option<u8>,
}

impl<F: NorFlash, const WORD: usize> Updates<F, WORD> {
    /// Finds out whether the firmware that runs is on trial, or back after another one was; says
    /// so.
    pub fn new(slots: Slots<F>, particulars: Particulars, boot: &Boot) -> Self {
        let mut updates = Self {
            particulars,
            marks: Marks::new(slots.state),
            journal: Journal::open(slots.journal),
            dfu: slots.dfu,
            halves: slots.halves,
            trial: None,
        };
        match updates.journal.record().standing(memory::build_id()) {
            Standing::Confirmed => {}
            // It has no way back. It was confirmed, and the power went before the journal knew; or
            // a cable has brought it since.
            Standing::OnTrial(_) if updates.marks.is_confirmed() => updates.note_confirmed(),
            Standing::OnTrial(attempt) => updates.trial = Some(attempt),
            Standing::RolledBack(attempt) => {
                let why = why_it_fell(boot);
                // A journal that cannot be written makes it no less true.
                let _ = updates.journal.change(|record| record.roll_back(why));
                let said = BoardEvent::UpdateRolledBack {
                    sequence: attempt.release.sequence,
                    attempt: attempt.count,
                    why: why.name(),
                };
                said.emit();
            }
        }
        updates.say_status();
        updates
    }

    fn status(&self) -> Status {
        let record = self.journal.record();
        let attempt = record.attempt.filter(|_| self.trial.is_some());
        let (half, list) = self.particulars.list;
        Status {
            trial: self.trial,
            firmware: attempt.map_or(record.firmware, |attempt| attempt.release),
            list: list.sequence,
            half: half as u8,
            last: record.last,
        }
    }

    /// Says where updates stand, now and each minute.
    #[inline(never)] // Once for all who have news.
    fn say_status(&self) {
        self.status().set();
    }

    /// Looks for updates below this URL and judges the trial, for ever; ends at once where there is
    /// nowhere to look, or nobody to trust, unless there is a trial to be lost.
    ///
    /// *Cancellation*: safe; what was downloaded stays.
    pub async fn run<B: Board>(
        &mut self,
        probe: &Probe<'static, B>,
        stack: Stack<'static>,
        memory: &'static mut Memory,
        url: Option<&'static str>,
    ) {
        let mut look = url.and_then(|url| Look::new(probe, stack, memory, url, &self.particulars));
        if look.is_none() {
            defmt::warn!("no updates: no URL to look below, or no keys to trust");
        }
        while look.is_some() || self.trial.is_some() {
            let is_reached = look.as_ref().is_some_and(Look::is_reached);
            let mut restarts = self.judge(probe, is_reached);
            if let (None, Some(look)) = (restarts, &mut look) {
                restarts = look.when_due(self, probe).await;
            }
            if let Some(why) = restarts {
                self.restart(why).await;
            }
            Timer::after_secs(1).await;
        }
    }

    /// Waits for what has to work before [`run`](Self::run) can judge anything, such as a radio that
    /// starts. A firmware on trial for which that takes longer than the trial gives itself up.
    ///
    /// *Cancellation*: leaves the work as it is.
    pub async fn in_time<T>(&mut self, mut work: Pin<&mut impl Future<Output = T>>) -> T {
        if self.trial.is_some() {
            let most = self.particulars.terms.most.as_micros();
            let most = embassy_time::Duration::from_micros(most);
            if let Ok(done) = with_timeout(most, work.as_mut()).await {
                return done;
            }
            self.restart(Restart::GivenUp(NO_PAGES)).await;
        }
        work.await
    }

    /// Confirms the firmware on trial, if it is time; says why it is to be given up otherwise.
    fn judge<B: Board>(&mut self, probe: &Probe<'static, B>, is_reached: bool) -> Option<Restart> {
        self.trial?;
        let up = probe.board().now() - dunlin::time::Instant::ZERO;
        let totals = probe.totals();
        let shown = Shown {
            good: probe.counted(Counter::Changed) + probe.counted(Counter::Unchanged),
            answered: totals.fetches,
            failed: totals.errors,
            manifest: is_reached,
        };
        let terms = &self.particulars.terms;
        match terms.judge(up, &shown) {
            TrialStatus::Wait => None,
            TrialStatus::Confirm => {
                self.confirm();
                None
            }
            TrialStatus::NoPages => Some(Restart::GivenUp(NO_PAGES)),
            TrialStatus::NoServer => Some(Restart::GivenUp(NO_SERVER)),
        }
    }

    /// Starts the device again, once what was learnt is kept.
    ///
    /// *Cancellation*: it runs on.
    async fn restart(&self, why: Restart) {
        persist::end().await;
        match why {
            // A start that was asked for is no sign of a loop.
            Restart::Taken => black_box::put(BlackBox::EMPTY),
            Restart::GivenUp(words) => {
                defmt::error!("{=str}", words);
                black_box::panic(&words);
            }
        }
        (self.particulars.reset)()
    }

    /// The mark first: of a firmware that stays, and does not know it yet, the mark tells at the
    /// next start. The other way round, the old one would come back and take itself for the new.
    fn confirm(&mut self) {
        if self.marks.confirm().is_err() {
            return defmt::error!("the firmware could not be confirmed; once more in a second");
        }
        self.note_confirmed();
        self.say_status();
    }

    /// Ends the trial: what runs stays, and the log says so.
    fn note_confirmed(&mut self) {
        // A journal that cannot be written makes it no less true: the mark tells.
        let _ = self.journal.change(|record| record.confirm());
        self.trial = None;
        let sequence = self.journal.record().firmware.sequence;
        BoardEvent::UpdateConfirmed { sequence }.emit();
    }

    /// What is in use of this kind.
    fn released(&self, kind: PayloadKind) -> Released {
        let record = self.journal.record();
        let (_, list) = self.particulars.list;
        match kind {
            PayloadKind::Firmware => record.firmware,
            // One that came by a cable does not bring back what was there before it.
            PayloadKind::List if list.sequence == 0 => record.list,
            PayloadKind::List => Released {
                sequence: list.sequence,
                counter: list.counter.max(record.list.counter),
            },
        }
    }
}

/// Why a firmware on trial is gone, by what the device knows of its start.
fn why_it_fell(boot: &Boot) -> Fall {
    match (boot.message.as_str(), boot.reset) {
        (NO_PAGES, _) => Fall::NoPages,
        (NO_SERVER, _) => Fall::NoServer,
        (_, Reset::Watchdog) => Fall::Hang,
        ("", Reset::PowerOn | Reset::BrownOut | Reset::Pin) => Fall::Power,
        ("", _) => Fall::Restart,
        _ => Fall::Panic,
    }
}
