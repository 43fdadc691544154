//! What a restart and a power cut leave of the pages that were found.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use dunlin::discover::Scope;
use dunlin::probe::FoundTotals;
use dunlin::store::{Store, TextKind};
use dunlin::time::Duration;
use host_tests::flash::Flash;

use super::web::Web;
use super::{Collection, candidates, collection, setting};
use crate::texts::TextFlash;
use crate::world::{Answer, Hit, Keeper, Keeping, Setting, World};

/// The collection at each moment, until the run ends.
fn watch(
    setting: &Setting,
    store: &mut Store<Flash<128, 4096, 4>>,
    site: impl Fn(&Hit) -> Answer + 'static,
) -> (World, Collection, Collection) {
    let seen = Rc::new(RefCell::new((None, Collection::new())));
    let last = Rc::clone(&seen);
    let keeper = Keeper {
        store,
        how: Keeping::AsItShould,
    };
    let (world, _) = setting.run_keeping(Some(keeper), site, move |_, probe| {
        let now = collection(probe);
        let mut seen = last.borrow_mut();
        seen.0.get_or_insert_with(|| now.clone());
        seen.1 = now;
    });
    let (first, last) = seen.borrow().clone();
    (world, first.unwrap_or_default(), last)
}

/// How many of 40 pages are still there a minute after a restart.
fn stayed_after_restart(seed: u64) -> usize {
    let web = Web::new(5, 60, seed);
    let texts = TextFlash::blank();
    let mut store = Store::new(Flash::<128, 4096, 4>::blank());
    let base = Setting {
        seconds: 900,
        ..setting(5, 40, Scope::Hosts, &texts)
    };
    let site = web.clone();
    let (run, _, before) = watch(&base, &mut store, move |hit| site.answer(hit));
    assert_eq!(before.len(), 40);
    let again = Setting {
        discover: base
            .discover
            .as_ref()
            .map(|(section, texts)| (section.clone(), texts.switched_on())),
        seconds: 60,
        ..setting(5, 40, Scope::Hosts, &texts)
    };
    let mut store = Store::new(store.flash().switched_on());
    let site = web.clone();
    let (world, first, after) = watch(&again, &mut store, move |hit| site.answer(hit));
    let urls = |all: &Collection| all.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(first.len(), 40, "at the start");
    // Pages that were admitted in the last second are not in flash yet.
    let lost: Vec<_> = urls(&before).difference(&urls(&first)).cloned().collect();
    let found = run.found.borrow();
    let last = |url: &String| {
        let mut found = found.iter().rev();
        let admitted = found.find(|(_, line)| line.starts_with("admitted") && line.ends_with(url));
        admitted.is_some_and(|(at, _)| *at >= Duration::from_secs(899))
    };
    assert!(lost.iter().all(last), "{lost:?} are lost, seed {seed}");
    let resumed = world
        .events
        .borrow()
        .iter()
        .find_map(|(_, event)| match event {
            dunlin::probe::Event::Resumed(resumed) => Some(resumed.pages),
            _ => None,
        });
    assert!(
        resumed >= Some(39),
        "{resumed:?} pages are known by the store"
    );
    urls(&after).intersection(&urls(&before)).count()
}

#[test]
fn a_restart_keeps_the_whole_collection_and_what_was_learnt_of_it() {
    const SEEDS: u64 = 16;
    let stayed = (7..7 + SEEDS).map(stayed_after_restart);
    let stayed: Vec<usize> = stayed.collect();
    // What pages have earned is kept roughly, so that a few of the least change places: 5 or 6 here.
    let mean = stayed.iter().sum::<usize>() as f64 / SEEDS as f64;
    assert!(mean >= 34.0, "{stayed:?} of 40 stayed for a minute");
}

/// What the log has confirmed, as a restart should see it.
#[derive(Debug, Default)]
struct Confirmed {
    pages: BTreeMap<u16, String>,
    retired: BTreeSet<String>,
    known: BTreeSet<String>,
}

impl Confirmed {
    fn take(&mut self, kind: TextKind, url: &str) {
        match kind {
            TextKind::Candidate => {}
            TextKind::Retired => _ = self.retired.insert(url.to_owned()),
            TextKind::Free(place) => _ = self.pages.remove(&place),
            TextKind::Page(place) => {
                self.pages.retain(|_, page| page != url);
                self.pages.insert(place, url.to_owned());
            }
        }
        if !url.is_empty() {
            self.known.insert(url.to_owned());
        }
    }

    /// Pages that should be held: those of the list that have not given way, and the others.
    fn held(&self, listed: &[String]) -> BTreeSet<String> {
        let stays = |(place, url): &(usize, &String)| {
            let taken = self.pages.contains_key(&(*place as u16));
            !taken && !self.retired.contains(*url)
        };
        let listed = listed.iter().enumerate().filter(stays);
        let listed = listed.map(|(_, url)| url.clone());
        listed.chain(self.pages.values().cloned()).collect()
    }
}

/// What a probe holds.
struct Held {
    pages: BTreeSet<String>,
    candidates: BTreeSet<String>,
    totals: FoundTotals,
}

/// A run on this flash, until the power goes or for so long; what it holds when it starts.
fn life(web: &Web, texts: &TextFlash, seconds: u64) -> Held {
    let setting = Setting {
        seconds,
        ..setting(2, PLACES, Scope::Hosts, texts)
    };
    let site = web.clone();
    let first = Rc::new(RefCell::new(None));
    let seen = Rc::clone(&first);
    setting.run_keeping(
        None::<Keeper<'_, Flash<3, 1024, 4>>>,
        move |hit| site.answer(hit),
        move |_, probe| {
            let now = || Held {
                pages: collection(probe).into_keys().collect(),
                candidates: candidates(probe),
                totals: probe.found().totals().expect("on"),
            };
            seen.borrow_mut().get_or_insert_with(now);
        },
    );
    first.take().expect("it ran")
}

/// Room for so many pages while the power goes.
const PLACES: u16 = 10;

/// At the first boot, where sectors are begun; and later, when the oldest sector is emptied, which
/// holds pages and candidates. The power goes before each write and erase, and in the middle of it.
#[test]
fn a_power_cut_at_every_flash_operation_loses_nothing_and_doubles_nothing() {
    let web = Web::new(2, 30, 5);
    let listed = ["http://h0.test/".to_owned(), "http://h1.test/".to_owned()];
    let worn = TextFlash::blank();
    // Not for so long that it knows everything.
    life(&web, &worn, 12);
    worn.wear();
    let mut cuts = 0;
    let mut copied = false;
    for start in [TextFlash::blank(), worn] {
        let whole = start.switched_on();
        life(&web, &whole, 45);
        let operations = whole.1.borrow().operations.clone();
        let earlier = start.texts();
        let mut written = earlier.iter().filter(|(_, url)| !url.is_empty());
        copied |= written.any(|text| whole.1.borrow().texts.contains(text));
        for (before, bytes) in operations {
            for cut in [before, before + bytes / 2] {
                cuts += 1;
                let texts = start.switched_on();
                texts.0.borrow_mut().power = Some(cut);
                life(&web, &texts, 45);
                let mut confirmed = Confirmed::default();
                let done = texts.1.borrow();
                for (kind, url) in earlier.iter().chain(&done.texts) {
                    confirmed.take(*kind, url);
                }
                let Held {
                    pages: held,
                    candidates,
                    totals,
                } = life(&web, &texts.switched_on(), 3);
                let expected = confirmed.held(&listed);
                if expected.len() <= PLACES.into() {
                    assert_eq!(held, expected, "after a cut at byte {cut}");
                } else {
                    // Who came last, and whom it should have replaced.
                    assert_eq!(held.len(), usize::from(PLACES), "after a cut at byte {cut}");
                    assert!(held.is_subset(&expected), "after a cut at byte {cut}");
                }
                assert_eq!(candidates.len(), usize::from(totals.candidates));
                let twice: Vec<_> = candidates.intersection(&held).collect();
                assert!(
                    twice.is_empty(),
                    "{twice:?} are both, after a cut at byte {cut}"
                );
                let both: BTreeSet<_> = candidates.union(&held).cloned().collect();
                let lost: Vec<_> = confirmed.known.difference(&both).collect();
                assert!(lost.is_empty(), "{lost:?} are lost by a cut at byte {cut}");
            }
        }
    }
    println!("{cuts} power cuts");
    assert!(cuts > 100 && copied, "{cuts}, texts copied: {copied}");
}
