//! Signed updates on their owner's desk: keys, and releases in a folder that a web server hands
//! out.
//!
//! ```text
//! DIR/qemu-mps2.sig            the newest firmware's manifest, signed
//! DIR/qemu-mps2-7.bin          the firmware it speaks of
//! DIR/qemu-mps2-list.sig       the newest list's manifest, signed
//! DIR/qemu-mps2-list-3.bin     the page image it speaks of
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use dunlin::update::{Manifest, PayloadKind, SecretKey, digest_of, manifest_ending};
use serde::Serialize;

use crate::error::Error;

/// How a release is signed and numbered.
#[derive(Clone, Debug, clap::Args)]
pub struct ReleaseArgs {
    /// The secret key to sign with, as `cargo xtask keygen` or `signify -G -n` writes it
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// Write payload and manifest into this folder, below the probes' --update-url
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The release's number, which rises with each [default: one more than the one in DIR]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sequence: Option<u32>,
    /// What has a lower one is refused from then on: raise it when a hole was closed [default: that
    /// of the one in DIR, or 0]
    #[arg(long, value_name = "N")]
    pub counter: Option<u32>,
}

/// What is to be released.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    /// A firmware or a list.
    pub kind: PayloadKind,
    /// The name of the board that it is for.
    pub board: &'a str,
    /// The firmware's build; of a list, `None`.
    pub build: Option<u64>,
    /// The bytes of the firmware, or of the list.
    pub bytes: &'a [u8],
    /// The oldest version of the store's records that the firmware can read.
    pub store: u8,
    /// The oldest version of page images that the firmware can read; of a list, its own.
    pub image: u16,
}

/// What a release has written.
#[derive(Clone, Debug, Serialize)]
pub struct WrittenRelease {
    /// Where the signed manifest is.
    pub manifest: PathBuf,
    /// What it speaks of.
    pub payload: PathBuf,
    /// The number of the release.
    pub sequence: u32,
    /// The security counter of the release.
    pub counter: u32,
    /// Bytes of the payload.
    pub bytes: usize,
    /// The build, in sixteen hexadecimal digits.
    pub build: String,
}

impl ReleaseArgs {
    /// Reads the key: before minutes of building.
    ///
    /// # Errors
    /// It is no secret key, or one that is locked.
    pub fn secret_key(&self) -> Result<SecretKey, Error> {
        let path = &self.key;
        let file = fs::read(path).map_err(|source| Error::reading(path, source))?;
        SecretKey::parse(&file)
            .map_err(|why| Error::Usage(format!("{}: found {why}", path.display())))
    }

    /// Signs, and writes the payload first: whoever reads the manifest finds it.
    ///
    /// # Errors
    /// A number that is not above the last one; a folder that cannot be written.
    pub fn write(&self, key: &SecretKey, payload: &Payload<'_>) -> Result<WrittenRelease, Error> {
        let base = format!("{}{}", payload.board, manifest_ending(payload.kind));
        let manifest_path = self.out.join(&base);
        let before = last(&manifest_path)?;
        let newest = before.map_or(0, |(sequence, _)| sequence);
        let sequence = self.sequence.unwrap_or(newest.saturating_add(1));
        if sequence <= newest {
            return Err(Error::Usage(format!(
                "found --sequence {sequence}, expected one above {newest}, which {} has",
                manifest_path.display()
            )));
        }
        let counter = self
            .counter
            .unwrap_or(before.map_or(0, |(_, counter)| counter));
        let stem = base.trim_end_matches(".sig");
        let name = format!("{stem}-{sequence}.bin");
        let digest = digest_of(payload.bytes);
        let own = digest
            .first_chunk()
            .map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let build = payload.build.unwrap_or(own);
        let manifest = Manifest {
            kind: payload.kind,
            board: payload.board,
            build,
            sequence,
            counter,
            length: payload.bytes.len() as u32,
            digest,
            store: payload.store,
            image: payload.image,
            url: &name,
        };
        let public = self.key.with_extension("pub");
        let public = public.file_name().unwrap_or_default().to_string_lossy();
        let signed = key.sign(&manifest.text(), &format!("verify with {public}"));
        let payload_path = self.out.join(&name);
        fs::create_dir_all(&self.out).map_err(|source| Error::writing(&self.out, source))?;
        put(&payload_path, payload.bytes)?;
        put(&manifest_path, signed.as_bytes())?;
        Ok(WrittenRelease {
            manifest: manifest_path,
            payload: payload_path,
            sequence,
            counter,
            bytes: payload.bytes.len(),
            build: format!("{build:016x}"),
        })
    }
}

/// Sequence and counter of the release that is there, whoever has signed it.
fn last(path: &Path) -> Result<Option<(u32, u32)>, Error> {
    let Ok(file) = fs::read(path) else {
        return Ok(None);
    };
    // A comment, a signature, then the manifest.
    let message = file.splitn(3, |byte| *byte == b'\n').nth(2);
    let manifest = message.and_then(|message| Manifest::parse(message).ok());
    let wrong = || {
        let path = path.display();
        Error::Usage(format!(
            "{path}: found no manifest, expected the last release's, or no such file"
        ))
    };
    manifest
        .map(|manifest| Some((manifest.sequence, manifest.counter)))
        .ok_or_else(wrong)
}

/// Writes a file whole or not at all: a probe may ask for it at any moment.
fn put(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut begun = path.as_os_str().to_owned();
    begun.push(".new");
    let begun = PathBuf::from(begun);
    fs::write(&begun, bytes).map_err(|source| Error::writing(&begun, source))?;
    fs::rename(&begun, path).map_err(|source| Error::writing(path, source))
}
