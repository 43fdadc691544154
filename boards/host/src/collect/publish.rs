//! When readers of a collection see a new version: at once, or all that came in a while together
//! (Cho §7.2: in place, or shadowed).
//!
//! The collector writes `published.cdxj` beside its index, for whoever serves the collection: in
//! place it *is* the index, shadowed it is the index as it was at the last of the moments in
//! between. The papers' experiments ask the same code when a copy is shown.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::archive::index::SORTED;

/// The file that readers of the collection are served from.
const PUBLISHED: &str = "published.cdxj";

/// How new versions are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Publish {
    /// Each as soon as it is there
    InPlace,
    /// All that came since the last time together, --every so often
    Shadow,
}

/// When new versions are published. Times are in any unit, the same for all.
#[derive(Clone, Copy, Debug)]
pub struct Publishing {
    how: Publish,
    /// The time between two publications, shadowed.
    every: f64,
    /// When one of them is.
    at: f64,
}

impl Publishing {
    /// Publishes like this; shadowed, at `at` and so often before and after.
    pub fn new(how: Publish, every: f64, at: f64) -> Self {
        Self { how, every, at }
    }

    /// When a version that came then is seen.
    ///
    /// ```
    /// use dunlin_host::collect::publish::{Publish, Publishing};
    ///
    /// let daily = Publishing::new(Publish::Shadow, 86_400.0, 0.0);
    /// assert_eq!(daily.shown(86_399.0), 86_400.0);
    /// assert_eq!(Publishing::new(Publish::InPlace, 86_400.0, 0.0).shown(5.0), 5.0);
    /// ```
    pub fn shown(&self, came: f64) -> f64 {
        match self.how {
            Publish::InPlace => came,
            Publish::Shadow => self.at + ((came - self.at) / self.every).ceil() * self.every,
        }
    }

    /// Is there a publication after `before` and up to `now`?
    fn is_due(&self, before: f64, now: f64) -> bool {
        self.how == Publish::InPlace || self.shown(before + 1e-9) <= now
    }
}

/// Publishes what is in a folder.
#[derive(Clone, Debug)]
pub struct Publisher {
    folder: PathBuf,
    publishing: Publishing,
    last: f64,
}

impl Publisher {
    /// Begins now: shadowed, what was published before stays until its time. A publication that
    /// was due while nobody was there is due now.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(publishing: Publishing, folder: &Path, now: f64) -> io::Result<Self> {
        let published = folder.join(PUBLISHED);
        if publishing.how == Publish::InPlace {
            remove(&published)?;
            std::os::unix::fs::symlink(SORTED, &published)?;
        } else if published.is_symlink() {
            // It was in place before: what is there has been seen.
            copy(folder)?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            publishing,
            last: written(&published).map_or(now, |written| written.min(now)),
        })
    }

    /// Publishes, if it is time to; true if readers may see something new. The index on the disk
    /// must be up to date then: `fold` makes it so.
    ///
    /// # Errors
    /// It cannot be written; it is tried again.
    pub fn tick(&mut self, now: f64, fold: impl FnOnce() -> io::Result<()>) -> io::Result<bool> {
        if self.publishing.how == Publish::InPlace || !self.publishing.is_due(self.last, now) {
            return Ok(false);
        }
        fold()?;
        copy(&self.folder)?;
        self.last = now;
        Ok(true)
    }
}

/// When a file was written, in Unix time.
fn written(path: &Path) -> Option<f64> {
    let written = fs::metadata(path).and_then(|file| file.modified()).ok()?;
    let since = written.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(since.as_secs_f64())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => Ok(()),
    }
}

/// Puts a copy of the index in the place of what is published, in one step.
fn copy(folder: &Path) -> io::Result<()> {
    let sorted = folder.join(SORTED);
    if !sorted.exists() {
        return Ok(());
    }
    let new = folder.join("published.cdxj.new");
    remove(&new)?;
    fs::copy(sorted, &new)?;
    fs::File::open(&new)?.sync_data()?;
    fs::rename(new, folder.join(PUBLISHED))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn shadowed_versions_are_seen_together_and_those_in_place_at_once() {
        let folder = std::env::temp_dir().join(format!("dunlin-publish-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let write = |text: &str| fs::write(folder.join(SORTED), text).expect("a file");
        let seen = || fs::read_to_string(folder.join(PUBLISHED)).unwrap_or_default();
        write("one\n");
        let place = Publishing::new(Publish::InPlace, 60.0, 0.0);
        Publisher::new(place, &folder, 0.0).expect("in place");
        write("one\ntwo\n");
        assert_eq!(seen(), "one\ntwo\n");
        let shadow = Publishing::new(Publish::Shadow, 60.0, 0.0);
        let mut publisher = Publisher::new(shadow, &folder, 5.0).expect("shadowed");
        write("one\ntwo\nthree\n");
        let mut tick = |now| publisher.tick(now, || Ok(())).expect("published");
        assert!(!tick(59.0));
        assert_eq!(seen(), "one\ntwo\n", "what was seen stays");
        assert!(tick(60.5));
        assert_eq!(seen(), "one\ntwo\nthree\n");
        assert!(!tick(119.0) && tick(200.0) && !tick(230.0) && tick(240.0));
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn a_publication_that_was_missed_is_made_up_for() {
        let name = format!("dunlin-publish-missed-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(SORTED), "one\ntwo\n").expect("a file");
        let published = folder.join(PUBLISHED);
        let shadow = Publishing::new(Publish::Shadow, 60.0, 0.0);
        for (before, is_due) in [(119, true), (121, false)] {
            fs::write(&published, "one\n").expect("a file");
            let file = fs::File::options().write(true).open(&published);
            let before = SystemTime::UNIX_EPOCH + Duration::from_secs(before);
            let set = file.and_then(|file| file.set_modified(before));
            set.expect("a time");
            let mut publisher = Publisher::new(shadow, &folder, 130.0).expect("shadowed");
            assert_eq!(publisher.tick(131.0, || Ok(())).ok(), Some(is_due));
        }
        let _ = fs::remove_dir_all(&folder);
    }
}
