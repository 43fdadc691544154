//! The small parts of finding and ranking, each for itself: what is let in, what is counted, who
//! gives way.

use dunlin::discover::{
    Candidate, Candidates, DiscoverySettings, Doorkeeper, Frontier, FrontierMemory,
    FrontierSettings, Link, LinkKind, LinkSet, LinkSource, Placement, Scope, Target, UrlLimits,
    UrlRefusal, branch_digest, digest, directory_digest,
};
use dunlin::fetch::Url;
use dunlin::fetch::robots::Verdict;
use dunlin::rank::{
    Account, Bank, Choice, DAMPING, Evidence, Measure, Replacement, Topic, WordReader, location,
};
use proptest::prelude::*;

fn url(text: &str) -> Url<'_> {
    Url::parse(text).expect("a URL")
}

#[test]
fn sessions_are_known_by_their_parameter() {
    let check = |text: &str| UrlLimits::DEFAULT.check(&url(text));
    let session = Err(UrlRefusal::Session);
    for target in [
        "a?sid=1",
        "a?b=1&SessID=x",
        "a?b=1;session=x",
        "a;jsessionid=1A",
        "a?ASPSESSIONIDABC=1",
        "a?phpsessid2=1",
    ] {
        assert_eq!(
            check(&format!("http://a.test/{target}")),
            session,
            "{target}"
        );
    }
    // Short names are words of others, too, and without a value nobody is meant.
    for target in [
        "a?sidebar=1",
        "a?side=1",
        "a?sid=",
        "a?sid",
        "sessions/1",
        "a?cfids=1",
    ] {
        assert_eq!(
            check(&format!("http://a.test/{target}")),
            Ok(()),
            "{target}"
        );
    }
}

#[test]
fn each_limit_is_the_last_that_is_allowed() {
    let limits = UrlLimits::DEFAULT;
    let check = |text: String| limits.check(&url(&text));
    let segments = |count: u8| (0..count).map(|at| format!("/{at}")).collect::<String>();
    assert_eq!(
        check(format!("http://a.test{}", segments(limits.depth))),
        Ok(())
    );
    let deeper = format!("http://a.test{}", segments(limits.depth + 1));
    assert_eq!(check(deeper), Err(UrlRefusal::Depth));
    let repeated = |count: u8| format!("http://a.test{}", "/b".repeat(count.into()));
    assert_eq!(check(repeated(limits.repeats)), Ok(()));
    assert_eq!(
        check(repeated(limits.repeats + 1)),
        Err(UrlRefusal::Repeats)
    );
    let parameters = |count: u8| {
        let all: Vec<String> = (0..count).map(|at| format!("p{at}=1")).collect();
        format!("http://a.test/?{}", all.join("&"))
    };
    assert_eq!(check(parameters(limits.parameters)), Ok(()));
    let more = parameters(limits.parameters + 1);
    assert_eq!(check(more), Err(UrlRefusal::Parameters));
    let long = |length: u16| format!("http://a.test/{}", "x".repeat(usize::from(length) - 14));
    assert_eq!(check(long(limits.length)), Ok(()));
    assert_eq!(check(long(limits.length + 1)), Err(UrlRefusal::Length));
}

#[test]
fn a_scope_lets_in_what_it_says() {
    let lets_in =
        |scope: Scope, listed: &str, found: &str| scope.lets_in(&url(listed), &url(found));
    for (listed, found, by_host, by_site, by_prefix) in [
        ("http://a.test/x/y", "http://a.test/x/z", true, true, true),
        ("http://a.test/x/y", "http://a.test/z", true, true, false),
        (
            "http://a.test/x/y?q=/1/",
            "http://a.test/x/1",
            true,
            true,
            true,
        ),
        ("http://www.a.test/", "http://b.a.test/", false, true, false),
        ("http://WWW.a.test/", "http://B.A.test/", false, true, false),
        ("http://a.test/", "http://b.a.test/", false, true, false),
        ("http://b.a.test/", "http://a.test/", false, false, false),
        ("http://a.test/", "http://ba.test/", false, false, false),
        (
            "http://1.2.3.4/",
            "http://5.1.2.3.4.test/",
            false,
            false,
            false,
        ),
        (
            "http://localhost/",
            "http://a.localhost/",
            false,
            false,
            false,
        ),
    ] {
        let context = format!("{listed} and {found}");
        assert_eq!(lets_in(Scope::Hosts, listed, found), by_host, "{context}");
        assert_eq!(lets_in(Scope::Site, listed, found), by_site, "{context}");
        assert_eq!(
            lets_in(Scope::Prefix, listed, found),
            by_prefix,
            "{context}"
        );
        assert!(lets_in(Scope::Any, listed, found), "{context}");
    }
}

#[test]
fn a_section_says_the_same_again() {
    for scope in [Scope::Hosts, Scope::Site, Scope::Prefix, Scope::Any] {
        for sitemaps in [true, false] {
            let mut said = DiscoverySettings::new(scope, 0x1234, 0x0102_0304);
            said.exploring = 77;
            said.sitemaps = sitemaps;
            let mut section = said.header().to_vec();
            section.extend([7, 1]);
            let read = DiscoverySettings::read(&section).expect("it was just written");
            assert_eq!(
                (
                    read.scope,
                    read.places,
                    read.exploring,
                    read.sitemaps,
                    read.gap_ms
                ),
                (scope, 0x1234, 77, sitemaps, 0x0102_0304)
            );
            assert!(read.is_pinned(0x0107) && !read.is_pinned(7));
        }
    }
    let header = DiscoverySettings::new(Scope::Any, 1, 1).header();
    assert!(DiscoverySettings::read(&header[..9]).is_none(), "cut off");
    for (at, wrong) in [(0, 9), (1, 4)] {
        let mut other = header.clone();
        other[at] = wrong;
        assert!(DiscoverySettings::read(&other).is_none(), "byte {at}");
    }
}

#[test]
fn digests_tell_urls_directories_and_keys_apart() {
    let one = [1; 16];
    let other = [2; 16];
    let of = |text: &str| digest(&url(text), &one);
    assert_eq!(of("http://A.test:80/x"), of("http://a.test/x"));
    assert_ne!(of("http://a.test/x"), of("http://a.test/y"));
    assert_ne!(
        of("http://a.test/x"),
        digest(&url("http://a.test/x"), &other)
    );
    let directory = |text: &str| directory_digest(&url(text), 3, &one);
    assert_eq!(
        directory("http://a.test/b/x"),
        directory("http://a.test/b/y?z=/")
    );
    assert_ne!(
        directory("http://a.test/b/x"),
        directory("http://a.test/c/x")
    );
    let of_another_host = directory_digest(&url("http://b.test/b/x"), 4, &one);
    assert_ne!(directory("http://a.test/b/x"), of_another_host);
    let branch = |text: &str| branch_digest(&url(text), &one);
    assert_eq!(branch("http://a.test/b/x/1"), branch("http://a.test/b/y/2"));
    assert_ne!(branch("http://a.test/b/x/1"), branch("http://a.test/c/x/1"));
}

fn candidate(digest: u32, income: f32) -> Candidate {
    let mut candidate = Candidate::new(digest, 3, 0x00ab_cdef);
    candidate.set_income(income, income);
    candidate
}

#[test]
fn a_candidate_keeps_what_it_was_told() {
    let mut one = candidate(9, 4.0);
    assert_eq!((one.digest(), one.host(), one.text()), (9, 3, 0x00ab_cdef));
    assert_eq!(one.backlinks(), 0);
    one.linked();
    one.linked();
    assert_eq!(one.backlinks(), 2);
    one.set_text(0x0012_3456);
    assert_eq!(one.text(), 0x0012_3456);
    assert!((one.cash() - 4.0).abs() < 1e-6);
    let over = one.earn(2.0);
    assert_eq!(one.income(), 6.0);
    assert!((one.cash() + over - 6.0).abs() < 1e-5, "nothing is lost");
    one.set_income(0.0, 5.0);
    assert_eq!(one.cash(), 0.0);
}

#[test]
fn in_a_full_bucket_only_the_better_and_vouched_gets_a_place() {
    // One bucket alone, so that all share it.
    let mut candidates = Candidates::new([Candidate::default(); 8]);
    let importance = |one: &Candidate| one.income();
    for digest in 1..=8 {
        assert!(!candidates.is_full_for(digest));
        let placed = candidates.offer(candidate(digest, digest as f32), false, &importance);
        assert!(matches!(placed, Placement::Taken { evicted: None }));
    }
    assert_eq!(candidates.len(), 8);
    assert!(candidates.is_full_for(9));
    let mut offer = |digest, income, vouched| match candidates.offer(
        candidate(digest, income),
        vouched,
        &importance,
    ) {
        Placement::Taken { evicted } => evicted.map(|old| old.digest()),
        Placement::Refused => None,
    };
    assert_eq!(offer(9, 9.0, false), None, "nobody vouched for it");
    assert_eq!(offer(9, 1.0, true), None, "no better than the least");
    assert_eq!(offer(4, 9.0, true), None, "it is there already");
    assert_eq!(offer(9, 9.5, true), Some(1), "the least gives way");
    assert_eq!(candidates.len(), 8);
    assert!(candidates.remove(1).is_none());
    assert_eq!(candidates.remove(9).map(|one| one.digest()), Some(9));
    assert_eq!(candidates.len(), 7);
    let best = candidates.best(&|one| Some(importance(one)));
    let best = best.map(|one| one.digest());
    assert_eq!(best, Some(8));
}

#[test]
fn what_fades_from_candidates_goes_back_to_the_bank() {
    let mut bank = Bank::new([Account::FREE; 1], [0; 1]);
    bank.found(10.0);
    assert!(bank.open(0, 77, 0.0, 10.0));
    let mut candidates = Candidates::new([Candidate::default(); 8]);
    let placed = candidates.offer(candidate(5, 3.0), true, &|one| one.income());
    assert!(matches!(placed, Placement::Taken { .. }));
    bank.spend(0, &[], &mut |_, _| true);
    let settled = bank.settle(1);
    assert!((settled.drops - 5.0).abs() < 1e-6, "half of the pool each");
    let before: f32 = candidates.iter().map(Candidate::cash).sum();
    let lost = candidates.settle(settled);
    let after: f32 = candidates.iter().map(Candidate::cash).sum();
    assert!((before + settled.drops - after - lost).abs() < 1e-5);
}

#[test]
fn an_account_opens_once_and_hands_everything_over() {
    let mut bank = Bank::new([Account::FREE; 3], [0; 2]);
    assert!(bank.is_empty());
    assert!(bank.open(2, 50, 1.0, 0.5));
    assert!(!bank.open(2, 60, 1.0, 0.5), "the place is taken");
    assert!(!bank.open(1, 50, 1.0, 0.5), "the page has a place");
    assert!(!bank.open(1, 0, 1.0, 0.5), "0 is nobody");
    assert!(!bank.open(3, 60, 1.0, 0.5), "there is no such place");
    assert!(bank.open(0, 40, 0.0, 4.0));
    assert!(!bank.open(1, 60, 1.0, 0.5), "no room in the order");
    assert_eq!(
        (bank.len(), bank.find(50), bank.find(40)),
        (2, Some(2), Some(0))
    );
    assert_eq!(bank.find(45), None);
    bank.earned(2, 2.5);
    assert_eq!(bank.importance(2), 3.5);
    // A link to a page that is kept, one near, one to nobody.
    let mut offered = Vec::new();
    bank.found(4.5);
    bank.spend_at(0, &[50, 51, 52, 53], 0b10, &mut |digest, share| {
        offered.push((digest, share));
        digest == 51
    });
    let share = DAMPING * 4.0 / 4.0;
    let is_near = |one: f32, other: f32, steps: f32| (one / other - 1.0).abs() < 1.0 / steps;
    assert!(is_near(bank.importance(2), 3.5 + share, 32_768.0));
    assert!(is_near(bank.cash_of(2), 0.5 + share, 128.0));
    assert_eq!(bank.cash_of(0), 0.0);
    assert_eq!(offered, [(51, share / 4.0), (52, share), (53, share)]);
    assert!(
        (bank.cash() + share / 4.0 - 4.5).abs() < 1e-6,
        "51 has the rest"
    );
    let closed = bank.close(2).expect("it was open");
    assert_eq!(closed.digest, 50);
    assert!(is_near(closed.income, 3.5 + share, 32_768.0));
    assert_eq!(
        (bank.len(), bank.find(50), bank.find(40)),
        (1, None, Some(0))
    );
    assert!(bank.close(2).is_none());
}

#[test]
fn a_page_that_gives_way_becomes_a_candidate() {
    let mut accounts = [Account::FREE; 2];
    let mut order = [0; 2];
    let mut slots = [Candidate::default(); 8];
    let mut doorkeeper = [0; 64];
    let mut directories = [0; 64];
    let memory = FrontierMemory {
        accounts: &mut accounts,
        order: &mut order,
        candidates: &mut slots,
        doorkeeper: &mut doorkeeper,
        directories: &mut directories,
    };
    let mut frontier = Frontier::new(memory, FrontierSettings::DEFAULT, 1);
    assert!(frontier.keep(0, 10));
    let placed = frontier
        .candidates_mut()
        .offer(candidate(20, 3.0), true, &|one| one.income());
    assert!(matches!(placed, Placement::Taken { .. }));
    let cash = |frontier: &Frontier<'_>| {
        let candidates = frontier.candidates().iter().map(Candidate::cash);
        frontier.bank().cash() + candidates.sum::<f32>()
    };
    let before = cash(&frontier);
    let admitted = frontier.admit(20, 0, Some((3, 0x99)));
    assert!((cash(&frontier) - before).abs() < 1e-3, "none made or lost");
    assert!(matches!(admitted, Some(Placement::Taken { evicted: None })));
    assert_eq!(frontier.bank().find(20), Some(0));
    assert_eq!(frontier.bank().find(10), None);
    let old = frontier.candidates().iter().find(|one| one.digest() == 10);
    assert_eq!(old.map(|one| (one.host(), one.text())), Some((3, 0x99)));
    assert!(
        frontier.admit(20, 1, None).is_none(),
        "no candidate any more"
    );
    // With the cash that it came with.
    let before = cash(&frontier);
    let evicted = frontier.retire(0, Some((3, 0x55)), Verdict::Allowed);
    assert_eq!((evicted, frontier.bank().len()), (None, 0));
    assert!((cash(&frontier) - before).abs() < 1e-3, "none made or lost");
}

#[test]
fn where_there_is_no_room_a_url_is_wanted_when_it_is_met_again() {
    let mut accounts = [Account::FREE; 1];
    let mut order = [0; 1];
    let mut slots = [Candidate::default(); 8];
    let mut doorkeeper = [0; 256];
    let mut directories = [0; 64];
    let memory = FrontierMemory {
        accounts: &mut accounts,
        order: &mut order,
        candidates: &mut slots,
        doorkeeper: &mut doorkeeper,
        directories: &mut directories,
    };
    let mut frontier = Frontier::new(memory, FrontierSettings::DEFAULT, 1);
    assert_eq!(frontier.seen(100, 1, 3), Target::New, "there is room");
    for digest in 1..=8 {
        let offer = frontier
            .candidates_mut()
            .offer(candidate(digest, 1.0), true, &|one| one.income());
        assert_eq!(offer, Placement::Taken { evicted: None });
    }
    assert_eq!(frontier.seen(200, 1, 3), Target::Unwanted);
    assert_eq!(frontier.seen(200, 1, 3), Target::New);
}

#[test]
fn a_measure_survives_its_bits() {
    for bits in 0..16 {
        assert_eq!(Measure::from_bits(bits).bits(), bits);
        assert_eq!(Measure::from_bits(bits | 0xf0).bits(), bits);
    }
    let only_topic = Measure::from_bits(8);
    assert!(only_topic.topic && !only_topic.page_rank);
    let evidence = Evidence {
        backlinks: 2,
        page_rank: 3.0,
        location: 0.5,
        topic: 0.25,
        weight: 2.0,
    };
    let all = evidence.importance(Measure::from_bits(15));
    assert!((all - 2.0 * 2.1 * 3.0 * 0.5 * 0.25).abs() < 1e-6);
    assert_eq!(evidence.importance(Measure::from_bits(0)), 2.0);
    assert_eq!(evidence.importance(Measure::from_bits(4)), 1.0);
}

#[test]
fn words_of_a_topic_are_found_whole_in_any_pieces() {
    let topic = Topic::new(["wader", "estuary", "1999"]).expect("words");
    assert!(!topic.is_empty() && Topic::NONE.is_empty());
    let text = b"waders: The WADER of an estuary, 19 99 estuary";
    let whole = topic.in_text(text);
    assert!((topic.share(whole) - 2.0 / 3.0).abs() < 1e-6);
    for cut in 0..text.len() {
        let mut reader = WordReader::new();
        let (one, other) = text.split_at(cut);
        let found = reader.update(&topic, one).and(reader.update(&topic, other));
        assert_eq!(found.and(reader.finish(&topic)), whole, "cut at {cut}");
    }
    let none = topic.in_text(b"a plover");
    assert!(none.is_empty() && !whole.is_empty());
    assert!(topic.worth(none) < topic.worth(whole));
    assert_eq!((topic.worth(none), Topic::NONE.worth(none)), (0.1, 1.0));
    assert!((topic.worth(whole) - (0.5 + 1.0 / 3.0)).abs() < 1e-6);
    assert_eq!(Topic::NONE.share(none), 1.0);
    assert!(Topic::new([""]).is_err() && Topic::new(["a b"]).is_err());
    assert!(Topic::new(["a"; 16]).is_ok() && Topic::new(["a"; 17]).is_err());
}

#[test]
fn a_location_is_worth_less_with_each_level() {
    let of = |target: &str| location(&url(&format!("http://a.test{target}")));
    assert_eq!(of("/Home.html"), 1.0);
    assert_eq!(of("/default"), 1.0);
    assert!((of("/a") - 0.7).abs() < 1e-6);
    assert!((of("/a/b?c") - 0.343).abs() < 1e-6);
    assert_eq!(of("/a/a/a/a/a/a/a/a"), of("/a/a/a/a/a/a/a/a/a/a"));
}

#[test]
fn exploring_gets_its_share_and_the_better_its_place() {
    let mut rule = Replacement::new(1.5, 0.25);
    assert!(!rule.is_better(1.5, 1.0) && rule.is_better(1.51, 1.0));
    let choices: Vec<Choice> = (0..64)
        .map(|_| rule.next(Some(2.0), Some(1.0), true))
        .collect();
    let explored = |at_random| {
        let is = |choice: &&Choice| **choice == Choice::Explore { at_random };
        choices.iter().filter(is).count()
    };
    assert_eq!((explored(false), explored(true)), (14, 2));
    let replaced = choices
        .iter()
        .filter(|one| **one == Choice::Replace)
        .count();
    assert_eq!(replaced, 48);
    // What could not be explored is owed, but not without end.
    for _ in 0..64 {
        assert_eq!(rule.next(None, Some(1.0), false), Choice::Refresh);
    }
    let burst = (0..8)
        .filter(|_| rule.next(None, Some(1.0), true) != Choice::Refresh)
        .count();
    assert_eq!(burst, 5);
    assert_eq!(
        rule.next(Some(1.4), Some(1.0), false),
        Choice::Refresh,
        "not by enough"
    );
    assert_eq!(
        rule.next(Some(9.0), None, true),
        Choice::Refresh,
        "nobody may go"
    );
}

#[test]
fn a_candidate_keeps_apart_what_is_known_of_it() {
    let mut candidate = Candidate::new(1, 0, 0);
    assert_eq!(candidate.worth(), 1.0);
    candidate.set_worth(0.5);
    assert!(
        (candidate.worth() - 0.5).abs() < 0.02,
        "{}",
        candidate.worth()
    );
    assert!(!candidate.is_visited());
    candidate.set_visited();
    candidate.set_worth(0.0);
    assert!(candidate.is_visited() && candidate.worth() > 0.0);
}

#[test]
fn a_doorkeeper_counts_and_forgets_by_halves() {
    let mut keeper = Doorkeeper::new([0; 256]);
    for time in 1..=20 {
        assert_eq!(keeper.see(7), time);
    }
    assert_eq!(keeper.count(7), 20);
    assert_eq!(keeper.count(8), 0);
    // Eight times as many as a row has counters, and they are halved.
    for digest in 0..8 * 64 - 20 {
        keeper.see(1_000 + digest);
    }
    assert!((10..16).contains(&keeper.count(7)), "{}", keeper.count(7));
    let mut none = Doorkeeper::new([0; 0]);
    assert_eq!((none.count(1), none.see(1)), (0, 1));
}

/// Digests of links, each once, however many are met.
#[test]
fn a_link_is_met_once() {
    let mut links = LinkSet::default();
    let mut met = Vec::new();
    let mut random = dunlin_suite::bench::Random(3);
    for _ in 0..300 {
        // Few of them, so that some come again.
        let digest = (random.below(200) + 1).wrapping_mul(0x9e37_79b1);
        assert_eq!(links.has(digest), met.contains(&digest));
        if !links.has(digest) && !links.is_full() {
            links.push(digest);
            met.push(digest);
        }
    }
    assert!(links.is_full());
    links.push(1);
    assert_eq!(links.as_slice(), met);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// What a link to the page's own server means, and is known by, does not depend on whether it
    /// has to be copied.
    #[test]
    fn a_link_that_stays_where_it_is_means_the_same(
        link in prop_oneof!["/[a-c./%2e?#=:;&é\" \\\\-]{0,20}", "[a-c./%2e?#=:é\" ]{0,20}", "//[a-c.]{1,9}/[a-c./]{0,9}"]
    ) {
        let key = [9; 16];
        let page = Url::parse("http://A.test:81/b/c?d").expect("a URL");
        let source = LinkSource::new(&page, &key);
        let mut room = [0; 512];
        let mut joined = [0; 512];
        let found = Link {
            kind: LinkKind::Anchor,
            href: link.as_bytes(),
            base: None,
            anchor: b"",
            nofollow: false,
        };
        let found = found.resolve(&page, &mut room);
        let expected = page.join(link.as_bytes(), &mut joined);
        prop_assert_eq!(found.is_ok(), expected.is_ok());
        if let (Ok(found), Ok(expected)) = (found, expected) {
            prop_assert_eq!(found.to_string(), expected.to_string());
            prop_assert_eq!(source.digest_of(&found, &key), digest(&expected, &key));
            let limits = UrlLimits::DEFAULT;
            prop_assert_eq!(limits.check(&found), limits.check(&expected));
            prop_assert_eq!(location(&found), location(&expected));
            let directory = |url| directory_digest(url, 1, &key);
            prop_assert_eq!(directory(&found), directory(&expected));
        }
    }

    /// A path with too many segments, or of which one comes too often, is refused, and no other.
    #[test]
    fn segments_are_counted(path in "(/[ab]{0,2}){1,12}") {
        let text = format!("http://a.test{path}");
        let url = Url::parse(&text).expect("a URL");
        let segments: Vec<&str> = path.split('/').filter(|one| !one.is_empty()).collect();
        let often = segments.iter().map(|one| segments.iter().filter(|other| *other == one).count());
        let limits = UrlLimits::DEFAULT;
        let expected = if segments.len() > limits.depth.into() {
            Err(UrlRefusal::Depth)
        } else if often.max() > Some(limits.repeats.into()) {
            Err(UrlRefusal::Repeats)
        } else {
            Ok(())
        };
        prop_assert_eq!(limits.check(&url), expected);
    }

    /// How many candidates are on a host is known, whatever came and went.
    #[test]
    fn candidates_of_a_host_are_counted(
        steps in prop::collection::vec((1_u32..60, 0_u16..3, 0_u8..3), 1..100)
    ) {
        let mut candidates = Candidates::new([Candidate::default(); 16]);
        for (number, host, step) in steps {
            let digest = number.wrapping_mul(0x9e37_79b1);
            match step {
                0 => {
                    let _ = candidates.remove(digest);
                }
                _ => {
                    let newcomer = Candidate::new(digest, host, number);
                    let _ = candidates.offer(newcomer, true, &|one| one.text() as f32);
                }
            }
            let on_host = candidates.iter().filter(|one| one.host() == host).count();
            prop_assert_eq!(candidates.count_on(host), on_host);
        }
    }
}
