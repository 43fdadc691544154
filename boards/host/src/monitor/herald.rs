//! News of probes, as their logs tell it, for everybody who is told: the same messages as those of
//! `dunlin run`.

use std::sync::{Arc, Mutex, PoisonError};

use dunlin::probe::LoggedEvent;

use super::state::MonitoredProbe;
use crate::board::computer::unix_time;
use crate::error::Error;
use crate::news::{News, Subject};
use crate::output;
use crate::told::Told;
use crate::told::message::{Answer, Message};

/// Everybody who is told, by all streams together.
#[derive(Clone, Debug)]
pub struct Audience(Arc<Mutex<Heard>>);

#[derive(Debug, Default)]
struct Heard {
    told: Told,
    /// Why news was lost first.
    lost: Option<Error>,
}

impl Audience {
    /// An audience that is told in these ways.
    pub fn new(told: Told) -> Self {
        Self(Arc::new(Mutex::new(Heard { told, lost: None })))
    }

    /// Tells them of one stream. A record says itself when things happened, if it knows the date;
    /// what is heard live happens now.
    pub fn herald(&self, is_record: bool) -> Herald {
        Herald {
            audience: self.clone(),
            is_record,
            clock: None,
            boots: 0,
            held: None,
            ready: Vec::new(),
        }
    }

    fn tell(&self, messages: impl Iterator<Item = Message>) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for message in messages {
            let Err(why) = heard.told.hear(&message) else {
                continue;
            };
            if heard.lost.is_none() {
                output::say(format_args!("{why}; news is lost until that works again"));
                heard.lost = Some(why);
            }
        }
    }

    /// Gives those who are told a last moment.
    ///
    /// # Errors
    /// News that could not be written.
    pub fn finish(self) -> Result<(), Error> {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Heard { told, lost } = std::mem::take(&mut *heard);
        told.finish();
        lost.map_or(Ok(()), Err)
    }
}

/// Makes messages of one stream's lines. Memory: those of the lines that are read together.
#[derive(Debug)]
pub struct Herald {
    audience: Audience,
    is_record: bool,
    /// The Unix time that the log said, and when on its own timeline.
    clock: Option<(u32, f64)>,
    boots: u64,
    /// News of an answer, and of which page: the next line may say more about it.
    held: Option<(u16, Message)>,
    ready: Vec<Message>,
}

impl Herald {
    /// The probe has taken in a line.
    pub fn hear(&mut self, probe: &MonitoredProbe) {
        let Some(line) = probe.lines.back() else {
            return;
        };
        let event = LoggedEvent::read(&line.message);
        if let Some(LoggedEvent::Flagged { page, encoded, cut }) = event
            && let Some((of, message)) = &mut self.held
            && *of == page
            && let Some(answer) = &mut message.answer
        {
            (answer.encoded, answer.cut) = (encoded, cut);
        }
        self.release();
        if probe.boots != self.boots {
            self.boots = probe.boots;
            self.clock = None;
        }
        if let Some(LoggedEvent::Clock { unix, .. }) = event {
            self.clock = Some((unix, probe.last_line()));
        }
        let message = probe.last_news().and_then(|news| self.message(probe, news));
        let Some(mut message) = message else { return };
        if let Some(LoggedEvent::End {
            page,
            status,
            bytes,
            millis,
            ..
        }) = event
        {
            message.answer = Some(Answer {
                status,
                bytes,
                milliseconds: millis,
                first: false,
                encoded: false,
                cut: false,
            });
            self.held = Some((page, message));
        } else {
            self.ready.push(message);
        }
    }

    /// The news as a message; `None` if nothing is known of whom it is about, or if that is a
    /// teller, which is no news.
    fn message(&self, probe: &MonitoredProbe, news: &News) -> Option<Message> {
        let (url, name, host) = match news.about {
            Subject::Page(page) => {
                let page = probe.page_name(page.into());
                let page = page.filter(|page| !page.is_teller)?;
                (Some(page.url.clone()), page.name.clone(), None)
            }
            Subject::Host(host) => {
                let host = probe.host_name(host.into())?;
                (None, None, Some(host.name.clone()))
            }
        };
        Some(Message {
            time: self.time(probe),
            event: news.kind,
            url,
            name,
            host,
            answer: None,
            reason: news.reason.clone(),
        })
    }

    /// When the last line was logged.
    fn time(&self, probe: &MonitoredProbe) -> u64 {
        match self.clock {
            // The log gives whole seconds: rounded up, no time is before that of what was fetched.
            Some((unix, then)) if self.is_record => {
                u64::from(unix) + (probe.last_line() - then).max(0.0).ceil() as u64
            }
            _ => unix_time(),
        }
    }

    fn release(&mut self) {
        self.ready.extend(self.held.take().map(|(_, held)| held));
    }

    /// Tells what there is. If no more lines are expected soon, that is all of it.
    pub fn tell(&mut self, all: bool) {
        if all {
            self.release();
        }
        if !self.ready.is_empty() {
            self.audience.tell(self.ready.drain(..));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::decode::{Level, Line};
    use crate::monitor::names::{HostName, Names, PageName};
    use crate::told::telling::Telling;

    fn names() -> Names {
        let page = |url: &str, name: Option<&str>, is_teller| PageName {
            url: url.into(),
            name: name.map(str::to_owned),
            is_teller,
            host: 0,
            weight: 1.0,
            prior: None,
        };
        Names {
            pages: vec![
                page("http://a.test/", Some("Home"), false),
                page("http://a.test/feed", None, true),
            ],
            hosts: vec![HostName {
                name: "a.test".into(),
                gap: dunlin::time::Duration::from_secs(1),
                gate: 0,
            }],
        }
    }

    /// What a log tells, latest first.
    fn told(lines: &[(u64, &str)]) -> Vec<Message> {
        let told = Told::new(Telling::to(Vec::new()), None);
        let recent = told.recent();
        let audience = Audience::new(told);
        let mut herald = audience.herald(true);
        let mut probe = MonitoredProbe::new("probe".into(), Arc::new(names()));
        for (seconds, message) in lines {
            probe.hear(Line {
                micros: Some(1_000_000 * seconds),
                level: Level::Info,
                message: (*message).to_owned(),
                bytes: 20,
            });
            herald.hear(&probe);
            herald.tell(false);
        }
        herald.tell(true);
        audience.finish().expect("nothing is lost");
        recent.latest()
    }

    #[test]
    fn a_log_is_told_as_a_run_would_tell_it() {
        let changed = "end page=0 status=200 bytes=9 ms=7 changed=true";
        let messages = told(&[
            (0, "dunlin on paper 0.1.0, build 0123456789abcdef"),
            (1, "first page=0"),
            (1, changed),
            (2, "clock unix=1794000000 from=Hosts"),
            (12, changed),
            (12, "flagged page=0 encoded=true cut=false"),
            (13, "end page=0 status=404 bytes=0 ms=1 changed=false"),
            (14, "end page=0 status=404 bytes=0 ms=1 changed=false"),
            (15, "recovered page=0"),
            (16, "failed page=0 ms=4 why=Tls(Expired)"),
            (17, "backoff host=0 s=60 why=Server"),
            (18, "failed page=1 ms=4 why=Deadline"),
            (19, "failed page=7 ms=4 why=Deadline"),
            (20, "denied page=0"),
            (21, changed),
        ]);
        let texts: Vec<String> = messages.iter().rev().map(Message::text).collect();
        assert_eq!(
            texts,
            [
                "Home (http://a.test/) has changed",
                "Home (http://a.test/) is gone: status 404 (not found)",
                "Home (http://a.test/) is back",
                "Home (http://a.test/) cannot be fetched: its certificate has expired",
                "a.test is given a rest: left alone for 60 s: the server answered with 5xx",
                "Home (http://a.test/) is not for us: robots.txt forbids it",
                "Home (http://a.test/) has changed",
            ]
        );
        let first = messages.last().expect("a change");
        assert_eq!(first.time, 1_794_000_010);
        let answer = first.answer.expect("an answer");
        assert_eq!((answer.status, answer.bytes), (200, 9));
        assert!(answer.encoded && !answer.cut, "the line after it says so");
        let last = messages.first().and_then(|last| last.answer);
        assert!(last.is_some_and(|answer| !answer.encoded));
    }
}
