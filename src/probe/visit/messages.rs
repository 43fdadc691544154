//! What a visit is told, and what it says: answers and their bodies come in, conclusions go out.

use crate::fetch::robots::RobotsReader;
use crate::fetch::{AnswerKind, Body, Fetched, Fingerprinter, Head, HttpDate};
use crate::probe::origin::GateRefusal;
use crate::probe::redirects::{RedirectTarget, spell};
use crate::probe::verdicts::Judges;
use crate::probe::{Event, Failure};
use crate::scheduler::Outcome;
use crate::time::{Duration, Instant};

/// When something is decided, and whether the network was there.
#[derive(Clone, Copy, Debug)]
pub(in crate::probe) struct Moment {
    pub now: Instant,
    /// Without the network, no host is blamed for a failure.
    pub online: bool,
}

/// What an answer said, out of the buffers.
#[derive(Debug)]
pub(in crate::probe) struct VisitAnswer {
    pub kind: AnswerKind,
    pub head: Head,
    pub bytes: u32,
    /// The body is longer than what was read of it.
    pub cut: bool,
    /// How long the server wants to be left alone.
    pub wait: Option<Duration>,
    /// How long the answer is promised to stay good.
    pub lifetime: Option<Duration>,
    /// How long ago the page last changed, by the server's word.
    pub age: Option<Duration>,
    /// Where a redirect leads, or where a page says that its feed is; `None` if that is no URL, or
    /// too long to be kept.
    pub target: Option<RedirectTarget>,
}

impl VisitAnswer {
    /// Takes over what is in the buffers of a fetch.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(in crate::probe) fn new(fetched: &Fetched<'_>) -> Self {
        let target = fetched.target.as_ref();
        Self {
            kind: fetched.kind,
            head: fetched.head,
            bytes: fetched.bytes,
            cut: fetched.truncated,
            wait: fetched.wait(None),
            lifetime: fetched.lifetime(None),
            age: fetched.age(None),
            target: target
                .and_then(|target| target.as_ref().ok())
                .and_then(spell),
        }
    }
}

#[cfg(feature = "hints")]
impl VisitAnswer {
    /// How much longer this version is promised to be good, after what it has spent in caches on
    /// its way (RFC 9111 §4.2). Nothing is promised by who wants to be asked every time.
    pub(in crate::probe) fn good_for(&self) -> Option<Duration> {
        let left = self.lifetime? - Duration::from_secs(self.head.age.into());
        Some(left).filter(|left| !left.is_zero())
    }
}

/// Reads the body of an answer as it streams by.
#[allow(clippy::large_enum_variant)] // One a slot, where the larger has room anyway.
pub(in crate::probe) enum Reading<'r, 'u> {
    Page(Fingerprinter<'r>),
    Robots(RobotsReader<'r, &'r mut Judges<'u>>),
}

impl<'r, 'u> Reading<'r, 'u> {
    /// What was read, once the answer has ended.
    pub(in crate::probe) fn finish(self) -> Finding<'r, 'u> {
        match self {
            Self::Page(hasher) => Finding::Page(hasher.finish().short()),
            Self::Robots(reader) => {
                let (judges, crawl_delay) = reader.finish();
                Finding::Robots(judges, crawl_delay)
            }
        }
    }
}

/// What the body of an answer comes to.
pub(in crate::probe) enum Finding<'r, 'u> {
    /// The fingerprint of a page.
    Page(u64),
    /// Judges that have heard all rules of a robots.txt, and its crawl delay.
    Robots(&'r Judges<'u>, Option<Duration>),
}

impl Finding<'_, '_> {
    /// The same, if this answer is a version of a page, with the fingerprint that `judge` makes of
    /// the one that was found.
    #[cfg(feature = "filter")]
    pub(in crate::probe) fn judged(
        self,
        answer: &VisitAnswer,
        judge: impl FnOnce(u64) -> u64,
    ) -> Self {
        match self {
            Self::Page(found) if answer.kind == AnswerKind::Page => Self::Page(judge(found)),
            other => other,
        }
    }

    /// The fingerprint of a version of a page, if this answer is one.
    pub(in crate::probe) fn version(&self, answer: &VisitAnswer) -> Option<u64> {
        match self {
            Self::Page(fingerprint) if answer.kind == AnswerKind::Page => Some(*fingerprint),
            _ => None,
        }
    }
}

impl Body for Reading<'_, '_> {
    fn take(&mut self, head: &Head, bytes: &mut &[u8]) -> bool {
        match self {
            Self::Page(hasher) => hasher.take(head, bytes),
            Self::Robots(reader) => reader.take(head, bytes),
        }
    }
}

/// What became of the request that a visit asked for.
pub(in crate::probe) enum Reply<'r, 'u> {
    /// The server answered.
    Answered(&'r VisitAnswer, Finding<'r, 'u>),
    /// It was made, and not answered.
    Failed(Failure),
    /// The connection was of no use for it, and nobody was asked.
    Stale,
    /// The connection ended before an answer, as kept ones do: the server may have been asked.
    Lost,
    /// It did not pass the gate of whom it goes to.
    Refused(GateRefusal),
}

/// What comes next for the page.
#[derive(Debug)]
#[must_use]
#[allow(clippy::large_enum_variant)] // It is taken apart at once, and there is no allocator.
pub(in crate::probe) enum Next {
    /// The turn has ended.
    Conclude(Conclusion),
    /// The turn begins once more, on another connection.
    AskAgain,
    /// Nobody was asked: the page has to wait at the gate of this host.
    WaitAt(u16),
    /// Nobody was asked: where redirects lead, the gate is closed.
    NotNow,
}

/// An answer that counts as a fetch of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::probe) struct Counted {
    pub bytes: u32,
    pub changed: bool,
    pub not_modified: bool,
    /// Which host of the list answered, and what time it was by its clock. A stranger has no say:
    /// behind several hosts of the list, it would have as many votes.
    pub date: Option<(u16, HttpDate)>,
    /// How much longer the server promises that the page is good.
    #[cfg(feature = "hints")]
    pub good_for: Option<Duration>,
}

/// How a turn ended.
#[derive(Debug)]
#[must_use]
pub(in crate::probe) struct Conclusion {
    /// What the scheduler has to know.
    pub outcome: Outcome,
    /// Why the page was not answered.
    pub failure: Option<Failure>,
    /// What is counted, if the page was answered.
    pub counted: Option<Counted>,
    /// What a host of the list gets between two requests from now on.
    pub gap: Option<(u16, Duration)>,
    /// What the log says of it.
    pub events: heapless::Vec<Event, 3>,
}

impl Conclusion {
    pub(in crate::probe) fn new(outcome: Outcome) -> Self {
        Self {
            outcome,
            failure: None,
            counted: None,
            gap: None,
            events: heapless::Vec::new(),
        }
    }

    // Not to be inlined: an event is long.
    #[inline(never)]
    pub(in crate::probe) fn say(&mut self, event: Event) {
        // There is room: no turn says more than three things.
        let _ = self.events.push(event);
    }
}
