//! A web service that gets each message as JSON, by POST.

use serde_json::Value;

use super::outbox::{Delivery, NotTaken, Recipient};
use crate::output;
use crate::post::Post;

/// Names in a template, in braces, and the fields that replace them.
const FIELDS: [&str; 7] = ["text", "event", "url", "name", "host", "reason", "time"];

/// Where messages are posted, and how they look there.
#[derive(Clone, Debug)]
pub struct Webhook {
    post: Post,
    template: Option<Template>,
}

impl Webhook {
    /// Posts the message itself, or what a template makes of it.
    pub fn new(post: Post, template: Option<Template>) -> Self {
        Self { post, template }
    }
}

impl Recipient for Webhook {
    fn name(&self) -> String {
        // The path is often the secret.
        format!("--webhook at {}", self.post.url().host())
    }

    fn take(&mut self, delivery: &Delivery) -> Result<(), NotTaken> {
        let body = match &self.template {
            Some(template) => template.fill(delivery),
            None => output::json(delivery),
        };
        let sent = self.post.send("application/json", None, body.as_bytes());
        let status = sent.map_err(NotTaken::Yet)?;
        match status {
            200..300 => Ok(()),
            408 | 425 | 429 | 500.. => Err(NotTaken::Yet(format!("it answered {status}"))),
            _ => Err(NotTaken::Ever(format!("it answered {status}"))),
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
}
