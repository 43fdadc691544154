//! Who may push, how much, and how far each is believed.

use std::collections::HashMap;

use crate::collect::tokens::Tokens;

/// URLs that a sender may push at once.
const BURST: f64 = 60.0;
/// And so many a second after that.
const PER_SECOND: f64 = 1.0;
/// What a sender is believed to have said before it has said anything: two things, both true.
const FIRST: f64 = 2.0;
/// A sender of whose pushes less than this share was true …
const LEAST_TRUE: f64 = 0.2;
/// … is heard once in so many times, so that it can mend its ways.
const HEARD_ONCE_IN: u64 = 8;
/// Pushes that are remembered.
const MEMORY: f64 = 64.0;

/// One who pushes.
#[derive(Clone, Copy, Debug)]
struct Sender {
    /// What is left of what it may push, at `at` seconds.
    room: f64,
    at: f64,
    sent: f64,
    right: f64,
    doubted: u64,
}

/// All who push, by name, and whose word each page waits for.
#[derive(Debug)]
pub struct Senders {
    tokens: Tokens,
    known: HashMap<String, Sender>,
    /// Who said of which page that it has changed, before the next visit shows it.
    said: HashMap<u16, String>,
}

/// What becomes of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is heeded.
    Heard,
    /// Its sender was wrong too often.
    Doubted,
    /// Its sender pushes too much.
    TooMany,
}

impl Senders {
    /// Those with these tokens.
    pub fn new(tokens: Tokens) -> Self {
        Self {
            tokens,
            known: HashMap::new(),
            said: HashMap::new(),
        }
    }

    /// Who knows this token.
    pub fn named(&self, token: &[u8]) -> Option<String> {
        self.tokens.probe(token).map(str::to_owned)
    }

    /// The token of a sender.
    pub fn token(&self, name: &str) -> Option<&str> {
        self.tokens.token(name)
    }

    fn get(&mut self, name: &str, now: f64) -> &mut Sender {
        self.known.entry(name.to_owned()).or_insert(Sender {
            room: BURST,
            at: now,
            sent: FIRST,
            right: FIRST,
            doubted: 0,
        })
    }

    /// A sender says, at so many seconds, that a page has changed.
    pub fn push(&mut self, name: &str, page: u16, now: f64) -> Verdict {
        let sender = self.get(name, now);
        sender.room = (sender.room + (now - sender.at).max(0.0) * PER_SECOND).min(BURST);
        sender.at = now;
        if sender.room < 1.0 {
            return Verdict::TooMany;
        }
        sender.room -= 1.0;
        if sender.right < LEAST_TRUE * sender.sent {
            sender.doubted += 1;
            if !sender.doubted.is_multiple_of(HEARD_ONCE_IN) {
                return Verdict::Doubted;
            }
        }
        self.said.entry(page).or_insert_with(|| name.to_owned());
        Verdict::Heard
    }

    /// A page was visited, and has changed or not: who said that it has was right or wrong.
    pub fn visited(&mut self, page: u16, changed: bool) {
        let Some(name) = self.said.remove(&page) else {
            return;
        };
        if let Some(sender) = self.known.get_mut(&name) {
            let kept = MEMORY / sender.sent.max(MEMORY);
            sender.sent = sender.sent * kept + 1.0;
            sender.right = sender.right * kept + f64::from(u8::from(changed));
        }
    }

    /// The share of a sender's pushes that were true; `None` if it has said nothing yet.
    pub fn precision(&self, name: &str) -> Option<f64> {
        let sender = self.known.get(name)?;
        Some(sender.right / sender.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn senders() -> Senders {
        let tokens = "good 0123456789abcdef\nliar fedcba9876543210\n";
        Senders::new(Tokens::parse("senders", tokens).expect("tokens"))
    }

    #[test]
    fn a_sender_that_lies_is_doubted_and_the_other_is_not() {
        let mut senders = senders();
        let mut heard = [0, 0];
        for minute in 0..200_u16 {
            let now = f64::from(minute) * 60.0;
            for (place, name) in ["good", "liar"].into_iter().enumerate() {
                let page = 2 * minute + place as u16;
                if senders.push(name, page, now) == Verdict::Heard {
                    heard[place] += 1;
                    senders.visited(page, name == "good");
                }
            }
        }
        assert_eq!(heard[0], 200);
        assert!(heard[1] < 45, "{} lies were heard", heard[1]);
        assert!(senders.precision("good") > Some(0.9));
        assert!(senders.precision("liar") < Some(0.2));
    }

    #[test]
    fn a_sender_that_floods_is_held_back_alone() {
        let mut senders = senders();
        let verdicts: Vec<Verdict> = (0..100)
            .map(|page| senders.push("liar", page, 0.0))
            .collect();
        assert_eq!(verdicts[59], Verdict::Heard);
        assert_eq!(verdicts[60], Verdict::TooMany);
        assert_eq!(senders.push("good", 200, 0.0), Verdict::Heard);
        assert_eq!(senders.push("liar", 0, 2.0), Verdict::Heard);
    }

    #[test]
    fn a_sender_that_mends_its_ways_is_believed_again() {
        let mut senders = senders();
        let mut say = |right: bool, from: u16| {
            let mut heard = 0;
            for push in from..from + 400 {
                if senders.push("liar", push, f64::from(push) * 60.0) == Verdict::Heard {
                    heard += 1;
                    senders.visited(push, right);
                }
            }
            heard
        };
        let lies = say(false, 0);
        let truths = say(true, 400);
        assert!(truths > 3 * lies, "{lies} lies and {truths} truths");
    }
}
