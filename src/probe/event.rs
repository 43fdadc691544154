//! What a probe says: one vocabulary for logs, monitors and tests.
//!
//! | event | level | line | means |
//! |---|---|---|---|
//! | [`Event::Loaded`] | info | `loaded pages= hosts=` | the page image is good |
//! | [`Event::Refused`] | error | `image refused: …` | the page image is not, and why |
//! | [`Event::Resumed`] | info | `resumed pages= hosts= strange= refused= foreign= other_list=` | what the store held |
//! | [`Event::NotStored`] | error | `store failed` | flash cannot be read or written: a restart would forget |
//! | [`Event::Clock`] | info | `clock unix= from=` | the date is certain from here on, and who said it |
//! | [`Event::NoTime`] | warn | `no time why=` | a time server was asked in vain |
//! | [`Event::Up`] | info | `network up address=` | the device has an address |
//! | [`Event::Down`] | warn | `network down` | the link or the address is lost; fetches wait |
//! | [`Event::Start`] | debug | `start page=` | a page's turn begins |
//! | [`Event::End`] | info | `end page= status= bytes= ms= changed=` | a page was answered |
//! | | warn | `flagged page= encoded= cut=` | … compressed unasked, or longer than what is read: only that was compared |
//! | [`Event::Failed`] | warn | `failed page= ms= why=` | a page was not |
//! | [`Event::Robots`] | info | `robots host= status= judged= denied=` | a robots.txt was answered |
//! | [`Event::Gap`] | info | `gap host= ms=` | what a host gets between two requests, its robots.txt considered |
//! | [`Event::Denied`] | info | `denied page=` | robots rules forbid the page; no request |
//! | [`Event::Moved`] | info | `moved page= status=` | a redirect that will be followed at its next turn |
//! | [`Event::Astray`] | warn | `astray page= status= why=` | a redirect that will not be followed |
//! | [`Event::BackOff`] | warn | `backoff host= s= why=` | a host is left alone, and why |
//! | [`Event::Plan`] | info | `plan price= freshness= optimum=` | each minute: what the scheduler is heading for |
//! | [`Event::Totals`] | info | `totals fetches= same= changed= errors= denied= bytes= late_s=` | each minute |
//!
//! What a board says of itself, all at info but where it says otherwise:
//!
//! | line | means |
//! |---|---|
//! | `dunlin on BOARD VERSION, build ID` | the banner: who speaks, and which ELF decodes it |
//! | `memory: … B flash, … B static RAM, … B left for the stack` | what the image takes |
//! | `boot reset= after_s= fast=` | why the device started, after how long, and how many short runs came before |
//! | `last words: …` (warn) | what the panic or fault before this start said |
//! | `power awake_ms=` | each minute: for how long the core has not slept |
//! | `done after … ms, stack high-water mark … B` | a run that has an end, at its end |
//!
//! Lines are a name and `key=value` words; names and keys keep their meaning. `page` and `host` are
//! places in the image.

use super::{Failure, Resumed, TimeSource, Totals};
use crate::catalog::LogLevel;
use crate::fetch::RedirectError;
use crate::image::ImageError;
use crate::sntp::NoTime;

/// Something that a person or a monitor may want to know; see the table above.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // The table above says what each field is.
pub enum Event {
    Loaded {
        pages: u16,
        hosts: u16,
    },
    Refused(ImageError),
    Resumed(Resumed),
    NotStored,
    Clock {
        unix: u32,
        from: TimeSource,
    },
    NoTime {
        why: NoTime,
    },
    Up {
        address: [u8; 4],
    },
    Down,
    Start {
        page: u16,
    },
    End {
        page: u16,
        status: u16,
        bytes: u32,
        millis: u32,
        changed: bool,
        flags: Flags,
    },
    Failed {
        page: u16,
        millis: u32,
        why: Failure,
    },
    Robots {
        host: u16,
        status: u16,
        judged: u16,
        denied: u16,
    },
    Gap {
        host: u16,
        millis: u32,
    },
    Denied {
        page: u16,
    },
    Moved {
        page: u16,
        status: u16,
    },
    Astray {
        page: u16,
        status: u16,
        why: Option<RedirectError>,
    },
    BackOff {
        host: u16,
        seconds: u32,
        why: Failure,
    },
    Plan {
        price: f32,
        freshness: Option<f32>,
        optimum: Option<f32>,
    },
    Totals(Totals),
}

/// What is special about an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// There is no earlier version to compare it with.
    pub first: bool,
    /// It is compressed, although we asked for plain bytes: they were compared as they are.
    pub encoded: bool,
    /// It is longer than what is read of a page: only that was compared.
    pub cut: bool,
}

impl Event {
    /// How much it matters.
    pub const fn level(&self) -> LogLevel {
        match self {
            Self::Refused(_) | Self::NotStored => LogLevel::Error,
            Self::Down
            | Self::NoTime { .. }
            | Self::Failed { .. }
            | Self::Astray { .. }
            | Self::BackOff { .. } => LogLevel::Warn,
            Self::Start { .. } => LogLevel::Debug,
            _ => LogLevel::Info,
        }
    }

    /// Writes the line to the defmt log: 24 bytes at most for the end of a fetch, framing and time
    /// included, for the first twelve days after boot.
    #[cfg(feature = "defmt")]
    pub fn emit(&self) {
        match *self {
            Self::Loaded { pages, hosts } => {
                defmt::info!("loaded pages={=u16} hosts={=u16}", pages, hosts)
            }
            Self::Refused(why) => defmt::error!("image refused: {}", why),
            Self::Resumed(found) => defmt::info!(
                "resumed pages={=u16} hosts={=u16} strange={=u32} refused={=u32} foreign={=bool} other_list={=bool}",
                found.pages,
                found.hosts,
                found.strange,
                found.refused,
                found.foreign,
                found.other_list
            ),
            Self::NotStored => defmt::error!("store failed"),
            Self::Clock { unix, from } => defmt::info!("clock unix={=u32} from={}", unix, from),
            Self::NoTime { why } => defmt::warn!("no time why={}", why),
            Self::Up {
                address: [a, b, c, d],
            } => {
                defmt::info!("network up address={=u8}.{=u8}.{=u8}.{=u8}", a, b, c, d)
            }
            Self::Down => defmt::warn!("network down"),
            Self::Start { page } => defmt::debug!("start page={=u16}", page),
            Self::End {
                page,
                status,
                bytes,
                millis,
                changed,
                flags: Flags { encoded, cut, .. },
            } => {
                defmt::info!(
                    "end page={=u16} status={=u16} bytes={=u32} ms={=u32} changed={=bool}",
                    page,
                    status,
                    bytes,
                    millis,
                    changed
                );
                // A line of its own, because hardly any page is: the end of a fetch stays short.
                if encoded || cut {
                    defmt::warn!(
                        "flagged page={=u16} encoded={=bool} cut={=bool}",
                        page,
                        encoded,
                        cut
                    );
                }
            }
            Self::Failed { page, millis, why } => {
                defmt::warn!("failed page={=u16} ms={=u32} why={}", page, millis, why)
            }
            Self::Robots {
                host,
                status,
                judged,
                denied,
            } => defmt::info!(
                "robots host={=u16} status={=u16} judged={=u16} denied={=u16}",
                host,
                status,
                judged,
                denied
            ),
            Self::Gap { host, millis } => defmt::info!("gap host={=u16} ms={=u32}", host, millis),
            Self::Denied { page } => defmt::info!("denied page={=u16}", page),
            Self::Moved { page, status } => {
                defmt::info!("moved page={=u16} status={=u16}", page, status)
            }
            Self::Astray { page, status, why } => {
                defmt::warn!("astray page={=u16} status={=u16} why={}", page, status, why)
            }
            Self::BackOff { host, seconds, why } => {
                defmt::warn!("backoff host={=u16} s={=u32} why={}", host, seconds, why)
            }
            Self::Plan {
                price,
                freshness,
                optimum,
            } => defmt::info!(
                "plan price={=f32} freshness={=f32} optimum={=f32}",
                price,
                freshness.unwrap_or(f32::NAN),
                optimum.unwrap_or(f32::NAN)
            ),
            Self::Totals(totals) => defmt::info!(
                "totals fetches={=u32} same={=u32} changed={=u32} errors={=u32} denied={=u32} bytes={=u64} late_s={=u64}",
                totals.fetches,
                totals.not_modified,
                totals.changed,
                totals.errors,
                totals.denied,
                totals.bytes,
                totals.late_seconds
            ),
        }
    }
}
