//! End to end: http and https side by side, redirects from one to the other, and three long pages
//! through the one buffer that there is for records.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dunlin_tools::web::{Answer, Hit, Web};

use super::pki::{Authority, Fate, Identity, ROOT, leaf};
use super::server::{Ending, HALF_TIME, Meddling, Server, Visit, meddle};
use super::{DEADLINE, GAP, Page, crawl, https_list, mixed_list, now};
use crate::crawling::no_robots;
use crate::show;

/// Servers of http and https whose redirects lead from the one to the other.
pub struct Redirecting {
    /// The server that speaks http.
    pub web: Web,
    /// The server that speaks https.
    pub server: Server,
}

impl Redirecting {
    /// Has moved to https for good.
    pub const MOVED: &str = "moved.test";
    /// Sends whoever comes to a host that is in no list, for now.
    pub const STRAYING: &str = "straying.test";
    /// That host: the owner's authority has vouched for it, and may do so for listed hosts alone.
    const UNLISTED: &str = "unlisted.test";
    /// Is where the list says, over https.
    pub const SECURE: &str = "secure.test";
    pub const PATH: &str = "/page";

    pub fn start(root: &Authority) -> Result<Self> {
        let hosts = [Self::MOVED, Self::UNLISTED, Self::SECURE];
        let identities: Vec<Identity> = hosts
            .iter()
            .map(|host| root.sign(&leaf(&[host])?, &[]))
            .collect::<Result<_>>()?;
        let named: Vec<(&str, &Identity)> = hosts.into_iter().zip(&identities).collect();
        let server = Server::start(&named, None, Ending::Length)?;
        let port = server.port;
        let web = Web::start(move |hit| {
            let to = |host: &str| format!("Location: https://{host}:{port}{}", Self::PATH);
            no_robots(hit).unwrap_or_else(|| match hit.host.as_str() {
                Self::MOVED => Answer::status(301, &to(Self::MOVED)),
                Self::STRAYING => Answer::status(302, &to(Self::UNLISTED)),
                _ => Answer::page("here"),
            })
        })?;
        Ok(Self { web, server })
    }

    /// Was the page that has moved asked for where it is, and nobody who is in no list? By the
    /// servers' word.
    pub fn judge(&self, least: usize) -> Result<()> {
        let hits = self.web.log();
        let asked = |host: &str| {
            let is_page = |hit: &&Hit| hit.host == host && hit.path == Self::PATH;
            hits.iter().filter(is_page).count()
        };
        let visits = self.server.log();
        let host = |visit: &&Visit, name: &str| visit.host.starts_with(name);
        let is_moved = |visit: &&Visit| host(visit, Self::MOVED) && visit.path == Self::PATH;
        let there = visits.iter().filter(is_moved).count();
        let here = asked(Self::MOVED);
        show(format_args!(
            "the page that has moved: asked for {here} times over http, then {there} over https"
        ));
        ensure!(here == 1, "asked for {here} times at its old place");
        ensure!(there >= least, "asked for {there} times at its new place");
        ensure!(asked(Self::STRAYING) > 0, "nobody was sent away");
        let unlisted = visits.iter().find(|visit| host(visit, Self::UNLISTED));
        ensure!(unlisted.is_none(), "{unlisted:?}");
        Ok(())
    }
}

/// One list of http and https without a gateway, and redirects between them.
pub fn mixed(elf: &Path) -> Result<()> {
    const SECONDS: u32 = 12;
    let root = Authority::root(ROOT)?;
    let servers = Redirecting::start(&root)?;
    let page = |host, port| Page {
        host,
        port,
        path: Redirecting::PATH,
    };
    let plain = servers.web.port();
    let pages = [
        ("http:", page("plain.test", plain)),
        ("https:", page(Redirecting::SECURE, servers.server.port)),
        ("http:", page(Redirecting::MOVED, plain)),
        ("http:", page(Redirecting::STRAYING, plain)),
    ];
    let list = mixed_list(pages.iter().map(|(scheme, page)| (*scheme, page)), GAP);
    let outcome = crawl(elf, &[&root], &list, SECONDS, Some(now()))?;
    for (number, host) in (0..).zip(["plain.test", Redirecting::SECURE, Redirecting::MOVED]) {
        outcome.expect(number, host, Fate::Fetched)?;
        let visits = outcome.answered.get(&number).copied().unwrap_or_default();
        ensure!(visits >= 6, "{host} was visited {visits} times");
    }
    outcome.expect(3, Redirecting::STRAYING, Fate::Refused("Issuer"))?;
    servers.judge(6)
}

/// Three hosts send pages of 100 kB at once, in records as long as there are, each in two halves:
/// who has begun a record keeps the others waiting, and all are read in time.
pub fn at_once(elf: &Path) -> Result<()> {
    const SECONDS: u32 = 12;
    const HOSTS: [&str; 3] = ["a.test", "b.test", "c.test"];
    // 100 kB are seven records.
    const LEAST: Duration = HALF_TIME.saturating_mul(2 * 6);
    let root = Authority::root(ROOT)?;
    let identities: Vec<Identity> = HOSTS
        .iter()
        .map(|host| root.sign(&leaf(&[host])?, &[]))
        .collect::<Result<_>>()?;
    let named: Vec<(&str, &Identity)> = HOSTS.into_iter().zip(&identities).collect();
    let server = Server::start(&named, None, Ending::Length)?;
    let port = meddle(server.port, Meddling::Halves)?;
    let pages = HOSTS.map(|host| Page {
        host,
        port,
        path: "/large",
    });
    let list = https_list(&pages, GAP);
    let outcome = crawl(elf, &[&root], &list, SECONDS, Some(now()))?;
    for (number, host) in (0..).zip(HOSTS) {
        outcome.expect(number, host, Fate::Fetched)?;
    }
    ensure!(outcome.failed.is_empty(), "{:?}", outcome.failed);
    let visits = server.log();
    let first = |host: &&str| {
        let of = |visit: &&Visit| visit.host.starts_with(host) && visit.path == "/large";
        visits.iter().find(of).map(|visit| visit.at)
    };
    let firsts: Option<Vec<_>> = HOSTS.iter().map(first).collect();
    let firsts = firsts.context("a page was not asked for")?;
    let apart = firsts.iter().max().zip(firsts.iter().min());
    let apart = apart.map_or(Duration::ZERO, |(last, first)| *last - *first);
    show(format_args!(
        "asked for within {apart:?}; each takes {LEAST:?} at least, {DEADLINE:?} at most"
    ));
    ensure!(apart < LEAST, "they were not there at once: {apart:?}");
    Ok(())
}
