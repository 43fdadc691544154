//! Wolf's Figure 10: how far crawls fall from the times a plan wants.
//!
//! A page that is crawled `x` times a day is wanted every `1/x` of a day, counted from its last
//! crawl of the day before (Wolf §3). How even the crawls of all pages together are hangs on how
//! those last crawls lie: by chance, or spread on purpose.

use std::collections::HashMap;

use dunlin::heap::{Entry, SliceHeap};
use dunlin::model::{Change, Objective, Quasi, quasi};
use dunlin::pace::transport::{Cost, Crawl, NONE, SlotPrice, TimeSlot, slots, sweep};
use dunlin::plan::select::select;
use dunlin::plan::{PlanHost, PlanPage};
use dunlin::time::{Duration, Instant};
use dunlin_host::output::plot::{Line, lines};
use dunlin_host::simulate::Random;
use dunlin_host::simulate::repeat::parallel;

use super::{MEAN, SEED, SHAPE};
use crate::page::{Section, Verdict};

const CRAWLERS: usize = 10;
/// Share of the crawls that are of quasi-deterministic pages, as in the paper.
const QUASI: f64 = 0.2;
/// How many times more often than others they may change, and the chance that they do.
const OFTEN: f64 = 2.4;
const PROBABILITY: f64 = 0.5;
/// The fraction whose multiples stay farthest apart.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// A day in microseconds.
const DAY: f64 = 86_400e6;

/// How the last crawls of the day before lie.
#[derive(Clone, Copy, PartialEq)]
enum Phases {
    /// Anywhere in the gap before the day.
    Random,
    /// Of pages with the same number of crawls each where the others leave most room: multiples of
    /// the golden ratio.
    Spread,
}

/// What came of a day.
struct Day {
    cost: Cost,
    /// In slots, with whether the crawl is quasi-deterministic.
    deviations: Vec<(f32, bool)>,
}

impl Day {
    /// Share of crawls so near to their ideal times.
    fn within(&self, limit: f32) -> f64 {
        let near = self
            .deviations
            .iter()
            .filter(|(deviation, _)| deviation.abs() <= limit)
            .count();
        near as f64 / self.deviations.len() as f64
    }

    fn quasi(&self) -> f64 {
        self.deviations.iter().filter(|(_, quasi)| *quasi).count() as f64
            / self.deviations.len() as f64
    }
}

/// Adds the figure: ten crawlers with `each` slots a day.
pub fn figure_10(section: &mut Section, each: u32) {
    let count = CRAWLERS * each as usize;
    section.part(
        "Figure 10: from ideal times to slots",
        &format!(
            "{CRAWLERS} crawlers with {each} slots a day each, every slot taken by a crawl of the optimal plan. A page is wanted at equal \
             gaps from its last crawl of the day before; a quasi-deterministic page at its possible updates (evenly {OFTEN} times as many as \
             there are crawls for a page, from a moment of its own on), and not earlier. The assignment of least total deviation, by one \
             sweep that proves it. The paper prints neither how many pages there were nor how their last crawls lay, and both decide how \
             even the wanted times are: so here are ten and a hundred crawls a page, and last crawls left by chance or spread (among \
             pages of the same count at multiples of the golden ratio)."
        ),
    );
    let cases = [
        (10, Phases::Random),
        (10, Phases::Spread),
        (100, Phases::Random),
        (100, Phases::Spread),
    ];
    let days = parallel(cases.len(), |job| day(cases[job].0, cases[job].1, each));
    let rows: Vec<Vec<String>> = (cases.iter().zip(&days))
        .map(|((ratio, phases), day)| {
            let percent = |share: f64| format!("{:.1} %", 100.0 * share);
            let mean = day.cost.total.as_micros() as f64 / DAY * f64::from(each) / count as f64;
            vec![
                (count / ratio).to_string(),
                if *phases == Phases::Random {
                    "at random"
                } else {
                    "spread"
                }
                .into(),
                percent(day.quasi()),
                percent(day.within(1.0)),
                percent(day.within(5.0)),
                percent(day.within(20.0)),
                format!("{mean:.2}"),
            ]
        })
        .collect();
    let columns = [
        "pages",
        "last crawls",
        "quasi-deterministic",
        "± 1 slot",
        "± 5",
        "± 20",
        "mean deviation, slots",
    ];
    section.table(&columns, &rows);
    let curves: Vec<Line> = (rows.iter().zip(&days))
        .map(|(row, day)| histogram(&format!("{} {}", row[0], row[1]), day))
        .collect();
    section.plot(
        "wolf-10",
        "Figure 10: crawls by deviation from their ideal slots",
        lines(
            "Figure 10: deviation from ideal slots",
            "slots late (negative: early)",
            "share of crawls, %",
            &curves,
        ),
    );
    let shares = days
        .iter()
        .map(|day| format!("{:.1} %", 100.0 * day.within(20.0)))
        .collect::<Vec<_>>();
    let names = [
        "ten crawls a page, last crawls at random",
        "ten, spread",
        "a hundred, at random",
        "a hundred, spread",
    ];
    for ((name, day), share) in names.iter().zip(&days).zip(&shares) {
        section.claim(
            "Figure 10",
            &format!("virtually all crawls are within ± 20 slots ({name})"),
            "\"virtually all\"; taken as 99 %",
            share.clone(),
            Verdict::of(day.within(20.0) >= 0.99),
        );
    }
    section.limit(
        format!(
            "with a hundred crawls a page and last crawls spread, 99 % are within ± 20 slots ({})",
            shares[3]
        ),
        days[3].within(20.0) >= 0.99,
    );
    section.say(&format!(
        "With a hundred crawls a page and last crawls where chance left them, {} are; with ten crawls a page, {} where chance left them \
         and {} where they are spread. Many independent rhythms are out of step with the slots by the root of how many there \
         are, all day long; spread on purpose, only the updates of quasi-deterministic pages still are. So the printed figure \
         says something about how even its ideal times were, not about transportation problems: the deviation here is \
         proven to be the least possible.",
        shares[2], shares[0], shares[1]
    ));
    section.limit(
        "the more even the last crawls, the nearer",
        days[1].cost.total < days[0].cost.total,
    );
    let early = days
        .iter()
        .flat_map(|day| &day.deviations)
        .filter(|(slots, quasi)| *quasi && *slots < 0.0)
        .count();
    section.claim(
        "Figure 10",
        "quasi-deterministic crawls are on or after their ideal slots",
        "all of them",
        format!("{early} are early"),
        Verdict::of(early == 0),
    );
    section.limit("no quasi-deterministic crawl is early", early == 0);
    let proven = |cost: &Cost| cost.total.as_secs_f64() <= 1.01 * cost.bound.as_secs_f64();
    section.limit(
        "the deviation is proven least to 1 %",
        days.iter().all(|day| proven(&day.cost)),
    );
}

/// Pages by Zipf's law, two thirds Poisson and one third Pareto, and quasi-deterministic ones that
/// may change at even times, each from a moment of its own on. Returns what their optimal crawls of
/// a day want, in order of time.
fn wanted(ratio: usize, phases: Phases, each: u32) -> Vec<Crawl> {
    let mut random = Random(SEED);
    let budget = CRAWLERS as u32 * each;
    let pages = budget as usize / ratio;
    let sum: f64 = (1..=pages).map(|rank| 1.0 / rank as f64).sum();
    let updates = (OFTEN * ratio as f64) as usize;
    // No slot starts after the last one, so a crawl that must not be early cannot be wanted then.
    let latest = 1.0 - 20.0 * updates as f64 / f64::from(each);
    let update = |index: usize, phase: f64| quasi::Update {
        offset: (index as f64 + latest * phase) / updates as f64,
        probability: PROBABILITY,
    };
    let middle: Vec<_> = (0..updates).map(|index| update(index, 0.5)).collect();
    let mut costs = vec![0.0; updates + 1];
    quasi::costs(
        &middle,
        Objective::Freshness,
        &mut costs,
        &mut vec![0.0; updates],
    );
    let page = |rank: usize| {
        let rate = MEAN * pages as f64 / sum / rank as f64;
        let quasi = random.unit() <= QUASI * ratio as f64 / updates as f64;
        let change = match rank % 3 {
            _ if quasi => Change::Quasi(Quasi::new(&costs)),
            0 => Change::Pareto { rate, shape: SHAPE },
            _ => Change::Poisson(rate),
        };
        PlanPage::new(1.0, change)
    };
    let list: Vec<PlanPage<'_, f64>> = (1..=pages).map(page).collect();
    let mut crawls = vec![0; pages];
    select(
        &list[..],
        &mut [PlanHost::unlimited()],
        budget,
        Objective::Freshness,
        &mut crawls,
    )
    .expect("a sound plan");
    let instant = |days: f64| Instant::from_micros((days * DAY) as u64);
    let mut wanted = Vec::with_capacity(budget as usize);
    let mut alike = HashMap::<u32, f64>::new();
    for (page, count) in list.iter().zip(crawls) {
        let mut phase = 1.0 - random.unit();
        if let Change::Quasi(_) = page.change {
            let times: Vec<_> = (0..updates).map(|index| update(index, phase)).collect();
            let mut chosen: Vec<u16> = (0..updates as u16).take(count as usize).collect();
            if chosen.len() < updates {
                let mut scratch = vec![0.0; chosen.len() * updates];
                quasi::choose(&times, Objective::Freshness, &mut chosen, &mut scratch);
            }
            let at = |index: &u16| instant(times[usize::from(*index)].offset);
            wanted.extend(chosen.iter().map(|index| Crawl {
                at: at(index),
                not_before: true,
            }));
        } else {
            if phases == Phases::Spread {
                let last = alike.entry(count).or_insert(phase);
                *last = (*last + GOLDEN).fract();
                phase = *last;
            }
            let at = |crawl: u32| instant((f64::from(crawl) + phase) / f64::from(count));
            wanted.extend((0..count).map(|crawl| Crawl {
                at: at(crawl),
                not_before: false,
            }));
        }
    }
    wanted.sort_unstable();
    wanted
}

/// Gives every crawl of a day its slot.
fn day(ratio: usize, phases: Phases, each: u32) -> Day {
    let crawls = wanted(ratio, phases, each);
    let mut room = vec![TimeSlot::default(); CRAWLERS * each as usize];
    let places = slots(&[each; CRAWLERS], Duration::DAY, &mut room).expect("room for all slots");
    let mut slot_of = vec![NONE; crawls.len()];
    let cost = assign(&crawls, places, &mut slot_of);
    let slot = DAY / f64::from(each);
    let deviation = |(crawl, slot_of): (&Crawl, &u32)| {
        let start = places[*slot_of as usize].at.as_micros() as f64;
        (
            ((start - crawl.at.as_micros() as f64) / slot) as f32,
            crawl.not_before,
        )
    };
    Day {
        cost,
        deviations: crawls.iter().zip(&slot_of).map(deviation).collect(),
    }
}

fn assign(crawls: &[Crawl], places: &[TimeSlot], slot_of: &mut [u32]) -> Cost {
    let mut first = vec![Entry::UNUSED; crawls.len()];
    let mut one = vec![0_u32; crawls.len()];
    let mut second = vec![Entry::UNUSED; places.len()];
    let mut two = vec![0_u32; places.len()];
    let mut by_gain = SliceHeap::with_storage(&mut first[..], &mut one[..]);
    let mut by_cost = SliceHeap::with_storage(&mut second[..], &mut two[..]);
    let mut prices = vec![SlotPrice::UNUSED; places.len()];
    sweep(
        crawls,
        places,
        &mut by_gain,
        &mut by_cost,
        &mut prices,
        slot_of,
    )
    .expect("room for all crawls")
}

/// Shares of crawls by deviation, slot by slot; what lies beyond is left out.
fn histogram(name: &str, day: &Day) -> Line {
    const REACH: i32 = 40;
    let mut counts = [0_usize; 2 * REACH as usize + 1];
    for (deviation, _) in &day.deviations {
        if let Some(count) = counts.get_mut((deviation.round() as i32 + REACH) as usize) {
            *count += 1;
        }
    }
    let all = day.deviations.len() as f64;
    let points = (-REACH..=REACH).zip(counts);
    let points = points
        .map(|(slots, count)| (f64::from(slots), 100.0 * count as f64 / all))
        .collect();
    Line {
        name: name.into(),
        points,
    }
}
