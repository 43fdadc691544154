//! A slot of the carousel, and the dearest slot there is.

use core::hint::black_box;

use dunlin::pace::carousel::ArrayCarousel;

use super::{Meter, Random};

pub fn carousel(meter: &mut dyn Meter) {
    at::<64>(meter);
    at::<256>(meter);
    at::<1024>(meter);
    at::<4096>(meter);
}

fn at<const N: usize>(meter: &mut dyn Meter) {
    const STEPS: u32 = 1024;
    let mut random = Random(3);
    let mut mixed: ArrayCarousel<u32, u16, N> = ArrayCarousel::new();
    for page in 0..N as u16 {
        let _ = mixed.add(page, (random.unit() + 0.01) / (0.51 * N as f32));
    }
    turn(&mut mixed, 3 * N);
    meter.measure("carousel slot, mixed rates", N as u32, STEPS, &mut || {
        turn(&mut mixed, STEPS as usize)
    });

    let mut random = Random(3);
    let rates: [f32; N] = core::array::from_fn(|_| (random.unit() + 0.01) / (0.51 * N as f32));
    let mut listing = Listing {
        rates: &rates,
        credit: &mut [0.0; N],
    };
    const FEW: u32 = 16;
    meter.measure("the paper's listing, a slot", N as u32, FEW, &mut || {
        for _ in 0..FEW {
            black_box(listing.next_slot());
        }
    });

    let mut equal: ArrayCarousel<u32, u16, N> = ArrayCarousel::new().with_unit(N as u32);
    for page in 0..N as u16 {
        let _ = equal.add_share(page, 1);
    }
    turn(&mut equal, N);
    meter.measure(
        "carousel slot that releases all pages",
        N as u32,
        1,
        &mut || turn(&mut equal, 1),
    );
    meter.measure(
        "carousel slot, equal rates",
        N as u32,
        N as u32,
        &mut || turn(&mut equal, N),
    );
}

/// Azar's Algorithm 3 as printed, in the numbers it is printed with: every slot looks at every
/// page.
#[derive(Debug)]
pub struct Listing<'a> {
    pub rates: &'a [f32],
    pub credit: &'a mut [f32],
}

impl Listing<'_> {
    /// The page of the next slot.
    pub fn next_slot(&mut self) -> Option<usize> {
        let mut first = (None, f32::INFINITY);
        for (page, (credit, rate)) in self.credit.iter_mut().zip(self.rates).enumerate() {
            *credit += rate;
            let slots_left = (1.0 - *credit) / rate;
            if *credit > 0.0 && slots_left < first.1 {
                first = (Some(page), slots_left);
            }
        }
        if let Some(credit) = first.0.and_then(|page| self.credit.get_mut(page)) {
            *credit -= 1.0;
        }
        first.0
    }
}

fn turn<const N: usize>(carousel: &mut ArrayCarousel<u32, u16, N>, slots: usize) {
    for _ in 0..slots {
        black_box(carousel.next_slot());
    }
}
