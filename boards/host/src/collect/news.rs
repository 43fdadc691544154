//! News that probes post: bad news, and that it is over. That a page has changed is told by its
//! delivery.

use dunlin::fetch::Url;
use serde::{Deserialize, Serialize};

use crate::archive::exchange::{Exchange, described};
use crate::collect::frames::Verdict;
use crate::news::{Kind, answered};
use crate::post::Post;
use crate::told::message::Message;
use crate::told::outbox::{Delivery, NotTaken, Recipient};

/// Where news is posted to.
pub const PATH: &str = "/v1/news";
/// The longest piece of news.
pub const LONGEST: usize = 16 * 1024;
/// Letters of a name or a reason that are kept.
const LONGEST_TEXT: usize = 512;

/// One piece of news as it is posted: a part of what `--webhook` posts.
#[derive(Debug, Serialize, Deserialize)]
struct Posted {
    time: u64,
    event: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Reads what was posted; `None` if it is no such news.
pub fn read(bytes: &[u8]) -> Option<Message> {
    let posted: Posted = serde_json::from_slice(bytes).ok()?;
    let is_url = |url: &String| Url::parse(url).is_ok();
    let is_host = |host: &String| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        (1..=255).contains(&host.len()) && host.bytes().all(plain)
    };
    let about_one = match (&posted.url, &posted.host) {
        (Some(url), None) => is_url(url),
        (None, Some(host)) => is_host(host),
        _ => false,
    };
    if posted.event == Kind::Changed || !about_one {
        return None;
    }
    Some(Message {
        time: posted.time,
        event: posted.event,
        url: posted.url,
        name: posted.name.map(plain),
        host: posted.host,
        answer: None,
        reason: posted.reason.map(plain),
    })
}

/// What an answer that is no other version says of its page: that it is gone or not for us, or that
/// it is there (again).
pub fn of_answer(exchange: &Exchange, verdict: Verdict) -> Option<Message> {
    let (status, _) = described(&exchange.response);
    let status = status?;
    let (event, reason) = match (verdict, status) {
        (Verdict::Failed, 404 | 410) => (Kind::Gone, Some(answered(status))),
        (Verdict::Failed, 400..500) => (Kind::Refused, Some(answered(status))),
        (Verdict::Same, 200) => (Kind::Recovered, None),
        _ => return None,
    };
    Some(Message {
        time: exchange.time,
        event,
        url: Some(exchange.url.clone()),
        name: None,
        host: None,
        answer: None,
        reason,
    })
}

/// One line, and not without end.
fn plain(text: String) -> String {
    let shown = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.chars().take(LONGEST_TEXT).map(shown).collect()
}

/// Posts news to a collector.
#[derive(Debug)]
pub struct NewsPost {
    /// The way to the collector.
    pub post: Post,
    /// What it knows us by.
    pub token: Option<String>,
}

impl Recipient for NewsPost {
    fn name(&self) -> String {
        "the collector's news".into()
    }

    fn take(&mut self, delivery: &Delivery) -> Result<(), NotTaken> {
        let message = &delivery.message;
        if message.event == Kind::Changed {
            return Ok(());
        }
        let posted = Posted {
            time: message.time,
            event: message.event,
            url: message.url.clone(),
            name: message.name.clone(),
            host: message.host.clone(),
            reason: message.reason.clone(),
        };
        // Text and numbers: it has no way to fail.
        let body = serde_json::to_vec(&posted).unwrap_or_default();
        let token = self.token.as_deref();
        match self.post.send("application/json", token, &body) {
            Ok(200..300) => Ok(()),
            Ok(status @ (400 | 401 | 404 | 411 | 413)) => {
                Err(NotTaken::Ever(format!("it answered {status}")))
            }
            Ok(status) => Err(NotTaken::Yet(format!("it answered {status}"))),
            Err(why) => Err(NotTaken::Yet(why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_news_by_its_status() {
        let of = |status: &str, verdict| {
            let exchange = Exchange {
                url: "http://a.test/".into(),
                response: format!("HTTP/1.1 {status} X\r\n\r\n").into_bytes(),
                ..Exchange::default()
            };
            of_answer(&exchange, verdict).map(|message| message.event)
        };
        assert_eq!(of("404", Verdict::Failed), Some(Kind::Gone));
        assert_eq!(of("403", Verdict::Failed), Some(Kind::Refused));
        assert_eq!(of("200", Verdict::Same), Some(Kind::Recovered));
        assert_eq!(of("200", Verdict::Failed), None, "cut, or too long");
        assert_eq!(of("500", Verdict::Failed), None);
        assert_eq!(of("x", Verdict::Failed), None);
    }

    #[test]
    fn bad_news_is_read_and_nothing_else() {
        let gone = br#"{"time":5,"event":"gone","url":"http://a.test/","reason":"a\nb","lost":0}"#;
        let message = read(gone).expect("news");
        assert_eq!(message.text(), "http://a.test/ is gone: a b");
        let host = br#"{"time":5,"event":"host-backed-off","host":"a.test:81"}"#;
        assert!(read(host).is_some());
        for wrong in [
            r#"{"time":5,"event":"changed","url":"http://a.test/"}"#,
            r#"{"time":5,"event":"gone","url":"javascript:x"}"#,
            r#"{"time":5,"event":"gone"}"#,
            r#"{"time":5,"event":"gone","host":"<b>"}"#,
            r#"{"time":5,"event":"gone","url":"http://a.test/","host":"a.test"}"#,
            r#"{"event":"gone","url":"http://a.test/"}"#,
            r#"[]"#,
        ] {
            assert!(read(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }
}
