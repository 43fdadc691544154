//! How facts are encoded: the encoding of postcard, read and written field by field.
//!
//! Written by hand, because it decides in which order and how long the fields of a record are, and
//! because derived code would take a kilobyte more of a device's flash.

use crate::catalog::{
    Address, ChangeLaw, Config, CrawlLimits, Gateway, Host, Ignore, LogLevel, Name, Page,
    TimeServer, Updates,
};
use crate::time::Duration;

/// What a record is made of.
pub(super) trait Record<'a>: Sized {
    /// Reads the fields in their order. What comes out counts only if the reader did not fail.
    fn read(from: &mut Reader<'a>) -> Self;
    /// Writes the fields in their order.
    #[cfg(feature = "std")]
    fn write(&self, to: &mut Writer);
}

/// Reads fields. After the first that cannot be read, all others are zero or empty, and
/// [`Reader::has_failed`] says so: one check at the end of a record instead of one at each field.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    failed: bool,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            failed: false,
        }
    }

    /// Was there a field that could not be read?
    pub(super) const fn has_failed(&self) -> bool {
        self.failed
    }

    fn fail(&mut self) {
        self.rest = &[];
        self.failed = true;
    }

    /// Reads so many bytes; none, and an error, if there are fewer.
    #[inline(never)]
    fn take(&mut self, length: usize) -> &'a [u8] {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            self.fail();
            return &[];
        };
        self.rest = rest;
        taken
    }

    pub(super) fn array<const N: usize>(&mut self) -> [u8; N] {
        self.take(N).first_chunk().copied().unwrap_or([0; N])
    }

    pub(super) fn byte(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    /// A number in groups of seven bits, the lowest first; all bytes but the last have their top
    /// bit set.
    #[inline(never)]
    pub(super) fn number(&mut self) -> u32 {
        let mut number = 0;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte();
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return number;
            }
        }
        self.fail();
        0
    }

    #[inline(never)] // Once for all callers.
    pub(super) fn short(&mut self) -> u16 {
        u16::try_from(self.number()).unwrap_or_else(|_| {
            self.fail();
            0
        })
    }

    fn float(&mut self) -> f32 {
        f32::from_le_bytes(self.array())
    }

    /// Bytes behind their number.
    pub(super) fn bytes(&mut self) -> &'a [u8] {
        let length = self.number();
        self.take(length as usize)
    }

    #[inline(never)]
    fn text(&mut self) -> &'a str {
        core::str::from_utf8(self.bytes()).unwrap_or_else(|_| {
            self.fail();
            ""
        })
    }

    /// A byte that says which of so many forms follows.
    fn form(&mut self, forms: u8) -> u8 {
        let form = self.byte();
        if form >= forms {
            self.fail();
        }
        form
    }

    /// What may be absent: 0, or 1 and the value.
    pub(super) fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.form(2) == 1).then(|| read(self))
    }

    fn millis(&mut self) -> Duration {
        Duration::from_millis(self.number().into())
    }
}

/// Writes fields as [`Reader`] reads them.
#[cfg(feature = "std")]
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) std::vec::Vec<u8>);

#[cfg(feature = "std")]
impl Writer {
    fn raw(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    #[cfg(feature = "filter")]
    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn number(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn short(&mut self, number: u16) {
        self.number(number.into());
    }

    fn float(&mut self, number: f32) {
        self.raw(&number.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u32);
        self.raw(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(super) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.raw(&[value.is_some().into()]);
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn millis(&mut self, duration: Duration) {
        self.number(u32::try_from(duration.as_millis()).unwrap_or(u32::MAX));
    }
}

impl<'a> Record<'a> for Config<'a> {
    /// Reads all but the time server, before which version 1 ends.
    fn read(from: &mut Reader<'a>) -> Self {
        Self {
            agent: from.text(),
            contact: from.option(Reader::text),
            per_day: from.option(Reader::float),
            back_off_ms: from.number(),
            deadline_ms: from.number(),
            body_bytes: from.number(),
            seed: from.number(),
            key: from.array(),
            gateway: from.option(|from| Gateway {
                host: from.text(),
                port: from.short(),
            }),
            address: match from.form(2) {
                0 => Address::Dhcp,
                _ => Address::Static {
                    address: from.array(),
                    prefix: from.byte(),
                    router: from.option(Reader::array),
                    names: from.option(Reader::array),
                },
            },
            utc_offset_minutes: {
                // The sign is the lowest bit.
                let folded = from.short();
                (folded >> 1) as i16 ^ -((folded & 1) as i16)
            },
            log: match from.form(4) {
                0 => LogLevel::Error,
                1 => LogLevel::Warn,
                2 => LogLevel::Info,
                _ => LogLevel::Debug,
            },
            sntp: None,
        }
    }

    #[cfg(feature = "std")]
    fn write(&self, to: &mut Writer) {
        to.text(self.agent);
        to.option(self.contact, Writer::text);
        to.option(self.per_day, Writer::float);
        to.number(self.back_off_ms);
        to.number(self.deadline_ms);
        to.number(self.body_bytes);
        to.number(self.seed);
        to.raw(&self.key);
        to.option(self.gateway, |to, gateway| {
            to.text(gateway.host);
            to.short(gateway.port);
        });
        match self.address {
            Address::Dhcp => to.raw(&[0]),
            Address::Static {
                address,
                prefix,
                router,
                names,
            } => {
                to.raw(&[1]);
                to.raw(&address);
                to.raw(&[prefix]);
                to.option(router, |to, router| to.raw(&router));
                to.option(names, |to, names| to.raw(&names));
            }
        }
        let minutes = self.utc_offset_minutes;
        to.short((minutes << 1 ^ minutes >> 15) as u16);
        to.raw(&[self.log as u8]);
    }
}

impl<'a> Record<'a> for Option<TimeServer<'a>> {
    fn read(from: &mut Reader<'a>) -> Self {
        from.option(|from| TimeServer {
            host: from.text(),
            port: from.short(),
        })
    }

    #[cfg(feature = "std")]
    fn write(&self, to: &mut Writer) {
        to.option(*self, |to, server| {
            to.text(server.host);
            to.short(server.port);
        });
    }
}

impl<'a> Record<'a> for Name<'a> {
    fn read(from: &mut Reader<'a>) -> Self {
        Self {
            host: from.text(),
            address: from.array(),
        }
    }

    #[cfg(feature = "std")]
    fn write(&self, to: &mut Writer) {
        to.text(self.host);
        to.raw(&self.address);
    }
}

impl<'a> Record<'a> for Host<'a> {
    fn read(from: &mut Reader<'a>) -> Self {
        Self {
            name: from.text(),
            gap_ms: from.number(),
            hours: from.option(|from| (from.byte(), from.byte())),
            gate: from.short(),
            first_page: from.short(),
            pages: from.short(),
        }
    }

    #[cfg(feature = "std")]
    fn write(&self, to: &mut Writer) {
        to.text(self.name);
        to.number(self.gap_ms);
        to.option(self.hours, |to, (first, end)| to.raw(&[first, end]));
        to.short(self.gate);
        to.short(self.first_page);
        to.short(self.pages);
    }
}

impl<'a> Record<'a> for Page<'a> {
    fn read(from: &mut Reader<'a>) -> Self {
        Self {
            host: from.short(),
            url: from.text(),
            weight: from.float(),
            rate: from.option(Reader::float),
            confidence: from.float(),
        }
    }

    #[cfg(feature = "std")]
    fn write(&self, to: &mut Writer) {
        to.short(self.host);
        to.text(self.url);
        to.float(self.weight);
        to.option(self.rate, Writer::float);
        to.float(self.confidence);
    }
}

impl<'a> Record<'a> for Ignore<'a> {
    fn read(from: &mut Reader<'a>) -> Self {
        Self {
            from: from.bytes(),
            to: from.bytes(),
        }
    }

    #[cfg(feature = "std")]
    fn write(&self, to: &mut Writer) {
        to.bytes(self.from);
        to.bytes(self.to);
    }
}

/// A record about one page. Records are sorted by page, and most pages have none.
#[cfg(feature = "std")]
#[derive(Debug)]
pub(super) struct About<T> {
    pub(super) page: u16,
    pub(super) fact: T,
}

#[cfg(feature = "std")]
impl<'a, T: Record<'a>> Record<'a> for About<T> {
    fn read(from: &mut Reader<'a>) -> Self {
        Self {
            page: from.short(),
            fact: T::read(from),
        }
    }

    #[cfg(feature = "std")]
    fn write(&self, to: &mut Writer) {
        to.short(self.page);
        self.fact.write(to);
    }
}

impl<'a> Record<'a> for CrawlLimits {
    fn read(from: &mut Reader<'a>) -> Self {
        Self {
            min: from.number(),
            max: from.option(Reader::number),
            interval: from.millis(),
        }
    }

    #[cfg(feature = "std")]
    fn write(&self, to: &mut Writer) {
        to.number(self.min);
        to.option(self.max, Writer::number);
        to.millis(self.interval);
    }
}

impl<'a> Record<'a> for ChangeLaw<'a> {
    fn read(from: &mut Reader<'a>) -> Self {
        match from.form(4) {
            0 => Self::Poisson,
            1 => Self::Weibull {
                shape: from.float(),
            },
            2 => Self::Pareto {
                shape: from.float(),
            },
            _ => Self::Quasi {
                interval: from.millis(),
                updates: Updates::from_bytes(from.bytes()),
            },
        }
    }

    #[cfg(feature = "std")]
    fn write(&self, to: &mut Writer) {
        match *self {
            Self::Poisson => to.raw(&[0]),
            Self::Weibull { shape } => {
                to.raw(&[1]);
                to.float(shape);
            }
            Self::Pareto { shape } => {
                to.raw(&[2]);
                to.float(shape);
            }
            Self::Quasi { interval, updates } => {
                to.raw(&[3]);
                to.millis(interval);
                to.bytes(updates.as_bytes());
            }
        }
    }
}
