//! Where a turn lets what comes be copied. As a rule nobody does; with a collector (feature
//! `collect`) it is `collecting.rs`.

#[cfg(feature = "collect")]
use core::future::Future;

use crate::fetch::Tee;

/// Who makes copies for one slot.
pub(super) trait Copyist {
    type Copy<'t>: Copying
    where
        Self: 't;

    /// Begins the copy of what a turn brings.
    fn begin(&mut self) -> Self::Copy<'_>;
}

/// The copy of what one turn brings.
pub(super) trait Copying: Tee {
    /// What comes next is the answer to a request for this page.
    fn watch(&mut self, page: u16);

    /// The turn has been concluded, with a version of this fingerprint or with none.
    ///
    /// *Cancellation*: the copy may be with the collector, or not.
    #[cfg(feature = "collect")]
    fn finish(&mut self, version: Option<u64>) -> impl Future<Output = ()>;
}

/// A slot of which no copies are made.
impl Copyist for () {
    type Copy<'t> = ();

    fn begin(&mut self) {}
}

impl Copying for () {
    fn watch(&mut self, _: u16) {}

    #[cfg(feature = "collect")]
    fn finish(&mut self, _: Option<u64>) -> impl Future<Output = ()> {
        core::future::ready(())
    }
}
