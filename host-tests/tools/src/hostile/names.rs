//! A name server that lies: names that lead into the private network, and replies that are none.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The port that devices ask; a device cannot be told another.
const PORT: u16 = 53;
/// Bytes of a header.
const HEADER: usize = 12;

/// A reply to a query for an address, and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct Lie {
    /// What a failure calls it.
    pub name: &'static str,
    /// Makes the reply; `None` for silence.
    reply: fn(&Query<'_>) -> Option<Vec<u8>>,
}

/// What is asked for, and by whom.
#[derive(Debug)]
struct Query<'q> {
    id: &'q [u8],
    question: &'q [u8],
    /// Where whoever asks finds this computer: there is the trap.
    here: Ipv4Addr,
}

impl Query<'_> {
    /// Is it for an IPv6 address?
    fn is_for_ipv6(&self) -> bool {
        self.question.ends_with(&[0, 28, 0, 1])
    }
}

/// What `d0.test`, `d1.test`, … are answered.
pub const LIES: &[Lie] = &[
    lie("this computer", |query| {
        addresses(query, &[query.here.octets()])
    }),
    lie("an address beside QEMU's place for it", |query| {
        addresses(query, &[[10, 0, 2, 9]])
    }),
    lie("loopback", |query| addresses(query, &[[127, 0, 0, 1]])),
    lie("no address at all", |query| addresses(query, &[[0; 4]])),
    lie("a cloud's own service", |query| {
        addresses(query, &[[169, 254, 169, 254]])
    }),
    lie("everybody", |query| addresses(query, &[[255; 4]])),
    lie("four private addresses", |query| {
        let all = [
            query.here.octets(),
            [192, 168, 0, 1],
            [172, 16, 0, 1],
            [127, 0, 0, 1],
        ];
        addresses(query, &all)
    }),
    lie("forty private addresses", |query| {
        addresses(query, &[query.here.octets(); 40])
    }),
    lie("another name for loopback", |query| {
        let alias = record(5, b"\x09localhost\x00");
        // Of the name that was asked for, and of the other one.
        let address = record(1, &[127, 0, 0, 1]);
        let other = [&b"\x09localhost\x00"[..], &address[2..]].concat();
        Some(reply(query, 0x8180, 3, &[alias, address, other].concat()))
    }),
    lie("its own name", |query| {
        Some(reply(query, 0x8180, 1, &record(5, &[0xc0, 12])))
    }),
    lie("a name that points to itself", |query| {
        let at = HEADER + query.question.len();
        let itself = [0xc0 | (at >> 8) as u8, at as u8];
        let address = &record(1, &query.here.octets())[2..];
        Some(reply(query, 0x8180, 1, &[&itself[..], address].concat()))
    }),
    lie("no such name", |query| Some(reply(query, 0x8183, 0, &[]))),
    lie("a failure", |query| Some(reply(query, 0x8182, 0, &[]))),
    lie("an answer without addresses", |query| {
        Some(reply(query, 0x8180, 0, &[]))
    }),
    lie("more answers than there are", |query| {
        let one = record(1, &query.here.octets());
        Some(reply(query, 0x8180, u16::MAX, &one))
    }),
    lie("an address that is cut off", |query| {
        let cut = [&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 1, 0][..], &[10, 0]].concat();
        Some(reply(query, 0x8180, 1, &cut))
    }),
    lie("no IPv6 address", |query| {
        Some(reply(query, 0x8180, 1, &record(28, &[0; 16])))
    }),
    lie("a text", |query| {
        Some(reply(query, 0x8180, 1, &record(16, b"\xffhello")))
    }),
    lie("a reply for somebody else", |query| {
        let other: Vec<u8> = query.id.iter().map(|byte| !byte).collect();
        let query = Query {
            id: &other,
            ..*query
        };
        addresses(&query, &[query.here.octets()])
    }),
    lie("a question instead of a reply", |query| {
        Some(reply(query, 0x0100, 0, &[]))
    }),
    lie("half a header", |query| {
        Some([query.id, &[0x81, 0x80, 0]].concat())
    }),
    lie("bytes that are all ones", |query| {
        Some([query.id, &[0xff; 500]].concat())
    }),
    lie("a question that never ends", |query| {
        let question = &[63_u8; 400];
        Some(reply(&Query { question, ..*query }, 0x8180, 1, &[]))
    }),
    lie("nothing", |_| None),
    lie("loopback by IPv6", |query| ipv6(query, Ipv6Addr::LOCALHOST)),
    lie("this computer, mapped into IPv6", |query| {
        ipv6(query, query.here.to_ipv6_mapped())
    }),
    lie("loopback behind a translator", |query| {
        ipv6(query, Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0x7f00, 1))
    }),
    lie("a place on this link", |query| {
        ipv6(query, Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1))
    }),
    lie("cut short, ask again by TCP", |query| {
        Some(reply(query, 0x8380, 0, &[]))
    }),
    lie("the open Internet, then this computer", |query| {
        /// It was said once.
        static SAID: AtomicBool = AtomicBool::new(false);
        // Handed back by whoever had it (RFC 3701): nobody is there.
        let nobody = Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 1);
        match SAID.load(Ordering::Relaxed) {
            true => addresses(query, &[query.here.octets()]),
            false => {
                SAID.store(query.is_for_ipv6(), Ordering::Relaxed);
                ipv6(query, nobody)
            }
        }
    }),
    lie("an address of another name", |query| {
        let mut other = b"\x05other\x04test\x00".to_vec();
        other.extend(&record(1, &query.here.octets())[2..]);
        Some(reply(query, 0x8180, 1, &other))
    }),
];

const fn lie(name: &'static str, reply: fn(&Query<'_>) -> Option<Vec<u8>>) -> Lie {
    Lie { name, reply }
}

/// How often a name server looks whether it is still needed.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Names that were asked for.
pub type Asked = Arc<Mutex<Vec<String>>>;

/// Starts the name server at this address of loopback: `d0.test` and so on are answered by [`LIES`],
/// every other name is `here`, where whoever asks finds this computer. It ends when nobody holds what
/// was asked any more, so that the next one finds its port free.
///
/// # Errors
/// The port is somebody else's, or not for everybody.
pub fn serve(at: Ipv4Addr, here: Ipv4Addr) -> std::io::Result<Asked> {
    let socket = bind(at)?;
    socket.set_read_timeout(Some(LOOK_AGAIN))?;
    let asked = Asked::default();
    let log = Arc::clone(&asked);
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while Arc::strong_count(&log) > 1 {
            let Ok((count, from)) = socket.recv_from(&mut buffer) else {
                continue;
            };
            let Some((name, reply)) = answer(&buffer[..count], here) else {
                continue;
            };
            super::lock(&log).push(name);
            if let Some(reply) = reply {
                // Whoever asked may have gone.
                let _ = socket.send_to(&reply, from);
            }
        }
    });
    Ok(asked)
}

/// A socket at the port. A server of before that nobody needs any more may take a moment to end.
fn bind(at: Ipv4Addr) -> std::io::Result<UdpSocket> {
    let begin = Instant::now();
    loop {
        match UdpSocket::bind((at, PORT)) {
            Err(why) if why.kind() == ErrorKind::AddrInUse && begin.elapsed() < 3 * LOOK_AGAIN => {
                thread::sleep(LOOK_AGAIN / 4);
            }
            bound => return bound,
        }
    }
}

/// The name that a query is for, and what it is answered.
fn answer(query: &[u8], here: Ipv4Addr) -> Option<(String, Option<Vec<u8>>)> {
    let id = query.get(..2)?;
    let mut rest = query.get(HEADER..)?;
    let mut labels = Vec::new();
    while let [length @ 1..=63, after @ ..] = rest {
        let (label, after) = after.split_at_checked(usize::from(*length))?;
        labels.push(String::from_utf8_lossy(label).into_owned());
        rest = after;
    }
    let end = query.len() - rest.len() + 5;
    let question = query.get(HEADER..end)?;
    let query = Query { id, question, here };
    let name = labels.join(".");
    let number = name
        .strip_prefix('d')
        .and_then(|name| name.strip_suffix(".test"));
    let lie = number.and_then(|number| LIES.get(number.parse::<usize>().ok()?));
    let reply = match lie {
        Some(lie) => (lie.reply)(&query),
        None => addresses(&query, &[here.octets()]),
    };
    Some((name, reply))
}

/// These IPv4 addresses; who asks for others learns that there are none.
fn addresses(query: &Query<'_>, all: &[[u8; 4]]) -> Option<Vec<u8>> {
    if query.is_for_ipv6() {
        return Some(reply(query, 0x8180, 0, &[]));
    }
    let records: Vec<u8> = all.iter().flat_map(|one| record(1, one)).collect();
    Some(reply(query, 0x8180, all.len() as u16, &records))
}

/// This IPv6 address and no other.
fn ipv6(query: &Query<'_>, address: Ipv6Addr) -> Option<Vec<u8>> {
    let record = record(28, &address.octets());
    Some(match query.is_for_ipv6() {
        true => reply(query, 0x8180, 1, &record),
        false => reply(query, 0x8180, 0, &[]),
    })
}

fn reply(query: &Query<'_>, flags: u16, answers: u16, records: &[u8]) -> Vec<u8> {
    let mut reply = query.id.to_vec();
    for field in [flags, 1, answers, 0, 0] {
        reply.extend(field.to_be_bytes());
    }
    reply.extend(query.question);
    reply.extend(records);
    reply
}

/// A record of the name that was asked for, which holds for nine seconds.
fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    let mut record = vec![0xc0, 12];
    record.extend(kind.to_be_bytes());
    record.extend([0, 1, 0, 0, 0, 9]);
    record.extend((data.len() as u16).to_be_bytes());
    record.extend(data);
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_answered() {
        let query =
            b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x02d0\x04test\x00\x00\x01\x00\x01";
        let here = Ipv4Addr::new(10, 0, 2, 2);
        let (name, reply) = answer(query, here).expect("a query");
        let reply = reply.expect("an answer");
        assert_eq!(name, "d0.test");
        assert_eq!(&reply[..2], b"\x12\x34");
        assert!(reply.ends_with(&[0, 4, 10, 0, 2, 2]), "{reply:?}");
        assert!(answer(b"\x12\x34", here).is_none());
        let other = query.map(|byte| if byte == b'0' { b'x' } else { byte });
        assert_eq!(answer(&other, here).expect("a query").0, "dx.test");
        let mut for_ipv6 = query.to_vec();
        for_ipv6[query.len() - 3] = 28;
        let (_, reply) = answer(&for_ipv6, here).expect("a query");
        assert_eq!(reply.expect("an answer")[6..8], [0, 0], "it has none");
    }
}
