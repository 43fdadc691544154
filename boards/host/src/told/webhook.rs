//! A web service that gets each message as JSON, by POST.

use std::time::Duration;

use async_io::Timer;
use dunlin::fetch::{Addresses, Connect as _, Endpoint, Resolve as _, Url};
use embedded_io_async::{Read as _, Write as _};
use futures_lite::FutureExt as _;
use serde_json::Value;

use super::outbox::{Delivery, NotTaken, Recipient};
use crate::board::net::{HostConnect, HostResolve};
use crate::output;

/// For a whole delivery, from the look-up of a name to the answer's status.
const PATIENCE: Duration = Duration::from_secs(10);
/// Nobody needs more to say a status.
const LONGEST_STATUS_LINE: usize = 1024;
/// Names in a template, in braces, and the fields that replace them.
const FIELDS: [&str; 7] = ["text", "event", "url", "name", "host", "reason", "time"];

/// Where messages are posted, and how they look there.
#[derive(Clone, Debug)]
pub struct Webhook {
    url: String,
    template: Option<Template>,
    connect: HostConnect,
    resolve: HostResolve,
}

impl Webhook {
    /// Posts to `url`: the message itself, or what a template makes of it.
    pub fn new(
        url: WebhookUrl,
        template: Option<Template>,
        connect: HostConnect,
        resolve: HostResolve,
    ) -> Self {
        Self {
            url: url.0,
            template,
            connect,
            resolve,
        }
    }

    /// Posts, and returns the status of the answer.
    async fn post(&mut self, body: &str) -> Result<u16, String> {
        let url = Url::parse(&self.url).map_err(|why| why.to_string())?;
        let (host, port) = (url.host_text(), url.port());
        let addresses = match host.trim_matches(['[', ']']).parse() {
            Ok(address) => Addresses::from_iter([address]),
            Err(_) => self.resolve.resolve(host).await.map_err(said)?,
        };
        let mut connected = Err("its name has no address".to_owned());
        for address in addresses {
            let to = Endpoint {
                scheme: url.scheme(),
                host,
                address,
                port,
            };
            connected = self.connect.connect(to).await.map_err(said);
            if connected.is_ok() {
                break;
            }
        }
        let mut connection = connected?;
        let authority = match port == url.scheme().default_port() {
            true => host.to_owned(),
            false => format!("{host}:{port}"),
        };
        let request = format!(
            "POST {} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: dunlin/{}\r\n\
            Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            url.path_and_query(),
            env!("CARGO_PKG_VERSION"),
            body.len()
        );
        connection
            .write_all(request.as_bytes())
            .await
            .map_err(said)?;
        connection.flush().await.map_err(said)?;
        let mut line = [0; LONGEST_STATUS_LINE];
        let mut length = 0;
        loop {
            let count = connection.read(&mut line[length..]).await.map_err(said)?;
            length += count;
            let answer = &line[..length];
            if let Some(status) = status(answer) {
                return Ok(status);
            }
            if count == 0 {
                return Err("its answer is no HTTP".into());
            }
        }
    }
}

impl Recipient for Webhook {
    fn name(&self) -> String {
        // The path is often the secret.
        let url = Url::parse(&self.url);
        let host = url.as_ref().map_or("", Url::host_text);
        format!("--webhook at {host}")
    }

    fn take(&mut self, delivery: &Delivery) -> Result<(), NotTaken> {
        let body = match &self.template {
            Some(template) => template.fill(delivery),
            None => output::json(delivery),
        };
        let late = async {
            Timer::after(PATIENCE).await;
            Err(format!("no answer within {} s", PATIENCE.as_secs()))
        };
        let status = async_io::block_on(self.post(&body).or(late)).map_err(NotTaken::Yet)?;
        match status {
            200..300 => Ok(()),
            408 | 425 | 429 | 500.. => Err(NotTaken::Yet(format!("it answered {status}"))),
            _ => Err(NotTaken::Ever(format!("it answered {status}"))),
        }
    }
}

fn said(why: impl std::fmt::Display) -> String {
    why.to_string()
}

/// The status of an answer, as soon as its line is there.
fn status(answer: &[u8]) -> Option<u16> {
    let rest = answer.strip_prefix(b"HTTP/1.")?;
    let digits = rest.get(2..5)?;
    let digits = std::str::from_utf8(digits).ok()?;
    digits.parse().ok()
}

/// A URL that messages can be posted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookUrl(String);

impl WebhookUrl {
    /// # Errors
    /// It is no http or https URL.
    pub fn parse(text: &str) -> Result<Self, String> {
        match Url::parse(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(why) => Err(format!("{why}; expected http://… or https://…")),
        }
    }
}

/// JSON with `{text}`, `{url}` and other fields of a message where their values go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(String);

impl Template {
    /// # Errors
    /// What it makes of a message would not be JSON.
    pub fn parse(text: &str) -> Result<Self, String> {
        let template = Self(text.to_owned());
        let sample = template.with(|_| Value::String(String::new()));
        match serde_json::from_str::<Value>(&sample) {
            Ok(_) => Ok(template),
            Err(why) => Err(format!(
                "it is no JSON once {} and the like, without quotes of their own, have their values: {why}",
                "{text}"
            )),
        }
    }

    fn fill(&self, delivery: &Delivery) -> String {
        let fields = serde_json::to_value(delivery).unwrap_or_default();
        self.with(|name| fields.get(name).cloned().unwrap_or_default())
    }

    /// Replaces each name once, from left to right: what a value holds is not looked at.
    fn with(&self, value: impl Fn(&str) -> Value) -> String {
        let mut out = String::new();
        let mut rest = self.0.as_str();
        while let Some(start) = rest.find('{') {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let named = FIELDS.iter().find_map(|name| {
                let inner = rest.strip_prefix('{')?.strip_prefix(name)?;
                Some((name, inner.strip_prefix('}')?))
            });
            match named {
                Some((name, after)) => {
                    out.push_str(&value(name).to_string());
                    rest = after;
                }
                None => {
                    out.push('{');
                    rest = &rest[1..];
                }
            }
        }
        out + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::news::Kind;
    use crate::told::message::message;

    #[test]
    fn a_template_takes_values_as_json_and_looks_into_none_of_them() {
        let template = Template::parse(r#"{"content":{text},"to":{"u":[{url}]},"n":{name}}"#);
        let mut news = message(Kind::Failed, "http://a.test/{text}\"");
        news.reason = Some("line\nend {url}".into());
        let delivery = Delivery {
            text: news.text(),
            message: news,
            lost: 0,
        };
        let filled = template.expect("a template").fill(&delivery);
        let value: Value = serde_json::from_str(&filled).expect("JSON");
        assert_eq!(value["to"]["u"][0], "http://a.test/{text}\"");
        assert_eq!(value["n"], Value::Null);
        let text = value["content"].as_str().expect("text");
        assert!(text.ends_with("line\nend {url}"), "{text}");
        for wrong in ["", "{text", r#"{"a":"{text}"}"#, r#"{"a":{txt}}"#] {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_status_is_read_as_soon_as_it_is_there() {
        assert_eq!(status(b"HTTP/1.1 204 No Content\r\n"), Some(204));
        assert_eq!(status(b"HTTP/1.0 500"), Some(500));
        for other in [&b"HTTP/1.1 20"[..], b"", b"HTTP/2 200 ", b"HTTP/1.1 2xx"] {
            assert_eq!(status(other), None);
        }
    }
}
