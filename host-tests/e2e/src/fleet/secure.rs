//! A fleet whose broker speaks TLS, with a certificate of an authority that nobody else knows.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use anyhow::{Result, bail, ensure};
use dunlin::probe::{LoggedBoardEvent, LoggedFleetEvent};
use dunlin_host::fleet::broker_url::BrokerUrl;
use dunlin_tools::firmware::budgets::{FLEET, HTTPS};
use dunlin_tools::qemu::{Line, temporary};
use dunlin_tools::web::{Answer, Web};
use rustls::{ServerConfig, ServerConnection};

use super::{Fleet, Folder, GAP, LEASE, Plan, SLACK, all, firmware, in_qemu, judge, visited};
use crate::show;
use crate::tls::server::{Ending, Server, config};
use crate::tls::{Authority, Identity, STACK, authorities, leaf, pem};

/// What its own authority vouches for: a page over https.
const SECURE: &str = "secure.test";

/// What a probe said of its link.
#[derive(Debug, Default)]
struct Said {
    joined: usize,
    /// The latest list that it took.
    list: u32,
    /// It has joined on that list.
    rejoined: bool,
    untrusted: Vec<String>,
    pool: u32,
}

impl Said {
    fn hear(&mut self, line: &Line) {
        match LoggedFleetEvent::read(&line.message) {
            Some(LoggedFleetEvent::Joined) => {
                self.joined += 1;
                self.rejoined = self.list > 0;
            }
            Some(LoggedFleetEvent::Listed { list }) => {
                self.list = list;
                self.rejoined = false;
            }
            Some(LoggedFleetEvent::Untrusted { why }) => self.untrusted.push(why.to_owned()),
            _ => {}
        }
        if let Some(LoggedBoardEvent::Tls { pool, .. }) = LoggedBoardEvent::read(&line.message) {
            self.pool = self.pool.max(pool);
        }
    }
}

/// A broker of somebody else's, who knows MQTT by name and nothing else. Nobody should come as far
/// as to speak it.
fn impostor(identity: &Identity) -> Result<u16> {
    let mut config = ServerConfig::clone(&*config(&[], Some(identity), true)?);
    config.alpn_protocols = vec![b"mqtt".to_vec()];
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let Ok(mut connection) = ServerConnection::new(Arc::clone(&config)) else {
                return;
            };
            while connection.is_handshaking() && connection.complete_io(&mut socket).is_ok() {}
        }
    });
    Ok(port)
}

/// A certificate for this computer's loopback, and the authority that vouches for it, in files.
fn certified(root: &Authority, folder: &Path) -> Result<()> {
    let identity = root.sign(&leaf(&["127.0.0.1"])?, &[])?;
    let chain = identity.chain.iter();
    let chain: String = chain.map(|one| pem("CERTIFICATE", one)).collect();
    fs::create_dir_all(folder)?;
    fs::write(folder.join("certificate.pem"), chain)?;
    let key = pem("PRIVATE KEY", identity.key.secret_der());
    fs::write(folder.join("key.pem"), key)?;
    Ok(fs::write(folder.join("authority.pem"), root.pem())?)
}

/// A probe in QEMU joins over TLS, takes a list, starts again with it, and joins over TLS again:
/// whom it trusts was told to the device, and vouches for pages of the list, too. Another one is led
/// to a broker whose authority it does not know, and asks nobody.
pub fn trusts(elf: &Path) -> Result<()> {
    const WHOLE: u32 = 30;
    const PART: u32 = 10;
    let elf = firmware(elf, &[FLEET, HTTPS]);
    let root = Authority::root("the fleet's own")?;
    let files = Folder(temporary("certificates"));
    certified(&root, &files.0)?;
    let web = Web::start(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::status(404, "X: none"),
        _ => Answer::version(hit, 1),
    })?;
    let secure = root.sign(&leaf(&[SECURE])?, &[])?;
    let server = Server::start(&[(SECURE, &secure)], None, Ending::Length)?;
    let pages = all().map(|(host, page)| format!("http://{host}:{}{page}\n", web.port()));
    let secure = format!("https://{SECURE}:{}/page\n", server.port);
    let file = |name: &str| files.0.join(name).into_os_string();
    let plan = Plan {
        pages: ["url\n".to_owned(), secure]
            .into_iter()
            .chain(pages)
            .collect(),
        per_day: 200_000.0,
        lease: LEASE,
        init: vec![
            "--certificate".into(),
            file("certificate.pem"),
            "--key".into(),
            file("key.pem"),
        ],
        options: vec!["--https".into(), "--ca".into(), file("authority.pem")],
    };
    let fleet = Fleet::new(plan, 2)?;
    let _planner = fleet.planner(["--mosquitto", &fleet.folder.0.to_string_lossy()])?;
    let own = authorities(&[&root])?;
    let other = Authority::root("somebody else's")?.sign(&leaf(&["127.0.0.1"])?, &[])?;
    let misled = BrokerUrl {
        port: impostor(&other)?,
        ..fleet.credentials("p2")?
    };
    let trusting = fleet.credentials("p1")?;
    let start = |broker: &BrokerUrl, seconds: u32| {
        let mut said = Said::default();
        let report = in_qemu(&elf, broker, seconds, &own, None, |line| said.hear(line));
        report.map(|report| (report, said))
    };
    let (trusting, misled) = thread::scope(|scope| {
        let misled = scope.spawn(|| start(&misled, PART));
        let trusting = start(&trusting, WHOLE);
        match misled.join() {
            Ok(misled) => Ok((trusting?, misled?)),
            Err(_) => bail!("a probe's thread panicked"),
        }
    })?;
    let (report, said) = trusting;
    let log = web.log();
    let shortest = judge(&log, SLACK)?;
    let pages = server.log();
    let pages = pages.iter().filter(|visit| visit.path == "/page").count();
    show(format_args!(
        "{} requests, the closest two after {shortest:?}, {pages} visits of a page over https; joined {} times, on \
         list {}; stack {:?} B, TLS's pool {} B",
        log.len(),
        said.joined,
        said.list,
        report.stack,
        said.pool
    ));
    ensure!(said.joined >= 2 && said.rejoined, "{said:?}");
    ensure!(said.untrusted.is_empty(), "{said:?}");
    visited(&log, GAP, web.now())?;
    ensure!(pages >= 3, "the page over https was visited {pages} times");
    let stack = report.stack.unwrap_or(u64::MAX);
    ensure!(stack <= STACK, "{stack} B of stack");
    let (report, said) = misled;
    // It has named no protocol: the certificate decides. Who asks for HTTP is refused before.
    let only = |why: &String| why == "Issuer";
    ensure!(
        !said.untrusted.is_empty() && said.untrusted.iter().all(only),
        "{said:?}"
    );
    ensure!(said.joined == 0 && report.summary.fetches == 0, "{said:?}");
    Ok(())
}
