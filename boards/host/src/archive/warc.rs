//! WARC 1.1 (ISO 28500): records as they are written and read, each a gzip member of its own, so
//! that one can be read without the others.

use std::fmt::Write as _;
use std::io::{self, BufRead, Read, Write as _};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use sha1::{Digest as _, Sha1};

/// No record's head is longer: URLs are the longest of it.
const LONGEST_HEAD: u64 = 256 * 1024;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// What wrote the file.
    Info,
    /// It holds a request as it was sent.
    Request,
    /// It holds an answer with its body.
    Response,
    /// An answer whose body is in another record.
    Revisit,
    /// Something that others write.
    Other,
}

impl RecordKind {
    const KNOWN: [Self; 4] = [Self::Info, Self::Request, Self::Response, Self::Revisit];

    const fn name(self) -> &'static str {
        match self {
            Self::Info => "warcinfo",
            Self::Request => "request",
            Self::Response => "response",
            Self::Revisit => "revisit",
            Self::Other => "other",
        }
    }
}

/// The identity of a record, as in `<urn:uuid:…>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordId(pub [u8; 16]);

impl std::fmt::Display for RecordId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Version 4 (random), variant 1.
        let mut bytes = self.0;
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        f.write_str("<urn:uuid:")?;
        for (place, byte) in bytes.iter().enumerate() {
            if [4, 6, 8, 10].contains(&place) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        f.write_str(">")
    }
}

/// The digest of a payload, as archives write it.
pub fn digest(payload: &[u8]) -> String {
    let digest = Sha1::digest(payload);
    format!("sha1:{}", data_encoding::BASE32.encode(&digest))
}

/// A record's head on its way.
#[derive(Debug)]
pub struct Head(String);

impl Head {
    /// The fields that every record has. `date` is as [`date::iso`](crate::date::iso) writes it.
    pub fn new(kind: RecordKind, id: RecordId, date: &str) -> Self {
        Self(format!(
            "WARC/1.1\r\nWARC-Type: {}\r\nWARC-Record-ID: {id}\r\nWARC-Date: {date}\r\n",
            kind.name()
        ))
    }

    /// Adds a field. What would end it is left out: nothing that a stranger wrote makes a field of
    /// its own.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        let mut value = value.to_string();
        value.retain(|letter| !letter.is_control());
        let _ = write!(self.0, "{name}: {value}\r\n");
        self
    }

    /// Appends the record to `out`: the head, and the block's pieces, as one gzip member.
    ///
    /// # Errors
    /// Memory does not fail, and `out` is nothing else.
    pub fn write(self, out: &mut Vec<u8>, level: Compression, block: &[&[u8]]) -> io::Result<()> {
        let length: usize = block.iter().map(|piece| piece.len()).sum();
        let mut member = GzEncoder::new(out, level);
        member.write_all(self.0.as_bytes())?;
        member.write_all(format!("Content-Length: {length}\r\n\r\n").as_bytes())?;
        for piece in block {
            member.write_all(piece)?;
        }
        member.write_all(b"\r\n\r\n")?;
        member.finish().map(drop)
    }
}

/// A record as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What its `WARC-Type` says it is.
    pub kind: RecordKind,
    /// Its fields but for the first line, as they stand there.
    pub fields: Vec<(String, String)>,
    /// Its block, up to so many bytes as were asked for.
    pub block: Vec<u8>,
}

impl Record {
    /// Reads one gzip member, to its end and with its checksum, and leaves `input` behind it. Up to
    /// `most` bytes of its block are kept, and no more memory is taken, whatever it claims.
    ///
    /// # Errors
    /// `UnexpectedEof` where the member is cut, `InvalidData` where it is no record.
    pub fn read(input: &mut impl BufRead, most: u64) -> io::Result<Self> {
        let mut member = io::BufReader::new(GzDecoder::new(input));
        let (kind, fields) = read_head(&mut member)?;
        let length = fields
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .and_then(|(_, value)| value.parse::<u64>().ok())
            .ok_or_else(|| wrong("no Content-Length"))?;
        let mut block = Vec::new();
        (&mut member)
            .take(length.min(most))
            .read_to_end(&mut block)?;
        let skipped = length.saturating_sub(most);
        let left = io::copy(&mut (&mut member).take(skipped), &mut io::sink())?;
        if (block.len() as u64) < length.min(most) || left < skipped {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut end = [0; 5];
        let count = read_full(&mut member, &mut end)?;
        if &end[..count] != b"\r\n\r\n" {
            return Err(wrong("no end where its length says"));
        }
        Ok(Self {
            kind,
            fields,
            block,
        })
    }

    /// A field by its name.
    pub fn field(&self, name: &str) -> Option<&str> {
        let same = |(found, _): &&(String, String)| found.eq_ignore_ascii_case(name);
        self.fields.iter().find(same).map(|(_, value)| &**value)
    }
}

fn read_full(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match input.read(&mut buffer[length..])? {
            0 => break,
            count => length += count,
        }
    }
    Ok(length)
}

fn read_head(member: &mut impl BufRead) -> io::Result<(RecordKind, Vec<(String, String)>)> {
    let mut head = member.take(LONGEST_HEAD);
    let mut line = |line: &mut Vec<u8>| {
        line.clear();
        head.read_until(b'\n', line)?;
        match line.strip_suffix(b"\r\n") {
            Some(text) => Ok(String::from_utf8_lossy(text).into_owned()),
            None if line.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            None => Err(wrong("a line without an end")),
        }
    };
    let mut bytes = Vec::new();
    if !line(&mut bytes)?.starts_with("WARC/1.") {
        return Err(wrong("no WARC record"));
    }
    let mut fields = Vec::new();
    loop {
        let text = line(&mut bytes)?;
        if text.is_empty() {
            break;
        }
        let (name, value) = text.split_once(':').ok_or_else(|| wrong("no field"))?;
        fields.push((name.to_owned(), value.trim().to_owned()));
    }
    let named = fields.iter().find(|(name, _)| name == "WARC-Type");
    let named = named.map_or("", |(_, value)| value);
    let known = RecordKind::KNOWN
        .into_iter()
        .find(|kind| kind.name() == named);
    Ok((known.unwrap_or(RecordKind::Other), fields))
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let id = RecordId([0xff; 16]);
        let head = Head::new(RecordKind::Response, id, "2026-11-17T04:50:08Z")
            .with("WARC-Target-URI", "http://a.test/\r\nEvil: yes");
        let mut out = Vec::new();
        head.write(&mut out, Compression::default(), &[b"one ", b"two"])
            .expect("memory");
        out
    }

    #[test]
    fn a_record_comes_back_and_nothing_makes_fields_of_its_own() {
        let bytes = sample();
        let mut input = &bytes[..];
        let record = Record::read(&mut input, 100).expect("a record");
        assert!(input.is_empty());
        assert_eq!(
            (record.kind, &record.block[..]),
            (RecordKind::Response, &b"one two"[..])
        );
        assert_eq!(
            record.field("warc-target-uri"),
            Some("http://a.test/Evil: yes")
        );
        assert_eq!(record.field("Evil"), None);
        let id = "<urn:uuid:ffffffff-ffff-4fff-bfff-ffffffffffff>";
        assert_eq!(record.field("WARC-Record-ID"), Some(id));
        let short = Record::read(&mut &bytes[..], 3).expect("a record");
        assert_eq!(short.block, b"one");
    }

    #[test]
    fn a_record_that_is_cut_or_spoilt_anywhere_is_none() {
        let bytes = sample();
        for cut in 0..bytes.len() {
            assert!(
                Record::read(&mut &bytes[..cut], 100).is_err(),
                "cut at {cut}"
            );
        }
        // Ten bytes of gzip's own head say nothing of the record, nor do the bits that fill its
        // last byte up.
        let whole = Record::read(&mut &bytes[..], 100).expect("a record");
        let noticed = |spoilt: &usize| {
            let mut bytes = bytes.clone();
            bytes[*spoilt] ^= 0x10;
            let read = Record::read(&mut &bytes[..], 100);
            assert!(
                read.as_ref().map_or(true, |read| *read == whole),
                "byte {spoilt}"
            );
            read.is_err()
        };
        let noticed = (10..bytes.len()).filter(noticed).count();
        assert!(noticed >= bytes.len() - 11, "{noticed} of {}", bytes.len());
    }

    #[test]
    fn digests_are_those_of_archives() {
        assert_eq!(digest(b""), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
    }
}
