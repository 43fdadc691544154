//! A download that breaks off goes on where it was, and costs at most one sector twice.

use dunlin::update::Pulled;
use futures_lite::future::{block_on, poll_once};

use crate::chip::{Kind, SECTOR};
use crate::device::{Device, firmware, puller};
use crate::server::{good, key, manifest, part_of, serving};

type Plain = Device<4, 8>;

/// Bytes that are written at once, as a rule.
const PIECE: usize = 256;
/// Bytes of a word: fewer are lost.
const WORD: usize = 4;

/// Fetches a payload whose answers all end after so many bytes, restarting the device in between or
/// not: the bytes that were asked for, and the most that came twice.
fn broken(breaks_after: usize, restarts: bool) -> (Vec<usize>, usize) {
    let payload = firmware(2);
    let signed = key(1).sign(&manifest(payload).text(), "");
    let device = Plain::new(Kind::WriteOnce);
    let mut server = serving(signed, move |asked| {
        let mut bytes = part_of(payload, "\"v2\"", asked);
        let head = bytes.windows(4).position(|end| end == b"\r\n\r\n");
        bytes.truncate(head.expect("a head") + 4 + breaks_after);
        bytes
    });
    let facts = device.facts(1);
    let keys = [key(1).public()];
    let mut asking = puller(&keys);
    let ready = |found: Pulled<'_>| matches!(found, Pulled::Ready(_));
    let mut looks = 0;
    while !device.look_again(&mut asking, &mut server, &facts, ready) {
        if restarts {
            asking = puller(&keys);
        }
        looks += 1;
        assert!(looks < 20, "it does not get any further");
    }
    assert!(device.dfu().bytes().starts_with(payload));
    let payloads = server
        .asked
        .iter()
        .filter(|asked| asked.path.ends_with("bin"));
    let froms: Vec<usize> = payloads.map(|asked| asked.from.unwrap_or(0)).collect();
    let twice = froms
        .windows(2)
        .map(|pair| pair[0] + breaks_after - pair[1])
        .max();
    (froms, twice.unwrap_or(0))
}

#[test]
fn a_connection_that_breaks_costs_less_than_a_word_twice() {
    for breaks_after in (PIECE..firmware(2).len() + 9).step_by(61) {
        let (froms, twice) = broken(breaks_after, false);
        assert!(twice < WORD, "{breaks_after}: {froms:?}");
    }
}

#[test]
fn a_restart_costs_a_sector_twice_and_less_than_a_word() {
    for breaks_after in (SECTOR + PIECE..firmware(2).len() + 9).step_by(61) {
        let (froms, twice) = broken(breaks_after, true);
        assert!(twice < SECTOR + WORD, "{breaks_after}: {froms:?}");
        let at_sectors = froms.iter().all(|from| from.is_multiple_of(SECTOR));
        assert!(at_sectors, "{breaks_after}: {froms:?}");
    }
}

#[test]
fn what_is_in_use_is_asked_for_once_and_then_conditionally() {
    let payload = firmware(2);
    let signed = key(2).sign(&manifest(payload).text(), "");
    let device = Plain::new(Kind::Nor);
    let mut server = serving(signed, |_| panic!("nobody needs it"));
    let facts = device.facts(2);
    let keys = [key(1).public(), key(2).public()];
    let mut asking = puller(&keys);
    for _ in 0..3 {
        device.look_again(&mut asking, &mut server, &facts, |found| {
            assert_eq!(found, Pulled::Nothing);
        });
    }
    assert!(asking.has_verified());
    let tags: Vec<_> = server
        .asked
        .iter()
        .map(|asked| &asked.if_none_match)
        .collect();
    assert_eq!(tags, [&None, &Some("\"m\"".into()), &Some("\"m\"".into())]);
}

#[test]
fn another_version_on_the_way_begins_anew() {
    let payload = firmware(2);
    let signed = key(1).sign(&manifest(payload).text(), "");
    let device = Plain::new(Kind::WriteOnce);
    let facts = device.facts(1);
    let mut first = serving(signed.clone(), move |asked| {
        let mut bytes = part_of(payload, "\"old\"", asked);
        bytes.truncate(bytes.len() / 2 + 100);
        bytes
    });
    let found = device.look(&mut first, &facts, |found| {
        matches!(found, Pulled::Ready(_))
    });
    assert!(!found);
    // The tag is another one now, so the server sends everything: refused, then begun anew.
    let mut second = serving(signed, move |asked| part_of(payload, "\"new\"", asked));
    let looks: Vec<bool> = (0..2)
        .map(|_| {
            device.look(&mut second, &facts, |found| {
                matches!(found, Pulled::Ready(_))
            })
        })
        .collect();
    assert_eq!(looks, [false, true]);
    assert_eq!(second.asked[1].if_range.as_deref(), Some("\"old\""));
    assert_eq!(second.asked[3].from, None);
}

#[test]
fn a_look_that_is_given_up_is_made_again() {
    let payload = firmware(2);
    let signed = key(1).sign(&manifest(payload).text(), "");
    let device = Plain::new(Kind::WriteOnce);
    let facts = device.facts(1);
    let mut server = good(signed, payload.to_vec());
    let keys = [key(1).public()];
    let mut asking = puller(&keys);
    let ready = |found: Pulled<'_>| matches!(found, Pulled::Ready(_));
    // The manifest has come, and others have a turn while the slot is erased: then a deadline
    // comes.
    let given_up = block_on(poll_once(device.looking(
        &mut asking,
        &mut server,
        &facts,
        ready,
    )));
    assert_eq!(given_up, None);
    assert_eq!(server.asked.len(), 1);
    assert!(device.look_again(&mut asking, &mut server, &facts, ready));
    let tags: Vec<_> = server
        .asked
        .iter()
        .map(|asked| &asked.if_none_match)
        .collect();
    assert_eq!(tags, [&None; 3]);
}
