//! What a firmware of one's own can do besides: pages that come and go, hints, bodies.

use dunlin::catalog::Page;
use dunlin::learn::hints::Hint;
use dunlin::probe::{AddError, Event};
use dunlin::store::Store;
use dunlin::time::{Duration, Instant};
use host_tests::flash::Flash;

use crate::world::{Answer, Hit, Keeper, Keeping, Setting, World, WorldProbe};

const GAP: Duration = Duration::from_secs(2);
type NoStore = Keeper<'static, Flash<3, 1024, 4>>;

fn two_hosts() -> Setting {
    Setting {
        seconds: 300,
        additions: 2,
        ..Setting::of(
            GAP,
            &[("a.test", &["/one", "/two"]), ("b.test", &["/three"])],
        )
    }
}

fn served(hit: &Hit) -> Answer {
    match hit.target.as_str() {
        "/robots.txt" => Answer::page("User-agent: *\nDisallow: /private\n"),
        path => Answer::page(&format!("this is {path}")),
    }
}

/// Runs it, with something that is done once, after so many seconds.
fn run_and(setting: &Setting, seconds: u64, mut act: impl FnMut(&WorldProbe<'_, '_>)) -> World {
    let mut done = false;
    let look = |world: &World, probe: &WorldProbe<'_, '_>| {
        if !done && world.elapsed() >= Duration::from_secs(seconds) {
            done = true;
            act(probe);
        }
    };
    let (world, _) = setting.run_keeping(None::<NoStore>, served, look);
    world
}

#[test]
fn an_added_page_is_visited_like_any_other() {
    let mut number = None;
    let world = run_and(&two_hosts(), 60, |probe| {
        number = Some(probe.additions().add(Page::new(7, "http://b.test/new")));
    });
    // Behind the three of the list, at the host that its URL names.
    assert_eq!(number, Some(Ok(3)));
    let visits = world.asked("b.test", "/new");
    assert!(visits.len() > 5, "{} visits", visits.len());
    assert!(visits.iter().all(|hit| hit.at >= Duration::from_secs(60)));
    assert!(world.shortest_gap("b.test") >= GAP);
    // Each robots.txt says what it says of all pages: at most once more for the new one.
    assert!(world.asked("b.test", "/robots.txt").len() <= 2);
}

#[test]
fn robots_rules_hold_for_added_pages() {
    let world = run_and(&two_hosts(), 10, |probe| {
        probe
            .additions()
            .add(Page::new(0, "http://a.test/private/x"))
            .expect("room");
    });
    assert_eq!(world.asked("a.test", "/private/x"), []);
    let denied = |(_, event): &(Duration, Event)| matches!(event, Event::Denied { page: 3 });
    assert!(world.events.borrow().iter().any(denied));
}

#[test]
fn pages_that_were_removed_are_not_asked_for() {
    // One of the list goes, and its number is given to a new one.
    let mut taken = None;
    let world = run_and(&two_hosts(), 100, |probe| {
        // Whichever is in flight stays.
        let removed = [0, 1]
            .into_iter()
            .find(|page| probe.additions().remove(*page).is_ok());
        let added = probe.additions().add(Page::new(0, "http://a.test/instead"));
        taken = Some((removed, added));
    });
    let Some((Some(removed), Ok(added))) = taken else {
        panic!("{taken:?}");
    };
    assert_eq!(removed, added, "the place is used again");
    let path = ["/one", "/two"][usize::from(removed)];
    let late = |hit: &Hit| hit.at > Duration::from_secs(102);
    assert!(!world.asked("a.test", path).iter().any(late), "{path}");
    assert!(
        world
            .asked("a.test", "/instead")
            .iter()
            .filter(|hit| late(hit))
            .count()
            > 5
    );
}

#[test]
fn no_more_is_added_than_the_scheduler_has_room_for() {
    let setting = Setting {
        scheduled: Some(4),
        ..two_hosts()
    };
    run_and(&setting, 30, |probe| {
        let add = |url| probe.additions().add(Page::new(0, url));
        assert_eq!(add("http://a.test/x"), Ok(3));
        assert_eq!(add("http://a.test/y"), Err(AddError::Full));
    });
}

#[test]
fn what_cannot_be_added_is_said() {
    run_and(&two_hosts(), 30, |probe| {
        let add = |url| probe.additions().add(Page::new(0, url));
        assert_eq!(add("ftp://a.test/"), Err(AddError::Url));
        assert_eq!(add("http://c.test/"), Err(AddError::UnknownHost));
        assert_eq!(add("http://a.test:81/"), Err(AddError::UnknownHost));
        let weightless = Page {
            weight: 0.0,
            ..Page::new(0, "http://a.test/x")
        };
        assert_eq!(probe.additions().add(weightless), Err(AddError::Settings));
        assert_eq!(add("http://a.test/x"), Ok(3));
        assert_eq!(add("http://a.test/y"), Ok(4));
        assert_eq!(add("http://a.test/z"), Err(AddError::Full));
        assert_eq!(probe.additions().remove(9), Err(AddError::Missing));
        assert_eq!(probe.additions().remove(4), Ok(()));
        assert_eq!(probe.additions().remove(4), Err(AddError::Missing));
        assert_eq!(add("http://a.test/z"), Ok(4));
    });
}

#[test]
fn a_hint_brings_a_page_forward() {
    // A dozen pages, of which one has a turn every six minutes.
    let eleven = [
        "/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/10",
    ];
    let quiet = Setting {
        rate: 0.1,
        per_day: Some(240.0),
        seconds: 10_800,
        ..Setting::of(GAP, &[("a.test", &eleven), ("b.test", &["/three"])])
    };
    const HOUR: Duration = Duration::HOUR;
    let next = |world: &World| {
        let visits = world.asked("b.test", "/three");
        visits.iter().map(|hit| hit.at).find(|at| *at >= HOUR)
    };
    let usual = next(&run_and(&quiet, 3_600, |_| ())).expect("a visit");
    let hinted = run_and(&quiet, 3_600, |probe| {
        assert_eq!(probe.hint(11, Hint::push(Instant::ZERO + HOUR)), Ok(()));
        assert!(probe.hint(12, Hint::push(Instant::ZERO + HOUR)).is_err());
    });
    let hinted = next(&hinted).expect("a visit");
    assert!(hinted < usual, "{hinted:?} with a hint, {usual:?} without");
}

#[test]
fn the_board_is_shown_bodies_piece_by_piece() {
    let long: String = (0..400).map(|line| format!("line {line}\n")).collect();
    let body = long.clone();
    let setting = Setting {
        seconds: 20,
        ..Setting::of(GAP, &[("a.test", &["/long", "/gone"])])
    };
    let (world, _) = setting.run(move |hit| match hit.target.as_str() {
        "/robots.txt" => Answer::page("User-agent: *\n"),
        "/gone" => Answer::new(404, "", "nothing to see"),
        _ => Answer::page(&body),
    });
    let bodies = world.bodies.borrow();
    // Neither robots.txt nor error pages.
    assert!(bodies.iter().all(|(page, ..)| *page == 0));
    let end = bodies.iter().position(|(_, _, text)| text.is_empty());
    let end = end.expect("an end");
    let mut whole = String::new();
    for (_, offset, text) in &bodies[..end] {
        assert_eq!(*offset as usize, whole.len());
        whole += text;
    }
    assert!(end > 3, "in {end} pieces");
    assert_eq!(whole, long);
    // The next visit starts again.
    assert_eq!(bodies.get(end + 1).map(|piece| piece.1), Some(0));
}

/// The device's own record is written every 15 minutes, and says which list it was.
#[test]
fn a_page_in_the_place_of_another_does_not_make_another_list() {
    let setting = Setting {
        seconds: 1_000,
        ..two_hosts()
    };
    let mut store = Store::new(Flash::<3, 1024, 4>::blank());
    let mut exchanged = false;
    for run in 0..2 {
        let keeper = Keeper {
            store: &mut store,
            how: Keeping::AsItShould,
        };
        let look = |_: &World, probe: &WorldProbe<'_, '_>| {
            if !exchanged && probe.additions().remove(0).is_ok() {
                let added = probe.additions().add(Page::new(0, "http://a.test/instead"));
                assert_eq!(added, Ok(0));
                exchanged = true;
            }
        };
        let (world, _) = setting.run_keeping(Some(keeper), served, look);
        let events = world.events.borrow();
        let resumed = events.iter().find_map(|(_, event)| match event {
            Event::Resumed(resumed) => Some((resumed.hosts, resumed.other_list)),
            _ => None,
        });
        assert_eq!(resumed, Some((2 * run, false)), "run {run}");
        store = Store::new(store.flash().clone());
    }
    assert!(exchanged);
}
