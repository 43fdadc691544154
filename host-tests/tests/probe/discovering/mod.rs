//! Pages beyond the list, judged by what the servers saw: found, ranked, kept, replaced. Here: what
//! these tests share.

mod admitting;
mod finding;
mod judging;
mod logged;
mod restarts;
mod web;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use dunlin::discover::{DiscoverySettings, Scope};
use dunlin::probe::FoundTotals;
use dunlin::time::Duration;
use host_tests::flash::Flash;

use crate::texts::TextFlash;
use crate::world::{Answer, Hit, Keeper, Setting, World, WorldProbe};

/// What is kept, by URL, with its importance.
pub type Collection = BTreeMap<String, f32>;

fn collection(probe: &WorldProbe<'_, '_>) -> Collection {
    let mut all = Collection::new();
    probe.found().each_kept(|_, url, importance| {
        let twice = all.insert(url.to_owned(), importance);
        assert_eq!(twice, None, "{url} is kept twice");
    });
    all
}

/// URLs of the candidates. Each has one, and no two have the same.
fn candidates(probe: &WorldProbe<'_, '_>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    probe.found().each_candidate(|url, _| {
        let url = url.expect("no candidate is without its URL");
        assert!(all.insert(url.to_owned()), "{url} is a candidate twice");
    });
    all
}

const HOSTS: [&str; 5] = ["h0.test", "h1.test", "h2.test", "h3.test", "h4.test"];

/// The front pages of so many hosts, and a collection of so many places.
fn setting(hosts: usize, places: u16, scope: Scope, texts: &TextFlash) -> Setting {
    let listed: Vec<(&str, &[&str])> = HOSTS
        .iter()
        .take(hosts)
        .map(|host| (*host, &["/"][..]))
        .collect();
    let section = DiscoverySettings::new(scope, places, 2_000)
        .header()
        .to_vec();
    Setting {
        discover: Some((section, texts.clone())),
        ..Setting::of(Duration::from_secs(2), &listed)
    }
}

pub fn run(
    setting: &Setting,
    site: impl Fn(&Hit) -> Answer + 'static,
) -> (World, Collection, FoundTotals) {
    let seen = Rc::new(RefCell::new((Collection::new(), FoundTotals::default())));
    let last = Rc::clone(&seen);
    let end = Duration::from_secs(setting.seconds - 2);
    let (world, _) = setting.run_keeping(
        None::<Keeper<'_, Flash<3, 1024, 4>>>,
        site,
        move |world, probe| {
            if world.elapsed() >= end {
                *last.borrow_mut() = (collection(probe), probe.found().totals().expect("on"));
            }
        },
    );
    let (held, totals) = seen.borrow().clone();
    (world, held, totals)
}
