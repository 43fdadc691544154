//! The visit of a page, turn by turn, without an executor: what it asks for, and what it concludes
//! from what it is told.

use std::boxed::Box;
use std::string::{String, ToString};
use std::vec::Vec;

use super::*;
use crate::catalog::{Address, Config, Gateway, Host, LogLevel, Page};
use crate::fetch::{AnswerKind, Body, Head};
use crate::image::{Image, build};
use crate::probe::memory::{HostMemory, PageMemory};
use crate::probe::origin::Origins;
use crate::probe::redirects::{Redirects, spell};

const HOUR: Duration = Duration::HOUR;

/// A list of three pages on two hosts: `http://a.test/1`, `http://a.test/2`, `http://b.test/3`.
fn setup(gateway: Option<Gateway<'static>>) -> Setup<'static> {
    let config = Config {
        agent: "dunlin/0.1",
        contact: None,
        per_day: None,
        back_off_ms: 60_000,
        deadline_ms: 30_000,
        body_bytes: 1 << 20,
        seed: 1,
        key: [3; 16],
        gateway,
        address: Address::Dhcp,
        utc_offset_minutes: 0,
        log: LogLevel::Debug,
        sntp: None,
    };
    let host = |name, first_page, pages, gate| Host {
        name,
        gap_ms: 15_000,
        hours: None,
        gate,
        first_page,
        pages,
    };
    let page = |host, url| Page {
        host,
        url,
        weight: 1.0,
        rate: None,
        confidence: 0.0,
    };
    let hosts = [host("a.test", 0, 2, 0), host("b.test", 2, 1, 1)];
    let pages = [
        page(0, "http://a.test/1"),
        page(0, "http://a.test/2"),
        page(1, "http://b.test/3"),
    ];
    let bytes = build(&config, &[], &hosts, &pages, &[]);
    let image = Image::parse(Box::leak(bytes.into_boxed_slice())).expect("an image of our own");
    Setup::new(image, false).expect("a good configuration")
}

/// What a server says, or what becomes of a request else.
#[derive(Clone, Debug)]
enum Said {
    Status(u16),
    Body(&'static str),
    Moved(u16, &'static str),
    Busy(Duration),
    Failed(Failure),
    Stale,
    Lost,
    Refused(GateRefusal),
}

/// A probe's memory, and a clock.
struct Desk {
    setup: Setup<'static>,
    known: Knowledge<'static>,
    now: Instant,
    online: bool,
}

impl Desk {
    fn new() -> Self {
        Self::with(None, 1024)
    }

    fn with(gateway: Option<Gateway<'static>>, redirect_bytes: usize) -> Self {
        let pages = Box::leak(Box::new([PageMemory::NEW; 3]));
        let hosts = Box::leak(Box::new([HostMemory::NEW; 2]));
        let bytes = Box::leak(std::vec![0; redirect_bytes].into_boxed_slice());
        Self {
            setup: setup(gateway),
            known: Knowledge {
                pages,
                origins: Origins::new(hosts),
                redirects: Redirects::new(bytes),
            },
            now: Instant::ZERO + Duration::from_secs(100),
            online: true,
        }
    }

    /// One turn of a page: the URL that is asked for, and what comes next.
    fn turn(&mut self, page: u16, site: impl Fn(&str) -> Said) -> (Option<String>, Next) {
        self.now += Duration::from_secs(20);
        let Self {
            setup, known, now, ..
        } = self;
        let at = Moment {
            now: *now,
            online: self.online,
        };
        let visit = PageVisit::begin(setup, known, page, *now, *now);
        let Some((ask, _)) = visit.ask(setup) else {
            return (None, Next::Conclude(visit.unasked(known, at)));
        };
        let url = ask.request.url.to_string();
        let said = site(&url);
        let mut judges = Judges::new();
        visit.choose_judges(&mut judges, setup, known, *now);
        let mut reading = visit.reading(&mut judges, setup);
        let answer = answer(&said, ask.request.is_conditional(), &mut reading);
        let reply = match said {
            Said::Failed(why) => Reply::Failed(why),
            Said::Stale => Reply::Stale,
            Said::Lost => Reply::Lost,
            Said::Refused(refusal) => Reply::Refused(refusal),
            _ => Reply::Answered(&answer, reading.finish()),
        };
        let next = visit.told(reply, setup, known, at);
        (Some(url), next)
    }

    /// Turns of a page until its visit is over: what was asked for, and the last conclusion.
    fn visit(&mut self, page: u16, site: impl Fn(&str) -> Said) -> (Vec<String>, Conclusion) {
        let mut asked = Vec::new();
        for _ in 0..20 {
            let (url, next) = self.turn(page, &site);
            asked.extend(url);
            if let Next::Conclude(conclusion) = next
                && !matches!(conclusion.outcome, Outcome::Postponed | Outcome::RulesFirst)
            {
                return (asked, conclusion);
            }
        }
        panic!("a visit without an end: {asked:?}");
    }
}

fn answer(said: &Said, conditional: bool, body: &mut dyn Body) -> VisitAnswer {
    let mut head = Head::default();
    let mut wait = None;
    let mut target = None;
    head.status = match said {
        Said::Status(status) => *status,
        Said::Moved(status, to) => {
            target = Url::parse(to).ok().as_ref().and_then(spell);
            *status
        }
        Said::Busy(seconds) => {
            wait = Some(*seconds);
            503
        }
        _ => 200,
    };
    let text = if let Said::Body(text) = said {
        *text
    } else {
        ""
    };
    let mut rest = text.as_bytes();
    while !body.take(&head, &mut rest) {}
    while !body.take(&head, &mut &[][..]) {}
    VisitAnswer {
        kind: match head.status {
            200..=299 => AnswerKind::Page,
            304 if conditional => AnswerKind::NotModified,
            300..=399 => AnswerKind::Redirect,
            404 | 410 => AnswerKind::Gone,
            429 | 503 => AnswerKind::Busy,
            400..=499 => AnswerKind::Refused,
            _ => AnswerKind::Broken,
        },
        head,
        bytes: text.len() as u32,
        cut: false,
        wait,
        lifetime: None,
        age: None,
        target,
    }
}

/// No robots.txt anywhere; what `site` says else.
fn open(site: impl Fn(&str) -> Said) -> impl Fn(&str) -> Said {
    move |url| match url.ends_with("/robots.txt") {
        true => Said::Status(404),
        false => site(url),
    }
}

fn redirect_of(desk: &Desk, page: u16) -> Option<Redirect> {
    desk.known.redirects.get(Subject::Page(page))
}

#[test]
fn robots_txt_comes_first_and_is_asked_for_once_a_day() {
    let mut desk = Desk::new();
    let site = open(|_| Said::Body("here"));
    let (asked, conclusion) = desk.visit(0, &site);
    assert_eq!(asked, ["http://a.test/robots.txt", "http://a.test/1"]);
    assert!(matches!(conclusion.outcome, Outcome::Changed { .. }));
    assert_eq!(desk.visit(1, &site).0, ["http://a.test/2"]);
    let (asked, conclusion) = desk.visit(0, &site);
    assert_eq!(asked, ["http://a.test/1"]);
    assert_eq!(conclusion.outcome, Outcome::Unchanged);
    desk.now += HOUR * 24;
    assert_eq!(desk.visit(0, &site).0.len(), 2);
}

#[test]
fn a_page_that_the_rules_forbid_is_not_asked_for() {
    let mut desk = Desk::new();
    let site = |url: &str| match url.ends_with("/robots.txt") {
        true => Said::Body("User-agent: *\nDisallow: /2\nCrawl-delay: 40\n"),
        false => Said::Body("here"),
    };
    let (_, next) = desk.turn(0, site);
    let Next::Conclude(conclusion) = next else {
        panic!("{next:?}");
    };
    assert_eq!(conclusion.outcome, Outcome::RulesFirst);
    assert_eq!(conclusion.gap, Some((0, Duration::from_secs(40))));
    assert_eq!(conclusion.counted, None, "a robots.txt is no page");
    // Both pages of the host were judged by one file.
    let (asked, conclusion) = desk.visit(1, site);
    assert!(asked.is_empty() && conclusion.outcome == Outcome::Denied);
    assert!(matches!(conclusion.events[..], [Event::Denied { page: 1 }]));
    assert_eq!(desk.visit(0, site).0, ["http://a.test/1"]);
}

#[test]
fn a_server_that_cannot_say_its_rules_is_left_alone() {
    for status in [500, 503, 429] {
        let mut desk = Desk::new();
        let (asked, conclusion) = desk.visit(0, |_| Said::Status(status));
        assert_eq!(asked, ["http://a.test/robots.txt"]);
        let retry_after = Some(Duration::from_secs(600));
        assert_eq!(conclusion.outcome, Outcome::Refused { retry_after });
        assert_eq!(conclusion.failure, Some(Failure::Busy));
    }
}

#[test]
fn redirects_are_followed_step_by_step_and_five_at_most() {
    let mut desk = Desk::new();
    let (asked, conclusion) = desk.visit(
        0,
        open(|url| match url {
            "http://a.test/1" => Said::Moved(302, "http://a.test/x"),
            "http://a.test/x" => Said::Moved(302, "http://a.test/y"),
            _ => Said::Body("here"),
        }),
    );
    let expected = ["robots.txt", "1", "x", "y"].map(|path| ["http://a.test/", path].concat());
    assert_eq!(asked, expected);
    assert!(matches!(conclusion.outcome, Outcome::Changed { .. }));
    assert!(
        redirect_of(&desk, 0).is_none(),
        "it has moved for a while only"
    );
    let mut desk = Desk::new();
    let (asked, conclusion) = desk.visit(
        0,
        open(|url| Said::Moved(302, Box::leak([url, "/on"].concat().into_boxed_str()))),
    );
    assert_eq!(asked.len(), 2 + Hops::MOST);
    assert_eq!(conclusion.outcome, Outcome::Redirected);
}

#[test]
fn a_circle_ends_where_it_began() {
    let mut desk = Desk::new();
    let (_, conclusion) = desk.visit(
        0,
        open(|url| match url {
            "http://a.test/1" => Said::Moved(301, "http://a.test/x"),
            _ => Said::Moved(301, "http://a.test/1"),
        }),
    );
    assert_eq!(conclusion.outcome, Outcome::Redirected);
    let why = Some(RedirectError::Loop);
    assert!(matches!(conclusion.events[..], [Event::Astray { why: told, .. }] if told == why));
    assert!(redirect_of(&desk, 0).is_none(), "the list's URL is asked");
}

#[test]
fn the_rules_of_a_redirects_target_are_asked_for_before_it() {
    let mut desk = Desk::new();
    let site = |url: &str| match url {
        "http://a.test/robots.txt" => Said::Status(404),
        "http://a.test/1" => Said::Moved(301, "http://new.test/secret"),
        "http://new.test/robots.txt" => Said::Body("User-agent: *\nDisallow: /secret\n"),
        _ => Said::Body("here"),
    };
    let (asked, conclusion) = desk.visit(0, site);
    let expected = [
        "http://a.test/robots.txt",
        "http://a.test/1",
        "http://new.test/robots.txt",
    ];
    assert_eq!(asked, expected);
    assert_eq!(conclusion.outcome, Outcome::Denied);
    assert!(
        redirect_of(&desk, 0).is_none(),
        "a denied move is forgotten"
    );
}

#[test]
fn a_robots_txt_is_followed_where_redirects_lead_and_then_found_anew() {
    let mut desk = Desk::new();
    let site = |url: &str| match url {
        "http://a.test/robots.txt" => Said::Moved(302, "http://cdn.test/rules.txt"),
        "http://cdn.test/rules.txt" => Said::Body("User-agent: *\nDisallow: /2\n"),
        _ => Said::Body("here"),
    };
    let (asked, _) = desk.visit(0, site);
    let expected = [
        "http://a.test/robots.txt",
        "http://cdn.test/rules.txt",
        "http://a.test/1",
    ];
    assert_eq!(asked, expected);
    assert_eq!(desk.visit(1, site).1.outcome, Outcome::Denied);
    // A file that is lost in redirects is no file.
    let mut desk = Desk::new();
    let (asked, conclusion) = desk.visit(0, |url| match url.ends_with("/robots.txt") {
        true => Said::Moved(302, "http://a.test/robots.txt"),
        false => Said::Body("here"),
    });
    assert_eq!(asked.len(), 2);
    assert!(conclusion.outcome.is_answer());
}

#[test]
fn a_page_that_moved_for_good_is_asked_for_there_until_it_is_gone() {
    let mut desk = Desk::new();
    let moved = open(|url| match url {
        "http://a.test/1" => Said::Moved(301, "http://a.test/new"),
        _ => Said::Body("here"),
    });
    let _ = desk.visit(0, &moved);
    assert_eq!(desk.visit(0, &moved).0, ["http://a.test/new"]);
    assert_eq!(desk.known.redirects.unsaved(), Some(0), "it is stored");
    let back = open(|url| match url {
        "http://a.test/1" => Said::Body("back"),
        _ => Said::Status(404),
    });
    let (asked, conclusion) = desk.visit(0, &back);
    assert_eq!(asked, ["http://a.test/new", "http://a.test/1"]);
    assert!(conclusion.outcome.is_answer());
    assert_eq!(desk.visit(0, &back).0, ["http://a.test/1"]);
}

#[test]
fn a_move_outlives_what_is_not_its_fault() {
    let gateway = Gateway {
        host: "gateway.test",
        port: 3128,
    };
    let moved = open(|url| match url {
        "http://a.test/1" => Said::Moved(301, "https://a.test/1"),
        _ => Said::Body("here"),
    });
    let cases = [
        (Failure::Tls(TlsError::Time), true, true),
        (Failure::Tls(TlsError::Memory), true, true),
        (Failure::Tls(TlsError::Random), true, true),
        (Failure::Connection, false, true),
        (Failure::Tls(TlsError::Expired), true, false),
        (Failure::Connection, true, false),
    ];
    for (why, online, is_kept) in cases {
        let mut desk = Desk::with(Some(gateway), 1024);
        let _ = desk.visit(0, &moved);
        assert_eq!(desk.visit(0, &moved).0, ["https://a.test/1"]);
        desk.online = online;
        let (asked, next) = desk.turn(0, |_| Said::Failed(why));
        assert_eq!(asked.as_deref(), Some("https://a.test/1"));
        let Next::Conclude(conclusion) = next else {
            panic!("{next:?}");
        };
        let is_postponed = conclusion.outcome == Outcome::Postponed;
        assert_eq!(is_postponed, is_kept, "{why:?}: {:?}", conclusion.outcome);
        desk.online = true;
        let (asked, _) = desk.turn(0, &moved);
        let place = match is_kept {
            true => "https://a.test/1",
            false => "http://a.test/1",
        };
        assert_eq!(asked.as_deref(), Some(place), "{why:?}");
    }
}

#[test]
fn answers_become_outcomes() {
    let gone = Outcome::Gone;
    let failed = Outcome::Failed;
    let broken = Outcome::Broken { times: 1 };
    let asked_to_wait = Outcome::Refused {
        retry_after: Some(HOUR),
    };
    let cases = [
        (Said::Status(404), gone, None),
        (Said::Status(410), gone, None),
        (Said::Status(403), gone, None),
        (Said::Status(503), failed, Some(Failure::Busy)),
        (Said::Busy(HOUR), asked_to_wait, Some(Failure::Busy)),
        (Said::Status(500), broken, Some(Failure::Server)),
        (
            Said::Failed(Failure::Deadline),
            broken,
            Some(Failure::Deadline),
        ),
        (Said::Failed(Failure::Name), failed, Some(Failure::Name)),
    ];
    for (said, outcome, failure) in cases {
        let mut desk = Desk::new();
        let (_, conclusion) = desk.visit(0, open(|_| said.clone()));
        assert_eq!(
            (conclusion.outcome, conclusion.failure),
            (outcome, failure),
            "{said:?}"
        );
        assert_eq!(conclusion.counted.is_some(), failure.is_none(), "{said:?}");
    }
}

#[test]
fn nobody_is_blamed_while_the_network_is_away() {
    let mut desk = Desk::new();
    desk.online = false;
    let (_, next) = desk.turn(0, |_| Said::Failed(Failure::Connection));
    let Next::Conclude(conclusion) = next else {
        panic!("{next:?}");
    };
    assert_eq!(conclusion.outcome, Outcome::Postponed);
    assert_eq!(conclusion.failure, Some(Failure::Connection));
}

#[test]
fn a_stale_connection_or_a_closed_gate_changes_nothing() {
    let mut desk = Desk::new();
    let site = open(|url| match url {
        "http://a.test/1" => Said::Moved(301, "http://b.test/x"),
        _ => Said::Body("here"),
    });
    for _ in 0..2 {
        assert!(matches!(desk.turn(0, &site), (Some(_), Next::Conclude(_))));
    }
    let before = redirect_of(&desk, 0).map(|redirect| redirect.url);
    assert!(before.is_some());
    let stale = desk.turn(0, |_| Said::Stale);
    assert!(matches!(stale, (Some(_), Next::AskAgain)), "{stale:?}");
    let at_another_gate = desk.turn(0, |_| Said::Refused(GateRefusal::WaitAt(1)));
    assert!(matches!(at_another_gate, (Some(_), Next::WaitAt(1))));
    let (asked, next) = desk.turn(0, |_| Said::Refused(GateRefusal::Closed));
    assert!(matches!(next, Next::NotNow), "{next:?}");
    assert_eq!(asked.as_deref(), Some("http://b.test/robots.txt"));
    assert_eq!(redirect_of(&desk, 0).map(|redirect| redirect.url), before);
    // The server may have seen it: the gate counts a request.
    let (_, next) = desk.turn(0, |_| Said::Lost);
    let Next::Conclude(conclusion) = next else {
        panic!("{next:?}");
    };
    assert_eq!(conclusion.outcome, Outcome::Postponed);
    assert_eq!(redirect_of(&desk, 0).map(|redirect| redirect.url), before);
}

#[test]
fn a_private_address_makes_a_redirect_be_forgotten() {
    let mut desk = Desk::new();
    let (asked, conclusion) = desk.visit(
        0,
        open(|url| match url {
            "http://a.test/1" => Said::Moved(301, "http://inside.test/"),
            _ => Said::Failed(Failure::PrivateAddress),
        }),
    );
    assert_eq!(asked.len(), 4, "two files and two pages: {asked:?}");
    assert_eq!(conclusion.outcome, Outcome::Redirected);
    assert_eq!(conclusion.failure, Some(Failure::PrivateAddress));
    assert!(redirect_of(&desk, 0).is_none());
}

#[test]
fn without_room_or_tls_a_redirect_is_not_followed() {
    let to = |url: &'static str| open(move |_| Said::Moved(301, url));
    let mut small = Desk::with(None, 40);
    let (_, conclusion) = small.visit(0, to("http://a.test/a/rather/long/path"));
    let why = Some(RedirectError::NoRoom);
    assert!(matches!(conclusion.events[..], [Event::Astray { why: told, .. }] if told == why));
    assert_eq!(conclusion.outcome, Outcome::Redirected);
    let (_, conclusion) = Desk::new().visit(0, to("https://a.test/1"));
    let why = Some(RedirectError::NeedsTls);
    assert!(matches!(conclusion.events[..], [Event::Astray { why: told, .. }] if told == why));
    let gateway = Gateway {
        host: "gateway.test",
        port: 3128,
    };
    let mut desk = Desk::with(Some(gateway), 1024);
    for _ in 0..2 {
        let _ = desk.turn(0, to("https://a.test/1"));
    }
    assert!(redirect_of(&desk, 0).is_some_and(|redirect| redirect.url == "https://a.test/1"));
}

#[test]
fn a_page_that_the_image_does_not_have_is_gone() {
    let (asked, conclusion) = Desk::new().visit(9, |_| Said::Stale);
    assert!(asked.is_empty() && conclusion.outcome == Outcome::Gone);
}
