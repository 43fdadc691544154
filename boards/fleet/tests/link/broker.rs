//! The least that is needed of a broker: it lets everybody in, acknowledges, and says what it was
//! told to say.

use std::collections::VecDeque;

use dunlin::fleet::{Presence, Report, Visits, decode};

/// A message that the probe published.
#[derive(Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // There are a few of them.
pub enum Published {
    State(Presence, bool),
    Report(Report),
    Visits(Visits),
    Done(dunlin::fleet::Done),
}

/// The broker's end of a connection.
#[derive(Debug, Default)]
pub struct Broker {
    /// Bytes of the probe that are no whole packet yet.
    coming: Vec<u8>,
    /// Bytes for the probe.
    pub going: VecDeque<u8>,
    pub published: Vec<Published>,
    pub subscribed: Vec<String>,
    /// It neither takes nor says anything any more.
    pub stalls: bool,
    /// It has ended the connection.
    pub is_over: bool,
    pub good_byes: usize,
    pub connections: usize,
    /// What has gone over all connections: from the probe, …
    pub packets_up: usize,
    pub bytes_up: usize,
    /// … and to it.
    pub packets_down: usize,
    pub bytes_down: usize,
}

impl Broker {
    /// A connection was opened.
    pub fn open(&mut self) {
        self.coming.clear();
        self.going.clear();
        self.is_over = false;
        self.connections += 1;
    }

    /// Publishes a message to the client, with QoS 0.
    pub fn send(&mut self, topic: &str, retained: bool, payload: &[u8]) {
        let mut body = Vec::from((topic.len() as u16).to_be_bytes());
        body.extend(topic.as_bytes());
        body.push(0);
        body.extend(payload);
        self.packet(0x30 | u8::from(retained), &body);
    }

    fn packet(&mut self, first: u8, body: &[u8]) {
        let before = self.going.len();
        self.going.push_back(first);
        let mut length = body.len();
        loop {
            let more = length > 127;
            self.going
                .push_back((length & 127) as u8 | u8::from(more) << 7);
            length >>= 7;
            if !more {
                break;
            }
        }
        self.going.extend(body);
        self.packets_down += 1;
        self.bytes_down += self.going.len() - before;
    }

    /// Takes bytes of the probe, and answers.
    pub fn take(&mut self, bytes: &[u8]) {
        self.coming.extend(bytes);
        self.bytes_up += bytes.len();
        while let Some((first, body)) = self.whole() {
            self.packets_up += 1;
            match first >> 4 {
                1 => self.packet(0x20, &[0, 0, 0]),
                3 => self.take_publish(first, &body),
                8 => self.take_subscribe(&body),
                12 => self.packet(0xd0, &[]),
                14 => self.good_byes += 1,
                _ => {}
            }
        }
    }

    /// The first packet, once it is there.
    fn whole(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut length = 0;
        let mut header = 1;
        loop {
            let byte = *self.coming.get(header)?;
            length |= usize::from(byte & 127) << (7 * (header - 1));
            header += 1;
            if byte < 128 {
                break;
            }
        }
        if self.coming.len() < header + length {
            return None;
        }
        let first = self.coming[0];
        let body = self.coming[header..header + length].to_vec();
        self.coming.drain(..header + length);
        Some((first, body))
    }

    fn take_subscribe(&mut self, body: &[u8]) {
        let length = usize::from(u16::from_be_bytes([body[3], body[4]]));
        let topic = std::str::from_utf8(&body[5..5 + length]).expect("a topic");
        self.subscribed.push(topic.to_owned());
        let answer = [body[0], body[1], 0, 1];
        self.packet(0x90, &answer);
    }

    fn take_publish(&mut self, first: u8, body: &[u8]) {
        let length = usize::from(u16::from_be_bytes([body[0], body[1]]));
        let topic = std::str::from_utf8(&body[2..2 + length]).expect("a topic");
        let mut rest = &body[2 + length..];
        let packet = (first & 6 > 0).then(|| [rest[0], rest[1]]);
        if packet.is_some() {
            rest = &rest[2..];
        }
        // There are no properties.
        let payload = &rest[1..];
        let published = match topic.rsplit('/').next() {
            Some("state") => Published::State(decode(payload).expect("presence"), first & 1 == 1),
            Some("report") => Published::Report(decode(payload).expect("a report")),
            Some("visits") => Published::Visits(decode(payload).expect("visits")),
            Some("done") => Published::Done(decode(payload).expect("an answer")),
            other => panic!("nobody publishes {other:?}"),
        };
        self.published.push(published);
        if let Some(packet) = packet {
            self.packet(0x40, &packet);
        }
    }

    /// The report that the client published last.
    pub fn report(&self) -> Option<Report> {
        let reports = self.published.iter().rev();
        reports.into_iter().find_map(|one| match one {
            Published::Report(report) => Some(*report),
            _ => None,
        })
    }
}
