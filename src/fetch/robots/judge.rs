//! One URL against a robots.txt of any size: exact, in a few bytes.

use super::pattern::{Subject, matches, octets};
use super::{Reason, Rule, RuleSink, Ruling, is_robots_txt};
use crate::fetch::url::Url;

/// Follows which rule wins for one URL while a file streams by (RFC 9309 §2.2.2: most octets; allow
/// wins ties).
///
/// No rules are kept, so no file is too large: the way to judge the pages of a list. A slice of
/// judges is a sink, too, and judges them all in one pass. Redirect targets, not known beforehand,
/// need [`Rules`](super::Rules) or another pass.
#[derive(Clone, Debug)]
pub struct Judge<'a> {
    url: Url<'a>,
    /// Octets of the winning rule, 0 if none matched.
    octets: u16,
    allow: bool,
    line: u32,
}

impl<'a> Judge<'a> {
    /// For one URL. Only its path and query matter.
    pub const fn new(url: Url<'a>) -> Self {
        Self {
            url,
            octets: 0,
            allow: true,
            line: 0,
        }
    }

    /// The verdict on all rules so far.
    pub fn ruling(&self) -> Ruling<'static> {
        if is_robots_txt(&self.url) {
            return Ruling {
                allowed: true,
                reason: Reason::RobotsTxt,
            };
        }
        let reason = if self.octets == 0 {
            Reason::NoRule
        } else {
            Reason::Line(self.line)
        };
        Ruling {
            allowed: self.allow,
            reason,
        }
    }
}

impl RuleSink for Judge<'_> {
    fn restart(&mut self) {
        *self = Self::new(self.url);
    }

    fn rule(&mut self, rule: &Rule<'_>) {
        // First, because most rules differ from most URLs within a few characters.
        if !matches(rule.pattern, Subject::of(&self.url)) {
            return;
        }
        // A disallow that was cut off beats all.
        let octets = if rule.cut {
            u16::MAX
        } else {
            octets(rule.pattern)
        };
        if self.octets == 0 || (octets, rule.allow) > (self.octets, self.allow) {
            self.octets = octets;
            self.allow = rule.allow;
            self.line = rule.line;
        }
    }
}

impl RuleSink for &mut [Judge<'_>] {
    fn restart(&mut self) {
        self.iter_mut().for_each(RuleSink::restart);
    }

    fn rule(&mut self, rule: &Rule<'_>) {
        self.iter_mut().for_each(|judge| judge.rule(rule));
    }
}
