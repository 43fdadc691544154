//! The time server's client: what it sends, what it believes, when it asks again.

use dunlin::sntp::{NoTime, PACKET, PATIENCE, TimeClient};
use dunlin::time::{Duration, Instant};
use proptest::prelude::*;

const NONCE: u64 = 0x0123_4567_89ab_cdef;
/// 16 November 2026, 12:00:00: in NTP's seconds, and in Unix's.
const NTP: u32 = 4_003_819_200;
const UNIX: u64 = 1_794_830_400;

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// What a good server says to [`NONCE`].
fn good() -> [u8; PACKET] {
    let mut answer = [0; PACKET];
    // Server, version 4, no leap second; stratum 2, 2^6 s, 2^-20 s.
    answer[..4].copy_from_slice(&[0x24, 2, 6, 0xec]);
    // A root delay of 1/64 s and a dispersion of 1/32 s.
    answer[4..12].copy_from_slice(&[0, 0, 4, 0, 0, 0, 8, 0]);
    answer[12..16].copy_from_slice(&[192, 0, 2, 1]);
    answer[16..20].copy_from_slice(&(NTP - 500).to_be_bytes());
    answer[24..32].copy_from_slice(&NONCE.to_be_bytes());
    answer[32..36].copy_from_slice(&NTP.to_be_bytes());
    answer[40..44].copy_from_slice(&NTP.to_be_bytes());
    answer
}

fn with(change: impl FnOnce(&mut [u8; PACKET])) -> [u8; PACKET] {
    let mut answer = good();
    change(&mut answer);
    answer
}

/// What a client that has asked makes of it.
fn ask(answer: &[u8]) -> Option<Result<u64, NoTime>> {
    let mut client = TimeClient::new(0);
    client.request(NONCE, at(10));
    client.answer(answer, at(10))
}

#[test]
fn the_request_is_a_clients_and_tells_nothing_but_the_number() {
    let request = TimeClient::new(0).request(NONCE, at(10));
    assert_eq!(request[0], 0b00_100_011, "no leap, version 4, client");
    assert!(request[1..40].iter().all(|byte| *byte == 0));
    assert_eq!(request[40..], NONCE.to_be_bytes());
}

#[test]
fn answers_are_judged_field_by_field() {
    type Judged = Option<Result<u64, NoTime>>;
    let known = Some(Ok(UNIX));
    let unsure = Some(Err(NoTime::Unsure));
    let absurd = Some(Err(NoTime::Absurd));
    let transmit = |seconds: u32| {
        move |a: &mut [u8; PACKET]| {
            a[16..20].copy_from_slice(&[0; 4]);
            a[40..44].copy_from_slice(&seconds.to_be_bytes());
        }
    };
    let cases: Vec<(&str, [u8; PACKET], Judged)> = vec![
        ("a good one", good(), known),
        ("version 3", with(|a| a[0] = 0x1c), known),
        ("a leap second to come", with(|a| a[0] = 0x64), known),
        ("a clock that is not set", with(|a| a[0] = 0xe4), unsure),
        ("a client's mode", with(|a| a[0] = 0x23), None),
        ("a broadcast", with(|a| a[0] = 0x25), None),
        ("version 0", with(|a| a[0] = 0x04), None),
        ("version 5", with(|a| a[0] = 0x2c), None),
        ("stratum 1", with(|a| a[1] = 1), known),
        ("stratum 15", with(|a| a[1] = 15), known),
        ("stratum 16", with(|a| a[1] = 16), unsure),
        ("stratum 255", with(|a| a[1] = 255), unsure),
        ("a kiss of no known kind", with(|a| a[1] = 0), unsure),
        (
            "RATE",
            with(|a| (a[1], _) = (0, a[12..16].copy_from_slice(b"RATE"))),
            Some(Err(NoTime::TooOften)),
        ),
        (
            "DENY",
            with(|a| (a[1], _) = (0, a[12..16].copy_from_slice(b"DENY"))),
            Some(Err(NoTime::Unwanted)),
        ),
        (
            "RSTR",
            with(|a| (a[1], _) = (0, a[12..16].copy_from_slice(b"RSTR"))),
            Some(Err(NoTime::Unwanted)),
        ),
        (
            "RATE at stratum 2",
            with(|a| a[12..16].copy_from_slice(b"RATE")),
            known,
        ),
        ("another number", with(|a| a[31] ^= 1), None),
        ("no number", with(|a| a[24..32].fill(0)), None),
        (
            "a root two seconds away",
            with(|a| a[4..8].copy_from_slice(&[0, 2, 0, 0])),
            unsure,
        ),
        (
            "a root below zero",
            with(|a| a[4..8].copy_from_slice(&[0xff, 0xff, 0xff, 0])),
            unsure,
        ),
        (
            "a dispersion of a second",
            with(|a| a[8..12].copy_from_slice(&[0, 1, 0, 0])),
            unsure,
        ),
        (
            "a dispersion without end",
            with(|a| a[8..12].fill(0xff)),
            unsure,
        ),
        (
            "set in the future",
            with(|a| a[16..20].copy_from_slice(&(NTP + 1).to_be_bytes())),
            absurd,
        ),
        (
            "set at nobody knows when",
            with(|a| a[16..24].fill(0)),
            known,
        ),
        ("no time", with(|a| a[40..48].fill(0)), absurd),
        ("1970", with(transmit(2_208_988_800)), absurd),
        (
            "a second before 2026",
            with(transmit(3_976_214_399)),
            absurd,
        ),
        (
            "2026",
            with(transmit(3_976_214_400)),
            Some(Ok(1_767_225_600)),
        ),
        (
            "the last second of the era",
            with(transmit(u32::MAX)),
            Some(Ok(2_085_978_495)),
        ),
        (
            "7 February 2036, 06:28:17",
            with(transmit(1)),
            Some(Ok(2_085_978_497)),
        ),
        (
            "2090",
            with(transmit(1_700_000_000)),
            Some(Ok(3_785_978_496)),
        ),
    ];
    for (name, answer, expected) in cases {
        assert_eq!(ask(&answer), expected, "{name}");
    }
    assert_eq!(ask(&good()[..PACKET - 1]), None, "too short");
    let longer = [&good()[..], &[1; 20]].concat();
    assert_eq!(ask(&longer), known, "with a digest");
}

#[test]
fn half_of_the_trip_has_passed() {
    for (trip, expected) in [
        (0, UNIX),
        (900, UNIX),
        (1_100, UNIX + 1),
        (2_900, UNIX + 1),
        (3_100, UNIX + 2),
    ] {
        let mut client = TimeClient::new(0);
        client.request(NONCE, at(10));
        let later = at(10) + Duration::from_millis(trip);
        assert_eq!(
            client.answer(&good(), later),
            Some(Ok(expected)),
            "{trip} ms"
        );
    }
    let mut client = TimeClient::new(0);
    client.request(NONCE, at(10));
    assert_eq!(client.answer(&good(), at(11) + PATIENCE), None, "too late");
}

#[test]
fn an_answer_counts_once_and_only_for_the_last_request() {
    let mut client = TimeClient::new(0);
    assert_eq!(client.answer(&good(), at(1)), None, "nobody has asked");
    client.request(NONCE, at(10));
    assert_eq!(client.answer(&good(), at(10)), Some(Ok(UNIX)));
    assert_eq!(client.answer(&good(), at(10)), None, "twice");
    client.request(NONCE, at(20));
    client.request(NONCE ^ 1, at(20));
    assert_eq!(
        client.answer(&good(), at(20)),
        None,
        "another one was asked since"
    );
    client.request(NONCE, at(30));
    client.failed(at(34));
    assert_eq!(client.answer(&good(), at(34)), None, "it was given up");
    // Nobody can answer a number that stands for none.
    client.request(0, at(40));
    assert_eq!(client.answer(&with(|a| a[24..32].fill(0)), at(40)), None);
}

/// Seconds until the next request, in the least case and with the longest spread.
fn wait(client: &TimeClient, now: Instant) -> u64 {
    (client.ask_at() - now).as_secs()
}

#[test]
fn failures_are_followed_by_longer_and_longer_waits() {
    for random in [0, u64::MAX] {
        let mut client = TimeClient::new(random);
        assert!(client.ask_at() < at(3));
        let mut waits = Vec::new();
        for _ in 0..14 {
            client.request(random, at(10));
            client.failed(at(10));
            waits.push(wait(&client, at(10)));
        }
        let mut least = 16;
        for wait in &waits {
            assert!((least..=least + least / 8).contains(wait), "{waits:?}");
            least = (2 * least).min(6 * 3_600);
        }
        assert!(waits[13] >= 21_600, "{waits:?}");
        client.request(NONCE, at(10));
        assert!(client.answer(&good(), at(10)).is_some());
        assert!((21_600..=24_300).contains(&wait(&client, at(10))));
        client.failed(at(10));
        assert!(
            wait(&client, at(10)) <= 18,
            "an answer makes up for all failures"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// Whatever comes: no panic, and a time only for who knows the number.
    #[test]
    fn only_who_knows_the_number_is_heard(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        nonce: u64,
        now in 0..u64::MAX,
        trip in 0..5_000_000_u64,
    ) {
        let mut client = TimeClient::new(nonce);
        let sent = Instant::from_micros(now);
        let came = Instant::from_micros(now.saturating_add(trip));
        client.request(nonce, sent);
        let before = client.ask_at();
        let knows = bytes.get(24..32) == Some(&nonce.max(1).to_be_bytes()[..]);
        let heard = client.answer(&bytes, came);
        prop_assert!(heard.is_none() || knows);
        prop_assert!(heard.is_some() || client.ask_at() == before, "who is not heard changes nothing");
        client.failed(came);
        prop_assert!(client.ask_at() >= came);
    }

    /// An answer with the right number and anything else: a time between 2026 and 2104, or a
    /// reason; and whatever it is, the server is left alone for a quarter of a minute.
    #[test]
    fn what_is_believed_is_possible(mut packet in prop::collection::vec(any::<u8>(), PACKET), known: bool) {
        packet[24..32].copy_from_slice(&NONCE.to_be_bytes());
        if known {
            packet[0] = 0x24;
            packet[1] %= 16;
            packet[4..12].fill(0);
        }
        let mut client = TimeClient::new(0);
        client.request(NONCE, at(100));
        match client.answer(&packet, at(101)) {
            Some(Ok(unix)) => prop_assert!((1_767_225_600..4_233_462_145).contains(&unix), "{}", unix),
            Some(Err(_)) => {}
            None => prop_assert!(!known, "an answer was not heard"),
        }
        prop_assert!(client.ask_at() < at(100) || client.ask_at() >= at(100 + 15));
    }

    /// Two clients that fail at the same moments do not ask at the same moments for ever.
    #[test]
    fn waits_are_spread(one: u64, other: u64) {
        prop_assume!(one >> 59 != other >> 59);
        let ask_at = |random| {
            let mut client = TimeClient::new(random);
            client.request(random, at(10));
            client.failed(at(10));
            client.ask_at()
        };
        prop_assert_ne!(ask_at(one), ask_at(other));
    }
}
