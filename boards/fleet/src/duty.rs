//! What a probe of a fleet has to do: its lease and budget, the list it should have, visits to be
//! told, commands it was given. No IO: messages come in, and go out as values.

use dunlin::fleet::{
    Command, Done, Grant, ListNotice, Member, ProbeTopic, Verb, Visits, decode, read_topic,
};
use dunlin::probe::{Board, FleetEvent, Probe};
use dunlin::time::{Duration, Instant};

use crate::link::{Broker, Room};
use crate::list::Wanted;
use crate::pace::Pace;

/// Commands whose answer is remembered: one that comes again is answered again, and not done again.
const REMEMBERED: usize = 8;

/// What a message came to.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) news: Option<FleetEvent>,
    pub(crate) done: Option<Done>,
}

/// The state of a member that outlives its connections.
#[derive(Debug)]
pub(crate) struct Duty {
    pub(crate) member: Member,
    pub(crate) pace: Pace,
    pub(crate) room: Room,
    /// The newest list that was announced, if it is newer than the one in use.
    pub(crate) wanted: Option<Wanted>,
    /// Not before this moment.
    pub(crate) fetch_at: Instant,
    /// Visits on their way, and when they were taken.
    pub(crate) batch: Option<(Visits, Instant)>,
    /// Visits that were taken or lost so far.
    counted: u32,
    is_paused: bool,
    answers: heapless::Deque<(u32, bool), REMEMBERED>,
}

impl Duty {
    pub(crate) fn new(member: Member, pace: Pace, room: Room) -> Self {
        Self {
            member,
            pace,
            room,
            wanted: None,
            fetch_at: Instant::ZERO,
            batch: None,
            counted: 0,
            is_paused: false,
            answers: heapless::Deque::new(),
        }
    }

    /// Is there a lease now under which something may be fetched?
    pub(crate) fn is_leased(&self, now: Instant) -> bool {
        let is_leased = self.member.leased_until().is_some_and(|end| now < end);
        is_leased && self.member.budget() > 0.0
    }

    /// Is there a list to be fetched now?
    pub(crate) fn is_list_due(&self, now: Instant) -> bool {
        self.wanted.is_some() && now >= self.fetch_at
    }

    /// Lets the probe do what it may.
    pub(crate) fn command<B: Board>(&self, probe: &Probe<'_, B>) {
        if self.is_paused {
            probe.membership().pause();
        } else {
            probe.membership().obey(&self.member);
        }
    }

    /// Takes visits from the probe, unless some are on their way; true if there are any to be sent.
    pub(crate) fn take_visits<B: Board>(&mut self, probe: &Probe<'_, B>) -> bool {
        if self.batch.is_none() && probe.membership().untold() > 0 {
            let mut batch = Visits {
                boot: self.member.boot(),
                list: self.member.list(),
                first: 0,
                visits: heapless::Vec::new(),
            };
            let lost = probe.membership().take_visits(&mut batch.visits);
            batch.first = self.counted.wrapping_add(lost);
            self.counted = batch.first.wrapping_add(batch.visits.len() as u32);
            self.batch = Some((batch, probe.board().now()));
        }
        self.batch.is_some()
    }

    /// The visits on their way, as they are to be told now.
    pub(crate) fn batch_at(&mut self, now: Instant) -> Option<&Visits> {
        let (batch, taken) = self.batch.as_mut()?;
        let passed = (now - *taken).as_secs();
        if passed > 0 {
            *taken += Duration::from_secs(passed);
            let passed = passed.min(u32::MAX.into()) as u32;
            for visit in &mut batch.visits {
                visit.ago_s = visit.ago_s.saturating_add(passed);
            }
        }
        Some(batch)
    }

    /// Takes a message. What is not for this probe, makes no sense or was kept by the broker
    /// without being meant to changes nothing. Work: the message's length.
    pub(crate) fn hear<B: Board>(
        &mut self,
        broker: &Broker<'_>,
        (topic, is_kept, bytes): (&str, bool, &[u8]),
        probe: &Probe<'_, B>,
    ) -> Heard {
        match read_topic(broker.fleet, topic) {
            Some((whose, _)) if whose != broker.probe => Heard::default(),
            Some((_, ProbeTopic::Grant)) if !is_kept => self.hear_grant(bytes, probe),
            Some((_, ProbeTopic::List)) => self.hear_list(bytes),
            Some((_, ProbeTopic::Command)) if !is_kept => self.hear_command(bytes, probe),
            _ => Heard::default(),
        }
    }

    fn hear_grant<B: Board>(&mut self, bytes: &[u8], probe: &Probe<'_, B>) -> Heard {
        let before = self.member.budget();
        let grant: Option<Grant> = decode(bytes).ok();
        let Some(grant) = grant.filter(|grant| self.member.granted(grant)) else {
            return Heard::default();
        };
        let lease = Duration::from_millis(grant.lease_ms.into());
        let now = probe.board().now();
        let is_answer = self.is_leased(now) && self.member.is_answered_by(&grant);
        let budgets = (before, grant.budget);
        self.pace.granted(lease, is_answer, budgets, now);
        self.command(probe);
        Heard {
            news: Some(FleetEvent::Granted {
                number: grant.number,
                budget: grant.budget,
                lease_millis: grant.lease_ms,
            }),
            done: None,
        }
    }

    fn hear_list(&mut self, bytes: &[u8]) -> Heard {
        let notice: Option<ListNotice<'_>> = decode(bytes).ok();
        let newest = self.wanted.as_ref().map_or(0, |wanted| wanted.version);
        let is_news =
            |notice: &ListNotice<'_>| self.member.wants(notice.version) && notice.version >= newest;
        let Some(wanted) = notice
            .filter(is_news)
            .and_then(|notice| Wanted::new(&notice))
        else {
            return Heard::default();
        };
        let version = wanted.version;
        self.wanted = Some(wanted);
        Heard {
            news: (version > newest).then_some(FleetEvent::Announced { list: version }),
            done: None,
        }
    }

    fn hear_command<B: Board>(&mut self, bytes: &[u8], probe: &Probe<'_, B>) -> Heard {
        let Ok(command) = decode::<Command>(bytes) else {
            return Heard::default();
        };
        let known = self.answers.iter().find(|(id, _)| *id == command.id);
        let mut news = None;
        let done = match (known, command.verb) {
            (Some((_, done)), _) => *done,
            (None, Verb::Pull { page, list }) => {
                list == self.member.list() && probe.membership().pull(page).is_ok()
            }
            (None, Verb::Pause(pause)) => {
                self.is_paused = pause;
                self.command(probe);
                news = Some(match pause {
                    true => FleetEvent::Paused,
                    false => FleetEvent::Resumed,
                });
                true
            }
        };
        if known.is_none() {
            if self.answers.is_full() {
                let _ = self.answers.pop_front();
            }
            let _ = self.answers.push_back((command.id, done));
        }
        Heard {
            news,
            done: Some(Done {
                boot: self.member.boot(),
                id: command.id,
                done,
            }),
        }
    }
}
