//! A whole fleet on one computer: a broker, a planner and two `dunlin run` as probes, judged by the
//! log of a web server.

mod scripted;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use scripted::{LEASE, POLITENESS, Site, place_of, wait_for};

const PATIENCE: Duration = Duration::from_secs(60);
const HOSTS: usize = 6;
/// All pages are of one version.
const TAG: &str = "\"one\"";
/// A busy computer stretches what lies between a server's clock and a probe's; a request that is
/// late by this makes the next one look early.
const SLACK: Duration = Duration::from_millis(150);

/// A request: for which host and path, when, and whether it asked for news only.
type Request = (String, String, Instant, bool);

/// Requests, in their order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Request>>>);

impl Log {
    /// Serves every host at one port.
    fn serve(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let log = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let log = log.clone();
                std::thread::spawn(move || log.answer(&stream));
            }
        });
        port
    }

    fn answer(&self, mut stream: &TcpStream) {
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let Some(request) = lines.next() else { return };
        let at = Instant::now();
        let fields: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let value = |wanted: &str| {
            fields.iter().find_map(|field| {
                let (name, value) = field.split_once(':')?;
                name.eq_ignore_ascii_case(wanted).then(|| value.trim())
            })
        };
        let host = value("host");
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        let host = host.unwrap_or_default().to_owned();
        let body = match path.as_str() {
            "/robots.txt" => "User-agent: *\nAllow: /\n",
            _ => "the same as ever\n",
        };
        let is_known = value("if-none-match") == Some(TAG);
        self.0
            .lock()
            .expect("no panic")
            .push((host, path, at, is_known));
        let _ = match is_known {
            true => write!(
                stream,
                "HTTP/1.1 304 Not Modified\r\nETag: {TAG}\r\nConnection: close\r\n\r\n"
            ),
            false => write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: {TAG}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            ),
        };
    }

    /// Pages that were asked for since then.
    fn since(&self, then: Instant) -> HashSet<(String, String)> {
        let log = self.0.lock().expect("no panic");
        let since = log
            .iter()
            .filter(|(_, path, at, _)| *at >= then && path != "/robots.txt");
        since
            .map(|(host, path, ..)| (host.clone(), path.clone()))
            .collect()
    }

    /// How often a page was asked for.
    fn count(&self, host: &str, path: &str) -> usize {
        let log = self.0.lock().expect("no panic");
        let own = log
            .iter()
            .filter(|(at, page, ..)| at == host && page == path);
        own.count()
    }

    /// No two requests to a host were closer than its politeness; how many there were.
    fn judge(&self) -> usize {
        let mut last: HashMap<String, Instant> = HashMap::new();
        let log = self.0.lock().expect("no panic");
        for (host, path, at, _) in log.iter() {
            if let Some(before) = last.insert(host.clone(), *at) {
                let gap = at.duration_since(before);
                assert!(gap + SLACK >= POLITENESS, "{host}{path} after {gap:?}");
            }
        }
        log.len()
    }
}

/// The file with somebody's URL, as options take it.
fn url_of(site: &Site, name: &str) -> String {
    let file = site.folder.join(format!("{name}.url"));
    format!("@{}", file.display())
}

/// `dunlin run` as a probe, or another program that lasts.
struct Run(Child);

impl Run {
    fn start(site: &Site, name: &str, options: &[&str]) -> Self {
        let url = url_of(site, name);
        let run = ["run", "--fleet", &url, "--lease", "4s"];
        let arguments = [&run[..], &["--resolve", "*=127.0.0.1"], options].concat();
        Self::program(site, name, &arguments)
    }

    /// Its words are in a file with this name.
    fn program(site: &Site, name: &str, arguments: &[&str]) -> Self {
        let log = std::fs::File::create(site.folder.join(format!("{name}.log"))).expect("a log");
        let child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the program starts");
        Self(child)
    }

    /// Ends it as Ctrl-C does.
    fn stop(&mut self) {
        let mut kill = Command::new("kill");
        let sent = kill.args(["-INT", &self.0.id().to_string()]).status();
        assert!(sent.is_ok_and(|sent| sent.success()));
        let _ = self.0.wait();
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn two_runs_share_a_web_and_one_takes_over_from_the_other() {
    let log = Log::default();
    let port = log.serve();
    let mut pages = "url\n".to_owned();
    let mut all = HashSet::new();
    for host in 0..HOSTS {
        for page in 0..2 {
            pages += &format!("http://h{host}.test:{port}/{page}\n");
            all.insert((format!("h{host}.test:{port}"), format!("/{page}")));
        }
    }
    let site = Site::new("runs", 2, &pages);
    let mut arguments = site.planner_arguments("state");
    let place = arguments.iter().position(|word| word == "--crawls-per-day");
    // About as often as politeness allows.
    arguments[place.expect("an option") + 1] = "400000".into();
    let planner = scripted::Planner::start(&arguments, &site.folder);
    let mut first = Run::start(&site, "p1", &[]);
    let _second = Run::start(&site, "p2", &[]);
    let shares = || {
        let view = planner.view.lock().expect("no panic").clone();
        let probes = view["probes"].as_array().cloned().unwrap_or_default();
        let pages = |probe: &serde_json::Value| probe["pages"].as_u64().unwrap_or(0);
        probes.iter().map(pages).collect::<Vec<u64>>()
    };
    wait_for("pages at both probes", PATIENCE, || {
        let shares = shares();
        shares.len() == 2
            && shares.iter().all(|pages| *pages > 0)
            && shares.iter().sum::<u64>() == 12
    });
    wait_for("visits to every page", PATIENCE, || {
        log.since(Instant::now() - PATIENCE).is_superset(&all)
    });
    // A probe is killed: whatever it had is visited again by the other.
    first.kill();
    let then = Instant::now() + LEASE + POLITENESS;
    wait_for("visits to every page by who is left", PATIENCE, || {
        log.since(then).is_superset(&all)
    });
    let requests = log.judge();
    println!("{requests} requests");
    assert!(requests > 30, "{requests} requests");
}

#[test]
fn a_page_that_is_pulled_is_visited_long_before_its_turn() {
    let log = Log::default();
    let port = log.serve();
    let [busy, quiet] = ["busy", "quiet"].map(|name| format!("{name}.test:{port}"));
    // Next to nothing is to be gained by a second look at the quiet page.
    let pages =
        format!("url,weight,changes_per_day\nhttp://{busy}/,1,2000\nhttp://{quiet}/,0.001,0.001\n");
    let site = Site::new("pull", 1, &pages);
    let mut arguments = site.planner_arguments("state");
    let place = arguments.iter().position(|word| word == "--crawls-per-day");
    // One fetch in five seconds.
    arguments[place.expect("an option") + 1] = "17280".into();
    let _planner = scripted::Planner::start(&arguments, &site.folder);
    let _run = Run::start(&site, "p1", &[]);
    wait_for("visits to the busy page", PATIENCE, || {
        log.count(&busy, "/") >= 3
    });
    let before = log.count(&quiet, "/");
    assert!(before <= 1, "{before} visits to a page that never changes");
    assert!(
        site.ask(&["pull", &format!("http://{quiet}/")])
            .status
            .success()
    );
    let others = log.count(&busy, "/");
    wait_for("a visit to the quiet page", PATIENCE, || {
        log.count(&quiet, "/") > before
    });
    // It is the next one, but for what was on its way when the order was given.
    let others = log.count(&busy, "/") - others;
    assert!(others <= 3, "{others} visits to the busy page before it");
    log.judge();
}

#[test]
fn who_only_looks_sees_the_fleet_by_its_broker_and_that_its_planner_is_gone() {
    let log = Log::default();
    let port = log.serve();
    let site = Site::new("seen", 1, &format!("url\nhttp://h0.test:{port}/\n"));
    let planner = site.planner();
    let _run = Run::start(&site, "p1", &[]);
    let web = scripted::free_port();
    let arguments = ["monitor", "--fleet", &url_of(&site, "monitor")];
    let shown = ["--web", &web.to_string()];
    let _monitor = Run::program(&site, "monitor", &[&arguments[..], &shown].concat());
    wait_for("somebody who shows it", PATIENCE, || {
        TcpStream::connect(("127.0.0.1", web)).is_ok()
    });
    let view = || {
        let answer = site.get(web, "/fleet.json");
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        serde_json::from_str::<serde_json::Value>(body).expect("JSON")
    };
    let lease = |view: &serde_json::Value| view["probes"][0]["lease_s"].as_f64().unwrap_or(0.0);
    wait_for("a probe with a lease", PATIENCE, || {
        let view = view();
        view["probes"][0]["id"] == "p1" && lease(&view) > 0.0
    });
    let page = site.get(web, "/");
    assert!(page.contains("<td>p1</td>"), "{page}");
    assert!(!page.contains("no word from the planner"), "{page}");
    let figures = site.get(web, "/metrics");
    let pages = "dunlin_fleet_probe_pages{fleet=\"test\",probe=\"p1\"} 1";
    assert!(figures.contains(pages), "{figures}");
    // The planner is gone, and nobody says so: leases run out, and somebody notices.
    planner.kill();
    wait_for("a lease that is over", PATIENCE, || lease(&view()) == 0.0);
    wait_for("a word about the planner", PATIENCE, || {
        site.get(web, "/").contains("no word from the planner")
    });
    let silent = view()["planner_silent_s"].as_f64();
    assert!(silent.is_some_and(|silent| silent > 10.0), "{silent:?}");
    wait_for("a line about the planner", PATIENCE, || {
        let said = std::fs::read_to_string(site.folder.join("monitor.log"));
        said.is_ok_and(|said| said.contains("no word from the planner"))
    });
}

/// Takes whatever is posted, and says what for: the first line of each request.
fn collector() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&taken);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(&stream);
            let mut line = String::new();
            let mut length = 0;
            let mut first = None;
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                let field = line.trim().to_ascii_lowercase();
                if let Some(bytes) = field.strip_prefix("content-length:") {
                    length = bytes.trim().parse().expect("a number");
                }
                first.get_or_insert(line.trim().to_owned());
                line.clear();
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            heard.lock().expect("no panic").extend(first);
            let _ = write!(
                stream,
                "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
            );
        }
    });
    (port, taken)
}

#[test]
fn another_list_leaves_what_a_run_keeps_and_copies_go_where_the_planner_says() {
    let log = Log::default();
    let port = log.serve();
    let (to, taken) = collector();
    let mut pages = "url\n".to_owned();
    let mut all = HashSet::new();
    for host in 0..3 {
        pages += &format!("http://h{host}.test:{port}/0\n");
        all.insert((format!("h{host}.test:{port}"), "/0".to_owned()));
    }
    let site = Site::new("stays", 1, &pages);
    let mut arguments = site.planner_arguments("state");
    let place = arguments.iter().position(|word| word == "--crawls-per-day");
    arguments[place.expect("an option") + 1] = "200000".into();
    arguments.extend(["--collect".to_owned(), format!("http://127.0.0.1:{to}/")]);
    let _planner = scripted::Planner::start(&arguments, &site.folder);
    let state = site.folder.join("p1.state").display().to_string();
    let _run = Run::start(&site, "p1", &["--state", &state]);
    wait_for("visits to every page", PATIENCE, || {
        log.since(Instant::now() - PATIENCE).is_superset(&all)
    });
    wait_for("a copy of each of them at the collector", PATIENCE, || {
        let taken = taken.lock().expect("no panic");
        let exchange = |line: &&String| line.starts_with("POST /v1/exchanges ");
        taken.iter().filter(exchange).count() == all.len()
    });
    // Another list, on which they stay.
    let added = (format!("h3.test:{port}"), "/0".to_owned());
    let order = ["add", &format!("http://{}/0", added.0)];
    assert!(site.ask(&order).status.success());
    wait_for("a visit to the new page", PATIENCE, || {
        log.since(Instant::now() - PATIENCE).contains(&added)
    });
    let then = Instant::now();
    wait_for("visits to all of them after that", PATIENCE, || {
        let since = log.since(then);
        since.contains(&added) && since.is_superset(&all)
    });
    // Each page was fetched whole once, whichever list it was on, and not again.
    let requests = log.0.lock().expect("no panic").clone();
    let whole = |(_, path, _, is_known): &&Request| !is_known && path != "/robots.txt";
    let whole: Vec<&String> = requests
        .iter()
        .filter(whole)
        .map(|(host, ..)| host)
        .collect();
    assert_eq!(whole.len(), 4, "fetched whole: {whole:?}");
    let again = requests.iter().filter(|(.., is_known)| *is_known).count();
    assert!(again >= 4, "{again} answers of 304");
    log.judge();
}

#[test]
fn a_run_without_its_fleet_is_alone_again_and_knows_what_it_has_learnt() {
    let log = Log::default();
    let port = log.serve();
    let page = |host: usize| (format!("h{host}.test:{port}"), "/0".to_owned());
    let list = |hosts: std::ops::Range<usize>| {
        let urls = hosts.map(|host| format!("http://h{host}.test:{port}/0\n"));
        "url\n".to_owned() + &urls.collect::<String>()
    };
    let mut site = Site::new("alone", 1, &list(0..3));
    let mut arguments = site.planner_arguments("state");
    let place = arguments.iter().position(|word| word == "--crawls-per-day");
    arguments[place.expect("an option") + 1] = "200000".into();
    let planner = scripted::Planner::start(&arguments, &site.folder);
    let state = site.folder.join("p1.state").display().to_string();
    let mut run = Run::start(&site, "p1", &["--state", &state]);
    let shared: HashSet<_> = (0..3).map(page).collect();
    wait_for("visits to every page", PATIENCE, || {
        log.since(Instant::now() - PATIENCE).is_superset(&shared)
    });
    run.stop();
    planner.kill();
    site.kill_broker();
    // It leaves the fleet, and has a list of its own: some of those pages, and another one.
    let then = Instant::now();
    let own = site.folder.join("own.csv").display().to_string();
    std::fs::write(&own, list(1..4)).expect("a list");
    let arguments = ["run", &own, "--state", &state, "--politeness", "1s"];
    let options = ["--crawls-per-day", "200000", "--resolve", "*=127.0.0.1"];
    let _alone = Run::program(&site, "alone", &[&arguments[..], &options].concat());
    let listed: HashSet<_> = (1..4).map(page).collect();
    wait_for("visits to its own list", PATIENCE, || {
        log.since(then).is_superset(&listed)
    });
    assert_eq!(log.since(then), listed, "no page of the fleet's list");
    // What it knew is not fetched whole again.
    let requests = log.0.lock().expect("no panic").clone();
    let is_whole =
        |(_, path, at, is_known): &&Request| *at >= then && !is_known && path != "/robots.txt";
    let whole: Vec<_> = requests.iter().filter(is_whole).collect();
    let whole: Vec<&str> = whole.iter().map(|(host, ..)| host.as_str()).collect();
    assert_eq!(whole, [page(3).0]);
    log.judge();
}

/// An authority, and a certificate of it for 127.0.0.1 with its key, in PEM.
fn identity() -> [String; 3] {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = CertifiedIssuer::self_signed(authority, key).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let broker = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
    let broker = broker.signed_by(&key, &authority).expect("a certificate");
    [authority.pem(), broker.pem(), key.serialize_pem()]
}

#[test]
fn a_fleet_speaks_tls_with_its_broker_and_only_with_one_that_it_trusts() {
    let log = Log::default();
    let port = log.serve();
    let url = format!("http://h0.test:{port}/");
    let folder = place_of("tls");
    std::fs::create_dir_all(&folder).expect("a folder");
    let names = ["authority.pem", "broker.pem", "broker-key.pem"];
    let files = names.map(|name| folder.join(name).display().to_string());
    for (file, pem) in files.iter().zip(identity()) {
        std::fs::write(file, pem).expect("written");
    }
    let [authority, certificate, key] = &files;
    let secured = ["--certificate", certificate, "--key", key];
    let site = Site::with(&folder, 2, &format!("url\n{url}\n"), &secured);
    assert!(site.url("p1").tls && site.url("planner").tls);
    let mut arguments = site.planner_arguments("state");
    arguments.extend(["--ca".to_owned(), authority.clone()]);
    let planner = scripted::Planner::start(&arguments, &site.folder);
    let here = || {
        let view = planner.view.lock().expect("no panic").clone();
        let probes = view["probes"].as_array().cloned().unwrap_or_default();
        let is_here = |probe: &&serde_json::Value| probe["here"] == true;
        let id = |probe: &serde_json::Value| probe["id"].as_str().unwrap_or_default().to_owned();
        probes.iter().filter(is_here).map(id).collect::<Vec<_>>()
    };
    // Nobody vouches for the broker to this one.
    let _stranger = Run::start(&site, "p2", &[]);
    let _probe = Run::start(&site, "p1", &["--ca", authority]);
    let then = Instant::now();
    wait_for("a visit by who trusts the broker", PATIENCE, || {
        log.since(then)
            .contains(&(format!("h0.test:{port}"), "/".to_owned()))
    });
    assert_eq!(here(), ["p1"]);
    let said = std::fs::read_to_string(site.folder.join("p2.log")).expect("a log");
    assert!(said.contains("no connection to the broker"), "{said}");
    assert!(!said.contains("connected to the broker"), "{said}");
    // Who only looks.
    let monitor = format!("@{}", site.folder.join("monitor.url").display());
    let watch = [
        "fleet",
        "watch",
        &monitor,
        "--ca",
        authority,
        "--seconds",
        "4",
    ];
    let watched = scripted::dunlin(&watch);
    let said = String::from_utf8_lossy(&watched.stderr).into_owned();
    assert!(
        watched.status.success() && said.contains("1 of 1 probes here"),
        "{said}"
    );
    // What is no certificate is refused before anything is written.
    let other = folder.join("other").display().to_string();
    let wrong = [
        &["fleet", "init", &other][..],
        &["--certificate", &url, "--key", key],
    ]
    .concat();
    assert_eq!(scripted::dunlin(&wrong).status.code(), Some(2));
}
