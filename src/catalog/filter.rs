//! What of a single page counts as a change.

use super::{Ignores, Select};

/// What of a page counts as a change, beyond what is said of all pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageFilter<'a> {
    /// What alone counts; `None` for all of it.
    pub select: Option<Select<'a>>,
    /// Stretches that do not count.
    pub ignore: Ignores<'a>,
}
