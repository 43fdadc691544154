//! The rules of one host, kept in a fixed budget.

use super::judge::Judge;
use super::pattern::{Subject, matches};
use super::{Reason, Rule, RuleSink, Ruling};
use crate::fetch::url::Url;

/// Bytes a rule takes besides its pattern.
const HEADER: usize = 2;
/// Bytes of the prefix that stands for disallow rules that did not fit.
const PREFIX: usize = 32;

/// Rules in storage of the caller's choice: an array, a slice or, on a host, a `Vec`.
///
/// A rule takes its pattern and two bytes. What does not fit errs to disallow: an allow rule is
/// dropped; disallow rules that are dropped are remembered by the beginning they have in common,
/// and everything that starts with it is disallowed – [`Reason::Overflow`] says so. To judge known
/// pages exactly whatever the file's size, use [`Judge`](super::Judge).
///
/// ```
/// use dunlin::fetch::Url;
/// use dunlin::fetch::robots::{RobotsReader, Rules};
///
/// let mut reader = RobotsReader::new("dunlin", Rules::new([0; 256]));
/// reader.update(b"User-agent: dunlin\nDisallow: /*.pdf$\nAllow: /open/\n");
/// let (rules, _) = reader.finish();
/// assert!(!rules.decide(&Url::parse("http://a/report.pdf")?).allowed);
/// assert!(rules.decide(&Url::parse("http://a/open/report.html")?).allowed);
/// assert!(rules.is_complete());
/// # Ok::<(), dunlin::fetch::UrlError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rules<B> {
    storage: B,
    used: usize,
    allow_dropped: bool,
    disallow_dropped: bool,
    prefix: [u8; PREFIX],
    prefix_len: u8,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Rules<B> {
    /// No rules yet: everything is allowed.
    pub const fn new(storage: B) -> Self {
        Self {
            storage,
            used: 0,
            allow_dropped: false,
            disallow_dropped: false,
            prefix: [0; PREFIX],
            prefix_len: 0,
        }
    }

    /// Did every rule fit?
    pub const fn is_complete(&self) -> bool {
        !self.allow_dropped && !self.disallow_dropped
    }

    /// Bytes of the storage that rules take.
    pub const fn used(&self) -> usize {
        self.used
    }

    /// May this URL be fetched? Work: one match for each rule kept, of 16 steps at most for each
    /// byte of the pattern and the URL.
    pub fn decide(&self, url: &Url<'_>) -> Ruling<'_> {
        let subject = Subject::of(url);
        if subject.is_robots_txt() {
            return Ruling {
                allowed: true,
                reason: Reason::RobotsTxt,
            };
        }
        let prefix = self
            .prefix
            .get(..usize::from(self.prefix_len))
            .unwrap_or_default();
        if self.disallow_dropped && matches(prefix, subject) {
            return Ruling {
                allowed: false,
                reason: Reason::Overflow,
            };
        }
        let mut judge = Judge::new(*url);
        let mut steps = u32::MAX;
        self.iter()
            .for_each(|rule| _ = judge.rule(&rule, &mut steps));
        let Ruling { allowed, reason } = judge.ruling();
        let winner = match reason {
            Reason::Line(line) => self.iter().find(|rule| rule.line == line),
            _ => None,
        };
        Ruling {
            allowed,
            reason: winner.map_or(reason, |rule| Reason::Pattern(rule.pattern)),
        }
    }

    /// The rules that were kept; their `line` counts kept rules.
    pub fn iter(&self) -> impl Iterator<Item = Rule<'_>> {
        let mut rest = self.storage.as_ref().get(..self.used).unwrap_or_default();
        let mut line = 0;
        core::iter::from_fn(move || {
            let (header, after) = rest.split_first_chunk::<HEADER>()?;
            let header = u16::from_le_bytes(*header);
            let (pattern, after) = after.split_at_checked(usize::from(header >> 2))?;
            rest = after;
            line += 1;
            Some(Rule {
                allow: header & 1 != 0,
                pattern,
                cut: header & 2 != 0,
                line,
            })
        })
    }

    /// Shortens the prefix so that it covers one more dropped pattern.
    fn cover(&mut self, pattern: &[u8]) {
        // Only as far as the pattern is plain: escapes have several spellings.
        let plain = pattern
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"/-_.".contains(byte));
        let known = if self.disallow_dropped {
            usize::from(self.prefix_len)
        } else {
            PREFIX
        };
        let mut len = 0;
        for (slot, byte) in self.prefix.iter_mut().take(known).zip(plain) {
            if self.disallow_dropped && *slot != *byte {
                break;
            }
            *slot = *byte;
            len += 1;
        }
        self.prefix_len = len;
        self.disallow_dropped = true;
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> RuleSink for Rules<B> {
    fn restart(&mut self) {
        self.used = 0;
        self.allow_dropped = false;
        self.disallow_dropped = false;
    }

    fn rule(&mut self, rule: &Rule<'_>, steps: &mut u32) -> bool {
        *steps = steps.saturating_sub(self.used as u32 / 16);
        if self
            .iter()
            .any(|known| (known.allow, known.pattern) == (rule.allow, rule.pattern))
        {
            return true;
        }
        // A window's worth: the length always fits in the header.
        let header =
            (rule.pattern.len() as u16) << 2 | u16::from(rule.cut) << 1 | u16::from(rule.allow);
        let end = self.used + HEADER + rule.pattern.len();
        match self
            .storage
            .as_mut()
            .get_mut(self.used..end)
            .and_then(<[u8]>::split_first_chunk_mut::<HEADER>)
        {
            Some((head, body)) => {
                *head = header.to_le_bytes();
                body.iter_mut()
                    .zip(rule.pattern)
                    .for_each(|(to, from)| *to = *from);
                self.used = end;
            }
            None if rule.allow => self.allow_dropped = true,
            None => self.cover(rule.pattern),
        }
        true
    }

    fn give_up(&mut self) {
        self.prefix_len = 0;
        self.disallow_dropped = true;
    }
}
