//! The page itself: the request for it, what the answer means, and where it has moved.

use super::elsewhere::{Detour, What};
use super::line::Wires;
use super::memory::Verdict;
use super::turn::{Ended, Errand, Question, Reply, millis};
use super::{Board, Event, Failure, Flags, Probe};
use crate::fetch::{self, Connect, Fingerprinter, Hops, Limits, Request, Resolve, Url};
use crate::scheduler::Outcome;
use crate::store::MoveRecord;
use crate::time::{Duration, Instant};

impl<'a, B: Board> Probe<'a, B> {
    /// Fetches the page itself, or the next step of its redirects.
    ///
    /// *Cancellation*: the connection is dropped where it is.
    pub(super) async fn ask_page<C: Connect, R: Resolve>(
        &self,
        errand: &Errand<'_, 'a>,
        wires: &mut Wires<'_, '_, C, R>,
    ) -> Ended {
        let Some(memory) = self.state.borrow().memory.pages.get(errand.page).copied() else {
            return Ended::Done(Outcome::Gone);
        };
        let question = Question {
            request: Request {
                etag: memory.etag.as_ref(),
                last_modified: memory.last_modified(),
                ..Request::get(errand.url, self.agent)
            },
            hops: errand.detour.map(|detour| &detour.hops),
            limits: Limits {
                body_bytes: self.config.body_bytes,
                ..Limits::DEFAULT
            },
        };
        let mut hasher = Fingerprinter::new(&self.config.key, &self.ignore);
        match self.request(errand, question, wires, &mut hasher).await {
            Ok(reply) => Ended::Done(self.conclude(errand, &reply, hasher.finish().short())),
            Err(trouble) => self.trouble(errand, trouble),
        }
    }

    /// What an answer means for the page.
    fn conclude(&self, errand: &Errand<'_, 'a>, reply: &Reply, fingerprint: u64) -> Outcome {
        let (now, page) = (self.board.now(), errand.page);
        let (mut changed, mut first) = (false, false);
        let outcome = match reply.outcome {
            fetch::Outcome::Page => {
                let mut state = self.state.borrow_mut();
                if let Some(memory) = state.memory.pages.get_mut(page) {
                    // A page without a fingerprint counts as changed at its first fetch.
                    first = memory.is_new();
                    changed =
                        memory.update(fingerprint | 1, reply.head.etag, reply.head.last_modified);
                }
                if changed {
                    Outcome::Changed {
                        modified_ago: reply.age,
                    }
                } else {
                    Outcome::Unchanged
                }
            }
            fetch::Outcome::NotModified => Outcome::Unchanged,
            fetch::Outcome::Redirect => {
                self.count(errand.home, reply, false, now);
                return self.redirected(errand, reply);
            }
            fetch::Outcome::Gone | fetch::Outcome::Refused => Outcome::Gone,
            fetch::Outcome::Busy => {
                let wait = reply.wait.unwrap_or(Duration::ZERO);
                return if wait.is_zero() {
                    self.failed(page, Failure::Busy, errand.start)
                } else {
                    self.busy(page, wait, errand.start)
                };
            }
            fetch::Outcome::Broken => return self.failed(page, Failure::Server, errand.start),
            fetch::Outcome::Nonsense => return self.failed(page, Failure::Response, errand.start),
        };
        self.count(errand.home, reply, changed, now);
        self.board.log(&Event::End {
            page: page as u16,
            status: reply.head.status,
            bytes: reply.bytes,
            millis: millis(now - errand.start),
            changed,
            flags: Flags {
                first,
                encoded: reply.head.encoded,
                cut: reply.cut,
            },
        });
        match errand.detour {
            Some(detour) => self.arrived(page, detour, outcome),
            None => outcome,
        }
    }

    fn count(&self, host: u16, reply: &Reply, changed: bool, now: Instant) {
        let mut state = self.state.borrow_mut();
        let totals = &mut state.totals;
        totals.fetches += 1;
        totals.bytes += u64::from(reply.bytes);
        totals.changed += u32::from(changed);
        totals.not_modified += u32::from(reply.outcome == fetch::Outcome::NotModified);
        if let Some(date) = reply.head.date {
            state.root.wall.hear(host, date.as_unix(), now);
        }
        self.tell_time_of_day(&mut state, now);
    }

    /// Remembers where the page's next turn goes, if it goes anywhere.
    fn redirected(&self, errand: &Errand<'_, 'a>, reply: &Reply) -> Outcome {
        let hops = errand
            .detour
            .map_or_else(|| Hops::from(&errand.url), |detour| detour.hops.clone());
        match self.follow(errand, What::Page(errand.page as u16), hops, reply) {
            Ok(()) => Outcome::Postponed,
            Err(_) => {
                self.forget_move(errand.page);
                Outcome::Redirected
            }
        }
    }

    /// A page was answered where redirects have led. If it has moved for good, it is asked for
    /// there from now on.
    fn arrived(&self, page: usize, detour: &Detour, outcome: Outcome) -> Outcome {
        if !outcome.is_answer() || !detour.hops.is_permanent() {
            self.forget_move(page);
            // What was remembered may have moved on: the list's own URL knows.
            return if detour.under_way || outcome.is_answer() {
                outcome
            } else {
                Outcome::Postponed
            };
        }
        if detour.under_way {
            let settled = Detour {
                hops: detour.hops.shortened(),
                under_way: false,
                ..detour.clone()
            };
            self.state.borrow_mut().elsewhere.settle(&settled);
        }
        outcome
    }

    /// The page is where the list says.
    pub(super) fn forget_move(&self, page: usize) {
        self.state.borrow_mut().elsewhere.forget(page as u16);
    }

    /// Where the page has moved to, by what was stored; `None` if it cannot be reached there any
    /// more.
    pub(super) fn restored_move(&self, page: usize, record: &MoveRecord) -> Option<Detour> {
        let own = self.image.page(page).ok()?.url;
        let url = record.target(own)?;
        let mut hops = Hops::from(&Url::parse(own).ok()?);
        let speaks_https = self.config.gateway.is_some() || self.board.speaks_https();
        hops.follow(PERMANENT, &Url::parse(&url).ok()?, speaks_https)
            .ok()?;
        let what = What::Page(page as u16);
        Some(Detour {
            what,
            hops,
            under_way: false,
            verdict: Verdict::Unknown,
            until: 0,
            url,
        })
    }
}

const PERMANENT: u16 = 301;
