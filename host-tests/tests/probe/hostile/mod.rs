//! Hosts that mean harm: what they may not do to other hosts, to the owner's network, and to
//! themselves. Here: whose gate and whose rules a request has, however a host is spelled and
//! whatever it answers.

mod clock;
mod earlier;
mod found;
mod listed;
mod moves;
mod private;
mod slow;
mod strangers;

use dunlin::time::Duration;

use crate::world::{Answer, Hit, Setting, World};

const GAP: Duration = Duration::from_secs(10);

fn no_robots(hit: &Hit) -> Option<Answer> {
    (hit.target == "/robots.txt").then(Answer::none)
}

/// The shortest time between two requests to any of these hosts.
fn shortest_gap(world: &World, hosts: &[&str]) -> Duration {
    let hits = world.hits.borrow();
    let asked = hits.iter().filter(|hit| hosts.contains(&hit.host.as_str()));
    let times: Vec<Duration> = asked.map(|hit| hit.at).collect();
    assert!(
        times.len() > 3,
        "{hosts:?} were asked {} times",
        times.len()
    );
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.min().unwrap_or(Duration::ZERO)
}

#[test]
fn the_rules_of_http_say_nothing_of_https() {
    let pages = &[
        "http://a.test/open",
        "https://a.test/closed",
        "https://a.test/open",
    ];
    let (world, _) = Setting {
        https: true,
        ..Setting::of(GAP, &[("a.test", pages)])
    }
    .run(|hit| match (hit.https, hit.target.as_str()) {
        (false, "/robots.txt") => Answer::none(),
        (true, "/robots.txt") => Answer::page("User-agent: *\nDisallow: /closed\n"),
        _ => Answer::page("here"),
    });
    assert!(world.asked("a.test", "/closed").is_empty());
    let open = world.asked("a.test", "/open");
    let secure = open.iter().filter(|hit| hit.https).count();
    assert!(secure > 5 && open.len() - secure > 5, "both are read");
    assert_eq!(
        world.asked("a.test", "/robots.txt").len(),
        2,
        "one file each"
    );
    assert!(shortest_gap(&world, &["a.test"]) >= GAP);
}

#[test]
fn one_server_has_one_gate_however_it_is_spelled() {
    let hosts: [(&'static str, &[&'static str]); 2] = [
        ("https://a.test", &["/1", "/2"]),
        ("b.test", &["/3", "/4", "/5"]),
    ];
    let (world, _) = Setting {
        https: true,
        seconds: 3_600,
        ..Setting::of(GAP, &hosts)
    }
    .run(|hit| {
        no_robots(hit).unwrap_or_else(|| match (hit.host.as_str(), hit.target.as_str()) {
            ("b.test", "/3") => Answer::moved(302, "http://a.test/x"),
            ("b.test", "/4") => Answer::moved(302, "http://a.test./x"),
            ("b.test", "/5") => Answer::moved(302, "https://A.TEST/x"),
            _ => Answer::page("here"),
        })
    });
    for name in ["a.test", "a.test.", "A.TEST"] {
        assert!(
            !world.asked(name, "/x").is_empty(),
            "{name} was never reached"
        );
    }
    let gap = shortest_gap(&world, &["a.test", "a.test.", "A.TEST"]);
    assert!(gap >= GAP, "{gap:?}");
}

#[test]
fn a_request_that_met_a_dead_connection_waits_its_gap() {
    let gap = Duration::from_secs(2);
    let last = std::cell::Cell::new(usize::MAX);
    let (world, _) = Setting::of(gap, &[("a.test", &["/1", "/2"])]).run(move |hit| {
        // The second request on a connection is seen, and not answered.
        if last.replace(hit.connection) == hit.connection {
            return Answer::silence();
        }
        no_robots(hit).unwrap_or_else(|| Answer::page("here"))
    });
    assert!(world.asked("a.test", "/1").len() > 20);
    assert!(shortest_gap(&world, &["a.test"]) >= gap);
}

#[test]
fn a_robots_txt_that_says_not_now_for_no_time_backs_off_its_host() {
    for (status, headers) in [
        (503, "Retry-After: 0\r\n"),
        (200, "Content-Encoding: gzip\r\n"),
    ] {
        let setting = Setting::of(Duration::from_secs(1), &[("a.test", &["/1", "/2"])]);
        let (world, _) = setting.run(move |hit| match hit.target.as_str() {
            "/robots.txt" => Answer::new(status, headers, "User-agent: *\nAllow: /\n"),
            _ => Answer::page("here"),
        });
        let asked = world.hits.borrow().len();
        assert!(
            (1..=2).contains(&asked),
            "{status}: asked {asked} times in ten minutes"
        );
        assert!(world.asked("a.test", "/1").is_empty(), "{status}");
    }
}

#[test]
fn a_broken_server_is_left_alone_for_as_long_as_it_asks() {
    let setting = Setting::of(Duration::from_secs(1), &[("a.test", &["/1"])]);
    let (world, _) = setting
        .run(|hit| no_robots(hit).unwrap_or_else(|| Answer::new(500, "Retry-After: 250\r\n", "")));
    let asked = world.asked("a.test", "/1");
    assert!(asked.len() > 1 && world.shortest_gap("a.test") >= Duration::from_secs(1));
    let gaps = asked.windows(2).map(|pair| pair[1].at - pair[0].at);
    assert!(gaps.min() >= Some(Duration::from_secs(250)));
}
