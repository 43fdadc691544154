//! Files that results are written to.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A file that an option names.
pub type Named<'a> = (&'static str, &'a Path);

/// Refuses outputs that are an input or each other: writing one would lose the other.
///
/// # Errors
/// [`Error::Usage`] names the file and the two options.
pub fn keep_apart(outputs: &[Named<'_>], inputs: &[Named<'_>]) -> Result<(), Error> {
    for (place, (option, path)) in outputs.iter().enumerate() {
        let Some(output) = Identity::of(path) else {
            continue;
        };
        let mut others = inputs.iter().chain(&outputs[..place]);
        let same = |other: &&Named<'_>| Identity::of(other.1).is_some_and(|other| other == output);
        if let Some((other, _)) = others.find(same) {
            return Err(Error::Usage(format!(
                "found {} as {option} and as {other}, expected two files",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Writes a whole file of text.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    write_bytes(path, text.as_bytes())
}

/// Writes a whole file.
///
/// # Errors
/// It cannot be written.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    fs::write(path, bytes).map_err(|source| Error::writing(path, source))
}

/// Which file a path leads to, whatever it is called.
#[derive(PartialEq, Eq)]
enum Identity {
    /// A file that exists, by its device and its number there: links are the same file.
    There(u64, u64),
    /// A file that would be made, by its folder and its name.
    NotYet(PathBuf, OsString),
}

impl Identity {
    /// `None` for what cannot be overwritten: devices, pipes, and paths that lead nowhere.
    fn of(path: &Path) -> Option<Self> {
        let path = match path.to_str() {
            Some("-") => Path::new("/dev/stdin"),
            _ => path,
        };
        match fs::metadata(path) {
            Ok(found) if found.is_file() => Some(Self::There(found.dev(), found.ino())),
            Ok(_) => None,
            Err(_) => {
                let folder = match path.parent() {
                    Some(folder) if !folder.as_os_str().is_empty() => folder,
                    _ => Path::new("."),
                };
                let folder = folder.canonicalize().ok()?;
                Some(Self::NotYet(folder, path.file_name()?.to_owned()))
            }
        }
    }
}
