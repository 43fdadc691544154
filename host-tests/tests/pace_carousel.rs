//! The carousel against the paper's listing and against its guarantee, in exact integers (Azar,
//! Algorithm 3).

use dunlin::heap::Entry;
use dunlin::pace::carousel::{Carousel, CarouselError, Seat};
use dunlin_suite::bench::Random;
use proptest::prelude::*;

type HostCarousel = Carousel<u64, u32, Vec<Seat<u64, u32>>, Vec<Entry<u64, u32>>, Vec<u32>>;
type DeviceCarousel = Carousel<u32, u16, Vec<Seat<u32, u16>>, Vec<Entry<u32, u16>>, Vec<u16>>;

/// The listing as printed, over shares of `unit`: credits of all pages grow, the released page due
/// first is visited.
struct Listing {
    unit: i128,
    shares: Vec<i128>,
    credit: Vec<i128>,
}

impl Listing {
    fn new(unit: u64, shares: &[u64]) -> Self {
        let shares: Vec<i128> = shares.iter().map(|share| i128::from(*share)).collect();
        Self {
            unit: i128::from(unit),
            credit: vec![0; shares.len()],
            shares,
        }
    }

    fn next_slot(&mut self) -> Option<u32> {
        for (credit, share) in self.credit.iter_mut().zip(&self.shares) {
            *credit += share;
        }
        let slots_left = |page: usize| {
            (self.unit - self.credit[page] + self.shares[page] - 1).div_euclid(self.shares[page])
        };
        let chosen = (0..self.shares.len())
            .filter(|page| self.credit[*page] > 0)
            .min_by_key(|page| slots_left(*page))?;
        self.credit[chosen] -= self.unit;
        Some(chosen as u32)
    }
}

fn host(unit: u64, wheel: usize, shares: &[u64]) -> HostCarousel {
    let mut carousel = Carousel::with_storage(
        vec![Seat::UNUSED; shares.len()],
        vec![Entry::UNUSED; shares.len()],
        vec![0; wheel],
    )
    .with_unit(unit);
    for (page, share) in shares.iter().enumerate() {
        carousel.add_share(page as u32, *share).unwrap();
    }
    carousel
}

fn device(unit: u32, wheel: usize, shares: &[u64]) -> DeviceCarousel {
    let mut carousel = Carousel::with_storage(
        vec![Seat::UNUSED; shares.len()],
        vec![Entry::UNUSED; shares.len()],
        vec![0; wheel],
    )
    .with_unit(unit);
    for (page, share) in shares.iter().enumerate() {
        carousel.add_share(page as u16, *share as u32).unwrap();
    }
    carousel
}

/// Shares of `unit` in proportion to the weights, filling `load` of it as nearly as whole numbers
/// allow.
fn shares(unit: u64, load: f64, weights: &[f64]) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    weights
        .iter()
        .map(|weight| ((weight / sum * load * unit as f64) as u64).clamp(1, unit))
        .collect()
}

/// Weights of very different kinds: even, spread over decades, a few equal classes, one that takes
/// nearly all.
fn weights() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        prop::collection::vec(0.1..1.0_f64, 1..60),
        prop::collection::vec((-7.0..0.0_f64).prop_map(|power| 10_f64.powf(power)), 1..60),
        prop::collection::vec(
            prop::sample::select(vec![1.0, 2.0, 4.0, 10.0, 1000.0]),
            1..200
        ),
        prop::collection::vec(0.5..1.0_f64, 0..20).prop_map(|mut weights| {
            weights.push(1e6);
            weights
        }),
    ]
}

/// |t·share − N·unit| ≤ unit for every page in every one of `slots` slots; going on from the given visits.
fn holds_bound(
    carousel: &mut HostCarousel,
    shares: &[u64],
    visits: &mut [u128],
    slots: u64,
) -> Result<(), TestCaseError> {
    let unit = u128::from(carousel.unit());
    for _ in 0..slots {
        let visited = carousel.next_slot();
        if let Some(page) = visited {
            visits[page as usize] += 1;
        }
        let slot = u128::from(carousel.slot());
        for (page, (share, visits)) in shares.iter().zip(&*visits).enumerate() {
            let distance = (slot * u128::from(*share)).abs_diff(visits * unit);
            prop_assert!(
                distance <= unit,
                "page {page} of share {share}: {visits} visits by slot {slot}"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The same order as the listing, whatever the rates, the load (up to 1) and the length of the
    /// wheel.
    #[test]
    fn equals_the_papers_listing(weights in weights(), load in 0.05..=1.0_f64, wheel in 0_usize..300, seed: u64) {
        let unit = 1 + seed % (1 << 30);
        let mut shares = shares(unit, load, &weights);
        if shares.iter().sum::<u64>() > unit {
            shares = vec![unit];
        }
        let mut listing = Listing::new(unit, &shares);
        let mut host = host(unit, wheel, &shares);
        let mut device = device(unit as u32, wheel, &shares);
        for slot in 1..=3_000 {
            let expected = listing.next_slot();
            prop_assert_eq!(host.next_slot(), expected, "slot {}", slot);
            prop_assert_eq!(device.next_slot().map(u32::from), expected, "slot {}", slot);
        }
    }

    /// Tijdeman's bound for every page and every prefix.
    #[test]
    fn no_page_is_a_visit_ahead_or_behind(weights in weights(), full: bool, load in 0.2..1.0_f64) {
        let unit = 1 << 40;
        let mut shares = shares(unit, if full { 1.0 } else { load }, &weights);
        if full {
            // Exactly every slot, none idle.
            let missing = unit.saturating_sub(shares.iter().sum());
            shares[0] += missing;
        }
        prop_assume!(shares.iter().sum::<u64>() <= unit);
        let mut visits = vec![0; shares.len()];
        holds_bound(&mut host(unit, shares.len(), &shares), &shares, &mut visits, 4_000)?;
        prop_assert!(!full || visits.iter().sum::<u128>() == 4_000);
    }

    /// The same after a skip of any length: nothing drifts in 2^40 slots and beyond.
    #[test]
    fn nothing_drifts(weights in weights(), slots in prop::sample::select(vec![1 << 31, 1 << 32, 1 << 40, (1 << 50) + 12_345])) {
        let unit = 1 << 40;
        let mut shares = shares(unit, 1.0, &weights);
        shares[0] += unit.saturating_sub(shares.iter().sum());
        prop_assume!(shares.iter().sum::<u64>() <= unit);
        let mut carousel = host(unit, shares.len(), &shares);
        let mut visits = vec![0; shares.len()];
        holds_bound(&mut carousel, &shares, &mut visits, 777)?;
        carousel.skip(slots);
        prop_assert_eq!(carousel.slot(), 777 + slots);
        // What a page is owed tells how many visits it counts: t·share − owed, a whole number of
        // them.
        let slot = u128::from(carousel.slot());
        let mut visits = Vec::new();
        for (page, share) in shares.iter().enumerate() {
            let owed = i128::from(carousel.credit(page as u32).unwrap());
            let counted = (slot * u128::from(*share)).saturating_add_signed(-owed);
            prop_assert_eq!(counted % u128::from(unit), 0);
            visits.push(counted / u128::from(unit));
        }
        prop_assert_eq!(visits.iter().sum::<u128>(), slot);
        holds_bound(&mut carousel, &shares, &mut visits, 3_000)?;
    }

    /// Above 1 in total, every page gets the same fraction of what it asks for, within one visit
    /// (and one more for the slot in which the clock is held).
    #[test]
    fn overload_is_shared_fairly(weights in prop::collection::vec(0.01..1.0_f64, 2..40), load in 1.0..8.0_f64) {
        let unit = 1 << 40;
        let shares: Vec<u64> = shares(unit, load, &weights);
        let total: u64 = shares.iter().sum();
        prop_assume!(total >= unit);
        let mut carousel = host(unit, shares.len(), &shares);
        let mut visits = vec![0_u64; shares.len()];
        for slot in 1..=4_000_u64 {
            visits[carousel.next_slot().expect("no slot is idle") as usize] += 1;
            for (share, visits) in shares.iter().zip(&visits) {
                let ideal = slot as f64 * *share as f64 / total as f64;
                prop_assert!((ideal - *visits as f64).abs() <= 2.0, "{visits} visits by slot {slot}, ideal {ideal}");
            }
        }
    }

    /// Whatever is added, removed and changed: no page is ever ahead by a visit, none is owed more
    /// than the backlog the changes can leave, and none starves.
    #[test]
    fn survives_any_changes(seed: u64, places in 1_usize..40, wheel in 0_usize..60) {
        let mut random = Random(seed);
        let mut carousel: DeviceCarousel = Carousel::with_storage(vec![Seat::UNUSED; places], vec![Entry::UNUSED; places], vec![0; wheel]).with_unit(1 << 20);
        let mut on_it = vec![false; places];
        let mut visits_had = vec![0_u64; places];
        for _ in 0..3_000 {
            let page = random.below(places as u32) as usize;
            let share = ((1 + random.below((2 << 20) / places as u32)).min(1 << 20) >> random.below(8)).max(1);
            match random.below(8) {
                0 => prop_assert_eq!(
                    carousel.add_share(page as u16, share).is_ok(),
                    !std::mem::replace(&mut on_it[page], true)
                ),
                1 if random.below(3) == 0 => prop_assert_eq!(
                    carousel.remove(page as u16).is_some(),
                    std::mem::replace(&mut on_it[page], false)
                ),
                2 => prop_assert_eq!(carousel.set_share(page as u16, share).is_ok(), on_it[page]),
                _ => {
                    if let Some(visited) = carousel.next_slot() {
                        prop_assert!(on_it[usize::from(visited)]);
                    }
                }
            }
            for (page, on_it) in on_it.iter().enumerate() {
                let owed = carousel.credit(page as u16).map(|owed| owed as f64 / f64::from(1 << 20));
                prop_assert_eq!(owed.is_some(), *on_it);
                if let Some(visits) = owed {
                    prop_assert!(visits > -1.0, "page {page} is {visits} ahead");
                    prop_assert!(visits <= 1.0 + places as f64, "page {page} is owed {visits}");
                }
            }
        }
        // Then left alone: everyone is visited, nobody starves.
        let slots = carousel.total().max(1 << 20) * 8 / u64::from(carousel.unit().min(1 << 20));
        let longest = (0..places as u16).filter_map(|page| carousel.share(page)).min().map_or(0, |least| (1 << 20) / least);
        for _ in 0..slots * u64::from(longest) {
            if let Some(page) = carousel.next_slot() {
                visits_had[usize::from(page)] += 1;
            }
        }
        prop_assert!(on_it.iter().zip(&visits_had).all(|(on_it, visits)| !on_it || *visits > 0), "a page starves");
    }
}

/// The guarantee over hundreds of thousands of slots, with rates near 1, tiny ones, and the mix of
/// both.
#[test]
fn bound_holds_over_long_runs() {
    let unit = 1 << 40;
    for seed in 0..6 {
        let mut random = Random(seed);
        let mut shares: Vec<u64> = match seed % 3 {
            0 => (0..20)
                .map(|_| 1 + random.next_u64() % (unit / 20))
                .collect(),
            1 => vec![unit - 40_000, 1, 17, 9_999, 29_983],
            _ => (0..20)
                .map(|_| 1 + (random.next_u64() >> 24 >> random.below(39)) % (unit / 20))
                .collect(),
        };
        let missing = unit - shares.iter().sum::<u64>();
        *shares.last_mut().unwrap() += missing;
        let mut visits = vec![0; shares.len()];
        let slots = if std::env::var_os("DUNLIN_LONG").is_some() {
            5_000_000
        } else {
            250_000
        };
        holds_bound(
            &mut host(unit, shares.len(), &shares),
            &shares,
            &mut visits,
            slots,
        )
        .unwrap();
    }
}

#[test]
fn bad_input_is_refused_and_changes_nothing() {
    let mut carousel: DeviceCarousel =
        Carousel::with_storage(vec![Seat::UNUSED; 2], vec![Entry::UNUSED; 2], vec![0; 2]);
    carousel.add(0, 0.5_f32).unwrap();
    for rate in [
        0.0,
        -1.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        1.0001,
    ] {
        assert!(matches!(
            carousel.add(1, rate),
            Err(CarouselError::Rate { page: 1, .. })
        ));
        assert!(matches!(
            carousel.set_rate(0, rate),
            Err(CarouselError::Rate { page: 0, .. })
        ));
    }
    assert_eq!(
        carousel.add(0, 0.1_f32),
        Err(CarouselError::Duplicate { page: 0 })
    );
    assert_eq!(
        carousel.add(2, 0.1_f32),
        Err(CarouselError::OutOfRange { page: 2, places: 2 })
    );
    assert_eq!(
        carousel.add(u16::MAX, 0.1_f32),
        Err(CarouselError::OutOfRange {
            page: 65_535,
            places: 2
        })
    );
    assert_eq!(
        carousel.set_rate(1, 0.1_f32),
        Err(CarouselError::Unknown { page: 1 })
    );
    assert_eq!(carousel.remove(1), None);
    assert_eq!(
        (carousel.total(), carousel.share(0), carousel.share(1)),
        (1 << 29, Some(1 << 29), None)
    );
    assert_eq!(
        carousel.slots().take(4).collect::<Vec<_>>(),
        [Some(0), None, Some(0), None]
    );
}
