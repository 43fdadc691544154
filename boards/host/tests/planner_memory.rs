//! What a page takes in a planner's memory, beside the text of its URL, and what it takes to plan
//! anew when a fleet has grown to twice as many probes. Of every page something was learnt. As large
//! as the largest, in a few minutes:
//!
//! ```text
//! DUNLIN_PAGES=25000000 cargo test --release -p dunlin-host --test planner_memory -- --nocapture
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use dunlin::fleet::{
    Drift, LONGEST, ListNotice, Member, Outlook, ProbeTopic, decode, encode, read_topic, topic,
};
use dunlin::image::Learnt;
use dunlin::math::split_mix;
use dunlin::time::{Duration, Instant};
use dunlin_host::fleet::collection::Collection;
use dunlin_host::fleet::coordinator::{Coordinator, Settings};
use dunlin_host::fleet::saved::Folder;
use dunlin_host::lists::listing::{Gate, Listing};
use dunlin_host::lists::page_image::Options;
use dunlin_host::lists::pages::{ListedChange, ListedPage};

/// Bytes a page, beside its URL.
const MOST: f64 = 64.0;
/// Of a processor, to plan anew for 25 million pages on 10,000 probes: all that is heard, planned,
/// written and said from the moment at which the second half of the probes comes.
const LONGEST_PLAN: std::time::Duration = std::time::Duration::from_secs(60);
/// Bytes a page that are allocated meanwhile, in all: the same on every computer, and many times as
/// much where the whole state is written for every report.
const MOST_ALLOCATED: f64 = 4_000.0;
const FLEET: &str = "roof";
const POLITENESS: Duration = Duration::from_secs(10);
/// Pages of a probe, on average.
const A_PROBE: usize = 2_500;
/// Reports that come between two turns of the planner, twenty of which are a second's: all probes
/// report within half a minute.
const TOGETHER: usize = 16;
const TURN: Duration = Duration::from_millis(50);

/// Counts what is allocated, and the most that ever was.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST_HELD: AtomicUsize = AtomicUsize::new(0);
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is the system's own, which is only counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST_HELD.fetch_max(held, Relaxed);
        ALLOCATED.fetch_add(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(piece, layout) }
    }
}

/// Hosts with some pages each, 8 to 400 and 31 on average, until there are so many of these.
struct Web {
    /// The hosts, without their pages.
    listing: Listing,
    /// How many pages each host has.
    pages: Vec<u32>,
}

impl Web {
    fn new(pages: usize) -> Self {
        let mut listing = Listing::default();
        let mut each = Vec::new();
        let mut random = 1;
        let mut count = 0;
        while count < pages {
            let host = listing.list.hosts.len();
            let name = format!("www{host}.example.org");
            let share = (split_mix(&mut random) >> 40) as f64 / 16_777_216.0;
            let some = (8.0 / (1.0 - share).max(0.02)) as u32;
            count += some as usize;
            each.push(some);
            listing.gate_of_host.push(host);
            listing.gates.push(Gate {
                name: name.clone(),
                politeness: POLITENESS,
                hours: None,
                provider: Default::default(),
            });
            listing.list.hosts.push(name);
        }
        Self {
            listing,
            pages: each,
        }
    }

    /// The pages, one after the other: all of them as a list was read would take gigabytes.
    fn pages(&self) -> impl Iterator<Item = ListedPage> {
        let hosts = self.pages.iter().enumerate();
        hosts.flat_map(|(host, pages)| {
            (0..*pages).map(move |page| ListedPage {
                url: format!("http://www{host}.example.org/section/{page}/article.html"),
                name: None,
                host,
                weight: 1.0,
                change: ListedChange::Poisson { rate: Some(0.5) },
                min: 0,
                max: None,
                every: None,
                filter: None,
            })
        })
    }
}

/// The time that a processor has worked for this thread.
fn worked() -> std::time::Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    std::time::Duration::from_nanos(nanos.expect("a number"))
}

/// What a planner's work takes.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    /// How long a processor was busy with it.
    time: std::time::Duration,
    /// Bytes that were allocated, in all.
    allocated: usize,
    /// The longest of its turns.
    turn: std::time::Duration,
}

/// Every probe reports once, some of them between two turns of the planner; it gives them lists, and
/// they take them. What hearing, planning, and writing lists and state take is added.
fn pass(coordinator: &mut Coordinator, probes: &mut [Member], now: &mut Instant, work: &mut Work) {
    let outlook = Outlook {
        price: 0.01,
        elasticity: 1.0,
        pages: 16_384,
        hosts: 4_096,
        link: 1e6,
        ..Outlook::default()
    };
    for first in (0..probes.len()).step_by(TOGETHER) {
        *now += TURN;
        let some = probes.iter_mut().enumerate().skip(first).take(TOGETHER);
        let report = |(number, probe): (usize, &mut Member)| {
            let report = probe.report(&outlook, *now);
            let place = topic(FLEET, &format!("p{number}"), ProbeTopic::Report).expect("a name");
            let mut buffer = [0; LONGEST];
            let bytes = encode(&report, &mut buffer).expect("short");
            (place.as_str().to_owned(), bytes.to_vec())
        };
        let reports: Vec<(String, Vec<u8>)> = some.map(report).collect();
        let start = worked();
        let before = ALLOCATED.load(Relaxed);
        for (place, bytes) in &reports {
            coordinator.heard(place, bytes, false, *now);
        }
        let outbox = coordinator.tick(*now).expect("saved");
        let turn = worked() - start;
        work.time += turn;
        work.turn = work.turn.max(turn);
        work.allocated += ALLOCATED.load(Relaxed) - before;
        for message in &outbox {
            let place = read_topic(FLEET, &message.topic);
            if let Some((name, ProbeTopic::List)) = place {
                let number: usize = name[1..].parse().expect("a number");
                let notice: ListNotice<'_> = decode(&message.payload).expect("a notice");
                probes[number].take_list(notice.version, *now);
            }
        }
    }
}

#[test]
fn a_page_takes_64_bytes_at_most_and_a_fleet_that_has_grown_is_planned_anew() {
    // As many as somebody wants to know of.
    let wanted = std::env::var("DUNLIN_PAGES").ok();
    let pages = match (wanted, std::env::var_os("DUNLIN_LONG")) {
        (Some(pages), _) => pages.parse().expect("a number of pages"),
        (None, Some(_)) => 2_000_000,
        (None, None) => 200_000,
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("planner-memory");
    let _ = std::fs::remove_dir_all(&folder);
    let web = Web::new(pages);
    let sizes = || web.pages().map(|page| page.url.len());
    let pages = sizes().count();
    let urls = sizes().sum::<usize>();
    let a_page = |bytes: usize| (bytes as f64 - urls as f64) / pages as f64;
    // A list with names of hosts that nobody else holds.
    let before = HELD.load(Relaxed);
    let hosts = web.listing.clone();
    let room = (pages, urls);
    let mut collection = Collection::of_pages(hosts, Vec::new(), POLITENESS, room, web.pages());
    let learnt = Learnt {
        shape: 2.0,
        time: 4.0,
        watch: [0; 2],
    };
    for page in 0..pages as u32 {
        collection.learn(page, learnt);
        collection.visit(page, Instant::ZERO + Duration::from_secs(60));
    }
    let settings = Settings {
        fleet: FLEET.into(),
        lists: "http://127.0.0.1:1/".into(),
        options: Options::default(),
        https: false,
        budget: pages as f32 / 2.0,
        cap: 3.0,
        lease: Duration::HOUR,
        drift: Drift::DEFAULT,
    };
    let kept = Folder::open(&folder).expect("a folder");
    let mut now = Instant::ZERO + Duration::HOUR;
    MOST_HELD.store(HELD.load(Relaxed), Relaxed);
    let mut coordinator =
        Coordinator::start(settings, collection, kept, [7, 8], now).expect("a planner");
    coordinator.connected(now);
    let probe = |boot: usize| Member::new(boot as u32 + 1, 0, now, Drift::DEFAULT);
    let mut probes: Vec<Member> = (0..pages / A_PROBE).map(probe).collect();
    // Half of them join later: the others give pages away, and have two lists, the one in force and
    // the one before.
    let count = probes.len();
    let [first, again] = [count / 2, count].map(|count| {
        let mut work = Work::default();
        for _ in 0..6 {
            now += Duration::from_secs(20);
            pass(&mut coordinator, &mut probes[..count], &mut now, &mut work);
        }
        let view = coordinator.view(now);
        assert_eq!((view.pages_without_owner, view.hosts_moving), (0, 0));
        work
    });
    let view = coordinator.view(now);
    assert!(view.probes.iter().all(|probe| probe.pages > 0));
    let lists = view.probes.iter().map(|probe| probe.list);
    let held = a_page(HELD.load(Relaxed) - before);
    let most = a_page(MOST_HELD.load(Relaxed) - before);
    let allocated = again.allocated as f64 / pages as f64;
    for (what, work) in [("the first plan", first), ("the next one", again)] {
        let Work { time, turn, .. } = work;
        println!("{what} took {time:?} of a processor, its longest turn {turn:?}");
    }
    println!("{allocated:.0} B a page were allocated for the next one");
    println!(
        "{pages} pages on {} hosts, {} probes with {} lists so far: {held:.1} B a page, {most:.1} B at most \
         while planning",
        view.hosts,
        view.probes.len(),
        lists.sum::<u32>(),
    );
    assert!(held <= MOST, "{held} B a page");
    assert!(allocated <= MOST_ALLOCATED, "{allocated} B a page");
    // Where minutes are spent on it: a limit of a processor's time means nothing for a small fleet.
    if pages >= 2_000_000 {
        let longest = LONGEST_PLAN.mul_f64(pages as f64 / 25e6);
        assert!(
            again.time <= longest,
            "{:?}, at most {longest:?}",
            again.time
        );
    }
    drop(coordinator);
    std::fs::remove_dir_all(&folder).expect("removed");
}
