//! robots.txt: RFC 9309's own examples, real files' habits, budgets, and agreement with crate
//! `robotstxt`.

use std::collections::{BTreeMap, BTreeSet};

use dunlin::fetch::Url;
use dunlin::fetch::robots::{
    Access, HostRobots, Judge, Reason, RobotsReader, Rule, RuleSink, Rules,
};
use dunlin::time::{Duration, Instant};
use dunlin_suite::bench::Random;
use host_tests::fetch::judge;
use robotstxt::DefaultMatcher;
use robotstxt::matcher::{RobotsMatchStrategy, RobotsMatcher};

fn allowed(file: &str, agent: &str, path: &str) -> bool {
    let text = format!("http://example.org{path}");
    let url = Url::parse(&text).unwrap();
    let answers: Vec<_> = [1, 2, 3, 7, 64, 1024, file.len()]
        .map(|size| judge(file.as_bytes(), size, agent, url, 1 << 16))
        .into();
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{agent} {path}: the pieces matter"
    );
    let (exact, kept) = answers[0];
    assert_eq!(exact, kept, "{agent} {path}: Judge and Rules differ");
    exact
}

/// The example of RFC 9309 §5.1.
const SIMPLE: &str = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
    User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
    User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n\nEOF\n";

#[test]
fn the_simple_example_of_rfc_9309() {
    for (agent, path, expected) in [
        ("other", "/", true),
        ("other", "/a/b.gif", false),
        ("other", "/a/b.gif?x", true),
        ("other", "/example/page.html", false),
        ("other", "/publications/x", true),
        ("other", "/publications/x.gif", true),
        ("foobot", "/", false),
        ("foobot", "/example/page.html", true),
        ("foobot", "/example/allowed.gif", true),
        ("foobot", "/example/other.gif", false),
        ("FooBot", "/example/page.html", true),
        ("foobot/2.1", "/publications/", false),
        ("barbot", "/example/page.html", false),
        ("bazbot", "/example/page.html", false),
        ("barbot", "/a.gif", true),
        ("quxbot", "/example/page.html", true),
        ("quxbot", "/a.gif", true),
    ] {
        assert_eq!(allowed(SIMPLE, agent, path), expected, "{agent} {path}");
    }
}

/// RFC 9309 §5.2 and §2.2.1: the longest match wins; groups for one agent are one group.
#[test]
fn longest_match_and_merged_groups_of_rfc_9309() {
    let longest =
        "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
    assert!(!allowed(longest, "foobot", "/example/page/disallowed.gif"));
    assert!(allowed(longest, "foobot", "/example/page/"));
    let merged = "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz\n";
    for path in ["/foo", "/bar", "/baz"] {
        assert!(!allowed(merged, "examplebot", path), "{path}");
    }
    let mixed = "User-agent: *\nDisallow: /a\nUser-agent: foobot\nDisallow: /b\nUser-agent: *\nDisallow: /c\n";
    assert_eq!(
        ["/a", "/b", "/c"].map(|path| allowed(mixed, "foobot", path)),
        [true, false, true]
    );
    assert_eq!(
        ["/a", "/b", "/c"].map(|path| allowed(mixed, "other", path)),
        [false, true, false]
    );
}

/// RFC 9309 §2.2.2: the table of encoded paths, and §2.2.3: special characters.
#[test]
fn encodings_of_rfc_9309() {
    for (pattern, path, matches) in [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz", true),
        (
            "/foo/bar?baz=https://foo.bar",
            "/foo/bar?baz=https%3A%2F%2Ffoo.bar",
            true,
        ),
        (
            "/foo/bar?baz=https%3A%2F%2Ffoo.bar",
            "/foo/bar?baz=https://foo.bar",
            true,
        ),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84", true),
        ("/foo/bar/%E3%83%84", "/foo/bar/ツ", true),
        ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84", true),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz", true),
        ("/foo/bar/baz", "/foo/bar/%62%61%7A", true),
        ("/a%2Fb", "/a/b", false),
        (
            "/path/file-with-a-%2A.html",
            "/path/file-with-a-*.html",
            true,
        ),
        (
            "/path/file-with-a-%2A.html",
            "/path/file-with-a-x.html",
            false,
        ),
        ("/path/foo-%24", "/path/foo-$", true),
        ("/path/foo-$", "/path/foo-$", false),
        ("/path/foo-$", "/path/foo-", true),
        ("/a$b", "/a$b", true),
        ("/this/path/exactly$", "/this/path/exactly", true),
        ("/this/path/exactly$", "/this/path/exactly/", false),
        ("/this/*/exactly", "/this/or/that/path/exactly", true),
        ("/this/*/exactly", "/this/exactly", false),
        ("*", "/anything", true),
        ("/*", "/", true),
        ("/a*$", "/abc", true),
        ("/*a*b*c$", "/xaxbxc", true),
        ("/*a*b*c$", "/xaxbxcx", false),
        ("/*aab", "/aaaab", true),
        ("/fish", "/Fish", false),
        ("/fish/", "/fish", false),
        ("fish", "/fish", false),
        ("/x?", "/x", false),
        ("/%zz", "/%zz", true),
    ] {
        let file = format!("User-agent: *\nDisallow: {pattern}\n");
        assert_eq!(!allowed(&file, "dunlin", path), matches, "{pattern} {path}");
    }
}

#[test]
fn allow_wins_ties_and_empty_patterns_say_nothing() {
    assert!(allowed(
        "User-agent: *\nDisallow: /a\nAllow: /a\n",
        "x",
        "/a"
    ));
    assert!(allowed(
        "User-agent: *\nAllow: /a\nDisallow: /a\n",
        "x",
        "/a"
    ));
    assert!(allowed("User-agent: *\nDisallow:\n", "x", "/a"));
    assert!(!allowed("User-agent: *\nDisallow: /\nAllow:\n", "x", "/a"));
    assert!(
        allowed("Disallow: /\n", "x", "/a"),
        "a rule before any group is nobody's"
    );
    assert!(allowed("", "x", "/a"));
    assert!(allowed("User-agent: *\nDisallow: /\n", "x", "/robots.txt"));
}

#[test]
fn files_as_people_write_them() {
    for file in [
        "\u{feff}User-agent: *\nDisallow: /p",
        "User-agent: *\rDisallow: /p\r",
        "User-agent: *\r\nDisallow: /p\r\n",
        "User-agent: *\n\n\n   Disallow  :   /p   # private\n",
        "user agent: *\ndisalow: /p",
        "User-agent *\nDisallow /p",
        "# hello\nUser-agent: * # everyone\nDisallow: /p",
        "User-agent: * and all others\nDisallow: /p",
        "User-agent: *\nCrawl-delay: x\nDisallow: /p",
        "User-agent: *\nSitemap: http://a/s.xml\nUser-agent: foobot\nDisallow: /p",
        "<html>\nUser-agent: *\n\0\u{1}junk: x\nDisallow: /p",
    ] {
        assert!(!allowed(file, "foobot", "/p"), "{file:?}");
        assert!(allowed(file, "foobot", "/q"), "{file:?}");
    }
}

#[test]
fn crawl_delay_of_our_group() {
    let delay = |file: &str| {
        let mut reader = RobotsReader::new("dunlin", Rules::new([0; 64]));
        reader.update(file.as_bytes());
        reader.finish().1.map(Duration::as_millis)
    };
    assert_eq!(delay("User-agent: *\nCrawl-delay: 10"), Some(10_000));
    assert_eq!(delay("User-agent: *\nCrawl-delay: 0.25"), Some(250));
    assert_eq!(delay("User-agent: *\nCrawl-delay: .5"), Some(500));
    assert_eq!(
        delay("User-agent: *\nCrawl-delay: 2.\nCrawl-delay: 1"),
        Some(2_000)
    );
    assert_eq!(
        delay("User-agent: *\nCrawl-delay: 10\nUser-agent: dunlin\nCrawl-delay: 3"),
        Some(3_000)
    );
    assert_eq!(
        delay("User-agent: *\nCrawl-delay: 10\nUser-agent: dunlin\nDisallow: /x"),
        None
    );
    assert_eq!(delay("User-agent: other\nCrawl-delay: 10"), None);
    for nonsense in ["", "ten", "-1", "1,5", ".", "1e3"] {
        assert_eq!(
            delay(&format!("User-agent: *\nCrawl-delay: {nonsense}")),
            None,
            "{nonsense:?}"
        );
    }
    assert!(delay("User-agent: *\nCrawl-delay: 99999999999999999999999").unwrap() > 1 << 50);
}

#[test]
fn half_a_megabyte_passes_through_the_window() {
    let mut file = String::from("User-agent: *\n");
    while file.len() < 500 * 1024 {
        file += &format!("Disallow: /private/{}/\n", file.len());
    }
    let last = "Disallow: /the/end\n";
    file += last;
    let mut judges = ["/private/14/x", "/the/end", "/the/start"]
        .map(|path| Judge::new(Url::parse(format!("http://a{path}").leak()).unwrap()));
    let mut reader = RobotsReader::new("dunlin", &mut judges[..]);
    file.as_bytes()
        .chunks(1024)
        .for_each(|piece| reader.update(piece));
    reader.finish();
    assert_eq!(
        judges.clone().map(|judge| judge.ruling().allowed),
        [false, false, true]
    );
    let lines = file.lines().count() as u32;
    assert_eq!(judges[1].ruling().reason, Reason::Line(lines));
}

#[test]
fn several_judges_forget_the_rules_of_others_when_our_group_comes() {
    let mut judges =
        ["/a", "/b"].map(|path| Judge::new(Url::parse(format!("http://x{path}").leak()).unwrap()));
    let mut reader = RobotsReader::new("dunlin", &mut judges[..]);
    reader.update(b"User-agent: *\nDisallow: /\n\nUser-agent: dunlin\nDisallow: /b\n");
    reader.finish();
    assert_eq!(judges.map(|judge| judge.ruling().allowed), [true, false]);
}

#[test]
fn many_rules_that_are_alike_are_not_too_much_work() {
    let mut reader = RobotsReader::new("dunlin", Rules::new([0_u8; 4096]));
    reader.update(b"User-agent: *\n");
    for rule in 0..100 {
        reader.update(format!("Disallow: /some/path/{rule}/x\n").as_bytes());
    }
    for _ in 0..5_000 {
        reader.update(b"Disallow: /some/path/1/x\n");
    }
    let (rules, _) = reader.finish();
    let decide = |path| rules.decide(&Url::parse(path).unwrap()).allowed;
    assert!(!decide("http://x/some/path/1/x") && decide("http://x/some/path/1/y"));
}

/// Judges, and the most steps that they took of one turn, and of all.
struct Counting<'j, 'u> {
    judges: &'j mut [Judge<'u>],
    most: u32,
    all: u64,
    given_up: bool,
}

impl RuleSink for Counting<'_, '_> {
    fn restart(&mut self) {
        self.judges.restart();
    }

    fn rule(&mut self, rule: &Rule<'_>, steps: &mut u32) -> bool {
        let before = *steps;
        let done = self.judges.rule(rule, steps);
        self.most = self.most.max(before - *steps);
        self.all += u64::from(before - *steps);
        done
    }

    fn give_up(&mut self) {
        self.given_up = true;
        self.judges.give_up();
    }
}

/// 500 KiB of rules that are made to be compared for as long as possible, and 32 pages.
#[test]
fn rules_made_to_be_slow_are_given_up_and_forbid_what_they_might_forbid() {
    let evil = format!("Disallow: /*{}b\n", "a".repeat(90));
    let file = format!("User-agent: *\n{}", evil.repeat(500 * 1024 / evil.len()));
    let urls: Vec<String> = (0..32)
        .map(|page| format!("http://a/{page}{}", "a".repeat(190)))
        .collect();
    let parse = |text: &'static str| Judge::new(Url::parse(text).unwrap());
    let mut judges: Vec<Judge<'_>> = urls
        .iter()
        .map(|text| Judge::new(Url::parse(text).unwrap()))
        .chain([parse("http://a/short"), parse("http://a/robots.txt")])
        .collect();
    let mut reader = RobotsReader::new(
        "dunlin",
        Counting {
            judges: &mut judges,
            most: 0,
            all: 0,
            given_up: false,
        },
    );
    reader.update(file.as_bytes());
    let (counted, _) = reader.finish();
    assert!(counted.most <= 336, "{} steps in one go", counted.most);
    assert!(counted.all <= 100_000_000, "{} steps", counted.all);
    assert!(counted.given_up, "the file was read to its end");
    let rulings: Vec<_> = judges.iter().map(Judge::ruling).collect();
    assert!(
        rulings[..33]
            .iter()
            .all(|ruling| !ruling.allowed && ruling.reason == Reason::Overflow)
    );
    assert!(rulings[33].allowed, "robots.txt itself is always allowed");
}

/// What a rule costs that matches is counted, too: others get their turns between pages.
#[test]
fn a_long_rule_that_matches_many_pages_takes_many_turns() {
    let path = format!("/{}", "j".repeat(480));
    let url = format!("http://a{path}");
    let mut judges: Vec<Judge<'_>> = (0..32)
        .map(|_| Judge::new(Url::parse(&url).unwrap()))
        .collect();
    let rule = Rule {
        allow: false,
        pattern: path.as_bytes(),
        cut: false,
        line: 2,
    };
    let mut turns = 1;
    while !judges.as_mut_slice().rule(&rule, &mut 336) {
        turns += 1;
    }
    assert!((30..=32).contains(&turns), "{turns} turns");
    assert!(judges.iter().all(|judge| !judge.ruling().allowed));
}

/// One such rule alone forbids the pages that it may match, and no others.
#[test]
fn a_rule_made_to_be_slow_forbids_no_page_that_it_can_be_compared_with() {
    let file = format!("User-agent: *\nDisallow: /*{}b\n", "a".repeat(90));
    let long = format!("http://a/{}", "a".repeat(190));
    let mut judges =
        [long.as_str(), "http://a/honest/page"].map(|text| Judge::new(Url::parse(text).unwrap()));
    let mut reader = RobotsReader::new("dunlin", &mut judges[..]);
    reader.update(file.as_bytes());
    reader.finish();
    assert_eq!(judges[0].ruling().reason, Reason::Overflow);
    assert_eq!(judges[1].ruling().reason, Reason::NoRule);
    // An allow rule that cannot be compared allows nothing that is forbidden.
    let file = format!(
        "User-agent: *\nDisallow: /a\nAllow: /*{}b\n",
        "a".repeat(90)
    );
    assert!(!allowed(&file, "dunlin", &long["http://a".len()..]));
}

#[test]
fn a_line_longer_than_the_window_errs_to_disallow() {
    let long = "x".repeat(2_000);
    let file = format!("User-agent: *\nAllow: /{long}\nDisallow: /{long}{long}\n");
    assert!(allowed(&file, "dunlin", "/x"));
    let path = format!("/{}", "x".repeat(1_500));
    assert!(
        !allowed(&file, "dunlin", &path),
        "the pattern's beginning matches"
    );
    let file = format!("User-agent: *\nDisallow: /p # {long}\n");
    assert!(!allowed(&file, "dunlin", "/p"), "a long comment is no harm");
}

#[test]
fn without_room_nothing_is_allowed_that_the_file_disallows() {
    let mut random = Random(4);
    let mut overflows = 0;
    for _ in 0..2_000 {
        let file = generate(&mut random);
        let path = generate_path(&mut random);
        let text = format!("http://example.org{path}");
        let url = Url::parse(&text).unwrap();
        let budget = random.below(64) as usize;
        let (exact, kept) = judge(file.as_bytes(), 64, "foobot", url, budget);
        assert!(
            exact || !kept,
            "{budget} bytes allow {path} against\n{file}"
        );
        overflows += u32::from(exact && !kept);
    }
    assert!(overflows > 100, "the budget never ran out: {overflows}");
}

/// … and it says that this is why.
#[test]
fn an_overflow_is_named_as_the_reason() {
    let mut reader = RobotsReader::new("dunlin", Rules::new([0; 24]));
    reader.update(
        b"User-agent: *\nDisallow: /kept\nDisallow: /dropped/for/want/of/room\nAllow: /dropped/but/open\n",
    );
    let (rules, _) = reader.finish();
    assert!(!rules.is_complete());
    let decide = |path: &str| {
        let text = format!("http://a{path}");
        let decision = rules.decide(&Url::parse(&text).unwrap());
        (decision.allowed, decision.reason == Reason::Overflow)
    };
    assert_eq!(decide("/dropped/for/want/of/room/x"), (false, true));
    assert_eq!(
        decide("/kept/x"),
        (false, false),
        "a rule that fits is a reason of its own"
    );
    assert_eq!(decide("/else"), (true, false));
}

/// RFC 9309 §2.3.1 and §2.4.
#[test]
fn statuses_and_caching() {
    for (status, access) in [
        (Some(200), Access::Rules),
        (Some(204), Access::Rules),
        (Some(301), Access::AllowAll),
        (Some(401), Access::AllowAll),
        (Some(403), Access::AllowAll),
        (Some(404), Access::AllowAll),
        (Some(410), Access::AllowAll),
        (Some(429), Access::DenyAll),
        (Some(500), Access::DenyAll),
        (Some(503), Access::DenyAll),
        (None, Access::DenyAll),
    ] {
        assert_eq!(Access::from_status(status), access, "{status:?}");
    }
    let kept = |access, lifetime| {
        let mut robots = HostRobots::UNKNOWN;
        robots.record(access, lifetime, Instant::ZERO);
        robots.ask_at() - Instant::ZERO
    };
    assert_eq!(kept(Access::Rules, None), Duration::DAY);
    assert_eq!(kept(Access::Rules, Some(Duration::DAY * 30)), Duration::DAY);
    assert_eq!(
        kept(Access::Rules, Some(Duration::HOUR * 5)),
        Duration::HOUR * 5
    );
    assert_eq!(
        kept(Access::Rules, Some(Duration::ZERO)),
        HostRobots::SHORTEST
    );
    assert_eq!(
        kept(Access::DenyAll, Some(Duration::DAY)),
        HostRobots::RETRY
    );
}

const PIECES: &[&str] = &[
    "/",
    "/a",
    "/b/",
    "a",
    "ab",
    "*",
    "$",
    ".gif",
    "?",
    "x=1",
    "&",
    "%41",
    "%2F",
    "%2f",
    "%c3%a4",
    "ä",
    "-",
    "~",
    "%7E",
    "index.html",
];

fn generate_path(random: &mut Random) -> String {
    let mut path = String::from("/");
    for _ in 0..random.below(6) {
        path += PIECES[random.below(PIECES.len() as u32) as usize];
    }
    path
}

fn generate(random: &mut Random) -> String {
    let mut pick = |among: &[&'static str]| among[random.below(among.len() as u32) as usize];
    let mut file = String::new();
    let end = pick(&["\n", "\n", "\r\n", "\r"]);
    for _ in 0..12 {
        let line = match pick(&[
            "agent", "agent", "rule", "rule", "rule", "rule", "rule", "other",
        ]) {
            "agent" => {
                let agent = pick(&[
                    "*",
                    "foobot",
                    "FooBot",
                    "barbot",
                    "foobot/1.0",
                    "*bot",
                    "foo",
                ]);
                format!(
                    "{} {agent}",
                    pick(&["User-agent:", "user-agent:", "User-agent :", "useragent:"])
                )
            }
            "rule" => {
                let key = pick(&[
                    "Disallow:",
                    "Disallow:",
                    "Disallow:",
                    "Allow:",
                    "Allow:",
                    "disallow :",
                    "Disalow:",
                    "Disallow",
                ]);
                let mut pattern = String::from(pick(&["/", "/", "/", "", "*"]));
                for _ in 0..4 {
                    if pick(&["y", "n"]) == "y" {
                        pattern += pick(PIECES);
                    }
                }
                format!("{key} {pattern}{}", pick(&["", "", "", " # why", "$"]))
            }
            _ => pick(&[
                "",
                "# comment",
                "Crawl-delay: 3",
                "Sitemap: http://a/",
                "Noindex: /a",
                "nonsense",
            ])
            .to_owned(),
        };
        file = file + &line + end;
    }
    file
}

/// A cause of differences, and how to take it away: the pair is then decided alike, or the cause is
/// another.
type Cause = (&'static str, fn(&str) -> String);

const CAUSES: &[Cause] = &[
    (
        "it does not decode unreserved characters (RFC 9309 §2.2.2 does)",
        |text| text.replace("%41", "A").replace("%7E", "~"),
    ),
    ("it wants URLs encoded beforehand, in capitals", |text| {
        text.replace('ä', "%C3%A4")
            .replace("%c3%a4", "%C3%A4")
            .replace("%2f", "%2F")
    }),
    (
        "it reads Allow: /x/index.html as Allow: /x/$, too, as Google does",
        |text| text.replace("index.html", "i.html"),
    ),
    (
        "to it other records end a list of agents (RFC 9309 §2.2.4: they must not)",
        |text| {
            text.replace("Sitemap:", "#")
                .replace("Noindex:", "#")
                .replace("Crawl-delay:", "#")
        },
    ),
    (
        "in a query it tells / from %2F (RFC 9309 §2.2.2's table does not)",
        |text| text.replace("%2f", "%7C").replace("%2F", "%7C"),
    ),
    (
        "its `*` forgets where it was: it inserts positions where the original it ports assigns them",
        str::to_owned,
    ),
];

/// Why `robotstxt` decides otherwise, if that is as it should be: the first cause that suffices, or
/// several at once.
fn explanation(file: &str, path: &str) -> Option<&'static str> {
    let agrees = |file: &str, path: &str, mended: bool| {
        theirs(file, path, mended) == allowed(file, "foobot", path)
    };
    let last = CAUSES.len() - 1;
    for (index, (why, without)) in CAUSES.iter().enumerate() {
        if agrees(&without(file), &without(path), index == last) {
            return Some(why);
        }
    }
    let without_all = |text: &str| {
        CAUSES
            .iter()
            .fold(text.to_owned(), |text, (_, without)| without(&text))
    };
    agrees(&without_all(file), &without_all(path), true).then_some("several of these at once")
}

/// The longest match, with a matcher that keeps all its positions.
#[derive(Default)]
struct Mended;

impl RobotsMatchStrategy for Mended {
    fn match_allow(&self, path: &str, pattern: &str) -> i32 {
        if Self::matches(path, pattern) {
            pattern.len() as i32
        } else {
            -1
        }
    }

    fn match_disallow(&self, path: &str, pattern: &str) -> i32 {
        self.match_allow(path, pattern)
    }

    fn matches(path: &str, pattern: &str) -> bool {
        let (pattern, anchored) = match pattern.strip_suffix('$') {
            Some(rest) => (rest, true),
            None => (pattern, false),
        };
        let mut places: BTreeSet<usize> = BTreeSet::from([0]);
        for byte in pattern.bytes() {
            places = match byte {
                b'*' => places
                    .first()
                    .map(|first| (*first..=path.len()).collect())
                    .unwrap_or_default(),
                _ => places
                    .iter()
                    .filter(|at| path.as_bytes().get(**at) == Some(&byte))
                    .map(|at| at + 1)
                    .collect(),
            };
        }
        if anchored {
            places.contains(&path.len())
        } else {
            !places.is_empty()
        }
    }
}

fn theirs(file: &str, path: &str, mended: bool) -> bool {
    let url = format!("http://example.org{path}");
    if mended {
        RobotsMatcher::<Mended>::default().one_agent_allowed_by_robots(file, "foobot", &url)
    } else {
        DefaultMatcher::default().one_agent_allowed_by_robots(file, "foobot", &url)
    }
}

#[test]
fn agrees_with_robotstxt_on_100_000_pairs() {
    let mut random = Random(6);
    let mut agreed = 0_u32;
    let mut denied = 0_u32;
    let mut explained = BTreeMap::<&str, (u32, String)>::new();
    let mut pairs = 0_u32;
    let mut unexplained = Vec::new();
    while pairs < 100_000 {
        let file = generate(&mut random);
        for _ in 0..10 {
            let path = generate_path(&mut random);
            let text = format!("http://example.org{path}");
            let ours = judge(
                file.as_bytes(),
                97,
                "foobot",
                Url::parse(&text).unwrap(),
                4096,
            );
            assert_eq!(ours.0, ours.1, "{path}\n{file}");
            pairs += 1;
            denied += u32::from(!ours.0);
            if ours.0 == theirs(&file, &path, false) {
                agreed += 1;
            } else if let Some(why) = explanation(&file, &path) {
                explained
                    .entry(why)
                    .or_insert((0, format!("{path}\n{file}")))
                    .0 += 1;
            } else {
                unexplained.push(format!("{path} we {}\n{file}", ours.0));
            }
        }
    }
    let counts: BTreeMap<_, _> = explained
        .iter()
        .map(|(why, (count, _))| (why, count))
        .collect();
    println!("{pairs} pairs: {agreed} agreed, {denied} disallowed, explained: {counts:#?}");
    assert!(
        unexplained.is_empty(),
        "{} unexplained, first:\n{}",
        unexplained.len(),
        unexplained[0]
    );
    assert!(
        denied > pairs / 10 && denied < pairs * 9 / 10,
        "the generator is lopsided: {denied} disallowed"
    );
}

#[test]
fn to_look_for_a_rule_takes_a_step_for_sixteen_bytes_of_those_that_are_kept() {
    let mut rules = Rules::new([0; 256]);
    let long = [b'x'; 98];
    for (pattern, used) in [(&long[..], 0), (b"/y", 100), (b"/y", 104)] {
        let rule = Rule {
            allow: false,
            pattern,
            cut: false,
            line: 1,
        };
        let mut steps = 1_000;
        assert!(rules.rule(&rule, &mut steps));
        assert_eq!(steps, 1_000 - used / 16);
    }
    assert_eq!(rules.used(), 104, "the same rule is kept once");
}
