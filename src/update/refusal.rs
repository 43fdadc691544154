//! Why an update is refused.

use core::fmt;

/// Why an update is refused. The firmware and the list that run go on running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Refusal {
    /// The file is not a comment, a signature and a message, as `signify -S -e` writes them.
    NotSigned,
    /// It was signed by a key that this firmware does not know.
    UnknownKey,
    /// The signature is not of this message.
    Signature,
    /// This line of the manifest is missing or makes no sense; the first one is 1.
    Manifest {
        /// The number of the line.
        line: u8,
    },
    /// It is for another board.
    Board,
    /// It is a list where firmware was asked for, or firmware where a list was.
    Kind,
    /// It is older than what is in use.
    Sequence {
        /// The sequence that the manifest names.
        found: u32,
        /// What is in use.
        newest: u32,
    },
    /// It would open a hole that was closed.
    Counter {
        /// The counter that the manifest names.
        found: u32,
        /// What it must not be below.
        least: u32,
    },
    /// It does not fit.
    Length {
        /// Bytes of the payload.
        found: u32,
        /// Bytes that there is room for.
        room: u32,
    },
    /// It cannot read what the store holds.
    Store,
    /// It cannot read the page list that is in use; a list: this firmware cannot read it.
    Image,
    /// It was tried as often as anything is.
    Tried {
        /// How often that was.
        attempts: u8,
    },
    /// The firmware that runs is on trial itself: lists have to wait.
    OnTrial,
    /// The payload's URL is none.
    Url,
    /// The server answered with this status.
    Status(u16),
    /// The payload is compressed: its bytes cannot be told apart from another's.
    Encoded,
    /// The server sends another part than the one that was asked for.
    Range,
    /// The server sends a part of another version.
    Version,
    /// The server announces another length than the manifest.
    Announced,
    /// More bytes came than the manifest says.
    TooLong,
    /// Fewer bytes came than the manifest says.
    TooShort,
    /// What came is not what was signed.
    Digest,
    /// What came is no page list that this board can run on.
    List,
    /// Flash could not be read or written.
    Flash,
    /// The manifest is longer than what is read of one.
    ManifestLength,
}

impl Refusal {
    /// A number that stands for it in the [journal](super::Journal); numbers keep their meaning.
    pub const fn code(self) -> u8 {
        match self {
            Self::NotSigned => 1,
            Self::UnknownKey => 2,
            Self::Signature => 3,
            Self::Manifest { .. } => 4,
            Self::Board => 5,
            Self::Kind => 6,
            Self::Sequence { .. } => 7,
            Self::Counter { .. } => 8,
            Self::Length { .. } => 9,
            Self::Store => 10,
            Self::Image => 11,
            Self::Tried { .. } => 12,
            Self::OnTrial => 13,
            Self::Url => 14,
            Self::Status(_) => 15,
            Self::Encoded => 16,
            Self::Range => 17,
            Self::Version => 18,
            Self::Announced => 19,
            Self::TooLong => 20,
            Self::TooShort => 21,
            Self::Digest => 22,
            Self::List => 23,
            Self::Flash => 24,
            Self::ManifestLength => 25,
        }
    }

    /// A word for it, for logs and figures; words keep their meaning.
    pub const fn name(self) -> &'static str {
        name_of(self.code())
    }

    /// May a further look at the same manifest bring another result? A download that broke off goes
    /// on; what was signed stays signed.
    pub const fn may_pass(self) -> bool {
        matches!(
            self,
            Self::Status(_) | Self::TooShort | Self::OnTrial | Self::Flash | Self::Version
        )
    }
}

/// The word for a [code](Refusal::code).
pub(super) const fn name_of(code: u8) -> &'static str {
    match code {
        0 => "none",
        1 => "not-signed",
        2 => "unknown-key",
        3 => "signature",
        4 => "manifest",
        5 => "board",
        6 => "kind",
        7 => "sequence",
        8 => "counter",
        9 => "length",
        10 => "store",
        11 => "image",
        12 => "tried",
        13 => "on-trial",
        14 => "url",
        15 => "status",
        16 => "encoded",
        17 => "range",
        18 => "version",
        19 => "announced",
        20 => "too-long",
        21 => "too-short",
        22 => "digest",
        23 => "list",
        24 => "flash",
        25 => "manifest-length",
        _ => "unknown",
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSigned => f.write_str("the manifest is not in signify's embedded format"),
            Self::UnknownKey => f.write_str("signed by a key that this firmware does not know"),
            Self::Signature => f.write_str("the signature is not of this manifest"),
            Self::Manifest { line } => {
                write!(f, "line {line} of the manifest is missing or wrong")
            }
            Self::Board => f.write_str("it is for another board"),
            Self::Kind => f.write_str("it is of another kind than what was asked for"),
            Self::Sequence { found, newest } => {
                write!(
                    f,
                    "sequence {found} is older than {newest}, which is in use"
                )
            }
            Self::Counter { found, least } => {
                write!(f, "security counter {found} is below {least}")
            }
            Self::Length { found, room } => {
                write!(f, "its {found} bytes do not fit into {room}")
            }
            Self::Store => f.write_str("it cannot read what the store holds"),
            Self::Image => f.write_str("firmware and page list do not understand each other"),
            Self::Tried { attempts } => write!(f, "it failed {attempts} times"),
            Self::OnTrial => f.write_str("the firmware is on trial: lists have to wait"),
            Self::Url => f.write_str("the payload's URL cannot be used"),
            Self::Status(status) => write!(f, "the update server answered {status}"),
            Self::Encoded => f.write_str("the payload came compressed"),
            Self::Range => f.write_str("the server sent another part than was asked for"),
            Self::Version => f.write_str("the server sent a part of another version"),
            Self::Announced => f.write_str("the server announced another length than was signed"),
            Self::TooLong => f.write_str("the payload is longer than was signed"),
            Self::TooShort => f.write_str("the payload ended early"),
            Self::Digest => f.write_str("the payload is not what was signed"),
            Self::List => f.write_str("the page list cannot be used on this board"),
            Self::Flash => f.write_str("flash could not be read or written"),
            Self::ManifestLength => write!(
                f,
                "the manifest is longer than {} bytes",
                super::LONGEST_MANIFEST
            ),
        }
    }
}

impl core::error::Error for Refusal {}
