//! Whom a program tells its news, and what of it: nobody is told twice in a row that a page is
//! still broken.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::message::Message;
use super::outbox::Outbox;
use crate::news::Kind;

/// A host that is given rests again and again is told of once in this time.
const HOST_AGAIN_S: u64 = 3600;
/// Subjects whose bad news is remembered: beyond that, some is told once more.
const MOST_KNOWN: usize = 65_536;
/// What recipients get at the end to take what waits for them.
const LAST_MOMENTS: Duration = Duration::from_secs(5);

/// The recipients, and the bad news that they know of.
#[derive(Debug, Default)]
pub struct Telling {
    outboxes: Vec<Outbox>,
    /// Pages whose last news was bad, by URL, and hosts, by name: what it was, and when.
    known: HashMap<String, (Kind, u64)>,
}

impl Telling {
    /// Tells the news to these recipients.
    pub fn to(outboxes: Vec<Outbox>) -> Self {
        Self {
            outboxes,
            known: HashMap::new(),
        }
    }

    /// Has one more recipient told, from now on.
    pub fn add(&mut self, outbox: Outbox) {
        self.outboxes.push(outbox);
    }

    /// Was the last news of this page or host bad?
    pub fn knows(&self, about: &str) -> bool {
        self.known.contains_key(about)
    }

    /// Passes a message on, if it is news, and says whether it is. It never waits. What is
    /// remembered is bounded by the list's pages and hosts.
    pub fn tell(&mut self, message: &Message) -> bool {
        let is_news = self.is_news(message);
        for outbox in self.outboxes.iter().filter(|_| is_news) {
            outbox.put(message.clone());
        }
        is_news
    }

    /// Is it a change, or something that they have not been told already? First versions are none:
    /// every page of a new list has one.
    fn is_news(&mut self, message: &Message) -> bool {
        let about = message.about();
        match message.event {
            // What follows a first version may be that the page is back.
            Kind::Changed if message.is_first() => false,
            Kind::Changed => {
                self.known.remove(about);
                true
            }
            // It is back only for those who were told that it was away.
            Kind::Recovered => self.known.remove(about).is_some(),
            kind => {
                if self.known.len() >= MOST_KNOWN {
                    self.known.clear();
                }
                let new = (kind, message.time);
                match self.known.insert(about.to_owned(), new) {
                    Some((Kind::HostBackedOff, then)) if kind == Kind::HostBackedOff => {
                        let again = message.time.saturating_sub(then) >= HOST_AGAIN_S;
                        if !again {
                            // An hour from when it was told.
                            self.known.insert(about.to_owned(), (kind, then));
                        }
                        again
                    }
                    Some((before, _)) => before != kind,
                    None => true,
                }
            }
        }
    }

    /// Gives recipients a last moment, all of them the same.
    pub fn finish(self) {
        let deadline = Instant::now() + LAST_MOMENTS;
        for outbox in self.outboxes {
            outbox.finish(deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::message::{Answer, message};

    #[test]
    fn bad_news_is_told_once_until_it_changes_or_is_over() {
        let mut telling = Telling::default();
        let mut said = |kind| telling.is_news(&message(kind, "http://a.test/"));
        assert!(!said(Kind::Recovered), "nobody knew");
        assert!(said(Kind::Failed));
        assert!(!said(Kind::Failed));
        assert!(said(Kind::Gone));
        assert!(!said(Kind::Gone));
        assert!(said(Kind::Recovered));
        assert!(said(Kind::Gone));
        assert!(said(Kind::Changed));
        assert!(said(Kind::Changed), "every change is news");
        assert!(said(Kind::Gone));
        assert!(telling.is_news(&message(Kind::Gone, "http://b.test/")));
        let mut first = message(Kind::Changed, "http://c.test/");
        first.answer = Some(Answer {
            status: 200,
            bytes: 0,
            milliseconds: 0,
            first: true,
            encoded: false,
            cut: false,
        });
        assert!(!telling.is_news(&first));
        assert!(telling.is_news(&message(Kind::Gone, "http://c.test/")));
        assert!(!telling.is_news(&first));
        assert!(telling.is_news(&message(Kind::Recovered, "http://c.test/")));
    }

    #[test]
    fn a_host_is_told_of_once_an_hour() {
        let mut telling = Telling::default();
        let mut said = |time| {
            let mut news = message(Kind::HostBackedOff, "");
            news.url = None;
            news.host = Some("a.test".into());
            news.time = time;
            telling.is_news(&news)
        };
        assert!(said(0));
        assert!(!said(3000));
        assert!(said(3600));
        assert!(!said(3601));
    }
}
