//! Refuses what cannot be planned, before anything is touched.

use super::{Pages, PlanError, PlanHost, PlanPage};
use crate::math::{Real, Sum};
use crate::model::Change;

/// Pages that have passed the check, with unknown rates filled in.
pub(super) struct Checked<'p, P: ?Sized, F> {
    pages: &'p P,
    /// What an unknown rate is taken for.
    unknown: F,
    /// The sum of all weights.
    pub(super) weight: F,
    pub(super) budget: F,
}

impl<P: Pages<F> + ?Sized, F: Real> Checked<'_, P, F> {
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, PlanPage<'_, F>)> {
        (0..self.pages.len()).map(|index| (index, self.page(index)))
    }

    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    pub(super) fn page(&self, index: usize) -> PlanPage<'_, F> {
        let page = self.pages.page(index);
        match page.change {
            Change::Unknown => PlanPage {
                change: Change::Poisson(self.unknown),
                ..page
            },
            _ => page,
        }
    }
}

/// The rate a plan assumes for pages whose rate is not known: the geometric mean of the known rates
/// above 0, or one change an interval if there are none.
pub fn assumed_rate<F: Real>(pages: &(impl Pages<F> + ?Sized)) -> F {
    let mut logarithms = Sum::ZERO;
    let mut count = 0_u32;
    for index in 0..pages.len() {
        if let Some(rate) = pages
            .page(index)
            .change
            .rate()
            .filter(|rate| *rate > F::ZERO)
        {
            logarithms.add(rate.ln());
            count += 1;
        }
    }
    if count == 0 {
        F::ONE
    } else {
        (logarithms.total() / F::from_u32(count)).exp()
    }
}

/// Checks pages, hosts and budget; `whole` if caps count whole crawls only. One pass, or two if a
/// rate is unknown.
pub(super) fn check<'p, F: Real, P: Pages<F> + ?Sized>(
    pages: &'p P,
    hosts: &mut [PlanHost<F>],
    budget: F,
    room: usize,
    whole: bool,
) -> Result<Checked<'p, P, F>, PlanError> {
    if pages.is_empty() {
        return Err(PlanError::NoPages);
    }
    if !(budget > F::ZERO && budget.is_finite()) {
        return Err(PlanError::Budget {
            found: budget.to_f64(),
        });
    }
    if room < pages.len() {
        return Err(PlanError::TooShort {
            needed: pages.len(),
            found: room,
        });
    }
    for (index, host) in hosts.iter_mut().enumerate() {
        if !(host.cap >= F::ZERO) {
            return Err(PlanError::Cap {
                host: index,
                found: host.cap.to_f64(),
            });
        }
        *host = PlanHost::new(host.cap);
    }
    let mut weight = Sum::ZERO;
    let mut unknown = false;
    for index in 0..pages.len() {
        let page = pages.page(index);
        check_page(index, &page)?;
        weight.add(page.weight);
        unknown |= page.change == Change::Unknown;
        let count = hosts.len();
        let Some(host) = hosts.get_mut(page.host as usize) else {
            return Err(PlanError::UnknownHost {
                page: index,
                host: page.host,
                hosts: count,
            });
        };
        if F::from_u32(page.min) > cap_of(host, whole) {
            return Err(PlanError::PageAboveCap {
                page: index,
                min: page.min,
                cap: host.cap.to_f64(),
            });
        }
        host.minimum += F::from_u32(page.min);
    }
    let mut needed = F::ZERO;
    for (index, host) in hosts.iter().enumerate() {
        if host.minimum > cap_of(host, whole) {
            let needed = host.minimum.to_f64();
            let cap = host.cap.to_f64();
            return Err(PlanError::HostAboveCap {
                host: index,
                needed,
                cap,
            });
        }
        needed += host.minimum;
    }
    if needed > budget {
        return Err(PlanError::AboveBudget {
            needed: needed.to_f64(),
            budget: budget.to_f64(),
        });
    }
    let unknown = if unknown { assumed_rate(pages) } else { F::ONE };
    Ok(Checked {
        pages,
        unknown,
        weight: weight.total(),
        budget,
    })
}

/// A host's cap as an allocator may use it.
pub(super) fn cap_of<F: Real>(host: &PlanHost<F>, whole: bool) -> F {
    if whole && host.cap.is_finite() {
        host.cap.floor()
    } else {
        host.cap
    }
}

fn check_page<F: Real>(index: usize, page: &PlanPage<'_, F>) -> Result<(), PlanError> {
    let sound = |value: F| value >= F::ZERO && value.is_finite();
    if !sound(page.weight) {
        return Err(PlanError::Weight {
            page: index,
            found: page.weight.to_f64(),
        });
    }
    if let Some(rate) = page.change.rate().filter(|rate| !sound(*rate)) {
        return Err(PlanError::Rate {
            page: index,
            found: rate.to_f64(),
        });
    }
    let shape = match page.change {
        Change::Weibull { shape, .. } => Some((shape, F::ZERO)),
        Change::Pareto { shape, .. } => Some((shape, F::ONE)),
        _ => None,
    };
    if let Some((shape, above)) =
        shape.filter(|(shape, above)| !(shape > above && shape.is_finite()))
    {
        return Err(PlanError::Shape {
            page: index,
            found: shape.to_f64(),
            above: above.to_f64(),
        });
    }
    if page.min > page.max {
        return Err(PlanError::Limits {
            page: index,
            min: page.min,
            max: page.max,
        });
    }
    Ok(())
}
