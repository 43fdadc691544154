//! What a probe says: one vocabulary for logs, monitors and tests.
//!
//! Tables such as [`Event`] and [`BoardEvent`]: what is logged, at which level, what a reader of
//! the log gets back ([`LoggedEvent`], [`LoggedBoardEvent`]) and the documentation are made of
//! them. `FoundEvent` (pages beyond the list) and `FleetEvent` (the link to a planner) stand beside
//! what they are about.
//!
//! Lines are a name and `key=value` words; names and keys keep their meaning. `page` and `host` are
//! places in the image.

use super::log_line::{Value, events, values};
use super::{Failure, Resumed, TimeSource, Totals};
use crate::boot::Reset;
use crate::catalog::LogLevel;
#[cfg(feature = "collect")]
use crate::collect::{CollectorError, Uncollected};
#[cfg(feature = "hints")]
use crate::feed::FeedError;
use crate::fetch::RedirectError;
use crate::image::ImageError;
#[cfg(feature = "push")]
use crate::push::DatagramError;
use crate::sntp::NoTime;
use core::fmt::{self, Formatter};

values! {
    Display: ImageError;
    Debug: Failure, NoTime, Option<RedirectError>, Reset, TimeSource;
}
#[cfg(feature = "collect")]
values! {
    Debug: CollectorError, Uncollected;
}
#[cfg(feature = "push")]
values! {
    Debug: DatagramError;
}
#[cfg(all(feature = "hints", not(feature = "discover")))]
values! {
    Debug: FeedError;
}

events! {
    /// Something that a person or a monitor may want to know about a probe.
    ///
    /// The line is what stands in the log. Its names and keys keep their meaning; `page` and `host`
    /// are places in the image, `ms` and `s` are milliseconds and seconds.
    pub enum Event;
    /// An [`Event`] as it is read back from its line.
    ///
    /// Reasons are text: a monitor shows those of firmware that is newer than itself, too. What
    /// lines of older firmware do not say is an `Option`.
    ///
    /// ```
    /// use dunlin::probe::LoggedEvent;
    ///
    /// let event = LoggedEvent::read("failed page=7 ms=120 why=Busy");
    /// assert_eq!(event, Some(LoggedEvent::Failed { page: 7, millis: 120, why: "Busy" }));
    /// assert_eq!(LoggedEvent::read("something else"), None);
    /// ```
    pub enum LoggedEvent<'l>;

    /// The page image is good.
    info Loaded { pages: u16, hosts: u16 } => "loaded pages={=u16} hosts={=u16}";

    /// The page image cannot be used, and why.
    error Refused { why: ImageError as &'l str } => "image refused: {}";

    /// What the store held.
    info Resumed(Resumed {
        pages: u16, hosts: u16, strange: u32, refused: u32, foreign: bool, other_list: bool
    }) => "resumed pages={=u16} hosts={=u16} strange={=u32} refused={=u32} \
        foreign={=bool} other_list={=bool}";

    /// Flash cannot be read or written: a restart would forget.
    error NotStored => "store failed";

    /// The date is certain from here on, and who said it.
    info Clock { unix: u32, from: TimeSource as Option<&'l str> } => "clock unix={=u32} from={}";

    /// A time server was asked in vain.
    warn NoTime { why: NoTime as &'l str } => "no time why={}";

    /// The device has an address.
    info Up { address: [u8; 4] as &'l str } => "network up address={}";

    /// The link or the address is lost; fetches wait.
    warn Down => "network down";

    /// A page's turn begins.
    debug Start { page: u16 } => "start page={=u16}";

    /// Comes before the end of a fetch that brought the first version of a page: there is no
    /// earlier one that it could differ from.
    info First { page: u16 } => "first page={=u16}";

    /// A page was answered.
    info End { page: u16, status: u16, bytes: u32, millis: u32, changed: bool; flags: Flags }
        => "end page={=u16} status={=u16} bytes={=u32} ms={=u32} changed={=bool}";

    /// Follows the end of a fetch whose answer was compressed unasked, or longer than what is read:
    /// only that was compared.
    warn Flagged { page: u16, encoded: bool, cut: bool }
        => "flagged page={=u16} encoded={=bool} cut={=bool}";

    /// A page was not answered.
    warn Failed { page: u16, millis: u32, why: Failure as &'l str }
        => "failed page={=u16} ms={=u32} why={}";

    /// A page was answered again, after turns that brought no version of it.
    info Recovered { page: u16 } => "recovered page={=u16}";

    /// A robots.txt was answered.
    info Robots { host: u16, status: u16, judged: u16, denied: u16 }
        => "robots host={=u16} status={=u16} judged={=u16} denied={=u16}";

    /// Rules of a robots.txt take too much work to be compared with pages, which count as
    /// forbidden.
    warn Costly { host: u16 } => "robots too costly host={=u16}";

    /// What a host gets between two requests, its robots.txt considered.
    info Gap { host: u16, millis: u32 } => "gap host={=u16} ms={=u32}";

    /// Robots rules forbid the page; no request was made.
    info Denied { page: u16 } => "denied page={=u16}";

    /// A redirect that will be followed at the page's next turn.
    info Moved { page: u16, status: u16 } => "moved page={=u16} status={=u16}";

    /// A redirect that will not be followed; without a reason where its target is no URL, or one
    /// that is too long to be kept.
    warn Astray { page: u16, status: u16, why: Option<RedirectError> as &'l str }
        => "astray page={=u16} status={=u16} why={}";

    /// A version of a page is with the collector, which has said so.
    #[cfg(feature = "collect")]
    info Collected { page: u16, millis: u32 } => "collected page={=u16} ms={=u32}";

    /// A version of a page is not with the collector: it is fetched again, whole, at the page's
    /// next visit, unless the collector will never take it.
    #[cfg(feature = "collect")]
    warn Uncollected { page: u16, why: Uncollected as &'l str }
        => "not collected page={=u16} why={}";

    /// The collection of pages that is kept, each minute: see
    /// [`Probe::with_discovery`](super::Probe::with_discovery).
    #[cfg(feature = "discover")]
    info Collection {
        pages: u16, places: u16, candidates: u16, found: u32, admitted: u32, replaced: u32,
        refused: u32
    } => "collection pages={=u16} places={=u16} candidates={=u16} found={=u32} admitted={=u32} \
        replaced={=u32} refused={=u32}";

    /// A teller was read: how many pages it names with a date, how many of them were news and how
    /// long before on average, and what the signals of its host have turned out to be worth: their
    /// precision and recall, and how many visits a day they save.
    #[cfg(feature = "hints")]
    info Told {
        page: u16, entries: u16, news: u16, seconds: u32, precision: f32 as f64, recall: f32 as f64,
        saves: f32 as f64
    } => "told page={=u16} entries={=u16} news={=u16} delay_s={=u32} precision={=f32} \
        recall={=f32} saves={=f32}";

    /// A teller could not be read, and why: compressed ones are not unpacked.
    #[cfg(feature = "hints")]
    warn Untold { page: u16, why: FeedError as &'l str } => "untold page={=u16} why={}";

    /// A host is left alone, and why.
    warn BackOff { host: u16, seconds: u32, why: Failure as Option<&'l str> }
        => "backoff host={=u16} s={=u32} why={}";

    /// What the scheduler is heading for, each minute.
    info Plan {
        price: f32 as f64, freshness: Option<f32> as Option<f64>,
        optimum: Option<f32> as Option<f64>
    } => "plan price={=f32} freshness={=f32} optimum={=f32}";

    /// What happened so far, each minute.
    info Totals(Totals {
        fetches: u32, not_modified: u32, changed: u32, errors: u32, denied: u32, bytes: u64,
        late_seconds: u64
    }) => "totals fetches={=u32} same={=u32} changed={=u32} errors={=u32} denied={=u32} \
        bytes={=u64} late_s={=u64}";
}

events! {
    /// What a board says of itself.
    pub enum BoardEvent<'e>;
    /// A [`BoardEvent`] as it is read back from its line.
    pub enum LoggedBoardEvent<'l>;

    /// What the firmware takes of the device's memory, in bytes.
    info Memory { flash: u32, ram: u32, stack: u32 }
        => "memory: {=u32} B flash, {=u32} B static RAM, {=u32} B left for the stack";

    /// Why the device started, after how long, and how many short runs came before.
    info Boot { reset: Reset as &'l str, uptime_seconds: u64, fast_resets: u8 }
        => "boot reset={} after_s={=u64} fast={=u8}";

    /// What the panic or fault before this start said.
    warn LastWords { message: &'e str as &'l str } => "last words: {=str}";

    /// For how long the core has not slept, each minute.
    info Power { awake_millis: u64 } => "power awake_ms={=u64}";

    /// Handshakes so far, sessions that are kept to be resumed, and the most bytes of the pool that
    /// were ever in use, each minute.
    info Tls { full: u32, resumed: u32, sessions: u32, session_bytes: u32, pool: u32 }
        => "tls full={=u32} resumed={=u32} sessions={=u32} session_bytes={=u32} pool={=u32}";

    /// Where updates stand, at boot and each minute: the firmware in its slot (`confirmed` or
    /// `trial`), the page list in its half of flash, and what was refused or rolled back last.
    info Updates {
        state: &'e str as &'l str, attempt: u8, sequence: u32, counter: u32, list: u32, half: u8,
        refused: u32, why: &'e str as &'l str
    } => "updates slot=active state={=str} attempt={=u8} sequence={=u32} counter={=u32} \
        list={=u32} half={=u8} refused={=u32} why={=str}";

    /// What was offered is refused, and why.
    warn UpdateRefused { kind: &'e str as &'l str, sequence: u32, why: &'e str as &'l str }
        => "update refused kind={=str} sequence={=u32} why={=str}";

    /// What was offered is in flash, verified: a restart follows.
    info UpdateReady { kind: &'e str as &'l str, sequence: u32, bytes: u32 }
        => "update ready kind={=str} sequence={=u32} bytes={=u32}";

    /// The firmware has shown what it can, and stays.
    info UpdateConfirmed { sequence: u32 } => "update confirmed sequence={=u32}";

    /// A firmware on trial is gone, and the one before it is back.
    warn UpdateRolledBack { sequence: u32, attempt: u8, why: &'e str as &'l str }
        => "update rolled back sequence={=u32} attempt={=u8} why={=str}";

    /// The device has reset again and again: what is stored may be why, and is not believed.
    warn ResetLoop { fast_resets: u8 }
        => "{=u8} resets within a minute each: starting with nothing restored";

    /// A task could not be started.
    error NoTask => "no room for a task";

    /// The key that was drawn for this device is lost at the next start, and with it what is stored.
    warn KeyNotKept => "the device's key could not be kept";

    /// The device was told no Wi-Fi network.
    error NoNetwork => "no network to join: `cargo xtask flash` sets one";

    /// The device is in its Wi-Fi network.
    info Joined { network: &'e str as &'l str } => "joined {=str}";

    /// The device is not in its Wi-Fi network, or no longer.
    warn NotJoined { network: &'e str as &'l str, seconds: u64 }
        => "not joined to {=str}; once more in {=u64} s";

    /// The device was told of a fleet, and cannot read where its broker is.
    error NoBroker => "the settings name no broker that can be asked: this probe is alone";

    /// The page image names a collector that cannot be used, and why.
    #[cfg(feature = "collect")]
    error NoCollector { why: CollectorError as &'l str } => "nothing is collected: {}";

    /// The device was told no keys of who may say that pages have changed.
    info NoPushKeys => "no push-keys in the settings: nobody is heard";

    /// The port for those who say that pages have changed cannot be used.
    error NoPushPort { port: u16 } => "nobody listens at port {=u16}";

    /// Somebody said that a page has changed, and why that does not count.
    #[cfg(feature = "push")]
    warn PushRefused { why: DatagramError as &'l str } => "a push is not heeded: {}";

    /// Somebody who may said that a page has changed which is not in the list.
    warn PushUnlisted { url: &'e str as &'l str } => "a push of what is not in the list: {=str}";

    /// Somebody who may said that a page has changed.
    info Pushed { page: u16, sender: u8 } => "page {=u16} was pushed by sender {=u8}";

    /// For how long the core has not slept, in microseconds, at the end of a simulated day.
    info Awake { micros: u64 } => "awake us={=u64}";

    /// A run that has an end, at its end.
    info Done { millis: u64, stack: u32 }
        => "done after {=u64} ms, stack high-water mark {=u32} B";

    /// The banner again, each minute, for whoever did not hear the boot.
    info Here { name: &'e str as &'l str, version: &'e str as &'l str, build: u64 as &'l str }
        => "here {=str} {=str}, build {=u64:016x}";

    // The last one, because its line may begin with anything.
    /// The boot banner: who speaks, and which ELF file decodes it.
    info Banner { name: &'e str as &'l str, version: &'e str as &'l str, build: u64 as &'l str }
        => "{=str} {=str}, build {=u64:016x}";
}

/// What is special about an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// There is no earlier version to compare it with.
    pub first: bool,
    /// It is compressed, although we asked for plain bytes: they were compared as they are.
    pub encoded: bool,
    /// It is longer than what is read of a page: only that was compared.
    pub cut: bool,
}

impl Event {
    /// Writes the line to the log, through `defmt` or `log`.
    ///
    /// With defmt the end of a fetch takes 24 bytes at most, framing and time included, for the
    /// first twelve days after boot; see [`Self::each_line`].
    #[cfg(any(feature = "defmt", feature = "log"))]
    pub fn emit(&self) {
        self.each_line(Self::emit_line);
    }

    /// Says the lines that the event is logged as. The end of a fetch is a page's first, or is
    /// flagged, so seldom that each of these is a line of its own: it stays short.
    pub fn each_line(&self, mut say: impl FnMut(&Self)) {
        let Self::End { page, flags, .. } = *self else {
            return say(self);
        };
        if flags.first {
            say(&Self::First { page });
        }
        say(self);
        if flags.encoded || flags.cut {
            say(&Self::Flagged {
                page,
                encoded: flags.encoded,
                cut: flags.cut,
            });
        }
    }
}

impl BoardEvent<'_> {
    /// Writes the line to the log, through `defmt` or `log`.
    #[cfg(any(feature = "defmt", feature = "log"))]
    #[inline(always)] // A caller knows which event it is: only that line stays.
    pub fn emit(&self) {
        self.emit_line();
    }
}

impl LoggedEvent<'_> {
    /// The page that the event is about, if it is about one.
    pub const fn page(&self) -> Option<u16> {
        match *self {
            Self::Start { page }
            | Self::First { page }
            | Self::End { page, .. }
            | Self::Flagged { page, .. }
            | Self::Failed { page, .. }
            | Self::Recovered { page }
            | Self::Collected { page, .. }
            | Self::Uncollected { page, .. }
            | Self::Told { page, .. }
            | Self::Untold { page, .. }
            | Self::Denied { page }
            | Self::Moved { page, .. }
            | Self::Astray { page, .. } => Some(page),
            _ => None,
        }
    }
}

#[cfg(feature = "log")]
impl From<LogLevel> for log::Level {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::Error,
            LogLevel::Warn => Self::Warn,
            LogLevel::Info => Self::Info,
            LogLevel::Debug => Self::Debug,
        }
    }
}
