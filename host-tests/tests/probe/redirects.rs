//! Redirects of pages and of robots.txt: followed politely, remembered, and never into a private network.

use dunlin::fetch::RedirectError;
use dunlin::image::Gateway;
use dunlin::probe::{Event, Failure};
use dunlin::time::Duration;

use crate::world::{Answer, Hit, Setting};

const GAP: Duration = Duration::from_secs(10);

fn no_robots(hit: &Hit) -> Option<Answer> {
    (hit.target == "/robots.txt").then(Answer::none)
}

#[test]
fn a_robots_txt_is_followed_through_five_redirects_and_obeyed() {
    let setting = Setting::of(GAP, &[("a.test", &["/open", "/closed"])]);
    let (world, totals) = setting.run(|hit| match (hit.host.as_str(), hit.target.as_str()) {
        ("a.test", "/robots.txt") => Answer::moved(301, "http://b.test/1"),
        ("b.test", "/1") => Answer::moved(302, "http://b.test/2"),
        ("b.test", "/2") => Answer::moved(307, "/3"),
        ("b.test", "/3") => Answer::moved(308, "http://c.test/4"),
        ("c.test", "/4") => Answer::moved(303, "/robots"),
        ("c.test", "/robots") => Answer::page("User-agent: *\nDisallow: /closed\n"),
        _ => Answer::page("here"),
    });
    assert!(world.asked("a.test", "/open").len() > 5 && world.asked("a.test", "/closed").is_empty());
    assert_eq!(world.asked("a.test", "/robots.txt").len(), 1, "the answer holds for a day");
    assert!(totals.denied > 0);
    for host in ["a.test", "b.test", "c.test"] {
        assert!(world.shortest_gap(host) >= GAP, "{host}");
    }
}

#[test]
fn a_robots_txt_beyond_five_redirects_counts_as_none() {
    let setting = Setting::of(GAP, &[("a.test", &["/open"])]);
    let (world, _) = setting.run(|hit| match hit.target.as_str() {
        "/robots.txt" => Answer::moved(301, "/r1"),
        "/r5" => Answer::moved(301, "/r6"),
        path if path.starts_with("/r") => {
            let number: u32 = path[2..].parse().expect("a number");
            Answer::moved(301, &format!("/r{}", number + 1))
        }
        _ => Answer::page("here"),
    });
    assert!(world.asked("a.test", "/r6").is_empty() && !world.asked("a.test", "/r5").is_empty());
    assert!(world.asked("a.test", "/open").len() > 5);
}

#[test]
fn a_robots_txt_in_a_circle_counts_as_none() {
    let setting = Setting::of(GAP, &[("a.test", &["/open"])]);
    let (world, _) = setting.run(|hit| match hit.target.as_str() {
        "/robots.txt" => Answer::moved(301, "/r1"),
        "/r1" => Answer::moved(301, "/robots.txt"),
        _ => Answer::page("here"),
    });
    assert!(world.asked("a.test", "/open").len() > 5);
}

#[test]
fn rules_that_cannot_be_read_keep_a_page_out_of_reach() {
    for (target, name) in [("https://a.test/robots.txt", "TLS"), ("http://inside.test/robots.txt", "inside")]
    {
        let setting = Setting::of(GAP, &[("a.test", &["/open"])]);
        let (world, _) = setting.run(move |hit| match (hit.host.as_str(), hit.target.as_str()) {
            ("a.test", "/robots.txt") => Answer::moved(301, target),
            _ => Answer::page("here"),
        });
        assert!(world.asked("a.test", "/open").is_empty(), "{name}: rules exist, and nobody has read them");
        assert!(world.hits.borrow().iter().all(|hit| hit.host == "a.test"), "{name}");
        let said = |(_, event): &(Duration, Event)| {
            matches!(
                event,
                Event::Astray { why: Some(RedirectError::NeedsTls), .. }
                    | Event::Failed { why: Failure::PrivateAddress, .. }
            )
        };
        assert!(world.events.borrow().iter().any(said), "{name}");
    }
}

#[test]
fn the_rules_of_the_place_a_redirect_leads_to_are_asked_for_and_obeyed() {
    let setting = Setting::of(GAP, &[("a.test", &["/moved", "/denied"])]);
    let (world, _) = setting.run(|hit| match (hit.host.as_str(), hit.target.as_str()) {
        ("a.test", "/robots.txt") => Answer::none(),
        ("a.test", path) => Answer::moved(302, &format!("http://b.test{path}")),
        ("b.test", "/robots.txt") => Answer::moved(301, "/rules"),
        ("b.test", "/rules") => Answer::page("User-agent: dunlin\nDisallow: /denied\n"),
        _ => Answer::page("here"),
    });
    assert!(!world.asked("b.test", "/moved").is_empty() && world.asked("b.test", "/denied").is_empty());
    assert!(world.shortest_gap("a.test") >= GAP && world.shortest_gap("b.test") >= GAP);
}

#[test]
fn redirects_pass_the_gate_of_the_host_they_lead_to() {
    // Three hosts send all their pages to one of the list, and to one that is not.
    let hosts: [(&'static str, &[&'static str]); 4] = [
        ("a.test", &["/1", "/2"]),
        ("b.test", &["/3", "/4"]),
        ("c.test", &["/5", "/6"]),
        ("target.test", &["/own"]),
    ];
    let (world, _) = Setting { seconds: 3_600, ..Setting::of(GAP, &hosts) }.run(|hit| {
        no_robots(hit).unwrap_or_else(|| match (hit.host.as_str(), hit.target.as_str()) {
            ("target.test" | "stranger.test", _) => Answer::page("here"),
            (_, path @ ("/1" | "/3" | "/5")) => Answer::moved(302, &format!("http://target.test{path}")),
            (_, path) => Answer::moved(302, &format!("http://stranger.test{path}")),
        })
    });
    for host in ["a.test", "b.test", "c.test", "target.test", "stranger.test"] {
        assert!(world.shortest_gap(host) >= GAP, "{host}: {:?}", world.shortest_gap(host));
    }
    for (host, path) in [("target.test", "/1"), ("target.test", "/5"), ("stranger.test", "/2")] {
        assert!(!world.asked(host, path).is_empty(), "{host}{path} was never reached");
    }
    assert!(world.asked("target.test", "/own").len() > 3, "its own pages are not forgotten for that");
}

#[test]
fn a_page_that_moved_for_good_is_asked_for_at_its_new_place() {
    let setting = Setting::of(GAP, &[("a.test", &["/old", "/still"])]);
    let (world, _) = setting.run(|hit| match (hit.host.as_str(), hit.target.as_str()) {
        (_, "/robots.txt") => Answer::none(),
        ("a.test", "/old") => Answer::moved(301, "http://b.test/between"),
        ("b.test", "/between") => Answer::moved(308, "http://b.test/new"),
        _ => Answer::page("here"),
    });
    assert_eq!(world.asked("a.test", "/old").len(), 1);
    assert_eq!(world.asked("b.test", "/between").len(), 1);
    assert!(world.asked("b.test", "/new").len() > 10);
    assert_eq!(*world.moves.borrow(), [(0, Some("http://b.test/new".to_owned()))]);
    assert_eq!(
        world.resolved.borrow().iter().filter(|name| *name == "b.test").count(),
        1,
        "one name, one query"
    );
}

#[test]
fn a_page_that_moved_for_a_while_is_asked_for_where_the_list_says() {
    let setting = Setting::of(GAP, &[("a.test", &["/old"])]);
    let (world, _) = setting.run(|hit| {
        no_robots(hit).unwrap_or_else(|| match hit.target.as_str() {
            "/old" => Answer::moved(302, "/new"),
            _ => Answer::page("here"),
        })
    });
    let (old, new) = (world.asked("a.test", "/old").len(), world.asked("a.test", "/new").len());
    assert!(new > 3 && old - new <= 1, "{old}, {new}");
    assert!(world.moves.borrow().is_empty());
}

#[test]
fn a_new_place_that_is_gone_is_forgotten() {
    let site = |hit: &Hit| {
        no_robots(hit).unwrap_or_else(|| match (hit.target.as_str(), hit.at.as_secs()) {
            ("/old", ..200) => Answer::moved(301, "/new"),
            ("/new", 200..) => Answer::none(),
            _ => Answer::page("here"),
        })
    };
    let (world, _) = Setting::of(GAP, &[("a.test", &["/old"])]).run(site);
    let later = world.asked("a.test", "/old").iter().filter(|hit| hit.at.as_secs() >= 200).count();
    assert!(later > 3, "asked for {later} times at its old place");
    assert_eq!(world.moves.borrow().last(), Some(&(0, None)));
}

#[test]
fn a_move_is_remembered_over_a_restart() {
    let setting =
        Setting { moved: vec![(0, "http://b.test/new")], ..Setting::of(GAP, &[("a.test", &["/old"])]) };
    let (world, _) = setting.run(|hit| no_robots(hit).unwrap_or_else(|| Answer::page("here")));
    assert!(world.asked("a.test", "/old").is_empty());
    assert!(world.asked("b.test", "/new").len() > 3);
}

#[test]
fn a_remembered_place_is_no_way_into_a_private_network() {
    let setting =
        Setting { moved: vec![(0, "http://inside.test/x")], ..Setting::of(GAP, &[("a.test", &["/old"])]) };
    let (world, _) = setting.run(|hit| no_robots(hit).unwrap_or_else(|| Answer::page("here")));
    assert!(world.hits.borrow().iter().all(|hit| hit.host == "a.test"));
    assert!(!world.asked("a.test", "/old").is_empty(), "it is looked for where the list says");
}

#[test]
fn the_rules_of_a_new_place_are_asked_for_every_day() {
    let setting =
        Setting { seconds: 60 * 3_600, ..Setting::of(Duration::from_secs(600), &[("a.test", &["/old"])]) };
    let (world, _) =
        setting.run(|hit| match (hit.host.as_str(), hit.target.as_str(), hit.at.as_secs() / 3_600) {
            ("b.test", "/robots.txt", ..30) => Answer::page("User-agent: *\nDisallow: /secret\n"),
            ("b.test", "/robots.txt", _) => Answer::page("User-agent: *\nDisallow: /\n"),
            (_, "/robots.txt", _) => Answer::none(),
            ("a.test", ..) => Answer::moved(301, "http://b.test/new"),
            _ => Answer::page("here"),
        });
    let robots = world.asked("b.test", "/robots.txt");
    assert!(robots.windows(2).all(|pair| pair[1].at - pair[0].at <= Duration::HOUR * 25), "{robots:?}");
    let last = world.asked("b.test", "/new").last().map(|hit| hit.at.as_secs() / 3_600);
    assert!(last.is_some_and(|hour| (24..49).contains(&hour)), "asked for in hour {last:?}");
}

#[test]
fn more_redirects_than_there_is_room_for_do_no_harm() {
    let paths: [&'static str; 8] = ["/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8"];
    for detour_bytes in [0, 100, 300] {
        let setting = Setting {
            detour_bytes,
            seconds: 3_600,
            ..Setting::of(GAP, &[("a.test", &paths), ("b.test", &paths), ("c.test", &paths)])
        };
        let (world, _) = setting.run(|hit| {
            no_robots(hit).unwrap_or_else(|| match hit.target.as_str() {
                new if new.starts_with("/new") => Answer::page("here"),
                old => Answer::moved(301, &format!("/new/of/a/certain/length{old}")),
            })
        });
        let reached = world.hits.borrow().iter().filter(|hit| hit.target.starts_with("/new")).count();
        assert_eq!(reached > 100, detour_bytes > 0, "{reached} of {}", world.hits.borrow().len());
        assert!(world.shortest_gap("a.test") >= GAP);
    }
}

#[test]
fn https_pages_go_through_a_gateway_and_redirects_to_them_too() {
    let gateway = Some(Gateway { host: "gateway.test", port: 3128 });
    let setting =
        Setting { gateway, ..Setting::of(GAP, &[("https://a.test", &["/x"]), ("b.test", &["/moved"])]) };
    let (world, _) = setting.run(|hit| match hit.target.as_str() {
        target if target.ends_with("/robots.txt") => Answer::none(),
        "/moved" => Answer::moved(301, "https://c.test/new"),
        _ => Answer::page("here"),
    });
    assert!(!world.asked("a.test", "https://a.test/x").is_empty(), "{:?}", world.hits.borrow());
    assert!(!world.asked("c.test", "https://c.test/new").is_empty());
    assert!(!world.asked("b.test", "/moved").is_empty(), "http goes its own way");
    let mut resolved = world.resolved.borrow().clone();
    resolved.sort();
    resolved.dedup();
    assert_eq!(resolved, ["b.test", "gateway.test"]);
}
