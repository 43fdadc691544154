//! A planner on a real broker, with probes that are scripted: what it does when probes, broker and
//! planner come and go, and when a probe lies.

mod scripted;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dunlin::fleet::{LONGEST, Outlook, ProbeTopic, Report, Verb, encode, topic};
use dunlin_host::board::net::{HostConnect, HostResolve};
use dunlin_host::board::verify::Trust;
use dunlin_host::fleet::broker_url::BrokerUrl;
use dunlin_host::fleet::link::{self, Outgoing, Peer};
use scripted::{
    BUDGET, Claims, FLEET, LEASE, POLITENESS, Planner, Probe, Site, Web, dunlin, pages, wait_for,
};

const PATIENCE: Duration = Duration::from_secs(40);

/// Every page is on exactly one list of these probes.
fn is_shared_out(probes: &[&Probe], count: usize) -> bool {
    let mut all = HashSet::new();
    let mut lists = 0;
    for probe in probes {
        let known = probe.known();
        lists += known.urls.len();
        all.extend(known.urls);
    }
    all.len() == count && lists == count && probes.iter().all(|probe| probe.known().is_leased())
}

fn hosts_of(probe: &Probe) -> HashSet<String> {
    let host = |url: String| url.split('/').nth(2).expect("a host").to_owned();
    probe.known().urls.into_iter().map(host).collect()
}

/// Watches the sum of what probes with a lease believe to have.
fn watch_budget(probes: &[&Probe], most: f32) -> impl FnOnce() -> f32 + use<> {
    let known: Vec<_> = probes
        .iter()
        .map(|probe| Arc::clone(&probe.known))
        .collect();
    let end = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&end);
    let thread = std::thread::spawn(move || {
        let mut worst = 0.0_f32;
        while !seen.load(Ordering::Relaxed) {
            let each = known.iter().map(|known| {
                let known = known.lock().expect("no panic");
                if known.is_leased() { known.budget } else { 0.0 }
            });
            let sum: f32 = each.sum();
            assert!(sum <= most * 1.000_1, "{sum} of {most} fetches a day");
            worst = worst.max(sum);
            std::thread::sleep(Duration::from_millis(20));
        }
        worst
    });
    move || {
        end.store(true, Ordering::Relaxed);
        thread.join().expect("the budget holds")
    }
}

#[test]
fn politeness_and_budget_hold_whoever_dies_and_pages_find_another_probe() {
    let mut site = Site::new("dies", 3, &pages(8, 5));
    let web = Web::default();
    let mut planner = site.planner();
    let mut first = Probe::start(&site, "p1", &web, Claims::default());
    let second = Probe::start(&site, "p2", &web, Claims::default());
    let third = Probe::start(&site, "p3", &web, Claims::default());
    wait_for("all pages on three lists", PATIENCE, || {
        is_shared_out(&[&first, &second, &third], 40)
    });
    let budget = watch_budget(&[&first, &second, &third], BUDGET);

    // A probe leaves: its hosts go to others, and no other host moves.
    let own = hosts_of(&first);
    let before: HashMap<_, _> = [&second, &third]
        .map(|probe| (probe.name.clone(), hosts_of(probe)))
        .into();
    first.stop();
    wait_for("the leaving probe's pages elsewhere", PATIENCE, || {
        is_shared_out(&[&second, &third], 40)
    });
    for probe in [&second, &third] {
        let had = &before[&probe.name];
        assert!(had.is_subset(&hosts_of(probe)), "only what was free moves");
    }
    assert!(!own.is_empty());
    let then = Instant::now();
    wait_for("visits to all of its hosts", PATIENCE, || {
        let seen = web.visited_since(then);
        own.iter().all(|host| seen.contains_key(host))
    });

    // The planner is killed, three times at any moment.
    for pause in [900, 50, 1_700] {
        planner.kill();
        planner = site.planner();
        std::thread::sleep(Duration::from_millis(pause));
    }
    let then = Instant::now();
    wait_for("visits after the planner was killed", PATIENCE, || {
        web.visited_since(then).len() == 8
    });

    // The broker is killed, and away for a while that is shorter than a lease.
    site.kill_broker();
    std::thread::sleep(Duration::from_millis(700));
    site.start_broker();
    let then = Instant::now();
    wait_for("visits after the broker was killed", PATIENCE, || {
        web.visited_since(then).len() == 8
    });

    // A probe is frozen for longer than its lease: others take over, and it does not notice.
    let own = hosts_of(&second);
    second.freeze(true);
    wait_for("the frozen probe's pages elsewhere", PATIENCE, || {
        own.is_subset(&hosts_of(&third))
    });
    second.freeze(false);
    wait_for("a place for the thawed probe", PATIENCE, || {
        is_shared_out(&[&second, &third], 40)
    });

    let visits = web.judge();
    let most = budget();
    assert!(planner.is_running());
    assert!(visits > 60, "{visits} visits");
    println!("{visits} visits, at most {most} of {BUDGET} fetches a day granted");
}

#[test]
fn what_was_learnt_goes_to_the_next_owner_bit_by_bit_and_orders_are_obeyed_once() {
    let site = Site::new("orders", 2, &pages(3, 2));
    let web = Web::default();
    let mut planner = site.planner();
    let mut first = Probe::start(&site, "p1", &web, Claims::default());
    wait_for("a list", PATIENCE, || is_shared_out(&[&first], 6));
    let ask = |order: &[&str]| {
        let output = site.ask(order);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{order:?}: {error}");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    // Pull.
    let url = "http://h1.test/1";
    assert_eq!(ask(&["pull", url])["probe"], "p1");
    let known = || first.known();
    let pulled = |verb: Verb| {
        let place = known().urls.iter().position(|of| of == url);
        let place = place.expect("on the list") as u16;
        verb == Verb::Pull {
            page: place,
            list: known().list,
        }
    };
    wait_for("a pull", PATIENCE, || {
        known().told.iter().any(|told| pulled(told.verb))
    });
    // Add and remove.
    let added = "http://new.test/x";
    assert_eq!(ask(&["add", added])["changed"], true);
    assert_eq!(ask(&["add", added])["changed"], false);
    wait_for("the page", PATIENCE, || {
        known().urls.iter().any(|url| url == added)
    });
    assert_eq!(ask(&["remove", url])["changed"], true);
    assert_eq!(ask(&["remove", url])["changed"], false);
    wait_for("the page to go", PATIENCE, || {
        !known().urls.iter().any(|of| of == url)
    });
    // Pause, resume.
    assert_eq!(ask(&["pause", "p1"])["changed"], true);
    assert_eq!(ask(&["pause", "p1"])["changed"], false);
    wait_for("no budget", PATIENCE, || known().budget == 0.0);
    assert_eq!(ask(&["resume"])["changed"], true);
    wait_for("a budget again", PATIENCE, || known().budget > 0.0);
    // Another budget.
    assert_eq!(ask(&["budget", "700"])["changed"], true);
    wait_for("the new budget", PATIENCE, || {
        (1.0..=700.0).contains(&known().budget)
    });
    // What makes no sense.
    for wrong in [
        &["pull", "http://h0.test/none"][..],
        &["pause", "nobody"],
        &["budget", "0"],
        &["add", "ftp://x/"],
    ] {
        assert_eq!(site.ask(wrong).status.code(), Some(2), "{wrong:?}");
    }
    // All of it, and what was learnt, survives the planner.
    let then = Instant::now();
    wait_for("visits to all hosts", PATIENCE, || {
        web.visited_since(then).len() == 4
    });
    first.stop();
    let learnt = web.learnt.lock().expect("no panic").clone();
    // The last second of what it said is saved, too.
    std::thread::sleep(Duration::from_millis(6_000));
    planner.kill();
    planner = site.planner();
    let second = Probe::start(&site, "p2", &web, Claims::default());
    wait_for("the pages at the next owner", PATIENCE, || {
        is_shared_out(&[&second], 6)
    });
    let known = second.known();
    assert!(known.urls.iter().any(|url| url == added));
    assert!(!known.urls.iter().any(|of| of == url));
    assert!(known.budget <= 700.0, "{}", known.budget);
    assert!(learnt.len() >= 4);
    for (url, learnt) in &learnt {
        let seed = known.seeds.get(url).expect("a seed");
        assert_eq!(seed.shape.to_bits(), learnt.shape.to_bits(), "{url}");
        assert_eq!(seed.time.to_bits(), learnt.time.to_bits(), "{url}");
        assert_eq!(seed.watch, learnt.watch, "{url}");
    }
    web.judge();

    // Nobody's password is in a list, nor in anything else that the planner keeps.
    let mut files = 0;
    for folder in ["state", "state/lists"] {
        for entry in std::fs::read_dir(site.folder.join(folder)).expect("a folder") {
            let path = entry.expect("a file").path();
            let bytes = std::fs::read(&path).unwrap_or_default();
            files += 1;
            for user in ["planner", "monitor", "home", "p1", "p2"] {
                let password = site.url(user).password;
                let mut places = bytes.windows(password.len());
                let found = places.any(|place| place == password.as_bytes());
                assert!(!found, "{user}'s password in {}", path.display());
            }
        }
    }
    assert!(files >= 6, "{files} files");

    // Seen.
    let figures = site.get(site.web, "/metrics");
    assert!(figures.contains("dunlin_fleet_probe_pages{fleet=\"test\",probe=\"p2\"} 6"));
    let page = site.get(site.web, "/");
    assert!(
        page.contains("<h1>Fleet test</h1>") && page.contains("<td>p2</td>"),
        "{page}"
    );
    let status = ask(&["status"]);
    assert_eq!(status["pages"], 6);
    assert_eq!(status["pages_without_owner"], 0);
    // Who knows no token learns nothing.
    for path in ["/fleet.json", "/orders", "/lists/p2/1/0000000000000000"] {
        let answer = site.get(site.listen, path);
        let refused = answer.starts_with("HTTP/1.1 401") || answer.starts_with("HTTP/1.1 404");
        assert!(refused, "{path}: {answer}");
    }
    let listed = Listener::start(&site.url("monitor"), "monitor", "dunlin/1/test/planner/#");
    wait_for("JSON for everybody", PATIENCE, || {
        let heard = listed.heard();
        let probe = heard.get("dunlin/1/test/planner/probe/p2");
        probe.is_some_and(|probe| serde_json::from_slice::<serde_json::Value>(probe).is_ok())
    });
    // Home Assistant finds each probe that was ever there, and where its figures are.
    let home = Listener::start(&site.url("home"), "home", "homeassistant/#");
    wait_for(
        "Home Assistant finds five sensors a probe",
        PATIENCE,
        || home.heard().len() >= 10,
    );
    for (topic, config) in home.heard() {
        let parts: Vec<&str> = topic.split('/').collect();
        let ["homeassistant", "sensor", node, field, "config"] = parts[..] else {
            panic!("{topic}");
        };
        let probe = node.strip_prefix("dunlin_test_").expect("a probe");
        let config: serde_json::Value = serde_json::from_slice(&config).expect("JSON");
        assert_eq!(config["unique_id"], format!("{node}_{field}"));
        let state = config["state_topic"].as_str().expect("a topic");
        assert_eq!(state, format!("dunlin/1/test/planner/probe/{probe}"));
        assert!(listed.heard().contains_key(state), "nothing at {state}");
    }
    // Both are still there: a broker ends the connection of a user who connects once more.
    for (who, listener) in [("monitor", &listed), ("home", &home)] {
        assert!(listener.is_connected(), "{who} has lost its connection");
        assert_eq!(listener.refusals(), 0, "{who} was sent away");
    }
    assert!(planner.is_running());
}

#[test]
fn what_a_probe_says_is_believed_of_itself_only() {
    let site = Site::new("lies", 7, &pages(12, 5));
    let web = Web::default();
    let mut planner = site.planner();
    let liar = Claims {
        price: 1e6,
        pages: u16::MAX,
        hosts: u16::MAX,
        link: f32::INFINITY,
    };
    let liar = Probe::start(&site, "p1", &web, liar);
    let honest: Vec<Probe> = ["p2", "p3", "p4", "p5", "p6"]
        .map(|name| Probe::start(&site, name, &web, Claims::default()))
        .into();
    let all: Vec<&Probe> = std::iter::once(&liar).chain(&honest).collect();
    wait_for("all pages on six lists", PATIENCE, || {
        is_shared_out(&all, 60)
    });
    let budget = watch_budget(&all, BUDGET);
    // It has its fair share of pages, and of the budget all that the cap allows, and no more.
    let pages = liar.known().urls.len();
    assert!(
        pages <= 13,
        "{pages} of 60 pages, 1.25 times the mean of six"
    );
    let share = || liar.known().budget / BUDGET;
    wait_for("what a liar can get", PATIENCE, || share() > 0.45);

    // Another probe's topics are closed to it, and its name is not taken by a client's.
    let ignored = |name: &str| planner.view.lock().expect("no panic")["ignored"][name].as_u64();
    let lists: Vec<u32> = all.iter().map(|probe| probe.known().list).collect();
    let losses = honest[0].known().lost;
    let forged = forge(&site.url("p7"), "p2");
    wait_for("the forger connected", PATIENCE, || forged.is_connected());
    // A kept report is from another time.
    let report = Report {
        boot: 1,
        seq: 1,
        list: u32::MAX,
        list_for_ms: u32::MAX,
        epoch: 0,
        grant: 9,
        budget: 1e9,
        outlook: Outlook {
            price: f32::NAN,
            elasticity: f32::NAN,
            freshness: f32::NAN,
            pages: 9,
            hosts: 9,
            link: f32::NAN,
            fetches: 0,
            errors: 0,
        },
    };
    let mut buffer = [0; LONGEST];
    let bytes = encode(&report, &mut buffer).expect("short").to_vec();
    let own = topic(FLEET, "p7", ProbeTopic::Report).expect("a topic");
    let foreign = topic(FLEET, "p2", ProbeTopic::Report).expect("a topic");
    let grant = topic(FLEET, "p7", ProbeTopic::Grant).expect("a topic");
    // It is taken once: a duplicate is not, nor is nonsense; foreign topics do not get through.
    for _ in 0..3 {
        forged.say(Outgoing::new(own.as_str(), bytes.clone()));
        forged.say(Outgoing::new(foreign.as_str(), bytes.clone()));
        forged.say(Outgoing::new(grant.as_str(), bytes.clone()));
    }
    // Nonsense is what cannot be read, and an epoch that no planner has begun.
    forged.say(Outgoing::new(own.as_str(), vec![1, 2, 3]));
    let absurd = Report {
        epoch: u32::MAX,
        seq: 2,
        ..report
    };
    let mut buffer = [0; LONGEST];
    let bytes = encode(&absurd, &mut buffer).expect("short").to_vec();
    forged.say(Outgoing::new(own.as_str(), bytes));
    wait_for("duplicates and nonsense are noticed", PATIENCE, || {
        ignored("stale").is_some_and(|count| count >= 2)
            && ignored("nonsense").is_some_and(|count| count >= 2)
    });
    std::thread::sleep(Duration::from_secs(2));
    for (probe, list) in all.iter().zip(lists) {
        assert_eq!(probe.known().list, list, "{} keeps its hosts", probe.name);
        assert!(probe.known().is_leased(), "{} keeps its lease", probe.name);
    }
    assert_eq!(honest[0].known().lost, losses, "nobody took its name");
    assert!(all.iter().all(|probe| probe.known().refused_grants == 0));
    let share = share();
    assert!(
        share <= 0.501,
        "{share} of the budget, three times the mean of six"
    );
    // Whatever it listens to, it hears what is meant for its user, and nothing else.
    let heard: Vec<String> = forged.heard().into_keys().collect();
    let own = format!("dunlin/1/{FLEET}/probe/p7/down/");
    assert!(heard.contains(&format!("{own}grant")), "{heard:?}");
    let foreign: Vec<&String> = heard.iter().filter(|at| !at.starts_with(&own)).collect();
    assert_eq!(foreign, [""; 0], "of {heard:?}");
    budget();
    web.judge();
    assert!(planner.is_running());
}

#[test]
fn a_second_planner_is_refused_and_the_first_goes_on() {
    let site = Site::new("second", 1, &pages(2, 2));
    let web = Web::default();
    let mut planner = site.planner();
    let probe = Probe::start(&site, "p1", &web, Claims::default());
    wait_for("a list", PATIENCE, || is_shared_out(&[&probe], 4));
    let words = |arguments: Vec<String>| {
        let mut arguments = arguments;
        let place = arguments.iter().position(|word| word == "--listen");
        arguments[place.expect("an option") + 1] = scripted::free_port().to_string();
        let place = arguments.iter().position(|word| word == "--web");
        arguments[place.expect("an option") + 1] = scripted::free_port().to_string();
        arguments.extend(["--seconds".into(), "30".into()]);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = dunlin(&words);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        error
    };
    let same = words(site.planner_arguments("state"));
    assert!(same.contains("in use by another planner"), "{same}");
    let other = words(site.planner_arguments("other"));
    assert!(other.contains("found another planner"), "{other}");
    let then = Instant::now();
    wait_for("visits under the first planner", PATIENCE, || {
        web.visited_since(then).len() == 2
    });
    std::thread::sleep(LEASE + POLITENESS);
    assert!(planner.is_running() && probe.known().is_leased());
    web.judge();

    // It is gone: another one, with a state of its own, takes over once leases are over.
    planner.kill();
    let then = Instant::now();
    let mut next = Planner::start(&site.planner_arguments("other"), &site.folder);
    wait_for("visits under the next planner", PATIENCE, || {
        let long_ago = then.elapsed() > LEASE + POLITENESS;
        long_ago && web.visited_since(Instant::now() - POLITENESS * 2).len() == 2
    });
    web.judge();
    assert!(next.is_running());
}

#[test]
fn init_writes_what_is_safe_and_nothing_twice() {
    use std::os::unix::fs::PermissionsExt as _;
    let site = Site::new("init", 2, &pages(1, 1));
    let folder = site.folder.to_str().expect("a path");
    let again = dunlin(&["fleet", "init", folder]);
    let error = String::from_utf8_lossy(&again.stderr).into_owned();
    assert_eq!(again.status.code(), Some(2), "{error}");
    assert!(error.contains("its passwords are in use"), "{error}");
    let text = std::fs::read_to_string(site.folder.join("broker/mosquitto.conf")).expect("read");
    for line in ["allow_anonymous false", "use_username_as_clientid true"] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
    for file in ["p1.url", "planner.url", "home.url", "broker/passwords"] {
        let found = std::fs::metadata(site.folder.join(file)).expect("a file");
        assert_eq!(found.permissions().mode() & 0o077, 0, "{file}");
    }
    let passwords = std::fs::read_to_string(site.folder.join("broker/passwords")).expect("read");
    assert!(
        passwords.lines().all(|line| line.contains(":$7$")),
        "hashed"
    );
    // Nobody is let in with a wrong password.
    let mut url = site.url("p1");
    url.password = "wrong".into();
    let wrong = Listener::start(&url, "p1", "dunlin/1/test/#");
    wait_for("a refusal", PATIENCE, || wrong.refusals() > 0);
    assert!(!wrong.is_connected());
}

/// A client that says what it is told to, and keeps what it hears.
struct Listener {
    shared: Arc<Mutex<Heard>>,
}

#[derive(Default)]
struct Heard {
    messages: HashMap<String, Vec<u8>>,
    outbox: Vec<Outgoing>,
    connected: bool,
    refusals: u32,
    over: bool,
}

impl Listener {
    fn start(url: &BrokerUrl, client: &str, filter: &str) -> Self {
        let shared = Arc::new(Mutex::new(Heard::default()));
        let mut peer = Client(Arc::clone(&shared));
        let settings = link::Settings {
            url: url.clone(),
            client: client.to_owned(),
            filters: vec![(filter.to_owned(), false)],
            will: None,
        };
        std::thread::spawn(move || {
            let connect = HostConnect::new(Trust::default());
            let resolve = HostResolve::default();
            async_io::block_on(link::serve(&settings, &connect, &resolve, &mut peer));
        });
        Self { shared }
    }

    fn heard(&self) -> HashMap<String, Vec<u8>> {
        self.shared.lock().expect("no panic").messages.clone()
    }

    fn say(&self, message: Outgoing) {
        self.shared.lock().expect("no panic").outbox.push(message);
    }

    fn is_connected(&self) -> bool {
        self.shared.lock().expect("no panic").connected
    }

    fn refusals(&self) -> u32 {
        self.shared.lock().expect("no panic").refusals
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.lock().expect("no panic").over = true;
    }
}

/// A client with the credentials of one probe and the name of another, who listens to everything.
fn forge(url: &BrokerUrl, name: &str) -> Listener {
    Listener::start(url, name, "#")
}

struct Client(Arc<Mutex<Heard>>);

impl Peer for Client {
    fn connected(&mut self) {
        self.0.lock().expect("no panic").connected = true;
    }

    fn heard(&mut self, topic: &str, payload: &[u8], _kept: bool) {
        let mut heard = self.0.lock().expect("no panic");
        heard.messages.insert(topic.to_owned(), payload.to_vec());
    }

    fn outbox(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.0.lock().expect("no panic").outbox)
    }

    fn lost(&mut self, _why: &str) {
        let mut heard = self.0.lock().expect("no panic");
        heard.connected = false;
        heard.refusals += 1;
    }

    fn is_over(&mut self) -> bool {
        self.0.lock().expect("no panic").over
    }
}
