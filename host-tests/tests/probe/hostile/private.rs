//! The owner's private network: no redirect, no link, no name that changes, no gateway leads into
//! it.

use std::net::IpAddr;

use dunlin::catalog::{Gateway, Name};
use dunlin::discover::{DiscoverySettings, Scope};
use dunlin::probe::{Event, Failure};
use dunlin::time::Duration;

use super::{GAP, earlier::second, no_robots};
use crate::discovering;
use crate::texts::TextFlash;
use crate::world::{Answer, Hit, Setting, World};

fn private(hit: &Hit) -> bool {
    !dunlin::fetch::is_public(hit.address)
}

#[test]
fn a_redirect_leads_into_the_private_network_by_no_name_of_the_list() {
    // The owner listed both names; only the first hop is the owner's own word.
    let hosts: [(&'static str, &[&'static str]); 2] =
        [("a.test", &["/1", "/2"]), ("inside.test", &["/own"])];
    let (world, _) = Setting::of(GAP, &hosts).run(|hit| {
        no_robots(hit).unwrap_or_else(|| match (hit.host.as_str(), hit.target.as_str()) {
            ("a.test", "/1") => Answer::moved(302, "http://inside.test/admin"),
            ("a.test", _) => Answer::moved(302, "http://b.test/"),
            ("b.test", _) => Answer::moved(302, "http://[::1]/admin"),
            _ => Answer::page("here"),
        })
    });
    assert!(world.asked("inside.test", "/admin").is_empty());
    assert!(
        world.asked("[::1]", "/admin").is_empty(),
        "at the second hop, too"
    );
    assert!(
        world.asked("inside.test", "/own").len() > 5,
        "the owner listed it"
    );
    let hits = world.hits.borrow();
    assert!(
        hits.iter()
            .filter(|hit| private(hit))
            .all(|hit| hit.host == "inside.test")
    );
    let events = world.events.borrow();
    let refused = |(_, event): &&(Duration, Event)| {
        matches!(
            event,
            Event::Failed {
                why: Failure::PrivateAddress,
                ..
            }
        )
    };
    assert!(events.iter().filter(refused).count() > 1);
}

#[test]
fn a_redirect_leads_into_the_private_network_where_the_owner_named_it() {
    let names = vec![Name {
        host: "named.test",
        address: [10, 0, 0, 9],
    }];
    let hosts: [(&'static str, &[&'static str]); 2] =
        [("a.test", &["/1", "/2"]), ("10.0.0.8", &["/own"])];
    let (world, _) = Setting {
        names,
        ..Setting::of(GAP, &hosts)
    }
    .run(|hit| {
        no_robots(hit).unwrap_or_else(|| match (hit.host.as_str(), hit.target.as_str()) {
            ("a.test", "/1") => Answer::moved(302, "http://named.test/x"),
            ("a.test", _) => Answer::moved(302, "http://10.0.0.8/x"),
            _ => Answer::page("here"),
        })
    });
    assert!(
        !world.asked("named.test", "/x").is_empty(),
        "in the owner's table"
    );
    assert!(
        !world.asked("10.0.0.8", "/x").is_empty(),
        "an address of the list"
    );
}

#[test]
fn a_name_that_was_public_never_leads_into_the_private_network() {
    let (world, _) = Setting {
        seconds: 4 * 3_600,
        back_off_ms: 1_000,
        whereabouts: |name, at| match name {
            "turns.test" if at > Duration::from_secs(900) => Some([192, 168, 0, 1]),
            _ => None,
        },
        ..Setting::of(GAP, &[("turns.test", &["/x"]), ("inside.test", &["/y"])])
    }
    .run(|hit| no_robots(hit).unwrap_or_else(|| Answer::page("here")));
    let hits = world.hits.borrow();
    let to_router = IpAddr::from([192, 168, 0, 1]);
    assert!(hits.iter().all(|hit| hit.address != to_router));
    assert!(world.asked("turns.test", "/x").len() > 50);
    assert!(
        world.asked("inside.test", "/y").len() > 500,
        "private from the first"
    );
}

#[test]
fn a_name_that_was_public_never_leads_into_the_private_network_after_a_restart_either() {
    let setting = Setting {
        unix_time: Some(1_794_000_000),
        ..Setting::of(GAP, &[("turns.test", &["/x"]), ("inside.test", &["/y"])])
    };
    let turned = Setting {
        whereabouts: |name, _| (name == "turns.test").then_some([192, 168, 0, 1]),
        ..Setting::of(GAP, &[("turns.test", &["/x"]), ("inside.test", &["/y"])])
    };
    let world = second(&setting, &turned, |hit| {
        no_robots(hit).unwrap_or_else(|| Answer::page("here"))
    });
    assert!(
        world
            .resolved
            .borrow()
            .iter()
            .any(|name| name == "turns.test")
    );
    assert!(world.asked("turns.test", "/x").is_empty());
    assert!(!world.asked("inside.test", "/y").is_empty());
}

#[test]
fn a_gateway_is_asked_for_nothing_private_that_the_owner_did_not_name() {
    let (world, _) = Setting {
        gateway: Some(Gateway {
            host: "10.0.0.1",
            port: 3128,
        }),
        ..Setting::of(
            GAP,
            &[
                ("https://a.test", &["/1", "/2", "/3", "/4"]),
                ("b.test", &["/5"]),
            ],
        )
    }
    .run(|hit| match hit.target.as_str() {
        target if target.ends_with("/robots.txt") => Answer::none(),
        "https://a.test/1" => Answer::moved(302, "https://127.0.0.1/admin"),
        "https://a.test/2" => Answer::moved(302, "https://inside.test/admin"),
        "https://a.test/3" => Answer::moved(302, "https://[fe80::1]/admin"),
        "/5" => Answer::moved(302, "https://192.168.0.1/admin"),
        "https://a.test/4" => Answer::moved(302, "https://public.test/here"),
        _ => Answer::page("here"),
    });
    let hits = world.hits.borrow();
    let inside = |hit: &&Hit| hit.target.ends_with("/admin");
    assert_eq!(hits.iter().find(inside), None);
    let public = hits
        .iter()
        .filter(|hit| hit.target == "https://public.test/here");
    assert!(public.count() > 3, "where a redirect may lead");
}

/// A probe that looks for pages beyond `http://a.test/`, whose front page and two others link to
/// these URLs; what the servers saw of a private network.
fn linked(scope: Scope, setting: Setting, links: &'static [&'static str]) -> (World, Vec<String>) {
    let section = DiscoverySettings::new(scope, 20, 1_000).header().to_vec();
    let setting = Setting {
        discover: Some((section, TextFlash::blank())),
        seconds: 900,
        ..setting
    };
    let (world, _, _) = discovering::run(&setting, |hit| match hit.target.as_str() {
        "/" | "/1" | "/2" | "https://a.test/" if hit.host == "a.test" => {
            let links = links.iter().map(|url| format!("<a href={url}>on</a>\n"));
            let links: String = links.collect();
            let own = &hit.target;
            Answer::page(&format!(
                "<h1>{own}</h1><a href=/1>1</a><a href=/2>2</a>{links}"
            ))
        }
        "/to-found" => Answer::moved(302, "http://10.0.0.8/admin"),
        target if target.ends_with("/robots.txt") => Answer::none(),
        _ => Answer::page(&format!("{}{}", hit.host, hit.target)),
    });
    let hits = world.hits.borrow().clone();
    let inside = hits.iter().filter(|hit| private(hit));
    let inside = inside.map(|hit| format!("{}{}", hit.host, hit.target));
    (world, inside.collect())
}

#[test]
fn a_link_leads_into_no_private_network() {
    let listed = || Setting::of(Duration::from_secs(1), &[("a.test", &["/"])]);
    // By address: such a host takes no place.
    let literals = &[
        "http://127.0.0.2:8080/",
        "http://[::1]/",
        "http://10.0.0.8/",
        "http://b.test/to-found",
    ];
    let (world, inside) = linked(Scope::Any, listed(), literals);
    assert_eq!(inside, [""; 0], "by an address");
    assert!(
        !world.asked("b.test", "/to-found").is_empty(),
        "a public host"
    );
    let resolved = world.resolved.borrow();
    assert!(resolved.iter().all(|name| name.ends_with(".test")));
    let lines = world.found.borrow();
    let refused = |line: &str| line.contains("refused why=Scope url=http://10.0.0.8/");
    assert!(lines.iter().any(|(_, line)| refused(line)), "{lines:?}");
    // By name: page, robots.txt and sitemap.
    let names = &[
        "http://inside.test/",
        "http://loopback6.test/",
        "http://b.test/",
    ];
    let (world, inside) = linked(Scope::Any, listed(), names);
    assert_eq!(inside, [""; 0], "by a name");
    assert!(!world.asked("b.test", "/").is_empty(), "a public host");
    assert!(
        world
            .resolved
            .borrow()
            .iter()
            .any(|name| name == "inside.test")
    );
    // By a name below that of a listed one.
    let setting = Setting {
        whereabouts: |name, _| (name == "router.a.test").then_some([192, 168, 0, 1]),
        ..listed()
    };
    let below = &["http://router.a.test/", "http://www.a.test/"];
    let (world, inside) = linked(Scope::Site, setting, below);
    assert_eq!(inside, [""; 0], "by a name of the site");
    assert!(!world.asked("www.a.test", "/").is_empty(), "a public host");
}

#[test]
fn a_link_asks_a_gateway_for_nothing_private() {
    let setting = Setting {
        gateway: Some(Gateway {
            host: "93.184.215.99",
            port: 3128,
        }),
        ..Setting::of(
            Duration::from_secs(1),
            &[
                ("a.test", &["/"]),
                ("https://public.test", &["/"]),
                ("https://unique.test", &["/"]),
            ],
        )
    };
    let links = &[
        "https://127.0.0.2/",
        "https://inside.test/",
        "https://b.test/",
        "https://public.test/more",
        "https://unique.test/admin",
    ];
    let (world, inside) = linked(Scope::Any, setting, links);
    assert_eq!(inside, [""; 0]);
    let hits = world.hits.borrow();
    let asked = |url: &str| {
        hits.iter()
            .filter(|hit| hit.target.starts_with(url))
            .count()
    };
    assert!(asked("https://b.test/") > 1, "a public host");
    assert!(asked("https://public.test/more") > 0, "and a listed one");
    assert!(asked("https://unique.test/") > 0, "the owner's own page");
    assert_eq!(asked("https://unique.test/admin"), 0);
    assert_eq!(
        asked("https://127.0.0.2/") + asked("https://inside.test/"),
        0
    );
}

#[test]
fn a_link_leads_where_the_owner_says_even_into_a_private_network() {
    let setting = Setting {
        names: vec![Name {
            host: "named.test",
            address: [10, 0, 0, 9],
        }],
        ..Setting::of(
            Duration::from_secs(1),
            &[
                ("a.test", &["/"]),
                ("named.test", &["/own"]),
                ("10.0.0.8", &["/own"]),
                ("public.test", &["/own"]),
            ],
        )
    };
    let links = &[
        "http://named.test/more",
        "http://10.0.0.8/more",
        "http://public.test/more",
    ];
    let (world, _) = linked(Scope::Hosts, setting, links);
    for (host, why) in [
        ("named.test", "in the owner's table"),
        ("10.0.0.8", "an address of the list"),
        ("public.test", "on the open Internet"),
    ] {
        assert!(!world.asked(host, "/more").is_empty(), "{why}");
    }
}

#[test]
fn a_link_of_another_host_leads_to_no_listed_name_that_is_private() {
    let listed: [(&'static str, &[&'static str]); 2] =
        [("a.test", &["/"]), ("inside.test", &["/own"])];
    let links = &["http://inside.test/admin?reboot", "http://inside.test/"];
    for scope in [Scope::Hosts, Scope::Any] {
        let setting = Setting::of(Duration::from_secs(1), &listed);
        let (world, inside) = linked(scope, setting, links);
        let not_listed = |asked: &&String| {
            let own = ["/own", "/robots.txt", "/sitemap.xml"];
            !own.iter().any(|path| asked.ends_with(path))
        };
        assert_eq!(inside.iter().find(not_listed), None, "{scope:?}");
        assert!(world.asked("inside.test", "/own").len() > 5, "{scope:?}");
    }
    // Its own links are followed.
    let section = DiscoverySettings::new(Scope::Hosts, 20, 1_000).header();
    let setting = Setting {
        discover: Some((section.to_vec(), TextFlash::blank())),
        ..Setting::of(Duration::from_secs(1), &listed)
    };
    let (world, _, _) = discovering::run(&setting, |hit| match hit.target.as_str() {
        "/own" => Answer::page("<a href=/more>more</a>"),
        "/more" => Answer::page("more"),
        _ => Answer::none(),
    });
    assert!(!world.asked("inside.test", "/more").is_empty());
}
