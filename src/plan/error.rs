//! Why there is no plan.

use core::fmt;

/// What is wrong with the demand. Pages and hosts are named by index; nothing has been allotted.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// There are no pages.
    NoPages,
    /// The budget is not a number above 0.
    Budget {
        /// The budget that was found.
        found: f64,
    },
    /// The budget of a method that divides whole crawls is none of them, or too many to be counted.
    Whole {
        /// The budget that was found.
        found: f64,
    },
    /// The result slice, or a scratch slice, is shorter than the list of pages.
    TooShort {
        /// How many places are needed.
        needed: usize,
        /// How many places there are.
        found: usize,
    },
    /// A weight is negative, infinite or not a number.
    Weight {
        /// The page, by its index.
        page: usize,
        /// The weight that was found.
        found: f64,
    },
    /// A change rate is negative, infinite or not a number.
    Rate {
        /// The page, by its index.
        page: usize,
        /// The rate that was found.
        found: f64,
    },
    /// A shape is not above what its law needs: 0 for Weibull, 1 for Pareto, which below has no
    /// mean.
    Shape {
        /// The page, by its index.
        page: usize,
        /// The shape that was found.
        found: f64,
        /// What it must be above.
        above: f64,
    },
    /// A page's slot probability for Azar's Algorithm 1 is 1 or more.
    Slot {
        /// The page, by its index.
        page: usize,
        /// The probability that was found, in changes a slot.
        found: f64,
    },
    /// The minimum of a page is above its maximum.
    Limits {
        /// The page, by its index.
        page: usize,
        /// The fewest crawls that it asks for.
        min: u32,
        /// The most crawls that it allows.
        max: u32,
    },
    /// A page names a host that does not exist.
    UnknownHost {
        /// The page, by its index.
        page: usize,
        /// The index it names.
        host: u32,
        /// How many hosts there are.
        hosts: usize,
    },
    /// A host's cap is negative or not a number.
    Cap {
        /// The host, by its index.
        host: usize,
        /// The cap that was found.
        found: f64,
    },
    /// The minimum of one page alone is above the cap of its host.
    PageAboveCap {
        /// The page, by its index.
        page: usize,
        /// The fewest crawls that the page asks for.
        min: u32,
        /// What the host allows.
        cap: f64,
    },
    /// The minima of a host's pages together are above its cap.
    HostAboveCap {
        /// The host, by its index.
        host: usize,
        /// What its pages need.
        needed: f64,
        /// What the host allows.
        cap: f64,
    },
    /// The minima of all pages together are above the budget.
    AboveBudget {
        /// What the pages need.
        needed: f64,
        /// The crawls that there are.
        budget: f64,
    },
}

impl PlanError {
    /// The page that is to blame.
    pub const fn page(&self) -> Option<usize> {
        match *self {
            Self::Weight { page, .. }
            | Self::Rate { page, .. }
            | Self::Shape { page, .. }
            | Self::Slot { page, .. }
            | Self::Limits { page, .. }
            | Self::UnknownHost { page, .. }
            | Self::PageAboveCap { page, .. } => Some(page),
            _ => None,
        }
    }

    /// The host that is to blame.
    pub const fn host(&self) -> Option<usize> {
        match *self {
            Self::Cap { host, .. } | Self::HostAboveCap { host, .. } => Some(host),
            _ => None,
        }
    }
}

/// A number in as many digits as it has, and not in hundreds of zeros.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number) = self;
        match number.is_finite() && *number != 0.0 && !(1e-6..1e15).contains(&number.abs()) {
            true => write!(f, "{number:e}"),
            false => write!(f, "{number}"),
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoPages => write!(f, "found no pages, expected at least one"),
            Self::Budget { found } => {
                let found = Number(found);
                write!(
                    f,
                    "found a budget of {found} crawls, expected a number above 0"
                )
            }
            Self::Whole { found } => {
                let found = Number(found);
                write!(
                    f,
                    "found a budget of {found} crawls, expected a whole number up to {}",
                    u32::MAX
                )
            }
            Self::TooShort { needed, found } => {
                write!(
                    f,
                    "found room for {found} results, expected room for {needed}"
                )
            }
            Self::Weight { page, found } => {
                let found = Number(found);
                write!(
                    f,
                    "page {page}: found weight {found}, expected a number from 0"
                )
            }
            Self::Rate { page, found } => {
                let found = Number(found);
                write!(
                    f,
                    "page {page}: found change rate {found}, expected a number from 0"
                )
            }
            Self::Shape { page, found, above } => {
                let found = Number(found);
                write!(
                    f,
                    "page {page}: found shape {found}, expected a number above {above}"
                )
            }
            Self::Slot { page, found } => {
                let found = Number(found);
                write!(
                    f,
                    "page {page}: found {found} changes a slot, expected less than 1: use shorter \
                     slots"
                )
            }
            Self::Limits { page, min, max } => {
                write!(
                    f,
                    "page {page}: found a minimum of {min} crawls, expected at most its maximum of \
                     {max}"
                )
            }
            Self::UnknownHost { page, host, hosts } => {
                write!(
                    f,
                    "page {page}: found host {host}, expected one of the {hosts} given"
                )
            }
            Self::Cap { host, found } => {
                let found = Number(found);
                write!(
                    f,
                    "host {host}: found a cap of {found} crawls, expected a number from 0"
                )
            }
            Self::PageAboveCap { page, min, cap } => write!(
                f,
                "page {page}: found a minimum of {min} crawls, expected at most the {cap:.1} its \
                 host allows"
            ),
            Self::HostAboveCap { host, needed, cap } => {
                write!(
                    f,
                    "host {host}: its pages need {needed} crawls at least, but it allows {cap:.1}"
                )
            }
            Self::AboveBudget { needed, budget } => {
                write!(
                    f,
                    "the pages need {needed} crawls at least, but the budget is {budget}"
                )
            }
        }
    }
}

impl core::error::Error for PlanError {}
