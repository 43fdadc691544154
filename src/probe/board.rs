//! What a board brings: its clock and log, memory, and a slot for each fetch that may run at once.

use super::Event;
use super::body::BodyPiece;
use super::memory::{HostMemory, PageMemory};
use crate::scheduler::{SchedulerView, Settings, Tables};
use crate::time::Instant;

/// Slots that one probe can have.
pub const MOST_SLOTS: usize = 8;
/// What the loop needs besides a network.
#[allow(async_fn_in_trait)] // One executor, no threads.
pub trait Board {
    /// The time since the board started.
    fn now(&self) -> Instant;
    /// Completes at that moment. *Cancellation*: dropping it forgets the alarm.
    async fn sleep_until(&self, then: Instant);
    /// Says whether its connections speak https themselves, without a gateway: the same as
    /// [`Connect::speaks_https`](crate::fetch::Connect::speaks_https) of its slots.
    fn speaks_https(&self) -> bool {
        false
    }
    /// Takes note of something that happened.
    fn log(&self, event: &Event);
    /// Is shown the body of a page, piece by piece, as it streams by: nothing of it is kept. The
    /// end of a body is a piece without bytes; a visit that fails has none, and the next visit of
    /// the page begins at offset 0 again. What became of the visit is then logged: the `changed` of
    /// [`Event::End`] says whether these bytes were news. An answer 304 has no body.
    ///
    /// It must return soon: other fetches wait meanwhile. A board that does not implement it pays
    /// nothing for it.
    fn body(&self, _piece: BodyPiece<'_>) {}
    /// Takes note of what became of a URL that is not on the list. It must not ask the probe for
    /// anything: that is in the middle of its decision.
    #[cfg(feature = "discover")]
    fn found(&self, _event: &super::FoundEvent<'_>) {}
    /// Another fingerprint of a version than that of its bytes, for a board that knows better what
    /// of the page counts. The same version must always have the same one.
    #[cfg(feature = "filter")]
    fn fingerprint(&self, _page: u16, found: u64) -> u64 {
        found
    }
    /// Seconds since 1970, by a clock that runs while the device is off; `None` without one.
    fn unix_time(&self) -> Option<u64> {
        None
    }
    /// Every slot makes progress: called once a second, and no longer once one hangs.
    fn feed_watchdog(&self) {}
}

/// The board's memory for a probe.
#[derive(Debug)]
pub struct Memory<'a> {
    /// The scheduler, without hosts yet.
    pub scheduler: SchedulerView<'a>,
    /// What is remembered of pages: at least one for each page of the image.
    pub pages: &'a mut [PageMemory],
    /// What is remembered of hosts: at least one for each host of the image.
    pub hosts: &'a mut [HostMemory],
    /// Room for where pages and robots.txt files are that redirects have led away: a URL of 60
    /// characters takes about 80 bytes. Those on their way through redirects come first; what is
    /// left remembers the pages that have moved for good, the latest ones. Without any, no redirect
    /// is followed.
    pub redirects: &'a mut [u8],
}

/// A probe's memory with its capacities in the type, for a `static` such as a `ConstStaticCell` of
/// crate static_cell. It starts as zeros, which cost no flash.
///
/// ```
/// use dunlin::probe::OwnedMemory;
/// use dunlin::scheduler::Settings;
///
/// // 64 pages on 8 hosts, and a kilobyte for redirects.
/// let mut memory = OwnedMemory::<64, 8, 1024>::NEW;
/// assert_eq!(memory.view(Settings::DEFAULT).pages.len(), 64);
/// ```
#[derive(Debug)]
pub struct OwnedMemory<const PAGES: usize, const HOSTS: usize, const REDIRECT_BYTES: usize> {
    scheduler: Tables<PAGES, HOSTS>,
    pages: [PageMemory; PAGES],
    hosts: [HostMemory; HOSTS],
    redirects: [u8; REDIRECT_BYTES],
}

impl<const PAGES: usize, const HOSTS: usize, const REDIRECT_BYTES: usize>
    OwnedMemory<PAGES, HOSTS, REDIRECT_BYTES>
{
    /// Memory that nobody has used yet.
    pub const NEW: Self = Self {
        scheduler: Tables::NEW,
        pages: [PageMemory::NEW; PAGES],
        hosts: [HostMemory::NEW; HOSTS],
        redirects: [0; REDIRECT_BYTES],
    };

    /// What [`Probe::new`](super::Probe::new) takes, with a scheduler that has no pages yet. Use it
    /// once: what an earlier probe remembered of its pages is still there.
    pub fn view(&mut self, settings: Settings) -> Memory<'_> {
        Memory {
            scheduler: self.scheduler.scheduler(settings),
            pages: &mut self.pages,
            hosts: &mut self.hosts,
            redirects: &mut self.redirects,
        }
    }
}

/// Moves that so many bytes for redirects can hold: each is a record of the store, see
/// [`Store::places`](crate::store::Store::places). A URL has nine characters at least, and as much
/// again goes into the way there.
pub const fn most_moves(redirect_bytes: usize) -> usize {
    redirect_bytes / 24
}

/// What one fetch at a time needs.
#[derive(Debug)]
pub struct Slot<'b, C, R> {
    /// Opens connections, with buffers of its own.
    pub connect: C,
    /// Turns names into addresses.
    pub resolve: R,
    /// The window requests and responses pass through: 512 bytes or more.
    pub buffer: &'b mut [u8],
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A board with nothing but what it must have.
    struct Plain;

    impl Board for Plain {
        fn now(&self) -> Instant {
            Instant::ZERO
        }

        async fn sleep_until(&self, _: Instant) {}

        fn log(&self, _: &Event) {}
    }

    #[test]
    fn a_board_speaks_no_https_and_knows_no_date_unless_it_says_so() {
        assert!(!Plain.speaks_https());
        assert_eq!(Plain.unix_time(), None);
    }
}
