//! What is refused, with the old firmware running on and the reason kept.

use dunlin::update::{Attempt, Device as Facts, Manifest, Pulled, Refusal, Released};

use crate::chip::Kind;
use crate::device::{Device, firmware};
use crate::server::{Asked, Server, good, key, manifest, part_of, response, serving};

type Plain = Device<4, 8>;

/// Looks once, and holds that the refusal is this one, that it is kept, and that nothing is marked.
fn refused(server: &mut Server, change: impl FnOnce(&mut Facts<'_>), expected: Refusal) {
    let device = Plain::new(Kind::WriteOnce);
    refused_by(&device, server, change, expected);
}

fn refused_by(
    device: &Plain,
    server: &mut Server,
    change: impl FnOnce(&mut Facts<'_>),
    expected: Refusal,
) {
    let mut facts = device.facts(1);
    change(&mut facts);
    device.look(server, &facts, |found| {
        assert_eq!(found, Pulled::Refused(expected));
    });
    assert_eq!(device.journal().record().last.code, expected.code());
    assert_eq!(device.boot(true), Ok(1), "the old firmware runs on");
    assert!(!expected.to_string().is_empty());
}

fn signed(change: impl FnOnce(&mut Manifest<'_>)) -> String {
    let payload = firmware(2);
    let mut manifest = manifest(payload);
    change(&mut manifest);
    key(1).sign(&manifest.text(), "by its owner")
}

fn no_payload(signed: String) -> Server {
    serving(signed, |_| panic!("the payload of what is refused"))
}

#[test]
fn an_unknown_key_and_a_flipped_bit() {
    let payload = firmware(2);
    let stranger = key(3).sign(&manifest(payload).text(), "");
    refused(&mut no_payload(stranger), |_| (), Refusal::UnknownKey);
    // A stranger who calls his key by the number of ours.
    let impostor = dunlin::update::SecretKey::new(&[9; 32], [1; 8]);
    let impostor = impostor.sign(&manifest(payload).text(), "");
    refused(&mut no_payload(impostor), |_| (), Refusal::Signature);
    refused(&mut no_payload("<html>".into()), |_| (), Refusal::NotSigned);
    let good = signed(|_| ());
    let flips = good
        .lines()
        .take(2)
        .map(|line| line.len() + 1)
        .sum::<usize>()..good.len();
    for at in flips.step_by(7) {
        let mut bytes = good.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(flipped) = String::from_utf8(bytes) else {
            continue;
        };
        refused(&mut no_payload(flipped), |_| (), Refusal::Signature);
    }
}

#[test]
fn one_flipped_bit_of_the_payload() {
    let payload = firmware(2);
    for at in [0, payload.len() / 2, payload.len() - 1] {
        let mut other = payload.to_vec();
        other[at] ^= 0x10;
        refused(&mut good(signed(|_| ()), other), |_| (), Refusal::Digest);
    }
}

#[test]
fn what_is_for_somebody_else_or_was_before() {
    let other_board = signed(|manifest| manifest.board = "other");
    refused(&mut no_payload(other_board), |_| (), Refusal::Board);
    let list = signed(|manifest| manifest.kind = dunlin::update::PayloadKind::List);
    refused(&mut no_payload(list), |_| (), Refusal::Kind);
    let newer = |facts: &mut Facts<'_>| facts.sequence = 3;
    let sequence = Refusal::Sequence {
        found: 2,
        newest: 3,
    };
    refused(&mut no_payload(signed(|_| ())), newer, sequence);
    let same = |facts: &mut Facts<'_>| facts.sequence = 2;
    let sequence = Refusal::Sequence {
        found: 2,
        newest: 2,
    };
    refused(&mut no_payload(signed(|_| ())), same, sequence);
    let hole = |facts: &mut Facts<'_>| facts.counter = 5;
    let counter = Refusal::Counter { found: 0, least: 5 };
    refused(&mut no_payload(signed(|_| ())), hole, counter);
    let store = signed(|manifest| manifest.store = 9);
    refused(&mut no_payload(store), |_| (), Refusal::Store);
    let image = signed(|manifest| manifest.image = 9);
    refused(&mut no_payload(image), |_| (), Refusal::Image);
    let trial = |facts: &mut Facts<'_>| facts.on_trial = true;
    refused(&mut no_payload(signed(|_| ())), trial, Refusal::OnTrial);
}

#[test]
fn what_does_not_fit_or_was_tried_too_often() {
    let device = Plain::new(Kind::Nor);
    let room = device.active().length as u32;
    let large = signed(|manifest| manifest.length = room + 1);
    let length = Refusal::Length {
        found: room + 1,
        room,
    };
    refused(&mut no_payload(large), |_| (), length);
    let often = |facts: &mut Facts<'_>| facts.tried = Some((2, 3));
    let tried = Refusal::Tried { attempts: 3 };
    refused(&mut no_payload(signed(|_| ())), often, tried);
    // Another build has attempts of its own.
    let mut facts = device.facts(1);
    facts.tried = Some((7, 3));
    let mut server = good(signed(|_| ()), firmware(2).to_vec());
    let ready = device.look(&mut server, &facts, |found| {
        matches!(found, Pulled::Ready(_))
    });
    assert!(ready);
}

#[test]
fn a_server_that_lies_about_lengths() {
    let whole = firmware(2);
    let longer = [whole, b"and more"].concat();
    refused(
        &mut good(signed(|_| ()), longer.clone()),
        |_| (),
        Refusal::Announced,
    );
    let unannounced = |body: Vec<u8>| {
        serving(signed(|_| ()), move |_| {
            [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", &body[..]].concat()
        })
    };
    refused(&mut unannounced(longer), |_| (), Refusal::TooLong);
    let short = whole[..whole.len() - 1].to_vec();
    refused(&mut unannounced(short.clone()), |_| (), Refusal::TooShort);
    refused(&mut good(signed(|_| ()), short), |_| (), Refusal::Announced);
    // It announces all, and ends early.
    let mut lying = serving(signed(|_| ()), move |_| {
        let mut bytes = response("200 OK", "", whole);
        bytes.truncate(bytes.len() - 300);
        bytes
    });
    refused(&mut lying, |_| (), Refusal::TooShort);
    let long = signed(|_| ()) + &"x".repeat(1024);
    refused(&mut no_payload(long), |_| (), Refusal::ManifestLength);
}

/// A device that has half of the payload, of version `"v2"`.
fn half_way() -> Plain {
    let device = Plain::new(Kind::WriteOnce);
    let mut server = serving(signed(|_| ()), |asked| {
        let mut bytes = part_of(firmware(2), "\"v2\"", asked);
        bytes.truncate(bytes.len() - 300);
        bytes
    });
    refused_by(&device, &mut server, |_| (), Refusal::TooShort);
    device
}

/// What a server makes of a request for a part of a payload.
type PartOf = fn(&Asked, &[u8]) -> Vec<u8>;

#[test]
fn parts_that_were_not_asked_for() {
    let answers: [(&str, PartOf, Refusal); 6] = [
        (
            "another beginning",
            |asked, all| {
                let from = asked.from.expect("a part");
                let range = format!(
                    "Content-Range: bytes {}-{}/{}\r\nETag: \"v2\"\r\n",
                    from - 1,
                    all.len() - 1,
                    all.len()
                );
                response("206 Partial Content", &range, &all[from - 1..])
            },
            Refusal::Range,
        ),
        (
            "another end",
            |asked, all| {
                let from = asked.from.expect("a part");
                let range = format!(
                    "Content-Range: bytes {from}-{}/{}\r\nETag: \"v2\"\r\n",
                    all.len() - 2,
                    all.len()
                );
                response("206 Partial Content", &range, &all[from..all.len() - 1])
            },
            Refusal::Range,
        ),
        (
            "another whole",
            |asked, all| {
                let from = asked.from.expect("a part");
                let range = format!(
                    "Content-Range: bytes {from}-{}/{}\r\nETag: \"v2\"\r\n",
                    all.len() - 1,
                    all.len() + 1
                );
                response("206 Partial Content", &range, &all[from..])
            },
            Refusal::Range,
        ),
        (
            "no range",
            |asked, all| {
                let from = asked.from.expect("a part");
                response("206 Partial Content", "ETag: \"v2\"\r\n", &all[from..])
            },
            Refusal::Range,
        ),
        (
            "another tag",
            |asked, all| {
                let asked = Asked {
                    if_range: None,
                    ..asked.clone()
                };
                part_of(all, "\"v3\"", &asked)
            },
            Refusal::Version,
        ),
        (
            "an error",
            |_, _| response("416 Range Not Satisfiable", "", b""),
            Refusal::Status(416),
        ),
    ];
    for (name, answer, expected) in answers {
        println!("{name}");
        let device = half_way();
        let mut server = serving(signed(|_| ()), move |asked| answer(asked, firmware(2)));
        refused_by(&device, &mut server, |_| (), expected);
    }
    let mut unasked = serving(signed(|_| ()), |_| {
        let all = firmware(2);
        let range = format!("Content-Range: bytes 0-{}/{}\r\n", all.len() - 1, all.len());
        response("206 Partial Content", &range, all)
    });
    refused(&mut unasked, |_| (), Refusal::Range);
    let mut compressed = serving(signed(|_| ()), |_| {
        response("200 OK", "Content-Encoding: gzip\r\n", firmware(2))
    });
    refused(&mut compressed, |_| (), Refusal::Encoded);
}

#[test]
fn an_attempt_counts_before_it_is_made_and_a_confirmation_raises_the_counter() {
    let device = Plain::new(Kind::Ecc);
    let payload = firmware(2);
    let mut release = manifest(payload);
    release.counter = 4;
    let mut journal = device.journal();
    journal
        .change(|record| record.try_out(&release))
        .expect("power");
    let record = *device.journal().record();
    let attempt = Attempt {
        build: 2,
        release: Released {
            sequence: 2,
            counter: 4,
        },
        count: 1,
        over: false,
    };
    assert_eq!(
        (record.attempt, record.firmware.counter),
        (Some(attempt), 0)
    );
    journal.change(|record| record.confirm()).expect("power");
    let record = *device.journal().record();
    assert_eq!(record.firmware, attempt.release);
    assert_eq!(record.attempt, None);
}
