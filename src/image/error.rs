//! Why an image is not used, in sentences for a program and for a device's log.

use core::fmt;

use super::{Tag, VERSION};

/// Why an image is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageError {
    /// There is none: the place does not begin with the magic bytes.
    Missing,
    /// It was made for a newer firmware.
    Newer {
        /// Its version; expected at most [`VERSION`].
        found: u16,
    },
    /// It is said to be longer than the place it is in.
    Length {
        /// The length that it claims.
        found: u32,
        /// The room there is.
        room: u32,
    },
    /// It was damaged on the way.
    Checksum {
        /// What its bytes come to.
        found: u32,
        /// What they came to when it was made.
        expected: u32,
    },
    /// A section is longer than what is left of the image.
    Section {
        /// The length of its payload.
        found: u32,
        /// How many bytes are left for it.
        room: u32,
    },
    /// It has a section that must not be skipped, and that this firmware does not know.
    Unknown {
        /// The tag of the section.
        section: Tag,
    },
    /// It has a section twice.
    Repeated {
        /// The tag of the section.
        section: Tag,
    },
    /// A record is not there, cannot be read, or contradicts the others.
    Record {
        /// The section it belongs to. Images without sections are read as if they had them.
        section: Tag,
        /// Its index there, from 0 on.
        index: u32,
    },
    /// More pages or hosts than the firmware has room for.
    TooLarge {
        /// Pages in the image.
        pages: u16,
        /// Hosts in the image.
        hosts: u16,
    },
}

impl ImageError {
    /// The configuration cannot be used.
    pub const CONFIG: Self = Self::Record {
        section: Tag::CONFIG,
        index: 0,
    };
}

/// The same words for a program and for the log, which keeps them out of flash.
macro_rules! say {
    ($by:ident, $error:expr, $f:expr) => {
        match *$error {
            ImageError::Missing => {
                $by::write!($f, "no page image: load one made by `cargo xtask qemu`")
            }
            ImageError::Newer { found } => $by::write!(
                $f,
                "page image of version {}, expected at most {}: update the firmware",
                found,
                VERSION
            ),
            ImageError::Length { found, room } => $by::write!(
                $f,
                "page image of {} bytes where there is room for {}: load it again",
                found,
                room
            ),
            ImageError::Checksum { found, expected } => $by::write!(
                $f,
                "damaged page image: checksum {:08x}, expected {:08x}: load it again",
                found,
                expected
            ),
            ImageError::Section { found, room } => $by::write!(
                $f,
                "page image with a section of {} bytes, expected at most {}: make it again",
                found,
                room
            ),
            ImageError::Unknown { section } => $by::write!(
                $f,
                "page image with a section {} that this firmware does not know: update the \
                 firmware",
                section
            ),
            ImageError::Repeated { section } => $by::write!(
                $f,
                "page image with two sections {}, expected one: make it again",
                section
            ),
            ImageError::Record { section, index } => $by::write!(
                $f,
                "page image whose record {} of section {} is missing or makes no sense: make it \
                 again",
                index,
                section
            ),
            ImageError::TooLarge { pages, hosts } => $by::write!(
                $f,
                "page image of {} pages on {} hosts: more than this firmware has room for",
                pages,
                hosts
            ),
        }
    };
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        say!(core, self, f)
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for ImageError {
    fn format(&self, f: defmt::Formatter<'_>) {
        say!(defmt, self, f);
    }
}

impl core::error::Error for ImageError {}
