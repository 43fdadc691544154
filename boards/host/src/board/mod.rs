//! This computer as a board: what a microcontroller's board crate brings to the probe, an operating
//! system brings here.
//!
//! [`computer`] is the board itself, with its clock and its log; [`net`] opens sockets, speaks TLS,
//! knows names and timers, through a [`proxy`] and with headers of the owner's ([`own`]) if there
//! are any, and [`tape`] keeps what goes over them; [`flash`] is a file that the store takes for
//! flash, and [`state_file`] tells whether a file may be taken for that; [`texts`] and [`room`] are
//! for pages beyond the list, and [`visit_log`] writes down what visits found. [`emulated`] reads what the emulated device keeps. The loop that runs on them is in
//! [`commands::run`](crate::commands::run).

pub mod computer;
pub mod emulated;
pub mod flash;
pub mod net;
pub mod own;
pub mod proxy;
pub mod room;
pub mod state_file;
pub mod tape;
pub mod texts;
pub mod verify;
pub mod visit_log;
