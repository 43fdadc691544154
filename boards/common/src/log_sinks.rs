//! Ways out for the log besides a debug probe. Each has a [ring](Ring) of its own, so that none
//! waits for another, and the firmware for none.

use core::cell::RefCell;
use core::future::poll_fn;
use core::task::Poll;

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::waitqueue::AtomicWaker;
use log_ring::Ring;

/// What waits for a reader: some forty lines.
const BYTES: usize = 2048;

/// One way that the log takes out of the device.
#[allow(missing_debug_implementations)] // embassy-sync's waker has none.
pub struct Sink {
    ring: Mutex<CriticalSectionRawMutex, RefCell<Ring<BYTES>>>,
    reader: AtomicWaker,
}

/// The log for whoever connects over the network.
#[cfg(feature = "tcp-log")]
pub static TCP: Sink = Sink::NEW;
/// The log for a USB or serial line.
#[cfg(feature = "line-log")]
pub static LINE: Sink = Sink::NEW;

impl Sink {
    #[allow(clippy::declare_interior_mutable_const)] // A beginning, copied into statics.
    const NEW: Self = Self {
        ring: Mutex::new(RefCell::new(Ring::NEW)),
        reader: AtomicWaker::new(),
    };

    fn push(&self, bytes: &[u8]) {
        self.ring.lock(|ring| ring.borrow_mut().push(bytes));
    }

    /// Waits for something to send, and returns how many bytes of it are in `out`. For one task
    /// only.
    ///
    /// *Cancellation*: safe; nothing is taken before it completes.
    pub async fn read(&self, out: &mut [u8]) -> usize {
        poll_fn(|context| {
            self.reader.register(context.waker());
            match self.ring.lock(|ring| ring.borrow_mut().pop(out)) {
                0 => Poll::Pending,
                count => Poll::Ready(count),
            }
        })
        .await
    }
}

/// Takes bytes from the board's logger, as they are encoded.
pub fn push(bytes: &[u8]) {
    #[cfg(feature = "tcp-log")]
    TCP.push(bytes);
    #[cfg(feature = "line-log")]
    LINE.push(bytes);
}

/// Is told by the board's logger that a frame is complete.
pub fn wake() {
    #[cfg(feature = "tcp-log")]
    TCP.reader.wake();
    #[cfg(feature = "line-log")]
    LINE.reader.wake();
}
