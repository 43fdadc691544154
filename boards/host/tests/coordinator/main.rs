//! The planner's mind in virtual time: who gets which hosts when probes come, go and start again.

mod troubled;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use dunlin::fleet::{
    Drift, Grant, LONGEST, ListNotice, Member, Outlook, Presence, ProbeTopic, VisitReport, Visits,
    decode, encode, read_topic, topic,
};
use dunlin::image::Image;
use dunlin::time::{Duration, Instant};
use dunlin_host::fleet::collection::Collection;
use dunlin_host::fleet::coordinator::{Coordinator, Settings};
use dunlin_host::fleet::link::Outgoing;
use dunlin_host::fleet::orders::Order;
use dunlin_host::fleet::saved::Folder;
use dunlin_host::lists::listing::Listing;
use dunlin_host::lists::page_image::Options;

const FLEET: &str = "roof";
const LEASE: Duration = Duration::from_secs(60);
const POLITENESS: Duration = Duration::from_secs(10);
const BUDGET: f32 = 5_000.0;

struct Probe {
    member: Member,
    outlook: Outlook,
    hosts: BTreeSet<String>,
    /// How many seconds ago its list says that each page was visited.
    ages: HashMap<String, Option<u64>>,
    /// What a fetch has to be worth, as its list says.
    price: Option<f32>,
    /// It neither reports nor hears.
    away: bool,
}

struct World {
    coordinator: Coordinator,
    folder: PathBuf,
    probes: HashMap<&'static str, Probe>,
    now: Instant,
    boots: u32,
}

fn settings() -> Settings {
    Settings {
        fleet: FLEET.into(),
        lists: "http://127.0.0.1:1/".into(),
        options: Options::default(),
        https: false,
        budget: BUDGET,
        cap: 3.0,
        lease: LEASE,
        drift: Drift::DEFAULT,
    }
}

/// So many hosts with two pages each.
fn collection(hosts: usize, politeness: Duration) -> Collection {
    let mut collection = Collection::new(Listing::default(), Vec::new(), politeness);
    for host in 0..hosts {
        for page in 0..2 {
            let url = format!("http://h{host}.test/{page}");
            collection.add(&url, 1.0).expect("a URL");
        }
    }
    collection
}

impl World {
    fn new(name: &str, hosts: usize) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("mind-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        let now = Instant::ZERO + Duration::HOUR;
        let mut world = Self {
            coordinator: Self::start(&folder, hosts, now),
            folder,
            probes: HashMap::new(),
            now,
            boots: 0,
        };
        world.coordinator.connected(now);
        world
    }

    fn start(folder: &Path, hosts: usize, now: Instant) -> Coordinator {
        let folder = Folder::open(folder).expect("a folder");
        let collection = collection(hosts, POLITENESS);
        Coordinator::start(settings(), collection, folder, [7, 8], now).expect("a planner")
    }

    /// The planner is killed, and starts again.
    fn restart(&mut self, hosts: usize) {
        let other = self.folder.with_extension("other");
        // The lock goes with whoever held it.
        let gone = Self::start(&other, 1, self.now);
        drop(std::mem::replace(&mut self.coordinator, gone));
        self.coordinator = Self::start(&self.folder, hosts, self.now);
        self.coordinator.connected(self.now);
        let _ = std::fs::remove_dir_all(&other);
    }

    fn join(&mut self, name: &'static str, link: f32, price: f32) {
        self.boots += 1;
        let outlook = Outlook {
            price,
            elasticity: 1.0,
            freshness: 0.9,
            pages: 1_000,
            hosts: 100,
            link,
            fetches: 0,
            errors: 0,
        };
        let probe = Probe {
            member: Member::new(self.boots, 0, self.now, Drift::DEFAULT),
            outlook,
            hosts: BTreeSet::new(),
            ages: HashMap::new(),
            price: None,
            away: false,
        };
        self.probes.insert(name, probe);
        let here = Presence {
            boot: self.boots,
            online: true,
        };
        self.say(name, ProbeTopic::State, &here);
    }

    fn say<T: serde::Serialize>(&mut self, name: &str, which: ProbeTopic, message: &T) {
        let mut buffer = [0; LONGEST];
        let bytes = encode(message, &mut buffer).expect("short");
        let place = topic(FLEET, name, which).expect("a topic");
        self.coordinator.heard(&place, bytes, false, self.now);
    }

    fn deliver(&mut self, message: &Outgoing) {
        let Some((name, which)) = read_topic(FLEET, &message.topic) else {
            return;
        };
        let now = self.now;
        let Some(probe) = self.probes.get_mut(name).filter(|probe| !probe.away) else {
            return;
        };
        match which {
            ProbeTopic::Grant => {
                let grant: Grant = decode(&message.payload).expect("a grant");
                probe.member.granted(&grant);
            }
            ProbeTopic::List => {
                let notice: ListNotice<'_> = decode(&message.payload).expect("a notice");
                if !probe.member.wants(notice.version) {
                    return;
                }
                let parts: Vec<&str> = notice.url.split('/').collect();
                let [.., name, version, token] = parts[..] else {
                    panic!("{}", notice.url);
                };
                let image = self.coordinator.list(name, version, token);
                let image = image.expect("the list that was announced");
                let image = Image::parse(&image).expect("a list");
                let room = &probe.outlook;
                if image.pages() > room.pages.into() || image.hosts() > room.hosts.into() {
                    return;
                }
                let host = |index| image.host(index).expect("a host").name.to_owned();
                probe.hosts = (0..image.hosts()).map(host).collect();
                let age = |index: usize| {
                    let url = image.page(index).expect("a page").url.to_owned();
                    let ago = image.seen().and_then(|seen| seen.ago(index as u16));
                    (url, ago.map(Duration::as_secs))
                };
                probe.price = image.seen().map(|seen| seen.price);
                probe.ages = (0..image.pages()).map(age).collect();
                probe.member.take_list(notice.version, now);
            }
            _ => {}
        }
    }

    /// Seconds pass: probes report, the planner answers, and no host is on two lists that are in
    /// force under a lease.
    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now += Duration::from_secs(1);
            let names: Vec<_> = self.probes.keys().copied().collect();
            for name in names {
                let now = self.now;
                let probe = self.probes.get_mut(name).expect("a probe");
                if !probe.away {
                    let report = probe.member.report(&probe.outlook, now);
                    self.say(name, ProbeTopic::Report, &report);
                }
            }
            let outbox = self.coordinator.tick(self.now).expect("saved");
            for message in &outbox {
                self.deliver(message);
            }
            self.check();
        }
    }

    fn check(&self) {
        let now = self.now;
        let leased = |probe: &&Probe| probe.member.leased_until().is_some_and(|end| now < end);
        let mut owned = BTreeSet::new();
        let mut budget = 0.0;
        for probe in self.probes.values().filter(leased) {
            budget += probe.member.budget();
            for host in &probe.hosts {
                assert!(owned.insert(host), "{host} has two owners");
            }
        }
        assert!(budget <= BUDGET * 1.000_1, "{budget}");
    }

    fn hosts(&self, name: &str) -> BTreeSet<String> {
        self.probes[name].hosts.clone()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_probe_that_joins_gets_its_share_and_one_that_leaves_moves_only_its_own() {
    let mut world = World::new("joins", 24);
    world.join("a", 50_000.0, 0.01);
    world.pass(10);
    assert_eq!(world.hosts("a").len(), 24);
    world.join("b", 50_000.0, 0.01);
    world.pass(30);
    let a = world.hosts("a");
    let b = world.hosts("b");
    assert_eq!(a.len() + b.len(), 24);
    // 1.25 times the mean, in hosts of two pages.
    assert!((9..=15).contains(&b.len()), "{}", b.len());
    // It leaves: nothing moves before its lease and politeness are over.
    world.probes.get_mut("b").expect("a probe").away = true;
    world.pass(LEASE.as_secs() - 2);
    assert_eq!(world.hosts("a"), a);
    world.pass(POLITENESS.as_secs() + 8);
    assert!(a.is_subset(&world.hosts("a")));
    assert_eq!(world.hosts("a").len(), 24);
    // It comes back, with another boot and no list.
    world.join("b", 50_000.0, 0.01);
    world.pass(30);
    assert_eq!(world.hosts("a").len() + world.hosts("b").len(), 24);
    assert!(world.hosts("b").len() >= 9);
}

#[test]
fn the_next_owner_is_told_when_pages_were_visited() {
    let mut world = World::new("ages", 1);
    world.join("a", 50_000.0, 0.01);
    world.pass(10);
    let visit = |page, ago_s| VisitReport {
        page,
        ago_s,
        changed: false,
        shape: 1.0,
        time: 1.0,
        watch: [0; 2],
    };
    let visits = Visits {
        boot: world.boots,
        list: world.probes["a"].member.list(),
        first: 0,
        // The first of two that are told late was not the last one.
        visits: [visit(0, 5), visit(0, 30)].into_iter().collect(),
    };
    world.say("a", ProbeTopic::Visits, &visits);
    let then = world.now;
    world.probes.get_mut("a").expect("a probe").away = true;
    world.join("b", 50_000.0, 0.01);
    world.join("c", 50_000.0, 0.01);
    // What a fetch is worth is not for one alone to say.
    world.join("liar", 50_000.0, 1e9);
    // One host is for one of them: the others have no room for it.
    for name in ["c", "liar"] {
        world.probes.get_mut(name).expect("a probe").outlook.hosts = 0;
    }
    world.pass(LEASE.as_secs() + POLITENESS.as_secs() + 8);
    let now = world.now;
    let b = world.probes.get_mut("b").expect("a probe");
    assert_eq!(b.hosts.len(), 1);
    let taken = b.member.report(&b.outlook, now).list_for_ms / 1_000;
    let ago = (now - then).as_secs() + 5 - u64::from(taken);
    assert_eq!(b.ages["http://h0.test/0"], Some(ago));
    assert_eq!(b.ages["http://h0.test/1"], None);
    assert_eq!(b.price, Some(0.01));
}

#[test]
fn an_epoch_that_no_planner_has_begun_is_a_lie() {
    let mut world = World::new("liar", 6);
    world.join("a", 50_000.0, 0.01);
    world.join("liar", 50_000.0, 0.01);
    let now = world.now;
    let liar = world.probes.get_mut("liar").expect("a probe");
    let mut lie = liar.member.report(&liar.outlook, now);
    world.probes.remove("liar");
    for (epoch, nonsense) in [(u32::MAX, 1), ((1 << 20) + 100, 2)] {
        lie.epoch = epoch;
        world.say("liar", ProbeTopic::Report, &lie);
        let view = world.coordinator.view(now);
        assert_eq!(view.ignored.nonsense, nonsense);
        assert!(view.epoch < 10, "{}", view.epoch);
    }
    // Nor is another planner that says so.
    world.coordinator.follow(u32::MAX, now);
    assert!(world.coordinator.view(now).epoch < 10);
    world.pass(LEASE.as_secs() + POLITENESS.as_secs() + 10);
    assert_eq!(world.hosts("a").len(), 6);
    // What a planner of before may well have reached is followed.
    world.coordinator.follow(1_000, world.now);
    assert_eq!(world.coordinator.view(world.now).epoch, 1_001);
}

#[test]
fn a_planner_that_starts_again_knows_who_has_what_and_gives_nothing_away_too_soon() {
    let mut world = World::new("again", 12);
    world.join("a", 50_000.0, 0.01);
    world.join("b", 50_000.0, 0.01);
    world.pass(20);
    let a = world.hosts("a");
    let b = world.hosts("b");
    assert_eq!(a.len() + b.len(), 12);
    let lists = |world: &World| ["a", "b"].map(|name| world.probes[name].member.list());
    let before = lists(&world);
    // One of the probes falls silent just before the planner does.
    world.probes.get_mut("b").expect("a probe").away = true;
    world.pass(1);
    world.restart(12);
    world.pass(LEASE.as_secs() - 1);
    assert_eq!(world.hosts("a"), a, "b may still have a lease");
    assert_eq!(lists(&world), before, "the same pages are the same list");
    world.pass(POLITENESS.as_secs() + 5);
    assert_eq!(world.hosts("a").len(), 12);
    // Many restarts in a row change nothing.
    for _ in 0..5 {
        world.restart(12);
        world.pass(3);
    }
    assert_eq!(world.hosts("a").len(), 12);
}

#[test]
fn a_planner_whose_state_is_lost_waits_for_leases_that_it_does_not_know() {
    let mut world = World::new("lost", 6);
    world.join("a", 50_000.0, 0.01);
    world.join("b", 50_000.0, 0.01);
    world.pass(20);
    world.probes.get_mut("b").expect("a probe").away = true;
    let a = world.hosts("a");
    let epoch = world.coordinator.view(world.now).epoch;
    std::fs::remove_dir_all(&world.folder).expect("lost");
    world.restart(6);
    world.pass(LEASE.as_secs());
    let now = world.hosts("a");
    assert!(now.is_subset(&a), "nothing of b's: {now:?}");
    world.pass(POLITENESS.as_secs() + 10);
    assert_eq!(world.hosts("a").len(), 6);
    assert!(world.coordinator.view(world.now).epoch > epoch);
    assert!(world.probes["a"].member.leased_until().is_some());
}

#[test]
fn hosts_move_from_a_narrow_link_to_a_wide_one_a_few_at_a_time() {
    let mut world = World::new("narrow", 40);
    world.join("narrow", 2_500.0, 1.0);
    world.join("wide", 50_000.0, 0.01);
    world.pass(20);
    let before = world.hosts("narrow").len();
    assert_eq!(before + world.hosts("wide").len(), 40);
    assert!(before > 4, "{before}");
    world.pass(2 * LEASE.as_secs());
    let after = world.hosts("narrow").len();
    // Up to 8 % of 80 pages at a time, two pages a host.
    assert!(after < before && before - after <= 9, "{before} → {after}");
    assert_eq!(after + world.hosts("wide").len(), 40);
}

#[test]
fn a_probe_whose_table_of_hosts_is_full_is_given_none_for_balance() {
    let mut world = World::new("full", 40);
    // Demand is 125 a host: each of them has room for twenty and no more.
    world.join("narrow", 2_500.0, 1.0);
    world.join("full", 50_000.0, 0.01);
    world.probes.get_mut("full").expect("a probe").outlook.hosts = 20;
    world.pass(20);
    let before = ["narrow", "full"].map(|name| world.hosts(name));
    assert_eq!(before.each_ref().map(BTreeSet::len), [20, 20]);
    let lists = |world: &World| ["narrow", "full"].map(|name| world.probes[name].member.list());
    let versions = lists(&world);
    // Prices ask for a move in every lease's time, and there is no room for one.
    for _ in 0..3 * LEASE.as_secs() {
        world.pass(1);
        let now = ["narrow", "full"].map(|name| world.hosts(name));
        assert_eq!(now, before, "a host has moved for nothing");
    }
    assert_eq!(lists(&world), versions);
}

#[test]
fn a_probe_that_joins_gets_no_more_hosts_than_it_has_room_for() {
    let mut world = World::new("few", 24);
    world.join("a", 50_000.0, 0.01);
    world.pass(10);
    assert_eq!(world.hosts("a").len(), 24);
    world.join("b", 50_000.0, 0.01);
    world.probes.get_mut("b").expect("a probe").outlook.hosts = 4;
    for _ in 0..40 {
        world.pass(1);
        let left = world.hosts("a").len();
        assert!(
            left >= 20,
            "{left} hosts are left to a, and b has room for 4"
        );
    }
    assert_eq!([world.hosts("a").len(), world.hosts("b").len()], [20, 4]);
    // The same where its link carries little: 208 fetches a day for each host.
    world.join("c", 700.0, 0.01);
    for _ in 0..40 {
        world.pass(1);
        let left = world.hosts("a").len();
        assert!(left >= 17, "{left} hosts are left to a, and c can visit 3");
    }
    let [a, b, c] = ["a", "b", "c"].map(|name| world.hosts(name).len());
    assert_eq!((a + c, b, c), (20, 4, 3));
}

#[test]
fn a_list_never_outgrows_its_probe_and_room_that_comes_is_used() {
    let mut world = World::new("outgrows", 6);
    world.join("a", 50_000.0, 0.01);
    let room = |world: &mut World, pages| {
        world.probes.get_mut("a").expect("a probe").outlook.pages = pages;
    };
    let settles = |world: &mut World, hosts| {
        world.pass(POLITENESS.as_secs() + 10);
        assert_eq!(world.hosts("a").len(), hosts);
        let until = world.probes["a"].member.leased_until();
        assert!(until.is_some_and(|until| until > world.now), "no lease");
    };
    room(&mut world, 12);
    settles(&mut world, 6);
    let url = "http://h0.test/one-too-many".to_owned();
    let order = Order::Add {
        url: url.clone(),
        weight: 1.0,
    };
    world.coordinator.obey(&order, world.now).expect("added");
    settles(&mut world, 5);
    let order = Order::Remove { url };
    world.coordinator.obey(&order, world.now).expect("removed");
    settles(&mut world, 6);
    // It is loaded with another firmware, and is back before its lease is over.
    room(&mut world, 8);
    settles(&mut world, 4);
    room(&mut world, 12);
    settles(&mut world, 6);
}

#[test]
fn a_probe_is_granted_no_more_than_the_politeness_of_its_hosts_allows() {
    let mut world = World::new("polite", 1);
    let slow = world.folder.with_extension("slow");
    let _ = std::fs::remove_dir_all(&slow);
    let folder = Folder::open(&slow).expect("a folder");
    let hosts = collection(2, Duration::from_secs(60));
    let started = Coordinator::start(settings(), hosts, folder, [7, 8], world.now);
    world.coordinator = started.expect("a planner");
    world.coordinator.connected(world.now);
    world.join("a", 50_000.0, 0.01);
    world.pass(20);
    assert_eq!(world.hosts("a").len(), 2);
    // Two hosts, a fetch a minute each, and a little less than all of that.
    let budget = world.probes["a"].member.budget();
    assert!((2_840.0..=2_852.0).contains(&budget), "{budget} of 2,880");
    std::fs::remove_dir_all(&slow).expect("removed");
}

#[test]
fn a_host_whose_last_page_goes_waits_before_somebody_else_gets_it_again() {
    let mut world = World::new("again-and-again", 2);
    world.join("a", 50_000.0, 0.01);
    world.pass(10);
    assert_eq!(world.hosts("a").len(), 2);
    for page in 0..2 {
        let url = format!("http://h0.test/{page}");
        let order = Order::Remove { url };
        let answered = world.coordinator.obey(&order, world.now);
        assert!(answered.expect("removed").changed);
    }
    world.pass(2);
    assert_eq!(world.hosts("a").len(), 1);
    let order = Order::Add {
        url: "http://h0.test/0".into(),
        weight: 1.0,
    };
    world.coordinator.obey(&order, world.now).expect("added");
    world.pass(5);
    assert_eq!(world.hosts("a").len(), 1, "its politeness is not over");
    world.pass(POLITENESS.as_secs());
    assert_eq!(world.hosts("a").len(), 2);
}
