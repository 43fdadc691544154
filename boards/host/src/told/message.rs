//! One piece of news as it is written down: the line that `dunlin run` prints, and what commands
//! and webhooks get.

use serde::Serialize;

use crate::news::Kind;

/// News, and of a change what came.
#[derive(Clone, Debug, Serialize)]
pub struct Message {
    /// The Unix time in seconds.
    pub time: u64,
    /// What kind of news it is.
    pub event: Kind,
    /// The page, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What the list calls the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The host, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The answer that brought the news.
    #[serde(flatten)]
    pub answer: Option<Answer>,
    /// Why, of bad news.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What an answer was like.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Answer {
    /// The status code of the answer.
    pub status: u16,
    /// Bytes of its body.
    pub bytes: u32,
    /// How long it took.
    pub milliseconds: u32,
    /// The first version seen: there is no earlier one to compare with.
    pub first: bool,
    /// Compressed although we asked for plain bytes: a change may be one of the compression only.
    pub encoded: bool,
    /// Longer than what is read: what comes after that is not compared.
    pub cut: bool,
}

impl Message {
    /// Is it the first version of a page? That is no change.
    pub fn is_first(&self) -> bool {
        self.answer.is_some_and(|answer| answer.first)
    }

    /// Whom it is about: a URL or a host.
    pub fn about(&self) -> &str {
        let about = self.url.as_deref().or(self.host.as_deref());
        about.unwrap_or_default()
    }

    /// The news in one sentence, for a person.
    pub fn text(&self) -> String {
        let about = match &self.name {
            Some(name) => format!("{name} ({})", self.about()),
            None => self.about().to_owned(),
        };
        let what = match self.event {
            Kind::Changed if self.is_first() => "was seen for the first time",
            Kind::Changed => "has changed",
            Kind::Gone => "is gone",
            Kind::Refused => "is not for us",
            Kind::Failed => "cannot be fetched",
            Kind::Recovered => "is back",
            Kind::HostBackedOff => "is given a rest",
        };
        match &self.reason {
            Some(reason) => format!("{about} {what}: {reason}"),
            None => format!("{about} {what}"),
        }
    }
}

#[cfg(test)]
pub(crate) fn message(event: Kind, url: &str) -> Message {
    Message {
        time: 1_794_000_000,
        event,
        url: Some(url.into()),
        name: None,
        host: None,
        answer: None,
        reason: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_a_sentence() {
        let mut news = message(Kind::Changed, "http://a.test/");
        assert_eq!(news.text(), "http://a.test/ has changed");
        news.name = Some("Home".into());
        news.event = Kind::Gone;
        news.reason = Some("status 404 (not found)".into());
        assert_eq!(
            news.text(),
            "Home (http://a.test/) is gone: status 404 (not found)"
        );
    }
}
