//! The state file: the emulated device's flash, kept between runs.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use dunlin::image::Image;
use dunlin_host::error::Error;

use crate::firmware::stamp;
use crate::qemu::temporary;
use qemu_mps2_capacity::{ACTIVE, ACTIVE_ROOM, IMAGE, LINKED_AT, STATE, STATE_WITH_SLOTS};

/// How a page image begins. A device keeps the one it was started with, before anything else.
const IMAGE_MAGIC: &[u8] = b"dnln";

/// A state file, and a name for it that fits QEMU's command line. The name is removed when dropped,
/// the file stays. One process at a time can have it open.
#[derive(Debug)]
pub struct StateFile {
    name: PathBuf,
    key: Option<[u8; 16]>,
    /// The build in the slot that is started, if that is another one than was asked for.
    other_build: Option<String>,
    /// Its lock ends with it.
    locked: File,
}

impl StateFile {
    /// Checks the file, or makes a blank one.
    ///
    /// # Errors
    /// [`Error::Usage`] for a file that is something else.
    pub fn open(file: &Path) -> Result<Self> {
        Self::open_of(file, STATE)
    }

    /// The same for a firmware with updates: a file of a firmware without them grows, and keeps
    /// what is in it. Where no firmware is in the slot that is started, this one is put there, as a
    /// cable would.
    ///
    /// # Errors
    /// As above, and a firmware that does not fit.
    pub fn open_with_slots(file: &Path, elf: &Path) -> Result<Self> {
        let mut opened = Self::open_of(file, STATE_WITH_SLOTS)?;
        let length = opened.locked.metadata()?.len() as usize;
        let cannot = || format!("cannot write {}", file.display());
        if length < STATE_WITH_SLOTS {
            opened.locked.seek(SeekFrom::End(0)).with_context(cannot)?;
            let blank = vec![0xff; STATE_WITH_SLOTS - length];
            opened.locked.write_all(&blank).with_context(cannot)?;
        }
        let mut slot = vec![0; ACTIVE_ROOM];
        opened.locked.seek(SeekFrom::Start(ACTIVE as u64))?;
        opened.locked.read_exact(&mut slot)?;
        let elf = fs::read(elf).with_context(|| format!("cannot read {}", elf.display()))?;
        let firmware = stamp::flat(&elf)?;
        if slot.starts_with(&[0xff; 4]) {
            ensure!(
                firmware.bytes.len() <= ACTIVE_ROOM && firmware.address == LINKED_AT as u64,
                "the firmware takes {} bytes at {:#x}, the slot holds {ACTIVE_ROOM} for {LINKED_AT:#x}",
                firmware.bytes.len(),
                firmware.address
            );
            opened.locked.seek(SeekFrom::Start(ACTIVE as u64))?;
            opened
                .locked
                .write_all(&firmware.bytes)
                .with_context(cannot)?;
        } else if !slot.starts_with(&firmware.bytes) {
            opened.other_build = Some(stamp::build_in(&slot));
        }
        Ok(opened)
    }

    /// Checks the file, or makes a blank one of so many bytes.
    fn open_of(file: &Path, length: usize) -> Result<Self> {
        let wrong = |found: String| {
            let file = file.display();
            Error::Usage(format!(
                "{file}: found {found}, expected a state file of {STATE} bytes, of {STATE_WITH_SLOTS} with updates, or none yet"
            ))
        };
        match fs::metadata(file) {
            Ok(found) if !found.is_file() => return Err(wrong("no plain file".into()).into()),
            Ok(found) if ![STATE, STATE_WITH_SLOTS].contains(&(found.len() as usize)) => {
                return Err(wrong(format!("a file of {} bytes", found.len())).into());
            }
            Ok(_) => {}
            Err(_) => {
                let made = OpenOptions::new().write(true).create_new(true).open(file);
                let mut made =
                    made.map_err(|why| wrong(format!("that it cannot be made ({why})")))?;
                made.write_all(&vec![0xff; length])
                    .with_context(|| format!("cannot write {}", file.display()))?;
            }
        }
        let opened = OpenOptions::new().read(true).write(true).open(file);
        let locked = opened.map_err(|why| wrong(why.to_string()))?;
        match locked.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(wrong("that another process uses it".into()).into());
            }
            Err(TryLockError::Error(why)) => return Err(wrong(why.to_string()).into()),
        }
        let content = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        if !is_state(&content) {
            return Err(wrong("another file of that size".into()).into());
        }
        // A path may be long and hold spaces; the firmware gets one that is neither.
        let name = temporary("state");
        std::os::unix::fs::symlink(fs::canonicalize(file)?, &name)
            .context("cannot name the state file")?;
        Ok(Self {
            name,
            key: key_of(&content),
            other_build: None,
            locked,
        })
    }

    /// The key that its records are known by; `None` for a device that was never started.
    pub fn key(&self) -> Option<[u8; 16]> {
        self.key
    }

    /// The build in the slot that is started, if that is another one than the file was
    /// [opened](Self::open_with_slots) with: it runs, and only an update brings another one.
    pub fn other_build(&self) -> Option<&str> {
        self.other_build.as_deref()
    }

    /// Returns the option that tells the firmware where the file is.
    pub fn option(&self) -> String {
        format!("state={}", self.name.display())
    }
}

/// Is this the flash of a device: one that has kept its page image, or one whose store is blank?
fn is_state(content: &[u8]) -> bool {
    let has = |place: usize, bytes: &[u8]| {
        content
            .get(place..)
            .is_some_and(|rest| rest.starts_with(bytes))
    };
    let blank = content.iter().take(IMAGE).all(|byte| *byte == 0xff);
    // Behind its length.
    blank || has(IMAGE + 4, IMAGE_MAGIC)
}

/// The key in the page image that a device has kept.
fn key_of(content: &[u8]) -> Option<[u8; 16]> {
    let (length, rest) = content.get(IMAGE..)?.split_first_chunk()?;
    let image = rest.get(..usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    let config = Image::parse(image).ok()?.config().ok()?;
    Some(config.key)
}

impl Drop for StateFile {
    fn drop(&mut self) {
        // A program that is just being started elsewhere shares our files until it runs.
        let _ = self.locked.unlock();
        let _ = fs::remove_file(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin_host::lists::page_image::{Capacity, Options, build};

    /// A file of this content, removed at the end.
    fn with(content: &[u8], check: impl FnOnce(&Path)) {
        let file = temporary("flash");
        fs::write(&file, content).expect("written");
        check(&file);
        assert_eq!(fs::read(&file).expect("the file"), content);
        fs::remove_file(&file).expect("removed");
    }

    #[test]
    fn a_file_of_that_size_is_not_enough() {
        let mut disk = vec![0; STATE];
        disk[510] = 0x55;
        for other in [disk, vec![0; STATE], vec![0x20; STATE]] {
            with(&other, |file| {
                let why = StateFile::open(file).expect_err("no state file");
                let why = why.to_string();
                assert!(why.contains("another file of that size"), "{why}");
            });
        }
        let list = super::super::list::listing(80, &[("a.test", "/")], Default::default());
        let capacity = Capacity {
            pages: 1,
            hosts: 1,
            https: false,
            ipv6: false,
        };
        let options = Options {
            key: Some([7; 16]),
            ..Options::default()
        };
        let (image, _) = build(&list, &options, capacity).expect("an image");
        let mut used = vec![0xff; STATE];
        used[..4].copy_from_slice(&[0; 4]);
        used[IMAGE..][..4].copy_from_slice(&(image.len() as u32).to_le_bytes());
        used[IMAGE + 4..][..image.len()].copy_from_slice(&image);
        for (state, key) in [(vec![0xff; STATE], None), (used, Some([7; 16]))] {
            with(&state, |file| {
                let state = StateFile::open(file).expect("a state file");
                assert_eq!(state.key(), key);
            });
        }
    }

    #[test]
    fn one_process_has_it_at_a_time() {
        with(&vec![0xff; STATE], |file| {
            let first = StateFile::open(file).expect("a state file");
            let why = StateFile::open(file).expect_err("in use").to_string();
            assert!(why.contains("found that another process uses it"), "{why}");
            drop(first);
            StateFile::open(file).expect("free again");
        });
    }

    /// An ELF file of which these bytes are loaded, for where slots are linked.
    fn elf(bytes: &[u8]) -> PathBuf {
        const HEADERS: u32 = 52 + 32;
        let words = |words: &[u32]| -> Vec<u8> {
            let bytes = words.iter().map(|word| word.to_le_bytes());
            bytes.flatten().collect()
        };
        let length = bytes.len() as u32;
        let address = LINKED_AT as u32;
        let file = [
            &b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x28\0"[..],
            &words(&[1, address, 52, 0, 0, 52 | 32 << 16, 1 | 40 << 16, 0]),
            &words(&[1, HEADERS, address, address, length, length, 5, 4]),
            bytes,
        ];
        let path = temporary("elf");
        fs::write(&path, file.concat()).expect("written");
        path
    }

    #[test]
    fn a_slot_that_holds_another_build_says_which() {
        let build = |byte: u8| {
            let note = [&b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"[..], &[byte; 20]];
            elf(&[&[7; 64][..], &note.concat(), &[byte; 32]].concat())
        };
        let [first, second] = [build(0xa1), build(0xb2)];
        let file = temporary("flash");
        let other = |elf: &Path| {
            let state = StateFile::open_with_slots(&file, elf).expect("a state file");
            state.other_build().map(str::to_owned)
        };
        assert_eq!(other(&first), None, "it is put into the blank slot");
        assert_eq!(other(&first), None, "it is there");
        assert_eq!(other(&second).as_deref(), Some("build a1a1a1a1a1a1a1a1"));
        for file in [file.clone(), first.clone(), second.clone()] {
            fs::remove_file(&file).expect("removed");
        }
    }
}
