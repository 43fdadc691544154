//! Files for a board, and how they get onto it: by a debug probe, or as a UF2 file over USB.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use boot_chain::NOTHING_TO_DO;

use super::boards::{Board, symbol};
use super::stamp::{Keys, stamp};
use super::uf2;
use crate::shell::{cargo, check, quiet, say, words, write_private};

/// What was built, and where it belongs.
#[derive(Debug)]
pub struct Built {
    pub elf: PathBuf,
    /// The page image that goes with it.
    pub image: PathBuf,
    /// Where the page image belongs.
    pub address: u64,
    /// What comes before a firmware with updates.
    pub boot: Option<Boot>,
    /// What the device is told, and where that belongs.
    pub settings: Option<(PathBuf, u64)>,
}

impl Built {
    /// Writes the UF2 file, onto the board's drive if this computer shows it.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn hand_over(
        &self,
        board: &Board,
        ways: &[String],
        address: Option<Ipv4Addr>,
        list: &[String],
    ) -> Result<()> {
        let name = format!("{}.uf2", board.name);
        let (file, bytes) = self.write_uf2(&name)?;
        println!("{}", file.display());
        match uf2::drive() {
            Some(drive) => {
                fs::write(drive.join(&name), &bytes)
                    .with_context(|| format!("cannot copy {name} to {}", drive.display()))?;
                say(format_args!(
                    "copied to {}: the board starts by itself",
                    drive.display()
                ));
            }
            None => say(
                "no drive of an RP2350 is there: hold BOOTSEL down, plug the USB cable in, and copy this file onto it",
            ),
        }
        for line in board
            .lines
            .iter()
            .filter(|line| ways.iter().any(|way| way == line.name))
        {
            let source = source(line.source, address);
            say(format_args!(
                "watch it: cargo dunlin monitor --elf {} --log {source} {}",
                words(&[self.elf.display().to_string()]),
                words(list)
            ));
            if source.contains(ADDRESS) {
                say(format_args!("{ADDRESS} {HOW_TO_FIND_IT}"));
            }
        }
        Ok(())
    }

    /// Writes the UF2 file beside the firmware, for its owner alone: what the device is told, such
    /// as a password, is in it, too.
    fn write_uf2(&self, name: &str) -> Result<(PathBuf, Vec<u8>)> {
        let elf = fs::read(&self.elf)?;
        let image = fs::read(&self.image)?;
        let mut parts = uf2::parts(&elf)?;
        parts.push(uf2::Part {
            address: self.address,
            bytes: &image,
        });
        let boot_loader;
        let mut marks = Vec::new();
        if let Some(boot) = &self.boot {
            boot_loader = fs::read(&boot.elf)?;
            for (address, file) in &boot.marks {
                marks.push((*address, fs::read(file)?));
            }
            parts.extend(uf2::parts(&boot_loader)?);
        }
        parts.extend(marks.iter().map(|(address, bytes)| uf2::Part {
            address: *address,
            bytes,
        }));
        let settings = match &self.settings {
            Some((file, address)) => Some((fs::read(file)?, *address)),
            None => None,
        };
        parts.extend(settings.iter().map(|(bytes, address)| uf2::Part {
            address: *address,
            bytes,
        }));
        let bytes = uf2::file(&parts)?;
        let file = self.elf.with_file_name(name);
        write_anew(&file, &bytes)?;
        Ok((file, bytes))
    }

    /// The image first: the firmware starts as soon as it is written. What the device is told comes
    /// last, and leaves what else is in its sector.
    ///
    /// # Errors
    /// probe-rs cannot be started, or has failed.
    pub fn write(&self, chip: &str) -> Result<()> {
        download(chip, &self.image, self.address, &[])?;
        if let Some(boot) = &self.boot {
            // The device's own key may lie in the same sector.
            check(
                Command::new("probe-rs")
                    .args(["download", "--chip", chip, "--restore-unwritten"])
                    .arg(&boot.elf),
            )?;
            for (address, file) in &boot.marks {
                download(chip, file, *address, &[])?;
            }
        }
        check(
            Command::new("probe-rs")
                .args(["download", "--chip", chip])
                .arg(&self.elf),
        )?;
        if let Some((file, address)) = &self.settings {
            download(chip, file, *address, &["--restore-unwritten"])?;
        }
        check(Command::new("probe-rs").args(["reset", "--chip", chip]))
    }

    /// The monitor, on the log's bytes as the probe reads them. [`build_watchers`] comes first.
    ///
    /// # Errors
    /// The reader of the log or the monitor cannot be started, or has failed.
    pub fn watch(&self, chip: &str, options: &[String]) -> Result<()> {
        let bytes = fs::read(&self.elf)?;
        let log = symbol(&object::File::parse(&*bytes)?, "_SEGGER_RTT")?;
        let mut reader = cargo();
        reader.args(["run", "--quiet"]).args(READER).arg("--");
        reader
            .arg(chip)
            .arg(format!("{log:#x}"))
            .stdout(Stdio::piped());
        let mut reader = reader
            .spawn()
            .context("cannot start the reader of the log")?;
        let log = reader
            .stdout
            .take()
            .context("the reader's output is not piped")?;
        let mut monitor = cargo();
        monitor.args(["run", "--quiet"]).args(MONITOR);
        monitor.args(["--", "monitor", "--log", "-", "--elf"]);
        monitor.arg(&self.elf).args(options).stdin(log);
        let status = monitor.status().context("cannot start the monitor");
        // Whoever ends the monitor has seen enough.
        let _ = reader.kill();
        let _ = reader.wait();
        if status?.success() {
            Ok(())
        } else {
            bail!("the monitor failed")
        }
    }
}

/// What stands for the board's address in where its log comes from.
const ADDRESS: &str = "ADDRESS";
const HOW_TO_FIND_IT: &str = "is the board's, by DHCP: your router lists it, and so does the log over \
    another way (`network up address=`); with --address it is what you say";

/// Where a board's log comes from, as far as that is known before it runs.
fn source(of_line: &str, address: Option<Ipv4Addr>) -> String {
    match address {
        Some(address) => of_line.replace(ADDRESS, &address.to_string()),
        None => of_line.to_owned(),
    }
}

/// How cargo builds the reader of the log.
const READER: [&str; 3] = ["--release", "--manifest-path", "host-tests/rtt/Cargo.toml"];
/// How cargo builds the monitor: as `cargo dunlin` does.
const MONITOR: [&str; 5] = ["--release", "--package", "dunlin-host", "--bin", "dunlin"];

/// Builds what [`Built::watch`] starts, where one can see it: some minutes the first time, which
/// the board is not to wait for.
///
/// # Errors
/// Cargo has failed.
pub fn build_watchers() -> Result<()> {
    for program in [&READER[..], &MONITOR] {
        check(cargo().arg("build").args(quiet()).args(program))?;
    }
    Ok(())
}

fn download(chip: &str, file: &Path, address: u64, more: &[&str]) -> Result<()> {
    let address = format!("{address:#x}");
    let mut command = Command::new("probe-rs");
    command.args(["download", "--chip", chip, "--binary-format", "bin"]);
    command.args(["--base-address", &address]).args(more);
    check(command.arg(file))
}

/// What comes before a firmware with updates.
#[derive(Debug)]
pub struct Boot {
    /// The boot loader as it was built.
    pub elf: PathBuf,
    /// What tells the boot loader that there is nothing to be done, and the firmware that the list
    /// which is written now counts, whatever came as an update before: where it belongs, and what
    /// it is.
    marks: [(u64, PathBuf); 2],
}

/// A word of every flash, with error correction or without: what is written is one whole.
const MARK: usize = 32;

impl Boot {
    /// Builds the boot loader, and puts the keys into the firmware, which is another file from then
    /// on.
    ///
    /// # Errors
    /// Something cannot be built, read or written.
    pub fn build(install: bool, board: &Board, elf: &mut PathBuf, keys: &Keys) -> Result<Self> {
        let mut bytes = fs::read(&*elf)?;
        stamp(&mut bytes, keys, "")?;
        *elf = elf.with_file_name(format!("{}-trusting.elf", board.name));
        fs::write(&*elf, &bytes).with_context(|| format!("cannot write {}", elf.display()))?;
        let image = object::File::parse(&*bytes)?;
        let mark = |name: &str, place: &str, byte: u8| -> Result<(u64, PathBuf)> {
            let file = elf.with_file_name(format!("{}-{name}.bin", board.name));
            fs::write(&file, [byte; MARK])
                .with_context(|| format!("cannot write {}", file.display()))?;
            Ok((symbol(&image, place)?, file))
        };
        Ok(Self {
            elf: super::build_boot_loader_of(install, board)?,
            marks: [
                mark("boot-state", "_boot_state_start", NOTHING_TO_DO)?,
                mark("no-list", "_spare_image_start", 0)?,
            ],
        })
    }
}

/// Writes what the device is told to a file that only its owner can read; says where it belongs.
///
/// # Errors
/// The firmware has no place for it, or the file cannot be written.
pub fn settings(board: &Board, elf: &Path, told: &[u8]) -> Result<(PathBuf, u64)> {
    let bytes = fs::read(elf)?;
    let address = symbol(&object::File::parse(&*bytes)?, "_settings_start")?;
    let file = elf.with_file_name(format!("{}-settings.bin", board.name));
    write_anew(&file, told)?;
    Ok((file, address))
}

/// Writes a file that only its owner can read, in place of one that others may have read.
fn write_anew(file: &Path, bytes: &[u8]) -> Result<()> {
    // Made anew, so that the mode is ours.
    let _ = fs::remove_file(file);
    write_private(file, bytes)
}

/// Where the image belongs, if it fits.
///
/// # Errors
/// It does not, or the firmware cannot be read.
pub fn place(elf: &Path, bytes: usize) -> Result<u64> {
    let elf = fs::read(elf)?;
    let file = object::File::parse(&*elf)?;
    let start = symbol(&file, "_image_start")?;
    let end = symbol(&file, "_image_end")?;
    if bytes as u64 > end - start {
        bail!(
            "the page image takes {bytes} bytes, the board has room for {}",
            end - start
        );
    }
    Ok(start)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::qemu::temporary;
    use crate::shell::root;

    #[test]
    fn a_log_over_the_network_comes_from_the_address_that_was_given() {
        let tcp = "tcp:ADDRESS:19021";
        let given = Some(Ipv4Addr::new(192, 0, 2, 7));
        assert_eq!(source(tcp, given), "tcp:192.0.2.7:19021");
        assert_eq!(source(tcp, None), tcp);
        assert_eq!(source("/dev/ttyACM0", given), "/dev/ttyACM0");
    }

    /// A Wi-Fi password is in the file that is copied onto the board.
    #[test]
    fn nobody_else_can_read_what_is_handed_over() {
        let folder = temporary("handed-over");
        fs::create_dir_all(&folder).expect("a folder");
        let write = |name: &str, bytes: &[u8]| {
            let file = folder.join(name);
            fs::write(&file, bytes).expect("written");
            file
        };
        let elf = fs::read(root().join("host-tests/data/monitor/probe.elf"));
        let built = Built {
            elf: write("probe.elf", &elf.expect("an ELF file")),
            image: write("pages.bin", b"pages"),
            address: 0x1030_0000,
            boot: None,
            settings: Some((write("settings.bin", b"password"), 0x1031_0000)),
        };
        // One that was there before, for everybody to read.
        let old = write("board.uf2", b"old");
        fs::set_permissions(&old, fs::Permissions::from_mode(0o644)).expect("set");
        let (file, _) = built.write_uf2("board.uf2").expect("handed over");
        assert_eq!(file, old);
        let mode = fs::metadata(&old).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{mode:o}");
        let handed = fs::read(&old).expect("read");
        assert!(handed.windows(8).any(|bytes| bytes == b"password"));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
