//! The calls of a scheduler, written down once for all that have them.
//!
//! [`changing`], [`reading`] and `hints` list them with their documentation, as a trait would. They
//! are no trait, so that nobody has to import one, and so that no signature names the types behind
//! it. A call that changes something borrows the tables as a [`Core`](super::state::Core); what is
//! done there is in the file of its subject: `hosts`, `pages`, `next`, `record`, `restore`. One
//! that only looks is in [`read`](super::read).

mod changing;
#[cfg(feature = "hints")]
mod hints;
mod reading;

#[cfg(doc)]
use super::Counter;
#[cfg(feature = "std")]
use super::LargeScheduler;
use super::read::Read;
use super::{
    Counters, Decision, Error, HostId, HostMemo, Outcome, PageId, PageSettings, Scheduler,
    SchedulerView, Settings,
};
#[cfg(feature = "hints")]
use crate::learn::hints::{Hint, Provider};
use crate::learn::{Estimate, Trust};
use crate::polite::Hours;
use crate::time::{Duration, Instant};

use changing::changing;
#[cfg(feature = "hints")]
use hints::{hinting, told};
use reading::reading;

/// Calls with their documentation.
macro_rules! documented {
    (changing: $($(#[$doc:meta])* fn $name:ident($($key:ident: $of:ty),*) $(-> $gives:ty)?;)*) => {
        $(
            $(#[$doc])*
            pub fn $name(&mut self, $($key: $of),*) $(-> $gives)? {
                self.core().$name($($key),*)
            }
        )*
    };
    (reading: $($(#[$doc:meta])* fn $name:ident($($key:ident: $of:ty),*) -> $gives:ty;)*) => {
        $(
            $(#[$doc])*
            pub fn $name(&self, $($key: $of),*) -> $gives {
                Read::$name(self.read(), $($key),*)
            }
        )*
    };
}

/// Calls with a link to the documentation of [`Scheduler`]'s.
macro_rules! brief {
    (changing: $($(#[$doc:meta])* fn $name:ident($($key:ident: $of:ty),*) $(-> $gives:ty)?;)*) => {
        $(
            #[doc = concat!("See [`Scheduler::", stringify!($name), "`].")]
            pub fn $name(&mut self, $($key: $of),*) $(-> $gives)? {
                self.core().$name($($key),*)
            }
        )*
    };
    (reading: $($(#[$doc:meta])* fn $name:ident($($key:ident: $of:ty),*) -> $gives:ty;)*) => {
        $(
            #[doc = concat!("See [`Scheduler::", stringify!($name), "`].")]
            pub fn $name(&self, $($key: $of),*) -> $gives {
                Read::$name(self.read(), $($key),*)
            }
        )*
    };
}

impl<const PAGES: usize, const HOSTS: usize> Scheduler<PAGES, HOSTS> {
    changing!(documented);
    reading!(documented);
    #[cfg(feature = "hints")]
    hinting!(documented);
    #[cfg(feature = "hints")]
    told!(documented);
}

impl SchedulerView<'_> {
    changing!(brief);
    reading!(brief);
    #[cfg(feature = "hints")]
    hinting!(brief);
    #[cfg(feature = "hints")]
    told!(brief);
}

#[cfg(feature = "std")]
impl LargeScheduler {
    changing!(brief);
    reading!(brief);
    #[cfg(feature = "hints")]
    hinting!(brief);
    #[cfg(feature = "hints")]
    told!(brief);
}
