//! Sampling by siblings (Cho §8.1): when a page has changed, those beside it may have, too.
//!
//! No probe does this: on real documents it brings too little for a device to keep which pages are
//! beside each other.

use dunlin::learn::hints::Hint;
use dunlin::scheduler::{LargeScheduler, Outcome};
use dunlin::time::Instant;

use super::{Policy, Step, World};

/// So many siblings at most hear of a change, those that follow in the list: a call has to end.
const MOST: usize = 16;

/// The scheduler, told of a page's siblings when it has changed.
#[derive(Debug)]
pub struct Siblings {
    scheduler: LargeScheduler,
    /// The directory of each page.
    directories: Vec<u32>,
    /// The pages of each directory.
    pages: Vec<Vec<u32>>,
}

impl Siblings {
    /// Tells a scheduler, which was made for this world, of siblings.
    pub fn new(scheduler: LargeScheduler, world: &World) -> Self {
        let directories: Vec<u32> = (0..world.pages.len())
            .map(|page| world.directory_of(page))
            .collect();
        let count = directories.iter().max().map_or(0, |last| last + 1);
        let mut pages = vec![Vec::new(); count as usize];
        for (page, directory) in directories.iter().enumerate() {
            pages[*directory as usize].push(page as u32);
        }
        Self {
            scheduler,
            directories,
            pages,
        }
    }

    /// The pages beside a page, from the one that follows it in the list.
    fn beside(&self, page: u32) -> Vec<u32> {
        let family = &self.pages[self.directories[page as usize] as usize];
        let next = family.partition_point(|other| *other <= page);
        let others = family.iter().cycle().skip(next).take(family.len() - 1);
        others.take(MOST).copied().collect()
    }
}

impl Policy for Siblings {
    fn next(&mut self, now: Instant) -> Step {
        Policy::next(&mut self.scheduler, now)
    }

    fn record(&mut self, page: u32, outcome: Outcome, now: Instant) {
        let known = self.scheduler.page_id(page as usize);
        // The first visit has nothing to compare with.
        let was_seen = known.is_some_and(|page| self.scheduler.last_fetch(page).is_some());
        Policy::record(&mut self.scheduler, page, outcome, now);
        if !was_seen || !matches!(outcome, Outcome::Changed { .. }) {
            return;
        }
        for sibling in self.beside(page) {
            let sibling = self.scheduler.page_id(sibling as usize);
            let told = sibling.map(|sibling| self.scheduler.hint_sibling(sibling, now));
            debug_assert_eq!(told, Some(Ok(())));
        }
    }

    fn hint(&mut self, page: u32, hint: Hint, now: Instant) {
        Policy::hint(&mut self.scheduler, page, hint, now);
    }

    fn late_seconds(&self) -> u64 {
        Policy::late_seconds(&self.scheduler)
    }
}
