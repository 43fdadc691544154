//! Sleeping between fetches, and how to sleep deeper.
//!
//! A slot with nothing to do waits until the scheduler's next page is due; a probe whose slots all
//! wait has no task ready, and the [executor](crate::executor) sleeps with WFI until a timer, a
//! frame or the second's tick of the watchdog. Once a minute the log says for how long the core was
//! awake (`power awake_ms=`, see [`executor::awake`](crate::executor::awake)); `boards/PORTING.md`
//! has what that comes to for a fetch.
//!
//! # Deeper sleep
//! [`executor::run_with`](crate::executor::run_with) calls the board's own sleep instead of WFI,
//! with interrupts masked, whenever no task is ready. A chip's stop mode goes there, under two
//! conditions: the clock that embassy's time driver counts must go on (a low-power timer), and
//! whatever wakes the core must be an interrupt. The watchdog is fed once a second: give it a
//! longer patience and let it be the longest sleep.
//!
//! # Radio off
//! [`Probe::next_due`](dunlin::probe::Probe::next_due) says when the next fetch is due, if none is
//! running. A task of the board's own can leave the network until shortly before, and join it
//! again:
//!
//! ```ignore
//! loop {
//!     match probe.next_due() {
//!         Some(then) if !network::is_busy() && then > probe.board().now() + WORTH_IT => {
//!             control.leave().await;
//!             probe.board().sleep_until(then - JOINING_TAKES).await;
//!             control.join(NETWORK, options()).await.ok();
//!         }
//!         _ => Timer::after_secs(1).await,
//!     }
//! }
//! ```
//!
//! The probe notices by itself that the link is gone and that it is back; what is due meanwhile
//! waits, and no host is blamed. Leaving pays where joining costs less than listening would:
//! measure it on your board, and set `WORTH_IT` by it.
