//! The state file: the emulated device's flash, kept between runs.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use dunlin_host::error::Error;

use crate::qemu::temporary;
use qemu_mps2_capacity::STATE;

/// A state file, and a name for it that fits QEMU's command line. The name is removed when dropped,
/// the file stays.
#[derive(Debug)]
pub struct StateFile {
    name: PathBuf,
}

impl StateFile {
    /// Checks the file, or makes a blank one.
    ///
    /// # Errors
    /// [`Error::Usage`] for a file that is something else.
    pub fn open(file: &Path) -> Result<Self> {
        let wrong = |found: String| {
            let file = file.display();
            Error::Usage(format!(
                "{file}: found {found}, expected a state file of {STATE} bytes, or none yet"
            ))
        };
        match fs::metadata(file) {
            Ok(found) if !found.is_file() => return Err(wrong("no plain file".into()).into()),
            Ok(found) if found.len() != STATE as u64 => {
                return Err(wrong(format!("a file of {} bytes", found.len())).into());
            }
            Ok(_) => {
                OpenOptions::new()
                    .write(true)
                    .open(file)
                    .map_err(|why| wrong(why.to_string()))?;
            }
            Err(_) => {
                let made = OpenOptions::new().write(true).create_new(true).open(file);
                let mut made =
                    made.map_err(|why| wrong(format!("that it cannot be made ({why})")))?;
                made.write_all(&vec![0xff; STATE])
                    .with_context(|| format!("cannot write {}", file.display()))?;
            }
        }
        // A path may be long and hold spaces; the firmware gets one that is neither.
        let name = temporary("state");
        std::os::unix::fs::symlink(fs::canonicalize(file)?, &name)
            .context("cannot name the state file")?;
        Ok(Self { name })
    }

    /// Returns the option that tells the firmware where the file is.
    pub fn option(&self) -> String {
        format!("state={}", self.name.display())
    }
}

impl Drop for StateFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.name);
    }
}
