//! What a server can make rustls allocate is capped here, before rustls sees it.
//!
//! Handshake messages pass through [`Caps::check`] as they come, in whatever fragments: plain ones
//! on their way from the network, encrypted ones right after they were decrypted in place. A
//! message that is longer than any that is in use, a list with more entries than any chain has: the
//! handshake is over, and nothing has been allocated for them.
//!
//! | message | bytes at most |
//! |---|---|
//! | ServerHello, ServerKeyExchange, CertificateVerify | 1,024 |
//! | EncryptedExtensions | 512 |
//! | CertificateRequest | 192: in memory, a list of names takes twelve times as much |
//! | Certificate | 13,312, in 5 certificates at most, with 512 of extensions each |
//! | NewSessionTicket | 16,384, of which 64 are extensions; of TLS 1.3, two of 640, others are ignored |
//! | Finished, KeyUpdate and others | 64 |

use core::sync::atomic::{AtomicU32, Ordering};

use rustls::{ContentType, Error, HandshakeType};

/// Certificates of a chain: the server's own, and four that link it to a root.
pub const MOST_CERTIFICATES: u8 = 5;
/// Bytes of the message that brings them.
pub const LONGEST_CHAIN: u32 = 13 * 1024;
const LONGEST_TICKET: u32 = 16 * 1024;
/// Bytes of a ticket's message that is kept: it has to be sent back.
pub(crate) const LONGEST_KEPT: u32 = 640;
/// Tickets that are looked at under one set of keys; one is kept.
pub(crate) const MOST_TICKETS: u8 = 2;
const MOST_EXTENSIONS: u32 = 512;
/// Bytes of the extensions of a ticket.
const FEW_EXTENSIONS: u32 = 64;
/// Handshake messages that one set of keys may bring.
const MOST_MESSAGES: u16 = 64;

/// The last ticket's length: rustls does not tell how long what it keeps is.
static TICKET: AtomicU32 = AtomicU32::new(0);

/// Bytes of the last ticket that came.
pub(crate) fn ticket_bytes() -> usize {
    TICKET.load(Ordering::Relaxed) as usize
}

/// Where in a message the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In its header: type and length.
    Header,
    /// In a number of so many bytes more, which says how long a part is.
    Length { part: Part, left: u8 },
    /// In bytes that mean nothing here; what then follows.
    Skipping { left: u32, then: Part },
    /// In the rest of the message, whatever it is.
    Rest,
}

/// A part of a message that has a length of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// A certificate message's context.
    Context,
    /// The list of certificates.
    List,
    Certificate,
    Extensions,
    /// The nonce of a ticket.
    Nonce,
    Ticket,
    TicketExtensions,
    /// Nothing more that has to be looked at.
    None,
}

/// The state of one direction under one set of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caps {
    at: At,
    /// Bytes of the header, or the number that is being read.
    number: u32,
    /// Bytes of the header that are there.
    header: u8,
    /// Bytes of the message that are not there yet.
    left: u32,
    certificates: u8,
    messages: u16,
    is_tls13: bool,
    tickets: u8,
    /// The message is a ticket that nobody needs.
    is_ignored: bool,
}

impl Caps {
    /// For what a TLS 1.2 server sends in the clear, and the first message of TLS 1.3.
    pub(crate) const PLAIN: Self = Self {
        at: At::Header,
        number: 0,
        header: 0,
        left: 0,
        certificates: 0,
        messages: 0,
        is_tls13: false,
        tickets: 0,
        is_ignored: false,
    };

    /// For what comes encrypted: of TLS 1.3 all but the first message, of TLS 1.2 the last.
    pub(crate) const ENCRYPTED: Self = Self {
        is_tls13: true,
        ..Self::PLAIN
    };

    /// For what TLS 1.2 sends after its change of ciphers, before it is decrypted: a record that
    /// looks like a handshake message holds few bytes of something else.
    pub(crate) const SEALED: Self = Self {
        at: At::Rest,
        left: 512,
        ..Self::PLAIN
    };

    /// Looks at the contents of a record: how many bytes at its front rustls may see. All of them,
    /// unless what follows are tickets that nobody needs.
    ///
    /// # Errors
    /// It brings what is not in use and would have to be allocated, or something behind what is
    /// ignored. Work: a few instructions a byte of headers; what lies between them is skipped.
    pub(crate) fn check(&mut self, kind: ContentType, mut bytes: &[u8]) -> Result<usize, Error> {
        let all = bytes.len();
        if kind != ContentType::Handshake {
            return Ok(all);
        }
        // Where that begins which is ignored, and where the header at hand begins.
        let mut ignored = (self.is_ignored && self.at != At::Header).then_some(0);
        let mut header = (self.header == 0).then_some(0);
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.at == At::Header {
                if self.header == 0 {
                    header = Some(all - bytes.len());
                }
                bytes = rest;
                self.begin(byte)?;
                if self.header > 0 {
                    continue;
                }
                ignored = match (self.is_ignored, ignored) {
                    // A header that rustls has seen a part of cannot be ignored any more.
                    (true, None) => Some(header.ok_or_else(too_much)?),
                    (true, begun) => begun,
                    (false, None) => None,
                    (false, Some(_)) => return Err(too_much()),
                };
                continue;
            }
            let skip = match self.at {
                At::Rest => self.left,
                At::Skipping { left, .. } => left.min(self.left),
                At::Header | At::Length { .. } => 1,
            };
            let skip = skip.min(bytes.len() as u32);
            bytes = bytes.get(skip as usize..).unwrap_or_default();
            self.left -= skip;
            self.pass(byte, skip)?;
            if self.left == 0 {
                self.at = At::Header;
            }
        }
        match ignored {
            // Half a header behind what is ignored.
            Some(_) if self.header > 0 => Err(too_much()),
            begun => Ok(begun.unwrap_or(all)),
        }
    }

    /// Takes a byte of a header.
    fn begin(&mut self, byte: u8) -> Result<(), Error> {
        self.number = self.number << 8 | u32::from(byte);
        self.header += 1;
        if self.header < 4 {
            return Ok(());
        }
        let kind = HandshakeType::from((self.number >> 24) as u8);
        self.left = self.number & 0x00ff_ffff;
        self.number = 0;
        self.header = 0;
        self.messages += 1;
        self.is_ignored = false;
        let (most, at) = match kind {
            HandshakeType::Certificate => {
                self.certificates = 0;
                let (part, left) = match self.is_tls13 {
                    true => (Part::Context, 1),
                    false => (Part::List, 3),
                };
                (LONGEST_CHAIN, At::Length { part, left })
            }
            HandshakeType::NewSessionTicket => {
                let then = match self.is_tls13 {
                    true => Part::Nonce,
                    false => Part::None,
                };
                let is_needed = self.left <= LONGEST_KEPT && self.tickets < MOST_TICKETS;
                self.is_ignored = self.is_tls13 && !is_needed;
                self.tickets += u8::from(is_needed);
                if !self.is_ignored {
                    TICKET.store(self.left, Ordering::Relaxed);
                }
                // Lifetime and, in TLS 1.3, what is added to its age.
                (LONGEST_TICKET, At::Skipping { left: 8, then })
            }
            HandshakeType::ServerHello
            | HandshakeType::ServerKeyExchange
            | HandshakeType::CertificateVerify => (1024, At::Rest),
            HandshakeType::EncryptedExtensions => (512, At::Rest),
            HandshakeType::CertificateRequest => (192, At::Rest),
            _ => (64, At::Rest),
        };
        self.at = if self.left == 0 { At::Header } else { at };
        if self.left > most || self.messages > MOST_MESSAGES {
            return Err(too_much());
        }
        Ok(())
    }

    /// So many bytes of the message have passed; `byte` was the first of them.
    fn pass(&mut self, byte: u8, passed: u32) -> Result<(), Error> {
        match self.at {
            At::Header | At::Rest => {}
            At::Skipping { left, then } => {
                let left = left - passed;
                self.at = match (left, then) {
                    (0, Part::None) => At::Rest,
                    (0, part) => At::Length {
                        part,
                        left: part.width(),
                    },
                    _ => At::Skipping { left, then },
                };
            }
            At::Length { part, left } => {
                self.number = self.number << 8 | u32::from(byte);
                self.at = match left {
                    0 | 1 => {
                        let length = core::mem::take(&mut self.number);
                        self.part(part, length)?
                    }
                    _ => At::Length {
                        part,
                        left: left - 1,
                    },
                };
            }
        }
        Ok(())
    }

    /// A part is so long: what comes then?
    fn part(&mut self, part: Part, length: u32) -> Result<At, Error> {
        let (then, most) = match part {
            Part::Context => (Part::List, 255),
            // Its entries are looked at, not the list.
            Part::List => {
                return Ok(At::Length {
                    part: Part::Certificate,
                    left: Part::Certificate.width(),
                });
            }
            Part::Certificate => {
                self.certificates += 1;
                if self.certificates > MOST_CERTIFICATES {
                    return Err(too_much());
                }
                let then = match self.is_tls13 {
                    true => Part::Extensions,
                    false => Part::Certificate,
                };
                (then, LONGEST_CHAIN)
            }
            Part::Extensions => (Part::Certificate, MOST_EXTENSIONS),
            Part::Nonce => (Part::Ticket, 255),
            Part::Ticket => (Part::TicketExtensions, LONGEST_TICKET),
            Part::TicketExtensions | Part::None => (Part::None, FEW_EXTENSIONS),
        };
        if length > most {
            return Err(too_much());
        }
        Ok(match (length, then) {
            (0, Part::None) => At::Rest,
            (0, part) => At::Length {
                part,
                left: part.width(),
            },
            (left, then) => At::Skipping { left, then },
        })
    }
}

impl Part {
    /// Bytes of the number that says how long it is.
    const fn width(self) -> u8 {
        match self {
            Self::Context | Self::Nonce => 1,
            Self::List | Self::Certificate => 3,
            Self::Extensions | Self::Ticket | Self::TicketExtensions | Self::None => 2,
        }
    }
}

fn too_much() -> Error {
    Error::PeerSentOversizedRecord
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    /// A message in one record.
    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        [&[kind], &length[1..], body].concat()
    }

    fn list(is_tls13: bool, count: usize, length: usize, extensions: usize) -> Vec<u8> {
        let mut entries = Vec::new();
        for _ in 0..count {
            entries.extend(&u32::try_from(length).unwrap().to_be_bytes()[1..]);
            entries.extend(vec![7; length]);
            if is_tls13 {
                entries.extend(u16::try_from(extensions).unwrap().to_be_bytes());
                entries.extend(vec![0; extensions]);
            }
        }
        let length = u32::try_from(entries.len()).unwrap().to_be_bytes();
        let context: &[u8] = if is_tls13 { &[0] } else { &[] };
        message(11, &[context, &length[1..], &entries].concat())
    }

    fn passes(caps: Caps, bytes: &[u8]) -> bool {
        // In whatever pieces it comes, the answer is the same.
        let whole = caps.clone().check(ContentType::Handshake, bytes).is_ok();
        for size in [1, 2, 3, 7, 100] {
            let mut caps = caps;
            let pieces = bytes
                .chunks(size)
                .all(|piece| caps.check(ContentType::Handshake, piece).is_ok());
            assert_eq!(pieces, whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn chains_that_are_in_use_pass_and_longer_ones_do_not() {
        for (caps, tls13) in [(Caps::PLAIN, false), (Caps::ENCRYPTED, true)] {
            assert!(passes(caps, &list(tls13, 5, 2_600, 0)));
            assert!(passes(caps, &list(tls13, 1, 12_900, 0)));
            assert!(!passes(caps, &list(tls13, 6, 1, 0)));
            assert!(!passes(caps, &list(tls13, 2_000, 0, 0)));
            assert!(!passes(caps, &list(tls13, 1, 13_400, 0)));
        }
        assert!(passes(Caps::ENCRYPTED, &list(true, 5, 100, 512)));
        assert!(!passes(Caps::ENCRYPTED, &list(true, 1, 100, 513)));
    }

    #[test]
    fn tickets_may_be_long_but_not_their_extensions() {
        let ticket = |nonce: usize, ticket: usize, extensions: usize| {
            let mut body = vec![0; 8];
            body.push(u8::try_from(nonce).unwrap());
            body.extend(vec![1; nonce]);
            body.extend(u16::try_from(ticket).unwrap().to_be_bytes());
            body.extend(vec![2; ticket]);
            body.extend(u16::try_from(extensions).unwrap().to_be_bytes());
            body.extend(vec![3; extensions]);
            message(4, &body)
        };
        assert!(passes(Caps::ENCRYPTED, &ticket(8, 600, 8)));
        assert_eq!(ticket_bytes(), 8 + 1 + 8 + 2 + 600 + 2 + 8);
        assert!(passes(Caps::ENCRYPTED, &ticket(0, 0, 0)));
        assert!(passes(Caps::PLAIN, &ticket(0, 15_000, 0)));
        assert!(!passes(Caps::ENCRYPTED, &ticket(8, 200, 65)));
        assert!(!passes(Caps::ENCRYPTED, &ticket(8, 16_384, 0)));

        // What is too long to be kept is ignored, in whatever records it comes, and so are all but
        // two, if nothing else follows them.
        let long = ticket(8, 15_000, 8);
        let short = ticket(8, 200, 0);
        let shown = |pieces: &[&[u8]]| -> Option<Vec<usize>> {
            let mut caps = Caps::ENCRYPTED;
            let shown = pieces
                .iter()
                .map(|piece| caps.check(ContentType::Handshake, piece).ok());
            shown.collect()
        };
        let (first, last) = long.split_at(100);
        assert_eq!(shown(&[&long]), Some(vec![0]));
        assert_eq!(shown(&[first, last, &short]), Some(vec![0, 0, short.len()]));
        let both = [&short[..], &long].concat();
        assert_eq!(shown(&[&both]), Some(vec![short.len()]));
        assert_eq!(shown(&[&short.repeat(5)]), Some(vec![2 * short.len()]));
        assert_eq!(shown(&[&[&long[..], &short].concat()]), None);
        let (first, last) = long.split_at(3);
        assert_eq!(shown(&[first, last]), None);
        assert_eq!(shown(&[&[&long[..], &short[..2]].concat()]), None);
    }

    #[test]
    fn messages_follow_each_other_and_are_counted() {
        let hello = message(2, &[0; 118]);
        let done = message(14, &[]);
        assert!(passes(Caps::PLAIN, &[hello, done.clone()].concat()));
        assert!(passes(Caps::PLAIN, &done.repeat(64)));
        assert!(!passes(Caps::PLAIN, &done.repeat(65)));
        assert!(!passes(Caps::PLAIN, &message(2, &[0; 1_025])));
        assert!(!passes(Caps::PLAIN, &message(99, &[0; 65])));
        assert!(!passes(Caps::PLAIN, &message(13, &[0; 193])));
        assert!(
            Caps::PLAIN
                .clone()
                .check(ContentType::ApplicationData, &[11; 9])
                .is_ok()
        );
    }
}
