//! The probe and its time server: whose word counts, how often it is asked, what happens when it
//! fails.

use dunlin::catalog::TimeServer;
use dunlin::probe::{Event, TimeSource};
use dunlin::sntp::NoTime;
use dunlin::time::Duration;

use crate::world::{Answer, Hit, Setting, TimeService, World};

/// 12:00:00 on 6 November 2026, which the time server's clock shows at the start.
const NOON: u64 = 1_793_966_400;
const SERVER: TimeServer<'_> = TimeServer {
    host: "time.test",
    port: 123,
};

/// An answer of a server that knows: `NOON` and what has passed since.
fn good(now: Duration, request: &[u8]) -> Vec<u8> {
    let mut answer = vec![0; 48];
    answer[0] = 0x24;
    answer[1] = 2;
    answer[24..32].copy_from_slice(&request[40..48]);
    let seconds = (NOON + 2_208_988_800 + now.as_secs()) as u32;
    answer[40..44].copy_from_slice(&seconds.to_be_bytes());
    answer
}

fn kiss(code: &[u8; 4], request: &[u8]) -> Vec<u8> {
    let mut answer = good(Duration::ZERO, request);
    answer[1] = 0;
    answer[12..16].copy_from_slice(code);
    answer
}

/// Three hosts that say another day in their `Date` headers.
fn setting(time_server: TimeService) -> Setting {
    let hosts: [(&'static str, &[&'static str]); 3] = [
        ("a.test", &["/a"]),
        ("b.test", &["/b"]),
        ("c.test", &["/c"]),
    ];
    Setting {
        sntp: Some(SERVER),
        time_server,
        ..Setting::of(Duration::from_secs(5), &hosts)
    }
}

const OTHER: u64 = 1_794_830_400;

fn dated(hit: &Hit) -> Answer {
    let date = dunlin::fetch::HttpDate::from_unix(OTHER + hit.at.as_secs()).expect("a date");
    let date = format!("Date: {}\r\n", String::from_utf8_lossy(&date.format()));
    Answer::new(
        if hit.target == "/robots.txt" {
            404
        } else {
            200
        },
        &date,
        "here",
    )
}

/// Runs it with a store, since dates are for what is kept; the clock as it became certain, and
/// when.
fn run(setting: &Setting) -> (World, Vec<(u64, u32, TimeSource)>) {
    let mut store = dunlin::store::Store::new(host_tests::flash::Flash::<16, 4096, 4>::blank());
    let keeper = crate::world::Keeper {
        store: &mut store,
        how: crate::world::Keeping::AsItShould,
    };
    let (world, _) = setting.run_keeping(Some(keeper), dated, |_, _| ());
    let clock = |(at, event): &(Duration, Event)| match *event {
        Event::Clock { unix, from } => Some((at.as_secs(), unix, from)),
        _ => None,
    };
    let clocks = world.events.borrow().iter().filter_map(clock).collect();
    (world, clocks)
}

fn failures(world: &World) -> Vec<NoTime> {
    let why = |(_, event): &(Duration, Event)| match event {
        Event::NoTime { why } => Some(*why),
        _ => None,
    };
    world.events.borrow().iter().filter_map(why).collect()
}

/// Seconds between two requests.
fn waits(world: &World) -> Vec<u64> {
    world
        .asked_time
        .borrow()
        .windows(2)
        .map(|pair| (pair[1].0 - pair[0].0).as_secs())
        .collect()
}

#[test]
fn a_time_server_wins_over_date_headers() {
    let (world, clocks) = run(&setting(|now, request| vec![good(now, request)]));
    let [(at, unix, TimeSource::Server)] = clocks[..] else {
        panic!("{clocks:?}")
    };
    assert!(
        at < 5 && u64::from(unix).abs_diff(NOON + at) <= 1,
        "{clocks:?}"
    );
    assert_eq!(
        world
            .resolved
            .borrow()
            .iter()
            .filter(|name| *name == "time.test")
            .count(),
        1
    );
    assert_eq!(
        world.asked_time.borrow().len(),
        1,
        "once in ten minutes is enough"
    );
}

#[test]
fn it_is_asked_every_six_hours() {
    let day = Setting {
        seconds: 86_400,
        ..setting(|now, request| vec![good(now, request)])
    };
    let (world, _) = run(&day);
    let waits = waits(&world);
    assert!(
        waits.len() >= 3 && waits.iter().all(|wait| (21_600..=24_300).contains(wait)),
        "{waits:?}"
    );
}

#[test]
fn date_headers_stand_in_for_one_that_says_nothing() {
    let hour = Setting {
        seconds: 3_600,
        ..setting(|_, _| Vec::new())
    };
    let (world, clocks) = run(&hour);
    let [(at, unix, TimeSource::Hosts)] = clocks[..] else {
        panic!("{clocks:?}")
    };
    assert!(
        at < 60 && u64::from(unix).abs_diff(OTHER + at) <= 1,
        "{clocks:?}"
    );
    assert!(failures(&world).iter().all(|why| *why == NoTime::Silence));
    // It is not given up, and not pestered: 16 s after the end of the first try, then 32 s, 64 s …,
    // an eighth more at most.
    for (wait, least) in waits(&world).iter().zip([16, 32, 64, 128, 256, 512, 1_024]) {
        assert!(
            (4 + least..=4 + least + least / 8 + 1).contains(wait),
            "{:?}",
            waits(&world)
        );
    }
    assert!(waits(&world).len() >= 6, "{:?}", waits(&world));
}

#[test]
fn one_that_answers_late_in_the_day_puts_the_date_right() {
    let late: TimeService = |now, request| match now.as_secs() > 100 {
        true => vec![good(now, request)],
        false => Vec::new(),
    };
    let (_, clocks) = run(&setting(late));
    let [(_, _, TimeSource::Hosts), (at, unix, TimeSource::Server)] = clocks[..] else {
        panic!("{clocks:?}")
    };
    assert!(u64::from(unix).abs_diff(NOON + at) <= 1, "{clocks:?}");
}

#[test]
fn nobody_else_can_answer() {
    // Everything but the number that was sent; and a kiss of death from somebody who has not seen
    // it.
    let (world, clocks) = run(&setting(|now, request| {
        let mut forged = request.to_vec();
        forged[44] ^= 1;
        vec![
            good(now, &forged),
            kiss(b"DENY", &forged),
            vec![0; 48],
            Vec::new(),
            request.to_vec(),
        ]
    }));
    assert!(
        matches!(clocks[..], [(_, _, TimeSource::Hosts)]),
        "{clocks:?}"
    );
    assert!(
        failures(&world).len() > 2 && failures(&world).iter().all(|why| *why == NoTime::Silence)
    );
    let asked = world.asked_time.borrow();
    let mut numbers: Vec<&[u8]> = asked.iter().map(|(_, request)| &request[40..48]).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), asked.len(), "a number was used twice");
}

#[test]
fn a_forged_answer_before_the_right_one_does_no_harm() {
    let (_, clocks) = run(&setting(|now, request| {
        let mut forged = request.to_vec();
        forged[47] ^= 0x80;
        vec![good(now + Duration::DAY * 9, &forged), good(now, request)]
    }));
    assert!(
        matches!(clocks[..], [(_, unix, TimeSource::Server)] if u64::from(unix) < NOON + 60),
        "{clocks:?}"
    );
}

#[test]
fn a_kiss_of_death_is_obeyed() {
    let day = |time_server| Setting {
        seconds: 2 * 86_400,
        ..setting(time_server)
    };
    let (world, clocks) = run(&day(|_, request| vec![kiss(b"DENY", request)]));
    assert_eq!(
        (world.asked_time.borrow().len(), failures(&world)),
        (1, vec![NoTime::Unwanted])
    );
    assert!(
        matches!(clocks[..], [(_, _, TimeSource::Hosts)]),
        "{clocks:?}"
    );
    let (world, _) = run(&day(|_, request| vec![kiss(b"RATE", request)]));
    let waits = waits(&world);
    assert!(waits.len() >= 2, "{waits:?}");
    for (wait, least) in waits.iter().zip([12, 24, 48]) {
        assert!(*wait >= least * 3_600, "{waits:?}");
    }
    assert!(failures(&world).iter().all(|why| *why == NoTime::TooOften));
}

#[test]
fn hours_are_known_from_a_time_server_alone() {
    // Nobody may be asked without knowing the hour, and nobody tells it but the time server: it is
    // noon.
    let host = |hours| Setting {
        hours: Some(hours),
        sntp: Some(SERVER),
        time_server: |now, request| vec![good(now, request)],
        ..Setting::of(Duration::from_secs(5), &[("a.test", &["/a"])])
    };
    let answer = |hit: &Hit| {
        Answer::new(
            if hit.target == "/robots.txt" {
                404
            } else {
                200
            },
            "",
            "here",
        )
    };
    let (world, _) = host((11, 13)).run(answer);
    assert!(
        !world.asked("a.test", "/a").is_empty(),
        "not asked within its hours"
    );
    let (world, _) = host((13, 15)).run(answer);
    assert!(world.hits.borrow().is_empty(), "asked outside its hours");
}

#[test]
fn a_time_server_is_not_asked_without_a_network_or_a_name() {
    let away = Setting {
        away: Some((0, 300)),
        ..setting(|now, request| vec![good(now, request)])
    };
    let (world, _) = run(&away);
    let first = world
        .asked_time
        .borrow()
        .first()
        .map(|(at, _)| at.as_secs());
    assert!(
        first.is_some_and(|first| (300..310).contains(&first)),
        "{first:?}"
    );
    let nowhere = TimeServer {
        host: "time.invalid",
        port: 123,
    };
    let nowhere = Setting {
        sntp: Some(nowhere),
        ..setting(|now, request| vec![good(now, request)])
    };
    let (world, clocks) = run(&nowhere);
    assert!(world.asked_time.borrow().is_empty() && failures(&world).contains(&NoTime::Name));
    assert!(
        matches!(clocks[..], [(_, _, TimeSource::Hosts)]),
        "{clocks:?}"
    );
}
