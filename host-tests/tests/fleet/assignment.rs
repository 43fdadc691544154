//! Who looks after which host: bounded, sticky, and balanced where budgets are fixed.

use dunlin::fleet::{Balance, Group, NOBODY, ProbeCapacity, assign, rehome, score};
use dunlin_suite::bench::Random;

const PROBES: usize = 50;

fn groups(count: usize) -> Vec<Group> {
    let mut random = Random(7);
    let mut groups: Vec<_> = (0..count)
        .map(|_| {
            // Few hosts have many pages.
            let pages = (4.0 / (1.0 - random.unit()).max(0.01)) as u32;
            Group {
                key: random.next_u64(),
                pages,
                hosts: 1,
                demand: pages as f32 * 0.5,
            }
        })
        .collect();
    groups.sort_by_key(|group| core::cmp::Reverse(group.pages));
    groups
}

fn places(groups: &[Group]) -> Vec<ProbeCapacity> {
    let mut random = Random(8);
    let pages: u32 = groups.iter().map(|group| group.pages).sum();
    let mean = pages / PROBES as u32;
    (0..PROBES)
        .map(|_| ProbeCapacity {
            key: random.next_u64(),
            pages: mean * 3 / 2,
            hosts: 512,
            link: mean as f32,
            fair: mean * 11 / 10,
        })
        .collect()
}

#[test]
fn every_group_has_an_owner_within_the_bounds_of_each_probe() {
    let groups = groups(5_000);
    let all = places(&groups);
    let mut left = all.clone();
    let mut owners = vec![NOBODY; groups.len()];
    assert_eq!(assign(&groups, &mut left, &mut owners), 0);
    for (number, probe) in all.iter().enumerate() {
        let own = groups.iter().zip(&owners);
        let own = own.filter(|(_, owner)| **owner as usize == number);
        let (pages, hosts) = own.fold((0, 0), |sum, (group, _)| {
            (sum.0 + group.pages, sum.1 + group.hosts)
        });
        assert!(pages <= probe.pages && hosts <= probe.hosts);
        assert!(pages <= probe.fair + 400, "{pages} of {}", probe.fair);
    }
}

#[test]
fn a_probe_that_leaves_moves_only_its_own_pages() {
    let groups = groups(5_000);
    let mut owners = vec![NOBODY; groups.len()];
    assign(&groups, &mut places(&groups), &mut owners);
    let before = owners.clone();
    let mut without = places(&groups);
    // It has no room for anything any more.
    (without[17].pages, without[17].hosts) = (0, 0);
    assert_eq!(assign(&groups, &mut without, &mut owners), 0);
    for (then, now) in before.iter().zip(&owners) {
        assert!(*then == 17 && *now != 17 || then == now);
    }
}

#[test]
fn what_no_probe_has_room_for_has_no_owner() {
    let huge = Group {
        key: 1,
        pages: 1_000_000,
        hosts: 1,
        demand: 1.0,
    };
    let mut owners = [NOBODY];
    let left = assign(&[huge], &mut places(&groups(100)), &mut owners);
    assert_eq!((left, owners), (1, [NOBODY]));
}

#[test]
fn scores_of_pairs_are_their_own() {
    let mut scores: Vec<u64> = (0..64)
        .flat_map(|group| (64..128).map(move |probe| score(group << 7, probe)))
        .collect();
    let count = scores.len();
    scores.sort_unstable();
    scores.dedup();
    assert_eq!(scores.len(), count);
}

#[test]
fn who_gives_away_stops_at_balance_and_who_takes_has_room() {
    let group = |key| Group {
        key,
        pages: 3,
        hosts: 1,
        demand: 2.0,
    };
    let groups: Vec<Group> = (0..6).map(group).collect();
    let balance = |key, excess| Balance {
        key,
        excess,
        pages: 10,
        hosts: 2,
    };
    let mut probes = [balance(1, 3.5), balance(2, -100.0)];
    let mut owners = vec![0; 6];
    assert_eq!(rehome(&groups, &mut probes, &mut owners, 100), 6);
    assert_eq!(owners, [1, 1, 0, 0, 0, 0]);
    assert_eq!((probes[0].excess, probes[1].excess), (-0.5, -96.0));
    assert_eq!((probes[0].pages, probes[0].hosts), (16, 4));
    assert_eq!((probes[1].pages, probes[1].hosts), (4, 0));
    // No room for one more host, however much it has to give away.
    probes[0].excess = 50.0;
    assert_eq!(rehome(&groups, &mut probes, &mut owners, 100), 0);
    probes[1].hosts = 9;
    assert_eq!(
        rehome(&groups, &mut probes, &mut owners, 2),
        0,
        "too many pages"
    );
    assert_eq!(rehome(&groups, &mut probes, &mut owners, 3), 3);
    assert_eq!(probes[1].pages, 1);
    assert_eq!(
        rehome(&groups, &mut probes, &mut owners, 9),
        0,
        "no room for pages"
    );
}
