//! Hosts of the list whose pages are redirects to other hosts of the list: what happens there does
//! these no harm.

use dunlin::time::Duration;

use super::no_robots;
use crate::world::{Answer, Hit, Setting};

const GAP: Duration = Duration::from_secs(2);
const OWN: [&str; 8] = ["/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7"];

/// Visits in an hour of the pages of an honest host, beside one whose pages lead there. What comes
/// of that is for `site` to say.
fn visits_beside(slots: usize, bad: &[&'static str], site: fn(&Hit) -> Option<Answer>) -> usize {
    let (world, _) = Setting {
        https: true,
        slots,
        seconds: 3_600,
        ..Setting::of(GAP, &[("bad.test", bad), ("good.test", &OWN)])
    }
    .run(move |hit| {
        let answer = site(hit).or_else(|| no_robots(hit));
        // All pages are new each time, and asked for as often as the gap allows.
        answer.unwrap_or_else(|| Answer::page(&format!("{:?}", hit.at)))
    });
    let led = world.hits.borrow();
    let led = led.iter().filter(|hit| hit.host == "good.test");
    let (own, led): (Vec<&Hit>, Vec<&Hit>) = led.partition(|hit| OWN.contains(&&*hit.target));
    assert!(led.len() > 2, "it was led there {} times", led.len());
    own.len()
}

fn led_to(hit: &Hit, url: &str) -> Option<Answer> {
    let is_page = hit.host == "bad.test" && hit.target != "/robots.txt";
    is_page.then(|| Answer::moved(302, url))
}

#[test]
fn a_host_is_not_left_alone_because_pages_of_others_fail_there() {
    let alone = visits_beside(3, &["/page"], |hit| led_to(hit, "http://good.test/fine"));
    assert!(alone > 1_000, "{alone} visits");
    type Site = fn(&Hit) -> Option<Answer>;
    let sites: [(&str, &[&'static str], Site); 4] = [
        ("nobody listens for https", &["/page"], |hit| {
            let silence = hit.https.then(Answer::silence);
            silence.or_else(|| led_to(hit, "https://good.test/x"))
        }),
        ("its rules are broken by https", &["/page"], |hit| {
            let broken = hit.https.then(|| Answer::new(503, "", ""));
            broken.or_else(|| led_to(hit, "https://good.test/x"))
        }),
        ("a page is busy", &["/page"], |hit| {
            let is_busy = hit.target == "/busy";
            let busy = is_busy.then(|| Answer::new(503, "Retry-After: 0\r\n", ""));
            busy.or_else(|| led_to(hit, "http://good.test/busy"))
        }),
        (
            "three pages fail now and then",
            &["/1", "/2", "/3"],
            |hit| {
                // Each is well at every other visit, so that it may fail again.
                let is_well = hit.at.as_secs() / 100 % 2 == 0;
                let broken = (hit.target == "/broken").then(|| Answer::new(500, "", ""));
                let led = || led_to(hit, "http://good.test/broken").filter(|_| !is_well);
                broken.or_else(led)
            },
        ),
    ];
    for (how, bad, site) in sites {
        let visits = visits_beside(3, bad, site);
        println!("{how}: {visits} visits, {alone} beside a page that is well");
        assert!(
            visits * 10 >= alone * 8,
            "{how}: {visits} visits, {alone} beside a page that is well"
        );
    }
}

#[test]
fn a_host_is_left_alone_if_it_asks_for_that_whosever_page_it_is() {
    let visits = visits_beside(3, &["/page"], |hit| {
        let is_busy = hit.target == "/busy";
        let busy = is_busy.then(|| Answer::new(503, "Retry-After: 600\r\n", ""));
        busy.or_else(|| led_to(hit, "http://good.test/busy"))
    });
    assert!(visits < 900, "{visits} visits");
}

#[test]
fn a_host_is_not_slow_because_pages_of_others_take_long_there() {
    let visits = visits_beside(1, &["/page"], |hit| {
        let long = (hit.target == "/long").then(|| late(27));
        long.or_else(|| led_to(hit, "http://good.test/long"))
    });
    assert!(visits > 900, "{visits} visits");
}

/// A page that is answered after this time.
fn late(seconds: u64) -> Answer {
    Answer {
        after: Duration::from_secs(seconds),
        ..Answer::page("at last")
    }
}

const LED: [&str; 8] = ["/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"];

#[test]
fn a_gate_is_not_held_by_pages_of_others_that_take_long_there() {
    let alone = visits_beside(3, &LED, |hit| led_to(hit, "http://good.test/fine"));
    type Site = fn(&Hit) -> Option<Answer>;
    let sites: [(&str, Site); 2] = [
        ("they are answered after 27 s", |hit| {
            let long = (hit.target == "/long").then(|| late(27));
            long.or_else(|| led_to(hit, "http://good.test/long"))
        }),
        ("they are answered after the deadline", |hit| {
            let long = (hit.target == "/long").then(|| late(600));
            long.or_else(|| led_to(hit, "http://good.test/long"))
        }),
    ];
    for (how, site) in sites {
        let visits = visits_beside(3, &LED, site);
        println!("{how}: {visits} visits, {alone} beside pages that are well");
        assert!(
            visits * 10 >= alone * 8,
            "{how}: {visits} visits, {alone} beside pages that are well"
        );
    }
}

/// Hosts whose pages take long where they lead them do not shut out those that others lead there.
#[test]
fn pages_that_are_led_to_a_host_get_there_beside_others_that_take_long() {
    let arrivals = |long: bool| {
        let hosts: [(&str, &[&str]); 5] = [
            ("bad0.test", &LED),
            ("bad1.test", &LED),
            ("bad2.test", &LED),
            ("old.test", &["/"]),
            ("good.test", &OWN),
        ];
        let (world, _) = Setting {
            slots: 3,
            seconds: 3_600,
            ..Setting::of(GAP, &hosts)
        }
        .run(move |hit| match (&*hit.host, &*hit.target) {
            (_, "/robots.txt") => Answer::none(),
            ("old.test", _) => Answer::moved(302, "http://good.test/new"),
            ("good.test", "/long") if long => late(27),
            ("good.test", _) => Answer::page(&format!("{:?}", hit.at)),
            _ => Answer::moved(302, "http://good.test/long"),
        });
        world.asked("good.test", "/new").len()
    };
    let [alone, beside] = [false, true].map(arrivals);
    println!("{beside} arrivals, {alone} beside pages that are well");
    assert!(beside * 10 >= alone * 8, "{beside}, {alone}");
}

/// A page that others have led here and that is left alone has no part in the plan of the gate.
#[test]
fn a_page_that_waits_after_a_failure_takes_no_time_of_the_host_that_it_was_led_to() {
    let (world, _) = Setting {
        https: true,
        seconds: 3_600,
        ..Setting::of(GAP, &[("bad.test", &["/page"]), ("good.test", &OWN[..2])])
    }
    .run(|hit| {
        let silence = hit.https.then(Answer::silence);
        let led = || led_to(hit, "https://good.test/x");
        let other = || no_robots(hit);
        let page = || Answer::page(&format!("{:?}", hit.at));
        silence.or_else(led).or_else(other).unwrap_or_else(page)
    });
    let visits: usize = OWN
        .iter()
        .map(|page| world.asked("good.test", page).len())
        .sum();
    assert!(visits > 1_700, "{visits} visits, 1,800 gaps");
}

#[test]
fn a_gap_that_the_rules_of_http_ask_for_is_not_shortened_by_those_of_https() {
    let visits = visits_beside(3, &["/page"], |hit| match (hit.https, &*hit.host) {
        (false, "good.test") if hit.target == "/robots.txt" => {
            Some(Answer::page("User-agent: *\nCrawl-delay: 10\n"))
        }
        _ => led_to(hit, "https://good.test/x"),
    });
    assert!((200..=365).contains(&visits), "{visits} visits");
}
