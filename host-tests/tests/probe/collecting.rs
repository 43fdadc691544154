//! Copies on their way to a collector: byte for byte, and never in the way of a fetch.

use dunlin::collect::Uncollected;
use dunlin::probe::Event;
use dunlin::time::Duration;
use host_tests::flash::Flash;

use crate::world::{Answer, Hit, Keeper, Keeping, Mood, Moods, Setting, World};

const MINUTE: Duration = Duration::from_secs(60);

/// One host with two pages: one changes each minute and has a tag, one never does and has none.
fn setting(moods: Moods) -> Setting {
    Setting {
        seconds: 600,
        slots: 1,
        collector: Some(moods),
        unix_time: Some(1_794_000_000),
        ..Setting::of(Duration::from_secs(7), &[("a.test", &["/news", "/still"])])
    }
}

/// Long enough for many windows.
fn news(minute: u64) -> String {
    format!("<p>news of minute {minute}</p>").repeat(200)
}

fn site(hit: &Hit) -> Answer {
    let minute = hit.at.as_secs() / 60;
    match hit.target.as_str() {
        "/news" => {
            let tag = format!("ETag: \"{minute}\"\r\n");
            // Another version in each minute; the first visit of a minute has not seen it.
            Answer::new(200, &tag, &news(minute))
        }
        "/still" => Answer::page("always the same"),
        _ => Answer::none(),
    }
}

/// What was posted, taken apart by its frames.
#[derive(Default)]
struct Posted {
    meta: String,
    request: String,
    answer: String,
    verdict: String,
}

fn read(posted: &[u8]) -> Posted {
    let (head, mut body) = cut(posted, b"\r\n\r\n");
    let head = text(head);
    let token = "\r\nAuthorization: Bearer 0123456789abcdef\r\n";
    assert!(head.contains(token), "{head}");
    let mut read = Posted::default();
    loop {
        let (length, rest) = cut(body, b"\r\n");
        let length = usize::from_str_radix(text(length), 16).expect("hexadecimal digits");
        let (chunk, rest) = rest.split_at(length);
        body = rest.strip_prefix(b"\r\n").expect("the end of a chunk");
        let [kind, high, low, content @ ..] = chunk else {
            assert!(chunk.is_empty() && body.is_empty(), "{chunk:?}");
            return read;
        };
        assert_eq!(usize::from(*high) << 8 | usize::from(*low), content.len());
        let content = text(content);
        match kind {
            b'm' => read.meta += content,
            b'q' => read.request += content,
            b'r' => read.answer += content,
            b'v' => read.verdict += content,
            _ => panic!("frame {kind}"),
        }
    }
}

/// What stands before and behind the first `mark`.
fn cut<'b>(bytes: &'b [u8], mark: &[u8]) -> (&'b [u8], &'b [u8]) {
    let at = bytes.windows(mark.len()).position(|window| window == mark);
    let at = at.unwrap_or_else(|| panic!("no {mark:?} in {:?}", text(bytes)));
    (&bytes[..at], &bytes[at + mark.len()..])
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("text")
}

fn collected(world: &World) -> Vec<Posted> {
    let posted = world.collected.borrow();
    let read = posted.iter().map(|posted| read(posted));
    read.inspect(|posted| assert!(posted.verdict.starts_with("changed "), "{}", posted.verdict))
        .collect()
}

fn bodies(world: &World, url: &str) -> Vec<String> {
    let wanted = format!("{{\"url\":\"{url}\",");
    let collected = collected(world).into_iter();
    let of_url = collected.filter(|posted| posted.meta.starts_with(&wanted));
    of_url
        .map(|posted| {
            let (_, body) = posted.answer.split_once("\r\n\r\n").expect("a body");
            body.to_owned()
        })
        .collect()
}

fn uncollected(world: &World) -> Vec<Uncollected> {
    let events = world.events.borrow();
    let why = events.iter().filter_map(|(_, event)| match event {
        Event::Uncollected { why, .. } => Some(*why),
        _ => None,
    });
    why.collect()
}

/// Versions of the news that a visit brought.
fn seen(world: &World) -> Vec<String> {
    let minutes = world
        .asked("a.test", "/news")
        .into_iter()
        .map(|hit| hit.at.as_secs() / 60);
    let mut minutes: Vec<u64> = minutes.collect();
    minutes.dedup();
    minutes.into_iter().map(news).collect()
}

#[test]
fn every_version_that_was_seen_is_collected_once_byte_for_byte() {
    let (world, totals) = setting(|_| Mood::Takes).run(site);
    assert!(totals.fetches > 50 && totals.errors == 0, "{totals:?}");
    assert_eq!(bodies(&world, "http://a.test/news"), seen(&world));
    assert_eq!(bodies(&world, "http://a.test/still"), ["always the same"]);
    assert_eq!(uncollected(&world), []);
    let first = &collected(&world)[0];
    assert!(first.request.starts_with("GET /"), "{}", first.request);
    assert!(first.request.ends_with("\r\n\r\n"), "{}", first.request);
    assert!(first.meta.contains("\"time\":17940000"), "{}", first.meta);
    assert_eq!(first.verdict.len(), "changed ".len() + 16);
}

#[test]
fn an_unmodified_answer_opens_no_connection() {
    // After the first minute, every answer is 304.
    let (world, _) = setting(|at| {
        assert!(at < MINUTE, "somebody came at {at:?}");
        Mood::Takes
    })
    .run(|hit| match hit.conditional {
        true => Answer::new(304, "ETag: \"1\"\r\n", ""),
        false => Answer::new(200, "ETag: \"1\"\r\n", "once"),
    });
    assert_eq!(collected(&world).len(), 2);
}

/// A failing collector: what the crawl alone did is done with it, too, and when it is back, the
/// current version is there after the next visit.
fn fails(moods: Moods, why: impl Fn(Uncollected) -> bool) {
    let (world, totals) = setting(moods).run(site);
    let (_, alone) = Setting {
        collector: None,
        ..setting(moods)
    }
    .run(site);
    let lost = uncollected(&world);
    assert!(lost.iter().any(|lost| why(*lost)), "{lost:?}");
    assert_eq!((totals.errors, alone.errors), (0, 0));
    let share = f64::from(totals.fetches) / f64::from(alone.fetches);
    assert!(
        share >= 0.9,
        "{} fetches, {} alone",
        totals.fetches,
        alone.fetches
    );
    // It is back for the last five minutes.
    let seen = seen(&world);
    let (last, before) = seen.split_last().expect("versions");
    let kept = bodies(&world, "http://a.test/news");
    for version in before.iter().rev().take(3).chain([last]) {
        let times = kept.iter().filter(|kept| *kept == version).count();
        assert_eq!(times, 1, "{:?}", world.events.borrow());
    }
    assert_eq!(bodies(&world, "http://a.test/still"), ["always the same"]);
}

#[test]
fn a_collector_that_is_gone_stops_nothing() {
    fails(
        |at| {
            if at < MINUTE * 5 {
                Mood::Gone
            } else {
                Mood::Takes
            }
        },
        |why| why == Uncollected::Connection,
    );
}

#[test]
fn a_collector_that_stalls_stops_nothing() {
    fails(
        |at| {
            if at < MINUTE * 5 {
                Mood::StallsAfter(3_000)
            } else {
                Mood::Takes
            }
        },
        |why| why == Uncollected::Slow,
    );
}

#[test]
fn a_collector_that_takes_a_byte_now_and_then_stops_nothing() {
    fails(
        |at| {
            if at < MINUTE * 5 {
                Mood::Crawls
            } else {
                Mood::Takes
            }
        },
        |why| why == Uncollected::Slow,
    );
}

#[test]
fn a_collector_that_is_full_or_knows_no_such_token_says_so() {
    fails(
        |at| {
            if at < MINUTE * 5 {
                Mood::Answers(507)
            } else {
                Mood::Takes
            }
        },
        |why| why == Uncollected::Refused(507),
    );
}

#[test]
fn a_collector_that_breaks_the_connection_anywhere_stops_nothing() {
    for moods in [
        (|at| {
            if at < MINUTE * 5 {
                Mood::BreaksAfter(0)
            } else {
                Mood::Takes
            }
        }) as Moods,
        |at| {
            if at < MINUTE * 5 {
                Mood::BreaksAfter(400)
            } else {
                Mood::Takes
            }
        },
        |at| {
            if at < MINUTE * 5 {
                Mood::BreaksAfter(2_000)
            } else {
                Mood::Takes
            }
        },
    ] {
        fails(moods, |why| why == Uncollected::Lost);
    }
}

/// The collector can tell of it, whether the page has a tag or not: what was gone is asked for whole.
#[test]
fn that_a_page_is_gone_and_back_is_delivered() {
    let told = |site: fn(&Hit) -> Answer| {
        // A page that is gone is looked at again after a day.
        let long = Setting {
            seconds: 100_000,
            ..setting(|_| Mood::Takes)
        };
        let (world, _) = long.run(site);
        let posted = world.posted.borrow();
        let read = posted.iter().map(|posted| read(posted));
        let of_page = read.filter(|posted| posted.meta.contains("/still"));
        let mut told: Vec<String> = of_page
            .map(|posted| {
                let status = posted.answer.split(' ').nth(1).expect("a status");
                let verdict = posted.verdict.split(' ').next().expect("a word");
                format!("{status} {verdict}")
            })
            .collect();
        told.dedup();
        told
    };
    fn is_gone(hit: &Hit) -> bool {
        hit.target == "/still" && (MINUTE * 3..MINUTE * 6).contains(&hit.at)
    }
    let plain = |hit: &Hit| match is_gone(hit) {
        true => Answer::none(),
        false => site(hit),
    };
    let with_tag = |hit: &Hit| match is_gone(hit) {
        true => Answer::none(),
        false => tagged(hit),
    };
    let whole = ["200 changed", "200 same", "404 failed", "200 same"];
    assert_eq!(told(plain), whole);
    assert_eq!(told(with_tag), ["200 changed", "404 failed", "200 same"]);
}

/// A site whose pages have tags, and say when they are the same.
fn tagged(hit: &Hit) -> Answer {
    match (hit.target.as_str(), hit.conditional) {
        ("/still", true) => Answer::new(304, "ETag: \"1\"\r\n", ""),
        ("/still", false) => Answer::new(200, "ETag: \"1\"\r\n", "always the same"),
        _ => site(hit),
    }
}

#[test]
fn what_a_collector_will_never_take_is_offered_once_and_keeps_nothing_else_from_it() {
    for (moods, status) in [
        ((|_| Mood::Refuses("/still", 400)) as Moods, 400),
        (|_| Mood::Refuses("/still", 411), 411),
        // In the middle of the body.
        (|_| Mood::Refuses("always", 413), 413),
    ] {
        let (world, _) = setting(moods).run(tagged);
        assert_eq!(uncollected(&world), [Uncollected::Refused(status)]);
        assert_eq!(bodies(&world, "http://a.test/news"), seen(&world));
        let (first, others) = {
            let mut looks = world.asked("a.test", "/still").into_iter();
            (looks.next().expect("a visit"), looks)
        };
        assert!(!first.conditional && others.len() > 10);
        assert!(others.into_iter().all(|hit| hit.conditional), "{status}");
    }
}

#[test]
fn the_version_after_one_that_was_never_to_be_taken_is_offered() {
    let moods: Moods = |at| match at < MINUTE * 3 {
        true => Mood::Answers(413),
        false => Mood::Takes,
    };
    let (world, _) = setting(moods).run(tagged);
    let seen = seen(&world);
    // Three of the news, and the page that never changes.
    assert_eq!(uncollected(&world), [Uncollected::Refused(413); 4]);
    assert_eq!(bodies(&world, "http://a.test/news"), seen[3..]);
    assert!(bodies(&world, "http://a.test/still").is_empty());
}

/// Four seconds are the host's own, two the collector's: together they would make a slow host.
#[test]
fn the_wait_for_the_last_word_of_a_collector_makes_no_host_slow() {
    let visits = |collector: Option<Moods>| {
        let setting = Setting {
            collector,
            ..setting(|_| Mood::Takes)
        };
        let (world, _) = setting.run(|hit| Answer {
            after: Duration::from_secs(4),
            ..site(hit)
        });
        let lost = uncollected(&world).len();
        (world.hits.borrow().len(), lost)
    };
    let dumb: Moods = |_| Mood::Dumb;
    let (alone, _) = visits(None);
    let (beside, lost) = visits(Some(dumb));
    assert!(lost > 1, "it was asked again");
    assert!(beside * 10 >= alone * 8, "{beside} of {alone} requests");
}

#[test]
fn what_was_not_collected_is_remembered_over_a_restart() {
    let mut store = dunlin::store::Store::new(Flash::<8, 4096, 4>::blank());
    let mut run = |moods: Moods| {
        let keeper = Keeper {
            store: &mut store,
            how: Keeping::Every(Duration::from_secs(10)),
        };
        // Nothing changes between the runs.
        let site = |hit: &Hit| match (hit.target.as_str(), hit.conditional) {
            ("/robots.txt", _) => Answer::none(),
            (_, true) => Answer::new(304, "ETag: \"1\"\r\n", ""),
            (_, false) => Answer::new(200, "ETag: \"1\"\r\n", "once"),
        };
        let mut setting = setting(moods);
        setting.seconds = 100;
        setting.run_keeping(Some(keeper), site, |_, _| ()).0
    };
    assert_eq!(collected(&run(|_| Mood::Gone)).len(), 0);
    let second = run(|_| Mood::Takes);
    assert_eq!(collected(&second).len(), 2);
    let events = second.events.borrow();
    let changed =
        |(_, event): &&(Duration, Event)| matches!(event, Event::End { changed: true, .. });
    assert_eq!(events.iter().filter(changed).count(), 0, "it is no change");
    drop(events);
    assert_eq!(collected(&run(|_| Mood::Takes)).len(), 0, "it has it");
}

#[test]
fn answers_in_small_pieces_are_collected_all_the_same() {
    for window in [1, 4, 9, 10, 11] {
        let small = Setting {
            window,
            seconds: 130,
            ..setting(|_| Mood::Takes)
        };
        let (world, _) = small.run(site);
        assert_eq!(bodies(&world, "http://a.test/news"), seen(&world));
    }
}
