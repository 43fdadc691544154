//! What is said of pages that were found: lines of their own, for they name URLs.

use crate::catalog::LogLevel;
use crate::discover::UrlRefusal;
use crate::feed::FeedError;
use crate::probe::log_line::{Value, events, values};
use core::fmt::{self, Formatter};

values! {
    Debug: FeedError, UrlRefusal;
}

events! {
    /// What became of a URL that is not on the list. `page` is its place in the collection.
    pub enum FoundEvent<'e>;
    /// A [`FoundEvent`] as it is read back from its line.
    pub enum LoggedFoundEvent<'l>;

    /// It is known now, and its text is in flash.
    debug Found { url: &'e str as &'l str } => "found url={=str}";

    /// It is kept at this place, as it was before a restart.
    info Kept { page: u16, url: &'e str as &'l str } => "kept page={=u16} url={=str}";

    /// It is kept at this place from now on.
    info Admitted { page: u16, importance: f32 as f64, url: &'e str as &'l str }
        => "admitted page={=u16} importance={=f32} url={=str}";

    /// It had this place, and had to give way to a page that is more important, or is not there any
    /// more.
    info Replaced { page: u16, importance: f32 as f64, url: &'e str as &'l str }
        => "replaced page={=u16} importance={=f32} url={=str}";

    /// It is not looked at, or not kept, and why.
    debug Refused { why: UrlRefusal as &'l str, url: &'e str as &'l str }
        => "refused why={} url={=str}";

    /// A sitemap could not be read, and why: compressed ones are not unpacked.
    warn Unread { why: FeedError as &'l str, url: &'e str as &'l str }
        => "unread why={} url={=str}";
}

impl FoundEvent<'_> {
    /// Writes the line to the log, through `defmt` or `log`.
    #[cfg(any(feature = "defmt", feature = "log"))]
    #[inline(always)] // A caller knows which event it is: only that line stays.
    pub fn emit(&self) {
        self.emit_line();
    }
}
