//! Order and moments: the carousel's guarantee, the paper's MERGE, dispatch and slot assignment, on
//! any machine.

use dunlin::heap::{Entry, SliceHeap};
use dunlin::pace::carousel::{ArrayCarousel, CarouselError, Seat};
use dunlin::pace::dispatch::{Dispatch, Queue};
use dunlin::pace::merge::{MergeError, Moments, PlannedCrawl, SpreadScratch, merge, spread};
use dunlin::pace::transport::{
    Column, Crawl, NONE, SlotPrice, TimeSlot, TransportError, assign, sweep,
};
use dunlin::time::{Duration, Instant};

use crate::bench::Random;
use crate::{Case, cases};

pub const CASES: &[Case] = cases![pace:
    a_page_costs_24_bytes, visits_follow_the_rates, equal_rates_take_turns, slots_are_exact_beyond_two_to_the_forty,
    overload_is_shared, credit_survives_a_new_rate, carousel_refuses_bad_input, merge_is_figure_1,
    a_full_host_keeps_its_gap, a_host_with_time_to_spare_keeps_its_ideal_times, dispatch_takes_the_most_delayed,
    sweep_agrees_with_assign,
];

type Carousel<const N: usize> = ArrayCarousel<u32, u16, N>;

fn a_page_costs_24_bytes() {
    // The record, a place among the released and a place on the wheel.
    assert!(size_of::<Seat<u32, u16>>() + 2 * size_of::<u16>() <= 24);
}

fn visits_follow_the_rates() {
    const PAGES: usize = 40;
    let mut random = Random(4);
    let mut shares = [0_u32; PAGES];
    let unit = 1 << 30;
    shares.iter_mut().for_each(|share| {
        *share = 1 + (random.next_u32() >> random.below(20)) % (unit / PAGES as u32)
    });
    shares[0] += unit - shares.iter().sum::<u32>();
    let mut carousel: Carousel<PAGES> = ArrayCarousel::new();
    for (page, share) in shares.iter().enumerate() {
        carousel.add_share(page as u16, *share).unwrap();
    }
    let mut visits = [0_u64; PAGES];
    for slot in 1..=3_000_u64 {
        visits[usize::from(carousel.next_slot().unwrap())] += 1;
        for (share, visits) in shares.iter().zip(&visits) {
            assert!(
                (slot * u64::from(*share)).abs_diff(visits * u64::from(unit)) <= u64::from(unit)
            );
        }
    }
}

fn equal_rates_take_turns() {
    const PAGES: u16 = 100;
    let mut carousel: Carousel<{ PAGES as usize }> =
        ArrayCarousel::new().with_unit(u32::from(PAGES));
    for page in 0..PAGES {
        carousel.add_share(page, 1).unwrap();
    }
    for _ in 0..3 {
        for page in 0..PAGES {
            assert_eq!(carousel.next_slot(), Some(page));
        }
    }
}

fn slots_are_exact_beyond_two_to_the_forty() {
    let shares = [500_000_u32, 300_001, 199_999];
    let mut carousel: Carousel<3> = ArrayCarousel::new().with_unit(1_000_000);
    for (page, share) in shares.iter().enumerate() {
        carousel.add_share(page as u16, *share).unwrap();
    }
    // Past the end of 32-bit slots, several times over.
    carousel.skip((1 << 40) - 5);
    let mut visits = [0_u64; 3];
    for (page, share) in shares.iter().enumerate() {
        let owed = carousel.credit(page as u16).unwrap();
        visits[page] = (carousel.slot() * u64::from(*share)).wrapping_add_signed(-owed) / 1_000_000;
    }
    assert_eq!(visits.iter().sum::<u64>(), carousel.slot());
    for _ in 0..1_000 {
        visits[usize::from(carousel.next_slot().unwrap())] += 1;
        for (share, visits) in shares.iter().zip(&visits) {
            assert!(
                (carousel.slot() * u64::from(*share)).abs_diff(visits * 1_000_000) <= 1_000_000
            );
        }
    }
}

fn overload_is_shared() {
    let mut carousel: Carousel<3> = ArrayCarousel::new();
    for (page, rate) in [1.0_f32, 0.5, 0.5].into_iter().enumerate() {
        carousel.add(page as u16, rate).unwrap();
    }
    let mut visits = [0; 3];
    (0..400).for_each(|_| visits[usize::from(carousel.next_slot().unwrap())] += 1);
    assert_eq!(visits, [200, 100, 100]);
}

fn credit_survives_a_new_rate() {
    let mut carousel: Carousel<2> = ArrayCarousel::new().with_unit(100);
    carousel.add_share(0, 10).unwrap();
    assert_eq!(carousel.next_slot(), Some(0));
    // One visit had, a tenth of one earned: 90 hundredths to go, at twice the speed 5 slots instead
    // of 9.
    carousel.set_share(0, 20).unwrap();
    assert_eq!(carousel.credit(0), Some(-90));
    let wait = (1..).find(|_| carousel.next_slot().is_some());
    assert_eq!(wait, Some(5));
    assert_eq!(carousel.remove(0), Some(20));
    assert_eq!((0..50).find_map(|_| carousel.next_slot()), None);
}

fn carousel_refuses_bad_input() {
    let mut carousel: Carousel<2> = ArrayCarousel::new();
    carousel.add(0, 1.0_f32).unwrap();
    for rate in [0.0, -0.5, f32::NAN, f32::INFINITY, 1.5] {
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
        carousel.add(0, 0.5_f32),
        Err(CarouselError::Duplicate { page: 0 })
    );
    assert_eq!(
        carousel.add(2, 0.5_f32),
        Err(CarouselError::OutOfRange { page: 2, places: 2 })
    );
    assert_eq!(
        carousel.set_rate(1, 0.5_f32),
        Err(CarouselError::Unknown { page: 1 })
    );
    assert!((0..10).all(|_| carousel.next_slot() == Some(0)));
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// de Souza's worked example: T/5, 2T/5, 3T/5, 4T/5.
fn merge_is_figure_1() {
    let mut room = [PlannedCrawl::default(); 4];
    let times = merge(&[1, 3], Duration::from_secs(100), Duration::ZERO, &mut room).unwrap();
    let expected = [(20, 1), (40, 0), (60, 1), (80, 1)]
        .map(|(time, page)| PlannedCrawl { at: at(time), page });
    assert_eq!(times, expected);
}

/// ⌊T/P⌋ crawls: the published spacing would be T/(1 + ⌊T/P⌋) < P.
fn a_full_host_keeps_its_gap() {
    let interval = Duration::from_secs(600);
    let gap = Duration::from_secs(15);
    let crawls = [10, 1, 1, 20, 8];
    let mut room = [PlannedCrawl::default(); 40];
    let mut links = [SpreadScratch::default(); 40];
    let polite = |times: &[PlannedCrawl]| {
        let first = times.first().unwrap().at - Instant::ZERO;
        let last = at(600) - times.last().unwrap().at;
        times.windows(2).all(|pair| pair[1].at - pair[0].at >= gap) && first + last >= gap
    };
    assert!(polite(merge(&crawls, interval, gap, &mut room).unwrap()));
    let cost = |_: u32, gap: Duration| (gap.as_micros() as f32) * (gap.as_micros() as f32);
    assert!(polite(
        spread(
            Moments::Ideal,
            &crawls,
            interval,
            gap,
            &mut room,
            &mut links,
            cost
        )
        .unwrap()
    ));
    let refused = merge(&[41], interval, gap, &mut room);
    assert_eq!(
        refused,
        Err(MergeError::TooMany {
            crawls: 41,
            room: 40
        })
    );
    let refused = merge(&[41], interval, Duration::ZERO, &mut room);
    assert_eq!(
        refused,
        Err(MergeError::Storage {
            needed: 41,
            given: 40
        })
    );
}

fn a_host_with_time_to_spare_keeps_its_ideal_times() {
    let mut room = [PlannedCrawl::default(); 8];
    let mut links = [SpreadScratch::default(); 8];
    let cost = |_: u32, gap: Duration| (gap.as_micros() as f32) * (gap.as_micros() as f32);
    let gap = Duration::from_secs(10);
    let times = spread(
        Moments::Ideal,
        &[1, 3],
        Duration::from_secs(1_000),
        gap,
        &mut room,
        &mut links,
        cost,
    )
    .unwrap();
    // Only the two that collide at 500 s move, each by half the gap.
    let expected = [(250, 1), (495, 0), (505, 1), (750, 1)]
        .map(|(time, page)| PlannedCrawl { at: at(time), page });
    assert_eq!(times, expected);
}

fn dispatch_takes_the_most_delayed() {
    let update = |time, page| PlannedCrawl { at: at(time), page };
    let updates = [
        update(2, 10),
        update(3, 11),
        update(1, 20),
        update(30, 21),
        update(1, 30),
    ];
    let gap = Duration::from_secs(15);
    let queue = |next, end| Queue {
        next,
        end,
        gap,
        ..Queue::default()
    };
    let mut queues = [queue(0, 2), queue(2, 4), queue(4, 5)];
    let mut waiting = [Entry::UNUSED; 3];
    let mut free = [Entry::UNUSED; 3];
    let mut first = [0_u16; 3];
    let mut second = [0_u16; 3];
    let waiting = SliceHeap::with_storage(&mut waiting[..], &mut first[..]);
    let free = SliceHeap::with_storage(&mut free[..], &mut second[..]);
    let mut dispatch = Dispatch::new(&updates, &mut queues, waiting, free).unwrap();
    let mut page = |now| dispatch.next(at(now)).map(|start| start.update.page);
    // Equally delayed: the smaller host first. Host 0 is then closed until 4 + 15.
    let taken = [
        page(0),
        page(4),
        page(4),
        page(4),
        page(4),
        page(18),
        page(19),
        page(29),
        page(30),
        page(99),
    ];
    assert_eq!(
        taken,
        [
            None,
            Some(20),
            Some(30),
            Some(10),
            None,
            None,
            Some(11),
            None,
            Some(21),
            None
        ]
    );
}

fn sweep_agrees_with_assign() {
    const CRAWLS: usize = 24;
    const SLOTS: usize = 32;
    let mut random = Random(9);
    for _ in 0..20 {
        let mut crawls = [Crawl::default(); CRAWLS];
        let mut slots = [TimeSlot::default(); SLOTS];
        for crawl in &mut crawls {
            *crawl = Crawl {
                at: at(u64::from(random.below(80))),
                not_before: random.below(4) == 0,
            };
        }
        for slot in &mut slots {
            *slot = TimeSlot {
                at: at(u64::from(random.below(100))),
                crawler: random.below(3),
            };
        }
        crawls.sort_unstable();
        slots.sort_unstable();
        let mut columns = [Column::UNUSED; SLOTS];
        let mut gains = [0; CRAWLS];
        let mut slot_of = [NONE; CRAWLS];
        let exact = assign(
            &crawls,
            &slots,
            |_, _| true,
            &mut columns,
            &mut gains,
            &mut slot_of,
        );
        let mut entries = [Entry::UNUSED; CRAWLS];
        let mut places = [0; CRAWLS];
        let mut more_entries = [Entry::UNUSED; SLOTS];
        let mut more_places = [0; SLOTS];
        let mut by_gain = SliceHeap::with_storage(&mut entries[..], &mut places[..]);
        let mut by_cost = SliceHeap::with_storage(&mut more_entries[..], &mut more_places[..]);
        let mut prices = [SlotPrice::UNUSED; SLOTS];
        let swept = sweep(
            &crawls,
            &slots,
            &mut by_gain,
            &mut by_cost,
            &mut prices,
            &mut slot_of,
        );
        assert_eq!(exact, swept);
    }
    let none = assign(
        &[Crawl::default()],
        &[],
        |_, _| true,
        &mut [],
        &mut [0],
        &mut [0],
    );
    assert_eq!(none, Err(TransportError::NoSlot { crawl: 0 }));
}
