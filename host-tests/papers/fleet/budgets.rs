//! de Souza's set-up partitioned over ten probes, beside the pool of ten crawlers that it has.

use dunlin::time::Duration;
use dunlin_host::simulate::repeat::parallel;
use host_tests::desouza::{GAP, Pool, Setup, Staleness, Web, pool, run as shared, web};

use super::PROBES;
use super::probes::{CAP, Fleet};
use crate::Settings;
use crate::page::{Printed, Section, Verdict, digits};

/// Grants are made in so many rounds.
const ROUNDS: usize = 5;

/// A web by both.
struct Compared {
    theta: f64,
    shared: Staleness,
    equal: Pool,
    /// The bounds after 1, 2 and all rounds of grants, and after all by a planner that does not heed
    /// politeness.
    bounds: [f64; 4],
    granted: Pool,
    /// Equal budgets for servers that have moved, …
    rehomed: Pool,
    /// … and the share of pages that has.
    moved: f64,
    /// The largest budget of a probe in mean shares, and the sum of all in what there is.
    largest: f64,
    spent: f64,
}

pub fn tabulate(section: &mut Section, settings: &Settings) {
    let pages = settings.size(30_000, 100_000);
    let setup = Setup {
        pages,
        servers: pages / 500,
        crawlers: PROBES,
        // As many crawls for each page as in the paper.
        fetch: Setup::PAPER.fetch * 1_000_000 / pages as u64,
        ..Setup::PAPER
    };
    section.part(
        "de Souza: a pool of crawlers, or a fleet of probes",
        &format!(
            "{pages} pages on {} servers, 8.64 crawls a page and day, 15 s between two crawls of a server, one day from fresh copies. *Pool*: {PROBES} crawlers \
             that take any server's next crawl. *Fleet*: each server belongs to one of {PROBES} probes, each plans its own servers with its own budget, \
             and dispatches to its own slots: as many crawlers as its budget keeps busy, {CAP} at most.",
            setup.servers
        ),
    );
    let thetas = [0.0, 0.5, 1.0];
    let found = parallel(thetas.len(), |at| {
        compare(Setup {
            theta: thetas[at],
            ..setup
        })
    });
    bounds(section, &found);
    schedules(section, &found);
    claims(section, &found);
    limits(section, &found);
}

fn compare(setup: Setup) -> Compared {
    let web = web(setup);
    let total = setup.capacity();
    let mut fleet = Fleet::new(&web, total);
    let rounds = fleet.grants(ROUNDS, true);
    let lists = fleet.lists();
    let made = |lists: &[Vec<usize>], budgets: &[f64]| partitioned(&web, lists, budgets, setup);
    let planned = |budgets: &[f64]| {
        let each = lists.iter().zip(budgets).map(|(servers, budget)| {
            let (crawls, plan) = web.only(servers).plan(*budget as u32, Some(GAP));
            plan.bound * crawls.len() as f64
        });
        each.sum::<f64>() / setup.pages as f64
    };
    let granted = made(&lists, &rounds[ROUNDS]);
    let bounds = [
        planned(&rounds[1]),
        planned(&rounds[2]),
        granted.bound,
        planned(&fleet.grants(ROUNDS, false)[ROUNDS]),
    ];
    let equal = made(&lists, &rounds[0]);
    let moved = fleet.rehome();
    let mean = total / PROBES as f64;
    let most = rounds[ROUNDS].iter().copied().fold(0.0, f64::max);
    let spent = rounds.iter().map(|budgets| budgets.iter().sum::<f64>());
    Compared {
        theta: setup.theta,
        shared: shared(setup),
        equal,
        bounds,
        granted,
        rehomed: made(&fleet.lists(), &[mean; PROBES]),
        moved,
        largest: most / mean,
        spent: spent.fold(0.0, f64::max) / total,
    }
}

/// What all probes together achieve, each with its own servers, budget and slots.
fn partitioned(web: &Web, lists: &[Vec<usize>], budgets: &[f64], setup: Setup) -> Pool {
    let slot = Duration::DAY.as_micros() as f64 / setup.fetch.as_micros() as f64;
    let mut all = Pool {
        bound: 0.0,
        psp: 0.0,
        spread: 0.0,
    };
    for (servers, budget) in lists.iter().zip(budgets) {
        let own = web.only(servers);
        let slots = Setup {
            crawlers: (budget / slot).ceil().clamp(1.0, CAP) as usize,
            ..setup
        };
        let found = pool(&own, *budget as u32, slots);
        let pages: usize = own.servers().map(<[f64]>::len).sum();
        let share = pages as f64 / setup.pages as f64;
        all.bound += share * found.bound;
        all.psp += share * found.psp;
        all.spread += share * found.spread;
    }
    all
}

fn above(of: f64, base: f64) -> f64 {
    100.0 * (of / base - 1.0)
}

fn bounds(section: &mut Section, found: &[Compared]) {
    section.say("What no schedule of those budgets can beat (WP), and how far it is above WP for one who plans all:");
    let row = |one: &Compared| {
        let central = one.shared.bound;
        let lost = |bound: f64| format!("{} (+{:.3} %)", digits(bound), above(bound, central));
        let [first, second, last, heedless] = one.bounds.map(lost);
        vec![
            one.theta.to_string(),
            digits(central),
            lost(one.equal.bound),
            first,
            second,
            last,
            heedless,
            lost(one.rehomed.bound),
            format!("{:.1} %", 100.0 * one.moved),
            format!("{:.2}", one.largest),
        ]
    };
    section.table(
        &[
            "θ",
            "one planner",
            "fleet, equal budgets",
            "grants, 1 round",
            "2 rounds",
            "5 rounds",
            "5 rounds, politeness not heeded",
            "equal budgets, re-homed",
            "pages that moved",
            "largest grant, in mean shares",
        ],
        &found.iter().map(row).collect::<Vec<_>>(),
    );
    section.say(
        "Politeness allows 11.5 crawls a page and day here, and 8.64 are planned: a probe with few servers can be at the end of what they allow. One crawl more is worth nothing \
         to it then, and with a little less one is worth much: such a probe is granted too much in one round and too little in the next, and grants do not settle. \
         The planner knows the politeness of the hosts that it gave away, and grants a probe at most 99 % of what they allow: then grants settle.",
    );
}

fn schedules(section: &mut Section, found: &[Compared]) {
    section.say("Staleness, exactly as the schedules fall, after 5 rounds of grants:");
    let row = |one: &Compared| {
        let shared = &one.shared;
        let values = [
            shared.merge,
            shared.merge_dispatched,
            one.equal.psp,
            one.granted.psp,
            one.rehomed.psp,
            shared.mp2,
            shared.m_wolf,
            shared.spread_dispatched,
            one.granted.spread,
        ];
        let theta = [one.theta.to_string()].into_iter();
        theta.chain(values.map(digits)).collect()
    };
    section.table(
        &[
            "θ",
            "InfCrawlers",
            "PSP, pool",
            "PSP, fleet, equal budgets",
            "PSP, fleet, grants",
            "PSP, fleet, re-homed",
            "MP2, pool",
            "M-Wolf, pool",
            "spread (ours), pool",
            "spread (ours), fleet, grants",
        ],
        &found.iter().map(row).collect::<Vec<_>>(),
    );
}

fn largest(found: &[Compared], of: impl Fn(&Compared) -> f64) -> f64 {
    found.iter().map(of).fold(f64::MIN, f64::max)
}

fn claims(section: &mut Section, found: &[Compared]) {
    const PLACE: &str = "de Souza, Figure 3";
    let order = |one: &&Compared| one.granted.psp < one.shared.mp2.min(one.shared.m_wolf);
    let below = found.iter().filter(order).count();
    section.claim(
        PLACE,
        "PSP is below MP2 and M-Wolf, as a fleet with grants against their pools",
        "at every θ",
        format!("at {below} of {}", found.len()),
        Verdict::of(below == found.len()),
    );
    let bound = found
        .iter()
        .map(|one| above(one.granted.psp, one.shared.bound));
    section.figure(
        PLACE,
        "PSP above WP, as a fleet with grants, average over θ from 0 to 1",
        Printed::percent(3.0),
        bound.sum::<f64>() / found.len() as f64,
    );
    let apart = |psp: fn(&Compared) -> f64| largest(found, |one| above(psp(one), one.shared.merge));
    for (what, apart) in [
        ("equal budgets", apart(|one| one.equal.psp)),
        ("grants", apart(|one| one.granted.psp)),
    ] {
        section.claim(
            PLACE,
            &format!("PSP is extremely close to InfCrawlers, as a fleet with {what}"),
            "\"extremely close\"; taken as 1 %",
            format!("{apart:.2} % above at most"),
            Verdict::of(apart < 1.0),
        );
    }
}

fn limits(section: &mut Section, found: &[Compared]) {
    let lost = |of: fn(&Compared) -> f64| largest(found, |one| above(of(one), one.shared.bound));
    let equal = lost(|one| one.equal.bound);
    let second = lost(|one| one.bounds[1]);
    let last = lost(|one| one.bounds[2]);
    let heedless = lost(|one| one.bounds[3]);
    let rehomed = lost(|one| one.rehomed.bound);
    section.limit(
        format!(
            "two rounds of grants leave at most a quarter of what equal budgets lose: {second:.3} of {equal:.3} %"
        ),
        4.0 * second <= equal,
    );
    section.limit(
        format!(
            "five rounds leave at most 0.1 %, and less than where politeness is not heeded: {last:.3} %, {heedless:.3} %"
        ),
        last <= 0.1 && last < heedless,
    );
    section.limit(
        format!("re-homing at most 8 % of the pages brings equal budgets nearer: {rehomed:.2} %"),
        rehomed < equal && found.iter().all(|one| one.moved <= 0.08),
    );
    section.limit(
        "a fleet with grants is fresher than one with equal budgets at every θ, by PSP and by ours",
        found
            .iter()
            .all(|one| one.granted.psp < one.equal.psp && one.granted.spread < one.equal.spread),
    );
    let spent = largest(found, |one| one.spent);
    section.limit(
        format!("budgets are never above what there is: {spent:.4} of it"),
        spent <= 1.0,
    );
}
