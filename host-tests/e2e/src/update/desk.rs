//! The owner's desk in tests: keys, builds, releases; and the device that they are for.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use dunlin::probe::LoggedBoardEvent;
use dunlin::update::{Manifest, PayloadKind, SecretKey, digest_of, manifest_ending};
use dunlin_host::lists::listing::Listing;
use dunlin_tools::firmware::stamp::{self, Keys};
use dunlin_tools::firmware::{self, BOARD};
use dunlin_tools::qemu::list::options;
use dunlin_tools::qemu::page_image::{self, ImageFile};
use dunlin_tools::qemu::state::StateFile;
use dunlin_tools::qemu::{self, Attached, End, Line, Machine, Time, temporary};
use dunlin_tools::web::{Answer, Hit, Web};

use super::server::UpdateServer;
use crate::crawling::{GAP, no_robots};
use crate::trace;

/// One build of the firmware: the same code under another identity.
#[derive(Clone, Debug)]
pub struct Build {
    pub elf: PathBuf,
    pub id: u64,
    pub bytes: Vec<u8>,
}

impl Drop for Desk {
    fn drop(&mut self) {
        for build in self.all_builds() {
            let _ = fs::remove_file(&build.elf);
        }
        let _ = fs::remove_file(&self.state);
    }
}

/// Keys, two builds, an update server, a small web, and a state file.
pub struct Desk {
    pub firmware_key: SecretKey,
    pub list_key: SecretKey,
    /// The second ones, to go on with should the first be lost.
    pub spare_keys: [SecretKey; 2],
    /// The one that a cable puts onto the device, and the one that is released.
    pub builds: [Build; 2],
    /// One that nobody has tried yet.
    pub third: Build,
    pub server: UpdateServer,
    pub web: Web,
    /// From now on, the small web has none of its pages.
    pub gone: Arc<AtomicBool>,
    pub boot_loader: PathBuf,
    /// The file that QEMU keeps the device's flash in.
    pub state: PathBuf,
}

/// What is released, before somebody changes it.
pub type Change<'a> = &'a dyn Fn(&mut Manifest<'_>);

impl Desk {
    /// With the images that lie beside this firmware.
    pub fn new(elf: &Path) -> Result<Self> {
        Self::with_keys(
            elf,
            [1, 2, 3, 4].map(|seed| SecretKey::new(&[seed; 32], [seed; 8])),
        )
    }

    /// The same with these keys: two for firmware, two for lists.
    pub fn with_keys(elf: &Path, secrets: [SecretKey; 4]) -> Result<Self> {
        let keys = Keys::of(secrets.each_ref().map(SecretKey::public));
        let [firmware_key, spare_firmware_key, list_key, spare_list_key] = secrets;
        let base = elf.with_file_name(format!("{BOARD}+update"));
        let build = |variant: &str| -> Result<Build> {
            let mut bytes = fs::read(&base).context("cannot read the firmware with updates")?;
            let id = stamp::stamp(&mut bytes, &keys, variant)?;
            let elf = temporary("elf");
            fs::write(&elf, &bytes)?;
            let bytes = stamp::flat(&bytes)?.bytes;
            Ok(Build { elf, id, bytes })
        };
        let gone = Arc::new(AtomicBool::new(false));
        let is_gone = Arc::clone(&gone);
        let answer = move |hit: &Hit| match is_gone.load(Ordering::Relaxed) {
            true => Answer::status(404, "X: gone"),
            false => no_robots(hit).unwrap_or_else(|| Answer::version(hit, 0)),
        };
        Ok(Self {
            firmware_key,
            list_key,
            spare_keys: [spare_firmware_key, spare_list_key],
            builds: [build("one")?, build("two")?],
            third: build("three")?,
            server: UpdateServer::start()?,
            web: Web::start(answer)?,
            gone,
            boot_loader: elf.with_file_name(firmware::BOOT_LOADER),
            state: temporary("flash"),
        })
    }

    /// A list of these pages of the small web.
    pub fn list(&self, pages: &[(&str, &str)]) -> Listing {
        qemu::list::listing(self.web.port(), pages, GAP)
    }

    /// Its page image, which says where updates are.
    pub fn image(&self, pages: &[(&str, &str)]) -> Result<Vec<u8>> {
        self.image_at(pages, None)
    }

    /// The same with a budget of so many visits a day.
    pub fn image_at(&self, pages: &[(&str, &str)], per_day: Option<f64>) -> Result<Vec<u8>> {
        let options = page_image::Options {
            update_url: Some(self.server.url()),
            per_day,
            ..options()
        };
        Ok(page_image::build(&self.list(pages), &options)?.0)
    }

    /// Signs what `change` makes of a manifest of these bytes, and hands both out.
    pub fn release(
        &self,
        key: &SecretKey,
        kind: PayloadKind,
        (build, bytes): (u64, &[u8]),
        sequence: u32,
        change: Change<'_>,
    ) {
        let name = format!("{}-{sequence}.bin", kind.name());
        let mut manifest = Manifest {
            kind,
            board: BOARD,
            build,
            sequence,
            counter: 0,
            length: bytes.len() as u32,
            digest: digest_of(bytes),
            store: 1,
            image: 1,
            url: &name,
        };
        change(&mut manifest);
        self.server.put(&name, bytes);
        let signed = key.sign(&manifest.text(), "for a test");
        let file = format!("{BOARD}{}", manifest_ending(kind));
        self.server.put(&file, signed.as_bytes());
    }

    /// Releases the second build.
    pub fn release_second(&self, sequence: u32, change: Change<'_>) {
        let [_, second] = &self.builds;
        self.release_build(second, sequence, change);
    }

    /// Signs a build and has the server offer it.
    pub fn release_build(&self, build: &Build, sequence: u32, change: Change<'_>) {
        let payload = (build.id, &build.bytes[..]);
        let key = &self.firmware_key;
        self.release(key, PayloadKind::Firmware, payload, sequence, change);
    }

    /// The names of both builds, as a device says them.
    pub fn names(&self) -> [String; 2] {
        let name = |build: &Build| format!("{:016x}", build.id);
        self.builds.each_ref().map(name)
    }

    /// Every build that there is.
    pub fn all_builds(&self) -> impl Iterator<Item = &Build> {
        self.builds.iter().chain([&self.third])
    }

    /// Runs the device on its flash until `enough` says so, or it ends by itself, or the deadline.
    pub fn run(
        &self,
        image: &[u8],
        more: &[&str],
        deadline: Duration,
        enough: impl FnMut(&Line) -> bool,
    ) -> Result<(End, Vec<Line>)> {
        let state = self.open(&self.state)?;
        self.run_on(&state, image, more, deadline, enough)
    }

    /// A flash of this device's, or of another one like it.
    pub fn open(&self, state: &Path) -> Result<StateFile> {
        let [first, _] = &self.builds;
        StateFile::open_with_slots(state, &first.elf)
    }

    /// The same as [`run`](Self::run) on this flash.
    pub fn run_on(
        &self,
        state: &StateFile,
        image: &[u8],
        more: &[&str],
        deadline: Duration,
        enough: impl FnMut(&Line) -> bool,
    ) -> Result<(End, Vec<Line>)> {
        self.run_in(Time::Real, state, image, more, deadline, enough)
    }

    /// The same in time of this kind; with a network only where it passes as on the wall.
    pub fn run_in(
        &self,
        time: Time,
        state: &StateFile,
        image: &[u8],
        more: &[&str],
        deadline: Duration,
        mut enough: impl FnMut(&Line) -> bool,
    ) -> Result<(End, Vec<Line>)> {
        let [first, second] = &self.builds;
        let image = ImageFile::write(image, &first.elf)?;
        let mut options: Vec<String> = more.iter().map(|option| (*option).into()).collect();
        options.push(state.option());
        let others = [second.elf.clone(), self.third.elf.clone()];
        let stop = AtomicBool::new(false);
        let machine = Machine {
            elf: &first.elf,
            options: &options,
            time,
            deadline,
            attached: Attached {
                boot_loader: Some(&self.boot_loader),
                other_builds: &others,
                image: Some((&image.path, image.address)),
                network: matches!(time, Time::Real),
                stop: Some(&stop),
                ..Attached::default()
            },
        };
        let mut log = Vec::new();
        let end = qemu::run(machine, |line| {
            trace(line);
            log.push(line.clone());
            if enough(line) {
                stop.store(true, Ordering::Relaxed);
            }
        })?;
        Ok((end, log))
    }
}

/// Did a line of the log contain these words?
pub fn said(log: &[Line], words: &str) -> bool {
    log.iter().any(|line| line.message.contains(words))
}

/// How often a line of the log contained these words.
pub fn count(log: &[Line], words: &str) -> usize {
    let has = |line: &&Line| line.message.contains(words);
    log.iter().filter(has).count()
}

/// The builds that were started, one after the other.
pub fn started(log: &[Line]) -> Vec<String> {
    let build = |line: &Line| match LoggedBoardEvent::read(&line.message) {
        Some(LoggedBoardEvent::Banner { build, .. }) => Some(build.to_owned()),
        _ => None,
    };
    log.iter().filter_map(build).collect()
}
