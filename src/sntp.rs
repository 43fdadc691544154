//! What time is it? A client of the Simple Network Time Protocol (RFC 4330; RFC 5905 §14 continues
//! it), without a socket: bytes to be sent go out, bytes that came go in.
//!
//! The request carries a random number where its own time would be: it tells nobody anything, and
//! only who has seen it can answer. Nothing else that comes is looked at any further, a kiss of
//! death included.
//!
//! ```
//! use dunlin::sntp::TimeClient;
//! use dunlin::time::{Duration, Instant};
//!
//! let (mut client, now) = (TimeClient::new(1), Instant::ZERO);
//! let request = client.request(0x0123_4567_89ab_cdef, now);
//! # let mut answer = request;
//! # (answer[0], answer[1]) = (0x24, 2);
//! # answer.copy_within(40..48, 24);
//! # answer[40..48].copy_from_slice(&[0xee, 0xa4, 0x58, 0x80, 0, 0, 0, 0]);
//! // … send it to port 123 of a server; `answer` comes back …
//! assert_eq!(client.answer(&answer, now), Some(Ok(1_794_759_168)));
//! assert!(client.ask_at() >= now + Duration::HOUR * 6, "and not sooner");
//! ```

use crate::time::{Duration, Instant};

/// The port that time servers listen at.
pub const PORT: u16 = 123;
/// Bytes of a request, and the least of an answer.
pub const PACKET: usize = 48;
/// How long an answer is waited for: half of that is the most that the time can be wrong by.
pub const PATIENCE: Duration = Duration::from_secs(4);

/// Between two answers. A clock that is wrong by 50 ppm is wrong by a second then; RFC 4330 §10
/// asks for 15 s at least.
const POLL: Duration = Duration::from_secs(6 * 3_600);
/// A server that says so is asked less often, down to this.
const LONGEST_POLL: Duration = Duration::from_secs(4 * 86_400);
/// After a first failure; after each further one twice as long, up to the poll interval.
const FIRST_RETRY: Duration = Duration::from_secs(16);
/// Devices that got their power back at the same moment do not all ask at the same moment.
const FIRST_SPREAD: Duration = Duration::from_secs(2);

/// The first byte of a request: version 4 of the protocol, and mode 3, a client's.
const REQUEST: u8 = 4 << 3 | 3;
const SERVER: u8 = 4;
/// A leap indicator: the server does not know the time itself.
const ALARM: u8 = 3;
/// A second in NTP's short format: who is further from a real clock is not believed (RFC 4330 §5).
const FAR: u32 = 1 << 16;
/// 1970 in seconds since 1900.
const UNIX: u64 = 2_208_988_800;
/// 2026, when this was written: who says that it is earlier does not know.
const OLDEST: u64 = 1_767_225_600;

/// Why there is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum NoTime {
    /// The server's name has no address.
    Name,
    /// Nothing came, or nothing that answers.
    Silence,
    /// The server does not know the time, or is too far from somebody who does.
    Unsure,
    /// The server says a time at which it cannot have been asked.
    Absurd,
    /// The server wants to be asked less often, and will be.
    TooOften,
    /// The server does not want to be asked, and will not be until the next start.
    Unwanted,
}

/// One server's client. Work of each call: a few dozen instructions.
#[derive(Clone, Debug)]
pub struct TimeClient {
    /// The number in the request that is not answered yet.
    nonce: Option<u64>,
    sent: Instant,
    ask_at: Instant,
    poll: Duration,
    /// The next one's wait.
    retry: Duration,
    /// What spreads requests of many devices over time.
    random: u64,
}

impl TimeClient {
    /// Asks within two seconds; `random` says when.
    pub fn new(random: u64) -> Self {
        let sent = Instant::ZERO;
        let ask_at = Instant::ZERO + share(FIRST_SPREAD, random);
        Self {
            nonce: None,
            sent,
            ask_at,
            poll: POLL,
            retry: FIRST_RETRY,
            random,
        }
    }

    /// When the server may be asked again; [`Instant::MAX`] for never.
    pub fn ask_at(&self) -> Instant {
        self.ask_at
    }

    /// What is to be sent to the server now. `random` must be a number that nobody can guess. An
    /// earlier request that has not been answered no longer will be.
    pub fn request(&mut self, random: u64, now: Instant) -> [u8; PACKET] {
        // A server that knows no originate timestamp sends zeros.
        let nonce = random.max(1);
        self.nonce = Some(nonce);
        self.sent = now;
        self.random = random;
        let mut packet = [0; PACKET];
        if let Some(first) = packet.first_mut() {
            *first = REQUEST;
        }
        packet
            .iter_mut()
            .skip(40)
            .zip(nonce.to_be_bytes())
            .for_each(|(to, from)| *to = from);
        packet
    }

    /// Takes in what came: seconds since 1970, or why there is no time. `None` if it is no answer
    /// to the last request: go on listening, for [`PATIENCE`] after the request.
    pub fn answer(&mut self, bytes: &[u8], now: Instant) -> Option<Result<u64, NoTime>> {
        let answer = Answer::read(bytes)?;
        let trip = now - self.sent;
        if self.nonce != Some(answer.originate) || trip > PATIENCE {
            return None;
        }
        self.nonce = None;
        let time = answer.time(trip);
        match time {
            Ok(_) => {
                self.retry = FIRST_RETRY;
                self.wait(self.poll, now);
            }
            Err(NoTime::TooOften) => {
                self.poll = (self.poll * 2).min(LONGEST_POLL);
                self.wait(self.poll, now);
            }
            Err(NoTime::Unwanted) => self.ask_at = Instant::MAX,
            Err(_) => self.failed(now),
        }
        Some(time)
    }

    /// There was no answer.
    pub fn failed(&mut self, now: Instant) {
        self.nonce = None;
        self.wait(self.retry, now);
        self.retry = (self.retry * 2).min(self.poll);
    }

    /// So long, and up to an eighth more.
    fn wait(&mut self, wait: Duration, now: Instant) {
        self.ask_at = now + wait + share(wait, self.random >> 3);
    }
}

/// Some part of it.
fn share(whole: Duration, random: u64) -> Duration {
    Duration::from_micros((whole.as_micros() >> 8) * (random >> 56))
}

/// What matters of an answer.
struct Answer {
    leap: u8,
    stratum: u8,
    root_delay: u32,
    root_dispersion: u32,
    /// Who the server has its time from, or why it does not answer.
    reference: [u8; 4],
    reference_time: u64,
    originate: u64,
    transmit: u64,
}

impl Answer {
    /// `None` if it is no answer of a server.
    fn read(bytes: &[u8]) -> Option<Self> {
        let packet: &[u8; PACKET] = bytes.first_chunk()?;
        let mut words = [0; PACKET / 4];
        words
            .iter_mut()
            .zip(packet.as_chunks().0)
            .for_each(|(to, from)| *to = u32::from_be_bytes(*from));
        let [
            first,
            delay,
            dispersion,
            reference,
            set,
            set_low,
            origin,
            origin_low,
            _,
            _,
            sent,
            sent_low,
        ] = words;
        let long = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let [flags, stratum, ..] = first.to_be_bytes();
        let version = flags >> 3 & 7;
        (flags & 7 == SERVER && (1..=4).contains(&version)).then(|| Self {
            leap: flags >> 6,
            stratum,
            root_delay: delay,
            root_dispersion: dispersion,
            reference: reference.to_be_bytes(),
            reference_time: long(set, set_low),
            originate: long(origin, origin_low),
            transmit: long(sent, sent_low),
        })
    }

    /// The time at which it came, after a trip there and back of this length.
    fn time(&self, trip: Duration) -> Result<u64, NoTime> {
        match (self.stratum, &self.reference) {
            (0, b"RATE") => return Err(NoTime::TooOften),
            (0, b"DENY" | b"RSTR") => return Err(NoTime::Unwanted),
            (1..=15, _) if self.leap != ALARM => {}
            _ => return Err(NoTime::Unsure),
        }
        // A delay below zero is a large one here.
        if (self.root_delay / 2).saturating_add(self.root_dispersion) >= FAR {
            return Err(NoTime::Unsure);
        }
        // Set in the future; a server that does not say when it was set says 0.
        let age = self.transmit.wrapping_sub(self.reference_time) as i64;
        if self.transmit == 0 || (self.reference_time != 0 && age < 0) {
            return Err(NoTime::Absurd);
        }
        // Half a second more: it is rounded.
        let half = (trip.as_micros() << 31) / 1_000_000 + (1 << 31);
        let seconds = self.transmit.wrapping_add(half) >> 32;
        // 32 bits of seconds run out in 2036 and begin anew: the first half of them is the next
        // era's (RFC 4330 §3).
        let era = if seconds >> 31 == 0 { 1 << 32 } else { 0 };
        (seconds + era)
            .checked_sub(UNIX)
            .filter(|unix| *unix >= OLDEST)
            .ok_or(NoTime::Absurd)
    }
}
