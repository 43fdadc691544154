//! What the log of URL texts does while the probe runs: it moves texts, and brings up to date what
//! stands beside them.

use dunlin::discover::Scope;
use dunlin::time::Duration;
use host_tests::flash::Flash;

use super::web::Web;
use super::{collection, setting};
use crate::texts::TextFlash;
use crate::world::{Answer, Hit, Keeper, Setting, WorldProbe};

/// Runs it on this flash, and lets somebody look whenever nothing moves.
fn run_on(
    site: impl Fn(&Hit) -> Answer + 'static,
    texts: &TextFlash,
    seconds: u64,
    mut look: impl FnMut(&WorldProbe<'_, '_>),
) {
    let setting = Setting {
        seconds,
        ..setting(2, 10, Scope::Hosts, texts)
    };
    let no_store = None::<Keeper<'_, Flash<3, 1024, 4>>>;
    setting.run_keeping(no_store, site, |_, probe| look(probe));
}

/// The oldest sector, which holds pages, is emptied and erased while they are visited.
#[test]
fn pages_keep_their_urls_while_the_log_moves_their_texts() {
    let web = Web::new(2, 30, 5);
    let site = || {
        let web = web.clone();
        move |hit: &Hit| web.answer(hit)
    };
    let texts = TextFlash::blank();
    // Not for so long that it knows everything.
    run_on(site(), &texts, 12, |_| ());
    texts.wear();
    let earlier = texts.texts();
    run_on(site(), &texts, 45, |probe| {
        let kept = probe.found().totals().expect("on").pages;
        let held = collection(probe);
        assert_eq!(held.len(), usize::from(kept), "with URLs: {held:?}");
    });
    let done = texts.1.borrow();
    let moved = |text| done.texts.contains(text);
    let mut earlier = earlier.iter().filter(|(_, url)| !url.is_empty());
    assert!(earlier.any(moved), "nothing was moved");
    let is_erase = |(_, bytes): &(u64, u64)| *bytes == 4_096;
    assert!(done.operations.iter().any(is_erase), "nothing was erased");
}

/// What the log says of pages is compared with what they have earned ten minutes after the start.
#[test]
fn a_restart_knows_what_a_page_has_earned_since_it_was_found() {
    const PATHS: [&str; 8] = ["/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"];
    let texts = TextFlash::blank();
    let site = |hit: &Hit| match hit.target.as_str() {
        _ if hit.host != "h0.test" => Answer::none(),
        "/" => {
            let links = PATHS.map(|path| format!("<a href={path}>x</a>"));
            Answer::page(&links.concat())
        }
        // After a while, most others link to it.
        path @ ("/b" | "/c" | "/d" | "/e" | "/f") if hit.at >= Duration::from_secs(100) => {
            Answer::page(&format!("{path}<a href=/a>a</a>"))
        }
        path if PATHS.contains(&path) => Answer::page(&format!("{path}<a href=/>front</a>")),
        _ => Answer::none(),
    };
    // At the beginning, or at the end, of a run.
    let earned = |probe: &WorldProbe<'_, '_>| collection(probe).get("http://h0.test/a").copied();
    let [mut first, mut last] = [None, None];
    run_on(site, &texts, 605, |probe| {
        last = earned(probe);
        first = first.or(last);
    });
    let (first, last) = first.zip(last).expect("it is kept");
    // Little more than twice as much.
    assert!((0.9..1.1).contains(&first), "{first}");
    assert!((2.2..2.8).contains(&last), "{last}");
    let mut after = None;
    run_on(site, &texts.switched_on(), 3, |probe| {
        after = after.or(earned(probe));
    });
    let after = after.expect("it is kept");
    assert!((after / last - 1.0).abs() < 0.25, "{last}, then {after}");
}
