//! One URL against a robots.txt of any size: exact, in a few bytes.

use super::pattern::{Match, Progress, Subject, octets};
use super::{Reason, Rule, RuleSink, Ruling};
use crate::fetch::url::Url;

/// Follows which rule wins for one URL while a file streams by (RFC 9309 §2.2.2: most octets; allow
/// wins ties).
///
/// No rules are kept, so no file is too large: the way to judge the pages of a list. A slice of
/// judges is a sink, too, and judges them all in one pass. Redirect targets, not known beforehand,
/// need [`Rules`](super::Rules) or another pass.
///
/// A comparison takes at most 16 steps for each byte of pattern and URL. A disallow pattern that
/// needs more counts as one that matches and beats all others ([`Reason::Overflow`]); an allow
/// pattern that does is left out.
#[derive(Clone, Debug)]
pub struct Judge<'a> {
    subject: Subject<'a>,
    /// Octets of the winning rule, 0 if none matched.
    octets: u16,
    allow: bool,
    line: u32,
    /// The line of the last rule that was compared to its end.
    heard: u32,
    /// How far the rule after it has been compared.
    progress: Progress<'a>,
}

impl<'a> Judge<'a> {
    /// A judge of one URL. Only its path and query matter.
    pub const fn new(url: Url<'a>) -> Self {
        Self {
            subject: Subject::of(&url),
            octets: 0,
            allow: true,
            line: 0,
            heard: 0,
            progress: Progress::new(Subject::of(&url)),
        }
    }

    /// The verdict on all rules so far.
    pub fn ruling(&self) -> Ruling<'static> {
        if self.subject.is_robots_txt() {
            return Ruling {
                allowed: true,
                reason: Reason::RobotsTxt,
            };
        }
        let reason = match (self.octets, self.line) {
            (0, _) => Reason::NoRule,
            (_, 0) => Reason::Overflow,
            (_, line) => Reason::Line(line),
        };
        Ruling {
            allowed: self.allow,
            reason,
        }
    }

    fn book(&mut self, octets: u16, allow: bool, line: u32) {
        if self.octets == 0 || (octets, allow) > (self.octets, self.allow) {
            self.octets = octets;
            self.allow = allow;
            self.line = line;
        }
    }
}

impl RuleSink for Judge<'_> {
    fn restart(&mut self) {
        self.octets = 0;
        self.allow = true;
        self.line = 0;
    }

    fn rule(&mut self, rule: &Rule<'_>, steps: &mut u32) -> bool {
        if self.heard == rule.line {
            return true;
        }
        // Others come first: what a long rule costs is known only when it has been compared.
        if *steps == 0 {
            return false;
        }
        // First, because most rules differ from most URLs within a few characters.
        let length = self.subject.len();
        let Some(found) = self.progress.go_on(rule.pattern, length, steps) else {
            return false;
        };
        self.progress = Progress::new(self.subject.clone());
        self.heard = rule.line;
        match found {
            // A disallow that was cut off beats all.
            Match::Yes if rule.cut => self.book(u16::MAX, rule.allow, rule.line),
            Match::Yes => {
                *steps = steps.saturating_sub(rule.pattern.len() as u32);
                self.book(octets(rule.pattern), rule.allow, rule.line);
            }
            Match::TooCostly if !rule.allow => self.give_up(),
            Match::TooCostly | Match::No => {}
        }
        true
    }

    fn give_up(&mut self) {
        self.book(u16::MAX, false, 0);
        // Also where a rule that was cut off has won before.
        self.line = 0;
    }
}

impl RuleSink for &mut [Judge<'_>] {
    fn restart(&mut self) {
        self.iter_mut().for_each(RuleSink::restart);
    }

    fn rule(&mut self, rule: &Rule<'_>, steps: &mut u32) -> bool {
        self.iter_mut().all(|judge| judge.rule(rule, steps))
    }

    fn give_up(&mut self) {
        self.iter_mut().for_each(RuleSink::give_up);
    }
}
