//! push: one datagram in which somebody says that a page has changed, and how far each sender is
//! believed.
//!
//! A device listens for them at UDP port [`PORT`]. Each is answered by nothing. It counts if its
//! sender has signed it with a key that the device was told by a cable, if it was signed within
//! [`WINDOW_S`] seconds of the device's own time and after the last one of the same sender that
//! counted, and if that sender has not sent too many, nor been wrong too often.
//!
//! # Version 1
//!
//! | bytes | what |
//! |---|---|
//! | 0 to 3 | `dpsh` |
//! | 4 | 1, the version |
//! | 5 | the sender: which of the device's keys it has, counted from 0 |
//! | 6 to 13 | milliseconds since 1970, little-endian: more than in any earlier datagram of this sender |
//! | 14 … | the URL of the page, as the list has it: UTF-8, 1 to [`LONGEST_URL`] bytes |
//! | the last 16 | SipHash-2-4-128 of all bytes before, under the sender's key of 16 bytes |
//!
//! `dunlin push` sends them. A sender of one's own is a few lines with [`Datagram::sign`], or in
//! any language that has SipHash with 128 bits. Without a certain time a device heeds nobody: what
//! was said once could be said again after it has started anew.
//!
//! | question | file |
//! |---|---|
//! | what is in a datagram, and who signed it? | `datagram.rs` |
//! | how much may a sender say, and how far is it believed? | `sender.rs` |
//! | who may push to this device, and who said what? | `inbox.rs` |

mod datagram;
mod inbox;
mod sender;

pub use datagram::{Datagram, KEY, LONGEST, LONGEST_URL, key};
pub use inbox::{DatagramError, Inbox, SENDERS, WINDOW_S};
pub use sender::{BURST, PER_SECOND, Reception, Sender};

/// Where a device listens.
pub const PORT: u16 = 19022;
