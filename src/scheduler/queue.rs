//! The queues of pages, one a gate, and the two heaps of gates.
//!
//! A gate is in at most one heap: in `closed` until the moment it opens, in `open` while a fetch
//! may start and a page waits, in neither while a page is being fetched or none waits.

use super::page::Place;
use super::read::Read as _;
use super::state::{Chores, Core};
use super::tick::Tick;
use super::{Counter, Error};
use crate::forest;
use crate::heap::Id;

impl<I: Id> Core<'_, I> {
    /// Puts a page into the queue of a gate.
    pub(super) fn enqueue(&mut self, gate: I, id: I) {
        self.insert(gate, id);
        self.settle(gate);
    }

    /// The same without settling the gate: one that is closed need not be.
    pub(super) fn insert(&mut self, gate: I, id: I) {
        let pages = &mut *self.pages;
        if let Some(host) = self.hosts.get_mut(gate.index()) {
            host.set_queue(forest::push(pages, host.queue(), id));
        }
    }

    /// Takes a page out of its queue and returns the gate.
    pub(super) fn dequeue(&mut self, id: I) -> Result<I, Error> {
        let host = self.queued_mut(id)?.host;
        let gate = self.gate_of(host)?;
        let queue = self.host(gate)?.queue();
        let root = forest::remove(self.pages, queue, id);
        self.host_mut(gate)?.set_queue(root);
        self.settle(gate);
        Ok(gate)
    }

    /// Moves a page to another due time.
    pub(super) fn reschedule(&mut self, id: I, due: Tick, place: Place) {
        let Ok(gate) = self.dequeue(id) else { return };
        if let Ok(page) = self.page_mut(id) {
            page.due = due;
            page.place = place;
        }
        self.enqueue(gate, id);
    }

    /// Brings the heap of open hosts in line with a gate's queue, unless the gate is closed.
    /// Returns when the first of its pages is due, if one waits at the open gate.
    pub(super) fn settle(&mut self, gate: I) -> Option<Tick> {
        let host = self.host(gate).ok()?;
        if host.gate.is_busy() || self.closed.contains(gate) {
            return None;
        }
        let due = self.pages.get(host.queue().index()).map(|page| page.due);
        match due {
            None => _ = self.open.remove(gate),
            Some(due) => {
                if self.open.update(gate, due).is_none() {
                    // There is a place for every host, and this one is in neither heap.
                    let _ = self.open.push(gate, due);
                }
            }
        }
        due
    }

    /// Closes a gate until then. It is in no heap.
    pub(super) fn close(&mut self, gate: I, opens: Tick) {
        let _ = self.closed.push(gate, opens);
    }

    /// Opens gates whose time has come, those first that came first. As many as a call may: the
    /// others stay closed until the next one.
    pub(super) fn open_gates(&mut self, tick: Tick) {
        for _ in 0..Chores::HOSTS {
            let Some(entry) = self
                .closed
                .peek()
                .copied()
                .filter(|entry| entry.key <= tick)
            else {
                return;
            };
            self.closed.pop();
            if self.settle(entry.id).is_some_and(|due| due < entry.key) {
                self.state.counters.count(Counter::SkippedByGate);
            }
        }
    }
}
