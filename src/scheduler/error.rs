//! Why a call was refused.

use core::fmt;

/// Why a call was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The page table is full.
    PagesFull,
    /// The host table is full.
    HostsFull,
    /// There is no such page, or it is being fetched.
    UnknownPage,
    /// There is no such host.
    UnknownHost,
    /// A page of the host is being fetched.
    HostBusy,
    /// The page is not being fetched.
    NotInFlight,
    /// A weight that is not a number above 0.
    Weight,
    /// A rate that is not a number from 0.
    Rate,
    /// A budget that is not a number above 0.
    Budget,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PagesFull => "the page table is full: remove a page or build with more PAGES",
            Self::HostsFull => "the host table is full: build with more HOSTS",
            Self::UnknownPage => "no such page, or it is being fetched: record its outcome first",
            Self::UnknownHost => "no such host: add it first",
            Self::HostBusy => "a page of this host is being fetched: record its outcome first",
            Self::NotInFlight => {
                "the page is not being fetched: record what `next` asked for, once"
            }
            Self::Weight => "expected a weight above 0",
            Self::Rate => "expected a rate from 0 changes a day",
            Self::Budget => "expected a budget above 0 fetches a day, or none",
        })
    }
}

impl core::error::Error for Error {}
