//! What an answer means for a page: whether it has changed, and where it has moved.

use super::{Conclusion, Counted, Moment, PageVisit, VisitAnswer, millis};
use crate::fetch::{AnswerKind, Hops, Url};
use crate::probe::memory::Knowledge;
use crate::probe::origin::Origin;
use crate::probe::redirects::{Redirect, Subject};
use crate::probe::setup::Setup;
use crate::probe::{Event, Failure, Flags};
use crate::scheduler::Outcome;
use crate::store::MoveRecord;
use crate::time::Instant;

impl<'a> PageVisit<'a> {
    /// The page was answered, with a body of this fingerprint.
    pub(super) fn page_answered(
        &self,
        answer: &VisitAnswer,
        fingerprint: u64,
        setup: &Setup<'a>,
        known: &mut Knowledge<'_>,
        at: Moment,
        conclusion: &mut Conclusion,
    ) {
        let mut counted = Counted {
            bytes: answer.bytes,
            changed: false,
            not_modified: answer.kind == AnswerKind::NotModified,
            date: self.answering_host(setup).zip(answer.head.date),
            #[cfg(feature = "hints")]
            good_for: answer.good_for(),
        };
        let mut first = false;
        #[cfg(feature = "hints")]
        let mut is_index = false;
        let outcome = match answer.kind {
            #[cfg(feature = "hints")]
            AnswerKind::Page if self.is_part() => Outcome::Unchanged,
            AnswerKind::Page => {
                #[cfg(feature = "hints")]
                let part = known.redirects.next_part(self.page);
                #[cfg(feature = "hints")]
                if let Some(feed) = &answer.target
                    && !setup.is_teller(self.page)
                {
                    known.hear_of_feed(setup, self.record.host, feed, at.now);
                }
                if let Some(memory) = known.page_mut(self.page) {
                    // A page without a fingerprint counts as changed at its first fetch.
                    first = memory.is_new();
                    counted.changed =
                        memory.update(fingerprint | 1, answer.head.etag, answer.head.last_modified);
                    // What a teller says is for us, and no news for anybody.
                    counted.changed &= !setup.is_teller(self.page);
                    #[cfg(feature = "hints")]
                    if let Some(part) = part {
                        is_index = true;
                        // Its other parts are asked for even if it does not change any more.
                        if part.part_changed().1 {
                            memory.forget_validators();
                        }
                    }
                    // Until the collector says that it has it.
                    #[cfg(feature = "collect")]
                    if counted.changed && setup.is_collected() {
                        memory.owe();
                    }
                }
                if counted.changed {
                    Outcome::Changed {
                        modified_ago: answer.age,
                    }
                } else {
                    Outcome::Unchanged
                }
            }
            AnswerKind::NotModified => Outcome::Unchanged,
            AnswerKind::Redirect => {
                conclusion.counted = Some(counted);
                return self.page_redirected(answer, setup, known, at, conclusion);
            }
            AnswerKind::Gone | AnswerKind::Refused => Outcome::Gone,
            AnswerKind::Busy => {
                return match answer.wait.filter(|wait| !wait.is_zero()) {
                    Some(wait) => self.busy(wait, known, at, conclusion),
                    None => self.failed(Failure::Busy, known, at, conclusion),
                };
            }
            AnswerKind::Broken => {
                self.failed(Failure::Server, known, at, conclusion);
                if let Some(wait) = answer.wait.filter(|wait| !wait.is_zero()) {
                    conclusion.outcome = Outcome::Refused {
                        retry_after: Some(wait),
                    };
                }
                return;
            }
            AnswerKind::Nonsense => return self.failed(Failure::Response, known, at, conclusion),
        };
        conclusion.outcome = self.arrived(outcome, known, at);
        // The turn of its part comes next.
        #[cfg(feature = "hints")]
        if is_index {
            conclusion.outcome = Outcome::Postponed;
        }
        conclusion.counted = Some(counted);
        conclusion.say(Event::End {
            page: self.page,
            status: answer.head.status,
            bytes: answer.bytes,
            millis: millis(at.now - self.start),
            changed: counted.changed,
            flags: Flags {
                first,
                encoded: answer.head.encoded,
                cut: answer.cut,
            },
        });
    }

    /// The host of the list that the page was asked from; `None` for a stranger, and for a host
    /// that links led to.
    fn answering_host(&self, setup: &Setup<'a>) -> Option<u16> {
        let host = match &self.redirect {
            None => self.record.host,
            Some(redirect) => {
                let url = Url::parse(&redirect.url).ok()?;
                match setup.origin_of(&url, &self.record) {
                    Origin::Listed(host, _) => host,
                    Origin::Unlisted(_) => return None,
                }
            }
        };
        #[cfg(feature = "discover")]
        if setup.found.is_found(host) {
            return None;
        }
        Some(host)
    }

    /// Remembers where the page's next turn goes, if it goes anywhere.
    fn page_redirected(
        &self,
        answer: &VisitAnswer,
        setup: &Setup<'a>,
        known: &mut Knowledge<'_>,
        at: Moment,
        conclusion: &mut Conclusion,
    ) {
        let subject = Subject::Page(self.page);
        if self.checks
            && let Some(moved) = known.redirects.get(subject)
            && answer.target.as_ref() == Some(&moved.url)
        {
            // It was asked, and counts: the log tells of it as of any other.
            conclusion.say(Event::Moved {
                page: self.page,
                status: answer.head.status,
            });
            return known.redirects.checked(self.page, at.now);
        }
        #[cfg(feature = "hints")]
        if self.is_part() {
            self.turn_back(known);
            conclusion.outcome = Outcome::Redirected;
            return;
        }
        let hops = match &self.redirect {
            Some(redirect) => Some(redirect.hops.clone()),
            None => Url::parse(self.own_url()).ok().as_ref().map(Hops::from),
        };
        let followed =
            hops.map(|hops| self.follow(subject, hops, answer, setup, known, at, conclusion));
        if !matches!(followed, Some(Ok(()))) {
            known.redirects.forget(self.page);
            conclusion.outcome = Outcome::Redirected;
        }
    }

    /// What an answer comes to where redirects have led. A page that has moved for good is asked
    /// for there from now on.
    fn arrived(&self, outcome: Outcome, known: &mut Knowledge<'_>, at: Moment) -> Outcome {
        let Some(redirect) = &self.redirect else {
            if self.checks && outcome.is_answer() {
                known.redirects.forget(self.page);
            } else if self.checks {
                // It is gone from where the list says, as pages that have moved may be.
                known.redirects.checked(self.page, at.now);
                return Outcome::Postponed;
            }
            return outcome;
        };
        #[cfg(feature = "hints")]
        if self.is_part() {
            self.turn_back(known);
            // Whatever it was, the index is there.
            return Outcome::Unchanged;
        }
        if !outcome.is_answer() || !redirect.hops.is_permanent() {
            self.turn_back(known);
            // What was remembered may have moved on: the list's own URL knows.
            return if redirect.under_way || outcome.is_answer() {
                outcome
            } else {
                Outcome::Postponed
            };
        }
        if redirect.under_way {
            known.redirects.settle(&redirect.settled());
        } else {
            known.redirects.visited(self.page);
        }
        outcome
    }
}

/// Where a page has moved to, by what was stored; `None` if it cannot be reached there any more.
pub(in crate::probe) fn restored_move(
    setup: &Setup<'_>,
    page: u16,
    record: &MoveRecord,
    now: Instant,
) -> Option<Redirect> {
    /// Only pages that have moved for good are stored.
    const PERMANENT: u16 = 301;
    let own = setup.page(page.into()).ok()?.url;
    let url = record.target(own)?;
    let mut hops = Hops::from(&Url::parse(own).ok()?);
    let target = Url::parse(&url).ok()?;
    hops.follow(PERMANENT, &target, setup.reaches_https).ok()?;
    Some(Redirect::new(Subject::Page(page), hops, false, url, now))
}
