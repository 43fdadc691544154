//! The planner's mind under everything that a network, a disk and clocks can do, by seed: no two
//! visits to one host are closer than its politeness, and the sum of what is granted is never above
//! the budget.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use dunlin::fleet::{
    Drift, Grant, LONGEST, ListNotice, Member, Outlook, Presence, ProbeTopic, decode, encode,
    read_topic, topic,
};
use dunlin::image::Image;
use dunlin::math::split_mix;
use dunlin::time::{Duration, Instant};
use dunlin_host::fleet::coordinator::{Coordinator, Settings};
use dunlin_host::fleet::saved::Folder;

use super::{BUDGET, FLEET, LEASE, POLITENESS, collection, settings};

const HOSTS: usize = 6;
const NAMES: [&str; 3] = ["a", "b", "c"];
/// Clocks are up to a twentieth too fast or too slow.
const DRIFT: Drift = Drift::from_millionths(50_000);
const SECOND: u64 = 1_000_000;
/// Everybody does something this often, in microseconds of true time.
const STEP: u64 = SECOND / 4;
/// For so long everything goes wrong, …
const TROUBLE: u64 = 400 * SECOND;
/// … and for so long nothing does.
const CALM: u64 = 240 * SECOND;
/// What is on the disk of who others rest on, in the order in which it is written.
const FILES: [&str; 2] = ["planner.json", "budgets.json"];

/// A clock that is set anyhow, and runs too fast or too slowly.
#[derive(Clone, Copy)]
struct Clock {
    set: u64,
    offset: u64,
    rate: f64,
}

impl Clock {
    fn read(&self, now: u64) -> Instant {
        let passed = (now - self.set) as f64 * self.rate;
        Instant::from_micros(self.offset + passed as u64)
    }
}

/// A message on its way.
#[derive(Clone)]
struct Letter {
    topic: String,
    payload: Vec<u8>,
    kept: bool,
}

struct Probe {
    name: &'static str,
    clock: Clock,
    /// Off until it boots.
    member: Option<Member>,
    boots_at: u64,
    /// What survives a reboot.
    flash: (u32, Vec<String>),
    gates: HashMap<String, Instant>,
    cut_off_until: u64,
    reports_at: u64,
    /// What the broker keeps for it, and what it kept before.
    retained: [Option<Letter>; 2],
}

struct World {
    random: u64,
    now: u64,
    /// The share of messages that is lost.
    loss: f64,
    coordinator: Option<Coordinator>,
    planner_clock: Clock,
    starts_at: u64,
    lease: Duration,
    folder: PathBuf,
    probes: Vec<Probe>,
    /// By the time of their arrival.
    letters: BTreeMap<(u64, u64), Letter>,
    sent: u64,
    boots: u32,
    last_visit: HashMap<String, (u64, &'static str)>,
    counted: Counted,
}

/// How often each thing happened in a run.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    visits: u64,
    moves: u64,
    planner_deaths: u64,
    boots: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        // Where syncing a file costs nothing, if there is such a place: there are thousands.
        let memory = Path::new("/dev/shm");
        let place = match memory.is_dir() {
            true => memory.to_owned(),
            false => PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
        };
        let name = format!("dunlin-troubled-{}-{seed}", std::process::id());
        let folder = place.join(name);
        let _ = std::fs::remove_dir_all(&folder);
        let mut random = seed;
        let mut world = Self {
            loss: part(&mut random) * 0.4,
            random,
            now: SECOND,
            coordinator: None,
            planner_clock: Clock {
                set: 0,
                offset: 0,
                rate: 1.0,
            },
            starts_at: 0,
            lease: LEASE,
            folder,
            probes: Vec::new(),
            letters: BTreeMap::new(),
            sent: 0,
            boots: 0,
            last_visit: HashMap::new(),
            counted: Counted::default(),
        };
        for name in NAMES {
            let probe = Probe {
                name,
                clock: world.clock(),
                member: None,
                boots_at: world.below(20 * SECOND),
                flash: (0, Vec::new()),
                gates: HashMap::new(),
                cut_off_until: 0,
                reports_at: 0,
                retained: [None, None],
            };
            world.probes.push(probe);
        }
        world
    }

    fn below(&mut self, most: u64) -> u64 {
        split_mix(&mut self.random) % most.max(1)
    }

    /// Does something happen that does so once in so many times, while there is trouble?
    fn once_in(&mut self, times: u64) -> bool {
        self.now < TROUBLE && self.below(times) == 0
    }

    fn clock(&mut self) -> Clock {
        let rate = 1.0 + (part(&mut self.random) * 2.0 - 1.0) * 0.05;
        Clock {
            set: self.now,
            offset: self.below(1_000 * SECOND),
            rate,
        }
    }

    /// Puts a message on its way, unless it is lost; now and then twice.
    fn post(&mut self, letter: &Letter) {
        let is_calm = self.now >= TROUBLE;
        let copies = 1 + u64::from(self.once_in(10));
        for _ in 0..copies {
            if !is_calm && part(&mut self.random) < self.loss {
                continue;
            }
            let most = match self.once_in(10) {
                true => 90 * SECOND,
                false => SECOND,
            };
            let delay = if is_calm { STEP } else { self.below(most) };
            self.sent += 1;
            self.letters
                .insert((self.now + delay, self.sent), letter.clone());
        }
    }

    fn say<T: serde::Serialize>(&mut self, name: &str, which: ProbeTopic, message: &T) {
        let mut buffer = [0; LONGEST];
        let bytes = encode(message, &mut buffer).expect("short");
        let place = topic(FLEET, name, which).expect("a topic");
        self.post(&Letter {
            topic: place.as_str().to_owned(),
            payload: bytes.to_vec(),
            kept: false,
        });
    }

    fn is_cut_off(&self, number: usize) -> bool {
        self.now < self.probes[number].cut_off_until
    }

    fn deliver(&mut self, letter: &Letter) {
        let Some((name, which)) = read_topic(FLEET, &letter.topic) else {
            return;
        };
        let number = NAMES.iter().position(|known| *known == name);
        let number = number.expect("one of them");
        match which {
            ProbeTopic::Grant | ProbeTopic::List if !self.is_cut_off(number) => {
                self.reach_probe(number, which, letter);
            }
            ProbeTopic::State | ProbeTopic::Report => {
                let now = self.planner_clock.read(self.now);
                if let Some(coordinator) = &mut self.coordinator {
                    coordinator.heard(&letter.topic, &letter.payload, letter.kept, now);
                }
            }
            _ => {}
        }
    }

    fn reach_probe(&mut self, number: usize, which: ProbeTopic, letter: &Letter) {
        let probe = &mut self.probes[number];
        let now = probe.clock.read(self.now);
        let Some(member) = &mut probe.member else {
            return;
        };
        if which == ProbeTopic::Grant {
            let grant: Grant = decode(&letter.payload).expect("a grant");
            member.granted(&grant);
            return;
        }
        let notice: ListNotice<'_> = decode(&letter.payload).expect("a notice");
        let parts: Vec<&str> = notice.url.split('/').collect();
        let [.., version, token] = parts[..] else {
            panic!("{}", notice.url);
        };
        let list = self.coordinator.as_ref();
        let list = list.and_then(|planner| planner.list(probe.name, version, token));
        // A planner that is away, or has made another one meanwhile, has none to give.
        let Some(list) = list.filter(|_| member.wants(notice.version)) else {
            return;
        };
        let image = Image::parse(&list).expect("a list");
        let host = |index| image.host(index).expect("a host").name.to_owned();
        let hosts = (0..image.hosts()).map(host).collect();
        assert!(member.take_list(notice.version, now));
        probe.flash = (notice.version, hosts);
        // It says so soon.
        probe.reports_at = self.now;
    }

    /// Probes boot and fail, are cut off and come back, report, and visit whatever they may.
    fn run_probe(&mut self, number: usize) {
        if self.once_in(1_500) {
            // Off for a moment, or longer than its lease; now and then with an empty flash.
            let most = [SECOND, 120 * SECOND][self.below(2) as usize];
            let pause = self.below(most);
            let is_wiped = self.below(4) == 0;
            let probe = &mut self.probes[number];
            probe.member = None;
            probe.boots_at = self.now + pause;
            if is_wiped {
                probe.flash = (0, Vec::new());
            }
        }
        if self.once_in(1_000) {
            let pause = self.below(150 * SECOND);
            self.probes[number].cut_off_until = self.now + pause;
        }
        let is_off = self.probes[number].member.is_none();
        if is_off && self.now >= self.probes[number].boots_at {
            self.boot(number);
        }
        self.listen(number);
        self.report(number);
        self.visit(number);
    }

    fn boot(&mut self, number: usize) {
        self.boots += 1;
        self.counted.boots += 1;
        let boot = self.boots;
        let clock = self.clock();
        let probe = &mut self.probes[number];
        probe.clock = clock;
        let now = clock.read(self.now);
        probe.member = Some(Member::new(boot, probe.flash.0, now, DRIFT));
        probe.gates.clear();
        probe.reports_at = self.now;
        let name = probe.name;
        self.say(name, ProbeTopic::State, &Presence { boot, online: true });
    }

    /// What the broker has kept comes with a new connection; after a power cut, what it had before.
    fn listen(&mut self, number: usize) {
        if self.once_in(100) || self.now.is_multiple_of(10 * SECOND) {
            let which = self.below(2) as usize;
            let kept = self.probes[number].retained[which].clone();
            if let Some(letter) = kept {
                self.post(&letter);
            }
        }
    }

    fn report(&mut self, number: usize) {
        let outlook = Outlook {
            price: 0.01,
            elasticity: 1.0,
            freshness: 0.9,
            pages: 1_000,
            hosts: 100,
            link: 50_000.0,
            fetches: 0,
            errors: 0,
        };
        let pause = LEASE.as_micros() / 4;
        let probe = &mut self.probes[number];
        let now = probe.clock.read(self.now);
        let Some(member) = &mut probe.member else {
            return;
        };
        if self.now < probe.reports_at {
            return;
        }
        probe.reports_at = self.now + pause;
        let name = probe.name;
        let report = member.report(&outlook, now);
        if !self.is_cut_off(number) {
            self.say(name, ProbeTopic::Report, &report);
        }
    }

    fn visit(&mut self, number: usize) {
        let probe = &mut self.probes[number];
        let now = probe.clock.read(self.now);
        let Some(member) = &probe.member else {
            return;
        };
        let is_leased = member.leased_until().is_some_and(|end| now < end);
        let is_rested = now >= member.rests_until(POLITENESS);
        if !is_leased || !is_rested || member.budget() <= 0.0 {
            return;
        }
        for host in &probe.flash.1 {
            let gate = probe.gates.entry(host.clone()).or_insert(Instant::ZERO);
            if now < *gate {
                continue;
            }
            // Its own clock may be fast.
            *gate = now + DRIFT.lengthen(POLITENESS);
            self.counted.visits += 1;
            let last = self.last_visit.insert(host.clone(), (self.now, probe.name));
            let Some((then, other)) = last else { continue };
            let gap = self.now - then;
            let name = probe.name;
            assert!(
                gap >= POLITENESS.as_micros(),
                "{host}: {other}, then {name} {gap} µs later, at {} µs",
                self.now
            );
            self.counted.moves += u64::from(other != name);
        }
    }

    /// What all probes together believe to have.
    fn check_budget(&self) {
        let believed = |probe: &Probe| {
            let now = probe.clock.read(self.now);
            let member = probe.member.as_ref()?;
            let is_leased = member.leased_until().is_some_and(|end| now < end);
            is_leased.then(|| member.budget())
        };
        let sum: f32 = self.probes.iter().filter_map(believed).sum();
        assert!(sum <= BUDGET * 1.000_1, "{sum} of {BUDGET} fetches a day");
    }

    fn run_planner(&mut self) {
        if self.coordinator.is_none() && self.now >= self.starts_at {
            self.start_planner();
        }
        let now = self.planner_clock.read(self.now);
        let dies = self.once_in(400);
        let before = FILES.map(|name| std::fs::read(self.folder.join(name)).ok());
        let Some(coordinator) = &mut self.coordinator else {
            return;
        };
        let mut outbox = coordinator.tick(now).expect("saved");
        if dies {
            // In the midst of writing, and nothing is said; or of saying what rests on that.
            let written = self.below(FILES.len() as u64 + 1) as usize;
            let said = self.below(outbox.len() as u64 + 1) as usize;
            outbox.truncate(if written == FILES.len() { said } else { 0 });
            self.kill_planner();
            for (name, before) in FILES.iter().zip(before).skip(written) {
                let path = self.folder.join(name);
                match before {
                    Some(bytes) => std::fs::write(path, bytes).expect("written"),
                    None => drop(std::fs::remove_file(path)),
                }
            }
        }
        for message in outbox {
            let letter = Letter {
                topic: message.topic,
                payload: message.payload,
                kept: false,
            };
            let place = read_topic(FLEET, &letter.topic);
            if let Some((name, ProbeTopic::List)) = place {
                let number = NAMES.iter().position(|known| *known == name);
                let probe = &mut self.probes[number.expect("one of them")];
                let kept = Letter {
                    kept: true,
                    ..letter.clone()
                };
                probe.retained = [Some(kept), probe.retained[0].take()];
            }
            self.post(&letter);
        }
    }

    fn kill_planner(&mut self) {
        self.counted.planner_deaths += 1;
        self.coordinator = None;
        let most = [SECOND, 100 * SECOND][self.below(2) as usize];
        self.starts_at = self.now + self.below(most);
        // Its owner may have changed the lease.
        self.lease = match self.below(3) {
            0 => Duration::from_secs(20),
            _ => LEASE,
        };
    }

    fn start_planner(&mut self) {
        self.planner_clock = self.clock();
        let now = self.planner_clock.read(self.now);
        let folder = Folder::open(&self.folder).expect("a folder");
        let settings = Settings {
            lease: self.lease,
            drift: DRIFT,
            ..settings()
        };
        let random = [self.below(u64::MAX), self.below(u64::MAX)];
        let pages = collection(HOSTS, POLITENESS);
        let started = Coordinator::start(settings, pages, folder, random, now);
        let mut coordinator = started.expect("a planner");
        coordinator.connected(now);
        self.coordinator = Some(coordinator);
        for name in NAMES {
            // As the broker has kept it, whoever is there.
            let here = Presence {
                boot: 1,
                online: true,
            };
            self.say(name, ProbeTopic::State, &here);
        }
    }

    fn run(&mut self) {
        while self.now < TROUBLE + CALM {
            self.now += STEP;
            let later = self.letters.split_off(&(self.now + 1, 0));
            for letter in std::mem::replace(&mut self.letters, later).into_values() {
                self.deliver(&letter);
            }
            self.run_planner();
            for number in 0..self.probes.len() {
                self.run_probe(number);
            }
            self.check_budget();
        }
        // All is well again: everybody is visited.
        for host in 0..HOSTS {
            let host = format!("h{host}.test");
            let last = self.last_visit.get(&host).map(|(at, _)| *at);
            let age = self.now - last.unwrap_or(0);
            assert!(
                age <= 2 * POLITENESS.as_micros(),
                "{host} was not visited for {age} µs"
            );
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.coordinator = None;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A number from 0 to below 1.
fn part(random: &mut u64) -> f64 {
    (split_mix(random) >> 11) as f64 / (1_u64 << 53) as f64
}

#[test]
fn politeness_and_budget_hold_whatever_is_lost_late_doubled_cut_off_or_killed() {
    let seeds = match std::env::var_os("DUNLIN_LONG") {
        Some(_) => 3_000,
        None => 200,
    };
    let mut all = Counted::default();
    for seed in 0..seeds {
        let mut world = World::new(seed);
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.run()));
        assert!(ran.is_ok(), "seed {seed}: see above");
        let Counted {
            visits,
            moves,
            planner_deaths,
            boots,
        } = world.counted;
        all.visits += visits;
        all.moves += moves;
        all.planner_deaths += planner_deaths;
        all.boots += boots;
    }
    println!("{seeds} runs: {all:?}");
    // A world in which nothing happens proves nothing.
    assert!(all.moves > seeds && all.planner_deaths > seeds && all.boots > 4 * seeds);
}
