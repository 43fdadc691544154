//! Lists: which are taken.

use dunlin::fleet::{ListError, ListNotice, ProbeTopic, list_digest};
use dunlin::probe::FleetEvent;
use dunlin_fleet::Room;

use crate::world::{LIST, World, bytes, list, of_north};

fn http(status: &str, body: &[u8]) -> Vec<u8> {
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend(body);
    answer
}

/// Announces a list once, and serves this answer for it; what became of it.
fn announced(
    change: impl Fn(&mut ListNotice<'_>),
    answer: Vec<u8>,
) -> (Vec<FleetEvent>, Option<u32>) {
    let mut world = World::new();
    *world.network.planner.borrow_mut() = answer;
    let body = list();
    let mut sent = false;
    let (_, taken) = world.run(400, |_, network, _| {
        let mut broker = network.broker.borrow_mut();
        if broker.report().is_some() && !sent {
            sent = true;
            let mut notice = ListNotice {
                version: LIST + 1,
                digest: list_digest(&body),
                length: body.len() as u32,
                url: "http://192.0.2.1:7007/list/north/4",
            };
            change(&mut notice);
            broker.send(&of_north(ProbeTopic::List), true, &bytes(&notice));
        }
    });
    (world.device.news, taken)
}

fn refused(change: impl Fn(&mut ListNotice<'_>), answer: Vec<u8>) -> Option<ListError> {
    let (news, taken) = announced(change, answer);
    assert_eq!(taken, None);
    news.into_iter().find_map(|news| match news {
        FleetEvent::NotListed { why, .. } => Some(why),
        _ => None,
    })
}

#[test]
fn a_list_that_is_what_it_should_be_is_taken() {
    let (news, taken) = announced(|_| {}, http("200 OK", &list()));
    assert_eq!(taken, Some(LIST + 1), "{news:?}");
    assert_eq!(news.last(), Some(&FleetEvent::Listed { list: LIST + 1 }));
}

#[test]
fn a_list_of_an_earlier_version_is_not_even_asked_for() {
    let (news, taken) = announced(|notice| notice.version = LIST, http("200 OK", &list()));
    assert_eq!((news, taken), (vec![FleetEvent::Joined], None));
}

#[test]
fn a_list_that_is_not_what_was_announced_is_refused() {
    let whole = || http("200 OK", &list());
    let cut = list()[..20].to_vec();
    let mut damaged = list();
    damaged[30] ^= 1;
    let nothing = |_: &mut ListNotice<'_>| {};
    assert_eq!(
        refused(|notice| notice.digest ^= 1, whole()),
        Some(ListError::Digest)
    );
    assert_eq!(
        refused(|notice| notice.length += 1, whole()),
        Some(ListError::Length)
    );
    assert_eq!(
        refused(|notice| notice.length -= 1, whole()),
        Some(ListError::Length)
    );
    assert_eq!(
        refused(|notice| notice.length = 20_000, whole()),
        Some(ListError::TooLong)
    );
    assert_eq!(
        refused(|notice| notice.url = "ftp://x/", whole()),
        Some(ListError::Url)
    );
    assert_eq!(
        refused(nothing, http("200 OK", &cut)),
        Some(ListError::Length)
    );
    assert_eq!(
        refused(nothing, http("200 OK", &damaged)),
        Some(ListError::Digest)
    );
    assert_eq!(
        refused(nothing, http("404 Gone", b"")),
        Some(ListError::Status(404))
    );
    assert_eq!(refused(nothing, Vec::new()), Some(ListError::Unanswered));
    let digest = list_digest(&damaged);
    let forged = |notice: &mut ListNotice<'_>| notice.digest = digest;
    assert_eq!(
        refused(forged, http("200 OK", &damaged)),
        Some(ListError::Image)
    );
}

#[test]
fn a_list_that_cannot_be_had_is_asked_for_again_and_again_but_ever_more_seldom() {
    let mut world = World::new();
    let body = list();
    let mut moments = Vec::new();
    let clock = world.clock.clone();
    let asked = world.network.asked.clone();
    let mut sent = false;
    world.run(6_000, |_, network, _| {
        let mut broker = network.broker.borrow_mut();
        if broker.report().is_some() && !sent {
            sent = true;
            let notice = ListNotice {
                version: LIST + 1,
                digest: list_digest(&body),
                length: body.len() as u32,
                url: "http://192.0.2.1:7007/list/north/4",
            };
            broker.send(&of_north(ProbeTopic::List), true, &bytes(&notice));
        }
        if moments.len() < asked.get() {
            moments.push(dunlin::probe::Board::now(&clock));
        }
    });
    let waits: Vec<_> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits.len() >= 4, "{waits:?}");
    let longest = dunlin::time::Duration::from_secs(600);
    let grows = |pair: &[dunlin::time::Duration]| pair[1] > pair[0] || pair[1] == longest;
    assert!(waits.windows(2).all(grows), "{waits:?}");
}

#[test]
fn a_list_that_is_too_long_makes_room_for_fewer_pages() {
    let mut world = World::new();
    let mut sent = false;
    let mut said = Vec::new();
    world.run(400, |_, network, _| {
        let mut broker = network.broker.borrow_mut();
        let Some(report) = broker.report() else {
            return;
        };
        if said.last() != Some(&report.outlook.pages) {
            said.push(report.outlook.pages);
        }
        if !sent {
            sent = true;
            let notice = ListNotice {
                version: LIST + 1,
                digest: 1,
                // Twice as many bytes as there is room for.
                length: 20_000,
                url: "http://192.0.2.1:7007/list/north/4",
            };
            broker.send(&of_north(ProbeTopic::List), true, &bytes(&notice));
        }
    });
    // Of four; each further attempt at the same list makes it half of that.
    assert_eq!(said[..2], [4, 2]);
    let room = Room {
        pages: 100,
        hosts: 9,
        fetches: 1.0,
    };
    // A short list says nothing, a long one how long URLs are.
    assert_eq!(room.beside(10, 4_000, 10_000).pages, 100);
    assert_eq!(room.beside(60, 8_000, 10_000).pages, 75);
    assert_eq!(room.beside(90, 8_000, 10_000).pages, 100);
}
