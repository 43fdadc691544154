//! A network that is a few lines of arithmetic: every page exists, changes at a pace of its own and
//! takes its time. For runs of many hours in minutes, in which every byte of the log is the same
//! each time.

use core::convert::Infallible;

use dunlin::fetch::{Addresses, Connect, Connection, Endpoint, HttpDate, Resolve};
use embassy_time::{Duration, Instant, Timer};
use embedded_io_async::{ErrorType, Read, Write};

/// Opens connections to nowhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulated;

impl Connect for Simulated {
    type Error = Infallible;
    type Connection<'c> = Conversation;

    async fn connect(&mut self, to: Endpoint<'_>) -> Result<Conversation, Infallible> {
        Ok(Conversation {
            hash: hash(SEED, to.host.as_bytes()),
            ..Conversation::NEW
        })
    }
}

impl Resolve for Simulated {
    type Error = Infallible;

    async fn resolve(&mut self, _: &str) -> Result<Addresses, Infallible> {
        Ok(Addresses::from_iter([core::net::IpAddr::from([
            192, 0, 2, 1,
        ])]))
    }
}

/// A request that is taken in and an answer that is made of it.
#[derive(Clone, Copy, Debug)]
pub struct Conversation {
    /// Of the host, then of the request line, too.
    hash: u32,
    /// The request line is over.
    line_ended: bool,
    /// The version that the request knows.
    known: NumberAfter,
    /// The minute of the day at which the page changes, if it does so once a day.
    daily: NumberAfter,
    answered: bool,
}

const SEED: u32 = 0x811c_9dc5;
/// The date when the device starts: midnight of 1 January 2027.
const START: u64 = 1_798_761_600;

/// A number that follows certain bytes, while and after they pass by.
#[derive(Clone, Copy, Debug)]
struct NumberAfter {
    tag: &'static [u8],
    matched: usize,
    number: Option<u32>,
}

impl NumberAfter {
    const fn new(tag: &'static [u8]) -> Self {
        Self {
            tag,
            matched: 0,
            number: None,
        }
    }

    fn take(&mut self, byte: u8) {
        match self.tag.get(self.matched) {
            Some(expected) => {
                self.matched = if byte == *expected {
                    self.matched + 1
                } else {
                    0
                }
            }
            None if self.matched == self.tag.len() && byte.is_ascii_digit() => {
                let digit = u32::from(byte - b'0');
                self.number = Some(
                    self.number
                        .unwrap_or(0)
                        .wrapping_mul(10)
                        .wrapping_add(digit),
                );
            }
            // The number is over; nothing else is looked for.
            None => self.matched = self.tag.len() + 1,
        }
    }
}

fn hash(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

impl Conversation {
    const NEW: Self = Self {
        hash: SEED,
        line_ended: false,
        known: NumberAfter::new(b"If-None-Match: \""),
        daily: NumberAfter::new(b"GET /daily/"),
        answered: false,
    };

    fn take(&mut self, byte: u8) {
        if !self.line_ended {
            self.line_ended = byte == b'\r';
            self.hash = hash(self.hash, &[byte]);
        }
        self.known.take(byte);
        self.daily.take(byte);
    }

    /// Pages change every five minutes to every five hours, each at its own moments; those under
    /// `/daily/` once a day, at the minute that their path says.
    fn version(&self) -> u32 {
        let now = Instant::now().as_secs() as u32;
        if let Some(minute) = self.daily.number {
            return now.wrapping_add(86_400 - 60 * (minute % 1_440)) / 86_400;
        }
        let period = 300 + self.hash % 18_000;
        now.wrapping_add(self.hash >> 8) / period
    }
}

impl ErrorType for Conversation {
    type Error = Infallible;
}

impl Write for Conversation {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        bytes.iter().for_each(|byte| self.take(*byte));
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Read for Conversation {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        if self.answered {
            return Ok(0);
        }
        self.answered = true;
        // From 20 to 276 ms, and for one page in 64 longer than any deadline.
        let late = if self.hash % 64 == 7 && self.daily.number.is_none() {
            60_000
        } else {
            u64::from(20 + (self.hash >> 24))
        };
        Timer::after(Duration::from_millis(late)).await;
        let version = self.version();
        let date = HttpDate::from_unix(START + Instant::now().as_secs())
            .map_or([b' '; 29], HttpDate::format);
        let date = core::str::from_utf8(&date).unwrap_or_default();
        let mut text = heapless::String::<224>::new();
        // What does not fit is cut off, as a server might.
        let _ = if self.known.number == Some(version) {
            core::fmt::write(
                &mut text,
                format_args!("HTTP/1.1 304 Same\r\nDate: {date}\r\n\r\n"),
            )
        } else {
            core::fmt::write(
                &mut text,
                format_args!(
                    "HTTP/1.1 200 OK\r\nDate: {date}\r\nETag: \"{version}\"\r\nConnection: close\r\n\r\nUser-agent: *\nDisallow: /never\n{version}"
                ),
            )
        };
        let count = text.len().min(buffer.len());
        buffer
            .iter_mut()
            .zip(text.bytes())
            .for_each(|(to, from)| *to = from);
        Ok(count)
    }
}

impl Connection for Conversation {}
