//! Topics on the broker: `dunlin/1/<fleet>/probe/<id>/…`. What goes up and what comes down are
//! apart, so that a broker can keep a probe from writing its own grants.

use core::fmt::Write as _;

/// Bytes of the longest name of a fleet or a probe: a topic with both has room where clients keep
/// one.
pub const LONGEST_NAME: usize = 48;
/// Bytes of the longest topic.
pub const LONGEST_TOPIC: usize = 128;

/// The text of a topic.
pub type TopicName = heapless::String<LONGEST_TOPIC>;

/// One of a probe's topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ProbeTopic {
    /// It carries a [`Presence`](super::Presence), kept by the broker.
    State,
    /// It carries a [`Report`](super::Report).
    Report,
    /// It carries [`Visits`](super::Visits).
    Visits,
    /// It carries a [`Done`](super::Done).
    Done,
    /// It carries a [`Grant`](super::Grant), never kept by the broker.
    Grant,
    /// It carries a [`ListNotice`](super::ListNotice), kept by the broker.
    List,
    /// It carries a [`Command`](super::Command).
    Command,
}

impl ProbeTopic {
    /// All of them: first those that a probe writes, then those that it reads.
    pub const ALL: [Self; 7] = [
        Self::State,
        Self::Report,
        Self::Visits,
        Self::Done,
        Self::Grant,
        Self::List,
        Self::Command,
    ];

    /// What a topic ends with.
    pub const fn path(self) -> &'static str {
        match self {
            Self::State => "up/state",
            Self::Report => "up/report",
            Self::Visits => "up/visits",
            Self::Done => "up/done",
            Self::Grant => "down/grant",
            Self::List => "down/list",
            Self::Command => "down/cmd",
        }
    }
}

/// Can a fleet or a probe be called this? Up to [`LONGEST_NAME`] letters of ASCII, digits, `-`, `_`
/// and `.`: nothing that a broker would take for a wildcard or a level of its own.
pub fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(allowed)
}

/// A probe's topic; `None` if fleet or probe has no proper name.
///
/// ```
/// use dunlin::fleet::{ProbeTopic, read_topic, topic};
/// let name = topic("roofs", "north", ProbeTopic::Grant).expect("proper names");
/// assert_eq!(name, "dunlin/1/roofs/probe/north/down/grant");
/// assert_eq!(read_topic("roofs", &name), Some(("north", ProbeTopic::Grant)));
/// ```
pub fn topic(fleet: &str, probe: &str, which: ProbeTopic) -> Option<TopicName> {
    if !is_name(fleet) || !is_name(probe) {
        return None;
    }
    let mut name = TopicName::new();
    let path = which.path();
    write!(name, "dunlin/1/{fleet}/probe/{probe}/{path}").ok()?;
    Some(name)
}

/// Whose topic of this fleet it is, and which; `None` for all others.
pub fn read_topic<'t>(fleet: &str, name: &'t str) -> Option<(&'t str, ProbeTopic)> {
    let rest = name.strip_prefix("dunlin/1/")?.strip_prefix(fleet)?;
    let (probe, path) = rest.strip_prefix("/probe/")?.split_once('/')?;
    let which = ProbeTopic::ALL
        .into_iter()
        .find(|topic| topic.path() == path)?;
    is_name(probe).then_some((probe, which))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_of_the_longest_names_fits_and_is_read_back() {
        let long = core::str::from_utf8(&[b'x'; LONGEST_NAME]).expect("ASCII");
        for which in ProbeTopic::ALL {
            let name = topic(long, long, which).expect("it fits");
            assert_eq!(read_topic(long, &name), Some((long, which)));
            assert_eq!(read_topic("other", &name), None);
        }
    }

    #[test]
    fn a_name_holds_nothing_that_a_broker_would_interpret() {
        for wrong in ["", "a/b", "a+", "#", "a b", "ü", "$SYS"] {
            assert!(!is_name(wrong), "{wrong}");
            assert_eq!(topic("fleet", wrong, ProbeTopic::State), None);
            assert_eq!(topic(wrong, "probe", ProbeTopic::State), None);
        }
        assert!(is_name("roof-1_a.b"));
    }
}
