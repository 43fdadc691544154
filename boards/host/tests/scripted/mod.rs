//! A broker, a planner and probes that do as they are told, for the tests of a fleet.

// Not every test uses all of it.
#![allow(dead_code)]

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use dunlin::fleet::{
    Command as Told, Done, Drift, Grant, LONGEST, ListNotice, Member, Outlook, Presence,
    ProbeTopic, VisitReport, Visits, decode, encode, list_digest, read_topic, topic,
};
use dunlin::image::{Image, Learnt};
use dunlin_host::board::net::{HostConnect, HostResolve};
use dunlin_host::board::verify::Trust;
use dunlin_host::fleet::broker_url::BrokerUrl;
use dunlin_host::fleet::link::{self, Outgoing, Peer};

/// The name that all fleets of these tests have.
pub const FLEET: &str = "test";
/// The politeness of all hosts.
pub const POLITENESS: Duration = Duration::from_millis(1_000);
/// How long a grant holds.
pub const LEASE: Duration = Duration::from_secs(4);
/// Fetches a day that probes share.
pub const BUDGET: f32 = 5_000.0;
/// How often a probe reports.
const REPORT: Duration = Duration::from_millis(300);

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Now, as probes count time.
pub fn now() -> dunlin::time::Instant {
    dunlin::time::Instant::ZERO + dunlin::time::Duration::from(START.elapsed())
}

/// A port that nobody uses.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Waits until something is so; otherwise says what is missing.
pub fn wait_for(what: &str, patience: Duration, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + patience;
    while !is_so() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Where the folder of a test is, which is not there yet. The broker is somebody else, who has to
/// get there: not so into everybody's checkout.
pub fn place_of(name: &str) -> PathBuf {
    let folder = format!("dunlin-fleet-{name}-{}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// A folder with a broker's configuration and credentials, and the broker.
pub struct Site {
    pub folder: PathBuf,
    pub broker: Option<Child>,
    pub broker_port: u16,
    pub listen: u16,
    pub web: u16,
}

impl Site {
    /// Writes a list and a broker's configuration, and starts the broker.
    pub fn new(name: &str, probes: u16, pages: &str) -> Self {
        Self::with(&place_of(name), probes, pages, &[])
    }

    /// The same with more options of `fleet init`.
    pub fn with(folder: &Path, probes: u16, pages: &str, options: &[&str]) -> Self {
        let folder = folder.to_owned();
        let broker_port = free_port();
        let usual = [
            "fleet",
            "init",
            folder.to_str().expect("a path"),
            "--probes",
            &probes.to_string(),
            "--fleet",
            FLEET,
            "--broker",
            &broker_port.to_string(),
        ];
        let init = dunlin(&[&usual, options].concat());
        let error = String::from_utf8_lossy(&init.stderr);
        assert!(init.status.success(), "{error}");
        std::fs::write(folder.join("PAGES.csv"), pages).expect("a list");
        let mut site = Self {
            folder,
            broker: None,
            broker_port,
            listen: free_port(),
            web: free_port(),
        };
        site.start_broker();
        site
    }

    pub fn start_broker(&mut self) {
        let configuration = self.folder.join("broker/mosquitto.conf");
        let child = Command::new("mosquitto")
            .arg("-c")
            .arg(configuration)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("mosquitto is installed by the set-up: `apt-get install mosquitto`");
        self.broker = Some(child);
        let port = self.broker_port;
        wait_for("a broker", Duration::from_secs(10), || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
    }

    /// Ends the broker as a power cut would.
    pub fn kill_broker(&mut self) {
        if let Some(mut child) = self.broker.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub fn url(&self, user: &str) -> BrokerUrl {
        let file = self.folder.join(format!("{user}.url"));
        BrokerUrl::parse(&format!("@{}", file.display())).expect("a URL")
    }

    /// What a planner of this fleet is started with.
    pub fn planner_arguments(&self, state: &str) -> Vec<String> {
        let path = |name: &str| self.folder.join(name).display().to_string();
        [
            "fleet",
            &path("PAGES.csv"),
            "--broker",
            &format!("@{}", path("planner.url")),
            "--state",
            &path(state),
            "--crawls-per-day",
            &BUDGET.to_string(),
            "--politeness",
            "1s",
            "--lease",
            "4s",
            "--listen",
            &self.listen.to_string(),
            "--web",
            &self.web.to_string(),
            "--format",
            "json",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    pub fn planner(&self) -> Planner {
        Planner::start(&self.planner_arguments("state"), &self.folder)
    }

    /// Gives the planner an order, as its owner would.
    pub fn ask(&self, order: &[&str]) -> Output {
        let state = self.folder.join("state");
        let state = state.to_str().expect("a path");
        dunlin(&[&["fleet"], order, &["--state", state, "--format", "json"]].concat())
    }

    /// Fetches from the planner's web page.
    pub fn get(&self, port: u16, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a server");
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.kill_broker();
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

pub fn dunlin(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

/// A planner's process, and what it last said.
pub struct Planner {
    child: Child,
    pub view: Arc<Mutex<serde_json::Value>>,
}

impl Planner {
    pub fn start(arguments: &[String], folder: &Path) -> Self {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join("planner.log"))
            .expect("a log");
        let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the program starts");
        let stdout = child.stdout.take().expect("a pipe");
        let view = Arc::new(Mutex::new(serde_json::Value::Null));
        let heard = Arc::clone(&view);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                *heard.lock().expect("no panic") = serde_json::from_str(&line).expect("JSON");
            }
        });
        Self { child, view }
    }

    /// Ends it as a power cut would.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Planner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What happened at the hosts, by whoever: the judge.
#[derive(Clone, Default)]
pub struct Web {
    visits: Arc<Mutex<Vec<(String, Instant, String)>>>,
    /// The last belief that was sent of a page, by URL.
    pub learnt: Arc<Mutex<HashMap<String, Learnt>>>,
}

impl Web {
    fn visit(&self, host: &str, probe: &str) {
        let entry = (host.to_owned(), Instant::now(), probe.to_owned());
        self.visits.lock().expect("no panic").push(entry);
    }

    /// Hosts that were visited since then, and by whom last.
    pub fn visited_since(&self, then: Instant) -> HashMap<String, String> {
        let visits = self.visits.lock().expect("no panic");
        let since = visits.iter().filter(|(_, at, _)| *at >= then);
        since
            .map(|(host, _, probe)| (host.clone(), probe.clone()))
            .collect()
    }

    /// No two requests to a host were closer than its politeness; how many there were.
    pub fn judge(&self) -> usize {
        let mut last: HashMap<String, (Instant, String)> = HashMap::new();
        let visits = self.visits.lock().expect("no panic");
        for (host, at, probe) in visits.iter() {
            if let Some((before, other)) = last.insert(host.clone(), (*at, probe.clone())) {
                let gap = at.duration_since(before);
                // The clock is read once more before a visit is written down here.
                let least = POLITENESS - Duration::from_millis(3);
                assert!(gap >= least, "{host}: {other} then {probe} after {gap:?}");
            }
        }
        visits.len()
    }
}

/// What a probe has come to.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub budget: f32,
    /// When its lease ends, if it has one for its list.
    pub until: Option<dunlin::time::Instant>,
    pub list: u32,
    pub urls: Vec<String>,
    /// What the list says that was learnt, by URL.
    pub seeds: HashMap<String, Learnt>,
    pub grants: u32,
    pub refused_grants: u32,
    pub told: Vec<Told>,
    pub heard: Vec<String>,
    pub lost: u32,
}

impl Known {
    /// Has it a lease now? It may have stopped long ago, and its lease goes on.
    pub fn is_leased(&self) -> bool {
        self.until.is_some_and(|end| now() < end)
    }
}

/// What a probe claims.
#[derive(Clone, Copy, Debug)]
pub struct Claims {
    pub price: f32,
    pub pages: u16,
    pub hosts: u16,
    pub link: f32,
}

impl Default for Claims {
    fn default() -> Self {
        Self {
            price: 0.01,
            pages: 1_000,
            hosts: 100,
            link: 50_000.0,
        }
    }
}

/// A probe, in a thread of its own.
pub struct Probe {
    pub name: String,
    pub known: Arc<Mutex<Known>>,
    end: Arc<AtomicBool>,
    frozen: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Probe {
    pub fn start(site: &Site, name: &str, web: &Web, claims: Claims) -> Self {
        let known = Arc::new(Mutex::new(Known::default()));
        let end = Arc::new(AtomicBool::new(false));
        let frozen = Arc::new(AtomicBool::new(false));
        static BOOTS: AtomicU32 = AtomicU32::new(1);
        let boot = BOOTS.fetch_add(1, Ordering::Relaxed) << 8 | std::process::id() & 0xff;
        let url = site.url(name);
        let mut script = Script {
            name: name.to_owned(),
            member: Member::new(boot, 0, now(), Drift::DEFAULT),
            claims,
            web: web.clone(),
            known: Arc::clone(&known),
            end: Arc::clone(&end),
            frozen: Arc::clone(&frozen),
            reported: None,
            visited: HashMap::new(),
            hosts: Vec::new(),
            number: 0,
            outbox: Vec::new(),
        };
        let settings = settings(&url, name, boot);
        let thread = std::thread::spawn(move || {
            let connect = HostConnect::new(Trust::default());
            let resolve = HostResolve::default();
            async_io::block_on(link::serve(&settings, &connect, &resolve, &mut script));
        });
        Self {
            name: name.to_owned(),
            known,
            end,
            frozen,
            thread: Some(thread),
        }
    }

    pub fn known(&self) -> Known {
        self.known.lock().expect("no panic").clone()
    }

    /// It does nothing at all until it is woken, like a process that is stopped.
    pub fn freeze(&self, frozen: bool) {
        self.frozen.store(frozen, Ordering::Relaxed);
    }

    pub fn stop(&mut self) {
        self.freeze(false);
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the probe did not panic");
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        self.freeze(false);
    }
}

fn settings(url: &BrokerUrl, name: &str, boot: u32) -> link::Settings {
    let mut buffer = [0; LONGEST];
    let gone = Presence {
        boot,
        online: false,
    };
    let gone = encode(&gone, &mut buffer).expect("short").to_vec();
    let state = topic(FLEET, name, ProbeTopic::State).expect("a topic");
    link::Settings {
        url: url.clone(),
        client: name.to_owned(),
        filters: vec![(format!("dunlin/1/{FLEET}/probe/{name}/down/#"), false)],
        will: Some(Outgoing::new(state.as_str(), gone).retained()),
    }
}

struct Script {
    name: String,
    member: Member,
    claims: Claims,
    web: Web,
    known: Arc<Mutex<Known>>,
    end: Arc<AtomicBool>,
    frozen: Arc<AtomicBool>,
    reported: Option<Instant>,
    visited: HashMap<String, dunlin::time::Instant>,
    /// Hosts of the list with the place of their first page, and its URL.
    hosts: Vec<(String, u16, String)>,
    number: u32,
    outbox: Vec<Outgoing>,
}

impl Script {
    fn say<T: serde::Serialize>(&mut self, which: ProbeTopic, message: &T) {
        let mut buffer = [0; LONGEST];
        let bytes = encode(message, &mut buffer).expect("short");
        let place = topic(FLEET, &self.name, which).expect("a topic");
        let message = Outgoing::new(place.as_str(), bytes);
        self.outbox.push(match which {
            ProbeTopic::State => message.retained(),
            _ => message,
        });
    }

    fn take_list(&mut self, notice: &ListNotice<'_>) {
        if !self.member.wants(notice.version) {
            return;
        }
        let Some(bytes) = fetch(notice.url) else {
            return;
        };
        if list_digest(&bytes) != notice.digest || bytes.len() != notice.length as usize {
            return;
        }
        let image = Image::parse(&bytes).expect("a list that a probe takes");
        self.hosts.clear();
        let mut known = self.known.lock().expect("no panic");
        known.urls.clear();
        known.seeds.clear();
        for place in 0..image.pages() {
            let page = image.page(place).expect("a page");
            let host = image.host(page.host.into()).expect("a host").name;
            if self.hosts.last().is_none_or(|(last, ..)| last != host) {
                let url = page.url.to_owned();
                self.hosts.push((host.to_owned(), place as u16, url));
            }
            known.urls.push(page.url.to_owned());
            if let Some(learnt) = image.learnt(place as u16) {
                known.seeds.insert(page.url.to_owned(), learnt);
            }
        }
        known.list = notice.version;
        drop(known);
        self.member.take_list(notice.version, now());
    }

    /// Visits what it may.
    fn visit(&mut self) {
        let politeness = dunlin::time::Duration::from(POLITENESS);
        for (host, place, url) in self.hosts.clone() {
            let now = now();
            let is_leased = self.member.leased_until().is_some_and(|end| now < end);
            let last = self.visited.get(&host).copied();
            let is_polite = last.is_none_or(|last| now >= last + politeness);
            let has_budget = self.member.budget() > 0.0;
            if !is_leased || !is_polite || !has_budget || now < self.member.rests_until(politeness)
            {
                continue;
            }
            self.visited.insert(host.clone(), now);
            self.web.visit(&host, &self.name);
            let learnt = Learnt {
                shape: 1.0 + self.number as f32 * 0.1,
                time: 0.5 + self.number as f32 * 0.01,
                watch: [self.number as u16, 3],
            };
            let visits = Visits {
                boot: self.member.boot(),
                list: self.member.list(),
                first: self.number,
                visits: [VisitReport {
                    page: place,
                    ago_s: 0,
                    changed: self.number.is_multiple_of(2),
                    shape: learnt.shape,
                    time: learnt.time,
                    watch: learnt.watch,
                }]
                .into_iter()
                .collect(),
            };
            self.number += 1;
            self.say(ProbeTopic::Visits, &visits);
            self.web
                .learnt
                .lock()
                .expect("no panic")
                .insert(url, learnt);
        }
    }
}

impl Peer for Script {
    fn connected(&mut self) {
        self.say(
            ProbeTopic::State,
            &Presence {
                boot: self.member.boot(),
                online: true,
            },
        );
        self.reported = None;
    }

    fn heard(&mut self, name: &str, payload: &[u8], _kept: bool) {
        self.known
            .lock()
            .expect("no panic")
            .heard
            .push(name.to_owned());
        let Some((_, which)) = read_topic(FLEET, name) else {
            return;
        };
        match which {
            ProbeTopic::Grant => {
                let grant: Grant = decode(payload).expect("a grant");
                let taken = self.member.granted(&grant);
                let mut known = self.known.lock().expect("no panic");
                known.grants += u32::from(taken);
                known.refused_grants += u32::from(!taken);
            }
            ProbeTopic::List => {
                let notice: ListNotice<'_> = decode(payload).expect("a notice");
                self.take_list(&notice);
            }
            ProbeTopic::Command => {
                let told: Told = decode(payload).expect("a command");
                self.known.lock().expect("no panic").told.push(told);
                let done = Done {
                    boot: self.member.boot(),
                    id: told.id,
                    done: true,
                };
                self.say(ProbeTopic::Done, &done);
            }
            _ => {}
        }
    }

    fn outbox(&mut self) -> Vec<Outgoing> {
        while self.frozen.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        if self.reported.is_none_or(|at| at.elapsed() >= REPORT) {
            self.reported = Some(Instant::now());
            let Claims {
                price,
                pages,
                hosts,
                link,
            } = self.claims;
            let outlook = Outlook {
                price,
                elasticity: 1.0,
                freshness: 0.9,
                pages,
                hosts,
                link,
                fetches: self.number,
                errors: 0,
            };
            let report = self.member.report(&outlook, now());
            self.say(ProbeTopic::Report, &report);
        }
        self.visit();
        let leased = self.member.leased_until();
        let mut known = self.known.lock().expect("no panic");
        known.until = leased;
        known.budget = self.member.budget();
        drop(known);
        std::mem::take(&mut self.outbox)
    }

    fn lost(&mut self, _why: &str) {
        self.known.lock().expect("no panic").lost += 1;
        self.outbox.clear();
    }

    fn is_over(&mut self) -> bool {
        self.end.load(Ordering::Relaxed)
    }
}

/// A page by HTTP, from loopback.
fn fetch(url: &str) -> Option<Vec<u8>> {
    let rest = url.strip_prefix("http://")?;
    let (host, path) = rest.split_once('/')?;
    let mut stream = TcpStream::connect(host).ok()?;
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let split = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let ok = answer.starts_with(b"HTTP/1.1 200");
    ok.then(|| answer.split_off(split + 4))
}

/// So many pages on so many hosts.
pub fn pages(hosts: usize, pages: usize) -> String {
    let mut text = "url\n".to_owned();
    for host in 0..hosts {
        for page in 0..pages {
            text += &format!("http://h{host}.test/{page}\n");
        }
    }
    text
}
