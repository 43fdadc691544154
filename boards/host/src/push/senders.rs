//! Who may push, how much, and how far each is believed.

use std::collections::HashMap;

pub use dunlin::push::Reception;
use dunlin::push::Sender;
use dunlin::time::Instant;

use crate::collect::tokens::Tokens;

/// All who push, by name, and whose word each page waits for.
#[derive(Debug)]
pub struct Senders {
    tokens: Tokens,
    known: HashMap<String, Sender>,
    /// Who said of which page that it has changed, before the next visit shows it.
    said: HashMap<u16, String>,
}

impl Senders {
    /// The senders with these tokens.
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

    /// A sender says that a page has changed.
    pub fn push(&mut self, name: &str, page: u16, now: Instant) -> Reception {
        let sender = self.known.entry(name.to_owned()).or_default();
        let reception = sender.push(now);
        if reception == Reception::Heard {
            self.said.entry(page).or_insert_with(|| name.to_owned());
        }
        reception
    }

    /// A page was visited, and has changed or not: who said that it has was right or wrong.
    pub fn visited(&mut self, page: u16, changed: bool) {
        let name = self.said.remove(&page);
        let sender = name.and_then(|name| self.known.get_mut(&name));
        if let Some(sender) = sender {
            sender.visited(changed);
        }
    }

    /// The share of a sender's pushes that were true; `None` if it has said nothing yet.
    pub fn precision(&self, name: &str) -> Option<f32> {
        self.known.get(name).map(Sender::precision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin::time::Duration;

    fn at(minutes: u16) -> Instant {
        Instant::ZERO + Duration::from_secs(60) * u64::from(minutes)
    }

    fn senders() -> Senders {
        let tokens = "good 0123456789abcdef\nliar fedcba9876543210\n";
        Senders::new(Tokens::parse("senders", tokens).expect("tokens"))
    }

    #[test]
    fn a_sender_that_lies_is_doubted_and_the_other_is_not() {
        let mut senders = senders();
        let mut heard = [0, 0];
        for minute in 0..200_u16 {
            let now = at(minute);
            for (place, name) in ["good", "liar"].into_iter().enumerate() {
                let page = 2 * minute + place as u16;
                if senders.push(name, page, now) == Reception::Heard {
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
        let receptions: Vec<Reception> = (0..100)
            .map(|page| senders.push("liar", page, at(0)))
            .collect();
        assert_eq!(receptions[59], Reception::Heard);
        assert_eq!(receptions[60], Reception::TooMany);
        assert_eq!(senders.push("good", 200, at(0)), Reception::Heard);
        assert_eq!(senders.push("liar", 0, at(1)), Reception::Heard);
    }

    #[test]
    fn a_sender_that_mends_its_ways_is_believed_again() {
        let mut senders = senders();
        let mut say = |right: bool, from: u16| {
            let mut heard = 0;
            for push in from..from + 400 {
                if senders.push("liar", push, at(push)) == Reception::Heard {
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
