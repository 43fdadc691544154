//! This computer as a board: what a microcontroller's board crate brings to the probe, an operating
//! system brings here.
//!
//! [`net`] opens sockets, speaks TLS, knows names and timers; [`flash`] is a file that the store
//! takes for flash. Clock and log of the probe's loop are in
//! [`commands::run`](crate::commands::run).

pub mod flash;
pub mod net;
