//! The pool that TLS allocates from, and nobody else: the rest of the firmware has no allocator.
//!
//! Running out of it would be a panic, so `dunlin-tls` asks for [`room`] before it lets rustls
//! process what came.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::{RefCell, UnsafeCell};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use dunlin_tls::{Need, RESERVE, Room};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use linked_list_allocator::Heap;

/// Bytes of the pool: what connections need, and what sessions may take.
const BYTES: usize = dunlin_tls::POOL + super::SESSIONS;

#[global_allocator]
static POOL: Pool = Pool(Mutex::new(RefCell::new(State {
    heap: Heap::empty(),
    is_ready: false,
    sessions: 0,
    high_water: 0,
})));

struct Pool(Mutex<CriticalSectionRawMutex, RefCell<State>>);

struct State {
    heap: Heap,
    is_ready: bool,
    /// Bytes that sessions may have at this step.
    sessions: usize,
    high_water: usize,
}

#[repr(align(8))]
struct Place(UnsafeCell<MaybeUninit<[u8; BYTES]>>);

// SAFETY: only the heap touches it, which is behind a mutex.
unsafe impl Sync for Place {}

static PLACE: Place = Place(UnsafeCell::new(MaybeUninit::uninit()));

/// The most bytes that were ever in use beside sessions.
pub(super) fn high_water() -> usize {
    POOL.0.lock(|state| state.borrow().high_water)
}

/// Is one piece free that is long enough, within what the pool has beside sessions, which take
/// `kept` bytes? Then whatever is allocated, that many bytes of it fit. Work: the free pieces.
pub(super) fn room(need: Need, kept: usize) -> Room {
    let all = need.connection + need.sessions;
    let Ok(layout) = Layout::from_size_align(all + RESERVE, 8) else {
        return Room::Busy;
    };
    POOL.with(|state| {
        if state.heap.used().saturating_sub(kept) + need.connection + RESERVE > dunlin_tls::POOL {
            return Room::Busy;
        }
        match state.heap.allocate_first_fit(layout) {
            Ok(piece) => {
                // SAFETY: it was allocated a moment ago, with this layout.
                unsafe { state.heap.deallocate(piece, layout) };
                state.sessions = kept + need.sessions;
                Room::Enough
            }
            Err(()) => Room::Scattered,
        }
    })
}

impl Pool {
    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        self.0.lock(|state| {
            let state = &mut *state.borrow_mut();
            if !state.is_ready {
                state.is_ready = true;
                // SAFETY: the place is static, nobody else has it, and this happens once.
                unsafe { state.heap.init(PLACE.0.get().cast(), BYTES) };
            }
            work(state)
        })
    }
}

// SAFETY: what is handed out is the heap's business, one caller at a time.
unsafe impl GlobalAlloc for Pool {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.with(|state| {
            let piece = state.heap.allocate_first_fit(layout);
            let beside = state.heap.used().saturating_sub(state.sessions);
            state.high_water = state.high_water.max(beside);
            piece.map_or(ptr::null_mut(), NonNull::as_ptr)
        })
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        let Some(piece) = NonNull::new(piece) else {
            return;
        };
        // SAFETY: the caller got it from `alloc`, with this layout.
        self.with(|state| unsafe { state.heap.deallocate(piece, layout) });
    }
}
