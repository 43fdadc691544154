//! robots.txt by RFC 9309: a streamed reader, two ways to use its rules, and what to do without a
//! file. This is all there is of reading and understanding them; what a probe remembers of them is
//! in `probe/verdicts.rs`, and `polite` only hears the crawl delay.
//!
//! [`RobotsReader`] finds the rules that are ours in a file of any size. A [`Judge`] follows them
//! for one URL, exactly and without keeping any; [`Rules`] keeps them in a fixed budget for URLs
//! yet to come. [`HostRobots`] remembers for how long the answer holds, a [`Verdict`] what it means
//! for one page. `Crawl-delay`, which is not in the RFC, is read all the same: people write it and
//! mean it. `X-Robots-Tag` and robots meta elements govern indexing, not fetching: they are read
//! where pages are looked for, as `Directives`.

mod access;
#[cfg(feature = "discover")]
mod directives;
mod judge;
mod pattern;
mod reader;
mod rules;
mod verdict;

pub use access::{Access, HostRobots};
#[cfg(feature = "discover")]
pub(super) use directives::AgentName;
#[cfg(feature = "discover")]
pub use directives::Directives;
pub use judge::Judge;
pub(crate) use reader::product_token;
pub use reader::{RobotsReader, Rule};
pub use rules::Rules;
pub use verdict::Verdict;

use super::response::Limits;

/// Limits for fetching a robots.txt: RFC 9309 §2.5 wants at least 500 KiB read; the rest is
/// ignored.
pub const LIMITS: Limits = Limits::DEFAULT.with_body_bytes(500 * 1024);

/// Takes the rules of our group, in the file's order.
pub trait RuleSink {
    /// Forget everything: the rules so far were for `*`, and a group with our name has been found.
    fn restart(&mut self);
    /// One more rule. `steps` are left before others must get a turn, up to 250 instructions each:
    /// take off what is used. False if they did not suffice; then the same rule is offered again.
    fn rule(&mut self, rule: &Rule<'_>, steps: &mut u32) -> bool;
    /// The file takes too much work, and its other rules are not offered: nothing is allowed.
    fn give_up(&mut self);
}

/// May a URL be fetched, and why?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling<'r> {
    /// Says whether it may be fetched.
    pub allowed: bool,
    /// The rule, or the lack of one, that decided.
    pub reason: Reason<'r>,
}

/// What decided about a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason<'r> {
    /// No rule matches.
    NoRule,
    /// The rule in this line of the file, counted from 1.
    Line(u32),
    /// The rule with this pattern.
    Pattern(&'r [u8]),
    /// A rule that could match did not fit in the budget of bytes, or of steps.
    Overflow,
    /// It is the robots.txt itself, which is always allowed (RFC 9309 §2.2.2).
    RobotsTxt,
}
