//! A name server that lies: names that lead into the private network, and replies that are none.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

/// The port that devices ask; a device cannot be told another.
const PORT: u16 = 53;
/// Bytes of a header.
const HEADER: usize = 12;

/// A reply to a query for an address, and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct Lie {
    /// For complaints.
    pub name: &'static str,
    /// Makes the reply of the query's identity and question; `None` for silence.
    reply: fn(&[u8], &[u8]) -> Option<Vec<u8>>,
}

/// What `d0.test`, `d1.test`, … are answered.
pub const LIES: &[Lie] = &[
    lie("this computer, by its place in QEMU", |id, question| {
        addresses(id, question, &[[10, 0, 2, 2]])
    }),
    lie("an address beside it", |id, question| {
        addresses(id, question, &[[10, 0, 2, 9]])
    }),
    lie("loopback", |id, question| {
        addresses(id, question, &[[127, 0, 0, 1]])
    }),
    lie("no address at all", |id, question| {
        addresses(id, question, &[[0; 4]])
    }),
    lie("a cloud's own service", |id, question| {
        addresses(id, question, &[[169, 254, 169, 254]])
    }),
    lie("everybody", |id, question| {
        addresses(id, question, &[[255; 4]])
    }),
    lie("four private addresses", |id, question| {
        let all = [
            [10, 0, 2, 2],
            [192, 168, 0, 1],
            [172, 16, 0, 1],
            [127, 0, 0, 1],
        ];
        addresses(id, question, &all)
    }),
    lie("forty private addresses", |id, question| {
        addresses(id, question, &[[10, 0, 2, 2]; 40])
    }),
    lie("another name for loopback", |id, question| {
        let alias = record(5, b"\x09localhost\x00");
        let address = record(1, &[127, 0, 0, 1]);
        Some(reply(id, 0x8180, question, 2, &[alias, address].concat()))
    }),
    lie("its own name", |id, question| {
        Some(reply(id, 0x8180, question, 1, &record(5, &[0xc0, 12])))
    }),
    lie("a name that points to itself", |id, question| {
        let at = HEADER + question.len();
        let itself = [0xc0 | (at >> 8) as u8, at as u8];
        let answer = [&itself[..], &[0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 10, 0, 2, 2]].concat();
        Some(reply(id, 0x8180, question, 1, &answer))
    }),
    lie("no such name", |id, question| {
        Some(reply(id, 0x8183, question, 0, &[]))
    }),
    lie("a failure", |id, question| {
        Some(reply(id, 0x8182, question, 0, &[]))
    }),
    lie("an answer without addresses", |id, question| {
        Some(reply(id, 0x8180, question, 0, &[]))
    }),
    lie("more answers than there are", |id, question| {
        Some(reply(
            id,
            0x8180,
            question,
            u16::MAX,
            &record(1, &[10, 0, 2, 2]),
        ))
    }),
    lie("an address that is cut off", |id, question| {
        let cut = [&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 1, 0][..], &[10, 0]].concat();
        Some(reply(id, 0x8180, question, 1, &cut))
    }),
    lie("an IPv6 address", |id, question| {
        Some(reply(id, 0x8180, question, 1, &record(28, &[0; 16])))
    }),
    lie("a text", |id, question| {
        Some(reply(id, 0x8180, question, 1, &record(16, b"\xffhello")))
    }),
    lie("a reply for somebody else", |id, question| {
        let other = id.iter().map(|byte| !byte).collect::<Vec<u8>>();
        addresses(&other, question, &[[10, 0, 2, 2]])
    }),
    lie("a question instead of a reply", |id, question| {
        Some(reply(id, 0x0100, question, 0, &[]))
    }),
    lie("half a header", |id, _| {
        Some([id, &[0x81, 0x80, 0]].concat())
    }),
    lie("bytes that are all ones", |id, _| {
        Some([id, &[0xff; 500]].concat())
    }),
    lie("a question that never ends", |id, _| {
        Some(reply(id, 0x8180, &[63; 400], 1, &[]))
    }),
    lie("nothing", |_, _| None),
];

const fn lie(name: &'static str, reply: fn(&[u8], &[u8]) -> Option<Vec<u8>>) -> Lie {
    Lie { name, reply }
}

/// Names that were asked for.
pub type Asked = Arc<Mutex<Vec<String>>>;

/// Starts the name server on this computer's loopback, which a device in QEMU reaches at 10.0.2.2:
/// `d0.test` and so on are answered by [`LIES`], every other name is at 10.0.2.2.
///
/// # Errors
/// The port is somebody else's, or not for everybody.
pub fn serve() -> std::io::Result<Asked> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, PORT))?;
    let asked = Asked::default();
    let log = Arc::clone(&asked);
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((count, from)) = socket.recv_from(&mut buffer) {
            let Some((name, reply)) = answer(&buffer[..count]) else {
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

/// The name that a query is for, and what it is answered.
fn answer(query: &[u8]) -> Option<(String, Option<Vec<u8>>)> {
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
    let name = labels.join(".");
    let number = name
        .strip_prefix('d')
        .and_then(|name| name.strip_suffix(".test"));
    let lie = number.and_then(|number| LIES.get(number.parse::<usize>().ok()?));
    let reply = match lie {
        Some(lie) => (lie.reply)(id, question),
        None => addresses(id, question, &[[10, 0, 2, 2]]),
    };
    Some((name, reply))
}

fn addresses(id: &[u8], question: &[u8], all: &[[u8; 4]]) -> Option<Vec<u8>> {
    let records: Vec<u8> = all.iter().flat_map(|one| record(1, one)).collect();
    Some(reply(id, 0x8180, question, all.len() as u16, &records))
}

fn reply(id: &[u8], flags: u16, question: &[u8], answers: u16, records: &[u8]) -> Vec<u8> {
    let mut reply = id.to_vec();
    for field in [flags, 1, answers, 0, 0] {
        reply.extend(field.to_be_bytes());
    }
    reply.extend(question);
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
        let (name, reply) = answer(query).expect("a query");
        let reply = reply.expect("an answer");
        assert_eq!(name, "d0.test");
        assert_eq!(&reply[..2], b"\x12\x34");
        assert!(reply.ends_with(&[0, 4, 10, 0, 2, 2]), "{reply:?}");
        assert!(answer(b"\x12\x34").is_none());
        let silent = query.map(|byte| if byte == b'0' { b'x' } else { byte });
        assert_eq!(answer(&silent).expect("a query").0, "dx.test");
    }
}
