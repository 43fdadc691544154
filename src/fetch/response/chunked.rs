//! The chunked transfer coding (RFC 9112 §7.1), decoded in place: data goes out as slices of what
//! came in.

use super::ResponseError;
use super::head::is_token;
use crate::fetch::percent::hex_digit;

/// Where in a chunk the decoder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// It is in the size, and has read so many digits of it.
    Size {
        digits: u8,
        size: u64,
    },
    /// It is in what follows the size: extensions, to be skipped.
    Extension {
        size: u64,
    },
    /// It has read the CR that ends the size line.
    SizeCr {
        size: u64,
    },
    Data {
        left: u64,
    },
    DataCr,
    DataLf,
    /// The last chunk has passed; trailer fields follow.
    Trailer(Trailer),
    /// The empty line has passed.
    End,
}

/// Where in a trailer section we are. What the fields say is of no use to us, but fields they must
/// be: data that is taken for a trailer would pass for the end of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trailer {
    LineStart,
    Name,
    Value,
    Cr,
    LastCr,
}

impl Chunk {
    pub(super) const START: Self = Self::Size { digits: 0, size: 0 };

    /// One byte of the framing, that is, of anything but data.
    pub(super) fn push(self, byte: u8) -> Result<Self, ResponseError> {
        Ok(match (self, byte) {
            (Self::Size { digits, size }, _) => return size_byte(digits, size, byte),
            (Self::Extension { size }, b'\r') => Self::SizeCr { size },
            // A bare LF, or a control character: some would end the line here and some would not.
            (Self::Extension { .. }, _) if byte.is_ascii_control() && byte != b'\t' => {
                return Err(ResponseError::ChunkExtension);
            }
            (Self::Extension { .. }, _) => self,
            (Self::SizeCr { size: 0 }, b'\n') => Self::Trailer(Trailer::LineStart),
            (Self::SizeCr { size }, b'\n') => Self::Data { left: size },
            (Self::SizeCr { .. }, _) => return Err(ResponseError::ChunkSize),
            (Self::DataCr, b'\r') => Self::DataLf,
            (Self::DataLf, b'\n') => Self::START,
            (Self::DataCr | Self::DataLf, _) => return Err(ResponseError::ChunkEnd),
            (Self::Trailer(trailer), _) => trailer_byte(trailer, byte)?,
            (Self::Data { .. } | Self::End, _) => self,
        })
    }
}

fn size_byte(digits: u8, size: u64, byte: u8) -> Result<Chunk, ResponseError> {
    match (hex_digit(byte), byte) {
        // 15 digits, leading zeros included: more cannot overflow, and no server sends more.
        (Some(digit), _) if digits < 15 => Ok(Chunk::Size {
            digits: digits + 1,
            size: size << 4 | u64::from(digit),
        }),
        (None, b'\r') if digits > 0 => Ok(Chunk::SizeCr { size }),
        // Some servers pad the size with blanks.
        (None, b';' | b' ' | b'\t') if digits > 0 => Ok(Chunk::Extension { size }),
        _ => Err(ResponseError::ChunkSize),
    }
}

fn trailer_byte(trailer: Trailer, byte: u8) -> Result<Chunk, ResponseError> {
    Ok(match (trailer, byte) {
        (Trailer::LineStart, b'\r') => Chunk::Trailer(Trailer::LastCr),
        (Trailer::LineStart | Trailer::LastCr, b'\n') => Chunk::End,
        (Trailer::Value, b'\r') => Chunk::Trailer(Trailer::Cr),
        (Trailer::Value | Trailer::Cr, b'\n') => Chunk::Trailer(Trailer::LineStart),
        (Trailer::Cr | Trailer::LastCr, _) => return Err(ResponseError::LineEnd),
        (Trailer::Name, b':') => Chunk::Trailer(Trailer::Value),
        (Trailer::LineStart | Trailer::Name, _) if is_token(byte) => Chunk::Trailer(Trailer::Name),
        (Trailer::Value, _) if !byte.is_ascii_control() || byte == b'\t' => {
            Chunk::Trailer(Trailer::Value)
        }
        (Trailer::LineStart | Trailer::Name | Trailer::Value, _) => {
            return Err(ResponseError::Field);
        }
    })
}
