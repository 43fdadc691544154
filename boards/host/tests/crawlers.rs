//! Several crawlers that share a web (Cho ch. 3): Figure 3.2 as the thesis describes it.

use dunlin_host::crawl::graph::Graph;
use dunlin_host::crawl::parallel::{Achieved, Crawlers, Mode, simulate};

/// Figure 3.2: site S1 has pages a to e, S2 has f to i; C1 starts at a, C2 at f.
fn figure_3_2() -> Graph {
    two_sites(&["ab", "ac", "ag", "cg", "de", "fg", "fi", "gh", "hd"])
}

fn two_sites(links: &[&str]) -> Graph {
    let url = |page: char| match page {
        'a'..='e' => format!("http://s1.test/{page}"),
        _ => format!("http://s2.test/{page}"),
    };
    let number = |page: u8| u32::from(page - b'a');
    let link = |link: &&str| (number(link.as_bytes()[0]), number(link.as_bytes()[1]));
    Graph::new(
        ('a'..='i').map(url).collect(),
        links.iter().map(link).collect(),
    )
}

fn crawl_of(graph: &Graph, crawlers: &Crawlers) -> ([String; 2], Achieved) {
    let first = crawlers.owner(graph, 0);
    assert_ne!(first, crawlers.owner(graph, 5), "each has a site");
    let mut seen = [String::new(), String::new()];
    let achieved = simulate(graph, crawlers, &[0, 5], &mut |crawler, page| {
        seen[usize::from(crawler != first)].push(char::from(b'a' + page as u8));
    });
    (seen, achieved)
}

fn crawl(crawlers: &Crawlers) -> ([String; 2], Achieved) {
    crawl_of(&figure_3_2(), crawlers)
}

#[test]
fn figure_3_2_in_firewall_mode() {
    let (seen, achieved) = crawl(&Crawlers {
        mode: Mode::Firewall,
        ..Crawlers::new(2)
    });
    // C1 can download a, b and c, but not d and e: 7 pages out of 9.
    assert_eq!(seen, ["abc", "fgih"]);
    assert_eq!(achieved.coverage, 7.0 / 9.0);
    assert_eq!((achieved.overlap, achieved.communication), (0.0, 0.0));
}

#[test]
fn figure_3_2_in_cross_over_mode() {
    let (seen, achieved) = crawl(&Crawlers {
        mode: Mode::CrossOver,
        ..Crawlers::new(2)
    });
    // C1 comes back for d and e by way of g and h, which are downloaded twice. C2 follows the
    // link to d as well, of which the thesis says nothing.
    assert_eq!(seen, ["abcghde", "fgihde"]);
    assert_eq!((achieved.coverage, achieved.communication), (1.0, 0.0));
    assert_eq!(achieved.overlap, 4.0 / 9.0);
}

#[test]
fn figure_3_2_in_exchange_mode() {
    let (seen, achieved) = crawl(&Crawlers::new(2));
    assert_eq!(seen[0], "abcde");
    assert_eq!((achieved.coverage, achieved.overlap), (1.0, 0.0));
    // C1 tells of g after a and again after c, C2 of d after h …
    assert_eq!(achieved.communication, 3.0 / 9.0);
    // … and of g only once if it waits until c.
    let (seen, achieved) = crawl(&Crawlers {
        batch: 3,
        ..Crawlers::new(2)
    });
    assert_eq!(seen, ["abcde", "fgih"]);
    assert_eq!(achieved.communication, 2.0 / 9.0);
    // Who knows g from the start is not told of it.
    let (_, achieved) = crawl(&Crawlers {
        replicated: 1,
        ..Crawlers::new(2)
    });
    assert_eq!(achieved.communication, 1.0 / 9.0);
}

#[test]
fn backlinks_that_are_told_bring_forward_what_many_link_to() {
    let graph = two_sites(&["ab", "ac", "ai", "ci", "fg", "fh", "fi"]);
    let told = Crawlers {
        by_backlinks: true,
        ..Crawlers::new(2)
    };
    assert_eq!(crawl_of(&graph, &told).0, ["abc", "figh"]);
    let alone = Crawlers {
        mode: Mode::Firewall,
        ..told
    };
    assert_eq!(crawl_of(&graph, &alone).0, ["abc", "fghi"]);
}
