//! https on a board: what `dunlin-tls` needs of it, and connections that speak it.
//!
//! Call [`start`] once, with numbers that nobody can guess; before that, https pages wait. The date
//! is told by [`keep_time`].

mod connect;
mod pool;

pub use connect::{Link, LinkError, TlsConnector};
pub use dunlin_tls;

use core::cell::Cell;

use dunlin::image::Image;
use dunlin::probe::{Board, BoardEvent, Probe};
use dunlin_tls::{Clock, Memory, Need, Owner, RecordBuffer, Records, Room, Sessions, Tls};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::{Instant, Timer};
use static_cell::StaticCell;

/// Bytes of sessions that are kept to be resumed: some fifteen hosts with three certificates each.
const SESSIONS: usize = 48 * 1024;

/// No certificate that is in use was made for a time before this: 2026 began. A release sets it to
/// its own date by SOURCE_DATE_EPOCH.
const BUILT: u64 = match option_env!("SOURCE_DATE_EPOCH") {
    Some(text) => match u64::from_str_radix(text, 10) {
        Ok(seconds) => seconds,
        Err(_) => panic!("SOURCE_DATE_EPOCH is a number of seconds"),
    },
    None => 1_767_225_600,
};

static SHARED: Mutex<CriticalSectionRawMutex, Cell<Option<&'static Tls>>> =
    Mutex::new(Cell::new(None));
/// Seconds since 1970 when this device's clock was 0, if that is certain.
static DATE: Mutex<CriticalSectionRawMutex, Cell<Option<u64>>> = Mutex::new(Cell::new(None));

/// Gets https ready. `seed` are 256 random bits, by the chip's own generator; `image`, which is in
/// use, says whom its owner trusts, but in a fleet. Call once.
pub fn start(image: Image<'static>, seed: [u8; 32]) {
    static OWNER: StaticCell<ImageOwner> = StaticCell::new();
    let owner = ImageOwner {
        image,
        #[cfg(feature = "fleet")]
        home: crate::fleet::Home::find(),
    };
    if let Some(tls) = start_with(OWNER.init(owner), &DeviceClock, seed) {
        SHARED.lock(|shared| shared.set(Some(tls)));
    }
}

/// The same for an owner and a clock of your own, and for nobody else: [`TlsConnector`] does not
/// know of it. Call once, and not beside [`start`].
pub fn start_with(
    owner: &'static dyn Owner,
    clock: &'static dyn Clock,
    seed: [u8; 32],
) -> Option<&'static Tls> {
    static BUFFER: RecordBuffer = RecordBuffer::new();
    static RECORDS: Records = Records::new(&BUFFER);
    static KEPT: Sessions = Sessions::new(SESSIONS);
    static TLS: StaticCell<Tls> = StaticCell::new();
    dunlin_tls::seed(seed);
    let tls = Tls::new(&RECORDS, &KEPT, &DevicePool, clock, owner)?;
    Some(TLS.init(tls))
}

fn shared() -> Option<&'static Tls> {
    SHARED.lock(Cell::get)
}

/// Says how many handshakes there were and what they took.
pub fn report() {
    let Some(tls) = shared() else { return };
    let handshakes = tls.handshakes();
    let held = tls.sessions().held();
    let said = BoardEvent::Tls {
        full: handshakes.full,
        resumed: handshakes.resumed,
        sessions: held.sessions as u32,
        session_bytes: held.bytes as u32,
        pool: pool::high_water() as u32,
    };
    said.emit();
}

/// Keeps the date at hand, for ever. *Cancellation*: safe; the clock goes on from what it was told.
pub async fn keep_time<B: Board>(probe: &Probe<'_, B>) -> ! {
    loop {
        let uptime = Instant::now().as_secs();
        let start = probe
            .time()
            .unix()
            .filter(|unix| *unix >= BUILT)
            .map(|unix| unix.saturating_sub(uptime));
        DATE.lock(|date| date.set(start));
        Timer::after_secs(1).await;
    }
}

#[derive(Debug)]
struct DeviceClock;

impl Clock for DeviceClock {
    fn unix_time(&self) -> Option<u64> {
        Some(DATE.lock(Cell::get)? + Instant::now().as_secs())
    }
}

#[derive(Debug)]
struct DevicePool;

impl Memory for DevicePool {
    fn room(&self, need: Need, kept: usize) -> Room {
        pool::room(need, kept)
    }
}

/// What the page image says. In a fleet that is the planner's list, which knows hosts and their
/// keys; authorities are those of the image that the device was loaded with, and vouch for hosts of
/// the list and for the broker. Nothing that a planner sends has a say in who the broker is.
#[derive(Debug)]
struct ImageOwner {
    image: Image<'static>,
    #[cfg(feature = "fleet")]
    home: Option<crate::fleet::Home>,
}

impl ImageOwner {
    /// The image that names authorities.
    fn trusting(&self) -> &Image<'static> {
        #[cfg(feature = "fleet")]
        if let Some(home) = &self.home {
            return &home.image;
        }
        &self.image
    }

    #[cfg(feature = "fleet")]
    fn is_broker(&self, host: &str) -> bool {
        let is_it = |home: &crate::fleet::Home| home.broker.host.eq_ignore_ascii_case(host);
        self.home.as_ref().is_some_and(is_it)
    }

    #[cfg(not(feature = "fleet"))]
    fn is_broker(&self, _: &str) -> bool {
        false
    }
}

impl Owner for ImageOwner {
    fn is_own(&self, host: &str) -> bool {
        self.is_broker(host) || self.image.lists(host)
    }

    fn authority(&self, index: usize) -> Option<&[u8]> {
        self.trusting().authority(index)
    }

    fn pin(&self, host: &str) -> Option<[u8; 32]> {
        match self.is_broker(host) {
            true => self.trusting().pin(host),
            false => self.image.pin(host),
        }
    }
}
