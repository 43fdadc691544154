//! Connections are kept while the next request is near, closed when it is not, and replaced when
//! the server closed them.

use dunlin::time::Duration;

use crate::world::{Answer, Hit, Setting};

const SECOND: Duration = Duration::from_secs(1);

fn connections(hits: &[Hit]) -> usize {
    let mut all: Vec<usize> = hits.iter().map(|hit| hit.connection).collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}

fn site(hit: &Hit) -> Answer {
    if hit.target == "/robots.txt" {
        Answer::none()
    } else {
        Answer::page("here")
    }
}

#[test]
fn a_host_that_is_asked_every_second_needs_one_connection() {
    let setting = Setting::of(SECOND, &[("a.test", &["/1", "/2", "/3"])]);
    let (world, totals) = setting.run(site);
    let hits = world.hits.borrow();
    assert!(
        hits.len() > 400 && hits.iter().all(|hit| hit.keep_alive),
        "{}",
        hits.len()
    );
    assert_eq!(connections(&hits), 1);
    assert!(
        world.shortest_gap("a.test") >= SECOND,
        "{:?}",
        world.shortest_gap("a.test")
    );
    assert_eq!(totals.errors, 0);
}

#[test]
fn pages_go_to_the_slot_that_has_a_connection_to_their_host() {
    let setting = Setting::of(
        SECOND,
        &[
            ("a.test", &["/1", "/2"]),
            ("b.test", &["/1", "/2"]),
            ("c.test", &["/1", "/2"]),
        ],
    );
    let (world, _) = setting.run(site);
    let hits = world.hits.borrow();
    assert!(hits.len() > 1_000, "{}", hits.len());
    assert_eq!(connections(&hits), 3, "three slots, three hosts");
}

#[test]
fn more_hosts_than_slots_share_them_fairly() {
    let hosts: [(&'static str, &[&'static str]); 5] = [
        ("a.test", &["/1", "/2"]),
        ("b.test", &["/1", "/2"]),
        ("c.test", &["/1", "/2"]),
        ("d.test", &["/1", "/2"]),
        ("e.test", &["/1", "/2"]),
    ];
    let (world, totals) = Setting::of(SECOND, &hosts).run(site);
    for (host, _) in hosts {
        let asked = world
            .hits
            .borrow()
            .iter()
            .filter(|hit| hit.host == host)
            .count();
        assert!(asked > 400, "{host} was asked {asked} times in 600 s");
        assert!(world.shortest_gap(host) >= SECOND, "{host}");
    }
    assert_eq!(totals.errors, 0);
}

#[test]
fn a_host_that_is_asked_every_fifteen_seconds_gets_a_connection_each_time() {
    let setting = Setting::of(SECOND * 15, &[("a.test", &["/1", "/2"])]);
    let (world, _) = setting.run(site);
    let hits = world.hits.borrow();
    assert!(hits.len() > 30 && hits.iter().all(|hit| !hit.keep_alive));
    assert_eq!(connections(&hits), hits.len());
}

#[test]
fn a_connection_that_the_server_closed_is_replaced_without_a_failure() {
    // At once, between requests, and just when the next one is on its way.
    for closes in [0, 300, 979, 980, 981, 1_000] {
        let setting = Setting::of(SECOND, &[("a.test", &["/1", "/2"])]);
        let (world, totals) = setting.run(move |hit| Answer {
            closes: Some(Duration::from_millis(closes)),
            ..site(hit)
        });
        let hits = world.hits.borrow();
        assert!(hits.len() > 400, "{closes}: {}", hits.len());
        assert_eq!(
            (totals.errors, connections(&hits)),
            (0, hits.len()),
            "{closes}"
        );
    }
}

#[test]
fn a_request_that_a_kept_connection_leaves_unanswered_is_made_once_more_and_no_more() {
    // The second request of each connection is swallowed.
    let setting = Setting::of(SECOND, &[("a.test", &["/1", "/2"])]);
    let seen = std::cell::RefCell::new(std::collections::HashSet::new());
    let (world, totals) = setting.run(move |hit| {
        if seen.borrow_mut().insert(hit.connection) {
            site(hit)
        } else {
            Answer::silence()
        }
    });
    let hits = world.hits.borrow();
    assert_eq!(totals.errors, 0, "the second attempt was answered");
    assert!(world.shortest_gap("a.test") >= SECOND);
    let swallowed: Vec<&Hit> = hits
        .windows(2)
        .filter(|pair| pair[0].connection == pair[1].connection)
        .map(|pair| &pair[1])
        .collect();
    assert!(swallowed.len() > 100, "{} were swallowed", swallowed.len());
    let (last, others) = swallowed.split_last().expect("there are some");
    for lost in others {
        let again = hits.iter().find(|hit| {
            hit.target == lost.target && hit.at > lost.at && hit.connection > lost.connection
        });
        let again = again.map_or(last.at, |hit| hit.at);
        assert!(again - lost.at < SECOND * 4, "{lost:?} again at {again:?}");
    }
    // A server that answers nobody is asked once on its first connection, and left alone.
    let (world, totals) = Setting::of(SECOND, &[("a.test", &["/1"])]).run(|_| Answer::silence());
    assert_eq!(world.hits.borrow().len(), totals.errors as usize);
}

#[test]
fn a_connection_is_not_kept_longer_than_servers_do() {
    let run = |seconds: u32| {
        let setting = Setting {
            seconds: 3_600,
            per_day: Some(86_400.0 / seconds as f32),
            // Nothing to be learnt, which would bring visits together now and then.
            confidence: 1e6,
            ..Setting::of(SECOND, &[("a.test", &["/1", "/2"])])
        };
        let (world, _) = setting.run(site);
        let hits = world.hits.borrow();
        let pairs = hits.windows(2).map(|pair| {
            let kept = pair[0].connection == pair[1].connection;
            (pair[1].at - pair[0].at, kept)
        });
        pairs.collect::<Vec<_>>()
    };
    // Due again in a moment: kept.
    let soon = run(2);
    let kept = soon.iter().filter(|(_, kept)| *kept).count();
    assert!(kept > 1_000, "{kept} of {}", soon.len());
    // Due again only after a while: nothing is near.
    let late = run(12);
    let far = late.iter().filter(|(gap, _)| *gap > SECOND * 5).count();
    assert!(far > 200, "{far} of {}", late.len());
    for (gap, kept) in soon.iter().chain(&late) {
        assert!(!kept || *gap <= SECOND * 5, "kept for {gap:?}");
    }
}

#[test]
fn a_host_that_has_no_address_costs_no_other_host_its_connection() {
    let setting = Setting {
        slots: 1,
        back_off_ms: 1_000,
        ..Setting::of(
            SECOND,
            &[("a.test", &["/1", "/2"]), ("gone.invalid", &["/1"])],
        )
    };
    let (world, totals) = setting.run(site);
    assert!(totals.errors > 2, "{totals:?}");
    assert_eq!(connections(&world.hits.borrow()), 1);
}

#[test]
fn https_on_the_next_port_is_not_asked_on_a_connection_that_was_kept_for_http() {
    let setting = Setting {
        https: true,
        ..Setting::of(SECOND, &[("a.test:8080", &["/1", "/2"])])
    };
    let (world, _) = setting.run(|hit| match (hit.host.as_str(), hit.target.as_str()) {
        (_, "/robots.txt") => Answer::none(),
        ("a.test:8080", _) => Answer::moved(302, "https://a.test:8081/secret"),
        _ => Answer::page("here"),
    });
    let hits = world.hits.borrow();
    let on = |host: &str| {
        let of_host = hits.iter().filter(|hit| hit.host == host);
        of_host
            .map(|hit| hit.connection)
            .collect::<std::collections::BTreeSet<_>>()
    };
    let plain = on("a.test:8080");
    let secret = on("a.test:8081");
    assert!(!plain.is_empty() && !secret.is_empty());
    assert!(plain.is_disjoint(&secret), "{plain:?} {secret:?}");
}
