//! Redirects of pages and of robots.txt: followed politely, remembered, and never into a private
//! network.

use std::net::IpAddr;

use dunlin::catalog::{Gateway, Name};
use dunlin::fetch::RedirectError;
use dunlin::probe::{Event, Failure};
use dunlin::store::Store;
use dunlin::time::Duration;
use host_tests::flash::Flash;

use crate::world::{Answer, Hit, Keeper, Keeping, Setting, World};

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
    assert!(
        world.asked("a.test", "/open").len() > 5 && world.asked("a.test", "/closed").is_empty()
    );
    assert_eq!(
        world.asked("a.test", "/robots.txt").len(),
        1,
        "the answer holds for a day"
    );
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
    for (target, name) in [
        ("https://a.test/robots.txt", "TLS"),
        ("http://inside.test/robots.txt", "inside"),
    ] {
        let setting = Setting::of(GAP, &[("a.test", &["/open"])]);
        let (world, _) = setting.run(move |hit| match (hit.host.as_str(), hit.target.as_str()) {
            ("a.test", "/robots.txt") => Answer::moved(301, target),
            _ => Answer::page("here"),
        });
        assert!(
            world.asked("a.test", "/open").is_empty(),
            "{name}: rules exist, and nobody has read them"
        );
        assert!(
            world.hits.borrow().iter().all(|hit| hit.host == "a.test"),
            "{name}"
        );
        let said = |(_, event): &(Duration, Event)| {
            matches!(
                event,
                Event::Astray {
                    why: Some(RedirectError::NeedsTls),
                    ..
                } | Event::Failed {
                    why: Failure::PrivateAddress,
                    ..
                }
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
    assert!(
        !world.asked("b.test", "/moved").is_empty() && world.asked("b.test", "/denied").is_empty()
    );
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
    let (world, _) = Setting {
        seconds: 3_600,
        ..Setting::of(GAP, &hosts)
    }
    .run(|hit| {
        no_robots(hit).unwrap_or_else(|| match (hit.host.as_str(), hit.target.as_str()) {
            ("target.test" | "stranger.test", _) => Answer::page("here"),
            (_, path @ ("/1" | "/3" | "/5")) => {
                Answer::moved(302, &format!("http://target.test{path}"))
            }
            (_, path) => Answer::moved(302, &format!("http://stranger.test{path}")),
        })
    });
    for host in ["a.test", "b.test", "c.test", "target.test", "stranger.test"] {
        assert!(
            world.shortest_gap(host) >= GAP,
            "{host}: {:?}",
            world.shortest_gap(host)
        );
    }
    for (host, path) in [
        ("target.test", "/1"),
        ("target.test", "/5"),
        ("stranger.test", "/2"),
    ] {
        assert!(
            !world.asked(host, path).is_empty(),
            "{host}{path} was never reached"
        );
    }
    assert!(
        world.asked("target.test", "/own").len() > 3,
        "its own pages are not forgotten for that"
    );
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
    assert_eq!(
        world
            .resolved
            .borrow()
            .iter()
            .filter(|name| *name == "b.test")
            .count(),
        1,
        "one name, one query"
    );
}

#[test]
fn a_page_that_moved_to_https_is_asked_for_there() {
    let setting = Setting {
        https: true,
        ..Setting::of(GAP, &[("a.test", &["/old"])])
    };
    let (world, _) = setting.run(|hit| match (hit.https, hit.target.as_str()) {
        (_, "/robots.txt") => Answer::none(),
        (false, "/old") => Answer::moved(301, "https://a.test/old"),
        _ => Answer::page("here"),
    });
    let asked = world.asked("a.test", "/old");
    let plain = asked.iter().filter(|hit| !hit.https).count();
    // Once, and again at every 32nd visit: a portal's redirect must not capture a page for good.
    let most = 1 + asked.len() / 32;
    assert!(
        (1..=most).contains(&plain),
        "{plain} times at its old place"
    );
    assert!(asked.len() > 11, "{asked:?}");
    assert!(world.shortest_gap("a.test") >= GAP, "one host, one gate");
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
    let old = world.asked("a.test", "/old").len();
    let new = world.asked("a.test", "/new").len();
    assert!(new > 3 && old - new <= 1, "{old}, {new}");
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
    let later = world
        .asked("a.test", "/old")
        .iter()
        .filter(|hit| hit.at.as_secs() >= 200)
        .count();
    assert!(later > 3, "asked for {later} times at its old place");
}

/// Where a probe keeps what it learns.
type Small = Flash<14, 1024, 4>;

/// Runs on what is in flash until the power goes, and says what is in flash then.
fn keeping(
    setting: &Setting,
    flash: Small,
    site: impl Fn(&Hit) -> Answer + 'static,
) -> (World, Small) {
    let mut store = Store::new(flash);
    let keeper = Keeper {
        store: &mut store,
        how: Keeping::AsItShould,
    };
    let (world, _) = setting.run_keeping(Some(keeper), site, |_, _| ());
    (world, store.flash().switched_on())
}

/// Runs until the power goes, and again with what is in flash: the second run's world.
fn restarted(setting: &Setting, site: impl Fn(&Hit) -> Answer + Copy + 'static) -> World {
    let (_, flash) = keeping(setting, Small::blank(), site);
    keeping(setting, flash, site).0
}

/// Too short a time for a move to be checked where the list says.
fn short() -> Setting {
    Setting {
        seconds: 280,
        ..Setting::of(GAP, &[("a.test", &["/old"])])
    }
}

#[test]
fn a_move_is_remembered_over_a_restart() {
    let world = restarted(&short(), |hit| {
        no_robots(hit).unwrap_or_else(|| match hit.host.as_str() {
            "a.test" => Answer::moved(301, "http://b.test/new"),
            _ => Answer::page("here"),
        })
    });
    let first = world.hits.borrow().first().map(|hit| hit.host.clone());
    assert_eq!(first.as_deref(), Some("b.test"), "it is asked for there");
    assert!(world.asked("b.test", "/new").len() > 3);
    let checks = world.asked("a.test", "/old").len();
    assert!(checks <= 1, "the list's own URL was asked {checks} times");
    assert!(
        !world.asked("b.test", "/robots.txt").is_empty(),
        "the rules of the place are asked for again"
    );
}

#[test]
fn a_move_that_was_forgotten_is_not_remembered_over_a_restart() {
    let site = |hit: &Hit| {
        no_robots(hit).unwrap_or_else(|| match (hit.target.as_str(), hit.at.as_secs()) {
            ("/old", ..200) => Answer::moved(301, "/new"),
            ("/new", 200..) => Answer::none(),
            _ => Answer::page("here"),
        })
    };
    let setting = Setting::of(GAP, &[("a.test", &["/old"])]);
    let (world, flash) = keeping(&setting, Small::blank(), site);
    assert!(!world.asked("a.test", "/new").is_empty());
    let (world, _) = keeping(&setting, flash, |hit| {
        no_robots(hit).unwrap_or_else(|| Answer::page("here"))
    });
    assert!(world.asked("a.test", "/new").is_empty() && world.asked("a.test", "/old").len() > 3);
}

#[test]
fn a_target_that_is_too_long_to_be_stored_is_found_again_by_one_request() {
    let world = restarted(&short(), |hit| {
        no_robots(hit).unwrap_or_else(|| match hit.target.as_str() {
            "/old" => Answer::moved(301, &format!("/{}", "long".repeat(20))),
            _ => Answer::page("here"),
        })
    });
    assert_eq!(world.asked("a.test", "/old").len(), 1);
    assert!(
        world
            .asked("a.test", &format!("/{}", "long".repeat(20)))
            .len()
            > 3
    );
}

#[test]
fn a_remembered_place_is_no_way_into_a_private_network() {
    // When it was learnt, the owner had named the host; now nobody does.
    let named = vec![Name {
        host: "inside.test",
        address: [10, 0, 0, 7],
    }];
    let setting = Setting {
        names: named,
        ..Setting::of(GAP, &[("a.test", &["/old"])])
    };
    let site = |hit: &Hit| {
        no_robots(hit).unwrap_or_else(|| match hit.host.as_str() {
            "a.test" => Answer::moved(301, "http://inside.test/x"),
            _ => Answer::page("here"),
        })
    };
    let (world, flash) = keeping(&setting, Small::blank(), site);
    assert!(
        world.asked("inside.test", "/x").len() > 3,
        "the owner has named it"
    );
    let setting = Setting {
        names: Vec::new(),
        ..setting
    };
    let (world, _) = keeping(&setting, flash, |hit| {
        no_robots(hit).unwrap_or_else(|| Answer::page("here"))
    });
    assert!(world.hits.borrow().iter().all(|hit| hit.host == "a.test"));
    assert!(
        !world.asked("a.test", "/old").is_empty(),
        "it is looked for where the list says"
    );
}

/// Loopback, private and link-local addresses of IPv6, and those of IPv4 in its clothes: refused as
/// they are resolved, and as they are written.
#[test]
fn redirects_into_a_private_ipv6_network_are_refused() {
    let names = [
        "loopback6.test",
        "mapped.test",
        "unique.test",
        "unique2.test",
        "link.test",
    ];
    let literals = [
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a00:1]",
        "[fd00::1]",
        "[fe80::1]",
        "[::]",
        "[64:ff9b::a00:1]",
    ];
    for inside in names.into_iter().chain(literals) {
        let setting = Setting::of(GAP, &[("a.test", &["/x"])]);
        let (world, totals) = setting.run(move |hit| {
            no_robots(hit).unwrap_or_else(|| Answer::moved(302, &format!("http://{inside}/secret")))
        });
        assert!(
            world.hits.borrow().iter().all(|hit| hit.host == "a.test"),
            "{inside}"
        );
        let refused = |(_, event): &(Duration, Event)| {
            matches!(
                event,
                Event::Failed {
                    why: Failure::PrivateAddress,
                    ..
                }
            )
        };
        assert!(
            world.events.borrow().iter().any(refused) && totals.errors > 0,
            "{inside}"
        );
    }
}

#[test]
fn ipv6_is_used_where_the_network_has_it_and_named_where_it_has_not() {
    let run = |only_ipv4: bool| {
        let hosts: [(&'static str, &[&'static str]); 3] = [
            ("six.test", &["/x"]),
            ("[2606:2800:21f:cb07::2]", &["/y"]),
            ("a.test", &["/moved"]),
        ];
        Setting {
            only_ipv4,
            ..Setting::of(GAP, &hosts)
        }
        .run(|hit| {
            no_robots(hit).unwrap_or_else(|| match hit.target.as_str() {
                "/moved" => Answer::moved(302, "http://[2606:2800:21f:cb07::3]:8080/z"),
                _ => Answer::page("here"),
            })
        })
    };
    let (world, totals) = run(false);
    assert_eq!(totals.errors, 0);
    assert!(world.asked("six.test", "/x").len() > 3);
    assert!(world.asked("[2606:2800:21f:cb07::2]", "/y").len() > 3);
    assert!(world.asked("[2606:2800:21f:cb07::3]:8080", "/z").len() > 3);
    assert_eq!(world.resolved.borrow().len(), 2, "an address is no name");
    let (world, _) = run(true);
    assert!(world.hits.borrow().iter().all(|hit| hit.host == "a.test"));
    assert!(
        world
            .connected
            .borrow()
            .iter()
            .all(|address| address.is_ipv4())
    );
    let events = world.events.borrow();
    let whys: Vec<(u16, Failure)> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Failed { page, why, .. } => Some((*page, *why)),
            _ => None,
        })
        .collect();
    assert!(
        whys.iter().all(|(_, why)| *why == Failure::NoIpv6),
        "{whys:?}"
    );
    assert!(
        (0..3).all(|page| whys.iter().any(|(failed, _)| *failed == page)),
        "{whys:?}"
    );
}

#[test]
fn the_rules_of_a_new_place_are_asked_for_every_day() {
    let setting = Setting {
        seconds: 60 * 3_600,
        ..Setting::of(Duration::from_secs(600), &[("a.test", &["/old"])])
    };
    let (world, _) = setting.run(|hit| {
        match (
            hit.host.as_str(),
            hit.target.as_str(),
            hit.at.as_secs() / 3_600,
        ) {
            ("b.test", "/robots.txt", ..30) => Answer::page("User-agent: *\nDisallow: /secret\n"),
            ("b.test", "/robots.txt", _) => Answer::page("User-agent: *\nDisallow: /\n"),
            (_, "/robots.txt", _) => Answer::none(),
            ("a.test", ..) => Answer::moved(301, "http://b.test/new"),
            _ => Answer::page("here"),
        }
    });
    let robots = world.asked("b.test", "/robots.txt");
    assert!(
        robots
            .windows(2)
            .all(|pair| pair[1].at - pair[0].at <= Duration::HOUR * 25),
        "{robots:?}"
    );
    let last = world
        .asked("b.test", "/new")
        .last()
        .map(|hit| hit.at.as_secs() / 3_600);
    assert!(
        last.is_some_and(|hour| (24..49).contains(&hour)),
        "asked for in hour {last:?}"
    );
}

#[test]
fn more_redirects_than_there_is_room_for_do_no_harm() {
    let paths: [&'static str; 8] = ["/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8"];
    for redirect_bytes in [0, 100, 300] {
        let setting = Setting {
            redirect_bytes,
            seconds: 3_600,
            ..Setting::of(
                GAP,
                &[("a.test", &paths), ("b.test", &paths), ("c.test", &paths)],
            )
        };
        let (world, _) = setting.run(|hit| {
            no_robots(hit).unwrap_or_else(|| match hit.target.as_str() {
                new if new.starts_with("/new") => Answer::page("here"),
                old => Answer::moved(301, &format!("/new/of/a/certain/length{old}")),
            })
        });
        let reached = world
            .hits
            .borrow()
            .iter()
            .filter(|hit| hit.target.starts_with("/new"))
            .count();
        assert_eq!(
            reached > 100,
            redirect_bytes > 0,
            "{reached} of {}",
            world.hits.borrow().len()
        );
        assert!(world.shortest_gap("a.test") >= GAP);
    }
}

#[test]
fn a_redirect_to_https_without_a_gateway_is_an_outcome_of_its_own() {
    let setting = Setting::of(GAP, &[("a.test", &["/secure", "/plain"])]);
    let (world, totals) = setting.run(|hit| {
        no_robots(hit).unwrap_or_else(|| match hit.target.as_str() {
            "/secure" => Answer::moved(301, "https://a.test/secure"),
            _ => Answer::page("here"),
        })
    });
    let astray = |(_, event): &(Duration, Event)| {
        *event
            == Event::Astray {
                page: 0,
                status: 301,
                why: Some(RedirectError::NeedsTls),
            }
    };
    assert!(world.events.borrow().iter().any(astray));
    assert_eq!(totals.errors, 0, "nothing has failed");
    let secure = world.asked("a.test", "/secure").len();
    let plain = world.asked("a.test", "/plain").len();
    assert!(secure > 0 && plain > 5, "{secure}, {plain}");
    assert!(
        world
            .hits
            .borrow()
            .iter()
            .all(|hit| !hit.target.starts_with("https:"))
    );
}

#[test]
fn https_pages_go_through_a_gateway_and_redirects_to_them_too() {
    let gateway = Some(Gateway {
        host: "gateway.test",
        port: 3128,
    });
    let setting = Setting {
        gateway,
        ..Setting::of(GAP, &[("https://a.test", &["/x"]), ("b.test", &["/moved"])])
    };
    let (world, _) = setting.run(|hit| match hit.target.as_str() {
        target if target.ends_with("/robots.txt") => Answer::none(),
        "/moved" => Answer::moved(301, "https://c.test/new"),
        _ => Answer::page("here"),
    });
    assert!(
        !world.asked("a.test", "https://a.test/x").is_empty(),
        "{:?}",
        world.hits.borrow()
    );
    assert!(!world.asked("c.test", "https://c.test/new").is_empty());
    assert!(
        !world.asked("b.test", "/moved").is_empty(),
        "http goes its own way"
    );
    let mut resolved = world.resolved.borrow().clone();
    resolved.sort();
    resolved.dedup();
    assert_eq!(
        resolved,
        ["b.test", "c.test", "gateway.test"],
        "where a redirect leads is looked up before the gateway is asked"
    );
}

#[test]
fn the_owners_table_says_where_an_address_of_the_list_is_too() {
    // As in an emulator, where this machine's loopback has another address.
    let names = vec![Name {
        host: "*",
        address: [10, 0, 2, 2],
    }];
    let setting = Setting {
        names,
        ..Setting::of(GAP, &[("127.0.0.1", &["/page"])])
    };
    let (world, _) = setting.run(|hit| no_robots(hit).unwrap_or_else(|| Answer::page("here")));
    let expected: IpAddr = [10, 0, 2, 2].into();
    let connected = world.connected.borrow();
    assert!(!connected.is_empty() && connected.iter().all(|address| *address == expected));
}
